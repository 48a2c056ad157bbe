"""Where an appliance takes commands, as its door for machines tells those who ask there, and as its data folder does."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from tinkbox.model.text import quoted

# With a 404: `operator.listen`, as ADDRESS:PORT.
HEADER: Final = "Tinkbox-Operator-Door"
# A file below the data folder, which an appliance has locked (flock(2)) for as long as it runs.
LOCK: Final = "lock"
_MOST: Final = 65535
# Of `operator.listen`, unless it is set.
PORT: Final = 7080
# Where the API is at a box, which clients add themselves.  A host may be called v1.
_API: Final = re.compile(r"(?<=[^/])/v1/*$")


class OperatorDoor(NamedTuple):
    """An address, or a host's name, and a TCP port."""

    host: IPv4Address | IPv6Address | str
    port: int

    @property
    def is_loopback(self) -> bool:
        return self.host == "localhost" if isinstance(self.host, str) else self.host.is_loopback

    @property
    def is_unspecified(self) -> bool:
        """Whether it is at every address of its host."""
        return not isinstance(self.host, str) and self.host.is_unspecified

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if isinstance(self.host, IPv6Address) else f"{self.host}:{self.port}"


def read_operator_door(text: str) -> OperatorDoor | None:
    """What the header says; None where that is no address with a port: it becomes part of a command that people type."""
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit() and len(port) <= len(str(_MOST)) and 0 < int(port) <= _MOST):
        return None
    found = _host(host.removeprefix("[").removesuffix("]") if host.startswith("[") else host)
    return None if found is None else OperatorDoor(found, int(port))


def url_of(typed: str) -> str:
    """What a person types for a box as a URL: a host alone is spoken to over TLS, at the usual port unless it names one."""
    typed = _API.sub("", typed)
    if "://" in typed:
        scheme, _, rest = typed.partition("://")
        return f"{scheme.lower()}://{rest}"
    url = f"https://{typed}"
    try:
        parts = urlsplit(url)
        is_host_alone = parts.port is None and not parts.path.strip("/") and parts.netloc == typed.rstrip("/")
    except ValueError:
        return url
    return f"https://{parts.netloc}:{PORT}" if is_host_alone else url


def is_on_loopback(url: str) -> bool:
    """Whether what is sent to a URL stays on this host; raises ValueError for what is no URL."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def unencrypted(url: str, scheme: str) -> str:
    """Why nothing is sent to a URL of this scheme, and what to type."""
    return f"{quoted(url)} is not encrypted, and no token or secret may cross the network so: write https:// instead of {scheme}://"


def with_user(what: str, url: SplitResult, scheme: str) -> str:
    """Why no URL with a user is taken, and what to type, without a password; `what` has it, such as a variable."""
    _, _, place = url.netloc.rpartition("@")
    return f"{what} has a user in it, and an appliance knows people by their tokens alone: write {scheme}://{place}{url.path.rstrip('/')}"


def _host(text: str) -> IPv4Address | IPv6Address | str | None:
    """An address, or a name that a host can have; None for anything else."""
    from tinkbox.model.documents.hardware_values import is_host_name  # takes longer to load than a command takes

    if "%" not in text:  # behind it the library takes any letters for the name of an interface
        try:
            return ip_address(text)
        except ValueError:
            pass
    return text if is_host_name(text) else None
