"""Syslog messages as machines send them: RFC 3164 and RFC 5424, and what only looks like them.  Their text is hostile."""

import re
from dataclasses import dataclass
from enum import IntEnum

from tinkbox.model.command_lines import not_ours
from tinkbox.model.text import one_line

MAX_DATAGRAM = 8192
# A datagram is one message (RFC 5426 §3.1); a few programs send some at once.
MAX_LINES = 32
MAX_TEXT = 400
MAX_PROGRAM = 48
MAX_PRIORITY = 191
USER_NOTICE = 13  # RFC 3164 §4.3.3: what a message without a priority is taken for
_PRIORITY = re.compile(r"<(\d{1,3})>")
_NEW = re.compile(r"1 \S+ \S+ (\S+) \S+ \S+ (.*)", re.DOTALL)
_STRUCTURED = re.compile(r'(?:-|(?:\[(?:[^\]"]|"(?:[^"\\]|\\.)*")*\])+)(?: |\Z)', re.DOTALL)
_TIME = re.compile(r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) ")
_TAG = re.compile(r"([A-Za-z0-9_./-]{1,48})(?:\[[^\]\s]{0,20}\])?: ?")
_HOST = re.compile(r"[A-Za-z0-9.:_-]{1,255} +")


class Severity(IntEnum):
    """RFC 5424 §6.2.1."""

    EMERGENCY = 0
    ALERT = 1
    CRITICAL = 2
    ERROR = 3
    WARNING = 4
    NOTICE = 5
    INFORMATIONAL = 6
    DEBUG = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One line, bounded and without control characters; `program` may be empty."""

    severity: Severity
    facility: int
    program: str
    text: str


def parse(datagram: bytes) -> tuple[Message, ...]:
    """Read the messages of a datagram: one for each of its first lines that has something to show.

    A machine's own clock and name are left out: its clock may be wrong, and whose message it is we know.
    """
    lines = datagram[:MAX_DATAGRAM].split(b"\n", MAX_LINES)[:MAX_LINES]
    messages = (_message(line.decode(errors="replace")) for line in lines)
    return tuple(each for each in messages if each.text)


def _message(line: str) -> Message:
    found = _PRIORITY.match(line)
    priority = int(found[1]) if found and int(found[1]) <= MAX_PRIORITY else USER_NOTICE
    rest = line[found.end() :] if found else line
    new = _NEW.fullmatch(rest)
    program, text = _new(new[1], new[2]) if new else _old(rest)
    return Message(
        severity=Severity(priority % 8),
        facility=priority // 8,
        program=not_ours(one_line(program, MAX_PROGRAM)),
        text=one_line(text.expandtabs(8), MAX_TEXT),
    )


def _new(program: str, rest: str) -> tuple[str, str]:
    """Program and text of RFC 5424 §6; structured data is left out."""
    return "" if program == "-" else program, _STRUCTURED.sub("", rest, count=1) if _STRUCTURED.match(rest) else rest


def _old(rest: str) -> tuple[str, str]:
    """Program and text of RFC 3164 §4.1, where time and name of the machine may be missing."""
    time = _TIME.match(rest)
    told = rest[time.end() :] if time else rest
    tag = _TAG.match(told)
    host = _HOST.match(told)
    if tag is None and host is not None:
        tag = _TAG.match(told, host.end()) if time or told.startswith("ipxe: ", host.end()) else None
    return (tag[1], told[tag.end() :]) if tag else ("", told)


def datagram(*, facility: int, severity: Severity, at: str, host: str, program: str, kind: str, text: str) -> bytes:
    """A message as RFC 5424 §6 has it, in UTF-8; `at` is a time in ISO 8601 with its zone, empty: not known, `kind` the MSGID.

    `host`, `program` and `kind` have no spaces.  A text of ASCII needs no byte order mark (§6.4).
    """
    return f"<{facility * 8 + severity}>1 {at or '-'} {host} {program} - {kind} - {text}".encode()


def framed(message: bytes) -> bytes:
    """A message in a stream, its length before it (RFC 6587 §3.4.1)."""
    return b"%d %b" % (len(message), message)
