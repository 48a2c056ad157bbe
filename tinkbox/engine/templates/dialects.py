"""Which language the placeholders of a template are in.

A text has marks of one language or the other:

* Jinja2: `{% statement`, `{# comment #}`, and `{{ name` where the name is no function of Go templates;
* Go templates: `{{.`, `{{$`, `{{/* comment */}}`, `{{ keyword` such as `{{ if` or `{{ end`, and `{{ name argument`, as Go
  calls functions: whether there is a function of that name is for the reader of Go templates to say.

With marks of Jinja2 it is Jinja2, and otherwise it is a Go template, of which 2020's `{{.name}}` is the smallest part.
Names that are functions of both languages, literals and parentheses are no marks.  With marks of both it is refused,
unless it has nothing but names as placeholders, as the proposals of 2020 have them: both languages mean the same by those.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from tinkbox.model.errors import Invalid, Problem

MAX_SHOWN = 40
GO_KEYWORDS = frozenset({"if", "else", "end", "range", "with", "define", "template", "block", "break", "continue"})
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
_DEVICE = re.compile(
    r"""\bworker["']?\s*:\s*["']?\{\{[-+]?\s*\.?(?P<worker>[A-Za-z_]\w*)|\{\{[-+]?\s*\.?(?P<device>device_\d+)\b"""
)
_GO_NAME = re.compile(r"(?:-\s)?\s*\.(?P<name>[A-Za-z_]\w*)\s*(?:\s-)?\Z")
_QUOTED = re.compile(r"""\"[^"\n]*\"|'[^'\n]*'|`[^`]*`""")
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_JINJA_NAME = re.compile(r"[-+]?\s*(?P<name>[A-Za-z_]\w*)\s*-?\Z")


class Dialect(StrEnum):
    """The languages of templates."""

    GO = "a Go template"
    JINJA = "a Jinja2 template"
    EITHER = "a text with nothing but names as placeholders"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place that only one of the languages can have; `line` counts from 1."""

    dialect: Dialect
    line: int
    source: str

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
    count = 0
    for mark in _marks(text, functions):
        first.setdefault(mark.dialect, mark)
        count += 1
    if len(first) == 2:
        names = placeholders(text, Dialect.EITHER)
        if names is not None and len(names) == count:  # what is no mark is a function
            return Dialect.EITHER, None
        go, jinja = first[Dialect.GO], first[Dialect.JINJA]
        raise Invalid(
            "the template mixes two languages: write all of it as a Go template, or all of it in Jinja2",
            sorted(
                (
                    Problem(line=go.line, text=f"{go.source} is of a Go template"),
                    Problem(line=jinja.line, text=f"{jinja.source} is of Jinja2"),
                ),
                key=lambda problem: problem.line or 0,
            ),
        )
    if not first:
        return Dialect.GO, None
    ((dialect, mark),) = first.items()
    return dialect, mark


def placeholders(text: str, dialect: Dialect) -> list[Placeholder] | None:
    """The placeholders of a text that has nothing else, such as 2020's; None when it has."""
    found, place = [], _Lines(text)
    for kind, start, inside in _sections(text):
        if kind == "{{":
            match = _name(inside, dialect)
            if match is None:
                return None
            found.append(Placeholder(name=match["name"], line=place.of(start)))
        elif dialect is not Dialect.GO:
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
    """The names that stand for machines: those of a task's worker, and `device_1` and its like."""
    return list(dict.fromkeys(match["worker"] or match["device"] for match in _DEVICE.finditer(text)))


def unmentioned(text: str, names: Collection[str]) -> list[str]:
    """Those of these names that stand nowhere between braces: a template makes nothing of them."""
    inside = "\n".join(each for _, _, each in _sections(text))
    return [each for each in names if not re.search(rf"(?<!\w){re.escape(each)}(?!\w)", inside)]


def words(text: str) -> list[str]:
    """What stands between braces and may be the name of a parameter."""
    inside = "\n".join(each for _, _, each in _sections(text))
    return [each for each in dict.fromkeys(_WORD.findall(_QUOTED.sub("", inside))) if each not in GO_KEYWORDS | NEITHER]


def _marks(text: str, functions: Collection[str]) -> Iterator[Mark]:
    place = _Lines(text)
    for kind, start, inside in _sections(text):
        dialect = Dialect.JINJA if kind != "{{" else _dialect_of(inside, functions)
        if dialect is not None:
            source = " ".join(text[start : start + MAX_SHOWN].split("\n")[0].split())
            shown = source[: source.find("}}") + 2] if "}}" in source else source
            yield Mark(dialect=dialect, line=place.of(start), source=shown)


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
    if not name or name in NEITHER:
        return None
    if name in GO_KEYWORDS:
        return None if match["call"] else Dialect.GO
    if name in functions:
        return None
    return Dialect.GO if _ARGUMENT.match(inside, match.end("name")) else Dialect.JINJA


def _sections(text: str) -> Iterator[tuple[str, int, str]]:
    """(opening, where, what is inside) of everything between braces, in one pass.

    A shell's `${#list[@]}` and `'{%s}'` are text: a comment has its end, a statement its name.
    """
    position, last_comment = 0, text.rfind("#}")
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
        elif (raw := _RAW.match(text, start)) is not None:
            yield kind, start, "raw"
            after = _END_OF_RAW.search(text, raw.end())
            position = after.end() if after else len(text)
        elif _STATEMENT.match(text, start):
            end = text.find("%}", position)
            yield kind, start, text[position : end if end >= 0 else len(text)]
            position = len(text) if end < 0 else end + 2


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
