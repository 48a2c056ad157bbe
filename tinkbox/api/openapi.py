"""What `/openapi.json` answers: the operator door in OpenAPI 3.1, made from what its routes declare.

A route says its path, the right it needs (`api.access`), the names that it takes (`api.requests`) and the type of what it
answers (`api.answers`), so nothing is described a second time.
"""

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from aiohttp import hdrs, web

from tinkbox import __version__
from tinkbox.api.access import TICKET, alternatives
from tinkbox.api.answers import JSON, Json, Media
from tinkbox.api.reference import about, noun
from tinkbox.api.requests import Names, names_of
from tinkbox.api.schemas import Schema, Schemas, object_of
from tinkbox.door.problems import PROBLEM, STATUS, ProblemDocument, type_of

OPENAPI: Final = "3.1.0"
RESPONSES: Final = "#/components/responses/"
BEARER: Final = "bearer"
ABOUT: Final = (
    "What `tinkbox` on the command line asks. Over TCP each request needs the token of `operator.token`, or a person's; the "
    "rights that one needs are told with its security. The unix socket `operator.sock` needs none."
)
_SCHEMES: Final[Schema] = {
    BEARER: {"type": "http", "scheme": "bearer", "description": "a token, over TCP; the unix socket needs none"},
    TICKET: {"type": "apiKey", "in": "query", "name": TICKET, "description": "what opening a shell answered, once"},
}
_KEY: Final = re.compile(r"\{(\w+)\}")


def description(routes: Sequence[web.RouteDef]) -> Schema:
    """The OpenAPI document of these routes; raises TypeError for one that does not say what it answers."""
    schemas = Schemas()
    paths: dict[str, Schema] = {}
    for each in sorted(routes, key=lambda route: (route.path, route.method)):
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, schemas)
    refusals = _refusals(schemas)
    return {
        "openapi": OPENAPI,
        "info": {"title": "tinkbox", "version": __version__, "description": ABOUT},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.named.items())),
            "responses": refusals,
            "securitySchemes": _SCHEMES,
        },
    }


def _operation(route: web.RouteDef, schemas: Schemas) -> Schema:
    names = names_of(route.handler)
    operation: Schema = {
        "operationId": "_".join([route.method.lower(), *re.findall(r"\w+", route.path.removeprefix("/v1"))]),
        "summary": about(route),
        "tags": [noun(route.path)],
        "security": _security(route.handler),
        "parameters": [*map(_of_path, _KEY.findall(route.path)), *_of_query(names)],
    }
    if names.body != () and route.method != hdrs.METH_GET:
        operation["requestBody"] = {"content": _taken(names, schemas)}
    refusals = {str(status): {"$ref": RESPONSES + kind.__name__} for kind, status in STATUS.items()}
    operation["responses"] = {**_success(route, schemas), **refusals, "default": {"$ref": f"{RESPONSES}Other"}}
    return operation


def _security(handler: object) -> list[Schema]:
    """Any one of these is enough; the empty one is the unix socket's."""
    rights = alternatives(handler)
    if not rights:
        return [{TICKET: []}]
    return [*({BEARER: [each]} for each in rights), {}]


def _of_path(name: str) -> Schema:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _of_query(names: Names) -> list[Schema]:
    once = [{"name": each, "in": "query", "schema": {"type": "string"}} for each in names.once]
    several = [
        {"name": each, "in": "query", "explode": True, "schema": {"type": "array", "items": {"type": "string"}}}
        for each in names.several
    ]
    return [*once, *several]


def _taken(names: Names, schemas: Schemas) -> Schema:
    if names.body is None:
        return {"*/*": {}}  # what people wrote or packed, which has rules of its own
    if names.wish is not None:
        return {JSON: {"schema": {**schemas.of(names.wish), "unevaluatedProperties": False}}}
    return {JSON: {"schema": {**object_of({name: {} for name in names.body}, ()), "additionalProperties": False}}}


def _success(route: web.RouteDef, schemas: Schemas) -> Schema:
    told = answer_of(route)
    if isinstance(told, Media):
        if not told.types:
            return {str(int(HTTPStatus.SWITCHING_PROTOCOLS)): {"description": "a WebSocket"}}
        return {"200": {"description": about(route), "content": {each: {} for each in told.types}}}
    status = "200" if route.method == hdrs.METH_GET else "2XX"
    return {status: {"description": about(route), "content": {JSON: {"schema": schemas.of(told)}}}}


def answer_of(route: web.RouteDef) -> Any:
    """What its handler says that it answers: a type whose JSON it is, or `Media`; raises TypeError where it does not say it."""
    declared = get_type_hints(route.handler, include_extras=True).get("return")
    if get_origin(declared) is Annotated:
        declared = get_args(declared)[1]
    if isinstance(declared, Media):
        return declared
    if get_origin(declared) is Json:
        return get_args(declared)[0]
    raise TypeError(f"{route.method} {route.path} does not say what it answers (tinkbox.api.answers)")


def _refusals(schemas: Schemas) -> Schema:
    """Every refusal by its name, with the `type` that programs tell it by."""
    whole = schemas.of(ProblemDocument)
    refusals = {
        kind.__name__: _refusal(
            HTTPStatus(status).phrase,
            {"allOf": [whole, {"properties": {"type": {"const": type_of(status)}, "status": {"const": status}}}]},
        )
        for kind, status in STATUS.items()
    }
    return {**refusals, "Other": _refusal("What HTTP itself refuses, and what tinkbox fails at", whole)}


def _refusal(what: str, schema: Schema) -> Schema:
    return {"description": what, "content": {PROBLEM: {"schema": schema}}}
