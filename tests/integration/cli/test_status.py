"""`tinkbox status` in a terminal: what a person sees and types there, and what is left of the terminal afterwards."""

import json
import os
import re
import signal
import socket
import termios
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.integration.cli.person import Person
from tests.integration.cli.screen import Screen
from tests.integration.cli.serving import Configuration, run, run_here
from tests.integration.cli.shell_lab import ShellLab
from tests.integration.engine.appliance import hardware
from tests.integration.worker.machine import until

RESTORED = b"\x1b[?1049l"


class Viewer(Person):
    """A person who looks at the view; `screen` is what the terminal shows now."""

    def __init__(
        self, configuration: Configuration, environment: dict[str, str] | None = None, flags: Sequence[str] = ()
    ) -> None:
        super().__init__(["--data", str(configuration.data), "status", *flags], environment)
        self._everything = b""
        self._size = (24, 80)

    def resize(self, rows: int, columns: int) -> None:
        super().resize(rows, columns)
        self._size = (rows, columns)

    @property
    def screen(self) -> str:
        return Screen(*self._size).feed(self._everything).text

    def watches(self, *texts: str) -> str:
        """Wait until all of these are on the screen."""
        until(
            lambda: (self._read(0.05) and False) or all(each in self.screen for each in texts), f"{texts} on the screen"
        )
        return self.screen

    def _read(self, seconds: float) -> bool:
        before = len(self.seen)
        came = super()._read(seconds)
        self._everything += self.seen[before:]
        return came


@pytest.mark.parametrize("key", ["q", "Q", "\x03", "?\x03", "/x\x03"])
def test_status_ends_with_0_by_q_and_by_ctrl_c(appliance: Configuration, key: str) -> None:
    with Viewer(appliance) as anna:
        anna.sees("machine")
        anna.type(key)
        assert anna.ends() == 0
        assert anna.settings() == anna.before
        assert RESTORED in anna.seen
        assert b"Traceback" not in anna.seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_status_gives_the_terminal_back_when_a_signal_ends_it(appliance: Configuration, number: int) -> None:
    with Viewer(appliance) as anna:
        anna.sees("machine")
        anna.process.send_signal(number)
        assert anna.ends() == 128 + number
        assert anna.settings() == anna.before
        assert RESTORED in anna.seen


def test_other_keys_are_not_shown_and_end_nothing(appliance: Configuration) -> None:
    with Viewer(appliance) as anna:
        anna.sees("machine")
        anna.type("zzz\x1b[A")
        anna.type("?")
        anna.watches("a shell in the held action")
        assert "zzz" not in anna.screen
        anna.type("\x1b")
        anna.watches("/ filter")
        anna.type("q")
        assert anna.ends() == 0


def test_ctrl_z_gives_the_terminal_back_until_it_goes_on(appliance: Configuration) -> None:
    with Viewer(appliance) as anna:
        anna.sees("machine")
        anna.type("\x1a")
        until(lambda: anna.settings() == anna.before, "the terminal to be given back")
        anna.sees(RESTORED)
        os.kill(anna.process.pid, signal.SIGCONT)
        until(lambda: not anna.settings()[3] & termios.ICANON, "keys to be read again")
        anna.watches("/ filter")
        anna.type("q")
        assert anna.ends() == 0
        assert anna.settings() == anna.before


def test_a_view_that_another_program_stopped_has_the_terminal_again(appliance: Configuration) -> None:
    with Viewer(appliance) as anna:
        anna.watches("/ filter")
        anna.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, anna.process.pid, os.WSTOPPED | os.WNOWAIT)
        # As a shell does when its job stops.
        termios.tcsetattr(anna._theirs, termios.TCSANOW, anna.before)
        anna.seen = b""
        anna.process.send_signal(signal.SIGCONT)
        anna.sees(b"\x1b[?1049h", "/ filter")
        assert not anna.settings()[3] & termios.ICANON
        anna.type("q")
        assert anna.ends() == 0
        assert anna.settings() == anna.before


def test_another_size_fills_the_screen_again(appliance: Configuration) -> None:
    with Viewer(appliance) as anna:
        anna.watches("/ filter")
        anna.resize(10, 60)
        until(lambda: anna._read(0.05) and anna.screen.splitlines()[-1].startswith("/ filter"), "a smaller picture")
        anna.type("q")
        assert anna.ends() == 0


@pytest.mark.parametrize("kind", ["dumb", "unknown", ""])
def test_status_printed_once_ends_with_0_and_leaves_the_terminal_alone(appliance: Configuration, kind: str) -> None:
    with Viewer(appliance, {"TERM": kind}) as anna:
        anna.sees("tinkbox")
        assert anna.ends() == 0
        assert anna.settings() == anna.before
        assert b"\x1b" not in anna.seen


def test_an_appliance_that_is_not_there_is_told_of_without_taking_the_terminal(appliance: Configuration) -> None:
    with Person(["--data", "/nowhere", "status"]) as anna:
        anna.sees("no appliance answers")
        assert anna.ends() == 3
        assert b"\x1b[?1049h" not in anna.seen


@pytest.mark.parametrize("key", ["q", "\x03"])
def test_before_the_first_answer_it_says_that_it_asks_and_may_be_left(tmp_path: Path, key: str) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "operator.sock"))
        silent.listen()
        with Person(["--data", str(tmp_path), "status"]) as anna:
            anna.sees("asking the appliance", "q leave")
            anna.type(key)
            assert anna.ends() == 0
            assert anna.settings() == anna.before
            assert RESTORED in anna.seen
            assert b"Traceback" not in anna.seen


def test_an_appliance_that_goes_before_its_first_answer_is_told_of_on_the_screen_that_was_there(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "operator.sock"))
        silent.listen()
        with Person(["--data", str(tmp_path), "status"]) as anna:
            anna.sees("asking the appliance")
            asked, _ = silent.accept()
            silent.close()
            asked.close()
            assert anna.ends() == 3
            assert b"tinkbox: " in anna.seen.partition(RESTORED)[2]
            assert b"Traceback" not in anna.seen


def test_no_colour_is_drawn_where_no_color_says_so(appliance: Configuration) -> None:
    with Viewer(appliance, {"NO_COLOR": "1"}) as anna:
        anna.watches("/ filter")
        anna.type("x")
        assert not re.search(rb"\x1b\[[0-9;]*3[0-7]m", anna._everything)
        anna.type("q")
        assert anna.ends() == 0


def test_a_machine_is_found_by_typing_and_opened(appliance: Configuration) -> None:
    for number in (1, 2):
        assert (
            run_here(
                "--data", str(appliance.data), "hardware", "push", stdin=json.dumps(hardware(number)).encode()
            ).status
            == 0
        )
    with Viewer(appliance) as anna:
        anna.watches("machine-1", "machine-2", "2 machines  2 IDLE")
        anna.type("/mine-2")
        anna.watches("/mine-2")
        anna.type("\x15machine-2\r")
        screen = anna.watches("/machine-2  by problem  1/1")
        assert "machine-1" not in screen
        anna.type("\r")
        anna.watches("08:00:27:00:00:02  172.30.0.12", "not seen yet")
        anna.type("q")
        anna.watches("/ filter")
        anna.type("\x1b")
        anna.watches("machine-1", "by problem")
        anna.type("q")
        assert anna.ends() == 0


def test_a_person_lives_in_it_from_a_failure_to_its_repair(shells: ShellLab) -> None:
    with Viewer(shells.configuration) as anna:
        anna.watches("1 HELD", "DiskTooSmall", "s shell")
        anna.type("\r")
        anna.watches("WORKFLOW", "hello_world", "HELD")
        anna.type("s")
        anna.sees("held because it failed", "$ ")
        assert anna.settings() != anna.before
        anna.type("echo $((6 * 7))\r")
        anna.sees("42")
        anna.type("exit\r")
        anna.watches("the shell was left", "WORKFLOW")
        anna.type("r")
        anna.watches("Run hello_world on machine-1 again? (y/n)")
        anna.type("n")
        anna.watches("nothing was done")
        anna.type("a")
        anna.watches("Abort", "(y/n)")
        anna.type("y")
        anna.watches("decided: abort")
        anna.type("qq")
        assert anna.ends() == 0
        assert anna.settings() == anna.before
        assert b"Traceback" not in anna.seen


def test_who_leaves_a_shell_is_told_that_another_person_decided_meanwhile(shells: ShellLab) -> None:
    with Viewer(shells.configuration) as anna:
        anna.watches("1 HELD")
        anna.type("s")
        anna.sees("held because it failed", "$ ")
        assert run_here(*shells.arguments("retry", shells.workflow)).status == 0
        anna.type("\r~.")
        anna.watches("the shell was left; hello world/hello_world: retry by", "being carried out")
        assert "stays held" not in anna.screen
        anna.type("q")
        assert anna.ends() == 0


def test_what_is_marked_is_acted_on_after_one_question(shells: ShellLab) -> None:
    with Viewer(shells.configuration) as anna:
        anna.watches("1 HELD")
        anna.type("*")
        anna.watches("1 marked", "* machine-1")
        anna.type("\x1b")
        until(lambda: anna._read(0.05) and "1 marked" not in anna.screen, "the marks to go")
        anna.type(" a")
        anna.watches("Abort", "(y/n)")
        anna.type("y")
        anna.watches("1 aborted or canceled")
        anna.type("q")
        assert anna.ends() == 0
        assert b"Traceback" not in anna.seen


def test_flags_leave_out_other_machines_also_on_the_screen(shells: ShellLab) -> None:
    with Viewer(shells.configuration, flags=["--state", "idle"]) as anna:
        anna.watches("--state idle: 0 of 1 machine", "no machine matches --state idle")
        anna.type("q")
        assert anna.ends() == 0
    with Viewer(shells.configuration, flags=["--state", "held"]) as anna:
        anna.watches("--state held: 1 of 1 machine", "machine-1")
        anna.type("q")
        assert anna.ends() == 0


def test_a_format_is_printed_once_also_on_a_terminal(shells: ShellLab) -> None:
    with Viewer(shells.configuration, flags=["-o", "json"]) as anna:
        anna.sees('"state": "HELD"')
        assert anna.ends() == 0
        assert b"\x1b" not in anna.seen


def test_an_appliance_that_is_started_anew_is_waited_for(shells: ShellLab) -> None:
    with Viewer(shells.configuration) as anna:
        anna.watches("1 HELD")
        shells.kill()
        anna.watches("no appliance answers", "1 HELD")
        shells.start()
        until(lambda: anna._read(0.05) and "no appliance" not in anna.screen, "the appliance to answer again")
        anna.watches("machine-1", "/ filter")
        anna.type("q")
        assert anna.ends() == 0


def test_into_a_pipe_it_is_one_plain_picture_with_what_to_type(shells: ShellLab) -> None:
    told = run("--data", str(shells.configuration.data), "status")
    assert (told.status, told.err) == (0, "")
    program = f"tinkbox --data {shells.configuration.data}"
    assert f"look into it: {program} breakpoint shell {shells.workflow}\n" in told.out
    assert "1 machine  1 HELD" in told.out
    assert "\x1b" not in told.out
