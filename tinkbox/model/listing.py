"""What is asked of a list: which entries, in which order, and how many."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from tinkbox.model.labels import Selector
from tinkbox.model.workflow import State

# What lists of workflows are sorted by.
WORKFLOW_FIELDS: Final = ("created_at", "updated_at", "name", "state")


@dataclass(frozen=True, slots=True)
class Order:
    """By which field, the smallest first or last."""

    field: str
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowListing:
    """The workflows that are in one of these `states` (none: in any), have work for the machine and are of the template with these ids.

    `since` is the earliest time of creation, `limit` how many are listed, 0: all.
    """

    states: tuple[State, ...] = ()
    machine: str = ""
    template: str = ""
    selector: Selector = field(default_factory=Selector)
    since: datetime | None = None
    order: Order = Order("created_at")
    limit: int = 0
