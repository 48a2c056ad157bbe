"""`/v1/lost-histories`: what machines did that the store does not know, since it was put back to an earlier day; and the verdicts."""

from aiohttp import web

from tinkbox.api.access import caller, needing
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import Document, outcome, time
from tinkbox.api.long_answers import in_turn, json_list
from tinkbox.api.requests import key_of
from tinkbox.engine.workflows.journals import LostWork
from tinkbox.engine.workflows.lost_histories import LostHistories
from tinkbox.model.access import Right
from tinkbox.model.journal import summary
from tinkbox.model.reasons import Reason


def routes(lost_histories: LostHistories) -> list[web.RouteDef]:
    async def show_list(_: web.Request) -> web.Response:
        """What machines did that the store does not know, since it was put back to an earlier day."""
        return await json_list(await lost_histories.all(), lost_document)

    async def take_over(request: web.Request) -> web.Response:
        """Bring the store up to what the workflow's machines did."""
        workflow_id = await lost_histories.take_over(key_of(request), caller(request).name)
        log_change(request, "lost history taken over", workflow_id)
        return web.json_response({"id": workflow_id})

    async def discard(request: web.Request) -> web.Response:
        """Have what the machine did count for nothing."""
        machine = await lost_histories.discard(key_of(request), caller(request).name)
        log_change(request, "lost history discarded", machine)
        return web.json_response({"id": machine})

    return [
        *needing(Right.LOOK, *in_turn(web.get("/v1/lost-histories", show_list))),
        *needing(
            Right.OPERATE,
            web.post("/v1/workflows/{key}/takeover", take_over),
            web.post("/v1/hardware/{key}/discard-history", discard),
        ),
    ]


def lost_document(work: LostWork) -> Document:
    """`decided` tells that a person discarded it, and that its worker has not removed its containers yet."""
    lost = work.history
    return {
        "worker": lost.worker,
        "since": time(lost.since),
        "reason": Reason.HISTORY_LOST,
        "message": summary(lost.entries),
        "hint": work.hint,
        "decided": lost.restart is not None,
        "attempts": [
            {
                "workflow_id": each.workflow_id,
                "task": each.task,
                "action": each.action,
                "index": each.index,
                "attempt": each.attempt,
                "outcome": outcome(each.outcome),
                "reported": each.over,
            }
            for each in lost.entries
        ],
    }
