"""Kernels and ramdisks over TLS: sent piece by piece, however slowly they are read, and told of when all was acknowledged."""

import asyncio
from pathlib import Path

from aiohttp import web

from tests.unit.door.connections.test_encryption import LARGE, door, fetched_slowly
from tests.unit.door.our_loop import in_our_loop
from tinkbox.boot.http.download_watch import Listeners
from tinkbox.boot.http.file_responses import Delivery
from tinkbox.model.boot import DownloadTrouble


@in_our_loop
async def test_a_ramdisk_arrives_whole_at_a_reader_that_pauses_again_and_again(tmp_path: Path) -> None:
    ramdisk = tmp_path / "ramdisk"
    ramdisk.write_bytes(bytes(range(256)) * (LARGE // 256))
    delivered, troubles = asyncio.Event(), list[DownloadTrouble]()

    async def send(_: web.Request) -> web.StreamResponse:
        listeners = Listeners(trouble=lambda told: troubles.append(told.what))
        return Delivery(ramdisk, "application/octet-stream", delivered.set, listeners)

    async with door(tmp_path, more=[web.get("/ramdisk", send)]) as made:
        assert await asyncio.to_thread(fetched_slowly, made, "/ramdisk") == ramdisk.read_bytes()
        await delivered.wait()
    assert not troubles
