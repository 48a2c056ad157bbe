"""`/v1/workflows/plan`: what would happen, without making anything."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from aiohttp import web

from tinkbox.api.access import caller, needing
from tinkbox.api.json_values import Document
from tinkbox.api.requests import devices_of, read_object, takes, text_field
from tinkbox.door.client_presence import WhileThere
from tinkbox.engine.views.workflow_plans import WorkflowPlan, WorkflowPlans
from tinkbox.model.access import Right
from tinkbox.model.hardware import called, primary
from tinkbox.store.hardware import MachineRecord

ASKED: Final = ("template", "machine", "hardware")


def routes(plans: WorkflowPlans, osie: Callable[[], Sequence[Mapping[str, Any]]]) -> list[web.RouteDef]:
    @takes(body=ASKED)
    async def plan(request: web.Request) -> web.Response:
        """What a workflow would do; nothing is stored."""
        document = await read_object(request)
        machine = text_field(document, "machine") if document.get("machine") is not None else ""
        parameters = devices_of(document) if document.get("hardware") is not None or not machine else {}
        architectures = {str(each["architecture"]) for each in osie()}
        async with WhileThere(request):
            found = await plans.plan(
                text_field(document, "template"), machine, parameters, architectures, caller(request).name
            )
        return web.json_response(plan_document(found))

    return needing(Right.LOOK, web.post("/v1/workflows/plan", plan))


def plan_document(plan: WorkflowPlan) -> Document:
    return {
        "template": {"id": plan.template.id, "name": plan.template.name},
        "name": plan.name,
        "possible": not plan.blocked,
        "obstacles": [asdict(each) for each in plan.obstacles],
        "machines": [_machine(each) for each in plan.machines],
        "devices": dict(plan.devices),
        "unused": list(plan.unused),
        "actions": [{"number": number, **asdict(each)} for number, each in enumerate(plan.steps, 1)],
        "services": [asdict(each) for each in plan.services],
        "breakpoints": asdict(plan.breakpoints),
        "global_timeout": plan.global_timeout,
    }


def _machine(record: MachineRecord) -> Document:
    hardware, shown = record.hardware, primary(record.hardware)
    return {
        "id": hardware.id,
        "name": called(hardware),
        "mac": shown.mac,
        "address": str(shown.address or ""),
        "architecture": shown.architecture,
        "ticket": record.ticket,
        "netboots": [str(each.mac) for each in hardware.interfaces if each.allow_pxe],
    }
