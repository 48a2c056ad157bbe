import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from examples.lab.monitor import Monitor, MonitorRefused

GREETING = {"QMP": {"version": {}}}
DONE: dict[str, Any] = {"return": {}}


@contextmanager
def emulator(path: Path, *answers: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """One that answers the first command with the first of these, and so on; what it was told."""
    told: list[dict[str, Any]] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen()

        def answer() -> None:
            connection, _ = listening.accept()
            with connection, connection.makefile("rw") as talk:
                talk.write(json.dumps(GREETING) + "\n")
                talk.flush()
                for each in ([DONE], *answers):
                    told.append(json.loads(talk.readline()))
                    talk.writelines(json.dumps(line) + "\n" for line in each)
                    talk.flush()

        thread = threading.Thread(target=answer)
        thread.start()
        yield told
        thread.join()


def migration(status: str) -> dict[str, Any]:
    return {"event": "MIGRATION", "data": {"status": status}}


def test_a_command_is_answered(tmp_path: Path) -> None:
    with (
        emulator(tmp_path / "s", [{"event": "STOP"}, {"return": {"status": "paused"}}]) as told,
        Monitor(tmp_path / "s") as monitor,
    ):
        assert monitor.tell("query-status", a=1) == {"status": "paused"}
    assert told == [
        {"execute": "qmp_capabilities", "arguments": {}},
        {"execute": "query-status", "arguments": {"a": 1}},
    ]


def test_a_command_that_is_refused_says_why(tmp_path: Path) -> None:
    with (
        emulator(tmp_path / "s", [{"error": {"class": "GenericError", "desc": "no such device"}}]),
        Monitor(tmp_path / "s") as monitor,
        pytest.raises(MonitorRefused, match="device_del: no such device"),
    ):
        monitor.tell("device_del")


def test_a_migration_is_over_when_the_emulator_says_so(tmp_path: Path) -> None:
    events = [migration("setup"), DONE, migration("active"), {"event": "STOP"}, migration("completed")]
    with emulator(tmp_path / "s", events), Monitor(tmp_path / "s") as monitor:
        monitor.tell("migrate")
        monitor.migrated()


def test_a_migration_that_fails_is_refused(tmp_path: Path) -> None:
    with emulator(tmp_path / "s", [DONE, migration("failed")]), Monitor(tmp_path / "s") as monitor:
        monitor.tell("migrate")
        with pytest.raises(MonitorRefused, match="could not be moved"):
            monitor.migrated()


def test_an_emulator_that_ends_is_noticed(tmp_path: Path) -> None:
    with emulator(tmp_path / "s", [DONE]), Monitor(tmp_path / "s") as monitor:
        monitor.tell("migrate")
        with pytest.raises(MonitorRefused, match="the emulator ended"):
            monitor.migrated()
