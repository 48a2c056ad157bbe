"""The section `audit`: where the lines that say who did what are sent to, beside the database."""

import re
from dataclasses import dataclass
from typing import Any, Final

from tinkbox.model.audit_places import SyslogServer
from tinkbox.model.errors import Invalid
from tinkbox.settings import readers
from tinkbox.settings.declaring import reader, setting

_PLACE: Final = re.compile(
    r"(?:(udp|tcp)://)?([A-Za-z0-9][A-Za-z0-9.-]{0,252}|\[[0-9A-Fa-f:]{2,45}\])(?::([0-9]{1,5}))?"
)


@reader("`HOST`, `HOST:PORT` or `tcp://HOST:PORT`")
def syslog_server(value: Any, default: SyslogServer | None) -> SyslogServer | None:
    found = readers.written(value)
    if not found:
        return default
    match = _PLACE.fullmatch(found)
    if match is None or not 0 < int(match[3] or 514) <= readers.MAX_PORT:
        raise Invalid(f"expected HOST, HOST:PORT or tcp://HOST:PORT, not {found!r}")
    return SyslogServer(host=match[2].strip("[]"), port=int(match[3] or 514), tcp=match[1] == "tcp")


@reader("a path from `/` on")
def whole_path(value: Any, default: str) -> str:
    found = readers.written(value)
    if not found:
        return default
    if not found.startswith("/"):
        raise Invalid(f"expected a path from / on, not {found!r}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """Places that have every line as soon as it is committed; none is ever waited for."""

    syslog: SyslogServer | None = setting(
        None,
        syslog_server,
        "syslog server that gets each line of the audit (RFC 5424), over UDP, or with `tcp://` over TCP; the port is 514 if none "
        "is given",
    )
    file: str = setting(
        "",
        whole_path,
        "file to which each line of the audit is added as JSON, as `tinkbox audit export` prints it; the user that tinkbox runs as "
        "must be able to write it",
    )
