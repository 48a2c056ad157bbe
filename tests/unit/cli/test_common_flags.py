"""Flags that a person may expect of every command of a kind, whichever of them was learned first."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from tinkbox.cli import main
from tinkbox.cli.command_line import command_line
from tinkbox.cli.flags import folder
from tinkbox.cli.nouns import NOUNS
from tinkbox.model.key_kinds import LABELLED, KeyKind


def commands(parser: argparse.ArgumentParser, *words: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    below = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    for name, command in (pair for each in below for pair in each.choices.items()):
        yield from commands(command, *words, name)
    if not below:
        yield " ".join(words), parser


COMMANDS = dict(commands(command_line(list(NOUNS))))
LISTS = [each for each in COMMANDS if each.split()[-1] == "list"]
SHOW = [each for each in COMMANDS if each.split()[-1] in ("list", "get", "state", "events", "plan", "show", "doctor")]
DESTROY = [each for each in COMMANDS if each.split()[-1] in ("delete", "cancel", "retire", "abort", "discard-history")]


def flags(command: str) -> set[str]:
    return {flag for each in COMMANDS[command]._actions for flag in each.option_strings}


PLACES = [
    (command, action)
    for command, parser in COMMANDS.items()
    for action in parser._actions
    if {"FILE", "DIR"} & set(str(action.metavar).split("|"))
]


@pytest.mark.parametrize(("command", "action"), PLACES)
def test_an_empty_name_of_a_file_or_folder_is_refused(
    command: str, action: argparse.Action, capsys: pytest.CaptureFixture[str]
) -> None:
    """It comes from a shell variable that is not set, and would be the current folder."""
    words = [action.option_strings[0], ""] if action.option_strings else [""]
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), *words])
    assert stop.value.code == 2
    assert ": it is empty: name a " in capsys.readouterr().err


KEYS = [
    (command, action)
    for command, parser in COMMANDS.items()
    for action in parser._actions
    if str(action.metavar) in set(KeyKind)
]


@pytest.mark.parametrize(("command", "action"), KEYS)
def test_an_empty_key_is_refused(command: str, action: argparse.Action, capsys: pytest.CaptureFixture[str]) -> None:
    """It would be the path of all that there are."""
    positional = [each for each in COMMANDS[command]._actions if not each.option_strings]
    for empty in ("", " "):
        before = [action.option_strings[0]] if action.option_strings else ["x"] * positional.index(action)
        # Behind several keys stands a folder.
        after = ["x"] if action.nargs == "*" and action is not positional[-1] else []
        words = [*before, empty, *after]
        with pytest.raises(SystemExit) as stop:
            main([*command.split(), *words])
        assert stop.value.code == 2
        assert ": it is empty: give " in capsys.readouterr().err


def test_no_file_or_folder_is_left_out_of_this() -> None:
    """The value's name in the help says that it is one."""
    of_type = {
        (command, action.dest)
        for command, parser in COMMANDS.items()
        for action in parser._actions
        if action.type in (Path, folder)
    }
    assert of_type <= {(command, action.dest) for command, action in PLACES}


@pytest.mark.parametrize("command", SHOW)
def test_what_shows_something_takes_kubectls_spelling_of_formats_and_tinks(command: str) -> None:
    assert flags(command) >= {"-o", "--output", "--format"}


@pytest.mark.parametrize("command", LISTS)
def test_every_list_is_without_headings_or_ids_alone_or_wide_where_that_is_asked(command: str) -> None:
    assert flags(command) >= {"--no-headers", "-q", "--wide", "--utc"}


@pytest.mark.parametrize("command", [each for each in LISTS if each != "osie list"])
def test_every_list_is_sorted_and_limited(command: str) -> None:
    assert flags(command) >= {"--sort", "--limit"}


# What `osie list` shows changes where a person builds it.
@pytest.mark.parametrize("command", [each for each in LISTS if each != "osie list"])
def test_every_list_is_watched(command: str) -> None:
    assert flags(command) >= {"-w", "--watch"}


@pytest.mark.parametrize("noun", ["hardware", "workflow", "breakpoint"])
def test_lists_of_what_goes_through_states_are_filtered_and_watched(noun: str) -> None:
    assert flags(f"{noun} list") >= {"--state", "--label", "-l", "--watch", "-w"}
    if noun == "workflow":
        assert flags("workflow list") >= {"--machine", "--template", "--since"}


FOR_ONE = {
    "breakpoint shell",
    "hardware credential",
    "hardware tpm",
    "hardware https",
    "template update",
    "workflow watch",
}


def named_by_keys() -> Iterator[str]:
    """Commands that take what has labels, but those for which only one, or one that is named, makes sense.

    `install` writes over disks without a question; 2020 had `data -l` for something else.  A terminal, a secret, whom to trust
    and what is followed to its end are for one; a template is changed by one file.
    """
    for command, parser in COMMANDS.items():
        kinds = {each.metavar for each in parser._actions if not each.option_strings}
        if kinds & set(LABELLED) and command not in FOR_ONE and command not in ("install", "workflow data"):
            yield command


@pytest.mark.parametrize("command", sorted(named_by_keys()))
def test_what_takes_several_takes_those_with_labels(command: str) -> None:
    assert "-l" in flags(command)


@pytest.mark.parametrize("command", DESTROY)
def test_what_destroys_can_be_told_not_to_ask(command: str) -> None:
    assert "--yes" in flags(command)
