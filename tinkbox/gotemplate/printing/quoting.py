"""Go's quoted strings and characters: strconv.Quote and strconv.Unquote, written for Python's str."""

import re
from collections.abc import Callable

from tinkbox.gotemplate.types.kinds import from_bytes, is_stray, joined

SIMPLE = {"\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v", "\\": "\\"}
PLAIN = {letter: character for character, letter in SIMPLE.items()}
ESCAPE = re.compile(
    r"\\(?:x(?P<hex>[0-9a-fA-F]{2})|(?P<octal>[0-7]{3})|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})"
    r"""|(?P<simple>[abfnrtv\\"']))""",
)
MAX_RUNE = 0x10FFFF


def quote(value: str, *, ascii_only: bool = False, delimiter: str = '"') -> str:
    """Quote as strconv.Quote does: escapes for what cannot be printed, or for all that is not ASCII."""
    return delimiter + "".join(_escape(each, delimiter, ascii_only) for each in value) + delimiter


def _escape(character: str, delimiter: str, ascii_only: bool) -> str:
    if character == delimiter:
        return "\\" + character
    if character in SIMPLE:
        return "\\" + SIMPLE[character]
    if is_stray(character):
        character = "\ufffd"
    code = ord(character)
    if character.isprintable() and not (ascii_only and code >= 0x80):
        return character
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quote_rune(code: int, *, ascii_only: bool = False) -> str:
    """Quote a character as strconv.QuoteRune does."""
    return quote(rune(code), ascii_only=ascii_only, delimiter="'")


def rune(code: int) -> str:
    """Give the character of a code point; U+FFFD for what is none."""
    return chr(code) if 0 <= code <= MAX_RUNE and not 0xD800 <= code <= 0xDFFF else "\ufffd"


def can_backquote(value: str) -> bool:
    """Tell whether the string can stand unchanged between backquotes."""
    return not any(
        each in "`\x7f\ufeff" or (each < " " and each != "\t") or "\ud800" <= each <= "\udfff" for each in value
    )


def unquote(literal: str) -> str | None:
    """Give the value of a quoted or a raw string, delimiters included; None if it is malformed."""
    body = literal[1:-1]
    if literal[0] == "`":
        return body.replace("\r", "")
    return _unescape(body, '"')


def unquote_rune(literal: str) -> int | None:
    """Give the code of a character constant, delimiters included; None if it is malformed."""
    body = literal[1:-1]
    value = _unescape(body, "'", bytes_are_characters=True)
    return ord(value) if value is not None and len(value) == 1 and body != "'" else None


def _unescape(body: str, delimiter: str, *, bytes_are_characters: bool = False) -> str | None:
    if "\\" not in body:
        return None if delimiter in body or "\n" in body else body
    pieces: list[str] = []
    position = 0
    while position < len(body):
        if body[position] in (delimiter, "\n"):
            return None
        if body[position] != "\\":
            pieces.append(body[position])
            position += 1
            continue
        match = ESCAPE.match(body, position)
        piece = _escaped(match, delimiter, chr if bytes_are_characters else _byte) if match else None
        if match is None or piece is None:
            return None
        pieces.append(piece)
        position = match.end()
    value = "".join(pieces)
    return value if bytes_are_characters else joined(value)


def _escaped(match: re.Match[str], delimiter: str, byte: Callable[[int], str]) -> str | None:
    name = match.lastgroup
    digits = match[name or 0]
    if name == "hex":
        return byte(int(digits, 16))
    if name == "octal":
        return byte(int(digits, 8)) if int(digits, 8) <= 0xFF else None
    if name == "simple":
        if digits in "\"'":
            return digits if digits == delimiter else None
        return PLAIN[digits]
    code = int(digits, 16)
    return chr(code) if code <= MAX_RUNE and not 0xD800 <= code <= 0xDFFF else None


def _byte(code: int) -> str:
    return from_bytes(bytes([code]))
