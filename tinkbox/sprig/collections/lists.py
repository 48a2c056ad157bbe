"""Sprig's functions on lists; none changes the list it is given."""

from collections.abc import Mapping, Sequence

from tinkbox.gotemplate.values import NIL_SLICE, GoError, Lists, kind, truth
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.bounds import bound_items
from tinkbox.sprig.collections.equality import Distinct
from tinkbox.sprig.numbers.conversion import to_int

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


def rest(values: object) -> Items:
    """Give all but the first element; the nil slice of an empty list."""
    items = _items(values, "find rest")
    return list(items[1:]) if items else NIL_SLICE


def last(values: object) -> object:
    """Give the last element; nil of an empty list."""
    return next(reversed(_items(values, "find last")), None)


def initial(values: object) -> Items:
    """Give all but the last element; the nil slice of an empty list."""
    items = _items(values, "find initial")
    return list(items[:-1]) if items else NIL_SLICE


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
    return type(items)(items[start:end])  # type: ignore[call-arg]


def concat(*lists: object) -> Items:
    """Give the elements of all lists; the nil slice if there are none."""
    parts = [_items(each, "concat") for each in lists]
    bound_items(sum(map(len, parts)))
    return [each for part in parts for each in part] or NIL_SLICE


def chunk(size: int, values: object) -> Lists:
    """Cut a list into lists of `size` elements, the last of which may be shorter.

    A size below 0 gives no list if it is beyond the length, as in Sprig, and one for a single element; else GoError is raised
    for a size below 1.
    """
    items = _items(values, "chunk")
    if size >= 1:
        return Lists(list(items[start : start + size]) for start in range(0, len(items), size))
    if size == 0 or not items or (len(items) - 1) // size + 1 < 0 or (len(items) == 1 and size == -1):
        raise GoError("a chunk must have at least one element")
    return Lists([list(items)] if len(items) == 1 else [])


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
