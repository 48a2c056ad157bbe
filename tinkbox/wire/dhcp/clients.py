"""Who asks by DHCP.  Pure; each quirk of a firmware is one commented place.

PXE: Intel's PXE 2.1 specification and RFC 4578.  HTTP boot: UEFI specification §24.7.
"""

from collections.abc import Set as AbstractSet
from typing import Final
from uuid import UUID

from tinkbox.model.boot import Asker, Client
from tinkbox.wire.dhcp.packets import NOWHERE, MessageType, Option, Packet, read_suboptions, shown
from tinkbox.wire.dhcp.relay_agent import relay_agent, relay_port

# Processor architectures in the IANA registry (RFC 4578 §2.1) of which we know what to do.
BIOS: Final = 0
KNOWN_ARCHITECTURES: Final[AbstractSet[int]] = frozenset({BIOS, 6, 7, 9, 11, 16, 19, 21, 22, 41})
_U_BOOT_ARCHITECTURES = (21, 22)
_RASPBERRY_PI_ARCHITECTURE = 41
# The vendors' prefixes under which Raspberry Pis are sold.
_RASPBERRY_PI_PREFIXES = ("b8:27:eb", "dc:a6:32", "e4:5f:01", "28:cd:c1", "d8:3a:dd", "2c:cf:67", "88:a2:9e")
_MAX_HOSTNAME = 253
_HTTPS = 20  # iPXE, features.h: DHCP_EB_FEATURE_HTTPS, one of the features that it names in option 175
_GUID_BYTES = 17


def identify(packet: Packet) -> Client:
    """Who asks; never fails, whatever the packet says."""
    agent = relay_agent(packet)
    architecture = _architecture(packet.options.get(Option.CLIENT_SYSTEM, b""))
    relay = packet.giaddr
    return Client(
        mac=packet.mac,
        asker=_asker(packet, architecture),
        https=_HTTPS in read_suboptions(packet.options.get(Option.ETHERBOOT, b"")),
        architecture=architecture,
        vendor_class=shown(packet.options.get(Option.CLASS_ID, b"")),
        hostname=shown(packet.options.get(Option.HOSTNAME, b""), _MAX_HOSTNAME),
        uuid=_uuid(packet.options.get(Option.CLIENT_GUID, b"")),
        # RFC 3527 §3: the link beats giaddr where the network is chosen; without a relay, nobody may say it.
        relay=agent.link if agent.link is not None and relay != NOWHERE else relay,
        circuit=agent.port,
        port=relay_port(packet) if agent.port else b"",
        client_id=packet.options.get(Option.CLIENT_ID, b"")[:255],
        wanted=packet.address(Option.ADDRESS_REQUEST) or (packet.ciaddr if packet.ciaddr != NOWHERE else None),
        # Whoever looks for an address has none, whatever it writes there (RFC 2131 §4.4.1).
        held=NOWHERE if packet.message_type is MessageType.DISCOVER else packet.ciaddr,
    )


def _asker(packet: Packet, architecture: int | None) -> Asker:
    vendor_class = packet.options.get(Option.CLASS_ID, b"")
    if b"iPXE" in _user_classes(packet.options.get(Option.USER_CLASS, b"")):
        return Asker.IPXE
    if vendor_class.startswith(b"HTTPClient"):
        return Asker.HTTP
    # U-Boot's EFI loader says PXEClient and the architecture of a UEFI, and is one.
    if vendor_class.startswith(b"U-Boot") or architecture in _U_BOOT_ARCHITECTURES:
        return Asker.U_BOOT
    if vendor_class.startswith(b"PXEClient"):
        return Asker.RASPBERRY_PI if _is_raspberry_pi(packet, architecture) else Asker.PXE
    return Asker.SYSTEM


def _is_raspberry_pi(packet: Packet, architecture: int | None) -> bool:
    """Its boot ROM says that it is a BIOS; what it is shows in its MAC, or in the GUID of newer ones (`RPi4`, …).

    UEFI or iPXE on a Raspberry Pi has the same MAC, and another architecture.
    """
    if architecture == _RASPBERRY_PI_ARCHITECTURE:
        return True
    guid = packet.options.get(Option.CLIENT_GUID, b"")
    return architecture == BIOS and (packet.mac.startswith(_RASPBERRY_PI_PREFIXES) or guid[1:4] == b"RPi")


def _uuid(value: bytes) -> str:
    """Option 97: a type, which is 0, and 16 bytes; those of all zeros or all ones are of a board that nobody gave one."""
    if len(value) != _GUID_BYTES or value[0] or value[1:] in (bytes(16), b"\xff" * 16):
        return ""
    return str(UUID(bytes=value[1:]))


def _architecture(value: bytes) -> int | None:
    """Option 93: of several values the first that we know."""
    values = [int.from_bytes(value[at : at + 2], "big") for at in range(0, len(value) - 1, 2)]
    return next((each for each in values if each in KNOWN_ARCHITECTURES), values[0] if values else None)


def _user_classes(value: bytes) -> list[bytes]:
    """Option 77: iPXE sends bare text, RFC 3004 §4 wants each class with its length before it."""
    classes, position = [value], 0
    while position < len(value):
        length = value[position]
        classes.append(value[position + 1 : position + 1 + length])
        position += 1 + length
    return classes
