"""Use-cases of workflows: create, show, cancel, retry, delete."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from tinkbox.engine.documents.definitions import refuse_ignored
from tinkbox.engine.lookup import MOST_TOLD, only, only_called, only_machine
from tinkbox.engine.machines.absences import SILENCE
from tinkbox.engine.machines.machines import Machines, refuse_retired
from tinkbox.engine.machines.machines_within import MachinesWithin
from tinkbox.engine.rules.arming import Change, armed
from tinkbox.engine.rules.progress import first_to_retry
from tinkbox.engine.secrets.giving import Giving
from tinkbox.engine.templates.binding import HardwareAt, Names, bind, bind_services
from tinkbox.engine.templates.built_in import BuiltIn
from tinkbox.engine.templates.filling import Lookup, Wanted, fill_each
from tinkbox.engine.templates.references import Referents, referents_in
from tinkbox.engine.templates.rendering import DECLARED_IN, GIVEN_BY, Rendered
from tinkbox.engine.templates.templates import find_template
from tinkbox.engine.templates.wanted_images import wanted_images
from tinkbox.engine.turns import Turns
from tinkbox.engine.wakeups import CHANGES, Wakeups
from tinkbox.engine.workflows.audited import Told
from tinkbox.engine.workflows.deadlines import silence_of
from tinkbox.engine.workflows.deletion import OCTETS_AT_ONCE, begin_deletion, delete_piece
from tinkbox.engine.workflows.endings import stop, tell
from tinkbox.engine.workflows.image_digests import DigestOf, pinned
from tinkbox.engine.workflows.journals import discard, refuse_behind, to_decide, waiting
from tinkbox.engine.workflows.missing_images import refuse_missing
from tinkbox.engine.workflows.retries import (
    awaited,
    changed_since,
    end_if_up,
    overtaken,
    refuse_departed,
    refuse_in_turn,
    refuse_overtaken,
    refuse_succeeded,
    take_up_again,
    way_to_change,
)
from tinkbox.engine.workflows.stopping import being_stopped, end_unconfirmed, ends_by_itself, may_run_on, way_out
from tinkbox.model import history, keys, machine_keys
from tinkbox.model.access import OPERATOR
from tinkbox.model.breakpoint import THE_TEMPLATE, Breakpoints
from tinkbox.model.declaration import Declaration, SaidMachine
from tinkbox.model.devices import Devices, as_text
from tinkbox.model.documents.secret_fields import masked_machine
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem
from tinkbox.model.hardware import Hardware, name_of
from tinkbox.model.images.standing import StandingOf
from tinkbox.model.journal import summary
from tinkbox.model.key_kinds import ToChange
from tinkbox.model.labels import NO_LABELS, LabelChange, LabelKind, Labels, Selector
from tinkbox.model.listing import WorkflowListing
from tinkbox.model.machine_keys import KeptMachines
from tinkbox.model.metadata import FirstBoot
from tinkbox.model.names import check_name
from tinkbox.model.rollout import labels_given
from tinkbox.model.secret import shown
from tinkbox.model.services import Phase, ServiceStatus, Standing
from tinkbox.model.sizes import show_size
from tinkbox.model.telling import Telling
from tinkbox.model.template import MAX_NAME, MAX_TEXT
from tinkbox.model.text import quoted
from tinkbox.model.workflow import FINAL, Event, ListedWorkflow, PlannedAction, State, Workflow, WorkflowHead
from tinkbox.store.database import Store, Tables, UseCase
from tinkbox.store.ephemeral_data import DataVersion
from tinkbox.store.output import Piece
from tinkbox.store.templates import Template
from tinkbox.store.workflows import Attempt
from tinkbox.thread_turns import Turn

SHOWN_FINISHED = 50
MAX_DEVICES = 256
PAGE = 50
ANY_STATE = frozenset(State)
UNFINISHED = ANY_STATE - FINAL
_OF_PRESENT = frozenset({ToChange.UNFINISHED, ToChange.HELD})  # what can be done to nothing that is over


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a list has: `total` without its limit; `pages`, some workflows at a time, so that booting machines are answered in between.

    As long as pages are to come, `octets` of memory are kept.
    """

    total: int
    octets: int
    pages: AsyncIterator[list[ListedWorkflow]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What is kept of one attempt's output from some offset on; `attempt.output_length` counts every byte received."""

    attempt: Attempt
    action: PlannedAction
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A workflow before it meets its machines: a template filled for them, and what a person said to it.

    `said` is the machine from which it is filled, where that was said and no document says it.  Who makes it may have to do
    with the machines of `scope` alone, None: with all.
    """

    id: str
    name: str
    template: Template | BuiltIn
    devices: Devices
    rendered: Rendered
    labels: Labels = field(default_factory=dict)
    breakpoints: Change | None = None
    who: str = ""
    confirm_wipe: bool = False
    declared: Declaration | None = None
    said: SaidMachine | None = None
    require_images: bool = False
    scope: Selector | None = None

    @property
    def ignored(self) -> tuple[Problem, ...]:
        """What of the template is not taken as it stands."""
        return self.rendered.definition.ignored

    @property
    def notes(self) -> tuple[Problem, ...]:
        """What there is to say of how the template was filled."""
        return self.rendered.notes

    @property
    def told(self) -> tuple[Problem, ...]:
        """What people are told of the template, whether the workflow is made or planned."""
        return (*self.ignored, *self.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancellation:
    """A workflow that was canceled, or is being stopped; `runs_on` as `may_run_on` has it."""

    id: str
    runs_on: str


class Workflows:
    """Create, show, cancel, retry and delete workflows.

    Wherever a `key` is asked, it is an id, a unique beginning of one, the name of the newest so called, or a machine whose
    newest it is (`Machines`).  What changes a workflow takes no name that several have: that is a Conflict.
    """

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        machines: Machines,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        new_token: Callable[[], str],
        names: Names,
        renderings: Turns,
        digest_of: DigestOf,
        standing_of: StandingOf,
        giving: Giving,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._machines = machines
        self._clock = clock
        self._new_id = new_id
        self._new_token = new_token
        self._names = names
        self._renderings = renderings
        self._digest_of = digest_of
        self._standing_of = standing_of
        self._giving = giving
        self._listening_since = clock()

    async def create(
        self,
        template_key: str | Template,
        devices: Devices,
        *,
        machine: Hardware | None = None,
        name: str = "",
        breakpoints: Change | None = None,
        who: str = "",
        confirm_wipe: bool = False,
        first: UseCase[None] | None = None,
        labels: Labels = NO_LABELS,
        declared: Declaration | None = None,
        as_id: str = "",
        require_images: bool = False,
        told: Told | None = None,
    ) -> str:
        """Bind a template to machines, give each its ticket, and return the workflow's id.

        What is rendered now is what will run, whatever becomes of template, hardware and the tags of images.  `machine` is the one
        whose document the template sees, else the one that runs it (`fill_each`); `name` beats the template's.
        `breakpoints` are armed as well as the template's, by the person `who`.  `first` is done in the same transaction:
        both are, or neither is; it may know the workflow by `as_id`, where its id is given.  `told` is called there as well.  A template itself may stand for its
        key.  `confirm_wipe` is a person's word that disks may be wiped, whatever is on them.  `declared` is the document that it is
        made from, if it is.  With `require_images` none is made as long as an image of it is missing or damaged (`missing_images`).
        Raises NotFound for an unknown template or an action that `breakpoints` name, and Invalid with every problem
        otherwise.
        """
        prepared = await self.prepare(
            template_key,
            devices,
            machine=machine,
            name=name,
            breakpoints=breakpoints,
            who=who,
            confirm_wipe=confirm_wipe,
            labels=labels,
            declared=declared,
            as_id=as_id,
            require_images=require_images,
        )
        return await self.create_prepared(prepared, first, told)

    async def create_prepared(
        self, prepared: Prepared, first: UseCase[None] | None = None, told: Told | None = None
    ) -> str:
        """The second half of `create`: stores what was prepared, and returns the workflow's id."""

        def use_case(tables: Tables) -> list[str]:
            if first is not None:
                first(tables)
            made = self.take_in(tables, prepared)
            if told is not None:
                told(tables, None, made)
            return made.workers()

        workers = await self._store.write(use_case)
        await self.taken_in(prepared.name, workers)
        return prepared.id

    async def prepare(
        self,
        template_key: str | Template | BuiltIn,
        devices: Devices,
        *,
        machine: Hardware | None = None,
        name: str = "",
        breakpoints: Change | None = None,
        who: str = "",
        confirm_wipe: bool = False,
        labels: Labels = NO_LABELS,
        declared: Declaration | None = None,
        as_id: str = "",
        require_images: bool = False,
        strict: bool = False,
        scope: Selector | None = None,
        secrets: bool = True,
    ) -> Prepared:
        """The first half of `create`, which stores nothing: what it makes a workflow of.

        `strict` refuses what would be ignored of the template.  It is filled from machines within the `scope` alone, and made
        for no other.  Without `secrets`, for a plan, it is filled from masked documents.
        """
        if name:
            check_name(name, "workflow")
        check_size(devices)

        def found_template(tables: Tables) -> Template | BuiltIn:
            if not isinstance(template_key, str):
                return template_key
            return find_template(tables, template_key, declared.namespace if declared else None)

        template = await self._store.read(found_template)
        workflow_id = as_id or self._new_id()
        seen = machine if machine is None or secrets else masked_machine(machine)
        wanted = Wanted(
            devices=devices, machine=seen, workflow_id=workflow_id, marks_key=self._giving.marks_key(workflow_id)
        )
        with self._renderings.place(who or OPERATOR) as turn:
            way_out = GIVEN_BY if declared is None else DECLARED_IN
            lookup = self.lookup(partial(self._machine_at, scope=scope, secrets=secrets), scope=scope)
            ((_, rendered),) = await fill_each(
                template.data, [wanted], lookup, turn, way_out=way_out, clock=self._clock
            )
        if isinstance(rendered, Invalid):
            raise rendered
        if strict:
            refuse_ignored(rendered.definition.ignored)
        await self._store.read(lambda tables: self.refuse_unfit_secrets(tables, workflow_id, rendered))
        return Prepared(
            id=workflow_id,
            name=name or rendered.definition.name,
            template=template,
            devices=devices,
            rendered=rendered,
            labels=labels,
            breakpoints=breakpoints,
            who=who,
            confirm_wipe=confirm_wipe,
            declared=declared,
            said=SaidMachine(id=machine.id, name=name_of(machine)) if machine and declared is None else None,
            require_images=require_images,
            scope=scope,
        )

    def refuse_unfit_secrets(
        self, tables: Tables, workflow_id: str, rendered: Rendered, coming: Collection[str] = ()
    ) -> None:
        """As `Giving.refuse_unfit`."""
        self._giving.refuse_unfit(tables, workflow_id, rendered.text, rendered.definition.secrets, coming)

    def lookup(
        self,
        at: Callable[[str], Hardware | None],
        referents: Referents | None = None,
        scope: Selector | None = None,
    ) -> Lookup:
        """What templates are filled by, with these machines, of which no other than those of the `scope` is named.

        `referents` finds what machines refer to, in place of what is kept.
        """
        within = MachinesWithin(self._machines.known, scope)
        return Lookup(
            at=at,
            worker_named=within.worker_named,
            appliance=(self._names.name, self._names.address),
            referents=referents or self.referents,
        )

    @property
    def referents(self) -> Referents:
        """Finds what is kept of what machines refer to."""
        return referents_in(self._store)

    def new_id(self) -> str:
        """The id of a workflow that is to be, for who makes its text before (`as_id` of `create`)."""
        return self._new_id()

    def marks_key(self, workflow_id: str) -> bytes:
        """The key of the marks of secrets in a workflow that is to be."""
        return self._giving.marks_key(workflow_id)

    def _machine_at(self, address: str, scope: Selector | None = None, *, secrets: bool = True) -> Hardware | None:
        within = MachinesWithin(self._machines.known, scope)
        record = within.get(within.at(address))
        if record is None:
            return None
        return record.hardware if secrets else masked_machine(record.hardware)

    def rendering(self, who: str) -> AbstractContextManager[Turn]:
        """A place among those that render for a person, whose work is done in the turns that it gives."""
        return self._renderings.place(who)

    def bound(self, hardware_at: HardwareAt, prepared: Prepared) -> Workflow:
        """The workflow as it would begin; raises Invalid for what cannot be bound to machines, and for images that are required.

        A machine outside of the scope is as one that is not there.
        """
        now, definition = self._clock(), prepared.rendered.definition
        within = MachinesWithin(self._machines.known, prepared.scope)
        hardware_at, worker_named = within.only(hardware_at), within.worker_named
        actions = bind(hardware_at, definition, self._names, worker_named)
        services = bind_services(hardware_at, definition, self._names, prepared.id, worker_named)
        planned = Workflow(
            id=prepared.id,
            name=prepared.name,
            template_id=prepared.template.id,
            template_name=prepared.template.name,
            devices=prepared.devices,
            text=shown(prepared.rendered.text),
            state=State.PENDING,
            actions=actions,
            created_at=now,
            updated_at=now,
            global_timeout=definition.global_timeout,
            wipe_confirmed=prepared.confirm_wipe,
            services=tuple(
                ServiceStatus(service=each, standing=Standing(run=self._new_token(), phase=Phase.PENDING))
                for each in services
            ),
        )
        workflow = pinned(planned, self._digest_of)
        if prepared.require_images:
            refuse_missing(wanted_images(actions, services), self._standing_of)
        return workflow

    def take_in(self, tables: Tables, prepared: Prepared) -> Workflow:
        """Store a workflow, which is returned, behind those that are there, and give its machines their tickets."""
        workflow = self.bound(tables.hardware.by_address, prepared)
        definition, workers = prepared.rendered.definition, workflow.workers()
        refuse_retired(tables, workers, self._kept(tables, prepared.scope))
        self.refuse_unfit_secrets(tables, prepared.id, prepared.rendered)
        tables.workflows.insert(workflow, prepared.said)
        tables.labels.replace(LabelKind.WORKFLOW, workflow.id, prepared.labels)
        if prepared.declared is not None:
            tables.declarations.keep(workflow.id, prepared.declared)
        tables.metadata.keep(workflow.id, definition.metadata)
        tables.secrets.name(workflow.id, sorted({each.name for each in definition.secrets}))
        tables.hardware.grant_ticket(workers)
        tables.events.add(workflow.id, workflow.created_at, *history.created(workflow))
        _arm(tables, workflow, definition.breakpoints, prepared.breakpoints, prepared.who)
        return workflow

    async def taken_in(self, name: str, workers: Sequence[str]) -> None:
        """Follow what `take_in` committed of a workflow of this name for these machines."""
        self._machines.tickets_granted(workers, name)
        await tell(self._machines, self._wakeups, workers)

    async def get(self, key: str) -> Workflow:
        """Raises NotFound, or Conflict when the key fits several."""
        return await self._store.read(lambda tables: find_workflow(tables, key))

    def now(self) -> datetime:
        """By the clock that times of creation are of."""
        return self._clock()

    async def found(self, wanted: WorkflowListing) -> Found:
        """The workflows that a list has."""
        numbers, total = await self._store.read(lambda tables: tables.workflows.listed_numbers(wanted))
        return Found(total=total, octets=len(numbers) * numbers.itemsize, pages=self._pages(numbers))

    async def _pages(self, numbers: Sequence[int]) -> AsyncIterator[list[ListedWorkflow]]:
        for begin in range(0, len(numbers), PAGE):
            yield await self._listed(numbers[begin : begin + PAGE])

    async def _listed(self, numbers: Sequence[int]) -> list[ListedWorkflow]:
        def question(tables: Tables) -> list[ListedWorkflow]:
            ids = tables.workflows.numbered(numbers)
            listed = {each.id: each for each in tables.workflows.listed(ids)}
            return [listed[each] for each in ids]

        return await self._store.read(question)

    async def label(self, key: str, change: LabelChange) -> str:
        """Change a workflow's labels; returns its id.  Raises Invalid for too many, and for the appliance's own."""
        labels_given({**dict(change.set), **dict.fromkeys(change.removed, "")})

        def use_case(tables: Tables) -> str:
            workflow_id = find_to_change(tables, key).id
            tables.labels.change(LabelKind.WORKFLOW, workflow_id, change)
            return workflow_id

        workflow_id = await self._store.write(use_case)
        self._wakeups.wake(CHANGES)
        return workflow_id

    async def labels(self, workflow_id: str) -> dict[str, str]:
        return await self._store.read(lambda tables: tables.labels.of(LabelKind.WORKFLOW, workflow_id))

    async def all(self) -> list[Workflow]:
        """Every workflow whole, oldest first."""
        return await self._store.read(lambda tables: tables.workflows.some(tables.workflows.ids()))

    async def attempts(self, key: str) -> list[Attempt]:
        """Every attempt at a workflow's actions, in the order in which they began; a retry hides none."""
        return await self._store.read(lambda tables: tables.workflows.attempts(find_workflow(tables, key).id))

    async def first_boots(self, workflow_id: str) -> Mapping[str, FirstBoot]:
        """What the systems that a workflow installed told of their first boot, by the ids of their machines."""
        return await self._store.read(lambda tables: tables.metadata.first_boots(workflow_id))

    async def cancel(
        self, key: str, who: str = "", *, force: bool = False, run: int | None = None, told: Told | None = None
    ) -> Cancellation:
        """Have a workflow end as CANCELED, its running action stopped first.

        With a `run` only that run of it: raises Conflict when it was retried since.

        With `force` one whose machine does not answer within SILENCE ends without its word; raises Conflict when it answers.

        One that waits because of a lost history ends at once, and what its machines did counts for nothing.

        One that is being stopped already is left alone.  `told` as in `create`.  Raises Conflict when it is over.
        """

        def use_case(tables: Tables) -> tuple[str, list[str]]:
            before = find_to_change(tables, key, ToChange.UNFINISHED)
            woken = canceled(tables, before)
            after = tables.workflows.get(before.id)
            if told is not None and after.state is not before.state:
                told(tables, before, after)
            return before.id, woken

        def canceled(tables: Tables, workflow: Workflow) -> list[str]:
            _refuse_other_run(workflow, run)
            if workflow.state in FINAL:
                raise Conflict(f"workflow {workflow.id} is over already ({workflow.state})")
            woken = self._discard(tables, workflow.id, State.CANCELED, who)
            workflow = tables.workflows.get(workflow.id)
            if workflow.state is State.STOPPING or workflow.state in FINAL:
                return woken
            return woken + stop(tables, workflow, State.CANCELED, self._clock())

        workflow_id, workers = await self._store.write(use_case)
        await tell(self._machines, self._wakeups, workers)
        ended = await self._end_unconfirmed(workflow_id, who or OPERATOR) if force else None
        return Cancellation(id=workflow_id, runs_on=await self._runs_on(workflow_id, ended))

    async def _runs_on(self, workflow_id: str, ended: Attempt | None) -> str:
        """As `may_run_on`, of the attempt that was `ended` without its worker's word; None: of the one that is being stopped."""
        stopped = await self._store.read(lambda tables: being_stopped(tables, workflow_id))
        attempt = ended or (stopped.attempt if stopped is not None else None)
        if attempt is None:
            return ""
        session, contact = (
            self._machines.sessions.of(attempt.worker),
            self._machines.progress.last_contact(attempt.worker),
        )
        return may_run_on(
            self._machines.known.name(attempt.worker) or attempt.worker,
            silence_of(attempt, contact, self._clock(), self._listening_since),
            is_refused=session is not None and session.was_voided,
            is_over=ended is not None,
        )

    def way_out(self, tables: Tables, workflow: Workflow) -> str:
        """What a person can do about a workflow that is under way and stands in the way of something."""
        return way_out(tables, workflow, self._clock(), self._listening_since)

    async def _end_unconfirmed(self, workflow_id: str, who: str) -> Attempt | None:
        """End a workflow that is being stopped, and whose machine stays silent; returns what was ended, None: it ended otherwise."""
        time = asyncio.get_running_loop().time
        patience = time() + SILENCE

        def use_case(tables: Tables) -> tuple[list[str], Attempt | None, bool]:
            stopped, now = being_stopped(tables, workflow_id), self._clock()
            if stopped is None or stopped.attempt is None or stopped.stopped_at is None:
                return [], None, True
            # Of what was said to an appliance that is not there any more this one knows nothing.
            silent = (now - max(stopped.stopped_at, self._listening_since)).total_seconds()
            if self._machines.progress.heard_since(stopped.attempt.worker, stopped.stopped_at):
                raise Conflict(
                    f"workflow {workflow_id} is not ended by force: its machine answers, and stops what runs there. It ends by itself "
                    f"{ends_by_itself(stopped, now, self._listening_since)} at the latest"
                )
            if time() < patience and silent < SILENCE:
                return [], None, False
            return end_unconfirmed(tables, stopped, who, now), stopped.attempt, True

        while True:
            workers, ended, over = await self._store.write(use_case)
            if over:
                await tell(self._machines, self._wakeups, workers)
                return ended
            await self._wakeups.wait(CHANGES, max(patience - time(), 0.1))

    async def retry(
        self,
        key: str,
        from_action: str | None = None,
        *,
        confirm_wipe: bool = False,
        who: str = "",
        first: UseCase[None] | None = None,
        run: int | None = None,
        told: Told | None = None,
        scope: Selector | None = None,
    ) -> str:
        """Take up a workflow that ended badly again; returns its id.

        One that waits with a lost history goes on as the store has it, and what its machines did since counts for nothing.
        It begins with the first action that is not done, or with an earlier one: `from_action` is its
        name or `task/action`.  Its services are started anew, and must be ready before.  What runs again is pinned to the
        images that are there now.  Where it only waited for an installed system that has phoned home since, it succeeds at once.
        `confirm_wipe`, `first` and `told` as in `create`, `run` as in `cancel`; who has a `scope` is told of machines within.  Raises Conflict when that cannot be, when its machines
        did more after its end than the store knows, when another workflow has one of them or ran there since, or, unless there
        is a `first`, when one of them waits in a rollout; NotFound when there is none so called.
        """
        now = self._clock()

        def use_case(tables: Tables) -> Workflow:
            if first is not None:
                first(tables)
            before = find_to_change(tables, key)
            after = retried(tables, before)
            if told is not None:
                told(tables, before, after)
            return after

        def retried(tables: Tables, workflow: Workflow) -> Workflow:
            _refuse_other_run(workflow, run)
            if workflow.state in FINAL and (later := waiting(tables).get(workflow.id)):
                raise Conflict(
                    f"workflow {workflow.id} went on after it ended here: {summary(later[0].history.entries)}; decide about that "
                    f"first: {later[0].hint}",
                    of=later[0].of,
                )
            refuse_succeeded(tables, workflow)
            if workflow.state in FINAL and first is None:  # what a rollout takes up is what its machines wait for
                refuse_in_turn(tables, workflow)
            if workflow.state in FINAL:
                refuse_overtaken(tables, workflow)
            if self._discard(tables, workflow.id, State.FAILED, who):
                workflow = tables.workflows.get(workflow.id)
                if workflow.state not in FINAL and from_action is None:
                    return workflow
            elif workflow.state not in FINAL:
                refuse_behind(tables, workflow.id)
            refuse_retired(tables, workflow.workers(), self._kept(tables, scope))
            refuse_departed(tables, workflow)
            again = take_up_again(
                tables,
                workflow,
                first_to_retry(workflow, from_action),
                new_token=self._new_token,
                digest_of=self._digest_of,
                now=now,
                confirmed=confirm_wipe,
            )
            return end_if_up(tables, again, new_token=self._new_token, now=now)

        workflow = await self._store.write(use_case)
        self._machines.tickets_granted(awaited(workflow), workflow.name)
        await tell(self._machines, self._wakeups, workflow.workers())
        return workflow.id

    async def overtaken(self, workflow: Workflow) -> Telling:
        """Why `retry` refuses a workflow that ended badly for what another one has, or did on its machines; empty: it does not."""
        if workflow.state not in FINAL or workflow.state is State.SUCCESS:
            return Telling()
        return await self._store.read(lambda tables: overtaken(tables, workflow))

    async def template_changed(self, workflow: Workflow) -> str:
        """That `retry` runs an older text than the template has by now, and the way to that; empty: it does not, or ended well."""
        return await self._of_template(workflow, changed_since)

    async def way_to_change(self, workflow: Workflow) -> str:
        """What a person types where the template is to blame for a failure; empty: it did not fail, or no stored one is to be changed."""
        return await self._of_template(workflow, way_to_change)

    async def _of_template(
        self, workflow: Workflow, told: Callable[[Tables, WorkflowHead, Hardware | None], str]
    ) -> str:
        if workflow.state is State.SUCCESS:
            return ""

        def question(tables: Tables) -> str:
            machine = next((each.hardware for each in tables.hardware.some(workflow.workers())), None)
            return told(tables, workflow, machine)

        return await self._store.read(question)

    def _kept(self, tables: Tables, scope: Selector | None) -> KeptMachines:
        """The machines among which one is named to who has a scope."""
        return tables.hardware if scope is None else self._machines.within(scope)

    def _discard(self, tables: Tables, workflow_id: str, into: State, who: str) -> list[str]:
        """Have what the machines of a workflow did count for nothing, where that waits for a decision."""
        return [
            worker
            for lost in to_decide(tables, workflow_id)
            for worker in discard(tables, lost, into, who, self._new_token, self._clock())
        ]

    async def delete(self, key: str, run: int | None = None) -> str:
        """Forget a workflow that is not running; returns its id.  `run` as in `cancel`.  Raises Conflict while it runs."""

        def use_case(tables: Tables) -> tuple[str, list[str], int]:
            workflow = find_to_change(tables, key)
            _refuse_other_run(workflow, run)
            self._refuse_deletion(tables, workflow)
            tables.declarations.release(workflow.id)
            begin_deletion(tables, workflow)
            return workflow.id, workflow.workers(), delete_piece(tables, workflow.id, OCTETS_AT_ONCE)

        workflow_id, workers, gone = await self._store.write(use_case)
        await tell(self._machines, self._wakeups, workers)
        while not gone:
            gone = await self._store.write(lambda tables: delete_piece(tables, workflow_id, OCTETS_AT_ONCE))
        return workflow_id

    async def refuse_deletion(self, key: str) -> None:
        """Raises what `delete` would."""
        await self._store.read(lambda tables: self._refuse_deletion(tables, find_to_change(tables, key)))

    def _refuse_deletion(self, tables: Tables, workflow: Workflow) -> None:
        if workflow.state in {State.RUNNING, State.STOPPING}:
            raise Conflict(
                f"workflow {workflow.id} is {workflow.state.lower()}, and can be deleted when it is over: "
                f"{self.way_out(tables, workflow)}"
            )

    async def events(self, key: str) -> list[Event]:
        """What happened to a workflow, in order."""
        return await self._store.read(lambda tables: tables.events.of(find_workflow(tables, key).id))

    async def events_after(self, sequence: int, limit: int) -> list[tuple[int, Event]]:
        """The next events of any workflow, each with its place in the whole."""
        return await self._store.read(lambda tables: tables.events.after(sequence, limit))

    async def events_within(self, scope: Selector, sequence: int, limit: int) -> tuple[list[Event], int, bool]:
        """Of the next events of any workflow those that are within a scope, the place up to which it looked, and whether there may be more."""
        within = self._machines.within(scope)

        def question(tables: Tables) -> tuple[list[Event], int, bool]:
            found = tables.events.after(sequence, limit)
            outside = within.outside(tables, {each.workflow_id for _, each in found})
            told = [each for _, each in found if each.workflow_id not in outside]
            return told, found[-1][0] if found else sequence, len(found) == limit

        return await self._store.read(question)

    async def newest_within(self, scope: Selector) -> tuple[int, Event | None]:
        """The place of the newest event in the whole, and the newest event within a scope."""
        within = self._machines.within(scope)

        def question(tables: Tables) -> tuple[int, Event | None]:
            ids, _ = tables.workflows.listed_ids(WorkflowListing(within=within.ids()))
            return tables.events.newest(), tables.events.newest_of(ids)

        return await self._store.read(question)

    async def place_within(self, scope: Selector, workflow_id: str, number: int) -> int | None:
        """The place in the whole of an event of a workflow within a scope; None: that is not within, or has no such event."""
        within = self._machines.within(scope)

        def question(tables: Tables) -> int | None:
            if workflow_id in within.outside(tables, [workflow_id]):
                return None
            return tables.events.place_of(workflow_id, number)

        return await self._store.read(question)

    async def newest_event(self) -> int:
        """The place of the newest event in the whole."""
        return await self._store.read(lambda tables: tables.events.newest())

    async def changed(self, timeout: float) -> None:
        """Wait until something may have changed, at most `timeout` seconds."""
        await self._wakeups.wait(CHANGES, timeout)

    async def output(self, key: str, offsets: Mapping[str, int]) -> list[Output]:
        """What the attempts printed, in the order in which they began.

        `offsets` maps attempt tokens to where the reader already is.
        """

        def question(tables: Tables) -> list[Output]:
            workflow = find_workflow(tables, key)
            return [
                Output(
                    attempt=attempt,
                    action=workflow.actions[attempt.position].action,
                    pieces=tables.output.after(attempt.token, offsets.get(attempt.token, 0)),
                )
                for attempt in tables.workflows.attempts(workflow.id)
            ]

        return await self._store.read(question)

    async def data(self, key: str, version: int = 0) -> DataVersion | None:
        """A version of the ephemeral data, 0 the newest; None when nothing was ever written.

        Raises NotFound for a version that never was or is no longer kept.
        """
        if version == 0:
            return await self._store.read(lambda tables: tables.data.newest(find_workflow(tables, key).id))

        def question(tables: Tables) -> DataVersion:
            workflow_id = find_workflow(tables, key).id
            found = tables.data.version(workflow_id, version)
            if found is None or found.archive is None:
                kept = ", ".join(map(str, tables.data.kept(workflow_id))) or "none"
                raise NotFound(f"version {version} of the data is not there (kept: {kept})")
            return found

        return await self._store.read(question)

    async def data_versions(self, key: str) -> list[DataVersion]:
        """The newest versions of the ephemeral data, oldest first, the older ones without their archive."""
        return await self._store.read(lambda tables: tables.data.versions(find_workflow(tables, key).id))


def find_workflow(tables: Tables, key: str) -> Workflow:
    """What `key` means where a workflow is shown: the one, or the newest of the name or machine; raises NotFound or Conflict.

    Its whole id and its name come first, then a machine's, an id's beginning last, as for all keys.
    """
    return _meant(tables, key, ToChange.NO)


def find_to_change(tables: Tables, key: str, to_change: ToChange = ToChange.ANY) -> Workflow:
    """What `key` means for what changes it so; raises NotFound or Conflict.

    As `find_workflow`, but a machine's name means no workflow from before the machine was registered, and of several that have
    a name, or that are the machine's, it is the only one to which that can be done (`ToChange`).  It is another one where the
    key means only that, and the machine's newest where it can be done to none: the verb says why not.
    """
    workflow = _meant(tables, key, to_change)
    if key != workflow.name or key == workflow.id:
        return workflow
    over = FINAL if to_change in _OF_PRESENT else ()
    found = tables.workflows.get(
        only_called(
            tables.workflows.called(key, over),
            "workflow",
            key,
            over=over,
            otherwise=", or by its machine, or select several by their labels with -l",
        )
    )
    _refuse_namesake(tables, found, key, to_change)
    return found


def find_among(
    tables: Tables, key: str, machines: Sequence[str], machine: str, to_change: ToChange = ToChange.NO
) -> Workflow:
    """What `key` means among the workflows that have work for these `machines` alone, as if there were no others.

    `machine` is the one of them that the key means, empty: none.  Raises NotFound and Conflict as `find_to_change`.
    """
    ids = tables.workflows.listed_ids(WorkflowListing(within=machines))[0]
    if key in ids:
        return tables.workflows.get(key)
    if called := tables.workflows.called_among(key, ids):
        over = FINAL if to_change in _OF_PRESENT else ()
        newest = called[-1][0]
        return tables.workflows.get(
            newest if to_change is ToChange.NO else only_called(called, "workflow", key, over=over)
        )
    if machine:
        return _of_machine(tables, machine, key, to_change, ids)
    begun = [each for each in ids if each.startswith(key)] if len(key) >= keys.LEAST else []
    return tables.workflows.get(only(begun, "workflow", key))


def _refuse_other_run(workflow: Workflow, run: int | None) -> None:
    """Raise Conflict where a person means a run of a workflow that was retried since; None: none in particular."""
    if run not in (None, workflow.run):
        raise Conflict(f"workflow {workflow.id} was retried meanwhile, and is {workflow.state}: look at it again")


def _refuse_namesake(tables: Tables, workflow: Workflow, key: str, to_change: ToChange) -> None:
    """Raise Conflict where a key is the workflow's name and that of a machine, of which it means another workflow."""
    for machine in machine_keys.exactly(tables.hardware, key):
        newest = [(each.id, each.state) for each in tables.workflows.newest_of(machine)]
        for identity, state in _changeable(tables, machine, to_change) or newest:
            if identity != workflow.id:
                raise Conflict(
                    f"{quoted(key)} is the name of workflow {workflow.id[:8]} ({workflow.state}) and of a machine, of which "
                    f"workflow {identity[:8]} ({state}) is: name one by its id"
                )


def _meant(tables: Tables, key: str, to_change: ToChange) -> Workflow:
    found = keys.exactly(tables.workflows, key)
    if not found and (machines := machine_keys.exactly(tables.hardware, key)):
        machine = only_machine(machines, key, lambda ids: [each.hardware for each in tables.hardware.some(ids)])
        return _of_machine(tables, machine, key, to_change)
    if not found and not (found := keys.beginning(tables.workflows, key)):
        machines = machine_keys.beginning(tables.hardware, key)
        return _of_machine(tables, only(machines, "workflow", key), key, to_change)
    return only(found, "workflow", key)


def _of_machine(
    tables: Tables, machine: str, key: str, to_change: ToChange, among: Collection[str] | None = None
) -> Workflow:
    """Of the workflows of the machine that a key means the only one to which it can be done, else the newest.

    Only those `among` these count, None: all.  Raises NotFound where it has none, which names the rollout in which it waits, and Conflict with the ids of several to which
    it can be done.
    """
    fit = [each for each in _changeable(tables, machine, to_change) if among is None or each[0] in among]
    if len(fit) == 1:
        return tables.workflows.get(fit[0][0])
    if fit:
        which = "are held" if to_change is ToChange.HELD else "are not over"
        listed = ", ".join(f"{identity[:8]} ({state})" for identity, state in reversed(fit[-MOST_TOLD:]))
        more = f" and {len(fit) - MOST_TOLD} more" if len(fit) > MOST_TOLD else ""
        raise Conflict(f"{len(fit)} workflows of machine {quoted(key)} {which}: {listed}{more}; name one by its id")
    earlier = ""
    for workflow in tables.workflows.newest_of(machine, among):
        if to_change is ToChange.NO or machine not in tables.hardware.left(workflow.id, [machine]):
            return workflow
        earlier = f", which was deleted and registered anew since workflow {workflow.id[:8]},"
    for rollout in tables.rollouts.waiting_in([machine]).values():
        raise NotFound(
            f"machine {key[:80]}{earlier} has no workflow yet: it waits in rollout {rollout[:8]}. `tinkbox rollout get "
            f"{rollout[:8]}` shows that, `tinkbox rollout cancel {rollout[:8]}` ends it for all its machines, and `tinkbox "
            f"hardware retire {key[:80]} --force` has it go on without this one"
        )
    raise NotFound(
        f"machine {key[:80]}{earlier} has no workflow: `tinkbox workflow create -t TEMPLATE {key[:80]}` makes one"
    )


def _changeable(tables: Tables, machine: str, to_change: ToChange) -> list[tuple[str, State]]:
    """The ids and states of those workflows of a machine that are not over, or held, where it needs such, oldest first; else none.

    What can be done to those that are over, such as to retry one, is done to the newest: there are ever more of them.
    """
    if to_change not in _OF_PRESENT:
        return []
    found = [
        (identity, state)
        for identity, state in tables.workflows.unfinished_of(machine)
        if machine not in tables.hardware.left(identity, [machine])
    ]
    if to_change is ToChange.UNFINISHED:
        return found
    held = tables.holds.held([identity for identity, _ in found])
    return [each for each in found if each[0] in held]


def check_size(devices: Devices) -> None:
    """Raise Invalid for what a person says so much of that lists would be long."""
    if len(devices) > MAX_DEVICES:
        raise Invalid(f"{len(devices)} devices: at most {MAX_DEVICES} fit into one workflow")
    for each in devices:
        if len(each.encode(errors="replace")) >= MAX_NAME:
            raise Invalid(
                f"the name of a device, {quoted(each)}, has more than {MAX_NAME - 1} bytes: choose a shorter one"
            )
    if sum(len(as_text(each).encode(errors="replace")) for each in devices.values()) > MAX_TEXT:
        raise Invalid(
            f"the values of all devices have more than {show_size(MAX_TEXT)}, and so much a rendered template may have"
        )


def _arm(tables: Tables, workflow: Workflow, of_template: Breakpoints, change: Change | None, who: str) -> None:
    """Arm a new workflow's breakpoints."""
    by_person = armed(of_template, change, workflow) if change is not None else of_template
    for breakpoints, whose in ((of_template, THE_TEMPLATE), (by_person, who)):
        if breakpoints != tables.holds.armed(workflow.id):
            tables.holds.arm(workflow.id, breakpoints)
            tables.events.add(workflow.id, workflow.created_at, *history.breakpoints_armed(breakpoints, whose))
