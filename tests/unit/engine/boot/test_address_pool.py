"""Which address a machine gets: nobody else's, its own again, what it wants, else the one that is free longest."""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tinkbox.engine.boot.address_pool import LOOK_AGAIN, Pool
from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Lease, LeaseState, Subnet

FIRST = IPv4Address("172.30.0.100")
TODAY = datetime(2026, 11, 21, tzinfo=UTC)
TERM = 100.0


def at(number: int) -> IPv4Address:
    """The pool's addresses, from 0 on."""
    return FIRST + number


def mac(number: int) -> MacAddress:
    return MacAddress(f"08:00:27:00:00:{number:02x}")


def pool(
    size: int = 3,
    reserved: Callable[[IPv4Address], bool] = lambda _: False,
    unknown: Collection[MacAddress] = (),
    **told: object,
) -> Pool:
    network = IPv4Network("172.30.0.0/24")
    subnet = Subnet(network=network, pool=(at(0), at(size - 1)), **told)
    return Pool(subnet, reserved, lambda each: each not in unknown)


def lease(address: IPv4Address, machine: int, state: LeaseState = LeaseState.BOUND) -> Lease:
    return Lease(address=address, mac=mac(machine), state=state, until=TODAY, seconds=int(TERM))


def lend(
    lent: Pool,
    machine: int,
    now: float,
    wanted: IPv4Address | None = None,
    state: LeaseState = LeaseState.BOUND,
    port: bytes = b"",
) -> IPv4Address | None:
    """Give a machine what the pool chooses for it; DECLINED and RELEASED are for what is over at once."""
    address = lent.choose(mac(machine), wanted, now, port)
    if address is not None:
        lent.put(replace(lease(address, machine, state), port=port), now + TERM)
    return address


def test_addresses_are_lent_from_the_first_to_the_last_and_then_nobody_gets_one() -> None:
    lent = pool(size=3)
    assert [lend(lent, each, 0.0) for each in (1, 2, 3, 4)] == [at(0), at(1), at(2), None]
    assert [lent.holder(at(each), 1.0) for each in range(3)] == [mac(1), mac(2), mac(3)]


def test_a_machine_keeps_its_address() -> None:
    lent = pool()
    lend(lent, 1, 0.0)
    lend(lent, 2, 0.0)
    assert lend(lent, 2, 50.0) == at(1)
    assert lend(lent, 2, 1_000.0, wanted=at(2)) == at(1)


def test_a_lease_lasts_until_its_end_and_no_longer() -> None:
    lent = pool(size=1)
    lend(lent, 1, 0.0)
    assert lent.holder(at(0), TERM - 0.1) == mac(1)
    assert lend(lent, 2, TERM - 0.1) is None
    assert lent.holder(at(0), TERM) is None
    assert lend(lent, 2, TERM) == at(0)
    assert lent.holder(at(0), TERM) == mac(2)


def test_whoever_had_an_address_that_others_have_now_gets_another() -> None:
    lent = pool(size=2)
    lend(lent, 1, 0.0)
    lend(lent, 2, 150.0)
    lend(lent, 3, 250.0)  # the first machine's
    assert lent.holder(at(0), 260.0) == mac(3)
    assert lend(lent, 1, 300.0) == at(1)


def test_what_a_machine_wants_it_gets_if_it_is_free() -> None:
    lent = pool(size=3)
    assert lend(lent, 1, 0.0, wanted=at(2)) == at(2)
    assert lend(lent, 2, 0.0, wanted=at(2)) == at(0)
    assert lend(lent, 3, 0.0, wanted=IPv4Address("172.30.0.5")) == at(1)
    assert lend(lent, 4, 0.0, wanted=at(0)) is None
    assert lend(lent, 4, TERM, wanted=at(1)) == at(1)


def test_of_those_that_were_lent_the_one_free_longest_comes_first() -> None:
    lent = pool(size=3)
    for machine, begun in ((1, 20.0), (2, 0.0), (3, 10.0)):
        lend(lent, machine, begun)
    assert [lend(lent, machine, 500.0) for machine in (4, 5, 6, 7)] == [at(1), at(2), at(0), None]


def test_prolonging_a_lease_puts_its_address_last() -> None:
    lent = pool(size=2)
    lend(lent, 1, 0.0)
    lend(lent, 2, 10.0)
    lend(lent, 1, 90.0)
    assert lend(lent, 3, 500.0) == at(1)
    assert lend(lent, 4, 500.0) == at(0)


def test_an_address_that_was_given_back_is_free_at_once_but_others_come_first() -> None:
    lent = pool(size=2)
    lend(lent, 1, 0.0)
    lent.put(lease(at(0), 1, LeaseState.RELEASED), 10.0)
    assert lent.holder(at(0), 10.0) is None
    assert lend(lent, 2, 10.0) == at(1)
    assert lend(lent, 3, 10.0) == at(0)


def test_an_address_that_somebody_else_uses_is_nobodys_until_its_time_is_over() -> None:
    lent = pool(size=2)
    lend(lent, 1, 0.0)
    lent.put(lease(at(0), 1, LeaseState.DECLINED), 3_600.0)
    assert lent.holder(at(0), 1.0) is None
    assert lend(lent, 1, 1.0, wanted=at(0)) == at(1)
    assert lend(lent, 2, 1.0, wanted=at(0)) is None
    assert lent.choose(mac(2), at(0), 3_599.0) == at(1)  # whose lease is over
    assert lent.choose(mac(2), at(0), 3_600.0) == at(0)
    assert lent.declined(mac(1), 1.0) == 1
    assert lent.declined(mac(2), 1.0) == lent.declined(mac(1), 3_600.0) == 0


def test_routers_name_servers_and_the_ends_of_the_network_are_not_lent() -> None:
    network = IPv4Network("172.30.0.0/29")
    whole = Pool(
        Subnet(
            network=network,
            pool=(network[0], network[7]),
            gateway=network[1],
            name_servers=(network[2], IPv4Address("9.9.9.9")),
        )
    )
    assert [lend(whole, machine, 0.0) for machine in range(5)] == [*list(network)[3:7], None]
    assert whole.choose(mac(9), network[7], TERM) == network[3]


def test_what_is_reserved_is_not_lent_until_it_is_reserved_no_more() -> None:
    reserved = {at(0)}
    lent = pool(size=2, reserved=reserved.__contains__)
    assert [lend(lent, each, 0.0, wanted=at(0)) for each in (1, 2)] == [at(1), None]
    reserved.clear()
    assert lend(lent, 2, LOOK_AGAIN) == at(0)


def test_a_machine_loses_its_address_when_that_is_reserved_for_another() -> None:
    reserved: set[IPv4Address] = set()
    lent = pool(size=2, reserved=reserved.__contains__)
    lend(lent, 1, 0.0)
    reserved.add(at(0))
    assert lend(lent, 1, 1.0) == at(1)
    assert lent.holder(at(0), 1.0) is None


UNKNOWN = {mac(each) for each in range(100, 200)}


def test_unknown_machines_hold_half_of_the_addresses_at_most() -> None:
    lent = pool(size=10, unknown=UNKNOWN)
    assert [lend(lent, each, 0.0) for each in range(100, 107)] == [*map(at, range(5)), None, None]
    assert lend(lent, 102, 1.0) == at(2)  # its own again
    assert [lend(lent, each, 1.0) for each in range(1, 7)] == [*map(at, range(5, 10)), None]
    assert lend(lent, 105, TERM) == at(0)
    assert lend(lent, 106, TERM + 50.0) == at(1)


def test_unknown_machines_behind_one_port_of_a_relay_leave_half_of_their_share_to_other_ports() -> None:
    lent = pool(size=12, unknown=UNKNOWN)
    flood = [lend(lent, each, 0.0, port=b"1") for each in range(100, 150)]
    assert [each for each in flood if each] == [at(0), at(1), at(2)]
    assert lent.port_is_full(b"1", 0.0)
    assert not lent.port_is_full(b"2", 0.0)
    assert [lend(lent, each, 1.0, port=b"2") for each in (150, 151)] == [at(3), at(4)]
    assert lend(lent, 152, 1.0, port=b"3") == at(5)
    assert lend(lent, 153, 1.0, port=b"3") is None, "together they have half of the pool"
    assert not lent.port_is_full(b"3", 1.0)
    assert [lend(lent, each, 1.0, port=b"1") for each in range(1, 7)] == [at(each) for each in range(6, 12)]


def test_a_port_has_room_again_when_leases_there_are_over_or_their_machines_became_known() -> None:
    unknown = set(UNKNOWN)
    lent = pool(size=8, unknown=unknown)
    assert [lend(lent, each, 0.0, port=b"1") for each in (100, 101, 102)] == [at(0), at(1), None]
    unknown.remove(mac(100))
    assert lend(lent, 102, 1.0, port=b"1") == at(2)
    assert lend(lent, 103, TERM, port=b"1") == at(3)


def test_an_unknown_machine_keeps_what_it_has_at_a_full_port_and_comes_to_none_by_moving_there() -> None:
    lent = pool(size=8, unknown=UNKNOWN)
    assert [lend(lent, each, 0.0, port=b"1") for each in (100, 101)] == [at(0), at(1)]
    assert lend(lent, 102, 0.0, port=b"2", state=LeaseState.RELEASED) == at(2)
    assert lent.choose(mac(101), None, 1.0, b"1") == at(1)
    assert lent.choose(mac(101), None, 1.0) == at(1), "without its relay"
    assert lent.choose(mac(102), None, TERM - 1.0, b"1") is None
    assert lent.choose(mac(102), None, TERM, b"1") == at(2)


def test_without_ports_unknown_machines_have_their_whole_share() -> None:
    lent = pool(size=8, unknown=UNKNOWN)
    assert [lend(lent, each, 0.0) for each in range(100, 105)] == [at(0), at(1), at(2), at(3), None]


def test_addresses_that_unknown_machines_decline_count_as_theirs() -> None:
    lent = pool(size=4, unknown=UNKNOWN)
    for machine in (100, 101, 102):
        lend(lent, machine, 0.0, state=LeaseState.DECLINED)
    assert [lend(lent, each, 1.0) for each in (103, 1, 2, 3)] == [None, at(2), at(3), None]


def test_what_an_unknown_machine_was_only_offered_goes_to_a_known_one_that_finds_no_other() -> None:
    lent = pool(size=3, unknown=UNKNOWN)
    lend(lent, 100, 0.0, state=LeaseState.OFFERED)
    assert [lend(lent, each, 1.0) for each in (1, 2, 3, 4)] == [at(1), at(2), at(0), None]
    assert lent.holder(at(0), 2.0) == mac(3)


def test_a_machine_that_became_known_takes_no_share_of_the_unknown_ones() -> None:
    unknown = {mac(100), mac(101)}
    lent = pool(size=2, unknown=unknown)
    lend(lent, 100, 0.0)
    assert lend(lent, 101, 0.0) is None
    unknown.remove(mac(100))
    assert lend(lent, 101, 0.0) == at(1)


def test_what_is_known_of_addresses_comes_in_their_order() -> None:
    lent = pool(size=3)
    for machine, wanted in ((1, at(2)), (2, at(0))):
        lend(lent, machine, 0.0, wanted)
    assert [each.lease.address for each in lent.everything()] == [at(0), at(2)]
    assert lent.held(at(1)) is None


@pytest.mark.parametrize(("address", "within"), [(at(-1), False), (at(0), True), (at(2), True), (at(3), False)])
def test_a_pool_ends_with_its_first_and_its_last_address(address: IPv4Address, *, within: bool) -> None:
    assert (address in pool(size=3)) is within


def test_a_machine_that_comes_and_goes_for_ever_costs_no_memory() -> None:
    lent = pool(size=4)
    for turn in range(2_000):
        lend(lent, 1, float(turn))
        lent.put(lease(at(0), 1, LeaseState.RELEASED), float(turn))
    assert len(lent._looks) <= 8


class Lab(RuleBasedStateMachine):
    """Machines that ask, stay away, give back and decline, in any order; a plain table says who holds what."""

    machines = st.integers(0, 7)
    addresses = st.integers(0, 4).map(at)

    def __init__(self) -> None:
        super().__init__()
        self.reserved: set[IPv4Address] = set()
        self.lately: set[IPv4Address] = set()
        self.pool = pool(size=5, reserved=lambda address: address in self.reserved)
        self.now = 0.0
        self.holds: dict[IPv4Address, tuple[int, float]] = {}
        self.out: dict[IPv4Address, float] = {}

    def lent_now(self) -> dict[IPv4Address, int]:
        return {address: machine for address, (machine, ends) in self.holds.items() if ends > self.now}

    @rule(seconds=st.sampled_from([0.0, 1.0, 30.0, TERM, 4_000.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(machine=machines, wanted=st.none() | addresses)
    def ask(self, machine: int, wanted: IPv4Address | None) -> None:
        mine = {address for address, holder in self.lent_now().items() if holder == machine}
        others = {address for address, holder in self.lent_now().items() if holder != machine}
        address = lend(self.pool, machine, self.now, wanted)
        for lost in mine & self.reserved:
            del self.holds[lost]
        if address is None:
            out = {each for each, until in self.out.items() if until > self.now}
            # What was reserved a moment ago is looked at again a minute later.
            assert {at(each) for each in range(5)} <= others | out | self.reserved | self.lately
            return
        assert address not in others
        assert address not in self.reserved
        assert self.out.get(address, 0.0) <= self.now
        if mine - self.reserved:
            assert address in mine
        self.holds[address] = (machine, self.now + TERM)

    @precondition(lambda self: self.lent_now())
    @rule(data=st.data(), state=st.sampled_from([LeaseState.RELEASED, LeaseState.DECLINED]))
    def give_back(self, data: st.DataObject, state: LeaseState) -> None:
        address = data.draw(st.sampled_from(sorted(self.lent_now())))
        machine, _ = self.holds.pop(address)
        ends = self.now + 3_600.0 if state is LeaseState.DECLINED else self.now
        self.pool.put(lease(address, machine, state), ends)
        self.out[address] = ends

    @rule(address=addresses)
    def reserve(self, address: IPv4Address) -> None:
        if address in self.reserved:
            self.lately.add(address)
            self.reserved.remove(address)
        else:
            self.reserved.add(address)

    @invariant()
    def nobody_holds_what_another_has(self) -> None:
        for address, machine in self.lent_now().items():
            if address not in self.reserved:
                assert self.pool.holder(address, self.now) == mac(machine)


TestLab = Lab.TestCase
