"""Sprig's functions that name and compare types."""

from collections.abc import Mapping

from tinkbox.gotemplate.values import kind, type_name
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.collections.equality import deep_equal


def kind_of(value: object) -> str:
    return "invalid" if value is None else kind(value)


def kind_is(wanted: str, value: object) -> bool:
    return kind_of(value) == wanted


def type_is(wanted: str, value: object) -> bool:
    return type_name(value) == wanted


def type_is_like(wanted: str, value: object) -> bool:
    """Tell whether a value is of a type or points to one."""
    return type_name(value) in (wanted, f"*{wanted}")


FUNCTIONS: Mapping[str, Function] = {
    "typeOf": typed(type_name, "any"),
    "typeIs": typed(type_is, "string", "any"),
    "typeIsLike": typed(type_is_like, "string", "any"),
    "kindOf": typed(kind_of, "any"),
    "kindIs": typed(kind_is, "string", "any"),
    "deepEqual": typed(deep_equal, "any", "any"),
}
