"""What we were told about a machine: Tinkerbell's hardware document of 2020, or today's `kind: Hardware`.

The document is kept as it was pushed; beside it stand the parsed interfaces, which is all that the rest of the program
looks at.  Field names follow Tinkerbell (`network.interfaces[].dhcp.mac`, `spec.interfaces[].dhcp.mac`, …).
"""

import json
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError
from typing import Any

from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.json_text import read_document
from tinkbox.model.kubernetes import DEFAULT_NAMESPACE, identity
from tinkbox.model.labels import Labels, parse_labels
from tinkbox.model.names import check_name, check_namespace
from tinkbox.model.text import can_be_shown, counted, spelled

DEFAULT_LEASE_SECONDS = 86_400
DEFAULT_ARCHITECTURE = "x86_64"
MAX_TEXT_BYTES = 253
MAX_ADDRESSES = 8
MAX_ROUTES = 16
MAX_VLAN = 4094
# Of a machine that somebody registers: servers have a dozen, with the VLANs and functions of their cards some dozens.
MAX_INTERFACES = 128
# Of a machine that was renamed: its id, which its workflows and its sightings know.
ID_ANNOTATION = "tinkbox.internal/id"
# As documents have it, as Windows, as switches, and as UEFI's boot menu.
_MAC = re.compile(r"(?:(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}|[0-9a-f]{12})\Z")


class MacAddress(str):
    """A hardware address, normalised when made: lower case, colons.

    Raises Invalid for anything that is not six octets.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> "MacAddress":
        lowered = text.strip().lower()
        if not _MAC.match(lowered):
            raise Invalid(f"invalid mac: {text[:40]!r} (expected six octets, like 08:00:27:00:00:01)")
        return super().__new__(cls, bytes.fromhex(re.sub("[:.-]", "", lowered)).hex(":"))

    @classmethod
    def from_bytes(cls, octets: bytes) -> "MacAddress":
        """Make one from the first six octets of a packet's `chaddr`."""
        # Of every packet that is heard, so without a look at what cannot be otherwise.
        return super().__new__(cls, octets[:6].hex(":")) if len(octets) >= 6 else cls(octets.hex(":"))

    @property
    def octets(self) -> bytes:
        """The six octets, as they stand on the wire."""
        return bytes.fromhex(self.replace(":", ""))


def check_card(mac: MacAddress) -> MacAddress:
    """The same MAC; raises Invalid for one that no network card has (IEEE 802: a group's, or none)."""
    if mac.octets[0] & 1 or not any(mac.octets):
        raise Invalid(f"invalid mac: {mac} is the address of no network card: give the one on its label")
    return mac


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How to reach a network that is not one's own."""

    network: IPv4Network
    router: IPv4Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """One network interface of a machine: its reservation and what it may boot; without `dhcp` it is not answered.

    `vlan_id` is the tagged network on which the machine goes on after its firmware; None, it has none.  Without
    `architecture_told` the document names no architecture, and what is here stands for it.
    """

    mac: MacAddress
    address: IPv4Address | None = None
    netmask: IPv4Address | None = None
    gateway: IPv4Address | None = None
    hostname: str = ""
    domain_name: str = ""
    lease_seconds: int = DEFAULT_LEASE_SECONDS
    name_servers: tuple[IPv4Address, ...] = ()
    time_servers: tuple[IPv4Address, ...] = ()
    architecture: str = DEFAULT_ARCHITECTURE
    architecture_told: bool = field(default=True, compare=False)
    allow_pxe: bool = True
    dhcp: bool = True
    vlan_id: int | None = None
    routes: tuple[Route, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A machine, identified by `id` (a UUID, lower case), with at least one interface.

    `name` and `agent_id` are those of a `kind: Hardware`, else empty.  `labels` are what people gave it, whatever its document says.
    """

    id: str
    interfaces: tuple[Interface, ...]
    document: Mapping[str, Any]
    name: str = ""
    agent_id: str = ""
    labels: Labels = field(default_factory=dict)

    def interface(self, address: str) -> Interface | None:
        """The interface that has this MAC or IPv4 address, or None."""
        for interface in self.interfaces:
            if address.lower() == interface.mac or address == str(interface.address):
                return interface
        return None

    def labelled_document(self) -> dict[str, Any]:
        """Its document with the labels that it has by now; one of 2020 has them only where it has any."""
        document, is_object = dict(self.document), self.document.get("kind") == "Hardware"
        if not declares_labels(document) and not (is_object and self.labels):
            return document
        if is_object:
            return {**document, "metadata": {**(document.get("metadata") or {}), "labels": dict(self.labels)}}
        return {**document, "labels": dict(self.labels)}

    def allowing_netboot(self) -> "Hardware":
        """The same machine with netbooting allowed on every interface, also in its document."""
        document = json.loads(json.dumps(self.labelled_document()))
        is_object = document.get("kind") == "Hardware"
        for entry in document["spec" if is_object else "network"]["interfaces"]:
            entry["netboot"] = {**(entry.get("netboot") or {}), "allowPXE" if is_object else "allow_pxe": True}
        return replace(hardware_from_document(document), labels=self.labels)


def parse_uuid(text: str) -> str:
    """Normalise a UUID; raises Invalid with Tinkerbell's words."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise Invalid(f"invalid uuid: {text[:60]}") from None


def parse_hardware(text: str | bytes) -> Hardware:
    """Read one hardware document; raises Invalid naming every problem in it."""
    try:
        # Editors on Windows begin with a byte order mark, and some write UTF-16.
        content = text if isinstance(text, str) else text.decode(json.detect_encoding(text), "surrogatepass")
    except UnicodeDecodeError:
        raise Invalid("invalid json: it is not UTF-8 text") from None
    try:
        document = read_document(content)
    except ValueError as error:
        raise Invalid(f"invalid json: {error}") from None
    if not isinstance(document, dict):
        raise Invalid("invalid json: a hardware document is an object with an id and a network")
    if document.get("kind") == "Hardware":
        _check_text(document)
    return given_hardware(document)


def _check_text(document: Mapping[str, Any]) -> None:
    """Raise Invalid for a new `kind: Hardware` whose names are none; those that are stored keep theirs."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Invalid("invalid json: half of a character (\\ud800 to \\udfff alone) is no text") from None
    metadata = document.get("metadata")
    found = metadata if isinstance(metadata, Mapping) else {}
    if isinstance(name := found.get("name"), str) and name:
        check_name(name, "Hardware")
    if isinstance(namespace := found.get("namespace"), str) and namespace:
        check_namespace(namespace)


def declared_labels(document: Mapping[str, Any]) -> Labels | None:
    """The labels that a document declares, at `metadata.labels`, in the format of 2020 at `labels`.

    None when it says nothing of them.  Raises Invalid.
    """
    if not declares_labels(document):
        return None
    if document.get("kind") != "Hardware":
        return parse_labels(document["labels"])
    return parse_labels(document["metadata"]["labels"], "metadata.labels")


def declares_labels(document: Mapping[str, Any]) -> bool:
    """Whether a document says anything of labels: in a stored one of an earlier release it may be what no label may be."""
    if document.get("kind") != "Hardware":
        return isinstance(document.get("labels"), Mapping)
    metadata = document.get("metadata")
    return isinstance(metadata, Mapping) and "labels" in metadata


def given_hardware(document: Mapping[str, Any]) -> Hardware:
    """As `hardware_from_document`, of one that somebody gives: its MACs are those of network cards (`check_card`).

    It has MAX_INTERFACES at most, and host names that can be shown.
    """
    check_interfaces(document)
    hardware = hardware_from_document(document, lambda text: check_card(MacAddress(text)))
    holder = "spec" if document.get("kind") == "Hardware" else "network"
    problems = [
        Problem(
            text=f"{spelled(each.hostname)} may only have letters that can be shown",
            key=f"{holder}.interfaces[{place}].dhcp.hostname",
        )
        for place, each in enumerate(hardware.interfaces)
        if not can_be_shown(each.hostname)
    ]
    if problems:
        raise Invalid(f"hardware {hardware.id} has {counted(len(problems), 'problem')}", problems)
    return hardware


def hardware_from_document(document: Mapping[str, Any], read_mac: Callable[[str], MacAddress] = MacAddress) -> Hardware:
    """Check an already decoded document; raises Invalid naming every problem in it.

    Of a stored one any MAC is taken (`read_mac`), and any number of interfaces: earlier releases stored groups' MACs too.
    """
    if document.get("kind") == "Hardware":
        return _from_object(document, read_mac)
    if not document.get("id"):
        raise Invalid("invalid json, ID is required: give the machine a uuid under the key id")
    hardware_id = parse_uuid(str(document["id"]))
    read = partial(_interface, read_mac=read_mac)
    interfaces = _interfaces(document.get("network"), "network", f"hardware {hardware_id}", read)
    return Hardware(id=hardware_id, interfaces=interfaces, document=dict(document))


def check_interfaces(document: Mapping[str, Any]) -> None:
    """Raise Invalid for a document with more interfaces than MAX_INTERFACES."""
    holder = "spec" if document.get("kind") == "Hardware" else "network"
    inside = document.get(holder)
    listed = inside.get("interfaces") if isinstance(inside, Mapping) else None
    if isinstance(listed, list) and len(listed) > MAX_INTERFACES:
        text = f"{len(listed)} interfaces: at most {MAX_INTERFACES}, so leave out those that neither boot nor need an address"
        raise Invalid("hardware with too many interfaces", [Problem(text=text, key=f"{holder}.interfaces")])


def kept_id(document: Mapping[str, Any]) -> str:
    """The id that a `kind: Hardware` keeps although it was renamed; empty: its name says it.  Raises Invalid for what is none."""
    metadata = document.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    kept = annotations.get(ID_ANNOTATION) if isinstance(annotations, dict) else None
    return parse_uuid(str(kept)) if kept else ""


def _from_object(document: Mapping[str, Any], read_mac: Callable[[str], MacAddress]) -> Hardware:
    """Tinkerbell's `kind: Hardware`: the same namespace and name are the same machine, but for one that was renamed."""
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        raise Invalid("hardware without a name", [Problem(text=_why_no_name(name), key="metadata.name")])
    spec = document.get("spec")
    agent_id = spec.get("agentID") if isinstance(spec, dict) else None
    return Hardware(
        id=kept_id(document) or identity(str(metadata.get("namespace") or ""), name),
        interfaces=_interfaces(spec, "spec", f"hardware {name}", partial(_object_interface, read_mac=read_mac)),
        document=dict(document),
        name=name,
        agent_id=agent_id if isinstance(agent_id, str) else "",
    )


def _why_no_name(found: Any) -> str:
    """What is wrong with what stands where a name should, as YAML reads it."""
    if isinstance(found, bool | int | float):
        kind = "true or false" if isinstance(found, bool) else "a number"
        return f"a name is text, and YAML reads this one as {kind}: put it in quotes"
    return "a name is required" if found is None or found == "" else "a name is text"


def _interfaces(
    holder: Any, key: str, what: str, read: Callable[[Any, str, list[Problem]], Interface | None]
) -> tuple[Interface, ...]:
    problems: list[Problem] = []
    listed = holder.get("interfaces") if isinstance(holder, dict) else None
    if not isinstance(listed, list) or not listed:
        text = "at least one interface is required"
        raise Invalid("hardware without interfaces", [Problem(text=text, key=f"{key}.interfaces")])
    interfaces = [read(entry, f"{key}.interfaces[{index}]", problems) for index, entry in enumerate(listed)]
    known = [interface for interface in interfaces if interface is not None]
    macs, addresses = set[MacAddress](), set[IPv4Address]()
    for interface in known:
        if interface.mac in macs:
            problems.append(Problem(text=f"{interface.mac} is listed twice", key=f"{key}.interfaces"))
        macs.add(interface.mac)
        if interface.address is None:
            continue
        if interface.address in addresses:
            text = f"{interface.address} is reserved for two of its interfaces: leave it to one of them"
            problems.append(Problem(text=text, key=f"{key}.interfaces"))
        addresses.add(interface.address)
    if problems:
        raise Invalid(f"{what} has {counted(len(problems), 'problem')}", problems)
    return tuple(known)


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

    def vlan(self, name: str) -> int | None:
        """A number in text or as a number, as Tinkerbell's documents have it; 0 is no VLAN (IEEE 802.1Q)."""
        value = self._entry.get(name)
        if value is None or value == "":
            return None
        number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_VLAN:
            self.refuse(name, f"expected a VLAN between 0 and {MAX_VLAN}, not {value!r}")
            return None
        return number or None

    def routes(self, name: str) -> tuple[Route, ...]:
        entries = self._entry.get(name) or []
        if not isinstance(entries, list) or len(entries) > MAX_ROUTES:
            self.refuse(name, f"expected a list of at most {MAX_ROUTES} routes")
            return ()
        read = (
            self._route(_Reader(each, f"{self._key}.{name}[{at}]", self._problems)) for at, each in enumerate(entries)
        )
        return tuple(each for each in read if each is not None)

    def _route(self, entry: "_Reader") -> Route | None:
        destination, router = entry.text("destination_descriptor"), entry.address("router")
        try:
            network = IPv4Network(destination)
        except ValueError:
            entry.refuse("destination_descriptor", f"expected a network, like 10.0.0.0/8, not {destination!r}")
            return None
        if router is None:
            entry.refuse("router", "a route needs its router")
            return None
        return Route(network=network, router=router)


def _interface(
    entry: Any, key: str, problems: list[Problem], read_mac: Callable[[str], MacAddress]
) -> Interface | None:
    netboot = _Reader(entry, key, problems).inner("netboot") if isinstance(entry, dict) else _Reader({}, key, problems)
    return _reserved(entry, key, problems, read_mac, allow_pxe=netboot.flag("allow_pxe", default=True))


def _object_interface(
    entry: Any, key: str, problems: list[Problem], read_mac: Callable[[str], MacAddress]
) -> Interface | None:
    """Of a `kind: Hardware`, where what is not said is not allowed."""
    whole = _Reader(entry, key, problems)
    allow_pxe = whole.inner("netboot").flag("allowPXE", default=False)
    answered = not whole.flag("disableDhcp", default=False)
    return _reserved(entry, key, problems, read_mac, allow_pxe=allow_pxe, answered=answered)


def _reserved(
    entry: Any,
    key: str,
    problems: list[Problem],
    read_mac: Callable[[str], MacAddress],
    *,
    allow_pxe: bool,
    answered: bool = True,
) -> Interface | None:
    dhcp = _Reader(entry if isinstance(entry, dict) else {}, key, problems).inner("dhcp")
    address = dhcp.inner("ip")
    ip, netmask, gateway = (address.address(name) for name in ("address", "netmask", "gateway"))
    if netmask is not None and not is_netmask(netmask):
        address.refuse("netmask", f"invalid netmask: {netmask}")
    if ip is not None and netmask is None:
        address.refuse("netmask", f"an address needs its netmask ({ip} has none)")
    hostname = dhcp.text("hostname")
    lease_seconds = dhcp.seconds("lease_time", DEFAULT_LEASE_SECONDS)
    name_servers, time_servers = dhcp.addresses("name_servers"), dhcp.addresses("time_servers")
    domain_name, architecture = dhcp.text("domain_name"), dhcp.text("arch")
    vlan_id, routes = dhcp.vlan("vlan_id"), dhcp.routes("classless_static_routes")
    # The address comes last: without it there is no interface, but every other problem is noted by now.
    try:
        mac = read_mac(dhcp.text("mac"))
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
        architecture=architecture or DEFAULT_ARCHITECTURE,
        architecture_told=bool(architecture),
        allow_pxe=allow_pxe,
        dhcp=answered,
        vlan_id=vlan_id,
        routes=routes,
    )


def is_netmask(mask: IPv4Address) -> bool:
    """Ones, then zeros; the library takes the inverse for one as well."""
    try:
        return IPv4Network(f"0.0.0.0/{mask}").netmask == mask
    except NetmaskValueError:
        return False


def called(hardware: Hardware | None, otherwise: str = "") -> str:
    """What people call a machine (`name_of`); where it has no name, `otherwise` or its id."""
    if hardware is None:
        return otherwise
    return name_of(hardware) or otherwise or hardware.id


def names_of(hardware: Hardware) -> list[str]:
    """All that a machine is called: its name, and the host names of its interfaces."""
    return [each for each in dict.fromkeys([hardware.name, *(card.hostname for card in hardware.interfaces)]) if each]


def name_of(hardware: Hardware) -> str:
    """What people call a machine: its name, else the host name of the interface it is shown by, else of another; or empty."""
    hostnames = (primary(hardware).hostname, *(each.hostname for each in hardware.interfaces))
    return hardware.name or next((each for each in hostnames if each), "")


def namespace_of(hardware: Hardware) -> str:
    """The namespace that its document names, else the default one."""
    metadata = hardware.document.get("metadata") if hardware.document.get("kind") == "Hardware" else None
    return str((metadata or {}).get("namespace") or DEFAULT_NAMESPACE)


def primary(hardware: Hardware) -> Interface:
    """The interface a machine is shown by: the first that netboots, else the first."""
    return next((each for each in hardware.interfaces if each.allow_pxe), hardware.interfaces[0])
