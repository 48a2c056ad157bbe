"""What an appliance says of itself right after a start with a fault that was there before: real processes, a real data folder."""

import itertools
import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.serving import (
    PROGRAM,
    ROOT,
    Configuration,
    clean_environment,
    configure,
    give_osie,
    run,
    run_here,
    serving,
)
from tests.integration.worker.machine import until

PAGE = 4096
DAMAGE = b"\xa5\x5a" * (3 * PAGE)


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    made = configure(tmp_path)
    give_osie(made.data)
    return made


def asked(configuration: Configuration, path: str) -> dict[str, Any]:
    return dict(json.loads(configuration.asked(path)))


def told_at_start(configuration: Configuration) -> str:
    """What `tinkbox serve` prints until it serves."""
    command = [*PROGRAM, "serve", "--config", str(configuration.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=clean_environment(), text=True) as process:
        assert process.stdout is not None
        lines = [*itertools.takewhile(lambda line: not line.startswith("└─"), process.stdout)]
        process.terminate()
    return "".join(lines)


def health(configuration: Configuration) -> dict[str, dict[str, Any]]:
    """The conditions of the appliance by their rules."""
    found = asked(configuration, "/healthz?verbose")["conditions"]
    return {each["rule"]: each for each in found if not each["machine"]}


def rules(configuration: Configuration) -> set[str]:
    """What the doctor says, as `tinkbox doctor --watch` asks it."""
    return {each["rule"] for each in asked(configuration, "/v1/doctor?listen=0")["diagnoses"]}


def test_a_fault_that_lasts_over_a_restart_is_never_told_as_over(configuration: Configuration) -> None:
    kernel = configuration.data / "osie" / "x86_64" / "vmlinuz"
    with serving(configuration):
        kernel.write_bytes(b"x" + kernel.read_bytes()[1:])
        until(lambda: "OsieDamaged" in health(configuration), "the OSIE is told of")
        since = health(configuration)["OsieDamaged"]["since"]
    with serving(configuration):
        assert health(configuration)["OsieDamaged"]["since"] == since
        looks = [rules(configuration) for _ in range(20)]
        assert all("OsieDamaged" in each for each in looks)
        until(
            lambda: "not examined since" not in str(health(configuration)["OsieDamaged"]["evidence"]),
            "it is examined anew",
        )
    errors = (configuration.data.parent / "stderr").read_text()
    assert "OsieDamaged is over" not in errors
    assert "OsieDamaged began" not in errors


def test_a_start_says_what_the_sizes_of_an_osies_files_tell(configuration: Configuration) -> None:
    kernel = configuration.data / "osie" / "x86_64" / "vmlinuz"
    whole = kernel.read_bytes()

    def said() -> str:
        return run("serve", "--config", str(configuration.path), "--check").out

    assert "OSIE            built" in said()
    kernel.write_bytes(b"short")
    assert "OSIE            damaged" in said()
    mend = f"`tinkbox --data {configuration.data} osie build`"
    assert (
        f"wrong: the OSIE's {kernel}: it has 5 bytes, and {len(whole)} when it was built: build it again with {mend}"
        in said()
    )
    assert f"wrong: the OSIE's {kernel}: it has 5 bytes" in told_at_start(configuration)
    with serving(configuration):
        until(lambda: "OsieDamaged" in health(configuration), "the OSIE is told of")


def test_a_damaged_database_is_told_as_what_it_is_and_hides_nothing_else(configuration: Configuration) -> None:
    store = configuration.data / "tinkbox.sqlite"
    with serving(configuration):
        pass
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        rows = connection.execute("SELECT rootpage FROM sqlite_master WHERE name IN ('event', 'room')")
        pages = [page for (page,) in rows]
    with store.open("r+b") as file:
        for page in pages:
            file.seek(PAGE * (page - 1))
            file.write(DAMAGE[:PAGE])
    kernel = configuration.data / "osie" / "x86_64" / "vmlinuz"
    kernel.write_bytes(b"x" + kernel.read_bytes()[1:])
    assert f"wrong: the store {store} is damaged (" in told_at_start(configuration)
    with serving(configuration) as process:
        until(lambda: {"DatabaseDamaged", "OsieDamaged"} <= health(configuration).keys(), "both are told of")
        found = health(configuration)
        assert "WriteRefused" not in found
        assert found["DatabaseDamaged"]["gravity"] == "fault"
        told = run_here("--data", str(configuration.data), "doctor")
        assert told.status == 1
        assert "FAULT  DatabaseDamaged" in told.out
        assert "FAULT  OsieDamaged" in told.out
        assert "Not examined:" in told.out
        assert f"`tinkbox --data {configuration.data} osie build`" in " ".join(told.out.split())
        assert process.poll() is None
