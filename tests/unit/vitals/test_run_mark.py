"""The mark of an appliance that runs."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tinkbox.vitals import run_mark
from tinkbox.vitals.run_mark import RunMark

ALIVE = datetime(2026, 11, 21, 3, 0, 30, tzinfo=UTC)


@contextmanager
def started(place: Path, boot_id: str = "boot-1") -> Iterator[RunMark]:
    with place.open("a+") as file:
        yield RunMark(file, lambda: boot_id)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The file of an appliance that was killed, and gave its last sign of life then."""
    with started(tmp_path / "lock") as mark:
        assert mark.unclean is None
        mark.begin()
    os.utime(tmp_path / "lock", (0, ALIVE.timestamp()))
    return tmp_path / "lock"


def test_one_that_was_not_told_to_end_is_known_with_its_last_sign_of_life(place: Path) -> None:
    with started(place) as mark:
        assert mark.unclean is not None
        assert (mark.unclean.alive_at, mark.unclean.host_booted) == (ALIVE, False)
    with started(place, "boot-2") as mark:
        assert mark.unclean is not None
        assert mark.unclean.host_booted


def test_one_that_was_told_to_end_leaves_no_mark(place: Path) -> None:
    with started(place) as mark:
        mark.begin()
        mark.end()
    with started(place) as mark:
        assert mark.unclean is None


def test_one_that_never_served_leaves_the_mark_as_it_was(place: Path) -> None:
    with started(place):
        pass
    with started(place) as mark:
        assert mark.unclean is not None


def test_a_copy_of_a_data_folder_says_nothing_of_an_end(place: Path) -> None:
    copy = place.with_name("copy")
    shutil.copy2(place, copy)
    with started(copy) as mark:
        assert mark.unclean is None


@pytest.mark.parametrize("text", ["", "\n", "1:2", "x" * 10_000, "\x00\xff boot-1"])
def test_what_is_no_mark_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "lock").write_text(text)
    with started(tmp_path / "lock") as mark:
        assert mark.unclean is None


def test_bytes_that_are_no_text_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "lock").write_bytes(b"\xff\xfe boot-1")
    with started(tmp_path / "lock") as mark:
        assert mark.unclean is None


async def test_signs_of_life_move_the_time(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_mark, "ALIVE_EVERY", 0.0)
    with started(place) as mark:
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            running = group.create_task(mark.run())
            while place.stat().st_mtime == ALIVE.timestamp():  # noqa: ASYNC110  nothing announces it
                await asyncio.sleep(0)
            running.cancel()
