"""`/v1/hardware/KEY/labels` and those of templates and workflows: `{"set": {"rack": "r1"}, "remove": ["gpu"]}`."""

from aiohttp import web

from tinkbox.api.access import may_look, needing
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import Document
from tinkbox.api.requests import LABEL_CHANGE, key_of, label_change_of, read_object, takes
from tinkbox.api.routes.hardware import changed_document
from tinkbox.api.routes.templates import template_document
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.templates.templates import Templates
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.access import Right
from tinkbox.model.labels import LabelChange


def routes(machines: Machines, templates: Templates, workflows: Workflows) -> list[web.RouteDef]:
    @takes(body=LABEL_CHANGE)
    async def of_machine(request: web.Request) -> web.Response:
        """Set and remove labels of a machine."""
        change = label_change_of(await read_object(request))
        status = await machines.label(key_of(request), change)
        log_change(request, "hardware labelled", status.hardware.id)
        return web.json_response(_set_labels(request, changed_document(request, status), change))

    @takes(body=LABEL_CHANGE)
    async def of_template(request: web.Request) -> web.Response:
        """Set and remove labels of a template."""
        change = label_change_of(await read_object(request))
        template_id = await templates.label(key_of(request), change)
        log_change(request, "template labelled", template_id)
        found = await templates.get(template_id)
        told = template_document(found) if may_look(request) else {"id": found.id, "name": found.name}
        return web.json_response(_set_labels(request, told, change))

    @takes(body=LABEL_CHANGE)
    async def of_workflow(request: web.Request) -> web.Response:
        """Set and remove labels of a workflow."""
        change = label_change_of(await read_object(request))
        workflow_id = await workflows.label(key_of(request), change)
        log_change(request, "workflow labelled", workflow_id)
        told = {"id": workflow_id, "labels": await workflows.labels(workflow_id)}
        return web.json_response(_set_labels(request, told, change))

    return needing(
        Right.OPERATE,
        web.patch("/v1/hardware/{key}/labels", of_machine),
        web.patch("/v1/templates/{key}/labels", of_template),
        web.patch("/v1/workflows/{key}/labels", of_workflow),
    )


def _set_labels(request: web.Request, told: Document, change: LabelChange) -> Document:
    """The answer, which has all labels for those who may look, else those that were set."""
    return told if may_look(request) else {**told, "labels": dict(change.set)}
