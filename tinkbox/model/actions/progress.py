"""How far a running action is, by what it writes to /dev/progress; pure: moments are seconds of a steady clock.

Rule 1: the newest line that means something counts.
Rule 2: the rate is that of the last WINDOW seconds, or of the last two messages when they are further apart.
Rule 3: what goes backwards, or counts something else, begins anew.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

WINDOW: Final = 20.0
MAX_COUNT: Final = 2**53 - 1  # what every reader of JSON can tell from its neighbour
MAX_UNIT: Final = 16
# Messages that come closer together count as one.
_TOGETHER: Final = 0.5
_LINE: Final = re.compile(r"([0-9]{1,16})[ \t]+([0-9]{1,16})(?:[ \t]+(\S[^\r\n]{0,15}?))?[ \t]*\Z")
_BYTES: Final = frozenset({"bytes", "byte", "B"})
_UNITS: Final = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What an action said: `done` of `total`; 0 in all where that is not known."""

    done: int
    total: int
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """So much was done at this moment."""

    at: float
    done: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What there is to show: `rate` is in units a second.  Rate and seconds are None while they are not known."""

    done: int
    total: int
    unit: str = ""
    rate: float | None = None
    seconds_left: int | None = None


def read_progress(text: str) -> Told | None:
    """The newest line `DONE TOTAL [UNIT]`; None where there is none.

    A last line without an end may be half of one, so it counts only where it is all there is.
    """
    *lines, last = text.replace("\0", "").replace("\r", "\n").split("\n")
    for line in [*reversed(lines), last]:
        found = _LINE.match(line.strip())
        if found is None or not (found[3] or "").isprintable():
            continue
        done, total = int(found[1]), int(found[2])
        if max(done, total) <= MAX_COUNT:
            return Told(done=done, total=total, unit=(found[3] or "").strip())
    return None


def with_sample(samples: Sequence[Sample], sample: Sample) -> tuple[Sample, ...]:
    """The samples that count for the rate, this one included, which is the newest."""
    before = [each for each in samples if each.done <= sample.done and each.at <= sample.at]
    if len(before) < len(samples):
        return (sample,)
    if before and before[-1].done == sample.done:
        return tuple(before)
    if len(before) > 1 and sample.at - before[-1].at < _TOGETHER:
        before.pop()
    recent = [each for each in before if each.at >= sample.at - WINDOW] or before[-1:]
    return (*recent, sample)


def paced(told: Told, samples: Sequence[Sample], now: float) -> Progress:
    """What an action said, with its rate and the time that is left by it."""
    rate = _rate(samples, now)
    left = None
    if rate and told.total > told.done:
        left = max(0, math.ceil((told.total - told.done) / rate - (now - samples[-1].at)))
    return Progress(done=told.done, total=told.total, unit=told.unit, rate=rate, seconds_left=left)


def _rate(samples: Sequence[Sample], now: float) -> float | None:
    if len(samples) < 2:
        return None
    first, last = samples[0], samples[-1]
    if last.at <= first.at:
        return None
    if now - last.at > max(WINDOW, 2 * (last.at - first.at)):
        return 0.0
    return (last.done - first.done) / (last.at - first.at)


def in_words(progress: Progress) -> str:
    """For people: `41 %  38 MB/s  1:12 left`."""
    if progress.total:
        words = [f"{min(100, 100 * progress.done // progress.total)} %"]
    else:
        words = [_counted(progress.done, progress.unit)]
    if progress.rate is not None:
        words.append(f"{_counted(progress.rate, progress.unit)}/s")
    if progress.seconds_left is not None:
        words.append(f"{_clock(progress.seconds_left)} left")
    return "  ".join(words)


def _counted(number: float, unit: str) -> str:
    worth, letter = next(((worth, letter) for worth, letter in _UNITS if number >= worth), (1, ""))
    value = number / worth
    shown = f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"
    named = f"{letter}B" if unit in _BYTES else f"{letter} {unit}".strip() if unit else letter
    return f"{shown} {named}".strip()


def _clock(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
