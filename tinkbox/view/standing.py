"""How a machine stands: one word for it and its work, the worst first."""

from enum import Enum
from typing import Final

from tinkbox.model.breakpoint import Kind
from tinkbox.model.machine_state import MachineState
from tinkbox.model.workflow import FINAL, State
from tinkbox.view.lines import clean
from tinkbox.wire.messages.status import MachineLine, WorkLine

_HELD: Final = {Kind.BEFORE: "before it begins", Kind.FAILURE: "on failure", Kind.AFTER: "after its end"}


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
ROW_WORDS: Final = frozenset(each.word.lower() for each in Standing)  # of the column STATE
# The words that select machines: those of the column STATE, and beside them those of lists of machines.  Retired ones are not told.
STATE_WORDS: Final = tuple(
    dict.fromkeys(
        [
            *(each.value for each in MachineState if each is not MachineState.RETIRED),
            *(each.word.lower() for each in Standing),
        ]
    )
)
_BY_STATE = {each: Standing[each.value] for each in State if each.value in Standing.__members__}


def rollout_of(machine: MachineLine) -> str:
    """In which rollout it waits: `rollout 18c4ffa8, which is paused`."""
    return f"rollout {clean(machine.rollout)[:8]}" + (", which is paused" if machine.rollout_paused else "")


def held_where(work: WorkLine) -> str:
    """Where its action is held: `after its end`; empty when it is not."""
    return _HELD[work.held] if work.held is not None else ""


def work_of(machine: MachineLine) -> WorkLine | None:
    """What is done with it; of a machine that waits for its turn in a rollout nothing: its last workflow is the past.

    One that waits for a decision about a lost history is none of the past.
    """
    work = machine.work
    is_past = machine.rollout and work is not None and work.state in FINAL and not work.lost
    return None if is_past else work


def waits_for_verdict(work: WorkLine) -> bool:
    """Whether its action is held, and a person may decide what becomes of it."""
    return work.held is not None and not work.decided and work.state is State.RUNNING


def is_being_carried_out(work: WorkLine) -> bool:
    """Whether a verdict was given on its action, which is held until its machine has carried that out."""
    return work.held is not None and work.decided and work.state is State.RUNNING


def standing_of(machine: MachineLine) -> Standing:
    """How a registered machine stands."""
    work = work_of(machine)
    if machine.lost or (work is not None and work.lost):
        return Standing.LOST
    if work is not None and waits_for_verdict(work):
        return Standing.HELD
    if work is not None and work.state in (State.FAILED, State.TIMEOUT):
        return _BY_STATE[work.state]
    if machine.parked:
        return Standing.PARKED
    is_over = work is None or work.state in FINAL
    if machine.stalled and (machine.ticket or not is_over):
        return Standing.STALLED
    if machine.rollout and is_over:
        return Standing.WAITING
    return Standing.IDLE if work is None else _BY_STATE[work.state]


def words_of(machine: MachineLine) -> frozenset[str]:
    """The words that select a registered machine: that of its row, and one of lists of machines that no row has.

    What took too long has failed as well, as in these.
    """
    standing = standing_of(machine)
    words = {standing.word.lower()} | ({machine.state} - ROW_WORDS)
    return frozenset(words | {Standing.FAILED.word.lower()} if standing is Standing.TIMEOUT else words)
