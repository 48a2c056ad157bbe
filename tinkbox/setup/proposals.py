"""What `tinkbox init` proposes, by what it finds on the host; and the configuration that comes of it.  Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from tinkbox.model.diagnosis import Rival
from tinkbox.model.errors import Invalid
from tinkbox.setup.configuration_file import scalar, with_keys

if TYPE_CHECKING:
    from tinkbox.settings.all_settings import Settings

POOL_HOSTS = 100
# Where nothing else is: a network for machines alone.
NETWORKS = [IPv4Network(f"172.30.{each}.0/24") for each in range(256)]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostInterface:
    """An interface of this host; `outward` has the default route, so that it is a network of people."""

    name: str
    address: IPv4Interface | None = None
    outward: bool = False
    up: bool = True

    def __str__(self) -> str:
        parts = [str(self.address) if self.address else "no address"]
        parts += ["the default route: your network"] if self.outward else []
        parts += [] if self.up else ["down"]
        return f"{self.name} ({', '.join(parts)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was decided; without `data` it is the default folder.

    `other_address`: a person named the address; `is_new_address`: the interface has not had it so far.
    """

    interface: str
    address: IPv4Interface
    mode: str
    pool: tuple[IPv4Address, IPv4Address] | None = None
    data: Path | None = None
    other_address: bool = False
    is_new_address: bool = False


def proposed_interface(found: Sequence[HostInterface]) -> HostInterface | None:
    """The one that machines must be on: the only one that is no network of people, else the only one."""
    inward = [each for each in found if not each.outward]
    candidates = inward or found
    return candidates[0] if len(candidates) == 1 else None


def proposed_address(chosen: HostInterface, networks: Collection[IPv4Network]) -> IPv4Interface:
    """The address it has, else one that is in none of this host's networks."""
    if chosen.address is not None:
        return chosen.address
    free = next((each for each in NETWORKS if not any(each.overlaps(other) for other in networks)), NETWORKS[0])
    return IPv4Interface((free.network_address + 1, free.prefixlen))


def refuse_taken(address: IPv4Interface, interface: str, networks: Mapping[str, IPv4Network]) -> None:
    """Raise Invalid for an address in a network that another interface has: answers would leave by that one."""
    for name, network in networks.items():
        if name != interface and network.overlaps(address.network):
            raise Invalid(
                f"{address} is in the network of {name} ({network}), and {interface} needs a network of its own: "
                f"choose another address, or --interface {name}"
            )


def stranded(machines: Iterable[Collection[IPv4Address]], networks: Collection[IPv4Network]) -> int:
    """How many machines have reserved addresses, and none in one of these networks."""
    return sum(
        bool(addresses) and not any(each in network for each in addresses for network in networks)
        for addresses in machines
    )


def proposed_mode(others: Sequence[Rival]) -> str:
    """Beside another server that gives addresses only booting is answered."""
    return "proxy" if any(each.offered is not None for each in others) else "reservation"


def proposed_pool(address: IPv4Interface) -> tuple[IPv4Address, IPv4Address]:
    """A hundred addresses in the middle of the network, or its upper half where it is small."""
    first = int(address.network.network_address)
    last = int(address.network.broadcast_address) - 1
    if last - first >= 2 * POOL_HOSTS:
        return IPv4Address(first + POOL_HOSTS), IPv4Address(first + 2 * POOL_HOSTS - 1)
    begin = first + (last - first) // 2 + 1
    if begin > last:
        raise Invalid(f"{address.network} has no room for a pool: give the interface an address of a larger network")
    return IPv4Address(begin), IPv4Address(last)


def config_text(choice: Choice) -> str:
    """tinkbox.yaml with what differs from the defaults."""
    return "\n".join(_lines(choice)) + "\n"


def changed_config_text(text: str, before: "Settings", choice: Choice) -> str:
    """A tinkbox.yaml that says `before`, with what was chosen otherwise; every other key and comment stays.

    Raises Invalid where a key is written in a way that cannot be changed.
    """
    wanted: dict[str, str | None] = {}
    if choice.data is not None and choice.data != before.data:
        wanted["data"] = str(choice.data)
    moved = choice.interface not in before.interfaces[:1]
    if moved:
        wanted["interface"] = choice.interface
    if choice.address.ip != before.address and (moved or before.address is not None or choice.other_address):
        wanted["address"] = str(choice.address.ip)
    if choice.mode != before.dhcp.mode:
        wanted["dhcp.mode"] = choice.mode
        for meaning in _MEANS.values():
            text = text.replace(f"    # {meaning}", "")
    if choice.pool != before.dhcp.terms.pool:
        wanted["dhcp.pool"] = None if choice.pool is None else f"{choice.pool[0]}-{choice.pool[1]}"
    return with_keys(text, wanted)


@dataclass(frozen=True, slots=True)
class AddressFile:
    """What gives an interface its address at each boot of the host."""

    path: Path
    text: str


def for_networkd(choice: Choice) -> AddressFile:
    """The address is there without a carrier, and no boot waits for one: a direct cable has none while the machine is off."""
    text = (
        f"[Match]\nName={choice.interface}\n[Link]\nRequiredForOnline=no-carrier\n"
        f"[Network]\nAddress={choice.address}\nConfigureWithoutCarrier=yes\n"
    )
    return AddressFile(Path(f"/etc/systemd/network/10-{choice.interface}.network"), text)


def for_ifupdown(choice: Choice) -> AddressFile:
    text = f"auto {choice.interface}\niface {choice.interface} inet static\n    address {choice.address}\n"
    return AddressFile(Path(f"/etc/network/interfaces.d/{choice.interface}"), text)


def persistent_address(choice: Choice) -> str:
    """How a person has the host keep an address, with each of what Debian has for that."""
    known = {"systemd-networkd": for_networkd(choice), "ifupdown": for_ifupdown(choice)}
    return "".join(f"with {name}, in {file.path}:\n{indent(file.text, '    ')}" for name, file in known.items())


def _lines(choice: Choice) -> Iterator[str]:
    yield "# Written by `tinkbox init`: only what differs from the defaults.  docs/operating.md has every key;"
    yield "# `tinkbox serve --check` looks at this file and says what is wrong."
    if choice.data is not None:
        yield f"data: {scalar(str(choice.data))}"
    yield f"interface: {scalar(choice.interface)}    # the network that machines are on"
    yield f"address: {choice.address.ip}"
    if choice.mode != "reservation":
        yield "dhcp:"
        yield f"  mode: {scalar(choice.mode)}    # {_MEANS[choice.mode]}"
        if choice.pool is not None:
            yield f"  pool: {choice.pool[0]}-{choice.pool[1]}"
    if choice.mode in ("pool", "proxy"):
        yield "# unknown_machines: discover    # let unknown machines introduce themselves, for `tinkbox hardware accept`"


_MEANS = {
    "pool": "any machine that asks gets an address of the pool",
    "proxy": "another DHCP server gives the addresses; tinkbox only says what to boot",
    "off": "your DHCP server does all of it; `tinkbox doctor` prints what it has to say",
}
