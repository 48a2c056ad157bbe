"""Lines of what goes on, on a terminal."""

import io
import sys

import pytest

from tinkbox.cli.output.live_lines import LiveLines


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_cursor_stays_for_a_signal_may_end_it_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", screen := Screen())
    with LiveLines() as live:
        live.show([])
        shown = screen.getvalue()
        assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")
