"""Text that cannot steer a terminal, and times."""

from contextvars import ContextVar
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from tinkbox.model.duration import show_age


class Times(StrEnum):
    """How times look in everything that a command prints for people."""

    LOCAL = "%Y-%m-%d %H:%M:%S %Z"
    UTC = "%Y-%m-%d %H:%M:%S UTC"
    GO = "%Y-%m-%d %H:%M:%S +0000 UTC"  # as 2020's tink printed them


_TIMES: Final = ContextVar("how times look, chosen once for each command line", default=Times.LOCAL)


def times_look(times: Times) -> None:
    """Have times look so from now on."""
    _TIMES.set(times)


def clean(text: str) -> str:
    """One line without control characters: nothing a machine said steers the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def clean_block(text: str) -> str:
    """The same for text of several lines; a carriage return becomes a new line."""
    kept = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "�" for letter in kept)


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


def logged(text: str) -> str:
    """As 2020's tink printed what it had done: through Go's logger."""
    return f"{now():%Y/%m/%d %H:%M:%S} {text}"
