"""Makes JSON of a value, reads that as go.yaml.in/yaml/v2 does, and writes it: what sigs.k8s.io/yaml.Marshal does."""

import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.printing.floats import shortest
from tinkbox.gotemplate.types.kinds import INT_MIN, UINT_MAX, is_nil, kind, printable
from tinkbox.gotemplate.types.structs import Struct
from tinkbox.gotemplate.types.typed_values import Thing
from tinkbox.goyaml.emitter import Emitter, Node, Plain, TooMuch
from tinkbox.goyaml.key_order import in_order

MAX_DEPTH = 100
MOST_WHOLE = 1e21  # from there on JSON writes an exponent
LONGEST_KEY = 1024  # characters of JSON, which libyaml looks ahead for the colon
_REFUSED = re.compile(r"[\x7f-\x84\x86-\x9f\ufffe\uffff]")
_NEXT_LINES = re.compile(r"(?<! ) *(?:\x85 *)+")
_HTML = re.compile(r"[<>&\u2028\u2029]")


def write(value: object, most: int) -> str:
    """Blocks with sorted keys and a line end at the end, of at most `most` characters.

    Raises GoError for what JSON has no words for, for text that YAML cannot hold and for more than 100 levels, and
    TooMuch, which is one, for too much.
    """
    return Emitter(most).text(_Nodes(most).node(value, 0))


class _Nodes:
    """What go.yaml.in/yaml/v2 reads of a value's JSON."""

    def __init__(self, most: int) -> None:
        self._left = most

    def node(self, value: object, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise GoError(f"a value is nested more than {MAX_DEPTH} levels deep")
        if is_nil(value):
            self._pay(1)
            return Plain("null")
        if isinstance(value, Mapping):
            entries = value.tagged if isinstance(value, Struct) else value
            self._pay(4)
            nodes = {self._key(key): self.node(each, depth + 1) for key, each in entries.items()}
            return {key: nodes[key] for key in in_order(nodes)}
        if isinstance(value, list | tuple):
            self._pay(4)
            return [self.node(each, depth + 1) for each in value]
        if isinstance(value, Thing):
            value = value.json()
        if isinstance(value, str):
            self._pay(len(value))
            return _text(value)
        self._pay(1)
        return Plain(_word(value))

    def _key(self, key: object) -> str:
        if isinstance(key, int) and not isinstance(key, bool):
            return str(key)
        if not isinstance(key, str):
            raise GoError("the keys of a map must be strings")
        self._pay(len(key))
        shown = _text(key)
        if "\x85" in key or len(json.dumps(shown, ensure_ascii=False)) + 5 * len(_HTML.findall(shown)) > LONGEST_KEY:
            raise GoError("a key is too long for YAML, or has a line break U+0085")
        return shown

    def _pay(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise TooMuch


def _text(value: str) -> str:
    """A text as it comes out of JSON that is read as YAML, where U+0085 is a line break that is folded."""
    text = printable(value)
    if (refused := _REFUSED.search(text)) is not None:
        raise GoError(f"control characters are not allowed: U+{ord(refused[0]):04X}")
    return _NEXT_LINES.sub(lambda match: "\n" * (match[0].count("\x85") - 1) or " ", text) if "\x85" in text else text


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise GoError(f"json: unsupported value: {'NaN' if math.isnan(value) else f'{value:+}'.title()}")
        # With the digits that tell it apart from other floats, and zeros: not with those that it has.
        whole = int(Decimal(repr(value))) if value.is_integer() and abs(value) < MOST_WHOLE else None
        return shortest(value) if whole is None or not INT_MIN <= whole <= UINT_MAX else str(whole)
    kind(value)
    return str(value)
