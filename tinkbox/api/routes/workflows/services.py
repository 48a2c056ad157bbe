"""`/v1/services`: where services stand, and what they print.

Keys stand in the query, where a name may have any letters: a space is `%20` or `+`, and `/` may stand as it is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from aiohttp import web

from tinkbox.api.access import needing
from tinkbox.api.answers import Json
from tinkbox.api.following import Followers
from tinkbox.api.json_values import Time, time
from tinkbox.api.listing import Filters, Query, listed
from tinkbox.api.long_answers import in_turn
from tinkbox.api.output_stream import FOLLOW, Changed, Look, Output, Run, Source, answer
from tinkbox.api.parameters import LIMIT, Parameter, sort_by
from tinkbox.api.requests import takes
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.services.services import Listed, Printed, Services
from tinkbox.engine.turns import in_slices
from tinkbox.engine.views.suggested_names import names_of
from tinkbox.model.access import Right
from tinkbox.model.errors import Invalid
from tinkbox.model.reasons import AnyReason, hint
from tinkbox.model.services import ENDED, Phase, ServiceStatus
from tinkbox.model.workflow import State


class ServiceDocument(TypedDict):
    name: str
    host: str
    machine: str
    image: str
    digest: str
    state: Phase
    restarts: int
    begun_at: Time | None
    ready_at: Time | None
    changed_at: Time | None
    exit_code: int | None
    signal: str
    reason: AnyReason
    message: str
    hint: str
    last_output: list[str]
    output_bytes: int
    run: str
    routes: list[str]
    address: str
    ports: list[int]


class ListedService(ServiceDocument):
    id: str
    workflow_id: str
    workflow: str
    workflow_state: State
    url: str


def routes(
    services: Services,
    url_of: Callable[[str], str],
    machines: Machines,
    changed: Changed,
    followers: Followers,
) -> list[web.RouteDef]:
    """`url_of` is where machines reach the services of a workflow."""
    door = _ServiceDoor(services=services, url_of=url_of, machines=machines, changed=changed, followers=followers)
    return needing(
        Right.LOOK, *in_turn(web.get("/v1/services", door.show_list)), web.get("/v1/services/logs", door.logs)
    )


def output_of_service(services: Services, key: str) -> Source:
    """What a service prints, until it is not started again."""

    async def look(offsets: Mapping[str, int]) -> Look:
        printed = await services.logs(key, offsets)
        runs = [_run(each, number) for number, each in enumerate(printed, 1)]
        return Look(runs=runs, over=printed[-1].status.standing.phase in ENDED)

    return look


def _run(printed: Printed, number: int) -> Run:
    name = printed.status.service.spec.name
    about = {"workflow_id": printed.workflow_id, "service": name, "run": printed.run, "number": number}
    again = f", run {number}" if number > 1 else ""
    return Run(token=printed.run, heading=f"{name}{again}", about=about, pieces=printed.pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ServiceDoor:
    services: Services
    url_of: Callable[[str], str]
    machines: Machines
    changed: Changed
    followers: Followers

    @takes("workflow", "machine", LIMIT, sort_by(("name", "state", "begun_at")), several=(Parameter("state", Phase),))
    async def show_list(self, request: web.Request) -> Json[list[ListedService]]:
        """Every service, or those of one `workflow`."""
        documents = await in_slices(self._document, await self.services.all(Query(request).text("workflow")))
        filters: Filters = {"state": lambda service: [service["state"]], "machine": self._keys}
        return await listed(request, documents, filters=filters)

    def _document(self, each: Listed) -> ListedService:
        return {
            "id": f"{each.workflow_id}/{each.status.service.spec.name}",
            "workflow_id": each.workflow_id,
            "workflow": each.workflow,
            "workflow_state": each.state,
            "url": self.url_of(each.workflow_id),
            **service_document(each.status, self.machines.known.name),
        }

    def _keys(self, service: Mapping[str, Any]) -> Sequence[str]:
        """All that the host of a service may be called."""
        record = self.machines.known.get(service["machine"])
        return [service["host"], service["machine"], *(names_of(record.hardware) if record else ())]

    @takes(Parameter("service", required=True), FOLLOW)
    async def logs(self, request: web.Request) -> Output:
        """What a `service`, [WORKFLOW/]SERVICE, printed; `follow` and events are as for workflows."""
        key = request.query.get("service", "")
        if not key:
            raise Invalid("which service? give ?service=[WORKFLOW/]SERVICE")
        # From now on it is this one, whatever else will be called so.
        printed = (await self.services.logs(key, {}))[0]
        found = f"{printed.workflow_id}/{printed.status.service.spec.name}"
        return await answer(request, output_of_service(self.services, found), self.changed, self.followers)


def service_document(status: ServiceStatus, name: Callable[[str], str]) -> ServiceDocument:
    """Where the newest run of a service stands.

    `host` is what people call the machine (`name`), or what the template calls it or the appliance; `machine` is its id, empty for the
    appliance.  `routes` are the rules and URLs that requests are for it by.  `address` and `ports` are where the
    appliance reaches it.
    """
    planned, standing = status.service, status.standing
    rules = [value for name, value in planned.spec.labels if name.endswith(".rule")]
    return {
        "name": planned.spec.name,
        "host": name(planned.host) or planned.spec.worker,
        "machine": planned.host,
        "image": planned.spec.image,
        "digest": status.digest,
        "state": standing.phase,
        "restarts": standing.restarts,
        "begun_at": time(status.begun_at),
        "ready_at": time(status.ready_at),
        "changed_at": time(status.changed_at),
        "exit_code": standing.exit_code,
        "signal": standing.signal,
        "reason": standing.reason,
        "message": standing.message,
        "hint": hint(standing.reason),
        "last_output": list(standing.tail),
        "output_bytes": status.output_length,
        "run": standing.run,
        "routes": [*rules, *planned.spec.urls],
        "address": standing.address,
        "ports": list(standing.ports),
    }
