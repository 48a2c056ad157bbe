"""Sprig's JSON, written and read as Go's encoding/json does: sorted keys, escaped HTML, numbers are floats.

A struct has the names of its JSON tags in the order of its fields, without what `omitempty` leaves out.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TypeVar

from tinkbox.gotemplate.types.structs import Struct
from tinkbox.gotemplate.types.typed_values import Thing
from tinkbox.gotemplate.values import GoError, from_bytes, is_nil, kind, sorted_items, to_bytes
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.bounds import Steps, bound_depth, bound_items, bound_text
from tinkbox.sprig.text.lettercase import NOT_UTF8

T = TypeVar("T")
CONTROL = re.compile(r'["\\\x00-\x1f\u2028\u2029\ud800-\udfff]')
CONTROL_AND_HTML = re.compile(r'["\\\x00-\x1f\u2028\u2029\ud800-\udfff<>&]')
SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Unsupported(GoError):
    """A value that JSON has no words for."""


class Writer:
    """Writes one value; text() raises Unsupported for NaN and infinity, GoError beyond the bounds."""

    def __init__(self, *, html: bool = True, indent: str | None = None) -> None:
        self._special = CONTROL_AND_HTML if html else CONTROL
        self._indent = indent
        self._pieces: list[str] = []
        self._size = 0

    def text(self, value: object) -> str:
        self._value(value, 0)
        return "".join(self._pieces)

    def _write(self, piece: str) -> None:
        self._size += len(piece)
        bound_text(self._size)
        self._pieces.append(piece)

    def _value(self, value: object, depth: int) -> None:
        bound_depth(depth)
        if is_nil(value):
            self._write("null")
        elif isinstance(value, Struct):
            self._group("{}", list(value.tagged.items()), self._entry, depth)
        elif isinstance(value, Mapping):
            self._group("{}", sorted_items(value), self._entry, depth)
        elif isinstance(value, list | tuple):
            self._group("[]", list(value), self._value, depth)
        else:
            self._write(self._scalar(value))

    def _group(self, brackets: str, members: list[T], write: Callable[[T, int], None], depth: int) -> None:
        if not members:
            self._write(brackets)
            return
        self._write(brackets[0])
        for index, member in enumerate(members):
            if index:
                self._write(",")
            self._newline(depth + 1)
            write(member, depth + 1)
        self._newline(depth)
        self._write(brackets[1])

    def _entry(self, entry: tuple[str, object], depth: int) -> None:
        self._write(self._string(entry[0]) + (":" if self._indent is None else ": "))
        self._value(entry[1], depth)

    def _newline(self, depth: int) -> None:
        if self._indent is not None:
            self._write("\n" + self._indent * depth)

    def _scalar(self, value: object) -> str:
        if isinstance(value, Thing):
            value = value.json()
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, float):
            return _number(value)
        kind(value)
        return str(value)

    def _string(self, value: str) -> str:
        return '"' + self._special.sub(_escape, from_bytes(to_bytes(value))) + '"'


def _escape(match: re.Match[str]) -> str:
    if NOT_UTF8.match(match[0]):
        return "\\ufffd"
    return SHORT.get(match[0]) or f"\\u{ord(match[0]):04x}"


def _number(value: float) -> str:
    """Write a float with the fewest digits: with an exponent below 1e-6 and from 1e21 on."""
    if not math.isfinite(value):
        raise Unsupported(f"json: unsupported value: {'NaN' if math.isnan(value) else f'{value:+}'.title()}")
    if value and not 1e-6 <= abs(value) < 1e21:
        return repr(value).replace("e-0", "e-")
    return f"{Decimal(repr(value)):f}".removesuffix(".0")


def must_to_json(value: object) -> str:
    return Writer().text(value)


def must_to_pretty_json(value: object) -> str:
    return Writer(indent="  ").text(value)


def must_to_raw_json(value: object) -> str:
    return Writer(html=False).text(value)


def to_json(value: object) -> str:
    """Write a value; the empty string if JSON has no words for it."""
    return _or_empty(must_to_json, value)


def to_pretty_json(value: object) -> str:
    return _or_empty(must_to_pretty_json, value)


def _or_empty(write: Callable[[object], str], value: object) -> str:
    try:
        return write(value)
    except Unsupported:
        return ""


def must_from_json(text: str) -> object:
    """Read JSON. Raises GoError for what is none, and beyond the bounds."""
    try:
        document = json.loads(
            NOT_UTF8.sub("\ufffd", text), parse_int=float, parse_float=float, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise Unsupported(f"invalid JSON: {error}") from None
    return _read(document, Steps(), 0)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"invalid constant {name}")


def _read(value: object, steps: Steps, depth: int) -> object:
    steps.take()
    bound_depth(depth)
    if isinstance(value, float) and math.isinf(value):
        raise Unsupported("json: cannot unmarshal number into Go value of type float64")
    if isinstance(value, str):
        return NOT_UTF8.sub("\ufffd", value)
    if isinstance(value, list):
        bound_items(len(value))
        return [_read(each, steps, depth + 1) for each in value]
    if isinstance(value, dict):
        bound_items(len(value))
        return {NOT_UTF8.sub("\ufffd", key): _read(each, steps, depth + 1) for key, each in value.items()}
    return value


def from_json(text: str) -> object:
    """Read JSON; nil if it is none."""
    try:
        return must_from_json(text)
    except Unsupported:
        return None


FUNCTIONS: Mapping[str, Function] = {
    "toJson": typed(to_json, "any"),
    "toPrettyJson": typed(to_pretty_json, "any"),
    "toRawJson": typed(must_to_raw_json, "any"),
    "fromJson": typed(from_json, "string"),
    "mustToJson": typed(must_to_json, "any"),
    "mustToPrettyJson": typed(must_to_pretty_json, "any"),
    "mustToRawJson": typed(must_to_raw_json, "any"),
    "mustFromJson": typed(must_from_json, "string"),
}
