"""What was changed of machines, templates and workflows, for the audit: the digests of their documents before and after a request.

Before it are those that a request names; one that names none, such as a list of machines, may change any of its kind.  What somebody
else changed meanwhile counts as well: the digest after one line and that before the next then tell of the same change.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any, Final, Protocol

from aiohttp import hdrs, web

from tinkbox.api.auditing import record_of
from tinkbox.door.problems import Handler
from tinkbox.door.requests.auditing import Record
from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.engine.templates.templates import Templates
from tinkbox.engine.workflows.audited import workflow_digest
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.audit import Changed, digest_of
from tinkbox.model.errors import NotFound, Refusal
from tinkbox.store.hardware import MachineRecord
from tinkbox.store.templates import Template

# A thing's id, and the digest of its document; after the first word of what was done it is found again by that id.
Found = tuple[str, str]
Before = Callable[[str], str]
_SLICE: Final = 32
_NEW: Final = ("created", "added", "accepted", "pushed")


class Documents(Protocol):
    """The documents of one kind."""

    async def of(self, key: str) -> Found:
        """What a key means; raises a refusal."""

    async def before(self) -> Before | None:
        """The digests of all of them, by their ids, empty: there is none; None: there are too many to look at."""


class MachineDocuments:
    """What machines are told to be: their documents and labels."""

    def __init__(self, known: KnownMachines) -> None:
        self._known = known

    async def of(self, key: str) -> Found:
        record = self._known.find(key)
        return record.hardware.id, _of_machine(record)

    async def before(self) -> Before:
        records = {each.hardware.id: each for each in self._known.all()}
        return lambda identity: _of_machine(records[identity]) if identity in records else ""


class TemplateDocuments:
    """Templates, with names and labels."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    async def of(self, key: str) -> Found:
        found = await self._templates.get(key)
        if not isinstance(found, Template):
            raise NotFound(f"template {key} is one of the program")
        return found.id, digest_of({"name": found.name, "data": found.data, "labels": dict(found.labels)})

    async def before(self) -> Before:
        digests = dict[str, str]()
        for each in await self._templates.all():
            with suppress(Refusal):  # deleted meanwhile
                digests.update([await self.of(each.id)])
        return lambda identity: digests.get(identity, "")


class WorkflowDocuments:
    """Workflows: what was rendered, and their state."""

    def __init__(self, workflows: Workflows) -> None:
        self._workflows = workflows

    async def of(self, key: str) -> Found:
        found = await self._workflows.get(key)
        return found.id, workflow_digest(found)

    async def before(self) -> None:
        return None


def comparing(routes: Iterable[web.RouteDef], kinds: Mapping[str, Documents]) -> list[web.RouteDef]:
    """The same routes, of which those that change something tell the audit digests of documents; `kinds` are by the first word of what is done."""
    return [
        each
        if each.method == hdrs.METH_GET
        else web.RouteDef(each.method, each.path, _comparing(each.path, each.handler, kinds), each.kwargs)
        for each in routes
    ]


def _comparing(path: str, handler: Any, kinds: Mapping[str, Documents]) -> Handler:
    # `/v1/templates/{key}` names a template, and `/v1/apply` nothing.
    own = next((kind for kind in kinds if path.startswith(f"/v1/{kind}")), "")
    names_one, may_be_many = own and "{key}" in path, path in ("/v1/apply", "/v1/discovered/{key}/accept") or own

    @wraps(handler)
    async def compared(request: web.Request) -> web.StreamResponse:
        record = record_of(request)
        if record is None or not may_be_many:
            response: web.StreamResponse = await handler(request)
            return response
        before = dict[str, Before]()
        if names_one:
            with suppress(Refusal):
                identity, digest = await kinds[own].of(request.match_info["key"])
                before[own] = {identity: digest}.__getitem__
        else:
            for kind in [own] if own else kinds:
                if (all_of_them := await kinds[kind].before()) is not None:
                    before[kind] = all_of_them
        try:
            return await handler(request)  # type: ignore[no-any-return]
        finally:
            await _tell(record, kinds, before)

    return compared


async def _tell(record: Record, kinds: Mapping[str, Documents], before: Mapping[str, Before]) -> None:
    """Add what differs of those things that something was done to."""
    things = dict.fromkeys(
        (each.what.split(" ", 1)[0], each.which.split(",", 1)[0], each.what.endswith(_NEW)) for each in record.did
    )
    for number, (kind, identity, is_new) in enumerate(things):
        if kind not in kinds:
            continue
        try:
            old = before[kind](identity)
        except KeyError:  # nobody looked at it before
            if not is_new:
                continue
            old = ""
        new = await _now(kinds[kind].of, identity)
        if old != new:
            record.changed.append(Changed(kind, identity, old, new))
        if number % _SLICE == _SLICE - 1:
            await asyncio.sleep(0)


async def _now(of: Callable[[str], Awaitable[Found]], identity: str) -> str:
    try:
        return (await of(identity))[1]
    except Refusal:
        return ""


def _of_machine(record: MachineRecord) -> str:
    return digest_of({"document": dict(record.hardware.document), "labels": dict(record.hardware.labels)})
