"""What renderings of these tests are given: a moment, chance that is the same each time, and two time zones."""

import random
import struct

from tinkbox.sprig.surroundings import Surroundings

MOMENT = 1_785_424_210_123_456_000
"""2026-07-30 15:10:10.123456 UTC"""


def zone_file(rule: str) -> bytes:
    """A file of the zone database (TZif, RFC 9636) that has nothing but a rule, in the form of TZ of POSIX."""
    header = struct.pack(">4sc15x6l", b"TZif", b"2", 0, 0, 0, 0, 1, 4)
    block = header + struct.pack(">lbb4s", 0, 0, 0, b"LMT\0")
    return block + block + f"\n{rule}\n".encode()


ZONES = {"Europe/Berlin": zone_file("CET-1CEST,M3.5.0,M10.5.0/3"), "Asia/Kolkata": zone_file("IST-5:30")}


def around() -> Surroundings:
    return Surroundings(MOMENT, random.Random(7).randbytes, ZONES.get)


AROUND = around()
