"""Who listens on this host's TCP ports (proc(5), `/proc/net/tcp`)."""

import struct
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Final

_LISTEN: Final = "0A"  # <net/tcp_states.h>


def listening_at(port: int) -> frozenset[IPv4Address | IPv6Address] | None:
    """The addresses at which a port is listened on, IPv4 ones also where an IPv6 socket takes them; None where that cannot be read."""
    try:
        found = {*_listening("tcp", port)}
    except OSError:
        return None
    with suppress(OSError):  # a kernel without IPv6
        found |= {*_listening("tcp6", port)}
    return frozenset(found)


def _listening(table: str, port: int) -> Iterator[IPv4Address | IPv6Address]:
    for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
        _, local, _, state, *_ = line.split()
        octets, _, number = local.partition(":")
        if state == _LISTEN and int(number, 16) == port:
            words = struct.pack(
                f"={len(octets) // 8}I", *(int(octets[at : at + 8], 16) for at in range(0, len(octets), 8))
            )
            address = IPv4Address(words) if len(words) == 4 else IPv6Address(words)
            yield address if isinstance(address, IPv4Address) else address.ipv4_mapped or address
