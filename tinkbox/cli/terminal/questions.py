"""Questions to a person at a terminal, each with what is proposed."""

import argparse
import sys
from collections.abc import Callable
from typing import TypeVar

from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import Invalid, Unavailable

T = TypeVar("T")


class Questions:
    """With `yes` everything is answered as proposed; otherwise there must be a terminal."""

    def __init__(self, *, yes: bool) -> None:
        self._yes = yes

    @property
    def can_ask(self) -> bool:
        return self._yes or (
            sys.stdin is not None and sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty())
        )

    @property
    def decides(self) -> bool:
        """Whether a flag has said yes to everything."""
        return self._yes

    def answer(self, question: str, proposed: str, read: Callable[[str], T]) -> T:
        """What `read` makes of an answer, of the proposed one for an empty line; asked again while it raises Invalid.

        Without a proposal that can be read, `yes` has nothing to say: its Invalid is raised.
        """
        if self._yes:
            return read(proposed)
        while True:
            try:
                return read(_line(f"{question} [{proposed}]: " if proposed else f"{question}: ") or proposed)
            except Invalid as refusal:
                print(clean(f"  {refusal}"))

    def agreed(self, question: str, *, proposed: bool) -> bool:
        """A yes or a no."""
        if self._yes:
            return proposed
        return self.answer(f"{question} (yes or no)", "yes" if proposed else "no", _agreement)


def will_ask(chosen: argparse.Namespace, *, line: str = "") -> bool:
    """Whether `confirm` puts its question to a person."""
    return not chosen.yes and (not chosen.as_2020 or bool(line)) and Questions(yes=False).can_ask


def confirm(chosen: argparse.Namespace, what: str, *, line: str = "") -> None:
    """Ask before something is destroyed, unless --yes (`flags.add_yes`) says so; raises Invalid for a no.

    Without a terminal `line` is named, to type instead; without a `line` it is done.  In the format of 2020, whose verbs
    never asked, only what has a `line` is asked.
    """
    questions = Questions(yes=False)
    if chosen.yes or (not line and (chosen.as_2020 or not questions.can_ask)):
        return
    if not questions.can_ask:
        raise Invalid(f"this asks before it does anything, and there is no terminal: type `{line} --yes`")
    if not questions.agreed(f"{what}?", proposed=False):
        raise Invalid("you did not say yes, so nothing was done")


def ask_unseen(prompt: str) -> str:
    """What is typed and not shown.  Raises Unavailable where nothing is (Ctrl-D), Invalid for what is no text of the terminal's encoding."""
    from getpass import getpass

    try:
        return getpass(prompt)
    except EOFError:
        raise Unavailable("nothing was typed, so nothing was changed: type the same line again") from None
    except UnicodeDecodeError as error:
        raise Invalid(
            f"what was typed is no text in {error.encoding}, which this terminal is said to have (`locale`): put it into a file, and name that"
        ) from None


def _agreement(text: str) -> bool:
    if text.lower() not in ("y", "yes", "n", "no"):
        raise Invalid("type yes or no")
    return text.lower().startswith("y")


def _line(prompt: str) -> str:
    if not sys.stdout.isatty() and sys.stderr.isatty():
        # What is printed goes to a file or a program; the person sees the other stream.
        print(prompt, end="", file=sys.stderr, flush=True)
        prompt = ""
    try:
        return input(prompt).strip()
    except EOFError:
        raise Unavailable(
            "nothing more was typed, so nothing more is changed: type the same line again to go on"
        ) from None
