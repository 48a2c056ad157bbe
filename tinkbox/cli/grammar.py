"""What the commands have in common: how nouns and verbs are made, and the words that several of them take."""

import argparse
from pathlib import Path

from tinkbox.model.duration import parse_duration
from tinkbox.model.errors import Invalid

FORMATS = ("table", "json", "csv", "yaml")
KEY = "an id, a unique beginning of one, or a name"
Verbs = argparse._SubParsersAction  # noqa: SLF001  argparse gives its return type no public name


def add_noun(
    nouns: "Verbs[argparse.ArgumentParser]", name: str, about: str, story: str = "", epilog: str = ""
) -> "Verbs[argparse.ArgumentParser]":
    """A noun to add verbs to; `about` is its line in the list, `story` what its own help says instead."""
    noun = nouns.add_parser(
        name,
        help=about,
        description=story or about,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    return noun.add_subparsers(title="verbs", metavar="VERB", required=True)


def add_verb(
    verbs: "Verbs[argparse.ArgumentParser]", name: str, run: str, about: str, story: str = ""
) -> argparse.ArgumentParser:
    """A command, run as `module:function`; `about` is its line in the list, `story` what its help says beyond that."""
    description = f"{about[0].upper()}{about[1:]}. {story}" if story else about
    verb = verbs.add_parser(name, help=about, description=description, allow_abbrev=False)
    verb.set_defaults(run=run)
    return verb


def add_keys(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    verb.add_argument("keys", nargs="+", metavar="KEY", help=KEY)
    return verb


def add_listing(verb: argparse.ArgumentParser, keys: str = "") -> argparse.ArgumentParser:
    """The flags of what shows documents; `keys` is how many may be named, as argparse counts."""
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


def duration(text: str) -> int:
    """An argument's seconds."""
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


def speed(text: str) -> float:
    """An argument that says how fast."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no speed: write a number such as 2 or 0.5")
    return number


def breakpoint_place(text: str) -> tuple[str, str]:
    """An argument that says where to hold: (on-failure, before or after; the action's name)."""
    where, _, action = text.partition("=")
    if text == "on-failure" or (where in ("before", "after") and action):
        return where, action
    raise argparse.ArgumentTypeError(f"{text!r} is not on-failure, before=ACTION or after=ACTION")
