"""Networks and leases: what is said of them when nothing is, and what outlives the program."""

from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv4Network

from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Lease, LeaseState, Subnet


def test_a_network_of_which_nothing_is_said_lends_nothing_and_is_on_no_interface() -> None:
    subnet = Subnet(network=IPv4Network("172.30.0.0/24"))
    assert (subnet.pool, subnet.interface, subnet.gateway, subnet.name_servers) == (None, "", None, ())
    assert subnet.lease_seconds == 3600


def test_the_names_of_states_are_in_databases_and_their_words_in_scripts() -> None:
    assert {state.name: str(state) for state in LeaseState} == {
        "OFFERED": "offered",
        "BOUND": "bound",
        "RELEASED": "released",
        "DECLINED": "declined",
        "TAKEN": "taken",
        "EXPIRED": "expired",
    }


def test_an_address_is_taken_for_free_only_when_somebody_asked() -> None:
    lease = Lease(
        address=IPv4Address("172.30.0.100"),
        mac=MacAddress("08:00:27:00:00:01"),
        state=LeaseState.OFFERED,
        until=datetime(2026, 11, 21, tzinfo=UTC),
        seconds=60,
    )
    assert not lease.proven
