"""How nouns declare their verbs, and the flags that several verbs take."""

import argparse
from collections.abc import Callable
from pathlib import Path

FORMATS = ("table", "json", "csv", "yaml")
KEY = "an id, a unique beginning of one, or a name"
Run = Callable[[argparse.Namespace], int | None]
Verbs = argparse._SubParsersAction  # noqa: SLF001  argparse gives its return type no public name


def add_verbs(noun: argparse.ArgumentParser, story: str = "", epilog: str = "") -> "Verbs[argparse.ArgumentParser]":
    """Have a noun take verbs; its help tells `story` instead of its line in the list of commands."""
    noun.description = story or noun.description
    noun.epilog = epilog
    return noun.add_subparsers(title="verbs", metavar="VERB", required=True)


def add_verb(
    verbs: "Verbs[argparse.ArgumentParser]", name: str, run: Run, about: str, story: str = ""
) -> argparse.ArgumentParser:
    """A verb, carried out by `run`; `about` is its line in the list, `story` what its help says beyond that."""
    description = f"{about[0].upper()}{about[1:]}. {story}" if story else about
    return carry_out(verbs.add_parser(name, help=about, description=description, allow_abbrev=False), run)


def carry_out(parser: argparse.ArgumentParser, run: Run) -> argparse.ArgumentParser:
    """Have a command carried out by `run`, which returns the exit status; None is 0.

    `run` is given the flags and arguments, and among them `usage_error`, which ends the program as for a wrong command
    line.
    """
    parser.set_defaults(run=run, usage_error=parser.error)
    return parser


def add_keys(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    verb.add_argument("keys", nargs="+", metavar="KEY", help=KEY)
    return verb


def add_listing(verb: argparse.ArgumentParser, keys: str = "") -> argparse.ArgumentParser:
    """The flags of what shows documents (`output.formats`); `keys` is how many may be named, as argparse counts."""
    if keys:
        verb.add_argument("keys", nargs=keys, metavar="KEY", help=KEY)
    verb.add_argument("--format", choices=FORMATS, default="table")
    verb.add_argument("--no-headers", action="store_true")
    verb.add_argument("-q", "--quiet", action="store_true", help="ids only")
    return verb


def add_text_source(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--file", "-p", "--path", type=Path, metavar="F", help="without it, standard input")


def add_confirmation(verb: argparse.ArgumentParser) -> None:
    """A person's word that disks may go."""
    verb.add_argument(
        "--confirm-wipe", action="store_true", help="actions may wipe their disks (`wipes:`), whatever is on them"
    )


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
