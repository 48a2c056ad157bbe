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
_ZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,62}(?:/[A-Za-z0-9_+-]{1,63}){0,2}")
# `Z NAME …` and `L TARGET NAME` in tzdata.zi (zic(8)).
_LISTED: Final = re.compile(r"^(?:Z|L \S+) (\S+)", re.MULTILINE)
_HOSTS_OWN: Final = ("localtime", "posixrules")  # stand for what the host has chosen
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
        raise Invalid(f"expected a time zone such as Europe/Berlin, not {found[:60]!r}")
    known = _known_zone(found) if found else ""
    if known is None:
        raise Invalid(f"there is no time zone {found[:60]!r}: `timedatectl list-timezones` prints all")
    return known


def _known_zone(name: str) -> str | None:
    """The time zone as it is spelled, as far as this host knows; None where there is none.

    A former name need not have a file, and a file need not be listed, such as `posix/UTC`.
    """
    try:
        listed = _LISTED.findall((ZONES / "tzdata.zi").read_text())
    except (OSError, UnicodeDecodeError):
        return name
    if name in listed or _has_file(name):
        return name
    spelled = {each.casefold(): each for each in listed}
    return spelled.get(name.casefold())


def _has_file(name: str) -> bool:
    """Whether there is a file of a zone (RFC 8536 §3.1)."""
    try:
        with (ZONES / name).open("rb") as file:
            return file.read(4) == b"TZif" and name not in _HOSTS_OWN
    except OSError:
        return False


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
