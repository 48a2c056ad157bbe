"""`/v1/secrets`: what workflows are given and nobody is shown.  No answer has a value."""

from base64 import b64decode
from typing import Any, TypedDict

from aiohttp import web

from tinkbox.api.access import caller, needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import Time, time
from tinkbox.api.listing import listed
from tinkbox.api.long_answers import in_turn
from tinkbox.api.parameters import LIMIT, sort_by
from tinkbox.api.requests import key_of, read_object, takes
from tinkbox.engine.secrets.secrets import ListedSecret, Secrets
from tinkbox.model.access import Right
from tinkbox.model.errors import Invalid


class SecretValue(TypedDict, total=False):
    """The value, as `text` or, of any bytes, in `base64` (RFC 4648, section 4): one of them."""

    text: str
    base64: str


class SecretName(TypedDict):
    name: str


class SecretSet(SecretName):
    created: bool


class SecretLine(SecretName):
    """`size` is in bytes; `workflows` are the ids of those that ask for it and are not over, `templates` the names of those whose text names it.

    What a template asks for by `.references` is known once a workflow is made of it.
    """

    size: int
    set_at: Time | None
    set_by: str
    workflows: list[str]
    templates: list[str]


def routes(secrets: Secrets) -> list[web.RouteDef]:
    @takes(LIMIT, sort_by(("name", "size", "set_at", "set_by")))
    async def show_list(request: web.Request) -> Json[list[SecretLine]]:
        """Every secret, without its value."""
        return await listed(request, map(_line, await secrets.all()), filters={})

    @takes(body=SecretValue)
    async def put(request: web.Request) -> Json[SecretSet]:
        """Give a secret its value."""
        name = key_of(request)
        created = await secrets.set(name, _value(await read_object(request)), caller(request).name)
        log_change(request, "secret set", name)
        return answered({"name": name, "created": created})

    async def delete(request: web.Request) -> Json[SecretName]:
        """Forget a secret: actions that ask for it fail from now on."""
        name = key_of(request)
        await secrets.delete(name)
        log_change(request, "secret deleted", name)
        return answered({"name": name})

    return needing(
        Right.SECRETS,
        *in_turn(web.get("/v1/secrets", show_list)),
        web.put("/v1/secrets/{key}", put),
        web.delete("/v1/secrets/{key}", delete),
    )


def _value(document: dict[str, Any]) -> bytes:
    """The value in a body; raises Invalid, which tells nothing of it."""
    if len(document) != 1:
        raise Invalid("the value is given as text, or in base64: one of them")
    ((name, value),) = document.items()
    if not isinstance(value, str):
        raise Invalid(f"{name} is a text")
    try:
        return value.encode() if name == "text" else b64decode(value, validate=True)
    except ValueError:
        raise Invalid(f"{name} cannot be read: it is no {'base64' if name == 'base64' else 'UTF-8'}") from None


def _line(each: ListedSecret) -> SecretLine:
    secret = each.secret
    return {
        "name": secret.name,
        "size": secret.size,
        "set_at": time(secret.set_at),
        "set_by": secret.set_by,
        "workflows": list(each.workflows),
        "templates": list(each.templates),
    }
