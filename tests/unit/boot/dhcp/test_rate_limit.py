"""Who may ask how often."""

from tinkbox.boot.dhcp.rate_limit import (
    MACHINE,
    MACHINE_ANYWHERE,
    MACHINE_PRESSED,
    MACHINES_PRESSED,
    REMEMBERED,
    STRANGER,
    STRANGERS_OF_A_PORT,
    STRANGERS_OF_ALL_PORTS,
    RateLimit,
)
from tinkbox.model.hardware import MacAddress

KNOWN, UNKNOWN = bytes.fromhex("080027000001"), bytes.fromhex("080027000099")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Book:
    def __init__(self, *known: bytes) -> None:
        self.known = {MacAddress.from_bytes(each) for each in known}
        self.asked = 0

    def __call__(self, mac: MacAddress) -> bool:
        self.asked += 1
        return mac in self.known


def invented(number: int) -> bytes:
    return b"\x02" + number.to_bytes(5, "big")


def admitted(rate_limit: RateLimit, mac: bytes, packets: int, port: bytes = b"") -> int:
    return sum(rate_limit.admits(mac, port) for _ in range(packets))


def test_a_machine_has_its_burst_and_then_its_rate() -> None:
    clock = Clock()
    rate_limit = RateLimit(Book(KNOWN), clock)
    assert admitted(rate_limit, KNOWN, 1000) == MACHINE.burst == 600
    clock.now += 0.5
    assert admitted(rate_limit, KNOWN, 1000) == MACHINE.a_second / 2 == 150
    clock.now += 3600
    assert admitted(rate_limit, KNOWN, 1000) == MACHINE.burst


def test_under_pressure_a_machine_has_little_wherever_it_asks() -> None:
    clock = Clock()
    rate_limit = RateLimit(Book(KNOWN), clock)
    assert sum(rate_limit.bears(UNKNOWN) for _ in range(1000)) == MACHINES_PRESSED.burst + MACHINE_PRESSED.burst == 208
    assert sum(rate_limit.bears(KNOWN) for _ in range(1000)) == MACHINE_PRESSED.burst
    assert rate_limit.admits(KNOWN)
    clock.now += 1
    assert sum(rate_limit.bears(UNKNOWN) for _ in range(1000)) == MACHINES_PRESSED.a_second + 2 == 102
    assert sum(rate_limit.bears(KNOWN) for _ in range(1000)) == MACHINE_PRESSED.a_second == 2


def test_under_pressure_a_few_packets_in_a_machine_s_name_do_not_take_its_own_from_it() -> None:
    clock = Clock()
    rate_limit = RateLimit(Book(KNOWN), clock)
    for _ in range(100):
        assert all(rate_limit.bears(KNOWN) for _ in range(4))
        clock.now += 1


def test_a_stranger_has_less() -> None:
    clock = Clock()
    rate_limit = RateLimit(Book(), clock)
    assert admitted(rate_limit, UNKNOWN, 1000) == STRANGER.burst == 40
    clock.now += 1
    assert admitted(rate_limit, UNKNOWN, 1000) == STRANGER.a_second == 20


def test_one_machine_that_asks_without_end_takes_nothing_from_another() -> None:
    rate_limit = RateLimit(Book(KNOWN), Clock())
    admitted(rate_limit, UNKNOWN, 10_000)
    assert admitted(rate_limit, KNOWN, 100) == 100
    assert admitted(rate_limit, invented(1), 40) == 40


def test_invented_macs_share_one_allowance_and_take_nothing_from_known_machines() -> None:
    rate_limit = RateLimit(Book(KNOWN), Clock())
    assert sum(rate_limit.admits(invented(number)) for number in range(20_000)) == STRANGERS_OF_A_PORT.burst == 4000
    assert admitted(rate_limit, KNOWN, 100) == 100


def test_invented_macs_behind_one_port_take_nothing_from_strangers_behind_another() -> None:
    rate_limit = RateLimit(Book(), Clock())
    for number in range(5000):
        rate_limit.admits(invented(number), b"eth1")
    assert not rate_limit.admits(invented(9999), b"eth1")
    assert rate_limit.admits(UNKNOWN, b"eth2")


def test_whoever_uses_a_machines_mac_behind_another_port_takes_nothing_from_it() -> None:
    rate_limit = RateLimit(Book(KNOWN), Clock())
    assert admitted(rate_limit, KNOWN, 1000, b"eth1") == 600
    assert admitted(rate_limit, KNOWN, 100, b"eth2") == 100


def test_whoever_invents_ports_as_well_has_a_limit() -> None:
    clock = Clock()
    rate_limit = RateLimit(Book(KNOWN), clock)
    ports = [number.to_bytes(4, "big") for number in range(20_000)]
    assert sum(rate_limit.admits(KNOWN, port) for port in ports) == MACHINE_ANYWHERE.burst == 1200
    assert sum(rate_limit.admits(invented(at), port) for at, port in enumerate(ports)) == STRANGERS_OF_ALL_PORTS.burst
    clock.now += 1
    assert sum(rate_limit.admits(KNOWN, port) for port in ports) == MACHINE_ANYWHERE.a_second
    assert (
        sum(rate_limit.admits(invented(at), port) for at, port in enumerate(ports)) == STRANGERS_OF_ALL_PORTS.a_second
    )


def test_invented_ports_take_nothing_from_whoever_is_on_the_link_itself() -> None:
    rate_limit = RateLimit(Book(KNOWN), Clock())
    for number in range(20_000):
        rate_limit.admits(KNOWN, number.to_bytes(4, "big"))
        rate_limit.admits(invented(number), number.to_bytes(4, "big"))
    assert admitted(rate_limit, KNOWN, 100) == 100
    assert admitted(rate_limit, UNKNOWN, 40) == 40


def test_a_stranger_that_becomes_known_is_one_at_once() -> None:
    book = Book()
    rate_limit = RateLimit(book, Clock())
    admitted(rate_limit, UNKNOWN, 1000)
    book.known.add(MacAddress.from_bytes(UNKNOWN))
    assert rate_limit.admits(UNKNOWN)


def test_memory_is_bounded_and_a_flood_does_not_empty_it_of_machines() -> None:
    rate_limit = RateLimit(Book(KNOWN), Clock())
    admitted(rate_limit, KNOWN, 600)
    for number in range(3 * REMEMBERED):
        rate_limit.admits(invented(number), number.to_bytes(4, "big"))
    assert rate_limit.remembered <= 2 * REMEMBERED + 1025
    assert not rate_limit.admits(KNOWN)


def test_memory_is_bounded_for_known_machines_as_well() -> None:
    rate_limit = RateLimit(lambda mac: True, Clock())
    for number in range(3 * REMEMBERED):
        rate_limit.admits(invented(number), number.to_bytes(4, "big"))
    assert rate_limit.remembered <= 2 * REMEMBERED


def test_whoever_goes_on_asking_is_not_forgotten_for_others() -> None:
    rate_limit = RateLimit(Book(), Clock())
    assert admitted(rate_limit, UNKNOWN, 100, b"eth1") == 40
    for number in range(2 * REMEMBERED):
        rate_limit.admits(invented(number))
        if number % 1000 == 0:
            assert not rate_limit.admits(UNKNOWN, b"eth1")
    assert not rate_limit.admits(UNKNOWN, b"eth1")
