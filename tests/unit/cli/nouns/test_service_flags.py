"""The verbs of `tinkbox service`: how they are typed, and that their help says what they do."""

import re
from collections.abc import Callable

import pytest

from tests.golden import text as golden
from tests.unit.cli.conftest import Printed, run_of
from tinkbox.cli.command_line import parse
from tinkbox.model.services import Phase

Tinkbox = Callable[..., Printed]
COMMANDS = {
    "list": ("service:show_list", {"keys": [], "format": "table", "no_headers": False, "quiet": False}),
    "list a b --format yaml": ("service:show_list", {"keys": ["a", "b"], "format": "yaml"}),
    "list -q --no-headers": ("service:show_list", {"quiet": True, "no_headers": True}),
    "logs w/s": ("service:logs", {"key": "w/s", "follow": False}),
    "logs -f s": ("service:logs", {"key": "s", "follow": True}),
    "logs s --follow": ("service:logs", {"key": "s", "follow": True}),
}


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_understood(line: str) -> None:
    run, values = COMMANDS[line]
    chosen = parse(["service", *line.split()])
    assert run_of(chosen) == run
    assert {name: getattr(chosen, name) for name in values} == values


@pytest.mark.parametrize("line", ["", "logs", "logs a b", "list --follow", "stop a"])
def test_a_wrong_command_line_is_2(tinkbox: Tinkbox, line: str) -> None:
    wrong = tinkbox("service", *line.split())
    assert (wrong.status, wrong.out) == (2, "")


@pytest.mark.parametrize("verb", ["", "list", "logs"])
def test_the_help_is_what_was_agreed(tinkbox: Tinkbox, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shown = tinkbox("service", *verb.split(), "--help")
    agreed = golden(f"cli/service-help{f'-{verb}' if verb else ''}.txt")
    assert (shown.status, with_one_value(shown.out)) == (0, with_one_value(agreed))


def with_one_value(text: str) -> str:
    """As Python 3.13 has it: what a flag takes stands behind the last of its names alone."""
    return re.sub(r"(-[\w-]+) [A-Z]+, (?=-)", r"\1, ", text)


def test_the_help_explains_every_state(tinkbox: Tinkbox) -> None:
    lines = [line.split() for line in tinkbox("service", "--help").out.splitlines()]
    explained = [words[0] for words in lines if len(words) > 2 and words[0].isupper() and words[0].isalpha()]
    assert [word for word in explained if word != "VERB"] == list(Phase)


@pytest.mark.parametrize("columns", ["20", "40", "200"])
def test_the_help_fits_every_terminal(tinkbox: Tinkbox, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for verb in ("list", "logs"):
        assert tinkbox("service", verb, "--help").status == 0
