"""Where the lines of the audit are sent to, beside the database."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SyslogServer:
    """A syslog server at `host` and `port`, over TCP (RFC 6587 §3.4.1) or UDP (RFC 5426)."""

    host: str
    port: int = 514
    tcp: bool = False

    def __str__(self) -> str:
        return f"{'tcp' if self.tcp else 'udp'}://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPlaces:
    """A `syslog` server, None: none, and the path of a `file` of JSON lines, empty: none.  `name` is who the appliance is called in syslog."""

    syslog: SyslogServer | None = None
    file: str = ""
    name: str = "tinkbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How far a place has the lines: so many it is not known to have taken, and why, empty: nothing is wrong.

    `sent` is whether the place took any line since the appliance started, over UDP: whether any was sent.  `missed` were deleted for their age before they could be sent.  `first` is the number of the first line that it was to have: those
    before were written before the place was configured.  0: not known.  `since` is when the first line that waits was to be sent, or nothing could be, None while nothing is wrong.
    """

    place: str
    first: int = 0
    waiting: int = 0
    sent: bool = False
    missed: int = 0
    problem: str = ""
    since: datetime | None = None
