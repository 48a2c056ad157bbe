"""What commands change or examine, key by key, and what they say of it."""

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Final, TypeVar

from tinkbox.cli.connection import ask
from tinkbox.cli.meant_keys import look_up
from tinkbox.cli.output.printable import clean
from tinkbox.cli.output.refusals import tell_refusal
from tinkbox.model.errors import Denied, Refusal, Unavailable
from tinkbox.model.key_kinds import KeyKind

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
) -> int:
    """Have the same done to all that the keys on the command line mean (`look_up`), and `tell` what was done as it is done.

    A refusal is told on standard error, and the next key is gone on with.  Returns the exit status: 1 when one was refused.
    Raises what would be refused for each of them: no appliance answers, or it does not know the caller.  When some are done
    by then, that says how many, and how the rest is done: `again`, or by typing the same again where that means the same.
    """
    look_up(chosen)
    meant = getattr(chosen, "meant", None) or {}

    async def changed(operator: "Operator") -> int:
        status, done, total = 0, 0, len(chosen.keys)
        changed_ids: set[str] = set()
        with _shown(total) as progress:
            for number, key in enumerate(chosen.keys, 1):
                known = meant.get(key)
                if known is not None and known.identity in changed_ids:  # by its name
                    continue
                try:
                    if known is not None and known.refusal is not None:
                        raise known.refusal
                    answer = await change(operator, key)
                except (Denied, Unavailable) as refusal:
                    if done:
                        so_far = f"{done} of {total} {'was' if done == 1 else 'were'} done"
                        raise _broken_off(chosen, refusal, so_far, number, again) from None
                    raise
                except Refusal as refusal:
                    progress.close()
                    tell_refusal(refusal)
                    status = 1
                else:
                    done += 1
                    if known is not None:
                        changed_ids.add(known.identity)
                    progress.close()
                    tell(answer)
                progress(number)
        return status

    return ask(chosen, changed)


def _shown(total: int) -> "closing[ProgressLine[int]] | nullcontext[_NotShown]":
    """Tells at a terminal how many of many are behind it; elsewhere the lines of what is done are enough."""
    if total < MANY or not sys.stderr.isatty():
        return nullcontext(_NotShown())
    from tinkbox.cli.output.progress_line import ProgressLine

    return closing(ProgressLine(lambda number: f"{number} of {total}", at_once=True))


class _NotShown:
    """A progress that is told nowhere."""

    def __call__(self, number: int) -> None: ...

    def close(self) -> None: ...


def _broken_off(chosen: argparse.Namespace, refusal: Refusal, so_far: str, number: int, again: str) -> Refusal:
    """The refusal that ended a command at its key of this number, with how far it came."""
    from tinkbox.client.refusals import Unanswered, Unreachable

    if isinstance(refusal, Unanswered):
        key = chosen.keys[number - 1]
        name = getattr(chosen, "names", {}).get(key, key)
        again = again or _again(chosen, chosen.keys[number:])
        return Unreachable(f"{refusal.what}: {so_far}, and it is uncertain whether {name} was; {again}")
    return type(refusal)(f"{refusal}; {so_far} before: {again or _again(chosen, chosen.keys[number - 1 :])}")


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
