"""Many machines pull at once what has to be hashed first: nothing else waits for that."""

import asyncio
import threading
from pathlib import Path

import pytest

from tests.integration.registry.serving import Registry, configuration, layer, manifest, serving, until
from tinkbox.registry.blobs import blobs
from tinkbox.registry.blobs.verified import AT_ONCE


class Slow:
    """Checks that end when they are told to."""

    def __init__(self, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hashed: list[str] = []
        self.going_on = threading.Event()
        self.began = threading.Event()
        verified = registry.store._blobs._verified
        self._check = verified.check_here
        monkeypatch.setattr(verified, "check_here", self)

    def __call__(self, digest: str, path: Path) -> bool:
        self.hashed.append(digest)
        self.began.set()
        assert self.going_on.wait(60)
        return self._check(digest, path)


async def pulled(registry: Registry, digest: str) -> int:
    async with registry.http.get(f"/v2/hello/blobs/{digest}") as answer:
        await answer.read()
        return answer.status


async def test_many_pulls_of_a_blob_wait_for_one_check_and_nothing_else_waits(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "SMALL", 1000)
    digest = await registry.push_blob(b"large" * 1000)
    image = await registry.push_image()
    (registry.root / "verified").unlink()
    async with serving(registry.root, registry.clock) as again:
        slow = Slow(again, monkeypatch)
        async with asyncio.TaskGroup() as group:
            pulls = [group.create_task(pulled(again, digest)) for _ in range(40)]
            await asyncio.to_thread(slow.began.wait, 60)
            # All that is done in the threads that everything shares, and what changes images.
            assert await asyncio.to_thread(lambda: 7) == 7
            await again.push_blob(b"another")
            assert pulls[0].done() is False
            slow.going_on.set()
        assert {each.result() for each in pulls} == {200}
        assert slow.hashed.count(digest) == 1
        assert (await again.http.get(f"/v2/hello/manifests/{image}")).status == 200
    async with serving(registry.root, registry.clock) as again:
        slow = Slow(again, monkeypatch)
        assert await pulled(again, digest) == 200
        assert slow.hashed == []


async def test_a_manifest_is_stored_while_the_blobs_of_others_are_hashed(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "SMALL", 100)
    large = [await registry.push_blob(bytes([number]) * 5000) for number in range(AT_ONCE + 2)]
    (registry.root / "verified").unlink()
    async with serving(registry.root, registry.clock) as again:
        slow = Slow(again, monkeypatch)
        async with asyncio.TaskGroup() as group:
            asked = [
                group.create_task(again.operator.head(f"/v2/hello/blobs/{digest}", allow_redirects=False))
                for digest in large
            ]
            await asyncio.to_thread(slow.began.wait, 60)
            await again.push_image("other")
            assert [line["name"] for line in await again.store.images()] == ["other"]
            slow.going_on.set()
        assert [each.result().status for each in asked] == [200] * len(large)
        for each in asked:
            each.result().release()


async def test_a_puller_that_goes_away_leaves_the_check_to_others(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while the check waits for others to end."""
    monkeypatch.setattr(blobs, "SMALL", 1000)
    *others, digest = [await registry.push_blob(bytes([number]) * 5000) for number in range(AT_ONCE + 1)]
    (registry.root / "verified").unlink()
    async with serving(registry.root, registry.clock) as again:
        slow = Slow(again, monkeypatch)
        async with asyncio.TaskGroup() as group:
            for each in others:
                group.create_task(again.store.blob(each))
            await until(lambda: len(slow.hashed) == AT_ONCE)
            gone = group.create_task(again.store.blob(digest))
            stays = group.create_task(again.store.blob(digest))
            await until(lambda: digest in again.store._blobs._verified._running)
            gone.cancel()
            await asyncio.wait([gone])
            slow.going_on.set()
        assert stays.result() == again.blob_path(digest)
        assert gone.cancelled()
        assert slow.hashed.count(digest) == 1


async def test_a_manifest_whose_blobs_are_hashed_holds_up_no_other_push(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "SMALL", 1000)
    content = layer({"large": b"x" * 5000})
    config = configuration([content])
    for each in (content, config):
        await registry.push_blob(each)
    (registry.root / "verified").unlink()
    async with serving(registry.root, registry.clock) as again:
        slow = Slow(again, monkeypatch)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(again.put_manifest("x", "v1", manifest(config, [content])))
            await asyncio.to_thread(slow.began.wait, 60)
            async with asyncio.timeout(30):
                await again.push_image("other")
            assert not waiting.done()
            slow.going_on.set()
        assert waiting.result().status == 201
