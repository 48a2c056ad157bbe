"""Calls as Go's text/template makes them: the number and the kinds of arguments are checked, results are bounded."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tinkbox.gotemplate.values import GoError, from_bytes, kind, to_bytes, type_name
from tinkbox.sprig.bounds import bound_items, bound_text

Function = Callable[..., object]
NIL_MAP: Mapping[str, object] = MappingProxyType({})
INT_MAX = (1 << 63) - 1
GO_NAMES = {"map": "map[string]interface {}"}


def typed(function: Function, *parameters: str) -> Function:
    """Make a function callable from a template.

    Each parameter is `any`, `string`, `int`, `float64`, `bool` or `map`; the last may end in `...` and then stands for
    any number of them. nil is an empty, unchangeable map where a map is wanted, and an int may stand for a float64.
    The callable raises GoError for wrong arguments, for results beyond the bounds, and as `function` does.
    """
    variadic = parameters[-1].removesuffix("...") if parameters and parameters[-1].endswith("...") else None
    fixed = parameters[:-1] if variadic else parameters

    def call(*arguments: object) -> object:
        if len(arguments) < len(fixed) or (variadic is None and len(arguments) > len(fixed)):
            wanted = f"at least {len(fixed)}" if variadic else str(len(fixed))
            raise GoError(f"wrong number of args: want {wanted} got {len(arguments)}")
        kinds = fixed + (variadic or "",) * (len(arguments) - len(fixed))
        return bounded(function(*map(_argument, arguments, kinds)))

    return call


def _argument(value: object, wanted: str) -> object:
    given = kind(value)
    if wanted == "any" or (wanted == given and not _too_big(value)):
        return value
    if given == "nil":
        if wanted == "map":
            return NIL_MAP
        raise GoError(f"invalid value; expected {wanted}")
    if wanted == "float64" and isinstance(value, int) and given == "int":
        return float(value)
    raise GoError(f"wrong type for value; expected {GO_NAMES.get(wanted, wanted)}; got {type_name(value)}")


def _too_big(value: object) -> bool:
    """Tell whether this is one of Go's uint64 which is no int."""
    return isinstance(value, int) and value > INT_MAX


def bounded(value: object) -> object:
    """Pass a result on: bytes that were cut apart become characters again. Raises GoError beyond the bounds."""
    if isinstance(value, str):
        bound_text(len(value))
        return value if value.isascii() else from_bytes(to_bytes(value))
    if isinstance(value, list | tuple | Mapping):
        bound_items(len(value))
    return value
