"""While the disk is full, machines keep nothing more there, and tell how their actions ended."""

from datetime import UTC, datetime

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tinkbox.door.last_room import keep_last_room
from tinkbox.door.problems import refusals_become_problems
from tinkbox.model.disk_usage import LAST_ROOM
from tinkbox.refused_writes import RefusedWrites

NOW = datetime(2026, 3, 1, tzinfo=UTC)


async def answer(_: web.Request) -> web.Response:
    return web.Response()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/worker/attempts/a/output", 503),
        ("PUT", "/worker/attempts/a/data", 503),
        ("POST", "/worker/attempts/a/held", 503),
        ("POST", "/worker/services", 503),
        ("POST", "/worker/services/s/output", 503),
        ("POST", "/worker/inventory", 503),
        ("PATCH", "/v2/x/blobs/uploads/u", 503),
        ("POST", "/worker/attempts/a/report", 200),
        ("POST", "/worker/next", 200),
        ("POST", "/worker/session", 200),
        ("GET", "/worker/attempts/a/data", 200),
        ("GET", "/v2/x/manifests/v1", 200),
        ("DELETE", "/v2/x/manifests/v1", 200),
    ],
)
async def test_what_would_be_kept_waits_for_room_and_nothing_else(method: str, path: str, status: int) -> None:
    for free, expected in ((LAST_ROOM, 200), (LAST_ROOM - 1, status)):
        writes = RefusedWrites(lambda: NOW)
        app = web.Application(middlewares=[refusals_become_problems, keep_last_room(lambda free=free: free, writes)])
        app.router.add_route("*", "/{path:.*}", answer)
        async with TestClient(TestServer(app)) as client:
            assert (await client.request(method, path, data=b"x")).status == expected
        assert [each.what for each in writes.all] == ["what machines hand in"] * (expected == 503)
        assert not any("delete" in each.text + each.way_out for each in writes.all), "what takes little"
