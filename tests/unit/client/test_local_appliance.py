"""Who has a data folder, and what keeps that process from answering."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tinkbox.client.operator import Unreachable
from tinkbox.client.operator.connection import Connection
from tinkbox.client.operator.local_appliance import LocalAppliance, local_appliance
from tinkbox.client.operator.quick_connection import QuickConnection

# Holds the lock of a folder until its input ends.
HOLDER = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print('locked', flush=True); sys.stdin.read()"


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_nobody_has_a_folder_that_is_not_locked(tmp_path: Path) -> None:
    assert local_appliance(tmp_path) is None
    (tmp_path / "lock").touch()
    assert local_appliance(tmp_path) is None


def test_who_has_it_is_found_and_that_it_is_stopped(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        try:
            assert holder.stdout is not None
            holder.stdout.readline()
            found = local_appliance(tmp_path)
            assert found is not None
            assert (found.pid, str(found)) == (holder.pid, "")
            holder.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WNOWAIT)
            assert state_of(holder.pid) == "T"
            told = f"its process {holder.pid} is stopped (state T): `kill -CONT {holder.pid}` has it go on"
            assert str(local_appliance(tmp_path)) == told
            connection: Connection = QuickConnection(socket=tmp_path / "operator.sock")
            assert str(connection.unreachable(FileNotFoundError(2, "No such file or directory"))) == (
                f"the socket {tmp_path}/operator.sock is gone, but a tinkbox (pid {holder.pid}) has the data folder {tmp_path} locked: {told}"
            )
            holder.send_signal(signal.SIGCONT)
            holder.communicate()
        finally:
            holder.kill()
    assert local_appliance(tmp_path) is None


def test_a_socket_that_is_gone_while_its_appliance_runs_is_no_appliance_that_is_away(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for variable in ("", "TINKBOX_SERVER"):
            connection = QuickConnection(socket=tmp_path / "operator.sock", variable=variable)
            told = connection.unreachable(FileNotFoundError(2, "No such file or directory"))
            assert isinstance(told, Unreachable)
            assert str(told).startswith(
                f"the socket {tmp_path}/operator.sock is gone, but a tinkbox (pid {os.getpid()}) has the data folder {tmp_path} locked: "
            )


@pytest.mark.parametrize(
    ("state", "told"),
    [("R", ""), ("S", ""), ("", ""), ("t", "is stopped (state t)"), ("D", "waits for a disk (state D)")],
)
def test_only_what_keeps_it_from_answering_is_told(state: str, told: str) -> None:
    said = str(LocalAppliance(7, state))
    assert told in said
    assert bool(said) is bool(told)
