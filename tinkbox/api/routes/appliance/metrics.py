"""`/metrics`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated

from aiohttp import web

from tinkbox.api.access import needing
from tinkbox.api.answers import Media
from tinkbox.api.long_answers import in_turn
from tinkbox.api.metrics import CONTENT_TYPE, Answers, page
from tinkbox.engine.views.metrics import Meter
from tinkbox.model.access import Right
from tinkbox.model.audit_places import Delivery
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.limits import Standing


def routes(
    meter: Meter,
    answers: Answers,
    limits: Callable[[], Sequence[Standing]],
    refused_tokens: Callable[[], int],
    conditions: Callable[[], Mapping[tuple[str, Gravity], int]],
    deliveries: Callable[[], Awaitable[Sequence[Delivery]]],
) -> list[web.RouteDef]:
    """`answers` counts those of the node door (`door.requests.request_counts`).

    `conditions` is what rounds found by rule and gravity, `deliveries` tells how far each place has the lines of the audit.
    """

    async def metrics(_: web.Request) -> Annotated[web.Response, Media(("text/plain",))]:
        """Figures for Prometheus."""
        figures = await meter.figures()
        return web.Response(
            body=page(figures, answers, limits(), refused_tokens(), conditions(), await deliveries()).encode(),
            headers={"Content-Type": CONTENT_TYPE},
        )

    return needing(Right.LOOK, *in_turn(web.get("/metrics", metrics)))
