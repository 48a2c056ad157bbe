"""What we were told about a machine: Tinkerbell's 2020 hardware document.

The document is kept as it was pushed; beside it stand the parsed interfaces, which is all that the
rest of the program looks at.  Field names follow Tinkerbell (`network.interfaces[].dhcp.mac`, …).
"""

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError
from typing import Any

from tinkbox.model.errors import Invalid, Problem

DEFAULT_LEASE_SECONDS = 86_400
MAX_TEXT_BYTES = 253
MAX_ADDRESSES = 8
_MAC = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\Z")


class MacAddress(str):
    """A hardware address, normalised when made: lower case, colons.

    Raises Invalid for anything that is not six octets.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> "MacAddress":
        lowered = text.strip().lower()
        if not _MAC.match(lowered):
            raise Invalid(f"invalid mac: {text[:40]!r} (expected six octets, like 08:00:27:00:00:01)")
        return super().__new__(cls, lowered.replace("-", ":"))

    @classmethod
    def from_bytes(cls, octets: bytes) -> "MacAddress":
        """Make one from the first six octets of a packet's `chaddr`."""
        return cls(octets[:6].hex(":"))

    @property
    def octets(self) -> bytes:
        """The six octets, as they stand on the wire."""
        return bytes.fromhex(self.replace(":", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """One network interface of a machine: its reservation and what it may boot."""

    mac: MacAddress
    address: IPv4Address | None = None
    netmask: IPv4Address | None = None
    gateway: IPv4Address | None = None
    hostname: str = ""
    domain_name: str = ""
    lease_seconds: int = DEFAULT_LEASE_SECONDS
    name_servers: tuple[IPv4Address, ...] = ()
    time_servers: tuple[IPv4Address, ...] = ()
    architecture: str = "x86_64"
    allow_pxe: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A machine, identified by `id` (a UUID, lower case), with at least one interface."""

    id: str
    interfaces: tuple[Interface, ...]
    document: Mapping[str, Any]

    def interface(self, address: str) -> Interface | None:
        """The interface that has this MAC or IPv4 address, or None."""
        for interface in self.interfaces:
            if address.lower() == interface.mac or address == str(interface.address):
                return interface
        return None


def parse_uuid(text: str) -> str:
    """Normalise a UUID; raises Invalid with Tinkerbell's words."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise Invalid(f"invalid uuid: {text[:60]}") from None


def parse_hardware(text: str | bytes) -> Hardware:
    """Read one hardware document; raises Invalid naming every problem in it."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"invalid json: {error}") from None
    if not isinstance(document, dict):
        raise Invalid("invalid json: a hardware document is an object with an id and a network")
    return hardware_from_document(document)


def hardware_from_document(document: Mapping[str, Any]) -> Hardware:
    """Check an already decoded document; raises Invalid naming every problem in it."""
    if not document.get("id"):
        raise Invalid("invalid json, ID is required: give the machine a uuid under the key id")
    identity = parse_uuid(str(document["id"]))
    problems: list[Problem] = []
    network = document.get("network")
    listed = network.get("interfaces") if isinstance(network, dict) else None
    if not isinstance(listed, list) or not listed:
        raise Invalid(
            "hardware without interfaces",
            [Problem(text="at least one interface is required", key="network.interfaces")],
        )
    interfaces = [_interface(entry, f"network.interfaces[{index}]", problems) for index, entry in enumerate(listed)]
    known = [interface for interface in interfaces if interface is not None]
    for index, interface in enumerate(known):
        if any(other.mac == interface.mac for other in known[:index]):
            problems.append(Problem(text=f"{interface.mac} is listed twice", key="network.interfaces"))
    if problems:
        raise Invalid(f"hardware {identity} has {len(problems)} problem(s)", problems)
    return Hardware(id=identity, interfaces=tuple(known), document=dict(document))


class _Reader:
    """Takes typed values out of one JSON object and notes what does not fit."""

    def __init__(self, entry: Any, key: str, problems: list[Problem]) -> None:
        self._entry = entry if isinstance(entry, dict) else {}
        self._key = key
        self._problems = problems
        if entry is not None and not isinstance(entry, dict):
            self.refuse("", "expected an object")

    def refuse(self, name: str, text: str) -> None:
        self._problems.append(Problem(text=text, key=f"{self._key}.{name}" if name else self._key))

    def inner(self, name: str) -> "_Reader":
        return _Reader(self._entry.get(name), f"{self._key}.{name}", self._problems)

    def text(self, name: str, default: str = "") -> str:
        value = self._entry.get(name)
        if value is None or value == "":
            return default
        if not isinstance(value, str):
            self.refuse(name, f"expected text, not {value!r}")
            return default
        # What goes into a DHCP option; JSON can also name halves of characters, which are no text.
        if len(value.encode(errors="replace")) > MAX_TEXT_BYTES or not value.isprintable():
            self.refuse(name, f"expected at most {MAX_TEXT_BYTES} bytes of printable text")
            return default
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self._entry.get(name, default)
        if not isinstance(value, bool):
            self.refuse(name, f"expected true or false, not {value!r}")
            return default
        return value

    def seconds(self, name: str, default: int) -> int:
        value = self._entry.get(name) or default
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**32:
            self.refuse(name, f"expected seconds between 1 and 4294967295, not {value!r}")
            return default
        return value

    def address(self, name: str) -> IPv4Address | None:
        value = self.text(name)
        if not value:
            return None
        try:
            return IPv4Address(value)
        except AddressValueError:
            self.refuse(name, f"invalid ip: {value!r}")
            return None

    def addresses(self, name: str) -> tuple[IPv4Address, ...]:
        values = self._entry.get(name) or []
        if not isinstance(values, list) or len(values) > MAX_ADDRESSES:
            self.refuse(name, f"expected a list of at most {MAX_ADDRESSES} addresses")
            return ()
        found = []
        for value in values:
            try:
                found.append(IPv4Address(str(value)))
            except AddressValueError:
                # Tinkerbell ignores what is no address here (names, IPv6); we say so.
                self.refuse(name, f"invalid ip: {value!r}")
        return tuple(found)


def _interface(entry: Any, key: str, problems: list[Problem]) -> Interface | None:
    dhcp = _Reader(entry, key, problems).inner("dhcp")
    netboot = _Reader(entry, key, problems).inner("netboot") if isinstance(entry, dict) else _Reader({}, key, problems)
    address = dhcp.inner("ip")
    ip, netmask, gateway = (address.address(name) for name in ("address", "netmask", "gateway"))
    if netmask is not None:
        try:
            IPv4Network(f"0.0.0.0/{netmask}")
        except NetmaskValueError:
            address.refuse("netmask", f"invalid netmask: {netmask}")
    if ip is not None and netmask is None:
        address.refuse("netmask", f"an address needs its netmask ({ip} has none)")
    hostname = dhcp.text("hostname")
    lease_seconds = dhcp.seconds("lease_time", DEFAULT_LEASE_SECONDS)
    name_servers, time_servers = dhcp.addresses("name_servers"), dhcp.addresses("time_servers")
    domain_name, architecture = dhcp.text("domain_name"), dhcp.text("arch", "x86_64")
    allow_pxe = netboot.flag("allow_pxe", default=True)
    # The address comes last: without it there is no interface, but every other problem is noted by now.
    try:
        mac = MacAddress(dhcp.text("mac"))
    except Invalid as error:
        dhcp.refuse("mac", str(error))
        return None
    return Interface(
        mac=mac,
        address=ip,
        netmask=netmask,
        gateway=gateway,
        hostname=hostname,
        domain_name=domain_name,
        lease_seconds=lease_seconds,
        name_servers=name_servers,
        time_servers=time_servers,
        architecture=architecture,
        allow_pxe=allow_pxe,
    )
