"""What a program printed, read as other programs would: without line breaks and blanks, without escapes, and a dump as its digits.

Each reading is a text of its own whose places lead back to what was printed, so that a secret found in it is masked there.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

_BREAKS: Final = b"\r\n\t "
_BROKEN: Final = re.compile(rb"[\r\n\t ]+")
# RFC 8259, section 7, what PHP and Python write beside it, and a byte as Python and C write it.
_ESCAPE: Final = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\"'\\/bfnrt]))"
)
# The beginning of one, at the end of a piece.
_CUT: Final = re.compile(
    rb"\\(?:x[0-9a-fA-F]?|u(?:[0-9a-fA-F]{0,3}|[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?))?\Z"
)
_NAMED: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
# A line of `xxd`, and one of `hexdump -C` or `od -t x1`: an offset and the digits, with a column of letters behind them or none.
_DUMPED: Final = re.compile(
    rb"^ {0,4}[0-9a-fA-F]{6,16}(?::((?: (?:[0-9a-fA-F]{2}){1,16}(?![0-9a-fA-F]))+)|"
    rb" ((?: {1,2}[0-9a-fA-F]{2}(?![0-9a-fA-F]))+)|((?: [0-9a-fA-F]{2}(?![0-9a-fA-F]))+))[^\n]*",
    re.MULTILINE,
)


@dataclass(slots=True)
class Reading:
    """A text, and where its parts stand in what was printed: each begins at `at` in the text, and at `origins` there.

    `ends` is where a part ends there.  What of a part of a `whole` reading is masked is so to the end of that part.
    """

    text: bytes = b""
    at: list[int] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    whole: bool = False

    def printed(self, begin: int, end: int) -> tuple[int, int]:
        """Where in what was printed the piece of the text from `begin` to before `end` stands; it is not empty."""
        first, last = bisect_right(self.at, begin) - 1, bisect_right(self.at, end - 1) - 1
        following = self.at[last + 1] if last + 1 < len(self.at) else len(self.text)
        until = self.ends[last] if self.whole or end == following else self.origins[last] + end - self.at[last]
        return min(self.origins[first] + begin - self.at[first], self.ends[first]), min(until, self.ends[last])


def without_breaks(data: bytes) -> bytes:
    """The same without line ends, tabs and blanks."""
    return data.translate(None, _BREAKS)


def unbroken(data: bytes) -> Reading | None:
    """What was wrapped, or has blanks in it, in one piece; None: it is."""
    if not _BROKEN.search(data):
        return None
    parts = [(0, 0), *(each.span() for each in _BROKEN.finditer(data)), (len(data), len(data))]
    reading, length = Reading(text=without_breaks(data)), 0
    for (_, begin), (end, _) in pairwise(parts):
        if end > begin:
            reading.at.append(length)
            reading.origins.append(begin)
            reading.ends.append(end)
            length += end - begin
    return reading


def unescaped(data: bytes) -> Reading | None:
    r"""What stands behind escapes such as `\u0026` and `\/`; None: there are none."""
    if b"\\" not in data:
        return None
    texts, reading, length, place = list[bytes](), Reading(), 0, 0
    cut = _CUT.search(data, max(0, len(data) - 12))
    until = cut.start() if cut else len(data)

    def add(text: bytes, begin: int, end: int) -> None:
        nonlocal length
        if text:
            texts.append(text)
            reading.at.append(length)
            reading.origins.append(begin)
            reading.ends.append(end)
            length += len(text)

    for each in _ESCAPE.finditer(data, 0, until):
        add(data[place : each.start()], place, each.start())
        add(_meant(each), each.start(), each.end())
        place = each.end()
    add(data[place:until], place, until)
    if reading.ends:
        reading.ends[-1] = len(data)
    reading.text = b"".join(texts)
    return reading


def undumped(data: bytes) -> Reading | None:
    """The digits of hex dumps; None: there is none.  The column of letters belongs to the digits before it."""
    texts, reading, length = list[bytes](), Reading(whole=True), 0
    for line in _DUMPED.finditer(data):
        group = line.lastindex or 1
        for digits in re.finditer(rb"[0-9a-fA-F]+", line[group]):
            texts.append(digits[0])
            reading.at.append(length)
            reading.origins.append(line.start(group) + digits.start())
            reading.ends.append(line.end())
            length += len(digits[0])
    reading.text = b"".join(texts)
    return reading if texts else None


def _meant(escape: re.Match[bytes]) -> bytes:
    high, low, one, octet, name = escape.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF)).encode()
    if octet:
        return bytes([int(octet, 16)])
    if name:
        return _NAMED.get(name, name)
    try:
        return chr(int(one, 16)).encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return chr(int(one, 16)).encode(errors="surrogatepass")
