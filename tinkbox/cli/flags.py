"""How nouns declare their verbs, and the flags that several verbs take."""

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from enum import StrEnum

    from tinkbox.model.key_kinds import KeyKind

FORMATS = ("table", "wide", "json", "yaml", "csv", "name", "tink")
FORMATS_HELP = (
    "table (default); wide: more columns, nothing shortened; json, yaml: whole documents; csv: for spreadsheets; name: what "
    "commands take as KEY; tink: as Tinkerbell's `tink` printed in 2020"
)
WRONG = 2  # the exit status of a wrong command line
KEY = "an id, a unique beginning of one, or a name"
Run = Callable[[argparse.Namespace], int | None]
Verbs = argparse._SubParsersAction  # noqa: SLF001  argparse gives its return type no public name


def add_verbs(noun: argparse.ArgumentParser, story: str = "", epilog: str = "") -> "Verbs[argparse.ArgumentParser]":
    """Have a noun take verbs; its help tells `story` instead of its line in the list of commands.

    Without a verb it prints its help, as for a wrong command line.
    """
    noun.description = story or noun.description
    noun.epilog = epilog

    def without_verb(_: argparse.Namespace) -> int:
        noun.print_help(sys.stderr)
        return WRONG

    carry_out(noun, without_verb)
    return noun.add_subparsers(title="verbs", metavar="VERB")


def add_verb(
    verbs: "Verbs[argparse.ArgumentParser]", name: str, run: Run, about: str, story: str = ""
) -> argparse.ArgumentParser:
    """A verb, carried out by `run`; `about` is its line in the list, `story` what its help says beyond that."""
    description = f"{about[0].upper()}{about[1:]}. {story}" if story else about
    return carry_out(verbs.add_parser(name, help=about, description=description, allow_abbrev=False), run)


def carry_out(parser: argparse.ArgumentParser, run: Run) -> argparse.ArgumentParser:
    """Have a command carried out by `run`, which returns the exit status; None is 0.

    `run` is given the flags and arguments, and among them `parser`, and its `usage_error`, which ends the program as for a
    wrong command line.
    """
    parser.set_defaults(run=run, usage_error=parser.error, parser=parser)
    return parser


def add_keys(
    verb: argparse.ArgumentParser, kind: "KeyKind", *, by_labels: bool = True, state: str = ""
) -> argparse.ArgumentParser:
    """One or several keys; `kind` is what they name, which completions suggest.

    What has labels can be selected `by_labels` as well (`selection.take_selected`), of those in this `state`; empty: of all
    that a list has.
    """
    from tinkbox.model.key_kinds import LABELLED

    selects = by_labels and kind in LABELLED
    verb.add_argument("keys", nargs="*" if selects else "+", metavar=kind, help=KEY)
    verb.set_defaults(names={})  # what people call some of them
    if selects:
        about = "those with these labels, such as rack=r1,gpu!=no"
        verb.add_argument("-l", "--label", type=selector, metavar="SELECTOR", help=about)
        verb.set_defaults(selects=kind, selects_state=state)
    return verb


def add_listing(verb: argparse.ArgumentParser, keys: str = "", kind: str = "KEY") -> argparse.ArgumentParser:
    """The flags of what shows documents (`output.formats`).

    `keys` is how many may be named, as argparse counts, and `kind` what they name (`model.key_kinds`).
    """
    if keys:
        verb.add_argument("keys", nargs=keys, metavar=kind, help=KEY)
    add_format(verb)
    verb.add_argument("--no-headers", action="store_true", help="no line of headings")
    verb.add_argument("-q", "--quiet", action="store_true", help="ids only")
    add_times(verb)
    return verb


def add_format(verb: argparse.ArgumentParser, formats: Collection[str] = FORMATS, about: str = FORMATS_HELP) -> None:
    # Without a default of its own: that is the whole command line's.
    verb.add_argument(
        "-o",
        "--output",
        "--format",
        dest="format",
        choices=formats,
        default=argparse.SUPPRESS,
        metavar="FORMAT",
        help=about,
    )


def add_times(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--utc", action="store_true", help="times in UTC (default: this host's time zone)")


def add_filters(
    verb: argparse.ArgumentParser,
    *names: str,
    sorts: Collection[str],
    states: "Callable[[], Iterable[StrEnum]] | None" = None,
) -> None:
    """Which entries a list has, in which order, and how many (`filters_of`): those of FILTERS that are named, `limit` and `sort`.

    `sorts` are the fields to sort by, `states` gives those that there are.
    """
    if states is not None:
        about = "in this state only, or with commas in one of several: %(type)s"
        verb.add_argument("--state", type=Words(states, _states), metavar="STATE", help=about)
    for name in names:
        flags, read, metavar, about = FILTERS[name]
        verb.add_argument(*flags, dest=name, type=read, metavar=metavar, help=about)
    verb.add_argument("--limit", type=limit, metavar="N", help="the first N only; 0: all")
    about = "by %(type)s; with - before it the largest first"
    verb.add_argument("--sort", type=Words(lambda: sorts, _field), metavar="FIELD", help=about)


def add_watch(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "-w",
        "--watch",
        action="store_true",
        help="keep the table up to date until q; into a pipe, print lines that change",
    )


def filters_of(chosen: argparse.Namespace) -> dict[str, str]:
    """What the flags of `add_filters` ask for, in the API's words; what is not asked for is left out."""
    asked = ((name, getattr(chosen, name, None)) for name in ("state", *FILTERS, "limit", "sort"))
    return {name: value for name, value in asked if value is not None}


def add_text_source(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--file", "-f", "-p", "--path", type=Path, metavar="FILE", help="without it, standard input")


def add_confirmation(verb: argparse.ArgumentParser) -> None:
    """A person's word that disks may go."""
    verb.add_argument(
        "--confirm-wipe", action="store_true", help="actions may wipe their disks (`wipes:`), whatever is on them"
    )


def add_labels(
    verb: argparse.ArgumentParser, about: str, *spellings: str, read: Callable[[str], tuple[str, str]] | None = None
) -> None:
    """The labels of what is made, by `--label` or these spellings of it: pairs of key and value, as `label` or `read` has them."""
    verb.add_argument(
        *spellings,
        "--label",
        dest="labels",
        action="append",
        default=[],
        type=read or label,
        metavar="KEY=VALUE",
        help=f"{about}, such as rack=r1; may be repeated",
    )


def add_yes(verb: argparse.ArgumentParser) -> None:
    """For what destroys something, and asks before (`selection.confirm_keys`, `terminal.questions.confirm`)."""
    verb.add_argument("--yes", action="store_true", help="do not ask, do it")


def label(text: str) -> tuple[str, str]:
    """An argument that sets a label."""
    from tinkbox.model.errors import Invalid
    from tinkbox.model.labels import parse_change

    try:
        change = parse_change([text])
    except Invalid as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not change.set:
        raise argparse.ArgumentTypeError(f"{text!r} sets no label: write KEY=VALUE")
    return change.set[0]


def filled(text: str) -> str:
    """An argument that says something: an empty one comes from a shell variable that is not set."""
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty: give a value, or leave the flag out")
    return text


def folder(text: str) -> Path:
    """An argument that names a folder, wherever else it is used later: another program resolves it from its own place."""
    return Path(text).absolute()


def duration(text: str) -> int:
    """An argument's seconds."""
    from tinkbox.model.duration import parse_duration
    from tinkbox.model.errors import Invalid

    try:
        return parse_duration(text)
    except Invalid as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def assignment(text: str) -> tuple[str, str]:
    """An argument that sets a variable."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} sets nothing: write NAME=VALUE")
    return name, value


def selector(text: str) -> str:
    """An argument that selects by labels."""
    from tinkbox.model.errors import Invalid
    from tinkbox.model.labels import parse_selector

    try:
        return str(parse_selector(text))
    except Invalid as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def since(text: str) -> str:
    """An argument that is an age, which stays as it is, or a time, here without a zone; becomes ISO 8601 with one."""
    from datetime import datetime

    from tinkbox.model.duration import parse_duration
    from tinkbox.model.errors import Invalid

    written = text.strip()
    try:
        parse_duration(written)
    except Invalid:
        pass
    else:
        return written
    try:
        return datetime.fromisoformat(written).astimezone().isoformat()
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is neither an age nor a time: write 30m, 2h, 3d or 2026-11-27T17:00"
        ) from None


def limit(text: str) -> str:
    """An argument that is a number of entries."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number of entries: write a whole number; 0: all")
    return text


# The flags that select entries of lists: how each is written, read and explained.
FILTERS: Mapping[str, tuple[tuple[str, ...], Callable[[str], str], str, str]] = {
    "machine": (("--machine",), filled, "MACHINE", "of this machine only: a name, MAC, IP or id"),
    "template": (("--template",), filled, "TEMPLATE", "of this template only: a name or id"),
    "label": (("-l", "--label"), selector, "SELECTOR", "with these labels only: rack=r1,gpu!=no"),
    "since": (("--since",), since, "AGE|TIME", "no older than this: 2h, 3d, 2026-11-27T17:00"),
}


class Words:
    """What reads an argument that is made of some words; as text it is these, for helps.

    They are looked up where they are asked for: those of some lists take long.
    """

    def __init__(self, known: Callable[[], Iterable[object]], read: Callable[[str, Sequence[str]], str]) -> None:
        self._known, self._read = known, read

    @property
    def words(self) -> Sequence[str]:
        return [str(each) for each in self._known()]

    def __call__(self, text: str) -> str:
        return self._read(text, self.words)

    def __str__(self) -> str:
        return ", ".join(self.words)


def _states(text: str, known: Sequence[str]) -> str:
    """States with commas between, in whatever case."""
    by_folded = {each.casefold(): each for each in known}
    named = [each.strip() for each in text.split(",") if each.strip()]
    for each in named:
        if each.casefold() not in by_folded:
            raise argparse.ArgumentTypeError(f"{each[:40]!r} is no state; there are: {', '.join(known)}")
    if not named:
        raise argparse.ArgumentTypeError("it is empty: name a state, or leave the flag out")
    return ",".join(by_folded[each.casefold()] for each in named)


def _field(text: str, known: Sequence[str]) -> str:
    """A field, with - before it for the largest first."""
    from tinkbox.model.spelling import meant

    field = text.removeprefix("-").replace("-", "_")
    if field not in known:
        raise argparse.ArgumentTypeError(f"{field[:40]!r} is nothing to sort by: {meant(field, known)}")
    return f"-{field}" if text.startswith("-") else field
