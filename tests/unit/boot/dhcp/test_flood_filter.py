"""Whom the kernel lets in under a flood, on real sockets."""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.unit.boot.dhcp_bench import FIRMWARE
from tests.unit.boot.filtered_line import filled, let_in, line
from tinkbox.boot.dhcp.flood_filter import (
    CALM,
    CALM_LOOKS,
    ENOUGH,
    MAX_KNOWN,
    NOISY,
    SAME,
    SILENT_LOOKS,
    WINDOW,
    FloodFilter,
)
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


@pytest.fixture
async def looks(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What is to be done later, in its order; it does not come by itself."""
    later: list[Callable[[], None]] = []
    loop = asyncio.get_running_loop()
    call_later = loop.call_later

    def noted(delay: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        later.append(call)
        return call_later(delay + 3600, call)

    monkeypatch.setattr(loop, "call_later", noted)
    return later


async def test_when_little_is_kept_out_known_machines_are_heard_at_once_and_strangers_when_it_stays_so(
    looks: list[Callable[[], None]],
) -> None:
    with line() as bound:
        flooded = FloodFilter(bound, lambda: [KNOWN, HOSTILE], Clock())
        for _ in range(2 * ENOUGH):
            flooded.dropped(HOSTILE.octets)
        for number in range(3):
            heard(bound, *[HOSTILE] * (2 * CALM))
            assert len(looks) == number + 1, "it begins once"
            looks[-1]()
            assert flooded.stands
        for number in range(CALM_LOOKS):
            heard(bound, *[OTHER] * (CALM // 2))
            assert flooded.stands
            assert number == 0 or heard(bound, HOSTILE) == [HOSTILE]
            looks[-1]()
        assert not flooded.stands
        assert len(heard(bound, *[OTHER] * STRANGERS)) == STRANGERS


async def test_who_is_part_of_a_flood_no_more_is_heard_though_others_go_on(looks: list[Callable[[], None]]) -> None:
    with line() as bound:
        flooded = FloodFilter(bound, lambda: [KNOWN, HOSTILE], Clock())
        for mac in (KNOWN, HOSTILE):
            for _ in range(ENOUGH // 2):
                flooded.dropped(mac.octets)
        assert flooded.stands
        for _ in range(SILENT_LOOKS + 1):
            assert len(heard(bound, *[KNOWN] * 64)) < 32
            heard(bound, *[OTHER] * (2 * CALM))
            flooded.heard(HOSTILE.octets)
            looks[-1]()
        assert heard(bound, KNOWN) == [KNOWN]
        assert len(heard(bound, *[HOSTILE] * 64)) < 32
        flooded.lift()


async def test_a_flood_in_pulses_is_one_flood(looks: list[Callable[[], None]]) -> None:
    with line() as bound:
        flooded = FloodFilter(bound, lambda: [KNOWN], Clock())
        for _ in range(ENOUGH):
            flooded.dropped(HOSTILE.octets)
        for _ in range(2 * CALM_LOOKS):
            looks[-1]()
            heard(bound, *[OTHER] * (2 * CALM))
            looks[-1]()
        assert flooded.stands
        flooded.lift()


async def test_who_was_part_of_a_flood_is_so_until_it_is_over() -> None:
    with line() as bound:
        flooded = FloodFilter(bound, lambda: [KNOWN, HOSTILE], Clock())
        for mac in (HOSTILE, OTHER):
            for _ in range(ENOUGH):
                flooded.dropped(mac.octets)
        assert len(heard(bound, *[HOSTILE] * STRANGERS)) < STRANGERS / 8
        assert heard(bound, KNOWN) == [KNOWN]
        flooded.lift()
        for _ in range(ENOUGH):
            flooded.dropped(OTHER.octets)
        assert heard(bound, HOSTILE) == [HOSTILE]
        flooded.lift()


async def test_it_is_logged_once_however_often_the_same_flood_comes_back(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    with line() as bound:
        flooded = FloodFilter(bound, lambda: [KNOWN], clock)
        for pause in (0.0, 1.0, 1.0, SAME + 1):
            clock.now += pause
            for _ in range(ENOUGH):
                flooded.dropped(HOSTILE.octets)
            flooded.lift()
    assert len(caplog.records) == 2


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
