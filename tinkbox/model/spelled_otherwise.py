"""What a program printed, read as other programs would: without line breaks and blanks, without escapes, and a dump as its digits.

Each reading is a text of its own whose places lead back to what was printed, so that a secret found in it is masked there.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Final

_BREAKS: Final = b"\r\n\t "
_BROKEN: Final = re.compile(rb"[\r\n\t ]+")
# RFC 8259, section 7, what PHP and Python write beside it, a byte as Python and C write it, and what bash escapes (`printf %q`, `declare -p`,
# also with a `$` before it: octal digits, and letters that are not those of JSON).
_ESCAPE: Final = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([0-3]?[0-7]{1,2})|"
    rb"([\"'\\/abefnrtvE !$&()*,;<>?\[\]^`{|}#~]))"
)
# The beginning of one, at the end of a piece.
_CUT: Final = re.compile(
    rb"\\(?:[0-3]?[0-7]?|x[0-9a-fA-F]?|u(?:[0-9a-fA-F]{0,3}|[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?))?\Z"
)
_NAMED: Final = {
    b"a": b"\a",
    b"b": b"\b",
    b"e": b"\x1b",
    b"E": b"\x1b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}
# Every letter may be escaped by itself, whatever that means elsewhere: `[[ a == "$V" ]]` under `set -x`, and patterns (`re.escape`).
_EACH: Final = re.compile(rb"\\(.)", re.DOTALL)
_CUT_EACH: Final = re.compile(rb"\\\Z")
# RFC 3986, section 2.1; programs differ in which letters they encode so.
_PERCENT: Final = re.compile(rb"%([0-9a-fA-F]{2})")
_CUT_PERCENT: Final = re.compile(rb"%[0-9a-fA-F]?\Z")
# A line of `xxd`, and one of `hexdump -C` or `od -t x1`: an offset and the digits, with a column of letters behind them or none.
_DUMPED: Final = re.compile(
    rb"^ {0,4}[0-9a-fA-F]{6,16}(?::((?: (?:[0-9a-fA-F]{2}){1,16}(?![0-9a-fA-F]))+)|"
    rb" ((?: {1,2}[0-9a-fA-F]{2}(?![0-9a-fA-F]))+)|((?: [0-9a-fA-F]{2}(?![0-9a-fA-F]))+))[^\n]*",
    re.MULTILINE,
)


# Bytes in hex, each with something before it (`%53`, `0x53, `) or behind it (`53:`, `53-`); at the end of a piece the last may be cut.
_MARKED: Final = rb"(?:(?:0[xX]|%)[0-9a-fA-F]{2}[:,\s-]*|[0-9a-fA-F]{2}[:-]\s*)"
_SEPARATED: Final = re.compile(rb"%b+(?:[0-9a-fA-F]{2}|(?:0[xX]?|%%|[0-9a-fA-F]|(?:0[xX]|%%)[0-9a-fA-F])\Z)?" % _MARKED)
_LEAST_SEPARATED: Final = 6  # bytes, unless more may come
_BYTE: Final = re.compile(rb"(?:0[xX]|%)?([0-9a-fA-F]{1,2})")
_NO_DIGIT: Final = re.compile(rb"(?<=[ ,])0[xX]?\Z")  # but the beginning of the next
# One of these is in all of that, and in little else; each begins with a letter of its own, for which a search is quick.
_LIKELY: Final = tuple(
    re.compile(each)
    for each in (
        rb":\s*[0-9a-fA-F]{2}:\s*[0-9a-fA-F]{2}:\s*[0-9a-fA-F]{2}:",
        rb"-\s*[0-9a-fA-F]{2}-\s*[0-9a-fA-F]{2}-\s*[0-9a-fA-F]{2}-",
        rb"%[0-9a-fA-F]{2}[:,\s-]*%[0-9a-fA-F]{2}[:,\s-]*%",
        rb"0x[0-9a-fA-F]{2}[:,\s-]*0x[0-9a-fA-F]{2}[:,\s-]*0x",
        rb"0X[0-9a-fA-F]{2}[:,\s-]*0X[0-9a-fA-F]{2}[:,\s-]*0X",
    )
)
_AT_END: Final = 48  # bytes at the end of a piece in which that may begin
Part = tuple[int, int, int]
"""How many bytes of a reading's text it is, and where what it was read from begins and ends in what was printed."""


class Reading:
    """A text, and its `parts` one after the other, which are asked for only where something in it is looked for in print.

    What of a part of a `whole` reading is masked is so to the end of that part.
    """

    def __init__(self, text: bytes, parts: Callable[[], Iterable[Part]], *, whole: bool = False) -> None:
        self.text = text
        self._parts = parts
        self._whole = whole
        self._at: list[int] = []
        self._origins: list[int] = []
        self._ends: list[int] = []

    def printed(self, begin: int, end: int) -> tuple[int, int]:
        """Where in what was printed the piece of the text from `begin` to before `end` stands; it is not empty."""
        if not self._at:
            self._place()
        first, last = bisect_right(self._at, begin) - 1, bisect_right(self._at, end - 1) - 1
        following = self._at[last + 1] if last + 1 < len(self._at) else len(self.text)
        until = self._ends[last] if self._whole or end == following else self._origins[last] + end - self._at[last]
        return min(self._origins[first] + begin - self._at[first], self._ends[first]), min(until, self._ends[last])

    def _place(self) -> None:
        length = 0
        for size, begin, end in self._parts():
            self._at.append(length)
            self._origins.append(begin)
            self._ends.append(end)
            length += size


def without_breaks(data: bytes) -> bytes:
    """The same without line ends, tabs and blanks."""
    return data.translate(None, _BREAKS)


def unbroken(data: bytes) -> Reading | None:
    """What was wrapped, or has blanks in it, in one piece; None: it is."""
    text = without_breaks(data)
    if len(text) == len(data):
        return None

    def parts() -> Iterator[Part]:
        breaks = [(0, 0), *(each.span() for each in _BROKEN.finditer(data)), (len(data), len(data))]
        return ((end - begin, begin, end) for (_, begin), (end, _) in pairwise(breaks) if end > begin)

    return Reading(text, parts)


def unescaped(data: bytes) -> Reading | None:
    r"""What stands behind escapes such as `\u0026` and `\/`; None: there are none."""
    return _replaced(data, _ESCAPE, _CUT, _meant) if b"\\" in data else None


def without_backslashes(data: bytes) -> Reading | None:
    r"""What stands behind `\h\u\n\t`, each letter as it is; None: there is none."""
    return _replaced(data, _EACH, _CUT_EACH, lambda found: found[1]) if b"\\" in data else None


def percent_decoded(data: bytes) -> Reading | None:
    """What stands behind `%26` and the like; None: there is none."""
    return _replaced(data, _PERCENT, _CUT_PERCENT, lambda found: bytes([int(found[1], 16)])) if b"%" in data else None


def _replaced(
    data: bytes, pattern: re.Pattern[bytes], beginning: re.Pattern[bytes], meant: Callable[[re.Match[bytes]], bytes]
) -> Reading:
    """What is meant by what has a pattern, in the place of that; the `beginning` of one at the end is left out."""
    texts, parts, place = list[bytes](), list[Part](), 0
    cut = beginning.search(data, max(0, len(data) - 12))
    until = cut.start() if cut else len(data)

    def add(text: bytes, begin: int, end: int) -> None:
        if text:
            texts.append(text)
            parts.append((len(text), begin, end))

    for each in pattern.finditer(data, 0, until):
        add(data[place : each.start()], place, each.start())
        add(meant(each), each.start(), each.end())
        place = each.end()
    add(data[place:until], place, until)
    if parts:
        parts[-1] = (*parts[-1][:2], len(data))
    return Reading(b"".join(texts), lambda: parts)


def undumped(data: bytes) -> Reading | None:
    """The digits of hex dumps; None: there is none.  The column of letters belongs to the digits before it."""
    texts, parts = list[bytes](), list[Part]()
    for line in _DUMPED.finditer(data):
        group = line.lastindex or 1
        for digits in re.finditer(rb"[0-9a-fA-F]+", line[group]):
            texts.append(digits[0])
            parts.append((len(digits[0]), line.start(group) + digits.start(), line.end()))
    return Reading(b"".join(texts), lambda: parts, whole=True) if texts else None


def unseparated(data: bytes) -> Reading | None:
    """The digits of bytes that are printed one by one, as `53:33` or `0x53, 0x33`; None: there are none."""
    likely = any(each.search(data) for each in _LIKELY)
    texts, parts, place = list[bytes](), list[Part](), 0

    def part_until(begin: int) -> None:
        """No secret goes on from one of them to the next, nor from what is before the first or behind the last."""
        if begin > place:
            texts.append(b" ")
            parts.append((1, place, begin))

    for run in _SEPARATED.finditer(data, 0 if likely else max(0, len(data) - _AT_END)):
        cut = _NO_DIGIT.search(run[0])
        found = list(_BYTE.finditer(data, run.start(), run.start() + cut.start() if cut else run.end()))
        if len(found) < _LEAST_SEPARATED and run.end() < len(data):
            continue
        part_until(run.start())
        texts += [each[1] for each in found]
        parts += [(len(each[1]), each.start(), each.end()) for each in found]
        place = run.end()
    part_until(len(data))
    return Reading(b"".join(texts), lambda: parts, whole=True) if place else None


def _meant(escape: re.Match[bytes]) -> bytes:
    high, low, one, octet, octal, name = escape.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF)).encode()
    if octet:
        return bytes([int(octet, 16)])
    if octal:
        return bytes([int(octal, 8)])
    if name:
        return _NAMED.get(name, name)
    try:
        return chr(int(one, 16)).encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return chr(int(one, 16)).encode(errors="surrogatepass")
