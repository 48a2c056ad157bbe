"""Calls as Go's text/template makes them, and as Jinja2 does: the number and the kinds of arguments are checked, results are bounded."""

from collections.abc import Callable, Mapping
from typing import Any

from tinkbox.gotemplate.execution.arguments import UINT32, is_nilable
from tinkbox.gotemplate.values import (
    INTEGERS,
    NIL_MAP,
    NIL_SLICE,
    GoError,
    Int64,
    Typed,
    from_bytes,
    kind,
    to_bytes,
    type_name,
)
from tinkbox.sprig.bounds import bound_items, bound_text

Function = Callable[..., object]
INT_MAX = (1 << 63) - 1
GO_NAMES = {"map": "map[string]interface {}"}


def typed(function: Function, *parameters: str, gives: Callable[[Any], object] | None = None) -> Function:
    """Make a function callable from a template.

    Each parameter is `any`, `string`, `int`, `uint32`, `float64`, `bool`, `map` or the name of another type; the last may end in `...`
    and then stands for any number of them. From callers other than Go's templates nil is an empty, unchangeable map where a
    map is wanted, and the nil slice where a slice is; an integer may stand for a float64, and one is an int64 where `wide`, which is else like `any`, is wanted.
    `gives` makes the result one of Go's types. The callable raises GoError for wrong arguments, for results beyond the bounds,
    and as `function` does.
    """
    variadic = parameters[-1].removesuffix("...") if parameters and parameters[-1].endswith("...") else None
    fixed = parameters[:-1] if variadic else parameters

    def exact(*arguments: object) -> object:
        result = bounded(function(*arguments))
        return gives(result) if gives else result

    def called(*arguments: object) -> object:
        if len(arguments) < len(fixed) or (variadic is None and len(arguments) > len(fixed)):
            wanted = f"at least {len(fixed)}" if variadic else str(len(fixed))
            raise GoError(f"wrong number of args: want {wanted} got {len(arguments)}")
        kinds = fixed + (variadic or "",) * (len(arguments) - len(fixed))
        return exact(*map(_argument, arguments, kinds))

    return Typed(exact, *parameters, called=called)


def _argument(value: object, wanted: str) -> object:
    given = kind(value)
    if wanted == "wide":
        return Int64(value) if given == "int" and isinstance(value, int) else value
    if wanted == "any" or (wanted in (given, type_name(value)) and not _too_big(value)):
        return value
    if given == "nil":
        if is_nilable(wanted):
            return NIL_MAP if wanted == "map" else NIL_SLICE
        raise GoError(f"invalid value; expected {wanted}")
    if wanted in ("int", "float64") and isinstance(value, int) and given in INTEGERS and not _too_big(value):
        return float(value) if wanted == "float64" else int(value)
    if wanted == "uint32" and given == "int" and isinstance(value, int) and 0 <= value < UINT32:
        return value
    raise GoError(f"wrong type for value; expected {GO_NAMES.get(wanted, wanted)}; got {type_name(value)}")


def _too_big(value: object) -> bool:
    """Tell whether this is one of Go's uint64 that is beyond int64."""
    return isinstance(value, int) and value > INT_MAX


def bounded(value: object) -> object:
    """Pass a result on: bytes that were cut apart become characters again. Raises GoError beyond the bounds."""
    if isinstance(value, str):
        bound_text(len(value))
        return value if value.isascii() else from_bytes(to_bytes(value))
    if isinstance(value, list | tuple | Mapping):
        bound_items(len(value))
    return value
