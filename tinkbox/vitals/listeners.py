"""Who listens on this host's TCP ports (proc(5), `/proc/net/tcp`)."""

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

from tinkbox.model.diagnosis import Listens

_LISTEN: Final = "0A"  # <net/tcp_states.h>
_ANYBODY: Final = IPv4Address(0)


def listens(address: IPv4Address, port: int) -> Listens | None:
    """Who listens on a port that was asked for at an address of ours; None where that cannot be read."""
    try:
        found = {*_listening("tcp", port)}
    except OSError:
        return None
    with suppress(OSError):  # a kernel without IPv6
        found |= {*_listening("tcp6", port)}
    if found & {address, _ANYBODY}:
        return Listens.THERE
    return Listens.ELSEWHERE if found else Listens.NOWHERE


def _listening(table: str, port: int) -> Iterator[IPv4Address]:
    """The addresses at which a port is listened on; `::` takes IPv4 as well, and another IPv6 address counts as loopback."""
    for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
        _, local, _, state, *_ = line.split()
        octets, _, number = local.partition(":")
        if state == _LISTEN and int(number, 16) == port:
            words = struct.pack(
                f"={len(octets) // 8}I", *(int(octets[at : at + 8], 16) for at in range(0, len(octets), 8))
            )
            yield IPv4Address(words) if len(words) == 4 else _of_ipv6(words)


def _of_ipv6(octets: bytes) -> IPv4Address:
    if not any(octets):
        return _ANYBODY
    mapped = octets.startswith(bytes(10) + b"\xff\xff")
    return IPv4Address(octets[12:]) if mapped else IPv4Address(socket.INADDR_LOOPBACK)
