"""YAML as nodes: every problem names its line, and scalars keep their literal text.

`MODE: 0644` stays `0644` and `COMPRESSED: true` stays `true`, as Go's decoders have them.
"""

import math
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from json.decoder import scanstring  # type: ignore[attr-defined]
from sys import intern
from typing import Any, Final, TypeVar

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from tinkbox.goyaml.nodes import Events
from tinkbox.model.documents.json_text import MAX_DEPTH
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.spelling import meant
from tinkbox.model.text import shortened

MAX_ALIASES = 100
_MAX_PREFIX = 128  # letters of a %TAG: each value that uses it has them
MAX_NODES = 100_000  # two seconds of a processor
MAX_VALUES = 100_000
_MAX_BRACKETS = 200  # what the recursion of YAML's reader has room for
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
MOST_IGNORED = 100  # that are told of one document
_LONGEST_KEY = 80
# Numbers as Go's readers of YAML have them (yaml.v3, `resolve`): `0x3C`, `0b11`, `0o17`, `017`, `60`; and floats.
_GO_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([0-9]+))")
_GO_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MOST_DIGITS = 400
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\Z")
_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,24})?(?:[eE][-+]?[0-9]{1,3})?\Z")
# An escape that is half of a character by itself: YAML's reader takes it for one.
_HALF = re.compile(r"\\(?:u|U0000)[dD][89a-fA-F]")
_MOST_HALVES = 20  # that are told
# Where a node stands: what it is in, and its part of the path.
_Place = tuple[()] | tuple["_Place", str]
# What is blank before a part of JSON, and the part: of a text its first letter.
_JSON_PART = re.compile(r'([ \t\r\n]*)(["{}\[\],:]|[^\s"{}\[\],:]+)')
_JSON_REST = re.compile(r"[ \t\r\n]*+[^ \t\r\n]")
_JSON_BREAK = re.compile(r"\r\n|[\r\n]")
_JSON_WORDS: Final = {"null": f"{_TAG}null", "true": f"{_TAG}bool", "false": f"{_TAG}bool"}
T = TypeVar("T")


class Nodes(list[Node]):
    """Documents, in which there are so many `values`."""

    values = 0


def compose(text: str, *, as_go: bool = False) -> Nodes:
    """The documents of a text, in their order; raises Invalid that says where it is no YAML.

    `as_go` takes what Go's readers take and PyYAML does not: tabs between words (`Events`), and an anchor that is given again.
    """
    loader: _Loader | None = None
    with _telling_where(text, lambda: loader):
        loader = (_GoLoader if as_go else _Loader)(text)
        nodes = Nodes(loader.documents())
        nodes.values = loader.nodes
    if _HALF.search(text):
        _join_halves(nodes)
    return nodes


def compose_first(text: str) -> tuple[Node | None, int | None]:
    """The first document of a text as Go's readers take it, and the line where the next one begins: there they stop reading.

    Raises Invalid that says where it is no YAML.
    """
    loader: _GoLoader | None = None
    with _telling_where(text, lambda: loader):
        loader = _GoLoader(text)
        first = next(loader.documents(), None)
    assert loader is not None
    if first is not None and _HALF.search(text):
        _join_halves([first])
    return first, loader.line_behind()


@contextmanager
def _telling_where(text: str, reading: Callable[[], "_Loader | None"]) -> Iterator[None]:
    """Make Invalid, with the line, of what YAML's reader raises."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        # Within a block of text a tab is none of YAML's business.
        if (tab := re.search(r"^ *\t", text, re.MULTILINE)) is not None:
            raise not_yaml("a tab: YAML is indented with spaces", text.count("\n", 0, tab.start()) + 1) from None
        # What is missing at the end is found missing behind the last line.
        lines = len(text.splitlines()) or 1
        place = min(error.problem_mark.line + 1, lines) if error.problem_mark else None
        context = f"{error.context}: " if error.context else ""
        raise not_yaml(f"not valid YAML: {context}{error.problem}", place) from None
    except ReaderError as error:
        place = text.count("\n", 0, error.position) + 1
        raise not_yaml(
            f"not valid YAML: the character U+{int(error.character):04X} may not stand here", place
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        loader = reading()
        place = loader.line + 1 if loader is not None else None
        # YAML's reader takes any eight digits of an escape for a character.
        no_character = isinstance(error, OverflowError) or "chr()" in str(error)
        told = "an escape for a character that there is none of" if no_character else " ".join(str(error).split())[:200]
        raise not_yaml(f"not valid YAML: {told}", place) from None


def compose_json(text: str) -> Nodes:
    """The documents of a text that `json_text.read_stream` takes, as `compose` has them, in a tenth of the time; raises Invalid."""
    composer = _JsonComposer(text)
    nodes = Nodes(composer.documents())
    nodes.values = composer.nodes
    if _HALF.search(text):
        _join_halves(nodes)
    return nodes


def _join_halves(nodes: Sequence[Node]) -> None:
    """Make one character of two halves that are escapes, as in JSON; raises Invalid for a half alone, which is no text."""
    problems: list[Problem] = []
    seen: set[int] = set()
    waiting: list[tuple[Node, _Place]] = [(each, ()) for each in reversed(nodes)]
    while waiting and len(problems) < _MOST_HALVES:
        node, place = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, MappingNode):
            for name, value in reversed(node.value):
                inner = (place, f".{name.value}" if isinstance(name, ScalarNode) else "")
                waiting += [(value, inner), (name, inner)]
        elif isinstance(node, SequenceNode):
            waiting += [(item, (place, f"[{index}]")) for index, item in reversed(list(enumerate(node.value)))]
        else:
            try:
                node.value = node.value.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
            except UnicodeDecodeError:
                text = "half of a character (\\ud800 to \\udfff alone) is no text"
                problems.append(Problem(line=line_of(node), key=_shown(place), text=text))
    if problems:
        raise Invalid("this is not valid YAML", problems)


def _shown(place: "_Place") -> str:
    parts: list[str] = []
    while place:
        place, part = place
        parts.append(part)
    return "".join(reversed(parts)).removeprefix(".").encode(errors="replace").decode()


def not_yaml(text: str, line: int | None = None) -> Invalid:
    return Invalid("this is not valid YAML", [Problem(line=line, text=text)])


def line_of(node: Node) -> int:
    """The line a node begins on, counted from 1."""
    mark: Any = node.start_mark
    return Mark(mark).line + 1


def path(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.tag == f"{_TAG}null"


class Mark(int):
    """Where something stands, as YAML's reader tells it: its index, line and column, each counted from 0.

    A node keeps the number that it is, of its beginning: there are a hundred thousand nodes to a megabyte, to look for
    garbage among so many marks stops everything for a quarter of a second, and it is not looked for in numbers.
    """

    __slots__ = ()
    name = ""

    @classmethod
    def at(cls, index: int, line: int, column: int) -> "Mark":
        return cls((index << 64) | (line << 32) | column)

    @property
    def index(self) -> int:
        return self >> 64

    @property
    def line(self) -> int:
        return (self >> 32) & 0xFFFFFFFF

    @property
    def column(self) -> int:
        return self & 0xFFFFFFFF


class _JsonComposer:
    """Reads values of JSON one by one: documents, and what is in them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = 0
        self._line = 0
        self.nodes = 0

    def documents(self) -> Iterator[Node]:
        while _JSON_REST.match(self._text, self._end) is not None:
            if (part := self._part()) != "---":
                yield self._value(part)

    def _part(self) -> str:
        found = _JSON_PART.match(self._text, self._end)
        if found is None:
            raise not_yaml("the document ends too early", self._line + 1)
        blank, part = found.groups()
        if blank:
            self._line += len(_JSON_BREAK.findall(blank))
        self._end = found.end()
        return part

    def _value(self, part: str) -> Node:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _too_many_values()
        mark: Any = int(Mark.at(self._end, self._line, 0))
        if part == '"':
            value, self._end = scanstring(self._text, self._end)
            return ScalarNode(f"{_TAG}str", value, mark, None, style='"')
        if part == "{":
            return MappingNode(f"{_TAG}map", list(self._pairs()), mark, None)
        if part == "[":
            return SequenceNode(f"{_TAG}seq", list(self._items()), mark, None)
        return ScalarNode(_JSON_WORDS.get(part, f"{_TAG}float"), part, mark, None)

    def _pairs(self) -> Iterator[tuple[Node, Node]]:
        while (part := self._part()) != "}":
            name = self._value(self._part() if part == "," else part)
            self._part()  # the colon
            yield name, self._value(self._part())

    def _items(self) -> Iterator[Node]:
        while (part := self._part()) != "]":
            yield self._value(self._part() if part == "," else part)


def _written_out_too_long(node: Node) -> Invalid:
    return not_yaml(f"more than {MAX_VALUES} values, or {MAX_DEPTH} within each other", line_of(node))


def _too_many_values() -> Invalid:
    return not_yaml(f"more than {MAX_NODES} values: split it over several files")


class _Loader(yaml.SafeLoader):
    """Composes, and refuses a text that is small only because it is written in aliases, or that is nothing but nodes."""

    aliases = 0
    nodes = 0
    depth = 0

    def documents(self) -> Iterator[Node]:
        while self.check_node():
            node: Node | None = self.get_node()
            if node is not None:
                yield node

    def process_directives(self) -> Any:
        told = super().process_directives()  # type: ignore[no-untyped-call]
        if any(len(each) > _MAX_PREFIX for each in self.tag_handles.values()):
            raise not_yaml(f"a %TAG of more than {_MAX_PREFIX} letters is not expanded", self.line + 1)
        return told

    def get_mark(self) -> Any:
        return Mark.at(self.index, self.line, self.column)

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _too_many_values()
        if self.check_event(yaml.AliasEvent):
            self.aliases += 1
            if self.aliases > MAX_ALIASES:
                raise not_yaml(f"more than {MAX_ALIASES} aliases are not expanded")
        self.depth += 1
        if self.depth > _MAX_BRACKETS:
            raise not_yaml(
                f"not valid YAML: more than {_MAX_BRACKETS} values within each other: write fewer brackets",
                self.line + 1,
            )
        node: Node | None = super().compose_node(parent, index)
        self.depth -= 1
        if node is not None:
            begin: Any = node.start_mark
            node.start_mark, node.end_mark = int(begin), None
        return node


_SAYS: Final = (yaml.CollectionStartEvent, yaml.AliasEvent)


class _GoLoader(Events, _Loader):
    """Takes what either takes, Go's readers or PyYAML: also `{key:}`, and `%YAML 1.2`."""

    def __init__(self, text: str) -> None:
        _Loader.__init__(self, text)

    def scan_plain(self) -> Any:
        return _Loader.scan_plain(self) if self.flow_level else super().scan_plain()

    def scan_yaml_directive_value(self, start_mark: Any) -> Any:
        return _Loader.scan_yaml_directive_value(self, start_mark)

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if not isinstance(event, yaml.AliasEvent) and event.anchor in self.anchors:
            del self.anchors[event.anchor]  # the next alias means the next one
        return super().compose_node(parent, index)

    def line_behind(self) -> int | None:
        """The line of what follows the document that was read; None: nothing does, or a mark with nothing behind it."""
        begin: int | None = None
        try:
            while not self.check_event(yaml.StreamEndEvent):
                event: Any = self.get_event()  # type: ignore[no-untyped-call]
                begin = begin or Mark(event.start_mark).line + 1
                if isinstance(event, _SAYS) or (isinstance(event, yaml.ScalarEvent) and event.value):
                    return begin
        except (yaml.YAMLError, ValueError, OverflowError):
            return begin or self.line + 1
        return None


class NodeReader:
    """Reads nodes into values and notes what does not fit; what it cannot read becomes empty.

    `key` is always the path of the node that is read, as problems show it.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.ignored: list[Problem] = []  # what is told of a document and not refused
        self._values = 0

    def refuse(self, node: Node, key: str, text: str) -> None:
        self.problems.append(Problem(line=line_of(node), key=key, text=text))

    def ignore(self, node: Node, key: str, text: str) -> None:
        """Note what is not taken as it stands, and is not refused."""
        if len(self.ignored) < MOST_IGNORED:
            self.ignored.append(Problem(line=line_of(node), key=key, text=text))
        elif len(self.ignored) == MOST_IGNORED:
            self.ignored.append(Problem(line=line_of(node), text="more is ignored from here on, and is not listed"))

    def unknown(self, node: ScalarNode, key: str, known: Sequence[str]) -> None:
        """Note a key that means nothing here."""
        self.refuse(node, path(key, node.value), f"unknown key {node.value}; {self.meant_by(node.value, known)}")

    def unknown_is_ignored(self, node: ScalarNode, key: str, known: Sequence[str]) -> None:
        """The same where whoever else reads such documents takes no notice of it."""
        told = self.meant_by(node.value, known) if len(self.ignored) < MOST_IGNORED else ""
        name = shortened(str(node.value), _LONGEST_KEY)
        self.ignore(node, path(key, name), f"unknown key {name} is ignored; {told}")

    def given_again(self, node: ScalarNode, key: str) -> bool:
        """Note a key that its mapping has already; returns whether it counts in place of the earlier one."""
        self.refuse(node, path(key, node.value), f"key {node.value} is given twice")
        return False

    def meant_by(self, name: str, known: Sequence[str]) -> str:
        """What a key that is not known was perhaps meant to be, or what there is."""
        return meant(name, known)

    def fields(self, node: Node, key: str, known: Sequence[str]) -> dict[str, Node]:
        """The known keys of a mapping with their values."""
        if not isinstance(node, MappingNode):
            self.refuse(node, key, f"expected keys with values: {', '.join(known)}")
            return {}
        found: dict[str, Node] = {}
        for name, value in self.pairs(node, key):
            if name.value in known:
                found[intern(name.value)] = value
            else:
                self.unknown(name, key, known)
        return found

    def pairs(self, node: MappingNode, key: str) -> Iterator[tuple[ScalarNode, Node]]:
        """The keys of a mapping, each once, with their values: its own before those that it merges (https://yaml.org/type/merge.html)."""
        yield from self._pairs(node, key, ()).values()

    def _pairs(self, node: MappingNode, key: str, around: tuple[Node, ...]) -> dict[str, tuple[ScalarNode, Node]]:
        found: dict[str, tuple[ScalarNode, Node]] = {}
        merge: Node | None = None
        for name_node, value in node.value:
            if not isinstance(name_node, ScalarNode):
                self.refuse(name_node, key, "a key must be text")
                continue
            name = name_node.value
            is_again = name in found or (merge is not None and name_node.tag == _MERGE)
            if is_again and not self.given_again(name_node, key):
                continue
            if name_node.tag == _MERGE:
                merge = value
            else:
                found[name] = name_node, value
        for each in self._merged(merge, path(key, "<<")):
            if each is node or each in around:
                self.refuse(node, path(key, "<<"), "an alias stands within what it names: write the values out")
                continue
            for name, pair in self._pairs(each, key, (*around, node)).items():
                found.setdefault(name, pair)
                self._count(node)
        return found

    def _merged(self, node: Node | None, key: str) -> Iterator[MappingNode]:
        """The mappings that `<<` names; of a key that several have the first counts."""
        for each in node.value if isinstance(node, SequenceNode) else [node] if node is not None else []:
            self._count(each)
            if isinstance(each, MappingNode):
                yield each
            else:
                self.refuse(each, key, "<< takes keys with values, or a list of such")

    def _count(self, node: Node) -> None:
        """Raise Invalid when aliases have made too much of a small text."""
        self._values += 1
        if self._values > MAX_VALUES:
            raise _written_out_too_long(node)

    def items(self, node: Node | None, key: str, read: Callable[[Node, str], T]) -> tuple[T, ...]:
        """What `read` makes of each node of a list."""
        if node is None or is_null(node):
            return ()
        if not isinstance(node, SequenceNode):
            self.refuse(node, key, "expected a list")
            return ()
        return tuple(read(item, f"{key}[{index}]") for index, item in enumerate(node.value))

    def scalar(self, node: Node, key: str) -> str:
        """The literal text of a scalar, and what `!!binary` encodes; null is empty."""
        if not isinstance(node, ScalarNode):
            is_flow = isinstance(node, CollectionNode) and node.flow_style
            self.refuse(node, key, "expected text (quote it if it begins with { or [)" if is_flow else "expected text")
            return ""
        if node.tag == f"{_TAG}binary":
            return self._decoded(node, key)
        return "" if is_null(node) else str(node.value)

    def _decoded(self, node: ScalarNode, key: str) -> str:
        try:
            return b64decode("".join(str(node.value).split()), validate=True).decode()
        except ValueError:
            self.refuse(node, key, "what follows !!binary is not the base64 of a text")
            return ""

    def text(self, fields: Mapping[str, Node], name: str, key: str) -> str:
        return self.scalar(fields[name], path(key, name)) if name in fields else ""

    def flag(self, node: Node, key: str, *, absent: bool = False) -> bool:
        """True or false, in any case."""
        text = self.scalar(node, key).strip().lower()
        if text not in ("", "true", "false"):
            self.refuse(node, key, f"expected true or false, not {text[:40]!r}")
        return text == "true" if text else absent

    def number(self, node: Node, key: str, what: str, most: int) -> int:
        """A whole number from 0 to `most`; `what` names it in the problem, where it is more than a number."""
        text = self.scalar(node, key)
        number = go_number(text) if text else 0
        if number is None or number != int(number) or not 0 <= number <= most:
            wanted = f"{what} as a whole number" if what else "a whole number"
            self.refuse(node, key, f"expected {wanted}, at most {most}, not {text[:40]!r}")
            return 0
        return int(number)

    def plain(self, node: Node, key: str, depth: int = 0) -> Any:
        """Anything, as JSON would have it: neither dates nor octal numbers nor yes and no."""
        self._values += 1
        # An alias may stand inside of what it names, and aliases of aliases grow without end.
        if self._values > MAX_VALUES or depth > MAX_DEPTH:
            raise _written_out_too_long(node)
        if isinstance(node, MappingNode):
            pairs = self.pairs(node, key)
            return {intern(name.value): self.plain(value, path(key, name.value), depth + 1) for name, value in pairs}
        if isinstance(node, SequenceNode):
            return [self.plain(item, f"{key}[{index}]", depth + 1) for index, item in enumerate(node.value)]
        if not isinstance(node, ScalarNode):
            return None
        value = _json_scalar(node)
        if _is_no_number(node, value):
            self.refuse(node, key, f"{node.value[:40]} is no number in JSON")
            return None
        return value


def go_number(text: str) -> int | float | None:
    """What a plain scalar is to Go's readers of YAML where it is a number that is finite: `60.0`, `0x3C`, `1_000`, `017`; else None."""
    if not text[:1].isascii() or not (text[:1].isdigit() or text[:1] in ("-", "+", ".")) or len(text) > _MOST_DIGITS:
        return None
    plain = text if text.startswith(".") else text.replace("_", "")
    if (found := _GO_INTEGER.fullmatch(plain)) is not None:
        sign, *digits = found.groups()
        base, value = next((base, value) for base, value in zip((16, 2, 8, 10), digits, strict=True) if value)
        return int(f"{sign}{value}", base)
    number = float(plain) if _GO_FLOAT.fullmatch(plain) else math.inf
    return number if math.isfinite(number) else None


def _is_no_number(node: ScalarNode, value: Any) -> bool:
    """Whether it is `.inf`, `.nan`, or too large: JSON has no numbers of that kind (RFC 8259 §6)."""
    if isinstance(value, float):
        return not math.isfinite(value)
    plain = node.style is None and node.tag == f"{_TAG}float"
    return plain and str(node.value).lower().endswith((".inf", ".nan"))


def _json_scalar(node: ScalarNode) -> Any:
    text = str(node.value)
    if node.style is not None or node.tag == f"{_TAG}str":
        return text
    if node.tag == f"{_TAG}null":
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _INTEGER.match(text):
        return int(text)
    return float(text) if _NUMBER.match(text) else text
