"""How a machine stands: one word for it and its work, the worst first."""

from enum import Enum

from tinkbox.model.workflow import FINAL, State
from tinkbox.wire.messages.status import MachineLine


class Standing(Enum):
    """In the order in which people want to read of them; those with `is_problem` wait for a person."""

    LOST = ("LOST", "!", "bold red", True)  # it did what the store does not know
    HELD = ("HELD", "⏸", "bold yellow", True)
    FAILED = ("FAILED", "✘", "red", True)
    TIMEOUT = ("TIMEOUT", "✘", "red", True)
    PARKED = ("PARKED", "■", "red", True)
    STALLED = ("STALLED", "◌", "yellow", True)
    UNKNOWN = ("UNKNOWN", "?", "yellow", False)  # it boots, and is not registered
    STOPPING = ("STOPPING", "◐", "magenta", False)
    RUNNING = ("RUNNING", "●", "cyan", False)
    PENDING = ("PENDING", "○", "yellow", False)
    WAITING = ("WAITING", "○", "yellow", False)  # for its turn in a rollout
    CANCELED = ("CANCELED", "⊘", "magenta", False)
    SUCCESS = ("SUCCESS", "✔", "green", False)
    IDLE = ("IDLE", "·", "dim", False)  # there is no workflow for it

    def __init__(self, word: str, mark: str, style: str, is_problem: bool) -> None:
        self.word = word
        self.mark = mark
        self.style = style
        self.is_problem = is_problem

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return _RANKS[self]


_RANKS = {each: rank for rank, each in enumerate(Standing)}
_BY_STATE = {each: Standing[each.value] for each in State if each.value in Standing.__members__}


def standing_of(machine: MachineLine) -> Standing:
    """How a registered machine stands."""
    work = machine.work
    if machine.lost or (work is not None and work.lost):
        return Standing.LOST
    if work is not None and work.held is not None and work.state is State.RUNNING:
        return Standing.HELD
    if work is not None and work.state in (State.FAILED, State.TIMEOUT) and not machine.rollout:
        return _BY_STATE[work.state]
    if machine.parked:
        return Standing.PARKED
    is_over = work is None or work.state in FINAL
    if machine.stalled and (machine.ticket or not is_over):
        return Standing.STALLED
    if machine.rollout and is_over:
        return Standing.WAITING
    return Standing.IDLE if work is None else _BY_STATE[work.state]
