"""What a program printed, read as other programs would: its letters alone, without escapes, and a dump as its digits.

Each reading is a text of its own whose places lead back to what was printed, so that a secret found in it is masked there.
"""

import re
import string
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

# What programs put between the letters of a text, or leave out: when they wrap it, and when they quote it, however often (shells, JSON,
# YAML, SQL, CSV; a letter that is escaped by itself as in `\!`; `$$` and `%%`).
_FILLING: Final = b"\r\n\t '\"\\$%"
_FILLED: Final = re.compile(rb"[\r\n\t '\"\\$%]+")
_HEX: Final = rb"[0-9a-fA-F]"
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
_ENTITIES: Final = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
_DIGITS: Final = re.compile(rb"(?!0[xX])[0-9a-fA-F]+")
# A text's shape has 0 for each digit of hex and z for each other letter: so a search for digits is one for a fixed text, which is quick.
_SHAPE: Final = bytes(
    ord("0" if chr(each) in string.hexdigits else "z" if each in string.ascii_letters.encode() else chr(each))
    for each in range(256)
)
# A line of `xxd`, and one of `hexdump -C` or `od -t x1`, also behind what a log puts before it: an offset and the digits, with a column
# of letters behind them or none.  What stands before an offset may look like one.
_DUMPED: Final = re.compile(
    rb"000000(?<![0z]000000)0{0,10}+(?!:? {1,2}0{6,16}+(?:: 00| {1,2}00 00|  00\s))(?::((?: (?:00){1,16}(?!0))+)|"
    rb" ((?: {1,2}00(?!0))+)|((?: 00(?!0))+))[^\n]*"
)
_DUMPS: Final = (b"0: 00", b" 00 00 00")  # one of which is in a line that has six bytes
# The bytes that a line ends in, where it is one of `xxd -p`, `od -An -t x1` or `xxd -i`, and what their full lines have.
_END: Final = rb"[^0z\n\\]*+(?:\\z?[^0z\n\\]*+)*+$"
_ENDING: Final = re.compile(
    rb"(0(?<![0z]0)(?:z00(?!0)(?:[, ]{1,2}0z00(?!0))*+|0(?: 00(?!0))++|0*+))(%b|[, ]*0?z?0?\Z)?" % _END, re.MULTILINE
)
# Each is tried at the first of its bytes only: else a long line would take as long as the square of it.
_FULL: Final = tuple(
    re.compile(rb"%b(?<!%b%b)%b%b" % (one * least, one, one * least, more, _END), re.MULTILINE)
    for one, least, more in ((b"0", 60, b"(?!0)"), (b" 00", 8, b"(?: 00)*+"), (b"0z00, ", 4, b"(?:0z00, )*+(?:0z00)?"))
)

# Bytes in hex, each with something before it (`%53`, `0x53, `) or behind it (`53:`, `53-`); at the end of a piece the last may be cut.
_MARKED: Final = rb"(?:(?:0[xX]|%)[0-9a-fA-F]{2}[:,\s'\"-]*|[0-9a-fA-F]{2}[:-]\s*)"
_LAST: Final = rb"(?:[0-9a-fA-F]{2}|(?:0[xX]?|%|[0-9a-fA-F]|(?:0[xX]|%)[0-9a-fA-F])\Z)?"
_LEAST_SEPARATED: Final = 6  # bytes, unless more may come
_SEPARATED: Final = re.compile(rb"(?=%%|0[xX]|[0-9a-fA-F]{2}[:-])%b{%d,}%b" % (_MARKED, _LEAST_SEPARATED - 1, _LAST))
_SEPARATED_AT_END: Final = re.compile(rb"%b+%b\Z" % (_MARKED, _LAST))
_BYTE: Final = re.compile(rb"(?:0[xX]|%)?([0-9a-fA-F]{1,2})")
_NO_DIGIT: Final = re.compile(rb"(?<=[ ,])0[xX]?\Z")  # but the beginning of the next
# One of these is in all of that, and in little else; each begins with a letter of its own, for which a search is quick.
_LIKELY: Final = tuple(
    re.compile(each)
    for each in (
        rb":\s*[0-9a-fA-F]{2}:\s*[0-9a-fA-F]{2}:\s*[0-9a-fA-F]{2}:",
        rb"-\s*[0-9a-fA-F]{2}-\s*[0-9a-fA-F]{2}-\s*[0-9a-fA-F]{2}-",
        rb"%[0-9a-fA-F]{2}[:,\s'\"-]*%[0-9a-fA-F]{2}[:,\s'\"-]*%",
        rb"0x[0-9a-fA-F]{2}[:,\s'\"-]*0x[0-9a-fA-F]{2}[:,\s'\"-]*0x",
        rb"0X[0-9a-fA-F]{2}[:,\s'\"-]*0X[0-9a-fA-F]{2}[:,\s'\"-]*0X",
    )
)
_AT_END: Final = 48  # bytes at the end of a piece in which that may begin
Part = tuple[int, int, int]
"""How many bytes of a reading's text it is, and where what it was read from begins and ends in what was printed."""


class Reading:
    """A text, and its `parts` one after the other, which are asked for only where something in it is looked for in print.

    It was read from what has `length` bytes, or from the text of its `source`.  What of a part of a `whole` reading is masked is so
    to the end of that part.
    """

    def __init__(
        self,
        text: bytes,
        parts: Callable[[], Iterable[Part]],
        length: int,
        *,
        whole: bool = False,
        source: "Reading | None" = None,
    ) -> None:
        self.text = text
        self._parts = parts
        self._length = length
        self._whole = whole
        self._source = source
        self._at: list[int] = []
        self._origins: list[int] = []
        self._ends: list[int] = []

    def printed(self, begin: int, end: int) -> tuple[int, int]:
        """Where in what was printed the piece of the text from `begin` to before `end` stands; it is not empty.

        An `end` behind the text is one behind what was printed: the piece goes on there.
        """
        if not self._at:
            self._place()
        first = bisect_right(self._at, begin) - 1
        found = min(self._origins[first] + begin - self._at[first], self._ends[first]), self._until(end)
        return self._source.printed(*found) if self._source else found

    def _until(self, end: int) -> int:
        if end > len(self.text):
            return self._length + 1
        last = bisect_right(self._at, end - 1) - 1
        following = self._at[last + 1] if last + 1 < len(self._at) else len(self.text)
        until = self._ends[last] if self._whole or end == following else self._origins[last] + end - self._at[last]
        return min(until, self._ends[last])

    def _place(self) -> None:
        length = 0
        for size, begin, end in self._parts():
            self._at.append(length)
            self._origins.append(begin)
            self._ends.append(end)
            length += size


def without_filling(data: bytes) -> bytes:
    """The same without what may stand between letters: line ends and blanks, quotation marks, backslashes, `$` and `%`."""
    return data.translate(None, _FILLING)


def unfilled(data: bytes, source: Reading | None = None) -> Reading | None:
    """The letters without that, of the text of a `source` where there is one; None: there is none of it."""
    text = without_filling(data)
    if len(text) == len(data):
        return None

    def parts() -> Iterator[Part]:
        between = [(0, 0), *(each.span() for each in _FILLED.finditer(data)), (len(data), len(data))]
        return ((end - begin, begin, end) for (_, begin), (end, _) in pairwise(between) if end > begin)

    return Reading(text, parts, len(data), source=source)


@dataclass(frozen=True, slots=True)
class Code:
    """How programs write some letters as others, decoded however often that was done.

    One of `marks` is in each of these; `cut` is the beginning of one at the end of a piece.
    """

    marks: tuple[bytes, ...]
    written: re.Pattern[bytes]
    cut: re.Pattern[bytes]
    meant: Callable[[re.Match[bytes]], bytes]

    def decoded(self, text: bytes) -> bytes:
        """A whole text, with what is meant."""
        return self.written.sub(self.meant, text)

    def read(self, data: bytes) -> Reading | None:
        """What a piece means, without the beginning of a code at its end; None: there is neither a code nor a beginning."""
        cut = self.cut.search(data, max(0, len(data) - _LONGEST_CUT))
        if not cut and not any(each in data for each in self.marks):
            return None
        until = cut.start() if cut else len(data)
        text, replaced = self.written.subn(self.meant, data[:until])
        return Reading(text, lambda: self._parts(data, until), len(data)) if replaced or cut else None

    def _parts(self, data: bytes, until: int) -> list[Part]:
        parts, place = list[Part](), 0
        for each in self.written.finditer(data, 0, until):
            parts.append((each.start() - place, place, each.start()))
            parts.append((len(self.meant(each)), each.start(), each.end()))
            place = each.end()
        return [each for each in (*parts, (until - place, place, until)) if each[0]]


def shape_of(data: bytes) -> bytes:
    """Where digits of hex and other letters stand."""
    return data.translate(_SHAPE)


def undumped(data: bytes, shape: bytes) -> Reading | None:
    """The digits of hex dumps; None: there is none.  The column of letters belongs to the digits before it."""
    if not any(each in shape for each in _DUMPS):
        return None
    texts, parts, length = list[bytes](), list[Part](), 0
    for line in _DUMPED.finditer(shape):
        for digits in _DIGITS.finditer(data, *line.span(line.lastindex or 1)):
            texts.append(digits[0])
            parts.append((len(digits[0]), digits.start(), line.end()))
        length = line.end()
    return Reading(b"".join(texts), lambda: parts, length, whole=True) if texts else None


def unprefixed(data: bytes, shape: bytes) -> Iterator[Reading]:
    """The digits that lines end in, of dumps without offsets behind what a log puts before them; none where no line is a full one.

    What is there of a last line is read once as digits, and once as what stands before them.
    """
    if not any(each.search(shape) for each in _FULL):
        return
    lines = [each.span(1) for each in _ENDING.finditer(shape) if each[2] is not None]
    yield _together(data, shape, lines)
    if lines and lines[-1][0] > shape.rfind(b"\n"):
        yield _together(data, shape, lines[:-1])


def _together(data: bytes, shape: bytes, lines: Sequence[tuple[int, int]]) -> Reading:
    """No dump goes on over a line that does not end in digits."""
    texts, spans, place = list[bytes](), list[tuple[int, int, bool]](), 0
    for begin, end in lines:
        if shape.count(b"\n", place, begin) != 1:
            texts.append(b" ")
            spans.append((place, begin, False))
        texts += _DIGITS.findall(data, begin, end)
        spans.append((begin, end, True))
        place = end
    if shape.count(b"\n", place) > 1:
        texts.append(b" ")
        spans.append((place, len(data), False))

    def parts() -> Iterator[Part]:
        for begin, end, digits in spans:
            if digits:
                yield from ((len(each[0]), each.start(), each.end()) for each in _DIGITS.finditer(data, begin, end))
            else:
                yield 1, begin, end

    return Reading(b"".join(texts), parts, len(data))


def unseparated(data: bytes) -> Reading | None:
    """The digits of bytes that are printed one by one, as `53:33` or `0x53, 0x33`; None: there are none."""
    likely = any(each.search(data) for each in _LIKELY)
    texts, parts, place = list[bytes](), list[Part](), 0

    def part_until(begin: int) -> None:
        """No secret goes on from one of them to the next, nor from what is before the first or behind the last."""
        if begin > place:
            texts.append(b" ")
            parts.append((1, place, begin))

    def runs() -> Iterator[re.Match[bytes]]:
        if likely:
            yield from _SEPARATED.finditer(data)
        if place < len(data) and (last := _SEPARATED_AT_END.search(data, max(place, len(data) - _AT_END))):
            yield last

    for run in runs():
        cut = _NO_DIGIT.search(run[0])
        found = list(_BYTE.finditer(data, run.start(), run.start() + cut.start() if cut else run.end()))
        if len(found) < _LEAST_SEPARATED and run.end() < len(data):
            continue
        part_until(run.start())
        texts += [each[1] for each in found]
        parts += [(len(each[1]), each.start(), each.end()) for each in found]
        place = run.end()
    part_until(len(data))
    return Reading(b"".join(texts), lambda: parts, len(data), whole=True) if place else None


def _letter(number: int) -> bytes:
    try:
        return chr(number).encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return chr(number).encode(errors="surrogatepass")
    except (ValueError, OverflowError):
        return b""


def _escaped(found: re.Match[bytes]) -> bytes:
    name, octet, high, low, short, long, braced, octal = found.groups()
    if name:
        return _NAMED[name]
    if octet:
        return bytes([int(octet, 16)])
    if octal:
        return bytes([int(octal, 8)])
    if high:
        return _letter(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
    return _letter(int(short or long or braced, 16))


def _entity(found: re.Match[bytes]) -> bytes:
    if found.lastindex == 1:
        return _ENTITIES[found[1]]
    return _letter(int(found[2]) if found[2] else int(found[3], 16))


def _shown(found: re.Match[bytes]) -> bytes:
    high, high_control, high_letter, letter = found.groups()
    if high:
        return bytes([0x80 | ord(high_letter) ^ (0x40 if high_control else 0)])
    return bytes([ord(letter) ^ 0x40])


_LONGEST_CUT: Final = 24  # bytes
CODES: Final = (
    # What JSON (RFC 8259, section 7), YAML, C, Go, Python, Perl, JavaScript and bash escape, with any number of backslashes before it.
    Code(
        (b"\\",),
        re.compile(
            rb"\\(?<!\\\\)\\*+(?:([abefnrtvE])|x(%b{2})|u([dD][89abAB]%b{2})\\++u([dD][c-fC-F]%b{2})|"
            rb"u(%b{4})|U(%b{8})|[ux]\{(%b{1,6})\}|([0-3]?[0-7]{1,2}))" % ((_HEX,) * 6)
        ),
        re.compile(
            rb"(?<!\\)\\++(?:[0-3]?[0-7]?|x%b?|U%b{0,7}|[ux]\{%b{0,6}|u(?:%b{0,3}|[dD][89abAB]%b{2}(?:\\+(?:u%b{0,3})?)?))?\Z"
            % ((_HEX,) * 6)
        ),
        _escaped,
    ),
    # RFC 3986, section 2.1; programs differ in which letters they encode so.
    Code(
        (b"%",),
        re.compile(rb"%%(?:25)*(%b{2})" % _HEX),
        re.compile(rb"%%(?:25)*%b?\Z" % _HEX),
        lambda found: bytes([int(found[1], 16)]),
    ),
    # XML and HTML.
    Code(
        (b"&",),
        re.compile(rb"&(?:amp;)*(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#[xX](%b{1,6}));" % _HEX),
        re.compile(rb"&(?:amp;)*(?:#[0-9]{0,7}|#[xX]%b{0,6}|[a-z]{0,4})\Z" % _HEX),
        _entity,
    ),
    # `cat -v`.
    Code((b"M-", b"^"), re.compile(rb"(M-)(\^?)([ -~])|\^([?-_])"), re.compile(rb"(?:M(?:-\^?)?|\^)\Z"), _shown),
)
