"""Replies that the kernel refuses are known until one of their kind goes out."""

import errno
from datetime import UTC, datetime, timedelta

from tinkbox.boot.network.refused_replies import Refusals

REFUSED = OSError(errno.EPERM, "Operation not permitted")


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 29, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Line:
    """Takes what is sent again, or refuses it."""

    def __init__(self) -> None:
        self.error: OSError | None = REFUSED

    def again(self) -> None:
        if self.error is not None:
            raise self.error


def test_refused_replies_are_counted_until_the_last_one_goes_out() -> None:
    refusals, line = Refusals(Clock()), Line()
    for to in ("172.30.0.5", "172.30.0.6"):
        refusals.note("lab", "DHCP", REFUSED, to, line.again)
    (told,) = refusals.look()
    assert (told.interface, told.what, told.times, told.to) == ("lab", "DHCP", 2, "172.30.0.6")
    assert (told.error, told.targets) == ("Operation not permitted", ("172.30.0.5", "172.30.0.6"))
    line.error = None
    assert refusals.look() == ()


def test_a_reply_of_its_kind_ends_it_and_no_other() -> None:
    refusals, line = Refusals(Clock()), Line()
    refusals.note("lab", "DHCP", REFUSED, "172.30.0.5", line.again)
    refusals.sent("lab", "TFTP")
    refusals.sent("lan", "DHCP")
    assert refusals.look()
    refusals.sent("lab", "DHCP")
    assert not refusals.look()


def test_that_there_is_no_port_is_over_when_there_is_one_and_not_when_other_replies_are_sent() -> None:
    refusals, line = Refusals(Clock()), Line()
    line.error = OSError(errno.EADDRINUSE, "Address already in use")
    refusals.note("lab", "TFTP", line.error, "172.30.0.5", line.again)
    refusals.sent("lab", "TFTP")
    assert [each.no_port for each in refusals.look()] == [True]
    line.error = None
    assert refusals.look() == ()


def test_what_cannot_be_tried_again_is_over_after_a_while() -> None:
    clock = Clock()
    refusals = Refusals(clock)
    refusals.note("lab", "TFTP", REFUSED, "172.30.0.5")
    clock.now += timedelta(seconds=60)
    assert refusals.look()
    clock.now += timedelta(seconds=1)
    assert not refusals.look()


def test_a_place_that_is_not_there_is_no_firewall() -> None:
    refusals = Refusals(Clock())
    refusals.note("lab", "DHCP", OSError(errno.ENETUNREACH, "Network is unreachable"), "10.0.0.1")
    assert not refusals.look()
