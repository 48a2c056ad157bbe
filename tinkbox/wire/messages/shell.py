"""A shell's frames, on the WebSockets between client, appliance and worker.

Each is one binary message: the channel's number, then what it carries; at most MAX_FRAME bytes in all.  The numbers
are those of Kubernetes' `v4.channel.k8s.io` and `v5.channel.k8s.io`, with one more for control.

CONTROL to a client is any of
    {"driver": "anna", "yours": false, "connected": true}  who types (null: nobody), and whether the machine is there
    {"notice": "..."}                                      for people
    {"place": 4711}                                        so many bytes were printed up to here, since the beginning
and from one {"take": true}, to type from now on.  RESIZE to a client is the size of the driver's terminal.
CONTROL to a worker is {"end": true}: end the shell and everything that was started in it; nothing follows.

Nobody pings in the connections of a command without a terminal: whoever reads its output, or it its input, may stand
still for any time, and then nothing behind is read, pings neither.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from tinkbox.model.errors import Invalid
from tinkbox.model.shells import ShellEnd
from tinkbox.wire.messages.json_fields import number, read_object, text

MAX_FRAME = 64 * 1024
MAX_SIZE = 1_000


class Channel(IntEnum):
    """What a frame carries."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    STATUS = 3  # JSON: how it ended; the last frame
    RESIZE = 4  # JSON: {"rows": 24, "columns": 80}, the driver's terminal
    CONTROL = 5  # JSON: notices to a client, wishes of one
    CLOSE = 255  # the one byte behind it is a channel that gets nothing more


@dataclass(frozen=True, slots=True)
class Frame:
    """One message."""

    channel: Channel
    content: bytes = b""


def encode(frame: Frame) -> bytes:
    """The frame's bytes."""
    return bytes((frame.channel,)) + frame.content


def decode(content: bytes) -> Frame:
    """Raises Invalid for what is no frame."""
    if not content or len(content) > MAX_FRAME:
        raise Invalid(f"a shell's frame has between 1 and {MAX_FRAME} bytes, not {len(content)}")
    try:
        return Frame(Channel(content[0]), content[1:])
    except ValueError:
        raise Invalid(f"a shell has no channel {content[0]}") from None


def pieces(channel: Channel, content: bytes) -> list[Frame]:
    """Content of any length as frames."""
    step = MAX_FRAME - 1
    return [Frame(channel, content[begin : begin + step]) for begin in range(0, len(content), step)]


def status(end: ShellEnd) -> Frame:
    """The last frame of a shell."""
    return _json(Channel.STATUS, {"exit_code": end.exit_code, "reason": end.reason, "message": end.message})


def resize(rows: int, columns: int) -> Frame:
    """The driver's terminal has this size now."""
    return _json(Channel.RESIZE, {"rows": rows, "columns": columns})


def control(content: Mapping[str, Any]) -> Frame:
    """A notice or a wish."""
    return _json(Channel.CONTROL, content)


def close(channel: Channel) -> Frame:
    """A channel gets nothing more, such as STDIN after the end of a file."""
    return Frame(Channel.CLOSE, bytes((channel,)))


def read_status(frame: Frame) -> ShellEnd:
    """Raises Invalid when it does not say how the shell ended."""
    entry = read_object(frame.content, "status")
    exit_code = None if entry.get("exit_code") is None else number(entry, "exit_code")
    return ShellEnd(exit_code, text(entry, "reason", ""), text(entry, "message", ""))


def read_resize(frame: Frame) -> tuple[int, int]:
    """(rows, columns), kept within what a terminal has; raises Invalid."""
    entry = read_object(frame.content, "resize")
    return max(1, min(number(entry, "rows"), MAX_SIZE)), max(1, min(number(entry, "columns"), MAX_SIZE))


def read_control(frame: Frame) -> Mapping[str, Any]:
    """Raises Invalid when it is no JSON object."""
    return read_object(frame.content, "control")


def _json(channel: Channel, content: Mapping[str, Any]) -> Frame:
    return Frame(channel, json.dumps(content, separators=(",", ":")).encode())
