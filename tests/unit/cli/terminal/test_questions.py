"""Questions to a person."""

import argparse
import io
import sys

import pytest

from tinkbox.cli.terminal.questions import Questions, confirm
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


@pytest.mark.parametrize(
    ("typed", "agreed"), [("yes\n", True), ("y\n", True), ("\n", False), ("no\n", False), ("x\nn\n", False)]
)
def test_what_destroys_is_done_only_when_a_person_says_yes(
    monkeypatch: pytest.MonkeyPatch, typed: str, agreed: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stdout", shown := Terminal())
    chosen = argparse.Namespace(yes=False, as_2020=False)
    if agreed:
        confirm(chosen, "Delete node7", line="tinkbox hardware delete node7")
    else:
        with pytest.raises(Invalid, match="you did not say yes, so nothing was done"):
            confirm(chosen, "Delete node7")
    assert shown.getvalue().startswith("Delete node7? (yes or no) [no]: ")


def test_without_a_terminal_the_line_to_type_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(Invalid, match="there is no terminal: type `tinkbox hardware delete node7 --yes`"):
        confirm(argparse.Namespace(yes=False, as_2020=False), "Delete node7", line="tinkbox hardware delete node7")
    confirm(argparse.Namespace(yes=True, as_2020=False), "Delete node7", line="tinkbox hardware delete node7")
    confirm(argparse.Namespace(yes=False, as_2020=False), "Delete node7")


def test_what_2020_had_never_asks_in_its_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    monkeypatch.setattr(sys, "stdout", shown := Terminal())
    confirm(argparse.Namespace(yes=False, as_2020=True), "Delete node7")
    assert shown.getvalue() == ""


def test_what_2020_had_not_asks_in_its_format_too(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = argparse.Namespace(yes=False, as_2020=True)
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    monkeypatch.setattr(sys, "stdout", shown := Terminal())
    with pytest.raises(Invalid, match="you did not say yes"):
        confirm(chosen, "Delete 3 machines", line="tinkbox hardware delete -l rack=r2")
    assert shown.getvalue().startswith("Delete 3 machines?")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(Invalid, match="type `tinkbox hardware delete -l rack=r2 --yes`"):
        confirm(chosen, "Delete 3 machines", line="tinkbox hardware delete -l rack=r2")
