"""`/v1/status`, the appliance at a glance, and `/healthz`.

`?after=PLACE` answers what changed since that place was told, with the work on each machine; `?after=` everything.
`/healthz?verbose` has every condition that the doctor's rounds found; without it, it only tells that the appliance answers.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import NotRequired, TypedDict

from aiohttp import web

from tinkbox import __version__
from tinkbox.api.access import by_itself, caller, keeping_to_scope, needing
from tinkbox.api.answers import Json, answered, written
from tinkbox.api.json_values import Time, time
from tinkbox.api.long_answers import turn
from tinkbox.api.parameters import VERBOSE, Parameter
from tinkbox.api.requests import takes
from tinkbox.engine.doctor.rounds import Rounds
from tinkbox.engine.turns import in_slices
from tinkbox.engine.views.overview import Overview, limit_lines
from tinkbox.engine.views.status_changes import StatusChanges
from tinkbox.model.access import Right
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.errors import Forbidden
from tinkbox.model.leases import Claimant
from tinkbox.model.limits import Standing
from tinkbox.wire.messages.status import (
    Snapshot,
    encode_snapshot,
    encode_snapshot_machine,
    encode_snapshot_workflow,
)


class HealthCondition(TypedDict):
    rule: str
    gravity: Gravity
    since: Time | None
    machine: str
    workflow: str
    subject: str
    cause: str
    evidence: list[str]
    remedy: str


class Health(TypedDict):
    version: str
    status: str
    conditions: NotRequired[list[HealthCondition]]


def routes(
    overview: Overview,
    changes: StatusChanges,
    limits: Callable[[], Sequence[Standing]],
    claimants: Callable[[], Sequence[Claimant]],
    rounds: Rounds,
) -> list[web.RouteDef]:
    @takes(Parameter("after", may_be_empty=True))
    async def status(request: web.Request) -> Json[Snapshot]:
        """The appliance at a glance; with `after`, the `place` of an earlier answer or nothing, what changed since.

        A token with a scope is told of its machines alone.
        """
        place, scope = request.query.get("after"), caller(request).scope
        if scope is not None:
            async with turn(request):
                if place is None:
                    return written(await _whole(await overview.within(scope, __version__)))
                return written(await changes.within(scope, place, __version__))
        notable = limit_lines(limits(), claimants())
        if place is None:
            async with turn(request):
                text = await _whole(replace(await overview.snapshot(__version__), limits=notable))
        else:
            async with turn(request) if changes.tells_much(place) else nullcontext():
                text = await changes.after(
                    place, __version__, notable, rounds.appliance(), examined=rounds.have_examined
                )
        return written(text)

    @takes(VERBOSE)
    async def health(request: web.Request) -> Json[Health]:
        """Whether the appliance answers, and its version; with `verbose`, all that is wrong with it, its machines and workflows, which no token with a scope is told."""
        told: Health = {"version": __version__, "status": "ok"}
        if "verbose" in request.query:
            person = caller(request)
            if person.scope is not None:
                raise Forbidden(
                    f"{person.name} has the scope {person.scope}, and `{VERBOSE.name}` tells of all machines and the appliance: leave "
                    "it out to learn whether that answers, and `tinkbox doctor` (/v1/doctor) examines the machines with these labels"
                )
            async with turn(request):
                told["conditions"] = await in_slices(condition, rounds.all())
                return answered(told)
        return answered(told)

    return needing(
        Right.LOOK,
        *keeping_to_scope(by_itself, web.get("/healthz", health), web.get("/v1/status", status)),
    )


async def _whole(snapshot: Snapshot) -> str:
    machines = await in_slices(encode_snapshot_machine, snapshot.machines)
    return encode_snapshot(snapshot, machines, await in_slices(encode_snapshot_workflow, snapshot.workflows))


def condition(found: Diagnosis) -> HealthCondition:
    """`machine` is a MAC and `workflow` an id; both are empty for the appliance itself.

    `subject` tells several of one rule apart, and may be empty.
    """
    return {
        "rule": found.rule,
        "gravity": found.gravity,
        "since": time(found.since),
        "machine": found.machine,
        "workflow": found.workflow,
        "subject": found.subject,
        "cause": found.cause,
        "evidence": list(found.evidence),
        "remedy": found.remedy,
    }
