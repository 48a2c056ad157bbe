"""The description of the operator door in OpenAPI."""

from typing import Any

import pytest
from aiohttp import web
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.unit.api.routes.test_routes import table
from tinkbox.api.access import needed_by
from tinkbox.api.openapi import answer_of, description
from tinkbox.api.requests import names_of
from tinkbox.model.access import Right
from tinkbox.model.breakpoint import ON_EXPIRY
from tinkbox.model.workflow import State
from tinkbox.wire.refusal_statuses import STATUS

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
    assert several == [each.name for each in names.several]
    needed = [each["name"] for each in operation["parameters"] if each["in"] == "query" and each.get("required")]
    assert needed == [each.name for each in names.once if each.required]
    assert all(f"{{{each}}}" in route for each in parameters(operation, "path"))
    if names.body:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert not (schema.get("additionalProperties", True) and schema.get("unevaluatedProperties", True))
        schema = DESCRIBED["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        assert list(schema["properties"]) == [*names.body]
        assert operation["requestBody"]["required"] is not names.optional
    elif names.body is None:
        assert operation["requestBody"] == {
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            "required": True,
        }
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
    for kind in STATUS:
        (media, told), *_ = DESCRIBED["components"]["responses"][kind.__name__]["content"].items()
        assert media == "application/problem+json"
        assert told["schema"] == {"$ref": "#/components/schemas/ProblemDocument"}
        described = DESCRIBED["components"]["responses"][kind.__name__]["description"]
        assert described.endswith(f"`type` is `/problems/{kind.__name__.lower()}`")


def described(route: str, name: str) -> dict[str, Any]:
    (found,) = [each for each in OPERATIONS[route]["parameters"] if each["name"] == name]
    return {key: value for key, value in found.items() if key in ("schema", "required")}


def test_a_parameter_has_the_kind_that_it_is_read_as() -> None:
    number = {"schema": {"type": "integer", "minimum": 0}}
    for route, name in (
        ("GET /v1/workflows", "limit"),
        ("GET /v1/events", "after"),
        ("DELETE /v1/workflows/{key}", "run"),
        ("GET /v1/hardware/{key}/timeline", "lines"),
        ("GET /v1/workflows/{key}/data", "version"),
    ):
        assert described(route, name) == number
    for route, name in (
        ("DELETE /v1/hardware/{key}", "force"),
        ("GET /v1/workflows/{key}/logs", "follow"),
        ("POST /v1/hardware", "strict"),
    ):
        assert described(route, name) == {"schema": {"type": "boolean"}}
    assert described("GET /v1/templates", "sort") == {
        "schema": {
            "type": "string",
            "enum": ["name", "created_at", "updated_at", "-name", "-created_at", "-updated_at"],
        }
    }
    states = described("GET /v1/workflows", "state")["schema"]
    assert (states["type"], states["items"]) == ("array", {"type": "string", "enum": list(State)})
    assert described("DELETE /v1/images", "reference") == {"schema": {"type": "string"}, "required": True}
    expiry = DESCRIBED["components"]["schemas"]["BreakpointsWish"]["properties"]["on_expiry"]
    assert expiry["oneOf"][0]["enum"] == list(ON_EXPIRY)


def test_a_list_that_takes_a_limit_tells_its_total() -> None:
    limited = {route for route in OPERATIONS if "limit" in parameters(OPERATIONS[route], "query")}
    assert len(limited) > 7
    telling = {
        each for each in OPERATIONS if "Total-Count" in OPERATIONS[each]["responses"].get("200", {}).get("headers", {})
    }
    assert telling == limited


def test_a_blob_is_described_with_its_parts() -> None:
    blob = OPERATIONS["GET /v1/images/blobs/{key}"]
    assert parameters(blob, "header") == ["Range"]
    assert blob["responses"]["206"]["content"] == blob["responses"]["200"]["content"]
    assert blob["responses"]["416"] == {"$ref": "#/components/responses/Other"}


def lists_of_types(schema: Any) -> list[list[str]]:
    """Every `type` that is a list."""
    if isinstance(schema, list):
        return [found for each in schema for found in lists_of_types(each)]
    if not isinstance(schema, dict):
        return []
    own = [schema["type"]] if isinstance(schema.get("type"), list) else []
    return [*own, *(found for each in schema.values() for found in lists_of_types(each))]


def test_programs_that_make_clients_find_no_list_of_types_but_for_what_may_be_null() -> None:
    found = lists_of_types(DESCRIBED)
    assert found
    assert [each for each in found if len(each) != 2 or "null" not in each] == []
    assert "allOf" not in str(DESCRIBED)


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
