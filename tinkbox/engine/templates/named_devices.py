"""What a template calls machines: `device_1` and its like wherever they stand, and the value that a `worker` gets.

A worker's value is followed back to the data: a variable to what is assigned to it, Go's `.` to the `range` or `with` around it.
What is called, a keyword, a text, a condition and a part of something else are no names of data.  The text is read as it stands,
in one pass, for it may be of either language, or wrong.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from tinkbox.engine.templates.dialects import ENTRY, GO_KEYWORDS, NEITHER, sections

_NUMBERED: Final = re.compile(r"device_\d+\Z")
_WORKER: Final = re.compile(r"""\bworker["']?\s*:\s*["']?\Z""")
_TOKEN: Final = re.compile(
    rf"""
      (?P<entry>{ENTRY})
    | (?P<quoted>"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|`[^`]*+`)
    | (?P<variable>\$[A-Za-z_]\w*+)
    | (?P<field>(?<![\w)\]])\$?\.[A-Za-z_]\w*+)
    | (?P<dot>(?<![\w)\].$])\.(?![\w.]))
    | (?P<name>(?<![\w.$])[A-Za-z_]\w*+)
    """,
    re.VERBOSE,
)
_OF_GO: Final = frozenset({"entry", "variable", "field", "dot"})
_PART: Final = re.compile(r"\[|\.[A-Za-z_]\w*+(?!\s*+\()")  # behind a name: a part of it, and no method of a text
_OF_LIST: Final = re.compile(r"\b(?:index|get|first|last)\s+\Z")  # before a name: it is a list or a map
_FIRST: Final = re.compile(r"\s*+\|\s*+(?:first|last)\b")  # the same behind it
_NO_VALUE: Final = re.compile(
    r"""\s*+(?:\(|=(?!=))|\s++["'`$\d(.]"""
)  # behind a bare name: it is called, or assigned to
_NO_DATA: Final = re.compile(r"(?:\||\bis|\bis\s+not)\s*\Z")  # before a bare name: it is a filter or a test
_NEAR: Final = 40  # characters that are looked at before a place
_GO_ASSIGNED: Final = re.compile(r"(\$[A-Za-z_]\w*+)(?:\s*+,\s*+(\$[A-Za-z_]\w*+))?\s*+:?=(?!=)")
_GO_BLOCK: Final = re.compile(r"-?\s*+(?P<word>if|range|with|block|define|else|end)\b(?!\()")
_STATEMENT: Final = re.compile(r"[-+]?\s*+(?P<word>\w*+)")
_ALTERNATIVE: Final = re.compile(r"\bif\b.*?(?:\belse\b|\Z)", re.DOTALL)
_LONE: Final = re.compile(r"\s*+(?:range\b)?\s*+[\w.$]++\s*+-?")  # a list, of which no name says what is in it
_KEYWORDS: Final = (
    GO_KEYWORDS | NEITHER | {"is", "in", "elif", "for", "set", "recursive", "none", "True", "False", "None"}
)


def device_names(text: str) -> list[str]:
    """The names that stand for machines, each once, in their order."""
    reading = _Reading(text)
    return list(reading.led_to(reading.found()))


class _Reading:
    """A text that is read once.  Of its names those with a `$` are Go's variables, those with a `#` the `.` within a block."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._assigned: dict[str, dict[str, None]] = defaultdict(dict)
        self._dots = [""]  # what `.` is in each block around; empty: the data itself

    def found(self) -> list[str]:
        """What stands for machines, in its order, with names of the template's own."""
        found: dict[str, None] = {}
        was_worker, end = False, -1
        for kind, start, inside in sections(self._text):
            before = self._text[max(start - _NEAR, end, 0) : start]
            is_worker = (was_worker and start == end) or _WORKER.search(before) is not None
            was_worker, end = is_worker, start + len("{{") + len(inside) + len("}}")
            if kind == "{#" or inside.startswith("/*"):
                continue
            names = self._taken(kind, start, inside)
            if is_worker:
                found |= dict.fromkeys(names)
            found |= dict.fromkeys(each for each in self._names(inside) if _NUMBERED.match(each))
        return list(found)

    def led_to(self, names: Sequence[str]) -> Iterator[str]:
        """The data that names lead to, each once: themselves, unless they are the template's own."""
        waiting = [*reversed(names)]
        seen: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            behind = self._assigned.get(name)
            if name[0] not in "$#" and (behind is None or name in behind):
                yield name
            waiting += reversed(behind or ())

    def _taken(self, kind: str, start: int, inside: str) -> list[str]:
        """The names that a section gives a value of, once what it assigns and the block that it begins or ends are taken in."""
        if kind == "{%":
            return self._taken_statement(inside)
        block = _GO_BLOCK.match(inside)
        assigned = _GO_ASSIGNED.search(inside)
        value = inside[assigned.end() :] if assigned else inside
        names = [] if block and block["word"] == "range" and _LONE.fullmatch(value) else list(self._names(value))
        for variable in assigned.groups() if assigned else ():
            if variable:
                self._assigned[variable] |= dict.fromkeys(names)
        match block["word"] if block else "":
            case "range" | "with":
                dot = f"#{start}"
                self._assigned[dot] |= dict.fromkeys(names)
                self._dots.append(dot)
            case "if":
                self._dots.append(self._dots[-1])
                return []
            case "define" | "block":
                self._dots.append("")
            case "else" if len(self._dots) > 1:
                self._dots[-1] = self._dots[-2]
                return []
            case "end" if len(self._dots) > 1:
                self._dots.pop()
            case "":
                return list(self._names(_ALTERNATIVE.sub("", inside))) if not assigned else []
        return names

    def _taken_statement(self, inside: str) -> list[str]:
        """As `_taken`, of a statement of Jinja2."""
        match = _STATEMENT.match(inside)
        word, rest = (match["word"], inside[match.end() :]) if match else ("", inside)
        if word in ("set", "for", "with"):
            own, _, value = rest.partition(" in " if word == "for" else "=")
            names = [] if word == "for" and _LONE.fullmatch(value) else list(self._names(value))
            for each in self._names(own):
                self._assigned[each] |= dict.fromkeys(names)
        return []

    def _names(self, inside: str) -> Iterator[str]:
        """The names of data, and of the template's own, whose values stand in a piece of a section."""
        tokens = [each for each in _TOKEN.finditer(inside) if each.lastgroup != "quoted"]
        is_go = any(each.lastgroup in _OF_GO for each in tokens)
        dot = self._dots[-1]
        for each in tokens:
            name = each["called"] or each[0].lstrip("$.") if each.lastgroup != "variable" else each[0]
            near = inside[max(each.start() - _NEAR, 0) : each.start()]
            behind = _PART.match(inside, each.end()) or _FIRST.match(inside, each.end())
            is_part = behind is not None or (each.lastgroup != "entry" and _OF_LIST.search(near) is not None)
            match each.lastgroup:
                case "dot":
                    name, is_part = dot, False
                case "field" | "entry":
                    is_part = is_part or (bool(dot) and each[0].startswith("."))
                case "name":
                    if is_go or name in _KEYWORDS or _NO_VALUE.match(inside, each.end()) or _NO_DATA.search(near):
                        continue
            if name and (not is_part or _NUMBERED.match(name)):
                yield name
