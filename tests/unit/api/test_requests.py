"""What a route declares of its query and its body, and what reads it."""

from types import SimpleNamespace
from typing import Any, TypedDict

import pytest
from aiohttp import web

from tinkbox.api.listing import Query
from tinkbox.api.parameters import LIMIT, Parameter, sort_by
from tinkbox.api.requests import number, read_options, says_yes, takes
from tinkbox.model.access import Right
from tinkbox.model.listing import Order
from tinkbox.model.workflow import State


class Wish(TypedDict):
    name: str


@takes(
    LIMIT, "name", Parameter("force", bool), sort_by(("name", "age")), several=(Parameter("state", State),), body=Wish
)
async def handler(_: web.Request) -> web.Response:
    return web.Response()


def asked(**query: str) -> Any:
    """As much of a request as readers look at."""
    given = SimpleNamespace(get=query.get, getall=lambda name, _: [query[name]] if name in query else [])
    return SimpleNamespace(match_info=SimpleNamespace(handler=handler), query=given, method="GET", path="/x")


def test_values_are_read_as_they_are_declared() -> None:
    assert number(asked(limit="3"), "limit") == 3
    assert says_yes(asked(force="True"), "force")
    query = Query(asked(state="failed", sort="-age"))
    assert query.words("state", State) == (State.FAILED,)
    assert query.order(Order("name")) == Order("age", descending=True)


def test_what_is_read_as_another_kind_than_its_route_describes_is_a_mistake() -> None:
    for read in (
        lambda: number(asked(name="3"), "name"),
        lambda: says_yes(asked(limit="1"), "limit"),
        lambda: Query(asked(state="look")).words("state", Right),
    ):
        with pytest.raises(TypeError, match=r"declares (name|limit|state) as .*, and reads it as"):
            read()
    with pytest.raises(LookupError):
        number(asked(lines="3"), "lines")


async def test_a_body_that_is_declared_as_required_is_not_read_as_one_that_may_be_left_out() -> None:
    with pytest.raises(TypeError, match="declares one that is required"):
        await read_options(asked())
