"""What a function gets for an operand: the type of its parameter decides, as in text/template.

A parameter is `any` (or `wide`, which is the same here), `string`, `int`, `float64`, `bool`, `map`, or the name of another type.  A constant takes the type that is
wanted, if its value allows that: 2.0 is an int where one is wanted, and 2 a float64.  Any other value must be of the type
already.
"""

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.parsing.nodes import Literal
from tinkbox.gotemplate.types.kinds import INT_MAX, INT_MIN, UINT_MAX, type_name
from tinkbox.gotemplate.types.structs import NIL_SLICE
from tinkbox.gotemplate.types.typed_values import NIL_MAP

ANY = ("any", "wide")
TYPES = {"map": "map[string]interface {}"}
SIGNED = ("int", "time.Duration")  # whose constants are integers of 64 bits
UINT32 = 1 << 32


def constant(literal: Literal, wanted: str) -> object:
    """Give the value of a constant as the type. Raises GoError if it has none as that type."""
    value = literal.value
    if wanted in ANY:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        if wanted == "float64":
            return float(value)
        if wanted in SIGNED and INT_MIN <= value <= INT_MAX and value == int(value):
            return int(value)
        if wanted == "uint32" and 0 <= value <= UINT_MAX and value == int(value):
            return int(value) % UINT32
        raise GoError(f"expected {go_name(wanted)}; found {literal}")
    if type_name(value) != wanted:
        raise GoError(f"expected {go_name(wanted)}; found {literal}")
    return value


def fitting(value: object, wanted: str) -> object:
    """Pass a value on that is of the type; nil is an empty map that cannot be changed, or the nil slice. Raises GoError for any other."""
    if wanted in ANY or type_name(value) == go_name(wanted):
        return value
    if value is None:
        if is_nilable(wanted):
            return NIL_MAP if wanted == "map" else NIL_SLICE
        raise GoError(f"invalid value; expected {go_name(wanted)}")
    raise GoError(f"wrong type for value; expected {go_name(wanted)}; got {type_name(value)}")


def is_nilable(wanted: str) -> bool:
    """Tell whether nil is a value of the type."""
    return wanted == "map" or wanted.startswith("[]")


def go_name(wanted: str) -> str:
    """What Go calls the type."""
    return TYPES.get(wanted, wanted)
