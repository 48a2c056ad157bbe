"""What an appliance says of itself when something is wrong with it: a real process, on a disk of its own."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
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
    run_here,
    serving,
)
from tests.integration.worker.machine import until
from tinkbox.worker.host.mounts import mount_tmpfs, unmount

DISK = "DiskNearlyFull"
FULL = 240 << 20  # of the disk's 256 MiB


@pytest.fixture
def configuration(tmp_path: Path) -> Iterator[Configuration]:
    """Of an appliance whose data folder is a disk of 256 MiB, with an OSIE on it."""
    made = configure(tmp_path)
    made.data.mkdir(mode=0o700)
    mount_tmpfs(made.data, "size=256m,mode=0700")
    try:
        give_osie(made.data)
        yield made
    finally:
        unmount(made.data)


def told(configuration: Configuration, *arguments: str) -> str:
    ended = run_here("--data", str(configuration.data), *arguments)
    assert ended.status in (0, 1), ended.err
    return ended.out


def conditions(configuration: Configuration) -> dict[str, Any]:
    """Those of the appliance by their rules, as `tinkbox status` tells them."""
    health = json.loads(told(configuration, "status", "-o", "json"))["health"]
    return {each["rule"]: each for each in health["conditions"]}


def log(configuration: Configuration, rule: str) -> list[str]:
    lines = (configuration.data.parent / "stderr").read_text().splitlines()
    return [each.split(" ", 2)[2] for each in lines if f" {rule} " in each]


@contextmanager
def events(configuration: Configuration) -> Iterator["subprocess.Popen[str]"]:
    """Somebody who watches every event from the first on."""
    command = [*PROGRAM, "--data", str(configuration.data), "events", "watch", "--after", "0", "-o", "table"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=clean_environment(), text=True) as watching:
        try:
            yield watching
        finally:
            watching.terminate()


def next_event(watching: "subprocess.Popen[str]", rule: str) -> str:
    assert watching.stdout is not None
    return next(line.strip() for line in watching.stdout if rule in line)


def test_a_disk_that_fills_is_told_everywhere_once_and_so_is_its_end(configuration: Configuration) -> None:
    ballast = configuration.data / "ballast"
    with serving(configuration), events(configuration) as watching:
        assert DISK not in conditions(configuration)
        ballast.write_bytes(bytes(FULL))
        until(lambda: DISK in conditions(configuration), "the disk is told of")
        first = conditions(configuration)[DISK]
        assert first["gravity"] == "fault"
        assert first["cause"].startswith("The disk of the data folder is full: ")
        assert first["remedy"].startswith("Free room on that disk.")
        assert "FAULT for " in told(configuration, "status", "-o", "table")
        verbose = {each["rule"]: each for each in json.loads(configuration.asked("/healthz?verbose"))["conditions"]}
        assert verbose[DISK]["since"] == first["since"]
        assert verbose[DISK]["evidence"]
        assert f'tinkbox_condition{{rule="{DISK}",gravity="fault"}} 1'.encode() in configuration.asked("/metrics")
        ballast.write_bytes(bytes(FULL - (2 << 20)))
        until(lambda: conditions(configuration)[DISK]["cause"] != first["cause"], "other figures are told")
        assert conditions(configuration)[DISK]["since"] == first["since"]
        assert [each.split(":")[0] for each in log(configuration, DISK)] == [f"fault {DISK} began"]
    ballast.unlink()
    with serving(configuration), events(configuration) as watching:
        assert "condition.began" in next_event(watching, DISK)
        assert f"{DISK} is over" in next_event(watching, DISK)
        assert DISK not in conditions(configuration)
        assert [each.split(" after")[0] for each in log(configuration, DISK)] == [f"{DISK} is over"]
        assert f'tinkbox_condition{{rule="{DISK}",gravity="fault"}} 0'.encode() in configuration.asked("/metrics")


def test_a_restart_repeats_nothing_of_what_lasts(configuration: Configuration) -> None:
    osie = configuration.data / "osie"
    osie.rename(configuration.data / "away")
    with serving(configuration), events(configuration) as watching:
        assert "No OSIE was built" in next_event(watching, "NoOsie")
        since = conditions(configuration)["NoOsie"]["since"]
        assert log(configuration, "NoOsie")
    with serving(configuration), events(configuration) as watching:
        assert "condition.began" in next_event(watching, "NoOsie")
        until(lambda: "NoOsie" in conditions(configuration), "what lasts is told again")
        assert conditions(configuration)["NoOsie"]["since"] == since
        assert log(configuration, "NoOsie") == []
        (configuration.data / "away").rename(osie)
        assert "NoOsie is over" in next_event(watching, "NoOsie"), "the next event of it"
        assert "NoOsie" not in conditions(configuration)
