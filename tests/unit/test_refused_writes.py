"""Writes that a disk refuses stand until a write succeeds, and the log has two lines of each."""

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tinkbox.model.write_fault import Unwritten
from tinkbox.refused_writes import RefusedWrites, has_room

BEGIN = datetime(2026, 3, 1, 12, 3, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class Disk:
    """One that takes writes again from the `refusals`th try on."""

    def __init__(self, refusals: int) -> None:
        self._refusals = refusals
        self.tries = 0

    async def takes_again(self) -> bool:
        self.tries += 1
        return self.tries > self._refusals


async def test_a_refused_write_stands_until_one_succeeds_and_is_logged_twice(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    writes, disk = RefusedWrites(Clock()), Disk(3)
    for seconds in range(50):
        writes.refuse(Unwritten.IMAGES, f"no room for {seconds} bytes", disk.takes_again)
    for _ in range(4):
        await writes.try_again()
        (refused,) = writes.all
        assert (refused.since, refused.text) == (BEGIN + timedelta(seconds=1), "no room for 49 bytes")
    await writes.try_again()
    assert (writes.all, disk.tries) == ((), 4)
    assert [record.getMessage() for record in caplog.records] == [
        "writes are refused: no room for 0 bytes",
        "writes are taken again: images, which was refused since 12:03:01 UTC: no room for 49 bytes",
    ]


async def test_it_is_not_over_while_refusals_go_on() -> None:
    writes, disk = RefusedWrites(Clock()), Disk(0)
    for _ in range(5):
        writes.refuse(Unwritten.IMAGES, "full", disk.takes_again)
        await writes.try_again()
    assert (len(writes.all), disk.tries) == (1, 0)


async def test_a_refusal_while_it_is_tried_keeps_it_standing() -> None:
    writes, disk = RefusedWrites(Clock()), Disk(0)

    async def refused_meanwhile() -> bool:
        writes.refuse(Unwritten.IMAGES, "once more", disk.takes_again)
        return True

    writes.refuse(Unwritten.IMAGES, "full", refused_meanwhile)
    for _ in range(2):
        await writes.try_again()
    (refused,) = writes.all
    assert (refused.since, refused.text) == (BEGIN + timedelta(seconds=1), "once more")


async def test_the_oldest_stands_first() -> None:
    writes, disk = RefusedWrites(Clock()), Disk(0)
    for what in (Unwritten.DATABASE, Unwritten.IMAGES, Unwritten.DATABASE):
        writes.refuse(what, f"no {what}", disk.takes_again)
    assert [each.what for each in writes.all] == ["the database", "images"]


async def test_one_that_is_taken_again_leaves_the_others_standing() -> None:
    writes, full, sound = RefusedWrites(Clock()), Disk(9), Disk(0)
    writes.refuse(Unwritten.IMAGES, "no room for images", full.takes_again)
    writes.refuse(Unwritten.DATABASE, "no room for the database", sound.takes_again)
    for _ in range(2):
        await writes.try_again()
    (standing,) = writes.all
    assert (standing.text, standing.since) == ("no room for images", BEGIN + timedelta(seconds=1))


def test_a_folder_has_room_and_one_that_is_gone_has_none(tmp_path: Path) -> None:
    assert has_room(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert not has_room(tmp_path / "gone")
