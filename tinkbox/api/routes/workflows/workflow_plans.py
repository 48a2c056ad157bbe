"""`/v1/workflows/plan`: what would happen, without making anything."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Required, TypedDict

from aiohttp import web

from tinkbox.api.access import caller, may_read_secrets, needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.json_values import Document, NamedIdentity, TextNote
from tinkbox.api.requests import DevicesWish, devices_of, read_object, takes, text_field
from tinkbox.door.connections.client_presence import WhileThere
from tinkbox.engine.views.workflow_plans import Obstacle, PlannedHost, PlannedStep, WorkflowPlan, WorkflowPlans
from tinkbox.model.access import Right
from tinkbox.model.breakpoint import Breakpoints
from tinkbox.model.hardware import address_of, called, mac_of, primary
from tinkbox.store.hardware import MachineRecord


class PlanWish(TypedDict, total=False):
    template: Required[str]
    machine: str | None
    hardware: DevicesWish | None


class MachineOfPlan(NamedIdentity):
    mac: str
    address: str
    architecture: str
    ticket: bool
    netboots: list[str]


class WorkflowPlanDocument(TypedDict):
    """Of `actions` the first has number 1, beside what `PlannedStep` tells."""

    template: NamedIdentity
    name: str
    possible: bool
    obstacles: list[Annotated[Document, Obstacle]]
    notes: list[TextNote]
    machines: list[MachineOfPlan]
    devices: dict[str, Any]
    unused: list[str]
    actions: list[Annotated[Document, PlannedStep]]
    services: list[Annotated[Document, PlannedHost]]
    breakpoints: Annotated[Document, Breakpoints]
    global_timeout: int


def routes(plans: WorkflowPlans, osie: Callable[[], Sequence[Mapping[str, Any]]]) -> list[web.RouteDef]:
    @takes(body=PlanWish)
    async def plan(request: web.Request) -> Json[WorkflowPlanDocument]:
        """What a workflow would do; nothing is stored."""
        document = await read_object(request)
        machine = text_field(document, "machine") if document.get("machine") is not None else ""
        parameters = devices_of(document) if document.get("hardware") is not None or not machine else {}
        architectures = {str(each["architecture"]) for each in osie()}
        async with WhileThere(request):
            found = await plans.plan(
                text_field(document, "template"),
                machine,
                parameters,
                architectures,
                caller(request).name,
                secrets=may_read_secrets(request),
            )
        return answered(plan_document(found))

    return needing(Right.LOOK, web.post("/v1/workflows/plan", plan))


def plan_document(plan: WorkflowPlan) -> WorkflowPlanDocument:
    return {
        "template": {"id": plan.template.id, "name": plan.template.name},
        "name": plan.name,
        "possible": not plan.blocked,
        "obstacles": [asdict(each) for each in plan.obstacles],
        "notes": [{"text": each} for each in plan.notes],
        "machines": [_machine(each) for each in plan.machines],
        "devices": dict(plan.devices),
        "unused": list(plan.unused),
        "actions": [{"number": number, **asdict(each)} for number, each in enumerate(plan.steps, 1)],
        "services": [asdict(each) for each in plan.services],
        "breakpoints": asdict(plan.breakpoints),
        "global_timeout": plan.global_timeout,
    }


def _machine(record: MachineRecord) -> MachineOfPlan:
    hardware, shown = record.hardware, primary(record.hardware)
    return {
        "id": hardware.id,
        "name": called(hardware),
        "mac": mac_of(hardware),
        "address": str(address_of(hardware) or ""),
        "architecture": shown.architecture if shown else "",
        "ticket": record.ticket,
        "netboots": [str(each.mac) for each in hardware.interfaces if each.allow_pxe],
    }
