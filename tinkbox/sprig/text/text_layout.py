"""Functions that cut and lay out text. Like Go they count bytes, so that a character may be cut apart."""

from collections.abc import Mapping

from tinkbox.gotemplate.values import GoError, from_bytes, to_bytes
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.bounds import bound_text
from tinkbox.sprig.numbers.conversion import wrap as wrap_int
from tinkbox.sprig.text.lettercase import SPACES

MARK = b"..."


def trunc(count: int, text: str) -> str:
    """Keep the first `count` bytes, or the last if it is negative."""
    data = to_bytes(text)
    if count < 0:
        return from_bytes(data[count:]) if len(data) + count > 0 else text
    return from_bytes(data[:count])


def substr(start: int, end: int, text: str) -> str:
    """Keep the bytes from start up to end; a negative start is 0, a negative end is the end of the text.

    Raises GoError for a piece that lies outside.
    """
    data = to_bytes(text)
    if start < 0:
        start = 0
    elif end < 0 or end > len(data):
        end = len(data)
    if not start <= end <= len(data):
        raise GoError(f"slice bounds out of range [{start}:{end}] with length {len(data)}")
    return from_bytes(data[start:end])


def nospace(text: str) -> str:
    """Leave out white space; if there is any, each byte of the rest comes out as a Latin-1 character, as in Sprig."""
    characters = to_bytes(text).decode("latin-1")
    kept = "".join(each for each in characters if each not in SPACES)
    return kept if len(kept) < len(characters) else text


def initials(text: str) -> str:
    """Keep the first byte of each word, as if it were a Latin-1 character."""
    pieces = []
    starts = True
    for each in to_bytes(text).decode("latin-1"):
        if starts and each not in SPACES:
            pieces.append(each)
        starts = each in SPACES
    return "".join(pieces)


def abbrev(width: int, text: str) -> str:
    """Shorten to `width` bytes with `...` at the end; a width below 4 changes nothing."""
    return text if width < 4 else from_bytes(_abbreviated(to_bytes(text), 0, width))


def abbrevboth(left: int, right: int, text: str) -> str:
    """Shorten to `right` bytes from the offset `left` on, with `...` where something was left out."""
    if right < 4 or (left > 0 and right < 7):
        return text
    return from_bytes(_abbreviated(to_bytes(text), left, right))


def _abbreviated(data: bytes, offset: int, width: int) -> bytes:
    if len(data) <= width:
        return data
    room = width - len(MARK)
    if wrap_int(len(data) - offset) < room:  # an offset far below 0 overflows, as in Go
        offset = len(data) - room
    if offset <= len(MARK) + 1:
        return data[:room] + MARK
    if offset + room < len(data):
        return MARK + _abbreviated(data[offset:], 0, room)
    return MARK + data[len(data) - room :]


def indent(spaces: int, text: str) -> str:
    """Put spaces before each line. Raises GoError for a negative number of them."""
    if spaces < 0:
        raise GoError("strings: negative Repeat count")
    bound_text(len(text) + spaces * (text.count("\n") + 1))
    pad = " " * spaces
    return pad + text.replace("\n", "\n" + pad)


def nindent(spaces: int, text: str) -> str:
    """Indent, after a newline. Raises GoError like indent()."""
    return "\n" + indent(spaces, text)


def wrap(width: int, text: str) -> str:
    """Break lines at spaces after at most `width` bytes; longer words stay whole."""
    return _wrapped(to_bytes(text), max(width, 1), b"\n", cut_words=False)


def wrap_with(width: int, separator: str, text: str) -> str:
    """Break lines after at most `width` bytes, within longer words too; `separator` stands for the newline."""
    return _wrapped(to_bytes(text), max(width, 1), to_bytes(separator) or b"\n", cut_words=True)


def _wrapped(data: bytes, width: int, newline: bytes, *, cut_words: bool) -> str:
    lines = []
    size = start = 0
    while len(data) - start > width:
        if data[start : start + 1] == b" ":
            start += 1
            continue
        space = data.rfind(b" ", start, start + width + 1)
        if space < 0 and not cut_words:
            space = data.find(b" ", start + width)
            if space < 0:
                break
        end = space if space >= 0 else start + width
        lines.append(data[start:end])
        size += end - start + len(newline)
        bound_text(size)
        start = end + 1 if space >= 0 else end
    lines.append(data[start:])
    return from_bytes(newline.join(lines))


FUNCTIONS: Mapping[str, Function] = {
    "trunc": typed(trunc, "int", "string"),
    "substr": typed(substr, "int", "int", "string"),
    "nospace": typed(nospace, "string"),
    "initials": typed(initials, "string"),
    "abbrev": typed(abbrev, "int", "string"),
    "abbrevboth": typed(abbrevboth, "int", "int", "string"),
    "indent": typed(indent, "int", "string"),
    "nindent": typed(nindent, "int", "string"),
    "wrap": typed(wrap, "int", "string"),
    "wrapWith": typed(wrap_with, "int", "string", "string"),
}
