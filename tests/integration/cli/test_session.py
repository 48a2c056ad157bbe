"""A shell in a person's terminal, over everything that may happen meanwhile."""

import signal
from pathlib import Path

import pytest

from tests.integration.cli.shell_lab import ShellLab


def test_a_program_that_fills_the_screen_is_left_and_found_again(shells: ShellLab, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("first line\n")
    with shells.person() as anna:
        anna.sees("$ ")
        anna.type(f"cd {tmp_path}; /bin/busybox vi file\r")  # a long name would not fit in its last line
        anna.sees(b"\x1b[?1049h", "first line")
        anna.type("Owritten in vi")
        anna.sees("written in vi")
        anna.type("\r~.")
        after = anna.sees("left: the shell on machine-1 goes on")
        assert b"\x1b[?1049l" in after
        assert after.index(b"\x1b[?1049l") < after.index(b"\x1b[!p") < after.index(b"left:")
        assert anna.ends() == 0
        assert anna.settings() == anna.before
    with shells.person() as anna:
        anna.sees(b"\x1b[?1049h", "written in vi")
        # It takes an escape for the beginning of a key until nothing follows; vi of BusyBox 1.37 forgets it when the terminal
        # has another size meanwhile, and a terminal that comes back has.
        anna.types_until(b"\x1b", "- file")
        anna.type(":wq\r")
        anna.sees(b"\x1b[?1049l", "$ ")
        anna.type("exit\r")
        anna.ends()
    assert path.read_text() == "written in vi\n\nfirst line\n"


def test_a_shell_survives_its_client_and_the_same_command_comes_back(shells: ShellLab) -> None:
    with shells.person() as anna:
        anna.sees("$ ")
        anna.type("kept=something; echo $kept\r")
        anna.sees("something\r\n")
        anna.process.send_signal(signal.SIGKILL)
        assert anna.ends() == -signal.SIGKILL
    with shells.person() as anna:
        anna.sees("something\r\n")
        anna.type("echo again $kept\r")
        anna.sees("again something")
        anna.type("\r~?")
        anna.sees("leave; the shell goes on")
        anna.type("~.")
        assert anna.ends() == 0
    assert len([event for event in shells.told() if event["kind"] == "shell.opened"]) == 1


def test_an_appliance_that_is_killed_and_started_again_is_found_again(shells: ShellLab) -> None:
    with shells.person() as anna:
        anna.sees("$ ")
        anna.type("kept=something; echo $kept\r")
        anna.sees("something\r\n")
        anna.type("")
        shells.kill()
        anna.sees("trying again; Enter ~. leaves")
        shells.start()
        anna.sees("connected again")
        anna.type("echo again $kept\r")
        # What was shown before is not shown once more.
        assert b"again something" in anna.sees("again something")
        assert b"kept=" not in anna.seen
        shells.kill()
        anna.sees("trying again")
        anna.type("\r~.")
        assert anna.ends() == 0
        assert anna.settings() == anna.before
        shells.start()


def test_one_types_and_the_others_look_on(shells: ShellLab) -> None:
    with shells.person() as anna:
        anna.sees("$ ")
        anna.type("echo before\r")
        anna.sees("before\r\n")
        with shells.person("--view") as ben:
            ben.sees("before\r\n", "types here, and you look on")
            ben.type("echo ignored\r")
            anna.type("echo shown to both\r")
            ben.sees("shown to both\r\n")
            assert b"ignored" not in anna.sees("shown to both\r\n")
            ben.type("\r~t")
            ben.sees("you type now")
            anna.sees("and you look on; Enter ~t takes the keyboard")
            ben.type("echo from $((1 + 1))\r")
            ben.sees("from 2")
            anna.sees("from 2")
            with shells.person("--take") as cleo:
                ben.sees("and you look on")
                cleo.sees("from 2")
                cleo.type("exit\r")
                for each in (anna, ben, cleo):
                    each.sees("the shell on machine-1 ended with status 0")
                    assert each.ends() == 0


@pytest.mark.parametrize("flag", ["", "--record-input"])
def test_what_is_typed_is_recorded_only_when_it_is_asked_for(shells: ShellLab, flag: str) -> None:
    with shells.person(*([flag] if flag else [])) as anna:
        anna.sees("$ ")
        anna.type("stty -echo; echo passwor\\d; read secret; stty echo; echo thanks\r")
        anna.sees("password\r\n")
        anna.type("hunter2\r")
        anna.sees("thanks")
        anna.type("exit\r")
        anna.ends()
    assert ("hunter2" in shells.recording()) is bool(flag)


def test_an_appliance_that_is_told_to_stop_does_so_and_is_found_again(shells: ShellLab) -> None:
    with shells.person() as anna:
        anna.sees("$ ")
        anna.type("kept=something; echo $kept\r")
        anna.sees("something\r\n")
        shells.stop()
        assert shells.appliance.returncode == 0  # by itself: whoever takes too long is killed
        anna.sees("trying again")
        shells.start()
        anna.sees("connected again")
        anna.type("echo again $kept\r")
        anna.sees("again something")
