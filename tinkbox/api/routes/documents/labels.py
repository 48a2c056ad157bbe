"""`/v1/hardware/KEY/labels` and those of templates and workflows: `{"set": {"rack": "r1"}, "remove": ["gpu"]}`."""

from aiohttp import web

from tinkbox.api.access import caller, keeping_to_scope, may_look, needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.auditing import explain
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import Identity, NamedIdentity
from tinkbox.api.requests import LabelsWish, key_of, label_change_of, read_object, takes
from tinkbox.api.routes.machines.hardware import HardwareKey, changed_document
from tinkbox.api.routes.workflows.templates import TemplateDocument, template_document
from tinkbox.api.scopes import Scopes
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.templates.templates import Templates
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.access import Right
from tinkbox.model.labels import LabelChange, Labels


class LabelledHardware(HardwareKey):
    """All of its record is with it for those who may look."""

    labels: dict[str, str]


class LabelledTemplate(NamedIdentity):
    labels: dict[str, str]


class LabelledWorkflow(Identity):
    labels: dict[str, str]


def routes(machines: Machines, templates: Templates, workflows: Workflows, scopes: Scopes) -> list[web.RouteDef]:
    @takes(body=LabelsWish)
    async def of_machine(request: web.Request) -> Json[LabelledHardware]:
        """Set and remove labels of a machine."""
        change = await _change(request)
        status = await machines.label(key_of(request), change, caller(request).scope)
        log_change(request, "hardware labelled", status.hardware.id)
        labels = _shown(request, status.hardware.labels, change)
        return answered({**changed_document(request, status), "labels": labels})

    @takes(body=LabelsWish)
    async def of_template(request: web.Request) -> Json[TemplateDocument | LabelledTemplate]:
        """Set and remove labels of a template."""
        change = await _change(request)
        template_id = await templates.label(key_of(request), change)
        log_change(request, "template labelled", template_id)
        found = await templates.get(template_id)
        if may_look(request):
            return answered(template_document(found))
        return answered({"id": found.id, "name": found.name, "labels": dict(change.set)})

    @takes(body=LabelsWish)
    async def of_workflow(request: web.Request) -> Json[LabelledWorkflow]:
        """Set and remove labels of a workflow."""
        change = await _change(request)
        workflow_id = await workflows.label(key_of(request), change)
        log_change(request, "workflow labelled", workflow_id)
        labels = _shown(request, await workflows.labels(workflow_id), change)
        return answered({"id": workflow_id, "labels": labels})

    return needing(
        Right.OPERATE,
        *keeping_to_scope(scopes.machine, web.patch("/v1/hardware/{key}/labels", of_machine)),
        web.patch("/v1/templates/{key}/labels", of_template),
        *keeping_to_scope(scopes.workflow, web.patch("/v1/workflows/{key}/labels", of_workflow)),
    )


async def _change(request: web.Request) -> LabelChange:
    """What is asked for, which the audit is told in words as well."""
    change = label_change_of(await read_object(request))
    told = [
        ", ".join(f"{key}={value}" for key, value in change.set),
        ", ".join(f"{key} removed" for key in change.removed),
    ]
    explain(request, "; ".join(each for each in told if each))
    return change


def _shown(request: web.Request, labels: Labels, change: LabelChange) -> dict[str, str]:
    """All `labels` for those who may look, else those that were set."""
    return dict(labels if may_look(request) else change.set)
