"""Go's structs, nil pointers and nil slices, for values that were typed before a template got them.

A struct is a mapping of its fields' Go names, which templates follow; `tagged` is what encoding/json makes of it: the
names of the JSON tags in the order of the fields, without those that `omitempty` leaves out.
"""

from collections.abc import Iterator, Mapping
from typing import TypeVar


class Struct(Mapping[str, object]):
    """A value of a struct type, or what a pointer to one points to."""

    __slots__ = ("_fields", "tagged", "type_name")

    def __init__(self, type_name: str, fields: Mapping[str, object], tagged: Mapping[str, object]) -> None:
        self.type_name = type_name
        self.tagged = tagged
        self._fields = fields

    def __getitem__(self, name: str) -> object:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"{self.type_name}({dict(self._fields)})"


def pointed_to(value: object) -> object:
    """Give the struct that a pointer points to; anything else as it is."""
    if isinstance(value, Struct) and value.type_name.startswith("*"):
        return Struct(value.type_name[1:], value, value.tagged)
    return value


class NilPointer:
    """A pointer to nothing, of a type such as `*tinkerbell.DHCP`: false, `<nil>`, and null in JSON."""

    __slots__ = ("type_name",)

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NilPointer) and other.type_name == self.type_name

    def __hash__(self) -> int:
        return hash(self.type_name)

    def __repr__(self) -> str:
        return f"({self.type_name})(nil)"


T = TypeVar("T", covariant=True)


class NilSlice(tuple[T, ...]):
    """A slice that was never made: empty, and null in JSON."""

    __slots__ = ()


NIL_SLICE: NilSlice[object] = NilSlice()
