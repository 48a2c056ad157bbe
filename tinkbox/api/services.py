"""The operator door's routes about services: where they stand, and what they print.

    GET /v1/services                                   every service
    GET /v1/services?workflow=KEY                      those of one workflow
    GET /v1/services/logs?service=[WORKFLOW/]SERVICE   what one printed; `follow` and events are as for workflows

Keys stand in the query, where a name may have any letters: a space is `%20` or `+`, and `/` may stand as it is.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from tinkbox.api import documents
from tinkbox.api.access import needing
from tinkbox.api.logs import Changed, Look, Run, Source, answer
from tinkbox.engine.services.services import Listed, Printed
from tinkbox.model.access import Right
from tinkbox.model.errors import Invalid
from tinkbox.model.services import ENDED

Hostnames = Callable[[], Awaitable[Mapping[str, str]]]


class Services(Protocol):
    """What is to be seen of services (`engine.services.services`)."""

    async def all(self, key: str = "") -> list[Listed]: ...
    async def logs(self, key: str, offsets: Mapping[str, int]) -> list[Printed]: ...


def routes(
    services: Services, url_of: Callable[[str], str], hostnames: Hostnames, changed: Changed
) -> list[web.RouteDef]:
    """`url_of` is where machines reach the services of a workflow, `hostnames` are those of machines by their id."""
    door = _ServiceDoor(services=services, url_of=url_of, hostnames=hostnames, changed=changed)
    return needing(Right.LOOK, web.get("/v1/services", door.show_list), web.get("/v1/services/logs", door.logs))


def output_of_service(services: Services, key: str) -> Source:
    """What a service prints, until it is not started again."""

    async def look(offsets: Mapping[str, int]) -> Look:
        printed = await services.logs(key, offsets)
        runs = [_run(each, number) for number, each in enumerate(printed, 1)]
        return Look(runs=runs, over=printed[-1].status.standing.phase in ENDED)

    return look


def _run(printed: Printed, number: int) -> Run:
    name = printed.status.service.name
    about = {"workflow_id": printed.workflow_id, "service": name, "run": printed.run, "number": number}
    again = f", run {number}" if number > 1 else ""
    return Run(token=printed.run, heading=f"{name}{again}", about=about, pieces=printed.pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ServiceDoor:
    services: Services
    url_of: Callable[[str], str]
    hostnames: Hostnames
    changed: Changed

    async def show_list(self, request: web.Request) -> web.Response:
        hostnames = await self.hostnames()
        return web.json_response(
            [
                {
                    "id": f"{each.workflow_id}/{each.status.service.name}",
                    "workflow_id": each.workflow_id,
                    "workflow": each.workflow,
                    "workflow_state": each.state,
                    "url": self.url_of(each.workflow_id),
                    **documents.service(each.status, hostnames),
                }
                for each in await self.services.all(request.query.get("workflow", ""))
            ]
        )

    async def logs(self, request: web.Request) -> web.StreamResponse:
        key = request.query.get("service", "")
        if not key:
            raise Invalid("which service? give ?service=[WORKFLOW/]SERVICE")
        # From now on it is this one, whatever else will be called so.
        printed = (await self.services.logs(key, {}))[0]
        found = f"{printed.workflow_id}/{printed.status.service.name}"
        return await answer(request, output_of_service(self.services, found), self.changed)
