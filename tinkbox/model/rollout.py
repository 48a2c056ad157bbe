"""A rollout: one template for many machines, so many of them at a time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from tinkbox.model.breakpoint import Breakpoints
from tinkbox.model.devices import Devices
from tinkbox.model.errors import Invalid
from tinkbox.model.labels import Labels

MAX_MACHINES: Final = 10_000
MAX_UNFINISHED: Final = 100
KEPT: Final = 200  # rollouts; the oldest that are over go first
KEPT_MACHINES: Final = 100_000  # of all rollouts together
LABEL: Final = "rollout"
"""The label that each workflow of a rollout has; its value is the short id."""
SHORT: Final = 8
# What becomes of machines.
RETIRED: Final = "retired"
DELETED: Final = "deleted"
REGISTERED_ANEW: Final = "deleted and registered anew"


class RolloutState(StrEnum):
    """Of a rollout."""

    WAITING = "WAITING"  # no machine has begun
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"  # no further machine begins
    STOPPING = "STOPPING"  # no further machine begins, and the rollout is over when those under way are
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    CANCELED = "CANCELED"


OVER: Final = frozenset({RolloutState.SUCCESS, RolloutState.FAILED, RolloutState.CANCELED})
# Machines that wait in such a rollout are its own: no other takes them.
HOLDING: Final = frozenset({RolloutState.WAITING, RolloutState.RUNNING, RolloutState.PAUSED})


class OnFailure(StrEnum):
    """What becomes of a rollout when a machine fails."""

    STOP = "stop"
    CONTINUE = "continue"


class Place(StrEnum):
    """Where a machine of a rollout stands: it waits, or as its workflow does."""

    WAITING = "WAITING"
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    CANCELED = "CANCELED"
    LEFT = "LEFT"  # without success, and retired or deleted when the rollout was retried: it counts no more


UNDER_WAY: Final = frozenset({Place.PENDING, Place.RUNNING, Place.STOPPING})
# A canceled machine was a person's decision: it stops no rollout, but the rollout has not succeeded.
FAILURES: Final = frozenset({Place.FAILED, Place.TIMEOUT})
UNSUCCESSFUL: Final = FAILURES | {Place.CANCELED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many machines of a rollout stand where."""

    by_place: Mapping[Place, int] = field(default_factory=dict)

    def of(self, *places: Place) -> int:
        return sum(self.by_place.get(each, 0) for each in places)

    @property
    def total(self) -> int:
        return sum(self.by_place.values())

    @property
    def waiting(self) -> int:
        return self.of(Place.WAITING)

    @property
    def under_way(self) -> int:
        return self.of(*UNDER_WAY)

    @property
    def unsuccessful(self) -> int:
        return self.of(*UNSUCCESSFUL)

    @property
    def succeeded(self) -> int:
        return self.of(Place.SUCCESS)

    @property
    def left(self) -> int:
        return self.of(Place.LEFT)


def labels_given(labels: Labels) -> Labels:
    """Labels that a person gives workflows, or takes away; raises Invalid for the appliance's own, which tells what belongs to a rollout."""
    if LABEL in labels:
        raise Invalid(
            f"the appliance keeps the label {LABEL} itself: the workflows of a rollout have it, and no others. Use another key"
        )
    return labels


def gone_before_its_turn(what: str) -> str:
    """Why a machine that waited gets no workflow; `what` became of it: RETIRED, DELETED, or REGISTERED_ANEW."""
    return f"the machine was {what} before its turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A machine of a rollout, by its hardware id, and where it stands.

    `name` is what people called the machine when the rollout was made, or what they call it now; it was `registered` then, and
    one that was at another time is another machine; None: it is gone since an earlier release.  `workflow_id` is empty before
    its turn; that workflow may be deleted by now.  `reason` and `message` say why it did not succeed, or why it waits though
    it is its turn.
    """

    position: int
    machine: str
    name: str
    registered: datetime | None = None
    place: Place = Place.WAITING
    workflow_id: str = ""
    workflow_deleted: bool = False
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """What is to be done with which machines, but for these and the template's text.

    Each machine is the template's `device`; `parameters` are the rest of the `-r` map, for all of them.  `template_name` is
    what the template is called, or was when the rollout was made if it is gone.  `max_parallel` machines are under way at once, 0: all.  `labels` are for every workflow, `who` made it.  `stop_into` is
    how one ends that is STOPPING.
    """

    id: str
    template_id: str
    template_name: str
    device: str
    parameters: Devices
    max_parallel: int
    on_failure: OnFailure
    who: str
    created_at: datetime
    updated_at: datetime
    state: RolloutState = RolloutState.WAITING
    stop_into: RolloutState | None = None
    labels: Labels = field(default_factory=dict)
    breakpoints: Breakpoints = field(default_factory=Breakpoints)
    wipe_confirmed: bool = False

    @property
    def short(self) -> str:
        """The beginning of its id, which people type."""
        return self.id[:SHORT]
