"""Which routes the operator door has."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from aiohttp import web

from tests import golden
from tinkbox.api import reference
from tinkbox.api.access import needed_by
from tinkbox.api.requests import names_of
from tinkbox.api.routes.operator_door import OperatorDoor

# What commands of release 924549e ask: names of the query, and of the body.
ASKED_BEFORE = {
    "GET /v1/doctor": {"machine"},
    "GET /v1/services": {"workflow"},
    "GET /v1/services/logs": {"service", "follow"},
    "GET /v1/shells/{id}/attach": {"ticket", "mode", "after"},
    "GET /v1/workflows/{key}/data": {"version"},
    "GET /v1/workflows/{key}/events": {"after"},
    "GET /v1/workflows/{key}/logs": {"follow"},
    "DELETE /v1/images": {"reference"},
    "POST /v1/discovered/{key}/accept": {"name", "address", "gateway", "template", "hardware", "confirm_wipe"},
    "POST /v1/templates": {"name", "data"},
    "POST /v1/templates/validate": {"template", "data", "hardware"},
    "PUT /v1/templates/{key}": {"name", "data"},
    "POST /v1/workflows": {"template", "hardware", "documents", "breakpoints", "confirm_wipe"},
    "POST /v1/workflows/{key}/retry": {"from", "confirm_wipe"},
    "POST /v1/workflows/{key}/breakpoints/arm": {"on_failure", "before", "after", "timeout", "on_expiry"},
    "POST /v1/workflows/{key}/breakpoints/clear": {"on_failure", "before", "after"},
    "POST /v1/workflows/{key}/breakpoints/verdict": {"verb", "why", "fresh", "command", "environment"},
    "POST /v1/workflows/{key}/breakpoints/extend": {"seconds", "why"},
    "POST /v1/workflows/{key}/shells": {
        "tty", "command", "user", "folder", "environment", "term", "rows", "columns", "record_input", "mode", "session",
    },
}  # fmt: skip


class Anything:
    """Stands for what the routes ask, which none of them does before a request comes."""

    def __getattr__(self, _: str) -> Any:
        return self


def table() -> list[web.RouteDef]:
    return OperatorDoor(**{field.name: Anything() for field in fields(OperatorDoor)}).routes()


def routes() -> list[str]:
    return [f"{route.method} {route.path}" for route in table()]


def test_old_clients_find_every_route() -> None:
    before = golden.text("api/routes.txt").splitlines()
    assert len(before) > 40
    assert set(before) <= set(routes())


def test_routes_know_every_name_that_old_clients_ask_by() -> None:
    known = {f"{each.method} {each.path}": names_of(each.handler) for each in table()}
    for route, names in ASKED_BEFORE.items():
        assert names <= {*known[route].query, *(known[route].body or ())}, route


def test_the_routes_in_the_docs_are_the_declarations() -> None:
    assert (Path(__file__).parents[4] / "docs" / "api.md").read_text() == reference.page(table()), (
        "type `make reference`"
    )


def test_every_route_says_what_it_does_and_what_it_needs() -> None:
    assert [each.path for each in table() if not (reference.about(each) and needed_by(each.handler))] == []


def test_a_route_is_declared_once() -> None:
    assert len(routes()) == len(set(routes()))
