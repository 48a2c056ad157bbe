"""Use-cases of breakpoints: what is armed, what is held, and who decides what becomes of it.

The verdict is a row in the store, and the first one counts.  The worker sees it in its orders as long as it has not
said that it was carried out, so that no lost answer and no restart takes it away or has it carried out twice.

A worker lets nothing go without a verdict.  Whoever says that an action runs, by none that is known here, was given it by
a store that was put back since: it is believed where a breakpoint was set, as what is asked inside a container is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.rules.arming import Change, armed, armed_of, cleared
from tinkbox.engine.rules.orders import given_up, wanted_of
from tinkbox.engine.rules.verdicts import excuses, judged, resumes
from tinkbox.engine.secrets.giving import Giving
from tinkbox.engine.secrets.masks import WorkflowMasks
from tinkbox.engine.wakeups import Wakeups
from tinkbox.engine.workflows.attempts import fence, owned
from tinkbox.engine.workflows.endings import tell
from tinkbox.engine.workflows.holds import begin_hold, decide, decided, held_action, resume
from tinkbox.engine.workflows.shell_drivers import ShellDrivers
from tinkbox.engine.workflows.workflows import UNFINISHED, find_among, find_to_change, find_workflow
from tinkbox.model import breakpoint as model
from tinkbox.model import history
from tinkbox.model.breakpoint import MAX_HOLD_SECONDS, MAX_HOLDS, Hold, Kind, Verb, Verdict
from tinkbox.model.errors import Conflict, Invalid, NotFound, Unavailable
from tinkbox.model.key_kinds import ToChange
from tinkbox.model.listing import WorkflowListing
from tinkbox.model.masking import masked_outcome
from tinkbox.model.secret import asks_for_secret, has_mark, marked, named_in
from tinkbox.model.workflow import BEGUN, FINAL, State, Workflow
from tinkbox.store.database import Store, Tables
from tinkbox.store.workflows import Attempt, UnderWay
from tinkbox.wire.messages.breakpoints import MAX_WHY, Asked, Held, Orders, Resumed

__all__ = ["Breakpoints", "Change", "Standing"]

TOUCH_EVERY = timedelta(seconds=10)
CONTAINER = "the container"
ANY = WorkflowListing()
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is armed of a workflow, and its holds, the newest last; an open one has no `ended_at`."""

    workflow: Workflow
    breakpoints: model.Breakpoints
    holds: tuple[Hold, ...]

    @property
    def hold(self) -> Hold | None:
        """The one that is open."""
        return next((each for each in self.holds if each.ended_at is None), None)


class Breakpoints:
    """Arm, clear and show breakpoints; decide about what is held.

    Wherever a `key` is asked, it means a workflow as in `Workflows`; each such method raises NotFound, or Conflict when the key
    fits several.  `who` asks is kept for the record.
    """

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        machines: Machines,
        clock: Callable[[], datetime],
        giving: Giving,
        masks: WorkflowMasks,
        drivers: ShellDrivers,
    ) -> None:
        self._drivers = drivers
        self._store = store
        self._wakeups = wakeups
        self._machines = machines
        self._clock = clock
        self._giving = giving
        self._masks = masks
        self._touched: dict[str, datetime] = {}

    async def arm(self, key: str, change: Change, who: str) -> model.Breakpoints:
        """Arm what `change` says, from now on; returns all that is armed then.

        Raises Invalid, NotFound and Conflict as `arming.armed` does, Conflict for a workflow that succeeded.
        """

        def use_case(tables: Tables) -> tuple[model.Breakpoints, list[str]]:
            workflow = find_to_change(tables, key)
            if workflow.state is State.SUCCESS:
                raise Conflict(f"workflow {workflow.id} succeeded: nothing is left to hold")
            breakpoints = armed(tables.holds.armed(workflow.id), change, workflow)
            tables.holds.arm(workflow.id, breakpoints)
            tables.events.add(workflow.id, self._clock(), *history.breakpoints_armed(breakpoints, who))
            for under_way in tables.workflows.under_way(workflow.id):
                self._say_refused(tables, under_way)
            return breakpoints, _busy(workflow)

        return await self._told(use_case)

    async def clear(self, key: str, change: Change | None, who: str) -> model.Breakpoints:
        """Clear what `change` says, or all; what is held stays held.  Returns all that is armed then."""

        def use_case(tables: Tables) -> tuple[model.Breakpoints, list[str]]:
            workflow = find_to_change(tables, key)
            breakpoints = cleared(tables.holds.armed(workflow.id), change, workflow)
            tables.holds.arm(workflow.id, breakpoints)
            tables.events.add(workflow.id, self._clock(), *history.breakpoints_cleared(breakpoints, who))
            return breakpoints, _busy(workflow)

        return await self._told(use_case)

    async def standing(self, key: str, to_change: ToChange = ToChange.NO) -> Standing:
        """What is armed and held of the workflow that a key means `to_change` it so."""

        def question(tables: Tables) -> Standing:
            found = find_workflow(tables, key) if to_change is ToChange.NO else find_to_change(tables, key, to_change)
            return _standing(tables, found)

        return await self._store.read(question)

    async def standing_among(
        self, key: str, machines: Sequence[str], machine: str, to_change: ToChange = ToChange.NO
    ) -> Standing:
        """The same of the one that a key means among those that have work for these machines alone (`find_among`)."""
        return await self._store.read(
            lambda tables: _standing(tables, find_among(tables, key, machines, machine, to_change))
        )

    async def all(self, wanted: WorkflowListing = ANY) -> list[Standing]:
        """The same of every workflow that is wanted, is not over and has something armed or held, oldest first."""

        def question(tables: Tables) -> list[Standing]:
            ids = tables.holds.concerned()
            if ids and wanted != ANY:
                selected = set(tables.workflows.listed_ids(replace(wanted, states=tuple(UNFINISHED)))[0])
                ids = [each for each in ids if each in selected]
            return [_standing(tables, each) for each in tables.workflows.some(ids)]

        standings = await self._store.read(question)
        return [each for each in standings if each.hold is not None or each.breakpoints.anything]

    async def resolve(self, key: str, verdict: Verdict, hold_id: str | None = None) -> Hold:
        """Decide what becomes of the held action; returns its hold, with the verdict as it counts.

        `hold_id` is the hold that is meant, where that is known.  Raises Conflict when it is another one by now, when nothing is held, when somebody decided already (it names them), when several workflows that
        are not over have this name, or when the verb is none for this kind of hold; Invalid for a verdict that makes no sense, has a secret in it, or lacks its why.
        """

        def use_case(tables: Tables) -> tuple[Hold, list[str]]:
            hold = _open(tables, key)
            if hold_id not in (None, hold.id):
                raise Conflict(
                    f"workflow {hold.workflow_id} went on meanwhile, and is held anew: `tinkbox workflow state {hold.workflow_id[:8]}` "
                    "shows at what"
                )
            typed = self._without_secrets(tables, verdict, hold.workflow_id)
            counts = judged(self._with_marks(tables, typed, hold.workflow_id), hold)
            if excuses(counts, hold) and not counts.why.strip():
                raise Invalid(f"{counts.verb} makes a success of a failure: say why")
            workers = decide(tables, hold, counts, self._clock())
            return tables.holds.get(hold.attempt, hold.sequence) or hold, workers

        return await self._told(use_case)

    def _without_secrets(self, tables: Tables, verdict: Verdict, workflow_id: str) -> Verdict:
        """The verdict with its words masked.

        Raises Invalid where the value of a secret is in its command or environment: these are kept and shown with the workflow,
        and to mask them would run something else.  Raises Unavailable where nobody can tell.
        """
        masks, command, environment = self._masks.of(tables, workflow_id), verdict.command or (), verdict.environment
        if masks.words(command) != command or masks.environment(environment) != environment:
            if masks.all:
                raise Unavailable(
                    "secrets cannot be read, so nobody can tell whether one is in the command or the environment: put their key "
                    "back first"
                )
            raise Invalid(
                "a secret stands in the command or the environment, and would be kept with the workflow: retry --fresh, and write "
                '{{ secret "NAME" }} in its place'
            )
        return replace(verdict, why=masks.text(verdict.why))

    def _with_marks(self, tables: Tables, verdict: Verdict, workflow_id: str) -> Verdict:
        """The verdict with the marks of the secrets that a person wrote into its command and environment.

        Raises Invalid where these could not be handed out, Unavailable where they cannot be read.
        """
        key = self._giving.marks_key(workflow_id)
        command = None if verdict.command is None else tuple(marked(key, each) for each in verdict.command)
        environment = {name: marked(key, value) for name, value in verdict.environment.items()}
        words = "\n".join((*(command or ()), *environment.values()))
        if asks_for_secret(words):
            raise Invalid('only {{ secret "NAME" }} can stand in a changed command or environment, without a function')
        if not verdict.fresh and has_mark(words):
            raise Invalid("a container gets its secrets when it is made: with a secret in them, retry --fresh")
        named = [replace(each, line=None) for each in named_in(words)]
        self._giving.refuse_unfit(tables, workflow_id, words, named)
        return replace(verdict, command=command, environment=environment)

    async def extend(self, key: str, seconds: int, who: str, why: str) -> Hold:
        """Have the hold end by itself `seconds` later; returns it.

        Raises Conflict as `resolve` does, Invalid when it would last beyond MAX_HOLD_SECONDS from now.
        """

        def use_case(tables: Tables) -> tuple[Hold, list[str]]:
            hold, now = _open(tables, key), self._clock()
            longer = replace(hold, deadline=hold.deadline + timedelta(seconds=seconds), warned=False)
            if longer.deadline > now + timedelta(seconds=MAX_HOLD_SECONDS):
                raise Invalid(f"a hold waits for at most {MAX_HOLD_SECONDS} seconds from now")
            tables.holds.keep(longer)
            action = held_action(tables.workflows.get(hold.workflow_id), hold)
            said = self._masks.of(tables, hold.workflow_id).text(why)[:MAX_WHY]
            tables.events.add(hold.workflow_id, now, *history.hold_extended(action, longer, who, said))
            return longer, []

        if not 0 < seconds <= MAX_HOLD_SECONDS:
            raise Invalid(f"a hold is extended by 1 to {MAX_HOLD_SECONDS} seconds, not by {seconds}")
        return await self._told(use_case)

    async def masked(self, workflow_id: str, said: str) -> str:
        """What a person said of a workflow as it is kept: without the secrets that this was given."""
        return await self._store.read(lambda tables: self._masks.of(tables, workflow_id).text(said))

    async def touch(self, token: str) -> None:
        """Note that somebody works in the container of a held attempt: its whole timeout begins now.

        It costs nothing to say so often: it is written down every now and then.
        """
        now = self._clock()
        recent = {each: at for each, at in self._touched.items() if now - at < TOUCH_EVERY}
        self._touched = {token: now, **recent}
        if token in recent:
            return

        def use_case(tables: Tables) -> tuple[None, list[str]]:
            hold = tables.holds.open_of(token)
            if hold is not None and hold.verdict is None:
                deadline = max(hold.deadline, now + timedelta(seconds=hold.timeout))
                tables.holds.keep(replace(hold, deadline=deadline, warned=hold.warned and deadline == hold.deadline))
            return None, []

        await self._told(use_case)

    # What workers say and ask.  `worker` is always the machine's id that its credential proved.

    async def held(self, worker: str, token: str, held: Held) -> None:
        """Take note that an attempt's action is at a breakpoint; the same again only says what became of the container.

        A hold before it that is still open is over with it, where `_may_run` says so.  Raises NotFound for an attempt that
        is not this worker's, Conflict when it is over, held elsewhere, or was held MAX_HOLDS times.
        """

        def use_case(tables: Tables) -> tuple[None, list[str]]:
            attempt, now = _current(tables, worker, token, held), self._clock()
            known = tables.holds.get(token, held.sequence)
            if known is not None:
                _keep(tables, known, held)
                return None, []
            held_before = tables.holds.open_of(token)
            if held_before is not None:
                # A worker that was killed after it carried out a verdict may never have said so.
                if held.sequence < held_before.sequence or not _may_run(tables, held_before):
                    raise Conflict(
                        f"attempt {token} is held already ({held_before.sequence}), and no verdict has it run"
                    )
                resume(tables, attempt, held_before, now)
                attempt = owned(tables, worker, token)
            if tables.holds.count(token) >= MAX_HOLDS:
                raise Conflict(f"attempt {token} was held {MAX_HOLDS} times, which is the most: retry its workflow")
            masks = self._masks.of(tables, attempt.workflow_id)
            outcome = None if held.outcome is None else masked_outcome(masks, held.outcome)
            hold = _begun(replace(held, outcome=outcome), token, tables.holds.armed(attempt.workflow_id), now)
            return None, begin_hold(tables, attempt, hold)

        if held.kind is not Kind.BEFORE and held.outcome is None:
            raise Invalid("held: what is held after its end says how its process ended")
        await self._told(use_case)

    async def resumed(self, worker: str, token: str, resumed: Resumed) -> None:
        """Take note that a held action runs (again) in its container; the same again changes nothing.

        Of a hold that this store does not know, for it was put back, there is nothing to note; one before it that is open
        is over.  Raises NotFound for an attempt that is not this worker's, and for an unknown hold before the open one;
        Conflict where it may not run (`_may_run`), or the attempt is over.
        """

        def use_case(tables: Tables) -> tuple[None, list[str]]:
            attempt = _current(tables, worker, token, resumed)
            hold = tables.holds.open_of(token)
            if hold is None:
                return None, []
            if hold.sequence > resumed.sequence:
                _hold_of(tables, token, resumed.sequence)
                return None, []
            if not _may_run(tables, hold):
                raise Conflict(f"hold {hold.sequence} of attempt {token} goes on: no verdict has it run")
            return None, resume(tables, attempt, hold, self._clock())

        await self._told(use_case)

    async def asked(self, worker: str, token: str, asked: Asked) -> None:
        """Decide as somebody inside the held container asks; the same again changes nothing.

        Raises as `resolve` does, and as the others here; Conflict as well where nobody sits in a shell, and no breakpoint was
        ever set for the workflow, and from a shell that is over, or is about to end by its driver's token.
        """

        def use_case(tables: Tables) -> tuple[None, list[str]]:
            _current(tables, worker, token, asked)
            hold = _hold_of(tables, token, asked.sequence)
            shell = tables.shells.in_attempt(asked.shell, token) if asked.shell else None
            if shell is None and not tables.holds.was_armed(hold.workflow_id):
                # Or a machine held its action for ever, and no clock would run: `_may_run` says the same.
                raise Conflict(
                    f"workflow {hold.workflow_id} has no breakpoint: only a person decides what becomes of this hold"
                )
            why = self._masks.of(tables, hold.workflow_id).text(asked.why) or "asked for inside the container"
            who = CONTAINER if shell is None else shell.driver
            verdict = judged(Verdict(verb=asked.verb, who=who, why=why, fresh=asked.fresh), hold)
            if hold.verdict == verdict:
                return None, []
            if shell is not None and (end := shell.end or self._drivers.end(tables, shell)) is not None:
                # A worker that is away, or slow, has not ended its processes yet.
                raise Conflict(
                    f"shell {shell.id} is over, and decides nothing any more: {end.words}. Decide with tinkbox breakpoint, or in "
                    "another shell"
                )
            return None, decide(tables, hold, verdict, self._clock())

        await self._told(use_case)

    async def orders(self, worker: str, token: str) -> Orders:
        """Everything that is wanted of an attempt now; raises NotFound for one that is not this worker's."""

        def question(tables: Tables) -> Orders:
            under_way = tables.workflows.under_way_with(token)
            if under_way is None or under_way.attempt is None or under_way.attempt.worker != worker:
                return Orders(stop=given_up(owned(tables, worker, token).state))
            return wanted_of(under_way, self._masks.typed.whole(tables.shells.open_of(token)))

        return await self._store.look(question)

    async def _told(self, use_case: Callable[[Tables], tuple[T, list[str]]]) -> T:
        """Run a use-case, then let everybody know whom it returns to be told."""
        value, workers = await self._store.write(use_case)
        await tell(self._machines, self._wakeups, workers)
        return value

    def _say_refused(self, tables: Tables, under_way: UnderWay) -> None:
        """When the attempt that is under way should be held from now on, and its worker does not do that."""
        action, attempt = under_way.action, under_way.attempt
        if action is None or attempt is None or attempt.debug:
            return
        wanted = armed_of(under_way.breakpoints, action, under_way.failures)
        if wanted.anything:
            fact = history.breakpoints_refused(action, attempt.token, wanted)
            tables.events.add(under_way.workflow_id, self._clock(), *fact)


def _standing(tables: Tables, workflow: Workflow) -> Standing:
    holds = tables.holds.of(workflow.id)
    return Standing(workflow=workflow, breakpoints=tables.holds.armed(workflow.id), holds=tuple(holds))


def _open(tables: Tables, key: str) -> Hold:
    """The hold that a workflow is in and that nobody decided about yet."""
    standing = _standing(tables, find_to_change(tables, key, ToChange.HELD))
    identity, hold = standing.workflow.id, standing.hold
    if hold is None:
        newest = f" any more: {decided(standing.holds[-1])}" if standing.holds else ": tinkbox breakpoint list"
        raise Conflict(f"workflow {identity} is not held{newest}")
    if hold.verdict is not None:
        raise Conflict(decided(hold))
    return hold


def _current(tables: Tables, worker: str, token: str, message: Held | Resumed | Asked) -> Attempt:
    attempt = owned(tables, worker, token)
    fence(attempt, message.workflow_id, message.boot_id)
    if attempt.state in FINAL:
        raise Conflict(f"attempt {token} ended already ({attempt.state}): this is too late")
    return attempt


def _hold_of(tables: Tables, token: str, sequence: int) -> Hold:
    hold = tables.holds.get(token, sequence)
    if hold is None:
        raise NotFound(f"attempt {token} has no hold {sequence}")
    return hold


def _may_run(tables: Tables, hold: Hold) -> bool:
    """Whether the action can run though its hold is open here: by its verdict, or by one that a store lost that was put back.

    Then what a person decided here since was decided without knowing that it runs, and counts for nothing.
    """
    if hold.verdict is not None and hold.verdict.verb is Verb.ABORT:
        return False
    return resumes(hold) or tables.holds.was_armed(hold.workflow_id)


def _begun(held: Held, token: str, breakpoints: model.Breakpoints, now: datetime) -> Hold:
    return Hold(
        attempt=token,
        workflow_id=held.workflow_id,
        sequence=held.sequence,
        kind=held.kind,
        held_at=now,
        deadline=now + timedelta(seconds=breakpoints.timeout),
        timeout=breakpoints.timeout,
        on_expiry=breakpoints.on_expiry,
        outcome=held.outcome,
        container=held.container,
        in_place=held.in_place,
    )


def _keep(tables: Tables, hold: Hold, held: Held) -> None:
    """The worker says once more that it holds, maybe what became of the container meanwhile."""
    if hold.kind is not held.kind:
        raise Conflict(f"hold {hold.sequence} of attempt {hold.attempt} is one {hold.kind}, not {held.kind}")
    if hold.ended_at is None:
        tables.holds.keep(replace(hold, container=held.container, in_place=held.in_place))


def _busy(workflow: Workflow) -> list[str]:
    """The machine that works on it now."""
    return [each.action.worker for each in workflow.actions if each.state in BEGUN]
