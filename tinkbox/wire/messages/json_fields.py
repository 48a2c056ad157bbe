"""Messages as JSON.

They are written from their fields.  Of what a stranger sent each value is what it must be, or Invalid says what it is not.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

from tinkbox.model.documents.json_text import read_json
from tinkbox.model.errors import Invalid

E = TypeVar("E", bound=StrEnum)


def fields_of(message: Any) -> dict[str, Any]:
    """The fields of a dataclass by their names, in their order; what they hold is not copied."""
    # dataclasses.asdict copies whatever it meets, which takes longer than all else that is done with a message.
    return {name: getattr(message, name) for name in message.__dataclass_fields__}


def _written(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else fields_of(value)


_WRITER = json.JSONEncoder(separators=(",", ":"), default=_written)


def write(message: Any) -> str:
    """A dataclass, or an object, as one line of JSON, with the dataclasses in it, in the order of their fields.

    Bytes are base64 (RFC 4648 §4).
    """
    return _WRITER.encode(message)


# So many numbers, texts, lists and objects take twenty milliseconds to be read, while nobody else is answered.
MAX_VALUES: Final = 100_000
MAX_NUMBER: Final = 2**53  # what every reader of JSON can tell from its neighbour (RFC 8259 §6)


def check_size(content: str | bytes) -> None:
    """Raises Invalid for JSON of too many values, without reading it."""
    octets = content.encode(errors="replace") if isinstance(content, str) else content
    if sum(octets.count(each) for each in (b",", b"[", b"{")) > MAX_VALUES:
        raise Invalid(f"invalid json: more than {MAX_VALUES} values")


def read_object(content: str | bytes, what: str) -> Mapping[str, Any]:
    """The JSON object of a message; `what` names it in the refusal."""
    check_size(content)
    try:
        entry = read_json(content)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{what}: invalid json: {error}") from None
    if not isinstance(entry, dict):
        raise Invalid(f"{what}: expected an object")
    return entry


def text(entry: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """A text, which must be there unless it has a default."""
    value = entry.get(name, default)
    if not isinstance(value, str):
        raise Invalid(f"{name} is missing or is no text")
    return _whole(value)


def octets(entry: Mapping[str, Any], name: str, default: bytes | None = None) -> bytes:
    """Bytes, which must be there unless they have a default."""
    if default is not None and entry.get(name) is None:
        return default
    try:
        return base64.b64decode(text(entry, name), validate=True)
    except (binascii.Error, ValueError):
        raise Invalid(f"{name} is no base64") from None


def texts(entry: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of texts, empty when it is not there."""
    values = entry.get(name) or ()
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise Invalid(f"{name} is a list of texts")
    return tuple(map(_whole, values))


def mapping(entry: Mapping[str, Any], name: str) -> dict[str, str]:
    """Texts by name, empty when they are not there."""
    values = entry.get(name) or {}
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise Invalid(f"{name} is an object of texts")
    return {_whole(key): _whole(value) for key, value in values.items()}


def flag(entry: Mapping[str, Any], name: str, *, default: bool = False) -> bool:
    """True or false."""
    value = entry.get(name, default)
    if not isinstance(value, bool):
        raise Invalid(f"{name} is true or false")
    return value


def number(entry: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """A whole number, which must be there unless it has a default."""
    value = entry.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(f"{name} is missing or is no whole number")
    if abs(value) >= MAX_NUMBER:
        raise Invalid(f"{name} is no number that is counted to")
    return value


def member(entry: Mapping[str, Any], name: str, kind: type[E]) -> E:
    """One of an enumeration's values."""
    try:
        return kind(text(entry, name))
    except ValueError:
        raise Invalid(f"{name} is one of {', '.join(kind)}, not {entry.get(name)!r}") from None


def _whole(value: str) -> str:
    """JSON can spell halves of characters, which neither the store nor a terminal takes: they become `?`."""
    return value.encode(errors="replace").decode()
