"""`tinkbox secret`: what actions and services are given, and nobody is shown."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import add_filters, add_listing, add_verb, add_verbs, add_watch, add_yes
from tinkbox.cli.input_documents import STANDARD_INPUT, input_file, read_bounded, read_input
from tinkbox.cli.output.changes import change_each, tell_deleted
from tinkbox.cli.output.formats import Column, Document
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import age, clean
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.terminal.watched_list import show_found
from tinkbox.model.errors import Invalid
from tinkbox.model.secret import LEAST_VALUE, MAX_VALUE, check_secret_name, check_value, is_text

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

STORY: Final = """\
Keep what actions and services need and nobody is to see. A template asks for it
by `{{ secret "NAME" }}` in a command or environment, or by `secrets:`. It is
kept encrypted, given to the machine when an action begins, masked in what that
prints, and never shown."""
COLUMNS: Sequence[Column] = (
    Column("Name", "name", fit=Fit(least=12)),
    Column("Bytes", "size"),
    Column("Set", "set_at", age),
    Column("By", "set_by", fit=Fit(rank=1)),
    Column("Workflows", "workflows", lambda ids: " ".join(each[:8] for each in ids), Fit(least=8, rank=2)),
    Column("Templates", "templates", ", ".join, Fit(least=8, rank=3)),
)
_LINE_ENDS: Final = (b"\r\n", b"\n")
_LONGEST_LINE: Final = 4095  # bytes, of the line discipline of Linux (termios(3), canonical mode)
LISTED: Final = List(columns=COLUMNS, key="name", sort="name")


def declare(noun: argparse.ArgumentParser) -> None:
    noun.description = STORY
    verbs = add_verbs(noun)
    verb = add_verb(
        verbs,
        "set",
        set_value,
        "give a secret its value",
        f"It has {LEAST_VALUE} bytes to {MAX_VALUE // 1024} KiB. A file is kept byte for byte, with the line end at its end; from standard input that "
        "is taken off. At a terminal the value is asked for twice, and not shown. A value that is no text (UTF-8 without NUL) can be "
        "given to actions as a file alone. A secret of the same name gets the new value; actions that run keep the former one.",
    )
    verb.add_argument(
        "name", metavar="NAME", help="letters, digits, dots, dashes and underscores; db and DB are two secrets"
    )
    verb.add_argument(
        "--file", "-f", type=input_file, metavar="FILE", help="- or without it, standard input; at most 64 KiB"
    )
    verb = add_verb(
        verbs,
        "list",
        show_list,
        "secrets, without their values, and who asks for them",
        'WORKFLOWS are those that ask for it and are not over. TEMPLATES are those whose text names it, by `secret "NAME"` or below '
        "`secrets:`. What a template asks for by `.references`, or by a name that it makes of parts, is known once a workflow is made "
        "of it, and then under WORKFLOWS.",
    )
    add_listing(verb)
    add_filters(verb, sorts=("name", "size", "set_at", "set_by"), age="set_at")
    add_watch(verb)
    verb = add_verb(
        verbs,
        "delete",
        delete,
        "forget secrets",
        "Actions that ask for one fail from now on. At a terminal it asks first.",
    )
    verb.add_argument("keys", nargs="+", metavar="NAME")
    add_yes(verb)


def set_value(chosen: argparse.Namespace) -> None:
    check_secret_name(chosen.name)
    if chosen.file is None and sys.stdin is not None and sys.stdin.isatty():
        value = _typed(chosen.name)
    elif chosen.file is None or chosen.file is STANDARD_INPUT:
        value = _without_line_end(read_input(chosen.file, "value", MAX_VALUE + len(_LINE_ENDS[0]) + 1))
    else:
        value = read_bounded(chosen.file, MAX_VALUE)
    check_value(value)
    answer = ask(chosen, lambda operator: operator.secrets.set(chosen.name, value))
    print(clean(f"{'Created' if answer['created'] else 'Changed'} Secret:  {answer['name']}"))
    for note in _notes(chosen, value):
        print(clean(f"tinkbox: {note}"), file=sys.stderr)


def _notes(chosen: argparse.Namespace, value: bytes) -> Iterator[str]:
    """What its owner may not expect of a value that was kept."""
    if value.endswith(_LINE_ENDS) and len(value.splitlines()) == 1:
        yield (
            f"the line end at the end of {chosen.file} is part of the value. If it should not be, pipe the file into the same command "
            "without --file: from standard input the line end is taken off"
        )
    if not is_text(value):
        yield f"the value is no text: no command line or environment can have it, only a file, with `secrets: [{chosen.name}]`"


def _typed(name: str) -> bytes:
    """What is typed twice and not shown; raises Invalid where the two differ, and for a line that the terminal may have cut off."""
    from tinkbox.cli.terminal.questions import ask_unseen

    value = ask_unseen(f"Value of {name}: ")
    if len(os.fsencode(value)) >= _LONGEST_LINE:
        raise Invalid(f"a terminal hands on {_LONGEST_LINE} bytes of a line at most: name a file with --file")
    if ask_unseen("The same again: ") != value:
        raise Invalid("the two are not the same, and nothing was set: type it again")
    return os.fsencode(value)


def _without_line_end(value: bytes) -> bytes:
    """Without what `echo` and a terminal put behind a value."""
    end = next(filter(value.endswith, _LINE_ENDS), b"")
    return value.removesuffix(end)


def show_list(chosen: argparse.Namespace) -> int:
    return show_found(chosen, lambda operator: operator.secrets, LISTED)


def delete(chosen: argparse.Namespace) -> int:
    from tinkbox.cli.terminal.questions import confirm

    confirm(chosen, f"Delete {', '.join(chosen.keys)}")

    async def forget(operator: "Operator", key: str) -> Document:
        return await operator.secrets.delete(key)

    return change_each(chosen, forget, lambda deleted: tell_deleted(chosen, "secret", deleted["name"]))
