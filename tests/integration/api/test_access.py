"""Who may use the operator door, and how much it takes in."""

import aiohttp
import pytest

from tests.integration.api.door import TOKEN, Door
from tests.integration.engine.appliance import hardware
from tinkbox.api.access import MAX_DOCUMENT


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer täglich",
    ],
)
@pytest.mark.parametrize("path", ["/v1/hardware", "/v1/events", "/v1/nothing"])
async def test_over_tcp_nothing_is_answered_without_the_token(door: Door, header: str | None, path: str) -> None:
    headers = {} if header is None else {"Authorization": header}
    async with aiohttp.ClientSession() as session, session.get(door.url + path, headers=headers) as response:
        assert (response.status, response.content_type) == (401, "application/problem+json")
        assert response.headers["WWW-Authenticate"] == "Bearer"
        problem = await response.json(content_type=None)
    assert problem["type"] == "/problems/denied"
    assert TOKEN not in str(problem)


async def test_a_denied_request_changes_nothing(door: Door) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{door.url}/v1/hardware", json=hardware(1), headers={"Authorization": "Bearer x"}) as response,
    ):
        assert response.status == 401
    assert await door.done("GET", "/v1/hardware") == []


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER "])
async def test_with_the_token_tcp_does_what_the_socket_does(door: Door, scheme: str) -> None:
    headers = {"Authorization": f"{scheme} {TOKEN}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        async with session.post(f"{door.url}/v1/hardware", json=hardware(1)) as response:
            assert response.status == 200
        async with session.get(f"{door.url}/v1/hardware") as response:
            assert await response.json() == await door.done("GET", "/v1/hardware")


async def test_a_document_that_is_too_large_is_refused_and_says_the_limit(door: Door) -> None:
    status, problem = await door.ask("POST", "/v1/hardware", b" " * (MAX_DOCUMENT + 1))
    assert (status, problem["type"]) == (413, "/problems/toolarge")
    assert "4096 KiB" in problem["detail"]


async def test_a_document_much_too_large_still_gets_its_answer(door: Door) -> None:
    status, _ = await door.ask("POST", "/v1/templates", b" " * (8 * MAX_DOCUMENT))
    assert status == 413


async def test_the_largest_document_is_read_whole(door: Door) -> None:
    status, problem = await door.ask("POST", "/v1/hardware", b" " * (MAX_DOCUMENT - 4) + b"null")
    assert (status, problem["detail"][:12]) == (422, "invalid json")
