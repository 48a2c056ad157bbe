"""When a mirror is said to be away."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tinkbox.model.images.mirrors import MirrorFault
from tinkbox.registry.mirrors import watch
from tinkbox.registry.mirrors.upstream_client import UpstreamFailed
from tinkbox.registry.mirrors.watch import TOLD_FOR, MirrorWatch

BEGIN = datetime(2026, 11, 21, 3, tzinfo=UTC)
AWAY = UpstreamFailed("it refuses", MirrorFault.REFUSED)


class Rig:
    def __init__(self) -> None:
        self.now = BEGIN
        self.looks = 0
        self.error: UpstreamFailed | None = None
        self.watch = MirrorWatch("quay.io", "https://mirror", self.look, lambda: self.now)

    async def look(self) -> None:
        self.looks += 1
        if self.error:
            raise self.error

    async def until(self, condition: Callable[[], bool]) -> None:
        """Have it look until that holds."""
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            running = group.create_task(self.watch.run())
            while not condition():  # noqa: ASYNC110  nothing announces it
                await asyncio.sleep(0)
            running.cancel()


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_pull_that_failed_is_told_until_one_succeeds_or_none_was_tried_for_ten_minutes(rig: Rig) -> None:
    rig.watch.failed(AWAY)
    rig.now += timedelta(minutes=1)
    rig.watch.failed(AWAY)
    found = rig.watch.trouble
    assert found is not None
    assert (found.since, found.at, found.pulled_at, found.looked) == (BEGIN, rig.now, rig.now, False)
    rig.now += TOLD_FOR + timedelta(seconds=1)
    assert rig.watch.trouble is None
    rig.watch.failed(AWAY)
    assert rig.watch.trouble is not None
    rig.watch.answered()
    assert rig.watch.trouble is None


def test_what_is_only_about_one_image_says_nothing_of_its_mirror(rig: Rig) -> None:
    rig.watch.failed(UpstreamFailed("it sent another manifest"))
    assert rig.watch.trouble is None


async def test_one_look_that_failed_is_no_trouble_and_a_second_one_is(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.error = AWAY
    await rig.until(lambda: rig.looks == 1)
    assert rig.watch.trouble is None
    monkeypatch.setattr(watch, "BELIEVED_AFTER", 0.0)
    await rig.until(lambda: rig.looks == 2)
    found = rig.watch.trouble
    assert found is not None
    assert (found.fault, found.looked, found.pulled_at) == (MirrorFault.REFUSED, True, None)


async def test_a_pull_that_fails_has_the_mirror_looked_at_at_once_and_one_that_succeeds_as_well(rig: Rig) -> None:
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(rig.watch.run())

        async def looked(times: int) -> None:
            while rig.looks < times:  # noqa: ASYNC110  nothing announces it
                await asyncio.sleep(0)
            await asyncio.sleep(0)

        await looked(1)
        rig.error = AWAY
        rig.watch.failed(AWAY)
        await looked(2)
        found = rig.watch.trouble
        assert found is not None
        assert found.looked
        rig.error = None
        rig.watch.answered()
        await looked(3)
        assert rig.watch.trouble is None
        running.cancel()


async def test_what_began_with_a_pull_that_failed_began_then_also_when_the_pull_is_told_no_more(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "BELIEVED_AFTER", 0.0)
    rig.watch.failed(AWAY)
    rig.now += timedelta(seconds=30)
    rig.error = AWAY
    await rig.until(lambda: rig.looks == 2)
    rig.now += TOLD_FOR
    found = rig.watch.trouble
    assert found is not None
    assert (found.since, found.looked, found.pulled_at) == (BEGIN, True, None)


async def test_a_pull_that_failed_long_ago_is_not_where_it_began(rig: Rig) -> None:
    rig.watch.failed(AWAY)
    rig.now += TOLD_FOR + timedelta(seconds=1)
    rig.error = AWAY
    await rig.until(lambda: rig.looks == 1)
    assert rig.watch.trouble is None, "one look that failed is none yet"


async def test_a_wrong_login_is_not_tried_often(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BELIEVED_AFTER", 0.0)
    monkeypatch.setattr(watch, "LOOKS_AGAIN", 0.0)
    rig.error = UpstreamFailed("it does not take the login", MirrorFault.LOGIN)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(rig.watch.run())
        for _ in range(100):
            await asyncio.sleep(0)
        running.cancel()
    assert rig.looks == 2
