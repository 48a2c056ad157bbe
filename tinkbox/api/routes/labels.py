"""`/v1/hardware/KEY/labels` and those of templates and workflows: `{"set": {"rack": "r1"}, "remove": ["gpu"]}`."""

from aiohttp import web

from tinkbox.api.access import may_look, needing
from tinkbox.api.changes import log_change
from tinkbox.api.requests import key_of, label_change_of, read_object
from tinkbox.api.routes.hardware import changed_document
from tinkbox.api.routes.templates import template_document
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.templates.templates import Templates
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.access import Right


def routes(machines: Machines, templates: Templates, workflows: Workflows) -> list[web.RouteDef]:
    async def of_machine(request: web.Request) -> web.Response:
        status = await machines.label(key_of(request), label_change_of(await read_object(request)))
        log_change(request, "hardware labelled", status.hardware.id)
        return web.json_response(changed_document(request, status))

    async def of_template(request: web.Request) -> web.Response:
        template_id = await templates.label(key_of(request), label_change_of(await read_object(request)))
        log_change(request, "template labelled", template_id)
        told = template_document(await templates.get(template_id))
        if not may_look(request):
            del told["data"]  # it may have secrets
        return web.json_response(told)

    async def of_workflow(request: web.Request) -> web.Response:
        workflow_id = await workflows.label(key_of(request), label_change_of(await read_object(request)))
        log_change(request, "workflow labelled", workflow_id)
        return web.json_response({"id": workflow_id, "labels": await workflows.labels(workflow_id)})

    return needing(
        Right.OPERATE,
        web.patch("/v1/hardware/{key}/labels", of_machine),
        web.patch("/v1/templates/{key}/labels", of_template),
        web.patch("/v1/workflows/{key}/labels", of_workflow),
    )
