"""Text that cannot steer a terminal, and times."""

import re
from contextvars import ContextVar
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from tinkbox.model.duration import show_age
from tinkbox.model.text import clean, clean_block

__all__ = ["Times", "age", "clean", "clean_block", "logged", "moment", "now", "times_look", "wrapped"]

_COMMAND: Final = re.compile(r"`[^`]*`")
_UNBROKEN: Final = "\0"  # a space within a command; `clean` leaves none


class Times(StrEnum):
    """How times look in everything that a command prints for people."""

    LOCAL = "%Y-%m-%d %H:%M:%S %Z"
    UTC = "%Y-%m-%d %H:%M:%S UTC"
    GO = "%Y-%m-%d %H:%M:%S +0000 UTC"  # as 2020's tink printed them


_TIMES: Final = ContextVar("how times look, chosen once for each command line", default=Times.LOCAL)


def times_look(times: Times) -> None:
    """Have times look so from now on."""
    _TIMES.set(times)


def moment(text: str | None) -> str:
    """A time with its zone, `2026-11-27 17:20:05 CET`, or as `times_look` has it; empty for none."""
    if not text:
        return ""
    times = _TIMES.get()
    at = datetime.fromisoformat(text)
    return (at.astimezone() if times is Times.LOCAL else at.astimezone(UTC)).strftime(times)


def age(text: str | None) -> str:
    """How long ago a time was: `5m`, `2h`, `3d`; empty for none.  Clocks that differ make it wrong, and nothing else."""
    return show_age((now() - datetime.fromisoformat(text)).total_seconds()) if text else ""


def now() -> datetime:
    """The time here."""
    return datetime.now(UTC)


def wrapped(text: str, width: int, first: str = "", then: str = "") -> list[str]:
    """A text in lines of so many letters, which begin so; commands between backquotes stay whole, so that they can be copied."""
    import textwrap

    lines = textwrap.wrap(
        _COMMAND.sub(lambda command: command[0].replace(" ", _UNBROKEN), clean(text)),
        width,
        initial_indent=first,
        subsequent_indent=then,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_UNBROKEN, " ") for line in lines]


def logged(text: str) -> str:
    """As 2020's tink printed what it had done: through Go's logger."""
    return f"{now():%Y/%m/%d %H:%M:%S} {text}"
