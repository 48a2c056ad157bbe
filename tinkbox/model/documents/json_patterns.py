"""Patterns for JSON, as Tinkerbell's rules have them: the language of Quamina (PATTERNS.md of quamina.net/go/quamina).

A pattern is an object with the fields of what it matches; at its leaves stand lists of values, of which one has to be there:
`{"product": {"vendor": ["Dell Inc.", {"prefix": "HP"}]}}`.  What is in an array is looked at element by element, and all that a
pattern says below an array holds of one of its elements.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tinkbox.model.documents.json_text import read_document
from tinkbox.model.errors import Invalid
from tinkbox.model.spelling import meant
from tinkbox.model.wildcards import consists_of

MAX_PATTERN: Final = 64 * 1024  # letters of one pattern
MAX_VALUES: Final = 1_000  # fields and values of one pattern
MAX_DEPTH: Final = 16  # what is deeper matches nothing that a machine tells
_NOT_TAKEN: Final = "regexp"  # Quamina has it, and nothing here
_Path = tuple[str, ...]
_Holds = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class _Leaf:
    """One of `tests` holds of a value; with `absent` there is no value of this path at all."""

    tests: tuple[_Holds, ...] = ()
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """What has to be there, by the names of fields.  `text` is what people wrote."""

    fields: Mapping[str, "Pattern | _Leaf"]
    text: str = field(default="", compare=False)

    def matches(self, document: Mapping[str, Any]) -> bool:
        """Whether it holds of a JSON object.  The time that it takes is bounded by the size of both."""
        return self.is_asking and _holds(self, document, (), frozenset(_paths(document, ())))

    @property
    def is_asking(self) -> bool:
        """Whether it asks for anything: what asks for nothing matches nothing, as in Quamina."""
        return any(isinstance(each, _Leaf) or each.is_asking for each in self.fields.values())

    def leaves(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], bool]]:
        """Where it asks for something, by the names of fields, and whether that is a value; else it asks that there is none."""
        for name, each in self.fields.items():
            if isinstance(each, _Leaf):
                yield (*path, name), not each.absent
            else:
                yield from each.leaves((*path, name))


def parse_pattern(text: str) -> Pattern:
    """Read one pattern of JSON; raises Invalid that says what is wrong, and where."""
    if len(text) > MAX_PATTERN:
        raise Invalid(f"a pattern of more than {MAX_PATTERN >> 10} KiB: split it")
    try:
        document = read_document(text)
    except ValueError as error:
        raise Invalid(f"invalid json: {error}") from None
    return pattern_of(document, text)


def pattern_of(document: Any, text: str = "") -> Pattern:
    """As `parse_pattern`, of a document that was decoded before."""
    if not isinstance(document, Mapping):
        raise Invalid('a pattern is an object, such as {"product": {"vendor": ["Dell Inc."]}}')
    if _size(document) > MAX_VALUES:
        raise Invalid(f"a pattern with more than {MAX_VALUES} values: split it")
    return Pattern(_fields(document, ()), text or json.dumps(document))


def _size(value: Any) -> int:
    if isinstance(value, Mapping):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1


def _fields(document: Mapping[str, Any], path: _Path) -> dict[str, Pattern | _Leaf]:
    if len(path) >= MAX_DEPTH:
        raise Invalid(f"{'.'.join(path)}: fields within more than {MAX_DEPTH} others")
    found = {name: _field(value, (*path, name)) for name, value in document.items()}
    # A list without values says nothing (Quamina's documentation has it match nothing, its code does not).
    return {name: each for name, each in found.items() if isinstance(each, Pattern) or each.tests or each.absent}


def _field(value: Any, path: _Path) -> Pattern | _Leaf:
    if isinstance(value, Mapping):
        return Pattern(_fields(value, path))
    if not isinstance(value, list):
        raise Invalid(f"{'.'.join(path)}: the values stand in a list, such as [{json.dumps(value)}]")
    try:
        return _leaf(value)
    except Invalid as refusal:
        raise Invalid(f"{'.'.join(path)}: {refusal}") from None


def _leaf(values: list[Any]) -> _Leaf:
    kinds = [next(iter(each), "") for each in values if isinstance(each, dict)]
    alone = next((each for each in kinds if each in ("exists", "anything-but")), "")
    if alone and len(values) > 1:
        raise Invalid(f"{alone} stands alone in its list")
    if alone == "exists":
        wanted = _the_only(values[0])
        if not isinstance(wanted, bool):
            raise Invalid("exists is true or false")
        return _Leaf((lambda _: True,)) if wanted else _Leaf(absent=True)
    return _Leaf(tuple(map(_test, values)))


def _test(value: Any) -> _Holds:
    if isinstance(value, list):
        raise Invalid("a list in the list of values: expected text, a number, true, false, null or a pattern")
    if not isinstance(value, dict):
        return lambda found: _same(found, value)
    kind, wanted = next(iter(value), ""), _the_only(value)
    if kind == _NOT_TAKEN:
        raise Invalid("tinkbox has no regexp in rules: use prefix, wildcard or equals-ignore-case")
    if kind not in _KINDS:
        raise Invalid(f"unknown pattern {kind!r}; {meant(kind, list(_KINDS))}")
    return _KINDS[kind](wanted)


def _the_only(value: Mapping[str, Any]) -> Any:
    if len(value) != 1:
        raise Invalid('a pattern has one word, such as {"prefix": "Dell"}')
    return next(iter(value.values()))


def _same(found: Any, wanted: Any) -> bool:
    """Numbers by their value, and neither true nor false is one."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return bool(found == wanted)


def _text(kind: str, wanted: Any) -> str:
    if not isinstance(wanted, str):
        raise Invalid(f"{kind} is followed by text")
    return wanted


def _prefix(wanted: Any) -> _Holds:
    begin = _text("prefix", wanted)
    return lambda found: isinstance(found, str) and found.startswith(begin)


def _ignoring_case(wanted: Any) -> _Holds:
    folded = _text("equals-ignore-case", wanted).casefold()
    return lambda found: isinstance(found, str) and found.casefold() == folded


def _anything_but(wanted: Any) -> _Holds:
    if not isinstance(wanted, list) or not wanted or not all(isinstance(each, str) for each in wanted):
        raise Invalid("anything-but is followed by a list of texts")
    excluded = frozenset(wanted)
    return lambda found: found not in excluded


def _wildcard(wanted: Any) -> _Holds:
    return _with_stars(_pieces(_text("wildcard", wanted)))


def _shellstyle(wanted: Any) -> _Holds:
    return _with_stars(_text("shellstyle", wanted).split("*"))


def _pieces(text: str) -> list[str]:
    """What stands between stars; a backslash makes a star or a backslash mean itself."""
    pieces, letters, before = [""], iter(text), ""
    for letter in letters:
        if letter == "*":
            if before == "*":
                raise Invalid("wildcard: two stars beside each other")
            pieces.append("")
        elif letter == "\\":
            escaped = next(letters, "")
            if escaped not in ("*", "\\"):
                raise Invalid(f"wildcard: a backslash stands before * or \\, not before {escaped!r}")
            pieces[-1] += escaped
        else:
            pieces[-1] += letter
        before = letter
    return pieces


def _with_stars(pieces: list[str]) -> _Holds:
    return lambda found: isinstance(found, str) and consists_of(found, pieces)


_KINDS: Final[Mapping[str, Callable[[Any], _Holds]]] = {
    "prefix": _prefix,
    "wildcard": _wildcard,
    "shellstyle": _shellstyle,
    "equals-ignore-case": _ignoring_case,
    "anything-but": _anything_but,
}


def _paths(value: Any, path: _Path) -> Iterator[_Path]:
    """Where there are values, without the places in arrays."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _paths(inner, (*path, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _paths(inner, path)
    else:
        yield path


def _holds(pattern: Pattern | _Leaf, value: Any, path: _Path, there: frozenset[_Path]) -> bool:
    """`there` are the paths of the whole document: what is to be absent is so of all elements of an array."""
    if isinstance(pattern, _Leaf) and pattern.absent:
        return path not in there
    if isinstance(value, list):
        return any(_holds(pattern, each, path, there) for each in value) or _all_absent(pattern, path, there)
    if isinstance(pattern, _Leaf):
        return not isinstance(value, Mapping) and any(each(value) for each in pattern.tests)
    inside = value if isinstance(value, Mapping) else {}
    return all(_holds(each, inside.get(name, []), (*path, name), there) for name, each in pattern.fields.items())


def _all_absent(pattern: Pattern | _Leaf, path: _Path, there: frozenset[_Path]) -> bool:
    """Whether all that a pattern says is that something is absent, and it is."""
    if isinstance(pattern, _Leaf):
        return pattern.absent and path not in there
    return all(_all_absent(each, (*path, name), there) for name, each in pattern.fields.items())
