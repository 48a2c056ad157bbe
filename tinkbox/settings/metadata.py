"""The section `metadata`: what installed systems are told, for how long, and who may ask by its address."""

import re
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from tinkbox.model.errors import Invalid
from tinkbox.model.metadata import MAX_KEYS, ssh_key_problem
from tinkbox.model.ssh_keys import public_keys
from tinkbox.settings import readers
from tinkbox.settings.declaring import reader, setting

ZONES = Path("/usr/share/zoneinfo")
PUBLIC, ALL, OFF = "public", "all", "off"
# Where Hegel listened, and where Tootles does: templates of the field name both.
COMPATIBLE_PORTS: Final = (50061, 7080, 7172)
MAX_PORTS: Final = 8
_ZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}")
_PROXY: Final = re.compile(r"https?://[!-~]{1,500}")


@reader("a list of public keys, as ssh writes them")
def ssh_keys(value: Any, default: tuple[str, ...]) -> tuple[str, ...]:
    found = tuple(each.strip() for each in readers.texts.read(value, default))
    for each in found:
        if problem := ssh_key_problem(each):
            raise Invalid(problem)
        try:
            public_keys(each, "it")
        except Invalid as error:
            raise Invalid("; ".join(problem.text for problem in error.problems) or str(error)) from None
    if len(found) > MAX_KEYS:
        raise Invalid(f"at most {MAX_KEYS} keys, not {len(found)}")
    return found


@reader("a time zone such as `Europe/Berlin`")
def timezone(value: Any, default: str) -> str:
    found = readers.written(value) or default
    if found and not _ZONE.fullmatch(found):
        raise Invalid(f"expected a time zone such as Europe/Berlin, not {found!r}")
    if found and not _known_zone(found):
        raise Invalid(f"there is no time zone {found!r}: `timedatectl list-timezones` prints all")
    return found


def _known_zone(name: str) -> bool:
    """Whether there is such a time zone, as far as this host knows; former names need not have a file."""
    try:
        listed = (ZONES / "tzdata.zi").read_text()
    except (OSError, UnicodeDecodeError):
        return True
    return (ZONES / name).is_file() or re.search(rf" {re.escape(name)}$", listed, re.MULTILINE) is not None


@reader("a URL such as `http://proxy.lab:3128`")
def proxy(value: Any, default: str) -> str:
    found = readers.written(value) or default
    if found and not _PROXY.fullmatch(found):
        raise Invalid(f"expected a URL such as http://proxy.lab:3128, not {found!r}")
    return found


@reader(f"up to {MAX_PORTS} ports, in a list", shown=lambda ports: str(list(ports)))
def ports(value: Any, _: tuple[int, ...]) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > MAX_PORTS:
        raise Invalid(f"expected a list of up to {MAX_PORTS} ports, such as [50061], not {value!r}")
    one = readers.port()
    return tuple(dict.fromkeys(one.read(each, 0) for each in value))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldSystems:
    """What installed systems are told ([metadata.md](metadata.md))."""

    lifetime: timedelta = setting(
        timedelta(days=1),
        readers.age(timedelta(minutes=1)),
        "time after the end of a workflow for which its system's metadata token still counts; a system that reads its metadata "
        "from the appliance at each boot needs it for as long as it lives",
    )
    by_address: str = setting(
        PUBLIC,
        readers.choice(PUBLIC, ALL, OFF),
        "what a known machine gets that shows no token, only its address and MAC, below `/2009-04-04`, `/latest` and `/metadata`. "
        "`public`: everything but user-data and what else may be secret. `all`: user-data as well. `off`: nothing",
    )
    ports: tuple[int, ...] = setting(
        COMPATIBLE_PORTS,
        ports,
        "TCP ports on which these paths are answered as well, and nothing else, because templates for Tinkerbell name them; `[]`: "
        "none. The operator door has its port before them",
    )
    ssh_keys: tuple[str, ...] = setting((), ssh_keys, "public keys that every installed system gets")
    timezone: str = setting("", timezone, "time zone of every installed system; without it, the image's")
    proxy: str = setting("", proxy, "HTTP proxy by which installed systems of Debian and Ubuntu fetch packages")
    ca: Path | None = setting(None, readers.folder, "file of certificates (PEM) that installed systems trust as well")
