"""Secrets in what programs print: found in every usual spelling, and blotted out in place.

A mask is as long as what it hides, so that offsets into an output stay true.  A value is looked for as it is, in base64 at each
of its three alignments (RFC 4648, sections 4 and 5), in hex, in Latin-1, in UTF-8 twice, and each longer line of it by itself.
Quoting, wrapping and escapes are not listed: what they do to the letters is undone in the output and in the value alike
(`model.spelled_otherwise`).
"""

import base64
import json
import re
import shlex
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from tinkbox.model.reasons import ReasonText
from tinkbox.model.services import Standing
from tinkbox.model.spelled_otherwise import (
    CODES,
    Reading,
    shape_of,
    undumped,
    unfilled,
    unprefixed,
    unseparated,
    without_filling,
)
from tinkbox.model.workflow import Outcome

MASK: Final = b"*"
LEAST_LINE: Final = 8  # bytes of a line of a value that is looked for by itself
LEAST_PIECE: Final = 3  # bytes of a value's beginning, at the end of a piece of output, that are masked
LEAST_CUT: Final = 6  # the same at the ends of a message, which may have been cut there
_LEAST: Final = 6
_SHORT: Final = (
    1_024  # bytes of a spelling of which matches that overlap are looked for: of longer ones that could take seconds
)
_ESCAPED: Final = 7  # bytes of a letter at most: \\u00xx, or "0x00, " with the line ends between them
_WRAPPED: Final = 16  # bytes between two line ends at least
_SLACK: Final = 160  # a line of a dump, twice
_FEW: Final = 300  # beginnings of spellings that are looked for one by one; of more, at each place of the output whether it is one
_MOST_CUT: Final = 64  # letters beyond ASCII of a value that may have been cut in two
_MOST_TRIED: Final = 256  # places where a spelling may begin or end, before the first of them is taken for one
_REPLACED: Final = "\N{REPLACEMENT CHARACTER}".encode()
_BEYOND_ASCII: Final = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+")
_TO_MASK: Final = bytes(each if each in b"\r\n" else MASK[0] for each in range(256))


def spellings(value: bytes) -> set[bytes]:
    """Everything that a value looks like in an output; none is shorter than six bytes."""
    found = set(_forms(value))
    lines = [each.strip() for each in value.splitlines()]
    if len(lines) > 1:
        for line in lines:
            if len(line) >= LEAST_LINE and not line.startswith(b"-----"):  # of which every PEM file has the same
                found.update(_forms(line))
    return {each for each in found if len(each) >= _LEAST}


def _forms(value: bytes) -> Iterator[bytes]:
    trimmed = value.strip()
    for each in {form(of) for of in (value, trimmed) for form in (bytes, _latin, _taken_for_latin)}:
        yield each
        yield each.hex().encode()
        yield each.hex().upper().encode()
        yield from _base64(each)
        yield each.replace(b" ", b"+")  # in a query
        yield each.decode(errors="replace").encode()  # as engines keep what is not UTF-8
        text = each.decode(errors="surrogateescape")
        yield _encoded(json.dumps(text)[1:-1])
        yield urllib.parse.quote_from_bytes(each, safe="").encode()
        if len(without_filling(each)) < _LEAST:
            yield _encoded(shlex.quote(text).strip("'"))
            yield _encoded(text.replace("'", "'\\''"))
    for each in {value, trimmed}:
        yield from islice(_with_cut_letter(each), _MOST_CUT)


def _latin(value: bytes) -> bytes:
    r"""In Latin-1 as far as that goes: Python and YAML mean it by `\xe9`, and programs log in so (RFC 7617, section 2.1)."""
    letters = value.decode(errors="surrogateescape")
    return b"".join(bytes([ord(each)]) if 0x80 <= ord(each) <= 0xFF else _encoded(each) for each in letters)


def _taken_for_latin(value: bytes) -> bytes:
    """In UTF-8 what is Latin-1, or in UTF-8 twice: as by programs that take what they read for Latin-1 and print UTF-8."""
    return value.decode("latin-1").encode()


def _with_cut_letter(value: bytes) -> Iterator[bytes]:
    """With one letter that was cut in two, as where an engine cuts a long line: it keeps U+FFFD for each byte of it."""
    for letter in _BEYOND_ASCII.finditer(value):
        yield value[: letter.start()] + len(letter[0]) * _REPLACED + value[letter.end() :]


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _base64(value: bytes) -> Iterator[bytes]:
    """Its base64, and what of that does not depend on what stands before and behind it."""
    for alone in (base64.b64encode(value), base64.urlsafe_b64encode(value)):
        yield alone.rstrip(b"=")
    for before in range(3):
        padded = b"\0" * before + value
        encode_begin = (before * 8 + 5) // 6  # characters that have bits of what stands before
        whole = len(padded) * 8 // 6
        for encoded in (base64.b64encode(padded), base64.urlsafe_b64encode(padded)):
            yield encoded[encode_begin:whole]


class _Patterns:
    """Spellings, found by the bytes they begin with."""

    def __init__(self, patterns: Iterable[bytes]) -> None:
        self.all = _longest_first(patterns)
        self._by_beginning: dict[bytes, list[bytes]] = {}
        for each in self.all:
            self._by_beginning.setdefault(each[:_LEAST], []).append(each)

    def spans(self, data: bytes, at_start: int, at_end: int) -> Iterator[tuple[int, int]]:
        """Where they stand, and where at the ends a part of one may; one that goes on behind the data ends behind it."""
        taken: dict[bytes, int] = {}
        for place in self._places(data):
            for pattern in self._by_beginning[data[place : place + _LEAST]]:
                if place >= taken.get(pattern, 0) and data.startswith(pattern, place):
                    yield place, place + len(pattern)
                    if len(pattern) > _SHORT:
                        taken[pattern] = place + len(pattern)
        for pattern in self.all:
            if at_end and (begun := _begun(data, pattern, at_end)):
                yield len(data) - begun, len(data) + 1
            if at_start and (ended := _ended(data, pattern, at_start)):
                yield 0, ended

    def _places(self, data: bytes) -> Iterator[int]:
        beginnings = self._by_beginning
        if len(beginnings) > _FEW:
            yield from [each for each in range(len(data) - _LEAST + 1) if data[each : each + _LEAST] in beginnings]
            return
        for beginning in beginnings:
            place = data.find(beginning)
            while place >= 0:
                yield place
                place = data.find(beginning, place + 1)


@dataclass(frozen=True, slots=True)
class Masks:
    """What to blot out: `patterns`, longest first.  With `all` everything is, for nobody knows what the secrets are.

    `longest` is how many bytes the longest value has, with two for each beyond ASCII.
    """

    patterns: tuple[bytes, ...] = ()
    all: bool = False
    longest: int = 0
    _printed: _Patterns = field(init=False, repr=False, compare=False)
    _unfilled: _Patterns = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        decoded = {code.decoded(each) for each in self.patterns for code in CODES}
        unfilled = {without_filling(each) for each in (*self.patterns, *decoded)}
        object.__setattr__(self, "_printed", _Patterns(self.patterns))
        object.__setattr__(self, "_unfilled", _Patterns(each for each in unfilled if len(each) >= _LEAST))

    @classmethod
    def of(cls, values: Iterable[bytes]) -> "Masks":
        values = list(values)
        patterns = _longest_first(each for value in values for each in spellings(value))
        return cls(patterns, longest=max((len(_taken_for_latin(each)) for each in values), default=0))

    @classmethod
    def joined(cls, several: Sequence["Masks"]) -> "Masks":
        """What blots out all that any of them does."""
        return cls(
            _longest_first(pattern for each in several for pattern in each.patterns),
            all=any(each.all for each in several),
            longest=max((each.longest for each in several), default=0),
        )

    def __bool__(self) -> bool:
        return self.all or bool(self.patterns)

    @property
    def reach(self) -> int:
        """How many bytes before a piece of output decide what in it is masked."""
        if not self.patterns:
            return 0
        longest = len(self.patterns[0])
        return max(longest + longest // _WRAPPED, _ESCAPED * self.longest) + _SLACK

    def piece(self, before: bytes, piece: bytes, *, known: bool) -> bytes:
        """A piece of a stream, masked; as long as it was.

        `before` is what came before it, as it came, as far as that is `known`; else what may be the end of a secret is
        masked at the beginning as well.
        """
        if not self or not piece:
            return piece
        return self._mask(before + piece, at_start=0 if known else LEAST_PIECE, at_end=LEAST_PIECE)[len(before) :]

    def text(self, text: str) -> str:
        """A message, masked; what was cut off at its ends may be a part of a secret."""
        if not self or not text:
            return text
        content = text.encode(errors="surrogateescape")
        masked = self._mask(content, at_start=LEAST_CUT, at_end=LEAST_CUT)
        return text if masked == content else masked.decode(errors="replace")

    def words(self, words: Sequence[str]) -> tuple[str, ...]:
        """Words of a command line, masked, also where a secret with blanks in it became several of them."""
        if not self:
            return tuple(words)
        lines = [each.encode(errors="surrogateescape") for each in words]
        together = b" ".join(lines)
        masked = self._mask(together, at_start=0, at_end=0)
        if masked == together:
            return tuple(words)
        found, place = list[str](), 0
        for each in lines:
            found.append(masked[place : place + len(each)].decode(errors="replace"))
            place += len(each) + 1
        return tuple(found)

    def environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Variables by their names, both masked."""
        masked = self.words([word for each in environment.items() for word in each])
        return dict(zip(masked[::2], masked[1::2], strict=True))

    def _mask(self, data: bytes, *, at_start: int, at_end: int) -> bytes:
        if self.all:
            return _blotted(data)
        masked: bytearray | None = None
        for begin, end in self._spans(data, at_start, at_end):
            masked = bytearray(data) if masked is None else masked
            masked[begin:end] = _blotted(data[begin:end])
        return data if masked is None else bytes(masked)

    def _spans(self, data: bytes, at_start: int, at_end: int) -> Iterator[tuple[int, int]]:
        yield from self._printed.spans(data, at_start, at_end)
        for reading in _readings(data):
            for begin, end in self._unfilled.spans(reading.text, at_start, at_end):
                yield reading.printed(begin, end)


def _readings(data: bytes) -> Iterator[Reading]:
    for code in CODES:
        if decoded := code.read(data):
            yield unfilled(decoded.text, decoded) or decoded
    shape = shape_of(data)
    for reading in (unfilled(data), undumped(data, shape), unseparated(data)):
        if reading:
            yield reading
    yield from unprefixed(data, shape)


def masked_outcome(masks: Masks, outcome: Outcome) -> Outcome:
    """How something ended, without secrets."""
    if not masks:
        return outcome
    return replace(
        outcome,
        reason=ReasonText(masks.text(outcome.reason)),
        message=masks.text(outcome.message),
        hint=masks.text(outcome.hint),
        tail=tuple(map(masks.text, outcome.tail)),
    )


def masked_standing(masks: Masks, standing: Standing) -> Standing:
    """What a host sees of a service, without secrets."""
    if not masks:
        return standing
    return replace(
        standing,
        message=masks.text(standing.message),
        tail=tuple(map(masks.text, standing.tail)),
        restarted=tuple(replace(each, message=masks.text(each.message)) for each in standing.restarted),
    )


def _begun(data: bytes, pattern: bytes, least: int) -> int:
    """How many bytes at the end of the data may be the beginning of the pattern."""
    place, tried = data.find(pattern[:least], max(0, len(data) - len(pattern) + 1)), 0
    while place >= 0:
        tried += 1
        if tried > _MOST_TRIED or pattern.startswith(data[place:]):
            return len(data) - place
        place = data.find(pattern[:least], place + 1)
    return 0


def _ended(data: bytes, pattern: bytes, least: int) -> int:
    """How many bytes at the beginning of the data may be the end of the pattern."""
    end = min(len(data), len(pattern) - 1)
    place, tried = data.rfind(pattern[-least:], 0, end), 0
    while place >= 0:
        tried += 1
        if tried > _MOST_TRIED or pattern.endswith(data[: place + least]):
            return place + least
        place = data.rfind(pattern[-least:], 0, place + least - 1)
    return 0


def _blotted(data: bytes) -> bytes:
    """Masked, with the line ends as they were."""
    return data.translate(_TO_MASK)


def _longest_first(patterns: Iterable[bytes]) -> tuple[bytes, ...]:
    return tuple(sorted({*patterns}, key=lambda each: (-len(each), each)))
