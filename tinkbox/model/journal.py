"""What a worker has seen of its appliance's history: it outlives a store that was put back to an earlier day.

A store has an id, made once.  Each machine has a position in it, which goes up with every attempt begun for that machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tinkbox.model.text import quoted
from tinkbox.model.workflow import Outcome

# Of the attempts that a person reads of.
SHOWN: Final = 10


class Standing(StrEnum):
    """What the appliance says of a worker's journal."""

    KNOWN = "known"  # the store has all of it
    LOST = "lost"  # the store lacks some of it, and a person is to decide
    DISCARDED = "discarded"  # a person decided that what the store lacks counts for nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The newest attempt that a worker was given: by which store, at which position.

    It is `over` when the appliance has acknowledged its report.
    """

    store: str
    position: int
    attempt: str
    over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One attempt in a worker's journal; `index` is the action's in its workflow.

    It is `over` when the appliance has acknowledged its report; its `outcome` may be known before.
    """

    position: int
    attempt: str
    workflow_id: str
    index: int
    task: str
    action: str
    outcome: Outcome | None = None
    over: bool = False


def summary(entries: Sequence[Entry]) -> str:
    """What a worker did that the store does not know, in one line; what the worker says is quoted."""
    several = len({each.workflow_id for each in entries}) > 1
    told = [
        f"{quoted(f'{each.task}/{each.action}')}{f' of workflow {quoted(each.workflow_id)}' if several else ''} ({_ended(each)})"
        for each in entries[:SHOWN]
    ]
    if len(entries) > SHOWN:
        told.append(f"and {len(entries) - SHOWN} more")
    return f"its machine did what this appliance does not know: {', '.join(told) or 'nothing is kept of it'}"


def _ended(entry: Entry) -> str:
    if entry.outcome is None:
        return "begun, its end is not known yet"
    return f"{entry.outcome.state}" if entry.over else f"{entry.outcome.state}, not reported yet"
