"""Who else answers DHCP: asked by a DISCOVER of our own, in the name of a machine that does not exist.

It is sent and heard below the kernel's UDP: so it needs no port that a DHCP client of this host may hold, our own
server does not hear it, and the answer shows the hardware address it came from.
"""

import asyncio
import errno
import socket
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Final

from tinkbox.boot.dhcp.other_appliances import Asker, answer_to, asker_of, own_macs
from tinkbox.boot.network import packet_filter
from tinkbox.model.diagnosis import Heard, Rival
from tinkbox.model.errors import Unavailable
from tinkbox.model.hardware import MacAddress
from tinkbox.model.text import printable
from tinkbox.wire.dhcp.packets import (
    BROADCAST_FLAG,
    CLIENT_PORT,
    EVERYBODY,
    NOWHERE,
    SERVER_PORT,
    MalformedPacket,
    MessageType,
    Op,
    Option,
    Packet,
    decode,
    encode,
)
from tinkbox.wire.dhcp.udp_frames import ETHERTYPE, UdpFrame
from tinkbox.wire.dhcp.udp_frames import decode as decode_frame
from tinkbox.wire.dhcp.udp_frames import encode as encode_frame

# dnsmasq looks for three seconds whether an address is free before it offers it.
LISTEN_SECONDS: Final = 5.0
_ASK_AGAIN = 1.0
_MAX_FRAME = 4096
_PXE: Final = b"PXEClient"
_MAX_RIVALS = 32
_MAX_ALIKE = 4
_PARAMETERS = 55  # RFC 2132 §9.8
_WANTED = bytes((1, 3, 6, 15, 43, 54, 60, 66, 67))
# x86-64 UEFI: what most machines say today, so that a server with classes shows what it would boot.
_ARCHITECTURE = 7
_OF_IPXE: Final[Mapping[int, bytes]] = {
    Option.USER_CLASS: b"iPXE",
    # What it can do (HTTP, TFTP, DNS, EFI), and its version.
    Option.ETHERBOOT: bytes.fromhex("130101 150101 170101 240101 eb03011501"),
}
# IPv4 UDP, whole: to port 68, and replies to port 67.  In a storm of boots we are not to copy every frame there is.
_ANSWERS = (
    (0x30, 0, 0, 23),  # ldb [23]: protocol
    (0x15, 0, 9, 17),  # UDP, or drop
    (0x28, 0, 0, 20),  # ldh [20]: fragment
    (0x45, 7, 0, 0x1FFF),  # not the first: drop
    (0xB1, 0, 0, 14),  # ldx: length of the IP header
    (0x48, 0, 0, 16),  # ldh [x + 16]: destination port
    (0x15, 3, 0, CLIENT_PORT),
    (0x15, 0, 3, SERVER_PORT),
    (0x50, 0, 0, 22),  # ldb [x + 22]: what DHCP begins with
    (0x15, 0, 1, Op.REPLY),
    (0x06, 0, 0, 0x40000),  # keep
    (0x06, 0, 0, 0),  # drop
)


async def rivals(
    interface: str,
    identity: bytes,
    seconds: float = LISTEN_SECONDS,
    *,
    address: IPv4Address | None = None,
    hear: Callable[[Asker, str], object] = lambda *_: None,
) -> tuple[Rival, ...]:
    """The DHCP servers that answer on an interface within some `seconds`, each once.

    `identity` is five random octets or more: the end of the invented hardware address, and the transaction's number.  With
    `address`, our own there, other appliances see who asks (`other_appliances`), and the invented one is always the same; what they
    answer goes to `hear`.  Once a server names a boot file, it is asked as iPXE as well, which that file may be.
    Raises Unavailable where it cannot be asked there: the interface is gone or down, or there is no right.
    """
    found: dict[tuple[IPv4Address, str, bool], Rival] = {}
    with _listening(interface) as asking:
        own, ours = asking.getsockname()[4], own_macs()
        asker = None if address is None else Asker(mac=MacAddress.from_bytes(own), address=address)
        question = discover(identity, asker)
        as_ipxe = of_ipxe(question)
        questions = [question]
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (now := loop.time()) < end:
            try:
                for each in questions:
                    await loop.sock_sendall(asking, _broadcast(own, each))
                async with asyncio.timeout_at(min(now + _ASK_AGAIN, end)):
                    while True:
                        octets = await loop.sock_recv(asking, _MAX_FRAME)
                        if (other := read_answer_in_kind(octets, question)) is not None:
                            hear(other, interface)
                        if (offer := read_offer(octets, as_ipxe, interface)) is not None and _who(offer) in found:
                            found[_who(offer)] = replace(found[_who(offer)], ipxe_file=offer.boot_file)
                        rival = read_offer(octets, question, interface)
                        if rival is not None and _has_room(found.values(), rival):
                            found.setdefault(_who(rival), replace(rival, looped=rival.mac in ours))
                            if rival.boot_file and as_ipxe not in questions:
                                # Not before: some servers take seconds to see whether an address is free, once.
                                questions.append(as_ipxe)
                                await loop.sock_sendall(asking, _broadcast(own, as_ipxe))
                        await asyncio.sleep(
                            0
                        )  # what is there already comes without waiting, and a flood would stop all else
            except TimeoutError:
                continue
            except OSError as error:
                raise _cannot_ask(error) from None
    return tuple(found.values())


def _who(rival: Rival) -> tuple[IPv4Address, str, bool]:
    """What tells a server from the others."""
    return rival.server, rival.mac, rival.offered is None


def _has_room(found: Collection[Rival], rival: Rival) -> bool:
    """Whether one more is kept: of one MAC, and of those that no server can be, a few, so that no real one is crowded out by them."""
    if sum(each.mac == rival.mac for each in found) >= _MAX_ALIKE:
        return False
    alike = sum(each.impossible == rival.impossible for each in found)
    return alike < (_MAX_ALIKE if rival.impossible else _MAX_RIVALS)


async def other_servers_on(
    interfaces: Iterable[str],
    identity: Callable[[], bytes],
    seconds: float = LISTEN_SECONDS,
    *,
    addresses: Mapping[str, IPv4Address] | None = None,
    hear: Callable[[Asker, str], object] = lambda *_: None,
) -> Heard:
    """Those on several interfaces, asked at the same time; `addresses` are our own there, and `hear` is told of other appliances.

    Raises Unavailable where it could be asked on none of them.
    """
    names = [*interfaces]
    async with asyncio.TaskGroup() as group:
        asked = [
            group.create_task(_answered(each, identity(), seconds, (addresses or {}).get(each), hear)) for each in names
        ]
    answers = [each.result() for each in asked]
    refused = {name: str(each) for name, each in zip(names, answers, strict=True) if isinstance(each, Unavailable)}
    reasons = {why: [name for name in refused if refused[name] == why] for why in refused.values()}
    unasked = "; ".join(f"on {', '.join(those)}: {why}" for why, those in reasons.items())
    if refused and len(refused) == len(names):
        raise Unavailable(unasked)
    rivals_heard = tuple(rival for answer in answers if not isinstance(answer, Unavailable) for rival in answer)
    return Heard(rivals=rivals_heard, unasked=unasked)


async def _answered(
    interface: str,
    identity: bytes,
    seconds: float,
    address: IPv4Address | None,
    hear: Callable[[Asker, str], object],
) -> tuple[Rival, ...] | Unavailable:
    try:
        return await rivals(interface, identity, seconds, address=address, hear=hear)
    except Unavailable as refusal:
        return refusal  # raised in a group, it would come out wrapped


def answer_in_kind(interface: str, question: Packet, address: IPv4Address) -> None:
    """Tell the appliance that asked of ours, which has `address` there.  Raises OSError.

    It is sent as our own question is: of two appliances with one address, each drops what UDP would send in the other's name.
    """
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as telling:
        telling.bind((interface, 0))
        own = telling.getsockname()[4]
        telling.send(_broadcast(own, answer_to(question, Asker(mac=MacAddress.from_bytes(own), address=address))))


def discover(identity: bytes, asker: Asker | None = None) -> Packet:
    """The question of an invented machine that would boot from the network; of an `asker`, which it names, always the same one."""
    if asker is None:
        mac = MacAddress.from_bytes(b"\x02" + identity[:5])  # locally administered: no machine was made with it
    else:
        own = asker.mac.octets
        mac = MacAddress.from_bytes((b"\x06" if own[0] == 2 else b"\x02") + own[1:])
    return Packet(
        op=Op.REQUEST,
        xid=number_of(identity),
        mac=mac,
        # Nobody has the address that is offered: the answer must come to everybody.
        flags=BROADCAST_FLAG,
        options={
            Option.MESSAGE_TYPE: bytes((MessageType.DISCOVER,)),
            _PARAMETERS: _WANTED,
            Option.CLASS_ID: b"PXEClient:Arch:00007:UNDI:003016",
            Option.CLIENT_SYSTEM: _ARCHITECTURE.to_bytes(2, "big"),
            94: b"\x01\x03\x10",  # RFC 4578 §2.2: UNDI 3.16
            Option.CLIENT_GUID: asker.identifier if asker else b"\0" + mac.octets.rjust(16, b"\0"),
        },
    )


def of_ipxe(question: Packet) -> Packet:
    """What the same machine would ask when iPXE runs there, by a number of its own."""
    return replace(question, xid=question.xid ^ 1, options={**question.options, **_OF_IPXE})


def number_of(identity: bytes) -> int:
    """The number of the question that is asked with this identity."""
    return int.from_bytes(identity[-4:], "big")


def read_answer_in_kind(octets: bytes, question: Packet) -> Asker | None:
    """Which appliance answers our question by this frame, None when none does."""
    frame = decode_frame(octets)
    if frame is None or frame.target_port != SERVER_PORT:
        return None
    try:
        answer = decode(frame.payload)
    except MalformedPacket:
        return None
    return asker_of(answer) if (answer.op, answer.xid) == (Op.REPLY, question.xid) else None


def read_offer(octets: bytes, question: Packet, interface: str) -> Rival | None:
    """Who sent this frame, None when it is no offer to our question."""
    frame = decode_frame(octets)
    if frame is None or frame.source_port != SERVER_PORT:
        return None
    try:
        offer = decode(frame.payload)
    except MalformedPacket:
        return None
    if (offer.op, offer.message_type) != (Op.REPLY, MessageType.OFFER):
        return None
    if (offer.xid, offer.mac) != (question.xid, question.mac):
        return None
    file = offer.options.get(Option.BOOTFILE_NAME, b"").split(b"\0")[0].decode("ascii", "replace") or offer.file
    return Rival(
        interface=interface,
        server=offer.address(Option.SERVER_ID) or frame.source,
        mac=MacAddress.from_bytes(frame.source_mac),
        offered=offer.yiaddr if offer.yiaddr != NOWHERE else None,
        boot_file=printable(file),
        next_server=offer.siaddr if offer.siaddr != NOWHERE else None,
        pxe=_is_pxe(offer),
    )


def _is_pxe(offer: Packet) -> bool:
    """Whether the server says that firmware is to boot by it (PXE 2.1 §2.2.3): it may name the file only when asked on port 4011."""
    return offer.options.get(Option.CLASS_ID, b"")[: len(_PXE)] == _PXE


def _broadcast(own: bytes, question: Packet) -> bytes:
    # The frame comes from the interface's true address: a switch that guards its ports shuts one with an invented one.
    return encode_frame(
        UdpFrame(
            source_mac=own,
            target_mac=b"\xff" * 6,
            source=NOWHERE,
            target=EVERYBODY,
            source_port=CLIENT_PORT,
            target_port=SERVER_PORT,
            payload=encode(question),
        )
    )


def _listening(interface: str) -> socket.socket:
    try:
        listening = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    except PermissionError:
        raise Unavailable("no right to ask who else answers DHCP: run as root, or with CAP_NET_RAW") from None
    try:
        # Filtered first, bound then: nothing unasked is heard in between.
        packet_filter.attach(listening, _ANSWERS)
        listening.bind((interface, ETHERTYPE))
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise _cannot_ask(error) from None
    return listening


def _cannot_ask(error: OSError) -> Unavailable:
    """Why it cannot be asked on an interface, in a few words."""
    if error.errno == errno.ENETDOWN:
        return Unavailable("the interface is down")
    if error.errno in (errno.ENODEV, errno.ENXIO):
        return Unavailable("the interface is gone")
    return Unavailable(f"the kernel says {error.strerror}")
