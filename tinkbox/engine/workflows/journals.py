"""What workers have seen, beside what the store knows: within the use-case that compares the two.

A store that was put back to an earlier day (a snapshot, a backup, a copied folder) does not know what was done since.
Its machines' workers do.  Until a person has decided, nothing is begun on such a machine and nothing is stopped.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tinkbox.engine.rules.transitions import WORKFLOW, Happening
from tinkbox.engine.workflows.endings import end_attempt
from tinkbox.model import history
from tinkbox.model.errors import Conflict
from tinkbox.model.hardware import mac_of
from tinkbox.model.journal import Entry, Seen, Standing, summary
from tinkbox.model.reasons import Reason
from tinkbox.model.telling import OUTSIDE
from tinkbox.model.workflow import BEGUN, FINAL, Outcome, State, Workflow
from tinkbox.store.database import Tables
from tinkbox.store.journals import LostHistory

DISCARDED = "a person decided that what its machine did counts for nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class LostWork:
    """A lost history, and what a person can do about it.

    `workflows` are those that the machine worked on and that a decision is about; empty when the store knows none of
    them.  Those that wait come before those that the store has for ended.  `hint` has the commands to type.
    """

    history: LostHistory
    workflows: tuple[str, ...]
    hint: str

    @property
    def of(self) -> tuple[str, ...]:
        """The ids of all workflows that it tells of, also of those that the store does not know."""
        return tuple(dict.fromkeys((*self.workflows, *(each.workflow_id for each in self.history.entries))))

    def within(self, outside: Collection[str]) -> "LostWork":
        """The same; one that tells of work `outside` tells no more than that it is there."""
        if not set(outside).intersection(self.of):
            return self
        return replace(self, history=replace(self.history, entries=()), workflows=(), hint=OUTSIDE)


def standing(tables: Tables, worker: str, seen: Seen | None) -> Standing:
    """How a worker that has seen this stands to the store.

    One that begins anew, as a discarded history has it, is known from then on; so is one of a later boot.  A decision is
    about the history that was told: what else a store that was put back once more does not know is lost anew.
    """
    lost = tables.journals.lost_of(worker)
    if lost is not None and lost.restart is None:
        return Standing.LOST
    if seen is not None and not _known(tables, worker, seen):
        decided = lost is not None and (lost.seen.store, lost.seen.attempt) == (seen.store, seen.attempt)
        return Standing.DISCARDED if decided else Standing.LOST
    if lost is not None:
        tables.journals.forget(worker)
    return Standing.KNOWN


def missing(tables: Tables, worker: str, store: str, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Those attempts of which the store does not know the beginning, or not the end that it once acknowledged."""
    return tuple(
        each
        for each in entries
        if not _known(tables, worker, Seen(store=store, position=each.position, attempt=each.attempt, over=each.over))
    )


def lost_work(tables: Tables) -> list[LostWork]:
    """Every lost history with what a person can do about it, the oldest first."""
    return [_lost_work(tables, each) for each in tables.journals.lost()]


def waiting(tables: Tables) -> Mapping[str, Sequence[LostWork]]:
    """The lost histories that a person has to decide about for each workflow, by the workflows' ids.

    An unfinished workflow waits with each of its machines'.  One that ended badly has those that tell of later work on it.
    """
    found: dict[str, list[LostWork]] = defaultdict(list)
    for lost in lost_work(tables):
        unfinished = tables.workflows.needing(lost.history.worker)
        for workflow_id in dict.fromkeys((*unfinished, *lost.workflows)):
            found[workflow_id].append(lost)
    return found


def untold(tables: Tables) -> Mapping[str, LostWork]:
    """Of the lost histories that nobody has decided about those that no unfinished workflow waits for, by their machines."""
    return {
        each.history.worker: each
        for each in lost_work(tables)
        if each.history.restart is None and not tables.workflows.needing(each.history.worker)
    }


def may_be_retried(workflow: Workflow) -> bool:
    """Whether it ended badly: the work that a machine tells of began with a retry that the store lost."""
    return (workflow.state, Happening.RETRIED) in WORKFLOW


def undecided(tables: Tables, workflow_id: str) -> list[LostHistory]:
    """The lost histories of `waiting` that nobody has decided about yet."""
    found = (each.history for each in waiting(tables).get(workflow_id, ()))
    return [each for each in found if each.restart is None]


def to_decide(tables: Tables, workflow_id: str) -> list[LostHistory]:
    """Those of `undecided` that are about this workflow, and not about another one that it only waits behind.

    Whatever a machine tells of, what the store has it run is stopped by a person's word.
    """
    current = tables.workflows.current_step(workflow_id)
    begun_on = current.status.action.worker if current and current.status.state in BEGUN else None
    return [
        each.history
        for each in waiting(tables).get(workflow_id, ())
        if each.history.restart is None and (workflow_id in each.workflows or each.history.worker == begun_on)
    ]


def refuse_behind(tables: Tables, workflow_id: str) -> None:
    """Raise Conflict, with what is to be decided, where a workflow waits only behind what its machines did for others."""
    for each in waiting(tables).get(workflow_id, ()):
        if each.history.restart is None:
            raise Conflict(
                f"workflow {workflow_id} waits for machine {each.history.worker}, and not for a decision about itself: "
                f"{summary(each.history.entries)}; decide about that: {each.hint}",
                of=each.of,
            )


def mark(tables: Tables, lost: LostHistory, now: datetime) -> None:
    """Have the machine's workflows wait for a person; told again, only what is told is kept."""
    known = tables.journals.lost_of(lost.worker)
    first = known is None or known.restart is not None
    tables.journals.keep(lost)
    if first:
        for workflow_id in tables.workflows.needing(lost.worker):
            tables.events.add(workflow_id, now, *history.history_lost(lost.worker, lost.entries))


def discard(
    tables: Tables, lost: LostHistory, into: State, who: str, new_token: Callable[[], str], now: datetime
) -> list[str]:
    """What a worker did counts for nothing: it removes all its containers, and its journal begins anew.

    An attempt of it that the store holds for begun ends in `into`, for its worker is past it.  Returns the machines to
    be told.
    """
    woken = [lost.worker]
    for workflow_id in tables.workflows.needing(lost.worker):
        tables.events.add(workflow_id, now, *history.history_discarded(lost.worker, who))
        current = tables.workflows.get(workflow_id).current()
        attempt = tables.workflows.attempt(current.attempt) if current and current.state in BEGUN else None
        if attempt is not None and attempt.worker == lost.worker:
            # What the machine did for others is not for whoever may see this one alone.
            own = [each for each in lost.entries if each.workflow_id == workflow_id]
            what = f"{summary(own)}; " if own else ""
            outcome = Outcome(state=into, reason=Reason.HISTORY_LOST, message=f"{what}{who}: {DISCARDED}")
            woken += end_attempt(tables, attempt, outcome, now)
    token = new_token()
    position = tables.journals.append(lost.worker, token)
    restart = Seen(store=tables.journals.store, position=position, attempt=token)
    tables.journals.keep(replace(lost, restart=restart))
    return woken


def refuse_waiting(tables: Tables, worker: str, seen: Seen | None) -> None:
    """Raise Conflict when nothing may be begun on this machine."""
    if standing(tables, worker, seen) is not Standing.KNOWN:
        raise Conflict(
            "this appliance does not know all that this machine did: its store was put back to an earlier day or is a new one, and a "
            "person is to decide (`tinkbox doctor`)"
        )


def _lost_work(tables: Tables, lost: LostHistory) -> LostWork:
    told = list(dict.fromkeys(each.workflow_id for each in lost.entries))
    waits = [each for each in tables.workflows.needing(lost.worker) if each in told]
    # Once it is discarded, nothing is left to decide about one that is over.
    known = tables.workflows.some(told) if lost.restart is None else []
    ended = [each.id for each in known if may_be_retried(each)]
    workflows = (*waits, *ended)
    if lost.restart is not None:
        hint = (
            "a person discarded it: the machine removes its containers when its worker asks next, and works again; "
            "`tinkbox doctor MACHINE` says whether that is in touch"
        )
    elif waits:
        key = waits[0]
        hint = (
            f"`tinkbox workflow takeover {key}` goes on from what the machine did; `tinkbox workflow retry {key}` removes "
            f"the machine's containers and runs its actions again; `tinkbox workflow cancel {key}` removes them and gives up"
        )
    elif ended:
        hint = (
            f"`tinkbox workflow takeover {ended[0]}` goes on from what the machine did; `tinkbox {_freeing(tables, lost)}` "
            "removes the machine's containers, and the workflow can be retried from where the store has it"
        )
    else:
        hint = f"`tinkbox {_freeing(tables, lost)}` removes the machine's containers, and frees it for new work"
    return LostWork(history=lost, workflows=workflows, hint=hint)


def _freeing(tables: Tables, lost: LostHistory) -> str:
    (machine,) = tables.hardware.some([lost.worker])
    return f"hardware discard-history {mac_of(machine.hardware) or machine.hardware.id}"


def _known(tables: Tables, worker: str, seen: Seen) -> bool:
    if not tables.journals.has(worker, seen):
        return False
    attempt = tables.workflows.attempt(seen.attempt) if seen.over else None
    return attempt is None or attempt.state in FINAL
