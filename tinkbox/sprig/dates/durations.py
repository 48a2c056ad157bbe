"""Sprig's durations, which need no clock: texts such as `1h30m` and numbers of seconds."""

import re
from collections.abc import Mapping

from tinkbox.gotemplate.values import Int64
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.numbers.conversion import nearest, wrap

UNITS = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,
    "\u03bcs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
PART = re.compile(r"(?=\.?[0-9])(?P<whole>[0-9]*+)\.?+(?P<fraction>[0-9]*+)(?P<unit>[^.0-9]++)")
LIMIT = 1 << 63
MAX_DIGITS = 40  # beyond what can matter in nanoseconds
DAY = 24 * UNITS["h"]
ROUND = {"y": 365 * DAY, "mo": 30 * DAY, "d": DAY, "h": UNITS["h"], "m": UNITS["m"], "s": UNITS["s"]}


def duration(seconds: object) -> str:
    """Write seconds, an int64 or a decimal text, as Go writes durations; anything else, an int too, is `0s`."""
    if isinstance(seconds, str):
        return shown(wrap(nearest(seconds) * UNITS["s"]))
    return shown(wrap(seconds * UNITS["s"])) if isinstance(seconds, Int64) else "0s"


def shown(nanoseconds: int) -> str:
    """Write a duration as Go's Duration.String does: `1h2m3.5s`, `1.5ms`, `0s`."""
    sign, size = "-" if nanoseconds < 0 else "", abs(nanoseconds)
    if size < UNITS["s"]:
        unit = next(name for name in ("ms", "\u00b5s", "ns") if size >= UNITS[name] or name == "ns") if size else "s"
        return f"{sign}{_decimal(size, UNITS[unit])}{unit}"
    minutes, rest = divmod(size, UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    larger = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{larger}{_decimal(rest, UNITS['s'])}s"


def _decimal(value: int, unit: int) -> str:
    whole, fraction = divmod(value, unit)
    digits = f"{fraction:0{len(str(unit)) - 1}d}".rstrip("0") if fraction else ""
    return f"{whole}.{digits}" if digits else str(whole)


def duration_round(value: object) -> str:
    """Write a duration, a text or an int64 of nanoseconds, in its largest unit alone; `0s` of anything else."""
    parsed = parse(value) if isinstance(value, str) else value if isinstance(value, Int64) else 0
    size = abs(parsed or 0)
    for name, unit in ROUND.items():
        if size > unit:
            return f"{size // unit}{name}"
    return "0s"


def parse(text: str) -> int | None:
    """Read a duration such as `-1.5h` in nanoseconds; None if it is none or beyond int64."""
    sign = -1 if text.startswith("-") else 1
    body = text[1:] if text[:1] in ("-", "+") and text else text
    if body == "0":
        return 0
    total = position = 0
    while match := PART.match(body, position):
        unit = UNITS.get(match["unit"])
        if unit is None or len(match["whole"].lstrip("0")) > MAX_DIGITS:
            return None
        fraction = match["fraction"][:MAX_DIGITS]
        total += int(match["whole"][-MAX_DIGITS:] or 0) * unit + int(fraction or 0) * unit // 10 ** len(fraction)
        position = match.end()
    if not body or position < len(body) or total > LIMIT or (total == LIMIT and sign > 0):
        return None
    return sign * total


FUNCTIONS: Mapping[str, Function] = {
    "duration": typed(duration, "wide"),
    "durationRound": typed(duration_round, "wide"),
}
