"""How nouns declare their verbs, and the flags that several verbs take."""

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinkbox.cli.exit_statuses import WRONG

if TYPE_CHECKING:
    from tinkbox.model.key_kinds import KeyKind, ToChange

FORMATS = ("table", "wide", "json", "yaml", "csv", "name", "tink")
# Of a command that prints without a flag what suits who reads: documents, where TINKBOX_FORMAT says so.
FITTING = "fitting"
DOCUMENTS = ("json", "yaml")
FORMATS_HELP = (
    "table (default); wide: more columns, nothing shortened; json, yaml: whole documents; csv: for spreadsheets; name: what "
    "commands take as KEY; tink: as Tinkerbell's `tink` printed in 2020"
)
KEY = "an id, a name, or a unique beginning of an id"
AGE = "age"
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
    verb: argparse.ArgumentParser,
    kind: "KeyKind",
    *,
    by_labels: bool = True,
    state: str = "",
    suggested: "KeyKind | None" = None,
    listed_by: str = "",
    is_other: Callable[[str], bool] = lambda _: False,
    to_change: "ToChange | None" = None,
) -> argparse.ArgumentParser:
    """One or several keys; `kind` is what they name, and `suggested` those of them that completions suggest, None: all.

    What has labels can be selected `by_labels` as well (`selection.take_selected`), of those in this `state`; empty: of all
    that a list has.  `listed_by` is the noun whose list that is, empty: that of the kind.  Words that stand among the keys
    and are none are `is_other`.  They are looked up `to_change` so; None: in any way.
    """
    from tinkbox.model.key_kinds import LABELLED, ToChange, typed_for

    selects = by_labels and kind in LABELLED
    about = typed_for(kind, to_change or ToChange.ANY) or KEY
    verb.add_argument("keys", nargs="*" if selects else "+", metavar=suggested or kind, help=about)
    # What people call some of them, and what they mean once that was looked up (`meant_keys`).
    verb.set_defaults(names={}, key_kind=kind, meant=None, selected={}, to_change=to_change or ToChange.ANY)
    if selects:
        add_selection(verb, kind, state=state, listed_by=listed_by, is_other=is_other)
    return verb


def add_selection(
    verb: argparse.ArgumentParser,
    kind: str,
    *,
    state: str = "",
    all_without: bool = False,
    listed_by: str = "",
    is_other: Callable[[str], bool] = lambda _: False,
) -> None:
    """What selects by labels; with `all_without` a command without keys and labels is none that lacks something."""
    add_selector(verb, "those with these labels, such as rack=r1,gpu!=no", "--label", "--selector")
    verb.set_defaults(
        selects=kind, selects_state=state, selects_by=listed_by, all_without=all_without, is_other=is_other
    )


def add_selector(verb: argparse._ActionsContainer, about: str, *spellings: str) -> None:
    """What selects by labels, also where it stands for no keys; all that are given must hold.

    The first of its long `spellings` names its value; without any it is `--selector`.
    """
    verb.add_argument(
        "-l", *(spellings or ("--selector",)), type=selector, action=Joined, metavar="SELECTOR", help=about
    )


def add_listing(
    verb: argparse.ArgumentParser, keys: str = "", kind: str = "KEY", about: str = "", quiet: str = "ids only"
) -> argparse.ArgumentParser:
    """The flags of what shows documents (`output.formats`); `keys`, `kind` and `about` are as for `add_shown_keys`.

    `quiet` says what `-q` prints.
    """
    if keys:
        add_shown_keys(verb, keys, kind, about)
    add_format(verb)
    verb.add_argument(
        "--wide",
        dest="format",
        action="store_const",
        const="wide",
        default=argparse.SUPPRESS,
        help="the same as -o wide",
    )
    verb.add_argument("--no-headers", action="store_true", help="no line of headings")
    verb.add_argument("-q", "--quiet", action="store_true", help=quiet)
    add_times(verb)
    return verb


def add_shown_keys(
    verb: argparse.ArgumentParser, keys: str, kind: str = "KEY", about: str = "", *, by_labels: bool = True
) -> argparse.ArgumentParser:
    """The keys of what is shown and not changed.

    `keys` is how many may be named, as argparse counts, and `kind` what they name (`model.key_kinds`), which `about` tells,
    where that is not what is always said of the kind; what has labels can be selected `by_labels` as well.
    """
    from tinkbox.model.key_kinds import LABELLED, TYPED

    about = about or TYPED.get(kind, KEY)
    selects = by_labels and kind in LABELLED
    verb.add_argument("keys", nargs="*" if selects else keys, metavar=kind, help=about)
    verb.set_defaults(names={})  # what people call some of them
    if selects:
        add_selection(verb, kind, all_without=keys == "*")
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
    sorts: Collection[str] = (),
    age: str = "",
    states: Callable[[], Iterable[str]] | None = None,
) -> None:
    """Which entries a list has, in which order, and how many (`filters_of`): those of FILTERS that are named, `limit` and `sort`.

    `sorts` are the fields to sort by, and `age` is that of them which the column AGE counts from, empty: none;
    `states` gives those that there are.  Without `sorts` there is neither limit nor order.
    """
    if states is not None:
        about = "in this state only, or with commas in one of several: %(type)s"
        verb.add_argument("--state", type=Words(states, _states), action=Joined, metavar="STATE", help=about)
    for name in names:
        if name == "label":
            add_selector(verb, "with these labels only: rack=r1,gpu!=no", "--label", "--selector")
            continue
        flag, read, metavar, about = FILTERS[name]
        verb.add_argument(flag, dest=name, type=read, metavar=metavar, help=about)
    if not sorts:
        return
    verb.add_argument("--limit", type=limit, metavar="N", help="the first N only; 0: all")
    about = "by %(type)s; with - before it the largest first"
    fields = [*sorts, AGE] if age else sorts

    def sorted_by(text: str, known: Sequence[str]) -> str:
        field = _field(text, known)
        # The smallest age is that of the latest time.
        return {AGE: f"-{age}", f"-{AGE}": age}.get(field, field)

    verb.add_argument("--sort", type=Words(lambda: fields, sorted_by), metavar="FIELD", help=about)


def add_watch(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "-w",
        "--watch",
        action="store_true",
        help="keep the table up to date until q; into a pipe, print lines that change",
    )


def filters_of(chosen: argparse.Namespace) -> dict[str, str]:
    """What the flags of `add_filters` ask for, in the API's words; what is not asked for is left out."""
    asked = {name: getattr(chosen, name, None) for name in ("state", "label", *FILTERS, "limit", "sort")}
    if hasattr(chosen, "selects"):
        del asked["label"]  # which stood for keys
    return {name: value for name, value in asked.items() if value is not None}


def add_confirmation(verb: argparse.ArgumentParser) -> None:
    """A person's word that disks may go."""
    verb.add_argument(
        "--confirm-wipe", action="store_true", help="actions may wipe their disks (`wipes:`), whatever is on them"
    )


def add_strict(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--strict", action="store_true", help="refuse what would be ignored, such as unknown keys (default: tell it)"
    )


def add_require_images(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--require-images",
        action="store_true",
        help="refuse what needs an image that is missing or damaged (default: tell it)",
    )


def add_labels(
    verb: argparse.ArgumentParser, about: str, *spellings: str, read: Callable[[str], tuple[str, str]] | None = None
) -> None:
    """The labels of what is made, by `--label` or these spellings of it: pairs of key and value, as `label` or `read` has them."""
    verb.add_argument(
        *spellings,
        "--label",
        dest="labels",
        action=EachOnce,
        default=[],
        type=read or label,
        metavar="KEY=VALUE",
        help=f"{about}, such as rack=r1; may be repeated",
    )


class EachOnce(argparse.Action):
    """Pairs of key and value, of which no key has two values."""

    def __call__(
        self, _: object, to: argparse.Namespace, values: str | Sequence[Any] | None, _flag: object = None
    ) -> None:
        assert isinstance(values, tuple)
        known: list[tuple[str, str]] = getattr(to, self.dest)
        key, value = values
        if dict(known).get(key, value) != value:
            raise argparse.ArgumentError(self, f"{key} has two values: leave one of them out")
        setattr(to, self.dest, [*known, values])


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


# The flags beside --state and -l that select entries of lists: how each is written, read and explained.
FILTERS: Mapping[str, tuple[str, Callable[[str], str], str, str]] = {
    "machine": ("--machine", filled, "MACHINE", "of this machine only: a name, MAC, IP or id"),
    "template": ("--template", filled, "TEMPLATE", "of this template only: a name or id"),
    "since": ("--since", since, "AGE|TIME", "no older than this: 2h, 3d, 2026-11-27T17:00"),
}


class Joined(argparse.Action):
    """What may be given several times, as if it were given once with commas between: labels must all hold, of states one."""

    def __call__(
        self, _: argparse.ArgumentParser, chosen: argparse.Namespace, value: object, __: str | None = None
    ) -> None:
        before = getattr(chosen, self.dest, None)
        setattr(chosen, self.dest, value if before is None else f"{before},{value}")


class Once(argparse.Action):
    """What has one value, and is refused where it is given twice: which of the two was meant is not known."""

    _given = False

    def __call__(
        self, _: argparse.ArgumentParser, chosen: argparse.Namespace, value: object, flag: str | None = None
    ) -> None:
        if flag is not None and self._given:
            raise argparse.ArgumentError(self, "it is given twice: leave one of them out")
        self._given = True
        setattr(chosen, self.dest, value)


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
