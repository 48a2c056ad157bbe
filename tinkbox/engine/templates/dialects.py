"""Which language the placeholders of a template are in.

What stands between braces shows it:

* Jinja2: `{{ name` where the name is no function of Go templates, `{{ name()`, for Go has no empty parentheses, and a
  `{% statement` or `{# comment #}` that begins a line, or a value, of the template itself;
* Go templates: `{{.`, `{{$`, `{{/* comment */}}`, `{{ keyword` such as `{{ if` or `{{ end`, `{{ name argument`, as Go calls
  functions, and `.name` or `$` anywhere else: whether there is a function of a name is for the reader of Go templates to say.

With marks of Jinja2 it is Jinja2, and otherwise it is a Go template, of which 2020's `{{.name}}` is the smallest part.
Names that are functions of both languages, literals and parentheses are no marks.  Nor are statements and comments of Jinja2
in a text that YAML embeds (`|`, `>`), such as a cloud-config, and a shell's `${#list[@]}`; within a value they are marks where
there is no other.  With marks of both it is refused, unless it has nothing but names as placeholders, as the proposals of 2020
have them: both languages mean the same by those.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from tinkbox.model.errors import Invalid, Problem

MAX_SHOWN = 40
GO_KEYWORDS = frozenset({"if", "else", "end", "range", "with", "define", "template", "block", "break", "continue"})
JINJA_GLOBALS = ("range", "dict", "namespace", "joiner", "cycler")  # what Jinja2 calls besides functions and data
NEITHER = frozenset({"true", "false", "nil", "not", "and", "or"})
_OPENING = re.compile(r"\{\{|\{%|\{#")
_STATEMENT = re.compile(
    r"\{%[-+]?\s*(?:if|elif|else|for|set|with|macro|call|filter|block|raw|include|import|from|extends|autoescape|end[a-z]+)\b"
)
_RAW = re.compile(r"\{%[-+]?\s*raw\s*[-+]?%\}")
_END_OF_RAW = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
_INSIDE = re.compile(r"[-+]?\s*(?:(?P<go>[.$]|/\*)|(?P<name>[A-Za-z_]\w*)(?P<call>\()?)?")
# Behind a name, what only Go has there: an argument without a comma or parenthesis before it, which may be a call itself.
_ARGUMENT = re.compile(r"""\s+(?:["'`$\d]|(?:\(\s*)+(?:[.$]|[A-Za-z_]\w*\s+[.$"'`\d(]))""")
# Behind a name, what only Jinja2 has there.
_EMPTY_CALL = re.compile(r"\(\s*\)")
# Anywhere: a field of the data, or a variable.
_FIELD = re.compile(r"[\s(|](?:\.[A-Za-z_]|\$)")
_MARGIN = re.compile(r" *+(?:- ++)*+")
# What stands before a value that begins: `key:`, `-`, or nothing.
_NO_VALUE = re.compile(r" *+(?:- ++)*+(?:[A-Za-z0-9_.-]++:)?+[ \t]*+")
_DEVICE = re.compile(
    r"""\bworker["']?\s*:\s*["']?\{\{[-+]?\s*(?:\$?\.)?(?P<worker>[A-Za-z_]\w*)|\{\{[-+]?\s*(?:\$?\.)?(?P<device>device_\d+)\b"""
)
_NUMBERED = re.compile(r"(?<!\w)device_\d++(?!\w)")
_GO_NAME = re.compile(r"(?:-\s)?\s*\.(?P<name>[A-Za-z_]\w*)\s*(?:\s-)?\Z")
_QUOTED = re.compile(r"""\"[^"\n]*\"|'[^'\n]*'|`[^`]*`""")
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_WHOLE_WORD = re.compile(r"\w+")
# What Go's `index`, `get` and the like are given for an entry of the data that they name.
_ENTRY = re.compile(r"""(?<![\w)\].$])[.$]\s++(?P<quote>["`])(?P<called>[A-Za-z_]\w*+)(?P=quote)""")
_JINJA_NAME = re.compile(r"[-+]?\s*(?P<name>[A-Za-z_]\w*)\s*-?\Z")


class Dialect(StrEnum):
    """The languages of templates."""

    GO = "a Go template"
    JINJA = "a Jinja2 template"
    EITHER = "a text with nothing but names as placeholders"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place that only one of the languages can have; `line` counts from 1.

    One that is `weak` may be text as well: it counts where there is no other.
    """

    dialect: Dialect
    line: int
    source: str
    weak: bool = False

    def __str__(self) -> str:
        return f"{self.source} on line {self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholder:
    """`{{.name}}` or `{{ name }}`."""

    name: str
    line: int


def find_dialect(text: str, functions: Collection[str]) -> tuple[Dialect, Mark | None]:
    """The language of a text, and the first place that shows it; of a text in both, no place.

    `functions` are the names that Go templates can call.  Raises Invalid that names two places when there are marks of
    both, and more than names.
    """
    first: dict[Dialect, Mark] = {}
    weak: Mark | None = None
    count = 0
    for mark in _marks(text, functions):
        if mark.weak:
            weak = weak or mark
        else:
            first.setdefault(mark.dialect, mark)
        count += 1
    if len(first) == 2:
        names = placeholders(text, Dialect.EITHER)
        if names is not None and len(names) == count:  # what is no mark is a function
            return Dialect.EITHER, None
        go, jinja = first[Dialect.GO], first[Dialect.JINJA]
        raise Invalid(
            "the template mixes two languages: write all of it as a Go template, or all of it in Jinja2. What is meant for "
            'another program stands between {% raw %} and {% endraw %} in Jinja2, and in a Go template its braces are {{ "{{" }}',
            sorted(
                (
                    Problem(line=go.line, text=f"{go.source} is of a Go template"),
                    Problem(line=jinja.line, text=f"{jinja.source} is of Jinja2"),
                ),
                key=lambda problem: problem.line or 0,
            ),
        )
    if not first:
        return (weak.dialect, weak) if weak else (Dialect.GO, None)
    ((dialect, mark),) = first.items()
    return dialect, mark


def placeholders(text: str, dialect: Dialect) -> list[Placeholder] | None:
    """The placeholders of a text that has nothing else, such as 2020's; None when it has."""
    found, place = [], _Lines(text)
    for kind, start, inside in _sections(text, dialect):
        if kind == "{{":
            match = _name(inside, dialect)
            if match is None:
                return None
            found.append(Placeholder(name=match["name"], line=place.of(start)))
        else:
            return None
    return found


def as_go(text: str) -> str:
    """A text with nothing but names as placeholders, as a Go template; lines stay where they are."""
    pieces, copied = [], 0
    for kind, start, inside in _sections(text):
        match = _JINJA_NAME.match(inside) if kind == "{{" else None
        if match is not None:
            before, after = inside[: match.start("name")], inside[match.end("name") :]
            left = f"- {before[1:]}" if before.startswith("-") else before.removeprefix("+")
            right = f"{after[:-1]} -" if after.endswith("-") else after
            pieces += [text[copied:start], "{{", left, ".", match["name"], right]
            copied = start + len("{{") + len(inside)
    return "".join([*pieces, text[copied:]])


def device_names(text: str) -> list[str]:
    """The names that stand for machines: those of a task's worker, and `device_1` and its like where they begin a placeholder."""
    return list(dict.fromkeys(match["worker"] or match["device"] for match in _DEVICE.finditer(text)))


def mentioned_devices(text: str) -> list[str]:
    """The same, and `device_1` and its like wherever they stand between braces, such as in a condition."""
    return list(dict.fromkeys([*device_names(text), *_NUMBERED.findall(_inside(text))]))


def unmentioned(text: str, names: Collection[str]) -> list[str]:
    """Those of these names that stand nowhere between braces: a template makes nothing of them."""
    inside = _inside(text)
    whole = {*_WHOLE_WORD.findall(inside)}

    def stands(name: str) -> bool:
        if not whole.issuperset(parts := _WHOLE_WORD.findall(name)):
            return False
        return parts == [name] or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", inside) is not None

    return [each for each in names if not stands(each)]


def words(text: str) -> list[str]:
    """What stands between braces and may be the name of a parameter."""
    inside = _ENTRY.sub(r" \g<called> ", _inside(text))
    return [each for each in dict.fromkeys(_WORD.findall(_QUOTED.sub("", inside))) if each not in GO_KEYWORDS | NEITHER]


def _inside(text: str) -> str:
    """All that stands between braces, in either language."""
    return "\n".join(each for dialect in (Dialect.GO, Dialect.JINJA) for _, _, each in _sections(text, dialect))


def _marks(text: str, functions: Collection[str]) -> Iterator[Mark]:
    place, embedded = _Lines(text), _Embedded(text)
    for kind, start, inside in _sections(text):
        weak, dialect = False, _dialect_of(inside, functions)
        if kind != "{{":
            holds = embedded.holding(start)
            weak, dialect = holds is not Holding.LINE, None if holds is Holding.TEXT else Dialect.JINJA
        if dialect is not None:
            source = " ".join(text[start : start + MAX_SHOWN].split("\n")[0].split())
            shown = source[: source.find("}}") + 2] if "}}" in source else source
            yield Mark(dialect=dialect, line=place.of(start), source=shown, weak=weak)


def _name(inside: str, dialect: Dialect) -> re.Match[str] | None:
    """What is inside of a placeholder, when that is nothing but a name."""
    match dialect:
        case Dialect.GO:
            return _GO_NAME.match(inside)
        case Dialect.JINJA:
            return _JINJA_NAME.match(inside)
        case Dialect.EITHER:
            bare = _JINJA_NAME.match(inside)
            if bare is None:
                return _GO_NAME.match(inside)
            return None if bare["name"] in GO_KEYWORDS | NEITHER else bare


def _dialect_of(inside: str, functions: Collection[str]) -> Dialect | None:
    match = _INSIDE.match(inside)
    if match is None or match["go"]:
        return Dialect.GO if match else None
    name = match["name"]
    if name in GO_KEYWORDS:
        return None if match["call"] else Dialect.GO
    if _FIELD.search(_QUOTED.sub("", inside)):
        return Dialect.GO
    if not name or name in NEITHER:
        return None
    if _ARGUMENT.match(inside, match.end("name")):
        return Dialect.GO
    return None if name in functions and not _EMPTY_CALL.match(inside, match.end("name")) else Dialect.JINJA


def _sections(text: str, dialect: Dialect = Dialect.JINJA) -> Iterator[tuple[str, int, str]]:
    """(opening, where, what is inside) of everything between braces, in one pass; a Go template has `{{` alone.

    A shell's `${#list[@]}` and `'{%s}'` are text: a comment has its end, a statement its name.
    """
    position, last_comment = 0, text.rfind("#}") if dialect is not Dialect.GO else -1
    while (opening := _OPENING.search(text, position)) is not None:
        start, kind = opening.start(), opening[0]
        position = opening.end()
        if kind == "{{":
            ending = "*/" if text.startswith("{{/*", start) else "}}"
            end = text.find(ending, position)
            yield kind, start, text[position : end if end >= 0 else len(text)]
            position = len(text) if end < 0 else end + 2
        elif kind == "{#":
            if position <= last_comment:
                end = text.index("#}", position)
                yield kind, start, text[position:end]
                position = end + 2
        elif dialect is Dialect.GO:
            continue
        elif (raw := _RAW.match(text, start)) is not None:
            yield kind, start, "raw"
            after = _END_OF_RAW.search(text, raw.end())
            position = after.end() if after else len(text)
        elif _STATEMENT.match(text, start):
            end = text.find("%}", position)
            yield kind, start, text[position : end if end >= 0 else len(text)]
            position = len(text) if end < 0 else end + 2


class Holding(Enum):
    """What a place stands in: a text that YAML embeds, or a shell's expansion; a line that it begins, or its value; or within one."""

    TEXT = auto()
    LINE = auto()
    VALUE = auto()


class _Embedded:
    """What places of YAML, that come in their order, stand in."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._read = 0  # as far as the beginning of a line
        self._margin = -1  # of what holds the block of text; -1: there is none

    def holding(self, place: int) -> Holding:
        """What holds a place."""
        while (end := self._text.find("\n", self._read, place)) >= 0:
            self._look_at(self._text[self._read : end])
            self._read = end + 1
        before = self._text[self._read : place]
        indent = len(before) - len(before.lstrip(" "))
        if before.endswith("$") or (self._margin >= 0 and indent > self._margin):
            return Holding.TEXT
        return Holding.LINE if _NO_VALUE.fullmatch(before) else Holding.VALUE

    def _look_at(self, line: str) -> None:
        stripped = line.lstrip(" ")
        if self._margin >= 0 and (not stripped.strip() or len(line) - len(stripped) > self._margin):
            return
        if self._margin >= 0 and stripped.startswith("{{"):  # it leaves nothing behind in a line of its own
            return
        self._margin = _margin_of_block(line)


def _margin_of_block(line: str) -> int:
    """Where the key or the dash stands that has a block of text behind this line of YAML; -1: none begins here."""
    before = line.partition(" #")[0].rstrip().rstrip("-+0123456789")
    if before[-1:] not in ("|", ">") or before[-2:-1].strip():
        return -1
    words = before[:-1].split()
    while words and words[-1][0] in "!&":  # a tag, an anchor
        words.pop()
    margin = _MARGIN.match(before)
    if margin is None or not words or not (words[-1].endswith(":") or words[-1] == "-"):
        return -1
    return margin.end() if words[-1] != "-" else margin[0].rfind("-")


class _Lines:
    """Line numbers of places that come in their order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line = 1
        self._counted = 0

    def of(self, place: int) -> int:
        self._line += self._text.count("\n", self._counted, place)
        self._counted = place
        return self._line
