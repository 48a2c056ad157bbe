"""The section `dhcp`: who gives machines their addresses, and which."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from typing import Any

from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.leases import GIVES_ADDRESSES, LeaseTerms, Subnet
from tinkbox.model.text import counted
from tinkbox.settings import readers
from tinkbox.settings.declaring import entries, inline, keys_of, reader, required, setting

MODES = (*GIVES_ADDRESSES, "proxy", "off")
MAX_POOL = 65_536
MAX_LINK_BITS = 30  # a network with two addresses: for us, or a router, and for one machine
LEAST_LEASE_SECONDS = 10
NO_POOL = "mode: pool needs addresses to lend: add a line such as pool: 172.30.0.100-172.30.0.199"
# Of a network that has no room for machines: it is that of an address beside the one that they ask.
_WAY_OUT = ". If {name} has another address, on the network of the machines, write that one under `address:`"
Pool = tuple[IPv4Address, IPv4Address]


@reader("`FIRST-LAST`")
def address_range(value: Any, default: Pool | None) -> Pool | None:
    """The first and the last of the addresses to lend."""
    found = readers.written(value)
    if not found:
        return default
    start, _, end = (each.strip() for each in found.partition("-"))
    try:
        first, last = IPv4Address(start), IPv4Address(end)
    except AddressValueError:
        raise Invalid(f"expected FIRST-LAST such as 172.30.0.100-172.30.0.199, not {found!r}") from None
    size = int(last) - int(first) + 1
    if size < 1:
        raise Invalid("the first address comes after the last: write them the other way round")
    if size > MAX_POOL:
        raise Invalid(f"{size} addresses are more than {MAX_POOL}: take fewer")
    return first, last


@reader("an IPv4 network")
def link(value: Any, _: IPv4Network) -> IPv4Network:
    """The network of machines that share a link."""
    found = readers.written(value)
    try:
        network = IPv4Network(found, strict=False)
    except ValueError:
        raise Invalid(f"expected an IPv4 network such as 172.31.0.0/24, not {found!r}") from None
    if network.prefixlen > MAX_LINK_BITS:
        raise Invalid(f"{found!r}: it has no room for machines")
    if str(network) != found:
        raise Invalid(f"{found!r}: the network is {network}")
    return network


def misfits(subnet: Subnet) -> list[str]:
    """What cannot be right in this network."""
    found = []
    if subnet.pool is not None and not all(each in subnet.network for each in subnet.pool):
        found.append(f"pool {subnet.pool[0]}-{subnet.pool[1]} is not within {subnet.network}")
    if subnet.gateway is not None and subnet.gateway not in subnet.network:
        found.append(f"gateway {subnet.gateway} cannot be reached from {subnet.network}")
    return found


def check_subnet(subnet: Subnet, _: Sequence[str]) -> Iterator[Problem]:
    return (Problem(text=each) for each in misfits(subnet))


def check_overlaps(subnets: Mapping[int, Subnet], _: Sequence[str]) -> Iterator[Problem]:
    """Networks that have addresses of one that comes before them."""
    for at, one in subnets.items():
        for before, other in subnets.items():
            if before < at and other.network.overlaps(one.network):
                text = f"{one.network} overlaps {other.network}, which comes before it"
                yield Problem(key=f"[{at}].network", text=text)


# What is said of one network: right below `dhcp` of the first interface's, below `dhcp.subnets` of another.
_TERMS: Mapping[str, Any] = {
    "pool": setting(
        None,
        address_range,
        "first and last address to lend on this network; `mode: pool` needs a pool on at least one network",
    ),
    "gateway": setting(
        None,
        readers.address,
        "default gateway of machines with an address of the pool, unless their hardware document has one",
    ),
    "name_servers": setting((), readers.addresses, "DNS servers of such machines"),
    "domain_name": setting("", readers.domain, "domain name of such machines", key="domain"),
    "lease_seconds": setting(
        LeaseTerms().lease_seconds,
        readers.seconds(LEAST_LEASE_SECONDS),
        "length of a lease; a machine renews it after half of that time. A change counts from the next renewal",
        key="lease",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dhcp:
    """Who gives machines their addresses, which, and what machines are told with them.

    `terms` are of the first interface's network, which is known only at start.  `subnets` are networks behind relays
    and of further interfaces.
    """

    mode: str = setting(
        MODES[0],
        readers.choice(*MODES),
        "who gives machines their addresses ([addresses.md](addresses.md))",
    )
    terms: LeaseTerms = inline(keys_of(LeaseTerms, **_TERMS))
    subnets: tuple[Subnet, ...] = entries(
        keys_of(Subnet, network=required(link, "the network that these keys are for"), **_TERMS),
        "networks behind relays and of further interfaces. The same keys directly below `dhcp` are for the network of "
        "the first interface",
        each=check_subnet,
        together=check_overlaps,
    )

    @property
    def gives_addresses(self) -> bool:
        """Whether machines are to have their addresses of us."""
        return self.mode in GIVES_ADDRESSES

    @property
    def lends(self) -> bool:
        """Whether there is any pool."""
        return self.terms.pool is not None or any(each.pool for each in self.subnets)

    def on(self, links: Sequence[tuple[str, IPv4Network]]) -> tuple[Subnet, ...]:
        """The networks that machines are on, given our interfaces with theirs, the first one first.

        Raises Invalid naming every setting that does not fit these interfaces.
        """
        problems: list[Problem] = []
        known = {each.network: each for each in self.subnets}
        found: dict[IPv4Network, Subnet] = {}
        for name, network in links:
            # The first interface's network is described right below `dhcp`, if that says anything at all.
            own = not found and self.terms != LeaseTerms()
            chosen = self.terms.on(network) if own else known.get(network) or Subnet(network=network)
            found[network] = replace(chosen, interface=name)
            out = _WAY_OUT.format(name=name) if network.prefixlen > MAX_LINK_BITS else ""
            problems += [Problem(key="dhcp", text=f"{each}, the network of {name}{out}") for each in misfits(chosen)]
            if own and network in known:
                text = f"{network} is the network of {name}: say all of it here, or right below dhcp"
                problems.append(Problem(key="dhcp.subnets", text=text))
            for other in known:
                if other.overlaps(network) and other != network:
                    text = f"{other} overlaps the network of {name}, which is {network}: write that"
                    problems.append(Problem(key="dhcp.subnets", text=text))
        if problems:
            raise Invalid(f"the networks of the configuration have {counted(len(problems), 'problem')}", problems)
        return tuple({**found, **{each: known[each] for each in known if each not in found}}.values())


def check_dhcp(dhcp: Dhcp, unread: Sequence[str]) -> Iterator[Problem]:
    """Mode `pool` needs a pool; one that could not be read is complained of already."""
    if dhcp.mode == "pool" and not dhcp.lends and not any(each == "pool" or each.endswith(".pool") for each in unread):
        yield Problem(key="pool", text=NO_POOL)
