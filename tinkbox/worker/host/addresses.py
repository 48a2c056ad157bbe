"""Where the appliance is as this machine sees it, and this machine as the appliance sees it."""

import asyncio
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.model.text import quoted
from tinkbox.wire.messages.worker import Credential

_HTTP = 80
_SCHEMES = ("http", "https")


def refuse_no_url(server: str) -> None:
    """Raise Invalid where what should be the URL of the node door names no host, as one without `http://`."""
    try:
        parts = urlsplit(server)
        is_url = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise Invalid(f"{quoted(server)} is no URL of an appliance: write it as http://HOST:PORT")


def refuse_other_way(credential: Credential) -> None:
    """Raise Invalid where the node door's URL and what the credential trusts do not go together.

    A credential with an authority is for HTTPS, and nothing takes it back to plain HTTP by itself.
    """
    is_https, server = urlsplit(credential.server).scheme == "https", quoted(credential.server)
    if credential.authority and not is_https:
        raise Invalid(f"this credential is for HTTPS, not for {server}: leave `--server` out, or name an https:// URL")
    if is_https and not credential.authority:
        raise Invalid(
            f"nothing says by which authority to trust {server}: make a credential with `tinkbox hardware credential MAC` on "
            "an appliance that speaks HTTPS to machines, or name an http:// URL"
        )


async def addressed(hosts: Mapping[str, str], server: str) -> dict[str, str]:
    """The names with their addresses, where an empty one is that of the node door at the URL `server`.

    Raises Unavailable.
    """
    if all(hosts.values()):
        return dict(hosts)
    appliance = await address_of(server)
    return {name: address or appliance for name, address in hosts.items()}


async def address_of(server: str) -> str:
    """The IPv4 address of the node door at a URL; raises Unavailable while nobody knows its name."""
    host, port = _place(server)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, family=socket.AF_INET, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # which a name is that cannot be one
        raise Unavailable(f"the address of the appliance, {host}, is not known: {error}") from None
    return str(found[0][4][0])


async def own_address(server: str) -> str:
    """The IPv4 address that this machine has for the node door at a URL; raises Unavailable while there is no way."""
    address = await address_of(server)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, _place(server)[1]))  # sends nothing: the kernel only chooses the way
        except OSError as error:
            raise Unavailable(f"there is no way to the appliance, {address}: {error.strerror}") from None
        return str(probe.getsockname()[0])


def _place(server: str) -> tuple[str, int]:
    parts = urlsplit(server)
    return parts.hostname or "", parts.port or _HTTP
