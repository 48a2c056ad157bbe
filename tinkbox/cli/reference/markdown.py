"""docs/commands.md: each noun with its verbs, their usage, flags and an example."""

from collections.abc import Iterator, Sequence
from textwrap import fill

from tinkbox.cli import exit_statuses
from tinkbox.cli.reference.declarations import Argument, Command, Flag, wrapped
from tinkbox.cli.reference.examples import example

TITLE = """\
# Commands

This page is printed from the program (`make reference`), as `tinkbox COMMAND --help` is, the man pages, and what your shell
completes. KEYs such as MACHINE or WORKFLOW are an id, a name, or a unique beginning of an id; of a machine also a MAC or an IP.

To switch completions on, see `tinkbox completion --help`: one line for bash, zsh or fish. `tinkbox init` installs them for
all users of its host, and the man pages (`man tinkbox`).
"""
WIDTH = 100
PAGE_WIDTH = 110


def page(program: Command) -> str:
    """The whole page."""
    index = "\n".join(
        f"| [{each.path[0]}](#{each.line.replace(' ', '-')}) | {_cell(each.about)} |" for each in program.below
    )
    parts = [
        TITLE,
        f"| command | what it is for |\n|---|---|\n{index}\n",
        "## Exit status\n\n| status | means |\n|---|---|\n"
        + "".join(f"| {status} | {_cell(about)} |\n" for status, about in exit_statuses.ABOUT),
        *_flags(program, "## Before every command\n"),
    ]
    for noun in program.below:
        parts += _noun(noun)
    return "\n".join(parts)


def _noun(noun: Command) -> Iterator[str]:
    yield f"## {noun.line}\n"
    if not noun.below:
        yield from _command(noun)
        return
    yield _story(noun)
    if noun.epilog:
        yield f"```\n{noun.epilog}\n```\n"
    for verb in noun.below:
        yield f"### {verb.line}\n"
        yield from _command(verb)


def _command(command: Command) -> Iterator[str]:
    yield _story(command)
    usage = "\n".join(wrapped(command.usage, WIDTH, "    "))
    yield f"```\n{usage}\n```\n"
    yield from _flags(command, "")
    yield f"```sh\n{example(command)}\n```\n"


def _story(command: Command) -> str:
    paragraphs = _text(command.story).split("\n\n")
    return (
        "\n\n".join(fill(each, PAGE_WIDTH, break_long_words=False, break_on_hyphens=False) for each in paragraphs)
        + "\n"
    )


def _flags(command: Command, heading: str) -> Iterator[str]:
    described: Sequence[Argument | Flag] = (*command.arguments, *command.flags)
    rows = [_row(each) for each in described]
    if rows:
        yield f"{heading}\n| | |\n|---|---|\n".lstrip("\n") + "\n".join(rows) + "\n"


def _row(each: Flag | Argument) -> str:
    repeated = " (may be repeated)" if isinstance(each, Flag) and each.repeated and "repeated" not in each.about else ""
    return f"| `{_cell(each.shown)}` | {_cell(each.about)}{repeated} |"


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|")


def _text(text: str) -> str:
    """Text for people, which is not Markdown: what looks like a tag or emphasis stays as it is."""
    return text.replace("<", "&lt;").replace("*", "\\*")
