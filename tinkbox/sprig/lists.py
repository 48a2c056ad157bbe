"""Sprig's functions on lists; none changes the list it is given."""

from collections.abc import Mapping, Sequence

from tinkbox.gotemplate.values import GoError, kind, truth
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.bounds import bound_items
from tinkbox.sprig.conversion import to_int
from tinkbox.sprig.equality import Distinct

Items = Sequence[object]


def _items(value: object, purpose: str) -> Items:
    if isinstance(value, list | tuple):
        return value
    raise GoError(f"Cannot {purpose} on type {kind(value)}")


def make(*values: object) -> list[object]:
    return list(values)


def append(values: object, value: object) -> list[object]:
    return [*_items(values, "push"), value]


def prepend(values: object, value: object) -> list[object]:
    return [value, *_items(values, "prepend")]


def first(values: object) -> object:
    """Give the first element; nil of an empty list."""
    return next(iter(_items(values, "find first")), None)


def rest(values: object) -> list[object]:
    return list(_items(values, "find rest")[1:])


def last(values: object) -> object:
    """Give the last element; nil of an empty list."""
    return next(reversed(_items(values, "find last")), None)


def initial(values: object) -> list[object]:
    return list(_items(values, "find initial")[:-1])


def reverse(values: object) -> list[object]:
    return list(reversed(_items(values, "find reverse")))


def compact(values: object) -> list[object]:
    return [each for each in _items(values, "compact") if truth(each)]


def uniq(values: object) -> list[object]:
    seen = Distinct()
    kept = []
    for each in _items(values, "find uniq"):
        if each not in seen:
            seen.add(each)
            kept.append(each)
    return kept


def without(values: object, *unwanted: object) -> list[object]:
    omitted = Distinct(unwanted)
    return [each for each in _items(values, "find without") if each not in omitted]


def has(wanted: object, values: object) -> bool:
    """Tell whether a list has an element; nil has none."""
    return values is not None and wanted in Distinct(_items(values, "find has"))


def cut(values: object, *bounds: object) -> object:
    """Give the elements from the first bound up to the second; nil of an empty list.

    Raises GoError for bounds that lie outside.
    """
    items = _items(values, "slice")
    if not items:
        return None
    start = to_int(bounds[0]) if bounds else 0
    end = to_int(bounds[1]) if len(bounds) > 1 else len(items)
    if not 0 <= start <= end <= len(items):
        raise GoError(f"slice bounds out of range [{start}:{end}] with length {len(items)}")
    return list(items[start:end])


def concat(*lists: object) -> list[object]:
    parts = [_items(each, "concat") for each in lists]
    bound_items(sum(map(len, parts)))
    return [each for part in parts for each in part]


def chunk(size: int, values: object) -> list[object]:
    """Cut a list into lists of `size` elements, the last of which may be shorter. Raises GoError for a size below 1."""
    items = _items(values, "chunk")
    if size < 1:
        raise GoError("a chunk must have at least one element")
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


ONE = {
    "first": first,
    "rest": rest,
    "last": last,
    "initial": initial,
    "reverse": reverse,
    "compact": compact,
    "uniq": uniq,
}
PLAIN: Mapping[str, Function] = {
    **{name: typed(function, "any") for name, function in ONE.items()},
    "append": typed(append, "any", "any"),
    "push": typed(append, "any", "any"),
    "prepend": typed(prepend, "any", "any"),
    "without": typed(without, "any", "any..."),
    "has": typed(has, "any", "any"),
    "slice": typed(cut, "any", "any..."),
    "chunk": typed(chunk, "int", "any"),
}
FUNCTIONS: Mapping[str, Function] = {
    "list": typed(make, "any..."),
    "tuple": typed(make, "any..."),
    "concat": typed(concat, "any..."),
    **PLAIN,
    **{f"must{name[0].upper()}{name[1:]}": function for name, function in PLAIN.items()},
}
