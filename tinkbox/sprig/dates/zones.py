"""Time zones: which offset from UTC, and which name of it, holds at a moment."""

import struct
from dataclasses import dataclass
from datetime import UTC as PYTHONS_UTC
from datetime import datetime, timedelta
from io import BytesIO
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from tinkbox.sprig.dates.calendar import DAYS_OF_ERA

MAX_FILE: Final = 64 * 1024  # octets; the largest file of the zone database has 4 KiB
_ERA: Final = DAYS_OF_ERA * 86_400
# What Python's datetime has, without its first and last day; a zone's rule repeats after an era.
_FIRST: Final = -62_135_510_400
_LAST: Final = 253_402_214_400
_START: Final = datetime(1970, 1, 1, tzinfo=PYTHONS_UTC)


class Zone(Protocol):
    """Where a clock stands."""

    def at(self, seconds: int) -> tuple[str, int]:
        """The name of the time and its offset in seconds, at a moment in seconds since 1970."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """An offset in seconds that never changes; its name may be empty."""

    name: str
    offset: int

    def at(self, seconds: int) -> tuple[str, int]:  # noqa: ARG002
        return self.name, self.offset


@dataclass(frozen=True, slots=True)
class Located:
    """A zone of the database."""

    rules: ZoneInfo

    def at(self, seconds: int) -> tuple[str, int]:
        if seconds >= _LAST:
            seconds -= ((seconds - _LAST) // _ERA + 1) * _ERA
        try:
            moment = (_START + timedelta(seconds=max(seconds, _FIRST))).astimezone(self.rules)
            offset = moment.utcoffset() or timedelta()
        except ValueError:  # an offset of a day, which is only in a damaged file
            return UTC.at(seconds)
        return moment.tzname() or "", offset.days * 86_400 + offset.seconds


UTC: Final = Fixed("UTC", 0)


_HEADER: Final = struct.Struct(">4sc15x6L")


def _is_whole(content: bytes) -> bool:
    """Tell whether there is all that the header counts, and the line behind it: zoneinfo would look for its end for ever."""
    begin: int = 0
    sizes = (5, 9)  # a moment and its type: moments have 32 bits first, and 64 in what comes then
    for size in sizes:
        if len(content) < begin + _HEADER.size:
            return False
        magic, version, *counts = _HEADER.unpack_from(content, begin)
        universal, standard, leaps, moments, types, letters = map(int, counts)
        if magic != b"TZif" or not types or not letters:
            return False
        begin += _HEADER.size + moments * size + types * 6 + letters + leaps * (size + 3) + standard + universal
        if version < b"2":
            return begin <= len(content)
    return content[begin : begin + 1] == b"\n" and b"\n" in content[begin + 1 :]


def read_zone(content: bytes) -> Zone | None:
    """Read a file of the zone database (TZif, RFC 9636); None if it is none."""
    if len(content) > MAX_FILE or not _is_whole(content):
        return None
    try:
        return Located(ZoneInfo.from_file(BytesIO(content)))
    except Exception:  # whatever zoneinfo says of a damaged file, struct.error too
        return None
