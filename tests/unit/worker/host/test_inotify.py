import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from tinkbox.worker.host import inotify as watching
from tinkbox.worker.host.inotify import Watch


async def test_what_is_written_is_noticed_at_once(tmp_path: Path) -> None:
    (tmp_path / "status").write_text("")
    async with asyncio.timeout(60):
        with Watch(tmp_path) as watch:
            with (tmp_path / "status").open("a") as status:
                status.write("exited 1 7\n")
            await watch.changed(60)
            (tmp_path / "new").write_text("")
            (tmp_path / "new").rename(tmp_path / "command")
            await watch.changed(60)


async def test_without_any_news_it_is_only_time_that_passes(tmp_path: Path) -> None:
    with Watch(tmp_path) as watch:
        await watch.changed(0.01)


async def test_what_was_written_before_the_wait_is_news(tmp_path: Path) -> None:
    async with asyncio.timeout(60):
        with Watch(tmp_path) as watch:
            (tmp_path / "status").write_text("x")
            await asyncio.sleep(0)  # the loop has not looked yet
            await watch.changed(60)


async def test_where_the_kernel_has_no_watch_to_give_it_is_looked_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_LOOK_EVERY", 0.01)
    async with asyncio.timeout(60):
        with Watch(tmp_path / "is not there") as watch:
            await watch.changed(60)


async def test_what_was_watched_is_let_go_of(tmp_path: Path) -> None:
    before = watching_now()
    with Watch(tmp_path):
        assert watching_now() == before + 1
    await asyncio.get_running_loop().shutdown_default_executor()
    assert watching_now() == before


def watching_now() -> int:
    """How many inotify descriptors this process has."""
    found = 0
    for each in Path("/proc/self/fdinfo").iterdir():
        with suppress(FileNotFoundError):  # it was closed meanwhile
            found += "inotify" in each.read_text()
    return found
