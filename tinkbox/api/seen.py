"""The operator door's routes about what was seen of machines, known or not.

GET /v1/seen                                 every MAC that was seen, with where it stands
GET /v1/seen/KEY                             one of them with its timeline; KEY is a MAC, or a key of known hardware
GET /v1/hardware/KEY/timeline                the timeline alone
"""

from collections.abc import Sequence
from typing import Protocol

from aiohttp import web

from tinkbox.api.access import is_number, needing
from tinkbox.api.documents import Document
from tinkbox.engine.machines.boot_history import SHOWN_LINES, SeenMachine
from tinkbox.model.access import Right
from tinkbox.model.errors import Invalid
from tinkbox.model.sightings import Sighting
from tinkbox.store.syslog import KEPT_LINES


class Seen(Protocol):
    """What was seen of machines (`engine.machines.boot_history`)."""

    async def all(self) -> Sequence[SeenMachine]: ...
    async def get(self, key: str) -> SeenMachine: ...
    async def story(self, key: str, lines: int) -> Sequence[Sighting]: ...


def routes(seen: Seen) -> list[web.RouteDef]:
    """Timelines tell of the newest twenty syslog lines, or of `?lines=N`."""

    async def show_list(_: web.Request) -> web.Response:
        return web.json_response([machine(each) for each in await seen.all()])

    async def show(request: web.Request) -> web.Response:
        key = request.match_info["key"]
        found = machine(await seen.get(key))
        told = await seen.story(key, _lines(request))
        return web.json_response({**found, "timeline": [sighting(each) for each in told]})

    async def timeline(request: web.Request) -> web.Response:
        told = await seen.story(request.match_info["key"], _lines(request))
        return web.json_response([sighting(each) for each in told])

    return needing(
        Right.LOOK,
        web.get("/v1/seen", show_list),
        web.get("/v1/seen/{key}", show),
        web.get("/v1/hardware/{key}/timeline", timeline),
    )


def machine(found: SeenMachine) -> Document:
    """`hardware_id` is empty for a machine that nobody knows."""
    return {
        **sighting(found.newest),
        "hardware_id": found.hardware_id,
        "hostname": found.hostname,
        "stalled": found.stalled,
    }


def sighting(seen: Sighting) -> Document:
    return {
        "mac": seen.mac,
        "at": seen.at.isoformat(),
        "stage": seen.stage,
        "detail": seen.detail,
        "facts": dict(seen.facts),
    }


def _lines(request: web.Request) -> int:
    given = request.query.get("lines", str(SHOWN_LINES))
    if not is_number(given) or int(given) > KEPT_LINES:
        raise Invalid(f"lines is a whole number up to {KEPT_LINES}, not {given[:40]!r}")
    return int(given)
