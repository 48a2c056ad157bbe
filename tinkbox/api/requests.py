"""What a request says, read: its JSON object, the key in its path, numbers in its query."""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from aiohttp import web

from tinkbox.door.bodies import body_of
from tinkbox.model.errors import Invalid
from tinkbox.model.json_text import read_document
from tinkbox.model.labels import LabelChange, parse_change, parse_labels
from tinkbox.model.spelling import meant
from tinkbox.model.text import quoted
from tinkbox.wire.messages.json_fields import check_size, texts

MAX_DOCUMENT: Final = 4 * 1024 * 1024
MAX_DIGITS: Final = 18


async def read_object(request: web.Request) -> dict[str, Any]:
    """The request's JSON object; raises Invalid or TooLarge."""
    body = await body_of(request, MAX_DOCUMENT)
    check_size(body)
    return object_of(body)


def object_of(body: bytes) -> dict[str, Any]:
    """The JSON object that a body is; raises Invalid."""
    try:
        document = read_document(body)
        # JSON can spell what is no text: half of a surrogate pair.
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Invalid("invalid json: half of a character (\\ud800 to \\udfff alone) is no text") from None
    except ValueError as error:
        raise Invalid(f"invalid json: {error}") from None
    if not isinstance(document, dict):
        raise Invalid("invalid json: expected an object")
    return document


def known_only(document: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any]:
    """The same document; raises Invalid for a name that means nothing in it, which would otherwise count for nothing."""
    for name in document:
        if name not in names:
            raise Invalid(f"{quoted(name)} means nothing here: {meant(name, names)}")
    return document


def text_field(document: Mapping[str, Any], name: str) -> str:
    """A required text of a document."""
    value = document.get(name)
    if not isinstance(value, str) or not value:
        raise Invalid(f"{name} is required and is text")
    return value


def is_number(text: str) -> bool:
    """Whether this is a whole number that the store can count to."""
    return text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS


def label_change_of(document: Mapping[str, Any]) -> LabelChange:
    """`set`, a map of labels, and `remove`, a list of keys; raises Invalid."""
    known_only(document, ("set", "remove"))
    removed = texts(document, "remove")
    wanted = parse_labels(document.get("set"), "set")
    change = parse_change([*(f"{key}={value}" for key, value in wanted.items()), *(f"{key}-" for key in removed)])
    if not change:
        raise Invalid('nothing to change: give {"set": {"rack": "r1"}}, {"remove": ["rack"]}, or both')
    return change


def key_of(request: web.Request) -> str:
    """Which one is asked for."""
    return request.match_info["key"]


def says_yes(request: web.Request, name: str) -> bool:
    """Whether the query has this, and says neither 0 nor false of it."""
    return request.query.get(name, "") not in ("", "0", "false")


def number(request: web.Request, name: str) -> int:
    """A whole number in the query, 0 when it is not there; raises Invalid."""
    given = request.query.get(name, "0")
    if not is_number(given):
        raise Invalid(f"{name} is a whole number such as 3, not {given[:40]!r}")
    return int(given)


def devices_of(document: Mapping[str, Any]) -> dict[str, str]:
    """The template's devices and parameters, by name; a list of texts is one text of several lines.  Raises Invalid."""
    devices = document.get("hardware")
    if not isinstance(devices, dict):
        raise _no_devices()
    return {name: _device(value) for name, value in devices.items()}


def _device(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    if not isinstance(value, str):
        raise _no_devices()
    return value


def _no_devices() -> Invalid:
    return Invalid(
        'hardware is a map of device names to addresses, such as {"device_1": "08:00:27:00:00:01"}; a value is text, or a '
        "list of texts"
    )
