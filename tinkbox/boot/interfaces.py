"""Which network interface machines are provisioned on, as the kernel tells it."""

import fcntl
import socket
import struct
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from tinkbox.model.errors import Unavailable

_SIOCGIFADDR = 0x8915
_ROUTES = Path("/proc/net/route")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisioningInterface:
    """The interface's name and the address by which machines reach the appliance."""

    name: str
    address: IPv4Address


def provisioning_interface(name: str = "", address: IPv4Address | None = None) -> ProvisioningInterface:
    """The configured interface, or the one that qualifies: it has an IPv4 address and no default route.

    Raises Unavailable, saying what to configure, when there is none or more than one.
    """
    present = {each: found for _, each in socket.if_nameindex() if (found := _address_of(each)) is not None}
    if name:
        return ProvisioningInterface(name=name, address=_address(name, address, present))
    if address is not None:
        holders = [each for each, held in present.items() if held == address]
        if not holders:
            raise Unavailable(f"no interface has the configured address {address}: check `ip address`")
        return ProvisioningInterface(name=holders[0], address=address)
    outward = _default_route_interfaces()
    inward = {each: held for each, held in present.items() if not held.is_loopback and each not in outward}
    if len(inward) == 1:
        ((only, reached_by),) = inward.items()
        return ProvisioningInterface(name=only, address=reached_by)
    seen = ", ".join(f"{each} ({held})" for each, held in present.items()) or "none with an address"
    problem = "several interfaces qualify" if inward else "no interface but the one to the outside has an address"
    raise Unavailable(f"which interface are machines on? {problem}; set `interface:` in tinkbox.yaml (present: {seen})")


def _address(name: str, address: IPv4Address | None, present: dict[str, IPv4Address]) -> IPv4Address:
    if name not in [each for _, each in socket.if_nameindex()]:
        raise Unavailable(f"there is no interface {name}: check `interface:` in tinkbox.yaml against `ip link`")
    held = address or present.get(name)
    if held is None:
        raise Unavailable(f"interface {name} has no IPv4 address: give it one, such as `ip address add 172.30.0.1/24 dev {name}`")  # fmt: skip
    return held


def _address_of(name: str) -> IPv4Address | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        except OSError:
            return None
    return IPv4Address(answer[20:24])


def _default_route_interfaces() -> set[str]:
    rows = [line.split() for line in _ROUTES.read_text().splitlines()[1:]]
    return {row[0] for row in rows if len(row) > 7 and row[1] == "00000000" and row[7] == "00000000"}
