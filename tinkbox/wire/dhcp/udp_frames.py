"""UDP datagrams in Ethernet frames, for who must speak before it has an address: RFC 894, RFC 791, RFC 768."""

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Final

ETHERTYPE: Final = 0x0800
_ETHERNET = struct.Struct("!6s6sH")
_IP = struct.Struct("!BBHHHBBH4s4s")
_UDP = struct.Struct("!HHHH")
_UDP_PROTOCOL = 17
_FRAGMENT = 0x3FFF  # more fragments, or not the first


@dataclass(frozen=True, slots=True, kw_only=True)
class UdpFrame:
    """One datagram; `source_mac` and `target_mac` are six octets each."""

    source_mac: bytes
    target_mac: bytes
    source: IPv4Address
    target: IPv4Address
    source_port: int
    target_port: int
    payload: bytes


def encode(frame: UdpFrame) -> bytes:
    """The frame's bytes; without UDP's checksum, which IPv4 leaves out with a zero."""
    udp = _UDP.pack(frame.source_port, frame.target_port, _UDP.size + len(frame.payload), 0)
    length = _IP.size + len(udp) + len(frame.payload)
    fields = (0x45, 0, length, 0, 0, 64, _UDP_PROTOCOL)
    bare = _IP.pack(*fields, 0, frame.source.packed, frame.target.packed)
    header = _IP.pack(*fields, _checksum(bare), frame.source.packed, frame.target.packed)
    return _ETHERNET.pack(frame.target_mac, frame.source_mac, ETHERTYPE) + header + udp + frame.payload


def decode(octets: bytes) -> UdpFrame | None:
    """Parse a frame; None for what is no whole UDP datagram over IPv4."""
    if len(octets) < _ETHERNET.size + _IP.size:
        return None
    target_mac, source_mac, kind = _ETHERNET.unpack_from(octets)
    first, _, length, _, fragment, _, protocol, _, source, target = _IP.unpack_from(octets, _ETHERNET.size)
    words = first & 0xF
    if kind != ETHERTYPE or first >> 4 != 4 or words < 5 or protocol != _UDP_PROTOCOL or fragment & _FRAGMENT:
        return None
    datagram = octets[_ETHERNET.size : _ETHERNET.size + length][words * 4 :]
    if len(datagram) < _UDP.size:
        return None
    source_port, target_port, size, _ = _UDP.unpack_from(datagram)
    if not _UDP.size <= size <= len(datagram):
        return None
    return UdpFrame(
        source_mac=source_mac,
        target_mac=target_mac,
        source=IPv4Address(source),
        target=IPv4Address(target),
        source_port=source_port,
        target_port=target_port,
        payload=datagram[_UDP.size : size],
    )


def is_sound(octets: bytes, *, summed: bool) -> bool:
    """Whether a kernel takes a frame that `decode` parses: nothing of it is missing, and the sums are right.

    Unless it is `summed`, UDP's is left to the card that sends it; a sender may also leave it out, with a zero (RFC 768).
    """
    (length,) = struct.unpack_from("!H", octets, _ETHERNET.size + 2)
    header = (octets[_ETHERNET.size] & 0xF) * 4
    packet = octets[_ETHERNET.size :][:length]
    if len(packet) < length or _checksum(packet[:header]):
        return False
    size, checksum = struct.unpack_from("!HH", packet, header + 4)
    if not summed or not checksum:
        return True
    pseudo = packet[12:20] + struct.pack("!HH", _UDP_PROTOCOL, size)
    return not _checksum(pseudo + packet[header : header + size] + bytes(size % 2))


def _checksum(header: bytes) -> int:
    total = sum(int.from_bytes(header[at : at + 2], "big") for at in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
