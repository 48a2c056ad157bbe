"""Terminal recordings as text: asciicast, version 2 (docs.asciinema.org/manual/asciicast/v2).

The first line is a header, each further one an event: seconds since the beginning, kind, text.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tinkbox.model.errors import Invalid
from tinkbox.wire.messages.json_fields import mapping, number, read_object, text

VERSION = 2


class Kind(StrEnum):
    """What happened."""

    OUTPUT = "o"
    INPUT = "i"
    RESIZE = "r"  # the text is COLUMNSxROWS
    MARKER = "m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """About a recording; `timestamp` is when it began, in seconds since 1970."""

    width: int
    height: int
    timestamp: int
    title: str = ""
    command: str = ""
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Happened:
    """One event."""

    seconds: float
    kind: Kind
    text: str


def encode_header(header: Header) -> str:
    """A line."""
    document = {
        "version": VERSION,
        "width": header.width,
        "height": header.height,
        "timestamp": header.timestamp,
        "title": header.title,
        "command": header.command,
        "env": dict(header.env),
    }
    return json.dumps({name: value for name, value in document.items() if value not in ("", {})}) + "\n"


def encode(happened: Happened) -> str:
    """A line."""
    return json.dumps([round(happened.seconds, 6), happened.kind, happened.text]) + "\n"


def decode_header(line: str | bytes) -> Header:
    """Raises Invalid when this is not how a recording begins."""
    entry = read_object(line, "recording")
    if entry.get("version") != VERSION:
        raise Invalid(f"this is no asciicast of version {VERSION}")
    return Header(
        width=number(entry, "width"),
        height=number(entry, "height"),
        timestamp=number(entry, "timestamp", 0),
        title=text(entry, "title", ""),
        command=text(entry, "command", ""),
        env=mapping(entry, "env"),
    )


def decode(lines: Iterable[str | bytes]) -> Iterator[Happened]:
    """The events behind the header, up to a line that is none: the last may have been cut off."""
    for line in lines:
        try:
            seconds, kind, said = json.loads(line)
            yield Happened(float(seconds), Kind(kind), str(said))
        except (ValueError, TypeError):
            return
