"""`/v1/breakpoints` and `/v1/workflows/KEY/breakpoints`: what is armed, what is held, and who decides."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, Final, Literal, Required, TypedDict

from aiohttp import web

from tinkbox.api.access import by_itself, caller, keeping_to_scope, may_look, needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.auditing import explain
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import Document, NamedIdentity, OutcomeDocument, Time, outcome, time
from tinkbox.api.listing import Filters, Query, listed
from tinkbox.api.long_answers import in_turn
from tinkbox.api.named_machines import NamedMachine, named_machine
from tinkbox.api.parameters import LIMIT, Parameter, sort_by
from tinkbox.api.requests import TO_CHANGE, key_of, read_object, read_options, takes, to_change
from tinkbox.api.scopes import Scopes
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.turns import in_slices
from tinkbox.engine.workflows.breakpoints import Breakpoints, Change, Standing
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.access import Right
from tinkbox.model.audit import digest_of
from tinkbox.model.breakpoint import DEFAULT_HOLD_SECONDS, Hold, Kind, Verb, Verdict, verdicts
from tinkbox.model.breakpoint import Breakpoints as ArmedPlaces
from tinkbox.model.duration import parse_duration, show_duration
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.key_kinds import ToChange
from tinkbox.model.listing import WorkflowListing
from tinkbox.model.text import counted
from tinkbox.model.workflow import Outcome, PlannedAction, State, Workflow, full_name
from tinkbox.store.workflows import Attempt
from tinkbox.wire.messages.breakpoints import verdict_from_document
from tinkbox.wire.messages.json_fields import flag, member, text, texts


class PlacesWish(TypedDict, total=False):
    on_failure: bool | None
    before: list[str]
    after: list[str]


class BreakpointsWish(PlacesWish, total=False):
    """`timeout` is seconds or a duration such as 30m."""

    timeout: int | str | None
    on_expiry: Literal[Verb.FAIL, Verb.CONTINUE, Verb.ABORT] | None


class VerdictWish(TypedDict, total=False):
    verb: Required[Verb]
    why: str
    fresh: bool
    command: list[str] | None
    environment: dict[str, str]
    hold: str


class ExtensionWish(TypedDict, total=False):
    seconds: int | str
    why: str


PLACES = tuple(PlacesWish.__annotations__)
CHANGE = tuple(BreakpointsWish.__annotations__)
VerdictDocument = Annotated[Document, Verdict]


class HoldDocument(TypedDict):
    id: str
    workflow_id: str
    task: str
    action: str
    worker: str
    attempt: str
    sequence: int
    kind: Kind
    since: Time | None
    deadline: Time | None
    timeout: int
    on_expiry: Verb
    outcome: OutcomeDocument | None
    container: bool
    in_place: bool
    verdicts: list[Verb]
    verdict: VerdictDocument | None
    decided_at: Time | None
    ended_at: Time | None


class BreakpointsDocument(NamedIdentity):
    state: State
    armed: Annotated[Document, ArmedPlaces]
    held: HoldDocument | None


class BreakpointsOfMachines(BreakpointsDocument):
    machines: list[NamedMachine]


class BreakpointsWithHolds(BreakpointsOfMachines):
    holds: list[HoldDocument]


# One that is held, and waits for its verdict, is RUNNING as well.
FILTERS: Final[Filters] = {
    "state": lambda workflow: [workflow["state"], *([State.HELD] if _waits(workflow) else [])],
}


def routes(breakpoints: Breakpoints, workflows: Workflows, machines: Machines, scopes: Scopes) -> list[web.RouteDef]:
    door = _BreakpointDoor(breakpoints, workflows, machines, scopes)
    one = "/v1/workflows/{key}/breakpoints"
    return [
        *needing(
            Right.LOOK,
            *in_turn(*keeping_to_scope(by_itself, web.get("/v1/breakpoints", door.list_all))),
            *keeping_to_scope(scopes.workflow, web.get(one, door.show)),
        ),
        *needing(
            Right.OPERATE,
            *keeping_to_scope(
                scopes.workflow,
                web.post(f"{one}/arm", door.arm),
                web.post(f"{one}/clear", door.clear),
                web.post(f"{one}/verdict", door.decide),
                web.post(f"{one}/extend", door.extend),
            ),
        ),
    ]


def change_from_document(entry: object, names: tuple[str, ...] = CHANGE) -> Change:
    """What to arm or to clear; `timeout` is seconds or a duration such as 30m.  Raises Invalid."""
    known = _known(entry, names)
    return Change(
        on_failure=None if known.get("on_failure") is None else flag(known, "on_failure"),
        before=texts(known, "before"),
        after=texts(known, "after"),
        timeout=None if known.get("timeout") is None else _seconds(known["timeout"]),
        on_expiry=None if known.get("on_expiry") is None else member(known, "on_expiry", Verb),
    )


class _BreakpointDoor:
    def __init__(self, breakpoints: Breakpoints, workflows: Workflows, machines: Machines, scopes: Scopes) -> None:
        self._scopes = scopes
        self._breakpoints = breakpoints
        self._workflows = workflows
        self._machines = machines

    @takes("machine", LIMIT, sort_by(("name", "state")), several=(Parameter("state", State), "label"))
    async def list_all(self, request: web.Request) -> Json[list[BreakpointsOfMachines]]:
        """The unfinished workflows that are held, or have a breakpoint armed."""
        query = Query(request)
        wanted = WorkflowListing(
            machine=self._scopes.machine_of(caller(request), machine) if (machine := query.text("machine")) else "",
            selector=query.selector(),
        )
        standings = await self._breakpoints.all(self._scopes.listing(request, wanted))
        documents = await in_slices(self._of_machines, standings)
        return await listed(request, documents, filters=FILTERS)

    def _of_machines(self, standing: Standing) -> BreakpointsOfMachines:
        return {**breakpoints_document(standing), "machines": self._machines_of(standing.workflow)}

    def _machines_of(self, workflow: Workflow) -> list[NamedMachine]:
        return [
            named_machine(self._machines, each) for each in dict.fromkeys(one.action.worker for one in workflow.actions)
        ]

    @takes(TO_CHANGE)
    async def show(self, request: web.Request) -> Json[BreakpointsWithHolds]:
        """What is armed of a workflow, and every hold; `to_change` as for its state."""
        standing = await self._breakpoints.standing(key_of(request), to_change(request))
        made = await self._workflows.attempts(standing.workflow.id)
        return answered({**self._of_machines(standing), "holds": hold_documents(standing, made)})

    @takes(body=BreakpointsWish)
    async def arm(self, request: web.Request) -> Json[BreakpointsDocument]:
        """Arm breakpoints."""
        change = change_from_document(await read_object(request))
        if change.on_failure is False:
            raise Invalid("on_failure: false arms nothing: leave it out, or clear it with POST …/breakpoints/clear")
        workflow_id = (await self._breakpoints.standing(key_of(request), ToChange.ANY)).workflow.id
        explain(request, _in_words(change))
        await self._breakpoints.arm(workflow_id, change, caller(request).name)
        log_change(request, "breakpoints armed", workflow_id)
        return await self._standing(request, workflow_id)

    @takes(body=PlacesWish, optional=True)
    async def clear(self, request: web.Request) -> Json[BreakpointsDocument]:
        """Clear breakpoints; with nothing named, everything is cleared."""
        document = await read_options(request)
        change = change_from_document(document, PLACES) if document else None
        workflow_id = (await self._breakpoints.standing(key_of(request), ToChange.ANY)).workflow.id
        explain(request, _in_words(change) if change is not None else "all of them")
        await self._breakpoints.clear(workflow_id, change, caller(request).name)
        log_change(request, "breakpoints cleared", workflow_id)
        return await self._standing(request, workflow_id)

    @takes(body=VerdictWish)
    async def decide(self, request: web.Request) -> Json[HoldDocument]:
        """Give the verdict on what is held; refused when it is not the hold of this `id` any more that is meant as `hold`."""
        given = await read_object(request)
        verdict = verdict_from_document({**given, "who": caller(request).name})
        hold = await self._breakpoints.resolve(
            key_of(request), verdict, text(given, "hold") if "hold" in given else None
        )
        log_change(request, f"held action decided ({verdict.verb})", hold.workflow_id)
        said = await self._breakpoints.masked(hold.workflow_id, verdict.why)
        return await self._answer(request, hold, _verdict_in_words(replace(verdict, why=said)))

    @takes(body=ExtensionWish, optional=True)
    async def extend(self, request: web.Request) -> Json[HoldDocument]:
        """Let a hold last longer; `seconds` is a number or a duration such as 30m."""
        document = await read_options(request)
        seconds = _seconds(document.get("seconds", DEFAULT_HOLD_SECONDS))
        why = text(document, "why", "")
        hold = await self._breakpoints.extend(key_of(request), seconds, caller(request).name, why)
        log_change(request, "hold extended", hold.workflow_id)
        said = await self._breakpoints.masked(hold.workflow_id, why)
        return await self._answer(request, hold, f"for {show_duration(seconds)}{said and ': '}{said}")

    async def _standing(self, request: web.Request, workflow_id: str) -> Json[BreakpointsDocument]:
        told = breakpoints_document(await self._breakpoints.standing(workflow_id))
        # What is held has output of the action, and what others decided.
        return answered(told if may_look(request) else {**told, "held": None})

    async def _answer(self, request: web.Request, hold: Hold, done: str) -> Json[HoldDocument]:
        """The hold after what was `done` in words, which the audit is told with the action."""
        explain(request, done)
        workflow = await self._workflows.get(hold.workflow_id)
        made = await self._workflows.attempts(hold.workflow_id)
        position = next(each.position for each in made if each.token == hold.attempt)
        explain(request, f"{full_name(workflow.actions[position].action)}: {done}")
        if not may_look(request) and hold.outcome is not None:
            hold = replace(hold, outcome=Outcome(state=hold.outcome.state, reason=hold.outcome.reason))
        return answered(hold_document(hold, workflow.actions[position].action))


def _in_words(change: Change) -> str:
    """What is armed or cleared, for the audit."""
    told = [
        "on failure" if change.on_failure else "",
        f"before {', '.join(change.before)}" if change.before else "",
        f"after {', '.join(change.after)}" if change.after else "",
        f"timeout {change.timeout} s" if change.timeout is not None else "",
        f"on expiry {change.on_expiry}" if change.on_expiry is not None else "",
    ]
    return "; ".join(each for each in told if each)


def _verdict_in_words(verdict: Verdict) -> str:
    """A verdict for the audit; of a command there is its digest, and of variables their names: their values may be secret."""
    told = [
        f"{verdict.verb}{' in a fresh container' if verdict.fresh else ''}",
        f"with the command {digest_of({'command': list(verdict.command)})}" if verdict.command is not None else "",
        f"with {', '.join(verdict.environment)}" if verdict.environment else "",
        verdict.why,
    ]
    return "; ".join(each for each in told if each)


def _waits(workflow: Mapping[str, Any]) -> bool:
    """Whether it is held, and undecided."""
    held = workflow["held"]
    return held is not None and held["verdict"] is None


def _known(entry: object, names: tuple[str, ...]) -> Mapping[str, Any]:
    """An object that has nothing but these; raises Invalid naming all that is unknown."""
    if not isinstance(entry, dict):
        raise Invalid(f"expected an object with {', '.join(names)}")
    problems = [
        Problem(key=name, text=f"unknown; known here: {', '.join(names)}") for name in entry if name not in names
    ]
    if problems:
        raise Invalid(f"{counted(len(problems), 'problem')}", problems)
    return entry


def _seconds(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Invalid(f"{value!r} is no duration: give seconds as a number, or text such as 30m")
    return value if isinstance(value, int) else parse_duration(value)


def breakpoints_document(standing: Standing) -> BreakpointsDocument:
    """What is armed of a workflow, and the hold it is in, if any."""
    flow = standing.workflow
    return {
        "id": flow.id,
        "name": flow.name,
        "state": flow.state,
        "armed": asdict(standing.breakpoints),
        "held": held_document(standing),
    }


def hold_documents(standing: Standing, made: Sequence[Attempt]) -> list[HoldDocument]:
    """Every hold of a workflow, oldest first; `made` are its attempts."""
    positions = {each.token: each.position for each in made}
    actions = standing.workflow.actions
    return [
        hold_document(each, actions[positions[each.attempt]].action)
        for each in standing.holds
        if each.attempt in positions
    ]


def hold_document(each: Hold, action: PlannedAction) -> HoldDocument:
    """A hold of an action; `verdicts` are those that may be given on it, none when it has one."""
    return {
        "id": each.id,
        "workflow_id": each.workflow_id,
        "task": action.task,
        "action": action.spec.name,
        "worker": action.worker,
        "attempt": each.attempt,
        "sequence": each.sequence,
        "kind": each.kind,
        "since": time(each.held_at),
        "deadline": time(each.deadline),
        "timeout": each.timeout,
        "on_expiry": each.on_expiry,
        "outcome": outcome(each.outcome),
        "container": each.container,
        "in_place": each.in_place,
        "verdicts": [] if each.verdict else list(verdicts(each.kind)),
        "verdict": _verdict(each.verdict),
        "decided_at": time(each.verdict_at),
        "ended_at": time(each.ended_at),
    }


def held_document(standing: Standing) -> HoldDocument | None:
    """The hold that a workflow is in; what is being stopped is not held."""
    found = standing.hold
    if found is None or standing.workflow.state is not State.RUNNING:
        return None
    action = next(each.action for each in standing.workflow.actions if each.attempt == found.attempt)
    return hold_document(found, action)


def _verdict(given: Verdict | None) -> VerdictDocument | None:
    return asdict(given) if given else None
