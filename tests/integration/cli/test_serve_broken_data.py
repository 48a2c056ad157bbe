"""What `tinkbox serve` says of a data folder in which something is broken: one sentence with the way out, at the start and by a check."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.everybodys_checkout import BEFORE, PYTHON
from tests.integration.cli.serving import ROOT, Configuration, Ended, configure, give_osie, run, run_here, serving

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes another user's rights")


@pytest.fixture
def had(tmp_path: Path) -> Configuration:
    """An appliance that served once, and was stopped."""
    configuration = configure(tmp_path)
    give_osie(configuration.data)
    with serving(configuration):
        pass
    return configuration


def started(configuration: Configuration) -> Ended:
    return run("serve", "--config", str(configuration.path))


def checked(configuration: Configuration) -> Ended:
    return run("serve", "--config", str(configuration.path), "--check")


def assert_both_say(configuration: Configuration, problem: str) -> None:
    failed, looked = started(configuration), checked(configuration)
    assert (failed.status, failed.err.count("\n"), problem in failed.err) == (1, 1, True), failed
    assert (looked.status, f"wrong: {problem}" in looked.out) == (1, True), looked


def test_an_emptied_store_of_an_appliance_is_refused_and_can_be_given_up(had: Configuration) -> None:
    store = had.data / "tinkbox.sqlite"
    store.write_bytes(b"")
    assert_both_say(had, f"the store {store} is empty, and {had.data} had an appliance: ")
    assert store.stat().st_size == 0
    store.unlink()
    gone = f"warning: {had.data} had an appliance, and its store tinkbox.sqlite is gone: this begins anew, "
    assert gone in checked(had).out
    with serving(had):
        assert store.stat().st_size > 0
    assert "is gone" not in checked(had).out


def test_a_first_start_that_was_killed_before_its_store_was_written_does_not_keep_the_next_from_starting(
    tmp_path: Path,
) -> None:
    configuration = configure(tmp_path)
    configuration.data.mkdir(mode=0o700)
    (configuration.data / "tinkbox.sqlite").touch(0o600)
    (configuration.data / "lock").touch(0o600)
    (configuration.data / "operator.token").write_text("of-an-operator-who-made-it-before\n")
    give_osie(configuration.data)
    looked = checked(configuration)
    assert (looked.status, "warning: " in looked.out) == (0, False), looked
    with serving(configuration) as process:
        process.send_signal(signal.SIGKILL)
    with serving(configuration):
        assert run_here("--data", str(configuration.data), "hardware", "list").status == 0


def test_a_start_that_is_killed_at_any_moment_can_be_repeated(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    # Each is killed a little later, at one of the store's statements.
    for number in (1, 4, 6, 16, 64):
        program = [sys.executable, "-c", _KILLED.format(number=number), "serve", "--config", str(configuration.path)]
        killed = subprocess.run(program, check=False, capture_output=True, timeout=60, cwd=ROOT)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    with serving(configuration):
        pass


_KILLED = """
import os, signal, sqlite3, sys
opened, statements = sqlite3.connect, []
def count(statement):
    statements.append(statement)
    if len(statements) == {number}:
        os.kill(os.getpid(), signal.SIGKILL)
def connect(*arguments, **named):
    connection = opened(*arguments, **named)
    connection.set_trace_callback(count)
    return connection
sqlite3.connect = connect
from tinkbox.cli import main
sys.exit(main())
"""


def test_a_damaged_store_is_told_with_its_way_out(had: Configuration) -> None:
    store = had.data / "tinkbox.sqlite"
    garble(store, 4096)
    assert_both_say(
        had, f"cannot use the store {store}: database disk image is malformed: put a backup of the data folder in"
    )


def test_damage_that_no_start_meets_is_found_by_a_check(had: Configuration) -> None:
    store = had.data / "tinkbox.sqlite"
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'event'").fetchone()
    garble(store, 4096 * (page - 1), 4096)
    looked = checked(had)
    assert (looked.status, f"wrong: the store {store} is damaged (" in looked.out) == (1, True), looked


def garble(path: Path, begin: int, octets: int | None = None) -> None:
    content = bytearray(path.read_bytes())
    end = len(content) if octets is None else begin + octets
    content[begin:end] = b"\xa5" * (end - begin)
    path.write_bytes(content)


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    give_osie(configuration.data)
    store = configuration.data / "tinkbox.sqlite"
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("CREATE TABLE diary (day, text)")
        connection.commit()
    before = store.read_bytes()
    assert_both_say(configuration, f"the store {store} is a database of another program, with a table diary: ")
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("diary",)]
    assert len(store.read_bytes()) == len(before)


def test_a_data_folder_that_is_a_file_or_a_link_to_nothing_is_told(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    configuration.data.write_text("")
    assert_both_say(configuration, f"the data directory {configuration.data} is no folder: move it away")
    configuration.data.unlink()
    configuration.data.symlink_to(tmp_path / "no" / "where")
    assert_both_say(
        configuration, f"the data directory {configuration.data} is a link to {tmp_path}/no/where, which is not there: "
    )


@pytest.mark.parametrize("name", ["registry/incoming", "boot.new"])
def test_what_only_the_start_found_in_a_place_of_ours_a_check_finds_too(had: Configuration, name: str) -> None:
    path = had.data / name
    if path.is_dir():
        path.rmdir()
        path.touch()
    else:
        (had.data / "boot.key").unlink()
        path.mkdir()
    assert_both_say(had, f"{path} is no ")


def test_an_osie_that_is_not_as_it_was_built_is_found_by_a_check(had: Configuration) -> None:
    kernel = had.data / "osie/x86_64/vmlinuz"
    content = kernel.read_bytes()
    kernel.write_bytes(content[:-1] + b"!")
    looked = checked(had)
    assert (looked.status, f"wrong: the OSIE's {kernel}: its SHA-256 is " in looked.out) == (1, True), looked
    kernel.unlink()
    looked = checked(had)
    assert (looked.status, f"wrong: the OSIE's {kernel}: it is missing: build it again" in looked.out) == (1, True)
    kernel.write_bytes(content)
    assert checked(had).status == 0


@pytest.mark.parametrize("leads", [True, False])
def test_something_else_in_the_place_of_all_osies_is_found_by_a_check(tmp_path: Path, *, leads: bool) -> None:
    configuration = configure(tmp_path)
    configuration.data.mkdir(mode=0o700)
    osie = configuration.data / "osie"
    if leads:
        osie.symlink_to("/no/where")
    else:
        osie.touch()
    what = "a link to /no/where, which is not there" if leads else "no folder"
    looked = checked(configuration)
    assert (looked.status, f"wrong: {osie} is {what}: move it away" in looked.out) == (1, True), looked


@pytest.fixture
def users(tmp_path: Path) -> Iterator[Configuration]:
    """An appliance of the user 4711 that served once."""
    with TemporaryDirectory(dir="/tmp") as made:
        folder = Path(made)
        folder.chmod(0o755)
        configuration = configure(folder)
        give_osie(configuration.data)
        with serving(configuration):
            pass
        for name in ("recordings", "services"):
            (configuration.data / name).mkdir(exist_ok=True)
        for each in (configuration.data, *configuration.data.rglob("*")):
            os.chown(each, 4711, 4711)
        yield configuration
        for each in (configuration.data, *configuration.data.rglob("*")):
            each.chmod(0o700)


def as_user(configuration: Configuration, *more: str) -> Ended:
    rights = ("setpriv", "--reuid", "4711", "--regid", "4711", "--clear-groups")
    command = [*BEFORE, *rights, PYTHON, "-m", "tinkbox", "serve", "--config", str(configuration.path), *more]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return Ended(ended.returncode, ended.stdout, ended.stderr)


SHUT = {
    "recordings": 0o000,
    "services": 0o500,
    "tls": 0o000,
    "registry/repositories": 0o000,
    "registry/incoming": 0o500,
    "tinkbox.sqlite": 0o400,
}


@needs_root
def test_what_its_own_user_may_not_use_is_found_by_a_check(users: Configuration) -> None:
    assert as_user(users, "--check").status == 0
    for name, mode in SHUT.items():
        (users.data / name).chmod(mode)
    looked = as_user(users, "--check")
    assert looked.status == 1
    for name, mode in SHUT.items():
        path, letters = users.data / name, "rw" if name == "tinkbox.sqlite" else "rwx"
        told = f"wrong: 4711 may not read and write {path} (mode {mode:03o}): `chmod u+{letters} {path}`"
        assert told in looked.out, looked


@needs_root
def test_a_data_folder_that_its_user_may_not_write_to_is_refused_with_the_way_out(users: Configuration) -> None:
    users.data.chmod(0o500)
    problem = (
        f"cannot use the data directory {users.data}: 4711 may not write to {users.data}: `chmod u+rwx {users.data}`"
    )
    failed, looked = as_user(users), as_user(users, "--check")
    assert (failed.status, failed.err.count("\n"), problem in failed.err) == (1, 1, True), failed
    assert f"wrong: {problem}" in looked.out
    absent = users.data.parent / "absent"
    failed = as_user(users, "--data", str(absent))
    assert (
        f"4711 may not write to {users.data.parent}: `sudo install -d -m 700 -o 4711 {absent}` makes it" in failed.err
    )
