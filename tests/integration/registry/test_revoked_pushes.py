"""A push ends with the token of who pushes."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientConnectionError, ClientSession, web

from tests.integration.registry.serving import ANNAS, PEOPLE, serving, until
from tests.people import People
from tinkbox.door.requests.live_requests import LiveRequests, end_with_token
from tinkbox.model.access import Caller, Right

WITHIN = 60.0  # seconds, for what takes less than one


@pytest.mark.parametrize("fetched", [False, True])
async def test_an_upload_is_refused_as_soon_as_its_token_is_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fetched: bool
) -> None:
    """By the person's own token, and by a push token that was fetched with it."""
    people = People({ANNAS: Caller(name="anna@example", rights=frozenset({Right.PUSH}))})
    monkeypatch.setattr("tests.integration.registry.serving.PEOPLE", people)
    assert PEOPLE is not people
    live = LiveRequests(people.counts)
    revoked = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield bytes(4 << 20)  # more than is kept back before it is written
        await revoked.wait()

    async def revoke() -> None:
        await until(lambda: any(each.stat().st_size for each in (tmp_path / "incoming").iterdir()), seconds=10)
        people.forget("anna@example")
        live.end("anna@example", "the token was revoked")

    def ending(application: web.Application) -> None:
        end_with_token(application, live)

    async with serving(tmp_path, prepare=ending) as registry, ClientSession(f"http://{registry.host}") as http:
        token = ANNAS
        if fetched:
            async with registry.http.get("/v2/token", headers={"Authorization": basic(ANNAS)}) as answer:
                token = (await answer.json())["token"]
        headers = {"Authorization": f"Bearer {token}"}
        async with http.post("/v2/hello/blobs/uploads/", headers=headers) as answer:
            assert answer.status == 202
            place = answer.headers["Location"]
        async with asyncio.timeout(WITHIN), asyncio.TaskGroup() as group:
            group.create_task(revoke())
            try:
                async with http.patch(place, data=slowly(), headers=headers) as answer:
                    assert answer.status == 401
                    assert "the token was revoked" in await answer.text()
            except ClientConnectionError:
                pass  # closed before it was read
            revoked.set()
        async with http.post("/v2/hello/blobs/uploads/", headers=headers) as answer:
            assert answer.status == 401


def basic(password: str) -> str:
    return f"Basic {b64encode(f'me:{password}'.encode()).decode()}"
