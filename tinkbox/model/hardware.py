"""What we were told about a machine: Tinkerbell's hardware document of 2020, or today's `kind: Hardware`.

The document is kept as it was pushed; beside it stand the parsed interfaces, which is all that the rest of the program
looks at.  Field names follow Tinkerbell (`network.interfaces[].dhcp.mac`, `spec.interfaces[].dhcp.mac`, …).
"""

import json
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from ipaddress import (
    AddressValueError,
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
    NetmaskValueError,
    ip_address,
)
from itertools import chain
from typing import Any, Final, TypeVar

from tinkbox.model.documents.hardware_v1alpha2 import as_v1alpha1, is_v1alpha2, notes_on_v1alpha2, told_of_v1alpha2
from tinkbox.model.documents.json_text import read_document, read_stream
from tinkbox.model.documents.kubernetes import DEFAULT_NAMESPACE, DISABLED_ANNOTATION, INTERFACE, identity
from tinkbox.model.errors import Invalid, Problem, Remarks
from tinkbox.model.labels import Labels, parse_labels
from tinkbox.model.names import check_name, check_namespace
from tinkbox.model.netboot import (
    BY_THE_APPLIANCE,
    MAX_URL_BYTES,
    PROGRAMS,
    Netboot,
    OwnOsie,
    kernel_parameters_of,
    option_of,
    path_of,
    script_of,
    url_of,
)
from tinkbox.model.spelling import meant
from tinkbox.model.text import can_be_shown, counted, quoted, shortened, spelled

DEFAULT_LEASE_SECONDS = 86_400
MAX_LEASE_SECONDS = 2**32 - 1  # RFC 2132 §9.2
DEFAULT_ARCHITECTURE = "x86_64"
MAX_TEXT_BYTES = 253
MAX_ADDRESSES = 8
MAX_ROUTES = 16
MAX_VLAN = 4094
# Of a machine that somebody registers: servers have a dozen, with the VLANs and functions of their cards some dozens.
MAX_INTERFACES = 128
# Of a machine that was renamed: its id, which its workflows and its sightings know.
ID_ANNOTATION = "tinkbox.internal/id"
# As Linux calls them, and what else documents call them.
ARCHITECTURES: Final[Mapping[str, str]] = {
    "x86_64": "x86_64", "x86-64": "x86_64", "amd64": "x86_64", "x64": "x86_64",
    "aarch64": "aarch64", "arm64": "aarch64",
}  # fmt: skip
# It stands in paths.
_ARCHITECTURE: Final = re.compile(r"[a-z0-9_-]{1,32}\Z")
_PATH: Final = re.compile(r"[/\\]|\.\.")
_ONE_ASKED: Final = "and one hardware document in JSON is asked for: `tinkbox apply -f FILE`"
# How documents of 2020 begin in YAML; in JSON none begins so.
_YAML_2020: Final = re.compile(r"\ufeff?(?:\s|#[^\n]*+\n)*+(?:---\s|- |(?:id|network|metadata):\s)")
# RFC 952 and RFC 1123 §2.1.
_HOST_NAME: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*\.?\Z", re.IGNORECASE
)
_VLANS: Final = re.compile(r"[0-9]{1,4}(?:,[0-9]{1,4})*\Z", re.ASCII)
_MOST_NOTES: Final = 100  # about one document
# The keys of an interface in 2020's form, which has those of today below `dhcp`.
_KEYS_2020: Final[Collection[str]] = ("dhcp", "netboot")
_NETBOOT_2020: Final[Collection[str]] = ("allow_pxe", "allow_workflow", "ipxe", "osie")
_NETBOOTED_2020: Final[Mapping[str, Collection[str]]] = {
    "ipxe": ("url", "contents"), "osie": ("base_url", "kernel", "initrd")
}  # fmt: skip
_Value = TypeVar("_Value")
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


def is_mac(text: str) -> bool:
    """Whether a text is a MAC, in any usual spelling."""
    return _MAC.match(text.strip().lower()) is not None


def is_of_card(mac: MacAddress) -> bool:
    """Whether a network card can have it: it is neither a group's nor none (IEEE 802)."""
    return not mac.octets[0] & 1 and any(mac.octets)


def check_card(mac: MacAddress) -> MacAddress:
    """The same MAC; raises Invalid for one that no network card has (`is_of_card`)."""
    if not is_of_card(mac):
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
    `architecture_told` the document names no architecture that is known, and what is here stands for it.
    An `address` may lack its `netmask`.  `address6` and `gateway6` are IPv6's, which only the installed system is told;
    `name_servers` may be of either, and `time_servers` are addresses or names.  `netboot` is how it boots where the document says that.  `place` is where the
    document lists it.
    """

    mac: MacAddress
    place: int = field(default=0, compare=False)
    address: IPv4Address | None = None
    netmask: IPv4Address | None = None
    gateway: IPv4Address | None = None
    address6: IPv6Interface | None = None
    gateway6: IPv6Address | None = None
    hostname: str = ""
    domain_name: str = ""
    lease_seconds: int = DEFAULT_LEASE_SECONDS
    name_servers: tuple[IPv4Address | IPv6Address, ...] = ()
    time_servers: tuple[IPv4Address | IPv6Address | str, ...] = ()
    architecture: str = DEFAULT_ARCHITECTURE
    architecture_told: bool = field(default=True, compare=False)
    allow_pxe: bool = True
    dhcp: bool = True
    vlan_id: int | None = None
    routes: tuple[Route, ...] = ()
    netboot: Netboot = field(default=BY_THE_APPLIANCE, hash=False)  # long, and hashed for every packet


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutMac:
    """An interface of which the document tells no MAC of its own: no packet can be told to be its, so no question of it is answered."""

    hostname: str = ""
    address: IPv4Address | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A machine, identified by `id` (a UUID, lower case).

    `interfaces` are those with a MAC, and may be empty: such a machine cannot boot by the network, but a worker that somebody
    starts on it works.  `without_mac` are the others.  `name` and `agent_id` are those of a `kind: Hardware`, else empty.
    `labels` are what people gave it, whatever its document says.  `remarks` are about a document that was given.
    """

    id: str
    interfaces: tuple[Interface, ...]
    document: Mapping[str, Any]
    without_mac: tuple[WithoutMac, ...] = ()
    name: str = ""
    agent_id: str = ""
    labels: Labels = field(default_factory=dict)
    remarks: Remarks = field(default=Remarks(), compare=False)

    @property
    def addresses(self) -> list[IPv4Address]:
        """Every IPv4 address that is reserved for it."""
        return [each.address for each in self._all if each.address is not None]

    @property
    def hostnames(self) -> list[str]:
        """The host names of its interfaces, those with a MAC first."""
        return [each.hostname for each in self._all if each.hostname]

    @property
    def _all(self) -> list[Interface | WithoutMac]:
        return [*self.interfaces, *self.without_mac]

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
        if is_v1alpha2(document):
            for entry in document["spec"]["networkInterfaces"].values():
                entry["netboot"] = {**(entry.get("netboot") or {}), "disabled": False}
            return replace(hardware_from_document(document), labels=self.labels)
        for interface in self.interfaces:
            entry = document["spec" if is_object else "network"]["interfaces"][interface.place]
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
        other = _other_than_one(content)
        raise Invalid(f"invalid json: {other or error}") from None
    if isinstance(document, list):
        raise Invalid(f"invalid json: this is a list, {_ONE_ASKED} takes lists")
    if not isinstance(document, dict):
        raise Invalid("invalid json: a hardware document is an object with an id and a network")
    if document.get("kind") == "Hardware":
        _check_text(document)
    return given_hardware(document)


def _other_than_one(text: str) -> str:
    """What a text is that is no single document of JSON, and the way out; empty: just wrong."""
    if _YAML_2020.match(text):
        return f"this is YAML, {_ONE_ASKED} takes YAML"
    with suppress(ValueError):
        if (count := len(read_stream(text))) > 1:
            return f"these are {count} documents, {_ONE_ASKED} takes several"
    return ""


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
    """As `hardware_from_document`, of one that somebody gives, with what of it is not honoured.

    It has MAX_INTERFACES at most, host names that can be shown, and architectures that can stand in a path.
    """
    check_interfaces(document)
    return _read(document, _Findings(given=True))


def hardware_from_document(document: Mapping[str, Any]) -> Hardware:
    """Check an already decoded document; raises Invalid naming every problem in it.

    A stored one may have any number of interfaces.
    """
    return _read(document, _Findings(given=False))


def _read(document: Mapping[str, Any], found: "_Findings") -> Hardware:
    if document.get("kind") == "Hardware":
        return _from_object(document, found)
    if not document.get("id"):
        raise Invalid("invalid json, ID is required: give the machine a uuid under the key id")
    hardware_id = parse_uuid(str(document["id"]))
    network = _Reader(document.get("network"), "network", found)
    if document.get("network") is None:
        network.note("", "the document has no network, in which its interfaces stand: the machine is taken without any")
    network.note_unknown(("interfaces",))
    interfaces, without_mac = _interfaces(network, f"hardware {hardware_id}", _interface_2020)
    return Hardware(
        id=hardware_id,
        interfaces=interfaces,
        without_mac=without_mac,
        document=dict(document),
        remarks=found.remarks,
    )


def check_interfaces(document: Mapping[str, Any]) -> None:
    """Raise Invalid for a document with more interfaces than MAX_INTERFACES."""
    document = as_v1alpha1(document)
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


def _from_object(document: Mapping[str, Any], found: "_Findings") -> Hardware:
    """Tinkerbell's `kind: Hardware`: the same namespace and name are the same machine, but for one that was renamed."""
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        raise Invalid("hardware without a name", [Problem(text=_why_no_name(name), key="metadata.name")])
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict) and DISABLED_ANNOTATION in annotations:
        found.note(Problem(key="metadata.annotations", text=_DISABLED))
    spec = as_v1alpha1(document).get("spec")
    agent_id = spec.get("agentID") if isinstance(spec, dict) else None
    try:
        interfaces, without_mac = _interfaces(_Reader(spec, "spec", found), f"hardware {name}", _object_interface)
    except Invalid as refusal:
        raise Invalid(str(refusal), [told_of_v1alpha2(each, document) for each in refusal.problems]) from None
    ignored, notes = (
        # What v1alpha2 has once for the machine, v1alpha1 has for each card.
        tuple(dict.fromkeys(told_of_v1alpha2(each, document) for each in told))
        for told in (found.remarks.ignored, found.remarks.notes)
    )
    if is_v1alpha2(document) and found.given:
        notes = (*notes, *notes_on_v1alpha2(document))
    return Hardware(
        id=kept_id(document) or identity(str(metadata.get("namespace") or ""), name),
        interfaces=interfaces,
        without_mac=without_mac,
        document=dict(document),
        name=name,
        agent_id=agent_id if isinstance(agent_id, str) else "",
        remarks=Remarks(ignored=ignored, notes=notes),
    )


_DISABLED: Final = (
    f"{DISABLED_ANNOTATION} is read by `tinkbox apply` alone: here the machine stays in service, and `tinkbox hardware retire` "
    "takes it out"
)


def _why_no_name(found: Any) -> str:
    """What is wrong with what stands where a name should, as YAML reads it."""
    if isinstance(found, bool | int | float):
        kind = "true or false" if isinstance(found, bool) else "a number"
        return f"a name is text, and YAML reads this one as {kind}: put it in quotes"
    return "a name is required" if found is None or found == "" else "a name is text"


def _interfaces(
    holder: "_Reader", what: str, read: Callable[["_Reader", int], Interface | WithoutMac]
) -> tuple[tuple[Interface, ...], tuple[WithoutMac, ...]]:
    """Those with a MAC, and those without; raises Invalid with all that was found wrong."""
    read_ones = [read(entry, place) for place, entry in enumerate(holder.inner_list("interfaces"))]
    read_ones = list(_each_address_once(_each_mac_once(read_ones, holder), holder))
    interfaces = tuple(each for each in read_ones if isinstance(each, Interface))
    without_mac = tuple(each for each in read_ones if isinstance(each, WithoutMac))
    if holder.found.problems:
        raise Invalid(f"{what} has {counted(len(holder.found.problems), 'problem')}", holder.found.problems)
    if not interfaces:
        holder.note("interfaces", _NO_MACS)
    return interfaces, without_mac


def _each_mac_once(interfaces: Iterable[Interface | WithoutMac], holder: "_Reader") -> Iterator[Interface | WithoutMac]:
    """The same, of which one with the MAC of an earlier one has none; what it repeats of that one it has not either."""
    first = dict[MacAddress, Interface]()
    for each in interfaces:
        if isinstance(each, WithoutMac):
            yield each
            continue
        if (counting := first.setdefault(each.mac, each)) is each:
            yield each
            continue
        text = f"an earlier interface has {each.mac} too, and that one counts: this one counts as one without a MAC"
        holder.ignore(f"interfaces[{each.place}].dhcp.mac", text)
        address = each.address if each.address != counting.address else None
        yield WithoutMac(hostname=each.hostname, address=address)


def _each_address_once(
    interfaces: Iterable[Interface | WithoutMac], holder: "_Reader"
) -> Iterator[Interface | WithoutMac]:
    """The same, of which one with the IPv4 address of an earlier one has none: an address leads to one card."""
    taken = set[IPv4Address]()
    for place, each in enumerate(interfaces):
        if each.address is None or each.address not in taken:
            taken |= {each.address} if each.address else set()
            yield each
            continue
        text = f"an earlier interface has {each.address} too, and that one is given it: this one counts as one without an address"
        holder.ignore(f"interfaces[{place}].dhcp.ip.address", text)
        if isinstance(each, Interface):
            yield replace(each, address=None, netmask=None, gateway=None)
        else:
            yield replace(each, address=None)


_NO_MACS: Final = (
    "no MAC of the machine is told, so it cannot boot by the network: start its worker with a file of "
    "`tinkbox hardware credential`"
)


class _Findings:
    """What is wrong in a document, and what there is to say of it otherwise.

    Of a `given` one more is refused than of a stored one, of which nothing is told: it was when it was given.
    """

    def __init__(self, *, given: bool) -> None:
        self.given = given
        self.problems: list[Problem] = []
        self._ignored: list[Problem] = []
        self._notes: list[Problem] = []

    @property
    def is_full(self) -> bool:
        """Whether no more is told of the document."""
        return not self.given or len(self._ignored) + len(self._notes) >= _MOST_NOTES

    def ignore(self, problem: Problem) -> None:
        if not self.is_full:
            self._ignored.append(problem)

    def note(self, problem: Problem) -> None:
        if not self.is_full:
            self._notes.append(problem)

    @property
    def remarks(self) -> Remarks:
        return Remarks(ignored=tuple(self._ignored), notes=tuple(self._notes))


class _Reader:
    """Takes typed values out of one JSON object and notes what does not fit."""

    def __init__(self, entry: Any, key: str, found: _Findings) -> None:
        self._entry = entry if isinstance(entry, dict) else {}
        self._key = key
        self.found = found
        if entry is not None and not isinstance(entry, dict):
            self.refuse("", "expected an object")

    def refuse(self, name: str, text: str) -> None:
        self.found.problems.append(self._problem(name, text))

    def ignore(self, name: str, text: str) -> None:
        """Tell what is wrong and left out, or replaced."""
        self.found.ignore(self._problem(name, text))

    def note(self, name: str, text: str) -> None:
        self.found.note(self._problem(name, text))

    def _problem(self, name: str, text: str) -> Problem:
        return Problem(text=text, key=f"{self._key}.{name}" if name else self._key)

    def note_unknown(self, known: Collection[str]) -> None:
        """Tell of keys that nothing reads, and which one was probably meant."""
        for name in (each for each in self._entry if each not in known):
            if self.found.is_full:
                return
            shown = shortened(name, 60)
            self.ignore(shown, f"unknown key {shown} is ignored; {meant(name, known)}")

    def inner(self, name: str) -> "_Reader":
        return _Reader(self._entry.get(name), f"{self._key}.{name}" if self._key else name, self.found)

    def inner_list(self, name: str) -> list["_Reader"]:
        entries = self._entry.get(name) or []
        if not isinstance(entries, list):
            self.refuse(name, "expected a list")
            return []
        return [_Reader(each, f"{self._key}.{name}[{at}]", self.found) for at, each in enumerate(entries)]

    def told(self, name: str) -> "_Reader":
        """As `inner`, where earlier releases did not look: of a stored document what is no object is as if it were not there."""
        entry = self._entry.get(name)
        is_read = self.found.given or isinstance(entry, dict)
        return _Reader(entry if is_read else None, f"{self._key}.{name}", self.found)

    def checked(self, name: str, check: Callable[[Any], _Value], default: _Value) -> _Value:
        """What `check` makes of a value; what it raises Invalid for is refused, and of a stored document left out."""
        value = self._entry.get(name)
        if value is None or value in ("", []):
            return default
        try:
            return check(value)
        except Invalid as error:
            if self.found.given:
                self.refuse(name, str(error))
            return default

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
        value = self._entry.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.refuse(name, f"expected true or false, not {value!r}")
            return default
        return value

    def is_true(self, name: str) -> bool:
        """Whether it says true; it may say anything."""
        return self._entry.get(name) is True

    def seconds(self, name: str, default: int) -> int:
        value = self._entry.get(name) or default
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse(name, f"expected seconds between 1 and {MAX_LEASE_SECONDS}, not {value!r}")
            return default
        if not 0 < value <= MAX_LEASE_SECONDS:
            self.ignore(name, f"expected seconds between 1 and {MAX_LEASE_SECONDS}: {default} are given instead")
            return default
        return value

    def mac(self, name: str) -> MacAddress | None:
        """None: it tells none that a network card can have."""
        value = self.text(name)
        if not value:
            return None
        try:
            found = MacAddress(value)
        except Invalid as error:
            self.refuse(name, str(error))
            return None
        if is_of_card(found):
            return found
        self.ignore(name, f"{found} is the address of no network card: this interface counts as one without a MAC")
        return None

    def address(self, name: str) -> IPv4Address | IPv6Address | None:
        value = self.text(name)
        if not value:
            return None
        try:
            return ip_address(value)
        except ValueError:
            self.refuse(name, f"invalid ip: {value!r}")
            return None

    def address4(self, name: str) -> IPv4Address | None:
        value = self.text(name)
        if not value:
            return None
        try:
            return IPv4Address(value)
        except AddressValueError:
            self.refuse(name, f"invalid ip: {value!r}")
            return None

    def prefix6(self, name: str) -> int | None:
        """The length of a prefix of IPv6: `64`, `/64`, or as a mask."""
        value = self.text(name).removeprefix("/")
        if not value:
            return None
        try:
            if ":" not in value:
                return IPv6Network(f"::/{value}").prefixlen
            length = int(IPv6Address(value)).bit_count()
            if IPv6Network((0, length)).netmask == IPv6Address(value):
                return length
        except ValueError:
            pass
        self.refuse(name, f"invalid prefix of IPv6: {value!r} (expected a length, like 64)")
        return None

    def name_servers(self, name: str) -> tuple[IPv4Address | IPv6Address, ...]:
        found = []
        for value in self._servers(name):
            try:
                server = ip_address(value)
            except ValueError:
                self.ignore(name, f"{quoted(value)} is no IP address, which a name server needs: left out")
                continue
            found.append(server)
            if isinstance(server, IPv6Address):
                self.note(name, f"{server} {_ONLY_METADATA}")
        return tuple(found)

    def time_servers(self, name: str) -> tuple[IPv4Address | IPv6Address | str, ...]:
        found: list[IPv4Address | IPv6Address | str] = []
        for value in self._servers(name):
            try:
                server: IPv4Address | IPv6Address | str = ip_address(value)
            except ValueError:
                server = value
            if isinstance(server, str) and not is_host_name(server):
                self.ignore(name, f"{quoted(value)} is neither an address nor a name of a host: left out")
                continue
            found.append(server)
            if not isinstance(server, IPv4Address):
                self.note(name, f"{server} {_ONLY_METADATA}")
        return tuple(found)

    def _servers(self, name: str) -> list[str]:
        values = self._entry.get(name) or []
        if not isinstance(values, list):
            self.refuse(name, "expected a list of addresses")
            return []
        if wrong := [each for each in values if not isinstance(each, str)]:
            self.refuse(name, f"invalid ip: {wrong[0]!r}")
            return []
        if len(values) > MAX_ADDRESSES:
            self.ignore(name, f"{len(values)} servers: only the first {MAX_ADDRESSES} are used")
        return values[:MAX_ADDRESSES]

    def hostname(self, name: str) -> str:
        value = self.text(name)
        if self.found.given and not can_be_shown(value):
            self.refuse(name, f"{spelled(value)} may only have letters that can be shown")
        elif value and not is_host_name(value):
            self.note(
                name, f"{quoted(value)} is no name of a host (letters, digits and dashes): systems may not take it"
            )
        return value

    def architecture(self, name: str) -> str:
        """As Linux calls it; empty: it tells none that could be one."""
        value = self.text(name)
        lowered = value.strip().lower()
        if not lowered or lowered in ARCHITECTURES:
            return ARCHITECTURES.get(lowered, "")
        if _ARCHITECTURE.match(lowered):
            self.note(name, f"there is no OSIE for {value}, so this machine cannot boot it: {_ARCHITECTURES}")
            return lowered
        if self.found.given and _PATH.search(value):
            self.refuse(name, f"{spelled(value)} is no architecture: {_ARCHITECTURES}")
        else:
            self.ignore(
                name, f"{quoted(value)} is no architecture, so {DEFAULT_ARCHITECTURE} stands for it: {_ARCHITECTURES}"
            )
        return ""

    def vlan(self, name: str) -> int | None:
        """A number in text or as a number, as Tinkerbell's documents have it; 0 is no VLAN (IEEE 802.1Q).

        Tinkerbell takes numbers up to 4096 as well, and several of them.
        """
        value = self._entry.get(name)
        if value is None or value == "":
            return None
        if isinstance(value, str | int) and not isinstance(value, bool) and _VLANS.match(str(value)):
            if str(value).isdigit() and int(value) <= MAX_VLAN:
                return int(value) or None
            self.ignore(name, f"expected one VLAN between 0 and {MAX_VLAN}, so {value} is left out")
            return None
        self.refuse(name, f"expected a VLAN between 0 and {MAX_VLAN}, not {value!r}")
        return None

    def routes(self, name: str) -> tuple[Route, ...]:
        entries = self.inner_list(name)
        if len(entries) > MAX_ROUTES:
            self.ignore(name, f"{len(entries)} routes: only the first {MAX_ROUTES} are used")
        return tuple(route for each in entries[:MAX_ROUTES] if (route := each.route()) is not None)

    def route(self) -> Route | None:
        destination, router = self.text("destination_descriptor"), self.address4("router")
        try:
            network = IPv4Network(destination, strict=False)
        except ValueError:
            self.refuse("destination_descriptor", f"expected a network, like 10.0.0.0/8, not {destination!r}")
            return None
        if router is None:
            self.refuse("router", "a route needs its router")
            return None
        return Route(network=network, router=router)


_ONLY_METADATA: Final = "is not among what DHCP tells, which has IPv4 addresses: only the installed system is told it"
_ARCHITECTURES: Final = f"known are {', '.join(dict.fromkeys(ARCHITECTURES.values()))}"


def _interface_2020(entry: _Reader, place: int) -> Interface | WithoutMac:
    entry.note_unknown(_KEYS_2020)
    dhcp, netboot = entry.inner("dhcp"), entry.inner("netboot")
    address = dhcp.inner("ip")
    dhcp.note_unknown(INTERFACE["dhcp"])
    address.note_unknown(INTERFACE["dhcp"]["ip"])
    netboot.note_unknown(_NETBOOT_2020)
    read = _reserved(dhcp, address, place, allow_pxe=netboot.flag("allow_pxe", default=True))
    return _with_netboot(read, dhcp, netboot, is_object=False)


def _object_interface(entry: _Reader, place: int) -> Interface | WithoutMac:
    """Of a `kind: Hardware`, where what is not said is not allowed."""
    dhcp, netboot = entry.inner("dhcp"), entry.inner("netboot")
    answered = not entry.flag("disableDhcp", default=False)
    allow_pxe = netboot.flag("allowPXE", default=False)
    read = _reserved(dhcp, dhcp.inner("ip"), place, allow_pxe=allow_pxe, answered=answered)
    return _with_netboot(read, dhcp, netboot, is_object=True)


def _with_netboot(
    read: Interface | WithoutMac, dhcp: _Reader, netboot: _Reader, *, is_object: bool
) -> Interface | WithoutMac:
    """The same interface with how it boots; one without a MAC does not."""
    ipxe, osie = netboot.told("ipxe"), netboot.told("osie")
    if not is_object:
        ipxe.note_unknown(_NETBOOTED_2020["ipxe"])
        osie.note_unknown(_NETBOOTED_2020["osie"])
    if isinstance(read, WithoutMac):
        return read
    script, script_url = _own_script(ipxe)
    if not is_object and script + script_url and netboot.is_true("allow_workflow"):
        # Boots of 2020 gave its script to machines without a workflow; most documents have the one of its own example.
        netboot.note("ipxe", "allow_workflow is true: its workflows boot the OSIE, and this script is not booted")
        script = script_url = ""
    server_name, file = dhcp.checked("tftp_server_name", option_of, ""), dhcp.checked("boot_file_name", option_of, "")
    found = Netboot(
        script=script,
        script_url=script_url,
        osie=_own_osie(osie, read.architecture, is_object=is_object),
        kernel_parameters=_kernel_parameters(osie) if is_object else (),
        program=_program(ipxe) if is_object else "",
        server_name=server_name,
        file=file,
    )
    if found == BY_THE_APPLIANCE:
        return read
    _note_what_follows(found, dhcp, ipxe, osie)
    return replace(read, netboot=found)


def _own_script(ipxe: _Reader) -> tuple[str, str]:
    """The commands, and the URL, of which one at most is something."""
    script, url = ipxe.checked("contents", script_of, ""), ipxe.checked("url", url_of, "")
    if script and url:
        ipxe.ignore("contents", "url is given too, and the script of the url is booted")
    if "${" in url:
        ipxe.note("url", "iPXE's settings are not put into a url: have `chain` and the url in contents")
    return ("" if url else script), url


def _own_osie(osie: _Reader, architecture: str, *, is_object: bool) -> OwnOsie | None:
    """Files without a name are called as Tinkerbell calls its own."""
    name = "baseURL" if is_object else "base_url"
    base = osie.checked(name, url_of, "")
    kernel, initrd = osie.checked("kernel", path_of, ""), osie.checked("initrd", path_of, "")
    if base:
        below = base.rstrip("/")
        return OwnOsie(
            kernel=f"{below}/{kernel or f'vmlinuz-{architecture}'}",
            initramfs=f"{below}/{initrd or f'initramfs-{architecture}'}",
        )
    for key, value in (("kernel", kernel), ("initrd", initrd)):
        if value and is_object:
            osie.ignore(key, f"without {name} the appliance's own OSIE boots, in which the file has another name")
    return None


def _kernel_parameters(osie: _Reader) -> tuple[str, ...]:
    none: tuple[tuple[str, ...], ...] = ()
    found = osie.checked("kernelParams", kernel_parameters_of, none)
    for words in (each for each in found if len(each) > 1):
        text = f"{quoted(' '.join(words))} has a blank in it: the kernel is given {len(words)} words"
        osie.note("kernelParams", text)
    return tuple(chain.from_iterable(found))


def _program(ipxe: _Reader) -> str:
    name = ipxe.checked("binary", option_of, "")
    if name and name not in PROGRAMS:
        ipxe.ignore("binary", f"there is no {quoted(name)} here: the firmware decides; known are {', '.join(PROGRAMS)}")
    return PROGRAMS.get(name, "")


def _note_what_follows(found: Netboot, dhcp: _Reader, ipxe: _Reader, osie: _Reader) -> None:
    if found.elsewhere:
        dhcp.note(
            "tftp_server_name" if found.server_name else "boot_file_name",
            "this interface is told to boot there, always: its loader and the OSIE come from nowhere else",
        )
        return
    if found.has_script:
        ipxe.note("url" if found.script_url else "contents", _SCRIPTED)
    if found.osie is not None:
        kernel, initramfs = (quoted(each, MAX_URL_BYTES) for each in (found.osie.kernel, found.osie.initramfs))
        osie.note("", f"it boots {kernel} by iPXE only; tinkbox's worker has to be in {initramfs}")


_SCRIPTED: Final = (
    "this script boots in the OSIE's place, also without a workflow; once a workflow has succeeded, the machine boots its "
    "disk, and the script for its next workflow"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reserved:
    """What stands below `ip`: an address of IPv4 or of IPv6 with its like, or neither."""

    address: IPv4Address | None = None
    netmask: IPv4Address | None = None
    gateway: IPv4Address | None = None
    address6: IPv6Interface | None = None
    gateway6: IPv6Address | None = None


def _reserved(
    dhcp: _Reader, below_ip: _Reader, place: int, *, allow_pxe: bool, answered: bool = True
) -> Interface | WithoutMac:
    reserved, hostname, architecture = _addressing(below_ip), dhcp.hostname("hostname"), dhcp.architecture("arch")
    lease_seconds = dhcp.seconds("lease_time", DEFAULT_LEASE_SECONDS)
    name_servers, time_servers = dhcp.name_servers("name_servers"), dhcp.time_servers("time_servers")
    domain_name, vlan_id, routes = (
        dhcp.text("domain_name"),
        dhcp.vlan("vlan_id"),
        dhcp.routes("classless_static_routes"),
    )
    if (mac := dhcp.mac("mac")) is None:
        return WithoutMac(hostname=hostname, address=reserved.address)
    return Interface(
        mac=mac,
        place=place,
        address=reserved.address,
        netmask=reserved.netmask,
        gateway=reserved.gateway,
        address6=reserved.address6,
        gateway6=reserved.gateway6,
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


def _addressing(below_ip: _Reader) -> _Reserved:
    address, gateway = below_ip.address("address"), below_ip.address("gateway")
    if isinstance(address, IPv6Address):
        return _addressing6(below_ip, address, gateway)
    netmask = below_ip.address4("netmask")
    if netmask is not None and not is_netmask(netmask):
        below_ip.refuse("netmask", f"invalid netmask: {netmask}")
    if isinstance(gateway, IPv6Address):
        below_ip.ignore("gateway", f"{gateway} is of IPv6, and there is no address of it: left out")
        gateway = None
    return _Reserved(address=address, netmask=netmask, gateway=gateway)


def _addressing6(below_ip: _Reader, address: IPv6Address, gateway: IPv4Address | IPv6Address | None) -> _Reserved:
    length = below_ip.prefix6("netmask")
    if isinstance(gateway, IPv4Address):
        below_ip.ignore("gateway", f"{gateway} is of IPv4, and the address is of IPv6: left out")
        gateway = None
    if length is None:
        below_ip.ignore("address", f"{address} has no prefix (netmask, such as 64): left out")
        return _Reserved()
    below_ip.note(
        "address", f"{address}: DHCP gives IPv4 addresses only, so this one is told to the installed system alone"
    )
    return _Reserved(address6=IPv6Interface((address, length)), gateway6=gateway)


def is_host_name(text: str) -> bool:
    """Whether a host can be called so, with or without its domain (RFC 1123 §2.1)."""
    return _HOST_NAME.match(text) is not None


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
    return [each for each in dict.fromkeys([hardware.name, *hardware.hostnames]) if each]


def name_of(hardware: Hardware) -> str:
    """What people call a machine: its name, else the host name of the interface it is shown by, else of another; or empty."""
    shown = primary(hardware)
    return hardware.name or (shown.hostname if shown else "") or next(iter(hardware.hostnames), "")


def namespace_of(hardware: Hardware) -> str:
    """The namespace that its document names, else the default one."""
    metadata = hardware.document.get("metadata") if hardware.document.get("kind") == "Hardware" else None
    return str((metadata or {}).get("namespace") or DEFAULT_NAMESPACE)


def primary(hardware: Hardware) -> Interface | None:
    """The interface a machine is shown by: the first that netboots, else the first with a MAC; None: there is none."""
    return next((each for each in hardware.interfaces if each.allow_pxe), next(iter(hardware.interfaces), None))


def mac_of(hardware: Hardware) -> str:
    """The MAC that a machine is shown by; empty: its document tells none."""
    shown = primary(hardware)
    return str(shown.mac) if shown else ""


def address_of(hardware: Hardware) -> IPv4Address | None:
    """The IPv4 address that a machine is shown with; None: none is reserved for that interface."""
    shown = primary(hardware)
    return shown.address if shown else next(iter(hardware.addresses), None)


def hostname_of(hardware: Hardware) -> str:
    """The host name of the interface that a machine is shown by; without one that of any; empty: it has none there."""
    shown = primary(hardware)
    return shown.hostname if shown else next(iter(hardware.hostnames), "")


def worker_of(hardware: Hardware) -> str:
    """What a template names a machine by: the MAC that it is shown by, without one its agent id, else its id."""
    return mac_of(hardware) or hardware.agent_id or hardware.id
