"""Where a machine stands, in a word: what lists show and are filtered by."""

from enum import StrEnum
from typing import Final

from tinkbox.model.boot import Stage


class MachineState(StrEnum):
    """In the order of how much it needs a person."""

    PARKED = "parked"  # it boots no more until a person helps
    FAILED = "failed"  # its newest workflow failed, and none is under way
    STALLED = "stalled"  # its boot does not go on
    WORKING = "working"  # its worker is in touch and has a workflow
    BOOTING = "booting"  # on its way to its workflow
    WAITING = "waiting"  # a workflow waits for its first boot
    INSTALLED = "installed"  # a workflow ended well, and none is left
    IDLE = "idle"  # nothing is to be done with it
    RETIRED = "retired"  # out of service


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
) -> MachineState:
    """`boots` counts since its newest workflow was created; `ticket` tells that one is to be done, or to be tried again."""
    if retired:
        return MachineState.RETIRED
    if parked:
        return MachineState.PARKED
    if failed:
        return MachineState.FAILED
    if stalled:
        return MachineState.STALLED
    if ticket and not boots:
        return MachineState.WAITING
    if ticket:
        return MachineState.WORKING if stage in _AT_WORK else MachineState.BOOTING
    return MachineState.INSTALLED if installed else MachineState.IDLE
