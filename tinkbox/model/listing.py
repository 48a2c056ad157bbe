"""What is asked of a list: which entries, in which order, and how many."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from tinkbox.model.labels import Selector
from tinkbox.model.workflow import State

# What lists of workflows are sorted by.
WORKFLOW_FIELDS: Final = ("created_at", "updated_at", "name", "state", "machine")


@dataclass(frozen=True, slots=True)
class Order:
    """By which field, the smallest first or last."""

    field: str
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTemplate:
    """The workflows or rollouts of the template with this `id`, and those of templates that are gone and were `called` so; empty: none."""

    id: str = ""
    called: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowListing:
    """The workflows that are in one of these `states` (none: in any), have work for the machine of this id and are of the template.

    One that is RUNNING and held at a breakpoint, where it waits for a verdict, is HELD as well.
    `selector` is of their labels, and of those of their machines for keys that they do not have themselves.
    `since` is the earliest time of creation, `limit` how many are listed, 0: all.  `machines` are the ids of all machines as
    `order` by machine has them.  `within` are the ids of machines beyond which no workflow that is listed has work, None: any.
    `among` are the ids of the only workflows that may be listed, None: any.
    """

    states: tuple[State, ...] = ()
    machine: str = ""
    template: OfTemplate | None = None
    selector: Selector = field(default_factory=Selector)
    since: datetime | None = None
    order: Order = Order("created_at")
    machines: Sequence[str] = ()
    within: Sequence[str] | None = None
    among: Sequence[str] | None = None
    limit: int = 0
