"""The section `dhcp`: who gives addresses, and which; every mistake is named with its key and what to do."""

from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from tests.unit.settings import configured
from tests.unit.settings.configured import loaded
from tinkbox.model.errors import Invalid
from tinkbox.model.leases import LeaseTerms, Subnet
from tinkbox.settings.dhcp import Dhcp

POOL = """
dhcp:
  mode: pool
  pool: 172.30.0.100-172.30.0.199
  gateway: 172.30.0.254
  name_servers: [172.30.0.53, 172.30.0.54]
  domain: Lab.Example.
  lease: 90m
  subnets:
    - {network: 172.31.0.0/24, pool: 172.31.0.10 - 172.31.0.19, gateway: 172.31.0.1, name_servers: 172.31.0.53, domain: x, lease: 600}
    - {network: 172.32.0.0/24}
"""
OWN = IPv4Network("172.30.0.0/24")
BEHIND = Subnet(
    network=IPv4Network("172.31.0.0/24"),
    pool=(IPv4Address("172.31.0.10"), IPv4Address("172.31.0.19")),
    gateway=IPv4Address("172.31.0.1"),
    name_servers=(IPv4Address("172.31.0.53"),),
    domain_name="x",
    lease_seconds=600,
)


def problems_of(tmp_path: Path, text: str) -> list[str]:
    return configured.problems_of(tmp_path, f"dhcp: {{{text}}}")


def problems_on(dhcp: Dhcp, *links: tuple[str, str]) -> list[str]:
    with pytest.raises(Invalid) as refusal:
        dhcp.on([(name, IPv4Network(network)) for name, network in links])
    return [str(problem) for problem in refusal.value.problems]


def test_every_key_is_read(tmp_path: Path) -> None:
    settings = loaded(tmp_path, POOL)
    assert settings.dhcp == Dhcp(
        mode="pool",
        terms=LeaseTerms(
            pool=(IPv4Address("172.30.0.100"), IPv4Address("172.30.0.199")),
            gateway=IPv4Address("172.30.0.254"),
            name_servers=(IPv4Address("172.30.0.53"), IPv4Address("172.30.0.54")),
            domain_name="lab.example",
            lease_seconds=5400,
        ),
        subnets=(BEHIND, Subnet(network=IPv4Network("172.32.0.0/24"))),
    )


@pytest.mark.parametrize(
    ("mode", "read"), [("reservation", "reservation"), ("proxy", "proxy"), ("off", "off"), ("", "reservation")]
)
def test_without_a_pool_every_mode_but_one_is_fine(tmp_path: Path, mode: str, read: str) -> None:
    settings = loaded(tmp_path, f"dhcp: {{mode: {mode}}}")
    assert settings.dhcp == Dhcp(mode=read)
    assert settings.dhcp.terms.lease_seconds == 3600


def test_the_mode_pool_without_a_pool_names_the_line_to_add(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "mode: pool") == [
        "dhcp.pool: mode: pool needs addresses to lend: add a line such as pool: 172.30.0.100-172.30.0.199"
    ]


def test_a_pool_that_cannot_be_read_is_one_problem(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, "mode: pool, pool: 172.30.0.0/24")
    assert "expected FIRST-LAST" in problem
    (problem,) = problems_of(tmp_path, "mode: pool, subnets: [{network: 10.0.0.0/8, pool: some}]")
    assert problem.startswith("dhcp.subnets[0].pool: expected FIRST-LAST")


def test_a_pool_behind_a_relay_is_enough_for_the_mode_pool(tmp_path: Path) -> None:
    assert loaded(tmp_path, "dhcp: {mode: pool, subnets: [{network: 10.0.0.0/8, pool: 10.0.0.2-10.0.0.9}]}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("mode: pol", "dhcp.mode: expected reservation or pool or proxy or off, not 'pol'"),
        ("pool: many", "dhcp.pool: expected FIRST-LAST such as 172.30.0.100-172.30.0.199, not 'many'"),
        ("pool: 10.0.0.1-10.0.0.300", "dhcp.pool: expected FIRST-LAST"),
        ("pool: [1, 2]", "dhcp.pool: expected text"),
        (
            "pool: 10.0.0.9-10.0.0.8",
            "dhcp.pool: the first address comes after the last: write them the other way round",
        ),
        ("pool: 10.0.0.0-10.1.0.0", "dhcp.pool: 65537 addresses are more than 65536: take fewer"),
        ("gateway: there", "dhcp.gateway: invalid ip: 'there'"),
        ("name_servers: [10.0.0.1, x]", "dhcp.name_servers: expected addresses such as [172.30.0.53], not"),
        ("domain: a b", "dhcp.domain: expected a domain such as lab.example"),
        ("lease: soon", "dhcp.lease: expected a time of at least 10s, such as 20s, 5m, 1h or 90d, not 'soon'"),
        ("lease: 9s", "dhcp.lease: expected a time of at least 10s, such as 20s, 5m, 1h or 90d, not '9s'"),
        ("lease: true", "dhcp.lease: expected a time"),
        ("lease: 99999d", "dhcp.lease: expected a time"),
        ("subnets: {network: 10.0.0.0/8}", "dhcp.subnets: expected a list of keys with values"),
        ("subnets: [{pool: 10.0.0.1-10.0.0.2}]", "dhcp.subnets[0].network: expected an IPv4 network"),
        ("subnets: [{network: 10.0.0.1/8}]", "dhcp.subnets[0].network: '10.0.0.1/8': the network is 10.0.0.0/8"),
        ("subnets: [{network: 10.0.0.0/31}]", "dhcp.subnets[0].network: '10.0.0.0/31': it has no room for machines"),
        ("subnets: [{network: 10.0.0.0/8, pol: x}]", "dhcp.subnets[0].pol: unknown key; did you mean pool?"),
        (
            "subnets: [{network: 10.0.0.0/24, pool: 10.0.0.9-10.0.1.9}]",
            "dhcp.subnets[0]: pool 10.0.0.9-10.0.1.9 is not within 10.0.0.0/24",
        ),
        (
            "subnets: [{network: 10.0.0.0/24, gateway: 10.0.1.1}]",
            "dhcp.subnets[0]: gateway 10.0.1.1 cannot be reached from 10.0.0.0/24",
        ),
        (
            "subnets: [{network: 10.0.0.0/8}, {network: 11.0.0.0/8}, {network: 10.1.0.0/16}]",
            "dhcp.subnets[2].network: 10.1.0.0/16 overlaps 10.0.0.0/8, which comes before it",
        ),
    ],
)
def test_a_mistake_is_named_with_its_key_and_the_remedy(tmp_path: Path, text: str, problem: str) -> None:
    found = problems_of(tmp_path, text)
    assert len(found) == 1
    assert found[0].startswith(problem)


def test_a_subnet_is_more_than_a_network(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "subnets: [10.0.0.0/8]")[0] == "dhcp.subnets[0]: expected keys with values"


def test_the_largest_pool_and_the_shortest_lease_are_taken(tmp_path: Path) -> None:
    terms = loaded(tmp_path, "dhcp: {mode: pool, pool: 10.0.0.0-10.0.255.255, lease: 10}").dhcp.terms
    assert terms.pool is not None
    assert terms.lease_seconds == 10


def test_what_stands_right_below_dhcp_is_of_the_first_interface(tmp_path: Path) -> None:
    settings = loaded(tmp_path, POOL)
    first, further, behind = settings.dhcp.on([("eth1", OWN), ("eth1.20", IPv4Network("172.32.0.0/24"))])
    assert (first.network, first.interface, first.pool) == (OWN, "eth1", settings.dhcp.terms.pool)
    assert (first.gateway, first.domain_name, first.lease_seconds) == (IPv4Address("172.30.0.254"), "lab.example", 5400)
    assert further == Subnet(network=IPv4Network("172.32.0.0/24"), interface="eth1.20")
    assert behind == BEHIND


def test_the_first_interface_may_be_described_as_the_others_are() -> None:
    (only,) = Dhcp(subnets=(BEHIND,)).on([("eth1", BEHIND.network)])
    assert (only.interface, only.pool) == ("eth1", BEHIND.pool)


def test_an_interface_that_nothing_is_said_of_has_a_network_without_a_pool() -> None:
    assert Dhcp().on([("eth1", OWN)]) == (Subnet(network=OWN, interface="eth1"),)


def test_what_does_not_fit_the_interfaces_is_named_at_start() -> None:
    pool = (IPv4Address("172.31.0.10"), IPv4Address("172.31.0.19"))
    assert problems_on(
        Dhcp(terms=LeaseTerms(pool=pool, gateway=IPv4Address("172.31.0.1"))), ("eth1", "172.30.0.0/24")
    ) == [
        "dhcp: pool 172.31.0.10-172.31.0.19 is not within 172.30.0.0/24, the network of eth1",
        "dhcp: gateway 172.31.0.1 cannot be reached from 172.30.0.0/24, the network of eth1",
    ]
    assert problems_on(Dhcp(terms=LeaseTerms(pool=pool)), ("eth1", "172.31.0.50/32")) == [
        (
            "dhcp: pool 172.31.0.10-172.31.0.19 is not within 172.31.0.50/32, the network of eth1. If eth1 has another address, on the "
            "network of the machines, write that one under `address:`"
        ),
    ]
    assert problems_on(Dhcp(subnets=(BEHIND,)), ("eth1", "172.31.0.0/16")) == [
        "dhcp.subnets: 172.31.0.0/24 overlaps the network of eth1, which is 172.31.0.0/16: write that"
    ]
    assert problems_on(Dhcp(terms=LeaseTerms(pool=pool), subnets=(BEHIND,)), ("eth1", "172.31.0.0/24")) == [
        "dhcp.subnets: 172.31.0.0/24 is the network of eth1: say all of it here, or right below dhcp"
    ]
