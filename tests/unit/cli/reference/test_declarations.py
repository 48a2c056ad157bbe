"""What the reference knows of the command line is what argparse was told."""

import argparse

import pytest

from tinkbox.cli.command_line import command_line
from tinkbox.cli.nouns import NOUNS
from tinkbox.cli.reference.declarations import Argument, Command, Flag, declared, wrapped


@pytest.fixture(scope="module")
def program() -> Command:
    return declared(command_line(list(NOUNS)))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="tinkbox", description="does things")
    made.add_argument("--long", "-s", metavar="TEXT", help="100%% of %(metavar)s")
    made.add_argument("--hidden", help=argparse.SUPPRESS)
    made.add_argument("--some", action="append", choices=("a", "b"))
    made.add_argument("--must", required=True)
    group = made.add_mutually_exclusive_group()
    group.add_argument("--on", action="store_true")
    group.add_argument("--off", action="store_true")
    made.add_argument("one")
    made.add_argument("more", nargs="*", metavar="FILE")
    return made


def test_flags_and_arguments_are_those_of_the_parser() -> None:
    command = declared(parser())
    on, off = Flag(names=("--on",)), Flag(names=("--off",))
    assert command.flags == (
        Flag(names=("-s", "--long"), takes="TEXT", about="100% of TEXT"),
        Flag(names=("--some",), takes="a|b", choices=("a", "b"), repeated=True),
        Flag(names=("--must",), takes="MUST", needed=True),
        on,
        off,
    )
    assert command.exclusive == ((on, off),)
    assert command.arguments == (Argument(name="ONE"), Argument(name="FILE", optional=True, many=True))
    assert command.story == "Does things."
    assert command.usage == "tinkbox [-s TEXT] [--some a|b] --must MUST [--on | --off] ONE [FILE ...]"


def test_verbs_that_are_in_no_list_are_left_out(program: Command) -> None:
    (completion,) = (each for each in program.below if each.path == ("completion",))
    assert [each.path[-1] for each in completion.below] == ["bash", "zsh", "fish"]


def test_every_noun_is_there(program: Command) -> None:
    assert [each.path[0] for each in program.below if each.path != ("help",)] == list(NOUNS)


def test_a_long_usage_is_cut_between_flags() -> None:
    assert wrapped("tinkbox do [--long TEXT] [-a | -b] WORD", 24, "    ") == [
        "tinkbox do [--long TEXT]", "    [-a | -b] WORD",
    ]  # fmt: skip
