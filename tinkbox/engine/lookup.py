"""The one thing that a key means, of those that it fits."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, TypeVar

from tinkbox.model.errors import Conflict, NotFound
from tinkbox.model.hardware import Hardware, mac_of, told_namespace
from tinkbox.model.keys import MOST, why_too_short
from tinkbox.model.text import quoted

T = TypeVar("T")
MOST_TOLD: Final = 4  # ids of what an ambiguous key fits


def only(found: Sequence[T], what: str, key: str, listed: str = "") -> T:
    """The single match of a key; raises NotFound for none and Conflict for several, with the command by which they are `listed`."""
    listed = listed or f"{what} list"
    if not found:
        short = why_too_short(key)
        way_out = f"{f'{short}; ' if short else ''}`tinkbox {listed}` shows what there is"
        raise NotFound(f"{what} {key[:80]!r} not found: {way_out}")
    if len(found) > 1:
        raise Conflict(
            f"{what} {key[:80]!r} is ambiguous: it fits {_how_many(found)}, whose ids `tinkbox {listed}` shows"
        )
    return found[0]


def _how_many(found: Sequence[object]) -> str:
    """Where there are very many, not all of them were looked up."""
    return str(len(found)) if len(found) <= MOST else f"more than {MOST}"


def only_called(
    called: Sequence[tuple[str, str]], what: str, key: str, *, over: Collection[str] = (), otherwise: str = ""
) -> str:
    """The id of the only one that a name means for a verb that changes it: of several none is taken for the others.

    `called` are the ids and states of those that have the name, oldest first, one at least.  Those in a state that is `over`
    do not count where others have the name.  Raises Conflict with the ids of several, and how to name one `otherwise`.
    """
    left = [each for each in called if each[1] not in over]
    if len(left) == 1 or len(called) == 1:
        return (left or called)[0][0]
    which = "that are not over are called" if left and over else "are called"
    named = [f"{identity[:8]} ({state})" for identity, state in reversed(left or called)]
    more = (
        " and others" if len(named) > MOST else f" and {len(named) - MOST_TOLD} more" if len(named) > MOST_TOLD else ""
    )
    raise Conflict(
        f"{_how_many(named)} {what}s {which} {quoted(key)}{'' if left else ', and all of them are over'}: "
        f"{', '.join(named[:MOST_TOLD])}{more}; name one by its id, which `tinkbox {what} list` shows{otherwise}"
    )


def only_machine(found: Sequence[str], key: str, known: Callable[[Sequence[str]], Iterable[Hardware]]) -> str:
    """As `only`, of the ids of machines; an ambiguous key is refused with what tells these apart, where they are few.

    `known` are the machines of such ids.
    """
    if 1 < len(found) <= MOST_TOLD:
        machines = {each.id: each for each in known(found)}
        are_elsewhere = len(set(map(told_namespace, machines.values()))) > 1
        told = [f"{each} ({_apart(machines[each], with_namespace=are_elsewhere)})" for each in found]
        raise Conflict(
            f"hardware {key[:80]!r} is ambiguous: it fits {len(found)}, name one by its id: {', '.join(told)}"
        )
    return only(found, "hardware", key)


def _apart(hardware: Hardware, *, with_namespace: bool) -> str:
    """What a person tells a machine by, that has the name of another."""
    namespace = f", {told_namespace(hardware)}" if with_namespace else ""
    return f"{mac_of(hardware) or 'no MAC'}{namespace}"
