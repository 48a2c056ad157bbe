"""The operator door's routes.  What they ask of the engine is one call each; refusals are mapped at the edge."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from aiohttp import web

from tinkbox import __version__
from tinkbox.api import breakpoints, discovery, doctor, documents, intake, leases, seen, services, shells
from tinkbox.api.access import MAX_DOCUMENT, caller, is_number, needing, read_object, text_field
from tinkbox.api.logs import EVENT_STREAM, answer, output_of_actions, stream_events, streamed
from tinkbox.api.metrics import CONTENT_TYPE, Answers, page
from tinkbox.door.bodies import body_of
from tinkbox.engine.discovery.discovery import Discovery
from tinkbox.engine.machines.boot_history import Seen
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.services.routing_table import Directory
from tinkbox.engine.services.services import Services
from tinkbox.engine.shells.shells import Shells
from tinkbox.engine.templates.templates import Templates
from tinkbox.engine.views.metrics import Meter
from tinkbox.engine.views.overview import Overview
from tinkbox.engine.workflows.breakpoints import Breakpoints
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.access import Right
from tinkbox.model.errors import Invalid
from tinkbox.model.firmware_traits import FirmwareTraits
from tinkbox.model.hardware import Hardware, primary
from tinkbox.model.leases import Lease
from tinkbox.model.workflow import Workflow
from tinkbox.wire.dhcp.foreign_servers import ForeignLines
from tinkbox.wire.messages.json_fields import flag
from tinkbox.wire.messages.status import encode_snapshot


class Images(Protocol):
    """The image registry, as far as the operator loads, lists and deletes images."""

    async def load(self, stream: AsyncIterator[bytes]) -> Sequence[str]: ...
    async def images(self) -> Sequence[Mapping[str, Any]]: ...
    async def delete(self, reference: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorDoor:
    """Everything the operator door speaks to.

    `server` and `registry` are how machines reach the node door; `osie` lists what was built;
    `foreign` is what other DHCP servers have to be told, empty where they are told nothing;
    `answers` counts those of the node door (`door.traffic`); `leases` lists the addresses of pools; `firmware_traits` is what was
    learned of a machine's firmware.
    """

    machines: Machines
    seen: Seen
    discovery: Discovery
    examiner: doctor.Examiner
    foreign: Sequence[ForeignLines]
    templates: Templates
    workflows: Workflows
    overview: Overview
    breakpoints: Breakpoints
    services: Services
    directory: Directory
    shells: Shells
    images: Images
    meter: Meter
    answers: Answers
    leases: Callable[[], Sequence[Lease]]
    osie: Callable[[], Sequence[Mapping[str, Any]]]
    server: str
    registry: str
    firmware_traits: Callable[[Hardware], FirmwareTraits] = lambda _: FirmwareTraits()

    def routes(self) -> list[web.RouteDef]:
        return [
            *needing(
                Right.LOOK,
                web.get("/healthz", self.health),
                web.get("/metrics", self.metrics),
                web.get("/v1/status", self.status),
                web.get("/v1/events", self.events),
                web.get("/v1/hardware", self.list_hardware),
                web.get("/v1/hardware/{key}", self.get_hardware),
                web.get("/v1/templates", self.list_templates),
                web.post("/v1/templates/validate", self.validate_template),
                web.get("/v1/templates/{key}", self.get_template),
                web.get("/v1/workflows", self.list_workflows),
                web.get("/v1/workflows/{key}", self.get_workflow),
                web.get("/v1/workflows/{key}/state", self.workflow_state),
                web.get("/v1/workflows/{key}/events", self.workflow_events),
                web.get("/v1/workflows/{key}/logs", self.workflow_logs),
                web.get("/v1/workflows/{key}/data", self.workflow_data),
                web.get("/v1/workflows/{key}/data/versions", self.workflow_data_versions),
                web.get("/v1/images", self.list_images),
                web.get("/v1/osie", self.list_osie),
            ),
            *needing(
                Right.OPERATE,
                web.post("/v1/hardware", self.push_hardware),
                web.delete("/v1/hardware/{key}", self.delete_hardware),
                web.get("/v1/hardware/{key}/credential", self.credential),
                web.post("/v1/templates", self.create_template),
                web.put("/v1/templates/{key}", self.update_template),
                web.delete("/v1/templates/{key}", self.delete_template),
                web.post("/v1/workflows", self.create_workflow),
                web.delete("/v1/workflows/{key}", self.delete_workflow),
                web.post("/v1/workflows/{key}/cancel", self.cancel_workflow),
                web.post("/v1/workflows/{key}/retry", self.retry_workflow),
                web.post("/v1/images", self.load_images),
                web.delete("/v1/images", self.delete_image),
            ),
            *leases.routes(self.leases, self.machines.holder),
            *breakpoints.routes(self.breakpoints, self.workflows),
            *discovery.routes(self.discovery),
            *services.routes(self.services, self.directory.url_of, self._hostnames, self.workflows.changed),
            *shells.routes(self.shells),
            *seen.routes(self.seen),
            *doctor.routes(self.examiner, self.foreign),
        ]

    async def health(self, _: web.Request) -> web.Response:
        return web.json_response({"version": __version__, "status": "ok"})

    async def metrics(self, _: web.Request) -> web.Response:
        figures = await self.meter.figures()
        return web.Response(body=page(figures, self.answers).encode(), headers={"Content-Type": CONTENT_TYPE})

    async def status(self, _: web.Request) -> web.Response:
        snapshot = await self.overview.snapshot(__version__)
        return web.Response(text=encode_snapshot(snapshot), content_type="application/json")

    async def events(self, request: web.Request) -> web.StreamResponse:
        given = request.headers.get("Last-Event-ID", "")
        after = int(given) if is_number(given) else await self.workflows.newest_event()
        return await streamed(request, stream_events(self.workflows, after), EVENT_STREAM)

    async def list_hardware(self, _: web.Request) -> web.Response:
        return web.json_response([documents.hardware(each) for each in await self.machines.all()])

    async def push_hardware(self, request: web.Request) -> web.Response:
        return web.json_response(await intake.push_hardware(self.machines, await body_of(request, MAX_DOCUMENT)))

    async def get_hardware(self, request: web.Request) -> web.Response:
        status = await self.machines.get(_key(request))
        told = discovery.inventory(await self.discovery.inventory(status.hardware.id))
        learned = documents.firmware_traits(self.firmware_traits(status.hardware))
        return web.json_response({**documents.hardware(status), "habits": learned, "inventory": told})

    async def delete_hardware(self, request: web.Request) -> web.Response:
        return web.json_response({"id": await self.machines.delete(_key(request))})

    async def credential(self, request: web.Request) -> web.Response:
        credential = self.machines.credential(_key(request), self.server, self.registry)
        return web.json_response(
            {
                "server": credential.server,
                "registry": credential.registry,
                "worker": credential.worker,
                "token": credential.token,
            }
        )

    async def list_templates(self, _: web.Request) -> web.Response:
        return web.json_response([documents.template(each) for each in await self.templates.all()])

    async def create_template(self, request: web.Request) -> web.Response:
        document = await read_object(request)
        name = text_field(document, "name") if document.get("name") else ""
        answer = await intake.create_templates(self.templates, name, text_field(document, "data"))
        return web.json_response(answer, status=201)

    async def validate_template(self, request: web.Request) -> web.Response:
        document = await read_object(request)
        asked = {name: text_field(document, name) for name in ("template", "data") if document.get(name) is not None}
        if len(asked) != 1:
            raise Invalid("give the data of a template, or the key of a stored template")
        devices = _devices(document) if document.get("hardware") is not None else None
        return web.json_response(await intake.validate_templates(self.templates, self.machines, asked, devices))

    async def get_template(self, request: web.Request) -> web.Response:
        return web.json_response(documents.template(await self.templates.get(_key(request))))

    async def update_template(self, request: web.Request) -> web.Response:
        document = await read_object(request)
        given = {name: text_field(document, name) for name in ("name", "data") if document.get(name) is not None}
        if not given:
            raise Invalid("nothing to update: give a name, data, or both")
        if "data" in given:
            given["data"] = await intake.template_text(given["data"])
        return web.json_response({"id": await self.templates.update(_key(request), **given)})

    async def delete_template(self, request: web.Request) -> web.Response:
        return web.json_response({"id": await self.templates.delete(_key(request))})

    async def list_workflows(self, request: web.Request) -> web.StreamResponse:
        return await streamed(request, _listed(self.workflows.pages(), await self._hostnames()), "application/json")

    async def create_workflow(self, request: web.Request) -> web.Response:
        document = await read_object(request)
        wanted = document.get("breakpoints")
        change = None if wanted is None else breakpoints.change_from_document(wanted)
        who, confirmed = caller(request).name, flag(document, "confirm_wipe")
        if document.get("documents") is not None:
            text = text_field(document, "documents")
            answer = await intake.create_workflows(
                self.machines, self.workflows, text, change, who, confirm_wipe=confirmed
            )
        else:
            template, devices = text_field(document, "template"), _devices(document)
            made = await self.workflows.create(template, devices, breakpoints=change, who=who, confirm_wipe=confirmed)
            answer = {"id": made}
        return web.json_response(answer, status=201)

    async def get_workflow(self, request: web.Request) -> web.Response:
        workflow = await self.workflows.get(_key(request))
        made = await self.workflows.attempts(workflow.id)
        document = documents.workflow(workflow, await self._hostnames())
        return web.json_response({**document, "attempts": documents.attempts(workflow, made)})

    async def delete_workflow(self, request: web.Request) -> web.Response:
        return web.json_response({"id": await self.workflows.delete(_key(request))})

    async def cancel_workflow(self, request: web.Request) -> web.Response:
        return await self._standing(await self.workflows.cancel(_key(request)))

    async def retry_workflow(self, request: web.Request) -> web.Response:
        document = await read_object(request) if request.can_read_body else {}
        action = text_field(document, "from") if document.get("from") is not None else None
        confirmed = flag(document, "confirm_wipe")
        return await self._standing(await self.workflows.retry(_key(request), action, confirm_wipe=confirmed))

    async def _standing(self, workflow_id: str) -> web.Response:
        return web.json_response({"id": workflow_id, "state": (await self.workflows.get(workflow_id)).state})

    async def workflow_state(self, request: web.Request) -> web.Response:
        return web.json_response(documents.state(await self.breakpoints.standing(_key(request))))

    async def workflow_events(self, request: web.Request) -> web.Response:
        after = _number(request, "after")
        happened = await self.workflows.events(_key(request))
        return web.json_response([documents.event(each) for each in happened if each.number > after])

    async def workflow_logs(self, request: web.Request) -> web.StreamResponse:
        workflow = await self.workflows.get(_key(request))
        return await answer(request, output_of_actions(self.workflows, workflow.id), self.workflows.changed)

    async def workflow_data(self, request: web.Request) -> web.Response:
        workflow = await self.workflows.get(_key(request))
        version = await self.workflows.data(workflow.id, _number(request, "version"))
        return web.json_response(documents.data(version, workflow, await self.workflows.attempts(workflow.id)))

    async def workflow_data_versions(self, request: web.Request) -> web.Response:
        return web.json_response(documents.data_versions(await self.workflows.data_versions(_key(request))))

    async def list_images(self, _: web.Request) -> web.Response:
        return web.json_response([dict(each) for each in await self.images.images()])

    async def load_images(self, request: web.Request) -> web.Response:
        return web.json_response({"loaded": list(await self.images.load(request.content.iter_any()))})

    async def delete_image(self, request: web.Request) -> web.Response:
        reference = request.query.get("reference", "")
        if not reference:
            raise Invalid("which image? give ?reference=name:tag")
        await self.images.delete(reference)
        return web.json_response({})

    async def _hostnames(self) -> dict[str, str]:
        """Of every machine, by its id."""
        return {each.hardware.id: primary(each.hardware).hostname for each in await self.machines.all()}

    async def list_osie(self, _: web.Request) -> web.Response:
        return web.json_response([dict(each) for each in self.osie()])


def _devices(document: Mapping[str, Any]) -> dict[str, str]:
    devices = document.get("hardware")
    if not isinstance(devices, dict) or not all(isinstance(each, str) for each in devices.values()):
        raise Invalid('hardware is a map of device names to addresses, such as {"device_1": "08:00:27:00:00:01"}')
    return devices


def _key(request: web.Request) -> str:
    return request.match_info["key"]


def _number(request: web.Request, name: str) -> int:
    """A whole number in the query, 0 when it is not there; raises Invalid."""
    given = request.query.get(name, "0")
    if not is_number(given):
        raise Invalid(f"{name} is a whole number such as 3, not {given[:40]!r}")
    return int(given)


async def _listed(pages: AsyncIterator[Sequence[Workflow]], hostnames: Mapping[str, str]) -> AsyncIterator[bytes]:
    """A JSON list, page by page."""
    before = b"["
    async for listed in pages:
        for workflow in listed:
            yield before + json.dumps(documents.workflow(workflow, hostnames)).encode()
            before = b",\n"
    yield b"[]" if before == b"[" else b"]"
