"""Reads YAML as sigs.k8s.io/yaml.Unmarshal does into an empty interface: by way of JSON, so that all keys are text."""

import base64
import binascii
import math
import re
import struct
from typing import NoReturn

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.printing.floats import shortest
from tinkbox.gotemplate.types.kinds import INT_MAX, from_bytes, printable
from tinkbox.goyaml import resolution
from tinkbox.goyaml.nodes import MAX_DEPTH, MAX_NODES, Alias, Mapping, Node, Scalar, Sequence, first_document

_NO_BASE64 = re.compile(r"[^A-Za-z0-9+/=]")
# As YAML has it: a key is a scalar with its type, for 1, 1.0 and true are equal in Python.
_Key = tuple[type, resolution.Scalar]
_Raw = resolution.Scalar | list["_Raw"] | dict[_Key, "_Raw"]
Value = str | int | float | bool | list["Value"] | dict[str, "Value"] | None


def read(text: str, *, floats: bool = True) -> Value:
    """The value of a text's first document, nil when there is none; of keys that are given twice, the last counts.

    `floats`: every number is a float64, as what Go decodes of JSON; else whole numbers stay so.  Raises GoError that names
    the line for what is no YAML, for what JSON cannot hold, and beyond the limits.
    """
    root = first_document(text)
    return None if root is None else _json(_Reader().value(root, 0), floats)


def _json(value: _Raw, floats: bool) -> Value:
    """What JSON makes of it; only what is left in the end has to be right."""
    match value:
        case dict():
            return {_json_key(key): _json(each, floats) for (_, key), each in value.items()}
        case list():
            return [_json(each, floats) for each in value]
        case float() if not math.isfinite(value):
            raise GoError("JSON has no numbers like .inf and .nan")
        case int() if floats and not isinstance(value, bool):
            return float(value)
        case _:
            return value


def _json_key(key: resolution.Scalar) -> str:
    match key:
        case bool():
            return "true" if key else "false"
        case str():
            return key
        case int() if key <= INT_MAX:
            return str(key)
        case float():
            return _single(key)
        case _:
            raise GoError(f"unsupported map key: {'null' if key is None else key}")


class _Reader:
    def __init__(self) -> None:
        self._values = 0
        self._within: set[int] = set()

    def value(self, node: Node, depth: int) -> _Raw:
        self._count(node, depth)
        match node:
            case Scalar():
                return _scalar(node)
            case Sequence():
                return [self.value(item, depth + 1) for item in node.items]
            case Mapping():
                found: dict[_Key, _Raw] = {}
                self._fill(found, node, depth)
                return found
            case Alias():
                self._enter(node)
                value = self.value(node.target, depth + 1)
                self._within.remove(id(node))
                return value

    def _count(self, node: Node, depth: int) -> None:
        # Aliases of aliases grow without end.
        self._values += 1
        if self._values > MAX_NODES or depth > MAX_DEPTH:
            _fail(node, f"more than {MAX_NODES} values, or {MAX_DEPTH} within each other")

    def _enter(self, alias: Alias) -> None:
        if id(alias) in self._within:
            _fail(alias, f"anchor '{alias.name}' value contains itself")
        self._within.add(id(alias))

    def _fill(self, found: dict[_Key, _Raw], mapping: Mapping, depth: int) -> None:
        """Add the pairs in their order: what a merge key brings replaces what stands before it."""
        for key, value in mapping.pairs:
            if isinstance(key, Scalar) and key.text == "<<" and (key.is_implicit or key.tag == resolution.MERGE):
                self._merge(found, value, depth)
            else:
                found[self._key(key)] = self.value(value, depth + 1)

    def _merge(self, found: dict[_Key, _Raw], node: Node, depth: int) -> None:
        sources = list(reversed(node.items)) if isinstance(node, Sequence) else [node]
        for source in sources:
            target = source.target if isinstance(source, Alias) else source
            self._count(source, depth)
            if not isinstance(target, Mapping):
                _fail(source, "map merge requires map or sequence of maps as the value")
            if isinstance(source, Alias):
                self._enter(source)
            self._fill(found, target, depth + 1)
            if isinstance(source, Alias):
                self._within.remove(id(source))

    def _key(self, node: Node) -> _Key:
        target = node.target if isinstance(node, Alias) else node
        if not isinstance(target, Scalar):
            _fail(node, "invalid map key: a list or a map")
        value = _scalar(target)
        return type(value), value


def _scalar(node: Scalar) -> resolution.Scalar:
    if not node.tag and not node.is_implicit:
        return node.text
    try:
        tag, value = resolution.resolve(node.tag, node.text)
    except GoError as error:
        _fail(node, str(error))
    return _decoded(node) if tag == resolution.BINARY else value


def _decoded(node: Scalar) -> str:
    """The text that these bytes are; those that are no UTF-8 are lost on the way through JSON."""
    digits = node.text.replace("\n", "").replace("\r", "")
    try:
        if _NO_BASE64.search(digits):
            raise ValueError
        data = base64.b64decode(digits, validate=True)
    except (ValueError, binascii.Error):
        _fail(node, "!!binary value contains invalid base64 data")
    return printable(from_bytes(data))


def _single(value: float) -> str:
    """A float as a key: as float32 with the fewest digits."""
    if math.isnan(value):
        return ".nan"
    try:
        (rounded,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        rounded = math.copysign(math.inf, value)
    if math.isinf(rounded):
        return ".inf" if rounded > 0 else "-.inf"
    for digits in range(1, 10):
        near = float(f"{rounded:.{digits}g}")
        if struct.pack("f", near) == struct.pack("f", rounded):
            return shortest(near)
    return shortest(rounded)


def _fail(node: Node, text: str) -> NoReturn:
    raise GoError(f"line {node.line}: {text}")
