"""Values of Go's types beside the plain ones that kinds.py names.

They are integers of other sizes, slices and maps whose elements have a type, nil maps and pointers, and things with methods.

They behave as the int, list or dict that they are; only what looks at types tells them apart.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

from tinkbox.gotemplate.types.structs import NilSlice


class Int64(int):
    type_name = "int64"
    __slots__ = ()


class Uint64(int):
    type_name = "uint64"
    __slots__ = ()


class Byte(int):
    """What an index gives of a string."""

    type_name = "uint8"
    __slots__ = ()


class Strings(list[str]):
    type_name = "[]string"
    __slots__ = ()


class Ints(list[int]):
    type_name = "[]int"
    __slots__ = ()


class Lists(list[list[object]]):
    type_name = "[][]interface {}"
    __slots__ = ()


class NilStrings(NilSlice[str]):
    type_name = "[]string"
    __slots__ = ()


class StringMap(dict[str, str]):
    type_name = "map[string]string"
    __slots__ = ()


class NilMap(Mapping[str, object]):
    """A map that was never made: empty, unchangeable, and null in JSON."""

    __slots__ = ()

    def __getitem__(self, name: str) -> object:
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"


NIL_MAP = NilMap()


class Thing:
    """A struct or a pointer of which a template sees methods only; `text()` is what its String method gives.

    Each of its `methods` is a functions.Typed that gets the thing before its arguments; its parameters are those of Go.
    Jinja2 takes a method without arguments for an item.
    """

    type_name: ClassVar[str] = ""
    methods: ClassVar[Mapping[str, Callable[..., object]]] = {}
    __slots__ = ()

    def text(self) -> str:
        raise NotImplementedError

    def json(self) -> str | int:
        """What encoding/json makes of it.  Raises GoError for what JSON has no words for."""
        return self.text()

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"{self.type_name}({self.text()})"

    def __getitem__(self, name: str) -> object:
        return self.methods[name](self)


class NamedInteger(Thing, int):
    """An integer of a type with a name and methods, such as time.Month: it prints as its text, and counts as its number."""

    kind_name: ClassVar[str] = "int"
    __slots__ = ()

    def json(self) -> int:
        return int(self)
