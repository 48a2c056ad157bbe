"""How Go sees a Python value: its kind, its type, whether it is true, and the bytes of its strings.

nil is None, and bool, int, float64, string, slice and map are bool, int, float, str, list or tuple, and Mapping with
str keys; structs.py and typed_values.py have the rest. Nothing else is a value. A Go string is bytes: those that are no
UTF-8 live in Python's str as the surrogates of `surrogateescape`.
"""

from collections.abc import Mapping

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.types.structs import NilPointer, NilSlice, Struct
from tinkbox.gotemplate.types.typed_values import Byte, Int64, NamedInteger, NilMap, Thing

INT_MIN, INT_MAX, UINT_MAX = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1
TYPES = {
    "nil": "<nil>",
    "slice": "[]interface {}",
    "map": "map[string]interface {}",
}
# Of most values the kind is looked up, which is quicker.
EXACT = {
    type(None): "nil",
    bool: "bool",
    str: "string",
    float: "float64",
    list: "slice",
    tuple: "slice",
    dict: "map",
    Int64: "int64",
    Byte: "uint8",
}
INTEGERS = {"int", "int64", "uint64", "uint8"}


def kind(value: object) -> str:
    """Name the Go kind of a value: nil, bool, one of INTEGERS, float64, string, slice, map, struct or ptr.

    Raises GoError for what no template can hold: callables, other objects, integers beyond 64 bits.
    """
    exact = EXACT.get(type(value))
    if exact:
        return exact
    if isinstance(value, str):
        return "string"
    if isinstance(value, NamedInteger):
        return value.kind_name
    if isinstance(value, int):
        if not INT_MIN <= value <= UINT_MAX:
            raise GoError("an integer does not fit into 64 bits")
        return getattr(value, "type_name", "int" if value <= INT_MAX else "uint64")
    if isinstance(value, float):
        return "float64"
    if isinstance(value, list | tuple):
        return "slice"
    if isinstance(value, Struct | Thing | NilPointer):
        return "ptr" if value.type_name.startswith("*") else "struct"
    if isinstance(value, Mapping):
        return "map"
    raise GoError(f"a template cannot hold a value of type {type(value).__name__}")


def type_name(value: object) -> str:
    """Name the type as %T does: `map[string]interface {}`, `float64`, `<nil>`. Raises GoError like kind()."""
    basic = kind(value)
    if type(value) in EXACT:
        return TYPES.get(basic, basic)
    return getattr(value, "type_name", None) or TYPES.get(basic, basic)


def truth(value: object) -> bool:
    """Tell whether `if` takes the value for true: it is neither nil, false, zero nor empty.

    Raises GoError like kind().
    """
    if kind(value) in {"struct", "ptr"}:
        return not is_nil(value)
    return bool(value)


def is_nil(value: object) -> bool:
    """Tell whether a value is nil itself, or a slice, map or pointer that is."""
    return value is None or isinstance(value, NilSlice | NilMap | NilPointer)


def sorted_items(mapping: Mapping[str, object]) -> list[tuple[str, object]]:
    """List a map's entries in the order in which Go visits them. Raises GoError for keys that are no strings."""
    if not all(isinstance(key, str) for key in mapping):
        raise GoError("the keys of a map must be strings")
    return sorted(mapping.items(), key=lambda item: item[0])


def to_bytes(value: str) -> bytes:
    """Give the bytes that Go's string has; a lone surrogate that is no escaped byte becomes U+FFFD."""
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return "".join("\ufffd" if is_stray(each) else each for each in value).encode("utf-8", "surrogateescape")


def is_stray(character: str) -> bool:
    return "\ud800" <= character <= "\udc7f" or "\udd00" <= character <= "\udfff"


def from_bytes(value: bytes) -> str:
    """Give the str for the bytes of a Go string: the inverse of to_bytes()."""
    return value.decode("utf-8", "surrogateescape")


def joined(value: str) -> str:
    """Join bytes that were cut apart and make up a character together, so that equal Go strings are equal strs."""
    return value if value.isascii() else from_bytes(to_bytes(value))


def printable(value: str) -> str:
    """Replace each byte that is no UTF-8 by U+FFFD, after joining bytes that were cut apart."""
    if value.isascii():
        return value
    return "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in joined(value))


def byte_length(value: str) -> int:
    """Count the bytes of Go's string."""
    return len(value) if value.isascii() else len(to_bytes(value))
