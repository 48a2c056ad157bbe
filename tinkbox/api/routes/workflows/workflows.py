"""`/v1/workflows`: what is done with machines.  KEY is an id, a unique beginning of one, or the name of the newest so called."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from time import monotonic as time_passed
from typing import Annotated, Any, Final, TypedDict

from aiohttp import web

from tinkbox.api.access import by_itself, caller, keeping_to_scope, may_look, may_read_secrets, needing
from tinkbox.api.answers import JSON, Json, answered
from tinkbox.api.changes import CANCELED, log_change
from tinkbox.api.event_stream import streamed
from tinkbox.api.following import Followers
from tinkbox.api.json_values import (
    CreationResult,
    Document,
    Identity,
    NamedIdentity,
    OutcomeDocument,
    ProblemFields,
    Time,
    creation_result,
    outcome,
    time,
)
from tinkbox.api.listing import SINCE, Query
from tinkbox.api.long_answers import encoded, turn
from tinkbox.api.named_machines import NamedMachine, named_machine
from tinkbox.api.output_stream import FOLLOW, Output, answer, output_of_actions
from tinkbox.api.parameters import LIMIT, Parameter, sort_by
from tinkbox.api.requests import (
    TO_CHANGE,
    DevicesWish,
    devices_of,
    key_of,
    number,
    read_object,
    read_options,
    takes,
    text_field,
    to_change,
)
from tinkbox.api.routes.appliance.doctor import DiagnosisDocument, diagnosis
from tinkbox.api.routes.machines.lost_histories import LostDocument, lost_document
from tinkbox.api.routes.workflows.breakpoints import BreakpointsWish, HoldDocument, change_from_document, held_document
from tinkbox.api.routes.workflows.events import EventDocument, event_document
from tinkbox.api.routes.workflows.services import ServiceDocument, service_document
from tinkbox.api.scopes import Scopes
from tinkbox.door.answers.answers import unread
from tinkbox.engine.applying.creation import Creating, Creation, Creations
from tinkbox.engine.doctor.examiner import Examiner
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.rollouts.planning import Wanted
from tinkbox.engine.rollouts.rollouts import Rollouts
from tinkbox.engine.templates.parameters import needless
from tinkbox.engine.templates.templates import Templates
from tinkbox.engine.views.workflow_plans import WorkflowPlans
from tinkbox.engine.workflows.breakpoints import Breakpoints, Standing
from tinkbox.engine.workflows.journals import LostWork
from tinkbox.engine.workflows.lost_histories import LostHistories
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.access import Caller, Right
from tinkbox.model.actions.progress import Progress
from tinkbox.model.conditions import conditions, explanation
from tinkbox.model.devices import Devices, as_text
from tinkbox.model.documents.secret_fields import concealed, secret_texts
from tinkbox.model.errors import Forbidden
from tinkbox.model.key_kinds import ToChange
from tinkbox.model.labels import parse_labels
from tinkbox.model.listing import WORKFLOW_FIELDS, Order, WorkflowListing
from tinkbox.model.metadata import FirstBoot
from tinkbox.model.reasons import AnyReason, hint
from tinkbox.model.rollout import labels_given
from tinkbox.model.secret import shown
from tinkbox.model.text import briefly, shortened
from tinkbox.model.workflow import (
    DONE,
    FINAL,
    ActionStatus,
    ListedWorkflow,
    Outcome,
    PlannedAction,
    State,
    Workflow,
    WorkflowHead,
    progress,
)
from tinkbox.store.workflows import Attempt
from tinkbox.wire.list_total import HEADER
from tinkbox.wire.messages.json_fields import flag
from tinkbox.wire.messages.json_fields import number as number_field
from tinkbox.wire.messages.worker import ActionDocument, action_document

SHOWN_LETTERS = 200
ProgressOf = Callable[[ActionStatus | None], Progress | None]

PIECE_SECONDS: Final = 0.2  # of a long list, before another person has a turn


ProgressDocument = Annotated[Document, Progress]


class WorkflowWish(TypedDict, total=False):
    """Of a `template`, or of `documents`, which are the text of a file."""

    template: str
    machine: str | None
    hardware: DevicesWish | None
    documents: str | None
    breakpoints: BreakpointsWish | None
    labels: dict[str, str] | None
    confirm_wipe: bool
    again: bool
    require_images: bool
    strict: bool


class CancellationWish(TypedDict, total=False):
    force: bool
    run: int


RetryWish = TypedDict("RetryWish", {"from": str | None, "confirm_wipe": bool, "run": int}, total=False)


class ConditionDocument(TypedDict):
    """In the words of Kubernetes."""

    type: str
    status: str
    reason: str
    message: str
    lastTransitionTime: Time | None


class HeadDocument(NamedIdentity):
    state: State
    template_id: str
    template_name: str
    devices: dict[str, Any]
    created_at: Time | None
    started_at: Time | None
    updated_at: Time | None
    global_timeout: int
    run: int


class ReachedAction(TypedDict):
    progress: int
    current_task: str
    current_action: str
    current_worker: str
    current_action_state: State


class WorkflowSummary(HeadDocument, ReachedAction):
    reason: AnyReason
    message: str
    actions_done: int
    actions_total: int


class ListedWorkflowDocument(WorkflowSummary):
    machines: list[NamedMachine]
    labels: dict[str, str]


class ProgressField(TypedDict, total=False):
    progress: ProgressDocument


class ActionOfWorkflow(ActionDocument, ProgressField):
    digest: str
    state: State
    failures: int
    attempt: str
    started_at: Time | None
    ended_at: Time | None
    outcome: OutcomeDocument | None


class WorkflowDocument(HeadDocument):
    conditions: list[ConditionDocument]
    actions: list[ActionOfWorkflow]
    services: list[ServiceDocument]
    text: str


class AttemptDocument(TypedDict):
    attempt: str
    index: int
    task: str
    action: str
    number: int
    worker: str
    state: State
    started_at: Time | None
    ended_at: Time | None
    outcome: OutcomeDocument | None
    output_bytes: int


class HostKeyDocument(TypedDict):
    type: str
    fingerprint: str


class ModuleFailureDocument(TypedDict):
    module: str
    result: str
    message: str
    at: Time | None


class FirstBootDocument(TypedDict):
    machine: str
    phoned_at: Time | None
    finished_at: Time | None
    address: str
    hostname: str
    host_keys: list[HostKeyDocument]
    failures: list[ModuleFailureDocument]


class LostHistoriesField(TypedDict, total=False):
    lost_histories: list[LostDocument]


class FirstBootsField(TypedDict, total=False):
    first_boots: list[FirstBootDocument]


class ShownWorkflow(WorkflowDocument, LostHistoriesField, FirstBootsField):
    machines: list[NamedMachine]
    labels: dict[str, str]
    attempts: list[AttemptDocument]


class ActionProgressField(TypedDict, total=False):
    action_progress: ProgressDocument


class ServiceField(TypedDict, total=False):
    service: str


class StateDocument(ReachedAction, ActionProgressField, ServiceField):
    workflow_id: str
    state: State
    run: int
    actions_done: int
    actions_total: int
    failures: int
    failed_attempts: int
    retries: int
    reason: AnyReason
    message: str
    hint: str
    exit_code: int | None
    signal: str
    last_output: list[str]
    held: HoldDocument | None
    conditions: list[ConditionDocument]


class NamesOfWorkflow(TypedDict):
    name: str
    template_name: str
    machines: list[NamedMachine]


class ExplainedField(TypedDict, total=False):
    reason: AnyReason
    message: str
    hint: str


class OvertakenField(TypedDict, total=False):
    overtaken: str


class OutputField(TypedDict, total=False):
    output_bytes: int


class TemplateChangedField(TypedDict, total=False):
    template_changed: str


class WayToChangeField(TypedDict, total=False):
    way_to_change: str


class ShownState(
    StateDocument,
    NamesOfWorkflow,
    LostHistoriesField,
    FirstBootsField,
    OvertakenField,
    OutputField,
    TemplateChangedField,
    WayToChangeField,
):
    """Where a workflow stands, with what waits for a person.

    Of one that is over `output_bytes` is what the attempts at the action that it stands at printed.

    `waiting` says what it waits for, empty where it waits for nothing; `diagnosis` is what the doctor finds likeliest wrong with it
    or with the machine that it needs, null where that is nothing.
    """

    waiting: str
    diagnosis: DiagnosisDocument | None


class ChangedWorkflow(Identity):
    state: State


class CanceledWorkflow(ChangedWorkflow, total=False):
    """`runs_on` tells why what its worker began may run on, where that worker is not in touch."""

    runs_on: str


class RetriedWorkflow(ChangedWorkflow, TemplateChangedField):
    """`template_changed` tells that its template has another text by now than the one that runs again."""


class CreatedDocument(Identity, total=False):
    """`results` and `created` are there where `documents` were given: of each one in their order, and of the new ones."""

    results: list[CreationResult]
    created: list[NamedIdentity]
    notes: list[ProblemFields]


def routes(
    workflows: Workflows,
    machines: Machines,
    breakpoints: Breakpoints,
    lost_histories: LostHistories,
    followers: Followers,
    progress: ProgressOf,
    templates: Templates,
    plans: WorkflowPlans,
    osie: Callable[[], Sequence[Mapping[str, Any]]],
    rollouts: Rollouts,
    creation: Creation,
    examiner: Examiner,
    scopes: Scopes,
) -> list[web.RouteDef]:
    """`examiner` says what a workflow waits for, and what is wrong with it."""
    door = _WorkflowDoor(
        workflows=workflows,
        machines=machines,
        breakpoints=breakpoints,
        lost_histories=lost_histories,
        followers=followers,
        progress=progress,
        templates=templates,
        plans=plans,
        osie=osie,
        rollouts=rollouts,
        creation=creation,
        examiner=examiner,
        scopes=scopes,
    )
    return [
        *needing(
            Right.LOOK,
            *keeping_to_scope(by_itself, web.get("/v1/workflows", door.show_list)),
            *keeping_to_scope(
                scopes.workflow,
                web.get("/v1/workflows/{key}", door.show),
                web.get("/v1/workflows/{key}/state", door.state),
                web.get("/v1/workflows/{key}/events", door.events),
                web.get("/v1/workflows/{key}/logs", door.logs),
            ),
        ),
        *needing(
            Right.OPERATE,
            *keeping_to_scope(by_itself, web.post("/v1/workflows", door.create)),
            *keeping_to_scope(
                scopes.workflow,
                web.delete("/v1/workflows/{key}", door.delete),
                web.post("/v1/workflows/{key}/cancel", door.cancel),
                web.post("/v1/workflows/{key}/retry", door.retry),
            ),
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _WorkflowDoor:
    workflows: Workflows
    machines: Machines
    breakpoints: Breakpoints
    lost_histories: LostHistories
    followers: Followers
    progress: ProgressOf
    templates: Templates
    plans: WorkflowPlans
    osie: Callable[[], Sequence[Mapping[str, Any]]]
    rollouts: Rollouts
    creation: Creation
    examiner: Examiner
    scopes: Scopes

    @takes(
        "machine",
        "template",
        SINCE,
        LIMIT,
        sort_by(WORKFLOW_FIELDS),
        several=(Parameter("state", State), "label"),
    )
    async def show_list(
        self, request: web.Request
    ) -> Annotated[web.StreamResponse, Json[list[ListedWorkflowDocument]]]:
        """The workflows, oldest first."""
        query, template = Query(request), None
        order = query.order(Order("created_at"))
        listing = self.scopes.listing(request, WorkflowListing())
        if of := query.text("template"):
            template = await self.templates.with_workflows(of, listing.within)
        listing = replace(
            listing,
            states=query.words("state", State),
            machine=self.scopes.machine_of(caller(request), machine) if (machine := query.text("machine")) else "",
            template=template,
            selector=query.selector(),
            since=query.since(self.workflows.now()),
            order=order,
            limit=query.limit(),
        )
        async with turn(request):
            by_name = await self.machines.known.by_name() if order.field == "machine" else ()
            found = await self.workflows.found(replace(listing, machines=by_name))
            pieces = _Pieces(found.pages, self.machines)
            await pieces.make()  # a list that is soon made waits for one turn
        with unread(request, found.octets):
            told = _listed(request, pieces)
            return await streamed(request, told, JSON, {HEADER: str(found.total)})

    @takes(body=WorkflowWish)
    async def create(self, request: web.Request) -> Json[CreatedDocument]:
        """Make one for a `machine` that has no other work, behind what the machines of `hardware` have, or of `documents`.

        One of `documents` that is there with the same content is not made a second time, unless `again` says so.  With
        `require_images` none is made as long as an image is missing or damaged.  `strict` refuses what would be
        ignored of template or documents.
        """
        document = await read_object(request)
        person = caller(request)
        how = _how(document, person.name)
        if document.get("documents") is not None:
            if person.scope is not None:
                raise Forbidden(
                    f"{person.name} has the scope {person.scope}, and may make workflows of a template alone: name it with -t"
                )
            answer = creations_document(await self.creation.create(text_field(document, "documents"), how))
        else:
            answer = await self._of_template(document, how, person, looks=may_look(request))
        created = [each["id"] for each in answer["created"]] if "created" in answer else [answer["id"]]
        log_change(request, "workflow created", *created)
        if may_look(request) and (told := await self._in_the_way(created, person)):
            answer["notes"] = [*answer.get("notes", ()), *told]
        return answered(answer, status=201 if created else 200)

    async def _of_template(self, document: Document, how: Creating, person: Caller, *, looks: bool) -> CreatedDocument:
        template = text_field(document, "template")
        machine = text_field(document, "machine") if document.get("machine") is not None else ""
        devices = devices_of(document) if document.get("hardware") is not None or not machine else {}
        machine = self.scopes.machine_of(person, machine) if machine and person.scope is not None else machine
        notes = await self._in_vain(template, devices) if looks else []
        if machine:
            wanted = Wanted(
                template=template,
                machines=(machine,),
                parameters=devices,
                breakpoints=how.breakpoints,
                confirm_wipe=how.confirm_wipe,
                labels=how.labels,
                require_images=how.require_images,
                strict=how.strict,
                scope=person.scope,
            )
            made = await self.rollouts.create_one(wanted, how.who)
        else:
            made = await self.workflows.prepare(
                template,
                devices,
                breakpoints=how.breakpoints,
                who=how.who,
                confirm_wipe=how.confirm_wipe,
                labels=how.labels,
                require_images=how.require_images,
                strict=how.strict,
                scope=person.scope,
            )
            await self.workflows.create_prepared(made)
        notes += [asdict(each) for each in made.told] if looks else []
        return {"id": made.id, "notes": notes} if notes else {"id": made.id}

    async def _in_vain(self, key: str, devices: Devices) -> list[ProblemFields]:
        """What there is to say of the `-r` map's names that the template does not use."""
        template = await self.templates.get(key)
        told = await asyncio.to_thread(needless, template.name, template.data, list(devices))
        return [{"text": each} for each in told]

    async def _in_the_way(self, ids: Sequence[str], person: Caller) -> list[Document]:
        """What keeps workflows that were just made from beginning, and what else there is to say of them."""
        architectures = {str(each["architecture"]) for each in self.osie()}
        return [{"text": each} for each in await self.plans.warnings(ids, architectures, person.scope)]

    async def show(self, request: web.Request) -> Json[ShownWorkflow]:
        """A workflow with its actions, attempts and rendered text."""
        workflow = await self.workflows.get(key_of(request))
        made = await self.workflows.attempts(workflow.id)
        waits = await self.scopes.text_for(request, await self.examiner.waits(workflow.id))
        document = workflow_document(workflow, self.machines.known.name, self.progress, waits)
        lost = await self.scopes.lost_for(request, await self.lost_histories.of_workflow(workflow.id))
        told = first_boot_fields(await self.workflows.first_boots(workflow.id))
        shown: ShownWorkflow = {
            **document,
            "machines": self._machines(workflow),
            "labels": await self.workflows.labels(workflow.id),
            "attempts": attempt_documents(workflow, made),
            **lost_fields(lost),
            **told,
        }
        if not may_read_secrets(request):
            # Beside the event loop: user-data may have thousands of lines.
            shown = await asyncio.to_thread(concealed, shown, self._secrets(workflow))
        return answered(shown)

    def _secrets(self, workflow: Workflow) -> list[str]:
        """What the field calls secret of the machines of a workflow."""
        records = map(self.machines.known.get, dict.fromkeys(each.action.worker for each in workflow.actions))
        return [text for each in records if each is not None for text in secret_texts(each.hardware.document)]

    @takes(Parameter("run", int))
    async def delete(self, request: web.Request) -> Json[Identity]:
        """Forget a workflow that does not run; refused when it is in another `run` by now."""
        run = number(request, "run") if "run" in request.query else None
        workflow_id = await self.workflows.delete(key_of(request), run=run)
        log_change(request, "workflow deleted", workflow_id)
        return answered({"id": workflow_id})

    @takes(body=CancellationWish, optional=True)
    async def cancel(self, request: web.Request) -> Json[CanceledWorkflow]:
        """Have a workflow end, with `force` also when its machine does not answer; refused when it is in another `run` by now."""
        document = await read_options(request)
        who, force, run = caller(request).name, flag(document, "force"), _run_in(document)
        done = await self.workflows.cancel(key_of(request), who, force=force, run=run)
        log_change(request, CANCELED, done.id)
        answer: CanceledWorkflow = {"id": done.id, "state": (await self.workflows.get(done.id)).state}
        return answered({**answer, "runs_on": done.runs_on} if done.runs_on else answer)

    @takes(body=RetryWish, optional=True)
    async def retry(self, request: web.Request) -> Json[RetriedWorkflow]:
        """Resume a workflow that ended badly, at the failed action or at one called `from`; `run` as for cancel."""
        document = await read_options(request)
        action = text_field(document, "from") if document.get("from") is not None else None
        confirmed = flag(document, "confirm_wipe")
        person, run = caller(request), _run_in(document)
        workflow_id = await self.workflows.retry(
            key_of(request), action, confirm_wipe=confirmed, who=person.name, run=run, scope=person.scope
        )
        log_change(request, "workflow retried", workflow_id)
        workflow = await self.workflows.get(workflow_id)
        told = await self._template_changed(workflow) if may_look(request) else {}
        return answered({"id": workflow_id, "state": workflow.state, **told})

    async def _printed(self, workflow: Workflow) -> OutputField:
        current = workflow.current()
        if workflow.state not in FINAL or current is None:
            return {}
        attempts = await self.workflows.attempts(workflow.id)
        return {"output_bytes": sum(each.output_length for each in attempts if each.position == current.action.index)}

    async def _template_changed(self, workflow: Workflow) -> TemplateChangedField:
        changed = await self.workflows.template_changed(workflow)
        return {"template_changed": changed} if changed else {}

    @takes(TO_CHANGE)
    async def state(self, request: web.Request) -> Json[ShownState]:
        """Where a workflow stands; with `to_change` that one which the key means for what changes it, `unfinished`: what ends it, `held`: what decides about its hold."""
        standing = await self.breakpoints.standing(key_of(request), to_change(request))
        if to_change(request) is ToChange.DELETE:
            await self.workflows.refuse_deletion(standing.workflow.id)
        lost = await self.scopes.lost_for(request, await self.lost_histories.of_workflow(standing.workflow.id))
        told: ExplainedField = _explained(lost_document(lost[0])) if lost else {}
        systems = first_boot_fields(await self.workflows.first_boots(standing.workflow.id))
        named = self._named(standing.workflow)
        later = await self.scopes.text_for(request, await self.workflows.overtaken(standing.workflow))
        overtaken: OvertakenField = {"overtaken": later} if later else {}  # why a retry is refused
        is_retried = standing.workflow.state in FINAL and not later
        changed = await self._template_changed(standing.workflow) if is_retried else {}
        way = await self.workflows.way_to_change(standing.workflow) if is_retried and not changed else ""
        way_out: WayToChangeField = {"way_to_change": way} if way else {}
        printed = await self._printed(standing.workflow)
        waits = await self.scopes.text_for(request, await self.examiner.waits(standing.workflow.id))
        # The doctor speaks of the appliance and of all machines.
        is_scoped = caller(request).scope is not None
        wrong = None if is_scoped else await self.examiner.diagnosis_of(standing.workflow.id)
        return answered(
            {
                **state_document(standing, self.progress, waits),
                **named,
                "waiting": waits,
                "diagnosis": diagnosis(wrong) if wrong else None,
                **told,
                **lost_fields(lost),
                **systems,
                **overtaken,
                **printed,
                **changed,
                **way_out,
            }
        )

    def _named(self, flow: Workflow) -> NamesOfWorkflow:
        """What people call a workflow, its template and its machines."""
        return {"name": flow.name, "template_name": flow.template_name, "machines": self._machines(flow)}

    def _machines(self, flow: Workflow) -> list[NamedMachine]:
        workers = dict.fromkeys(each.action.worker for each in flow.actions)
        return [named_machine(self.machines, each) for each in workers]

    @takes(Parameter("after", int))
    async def events(self, request: web.Request) -> Json[list[EventDocument]]:
        """A workflow's events behind number `after`; all of them where there is no such event (`api.routes.workflows.events`)."""
        after = number(request, "after")
        happened = await self.workflows.events(key_of(request))
        if after > len(happened):
            after = 0
        told = await self.scopes.events_for(request, [each for each in happened if each.number > after])
        return answered([event_document(each) for each in told])

    @takes(FOLLOW)
    async def logs(self, request: web.Request) -> Output:
        """What the actions printed, as text or as server-sent events; `follow` goes on to the end."""
        workflow = await self.workflows.get(key_of(request))
        source = output_of_actions(self.workflows, workflow.id)
        return await answer(request, source, self.workflows.changed, self.followers)


def _how(document: Document, who: str) -> Creating:
    """How the person `who` wants workflows made; raises Invalid."""
    armed = document.get("breakpoints")
    return Creating(
        who=who,
        again=flag(document, "again"),
        breakpoints=None if armed is None else change_from_document(armed),
        confirm_wipe=flag(document, "confirm_wipe"),
        labels=labels_given(parse_labels(document.get("labels"))),
        require_images=flag(document, "require_images"),
        strict=flag(document, "strict"),
    )


def creations_document(found: Creations) -> CreatedDocument:
    """What became of a file's documents, in its order."""
    return {
        "id": found.made[0].id,
        "results": [creation_result(each.id, each.name, is_new=each.is_new) for each in found.made],
        "created": [{"id": each.id, "name": each.name} for each in found.made if each.is_new],
        "notes": [asdict(each) for each in found.notes],
    }


class _Pieces:
    """The documents of a list that may be long, of which each piece takes one turn; `made` is the piece that was made last."""

    def __init__(self, pages: AsyncIterator[Sequence[ListedWorkflow]], machines: Machines) -> None:
        self._pages = pages
        self._machines = machines
        self.made: list[bytes] = []
        self.is_last = False

    async def make(self) -> None:
        """Make the next piece, as much as is made in PIECE_SECONDS."""
        until = time_passed() + PIECE_SECONDS
        self.made = []
        async for listed in self._pages:
            self.made += await encoded(listed, self._document)
            if time_passed() >= until:
                return
        self.is_last = True

    def _document(self, workflow: ListedWorkflow) -> ListedWorkflowDocument:
        return {
            **listed_document(workflow),
            "machines": [named_machine(self._machines, each) for each in workflow.workers],
            "labels": dict(workflow.labels),
        }


async def _listed(request: web.Request, pieces: _Pieces) -> AsyncIterator[bytes]:
    """A JSON list, the first piece of which is made already."""
    before = b"["
    while True:
        if pieces.made:
            yield before + b",\n".join(pieces.made)
            before = b",\n"
        if pieces.is_last:
            break
        async with turn(request):
            await pieces.make()
    yield b"[]" if before == b"[" else b"]"


def listed_document(flow: ListedWorkflow) -> WorkflowSummary:
    """A workflow in the list of all, where nothing is long that a template, an action or a person can make long."""
    reason, message = explanation(flow)
    return {
        **_head(flow),
        "devices": {name: briefly(as_text(value), SHOWN_LETTERS) for name, value in flow.devices.items()},
        "reason": reason,
        "message": shortened(message, SHOWN_LETTERS),
        "actions_done": flow.done,
        "actions_total": flow.total,
        **_reached(flow, flow.total),
    }


def _run_in(document: Document) -> int | None:
    """The run of a workflow that is meant, None: the one it is in."""
    return number_field(document, "run") if "run" in document else None


def no_progress(_: ActionStatus | None) -> Progress | None:
    """No action says how far it is."""
    return None


def workflow_document(
    flow: Workflow, name: Callable[[str], str], progress: ProgressOf = no_progress, waits: str = ""
) -> WorkflowDocument:
    """`name` is what people call a machine of an id; `progress` tells how far an action is that runs, `waits` what it waits for."""
    return {
        **_head(flow),
        "conditions": _conditions(flow, waits),
        "actions": [_action(each, progress(each)) for each in flow.actions],
        "services": [service_document(each, name) for each in flow.services],
        "text": flow.text,
    }


def _head(flow: WorkflowHead) -> HeadDocument:
    return {
        "id": flow.id,
        "name": flow.name,
        "state": flow.state,
        "template_id": flow.template_id,
        "template_name": flow.template_name,
        "devices": dict(flow.devices),
        "created_at": time(flow.created_at),
        "started_at": time(flow.started_at),
        "updated_at": time(flow.updated_at),
        "global_timeout": flow.global_timeout,
        "run": flow.run,
    }


def _reached(flow: WorkflowHead, total: int) -> ReachedAction:
    """Which of `total` actions it stands at, in the words of 2020's `tink workflow state`."""
    current = flow.current()
    action = current.action if current else None
    reached = current.state if current else State.PENDING
    return {
        # The last action stands for all of them when every one is done, be it that it was skipped.
        "progress": progress(action.index if action else 0, State.SUCCESS if reached in DONE else reached, total),
        "current_task": action.task if action else "",
        "current_action": action.spec.name if action else "",
        "current_worker": action.worker if action else "",
        # What is being stopped is not held.
        "current_action_state": flow.state if (reached, flow.state) == (State.HELD, State.STOPPING) else reached,
    }


def attempt_documents(flow: Workflow, made: Sequence[Attempt]) -> list[AttemptDocument]:
    """Every attempt at a workflow's actions in the order in which they began; `number` counts those at one action."""
    numbers: Counter[int] = Counter()
    listed: list[AttemptDocument] = []
    for each in made:
        numbers[each.position] += 1
        action = flow.actions[each.position].action
        listed.append(
            {
                "attempt": each.token,
                "index": each.position,
                "task": action.task,
                "action": action.spec.name,
                "number": numbers[each.position],
                "worker": each.worker,
                "state": each.state,
                "started_at": time(each.started_at),
                "ended_at": time(each.ended_at),
                "outcome": outcome(each.outcome),
                "output_bytes": each.output_length,
            }
        )
    return listed


def state_document(standing: Standing, progress: ProgressOf = no_progress, waits: str = "") -> StateDocument:
    """Where a workflow stands, in the words of 2020's `tink workflow state`.

    Reason and message are those of the action's newest attempt, or of the process that is held, else those of the
    whole workflow's end.  `waits` says what it waits for.  `failures` are the attempts that are over and failed, `failed_attempts` these and one that is held
    because it failed.  `service` is the one that kept the workflow from beginning, where one did.
    """
    flow = standing.workflow
    current = flow.current()
    held = standing.hold
    failures = current.failures if current else 0
    failed_and_held = held is not None and held.outcome is not None and held.outcome.state is not State.SUCCESS
    ended = held.outcome if held else current.outcome if current else None
    outcome = ended or _unattempted(flow)
    far = progress(current)
    said: ActionProgressField = {"action_progress": asdict(far)} if far else {}
    blamed: ServiceField = {"service": flow.service} if flow.service else {}
    return {
        "workflow_id": flow.id,
        "state": flow.state,
        "run": flow.run,
        "actions_done": sum(each.state in DONE for each in flow.actions),
        "actions_total": len(flow.actions),
        **_reached(flow, len(flow.actions)),
        "failures": failures,
        "failed_attempts": failures + failed_and_held,
        "retries": current.action.spec.retries if current else 0,
        "reason": outcome.reason,
        "message": outcome.message,
        "hint": outcome.hint,
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
        "last_output": list(outcome.tail),
        "held": held_document(standing),
        **said,
        **blamed,
        "conditions": _conditions(flow, waits),
    }


def lost_fields(lost: Sequence[LostWork]) -> LostHistoriesField:
    """What a workflow waits for a person with, if it does."""
    return {"lost_histories": [lost_document(each) for each in lost]} if lost else {}


def first_boot_fields(told: Mapping[str, FirstBoot]) -> FirstBootsField:
    """What the installed systems told, if they did; `machine` is the id of hardware."""
    listed: list[FirstBootDocument] = [
        {
            "machine": machine,
            "phoned_at": time(each.phoned_at),
            "finished_at": time(each.finished_at),
            "address": each.address,
            "hostname": each.hostname,
            "host_keys": [{"type": key.kind, "fingerprint": key.fingerprint} for key in each.host_keys],
            "failures": [
                {"module": one.module, "result": one.result, "message": one.message, "at": time(one.at)}
                for one in each.failures
            ],
        }
        for machine, each in told.items()
    ]
    return {"first_boots": listed} if listed else {}


def _unattempted(flow: Workflow) -> Outcome:
    """What there is to say where no attempt has ended: of a workflow that is stopped, or ended between two actions."""
    reason, message = explanation(flow)
    return Outcome(state=flow.state, reason=reason, message=message, hint=hint(reason, message))


def _explained(lost: LostDocument) -> ExplainedField:
    return {"reason": lost["reason"], "message": lost["message"], "hint": lost["hint"]}


def _action(status: ActionStatus, far: Progress | None) -> ActionOfWorkflow:
    said: ProgressField = {"progress": asdict(far)} if far else {}
    return {
        **action_document(_shown(status.action)),
        "digest": status.digest,
        "state": status.state,
        "failures": status.failures,
        "attempt": status.attempt,
        "started_at": time(status.started_at),
        "ended_at": time(status.ended_at),
        "outcome": outcome(status.outcome),
        **said,
    }


def _shown(action: PlannedAction) -> PlannedAction:
    """An action with its secrets as templates name them, in the places of their marks."""
    spec = action.spec
    command, on_timeout, on_failure = (
        tuple(map(shown, each)) for each in (spec.command, spec.on_timeout, spec.on_failure)
    )
    environment = {name: shown(value) for name, value in spec.environment.items()}
    told = replace(spec, command=command, on_timeout=on_timeout, on_failure=on_failure, environment=environment)
    return replace(action, spec=told)


def _conditions(flow: Workflow, waits: str) -> list[ConditionDocument]:
    """In the words of Kubernetes."""
    return [
        {
            "type": each.type,
            "status": each.status,
            "reason": each.reason,
            "message": each.message,
            "lastTransitionTime": time(each.at),
        }
        for each in conditions(flow, waits)
    ]
