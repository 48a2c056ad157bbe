"""JSON Schemas (2020-12, as OpenAPI 3.1 has them) of the types that are written as JSON.

A dataclass is an object of its fields, a TypedDict one of its keys, and each has its schema once, by its name.  Metadata of
`Annotated` that is a type tells what a text or an object is the JSON of: `Annotated[str, datetime]`.
"""

import types
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NewType,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)  # fmt: skip

Schema = dict[str, Any]
PLACE: Final = "#/components/schemas/"
_PLAIN: Final[Mapping[object, Schema]] = {
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    datetime: {"type": "string", "format": "date-time"},
    IPv4Address: {"type": "string", "format": "ipv4"},
    IPv6Address: {"type": "string", "format": "ipv6"},
    Any: {},
    object: {},
}


_TEXT: Final[Schema] = {"type": "string"}
_NULL: Final[Schema] = {"type": "null"}


class Schemas:
    """Makes schemas of types; `named` are those that others refer to."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}
        self._types: dict[str, object] = {}

    def of(self, kind: Any) -> Schema:
        """The schema of a type; raises TypeError for one that JSON has no form for, and for a second one of a name."""
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        if (origin := get_origin(kind)) is not None:
            return self._of_parts(kind, origin, get_args(kind))
        if is_typeddict(kind) or is_dataclass(kind):
            return self._reference(kind)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return _one_of([each.value for each in kind])
        if isinstance(kind, NewType):
            return self.of(kind.__supertype__)
        for plain in (str, int, float):
            if isinstance(kind, type) and issubclass(kind, plain):
                return self.of(plain)
        raise _unwritable(kind)

    def _of_parts(self, kind: Any, origin: Any, parts: tuple[Any, ...]) -> Schema:
        if origin is Annotated:
            return self.of(next((each for each in parts[1:] if isinstance(each, type)), parts[0]))
        if origin in (Required, NotRequired):
            return self.of(parts[0])
        if origin in (Union, types.UnionType):
            return _either([self.of(each) for each in parts])
        if origin is Literal:
            return _one_of(parts)
        if issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(parts[1])}
        if origin is tuple and Ellipsis not in parts:
            several = [self.of(each) for each in parts]
            return {"type": "array", "prefixItems": several, "minItems": len(parts), "maxItems": len(parts)}
        if issubclass(origin, Collection):
            return {"type": "array", "items": self.of(parts[0])}
        raise _unwritable(kind)

    def _reference(self, kind: Any) -> Schema:
        name = kind.__name__.lstrip("_")
        if self._types.setdefault(name, kind) is not kind:
            raise TypeError(f"{name} is the name of two types: {self._types[name]!r} and {kind!r}: rename one")
        if name not in self.named:
            self.named[name] = {}  # one that has itself in it finds its name
            hints = get_type_hints(kind, include_extras=True)
            required = _required(kind)
            properties = {each: self.of(hint) for each, hint in hints.items()}
            self.named[name] = object_of(properties, [each for each in properties if each in required])
        return {"$ref": PLACE + name}


def _required(kind: Any) -> Collection[str]:
    """A field of a dataclass may be left out where it has a default."""
    if is_dataclass(kind):
        return [each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]
    required: Collection[str] = kind.__required_keys__
    return required


def object_of(properties: Schema, required: Collection[str]) -> Schema:
    """An object of these `properties`, of which those that are `required` are always there."""
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def _one_of(values: Collection[Any]) -> Schema:
    return {**({"type": "string"} if all(isinstance(each, str) for each in values) else {}), "enum": list(values)}


def _either(several: list[Schema]) -> Schema:
    different = [each for place, each in enumerate(several) if each not in several[:place]]
    if {} in different:
        return {}
    different = _with_one_text(different)
    if {"type": "number"} in different:
        different = [each for each in different if each != {"type": "integer"}]  # which is a number as well
    if len(different) == 1:
        return different[0]
    # Programs that make clients know a list of types for what may be null, and for nothing else.
    if len(different) == 2 and _NULL in different and all(set(each) == {"type"} for each in different):
        return {"type": [each["type"] for each in different]}
    forms = {each.get("type", "object") for each in different}
    # Two objects may have a value in common.
    return {"oneOf" if len(forms) == len(different) else "anyOf": different}


def _with_one_text(several: list[Schema]) -> list[Schema]:
    """The same with the words of all texts together, or with any text where one of them is that."""
    texts = [each for each in several if each.get("type") == "string" and set(each) <= {"type", "enum"}]
    if len(texts) < 2:
        return several
    whole = (
        _one_of([word for each in texts for word in each["enum"]]) if all("enum" in each for each in texts) else _TEXT
    )
    return [whole, *(each for each in several if each not in texts)]


def _unwritable(kind: object) -> TypeError:
    return TypeError(f"{kind!r} has no form in JSON: answer a TypedDict, a dataclass, or what these are made of")
