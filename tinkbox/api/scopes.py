"""How routes keep to the scope of a token: which machines its bearer may see and change.

What a key means outside of a scope is not found, in the same words as what does not exist: so nothing is learned of it.  A
key that may be asked for is replaced by the id that it means, so that the route means the same.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from aiohttp import web

from tinkbox.api.access import caller
from tinkbox.api.requests import key_of
from tinkbox.door.requests.live_requests import LiveRequests
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.machines.machines_within import MachinesWithin
from tinkbox.engine.people.tokens import LEFT_SCOPE, Tokens
from tinkbox.engine.workflows.breakpoints import Breakpoints
from tinkbox.model.access import Caller
from tinkbox.model.errors import Conflict, NotFound
from tinkbox.model.hardware import Hardware
from tinkbox.model.key_kinds import ToChange
from tinkbox.model.labels import Relabelled, Selector
from tinkbox.model.listing import WorkflowListing
from tinkbox.model.text import quoted
from tinkbox.model.workflow import Workflow

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
        key = key_of(request)
        request.match_info["key"] = await self.workflow_of(
            person, key, ToChange.NO if request.method in _LOOKS else ToChange.ANY
        )

    def machine_of(self, person: Caller, key: str) -> str:
        """The id of the machine that a key means; raises NotFound, and Conflict where it means several."""
        within = MachinesWithin(self._machines.known, person.scope)
        try:
            return within.find(key).hardware.id
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
        ids = self.ids(person.scope)
        try:
            return (await self._breakpoints.standing_among(key, ids, machine, to_change)).workflow.id
        except NotFound:
            raise _none("workflow", key, person) from None

    async def shell(self, person: Caller, key: str, workflow_of: Callable[[str], Awaitable[str]]) -> None:
        """Raises NotFound where the shell that a key means is of no workflow within the scope."""
        try:
            await self.workflow_of(person, await workflow_of(key))
        except (NotFound, Conflict):
            raise _none("shell", key, person) from None

    def ids(self, scope: Selector) -> tuple[str, ...]:
        """The ids of the machines within a scope."""
        return tuple(each.hardware.id for each in self._machines.known.all() if scope.matches(each.hardware.labels))

    def listing(self, request: web.Request, wanted: WorkflowListing) -> WorkflowListing:
        """The same list, of the workflows that who asks may see."""
        scope = caller(request).scope
        return wanted if scope is None else replace(wanted, within=self.ids(scope))


def end_beyond_scopes(machines: Machines, tokens: Tokens, requests: LiveRequests) -> None:
    """From now on whatever is under way with a token ends when a machine leaves its scope, by its labels or altogether."""

    def changed(several: Sequence[Relabelled]) -> None:
        requests.end_where(lambda token: tokens.loses(token, several), LEFT_SCOPE)

    machines.labels_changed = changed


def workflow_machines(workflow: Workflow) -> list[str]:
    """The ids of all machines that a workflow has actions for."""
    return list(dict.fromkeys(each.action.worker for each in workflow.actions))


def is_within(request: web.Request, machine: Hardware) -> bool:
    """Whether who asks may see a machine."""
    scope = caller(request).scope
    return scope is None or scope.matches(machine.labels)


def _none(kind: str, key: str, person: Caller) -> NotFound:
    return NotFound(f"no {kind} {quoted(key)} within the scope of {person.name}, {person.scope}")
