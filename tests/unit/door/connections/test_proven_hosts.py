"""Hosts from which a valid token came."""

from tinkbox.door.connections.proven_hosts import LATELY, ProvenHosts
from tinkbox.model.limits import REMEMBERED


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_host_is_proven_for_a_day_after_its_last_token() -> None:
    clock = Clock()
    proven = ProvenHosts(clock)
    assert not proven.knows("anna")
    proven.note("anna")
    clock.now += LATELY / 2
    proven.note("anna")
    clock.now += LATELY - 1
    assert proven.knows("anna")
    clock.now += 1
    assert not proven.knows("anna")


def test_of_many_hosts_those_that_showed_one_last_are_remembered() -> None:
    proven = ProvenHosts(Clock())
    for number in range(REMEMBERED):
        proven.note(str(number))
    proven.note("0")
    proven.note("another")
    assert proven.knows("0")
    assert not proven.knows("1")
