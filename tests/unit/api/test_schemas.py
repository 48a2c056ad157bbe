"""Schemas of types, as JSON Schema 2020-12 has them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from ipaddress import IPv4Address
from typing import Annotated, Any, Literal, NewType, NotRequired, Required, TypedDict

import pytest
from jsonschema import Draft202012Validator

from tinkbox.api.schemas import Schema, Schemas

Word = NewType("Word", str)


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Part:
    name: str
    color: Color | None = None
    parts: "Sequence[Part]" = field(default_factory=tuple)


class Whole(TypedDict):
    part: Annotated[dict[str, Any], Part]
    at: NotRequired[Annotated[str, datetime]]


def whole(kind: Any) -> Schema:
    """The schema of a type, with those that it refers to."""
    schemas = Schemas()
    made = schemas.of(kind)
    return {**made, "components": {"schemas": schemas.named}}


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (str, {"type": "string"}),
        (Word, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (int | None, {"type": ["integer", "null"]}),
        (str | Any, {}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (Annotated[str, datetime], {"type": "string", "format": "date-time"}),
        (IPv4Address, {"type": "string", "format": "ipv4"}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Literal[1, 2], {"enum": [1, 2]}),
        (
            Color | Literal[""],
            {"type": "string", "enum": ["red", "blue", ""]},
        ),
        (Color | str, {"type": "string"}),
        (int | str, {"oneOf": [{"type": "integer"}, {"type": "string"}]}),
        (int | str | None, {"oneOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
        (str | int | float, {"oneOf": [{"type": "string"}, {"type": "number"}]}),
        (Color | None, {"oneOf": [{"type": "string", "enum": ["red", "blue"]}, {"type": "null"}]}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (frozenset[int], {"type": "array", "items": {"type": "integer"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (
            tuple[int, str],
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        ),
        (Mapping[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
        (list[Part], {"type": "array", "items": {"$ref": "#/components/schemas/Part"}}),
    ],
)
def test_a_type_has_its_schema(kind: Any, schema: Schema) -> None:
    assert Schemas().of(kind) == schema


class Wish(TypedDict, total=False):
    part: Required[Part]
    also: str


def test_a_key_that_must_be_there_among_others_is_required() -> None:
    schemas = Schemas()
    schemas.of(Wish)
    assert (schemas.named["Wish"]["required"], list(schemas.named["Wish"]["properties"])) == (
        ["part"],
        ["part", "also"],
    )


def test_what_has_no_default_or_is_no_key_to_leave_out_is_required() -> None:
    schemas = Schemas()
    schemas.of(Whole)
    assert schemas.named["Whole"]["required"] == ["part"]
    assert schemas.named["Part"]["required"] == ["name"]


def test_a_value_fits_the_schema_of_its_type() -> None:
    part = json.loads(json.dumps(asdict(Part("a", Color.RED, [Part("b")]))))
    value = {"part": part, "at": "2026-11-21T03:00:00+00:00"}
    check = Draft202012Validator(whole(Whole))
    assert check.is_valid(value)
    assert not check.is_valid({**value, "part": {"color": "red"}})
    assert not check.is_valid({**value, "part": {"name": "a", "color": "green"}})
    assert not check.is_valid({**value, "part": {"name": "a", "parts": [{"name": 7}]}})


def test_a_type_that_json_has_no_form_for_is_refused() -> None:
    with pytest.raises(TypeError, match="has no form in JSON"):
        Schemas().of(list[complex])


def test_two_types_of_one_name_are_refused() -> None:
    schemas = Schemas()
    schemas.of(Part)
    other = dataclass(type("Part", (), {"__annotations__": {"name": str}}))
    with pytest.raises(TypeError, match="Part is the name of two types"):
        schemas.of(other)
