"""`/v1/discovered`: unknown machines that introduced themselves: who waits, who is accepted, who is refused."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, TypedDict

from aiohttp import web

from tinkbox.api.access import caller, needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import Document, NamedIdentity, Time
from tinkbox.api.long_answers import in_turn, json_list
from tinkbox.api.requests import key_of, read_options, takes
from tinkbox.engine.discovery.discovery import Discovery
from tinkbox.model.access import Right
from tinkbox.model.discovery import Standing, Stranger
from tinkbox.model.documents.agent_attributes import agent_attributes
from tinkbox.model.hardware import MacAddress
from tinkbox.model.inventory import Inventory, summary
from tinkbox.wire.messages.json_fields import flag, mapping, text


class AcceptanceWish(TypedDict, total=False):
    name: str
    address: str
    gateway: str
    template: str
    hardware: dict[str, str]
    confirm_wipe: bool


class DiscoveredDocument(TypedDict):
    mac: str
    standing: Standing
    port: str
    architecture: str
    first_seen: Time
    last_seen: Time
    problem: str
    summary: str
    inventory: Annotated[Document, Inventory] | None
    attributes: Document | None


class AcceptedDocument(NamedIdentity):
    workflow: str


class RefusedDocument(TypedDict):
    mac: str


def routes(discovery: Discovery) -> list[web.RouteDef]:
    """`accept` answers with the machine's id and name, and the workflow's id, empty without a template."""

    async def show(_: web.Request) -> Json[list[DiscoveredDocument]]:
        """The unknown machines that introduced themselves."""
        return await json_list(discovery.all(), stranger)

    @takes(body=AcceptanceWish, optional=True)
    async def accept(request: web.Request) -> Json[AcceptedDocument]:
        """Register one, and make its workflow where a `template` is named."""
        document = await read_options(request)
        enrolled = await discovery.accept(
            _mac(request),
            name=text(document, "name", ""),
            address=text(document, "address", ""),
            gateway=text(document, "gateway", ""),
            template=text(document, "template", ""),
            devices=mapping(document, "hardware"),
            who=caller(request).name,
            confirm_wipe=flag(document, "confirm_wipe"),
        )
        hardware = enrolled.hardware
        log_change(request, "hardware accepted", hardware.id)
        log_change(request, "workflow created", *filter(None, [enrolled.workflow_id]))
        return answered({"id": hardware.id, "name": hardware.name, "workflow": enrolled.workflow_id}, status=201)

    async def refuse(request: web.Request) -> Json[RefusedDocument]:
        """Stop answering one."""
        mac = _mac(request)
        await discovery.refuse(mac)
        log_change(request, "unknown machine refused", mac)
        return answered({"mac": mac})

    return [
        *needing(Right.LOOK, *in_turn(web.get("/v1/discovered", show))),
        *needing(
            Right.OPERATE,
            web.post("/v1/discovered/{key}/accept", accept),
            web.post("/v1/discovered/{key}/refuse", refuse),
        ),
    ]


def stranger(found: Stranger) -> DiscoveredDocument:
    """A machine that nobody knows, as a document; `inventory` is None until it told, and `attributes` is what rule sets match on."""
    return {
        "mac": found.mac,
        "standing": found.standing,
        "port": found.port,
        "architecture": found.architecture,
        "first_seen": found.first_seen.isoformat(),
        "last_seen": found.last_seen.isoformat(),
        "problem": found.problem,
        "summary": summary(found.inventory) if found.inventory else "",
        "inventory": _document(found.inventory) if found.inventory else None,
        "attributes": agent_attributes(found.inventory) if found.inventory else None,
    }


def inventory(told: tuple[Inventory, datetime] | None) -> dict[str, Any] | None:
    """What a known machine told last, as a document; None when it never did."""
    return {**_document(told[0]), "told_at": told[1].isoformat()} if told else None


def _document(told: Inventory) -> dict[str, Any]:
    """Without `devices` when there are none."""
    return {name: value for name, value in asdict(told).items() if value or name != "devices"}


def _mac(request: web.Request) -> MacAddress:
    return MacAddress(key_of(request))
