"""JSON as systems exchange it."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NoReturn

# How deep the documents of people may be, in JSON as in YAML.
MAX_DEPTH: Final = 64
MAX_DIGITS: Final = 1000
_MOST_TOLD: Final = 5
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
    if problems := list(islice(_problems(document, "", 0), _MOST_TOLD)):
        raise ValueError("; ".join(problems))
    return document


def read_kept(text: str) -> Any:
    """A document that was taken once; what `read_document` refuses, and an older release took, is null."""
    document = json.loads(text, parse_constant=lambda _: None)
    return _cut(document, 0) if _is_deep(document, 0) else document


@dataclass(frozen=True, slots=True)
class _NoNumber:
    """What stands where a number would, and why it is none."""

    problem: str


def _problems(value: Any, key: str, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        raise _too_deep()
    if isinstance(value, _NoNumber):
        yield f"{key}: {value.problem}" if key else value.problem
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _problems(inner, f"{key}.{name}" if key else name, depth + 1)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _problems(inner, f"{key}[{at}]", depth + 1)


def _is_deep(value: Any, depth: int) -> bool:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return depth > MAX_DEPTH or any(_is_deep(each, depth + 1) for each in inner)
    return depth > MAX_DEPTH


def _cut(value: Any, depth: int) -> Any:
    if isinstance(value, dict | list) and value and depth >= MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {name: _cut(each, depth + 1) for name, each in value.items()}
    return [_cut(each, depth + 1) for each in value] if isinstance(value, list) else value


def _too_deep() -> ValueError:
    return ValueError(f"more than {MAX_DEPTH} values within each other")


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text[:40])


def _fraction(text: str) -> float | _NoNumber:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _whole(text: str) -> int | _NoNumber:
    return int(text) if len(text) <= MAX_DIGITS else _NoNumber(f"a number of more than {MAX_DIGITS} digits")


def _no_number(text: str) -> _NoNumber:
    return _NoNumber(f"{text[:40]} is no number in JSON")


_READER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
_DOCUMENTS = json.JSONDecoder(parse_constant=_no_number, parse_float=_fraction, parse_int=_whole)
