"""What may stand for a value is told by its name."""

import pytest

from tinkbox.cli.command_line import command_line
from tinkbox.cli.nouns import NOUNS
from tinkbox.cli.reference.declarations import Argument, Flag, declared
from tinkbox.cli.reference.suggestions import Suggestion, of_value
from tinkbox.model.key_kinds import KeyKind


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("MACHINE", Suggestion(kinds=("MACHINE",))),
        ("NAME:TAG", Suggestion(kinds=("NAME:TAG",))),
        ("FILE", Suggestion(files=True)),
        ("DIR", Suggestion(folders=True)),
        ("FILE|DIR|-", Suggestion(files=True)),
        ("KIND[/NAME]", Suggestion(kinds=("KIND",))),
        ("FILE|TEMPLATE", Suggestion(kinds=("TEMPLATE",), files=True)),
        ("IMAGE|ID", Suggestion(kinds=("IMAGE", "ID"))),
        ("BUILT-IN", Suggestion(kinds=("BUILT-IN",))),
        ("TEXT", Suggestion()),
    ],
)
def test_a_name_says_what_fits(name: str, suggestion: Suggestion) -> None:
    assert of_value(Argument(name=name)) == of_value(Flag(names=("--x",), takes=name)) == suggestion


def test_choices_fit_whatever_the_name_is() -> None:
    assert of_value(Argument(name="FILE", choices=("a", "b"))) == Suggestion(words=("a", "b"))


@pytest.mark.parametrize(
    ("line", "name"), [("tinkbox install", "IMAGE|ID"), ("tinkbox template catalogue", "BUILT-IN")]
)
def test_an_argument_is_one_of_what_is_there_already_or_could_be(line: str, name: str) -> None:
    commands = {each.line: each for each in declared(command_line(list(NOUNS))).walk()}
    assert commands[line].arguments[0].name == name


def test_every_key_says_what_it_names() -> None:
    commands = list(declared(command_line(list(NOUNS))).walk())
    named = [(each.line, argument.name) for each in commands for argument in each.arguments]
    named += [(each.line, flag.takes) for each in commands for flag in each.flags]
    vague = [f"{line} {name}" for line, name in named if "KEY" in name.split("|")]
    assert not vague, f"name a kind of tinkbox.model.key_kinds, for completions: {vague}"
    unused = set(KeyKind) - {part for _, name in named for part in name.split("|")}
    assert not unused
