"""Who else has our address, by what answers ARP."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network

from tinkbox.boot.dhcp.address_probe import Prober
from tinkbox.boot.dhcp.own_addresses import taken_addresses
from tinkbox.model.hardware import MacAddress

OURS = IPv4Address("172.30.0.1")
ONE, OTHER = MacAddress("00:25:90:00:00:09"), MacAddress("00:25:90:00:00:10")


class Answers(Prober):
    """What is answered question by question; then nothing."""

    def __init__(self, *macs: MacAddress) -> None:
        super().__init__({"lab": IPv4Network("172.30.0.0/24")})
        self._macs = iter(macs)

    async def holder(self, address: IPv4Address, interface: str) -> MacAddress | None:
        return next(self._macs, None)


async def macs_of(answers: Iterable[MacAddress], address: IPv4Address = OURS) -> list[MacAddress]:
    return [each.mac for each in await taken_addresses(Answers(*answers), {"lab": address})]


async def test_who_answers_again_has_the_address() -> None:
    assert await macs_of([ONE, ONE, ONE, ONE, ONE]) == [ONE]
    assert await macs_of([ONE, ONE]) == [ONE]


async def test_one_answer_that_anybody_may_have_sent_is_none() -> None:
    assert await macs_of([ONE]) == []
    assert await macs_of([]) == []


async def test_who_answers_with_many_macs_is_told_with_a_few_of_them_the_newest_last() -> None:
    many = [MacAddress(f"02:00:00:00:00:{each:02x}") for each in range(40)]
    assert await macs_of(many) == many[:4]
    assert await macs_of([ONE, OTHER, ONE]) == [OTHER, ONE]


async def test_our_own_interfaces_are_no_other_host() -> None:
    loopback = MacAddress("00:00:00:00:00:00")
    assert await macs_of([loopback, ONE, ONE]) == []
    assert await macs_of([ONE, ONE], IPv4Address("127.0.0.1")) == []
