"""The description of the operator door in OpenAPI."""

from typing import Any

import pytest
from aiohttp import web
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.unit.api.routes.test_routes import table
from tinkbox.api.access import needed_by
from tinkbox.api.openapi import answer_of, description
from tinkbox.api.requests import names_of
from tinkbox.door.problems import STATUS
from tinkbox.model.access import Right

DESCRIBED = description(table())
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, operations in DESCRIBED["paths"].items()
    for method, operation in operations.items()
}
HANDLERS = {f"{each.method} {each.path}": each.handler for each in table()}
# A program of its own made it (tinkbox.osie), which the operator door does not know.
OF_NO_TYPE = {"GET /openapi.json", "GET /v1/osie"}


def parameters(operation: dict[str, Any], place: str) -> list[str]:
    return [each["name"] for each in operation["parameters"] if each["in"] == place]


def test_it_is_openapi_as_the_specification_has_it() -> None:
    OpenAPIV31SpecValidator(DESCRIBED).validate()


def test_every_route_is_described() -> None:
    assert set(OPERATIONS) == set(HANDLERS)
    assert "GET /openapi.json" in OPERATIONS


@pytest.mark.parametrize("route", OPERATIONS)
def test_a_route_is_described_as_it_is_declared(route: str) -> None:
    operation, names = OPERATIONS[route], names_of(HANDLERS[route])
    assert operation["summary"] == (HANDLERS[route].__doc__ or "").partition("\n")[0]
    assert parameters(operation, "query") == [*names.query]
    several = [each["name"] for each in operation["parameters"] if each["schema"]["type"] == "array"]
    assert several == [*names.several]
    assert all(f"{{{each}}}" in route for each in parameters(operation, "path"))
    if names.body:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert not (schema.get("additionalProperties", True) and schema.get("unevaluatedProperties", True))
        if names.wish is not None:
            schema = DESCRIBED["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        assert list(schema["properties"]) == [*names.body]
    elif names.body is None:
        assert list(operation["requestBody"]["content"]) == ["*/*"]
    else:
        assert "requestBody" not in operation


@pytest.mark.parametrize("route", OPERATIONS)
def test_a_route_says_the_right_that_it_needs_and_needs_no_token_on_the_socket(route: str) -> None:
    words, security = needed_by(HANDLERS[route]), OPERATIONS[route]["security"]
    if words == "a ticket":
        assert security == [{"ticket": []}]
    else:
        *rights, socket = security
        assert (rights, socket) == ([{"bearer": [each]} for each in sorted(Right, key=words.find) if each in words], {})


@pytest.mark.parametrize("route", sorted(set(OPERATIONS) - OF_NO_TYPE))
def test_a_route_answers_what_has_a_type(route: str) -> None:
    (told,) = [each for status, each in OPERATIONS[route]["responses"].items() if status in ("101", "200", "2XX")]
    schema = told.get("content", {}).get("application/json", {}).get("schema", {})
    assert (schema.get("items") or schema) != {"type": "object", "additionalProperties": {}}


def test_every_refusal_has_its_type() -> None:
    for operation in OPERATIONS.values():
        assert {*map(str, STATUS.values()), "default"} <= set(operation["responses"])
    for kind, status in STATUS.items():
        (media, told), *_ = DESCRIBED["components"]["responses"][kind.__name__]["content"].items()
        assert media == "application/problem+json"
        assert told["schema"]["allOf"][1]["properties"] == {
            "type": {"const": f"/problems/{kind.__name__.lower()}"},
            "status": {"const": status},
        }


def test_what_is_no_json_is_described_by_its_media_type() -> None:
    def media(route: str) -> list[str]:
        return list(OPERATIONS[route]["responses"]["200"]["content"])

    assert media("GET /v1/events") == ["text/event-stream"]
    assert media("GET /v1/workflows/{key}/logs") == ["text/plain", "text/event-stream"]
    assert media("GET /metrics") == ["text/plain"]
    assert media("GET /v1/shells/{id}/recording") == ["application/x-asciicast"]
    assert "101" in OPERATIONS["GET /v1/shells/{id}/attach"]["responses"]


def test_a_handler_that_does_not_say_what_it_answers_is_refused() -> None:
    async def silent(_: web.Request) -> web.Response:
        """Nothing."""
        return web.Response()

    with pytest.raises(TypeError, match="GET /silent does not say what it answers"):
        answer_of(web.get("/silent", silent))
