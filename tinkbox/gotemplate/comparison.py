"""eq, ne, lt, le, gt and ge: values compare within their kind only, and an int never with a float64."""

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.kinds import kind, to_bytes, type_name

BASIC = {"bool", "int", "float64", "string"}


def eq(first: object, *others: object) -> bool:
    """Tell whether the first equals any other; nil equals nil. Raises GoError for values that do not compare."""
    if not others:
        raise GoError("missing argument for comparison")
    return any(_equal(first, other) for other in others)


def _equal(first: object, other: object) -> bool:
    kinds = kind(first), kind(other)
    if "nil" in kinds:
        return kinds == ("nil", "nil")
    if kinds[0] == kinds[1] and kinds[0] in BASIC:
        return first == other
    if BASIC.isdisjoint(kinds):
        raise GoError(f"non-comparable types: {type_name(first)} and {type_name(other)}")
    raise GoError(f"incompatible types for comparison: {type_name(first)} and {type_name(other)}")


def ne(first: object, second: object) -> bool:
    """Raises GoError like eq()."""
    return not eq(first, second)


def lt(first: object, second: object) -> bool:
    """Compare two ints, two float64 or two strings, these by their bytes. Raises GoError for anything else."""
    kinds = kind(first), kind(second)
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
