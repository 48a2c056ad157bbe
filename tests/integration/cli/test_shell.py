"""Shells from end to end: a person's terminal, a serving appliance, the worker's code, and a shell of this host."""

import hashlib
import subprocess

import pytest

from tests.integration.cli.held_machine import processes_of
from tests.integration.cli.serving import DEADLINE, ROOT, run
from tests.integration.cli.shell_lab import ShellLab
from tests.integration.worker.machine import until


def test_a_terminal_in_the_held_container(shells: ShellLab) -> None:
    with shells.person() as anna:
        banner = anna.sees(
            "hello world/hello_world", "on machine-1 is held because it failed", "exit 7, DiskTooSmall", "$ "
        )
        assert b"| too small" in banner
        assert b"it has 8 GB [2J" in banner  # what a machine said steers nothing
        assert f"{shells.called()} breakpoint continue|fail|retry|abort {shells.workflow[:8]}".encode() in banner
        assert anna.settings() != anna.before
        anna.type("echo $((6 * 7)) grün ✓ $TERM $TINKBOX_SHELL; pwd\r")
        anna.sees("42 grün ✓ xterm-256color", shells.session(), "\r\n/\r\n")
        anna.type("stty size\r")
        anna.sees("24 80")
        anna.resize(50, 132)
        anna.type("while [ $(stty size | cut -c1-2) != 50 ]; do sleep 0.05; done; stty size\r")
        anna.sees("50 132")
        anna.type("sh -c 'echo begun; exec sleep 100'\r")
        anna.sees("begun\r\n")
        anna.type(b"\x03")
        anna.sees("^C", "$ ")
        anna.type("echo status $?\r")
        anna.sees("status 130")
        anna.type("exit 3\r")
        anna.sees(
            "the shell on machine-1 ended with status 3",
            f"{shells.called()} breakpoint replay {shells.session()[:8]}",
            "until",
        )
        assert anna.ends() == 0
        assert anna.settings() == anna.before
    assert [event["kind"] for event in shells.told()] == ["shell.opened", "shell.attached", "shell.ended"]
    assert shells.told()[-1]["exit_code"] == 3


def test_nobody_to_look_at_is_said(shells: ShellLab) -> None:
    with shells.person("--view") as ben:
        ben.sees("nobody has a shell open")
        assert ben.ends() == 1


def test_where_there_is_no_terminal_a_command_is_asked_for(shells: ShellLab) -> None:
    ended = run(*shells.arguments("shell", shells.workflow))
    assert (ended.status, ended.out) == (1, "")
    assert f"{shells.called()} breakpoint shell {shells.workflow} -- COMMAND" in ended.err


def test_a_command_has_its_own_streams_and_status(shells: ShellLab) -> None:
    command = shells.stream("sh", "-c", "cat; echo oh >&2; exit 7")
    ended = subprocess.run(command, input=b"in\0\xff\n", cwd=ROOT, capture_output=True, timeout=DEADLINE, check=False)
    assert (ended.stdout, ended.stderr, ended.returncode) == (b"in\0\xff\n", b"oh\n", 7)
    assert shells.command("sh", "-c", "exit 0").status == 0
    assert shells.command("sh", "-c", "kill -9 $$").status == 137
    argv = [event["argv"] for event in shells.told() if event["kind"] == "shell.command"]
    assert argv[0] == ["sh", "-c", "cat; echo oh >&2; exit 7"]


def test_a_commands_output_is_whole_however_slowly_it_is_read(shells: ShellLab) -> None:
    count = 20_000_000
    script = f"head -c {count} /dev/zero | tr '\\0' '\\377'"
    with subprocess.Popen(shells.stream("sh", "-c", script), cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        taken = process.stdout.read(100_000)
        # Longer than a shell's driver may stand still.
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(4)
        digest = hashlib.sha256(taken + process.stdout.read()).hexdigest()
        assert process.wait(DEADLINE) == 0
    assert digest == hashlib.sha256(b"\xff" * count).hexdigest()


def test_a_command_is_fed_whole_however_slowly_it_reads(shells: ShellLab) -> None:
    content = bytes(range(256)) * 40_000
    ended = shells.command("sh", "-c", "sleep 2; sha256sum", stdin=content)
    assert ended.out.split()[0] == hashlib.sha256(content).hexdigest()


def test_a_command_that_ends_waits_for_no_input(shells: ShellLab) -> None:
    with subprocess.Popen(
        shells.stream("echo", "done"), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b"done\n"
        assert process.wait(DEADLINE) == 0


def test_a_command_ends_when_nobody_reads_it_any_more(shells: ShellLab) -> None:
    with subprocess.Popen(shells.stream("sh", "-c", "sleep 1000 & yes"), cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(4) == b"y\ny\n"
        process.stdout.close()
        process.wait(DEADLINE)
    until(lambda: not processes_of(shells.session()), "the end of what it ran")


def test_a_command_that_is_lost_says_so(shells: ShellLab) -> None:
    with subprocess.Popen(
        shells.stream("sh", "-c", "echo begun; sleep 1000"), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"begun\n"
        shells.kill()
        assert process.wait(DEADLINE) == 255
        assert b"connection" in process.stderr.read()
    ended = shells.command("true")
    assert (ended.status, ended.out) == (255, "")
    assert "no appliance answers" in ended.err
    shells.start()
