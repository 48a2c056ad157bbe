"""What people note about a machine, and that it is out of service: who, when, what."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tinkbox.model.errors import Invalid

MAX_NOTE: Final = 1000  # letters
MAX_NOTES: Final = 100  # of a machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One line about a machine, numbered within it from 1."""

    number: int
    at: datetime
    who: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retirement:
    """A machine is out of service since then; `reason` may be empty."""

    at: datetime
    who: str
    reason: str = ""


def note_text(text: str, what: str = "a note") -> str:
    """One line of printable text; raises Invalid."""
    line = " ".join(text.split())
    if not line:
        raise Invalid(f"{what} is empty: write what there is to say")
    if len(line) > MAX_NOTE:
        raise Invalid(f"{what} has at most {MAX_NOTE} letters, this one {len(line)}: shorten it")
    if not line.isprintable():
        raise Invalid(f"{what} has letters that cannot be printed: write it as one line of plain text")
    return line
