"""What a machine that asks by DHCP is answered.  Pure; each firmware quirk is one commented place.

PXE: Intel's PXE 2.1 specification and RFC 4578.  HTTP boot: UEFI specification §24.7.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from ipaddress import AddressValueError, IPv4Address
from typing import Final

from tinkbox.model.boot import Asker, Boot, Client, Loader, Plan, Silence
from tinkbox.model.firmware_traits import LocalBoot
from tinkbox.model.hardware import Interface
from tinkbox.wire.boot_scripts.ipxe import MACHINE_FACTS
from tinkbox.wire.dhcp.network_options import network_options
from tinkbox.wire.dhcp.packets import (
    BROADCAST_FLAG,
    NOWHERE,
    MessageType,
    Op,
    Option,
    Packet,
    read_suboptions,
    suboptions,
)
from tinkbox.wire.dhcp.relay_agent import relay_agent

# RFC 4578 §2.1 with its errata: 7 is what x86-64 UEFI really sends, 9 what the text gives it.
# 6 is 32-bit UEFI, for which Debian builds no program: as in Tinkerbell it is given the 64-bit one,
# which firmware that merely misnames itself can run and the rest refuses.  16 and 19 boot over HTTP.
PROGRAMS: Final[Mapping[int, str]] = {
    0: "undionly.kpxe",
    6: "ipxe.efi",
    7: "snponly.efi",
    9: "snponly.efi",
    11: "ipxe-arm64.efi",
    16: "snponly.efi",
    19: "ipxe-arm64.efi",
}
# Programs of one number run on the same firmware.
_FAMILY: Final[Mapping[str, int]] = {"undionly.kpxe": 0, "ipxe.efi": 1, "snponly.efi": 1, "ipxe-arm64.efi": 2}
# What an iPXE without HTTPS is given in place of it, as that of a card: a program that works by its own drivers, for under
# snponly.efi that card's go on, and iPXE's of 2019 for virtio crashes then when much comes by HTTPS.
_FOR_IPXE: Final[Mapping[int, str]] = {**PROGRAMS, **dict.fromkeys((7, 9), "ipxe.efi")}
# What firmware with Secure Boot takes: Debian's shim, which then asks for GRUB by itself.
# Over HTTP there is none: that GRUB knows TFTP only.
SIGNED_PROGRAMS: Final[Mapping[int, str]] = dict.fromkeys((7, 9), "shimx64.efi")

# PXE 2.1 §2.4, PXE_DISCOVERY_CONTROL bit 3: take the boot file from this offer, look for no boot server.
_NO_DISCOVERY: Final[Mapping[int, bytes]] = {6: b"\x08"}
# The Raspberry Pi's boot ROM takes an offer only when one entry of its boot menu has this very name.
_RASPBERRY_PI_MENU: Final[Mapping[int, bytes]] = {9: b"\0\0\x11Raspberry Pi Boot", 10: b"\0PXE"}
_VLAN: Final = 116  # of Tinkerbell's proposal 0030: the VLAN's number, as text
_BOOT_ITEM: Final = 71
# iPXE's no-pxedhcp: do not wait for a proxyDHCP server.
_NO_PROXY: Final = suboptions({176: b"\x01"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BootService:
    """How machines reach us: our address and the node door's URL, without a trailing slash.

    `https_url` is the same of its TLS port, for machines that boot by HTTPS alone.  With `proxy` another server on the network
    gives the addresses.  `syslog` is where machines may log to.
    """

    address: IPv4Address
    url: str
    https_url: str = ""
    proxy: bool = False
    syslog: IPv4Address | None = None

    def script_url(self, client: Client, *, https: bool = False) -> str:
        """Where the machine's own boot script is; iPXE puts in what it is asked for (its settings in a file name)."""
        return f"{self._base(https=https)}/boot/{client.mac.replace(':', '-')}/script.ipxe{MACHINE_FACTS}"

    def loader_url(self, name: str, *, https: bool = False) -> str:
        """Where a boot loader is for firmware that boots over HTTP."""
        return f"{self._base(https=https)}/boot/loaders/{name}"

    def _base(self, *, https: bool) -> str:
        return self.https_url if https and self.https_url else self.url


def answer(request: Packet, client: Client, plan: Plan, service: BootService) -> Packet | Silence:
    """What to answer on port 67 to a machine for which there is a plan."""
    if service.proxy:
        return _answer_beside(request, client, plan, service)
    interface = plan.interface
    if interface.address is None:
        return Silence.NO_ADDRESS
    kind = _kind(request, interface.address, service)
    if isinstance(kind, Silence):
        return kind
    if request.message_type is MessageType.INFORM:
        return _informed(request, interface, service)
    if kind is MessageType.NAK:
        return refusal(request, service)
    boot = _boot(client, plan, service, request)
    if isinstance(boot, Silence):
        return boot
    return _granted(request, client, kind, interface, service, boot)


def answer_boot_server(request: Packet, client: Client, plan: Plan, service: BootService) -> Packet | Silence:
    """What to answer on port 4011 (PXE 2.1 §2.2.3): the boot file, and no word about addresses."""
    if request.message_type not in (MessageType.REQUEST, MessageType.INFORM):
        return Silence.NOTHING_TO_SAY
    return _boot_only(request, client, plan, service, MessageType.ACK)


def refusal(request: Packet, service: BootService, why: str = "this address is not reserved for you") -> Packet:
    """RFC 2131 §4.3.2: through a relay with the broadcast bit set, for the machine has no usable address."""
    options: dict[int, bytes] = {**_head(request, MessageType.NAK, service), Option.MESSAGE: why.encode()}
    reply = _reply(request, options)
    return replace(reply, flags=reply.flags | BROADCAST_FLAG) if request.giaddr != NOWHERE else reply


def is_for(request: Packet, service: BootService) -> bool:
    """Whether the machine that sent it means us: a relay may have it take itself for the server (RFC 5107)."""
    return request.address(Option.SERVER_ID) in (service.address, _server_id(request, service))


def _kind(request: Packet, granted: IPv4Address, service: BootService) -> MessageType | Silence:
    match request.message_type:
        case MessageType.DISCOVER:
            return MessageType.OFFER
        case MessageType.REQUEST:
            return _verdict(request, granted, service)
        case MessageType.INFORM if request.ciaddr != NOWHERE:
            return MessageType.ACK
        case _:
            return Silence.NOTHING_TO_SAY


def _verdict(request: Packet, granted: IPv4Address, service: BootService) -> MessageType | Silence:
    """ACK, NAK or silence to a REQUEST: RFC 2131 §4.3.2."""
    if Option.SERVER_ID in request.options and not is_for(request, service):
        return Silence.OTHER_SERVER
    wanted = request.address(Option.ADDRESS_REQUEST)
    if wanted is None:
        wanted = request.ciaddr  # RENEWING and REBINDING
    if wanted == NOWHERE:
        return Silence.NOTHING_TO_SAY
    return MessageType.ACK if wanted == granted else MessageType.NAK


def _answer_beside(request: Packet, client: Client, plan: Plan, service: BootService) -> Packet | Silence:
    """As a proxyDHCP server (PXE 2.1 §2.2.2), which refuses nothing: addresses are another server's."""
    match request.message_type:
        case MessageType.DISCOVER:
            return _boot_only(request, client, plan, service, MessageType.OFFER)
        case MessageType.REQUEST if is_for(request, service):
            return _boot_only(request, client, plan, service, MessageType.ACK)
        case MessageType.REQUEST if Option.SERVER_ID in request.options:
            return Silence.OTHER_SERVER
        case _:
            return Silence.NOTHING_TO_SAY


@dataclass(frozen=True, slots=True, kw_only=True)
class _BootAnswer:
    """What of an answer is about booting: a machine that knows its file's name needs the `next_server` only.

    `elsewhere` is another boot server, by its name or address; empty: one of which the machine knows itself.
    """

    file: str = ""
    next_server: bool = False
    options: Mapping[int, bytes] = field(default_factory=dict)
    elsewhere: str | None = None

    def server(self, service: BootService) -> IPv4Address:
        """Where its files are: the header's `siaddr`."""
        if self.elsewhere is not None:
            with suppress(AddressValueError):
                return IPv4Address(self.elsewhere)
            return NOWHERE
        return service.address if self.file or self.next_server else NOWHERE


def _boot(client: Client, plan: Plan, service: BootService, request: Packet) -> _BootAnswer | Silence:
    if plan.interface.netboot.elsewhere:
        own = plan.interface.netboot
        # A proxy's offer is one only of who says that it is a PXE server (PXE 2.1 §2.2.2).
        proxied = _pxe(suboptions(_NO_DISCOVERY)) if service.proxy else {}
        return _BootAnswer(file=own.file, options=proxied, elsewhere=own.server_name)
    if plan.boot is Boot.NOTHING or client.asker is Asker.SYSTEM:
        return _BootAnswer()
    if plan.boot is Boot.LOCAL_DISK and plan.local_boot is LocalBoot.NO_FILE:
        return _BootAnswer()
    vlan = {_VLAN: str(plan.interface.vlan_id).encode()} if plan.interface.vlan_id is not None else {}
    match client.asker:
        case Asker.IPXE if not plan.https or client.https:
            return _script(client, plan, service, vlan)
        case Asker.U_BOOT:
            return _u_boot(client, request)
        case Asker.RASPBERRY_PI:
            vendor = suboptions({**_NO_DISCOVERY, **_RASPBERRY_PI_MENU})
            return _BootAnswer(next_server=True, options=_pxe(vendor))
    program = _program(client, plan)
    if program is None:
        return Silence.NO_PROGRAM
    if client.asker is Asker.HTTP:
        # UEFI §24.7.3.2: without this class the firmware ignores the offer.
        return _BootAnswer(file=service.loader_url(program, https=plan.https), options={Option.CLASS_ID: b"HTTPClient"})
    return _BootAnswer(file=program, options=_pxe(suboptions({**_NO_DISCOVERY, **vlan})))


def _script(client: Client, plan: Plan, service: BootService, vlan: Mapping[int, bytes]) -> _BootAnswer:
    """Known by its user class, iPXE gets its script: this ends the chain-loading loop.

    One without HTTPS, as in the ROM of a card, gets ours, where the machine boots by HTTPS alone.
    """
    if service.proxy:
        # iPXE takes an offer without an address only from who says that it is a PXE server.
        options = _pxe(suboptions({**_NO_DISCOVERY, **vlan}))
    else:
        options = {Option.ETHERBOOT: _NO_PROXY}
        if vlan:
            options[Option.VENDOR_SPECIFIC] = suboptions(vlan)
    return _BootAnswer(file=service.script_url(client, https=plan.https), options=options)


def _u_boot(client: Client, request: Packet) -> _BootAnswer:
    """`pxe get` looks for pxelinux.cfg/01-MAC by itself, after its UUID's; who asks is told where (RFC 5071 §5)."""
    config = f"pxelinux.cfg/01-{client.mac.replace(':', '-')}".encode()
    asked = request.asks_for(Option.PXELINUX_CONFIG)
    return _BootAnswer(next_server=True, options={Option.PXELINUX_CONFIG: config} if asked else {})


def _program(client: Client, plan: Plan) -> str | None:
    if client.architecture is None:
        return None
    programs = _FOR_IPXE if client.asker is Asker.IPXE else PROGRAMS
    program = _chosen(programs.get(client.architecture), plan.interface.netboot.program)
    if plan.loader is Loader.GRUB:
        return None if client.asker is Asker.HTTP else SIGNED_PROGRAMS.get(client.architecture, program)
    return program


def _chosen(own: str | None, wanted: str) -> str | None:
    """The one of two programs that the hardware document names, where that runs where our `own` does."""
    return wanted if wanted and (own is None or _FAMILY[wanted] == _FAMILY[own]) else own


def _pxe(vendor: bytes) -> dict[int, bytes]:
    return {Option.CLASS_ID: b"PXEClient", Option.VENDOR_SPECIFIC: vendor}


def _granted(
    request: Packet, client: Client, kind: MessageType, interface: Interface, service: BootService, boot: _BootAnswer
) -> Packet:
    lease = interface.lease_seconds
    times: dict[int, int] = {
        Option.ADDRESS_TIME: lease,
        Option.RENEWAL_TIME: lease // 2,
        Option.REBINDING_TIME: lease * 7 // 8,
    }
    options: dict[int, bytes] = _head(request, kind, service)
    options |= {code: seconds.to_bytes(4, "big") for code, seconds in times.items()}
    options |= _configuration(request, interface)
    options |= _boot_options(client, service, boot)
    return _reply(
        request,
        options,
        ciaddr=request.ciaddr if kind is MessageType.ACK else NOWHERE,
        yiaddr=interface.address or NOWHERE,
        siaddr=boot.server(service),
        file=boot.file,
    )


def _boot_only(
    request: Packet, client: Client, plan: Plan, service: BootService, kind: MessageType
) -> Packet | Silence:
    boot = _boot(client, plan, service, request)
    if isinstance(boot, Silence):
        return boot
    if not boot.file and not boot.next_server and not boot.elsewhere:
        return Silence.NOTHING_TO_SAY
    options = {**_head(request, kind, service), **_boot_options(client, service, boot)}
    item = read_suboptions(request.options.get(Option.VENDOR_SPECIFIC, b"")).get(_BOOT_ITEM)
    if item is not None:
        # PXE 2.1 §2.2.4: a client that chose from a menu takes only the answer that is about its choice.
        own = read_suboptions(options.get(Option.VENDOR_SPECIFIC, b""))
        options[Option.VENDOR_SPECIFIC] = suboptions({**own, _BOOT_ITEM: item})
    ciaddr = request.ciaddr if kind is MessageType.ACK else NOWHERE
    return _reply(request, options, ciaddr=ciaddr, siaddr=boot.server(service), file=boot.file)


def _informed(request: Packet, interface: Interface, service: BootService) -> Packet:
    """RFC 2131 §4.3.5: the configuration, without an address and without a lease."""
    options = {**_head(request, MessageType.ACK, service), **_configuration(request, interface)}
    return _reply(request, options, ciaddr=request.ciaddr)


def _configuration(request: Packet, interface: Interface) -> Mapping[int, bytes]:
    return network_options(interface, asks_for_routes=request.asks_for(Option.CLASSLESS_ROUTES))


def _boot_options(client: Client, service: BootService, boot: _BootAnswer) -> dict[int, bytes]:
    options = dict(boot.options)
    if boot.elsewhere:
        options[Option.SERVER_NAME] = boot.elsewhere.encode()
    elif boot.elsewhere is None and (boot.file or boot.next_server):
        options[Option.SERVER_NAME] = str(service.address).encode()
    if boot.file:
        options[Option.BOOTFILE_NAME] = boot.file.encode()
    if client.netboots and service.syslog is not None:
        options[Option.LOG_SERVER] = service.syslog.packed
    return options


def _server_id(request: Packet, service: BootService) -> IPv4Address:
    """Who we say we are; RFC 5107 §4: what the relay wants, so that renewals pass through it as well."""
    return relay_agent(request).server or service.address


def _head(request: Packet, kind: MessageType, service: BootService) -> dict[int, bytes]:
    return {Option.MESSAGE_TYPE: bytes((kind,)), Option.SERVER_ID: _server_id(request, service).packed}


def _reply(
    request: Packet,
    options: Mapping[int, bytes],
    *,
    ciaddr: IPv4Address = NOWHERE,
    yiaddr: IPv4Address = NOWHERE,
    siaddr: IPv4Address = NOWHERE,
    file: str = "",
) -> Packet:
    """What any reply has.  What must come back does: RFC 6842 (61), RFC 3046 §2.2 (82), RFC 4578 §2.3 (97)."""
    mirrored = (Option.CLIENT_ID, Option.CLIENT_GUID, Option.RELAY_AGENT_INFORMATION)
    back: dict[int, bytes] = {code: request.options[code] for code in mirrored if code in request.options}
    return Packet(
        op=Op.REPLY,
        xid=request.xid,
        mac=request.mac,
        flags=request.flags,
        ciaddr=ciaddr,
        yiaddr=yiaddr,
        siaddr=siaddr,
        giaddr=request.giaddr,
        file=file,
        options={**options, **back},
    )
