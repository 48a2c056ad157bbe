"""`/v1/lost-histories`: what machines did that the store does not know, since it was put back to an earlier day; and the verdicts."""

from typing import TypedDict

from aiohttp import web

from tinkbox.api.access import caller, needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import Identity, OutcomeDocument, Time, outcome, time
from tinkbox.api.long_answers import in_turn, json_list
from tinkbox.api.requests import key_of
from tinkbox.engine.workflows.journals import LostWork
from tinkbox.engine.workflows.lost_histories import LostHistories
from tinkbox.model.access import Right
from tinkbox.model.journal import summary
from tinkbox.model.reasons import Reason


class LostAttempt(TypedDict):
    workflow_id: str
    task: str
    action: str
    index: int
    attempt: str
    outcome: OutcomeDocument | None
    reported: bool


class LostDocument(TypedDict):
    worker: str
    since: Time | None
    reason: Reason
    message: str
    hint: str
    decided: bool
    attempts: list[LostAttempt]


def routes(lost_histories: LostHistories) -> list[web.RouteDef]:
    async def show_list(_: web.Request) -> Json[list[LostDocument]]:
        """What machines did that the store does not know, since it was put back to an earlier day."""
        return await json_list(await lost_histories.all(), lost_document)

    async def take_over(request: web.Request) -> Json[Identity]:
        """Bring the store up to what the workflow's machines did."""
        workflow_id = await lost_histories.take_over(key_of(request), caller(request).name)
        log_change(request, "lost history taken over", workflow_id)
        return answered({"id": workflow_id})

    async def discard(request: web.Request) -> Json[Identity]:
        """Have what the machine did count for nothing."""
        machine = await lost_histories.discard(key_of(request), caller(request).name)
        log_change(request, "lost history discarded", machine)
        return answered({"id": machine})

    return [
        *needing(Right.LOOK, *in_turn(web.get("/v1/lost-histories", show_list))),
        *needing(
            Right.OPERATE,
            web.post("/v1/workflows/{key}/takeover", take_over),
            web.post("/v1/hardware/{key}/discard-history", discard),
        ),
    ]


def lost_document(work: LostWork) -> LostDocument:
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
