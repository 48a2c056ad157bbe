"""The functions that every template has, and how many arguments a function takes.

`and` and `or` are not among them: they evaluate their arguments one by one, see execution.py.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.execution.comparison import eq, ge, gt, le, lt, ne
from tinkbox.gotemplate.execution.escaping import html, js, urlquery
from tinkbox.gotemplate.printing.directives import sprintf
from tinkbox.gotemplate.printing.formatting import sprint, sprintln
from tinkbox.gotemplate.types.kinds import INTEGERS, byte_length, from_bytes, kind, to_bytes, truth, type_name
from tinkbox.gotemplate.types.structs import Struct
from tinkbox.gotemplate.types.typed_values import Byte, StringMap

MAX_INDEXES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Arity:
    """How many arguments a function takes, `most` None if there is no bound, and the types of its parameters.

    Beyond `types`, parameters are of the type `rest`.
    """

    least: int
    most: int | None
    types: tuple[str, ...] = ()
    rest: str = "any"

    def check(self, name: str, count: int) -> None:
        """Raises GoError if the number of arguments does not fit."""
        if self.most is None and count < self.least:
            raise GoError(f"wrong number of args for {name}: want at least {self.least} got {count}")
        if self.most is not None and not self.least <= count <= self.most:
            want = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
            raise GoError(f"wrong number of args for {name}: want {want} got {count}")

    def type_of(self, position: int) -> str:
        """The type of the parameter at a position."""
        return self.types[position] if position < len(self.types) else self.rest


class Typed:
    """A function that says of which types its parameters are: those of arguments.py; the last may end in `...`.

    A template calls `exact`, with as many arguments as there must be, and of these types. Other callers, who do not have Go's
    types, call the function itself.
    """

    __slots__ = ("_called", "exact", "parameters")

    def __init__(
        self, exact: Callable[..., object], *parameters: str, called: Callable[..., object] | None = None
    ) -> None:
        self.parameters = parameters
        self.exact = exact
        self._called = called or exact

    def __call__(self, *arguments: object) -> object:
        return self._called(*arguments)


def arity(function: Callable[..., object]) -> Arity:
    """Count the positional parameters of a function; one that is not Typed takes values of any type."""
    if isinstance(function, Typed):
        is_open = bool(function.parameters) and function.parameters[-1].endswith("...")
        fixed = function.parameters[:-1] if is_open else function.parameters
        rest = function.parameters[-1].removesuffix("...") if is_open else "any"
        return Arity(least=len(fixed), most=None if is_open else len(fixed), types=fixed, rest=rest)
    parameters = inspect.signature(function).parameters.values()
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    is_open = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    return Arity(
        least=sum(each.default is each.empty for each in positional),
        most=None if is_open else len(positional),
    )


def negate(value: object) -> bool:
    return not truth(value)


def length(value: object) -> int:
    """Count bytes, elements or entries. Raises GoError for values without a length."""
    if isinstance(value, str):
        return byte_length(value)
    if isinstance(value, list | tuple | Mapping) and not isinstance(value, Struct):
        return len(value)
    raise GoError(f"len of type {type_name(value)}")


def index(item: object, *indexes: object) -> object:
    """Give `item[a][b]`; a map without that key gives nil. Raises GoError for what is out of range or has no elements."""
    if item is None:
        raise GoError("index of untyped nil")
    for each in indexes:
        item = _element(item, each)
    return item


def _element(item: object, at: object) -> object:
    if item is None:
        raise GoError("index of nil pointer")
    if isinstance(item, Mapping) and not isinstance(item, Struct):
        if not isinstance(at, str):
            raise GoError(f"value has type {type_name(at)}; should be string")
        return item.get(at, "" if isinstance(item, StringMap) else None)
    if isinstance(item, str):
        data = to_bytes(item)
        return Byte(data[_position(at, len(data) - 1)])
    if isinstance(item, list | tuple):
        return item[_position(at, len(item) - 1)]
    raise GoError(f"can't index item of type {type_name(item)}")


def _position(at: object, last: int) -> int:
    if kind(at) not in INTEGERS or not isinstance(at, int):
        raise GoError(f"cannot index slice/array with type {type_name(at)}")
    if not 0 <= at <= last:
        raise GoError(f"index out of range: {at}")
    return at


def cut(item: object, *indexes: object) -> object:
    """Give `item[a:b]`, of a string by its bytes. Raises GoError for indexes that do not fit."""
    if len(indexes) > MAX_INDEXES:
        raise GoError(f"too many slice indexes: {len(indexes)}")
    if isinstance(item, str):
        if len(indexes) == MAX_INDEXES:
            raise GoError("cannot 3-index slice a string")
        data = to_bytes(item)
        start, end = _bounds(indexes, len(data))
        return from_bytes(data[start:end])
    if isinstance(item, list | tuple):
        start, end = _bounds(indexes, len(item))
        return item[start:end] if type(item) is list else type(item)(item[start:end])
    raise GoError(f"can't slice item of type {type_name(item)}")


def _bounds(indexes: tuple[object, ...], size: int) -> tuple[int, int]:
    """Read one to three indexes; the third, a capacity in Go, is only checked."""
    positions = [_position(each, size) for each in indexes]
    ordered = [*positions, *[0, size][len(positions) :]]
    for lower, upper in pairwise(ordered):
        if lower > upper:
            raise GoError(f"invalid slice index: {lower} > {upper}")
    return ordered[0], ordered[1]


def printf(form: object, *values: object) -> str:
    """Format as fmt.Sprintf does. Raises GoError if the format is no string, and like values.sprintf()."""
    if not isinstance(form, str):
        raise GoError(f"wrong type for value; expected string; got {type_name(form)}")
    return sprintf(form, *values)


def call(function: object, *_: object) -> object:
    """Refuse: no value of a template is a function. Always raises GoError."""
    raise GoError(f"non-function of type {type_name(function)}")


BUILTINS: Mapping[str, Callable[..., object]] = {
    "call": call,
    "eq": eq,
    "ge": ge,
    "gt": gt,
    "html": html,
    "index": index,
    "js": js,
    "le": le,
    "len": length,
    "lt": lt,
    "ne": ne,
    "not": negate,
    "print": sprint,
    "printf": printf,
    "println": sprintln,
    "slice": cut,
    "urlquery": urlquery,
}
