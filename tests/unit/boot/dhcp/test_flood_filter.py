"""Whom the kernel lets in under a flood, on real sockets."""

import asyncio
import socket
from dataclasses import replace

import pytest

from tests.unit.boot.dhcp_bench import FIRMWARE
from tests.unit.boot.filtered_line import filled, let_in, line
from tinkbox.boot.dhcp import flood_filter as flood_filter
from tinkbox.boot.dhcp.flood_filter import ENOUGH, MAX_KNOWN, NOISY, WINDOW, FloodFilter
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.packets import decode, encode

KNOWN, OTHER, HOSTILE = (MacAddress(f"08:00:27:00:00:{last}") for last in ("01", "02", "66"))
STRANGERS = 640


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def heard(bound: socket.socket, *macs: MacAddress) -> list[MacAddress]:
    """Which of these machines' packets come through."""
    return [decode(each).mac for each in let_in(bound, *(encode(replace(FIRMWARE, mac=mac)) for mac in macs))]


def numbered(number: int) -> MacAddress:
    return MacAddress.from_bytes(b"\x02\0" + number.to_bytes(4, "big"))


def test_in_peace_everybody_is_heard() -> None:
    with line() as bound:
        FloodFilter(bound, lambda: [KNOWN], Clock())
        assert len(heard(bound, *[HOSTILE] * STRANGERS)) == STRANGERS


async def test_under_a_flood_known_machines_are_heard_and_of_strangers_a_few() -> None:
    with line() as bound:
        flooded = FloodFilter(bound, lambda: [KNOWN, OTHER], Clock())
        for number in range(ENOUGH):
            assert not flooded.stands
            flooded.dropped(numbered(number).octets)
        assert flooded.stands
        assert heard(bound, KNOWN, OTHER, KNOWN) == [KNOWN, OTHER, KNOWN]
        assert 0 < len(heard(bound, *map(numbered, range(STRANGERS)))) < STRANGERS / 8
        flooded.lift()
        assert len(heard(bound, *[HOSTILE] * STRANGERS)) == STRANGERS


async def test_a_known_machine_that_is_the_flood_is_heard_as_little_as_a_stranger() -> None:
    with line() as bound:
        flooded = FloodFilter(bound, lambda: [KNOWN, OTHER, HOSTILE], Clock())
        for _ in range(NOISY - 1):
            flooded.dropped(OTHER.octets)
        for _ in range(ENOUGH):
            flooded.dropped(HOSTILE.octets)
        assert heard(bound, KNOWN, OTHER) == [KNOWN, OTHER]
        assert len(heard(bound, *[HOSTILE] * STRANGERS)) < STRANGERS / 8
        flooded.lift()


async def test_what_is_dropped_now_and_then_is_no_flood() -> None:
    clock = Clock()
    with line() as bound:
        flooded = FloodFilter(bound, lambda: [KNOWN], clock)
        for number in range(3 * ENOUGH):
            flooded.dropped(HOSTILE.octets)
            clock.now += 2 * WINDOW if number % (ENOUGH // 2) == 0 else 0
        assert not flooded.stands


async def test_what_keeps_the_queue_full_is_a_flood_however_little_of_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    with line() as bound:
        flooded = FloodFilter(bound, lambda: [KNOWN], clock)
        filled(bound)
        flooded.look()
        assert not flooded.stands, "it may be empty the next time"
        clock.now += 2 * WINDOW
        flooded.look()
        assert flooded.stands
        monkeypatch.setattr(flooded, "_begin", lambda: pytest.fail("what waited before it is no new flood"))
        for _ in range(2):
            clock.now += 2 * WINDOW
            flooded.look()
        monkeypatch.undo()
        flooded.lift()


async def test_a_queue_that_is_full_now_and_then_is_no_flood() -> None:
    clock = Clock()
    with line() as bound:
        flooded = FloodFilter(bound, lambda: [KNOWN], clock)
        for _ in range(3):
            sent = filled(bound)
            flooded.look()
            for _ in range(sent):
                bound.recv(64)
            flooded.look()
            clock.now += 2 * WINDOW
        assert not flooded.stands


async def test_a_flood_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flood_filter, "LASTS", 0.01)
    with line() as bound:
        flooded = FloodFilter(bound, lambda: [KNOWN], Clock())
        for _ in range(2 * ENOUGH):
            flooded.dropped(HOSTILE.octets)
        assert flooded.stands
        async with asyncio.timeout(60):
            while flooded.stands:  # noqa: ASYNC110  it rings no bell
                await asyncio.sleep(0.01)
        assert len(heard(bound, *[HOSTILE] * STRANGERS)) == STRANGERS


async def test_a_flood_that_goes_on_is_kept_out_for_longer_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lasting: list[float] = []
    loop, clock = asyncio.get_running_loop(), Clock()
    later = loop.call_later
    monkeypatch.setattr(loop, "call_later", lambda delay, call: [lasting.append(delay), later(delay, call)][1])
    with line() as bound:
        flooded = FloodFilter(bound, lambda: [KNOWN], clock)
        for pause in (0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 10.0):
            clock.now += pause
            for _ in range(ENOUGH):
                flooded.dropped(HOSTILE.octets)
            flooded.lift()
    assert lasting == [5, 10, 20, 40, 80, 80, 5]


@pytest.mark.parametrize("known", [1, 199, 200, 201, 1000, MAX_KNOWN, MAX_KNOWN + 500])
async def test_however_many_machines_are_known_each_is_heard(known: int) -> None:
    macs = [numbered(number * 7919) for number in range(known)]
    with line() as bound:
        flooded = FloodFilter(bound, lambda: macs, Clock())
        for _ in range(ENOUGH):
            flooded.dropped(HOSTILE.octets)
        probe = [mac for at, mac in enumerate(macs[:MAX_KNOWN]) if at % 100 in (0, 99) or at == known - 1]
        assert heard(bound, *probe) == probe
        flooded.lift()
