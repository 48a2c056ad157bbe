"""Writes nodes as YAML in blocks, to the byte as go.yaml.in/yaml/v2 2.4 does: libyaml's rules with a width of 80.

A node is a Plain (a number, a word), a text, a list or a mapping whose keys are in their order.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from tinkbox.gotemplate.errors import GoError
from tinkbox.goyaml.resolution import is_plain_text

WIDTH = 80
STEP = 2
LONGEST_SIMPLE_KEY = 128  # bytes
_BREAKS = "\r\n\x85\u2028\u2029"
# What is escaped; libyaml takes no character beyond U+FFFF for printable.
_UNPRINTABLE = re.compile(r"[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]")
_LINE_BREAK = re.compile(rf"[{_BREAKS}]")
_BREAK_SPACE = re.compile(rf"[{_BREAKS}] ")
_SPACE_BREAK = re.compile(rf" [{_BREAKS}]")
_COLON_OR_COMMENT = re.compile(rf":(?:[ \t]|\Z)|[ \t{_BREAKS}\0]#")
_INDICATORS = frozenset("#,[]{}&*!|>'\"%@`")
_RUNS = re.compile(r" +|[^ ]+")
_LINES = re.compile(rf"[{_BREAKS}]|[^{_BREAKS}]+")
_QUOTED_PARTS = re.compile(rf'(?P<escaped>["\\{_BREAKS}]|{_UNPRINTABLE.pattern})| +|[^ ]')
_BOM = "\ufeff"
_ESCAPES: Final[Mapping[str, str]] = {
    "\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e", '"': '"',
    "\\": "\\", "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P",
}  # fmt: skip


class TooMuch(GoError):
    """A text would be longer than it may be."""

    def __init__(self) -> None:
        super().__init__("there is too much YAML to write")


@dataclass(frozen=True, slots=True)
class Plain:
    """A scalar that is written as it is."""

    text: str


Node = Plain | str | Sequence["Node"] | Mapping[str, "Node"]


class Style(Enum):
    """How a text is written."""

    PLAIN = auto()
    SINGLE = auto()
    DOUBLE = auto()
    LITERAL = auto()


def style_of(text: str, *, is_key: bool) -> Style:
    """The style of a text; `is_key` for one that shares its line with its value."""
    special = _UNPRINTABLE.search(text) is not None or _SPACE_BREAK.search(text) is not None
    breaks = _LINE_BREAK.search(text) is not None
    if "\n" in text:
        fits = not is_key and not special and not text.endswith(" ")
        return Style.LITERAL if fits else Style.DOUBLE
    if (is_key and breaks) or special or not is_plain_text(text):
        return Style.DOUBLE
    if not breaks and not text.startswith(" ") and not text.endswith(" ") and not _has_indicators(text):
        return Style.PLAIN
    return Style.DOUBLE if _BREAK_SPACE.search(text) else Style.SINGLE


def _has_indicators(text: str) -> bool:
    if text.startswith(("---", "...")) or text[:1] in _INDICATORS:
        return True
    if text[:1] in ("?", "-") and text[1:2] in ("", " ", "\t"):
        return True
    return _COLON_OR_COMMENT.search(text) is not None


class Emitter:
    """Writes one node; text() raises TooMuch when it takes more than `most` characters."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._pieces: list[str] = []
        self._column = 0
        self._indent = -1
        self._after_blank = True  # what comes next needs no space before it
        self._in_indent = True  # nothing but indentation and indicators of blocks stands in the line

    def text(self, node: Node) -> str:
        self._node(node, in_mapping=False)
        self._indent = -1
        self._line()
        return "".join(self._pieces)

    def _put(self, piece: str) -> None:
        self._left -= len(piece)
        if self._left < 0:
            raise TooMuch
        self._pieces.append(piece)
        self._column += len(piece)

    def _break(self, character: str = "\n") -> None:
        self._put(character)
        self._column = 0

    def _line(self) -> None:
        """Go to the column of the indent, in this line or the next."""
        indent = max(self._indent, 0)
        if not self._in_indent or self._column > indent or (self._column == indent and not self._after_blank):
            self._break()
        self._put(" " * (indent - self._column))
        self._after_blank = self._in_indent = True

    def _indicator(self, indicator: str, *, space: bool = True, blank: bool = False, block: bool = False) -> None:
        if space and not self._after_blank:
            self._put(" ")
        self._put(indicator)
        self._after_blank = blank
        self._in_indent = self._in_indent and block

    def _node(self, node: Node, *, in_mapping: bool) -> None:
        if isinstance(node, Plain):
            self._scalar(node.text, Style.PLAIN)
        elif isinstance(node, str):
            self._scalar(node, style_of(node, is_key=False))
        elif not node:
            self._indicator("{}" if isinstance(node, Mapping) else "[]")
        elif isinstance(node, Mapping):
            self._mapping(node)
        else:
            self._sequence(node, in_mapping=in_mapping)

    def _mapping(self, node: Mapping[str, Node]) -> None:
        outside, self._indent = self._indent, 0 if self._indent < 0 else self._indent + STEP
        for key, value in node.items():
            self._line()
            style = style_of(key, is_key=True)
            if _LINE_BREAK.search(key) is None and len(key.encode()) <= LONGEST_SIMPLE_KEY:
                self._scalar(key, style, is_key=True)
                self._indicator(":", space=False)
            else:
                self._indicator("?", block=True)
                self._scalar(key, style_of(key, is_key=False))
                self._line()
                self._indicator(":", block=True)
            self._node(value, in_mapping=True)
        self._indent = outside

    def _sequence(self, node: Sequence[Node], *, in_mapping: bool) -> None:
        outside = self._indent
        if self._indent < 0:
            self._indent = 0
        elif not in_mapping or self._in_indent:
            self._indent += STEP
        for item in node:
            self._line()
            self._indicator("-", block=True)
            self._node(item, in_mapping=False)
        self._indent = outside

    def _scalar(self, text: str, style: Style, *, is_key: bool = False) -> None:
        outside, self._indent = self._indent, max(self._indent, 0) + STEP
        match style:
            case Style.PLAIN:
                if not self._after_blank:
                    self._put(" ")
                self._words(text, folds=not is_key)
            case Style.SINGLE:
                self._indicator("'")
                self._single(text, folds=not is_key)
                self._indicator("'", space=False)
            case Style.DOUBLE:
                self._indicator('"')
                self._double(text, folds=not is_key)
                self._indicator('"', space=False)
            case Style.LITERAL:
                self._literal(text)
        if style is not Style.LITERAL:
            self._after_blank = self._in_indent = False
        self._indent = outside

    def _words(self, text: str, *, folds: bool) -> None:
        """Write what has no breaks; a single space becomes a new line where the line is full."""
        for run in _RUNS.findall(text):
            if run == " " and folds and self._column > WIDTH:
                self._line()
            else:
                self._put(run)
                self._in_indent = False

    def _single(self, text: str, *, folds: bool) -> None:
        broken = False
        for part in _LINES.findall(text):
            if part in _BREAKS:
                self._break(part)
                self._in_indent = broken = True
                continue
            if broken:
                self._line()
                broken = False
            shown = part.replace("'", "''")
            inner = shown.strip(" ")
            before, after = shown[: len(shown) - len(shown.lstrip(" "))], shown[len(shown.rstrip(" ")) :]
            # Spaces at either end stay where they are.
            self._put(before)
            self._words(inner, folds=folds)
            self._put(after if inner else "")

    def _double(self, text: str, *, folds: bool) -> None:
        place, is_all_escaped = 0, text.startswith(_BOM)
        for match in _QUOTED_PARTS.finditer(text):
            part, place = match[0], match.start()
            if match["escaped"] or is_all_escaped:
                self._put("".join("\\" + _escape(each) for each in part))
            elif part[0] == " " and folds and self._column > WIDTH and 0 < place < len(text) - 1:
                self._line()
                self._put(("\\" if len(part) > 1 else "") + part[1:])
            else:
                self._put(part)
            self._in_indent = False

    def _literal(self, text: str) -> None:
        self._indicator("|")
        if text[0] == " " or text[0] in _BREAKS:
            self._put(str(STEP))
        if text[-1] not in _BREAKS:
            self._put("-")
        elif len(text) == 1 or text[-2] in _BREAKS:
            self._put("+")
        self._break()
        self._after_blank = self._in_indent = broken = True
        for part in _LINES.findall(text):
            if part in _BREAKS:
                self._break(part)
                self._in_indent = broken = True
            else:
                if broken:
                    self._line()
                self._put(part)
                self._in_indent = broken = False


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    if code <= 0xFF:
        return f"x{code:02X}"
    return f"u{code:04X}" if code <= 0xFFFF else f"U{code:08X}"
