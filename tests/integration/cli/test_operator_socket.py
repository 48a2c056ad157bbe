"""The operator door's unix socket: deleted, taken and unanswered while a real appliance runs."""

import os
import signal
from pathlib import Path

import pytest

from tests.integration.cli.serving import Configuration, configure, run_here, serving
from tests.integration.worker.machine import until
from tinkbox.client.operator import quick_connection


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    return configure(tmp_path)


def asked(configuration: Configuration) -> bool:
    """Whether commands reach it; one that does not is told where the appliance is."""
    ended = run_here("--data", str(configuration.data), "hardware", "list")
    assert ended.status == 0 or "but a tinkbox (pid " in ended.err, ended.err
    return ended.status == 0


def test_a_socket_that_is_deleted_is_made_anew_and_one_that_cannot_be_is_told(configuration: Configuration) -> None:
    socket = configuration.data / "operator.sock"
    errors = configuration.data.parent / "stderr"
    with serving(configuration) as appliance:
        socket.unlink()
        gone = run_here("--data", str(configuration.data), "hardware", "list")
        if gone.status:  # else it was made anew by then
            assert gone.err.startswith(
                f"tinkbox: the socket {socket} is gone, but a tinkbox (pid {appliance.pid}) has the data folder "
                f"{configuration.data} locked: it starts or ends, or makes that socket anew within seconds"
            )
        until(lambda: asked(configuration), "commands to reach it again")
        assert f"{socket} was deleted or replaced: it was made anew" in errors.read_text()
        assert (socket.stat().st_mode & 0o777) == 0o600
        socket.unlink()
        socket.mkdir()
        until(lambda: "OperatorSocketGone began" in errors.read_text(), "the appliance to tell")
        socket.rmdir()
        until(lambda: asked(configuration), "commands to reach it again")
        until(lambda: "OperatorSocketGone is over" in errors.read_text(), "the appliance to tell")


def test_an_appliance_that_is_stopped_is_called_so_and_waited_for(
    configuration: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_connection, "LATE", 0.2)
    monkeypatch.setattr(quick_connection, "SECONDS", 1.0)
    with serving(configuration) as appliance:
        appliance.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, appliance.pid, os.WSTOPPED | os.WNOWAIT)
        try:
            ended = run_here("--data", str(configuration.data), "hardware", "list")
        finally:
            appliance.send_signal(signal.SIGCONT)
        why = f"its process {appliance.pid} is stopped (state T): `kill -CONT {appliance.pid}` has it go on"
        where = f"the appliance at {configuration.data}/operator.sock"
        assert (ended.status, ended.err.splitlines()) == (
            3,
            [
                f"tinkbox: {where} has not answered for 10 s: {why}. It is waited for up to 1 s",
                f"tinkbox: {where} took the question, and did not answer within 1 s: {why}",
            ],
        )
        assert run_here("--data", str(configuration.data), "hardware", "list").status == 0
