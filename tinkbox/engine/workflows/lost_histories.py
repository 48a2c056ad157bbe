"""Use-cases of lost histories: what workers tell of them, and what people decide."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import takewhile

from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.rules.transitions import ACTION, Happening, advance
from tinkbox.engine.rules.verdicts import resumes
from tinkbox.engine.secrets.masks import WorkflowMasks, masked_entry
from tinkbox.engine.wakeups import Wakeups
from tinkbox.engine.workflows.beginnings import begin_attempt
from tinkbox.engine.workflows.endings import end_attempt, tell
from tinkbox.engine.workflows.image_digests import DigestOf
from tinkbox.engine.workflows.journals import (
    LostWork,
    discard,
    lost_work,
    mark,
    may_be_retried,
    missing,
    refuse_behind,
    standing,
    to_decide,
    waiting,
)
from tinkbox.engine.workflows.retries import awaited, take_up_again
from tinkbox.engine.workflows.workflows import find_to_change
from tinkbox.model import history
from tinkbox.model.breakpoint import Hold, Verb, Verdict
from tinkbox.model.errors import Conflict
from tinkbox.model.journal import Entry, Standing, summary
from tinkbox.model.workflow import BEGUN, DONE, Outcome, State, Workflow
from tinkbox.store.database import Store, Tables
from tinkbox.store.journals import LostHistory
from tinkbox.store.workflows import Attempt
from tinkbox.wire.messages.journal import Answer, History

ANEW = Verdict(verb=Verb.RETRY, who="somebody whom the store lost", fresh=True)


class LostHistories:
    """What workers did that the store does not know, since it was put back to an earlier day."""

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        machines: Machines,
        clock: Callable[[], datetime],
        new_token: Callable[[], str],
        digest_of: DigestOf,
        masks: WorkflowMasks,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._machines = machines
        self._clock = clock
        self._new_token = new_token
        self._digest_of = digest_of
        self._masks = masks

    async def told(self, worker: str, told: History) -> Answer | None:
        """Compare a worker's journal with the store; None while a person has not decided about what is lost."""

        def use_case(tables: Tables) -> tuple[Answer | None, list[str]]:
            stands = standing(tables, worker, told.seen)
            if stands is Standing.KNOWN:
                return Answer(standing=stands), []
            lost, now = tables.journals.lost_of(worker), self._clock()
            if stands is Standing.DISCARDED and lost is not None:
                return Answer(standing=stands, seen=lost.restart), []
            entries = missing(tables, worker, told.seen.store, told.entries)
            if entries:
                masks = self._masks.of_all(
                    tables
                )  # nobody knows what attempts were given of which this store does not know
                entries = tuple(masked_entry(masks, each) for each in entries)
            since = lost.since if lost and lost.restart is None else now
            now_told = LostHistory(worker=worker, since=since, boot_id=told.boot_id, seen=told.seen, entries=entries)
            if now_told == lost:
                return None, []
            mark(tables, now_told, now)
            return None, [worker]

        answer, changed = await self._store.write(use_case)
        if changed:
            await tell(self._machines, self._wakeups, [])
        return answer

    async def all(self) -> list[LostWork]:
        """Every one of them, the oldest first."""
        return await self._store.read(lost_work)

    async def by_machine(self) -> Mapping[str, LostWork]:
        """The same by the machine's id."""
        return {each.history.worker: each for each in await self.all()}

    async def of_workflow(self, workflow_id: str) -> Sequence[LostWork]:
        """Those that keep a workflow waiting, or tell of later work on one that ended badly."""
        return await self._store.read(lambda tables: waiting(tables).get(workflow_id, ()))

    async def take_over(self, key: str, who: str) -> str:
        """Bring the store up to what the machines of a workflow did since; returns the workflow's id.

        Attempts that ended begin and end as their workers say, whatever a person who did not know of it decided here; one
        that did not goes on as the current one.  A workflow that the store has for ended badly was retried: it is retried
        here as well.  Raises Conflict when the workflow has no such history, or when what was done does not fit its plan.
        """

        def use_case(tables: Tables) -> tuple[str, list[str], list[Workflow]]:
            workflow, now = find_to_change(tables, key), self._clock()
            found = to_decide(tables, workflow.id)
            if not found:
                refuse_behind(tables, workflow.id)
                raise Conflict(f"workflow {workflow.id} does not wait for a decision about a lost history")
            workflows = {workflow.id, *(entry.workflow_id for lost in found for entry in lost.entries)}
            retried: list[Workflow] = []

            def retry(workflow: Workflow, first: int) -> None:
                retried.append(
                    take_up_again(
                        tables, workflow, first, new_token=self._new_token, digest_of=self._digest_of, now=now
                    )
                )

            woken = _brought_up(tables, found, retry, now)
            for lost in found:
                tables.journals.forget(lost.worker)
                if standing(tables, lost.worker, lost.seen) is not Standing.KNOWN:
                    raise Conflict(_unfit("not all that the machine did is kept", lost))
            for each in workflows:
                tables.events.add(each, now, *history.history_taken_over(who))
            return workflow.id, woken, retried

        workflow_id, woken, retried = await self._store.write(use_case)
        for each in retried:
            self._machines.tickets_granted(awaited(each), each.name)
            woken += each.workers()
        await tell(self._machines, self._wakeups, woken)
        return workflow_id

    async def discard(self, key: str, who: str) -> str:
        """Let a machine work again: what it did since counts for nothing.  Returns its id.

        Raises NotFound for an unknown machine, Conflict when nothing of it is lost.
        """
        worker = self._machines.known.find(key).hardware.id

        def use_case(tables: Tables) -> list[str]:
            lost = tables.journals.lost_of(worker)
            if lost is None or lost.restart is not None:
                raise Conflict(f"machine {worker} does not wait for a decision about a lost history")
            return discard(tables, lost, State.FAILED, who, self._new_token, self._clock())

        await tell(self._machines, self._wakeups, await self._store.write(use_case))
        return worker


def _brought_up(
    tables: Tables, found: Sequence[LostHistory], retry: Callable[[Workflow, int], None], now: datetime
) -> list[str]:
    """Begin and end what the workers of these machines began and ended, each when it is its turn.

    `retry` takes a workflow up again, from an action on, where a person did so meanwhile.  Returns the machines to be
    told; raises Conflict when what is left has no turn.
    """
    woken: list[str] = []
    left = {lost.worker: list(lost.entries) for lost in found}
    behind = {lost.worker: tables.journals.newest(lost.worker) for lost in found}
    while any(left.values()):
        heads = [(lost, left[lost.worker][0]) for lost in found if left[lost.worker]]
        turn = next((lost for lost, entry in heads if _fits(tables, lost, entry)), None)
        if turn is None:
            again = [(entry.index, lost, each) for lost, entry in heads if (each := _retried(tables, lost, entry))]
            if not again:
                raise Conflict(
                    _unfit(
                        f"it does not fit the workflow as it is here{_unheard(tables, found, heads[0][1])}", heads[0][0]
                    )
                )
            first, turn, workflow = min(again, key=lambda each: each[0])
            retry(workflow, first)
        entry = left[turn.worker].pop(0)
        if tables.workflows.attempt(entry.attempt) is None and entry.position <= behind[turn.worker]:
            raise Conflict(_unfit("this appliance has begun something else on it meanwhile", turn))
        woken += _happened(tables, turn, entry, _tried_anew(left, turn.worker, entry), now)
    return woken


def _fits(tables: Tables, lost: LostHistory, entry: Entry) -> bool:
    """Whether it is this attempt's turn: it is the current one of its action, or the first at an action that waits."""
    step = tables.workflows.current_step(entry.workflow_id)
    if step is None or step.state not in {State.PENDING, State.RUNNING} or step.status.action.worker != lost.worker:
        return False
    action = step.status.action
    if (action.index, action.task, action.spec.name) != (entry.index, entry.task, entry.action):
        return False
    if step.status.state in BEGUN:
        return step.status.attempt == entry.attempt
    return step.status.state is State.PENDING and tables.workflows.attempt(entry.attempt) is None


def _retried(tables: Tables, lost: LostHistory, entry: Entry) -> Workflow | None:
    """The workflow of an attempt that can only be the first one after a retry; None when it is not."""
    found = [each for each in tables.workflows.some([entry.workflow_id]) if may_be_retried(each)]
    if not found or tables.workflows.attempt(entry.attempt) is not None:
        return None
    (workflow,) = found
    # A retry begins with the first action that is not done, or with an earlier one.
    for status in workflow.actions:
        action = status.action
        if (action.worker, action.index, action.task, action.spec.name) == (
            lost.worker, entry.index, entry.task, entry.action,
        ):  # fmt: skip
            return workflow
        if status.state not in DONE:
            break
    return None


def _tried_anew(left: Mapping[str, Sequence[Entry]], worker: str, entry: Entry) -> bool:
    """Whether an attempt's action was tried anew after it, as what is `left` to take over tells."""
    again = list(takewhile(lambda each: _action_of(each) == _action_of(entry), left[worker]))
    if not again:
        return False
    # Another machine went on from a success: from this one, unless a later attempt succeeded as well.
    went_on = any(
        each.workflow_id == entry.workflow_id and each.index > entry.index
        for other, entries in left.items()
        if other != worker
        for each in entries
    )
    return not went_on or (again[-1].outcome is not None and again[-1].outcome.state is State.SUCCESS)


def _action_of(entry: Entry) -> tuple[str, int]:
    return entry.workflow_id, entry.index


def _counting(hold: Hold | None, outcome: Outcome, *, tried_anew: bool) -> Verdict | None:
    """The verdict that an attempt ended by: what its machine did counts, not what was decided here before it told so.

    A failure that was not held here may have ended its workflow, which a person retried.  Where a verdict has the action
    run, it had run, or the verdict was never carried out: either way the end is none by it.
    """
    if tried_anew and (hold is not None or outcome.state is State.SUCCESS):
        return ANEW
    return None if hold is None or resumes(hold) else hold.verdict


def _happened(tables: Tables, lost: LostHistory, entry: Entry, tried_anew: bool, now: datetime) -> list[str]:
    attempt = tables.workflows.attempt(entry.attempt)
    if attempt is None:
        step = tables.workflows.step(entry.workflow_id, entry.index)
        attempt = Attempt(
            token=entry.attempt,
            workflow_id=entry.workflow_id,
            position=entry.index,
            worker=lost.worker,
            boot_id=lost.boot_id,
            session=tables.sessions.serial(lost.worker),
            state=advance(ACTION, State.PENDING, Happening.STARTED),
            started_at=now,
        )
        begin_attempt(tables, step, attempt, now, entry.position)
    outcome = entry.outcome
    if not entry.over or outcome is None:
        return [lost.worker]
    return end_attempt(tables, attempt, outcome, now, lambda hold: _counting(hold, outcome, tried_anew=tried_anew))


def _unheard(tables: Tables, found: Sequence[LostHistory], entry: Entry) -> str:
    """Which other machines an attempt may follow on, to be said behind that it does not fit: they may tell of it yet."""
    told = {each.worker for each in found}
    workers = [each for flow in tables.workflows.some([entry.workflow_id]) for each in flow.workers()]
    others = [each for each in workers if each not in told]
    if not others:
        return ""
    return (
        f", unless it follows on what machine {' and '.join(others)} did, which told of nothing: when it has been on and in reach for "
        "a minute, type this again"
    )


def _unfit(why: str, lost: LostHistory) -> str:
    return (
        f"what machine {lost.worker} did cannot be taken over: {why} ({summary(lost.entries)}); "
        "tinkbox doctor names the other ways"
    )
