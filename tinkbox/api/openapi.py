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
from tinkbox.api.access import TICKET, alternatives, is_open
from tinkbox.api.answers import JSON, OCTETS, Json, Media
from tinkbox.api.parameters import LIMIT, Parameter
from tinkbox.api.reference import about, noun
from tinkbox.api.requests import Names, names_of
from tinkbox.api.schemas import Schema, Schemas
from tinkbox.door.problems import PROBLEM, ProblemDocument, type_of
from tinkbox.wire.list_total import HEADER
from tinkbox.wire.refusal_statuses import STATUS

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
_TEXT: Final[Schema] = {"type": "string"}
_BINARY: Final[Schema] = {"type": "string", "format": "binary"}
_TOTAL: Final = "how many entries there are without `limit`"
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
        "parameters": [*map(_of_path, _KEY.findall(route.path)), *_of_query(names, schemas), *_of_headers(route)],
    }
    if names.body != () and route.method != hdrs.METH_GET:
        operation["requestBody"] = {"content": _taken(names, schemas), "required": not names.optional}
    refusals = {str(status): {"$ref": RESPONSES + kind.__name__} for kind, status in STATUS.items()}
    if _in_parts(route):
        refusals[str(int(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE))] = {"$ref": f"{RESPONSES}Other"}
    operation["responses"] = {**_success(route, schemas), **refusals, "default": {"$ref": f"{RESPONSES}Other"}}
    return operation


def _security(handler: object) -> list[Schema]:
    """Any one of these is enough; the empty one is the unix socket's, and of what is open to all."""
    if is_open(handler):
        return [{}]
    rights = alternatives(handler)
    if not rights:
        return [{TICKET: []}]
    return [*({BEARER: [each]} for each in rights), {}]


def _of_path(name: str) -> Schema:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _of_query(names: Names, schemas: Schemas) -> list[Schema]:
    once = [{**_named(each), "schema": _value(each, schemas)} for each in names.once]
    several = [
        {**_named(each), "explode": True, "schema": {"type": "array", "items": _value(each, schemas)}}
        for each in names.several
    ]
    return [*once, *several]


def _named(parameter: Parameter) -> Schema:
    told: Schema = {"name": parameter.name, "in": "query"}
    if parameter.about:
        told["description"] = parameter.about
    return {**told, "required": True} if parameter.required else told


def _value(parameter: Parameter, schemas: Schemas) -> Schema:
    if isinstance(parameter.kind, tuple):
        return {"type": "string", "enum": list(parameter.kind)}
    schema = schemas.of(parameter.kind)
    return {**schema, "minimum": 0} if parameter.kind is int else schema


def _in_parts(route: web.RouteDef) -> bool:
    told = answer_of(route)
    return isinstance(told, Media) and told.in_parts


def _of_headers(route: web.RouteDef) -> list[Schema]:
    if not _in_parts(route):
        return []
    wanted = "a part of it, such as bytes=0-1023"
    return [{"name": hdrs.RANGE, "in": "header", "description": wanted, "schema": {"type": "string"}}]


def _taken(names: Names, schemas: Schemas) -> Schema:
    if names.body is None:
        return {OCTETS: {"schema": _BINARY}}  # what people wrote or packed, which has rules of its own
    return {JSON: {"schema": {**schemas.of(names.wish), "unevaluatedProperties": False}}}


def _success(route: web.RouteDef, schemas: Schemas) -> Schema:
    told = answer_of(route)
    if isinstance(told, Media):
        if not told.types:
            return {str(int(HTTPStatus.SWITCHING_PROTOCOLS)): {"description": "a WebSocket"}}
        content = {each: {"schema": _BINARY if each == OCTETS else _TEXT} for each in told.types}
        part: Schema = (
            {"206": {"description": "the part that was asked for", "content": content}} if told.in_parts else {}
        )
        return {"200": {"description": about(route), "content": content}, **part}
    status = "200" if route.method == hdrs.METH_GET else "2XX"
    answer: Schema = {"description": about(route), "content": {JSON: {"schema": schemas.of(told)}}}
    if LIMIT in names_of(route.handler).once:
        answer["headers"] = {HEADER: {"description": _TOTAL, "schema": {"type": "integer"}}}
    return {status: answer}


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
    # Programs that make clients do not narrow a schema that others have as well: the description tells what is constant.
    content = {PROBLEM: {"schema": schemas.of(ProblemDocument)}}
    refusals: Schema = {
        kind.__name__: {
            "description": f"{HTTPStatus(status).phrase}: `type` is `{type_of(status)}`",
            "content": content,
        }
        for kind, status in STATUS.items()
    }
    return {
        **refusals,
        "Other": {"description": "What HTTP itself refuses, and what tinkbox fails at", "content": content},
    }
