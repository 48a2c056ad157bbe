"""Where a machine stands, in a word: what lists show and are filtered by."""

from enum import Enum, StrEnum
from typing import Final

from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State


class MachineState(StrEnum):
    """In the order of how much it needs a person."""

    HELD = "held"  # its workflow is held at a breakpoint, and waits for a person's verdict
    PARKED = "parked"  # it boots no more until a person helps
    FAILED = "failed"  # its newest workflow failed, and none is under way
    STALLED = "stalled"  # its boot does not go on
    WORKING = "working"  # its worker is in touch and has a workflow, or has begun with it
    BOOTING = "booting"  # on its way to its workflow
    WAITING = "waiting"  # a workflow waits for its first boot
    INSTALLED = "installed"  # a workflow ended well, none is left, and none was broken off since
    IDLE = "idle"  # nothing is to be done with it
    RETIRED = "retired"  # out of service


class Doing(Enum):
    """What the workflow that is shown of a machine tells of where it stands."""

    HELD = "held"
    WORKING = "working"  # it is under way, and this machine has begun with it
    BROKEN_OFF = "broken off"  # canceled when something had begun


def doing(workflow: State, action: State | None, *, waits: bool, begun: bool, done: int) -> Doing | None:
    """Of a workflow that stands at an action, behind others that are `done`.

    `waits`: that is held, and no verdict was given on it yet; `begun`: the machine has begun an action of it.
    """
    if workflow is State.RUNNING and waits:
        return Doing.HELD
    if workflow in (State.RUNNING, State.STOPPING):
        return Doing.WORKING if begun else None
    if workflow is State.CANCELED and (done or action not in (None, State.PENDING)):
        return Doing.BROKEN_OFF
    return None


_AT_WORK: Final = frozenset({Stage.SESSION, Stage.WORKER, Stage.SERVICES})


def state_of(
    *,
    parked: str,
    stalled: str,
    ticket: bool,
    installed: bool,
    boots: int,
    stage: Stage | None,
    retired: bool = False,
    failed: bool = False,
    doing: Doing | None = None,
    barred: bool = False,
) -> MachineState:
    """`boots` counts since its newest workflow was created; `ticket` tells that one is to be done, or to be tried again.

    One that is `barred` may not boot for it: only a worker that is there already, or that a person starts, does it.
    """
    if retired:
        return MachineState.RETIRED
    if doing is Doing.HELD:
        return MachineState.HELD
    if parked:
        return MachineState.PARKED
    if failed:
        return MachineState.FAILED
    if stalled:
        return MachineState.STALLED
    if ticket and (doing is Doing.WORKING if not boots else stage in _AT_WORK):
        return MachineState.WORKING
    if ticket and barred:
        return MachineState.PARKED
    if ticket:
        return MachineState.BOOTING if boots else MachineState.WAITING
    return MachineState.INSTALLED if installed and doing is not Doing.BROKEN_OFF else MachineState.IDLE
