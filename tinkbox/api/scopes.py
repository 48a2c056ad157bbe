"""How routes keep to the scope of a token: which machines its bearer may see and change.

What a key means outside of a scope is not found, in the same words as what does not exist: so nothing is learned of it.  A
key that may be asked for is replaced by the id that it means, so that the route means the same.

A machine within may be busy with work outside.  That it is so is told, and nothing else of that work: `MachinesWithin.outside`
says which that is, and what names it, be it a refusal or a part of an answer, becomes OUTSIDE here, before it is answered.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from typing import Any

from aiohttp import web

from tinkbox.api.access import caller, keeps_to_scope
from tinkbox.api.requests import TO_CHANGE, key_of
from tinkbox.door.problems import Handler
from tinkbox.door.requests.live_requests import LiveRequests
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.people.tokens import LEFT_SCOPE, Tokens
from tinkbox.engine.shells.shells import Shells
from tinkbox.engine.workflows.breakpoints import Breakpoints
from tinkbox.engine.workflows.journals import LostWork
from tinkbox.model.access import Caller
from tinkbox.model.errors import Conflict, NotFound, Refusal
from tinkbox.model.history import told_of_others
from tinkbox.model.key_kinds import ToChange
from tinkbox.model.labels import Relabelled
from tinkbox.model.listing import WorkflowListing
from tinkbox.model.telling import OUTSIDE, Telling
from tinkbox.model.text import quoted
from tinkbox.model.workflow import Event, Workflow

_LOOKS = ("GET", "HEAD")


class Scopes:
    """Keeps what is asked of machines and workflows within the scope of who asks."""

    def __init__(self, machines: Machines, breakpoints: Breakpoints) -> None:
        self._machines = machines
        self._breakpoints = breakpoints

    async def machine(self, request: web.Request, person: Caller) -> None:
        """The check of a route whose KEY is a machine; raises NotFound."""
        request.match_info["key"] = self.machine_of(person, key_of(request))

    async def workflow(self, request: web.Request, person: Caller) -> None:
        """The check of a route whose KEY is a workflow: all machines of it have to be within the scope.  Raises NotFound."""
        request.match_info["key"] = await self.workflow_of(person, key_of(request), _to_change(request))

    def machine_of(self, person: Caller, key: str) -> str:
        """The id of the machine that a key means; raises NotFound, and Conflict where it means several."""
        try:
            return self._machines.within(person.scope).find(key).hardware.id
        except NotFound:
            if person.scope is None:
                raise
            raise _none("machine", key, person) from None

    async def workflow_of(self, person: Caller, key: str, to_change: ToChange = ToChange.NO) -> str:
        """The id of the workflow that a key means, all machines of which are within the scope; raises as `machine_of`."""
        if person.scope is None:
            return (await self._breakpoints.standing(key, to_change)).workflow.id
        machine = ""
        with suppress(NotFound, Conflict):
            machine = self.machine_of(person, key)
        ids = self._machines.within(person.scope).ids()
        try:
            return (await self._breakpoints.standing_among(key, ids, machine, to_change)).workflow.id
        except NotFound:
            raise _none("workflow", key, person) from None

    async def either_of(self, person: Caller, key: str) -> tuple[str, str]:
        """The id of the machine, or else of the workflow, that a key means within the scope, and an empty one; raises as `machine_of`."""
        with suppress(NotFound):
            return self.machine_of(person, key), ""
        try:
            return "", await self.workflow_of(person, key)
        except NotFound:
            raise _none("machine and no workflow", key, person) from None

    async def shell(self, person: Caller, key: str, workflow_of: Callable[[str], Awaitable[str]]) -> None:
        """Raises NotFound where the shell that a key means is of no workflow within the scope."""
        try:
            await self.workflow_of(person, await workflow_of(key))
        except (NotFound, Conflict):
            raise _none("shell", key, person) from None

    def listing(self, request: web.Request, wanted: WorkflowListing) -> WorkflowListing:
        """The same list, of the workflows that who asks may see."""
        scope = caller(request).scope
        return wanted if scope is None else replace(wanted, within=self._machines.within(scope).ids())

    async def text_for(self, request: web.Request, telling: Telling) -> str:
        """What who asks may be told of this."""
        return OUTSIDE if telling.text and await self._outside(request, telling.of) else telling.text

    async def lost_for(self, request: web.Request, lost: Sequence[LostWork]) -> list[LostWork]:
        """The same lost histories, of which those that tell of work outside tell no more than that they are there."""
        outside = await self._outside(request, [each for one in lost for each in one.of])
        return [each.within(outside) for each in lost]

    async def events_for(self, request: web.Request, events: Sequence[Event]) -> list[Event]:
        """The same events, of which those that tell of work outside have no words of it (`history.told_of_others`)."""
        outside = await self._outside(request, [each for event in events for each in told_of_others(event)])
        return [
            replace(each, data={**each.data, "message": OUTSIDE, "attempts": []})
            if outside.intersection(told_of_others(each))
            else each
            for each in events
        ]

    def guarding(self, routes: Iterable[web.RouteDef]) -> list[web.RouteDef]:
        """The same routes, of which those that answer whoever has a scope name no work outside where they refuse."""
        return [
            web.RouteDef(each.method, each.path, self._guarded(each.handler), each.kwargs)
            if keeps_to_scope(each.handler)
            else each
            for each in routes
        ]

    def _guarded(self, handler: Any) -> Handler:
        @wraps(handler)
        async def guarded(request: web.Request) -> web.StreamResponse:
            try:
                response: web.StreamResponse = await handler(request)
            except Refusal as refusal:
                if await self._outside(request, refusal.of):
                    raise type(refusal)(f"this is not done because of {OUTSIDE}") from None
                raise
            return response

        return guarded

    async def _outside(self, request: web.Request, ids: Sequence[str]) -> frozenset[str]:
        return await self._machines.work_outside(caller(request).scope, ids) if ids else frozenset()


def end_with_rights(machines: Machines, tokens: Tokens, requests: LiveRequests, shells: Shells) -> None:
    """From now on whatever is under way with a token ends with that, or when a machine leaves its scope, by its labels or altogether."""

    def ended(token: str, why: str) -> None:
        requests.end(token, why)
        shells.look_again()

    def changed(several: Sequence[Relabelled]) -> None:
        requests.end_where(lambda token: tokens.loses(token, several), LEFT_SCOPE)
        shells.look_again()

    tokens.tell_ends(ended)
    machines.labels_changed = changed


def workflow_machines(workflow: Workflow) -> list[str]:
    """The ids of all machines that a workflow has actions for."""
    return list(dict.fromkeys(each.action.worker for each in workflow.actions))


def _to_change(request: web.Request) -> ToChange:
    """What a key is looked up for.  A word that means nothing is refused by the route, which says what it takes."""
    if request.method not in _LOOKS:
        return ToChange.ANY
    with suppress(ValueError):
        return ToChange(request.query.get(TO_CHANGE.name, ToChange.NO))
    return ToChange.NO


def _none(kind: str, key: str, person: Caller) -> NotFound:
    return NotFound(f"no {kind} {quoted(key)} within the scope of {person.name}, {person.scope}")
