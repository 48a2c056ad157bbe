"""What commands change, examine or show, key by key, and what they say of it."""

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from tinkbox.cli.connection import ask
from tinkbox.cli.done_so_far import done_so_far
from tinkbox.cli.interruptions.breaking_off import told_how_far
from tinkbox.cli.meant_keys import look_up
from tinkbox.cli.output.printable import clean
from tinkbox.cli.output.refusals import tell_refusal
from tinkbox.model.errors import Denied, Refusal, Unavailable
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.text import so_many

if TYPE_CHECKING:
    from tinkbox.cli.output.progress_line import ProgressLine
    from tinkbox.client.operator import Operator

T = TypeVar("T")
MANY: Final = 20  # keys


def change_each(
    chosen: argparse.Namespace,
    change: "Callable[[Operator, str], Awaitable[T]]",
    tell: Callable[[T], None],
    again: str = "",
    *,
    only_looks: bool = False,
) -> int:
    """Have the same done to all that the keys on the command line mean (`look_up`), and `tell` what was done as it is done.

    A refusal is told on standard error, and the next key is gone on with.  Returns the exit status: 1 when one was refused.
    Raises what would be refused for each of them: no appliance answers, or it does not know the caller.  When some are done
    by then, that says how many, and how the rest is done: `again`, or by typing the same again where that means the same.
    Standard error says so too when the reader goes away, by Ctrl-C and by a signal.  A command that `only_looks` says neither.
    """
    look_up(chosen, only_looks=only_looks)
    meant = getattr(chosen, "meant", None) or {}

    async def changed(operator: "Operator") -> int:
        told = sum(key not in chosen.keys for key in meant)  # refused before a question was asked
        status, total = int(told > 0), told + len(chosen.keys)
        far = _Far(total=total)
        changed_ids: set[str] = set()
        with (
            told_how_far(lambda: "" if only_looks else _left_there(chosen, far, again)),
            _shown(total, only_looks=only_looks) as progress,
        ):
            for number, key in enumerate(chosen.keys, 1):
                far.number = number
                known = meant.get(key)
                if known is not None and known.identity in changed_ids:  # by its name
                    continue
                try:
                    if known is not None and known.refusal is not None:
                        raise known.refusal
                    far.is_asked = True
                    answer = await change(operator, key)
                except (Denied, Unavailable) as refusal:
                    if far.done and not only_looks:
                        raise _broken_off(chosen, refusal, far, again) from None
                    raise
                except Refusal as refusal:
                    far.is_asked = False
                    progress.close()
                    tell_refusal(refusal)
                    status = 1
                else:
                    far.is_asked = False
                    far.done += 1
                    if known is not None:
                        changed_ids.add(known.identity)
                    progress.close()
                    tell(answer)
                progress(told + number)
        return status

    return ask(chosen, changed)


def show_each(
    chosen: argparse.Namespace,
    question: "Callable[[Operator, str], Awaitable[T]]",
    show: Callable[[list[T]], None],
) -> int:
    """Ask the same of each key on the command line and `show` what was answered, together and in their order; returns the exit status.

    Refusals are told as by `change_each`, before what is shown.  Where all are refused nothing is shown.  Raises what `change_each` does.
    """
    found: list[T] = []
    status = change_each(chosen, question, found.append, only_looks=True)
    if found:
        show(found)
    return status


def _shown(total: int, *, only_looks: bool) -> "closing[ProgressLine[int]] | nullcontext[_NotShown]":
    """Tells at a terminal how many of many are behind it, of looks what takes longer; elsewhere the lines of what is done are enough."""
    if total < MANY or not sys.stderr.isatty():
        return nullcontext(_NotShown())
    from tinkbox.cli.output.progress_line import ProgressLine

    return closing(ProgressLine(lambda number: f"{number} of {total}", at_once=not only_looks))


class _NotShown:
    """A progress that is told nowhere."""

    def __call__(self, number: int) -> None: ...

    def close(self) -> None: ...


@dataclass(slots=True, kw_only=True)
class _Far:
    """How far a command came: at its key of this `number`, of which the appliance was asked and has not answered while it `is_asked`."""

    total: int
    done: int = 0
    number: int = 1
    is_asked: bool = False

    def __str__(self) -> str:
        return f"{so_many(self.done, self.total)} done"


def _broken_off(chosen: argparse.Namespace, refusal: Refusal, far: _Far, again: str) -> Refusal:
    """The refusal that ended a command, with how far it came."""
    from tinkbox.client.refusals import Unanswered, Unreachable

    if isinstance(refusal, Unanswered):
        again = again or _again(chosen, chosen.keys[far.number :])
        return Unreachable(f"{refusal.what}: {far}, {_uncertain(chosen, far)}; {again}")
    return type(refusal)(f"{refusal}; {far} before: {again or _again(chosen, chosen.keys[far.number - 1 :])}")


def _uncertain(chosen: argparse.Namespace, far: _Far) -> str:
    key = chosen.keys[far.number - 1]
    meant = (getattr(chosen, "meant", None) or {}).get(key)
    if meant is not None and meant.typed != key:  # which may mean another thing by now
        return f"and it is uncertain whether {meant.typed} ({key}) was"
    return f"and it is uncertain whether {getattr(chosen, 'names', {}).get(key, key)} was"


def _left_there(chosen: argparse.Namespace, far: _Far, again: str) -> str:
    """What is told of a command of several keys that ended there, or of one key that was done by then."""
    if far.total == 1:
        return (str(done_so_far()) or str(far)) if far.done else ""
    rest = chosen.keys[far.number :]
    told = f"{far}, {_uncertain(chosen, far)}" if far.is_asked else str(far)
    return f"{told}; the others are as they were: {again or _again(chosen, rest)}" if rest else told


def _again(chosen: argparse.Namespace, rest: Sequence[str]) -> str:
    """How the `rest` is done, without doing it to what the same words mean by now."""
    meant = getattr(chosen, "meant", None) or {}
    by_ids = all(each.typed == each.identity for each in meant.values())
    # A machine's id may be the beginning of another one's.
    if not meant or (by_ids and chosen.key_kind is not KeyKind.MACHINE):
        return "type the same again for the rest"
    left = [key for key in rest if meant[key].refusal is None]
    if not left:
        return "look before you type it again"
    ids = "its id" if len(left) == 1 else "their ids"
    return f"the same words may mean other things by now, so name the rest by {ids}: {' '.join(left)}"


def tell_deleted(chosen: argparse.Namespace, kind: str, name: str) -> None:
    """Say what was deleted, where that is not 2020's `tink`, which said nothing of templates and workflows."""
    if not chosen.as_2020:
        print(clean(f"Deleted {kind}:  {name}"), flush=True)
