"""Who asks by DHCP, and what it is answered.  Pure; each firmware quirk is one commented place.

PXE: Intel's PXE 2.1 specification and RFC 4578.  HTTP boot: UEFI specification §24.7.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from tinkbox.model.boot import Boot, Client, Plan
from tinkbox.model.hardware import Interface
from tinkbox.wire.dhcp import BROADCAST_FLAG, NOWHERE, MessageType, Op, Option, Packet, suboptions

# RFC 4578 §2.1 with its errata: 7 is what x86-64 UEFI really sends, 9 what the text gives it.
# 6 is 32-bit UEFI, for which Debian builds no program: as in Tinkerbell it is given the 64-bit one,
# which firmware that merely misnames itself can run and the rest refuses.
PROGRAMS: Final[Mapping[int, str]] = {
    0: "undionly.kpxe",
    6: "ipxe.efi",
    7: "snponly.efi",
    9: "snponly.efi",
    16: "snponly.efi",
}

# PXE 2.1 §2.3, PXE_DISCOVERY_CONTROL bit 3: take the boot file from this offer, look for no boot server.
_NO_DISCOVERY: Final = suboptions({6: b"\x08"})
# iPXE's no-pxedhcp: do not wait for a proxyDHCP server.
_NO_PROXY: Final = suboptions({176: b"\x01"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BootService:
    """How machines reach us: our address and the node door's URL, without a trailing slash."""

    address: IPv4Address
    url: str

    def script_url(self, client: Client) -> str:
        """Where the machine's own boot script is."""
        return f"{self.url}/boot/{client.mac.replace(':', '-')}/script.ipxe"

    def loader_url(self, name: str) -> str:
        """Where a boot loader is for firmware that boots over HTTP."""
        return f"{self.url}/boot/loaders/{name}"


def identify(packet: Packet) -> Client:
    """Who asks."""
    vendor_class = packet.options.get(Option.CLASS_ID, b"")
    http = vendor_class.startswith(b"HTTPClient")
    ipxe = b"iPXE" in _user_classes(packet.options.get(Option.USER_CLASS, b""))
    return Client(
        mac=packet.mac,
        architecture=_architecture(packet.options.get(Option.CLIENT_SYSTEM, b"")),
        netboots=http or ipxe or vendor_class.startswith(b"PXEClient"),
        ipxe=ipxe,
        http=http and not ipxe,
    )


def answer(request: Packet, client: Client, plan: Plan, service: BootService) -> Packet | None:
    """What to answer to a machine for which there is a plan; None is silence (RFC 2131 §4.3)."""
    interface = plan.interface
    if interface.address is None:
        return None
    match request.message_type:
        case MessageType.DISCOVER:
            kind = MessageType.OFFER
        case MessageType.REQUEST:
            verdict = _verdict(request, interface.address, service.address)
            if verdict is None:
                return None
            kind = verdict
        case MessageType.INFORM:
            return _informed(request, interface, service) if request.ciaddr != NOWHERE else None
        case _:
            # A reservation has nothing to do on RELEASE; a DECLINE is the operator's to sort out.
            return None
    if kind is MessageType.NAK:
        return _refusal(request, service)
    boot = _boot(client, plan, service)
    if boot is None:
        return None
    return _granted(request, kind, interface, service, boot)


@dataclass(frozen=True, slots=True, kw_only=True)
class _BootAnswer:
    file: str = ""
    options: Mapping[int, bytes]


def _boot(client: Client, plan: Plan, service: BootService) -> _BootAnswer | None:
    """What of the answer is about booting; None when there is no program for this machine."""
    if plan.boot is Boot.NOTHING:
        return _BootAnswer(options={})
    if client.ipxe:
        # Known by its user class, iPXE gets its script: this ends the chain-loading loop.
        return _BootAnswer(file=service.script_url(client), options={Option.ETHERBOOT: _NO_PROXY})
    program = PROGRAMS.get(-1 if client.architecture is None else client.architecture)
    if program is None:
        return None
    if client.http:
        # UEFI §24.7.3.2: without this class the firmware ignores the offer.
        return _BootAnswer(file=service.loader_url(program), options={Option.CLASS_ID: b"HTTPClient"})
    return _BootAnswer(file=program, options={Option.CLASS_ID: b"PXEClient", Option.VENDOR_SPECIFIC: _NO_DISCOVERY})


def _verdict(request: Packet, reserved: IPv4Address, own: IPv4Address) -> MessageType | None:
    """ACK, NAK or silence to a REQUEST: RFC 2131 §4.3.2."""
    server, wanted = request.address(Option.SERVER_ID), request.address(Option.ADDRESS_REQUEST)
    if Option.SERVER_ID in request.options and server != own:
        return None  # it chose another server
    if wanted is None:
        wanted = request.ciaddr  # RENEWING and REBINDING
    if wanted == NOWHERE:
        return None
    return MessageType.ACK if wanted == reserved else MessageType.NAK


def _granted(
    request: Packet, kind: MessageType, interface: Interface, service: BootService, boot: _BootAnswer
) -> Packet:
    lease = interface.lease_seconds
    times: dict[int, int] = {
        Option.ADDRESS_TIME: lease,
        Option.RENEWAL_TIME: lease // 2,
        Option.REBINDING_TIME: lease * 7 // 8,
    }
    options: dict[int, bytes] = {Option.MESSAGE_TYPE: bytes((kind,)), Option.SERVER_ID: service.address.packed}
    options |= {code: seconds.to_bytes(4, "big") for code, seconds in times.items()}
    options |= _configuration(interface)
    options |= boot.options
    if boot.file:
        options[Option.SERVER_NAME] = str(service.address).encode()
        options[Option.BOOTFILE_NAME] = boot.file.encode()
    reply = _reply(request, options)
    return replace(
        reply,
        ciaddr=request.ciaddr if kind is MessageType.ACK else NOWHERE,
        yiaddr=interface.address or NOWHERE,
        siaddr=service.address if boot.file else NOWHERE,
        file=boot.file,
    )


def _informed(request: Packet, interface: Interface, service: BootService) -> Packet:
    """RFC 2131 §4.3.5: the configuration, without an address and without a lease."""
    head: dict[int, bytes] = {Option.MESSAGE_TYPE: bytes((MessageType.ACK,)), Option.SERVER_ID: service.address.packed}
    return replace(_reply(request, {**head, **_configuration(interface)}), ciaddr=request.ciaddr)


def _refusal(request: Packet, service: BootService) -> Packet:
    """RFC 2131 §4.3.2: through a relay with the broadcast bit set, for the machine has no usable address."""
    options: dict[int, bytes] = {
        Option.MESSAGE_TYPE: bytes((MessageType.NAK,)),
        Option.SERVER_ID: service.address.packed,
        Option.MESSAGE: b"this address is not reserved for you",
    }
    reply = _reply(request, options)
    return replace(reply, flags=reply.flags | BROADCAST_FLAG) if request.giaddr != NOWHERE else reply


def _reply(request: Packet, options: Mapping[int, bytes]) -> Packet:
    """The head of any reply.  What must come back does: RFC 6842 (61), RFC 3046 §2.2 (82), RFC 4578 §2.3 (97)."""
    mirrored = (Option.CLIENT_ID, Option.CLIENT_GUID, Option.RELAY_AGENT_INFORMATION)
    back: dict[int, bytes] = {code: request.options[code] for code in mirrored if code in request.options}
    return Packet(
        op=Op.REPLY,
        xid=request.xid,
        mac=request.mac,
        flags=request.flags,
        giaddr=request.giaddr,
        options={**options, **back},
    )


@lru_cache(maxsize=4096)  # half of what an answer costs, and the same for every packet of a machine
def _configuration(interface: Interface) -> Mapping[int, bytes]:
    options: dict[int, bytes] = {}
    if interface.netmask is not None:
        options[Option.SUBNET_MASK] = interface.netmask.packed
        if interface.address is not None:
            network = IPv4Network(f"{interface.address}/{interface.netmask}", strict=False)
            options[Option.BROADCAST_ADDRESS] = network.broadcast_address.packed
    if interface.gateway is not None:
        options[Option.ROUTER] = interface.gateway.packed
    lists: dict[int, tuple[IPv4Address, ...]] = {
        Option.DOMAIN_SERVER: interface.name_servers,
        Option.NTP_SERVERS: interface.time_servers,
    }
    options |= {code: b"".join(each.packed for each in addresses) for code, addresses in lists.items() if addresses}
    texts: dict[int, str] = {Option.HOSTNAME: interface.hostname, Option.DOMAIN_NAME: interface.domain_name}
    options |= {code: text.encode() for code, text in texts.items() if text}
    return options


def _architecture(value: bytes) -> int | None:
    """Option 93: of several values the first that we have a program for."""
    values = [int.from_bytes(value[at : at + 2], "big") for at in range(0, len(value) - 1, 2)]
    return next((each for each in values if each in PROGRAMS), values[0] if values else None)


def _user_classes(value: bytes) -> list[bytes]:
    """Option 77: iPXE sends bare text, RFC 3004 §4 wants each class with its length before it."""
    classes, position = [value], 0
    while position < len(value):
        length = value[position]
        classes.append(value[position + 1 : position + 1 + length])
        position += 1 + length
    return classes
