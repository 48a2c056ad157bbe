"""Which network interfaces machines are provisioned on, as the kernel tells it."""

import fcntl
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path

from tinkbox.model.errors import Unavailable
from tinkbox.vitals.ipv4_addresses import interface_of, labelled_addresses

_SIOCGIFADDR = 0x8915
_SIOCGIFNETMASK = 0x891B
_SIOCGIFFLAGS = 0x8913
_IFF_UP = 1
_ROUTES = Path("/proc/net/route")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisioningInterface:
    """An interface's name, the address by which machines on it reach the appliance, and the network they share."""

    name: str
    address: IPv4Address
    network: IPv4Network


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentInterface:
    """An interface of this host with its first address; `outward` has a default route."""

    name: str
    address: IPv4Interface | None
    outward: bool
    up: bool


def present_interfaces() -> list[PresentInterface]:
    """All interfaces of this host, in the kernel's order."""
    outward = _default_route_interfaces()
    found = []
    for _, name in socket.if_nameindex():
        at = _configured(name)
        address = IPv4Interface((at.address, at.network.prefixlen)) if at else None
        found.append(PresentInterface(name=name, address=address, outward=name in outward, up=_is_up(name)))
    return found


def provisioning_interfaces(
    names: Sequence[str] = (), address: IPv4Address | None = None
) -> tuple[ProvisioningInterface, ...]:
    """The configured interfaces, or the one that qualifies: it has an IPv4 address and no default route.

    `address` chooses among the addresses of one interface.  Raises Unavailable, saying what to configure, when there is
    none or more than one that qualifies, when `address` is not on the interface, and when two of them lead to the same
    network.
    """
    present = [found for _, each in socket.if_nameindex() if (found := _configured(each)) is not None]
    if names:
        chosen = tuple(_named(each, address, present) for each in dict.fromkeys(names))
        _refuse_overlap(chosen)
        return chosen
    if address is not None:
        holders = [each for each in present if each.address == address]
        if not holders:
            raise Unavailable(
                f"no interface has the configured address {address}: give it to one, such as "
                f"`ip address add {address}/24 dev {_without_address(present)}`, or change `address:` in tinkbox.yaml"
            )
        return (holders[0],)
    outward = _default_route_interfaces()
    inward = [each for each in present if not each.address.is_loopback and each.name not in outward]
    if len(inward) == 1:
        return (inward[0],)
    seen = ", ".join(f"{each.name} ({each.address})" for each in present) or "none with an address"
    if inward:
        problem = "several interfaces qualify; set `interface:` in tinkbox.yaml"
    else:
        problem = (
            "no interface but the one to the outside has an address; give the one that machines are on an address, such as "
            f"`ip address add 172.30.0.1/24 dev {_without_address(present)}`, and set `interface:` in tinkbox.yaml"
        )
    raise Unavailable(f"which interface are machines on? {problem} (present: {seen})")


def _without_address(present: Sequence[ProvisioningInterface]) -> str:
    """An interface that could be given an address, or what stands for its name."""
    taken = {each.name for each in present} | {"lo"}
    return next((name for _, name in socket.if_nameindex() if name not in taken), "INTERFACE")


def _named(name: str, address: IPv4Address | None, present: Sequence[ProvisioningInterface]) -> ProvisioningInterface:
    if name not in [each for _, each in socket.if_nameindex()]:
        raise Unavailable(f"there is no interface {name}: check `interface:` in tinkbox.yaml against `ip link`")
    found = next((each for each in present if each.name == name), None)
    if found is None:
        raise Unavailable(f"interface {name} has no IPv4 address: give it one, such as `ip address add 172.30.0.1/24 dev {name}`")  # fmt: skip
    if address is None:
        return found
    if not (found.address.is_loopback and address.is_loopback):  # all of 127.0.0.0/8 is the loopback interface's
        _refuse_foreign(name, address)
    network = IPv4Network(f"{address}/{_netmask(name, address) or found.network.prefixlen}", strict=False)
    return ProvisioningInterface(name=name, address=address, network=network)


def _refuse_foreign(name: str, address: IPv4Address) -> None:
    """Raise Unavailable where an address is not one of an interface's."""
    holders = _holders()
    if name in holders.get(address, ()):
        return
    ours = ", ".join(str(each) for each, names in holders.items() if name in names)
    if other := holders.get(address):
        raise Unavailable(
            f"`interface: {name}` and `address: {address}` do not go together: {other[0]} has that address, {name} has "
            f"{ours}. In tinkbox.yaml, write `interface: {other[0]}`, or leave `address:` out"
        )
    raise Unavailable(
        f"interface {name} does not have the configured address {address}, it has {ours}: give it that one, such as "
        f"`ip address add {address}/24 dev {name}`, or leave `address:` out of tinkbox.yaml"
    )


def _holders() -> dict[IPv4Address, list[str]]:
    """Every IPv4 address of this host, with the interfaces that have it."""
    found: dict[IPv4Address, list[str]] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for label, address in labelled_addresses(probe):
            found.setdefault(address, []).append(interface_of(label))
    return found


def _refuse_overlap(chosen: Sequence[ProvisioningInterface]) -> None:
    for at, one in enumerate(chosen):
        for other in chosen[:at]:
            if one.network.overlaps(other.network):
                both = f"{other.name} ({other.network}) and {one.name} ({one.network})"
                raise Unavailable(f"{both} lead to the same network: name one of them under `interface:`")


def _configured(name: str) -> ProvisioningInterface | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("256s", name.encode()[:15])
        try:
            address, netmask = (
                IPv4Address(fcntl.ioctl(probe, code, request)[20:24]) for code in (_SIOCGIFADDR, _SIOCGIFNETMASK)
            )
        except OSError:
            return None
    network = IPv4Network(f"{address}/{netmask}", strict=False)
    return ProvisioningInterface(name=name, address=address, network=network)


def _netmask(name: str, address: IPv4Address) -> IPv4Address | None:
    """That of one of an interface's addresses, which need not be the first; None: it has no such address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        label = next(
            (told for told, at in labelled_addresses(probe) if at == address and interface_of(told) == name), None
        )
        if label is None:
            return None
        request = struct.pack("16sHH4s232x", label, socket.AF_INET, 0, address.packed)
        try:
            return IPv4Address(fcntl.ioctl(probe, _SIOCGIFNETMASK, request)[20:24])
        except OSError:
            return None


def _is_up(name: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe, _SIOCGIFFLAGS, struct.pack("256s", name.encode()[:15]))
        except OSError:
            return False
    return bool(int(struct.unpack_from("H", answer, 16)[0]) & _IFF_UP)


def _default_route_interfaces() -> set[str]:
    rows = [line.split() for line in _ROUTES.read_text().splitlines()[1:]]
    return {row[0] for row in rows if len(row) > 7 and row[1] == "00000000" and row[7] == "00000000"}
