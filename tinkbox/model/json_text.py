"""JSON as systems exchange it."""

import json
import math
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from tinkbox.model.text import shortened

# How deep the documents of people may be, in JSON as in YAML.
MAX_DEPTH: Final = 64
MAX_DIGITS: Final = 1000
_MOST_TOLD: Final = 5
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


def read_json(content: str | bytes) -> Any:
    """What a JSON text says; raises ValueError or RecursionError.

    Its bytes are UTF-8 without a byte order mark (RFC 8259 §8.1), and a number is finite (§6): `json.loads` takes
    more, which other readers refuse.
    """
    return _READER.decode(content if isinstance(content, str) else content.decode())


def read_document(content: str | bytes) -> Any:
    """What a document says that a person wrote; raises ValueError, which says in a person's words what is wrong and where."""
    try:
        text = content if isinstance(content, str) else content.decode()
        document = _DOCUMENTS.decode(text)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        if not text.strip():
            raise ValueError("the document is empty") from None
        reason = _REASONS.get(error.msg.removesuffix(": "), error.msg)
        raise ValueError(f"line {error.lineno}, column {error.colno}: {reason}") from None
    except RecursionError:
        raise _too_deep() from None
    if not _is_sound(document):
        problems: list[str] = []
        _find_problems(document, [], problems)
        raise ValueError("; ".join(problems))
    return document


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


def _no_number(text: str) -> _NoNumber:
    return _NoNumber(f"{text[:_LONGEST_NAME]} is no number in JSON")


_SEARCHED: Final = (dict, list, _NoNumber)
_READER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
_DOCUMENTS = json.JSONDecoder(parse_constant=_no_number, parse_float=_fraction, parse_int=_whole)
