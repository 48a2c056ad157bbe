"""Spans of time as people write them: `90s`, `30m`, `1h30m`, `2d`, or plain seconds."""

import re

from tinkbox.model.errors import Invalid

UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_WRITTEN = re.compile("".join(rf"(?:([0-9]{{1,9}}){unit})?" for unit in UNITS) + r"\Z")
_SECONDS = re.compile(r"[0-9]{1,9}\Z")


def parse_duration(text: str) -> int:
    """The whole seconds that a text means: each unit at most once and the larger before the smaller; raises Invalid."""
    written = text.strip()
    if _SECONDS.match(written):
        return int(written)
    parts = _WRITTEN.match(written)
    if not written or parts is None:
        raise Invalid(f"{text[:40]!r} is no duration: write 90s, 30m, 1h30m, or plain seconds")
    return sum(int(count or 0) * size for count, size in zip(parts.groups(), UNITS.values(), strict=True))


def show_duration(seconds: float) -> str:
    """The inverse, in whole seconds and without a sign: `1h30m`, `0s`."""
    left, shown = abs(round(seconds)), ""
    for unit, size in UNITS.items():
        count, left = divmod(left, size)
        shown += f"{count}{unit}" if count else ""
    return shown or "0s"


def show_age(seconds: float) -> str:
    """How long ago something was, in its largest unit alone: `40s`, `5m`, `2h`, `3d`; below a second, and in the future, `0s`."""
    whole = max(0, int(seconds))
    for unit, size in UNITS.items():
        if whole >= size:
            return f"{whole // size}{unit}"
    return "0s"
