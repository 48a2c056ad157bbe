"""Sprig's functions that choose between values, and the one that gives up. Empty is what `if` takes for false."""

from collections.abc import Mapping

from tinkbox.gotemplate.values import GoError, truth
from tinkbox.sprig.arguments import Function, typed


def default(fallback: object, *given: object) -> object:
    return given[0] if given and truth(given[0]) else fallback


def empty(value: object) -> bool:
    return not truth(value)


def coalesce(*values: object) -> object:
    """Give the first value that is not empty; nil if there is none."""
    return next(filter(truth, values), None)


def all_given(*values: object) -> bool:
    return all(map(truth, values))


def any_given(*values: object) -> bool:
    return any(map(truth, values))


def ternary(if_true: object, if_false: object, condition: bool) -> object:
    return if_true if condition else if_false


def fail(message: str) -> object:
    """Raise GoError with the template's own message."""
    raise GoError(message)


def hello() -> str:
    return "Hello!"


FUNCTIONS: Mapping[str, Function] = {
    "default": typed(default, "any", "any..."),
    "empty": typed(empty, "any"),
    "coalesce": typed(coalesce, "any..."),
    "all": typed(all_given, "any..."),
    "any": typed(any_given, "any..."),
    "ternary": typed(ternary, "any", "any", "bool"),
    "fail": typed(fail, "string"),
    "hello": typed(hello),
}
