r"""Sprig's functions on regular expressions: RE2, the syntax of Go's regexp, in a time linear in the text.

Only this file knows google-re2. One search is linear, but to find all matches takes many of them, and each may look at
all that is left of the text: so the work is bounded, by the bytes that searches may look at times what a byte may cost.
Within `bounded_work` all searches share one bound.
"""

import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import re2  # type: ignore[import-untyped]

from tinkbox.gotemplate.values import GoError, NilStrings, Strings, byte_length, from_bytes, to_bytes
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.bounds import Steps, bound_items, bound_text
from tinkbox.sprig.text.lettercase import NOT_UTF8
from tinkbox.sprig.text.strings import joined

MAX_WORK = 1 << 28  # two or three seconds at worst, measured: 10 ns for a byte and an instruction
SMALL_PROGRAM = 12  # instructions; such always fit into an automaton, which costs the same for each byte
MAX_PROGRAM = 1 << 20  # bytes of memory for one expression and its automaton
# Of Unicode, such as \pL, in one expression: each is hundreds of ranges before MAX_PROGRAM is looked at, 40 KiB and 0.1 ms.
MAX_CLASSES = 500
CLASS_WORK = 10_000
ESCAPE = re.compile(rb"\\Q.*?(?:\\E|\Z)|\\(.)", re.DOTALL)
REFERENCE = re.compile(r"\$(?:(?P<dollar>\$)|(?P<name>\w+)|\{(?P<braced>\w+)\})")
NUMBER = re.compile(r"0|[1-9][0-9]{0,7}")
REPLACEMENT = "\ufffd".encode()
META = re.compile(r"[\\.+*?()|\[\]{}^$]")


_shared: ContextVar[Steps | None] = ContextVar("shared", default=None)


@contextmanager
def bounded_work() -> Iterator[None]:
    """Let all searches together take no more than MAX_WORK meanwhile."""
    token = _shared.set(Steps(MAX_WORK))
    try:
        yield
    finally:
        _shared.reset(token)


class _NoExpression(GoError):
    """What Go does not compile either."""


def _compiled(expression: str) -> Any:
    pattern = to_bytes(expression)
    options = re2.Options()
    options.max_mem = MAX_PROGRAM
    options.log_errors = False
    escapes = [match[1] for match in ESCAPE.finditer(pattern)]
    # RE2 has \C for one byte, Go refuses it because it can cut a character apart.
    if b"C" in escapes:
        raise _NoExpression(r"error parsing regexp: invalid escape sequence: `\C`")
    classes = escapes.count(b"p") + escapes.count(b"P")
    if classes > MAX_CLASSES:
        raise GoError(f"the regular expression has more than {MAX_CLASSES} classes of Unicode such as \\pL")
    (_shared.get() or Steps(MAX_WORK)).take(classes * CLASS_WORK)
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        problem = error.args[0] if error.args else b""
        shown = from_bytes(problem) if isinstance(problem, bytes) else str(problem)
        raise _NoExpression(f"error parsing regexp: {shown}") from None


class _Placed:
    """A match in a text in which U+FFFD stands for bytes that are no UTF-8, as a match in the bytes themselves."""

    def __init__(self, found: Any, data: bytes, places: Sequence[int]) -> None:
        self._found = found
        self._data = data
        self._places = places

    def start(self) -> int:
        place: int = self._places[self._found.start()]
        return place

    def end(self) -> int:
        place: int = self._places[self._found.end()]
        return place

    def __getitem__(self, group: int) -> bytes | None:
        start, end = self._found.span(group)
        return self._data[self._places[start] : self._places[end]] if start >= 0 else None


def _matches(regex: Any, data: bytes) -> Iterator[Any]:
    """Find all as Go does: a byte that is no UTF-8 is U+FFFD, and an empty match right at the end of one does not count."""
    try:
        data.decode()
    except UnicodeDecodeError:
        readable, places = _readable(data)
        return (_Placed(found, data, places) for found in _found(regex, readable))
    return _found(regex, data)


def _readable(data: bytes) -> tuple[bytes, Sequence[int]]:
    """Put U+FFFD for each byte that is no UTF-8; tell for each byte of the result, and its end, where it is in the data."""
    pieces: list[bytes] = []
    places = array("L")
    for character in from_bytes(data):
        taken = to_bytes(character)
        piece = REPLACEMENT if NOT_UTF8.match(character) else taken
        at = places[-1] + 1 if places else 0
        places.extend([at] * (len(piece) - len(taken)))
        places.extend(range(at, at + len(taken)))
        pieces.append(piece)
    places.append(len(data))
    return b"".join(pieces), places


def _found(regex: Any, data: bytes) -> Iterator[Any]:
    steps = _shared.get() or Steps(MAX_WORK)
    cost = regex.programsize if regex.programsize > SMALL_PROGRAM else 1
    position, previous = 0, -1
    while position <= len(data):
        steps.take(cost * (len(data) - position + 1))
        match = regex.search(data, position)
        if match is None:
            return
        start, end = match.span()
        if end > position:
            position = end
        else:
            position += _width(data, position)
        if not start == end == previous:
            yield match
        previous = end


def _width(data: bytes, position: int) -> int:
    """Count the bytes of the character at a position; 1 at the end and where it is no UTF-8."""
    first = data[position : position + 1]
    size = 1 if first < b"\xc2" else 2 if first < b"\xe0" else 3 if first < b"\xf0" else 4
    try:
        data[position : position + size].decode()
    except UnicodeDecodeError:
        return 1
    return size


def _some(regex: Any, data: bytes, limit: int) -> list[Any]:
    """List the first `limit` matches, or all if it is negative."""
    found: list[Any] = []
    if limit == 0:
        return found
    for match in _matches(regex, data):
        if len(found) == limit:
            break
        found.append(match)
        bound_items(len(found))
    return found


def match(expression: str, text: str) -> bool:
    """Tell whether the text has a match; an expression that is none matches nothing."""
    try:
        regex = _compiled(expression)
    except _NoExpression:
        return False
    return next(_matches(regex, to_bytes(text)), None) is not None


def must_match(expression: str, text: str) -> bool:
    return next(_matches(_compiled(expression), to_bytes(text)), None) is not None


def find(expression: str, text: str) -> str:
    """Give the first match; the empty string if there is none."""
    found = next(_matches(_compiled(expression), to_bytes(text)), None)
    return from_bytes(found[0]) if found else ""


def find_all(expression: str, text: str, limit: int) -> Strings | NilStrings:
    regex = _compiled(expression)
    found = Strings(from_bytes(each[0]) for each in _some(regex, to_bytes(text), limit))
    return found or NilStrings()


def replace_all(expression: str, text: str, replacement: str) -> str:
    """Replace all matches; `$1`, `${1}` and `${name}` in the replacement are what the groups matched, `$$` is `$`."""
    regex = _compiled(expression)
    parts = _replacement_parts(regex, replacement)
    steps = Steps()

    def expanded(found: Any) -> str:
        steps.take(len(parts))
        return joined("", [part if isinstance(part, str) else from_bytes(found[part] or b"") for part in parts])

    return _replaced(regex, text, expanded)


def _replacement_parts(regex: Any, replacement: str) -> list[str | int]:
    """Take a replacement apart into texts and the numbers of groups; references to groups that lack are left out."""
    names = {name.decode(): index for name, index in regex.groupindex.items()}
    parts: list[str | int] = []
    end = 0
    for reference in REFERENCE.finditer(replacement):
        parts.append(replacement[end : reference.start()])
        end = reference.end()
        name = reference["name"] or reference["braced"]
        if name is None:
            parts.append("$")
            continue
        index = int(name) if NUMBER.fullmatch(name) else names.get(name, -1)
        if 0 <= index <= regex.groups:
            parts.append(index)
    return [*parts, replacement[end:]]


def replace_all_literal(expression: str, text: str, replacement: str) -> str:
    return _replaced(_compiled(expression), text, lambda _: replacement)


def _replaced(regex: Any, text: str, replacement: Callable[[Any], str]) -> str:
    data = to_bytes(text)
    pieces: list[str] = []
    size = end = 0
    for found in _matches(regex, data):
        pieces += from_bytes(data[end : found.start()]), replacement(found)
        size += len(pieces[-2]) + len(pieces[-1])
        bound_text(size)
        end = found.end()
    return "".join(pieces) + from_bytes(data[end:])


def split(expression: str, text: str, limit: int) -> Strings | NilStrings:
    """Split between matches into at most `limit` pieces, the last of which keeps the rest; a negative limit is none."""
    regex = _compiled(expression)
    data = to_bytes(text)
    if limit == 0:
        return NilStrings()
    if expression and not data:
        return Strings([""])
    pieces: list[bytes] = []
    start = end = 0
    for found in _some(regex, data, limit):
        if len(pieces) == limit - 1:
            break
        end = found.start()
        # An empty match before the first character separates nothing.
        if found.end():
            pieces.append(data[start:end])
        start = found.end()
    if end != len(data):
        pieces.append(data[start:])
    return Strings(map(from_bytes, pieces))


def quote_meta(text: str) -> str:
    """Escape what has a meaning in an expression."""
    bound_text(byte_length(text))
    return META.sub(r"\\\g<0>", text)


PLAIN: Mapping[str, Function] = {
    "regexFind": typed(find, "string", "string"),
    "regexFindAll": typed(find_all, "string", "string", "int"),
    "regexReplaceAll": typed(replace_all, "string", "string", "string"),
    "regexReplaceAllLiteral": typed(replace_all_literal, "string", "string", "string"),
    "regexSplit": typed(split, "string", "string", "int"),
}
FUNCTIONS: Mapping[str, Function] = {
    "regexMatch": typed(match, "string", "string"),
    "mustRegexMatch": typed(must_match, "string", "string"),
    "regexQuoteMeta": typed(quote_meta, "string"),
    **PLAIN,
    **{f"must{name[0].upper()}{name[1:]}": function for name, function in PLAIN.items()},
}
