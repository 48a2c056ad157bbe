import ast
import json
import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import pytest

from examples.lab.machine import EmulatorDied, Machine
from examples.lab.network import Network
from examples.lab.processes import signals_unwind, start, stop


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def running_with(path: Path) -> int:
    """The process with this path in its command line; one that becomes another program has none for a moment."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if str(path).encode() in (process / "cmdline").read_bytes():
                    return int(process.name)
    raise AssertionError(f"no process runs with {path}")


def wait_until_gone(*pids: int) -> None:
    """A process that was sent SIGKILL ends a moment later; fails when it is there for seconds.

    A pidfd tells of the end itself, however long whoever inherited the process takes to collect it.
    """
    for pid in pids:
        with suppress(ProcessLookupError), os.fdopen(os.pidfd_open(pid)) as ended:
            assert select.select([ended], [], [], 60)[0], f"process {pid} is still there"


def test_a_process_that_ignores_the_request_is_ended_with_its_whole_group() -> None:
    script = "trap '' TERM; sleep 600 & echo $!; wait; sleep 600"
    process = start(["sh", "-c", script], stdout=subprocess.PIPE)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    stop(process, grace=0.2)
    process.stdout.close()
    assert process.returncode == -signal.SIGKILL
    wait_until_gone(child)


def test_the_number_of_a_process_that_was_seen_to_end_is_left_alone() -> None:
    """Its group's member stands for whoever has the number after it."""
    process = start(["sh", "-c", "sleep 600 & echo $!"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.stdout.close()
    assert process.wait(60) == 0
    stop(process)
    assert alive(child)
    os.kill(child, signal.SIGKILL)


def test_who_waits_for_a_machine_is_told_when_its_emulator_died(tmp_path: Path) -> None:
    with Network() as network, Machine(network, tmp_path, mac="08:00:27:00:00:01", extra=("-S",)) as machine:
        machine.power_on()
        machine.check()
        os.kill(running_with(tmp_path), signal.SIGSEGV)
        with pytest.raises(EmulatorDied, match="SIGSEGV ended the emulator of 08:00:27:00:00:01"):
            machine.console.wait_for("anything", 60)
        with pytest.raises(EmulatorDied):
            machine.check()


def test_a_machine_whose_plug_was_pulled_did_not_die(tmp_path: Path) -> None:
    with Network() as network, Machine(network, tmp_path, mac="08:00:27:00:00:01", extra=("-S",)) as machine:
        machine.power_on()
        machine.power_off()
        machine.check()


def test_sigterm_unwinds_the_program() -> None:
    with pytest.raises(SystemExit) as ended, signals_unwind():
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_the_appliance_keeps_its_link_address_whatever_is_plugged_in() -> None:
    with Network() as network:

        def address() -> str:
            (link,) = json.loads(network.run(["ip", "-json", "link", "show", "dev", network.interface]))
            return str(link["address"])

        before = address()
        name = network.add_tap()
        network.run(["ip", "link", "set", name, "address", "00:00:00:00:00:02"])
        assert address() == before


def test_the_network_is_private_and_leaves_nothing() -> None:
    with Network() as network:
        assert network.add_tap() == "tap1"
        inside = network.run(["ip", "-brief", "address"])
        assert "172.30.0.1/24" in inside
        assert "tap1" in inside
        outside = subprocess.run(["ip", "-brief", "address"], check=True, capture_output=True, text=True).stdout
        assert "172.30.0.1/24" not in outside
        sleeper = network.start(["sleep", "600"], stdout=subprocess.DEVNULL)
        namespace = network.path
    assert sleeper.poll() is not None
    assert not namespace.exists()


def test_a_process_whose_parent_is_gone_already_does_not_begin() -> None:
    program = "import subprocess, sys; from examples.lab.processes import command_that_dies_with_us as c; print(c(['echo', 'began']))"
    command = ast.literal_eval(subprocess.run([sys.executable, "-c", program], check=True, stdout=-1, text=True).stdout)
    ended = subprocess.run(command, stdout=subprocess.PIPE)
    assert (ended.returncode, ended.stdout) == (1, b"")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_lab_that_is_killed_leaves_no_process(number: signal.Signals) -> None:
    program = textwrap.dedent(
        """
        import signal, subprocess
        from examples.lab.machine import EmulatorDied, Machine
from examples.lab.network import Network
        from examples.lab.processes import signals_unwind
        with signals_unwind(), Network() as network:
            sleeper = network.start(["sleep", "600"], stdout=subprocess.DEVNULL)
            print(sleeper.pid, network.path.parts[2], flush=True)
            signal.pause()
        """
    )
    lab = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert lab.stdout is not None
    pids = [int(pid) for pid in lab.stdout.readline().split()]
    assert all(alive(pid) for pid in pids)
    lab.send_signal(number)
    lab.wait(30)
    lab.stdout.close()
    wait_until_gone(*pids)
