"""JSON as systems exchange it."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from json.decoder import JSONArray, JSONObject, scanstring  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, Final, NoReturn

from tinkbox.model.text import shortened

# How deep the documents of people may be, in JSON as in YAML.
MAX_DEPTH: Final = 64
MAX_DIGITS: Final = 1000
_MOST_TOLD: Final = 5
# A part of a text, as far as it has no end; two halves of a character are together.
_PIECE: Final = re.compile(
    r'(?:[^"\\]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\.){1,65536}+', re.DOTALL
)
_BLANK: Final = re.compile(r"[ \t\r\n]*")
# What may stand between two documents of a stream: a mark is followed by blank.
_BETWEEN: Final = re.compile(r"[ \t\r\n]*+(?:---(?:[ \t\r\n]++|\Z))*")
_TEXTS_AND_MARKS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{}]', re.DOTALL)
_STEPS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}
_MOST_SEARCHED: Final = 1 << 16
_LONGEST_NAME: Final = 40
_REASONS: Final = {
    "Expecting value": "expected a value",
    "Extra data": "expected the end of the document",
    "Expecting property name enclosed in double quotes": "expected a name in double quotes",
    "Illegal trailing comma before end of object": "a comma stands before the end of an object",
    "Illegal trailing comma before end of array": "a comma stands before the end of a list",
    "Expecting ':' delimiter": "expected a colon",
    "Expecting ',' delimiter": "expected a comma",
    "Unterminated string starting at": "a text that begins here has no end",
    "Invalid control character at": "a text has a line break or another control character, which is written as an escape",
    "Invalid \\escape": "a text has a backslash that begins no escape",
    "Invalid \\uXXXX escape": "a text has a \\u without four hexadecimal digits",
}


class TooManyValues(ValueError):
    """There is more in it than is read."""


class TwoValues(ValueError):
    """A name of an object has two values."""


def read_json(content: str | bytes) -> Any:
    """What a JSON text says; raises ValueError or RecursionError.

    Its bytes are UTF-8 without a byte order mark (RFC 8259 §8.1), and a number is finite (§6): `json.loads` takes
    more, which other readers refuse.
    """
    return _READER.decode(content if isinstance(content, str) else content.decode())


def read_document(content: str | bytes, *, each_once: bool = False) -> Any:
    """What a document says that a person wrote; raises ValueError, which says in a person's words what is wrong and where.

    With `each_once` it raises TwoValues where an object has a name twice, with different values; else the last one counts.
    """
    document = _read_by((_EACH_ONCE if each_once else _DOCUMENTS).decode, content)
    _refuse_unsound(document)
    return document


def read_stream(text: str) -> list[Any]:
    """The objects and lists that stand in a text one after the other, as `jq '.items[]'` prints them; raises ValueError.

    Between two of them is nothing, blank, or `---` as in YAML.  A problem begins with its line, or with that of its object.
    """
    documents: list[Any] = []
    at = _behind_blank(text, 0)
    while at < len(text) or not documents:
        begin = at
        try:
            document, at = next_of_stream(text, begin)
            _refuse_unsound(document)
        except json.JSONDecodeError as error:
            if _is_too_deep(error, begin):
                raise _at_line(text, begin, _too_deep()) from None
            raise _not_json(error, text) from None
        except RecursionError:
            raise _at_line(text, begin, _too_deep()) from None
        except ValueError as error:
            raise _at_line(text, begin, error) from None
        documents.append(document)
    return documents


def next_of_stream(text: str, begin: int) -> tuple[Any, int]:
    """The document of a stream that begins there, whether or not it is sound, and where the next one begins or the end is.

    Raises JSONDecodeError, also where what follows is neither object nor list, and RecursionError.
    """
    document, end = _DOCUMENTS.raw_decode(text, begin)
    found = _BETWEEN.match(text, end)
    behind = found.end() if found is not None else end
    if behind < len(text) and text[behind] not in "{[":
        raise json.JSONDecodeError("Extra data", text, behind)
    return document, behind


def read_large(content: bytes, values: int) -> Any:
    """As `read_document`, of a large text with few values; raises ValueError for more of them, or for half of a character.

    Python reads it, a text in it by a text: the reader in C would let no other thread do anything until it is at the end.
    """

    def read(text: str) -> Any:
        found, end = _LargeDecoder(values).raw_decode(text, _behind_blank(text, 0))
        end = _behind_blank(text, end)
        if end < len(text):
            raise json.JSONDecodeError("Extra data", text, end)
        return found

    return _read_by(read, content)


def _read_by(read: Callable[[str], Any], content: str | bytes) -> Any:
    """What a reader makes of a document; raises ValueError, in a person's words where the document is wrong."""
    try:
        text = content if isinstance(content, str) else content.decode()
        return read(text)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise _not_json(error, text) from None
    except RecursionError:
        raise _too_deep() from None


def read_kept(text: str) -> Any:
    """A document that was taken once; what `read_document` refuses, and an older release took, is null."""
    document = _DOCUMENTS.decode(text)
    return document if _is_sound(document) else _mended(document, 0)


@dataclass(slots=True)
class _NoNumber:
    """What stands where a number would, and why it is none."""

    problem: str


def _is_sound(document: Any) -> bool:
    """Whether `read_document` takes it: told for any document, and large ones have a million values, so no place is noted."""
    level = [document]
    for _ in range(MAX_DEPTH + 1):
        within: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is dict:
                within += value.values()
            elif kind is list:
                within += value
            elif kind is _NoNumber:
                return False
        level = within
    return not level


def _refuse_unsound(document: Any) -> None:
    """Raise ValueError with the first problems of a document."""
    if not _is_sound(document):
        problems: list[str] = []
        _find_problems(document, [], problems)
        raise ValueError("; ".join(problems))


def _at_line(text: str, begin: int, error: ValueError) -> ValueError:
    return ValueError(f"line {text.count(chr(10), 0, begin) + 1}, {error}")


def _find_problems(value: Any, around: list[str | int], problems: list[str]) -> None:
    """Tell of the first values that are no numbers; `around` is the place of this one."""
    if isinstance(value, _NoNumber):
        problems.append(f"{_place(around)}: {value.problem}" if around else value.problem)
        return
    if value and len(around) == MAX_DEPTH:
        raise _too_deep()
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if type(inner) in _SEARCHED and len(problems) < _MOST_TOLD:
            around.append(name)
            _find_problems(inner, around, problems)
            around.pop()


def _place(parts: list[str | int]) -> str:
    named = (f"[{part}]" if isinstance(part, int) else f".{shortened(part, _LONGEST_NAME)}" for part in parts)
    return "".join(named).removeprefix(".")


def _mended(value: Any, depth: int) -> Any:
    if isinstance(value, _NoNumber) or (isinstance(value, dict | list) and value and depth >= MAX_DEPTH):
        return None
    if isinstance(value, dict):
        return {name: _mended(each, depth + 1) for name, each in value.items()}
    return [_mended(each, depth + 1) for each in value] if isinstance(value, list) else value


def _behind_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found is not None else at


def _not_json(error: json.JSONDecodeError, text: str) -> ValueError:
    if not text.strip():
        return ValueError("the document is empty")
    if _is_too_deep(error, 0):
        return _too_deep()
    reason = _REASONS.get(error.msg.removesuffix(": "), error.msg)
    return ValueError(f"line {error.lineno}, column {error.colno}: {reason}")


def _is_too_deep(error: json.JSONDecodeError, begin: int) -> bool:
    """Whether what is wrong is deep within a document that begins there: Python 3.13 comes to it where others do not read so deep."""
    return error.pos - begin <= _MOST_SEARCHED and _depth_at(error.doc, begin, error.pos) > MAX_DEPTH


def _depth_at(text: str, begin: int, end: int) -> int:
    """Within how many objects and lists of a document that begins at `begin` the place `end` is."""
    return sum(_STEPS.get(found[0], 0) for found in _TEXTS_AND_MARKS.finditer(text, begin, end))


class _LargeDecoder(json.JSONDecoder):
    """Reads so many values at most."""

    def __init__(self, values: int) -> None:
        super().__init__(parse_constant=_refuse, parse_float=_finite, parse_int=_short_whole)
        self._left = self._values = values
        self.parse_string = self._text
        self.parse_array = self._array
        self.parse_object = self._object
        self.scan_once = py_make_scanner(self)

    def _text(self, string: str, begin: int, strict: bool = True) -> tuple[str, int]:
        value, end = _long_text(string, begin, strict)
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueError("half of a character (\\ud800 to \\udfff alone) is no text") from None
        return value, end

    def _array(self, place: Any, scan: Callable[..., Any]) -> Any:
        return JSONArray(place, self._counted(scan))

    def _object(self, place: Any, strict: bool, scan: Callable[..., Any], *hooks: Any) -> Any:
        return JSONObject(place, strict, self._counted(scan), *hooks)

    def _counted(self, scan: Callable[..., Any]) -> Callable[..., Any]:
        def counted(string: str, at: int) -> Any:
            self._left -= 1
            if self._left < 0:
                raise TooManyValues(f"more than {self._values} values")
            return scan(string, at)

        return counted


def _long_text(string: str, begin: int, strict: bool) -> tuple[str, int]:
    """As `scanstring`, a piece after the other: another thread may have its turn in between."""
    pieces, at = list[str](), begin
    try:
        while (piece := _PIECE.match(string, at)) is not None and string[piece.end() : piece.end() + 1] != '"':
            pieces.append(scanstring(f'{piece[0]}"', 0, strict)[0])
            at = piece.end()
        last, end = scanstring(string, at, strict)
    except json.JSONDecodeError:
        return scanstring(string, begin, strict)  # type: ignore[no-any-return]  # which says where
    return "".join((*pieces, last)), end


def _too_deep() -> ValueError:
    return ValueError(f"more than {MAX_DEPTH} values within each other")


def _refuse(text: str) -> NoReturn:
    raise ValueError(_no_number(text).problem)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _fraction(text: str) -> float | _NoNumber:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _whole(text: str) -> int | _NoNumber:
    return int(text) if len(text) <= MAX_DIGITS else _NoNumber(f"a number of more than {MAX_DIGITS} digits")


def _short_whole(text: str) -> int:
    number = _whole(text)
    if isinstance(number, int):
        return number
    raise ValueError(number.problem)


def _no_number(text: str) -> _NoNumber:
    return _NoNumber(f"{text[:_LONGEST_NAME]} is no number in JSON")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if found.setdefault(name, value) != value:
            raise TwoValues(f"{shortened(name, _LONGEST_NAME)} has two values: leave one of them out")
    return found


_SEARCHED: Final = (dict, list, _NoNumber)
_READER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
_DOCUMENTS = json.JSONDecoder(parse_constant=_no_number, parse_float=_fraction, parse_int=_whole)
_EACH_ONCE = json.JSONDecoder(
    parse_constant=_no_number, parse_float=_fraction, parse_int=_whole, object_pairs_hook=_each_once
)
