"""How a setting is declared, in one place: a key, a default, a reader and a line of help.  `all_settings` has them all.

The fields of a frozen dataclass are the keys of one section of tinkbox.yaml, and declare themselves:

    http_port: int = setting(80, readers.port(), "TCP port of the node door")

A value class of `model` knows no file: `keys_of` declares its keys beside it, in the same words.  Values, problems,
defaults and the reference in docs/operating.md all come from these declarations.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Generic, ParamSpec, Protocol, TypeVar, cast

from tinkbox.model.errors import Invalid, Problem

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
P = ParamSpec("P")

# Says what is wrong with values that were read, by keys relative to them. The texts are the keys that have a problem
# already: their values are only defaults.
Check = Callable[[T, Sequence[str]], Iterable[Problem]]

_DECLARED: Final = "declared"  # where a field's metadata has its declaration
_NONE: Final[Mapping[str, str]] = {}
_UNREAD: Final[Any] = object()  # stands for a value that has no default and could not be read


@dataclass(frozen=True, slots=True)
class Reader(Generic[T]):
    """Makes a setting's value of what YAML has for it.

    `read` gets what stands in the file, and the default; it raises Invalid, of which the problems' keys are relative to
    the setting.  `takes` tells people what may stand there, and `shown` writes a default as they would.
    """

    takes: str
    read: Callable[[Any, T], T]
    shown: Callable[[Any], str] = str


def reader(takes: str, shown: Callable[[Any], str] = str) -> Callable[[Callable[[Any, T], T]], Reader[T]]:
    """Make a reader of a function."""
    return lambda read: Reader(takes, read, shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One setting as the reference shows it; without a default, `default` is empty."""

    key: str
    default: str
    takes: str
    help_text: str


def setting(default: T, read: Reader[T], help_text: str, key: str = "") -> T:
    """One key of a section, as the field of a dataclass; `key` where it is not the field's name."""
    shown = "" if default in (None, "", (), {}) else read.shown(default)
    return _field(_Setting(key, lambda: default, read, shown, help_text))


def computed(default: Callable[[], T], shown: str, read: Reader[T], help_text: str, key: str = "") -> T:
    """A setting whose default depends on where tinkbox runs; `shown` stands for it in the reference."""
    return _field(_Setting(key, default, read, shown, help_text))


def required(read: Reader[T], help_text: str, key: str = "") -> T:
    """A setting without a default; its reader gets None where the key is missing."""
    return _field(_Setting(key, lambda: _UNREAD, read, "", help_text, required=True))


def section(of: Callable[..., T], check: Check[T] | None = None, key: str = "", gone: Mapping[str, str] = _NONE) -> T:
    """A section of its own: a key with keys below it, those of the dataclass `of`.

    `gone` are keys of earlier releases, each with what to write instead.
    """
    return _field(_Section(key, keys_of(of), check, gone))


def inline(keys: "Keys[T]") -> T:
    """Keys of one subject that stand among the others of their section."""
    return _field(_Inline(keys))


def entries(
    keys: "Keys[T]",
    help_text: str,
    each: Check[T] | None = None,
    together: Check[Mapping[int, T]] | None = None,
    key: str = "",
) -> tuple[T, ...]:
    """A list of sections.  `together` checks those that could be read, each with its place in the list."""
    return _field(_Entries(key, keys, help_text, each, together))


def keys_of(of: Callable[P, T], *_: P.args, **declared: P.kwargs) -> "Keys[T]":
    """The keys that a value is made of: those that a dataclass declares itself, or the given ones."""
    given: Mapping[str, Any] = declared or {each.name: each for each in fields(cast("Any", of))}
    return Keys(of, {name: each.metadata[_DECLARED] for name, each in given.items()})


@dataclass(frozen=True, slots=True)
class Keys(Generic[T]):
    """The keys of one section of the file, each with the field that it fills."""

    made: Callable[..., T]
    declared: "Mapping[str, _Declared[Any]]"

    def default(self) -> T:
        """What there is without a line in the file."""
        return self.made(**{name: each.default() for name, each in self.declared.items()})

    def read(
        self,
        document: Any,
        path: str,
        problems: list[Problem],
        check: Check[T] | None = None,
        gone: Mapping[str, str] = _NONE,
    ) -> T:
        """Read the section of the file that stands at `path`, noting everything that is wrong with it."""
        mapping = _Mapping(document, path, problems)
        value = self.take(mapping)
        if check is not None and value is not _UNREAD:
            for problem in check(value, mapping.unread()):
                mapping.refuse(problem.key, problem.text)
        mapping.refuse_the_rest(gone)
        return value

    def take(self, mapping: "_Mapping") -> T:
        """Take these keys out of a mapping that may have others."""
        values = {name: each.read(name, mapping) for name, each in self.declared.items()}
        return cast("T", _UNREAD) if _UNREAD in values.values() else self.made(**values)

    def rows(self, path: str) -> Iterator[Row]:
        """The reference of these keys, in the order of their declarations."""
        for name, each in self.declared.items():
            yield from each.rows(name, path)


class _Mapping:
    """One mapping of the file: hands out the values of known keys, and notes problems by the whole key."""

    def __init__(self, document: Any, path: str, problems: list[Problem]) -> None:
        self._values: Mapping[Any, Any] = document if isinstance(document, dict) else {}
        self._known: list[str] = []
        self._before = len(problems)
        self.path = path
        self.problems = problems
        if not isinstance(document, dict):
            self.refuse("", "expected keys with values")

    def take(self, key: str) -> Any:
        self._known.append(key)
        return self._values.get(key)

    def refuse(self, key: str, text: str) -> None:
        """Note a problem with the value of a key, empty: with the mapping itself."""
        self.problems.append(Problem(key=_below(self.path, key), text=text))

    def unread(self) -> list[str]:
        """The keys, relative to this mapping, that have a problem."""
        return [each.key.removeprefix(self.path).removeprefix(".") for each in self.problems[self._before :]]

    def refuse_the_rest(self, gone: Mapping[str, str]) -> None:
        """Note every key that nobody took; of those that are `gone`, what stands for them now."""
        for name in self._values:
            if name in gone:
                self.refuse(str(name), gone[name])
            elif name not in self._known:
                self.refuse(str(name), f"unknown key; {self._meant(str(name))}")

    def _meant(self, name: str) -> str:
        """What to write in the place of a key that is not known."""
        first, _, rest = name.partition(".")
        if rest and first in self._known:  # as the docs call a setting
            begin = "".join(f"{each}: {{" for each in name.split(".")[:-1])
            return f"write `{begin}{name.split('.')[-1]}: …{'}' * name.count('.')}`"
        near = difflib.get_close_matches(name, self._known, n=1)
        return f"did you mean {near[0]}?" if near else f"known here: {', '.join(self._known)}"


class _Declared(Protocol[T_co]):
    """What a field says of itself; `name` is the field's."""

    def default(self) -> T_co: ...

    def read(self, name: str, mapping: _Mapping, /) -> T_co: ...

    def rows(self, name: str, path: str, /) -> Iterator[Row]: ...


@dataclass(frozen=True, slots=True)
class _Setting(Generic[T]):
    key: str
    default: Callable[[], T]
    reader: Reader[T]
    shown: str
    help_text: str
    required: bool = False

    def read(self, name: str, mapping: _Mapping, /) -> T:
        key = self.key or name
        value = mapping.take(key)
        if value is None and not self.required:
            return self.default()
        try:
            return self.reader.read(value, self.default())
        except Invalid as error:
            for problem in error.problems or (Problem(text=str(error)),):
                mapping.refuse(_below(key, problem.key), problem.text)
            return self.default()

    def rows(self, name: str, path: str, /) -> Iterator[Row]:
        takes = f"{self.reader.takes}; required" if self.required else self.reader.takes
        yield Row(key=_below(path, self.key or name), default=self.shown, takes=takes, help_text=self.help_text)


@dataclass(frozen=True, slots=True)
class _Section(Generic[T]):
    key: str
    keys: Keys[T]
    check: Check[T] | None
    gone: Mapping[str, str]

    def default(self) -> T:
        return self.keys.default()

    def read(self, name: str, mapping: _Mapping, /) -> T:
        key = self.key or name
        value = mapping.take(key)
        path = _below(mapping.path, key)
        return self.keys.read({} if value is None else value, path, mapping.problems, self.check, self.gone)

    def rows(self, name: str, path: str, /) -> Iterator[Row]:
        return self.keys.rows(_below(path, self.key or name))


@dataclass(frozen=True, slots=True)
class _Inline(Generic[T]):
    keys: Keys[T]

    def default(self) -> T:
        return self.keys.default()

    def read(self, _: str, mapping: _Mapping, /) -> T:
        return self.keys.take(mapping)

    def rows(self, _: str, path: str, /) -> Iterator[Row]:
        return self.keys.rows(path)


@dataclass(frozen=True, slots=True)
class _Entries(Generic[T]):
    key: str
    keys: Keys[T]
    help_text: str
    each: Check[T] | None
    together: Check[Mapping[int, T]] | None

    def default(self) -> tuple[T, ...]:
        return ()

    def read(self, name: str, mapping: _Mapping, /) -> tuple[T, ...]:
        key = self.key or name
        listed = mapping.take(key)
        if listed is not None and not isinstance(listed, list):
            mapping.refuse(key, "expected a list of keys with values")
            return ()
        path = _below(mapping.path, key)
        read = [
            self.keys.read(each, f"{path}[{at}]", mapping.problems, self.each) for at, each in enumerate(listed or [])
        ]
        known = {at: value for at, value in enumerate(read) if value is not _UNREAD}
        for problem in self.together(known, mapping.unread()) if self.together is not None else ():
            mapping.refuse(_below(key, problem.key), problem.text)
        return tuple(known.values())

    def rows(self, name: str, path: str, /) -> Iterator[Row]:
        whole = _below(path, self.key or name)
        yield Row(key=whole, default="", takes="a list", help_text=self.help_text)
        yield from self.keys.rows(f"{whole}[]")


def _field(declared: _Declared[T]) -> T:
    made: T = field(default_factory=declared.default, metadata={_DECLARED: declared})
    return made


def _below(path: str, key: str) -> str:
    """A key below another; a place in a list follows it without a dot."""
    return f"{path}{key}" if not path or not key or key.startswith("[") else f"{path}.{key}"
