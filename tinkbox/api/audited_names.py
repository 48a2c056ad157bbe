"""What the things of a line of the audit are called: each is found there by every name that it has when the line is made.

A machine has its id, its names, and its addresses; a workflow its id, its name, its template's, and all of its machines'; a
rollout its template's and those of its machines.  What nobody finds has what was typed alone.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from aiohttp import web

from tinkbox.api.auditing import named_by
from tinkbox.api.scopes import workflow_machines
from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.engine.rollouts.rollouts import Rollouts
from tinkbox.engine.shells.shells import Shells
from tinkbox.engine.templates.templates import Templates
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.errors import Refusal
from tinkbox.model.hardware import addressed_by, names_of

_SLICE: Final = 64
_OF_A_WORKFLOW: Final = ("workflow", "breakpoints", "held", "hold", "lost")


class Names:
    """Finds them, by what a path names and by what was done."""

    def __init__(
        self, known: KnownMachines, templates: Templates, workflows: Workflows, rollouts: Rollouts, shells: Shells
    ) -> None:
        self._known = known
        self._templates = templates
        self._workflows = workflows
        self._rollouts = rollouts
        self._shells = shells

    async def of_path(self, request: web.Request) -> Sequence[str]:
        """All names of what the path of a request names; none for what is not there."""
        key, session = request.match_info.get("key", ""), request.match_info.get("id", "")
        resource = request.match_info.route.resource
        noun = resource.canonical.split("/")[2] if resource is not None else ""
        with suppress(Refusal):
            if noun == "shells" and session:
                return [session, *await self._of_workflow(await self._shells.workflow_of(session))]
            if not key:
                return []
            if noun in ("hardware", "discovered"):
                return self._of_machine(self._known.find(key).hardware.id)
            if noun == "workflows":
                return await self._of_workflow(key)
            if noun == "templates":
                template = await self._templates.get(key)
                return [template.id, template.name]
            if noun == "rollouts":
                return await self._of_rollout(key)
        return []

    async def of_done(self, what: str, which: str) -> Sequence[str]:
        """All names of the thing with an id that something was done to, after what was done, such as `workflow created`."""
        if machine := self._of_machine(which):
            return machine
        kind = what.split(" ", 1)[0]
        with suppress(Refusal):
            if kind in _OF_A_WORKFLOW:
                return await self._of_workflow(which)
            if kind == "rollout":
                return await self._of_rollout(which)
        return []

    async def _of_workflow(self, key: str) -> list[str]:
        flow = await self._workflows.get(key)
        machines = await self._of_machines(workflow_machines(flow))
        return [flow.id, flow.name, flow.template_id, flow.template_name, *machines]

    async def _of_rollout(self, key: str) -> list[str]:
        rollout = (await self._rollouts.get(key)).rollout
        members = (await self._rollouts.members(rollout.id)).members
        machines = await self._of_machines(each.machine for each in members)
        return [rollout.id, rollout.template_name, *machines]

    async def _of_machines(self, ids: Iterable[str]) -> list[str]:
        found = list[str]()
        for number, each in enumerate(ids):
            found += self._of_machine(each) or [each]
            if number % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)
        return found

    def _of_machine(self, identity: str) -> list[str]:
        record = self._known.get(identity)
        return [] if record is None else [identity, *names_of(record.hardware), *addressed_by(record.hardware)]


def naming(routes: Iterable[web.RouteDef], names: Names) -> list[web.RouteDef]:
    """The same routes, whose lines have all names of what they are about."""
    return [web.RouteDef(each.method, each.path, named_by(each.handler, names), each.kwargs) for each in routes]
