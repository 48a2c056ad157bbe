"""How a person leaves `tinkbox status`, and what is left of the terminal then."""

import os
import signal
import termios

import pytest

from tests.integration.cli.person import Person
from tests.integration.cli.serving import Configuration
from tests.integration.worker.machine import until

RESTORED = b"\x1b[?1049l"


def looking(appliance: Configuration) -> Person:
    return Person(["--data", str(appliance.data), "status"])


@pytest.mark.parametrize("key", ["q", "Q", "\x03"])
def test_status_ends_with_0_by_q_and_by_ctrl_c(appliance: Configuration, key: str) -> None:
    with looking(appliance) as anna:
        anna.sees("tinkbox")
        anna.type(key)
        assert anna.ends() == 0
        assert anna.settings() == anna.before
        assert RESTORED in anna.seen
        assert b"Traceback" not in anna.seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_status_gives_the_terminal_back_when_a_signal_ends_it(appliance: Configuration, number: int) -> None:
    with looking(appliance) as anna:
        anna.sees("tinkbox")
        anna.process.send_signal(number)
        assert anna.ends() == 128 + number
        assert anna.settings() == anna.before
        assert RESTORED in anna.seen


def test_other_keys_are_not_shown_and_end_nothing(appliance: Configuration) -> None:
    with looking(appliance) as anna:
        anna.sees("tinkbox")
        anna.type("zzz\x1b[A")
        anna.sees("tinkbox")
        anna.type("q")
        assert anna.ends() == 0
        assert b"zzz" not in anna.seen


def test_ctrl_z_gives_the_terminal_back_until_it_goes_on(appliance: Configuration) -> None:
    with looking(appliance) as anna:
        anna.sees("tinkbox")
        anna.type("\x1a")
        until(lambda: anna.settings() == anna.before, "the terminal to be given back")
        os.kill(anna.process.pid, signal.SIGCONT)
        until(lambda: not anna.settings()[3] & termios.ICANON, "keys to be read again")
        anna.type("q")
        assert anna.ends() == 0
        assert anna.settings() == anna.before


def test_status_printed_once_ends_with_0_and_leaves_the_terminal_alone(appliance: Configuration) -> None:
    with Person(["--data", str(appliance.data), "status"], {"TERM": "dumb"}) as anna:
        anna.sees("tinkbox")
        assert anna.ends() == 0
        assert anna.settings() == anna.before
