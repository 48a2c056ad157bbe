"""Problem documents become the refusals they were."""

import json

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from tinkbox.client.refusals import raise_refusal
from tinkbox.door.problems import MOST_LISTED, refusals_become_problems
from tinkbox.model.errors import Forbidden, Invalid, Problem, Refusal, Unavailable
from tinkbox.wire.refusal_statuses import STATUS


async def refusal_of(answer: web.Response | Refusal) -> Refusal | None:
    """What the client raises for this answer of a door."""

    async def handler(_: web.Request) -> web.Response:
        if isinstance(answer, Refusal):
            raise answer
        return answer

    application = web.Application(middlewares=[refusals_become_problems])
    application.router.add_get("/", handler)
    async with TestServer(application) as server, ClientSession() as session, session.get(server.make_url("/")) as got:
        try:
            raise_refusal(got.status, got.reason or "", await got.read())
        except Refusal as refusal:
            return refusal
    return None


@pytest.mark.parametrize("kind", STATUS)
async def test_a_refusal_travels_as_itself(kind: type[Refusal]) -> None:
    refusal = await refusal_of(kind("what, why and the way out"))
    assert type(refusal) is kind
    assert str(refusal) == "what, why and the way out"


async def test_every_problem_travels_with_its_place() -> None:
    problems = (Problem(text="one", line=3, key="tasks[0]"), Problem(text="two"))
    refusal = await refusal_of(Invalid("2 problems", problems))
    assert isinstance(refusal, Invalid)
    assert refusal.problems == problems


async def test_of_very_many_problems_some_travel_and_how_many_more_there_are() -> None:
    problems = [Problem(text=str(each)) for each in range(MOST_LISTED + 5)]
    refusal = await refusal_of(Invalid("many problems", problems))
    assert isinstance(refusal, Invalid)
    assert (list(refusal.problems), refusal.more) == (problems[:MOST_LISTED], 5)


async def test_success_is_no_refusal() -> None:
    assert await refusal_of(web.Response(text="fine")) is None


@pytest.mark.parametrize(
    "text",
    ["<html>", "", "[]", "null", '"x"', "{}", '{"detail": "x", "problems": [1]}', '{"detail": "x", "problems": 1}'],
)
async def test_what_is_no_problem_document_is_quoted_shortly(text: str) -> None:
    refusal = await refusal_of(web.Response(status=502, text=text + " " * 10_000))
    assert type(refusal) is Unavailable
    assert str(refusal).startswith(f"502 Bad Gateway: {text}")
    assert len(str(refusal)) < 250


@pytest.mark.parametrize(("status", "kind"), [(400, Invalid), (403, Forbidden), (418, Unavailable), (500, Unavailable)])
async def test_other_statuses_are_the_nearest_refusal(status: int, kind: type[Refusal]) -> None:
    refusal = await refusal_of(web.Response(status=status, text=json.dumps({"detail": "told"})))
    assert (type(refusal), str(refusal)) == (kind, "told")
