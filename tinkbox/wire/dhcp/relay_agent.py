"""What a relay adds to a machine's DHCP packet: option 82 (RFC 3046, RFC 3527, RFC 5107)."""

from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address

from tinkbox.wire.dhcp.packets import NOWHERE, Option, Packet, read_suboptions, shown


class RelayOption(IntEnum):
    """Suboptions of option 82 that we read."""

    CIRCUIT_ID = 1
    REMOTE_ID = 2
    LINK_SELECTION = 5
    SERVER_ID_OVERRIDE = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayAgent:
    """`circuit` and `remote` as they came; `link` lies in the machine's network; the machine is to take us for `server`."""

    circuit: bytes = b""
    remote: bytes = b""
    link: IPv4Address | None = None
    server: IPv4Address | None = None

    @property
    def port(self) -> str:
        """Where the machine is plugged in, for people; empty when the relay does not say."""
        circuit, remote = _shown(self.circuit), _shown(self.remote)
        return f"{circuit} of {remote}" if circuit and remote else circuit or remote


_NOTHING = RelayAgent()


def relay_agent(packet: Packet) -> RelayAgent:
    """What the relay says; nothing, when there is none or it says nothing."""
    said = packet.options.get(Option.RELAY_AGENT_INFORMATION)
    if not said:
        return _NOTHING
    options = read_suboptions(said)
    return RelayAgent(
        circuit=options.get(RelayOption.CIRCUIT_ID, b""),
        remote=options.get(RelayOption.REMOTE_ID, b""),
        link=_address(options.get(RelayOption.LINK_SELECTION, b"")),
        server=_address(options.get(RelayOption.SERVER_ID_OVERRIDE, b"")),
    )


def relay_port(packet: Packet) -> bytes:
    """Where a packet came in, as far as a relay says: the relay, and what it calls the port; empty on the link itself."""
    if packet.giaddr == NOWHERE:
        return b""
    agent = relay_agent(packet)
    return packet.giaddr.packed + bytes([len(agent.circuit)]) + agent.circuit + agent.remote


def _address(value: bytes) -> IPv4Address | None:
    return IPv4Address(value) if len(value) == 4 and any(value) else None


def _shown(value: bytes) -> str:
    """Some switches write text, others numbers in a layout of their own."""
    text = shown(value)
    return text if text.isascii() and len(text) == min(len(value), 64) else f"0x{value[:32].hex()}"
