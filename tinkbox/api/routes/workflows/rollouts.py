"""`/v1/rollouts`: one template for many machines.  KEY is an id, a unique beginning of one, or a template's name, whose newest it is."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Final, Literal, Required, TypedDict

from aiohttp import web

from tinkbox.api.access import (
    by_itself,
    keeping_to_scope,
    may_look,
    may_read_secrets,
    needing,
    needing_either,
    require_for,
)
from tinkbox.api.answers import Json, answered
from tinkbox.api.auditing import note_rehearsal
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import Document, Identity, NamedIdentity, Time, time
from tinkbox.api.listing import Query, listed
from tinkbox.api.long_answers import in_turn, json_list
from tinkbox.api.parameters import LIMIT, Parameter, sort_by
from tinkbox.api.requests import (
    TO_CHANGE,
    DevicesWish,
    devices_of,
    key_of,
    read_object,
    read_options,
    takes,
    text_field,
    to_change,
)
from tinkbox.api.routes.workflows.breakpoints import BreakpointsWish, change_from_document
from tinkbox.api.routes.workflows.workflows import ProgressOf
from tinkbox.door.connections.client_presence import WhileThere
from tinkbox.engine.rollouts.planning import Plan, Refused, Wanted
from tinkbox.engine.rollouts.rollouts import Members, Rollouts, Standing
from tinkbox.model.access import NOT_SHOWN, Right
from tinkbox.model.actions.progress import Progress
from tinkbox.model.breakpoint import Hold, Verb, verdicts
from tinkbox.model.devices import as_text
from tinkbox.model.errors import Forbidden, Invalid
from tinkbox.model.labels import parse_labels, parse_selector
from tinkbox.model.rollout import (
    MAX_MACHINES,
    UNDER_WAY,
    Counts,
    Member,
    OnFailure,
    Place,
    RolloutState,
    labels_given,
)
from tinkbox.model.text import briefly, shortened
from tinkbox.model.workflow import DONE, ListedWorkflow, State, full_name, progress
from tinkbox.wire.messages.json_fields import flag, member, number, texts

SORTS: Final = ("created_at", "updated_at", "template", "state")
SHOWN_LETTERS: Final = 200


class SkippingWish(TypedDict, total=False):
    skip_refused: bool


class RolloutWish(TypedDict, total=False):
    template: Required[str]
    machines: list[str]
    selector: str | None
    hardware: DevicesWish | None
    max_parallel: int
    on_failure: OnFailure | None
    labels: dict[str, str] | None
    breakpoints: BreakpointsWish | None
    confirm_wipe: bool
    skip_refused: bool
    dry_run: bool
    digest: str
    require_images: bool
    strict: bool


class HeldDocument(TypedDict):
    since: Time | None
    deadline: Time | None
    on_expiry: Verb
    verdicts: list[Verb]


class ReachedDocument(TypedDict):
    """Which action the workflow of a machine stands at."""

    action: str
    action_number: int
    action_state: State | Literal[""]
    action_progress: Annotated[Document, Progress] | None
    actions_done: int
    actions_total: int
    progress: int
    held: HeldDocument | None


class MemberHead(TypedDict):
    machine: str
    name: str
    state: Place
    workflow: str
    workflow_deleted: bool
    reason: str
    message: str


class MemberDocument(MemberHead, ReachedDocument):
    key: str


class RolloutDocument(Identity):
    state: RolloutState
    template: str
    template_id: str
    max_parallel: int
    on_failure: OnFailure
    labels: dict[str, str]
    hardware: dict[str, str]
    created_by: str
    created_at: Time | None
    updated_at: Time | None
    total: int
    counts: dict[str, int]
    held: int


class RefusedMachine(NamedIdentity):
    why: str


class RefusedField(TypedDict, total=False):
    """The machines that it goes on without, where it was resumed or retried."""

    refused: list[RefusedMachine]


class RolloutStanding(RolloutDocument):
    failures: list[MemberDocument]
    under_way: list[MemberDocument]
    waiting: list[MemberDocument]


class LeftMember(TypedDict):
    machine: str
    name: str
    state: Place


class RolloutProgress(Identity, RefusedField):
    """How far a rollout is, for those who may not look."""

    state: RolloutState
    template: str
    max_parallel: int
    on_failure: OnFailure
    total: int
    counts: dict[str, int]
    held: int
    failures: list[LeftMember]


class RolloutChange(RolloutStanding, RefusedField):
    """All of it, for those who may look."""


ChangedRollout = RolloutChange | RolloutProgress
NONE_REFUSED: Final[RefusedField] = {}


class PlannedMachine(NamedIdentity):
    key: str
    mac: str


class ActionOfPlan(TypedDict):
    task: str
    action: str
    image: str
    disk: str
    wipes: list[str]


class WipedDisk(TypedDict):
    disk: str
    machines: int


class PlanDocument(TypedDict):
    digest: str
    template: str
    template_id: str
    device: str
    hardware: dict[str, Any]
    max_parallel: int
    on_failure: OnFailure
    machines: list[PlannedMachine]
    warnings: list[str] | None
    refused: list[RefusedMachine]
    actions: list[ActionOfPlan] | None
    wipes: list[WipedDisk] | None


def routes(
    rollouts: Rollouts, osie: Callable[[], Sequence[Mapping[str, Any]]], progress: ProgressOf
) -> list[web.RouteDef]:
    door = _RolloutDoor(rollouts=rollouts, osie=osie, progress=progress)
    return [
        *needing(
            Right.LOOK,
            *in_turn(web.get("/v1/rollouts", door.show_list)),
            web.get("/v1/rollouts/{key}", door.show),
            *in_turn(web.get("/v1/rollouts/{key}/machines", door.machines)),
        ),
        *needing_either(*keeping_to_scope(by_itself, web.post("/v1/rollouts", door.create))),
        *needing(
            Right.OPERATE,
            web.delete("/v1/rollouts/{key}", door.delete),
            web.post("/v1/rollouts/{key}/pause", door.pause),
            web.post("/v1/rollouts/{key}/resume", door.resume),
            web.post("/v1/rollouts/{key}/cancel", door.cancel),
            web.post("/v1/rollouts/{key}/retry", door.retry),
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _RolloutDoor:
    rollouts: Rollouts
    osie: Callable[[], Sequence[Mapping[str, Any]]]
    progress: ProgressOf

    @takes("template", LIMIT, sort_by(SORTS), several=(Parameter("state", RolloutState), "label"))
    async def show_list(self, request: web.Request) -> Json[list[RolloutDocument]]:
        """The rollouts, oldest first."""
        filters: dict[str, Callable[[Any], Sequence[str]]] = {"state": lambda each: [each["state"]]}
        documents = [rollout_document(each) for each in await self.rollouts.all(Query(request).text("template"))]
        return await listed(request, documents, filters=filters, labels=True)

    @takes(TO_CHANGE)
    async def show(self, request: web.Request) -> Json[RolloutStanding]:
        """A rollout, with the first of its machines that failed, are under way and wait; with `to_change` that one which the key means for what changes it, `unfinished`: what pauses, resumes or cancels it; `delete` is refused as that is."""
        standing = await self.rollouts.get(key_of(request), to_change(request))
        return answered(standing_document(standing, self.rollouts.key, self.progress))

    async def machines(self, request: web.Request) -> Json[list[MemberDocument]]:
        """Every machine, in the order in which they begin."""
        found = await self.rollouts.members(key_of(request))
        return await json_list(found.members, members_documents(found, self.rollouts.key, self.progress))

    @takes(body=RolloutWish)
    async def create(self, request: web.Request) -> Json[PlanDocument | ChangedRollout]:
        """Make a rollout; with `dry_run` only what it would do; with the `digest` of that answer only where it would do the same still."""
        document = await read_object(request)
        rehearsal = flag(document, "dry_run")
        person = require_for(request, changes=not rehearsal)
        who = person.name
        wanted, skip_refused = wanted_of(document), flag(document, "skip_refused")
        if person.scope is not None and not rehearsal:
            raise Forbidden(
                f"{who} has the scope {person.scope}, and a rollout is for who has none: make a workflow for one machine at a time, "
                "`tinkbox workflow create -t TEMPLATE MACHINE`"
            )
        note_rehearsal(request, rehearsal)
        if rehearsal:
            async with WhileThere(request):
                shown = replace(wanted, secrets=may_read_secrets(request), scope=person.scope)
                plan = await self.rollouts.rehearse(shown, who, looks=may_look(request))
            warnings = self.rollouts.warnings(plan, {str(each["architecture"]) for each in self.osie()})
            return answered(plan_document(plan, wanted, warnings, self.rollouts.key, whole=may_look(request)))
        digest = text_field(document, "digest") if "digest" in document else None
        made = await self.rollouts.create(wanted, who, skip_refused=skip_refused, digest=digest)
        log_change(request, "rollout created", made.rollout.id)
        return answered(self._told(request, made), status=201)

    async def delete(self, request: web.Request) -> Json[Identity]:
        """Forget a rollout that is over; its workflows stay."""
        rollout_id = await self.rollouts.delete(key_of(request))
        log_change(request, "rollout deleted", rollout_id)
        return answered({"id": rollout_id})

    async def pause(self, request: web.Request) -> Json[ChangedRollout]:
        """Have no further machine begin."""
        return await self._changed(request, self.rollouts.pause, "rollout paused")

    @takes(body=SkippingWish, optional=True)
    async def resume(self, request: web.Request) -> Json[ChangedRollout]:
        """Have the machines that wait begin."""
        return await self._taken_up(request, self.rollouts.resume, "rollout resumed")

    async def cancel(self, request: web.Request) -> Json[ChangedRollout]:
        """Have no further machine begin, and cancel the workflows under way."""
        return await self._changed(request, self.rollouts.cancel, "rollout canceled")

    @takes(body=SkippingWish, optional=True)
    async def retry(self, request: web.Request) -> Json[ChangedRollout]:
        """Have every machine wait again that did not succeed."""
        return await self._taken_up(request, self.rollouts.retry, "rollout retried")

    async def _changed(
        self, request: web.Request, change: Callable[[str], Awaitable[Standing]], what: str
    ) -> Json[ChangedRollout]:
        standing = await change(key_of(request))
        log_change(request, what, standing.rollout.id)
        return answered(self._told(request, standing))

    async def _taken_up(
        self, request: web.Request, change: Callable[..., Awaitable[Standing]], what: str
    ) -> Json[ChangedRollout]:
        """As `_changed`; with `skip_refused` it goes on without the machines that others took meanwhile, which are told."""
        document = await read_options(request)
        standing = await change(key_of(request), skip_refused=flag(document, "skip_refused"))
        log_change(request, what, standing.rollout.id)
        return answered(self._told(request, standing, {"refused": refused_documents(standing.refused)}))

    def _told(self, request: web.Request, standing: Standing, refused: RefusedField = NONE_REFUSED) -> ChangedRollout:
        """What a change of a rollout is answered with: all of it for those who may look, else how far it is."""
        document = standing_document(standing, self.rollouts.key, self.progress)
        if may_look(request):
            return {**document, **refused}
        return {
            **refused,
            "id": document["id"],
            "state": document["state"],
            "template": document["template"],
            "max_parallel": document["max_parallel"],
            "on_failure": document["on_failure"],
            "total": document["total"],
            "counts": document["counts"],
            "held": document["held"],
            "failures": [
                {"machine": each["machine"], "name": each["name"], "state": each["state"]}
                for each in document["failures"]
            ],
        }


def wanted_of(document: Document) -> Wanted:
    """What a document asks for; raises Invalid."""
    armed, selector = document.get("breakpoints"), document.get("selector")
    machines = texts(document, "machines")
    if machines and selector is not None:
        raise Invalid("machines and selector are both given: name the machines, or select them by their labels")
    max_parallel = number(document, "max_parallel", 0)
    if not 0 <= max_parallel <= MAX_MACHINES:
        raise Invalid(f"max_parallel is a number of machines up to {MAX_MACHINES}, or 0 for all at once")
    return Wanted(
        template=text_field(document, "template"),
        machines=machines,
        selector=None if selector is None else parse_selector(text_field(document, "selector")),
        parameters=devices_of(document) if document.get("hardware") is not None else {},
        max_parallel=max_parallel,
        on_failure=member(document, "on_failure", OnFailure)
        if document.get("on_failure") is not None
        else OnFailure.STOP,
        labels=labels_given(parse_labels(document.get("labels"))),
        breakpoints=None if armed is None else change_from_document(armed),
        confirm_wipe=flag(document, "confirm_wipe"),
        require_images=flag(document, "require_images"),
        strict=flag(document, "strict"),
    )


def plan_document(
    plan: Plan, wanted: Wanted, warnings: Sequence[str], key: Callable[[str], str], *, whole: bool
) -> PlanDocument:
    """What a rollout would do; each machine is the `device`, and `hardware` the rest of the `-r` map for all of them.

    `key` is what means the machine of an id and no other.  Without the `whole` of it nothing is told that the template may have from documents of machines.
    """
    refused = [each if whole or not each.rendered else replace(each, why=NOT_SHOWN) for each in plan.refused]
    return {
        "digest": plan.digest,
        "template": plan.template.name,
        "template_id": plan.template.id,
        "device": plan.device,
        "hardware": dict(plan.parameters),
        "max_parallel": wanted.max_parallel,
        "on_failure": wanted.on_failure,
        "machines": [
            {"id": each.hardware.id, "name": each.name, "key": key(each.hardware.id), "mac": each.mac}
            for each in plan.machines
        ],
        "warnings": list(warnings) if whole else None,
        "refused": refused_documents(refused),
        "actions": [
            {
                "task": each.task,
                "action": each.action,
                "image": each.image,
                "disk": each.disk,
                "wipes": list(each.wipes),
            }
            for each in plan.steps
        ]
        if whole
        else None,
        "wipes": [{"disk": disk, "machines": number} for disk, number in sorted(plan.wipes.items())] if whole else None,
    }


def refused_documents(refused: Sequence[Refused]) -> list[RefusedMachine]:
    return [{"name": each.name, "id": each.machine, "why": each.why} for each in refused]


def rollout_document(standing: Standing) -> RolloutDocument:
    """A rollout in the list of all."""
    rollout = standing.rollout
    return {
        "id": rollout.id,
        "state": rollout.state,
        "template": rollout.template_name,
        "template_id": rollout.template_id,
        "max_parallel": rollout.max_parallel,
        "on_failure": rollout.on_failure,
        "labels": dict(rollout.labels),
        "hardware": {name: briefly(as_text(value), SHOWN_LETTERS) for name, value in rollout.parameters.items()},
        "created_by": rollout.who,
        "created_at": time(rollout.created_at),
        "updated_at": time(rollout.updated_at),
        "total": standing.counts.total,
        "counts": counts_document(standing.counts),
        "held": standing.held,
    }


def standing_document(standing: Standing, key: Callable[[str], str], progress: ProgressOf) -> RolloutStanding:
    """A rollout by itself: beside the counts the first of its machines that failed, are under way and wait."""
    document = members_documents(standing, key, progress)
    return {
        **rollout_document(standing),
        "failures": [document(each) for each in standing.unsuccessful],
        "under_way": [document(each) for each in standing.under_way],
        "waiting": [document(each) for each in standing.waiting],
    }


def counts_document(counts: Counts) -> dict[str, int]:
    return {place: counts.of(place) for place in Place}


def members_documents(
    found: Standing | Members, key: Callable[[str], str], progress: ProgressOf
) -> Callable[[Member], MemberDocument]:
    """What makes the document of one of its machines.

    `key` is what means the machine of an id and no other, `progress` tells how far an action is that runs.
    """
    workflows = {each.id: each for each in found.workflows}

    def document(each: Member) -> MemberDocument:
        workflow = workflows.get(each.workflow_id) if each.place in UNDER_WAY else None
        return {**_member_document(each), "key": key(each.machine), **_reached(workflow, found.holds, progress)}

    return document


def _member_document(each: Member) -> MemberHead:
    return {
        "machine": each.machine,
        "name": each.name,
        "state": each.place,
        "workflow": each.workflow_id,
        "workflow_deleted": each.workflow_deleted,
        "reason": each.reason,
        "message": shortened(each.message, SHOWN_LETTERS),
    }


_NOWHERE: Final[ReachedDocument] = {
    "action": "",
    "action_number": 0,
    "action_state": "",
    "action_progress": None,
    "actions_done": 0,
    "actions_total": 0,
    "progress": 0,
    "held": None,
}


def _reached(workflow: ListedWorkflow | None, holds: Mapping[str, Hold], progress_of: ProgressOf) -> ReachedDocument:
    """Which action a workflow stands at, the first is number 1, and which of these `holds` it waits in."""
    current = workflow.current() if workflow else None
    if workflow is None or current is None:
        return _NOWHERE
    done = State.SUCCESS if current.state in DONE else current.state
    far = progress_of(current)
    return {
        "action": full_name(current.action),
        "action_number": current.action.index + 1,
        "action_state": current.state,
        "action_progress": asdict(far) if far else None,
        "actions_done": workflow.done,
        "actions_total": workflow.total,
        "progress": progress(current.action.index, done, workflow.total),
        "held": _held(holds.get(workflow.id)),
    }


def _held(hold: Hold | None) -> HeldDocument | None:
    """Until when an action is held, what becomes of it then, and which verdicts a person may give before."""
    if hold is None:
        return None
    return {
        "since": time(hold.held_at),
        "deadline": time(hold.deadline),
        "on_expiry": hold.on_expiry,
        "verdicts": list(verdicts(hold.kind)),
    }
