"""Whether an address is in use: asked by ARP on a link of ours (RFC 5227 §2.1.1), else by ICMP echo (RFC 2131 §3.1)."""

import asyncio
import errno
import logging
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address, IPv4Network

from tinkbox.boot.network.datagrams import reading
from tinkbox.model.hardware import MacAddress

PATIENCE = 0.5
# How often it is asked whether a certain host has an address (RFC 5227 §1.1): a frame may be lost.
ASKED = 3
_ETH_P_ARP = 0x0806
_ETHERNET = struct.Struct("!6s6sH")
_ARP = struct.Struct("!HHBBH6s4s6s4s")
_ARP_REQUEST, _ARP_REPLY = 1, 2
_EVERYBODY = b"\xff" * 6
_NOBODY = b"\x00" * 6
_ECHO, _ECHO_REPLY = 8, 0
_log = logging.getLogger(__name__)


class Prober:
    """Asks at addresses.  `links` are our interfaces with the networks that are on them."""

    def __init__(self, links: Mapping[str, IPv4Network], patience: float = PATIENCE) -> None:
        self._links = {name: _Link(name) for name in links}
        self._networks = links
        self._patience = patience

    async def occupant(self, address: IPv4Address, interface: str, asker: MacAddress | None = None) -> str | None:
        """Who answers at an address within half a second but `asker` itself; None: nobody.

        It is a MAC, or empty where that does not show.  What cannot be asked counts as free: the machine asks as well
        before it uses its address.
        """
        network = self._networks.get(interface)
        try:
            if network is not None and address in network:
                answered = await self._links[interface].first(address, self._patience)
                return None if answered == asker else answered
            return None if await _unechoed(address, self._patience) else ""
        except OSError as error:
            _log.warning("cannot ask whether %s is in use: %s", address, error, extra={"action": "probe.failed"})
            return None

    async def holder(self, address: IPv4Address, interface: str) -> MacAddress | None:
        """Which other host answers at our own address on an interface within half a second; None: none, or it cannot be asked."""
        try:
            return await self._links[interface].first(address, self._patience, asked=ASKED)
        except OSError:  # down or gone, which is told as that
            return None

    async def is_anybody(self, address: IPv4Address) -> bool | None:
        """Whether any other host answers ARP at an address within half a second; None where ARP cannot ask that, as on loopback."""
        if address.is_loopback:
            return None
        link = next((self._links[name] for name, network in self._networks.items() if address in network), None)
        try:
            return None if link is None else await link.first(address, self._patience, asked=ASKED) is not None
        except OSError:  # down or gone, which is told as that
            return None

    async def echoes(self, address: IPv4Address) -> bool | None:
        """Whether a host answers an ICMP echo within half a second, as one of three; not where there is no way to it, None without the right to ask."""
        try:
            for _ in range(ASKED):
                if not await _unechoed(address, self._patience / ASKED):
                    return True
        except OSError as error:
            return False if error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH) else None
        return False

    async def answers(self, address: IPv4Address, mac: MacAddress) -> bool:
        """Whether the host with this MAC answers ARP at an address within half a second, whoever else does.

        Where ARP cannot ask, as behind a router, nobody answers.
        """
        link = next((self._links[name] for name, network in self._networks.items() if address in network), None)
        try:
            return link is not None and await link.first(address, self._patience, of=mac, asked=ASKED) is not None
        except OSError as error:
            _log.warning("cannot ask whether %s has %s: %s", mac, address, error, extra={"action": "probe.failed"})
            return False


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """A question whose answer is awaited, `of` one host or of any."""

    answer: asyncio.Future[bytes]
    of: bytes | None


class _Link:
    """One interface: a packet socket that is open while somebody waits for an answer."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._socket: socket.socket | None = None
        self._waiting: dict[bytes, list[_Asked]] = {}

    async def first(
        self, address: IPv4Address, patience: float, *, of: MacAddress | None = None, asked: int = 1
    ) -> MacAddress | None:
        """The first that answers at an address, of all hosts or of one; None: none did, `asked` so often."""
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        listening = self._open()
        waiting = _Asked(answered, of.octets if of else None)
        self._waiting.setdefault(address.packed, []).append(waiting)
        try:
            for _ in range(asked):
                listening.send(_question(listening.getsockname()[4], address))
                # Not asyncio.timeout: on a busy host an answer that is there would lose against the time that is over.
                await asyncio.wait([answered], timeout=patience / asked)
                if answered.done():
                    return MacAddress.from_bytes(answered.result())
            return None
        finally:
            self._waiting[address.packed].remove(waiting)
            self._close_when_idle(address.packed)

    def _open(self) -> socket.socket:
        if self._socket is None:
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ARP))
            try:
                made.setblocking(False)
                made.bind((self._name, _ETH_P_ARP))
            except OSError:
                made.close()
                raise
            asyncio.get_running_loop().add_reader(made, self._receive, made)
            self._socket = made
        return self._socket

    def _close_when_idle(self, address: bytes) -> None:
        if not self._waiting[address]:
            del self._waiting[address]
        if not self._waiting and self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def _receive(self, listening: socket.socket) -> None:
        try:
            frame = listening.recv(128)
        except OSError as error:  # such as an interface that goes down
            _log.debug("receive: %s", error, extra={"action": "probe.receive-failed"})
            return
        told = _sender(frame)
        if told is None:
            return
        mac, address = told
        for waiting in self._waiting.get(address, []):
            if not waiting.answer.done() and waiting.of in (None, mac):
                waiting.answer.set_result(mac)


def _question(own: bytes, address: IPv4Address) -> bytes:
    """RFC 5227's probe: a sender without an address, so that nobody learns a wrong one from it."""
    asked = _ARP.pack(1, 0x0800, 6, 4, _ARP_REQUEST, own, bytes(4), _NOBODY, address.packed)
    return _ETHERNET.pack(_EVERYBODY, own, _ETH_P_ARP) + asked


def _sender(frame: bytes) -> tuple[bytes, bytes] | None:
    """(hardware address, IPv4 address) of whoever says in a frame that it has that address."""
    if len(frame) < _ETHERNET.size + _ARP.size:
        return None
    kind, protocol, *_, operation, mac, address, _, _ = _ARP.unpack_from(frame, _ETHERNET.size)
    known = (kind, protocol) == (1, 0x0800) and operation in (_ARP_REQUEST, _ARP_REPLY)
    return (mac, address) if known else None


async def _unechoed(address: IPv4Address, patience: float) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as asking:
        asking.setblocking(False)
        asking.connect((str(address), 0))  # from now on only what comes from there is received
        number = asking.fileno() & 0xFFFF
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with reading(asking, partial(_receive_echo, asking, number, answered)):
            asking.send(_echo(number))
            await asyncio.wait([answered], timeout=patience)
            return not answered.done()


def _receive_echo(asking: socket.socket, number: int, answered: asyncio.Future[None]) -> None:
    try:
        packet = asking.recv(2048)
    except OSError:
        return  # such as a router's word that there is no such host
    if _echoes(packet, number) and not answered.done():
        answered.set_result(None)


def _echo(number: int) -> bytes:
    message = struct.pack("!BBHHH", _ECHO, 0, 0, number, 1)
    total = sum(struct.unpack("!4H", message))
    return struct.pack("!BBHHH", _ECHO, 0, ~(total + (total >> 16)) & 0xFFFF, number, 1)


def _echoes(packet: bytes, number: int) -> bool:
    """Whether this IPv4 packet is the answer to our echo."""
    if not packet:
        return False
    message = packet[(packet[0] & 0x0F) * 4 :]
    return len(message) >= 8 and message[0] == _ECHO_REPLY and message[4:6] == number.to_bytes(2, "big")
