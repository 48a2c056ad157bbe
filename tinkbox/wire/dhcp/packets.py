"""DHCP packets: RFC 2131 header, RFC 2132 options.

Packets come from anybody on the network: whatever does not parse raises MalformedPacket and nothing
else.  Options that were split are joined (RFC 3396), and options in the overloaded `sname` and
`file` fields are found (RFC 2132 §9.3).
"""

import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from ipaddress import IPv4Address
from typing import Final

from tinkbox.model.command_lines import not_ours
from tinkbox.model.hardware import MacAddress
from tinkbox.model.text import printable

SERVER_PORT: Final = 67
CLIENT_PORT: Final = 68
BOOT_SERVER_PORT: Final = 4011
NOWHERE: Final = IPv4Address(0)
EVERYBODY: Final = IPv4Address("255.255.255.255")
BROADCAST_FLAG: Final = 0x8000

_HEADER = struct.Struct("!BBBBIHH4s4s4s4s16s64s128s")
_COOKIE = b"\x63\x82\x53\x63"
_LOOPBACK, _MULTICAST = 127, 224  # first octets; all above are of no host
_ETHERNET = 1
# BOOTP's minimum, RFC 1542 §2.1: shorter ones are dropped by some relays and boot ROMs.
_MIN_LENGTH = 300
# What every client takes, and what Ethernet carries whole (RFC 2131 §2); both of the datagram, with its headers.
_ANY_CLIENTS, _ETHERNETS = 576, 1500
_IP_AND_UDP = 28
_FILE_SIZE, _NAME_SIZE = 128, 64


class MalformedPacket(Exception):
    """These bytes are no DHCP packet that we could answer."""


class Op(IntEnum):
    """The `op` field."""

    REQUEST = 1
    REPLY = 2


class MessageType(IntEnum):
    """Option 53, RFC 2132 §9.6."""

    DISCOVER = 1
    OFFER = 2
    REQUEST = 3
    DECLINE = 4
    ACK = 5
    NAK = 6
    RELEASE = 7
    INFORM = 8


class Option(IntEnum):
    """Option codes that we read or write, by their names in the IANA registry."""

    PAD = 0
    SUBNET_MASK = 1
    ROUTER = 3
    DOMAIN_SERVER = 6
    LOG_SERVER = 7
    HOSTNAME = 12
    DOMAIN_NAME = 15
    BROADCAST_ADDRESS = 28
    NTP_SERVERS = 42
    VENDOR_SPECIFIC = 43
    ADDRESS_REQUEST = 50
    ADDRESS_TIME = 51
    OVERLOAD = 52
    MESSAGE_TYPE = 53
    SERVER_ID = 54
    PARAMETER_LIST = 55
    MESSAGE = 56
    MAX_MESSAGE_SIZE = 57
    RENEWAL_TIME = 58
    REBINDING_TIME = 59
    CLASS_ID = 60
    CLIENT_ID = 61
    SERVER_NAME = 66
    BOOTFILE_NAME = 67
    USER_CLASS = 77
    RELAY_AGENT_INFORMATION = 82
    CLIENT_SYSTEM = 93
    CLIENT_GUID = 97
    CLASSLESS_ROUTES = 121
    ETHERBOOT = 175
    PXELINUX_CONFIG = 209
    END = 255


# Where there is no room for all options, these come first, and the others before the last.
_FIRST: Final = (53, 54, 51, 1, 3, 121, 60, 43, 67)
_LAST: Final = frozenset((28, 42, 58, 59, 66))
_MESSAGE_TYPES: Final = {bytes((each,)): each for each in MessageType}


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """One DHCP packet; `options` maps codes to their joined bytes, in the order of sending."""

    op: Op
    xid: int
    mac: MacAddress
    hops: int = 0
    secs: int = 0
    flags: int = 0
    ciaddr: IPv4Address = NOWHERE
    yiaddr: IPv4Address = NOWHERE
    siaddr: IPv4Address = NOWHERE
    giaddr: IPv4Address = NOWHERE
    file: str = ""
    options: Mapping[int, bytes] = field(default_factory=dict)

    @property
    def message_type(self) -> MessageType | None:
        """Option 53, None when it is absent or unknown."""
        return _MESSAGE_TYPES.get(self.options.get(Option.MESSAGE_TYPE, b"")[:1])

    def address(self, option: Option) -> IPv4Address | None:
        """An option that holds one address, None when it is absent or has another length."""
        value = self.options.get(option, b"")
        return IPv4Address(value) if len(value) == 4 else None

    @property
    def longest_answer(self) -> int:
        """How many bytes of an answer whoever sent this takes (RFC 2132 §9.10), as far as they cross the network whole."""
        most = int.from_bytes(self.options.get(Option.MAX_MESSAGE_SIZE, b"")[:2], "big")
        return min(max(most, _ANY_CLIENTS), _ETHERNETS) - _IP_AND_UDP

    def asks_for(self, option: Option) -> bool:
        """Whether the option stands in the list of those that the client asks for (RFC 2132 §9.8)."""
        return option in self.options.get(Option.PARAMETER_LIST, b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where a reply goes; with `mac`, to a machine that cannot answer ARP yet."""

    address: IPv4Address
    port: int
    mac: MacAddress | None = None


def decode(datagram: bytes) -> Packet:
    """Parse a datagram; raises MalformedPacket for anything that is no DHCP packet over Ethernet."""
    start = _HEADER.size + len(_COOKIE)
    if len(datagram) < start:
        raise MalformedPacket(f"{len(datagram)} bytes, a DHCP packet has at least {start}")
    op, htype, hlen, hops, xid, secs, flags, ciaddr, yiaddr, siaddr, giaddr, chaddr, sname, file = _HEADER.unpack_from(
        datagram
    )
    if datagram[_HEADER.size : start] != _COOKIE:
        raise MalformedPacket("no DHCP magic cookie")
    if op not in (Op.REQUEST, Op.REPLY) or htype != _ETHERNET or hlen != 6:
        raise MalformedPacket(f"op {op}, htype {htype}, hlen {hlen}: not DHCP over Ethernet")
    if _is_no_hosts(ciaddr) or _is_no_hosts(giaddr):
        raise MalformedPacket(
            f"ciaddr {IPv4Address(ciaddr)}, giaddr {IPv4Address(giaddr)}: no host has such an address"
        )
    options: dict[int, bytes] = {}
    _parse_options(datagram[start:], options)
    overload = options.get(Option.OVERLOAD, b"\0")[:1]
    if overload in (b"\x01", b"\x03"):
        _parse_options(file, options)
        file = b""
    if overload in (b"\x02", b"\x03"):
        _parse_options(sname, options)
    return Packet(
        op=Op(op),
        xid=xid,
        mac=MacAddress.from_bytes(chaddr),
        hops=hops,
        secs=secs,
        flags=flags,
        ciaddr=IPv4Address(ciaddr),
        yiaddr=IPv4Address(yiaddr),
        siaddr=IPv4Address(siaddr),
        giaddr=IPv4Address(giaddr),
        file=file.partition(b"\0")[0].decode("ascii", "replace"),
        options=options,
    )


def _is_no_hosts(address: bytes) -> bool:
    """Whether an answer to an address would go to this host itself, or to many (RFC 1122 §3.2.1.3, RFC 1112 §4)."""
    return address[0] >= _MULTICAST or (address[0] in (0, _LOOPBACK) and address != NOWHERE.packed)


def encode(packet: Packet, longest: int | None = None) -> bytes:
    """The packet's bytes, at most `longest` of them beside option 82, which the relay takes off.

    A boot file name of more than 127 bytes does not fit into the header and stands in option 67 only.  Of options that
    are too many, some stand in fields that are empty (RFC 2132 §9.3), and those that matter least are left out.
    """
    file = packet.file.encode()
    file = file if len(file) < _FILE_SIZE else b""
    options = {code: _option(code, value) for code, value in packet.options.items()}
    relays = options.get(Option.RELAY_AGENT_INFORMATION, b"")
    room = (longest or sys.maxsize) - _HEADER.size - len(_COOKIE) - 1 + len(relays)
    area, name = b"".join(options.values()), b""
    if len(area) > room:
        area, file, name = _squeezed(options, file, room)
    header = _HEADER.pack(
        packet.op,
        _ETHERNET,
        6,
        packet.hops,
        packet.xid,
        packet.secs,
        packet.flags,
        packet.ciaddr.packed,
        packet.yiaddr.packed,
        packet.siaddr.packed,
        packet.giaddr.packed,
        packet.mac.octets,
        name,
        file,
    )
    return (header + _COOKIE + area + bytes((Option.END,))).ljust(_MIN_LENGTH, b"\0")


def destination(request: Packet, reply: Packet) -> Destination:
    """Where a reply is sent: RFC 2131 §4.1.

    An address is taken for the client's only where that can be: who looks for one has none (table 5), and who has one is
    granted that very one.  Whatever else is written there may be somebody's who did not ask.
    """
    has = request.ciaddr != NOWHERE and request.message_type is not MessageType.DISCOVER
    if request.giaddr != NOWHERE:
        return Destination(address=request.giaddr, port=SERVER_PORT)
    if reply.message_type is MessageType.NAK:
        return Destination(address=EVERYBODY, port=CLIENT_PORT)
    if has and reply.yiaddr in (NOWHERE, request.ciaddr):
        return Destination(address=request.ciaddr, port=CLIENT_PORT)
    if request.flags & BROADCAST_FLAG or reply.yiaddr == NOWHERE:
        return Destination(address=EVERYBODY, port=CLIENT_PORT)
    return Destination(address=reply.yiaddr, port=CLIENT_PORT, mac=request.mac)


def suboptions(values: Mapping[int, bytes]) -> bytes:
    """Encapsulated options, as in options 43 and 175 (RFC 2132 §8.4)."""
    return b"".join(bytes((code, len(value))) + value for code, value in values.items()) + b"\xff"


def read_suboptions(area: bytes) -> dict[int, bytes]:
    """What `suboptions` makes, of anybody's making: what is cut off is left out."""
    found: dict[int, bytes] = {}
    position = 0
    while position + 1 < len(area) and area[position] != Option.END:
        code, length = area[position], area[position + 1]
        value = area[position + 2 : position + 2 + length]
        if len(value) == length:
            found.setdefault(code, value)
        position += 2 + length
    return found


def shown(octets: bytes, limit: int = 64) -> str:
    """Text of a packet, for people: at most `limit` characters, none that does something to a terminal, and no command of ours."""
    return not_ours(printable(octets.decode(errors="replace"))[:limit])


def _option(code: int, value: bytes) -> bytes:
    """Its bytes, split where it is long (RFC 3396)."""
    if len(value) < 256:
        return bytes((code, len(value))) + value
    pieces = (value[offset : offset + 255] for offset in range(0, len(value), 255))
    return b"".join(bytes((code, len(piece))) + piece for piece in pieces)


def _squeezed(options: Mapping[int, bytes], file: bytes, room: int) -> tuple[bytes, bytes, bytes]:
    """(options, file, sname) of what would take more than `room` bytes: whole options, as many as there is room for."""
    relays = options.get(Option.RELAY_AGENT_INFORMATION, b"")
    end = bytes((Option.END,))
    # Of the options' own field, of `file` and of `sname`: at 1 and 2 as option 52 counts them.
    left = [room - 3 - len(relays), 0 if file else _FILE_SIZE - len(end), _NAME_SIZE - len(end)]
    fields = [b"", b"", b""]
    for code in sorted(options.keys() - {Option.RELAY_AGENT_INFORMATION}, key=_weight):
        at = next((at for at in range(3) if len(options[code]) <= left[at]), None)
        if at is not None:
            fields[at] += options[code]
            left[at] -= len(options[code])
    overload = (1 if fields[1] else 0) + (2 if fields[2] else 0)
    said = _option(Option.OVERLOAD, bytes((overload,))) if overload else b""
    name = fields[2] + end if fields[2] else b""
    return fields[0] + said + relays, fields[1] + end if fields[1] else file, name


def _weight(code: int) -> tuple[int, int]:
    return _FIRST.index(code) if code in _FIRST else len(_FIRST) + (code in _LAST), code


def _parse_options(area: bytes, options: dict[int, bytes]) -> None:
    position = 0
    while position < len(area):
        code = area[position]
        if code == Option.END:
            return
        if code == Option.PAD:
            position += 1
            continue
        if position + 1 >= len(area):
            raise MalformedPacket(f"option {code} has no length")
        length = area[position + 1]
        value = area[position + 2 : position + 2 + length]
        if len(value) != length:
            raise MalformedPacket(f"option {code} is cut off")
        options[code] = options.get(code, b"") + value
        position += 2 + length
