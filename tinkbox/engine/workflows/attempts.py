"""The worker's side: offers, reports, output, ephemeral data.

Delivery is at least once, the effect exactly once: every message names its attempt by token, the
same again gets the same answer, and what is stale is refused.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime

from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.rules.arming import armed_of
from tinkbox.engine.rules.first_boot import came_back
from tinkbox.engine.rules.progress import Turn, Whereabouts, turn
from tinkbox.engine.rules.transitions import ACTION, Happening, advance
from tinkbox.engine.rules.verdicts import LOST as BREAKPOINT_LOST
from tinkbox.engine.rules.verdicts import may_end, resumes
from tinkbox.engine.secrets.giving import Giving, NotGiven
from tinkbox.engine.secrets.masks import Masked, WorkflowMasks
from tinkbox.engine.wakeups import CHANGES, Wakeups, worker_wakeup
from tinkbox.engine.workflows.beginnings import begin_attempt
from tinkbox.engine.workflows.endings import end_attempt, tell, wake
from tinkbox.engine.workflows.ephemeral_data import Reading, add_version, is_large, keep, pushed, unchanged
from tinkbox.engine.workflows.image_digests import DigestOf, believed, pin
from tinkbox.engine.workflows.journals import refuse_waiting, standing, undecided
from tinkbox.engine.workflows.returns import RETURNED
from tinkbox.engine.workflows.wipes import judge, remember
from tinkbox.model import history
from tinkbox.model.breakpoint import Armed, Hold, Override
from tinkbox.model.disks.disks import Refused
from tinkbox.model.errors import Conflict, NotFound, TooLarge
from tinkbox.model.images.references import pinned
from tinkbox.model.journal import Standing
from tinkbox.model.masking import masked_outcome
from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import FINAL, ActionStatus, Outcome, State, Step
from tinkbox.store.database import Store, Tables
from tinkbox.store.workflows import Attempt
from tinkbox.wire.ephemeral_limits import MAX_ARCHIVE_BYTES
from tinkbox.wire.messages.disks import Looked
from tinkbox.wire.messages.worker import Hello, Leaving, Offer, Pulled, Report


class Attempts:
    """What workers ask and say.  `worker` is always the machine's id that its credential proved.

    `gather` has what the services of a workflow wrote until now made part of its data, and tells whether there are any
    near by; `name_of` says under which name machines reach them.  `metadata_path` gives the path on the node door below which
    the metadata of a workflow's system is on a machine.  `diagnosis_of` gives what the doctor says of a workflow, by its id,
    as far as it was found since a time.
    """

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        machines: Machines,
        clock: Callable[[], datetime],
        new_token: Callable[[], str],
        gather: Callable[[str], Awaitable[bool]],
        name_of: Callable[[str], str],
        digest_of: DigestOf,
        metadata_path: Callable[[str, str], str],
        giving: Giving,
        masks: WorkflowMasks,
        appliance_only: Callable[[str], bool] = lambda _: False,
        diagnosis_of: Callable[[str, datetime | None], str] = lambda _, __: "",
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._machines = machines
        self._clock = clock
        self._new_token = new_token
        self._gather = gather
        self._name_of = name_of
        self._digest_of = digest_of
        self._appliance_only = appliance_only
        self._metadata_path = metadata_path
        self._giving = giving
        self._masks = masks
        self._diagnosis_of = diagnosis_of
        self._merging = asyncio.Semaphore()  # of large data
        self._printed: dict[str, tuple[str, datetime]] = {}  # by worker, the attempt that printed last
        self.offered = 0  # since the appliance began, repeated offers included

    async def offer(self, worker: str, hello: Hello, *, private: bool = False) -> Offer | None:
        """The attempt this worker is to work on, or None when there is nothing for it now.

        A worker that comes back within the same boot gets the same attempt again.  After another
        boot the attempt is lost and fails, for nobody knows what it did; but one of which the machine
        went away by intention has succeeded.  While it is finishing nothing new is begun for it.
        An action that asks for secrets fails where the answer is not `private`: others could read it on its way.
        Raises Conflict for a worker of an earlier boot, and while a history that the store has lost keeps it waiting.
        """
        self._machines.progress.contact(worker, hello.boot_id, hello.version)

        def use_case(tables: Tables) -> tuple[Offer | None, list[str]]:
            refuse_waiting(tables, worker, hello.seen)
            return self._offer(tables, worker, hello, private=private)

        offer, woken = await self._store.write(use_case)
        await tell(self._machines, self._wakeups, woken)
        self.offered += offer is not None
        return offer

    def engine_is_away(self, worker: str, seconds: float) -> None:
        """Note for how many seconds the engine does not answer on the machine of an attempt that is under way; 0: it does."""
        self._machines.progress.engine_is_away(worker, seconds)

    async def is_due(self, worker: str, hello: Hello) -> bool | None:
        """True when `offer` has something for a worker that asks now, or refuses it; None when there is nothing yet.

        Nothing is begun: this is for a question that has waited, perhaps since before its machine was switched off.  What
        is begun for such a machine is lost.  Raises as `offer` does for a worker of an earlier boot.
        """
        self._machines.progress.contact(worker, hello.boot_id, hello.version)

        def question(tables: Tables) -> bool:
            if tables.journals.lost_of(worker) is not None:
                return True
            workflow_id = tables.queues.next_for(worker)
            step = tables.workflows.current_step(workflow_id) if workflow_id is not None else None
            return _next_for(tables, worker, hello, step)[0] is not Turn.WAIT

        return await self._store.look(question) or None

    async def wait(self, worker: str, timeout: float) -> None:
        """Wait until there may be work for this machine, at most `timeout` seconds."""
        await self._wakeups.wait(worker_wakeup(worker), timeout)

    def must_show(self, worker: str) -> bool:
        """Whether the worker is to ask again, since its machine went away by intention and was seen booting."""
        return self._machines.absences.is_doubted(worker)

    async def leave(self, worker: str, token: str, leaving: Leaving) -> None:
        """Take note that the attempt's machine goes away by intention; the same again changes nothing.

        Raises NotFound for an attempt that is not this worker's, Conflict when its action must not
        begin: it is over, held, told to stop, of another boot, or its template does not say `reboot: true`.
        """

        def use_case(tables: Tables) -> list[str]:
            attempt = owned(tables, worker, token)
            fence(attempt, leaving.workflow_id, leaving.boot_id)
            if attempt.state is State.LEAVING:
                return []
            if attempt.state is State.HELD:
                raise Conflict(f"attempt {token} is held: its machine does not go away before it goes on")
            step = tables.workflows.step(attempt.workflow_id, attempt.position)
            action, now = step.status.action, self._clock()
            if step.state is State.STOPPING:
                raise Conflict(f"workflow {step.workflow_id} was told to stop: attempt {token} must not go away")
            if not action.spec.reboot:
                raise Conflict(f"action {action.spec.name} may not go away: its template does not say reboot: true")
            left = advance(ACTION, attempt.state, Happening.LEFT)
            tables.workflows.leave(token, now)
            _forget_earlier_system(tables, attempt.workflow_id, worker)
            tables.workflows.set_action_state(step.workflow_id, attempt.position, left)
            tables.events.add(step.workflow_id, now, *history.action_leaving(action, token))
            return [worker]

        workers = await self._store.write(use_case)
        # Known before the worker is answered, so that no boot can come earlier.
        await tell(self._machines, self._wakeups, workers)

    async def report(self, worker: str, token: str, report: Report, *, private: bool = False) -> Offer | None:
        """Take note of how an attempt ended; returns what `offer` would, when the report asks what comes next.

        Raises NotFound for an attempt that is not this worker's, Conflict for one that ended otherwise,
        for the success of one whose machine goes away (coming back is what makes it one), and for that of one
        that is held, unless its verdict has it succeed.
        """
        asks = report.next
        # Another's boot gets nothing: it asks by `offer`, and is told why.
        if asks is not None and self._machines.progress.in_touch(worker, asks.boot_id):
            self._machines.progress.contact(worker, asks.boot_id)
        else:
            asks = None

        def use_case(tables: Tables) -> tuple[Offer | None, list[str], bool]:
            attempt = owned(tables, worker, token)
            masks = self._masks.of(tables, attempt.workflow_id)
            masked = replace(report, outcome=masked_outcome(masks, report.outcome))
            woken = self._report(tables, attempt, masked)
            if asks is None or standing(tables, worker, asks.seen) is not Standing.KNOWN:
                return None, woken, False
            offer, more = self._offer(tables, worker, asks, report.workflow_id, private=private)
            same = offer is not None and offer.workflow_id == attempt.workflow_id
            return offer, woken + more, same and attempt.state is State.RUNNING

        offer, woken, goes_on = await self._store.write(use_case)
        self.engine_is_away(worker, 0)  # whether it still is, the next attempt tells
        if goes_on:
            # From one action that ran to the next: nothing is different of any machine.
            wake(self._wakeups, woken)
        else:
            await tell(self._machines, self._wakeups, woken)
        self.offered += offer is not None
        return offer

    async def may_wipe(self, worker: str, token: str, looked: Looked) -> Refused | None:
        """Whether an attempt may wipe the disks of its action, which look so; None: it may.

        Raises NotFound for an attempt that is not this worker's, Conflict for one that is over, or of another boot.
        """

        def use_case(tables: Tables) -> Refused | None:
            attempt = owned(tables, worker, token)
            fence(attempt, looked.workflow_id, looked.boot_id)
            return judge(tables, attempt, looked.disks, self._clock())

        return await self._store.write(use_case)

    async def pulled(self, worker: str, token: str, pulled: Pulled) -> str:
        """Take note of what an attempt's image turned out to be; returns the digest that it is pinned to.

        Raises NotFound for an attempt that is not this worker's, and for an image that the appliance's registry does not
        have; Conflict for an attempt that is over, or of another boot.
        """

        def use_case(tables: Tables) -> str:
            attempt = owned(tables, worker, token)
            fence(attempt, pulled.workflow_id, pulled.boot_id)
            if attempt.state in FINAL:
                raise Conflict(f"attempt {token} is over: its image is not asked for any more")
            status = tables.workflows.step(attempt.workflow_id, attempt.position).status
            if status.digest:
                return status.digest
            image = status.action.spec.image
            digest, told_by = believed(image, pulled.digest, worker, self._digest_of)
            if not digest:
                raise NotFound(f"there is no image {image} in the appliance's registry")
            pin(tables, attempt.workflow_id, image, digest, self._clock(), told_by)
            return digest

        return await self._store.write(use_case)

    async def output(self, worker: str, token: str, offset: int, chunk: bytes) -> int:
        """Append output that begins at byte `offset`; returns the offset wanted next.

        What is there already is skipped, also after the end; what would leave a gap is not taken.  Raises NotFound
        for an attempt that is not this worker's, Conflict for one that is over, or that another session of the
        machine's worker began.
        """

        def use_case(tables: Tables) -> tuple[int, Masked | None]:
            attempt = owned(tables, worker, token)
            length = attempt.output_length
            # A network may deliver it twice, the second time after the end.
            if offset + len(chunk) <= length:
                return length, None
            refuse_late(tables, attempt, "output")
            masks = self._masks.of(tables, attempt.workflow_id)
            if not masks or offset > length:
                return tables.output.append(token, length, offset, chunk), None
            masked = self._masks.output(masks, token, length, offset, chunk)
            return tables.output.append(token, length, length, masked.piece), masked

        wanted, masked = await self._store.write(use_case)
        if masked is not None:
            self._masks.stands(token, masked)
        if chunk:
            self._printed[worker] = token, self._clock()
        self._wakeups.wake(CHANGES)
        return wanted

    def printed_at(self, worker: str, token: str) -> datetime | None:
        """When output of an attempt came last; None: none did since the appliance began, as far as that is in memory."""
        newest, at = self._printed.get(worker, ("", None))
        return at if newest == token else None

    async def data(self, worker: str, token: str) -> Reading:
        """The workflow's ephemeral data, an archive; empty when there is none yet.

        Raises Conflict when the action wipes disks and its worker, of before there was such a thing, did not ask.
        """
        found = await self._store.look(lambda tables: tables.data.for_attempt(token))
        if found is None or found.worker != worker:
            raise no_such_attempt()
        if found.unasked:
            raise Conflict(
                "this action wipes disks, and its worker did not look at them: build the OSIE of this version "
                "(`tinkbox osie build`) and boot the machine again"
            )
        await self._gather(found.workflow_id)

        def newest(tables: Tables) -> Reading:
            version = tables.data.newest_version(found.workflow_id)
            return Reading(self._store, found.workflow_id, version, tables.data.newest_size(found.workflow_id))

        return await self._store.read(newest)

    async def keep_data(self, worker: str, token: str, archive: bytes) -> int:
        """Store a new version of the ephemeral data; returns its number.

        The same data as the newest version's makes no new one, and what services wrote stays as they
        wrote it.  Raises TooLarge beyond the limit, Invalid for what cannot be unpacked, Conflict as `output` does.
        """
        if len(archive) > MAX_ARCHIVE_BYTES:
            raise TooLarge(
                f"the archive of the ephemeral data is {len(archive)} bytes, at most {MAX_ARCHIVE_BYTES} are kept"
            )

        def who(tables: Tables) -> tuple[Attempt, bool]:
            attempt = owned(tables, worker, token)
            return attempt, is_large(tables, attempt.workflow_id, archive)

        attempt, large = await self._store.read(who)
        now, workflow_id = self._clock(), attempt.workflow_id

        def write(tables: Tables, merged: bytes) -> int:
            there = unchanged(tables, workflow_id, merged)
            if there is not None:
                return there
            refuse_late(tables, owned(tables, worker, token), "data")
            return add_version(tables, workflow_id, worker, merged, now)

        async with self._merging if large else nullcontext():
            return await keep(self._store, workflow_id, lambda base: pushed(base, archive, attempt.started_at), write)

    def _report(self, tables: Tables, attempt: Attempt, report: Report) -> list[str]:
        token = attempt.token
        fence(attempt, report.workflow_id, report.boot_id)
        if attempt.state in FINAL:
            if attempt.outcome is not None and _unhinted(attempt.outcome) == _unhinted(report.outcome):
                return []
            raise Conflict(f"attempt {token} ended already ({attempt.state}): this report is too late")
        if attempt.state is State.LEAVING and report.outcome.state is State.SUCCESS:
            raise Conflict(f"attempt {token} succeeds when its machine is back, not before")
        hold = tables.holds.open_of(token)
        if hold is not None and not may_end(hold, report.outcome):
            raise Conflict(f"attempt {token} is held: it succeeds when a verdict says so, not before")
        remember(tables, attempt, report.disks, report.outcome.state, self._clock())
        diagnosis = self._diagnosis_of(attempt.workflow_id, attempt.started_at)
        return end_attempt(tables, attempt, report.outcome, self._clock(), diagnosis=diagnosis)

    def _offer(
        self, tables: Tables, worker: str, hello: Hello, after: str = "", *, private: bool
    ) -> tuple[Offer | None, list[str]]:
        """The offer and the machines to be told; `after` is the workflow of which the worker has just ended an action."""
        woken: list[str] = []
        while True:
            step = _going_on(tables, worker, after) if not woken else None
            if step is None:
                workflow_id = tables.queues.next_for(worker)
                if workflow_id is None:
                    return None, woken
                step = tables.workflows.current_step(workflow_id)
            what, attempt = _next_for(tables, worker, hello, step)
            if what is Turn.START and step is not None:
                offer, attempt = self._start(tables, step, hello)
                if hello.networks or not step.status.action.spec.network:
                    outcome = self._give(tables, offer, hello, private=private)
                    if isinstance(outcome, Offer):
                        return outcome, woken
                else:  # it would run the action, and in the machine's network
                    outcome = OLD_WORKER
                woken += end_attempt(tables, attempt, outcome, self._clock())
                continue
            if what is Turn.RESUME and step is not None and attempt is not None:
                if attempt.debug != hello.debug:
                    tables.workflows.set_debug(attempt.token, debug=hello.debug)
                armed = armed_of(tables.holds.armed(step.workflow_id), step.status.action, step.status.failures)
                position = tables.journals.position(worker, attempt.token)
                again = self._offered(tables, step.status, replace(attempt, debug=hello.debug), armed, position)
                outcome = self._give(tables, again, hello, private=private)
                if isinstance(outcome, Offer):
                    return outcome, woken
                woken += end_attempt(tables, attempt, outcome, self._clock())
                continue
            if what in {Turn.LOST, Turn.RETURNED} and attempt is not None:
                hold = tables.holds.open_of(attempt.token)
                same_boot = attempt.boot_id == hello.boot_id
                outcome = ANOTHER_WORKER if same_boot else _after_boot(what, attempt, hold)
                if outcome is RETURNED and step is not None and step.status.action.spec.until:
                    outcome = came_back(tables.metadata.first_boot(attempt.workflow_id, worker))
                diagnosis = self._diagnosis_of(attempt.workflow_id, attempt.started_at)
                woken += end_attempt(tables, attempt, outcome, self._clock(), diagnosis=diagnosis)
                continue
            return None, woken

    def _give(self, tables: Tables, offer: Offer, hello: Hello, *, private: bool) -> Offer | Outcome:
        """The offer with the values of the secrets that its action asks for; or how the attempt ends without them."""
        action, changed = offer.action.spec, offer.override or Override()
        texts = (
            *action.command, *action.on_timeout, *action.on_failure, *action.environment.values(),
            *(changed.command or ()), *changed.environment.values(),
        )  # fmt: skip
        try:
            given = self._giving.give(tables, offer.attempt, offer.workflow_id, texts, action.secrets, private=private)
        except NotGiven as refusal:
            return Outcome(state=State.FAILED, reason=refusal.reason, message=str(refusal))
        if given and not hello.secrets:  # it would run the action without them
            return OLD_WORKER_FOR_SECRETS
        return replace(offer, given=given) if given else offer

    def _start(self, tables: Tables, step: Step, hello: Hello) -> tuple[Offer, Attempt]:
        workflow_id, status, action, now = step.workflow_id, step.status, step.status.action, self._clock()
        if not status.digest:
            status = replace(status, digest=self._digest_of(action.spec.image) or "")
            pin(tables, workflow_id, action.spec.image, status.digest, now)
        attempt = Attempt(
            token=self._new_token(),
            workflow_id=workflow_id,
            position=action.index,
            worker=action.worker,
            boot_id=hello.boot_id,
            session=tables.sessions.serial(action.worker),
            state=advance(ACTION, State.PENDING, Happening.STARTED),
            started_at=now,
            debug=hello.debug,
            override=tables.holds.override(workflow_id, action.index) if status.attempt else None,
        )
        _forget_earlier_system(tables, workflow_id, action.worker)
        position = begin_attempt(tables, step, attempt, now)
        armed = armed_of(tables.holds.armed(workflow_id), action, status.failures)
        if armed.anything and not attempt.debug:
            tables.events.add(workflow_id, now, *history.breakpoints_refused(action, attempt.token, armed))
        return self._offered(tables, status, attempt, armed, position), attempt

    def _offered(self, tables: Tables, status: ActionStatus, attempt: Attempt, armed: Armed, position: int) -> Offer:
        action = status.action
        if status.digest:
            action = replace(action, spec=replace(action.spec, image=pinned(action.spec.image, status.digest)))
        since = attempt.left_at or attempt.resumed_at or attempt.started_at
        # While it is held its time stands still.
        taken = (status.held_at or self._clock()) - since
        return Offer(
            workflow_id=attempt.workflow_id,
            attempt=attempt.token,
            remaining=max(0.0, action.spec.timeout - taken.total_seconds()),
            action=action,
            left=attempt.left_at is not None,
            armed=armed if attempt.debug else Armed(),
            override=attempt.override,
            hosts={self._name_of(attempt.workflow_id): ""},
            # An action that wipes fetches its data in any case: one whose worker did not look at the disks is refused there.
            no_data=not action.spec.wipes and tables.data.stays_empty(attempt.workflow_id),
            store=tables.journals.store,
            position=position,
            metadata=self._metadata_path(attempt.workflow_id, action.worker),
            appliance_only=self._appliance_only(status.action.spec.image),
        )


LOST = Outcome(
    state=State.FAILED,
    reason=Reason.WORKER_LOST,
    message="the machine booted again while this action ran, so nobody knows how far it came",
)

ANOTHER_WORKER = Outcome(
    state=State.FAILED,
    reason=Reason.WORKER_LOST,
    message="another worker took this machine over with a credential of its own while this action ran, so nobody knows how far "
    "it came",
)


OLD_WORKER = Outcome(
    state=State.FAILED,
    reason=Reason.WORKER_OUTDATED,
    message="the action names a network (`namespaces.network`), and the machine's worker is of an earlier release, which would "
    "run it in the machine's own: nothing was begun",
)


OLD_WORKER_FOR_SECRETS = Outcome(
    state=State.FAILED,
    reason=Reason.WORKER_OUTDATED,
    message="the action asks for secrets, and the machine's worker is of an earlier release, which would run it without their values: "
    "nothing was begun",
)


def no_such_attempt() -> NotFound:
    return NotFound("there is no such attempt of this worker: its workflow was deleted, or it never was")


def owned(tables: Tables, worker: str, token: str) -> Attempt:
    """The attempt of this token; raises NotFound when it is not this worker's."""
    attempt = tables.workflows.attempt(token)
    if attempt is None or attempt.worker != worker:
        raise no_such_attempt()
    return attempt


def fence(attempt: Attempt, workflow_id: str, boot_id: str) -> None:
    """Raises Conflict for a message that is about another workflow, or comes from another boot of the machine."""
    if attempt.workflow_id != workflow_id:
        raise Conflict(f"attempt {attempt.token} belongs to another workflow")
    if attempt.boot_id != boot_id:
        raise Conflict(f"attempt {attempt.token} belongs to another boot of this machine")


def _forget_earlier_system(tables: Tables, workflow_id: str, worker: str) -> None:
    """Here runs the OSIE: what a system told up to now was of an earlier one."""
    tables.metadata.forget(workflow_id, worker)


def refuse_late(tables: Tables, attempt: Attempt, what: str) -> None:
    """Raises Conflict for what does not come from the worker that is at the attempt: that one sends all of it before it reports."""
    if attempt.state in FINAL:
        raise Conflict(f"attempt {attempt.token} is over: its {what} is not taken any more")
    if attempt.session != tables.sessions.serial(attempt.worker):
        raise Conflict(f"attempt {attempt.token} belongs to another session of this machine's worker")


def _going_on(tables: Tables, worker: str, workflow_id: str) -> Step | None:
    """Where a workflow stands that runs at this machine: it is the first in its queue, for others come in behind it."""
    step = tables.workflows.current_step(workflow_id) if workflow_id else None
    if step is None or step.state is not State.RUNNING or step.status.action.worker != worker:
        return None
    return step


def _next_for(tables: Tables, worker: str, hello: Hello, step: Step | None) -> tuple[Turn, Attempt | None]:
    """What a worker that asks is to do, of which the first workflow stands at this step, and the attempt it stands at."""
    attempt = tables.workflows.attempt(step.status.attempt) if step and step.status.attempt else None
    what = turn(step, worker, _whereabouts(tables, attempt, hello))
    if what is Turn.START and step is not None and (hello.finishing or undecided(tables, step.workflow_id)):
        return Turn.WAIT, attempt
    if what is not Turn.START and attempt is None:
        return Turn.WAIT, None
    return what, attempt


def _whereabouts(tables: Tables, attempt: Attempt | None, hello: Hello) -> Whereabouts:
    """Where the worker that asks stands to the one that began the attempt."""
    if attempt is None or attempt.boot_id != hello.boot_id:
        return Whereabouts.LATER_BOOT
    same = attempt.session == tables.sessions.serial(attempt.worker)
    return Whereabouts.SAME_SESSION if same else Whereabouts.OTHER_SESSION


def _after_boot(what: Turn, attempt: Attempt, hold: Hold | None) -> Outcome:
    """How an attempt of before the machine booted ended."""
    # A verdict may send the machine away before its worker has said that it goes on.
    if what is Turn.RETURNED or (hold is not None and attempt.left_at is not None and resumes(hold)):
        return RETURNED
    return LOST if hold is None else BREAKPOINT_LOST


def _unhinted(outcome: Outcome) -> Outcome:
    return replace(outcome, hint="")
