"""The nodes of a text's first document, within limits; PyYAML finds the tokens and what they make up."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import yaml
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.scanner import Scanner, ScannerError
from yaml.tokens import ScalarToken

from tinkbox.gotemplate.errors import GoError

MAX_DEPTH = 100
MAX_NODES = 100_000
MAX_ALIASES = 100


@dataclass(slots=True)
class Scalar:
    """A scalar with its tag, "" for none; `is_implicit` when it has neither that nor quotation marks."""

    line: int
    text: str
    tag: str
    is_implicit: bool


@dataclass(slots=True)
class Sequence:
    line: int
    items: list["Node"] = field(default_factory=list)


@dataclass(slots=True)
class Mapping:
    line: int
    pairs: list[tuple["Node", "Node"]] = field(default_factory=list)


@dataclass(slots=True)
class Alias:
    line: int
    name: str
    target: "Node"


Node = Scalar | Sequence | Mapping | Alias


_BLANKS = "\0 \t\r\n\x85\u2028\u2029"
_DIGITS = tuple("0123456789")
_BREAKS = "\r\n\x85\u2028\u2029"
_WORD = re.compile(rf"(?:[^:{_BLANKS}]|:(?![{_BLANKS}]))+")
_WORD_IN_BRACKETS = re.compile(rf"(?:[^:,?\[\]{{}}{_BLANKS}]|:(?![{_BLANKS}]))+")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Events(Reader, Scanner, Parser):
    """Structure without values.

    Where PyYAML's scanner differs from libyaml's, it goes by the latter: a tab is a blank but for indentation, in brackets
    only a blank makes a value of what follows a colon, and what it does not know it refuses.
    """

    ESCAPE_REPLACEMENTS: ClassVar[dict[str, str]] = {  # type: ignore[misc]
        **{name: value for name, value in Scanner.ESCAPE_REPLACEMENTS.items() if name != "/"},
        "'": "'",
    }

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)

    def __iter__(self) -> Iterator[Any]:
        while self.check_event():
            yield self.get_event()  # type: ignore[no-untyped-call]

    def scan_to_next_token(self) -> None:
        while True:
            if self.index == 0 and self.peek() == "\ufeff":
                self.forward()
            while self.peek() == " " or (self.peek() == "\t" and (self.flow_level or not self.allow_simple_key)):
                self.forward()
            if self.peek() == "#":
                while self.peek() not in f"\0{_BREAKS}":
                    self.forward()
            if not self.scan_line_break():  # type: ignore[no-untyped-call]
                return
            if not self.flow_level:
                self.allow_simple_key = True

    def scan_directive_name(self, start_mark: Any) -> Any:
        name = super().scan_directive_name(start_mark)  # type: ignore[no-untyped-call]
        if name not in ("YAML", "TAG"):
            raise ScannerError(
                "while scanning a directive", start_mark, "found unknown directive name", self.get_mark()
            )
        return name

    def scan_yaml_directive_value(self, start_mark: Any) -> Any:
        version = super().scan_yaml_directive_value(start_mark)
        if version != (1, 1):
            raise ScannerError(None, None, "found incompatible YAML document", start_mark)
        return version

    def scan_block_scalar_indicators(self, start_mark: Any) -> tuple[bool | None, int | None]:
        chomping, increment = None, None
        for _ in range(2):
            sign = self.peek()
            if chomping is None and sign in ("+", "-"):
                chomping = sign == "+"
            elif increment is None and sign in _DIGITS:
                increment = int(sign)
                if increment == 0:
                    raise ScannerError(
                        "while scanning a block scalar", start_mark, "found an indentation of 0", self.get_mark()
                    )
            else:
                break
            self.forward()
        return chomping, increment

    def scan_block_scalar_ignored_line(self, start_mark: Any) -> None:
        while self.peek() in (" ", "\t"):
            self.forward()
        super().scan_block_scalar_ignored_line(start_mark)

    def scan_plain(self) -> ScalarToken:
        start = end = self.get_mark()
        pieces: list[str] = []
        word = _WORD_IN_BRACKETS if self.flow_level else _WORD
        between, breaks = "", 0
        while self.peek() != "#" and not self._is_document_indicator():
            found = word.match(self.buffer, self.pointer)
            if found is None:
                break
            pieces += [between, found[0]]
            self.forward(len(found[0]))
            end = self.get_mark()
            between, breaks = self._scan_blanks(start)
            if not between or (not self.flow_level and self.column <= self.indent):
                break
        self.allow_simple_key = breaks > 0
        return ScalarToken("".join(pieces), True, start, end)

    def _scan_blanks(self, start: Any) -> tuple[str, int]:
        """What the blanks between two words of a plain scalar mean, and how many line breaks there are."""
        blanks, breaks = "", []
        while (blank := self.peek()) in (" ", "\t") or blank in _BREAKS:
            if blank in _BREAKS:
                breaks.append(self.scan_line_break())  # type: ignore[no-untyped-call]
                continue
            if blank == "\t" and breaks and self.column <= self.indent:
                raise ScannerError(
                    "while scanning a plain scalar", start, "found a tab that violates indentation", self.get_mark()
                )
            blanks += blank
            self.forward()
        if not breaks:
            return blanks, 0
        first, *more = breaks
        return ("" if first == "\n" and more else " " if first == "\n" else first) + "".join(more), len(breaks)

    def _is_document_indicator(self) -> bool:
        return self.column == 0 and self.prefix(3) in ("---", "...") and self.peek(3) in _BLANKS


def first_document(text: str) -> Node | None:
    """The root of the first document, None when there is none; what follows that document is not read.

    Raises GoError that names the line for what is no YAML, and beyond the limits.
    """
    try:
        return _Composer(text).document()
    except yaml.MarkedYAMLError as error:
        context = f"{error.context}: " if error.context else ""
        raise GoError(f"{_line(error)}{context}{error.problem}") from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise GoError(f"line {line}: control characters are not allowed: U+{int(error.character):04X}") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # PyYAML's scanner takes any eight digits of an escape for a character.
        raise GoError(f"invalid YAML: {str(error)[:200]}") from None


def _line(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f"line {mark.line + 1}: " if mark else ""


class _Composer:
    def __init__(self, text: str) -> None:
        self._events = iter(Events(text))
        self._anchors: dict[str, Node] = {}
        self._nodes = 0
        self._aliases = 0

    def document(self) -> Node | None:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                root = self._node(next(self._events), 0)
                next(self._events)  # the end of the document, before which nothing may follow
                return root
        return None

    def _node(self, event: Any, depth: int) -> Node:
        self._nodes += 1
        line = event.start_mark.line + 1
        if self._nodes > MAX_NODES:
            raise GoError(f"line {line}: more than {MAX_NODES} values")
        if depth > MAX_DEPTH:
            raise GoError(f"line {line}: more than {MAX_DEPTH} values within each other")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(line, str(event.anchor))
        if isinstance(event, yaml.ScalarEvent):
            if _SURROGATE.search(event.value):
                raise GoError(f"line {line}: found invalid Unicode character escape code")
            scalar = Scalar(line, event.value, event.tag or "", bool(event.implicit[0]))
            self._anchor(event, scalar)
            return scalar
        if isinstance(event, yaml.SequenceStartEvent):
            sequence = Sequence(line)
            self._anchor(event, sequence)
            while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
                sequence.items.append(self._node(event, depth + 1))
            return sequence
        mapping = Mapping(line)
        self._anchor(event, mapping)
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event, depth + 1)
            mapping.pairs.append((key, self._node(next(self._events), depth + 1)))
        return mapping

    def _anchor(self, event: Any, node: Node) -> None:
        if event.anchor is not None:
            self._anchors[event.anchor] = node

    def _alias(self, line: int, name: str) -> Alias:
        self._aliases += 1
        if self._aliases > MAX_ALIASES:
            raise GoError(f"line {line}: more than {MAX_ALIASES} aliases are not expanded")
        if name not in self._anchors:
            raise GoError(f"line {line}: unknown anchor '{name}' referenced")
        return Alias(line, name, self._anchors[name])
