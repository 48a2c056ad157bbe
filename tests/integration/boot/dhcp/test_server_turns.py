"""DHCP beside much else that one process has to do: its packets do not wait until everything else had its turn."""

import asyncio
import os
import time
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median

import pytest

from tests.integration.boot.flooded import Flooded, flooded, recorded
from tinkbox.boot.dhcp.flood_filter import FloodFilter
from tinkbox.boot.dhcp.rate_limit import RateLimit
from tinkbox.short_turns import EventLoop

BUSY, ASKED = 200, 20
SECONDS = 0.0005  # that each of the others takes


class Busy:
    """Something at which there is always something to do."""

    def __init__(self) -> None:
        self._end, self._other = os.pipe()
        os.write(self._other, b"x")
        self.turns = 0

    def fileno(self) -> int:
        return self._end

    def work(self) -> None:
        self.turns += 1
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            pass

    def close(self) -> None:
        os.close(self._end)
        os.close(self._other)


def test_a_question_is_read_before_all_connections_had_their_turn(tmp_path: Path) -> None:
    async def waits() -> list[int]:
        loop = asyncio.get_running_loop()
        with ExitStack() as stack:
            others = [stack.enter_context(closing(Busy())) for _ in range(BUSY)]
            async with flooded(tmp_path) as attacked:
                _leave_port_4011_out(attacked)
                for each in others:
                    loop.add_reader(each, each.work)
                try:
                    return [await _turns(attacked, others, recorded("dhcp")[:1]) for _ in range(ASKED)]
                finally:
                    for each in others:
                        loop.remove_reader(each)

    with asyncio.Runner(loop_factory=EventLoop) as runner:
        assert median(runner.run(waits())) < BUSY / 4


def _leave_port_4011_out(attacked: Flooded) -> None:
    attacked.sockets["dhcp"] = attacked.sockets["dhcp"][:1]


async def _turns(attacked: Flooded, others: list[Busy], packets: list[bytes]) -> int:
    """How many turns others have until these are read."""
    before = sum(each.turns for each in others)
    await attacked.take("dhcp", packets)
    return sum(each.turns for each in others) - before


@pytest.mark.parametrize("stands", [True, False])
async def test_while_a_flood_fills_the_queue_machines_have_less_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, stands: bool
) -> None:
    asked, answered = list[bytes](), list[bytes]()
    monkeypatch.setattr(FloodFilter, "stands", stands)
    monkeypatch.setattr(RateLimit, "bears", lambda _, mac: bool(asked.append(mac)))
    monkeypatch.setattr(RateLimit, "admits", lambda _, mac, port=b"": bool(answered.append(mac)))
    async with flooded(tmp_path) as attacked:
        _leave_port_4011_out(attacked)
        await attacked.take("dhcp", recorded("dhcp"))
    assert (bool(asked), bool(answered)) == (stands, not stands)
