"""DHCP packets: RFC 2131 header, RFC 2132 options.

Packets come from anybody on the network: whatever does not parse raises MalformedPacket and nothing
else.  Options that were split are joined (RFC 3396), and options in the overloaded `sname` and
`file` fields are found (RFC 2132 §9.3).
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from ipaddress import IPv4Address
from typing import Final

from tinkbox.model.hardware import MacAddress

SERVER_PORT: Final = 67
CLIENT_PORT: Final = 68
NOWHERE: Final = IPv4Address(0)
EVERYBODY: Final = IPv4Address("255.255.255.255")
BROADCAST_FLAG: Final = 0x8000

_HEADER = struct.Struct("!BBBBIHH4s4s4s4s16s64s128s")
_COOKIE = b"\x63\x82\x53\x63"
_ETHERNET = 1
# BOOTP's minimum, RFC 1542 §2.1: shorter ones are dropped by some relays and boot ROMs.
_MIN_LENGTH = 300


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
    MESSAGE = 56
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
    ETHERBOOT = 175
    END = 255


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
        try:
            return MessageType(self.options.get(Option.MESSAGE_TYPE, b"\0")[0])
        except (ValueError, IndexError):
            return None

    def address(self, option: Option) -> IPv4Address | None:
        """An option that holds one address, None when it is absent or has another length."""
        value = self.options.get(option, b"")
        return IPv4Address(value) if len(value) == 4 else None


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


def encode(packet: Packet) -> bytes:
    """The packet's bytes.

    A boot file name of more than 127 bytes does not fit into the header and stands in option 67 only.
    """
    file = packet.file.encode()
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
        b"",
        file if len(file) < 128 else b"",
    )
    parts = [header, _COOKIE]
    for code, value in packet.options.items():
        for offset in range(0, len(value) or 1, 255):
            piece = value[offset : offset + 255]
            parts += [bytes((code, len(piece))), piece]
    parts.append(bytes((Option.END,)))
    return b"".join(parts).ljust(_MIN_LENGTH, b"\0")


def destination(request: Packet, reply: Packet) -> Destination:
    """Where a reply is sent: RFC 2131 §4.1."""
    if request.giaddr != NOWHERE:
        return Destination(address=request.giaddr, port=SERVER_PORT)
    if reply.message_type is MessageType.NAK:
        return Destination(address=EVERYBODY, port=CLIENT_PORT)
    if request.ciaddr != NOWHERE:
        return Destination(address=request.ciaddr, port=CLIENT_PORT)
    if request.flags & BROADCAST_FLAG:
        return Destination(address=EVERYBODY, port=CLIENT_PORT)
    return Destination(address=reply.yiaddr, port=CLIENT_PORT, mac=request.mac)


def suboptions(values: Mapping[int, bytes]) -> bytes:
    """Encapsulated options, as in options 43 and 175 (RFC 2132 §8.4)."""
    return b"".join(bytes((code, len(value))) + value for code, value in values.items()) + b"\xff"


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
