"""What is left of a terminal that a shell had."""

import signal

from tests.integration.cli.serving import DEADLINE
from tests.integration.cli.shell_lab import ShellLab
from tests.integration.worker.machine import until


def test_a_signal_gives_the_terminal_back(shells: ShellLab) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        with shells.person() as anna:
            anna.sees("$ ")
            anna.type(b"printf '\\033[?25l\\033[?1049h'; echo don\\e\r")
            anna.sees("done")
            anna.process.send_signal(number)
            assert anna.ends() == 128 + number
            assert anna.settings() == anna.before
            assert b"\x1b[?1049l\x1b[?25h" in anna.seen


def test_a_terminal_that_shows_nothing_any_more_is_given_back_too(shells: ShellLab) -> None:
    with shells.person() as anna:
        anna.sees("$ ")
        anna.type("yes\r")
        anna.sees("y\r\n")
        # Nobody reads what it shows, as when a window is frozen: what is typed still counts.
        anna.type("\r~.")
        until(lambda: anna.settings() == anna.before, "the terminal to be given back")
        anna.sees("left: the shell on machine-1 goes on")
        assert anna.ends() == 0


def test_a_terminal_that_goes_away_ends_the_client_and_not_the_shell(shells: ShellLab) -> None:
    with shells.person() as anna:
        anna.sees("$ ")
        anna.type("kept=something; echo $kept\r")
        anna.sees("something\r\n")
        anna.hang_up()
        assert anna.process.wait(DEADLINE) == 128 + signal.SIGHUP
    with shells.person() as anna:
        anna.sees("something\r\n")
