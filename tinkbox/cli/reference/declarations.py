"""The command line as values, read from the parsers that declare it."""
# ruff: noqa: SLF001  argparse gives what it was told no public name

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tinkbox.cli.flags import Joined, Words

PROGRAM = "tinkbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A flag with all its spellings; `takes` names its value and is empty for a switch."""

    names: tuple[str, ...]
    takes: str = ""
    choices: tuple[str, ...] = ()
    about: str = ""
    needed: bool = False
    repeated: bool = False

    @property
    def shortly(self) -> str:
        """The first of its names: `-t TEMPLATE`."""
        return f"{self.names[0]} {self.takes}".rstrip()

    @property
    def shown(self) -> str:
        """All its names: `-t, --template TEMPLATE`."""
        return f"{', '.join(self.names)} {self.takes}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument by its place: one, or with `many` any number; with `optional` it may be missing."""

    name: str
    choices: tuple[str, ...] = ()
    about: str = ""
    optional: bool = False
    many: bool = False

    @property
    def shown(self) -> str:
        each = f"{self.name} ..." if self.many else self.name
        return f"[{each}]" if self.optional else each


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The program, a noun or a verb: `path` are its words behind the program's name.

    `about` is its line in the list above it, `story` and `epilog` what its own help says, `below` what it has; of each
    group in `exclusive`, one flag at most is taken.
    """

    path: tuple[str, ...] = ()
    about: str = ""
    story: str = ""
    epilog: str = ""
    own_usage: str = ""
    flags: tuple[Flag, ...] = ()
    exclusive: tuple[tuple[Flag, ...], ...] = ()
    arguments: tuple[Argument, ...] = ()
    below: tuple["Command", ...] = ()

    @property
    def line(self) -> str:
        """As it is typed: `tinkbox workflow create`."""
        return " ".join((PROGRAM, *self.path))

    @property
    def usage(self) -> str:
        """One line, without the help flag that every command has."""
        if self.own_usage:
            return " ".join(self.own_usage.replace(" [-h]", "").split())
        group = {flag.names: each for each in self.exclusive for flag in each}
        groups = dict.fromkeys(group.get(each.names, (each,)) for each in self.flags)
        flags = (_in_usage(each) for each in groups)
        words = ("COMMAND ...",) if self.below else (each.shown for each in self.arguments)
        return " ".join((self.line, *flags, *words))

    def walk(self) -> Iterator["Command"]:
        """It, and everything below it."""
        yield self
        for each in self.below:
            yield from each.walk()


def completed(program: Command) -> Command:
    """The program as completions have it: below `help` stand the nouns, and below each its verbs."""
    nouns = tuple(
        Command(path=("help", *noun.path), about=noun.about, below=tuple(_helped(each) for each in noun.below))
        for noun in program.below
        if noun.path != ("help",)
    )
    below = (replace(each, arguments=(), below=nouns) if each.path == ("help",) else each for each in program.below)
    return replace(program, below=tuple(below))


def _helped(verb: Command) -> Command:
    return Command(path=("help", *verb.path), about=verb.about)


def declared(parser: argparse.ArgumentParser, path: tuple[str, ...] = (), about: str = "") -> Command:
    """What a parser declares, without what it hides from people."""
    actions = [each for each in parser._actions if each.help != argparse.SUPPRESS]
    below = [each for each in actions if isinstance(each, argparse._SubParsersAction)]
    plain = [each for each in actions if each not in below and not isinstance(each, argparse._HelpAction)]
    groups = [
        tuple(_flag(each) for each in group._group_actions if each in plain)
        for group in parser._mutually_exclusive_groups
    ]
    return Command(
        path=path,
        about=about,
        story=_sentence((parser.description or about).strip()),
        epilog=(parser.epilog or "").strip(),
        own_usage=parser.usage or "",
        flags=tuple(_flag(each) for each in plain if each.option_strings),
        exclusive=tuple(each for each in groups if len(each) > 1),
        arguments=tuple(_argument(each) for each in plain if not each.option_strings),
        below=tuple(
            declared(each.choices[told.dest], (*path, told.dest), told.help or "")
            for each in below
            for told in each._choices_actions
        ),
    )


def _in_usage(group: Sequence[Flag]) -> str:
    told = " | ".join(each.shortly for each in group)
    if any(each.needed for each in group):
        return told
    return f"[{told}]"


def _flag(action: argparse.Action) -> Flag:
    return Flag(
        names=tuple(sorted((each for each in action.option_strings if " " not in each), key=_length_of_dashes)),
        takes="" if action.nargs == 0 else _value(action),
        choices=tuple(map(str, action.choices or (action.type.words if isinstance(action.type, Words) else ()))),
        about=_about(action),
        needed=action.required,
        repeated=isinstance(action, (argparse._AppendAction, Joined)),
    )


def _argument(action: argparse.Action) -> Argument:
    return Argument(
        name=_value(action),
        choices=tuple(map(str, action.choices or ())),
        about=_about(action),
        optional=action.nargs in ("?", "*"),
        many=action.nargs in ("+", "*"),
    )


def _sentence(text: str) -> str:
    """Text that is no more than a line of a list, as a sentence."""
    return text if not text or text.endswith((".", ":")) else f"{text[0].upper()}{text[1:]}."


def _length_of_dashes(name: str) -> int:
    """Short spellings come first, each kind in the order of its declaration."""
    return len(name) - len(name.lstrip("-"))


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices:
        return "|".join(map(str, action.choices))
    return action.dest.upper().replace("_", "-")


def _about(action: argparse.Action) -> str:
    """Its help with what argparse fills in."""
    told = action.help or ""
    return told % {**vars(action), "prog": PROGRAM} if "%" in told else told


def wrapped(usage: str, width: int, indent: str) -> list[str]:
    """A usage in lines of at most this width; what stands in brackets stays on one line."""
    lines, words = [""], _words(usage)
    for word in words:
        begun = f"{lines[-1]} {word}" if lines[-1].strip() else lines[-1] + word
        if len(begun) > width and lines[-1].strip():
            lines.append(indent + word)
        else:
            lines[-1] = begun
    return lines


def _words(usage: str) -> Sequence[str]:
    words: list[str] = []
    for word in usage.split():
        if words and words[-1].count("[") > words[-1].count("]"):
            words[-1] += f" {word}"
        else:
            words.append(word)
    return words
