"""Lines of what goes on, on a terminal."""

import io
import sys

import pytest

from tinkbox.cli.output.live_lines import LiveLines


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_that_the_appliance_answers_again_is_said_above_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", screen := Screen())
    with LiveLines() as live:
        for _ in range(2):
            live.show([])
        assert "answers again" not in screen.getvalue()
        for _ in range(2):
            live.tell_unanswered(OSError("gone"))
        for _ in range(2):
            live.show([])
    said = screen.getvalue()
    assert (said.count("tinkbox: gone; trying again"), said.count("tinkbox: the appliance answers again")) == (1, 1)
    assert said.index("trying again") < said.index("answers again")


def test_the_cursor_stays_for_a_signal_may_end_it_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", screen := Screen())
    with LiveLines() as live:
        live.show([])
        shown = screen.getvalue()
        assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")
