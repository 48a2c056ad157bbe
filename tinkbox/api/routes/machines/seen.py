"""`/v1/seen`, what was seen of machines, registered or not, and `/v1/hardware/KEY/timeline`.

KEY is a MAC, or a key of registered hardware.
"""

from typing import Final, TypedDict

from aiohttp import web

from tinkbox.api.access import caller, keeping_to_scope, needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.json_values import Time
from tinkbox.api.long_answers import in_turn, json_list
from tinkbox.api.parameters import Parameter
from tinkbox.api.requests import key_of, number, takes
from tinkbox.api.scopes import Scopes
from tinkbox.engine.machines.boot_history import SHOWN_LINES, Seen, SeenMachine
from tinkbox.model.access import Right
from tinkbox.model.boot import Stage
from tinkbox.model.errors import Invalid
from tinkbox.model.sightings import Fact, Sighting
from tinkbox.store.syslog import KEPT_LINES

LINES: Final = Parameter("lines", int, about=f"so many lines of syslog, at most {KEPT_LINES}")


class SightingDocument(TypedDict):
    mac: str
    at: Time
    stage: Stage
    detail: str
    facts: dict[str, Fact]


class SeenDocument(SightingDocument):
    hardware_id: str
    hostname: str
    stalled: str


class SeenWithTimeline(SeenDocument):
    timeline: list[SightingDocument]


def routes(seen: Seen, scopes: Scopes) -> list[web.RouteDef]:
    """Timelines tell of the newest twenty syslog lines, or of `?lines=N`."""

    async def show_list(_: web.Request) -> Json[list[SeenDocument]]:
        """Every MAC that was seen, the last one first."""
        return await json_list(await seen.all(), machine)

    @takes(LINES)
    async def show(request: web.Request) -> Json[SeenWithTimeline]:
        """What was seen of one, with its timeline."""
        key = key_of(request)
        found = machine(await seen.get(key))
        told = await seen.story(key, _lines(request))
        return answered({**found, "timeline": [sighting(each) for each in told]})

    @takes(LINES)
    async def timeline(request: web.Request) -> Json[list[SightingDocument]]:
        """A machine's timeline, with so many `lines` of syslog."""
        told = await seen.story(key_of(request), _lines(request), caller(request).scope)
        return answered([sighting(each) for each in told])

    return needing(
        Right.LOOK,
        *in_turn(web.get("/v1/seen", show_list)),
        web.get("/v1/seen/{key}", show),
        *keeping_to_scope(scopes.machine, web.get("/v1/hardware/{key}/timeline", timeline)),
    )


def machine(found: SeenMachine) -> SeenDocument:
    """`hardware_id` is empty for a machine that nobody knows."""
    return {
        **sighting(found.newest),
        "hardware_id": found.hardware_id,
        "hostname": found.hostname,
        "stalled": found.stalled,
    }


def sighting(seen: Sighting) -> SightingDocument:
    return {
        "mac": seen.mac,
        "at": seen.at.isoformat(),
        "stage": seen.stage,
        "detail": seen.detail,
        "facts": dict(seen.facts),
    }


def _lines(request: web.Request) -> int:
    if LINES.name not in request.query:
        return SHOWN_LINES
    if (lines := number(request, LINES.name)) > KEPT_LINES:
        raise Invalid(f"lines is a whole number up to {KEPT_LINES}, not {lines}")
    return lines
