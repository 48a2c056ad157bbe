"""`/v1/hardware/KEY/at-work`: what is under way on a machine whose credential somebody is about to void."""

from aiohttp import web

from tinkbox.api.access import caller, keeping_to_scope, needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.requests import key_of
from tinkbox.api.scopes import Scopes
from tinkbox.api.work_under_way import AtWorkField, at_work_document
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.workflows.deadlines import Deadlines
from tinkbox.model.access import Right


def routes(machines: Machines, deadlines: Deadlines, scopes: Scopes) -> list[web.RouteDef]:
    async def show(request: web.Request) -> Json[AtWorkField]:
        """The action that loses its worker when the machine's credential is voided; null where it is none within the scope of who asks."""
        scope = caller(request).scope
        holder = machines.within(scope).find(key_of(request)).hardware.id
        work = (await deadlines.at_work([holder])).get(holder)
        outside = await machines.work_outside(scope, [work.workflow_id] if work else [])
        return answered({"at_work": at_work_document(None if outside else work)})

    return needing(Right.OPERATE, *keeping_to_scope(scopes.machine, web.get("/v1/hardware/{key}/at-work", show)))
