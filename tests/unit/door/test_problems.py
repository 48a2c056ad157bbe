"""Refusals become HTTP answers in one place."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_writer import StreamWriter
from aiohttp.test_utils import TestClient, TestServer, make_mocked_request

from tinkbox.door.problems import refusals_become_problems, type_of
from tinkbox.model.errors import (
    Conflict,
    Denied,
    Forbidden,
    Full,
    Invalid,
    NotFound,
    Problem,
    TooLarge,
    TooMany,
    Unavailable,
)

REFUSALS = [
    (NotFound("no such workflow"), 404, "/problems/notfound"),
    (Conflict("it runs"), 409, "/problems/conflict"),
    (TooLarge("11 MiB of at most 10"), 413, "/problems/toolarge"),
    (Denied("wrong token"), 401, "/problems/denied"),
    (Forbidden("not for you"), 403, "/problems/forbidden"),
    (Unavailable("no engine"), 503, "/problems/unavailable"),
    (Full("no room"), 507, "/problems/full"),
    (TooMany("wait"), 429, "/problems/toomany"),
    (Invalid("bad"), 422, "/problems/invalid"),
]


def asked() -> web.Request:
    """A request of which nothing is answered yet."""
    loop = asyncio.get_running_loop()
    return make_mocked_request("GET", "/", writer=StreamWriter(BaseProtocol(loop), loop))


async def answer_of(raiser: Callable[[web.Request], object]) -> tuple[int, dict[str, object], str]:
    async def handler(request: web.Request) -> web.Response:
        raiser(request)
        return web.Response(text="fine")

    app = web.Application(middlewares=[refusals_become_problems])
    app.router.add_get("/", handler)
    async with TestClient(TestServer(app)) as client:
        response = await client.get("/" if raiser is not missing else "/elsewhere")
        return response.status, await response.json(), response.content_type


def missing(request: web.Request) -> None: ...


@pytest.mark.parametrize(("refusal", "status", "kind"), REFUSALS)
async def test_each_refusal_has_its_status_and_a_stable_type(refusal: Exception, status: int, kind: str) -> None:
    def refuse(_: web.Request) -> None:
        raise refusal

    answered, document, content_type = await answer_of(refuse)
    assert (answered, document["type"], content_type) == (status, kind, "application/problem+json")
    assert document["detail"] == str(refusal)


async def test_every_problem_of_a_document_is_listed() -> None:
    def refuse(_: web.Request) -> None:
        raise Invalid("two problems", [Problem(text="one", line=3, key="a"), Problem(text="two")])

    _, document, _ = await answer_of(refuse)
    assert document["problems"] == [
        {"text": "one", "line": 3, "key": "a"},
        {"text": "two", "line": None, "key": ""},
    ]


async def test_a_path_that_is_not_there_is_a_problem_document_too() -> None:
    status, document, content_type = await answer_of(missing)
    assert (status, document["type"], content_type) == (404, "/problems/notfound", "application/problem+json")
    assert str(document["detail"]).startswith("there is no GET /elsewhere here: is the URL right")


async def test_our_own_fault_is_a_500_that_reveals_nothing() -> None:
    def crash(_: web.Request) -> None:
        raise RuntimeError("the secret path /root/x")

    status, document, _ = await answer_of(crash)
    assert status == 500
    assert "secret" not in str(document)


async def test_a_redirection_passes_unchanged() -> None:
    answer = web.HTTPFound("/elsewhere")

    async def handler(_: web.Request) -> web.Response:
        raise answer

    with pytest.raises(web.HTTPFound) as passed:
        await refusals_become_problems(asked(), handler)
    assert passed.value is answer


async def test_a_client_that_goes_away_leaves_nothing_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(_: web.Request) -> web.Response:
        raise ConnectionResetError("the client went away")

    assert (await refusals_become_problems(asked(), handler)).status == 400
    assert caplog.records == []


async def test_who_takes_too_much_is_told_when_to_try_again() -> None:
    async def handler(_: web.Request) -> web.Response:
        raise TooMany("wait", retry_after=7)

    answer = await refusals_become_problems(asked(), handler)
    assert (answer.status, answer.headers["Retry-After"]) == (429, "7")


@pytest.mark.parametrize(
    ("status", "kind"),
    [(414, "request-uri-too-long"), (416, "requested-range-not-satisfiable"), (415, "unsupported-media-type")],
)
def test_what_only_has_a_status_has_one_type_with_every_python(status: int, kind: str) -> None:
    assert type_of(status) == f"/problems/{kind}"


@pytest.mark.parametrize(
    ("error", "is_logged"), [(KeyError("kind"), True), (Unavailable("no engine"), False), (Denied("gone"), False)]
)
async def test_answer_that_has_begun_is_cut_off_and_no_other_follows_it(
    error: Exception, is_logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        begun = web.StreamResponse()
        await begun.prepare(request)
        await begun.write(b"first")
        raise error

    app = web.Application(middlewares=[refusals_become_problems])
    app.router.add_get("/", handler)
    async with TestServer(app) as server:
        assert server.port is not None
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: box\r\n\r\n")
        got = bytearray()
        with suppress(ConnectionResetError):
            while more := await reader.read(1000):
                got += more
        writer.close()
    assert got.count(b"HTTP/1.1") <= 1
    assert not got.endswith(b"0\r\n\r\n")
    assert ["its answer is cut off" in each.message for each in caplog.records if each.levelname == "ERROR"] == (
        [True] if is_logged else []
    )
