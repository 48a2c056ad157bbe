"""Machines as a list of them says: what `hardware import` reads from a file and asks the appliance for."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from typing import Final

from tinkbox.model.discovery import host_name
from tinkbox.model.documents.hardware_values import is_netmask
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.hardware import MacAddress, check_card
from tinkbox.model.labels import Labels
from tinkbox.model.notes import note_text
from tinkbox.model.text import quoted, spelled

MOST_LISTED: Final = 5000
MOST_CARDS: Final = 32
# As it travels: a list of so many machines with as many labels as one may have, of forty letters each.
MAX_LIST: Final = 16 << 20
MAX_LIST_VALUES: Final = 150 * MOST_LISTED
Prefix = int | None


class ImportOutcome(StrEnum):
    """What became of one machine of a list."""

    MADE = "made"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    DIFFERENT = "different"  # it is there with other values, and no update was asked for
    RETIRED = "retired"  # it is there, out of service: it is left alone
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMachine:
    """One machine of a list; what the list does not say is empty or None.

    `macs` begins with the card that it boots with.  `prefix` is the length of its network's prefix.  `line` counts from 1,
    0: unknown; `key` is its place where a file has no lines of its own for it, such as `Dhcp4.reservations[3]`.
    `routers` are for a machine whose network the list does not tell: the first that is on it is its gateway (`routed`).
    """

    macs: tuple[MacAddress, ...]
    name: str = ""
    address: IPv4Address | None = None
    prefix: Prefix = None
    gateway: IPv4Address | None = None
    routers: tuple[IPv4Address, ...] = ()
    labels: Labels = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    line: int = 0
    key: str = ""

    @property
    def reserved(self) -> str:
        """Its address as people write it, with the prefix if the list has one; empty: none."""
        if self.address is None:
            return ""
        return str(self.address) if self.prefix is None else f"{self.address}/{self.prefix}"

    def problem(self, text: str) -> Problem:
        """Something that is wrong with it, at its place."""
        return Problem(text=text, line=self.line or None, key=self.key)


def routed(machine: ListedMachine, network: IPv4Network) -> ListedMachine:
    """The machine, once its network is known: without a gateway it gets the first of its `routers` that is there."""
    there = next((each for each in machine.routers if each in network and each != machine.address), None)
    return replace(machine, gateway=machine.gateway or there, routers=())


def networks_of(listed: Iterable[ListedMachine]) -> Mapping[IPv4Network, Collection[IPv4Address]]:
    """The networks that a list gives some of its machines, each with the gateways that these have there."""
    networks: dict[IPv4Network, set[IPv4Address]] = {}
    for each in listed:
        if each.address is not None and each.prefix is not None:
            network = IPv4Network((each.address, each.prefix), strict=False)
            gateways = networks.setdefault(network, set())
            if each.gateway is not None and each.gateway in network:
                gateways.add(each.gateway)
    return networks


def placed(machine: ListedMachine, networks: Mapping[IPv4Network, Collection[IPv4Address]]) -> ListedMachine:
    """The machine with prefix and gateway of the network that its list gives others, as `networks_of` has these.

    It stays as it is where the list does not say, or says of its address several networks, or several gateways.
    """
    if machine.address is None or machine.prefix is not None:
        return machine
    prefixes = {each.prefixlen for each in networks}
    around = [IPv4Network((machine.address, each), strict=False) for each in prefixes]
    there = [each for each in around if each in networks]
    if len(there) != 1 or len(networks[there[0]]) > 1:
        return machine
    known = replace(machine, prefix=there[0].prefixlen, routers=(*machine.routers, *networks[there[0]]))
    return routed(known, there[0])


def parse_address(text: str) -> tuple[IPv4Address, Prefix]:
    """An IPv4 address alone, or with the length of its prefix or its netmask behind a slash; raises Invalid."""
    address, slash, length = text.strip().partition("/")
    try:
        parsed = IPv4Address(address)
    except AddressValueError:
        raise Invalid(f"invalid ip: {quoted(text)} (expected such as 172.30.0.20 or 172.30.0.20/24)") from None
    if not slash:
        return parsed, None
    prefix = _prefix(length)
    if not prefix:
        raise Invalid(f"invalid ip: {quoted(text)}: a prefix is between 1 and 32, or a netmask such as 255.255.255.0")
    return parsed, prefix


def _prefix(text: str) -> int:
    """Its length, written as such or as a netmask; 0: neither."""
    if text.isascii() and text.isdigit() and len(text) <= 2:
        return int(text) if int(text) <= 32 else 0
    try:
        mask = IPv4Address(text)
    except AddressValueError:
        return 0
    return IPv4Network((0, str(mask))).prefixlen if is_netmask(mask) else 0


def listed_machine(
    *,
    macs: Iterable[str],
    name: str = "",
    address: str = "",
    gateway: str = "",
    routers: Iterable[str] = (),
    labels: Labels,
    notes: Iterable[str] = (),
    line: int = 0,
    key: str = "",
) -> ListedMachine:
    """From texts; raises Invalid with every problem.  `labels` are checked already."""
    problems: list[Problem] = []
    cards: dict[MacAddress, None] = {}
    ip, prefix, router = None, None, None
    possible: dict[IPv4Address, None] = {}
    kept: list[str] = []

    def note(error: Invalid) -> None:
        problems.append(Problem(text=str(error), line=line or None, key=key))

    for each in macs:
        try:
            cards[check_card(MacAddress(each))] = None
        except Invalid as error:
            note(error)
    if not cards and not problems:
        note(Invalid("it has no MAC: a machine is known by the MAC of the card that it boots with"))
    if len(cards) > MOST_CARDS:
        note(Invalid(f"it has {len(cards)} MACs: at most {MOST_CARDS}"))
    if name and host_name(name) != name:
        proposed = f": try {host_name(name)}" if host_name(name) else ""
        note(Invalid(f"a name is small letters, digits and dashes, at most 63, not {spelled(name)}{proposed}"))
    try:
        ip, prefix = parse_address(address) if address else (None, None)
        router = parse_address(gateway)[0] if gateway else None
        possible = dict.fromkeys(parse_address(each)[0] for each in routers)
    except Invalid as error:
        note(error)
    if router is not None and ip is None and not problems:
        note(Invalid("it has a gateway and no address: give both, or neither"))
    for text in notes:
        try:
            kept.append(note_text(text))
        except Invalid as error:
            note(error)
    if problems:
        raise Invalid("a machine of the list is wrong", problems)
    return ListedMachine(
        macs=tuple(cards),
        name=name,
        address=ip,
        prefix=prefix,
        gateway=router,
        routers=tuple(possible),
        labels=dict(labels),
        notes=tuple(dict.fromkeys(kept)),
        line=line,
        key=key,
    )


def listed_document(machine: ListedMachine) -> Mapping[str, object]:
    """As it travels to the appliance, where `listed_machine` reads it again; what is not said is left out."""
    fields = {
        "macs": list(machine.macs),
        "name": machine.name,
        "address": machine.reserved,
        "gateway": str(machine.gateway or ""),
        "routers": list(map(str, machine.routers)),
        "labels": dict(machine.labels),
        "notes": list(machine.notes),
        "line": machine.line,
        "key": machine.key,
    }
    return {name: value for name, value in fields.items() if value}
