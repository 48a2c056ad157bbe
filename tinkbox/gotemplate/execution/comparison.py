"""eq, ne, lt, le, gt and ge: values compare within their kind only, and an integer never with a float64."""

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.types.kinds import INTEGERS, is_nil, kind, to_bytes, type_name
from tinkbox.gotemplate.types.typed_values import Thing

BASIC = {"bool", "int", "float64", "string"}


def eq(first: object, *others: object) -> bool:
    """Tell whether the first equals any other; nil equals nil. Raises GoError for values that do not compare."""
    if not others:
        raise GoError("missing argument for comparison")
    return any(_equal(first, other) for other in others)


def _kind(value: object) -> str:
    """Name the kind, that of all integers as `int`."""
    name = kind(value)
    return "int" if name in INTEGERS else name


def _equal(first: object, other: object) -> bool:
    kinds = _kind(first), _kind(other)
    if kinds[0] == kinds[1] and kinds[0] in BASIC:
        return first == other
    if "nil" in kinds or (kinds[0] == kinds[1] and (is_nil(first) or is_nil(other))):
        return is_nil(first) and is_nil(other)
    if kinds == ("ptr", "ptr"):
        return first is other
    if isinstance(first, Thing) and type(first) is type(other):
        return first == other
    if BASIC.isdisjoint(kinds):
        raise GoError(f"non-comparable types: {type_name(first)} and {type_name(other)}")
    raise GoError(f"incompatible types for comparison: {type_name(first)} and {type_name(other)}")


def ne(first: object, second: object) -> bool:
    """Raises GoError like eq()."""
    return not eq(first, second)


def lt(first: object, second: object) -> bool:
    """Compare two ints, two float64 or two strings, these by their bytes. Raises GoError for anything else."""
    kinds = _kind(first), _kind(second)
    if not BASIC.issuperset(kinds):
        raise GoError("invalid type for comparison")
    if kinds[0] != kinds[1]:
        raise GoError(f"incompatible types for comparison: {kinds[0]} and {kinds[1]}")
    if isinstance(first, str) and isinstance(second, str):
        return to_bytes(first) < to_bytes(second)
    if isinstance(first, bool) or not isinstance(first, int | float) or not isinstance(second, int | float):
        raise GoError("invalid type for comparison")
    return first < second


def le(first: object, second: object) -> bool:
    """Raises GoError like lt()."""
    return lt(first, second) or eq(first, second)


# These two are negations, as in Go: both hold for a NaN.


def gt(first: object, second: object) -> bool:
    """Raises GoError like lt()."""
    return not le(first, second)


def ge(first: object, second: object) -> bool:
    """Raises GoError like lt()."""
    return not lt(first, second)
