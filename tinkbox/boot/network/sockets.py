"""Sockets to serve on, of UDP bound to one interface, and who holds a port that we cannot have."""

import errno
import os
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from tinkbox.model.errors import Unavailable
from tinkbox.wire.dhcp.packets import BOOT_SERVER_PORT, SERVER_PORT

_INTERFACE_NAME = 16  # IFNAMSIZ
# Machines ask at no other ports.
_DHCP_REMEDY = "or leave DHCP to it: `dhcp.mode: off`, and `tinkbox doctor` prints what it has to say"


def bind_udp(*, interface: str, address: str, port: int, receive_buffer: int = 4 << 20) -> socket.socket:
    """A non-blocking UDP socket that receives from `interface` only ("" for any), also what is broadcast.

    Raises Unavailable, naming the process that holds the port or the capability that is missing.
    """
    bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if interface:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        bound.bind((address, port))
        bound.setblocking(False)
    except OSError as error:
        bound.close()
        raise refused(error, "udp", address, port) from None
    return bound


def interface_of(bound: socket.socket) -> bytes:
    """The name of the interface that a socket is bound to; empty: of none."""
    return bound.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, _INTERFACE_NAME).strip(b"\0")


# On a host that was set to BBR, which sets a timer for every few packets of each machine, these timers took a third of the
# processor while a thousand machines booted at once.  This is Linux' own choice, and has none.
_CONGESTION_CONTROL = b"cubic"


def bind_tcp(*, address: str, port: int, setting: str = "address") -> socket.socket:
    """A listening TCP socket.  Raises Unavailable as `bind_udp` does; `setting` is what the address is of."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # a kernel without it, or one that leaves the choice to root: as the host has it
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _CONGESTION_CONTROL)
        bound.bind((address, port))
        bound.listen(4096)
        bound.setblocking(False)
    except OSError as error:
        bound.close()
        raise refused(error, "tcp", address, port, setting) from None
    return bound


class Taken(Unavailable):
    """Another process holds the port `where`; `pid` is None where we may not see which."""

    def __init__(self, where: str, holder: "Holder | None", remedy: str) -> None:
        port = where.rpartition(":")[2].partition("/")[0]
        named = (
            f"{holder.name} (pid {holder.pid})" if holder else f"another process (`ss -lnp 'sport = {port}'` names it)"
        )
        super().__init__(f"{where} is taken by {named}: stop that process {remedy}")
        self.where = where
        self.pid = holder.pid if holder else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A process by what the kernel calls it."""

    name: str
    pid: int


def refused(error: OSError, protocol: str, address: str, port: int, setting: str = "address") -> Unavailable:
    """Why a port cannot be had, and what to do, in one line; `setting` is what the address is of."""
    where = f"{address}:{port}/{protocol}"
    if error.errno == errno.EADDRINUSE:
        remedy = _DHCP_REMEDY if port in (SERVER_PORT, BOOT_SERVER_PORT) else "or configure another port"
        return Taken(where, holder(protocol, address, port), remedy)
    if error.errno in (errno.EACCES, errno.EPERM):
        return Unavailable(f"no right to listen on {where}: run as root, or with CAP_NET_BIND_SERVICE and CAP_NET_RAW")
    if error.errno == errno.EADDRNOTAVAIL:
        return Unavailable(
            f"no interface has the address of {where}: check {setting} in tinkbox.yaml against `ip address`"
        )
    return Unavailable(f"cannot listen on {where}: {error.strerror}")


def holder(protocol: str, address: str, port: int) -> Holder | None:
    """The process that holds a local port of an address ("" for any), as far as we may see it."""
    wanted = IPv4Address(socket.gethostbyname(address or "0.0.0.0"))  # noqa: S104 - nothing is bound here
    inodes = set()
    for line in Path(f"/proc/net/{protocol}").read_text().splitlines()[1:]:
        fields = line.split()
        listening = protocol == "udp" or fields[3] == "0A"
        at, _, number = fields[1].rpartition(":")
        bound = IPv4Address(int(at, 16).to_bytes(4, sys.byteorder))
        meets = bound == wanted or bound.is_unspecified or wanted.is_unspecified
        if int(number, 16) == port and listening and meets:
            inodes.add(f"socket:[{fields[9]}]")
    for process in Path("/proc").glob("[0-9]*"):
        if name := _name_of_holder(process, inodes):
            return Holder(name=name, pid=int(process.name))
    return None


def _name_of_holder(process: Path, inodes: set[str]) -> str:
    try:
        holds = any(_target(descriptor) in inodes for descriptor in (process / "fd").iterdir())
        return (process / "comm").read_text().strip() if holds else ""
    except OSError:
        return ""  # the process is gone meanwhile, or not ours to look at


def _target(descriptor: Path) -> str:
    try:
        return os.readlink(descriptor)  # noqa: PTH115 - what it names is no path
    except OSError:
        return ""  # closed meanwhile, such as the one that listed its own folder
