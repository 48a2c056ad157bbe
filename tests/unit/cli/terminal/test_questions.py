"""Questions to a person."""

import io
import sys

import pytest

from tinkbox.cli.terminal.questions import Questions
from tinkbox.model.errors import Invalid, Unavailable


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def number(text: str) -> int:
    if not text.isdigit():
        raise Invalid("a number")
    return int(text)


def test_it_asks_until_an_answer_can_be_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("x\n7\n\nmaybe\nNO\n"))
    ask = Questions(yes=False)
    assert ask.answer("how many", "3", number) == 7
    assert ask.answer("how many", "3", number) == 3
    assert ask.agreed("go on", proposed=True) is False
    assert "how many [3]:   a number\nhow many [3]: " in capsys.readouterr().out


def test_yes_takes_what_is_proposed_and_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    ask = Questions(yes=True)
    assert (ask.can_ask, ask.answer("x", "3", number), ask.agreed("y", proposed=False)) == (True, 3, False)
    with pytest.raises(Invalid):
        ask.answer("x", "", number)
    assert not Questions(yes=False).can_ask


def test_a_person_who_goes_away_changes_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    with pytest.raises(Unavailable, match="nothing more was typed"):
        Questions(yes=False).answer("x", "3", number)
