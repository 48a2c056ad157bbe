"""How a recording is paced, and shown where there is no terminal."""

import pytest

from tests.unit.cli.conftest import FakeAppliance
from tinkbox.cli.terminal.recording_player import paced
from tinkbox.wire.terminal.asciicast import Happened, Kind

CAST = (
    b'{"version": 2, "width": 80, "height": 24}\n[0.5, "o", "a\\r\\n"]\n[1, "i", "typed"]\n[1, "o", "\\u00fc"]\n[9, "o'
)


@pytest.mark.parametrize(("speed", "pauses"), [(1.0, [0.5, 1.0, 2.0, 0.0]), (4.0, [0.125, 0.25, 0.5, 0.0])])
def test_pauses_are_as_they_were_but_not_longer_than_two_seconds(speed: float, pauses: list[float]) -> None:
    happened = [Happened(seconds, Kind.OUTPUT, "x") for seconds in (0.5, 1.5, 60.0, 60.0)]
    assert [pause for pause, _ in paced(iter(happened), speed)] == pauses


def test_where_there_is_no_terminal_all_output_comes_at_once(tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/shells/s%2F/recording"] = CAST
    printed = tinkbox("breakpoint", "replay", "s/")
    assert (printed.status, printed.out) == (0, "a\r\nü")


def test_what_is_no_recording_is_said(tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/shells/s/recording"] = b"{}"
    assert tinkbox("breakpoint", "replay", "s").status == 1


@pytest.mark.parametrize("speed", ["0", "-1", "fast", "inf", "nan"])
def test_a_speed_is_a_number_above_zero(tinkbox, speed: str) -> None:
    printed = tinkbox("breakpoint", "replay", "s", "--speed", speed)
    assert printed.status == 2
    assert "is no speed" in printed.err


def test_a_file_that_cannot_be_written_is_said(tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/shells/s/recording"] = CAST
    printed = tinkbox("breakpoint", "replay", "s", "--raw", "/nowhere/file")
    assert (printed.status, printed.err) == (1, "tinkbox: cannot write /nowhere/file: No such file or directory\n")
