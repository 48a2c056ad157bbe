"""The hardware document of a machine, changed: of 2020's form, or a `kind: Hardware`.  Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any, Final

from tinkbox.engine.machines.hardware_document import Reservation, check_name
from tinkbox.model.documents.hardware import ID_ANNOTATION, check_interfaces, hardware_from_document, labelled_document
from tinkbox.model.documents.hardware_v1alpha2 import is_v1alpha2
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import Hardware, MacAddress, check_card, is_of_card, primary
from tinkbox.model.labels import LabelChange

KIND: Final = "Hardware"
Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What is to change of a machine; what is empty or None stays.

    `reservation` is of the interface that it is shown by; its gateway stays with it where it names none.  `gateway` goes
    with the address that is there.
    """

    name: str = ""
    reservation: Reservation | None = None
    gateway: IPv4Address | None = None
    added_macs: tuple[MacAddress, ...] = ()
    removed_macs: tuple[MacAddress, ...] = ()
    disks: tuple[str, ...] | None = None
    ssh_keys: tuple[str, ...] | None = None
    labels: LabelChange = field(default_factory=LabelChange)


def edited(hardware: Hardware, edit: Edit) -> Hardware:
    """The machine with the changes, and the same id; raises Invalid for what cannot be."""
    labels = edit.labels.applied_to(hardware.labels)
    document: Document = json.loads(json.dumps(labelled_document(replace(hardware, labels=labels))))
    is_object = document.get("kind") == KIND
    if is_v1alpha2(document):
        raise Invalid(
            f"machine {hardware.name} has a document of v1alpha2, which flags do not change: `tinkbox export hardware/"
            f"{hardware.name}` prints it, change that, and `tinkbox apply -f` it"
        )
    key, netboot = ("spec", "allowPXE") if is_object else ("network", "allow_pxe")
    holder: Document = document.get(key) or {}
    entries: list[Document] = list(holder.get("interfaces") or ())
    shown, before = primary(hardware), len(entries)
    first = entries[shown.place] if shown else None
    if first is None and edit.added_macs:
        entries, first = _with_first_card(entries, edit, netboot)
    if edit.reservation is not None:
        _reserve(_addressed(first), edit.reservation)
    if edit.gateway is not None:
        _route(_addressed(first), edit.gateway)
    if edit.name:
        _name(document, first, check_name(edit.name), hardware.id)
    entries = _cards(entries, first, edit, netboot)
    if entries or "interfaces" in holder:
        document[key] = {**holder, "interfaces": entries}
    if len(entries) > before:
        check_interfaces(document)
    if edit.disks is not None:
        _set_disks(document, edit.disks)
    if edit.ssh_keys is not None:
        _instance(document)["ssh_keys"] = list(edit.ssh_keys)
    return replace(hardware_from_document(document), labels=labels)


def _with_first_card(entries: Sequence[Document], edit: Edit, netboot: str) -> tuple[list[Document], Document]:
    """The interfaces with the first MAC that is told of the machine, and that one."""
    first: Document = {"dhcp": {"mac": str(check_card(edit.added_macs[0]))}, "netboot": {netboot: True}}
    return [*entries, first], first


def _addressed(first: Document | None) -> Document:
    """The interface that the machine is shown by; raises Invalid where it has none."""
    if first is None:
        raise Invalid("the machine has no MAC to which an address could be given: give one with --add-mac")
    return first


def _reserve(interface: Document, reservation: Reservation) -> None:
    network = reservation.address.network
    before = interface["dhcp"].get("ip") or {}
    if ":" in f"{before.get('address')}{before.get('gateway')}":  # of IPv6
        before = {}
    ip: Document = {**before, "address": str(reservation.address.ip), "netmask": str(network.netmask)}
    if reservation.gateway is not None:
        ip["gateway"] = str(reservation.gateway)
    elif ip.get("gateway") and IPv4Address(ip["gateway"]) not in network:
        del ip["gateway"]
    interface["dhcp"]["ip"] = ip
    if reservation.name_servers and not interface["dhcp"].get("name_servers"):
        interface["dhcp"]["name_servers"] = [str(each) for each in reservation.name_servers]


def _route(interface: Document, gateway: IPv4Address) -> None:
    ip = interface["dhcp"].get("ip") or {}
    if not ip.get("address"):
        raise Invalid("the machine has no address of its own to tell a gateway with: give its address too")
    if not ip.get("netmask"):
        raise Invalid(
            "the machine's address has no netmask to see with whether the gateway is on its network: give it too"
        )
    own = IPv4Interface((ip["address"], str(IPv4Network((0, ip["netmask"])).prefixlen)))
    if gateway not in own.network or gateway == own.ip:
        raise Invalid(f"the gateway {gateway} is no other host of the network {own.network} of {own.ip}")
    interface["dhcp"]["ip"] = {**ip, "gateway": str(gateway)}


def _name(document: Document, interface: Document | None, name: str, hardware_id: str) -> None:
    if interface is not None:
        interface["dhcp"]["hostname"] = name
    if document.get("kind") == KIND:
        metadata = document["metadata"]
        if metadata["name"] != name:
            metadata["annotations"] = {**(metadata.get("annotations") or {}), ID_ANNOTATION: hardware_id}
        metadata["name"] = name
    instance = _instance(document)
    if instance.get("hostname") or document.get("kind") == KIND:
        instance["hostname"] = name


def _cards(entries: Sequence[Document], first: Document | None, edit: Edit, netboot: str) -> list[Document]:
    """The interfaces; what takes the place of `first` also takes its name and its address over."""
    macs = [_mac(each) for each in entries]
    for mac in edit.removed_macs:
        if mac not in macs:
            raise Invalid(f"{mac} is no card of this machine: it has {', '.join(filter(None, macs)) or 'none'}")
    kept = [each for each, mac in zip(entries, macs, strict=True) if mac not in edit.removed_macs]
    new = [check_card(each) for each in edit.added_macs if each not in macs]
    kept += [{"dhcp": {"mac": str(each)}, "netboot": {netboot: True}} for each in new]
    if first is None:
        return kept
    if not any(map(_mac, kept)):
        raise Invalid("a machine needs one card at least: add the new one with --add-mac, or delete the machine")
    if first not in kept:
        heirs = [each for each in kept if _mac(each)]
        heir = next((each for each in heirs if (each.get("netboot") or {}).get(netboot)), heirs[0])
        handed = {name: first["dhcp"][name] for name in first["dhcp"] if name not in ("mac", "iface_name")}
        heir["dhcp"] = {**handed, **{name: value for name, value in heir["dhcp"].items() if value}}
    return kept


def _mac(entry: Document | None) -> MacAddress | None:
    """None: the interface tells none that a network card can have."""
    mac = ((entry or {}).get("dhcp") or {}).get("mac")
    found = MacAddress(mac) if mac else None
    return found if found is not None and is_of_card(found) else None


def _set_disks(document: Document, disks: Sequence[str]) -> None:
    if document.get("kind") == KIND:
        document["spec"]["disks"] = [{"device": each} for each in disks]
        return
    instance = _instance(document)
    instance["storage"] = {**(instance.get("storage") or {}), "disks": [{"device": each} for each in disks]}


def _instance(document: Document) -> Document:
    """What its system is told, made where there is none; raises Invalid where something else stands in its place."""
    holder = document["spec"] if document.get("kind") == KIND else document
    for name in ("metadata", "instance"):
        inner = holder.get(name)
        if inner is None:
            inner = holder[name] = {}
        if not isinstance(inner, dict):
            raise Invalid(f"{name} of its hardware document is no object: edit the document itself, without flags")
        holder = inner
    return holder
