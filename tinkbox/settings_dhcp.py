"""The section `dhcp` of the configuration file: who gives machines their addresses, and which."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network

from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.leases import Subnet
from tinkbox.settings_section import Section

MODES = ("reservation", "pool", "proxy", "off")
MAX_POOL = 65_536
LEAST_LEASE_SECONDS = 10
_LEASE_SECONDS = 3600
NO_POOL = "mode: pool needs addresses to lend: add a line such as pool: 172.30.0.100-172.30.0.199"


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressing:
    """The addresses that may be lent, and what machines are told with them.

    `subnets` are networks behind relays and of further interfaces; the rest is of the first interface's network, which
    is known only at start.
    """

    pool: tuple[IPv4Address, IPv4Address] | None = None
    gateway: IPv4Address | None = None
    name_servers: tuple[IPv4Address, ...] = ()
    domain_name: str = ""
    lease_seconds: int = _LEASE_SECONDS
    subnets: tuple[Subnet, ...] = ()

    @property
    def lends(self) -> bool:
        """Whether there is any pool."""
        return self.pool is not None or any(each.pool for each in self.subnets)

    def on(self, links: Sequence[tuple[str, IPv4Network]]) -> tuple[Subnet, ...]:
        """The networks that machines are on, given our interfaces with theirs, the first one first.

        Raises Invalid naming every setting that does not fit these interfaces.
        """
        problems: list[Problem] = []
        known = {each.network: each for each in self.subnets}
        found: dict[IPv4Network, Subnet] = {}
        for name, network in links:
            # The first interface's network is described right below `dhcp`, if that says anything at all.
            own = not found and self != Addressing(subnets=self.subnets)
            chosen = self.subnet(network) if own else known.get(network) or Subnet(network=network)
            found[network] = replace(chosen, interface=name)
            problems += [Problem(key="dhcp", text=f"{each}, the network of {name}") for each in misfits(chosen)]
            if own and network in known:
                text = f"{network} is the network of {name}: say all of it here, or right below dhcp"
                problems.append(Problem(key="dhcp.subnets", text=text))
            for other in known:
                if other.overlaps(network) and other != network:
                    text = f"{other} overlaps the network of {name}, which is {network}: write that"
                    problems.append(Problem(key="dhcp.subnets", text=text))
        if problems:
            raise Invalid(f"the networks of the configuration have {len(problems)} problem(s)", problems)
        return tuple({**found, **{each: known[each] for each in known if each not in found}}.values())

    def subnet(self, network: IPv4Network) -> Subnet:
        """A network with what is said of it here."""
        return Subnet(
            network=network,
            pool=self.pool,
            gateway=self.gateway,
            name_servers=self.name_servers,
            domain_name=self.domain_name,
            lease_seconds=self.lease_seconds,
        )


def read_addressing(section: Section) -> Addressing:
    """Take all keys but `mode`."""
    whole = _terms(section)
    subnets: list[Subnet] = []
    for entry in section.sections("subnets"):
        network, terms = entry.link("network"), _terms(entry)
        entry.refuse_the_rest()
        if network is None:
            continue
        for other in subnets:
            if other.network.overlaps(network):
                entry.refuse("network", f"{network} overlaps {other.network}, which comes before it")
        for misfit in misfits(terms.subnet(network)):
            entry.refuse("", misfit)
        subnets.append(terms.subnet(network))
    return replace(whole, subnets=tuple(subnets))


def misfits(subnet: Subnet) -> list[str]:
    """What cannot be right in this network."""
    found = []
    if subnet.pool is not None and not all(each in subnet.network for each in subnet.pool):
        found.append(f"pool {subnet.pool[0]}-{subnet.pool[1]} is not within {subnet.network}")
    if subnet.gateway is not None and subnet.gateway not in subnet.network:
        found.append(f"gateway {subnet.gateway} cannot be reached from {subnet.network}")
    return found


def _terms(section: Section) -> Addressing:
    pool = section.address_range("pool")
    size = int(pool[1]) - int(pool[0]) + 1 if pool else 1
    if size < 1:
        section.refuse("pool", "the first address comes after the last: write them the other way round")
    if size > MAX_POOL:
        section.refuse("pool", f"{size} addresses are more than {MAX_POOL}: take fewer")
    return Addressing(
        pool=pool if 0 < size <= MAX_POOL else None,
        gateway=section.address("gateway"),
        name_servers=section.addresses("name_servers"),
        domain_name=section.domain("domain", ""),
        lease_seconds=section.seconds("lease", _LEASE_SECONDS, LEAST_LEASE_SECONDS),
    )
