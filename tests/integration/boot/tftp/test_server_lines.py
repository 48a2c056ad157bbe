"""Real TFTP clients and large files, bad lines, large windows, crowds, and clients that stop."""

import asyncio
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.integration.boot.lossy_line import lossy_line
from tests.integration.boot.rooms import transfer_room
from tests.integration.boot.tftp.test_server import CLIENTS, run
from tinkbox.boot.network.sockets import bind_udp
from tinkbox.boot.tftp import server as tftp
from tinkbox.boot.tftp.server import TftpServer
from tinkbox.model.boot import Stage
from tinkbox.model.limits import TFTP_TRANSFERS
from tinkbox.model.sightings import Fact
from tinkbox.wire import tftp as transfers

LARGE = 65_600 * 512 + 7  # more blocks of 512 than block numbers
MEGABYTE = struct.pack(">262144I", *range(262_144))
MEDIUM = MEGABYTE[:300_000]
SHORT = MEGABYTE[:15_000]
LOSS = 0.2
PACE = 20.0
CROWD = 200
WINDOWS = "atftp --option 'blksize 1468' --option 'windowsize {window}' --get -r {name} -l {into} 127.0.0.1 {port}"


class TftpFiles:
    def __init__(self, ramdisk: Path) -> None:
        self._files: dict[str, bytes | Path] = {
            "loader": MEGABYTE,
            "medium": MEDIUM,
            "short": SHORT,
            "ramdisk": ramdisk,
        }

    def find(self, peer: str, name: str) -> bytes | Path | None:
        return self._files.get(name)


class Observer:
    def __init__(self) -> None:
        self.seen: list[tuple[str, Stage, dict[str, Fact]]] = []

    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None:
        self.seen.append((address, stage, facts))

    def moves(self, address: str) -> None: ...

    async def loaded(self) -> dict[str, Fact]:
        """What is told of the only file that arrived: when the client ends the server has not yet heard that it did."""
        async with asyncio.timeout(60):
            while not (told := self.of(Stage.LOADER)):  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.01)
        (only,) = told
        return only

    def of(self, stage: Stage) -> list[dict[str, Fact]]:
        return [facts for _, seen, facts in self.seen if seen is stage]


class Hurried:
    """A clock on which a second lasts `1 / pace` seconds."""

    def __init__(self, pace: float) -> None:
        self._pace = pace

    def __call__(self) -> float:
        return time.monotonic() * self._pace


@asynccontextmanager
async def serving(folder: Path, pace: float = 1.0) -> AsyncIterator[tuple[TftpServer, tuple[str, int], Observer]]:
    observer = Observer()
    with bind_udp(interface="lo", address="127.0.0.1", port=0) as listening:
        server = TftpServer(listening, TftpFiles(folder / "ramdisk"), observer, Hurried(pace), transfer_room(), str)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(server.serve())
            yield server, listening.getsockname(), observer
            task.cancel()


async def fetch(server: tuple[str, int], address: str, name: str, window: int) -> bytes:
    """A client of our own, for crowds."""
    loop, blocks = asyncio.get_running_loop(), 0
    with bind_udp(interface="lo", address=address, port=0) as client:
        client.sendto(f"\0\1{name}\0octet\0blksize\0{1468}\0windowsize\0{window}\0".encode(), server)
        agreed, line = await asyncio.wait_for(loop.sock_recvfrom(client, 2048), 60)
        assert agreed[:2] == b"\0\6"
        client.sendto(b"\0\4\0\0", line)
        content = []
        while True:
            datagram = await asyncio.wait_for(loop.sock_recv(client, 2048), 60)
            if datagram[2:4] != struct.pack("!H", blocks + 1):
                continue  # sent again: the crowd had us wait
            blocks += 1
            content.append(datagram[4:])
            if len(datagram) < 1472 or blocks % window == 0:
                client.sendto(struct.pack("!HH", 4, blocks), line)
            if len(datagram) < 1472:
                return b"".join(content)


@pytest.mark.parametrize("client", ["tftp-hpa", "atftp", "curl", "busybox"])
async def test_a_file_of_more_blocks_than_there_are_numbers_arrives(client: str, tmp_path: Path) -> None:
    content = (MEGABYTE * 33)[:LARGE]
    (tmp_path / "ramdisk").write_bytes(content)
    async with serving(tmp_path) as (_, (_, port), observer):
        status, said = await run(CLIENTS[client], port=port, name="ramdisk", into=tmp_path / "got")
        assert status == 0, said
        assert (tmp_path / "got").read_bytes() == content
        assert (await observer.loaded())["bytes"] == LARGE


@pytest.mark.parametrize("window", [16, 64])
async def test_large_windows_arrive(window: int, tmp_path: Path) -> None:
    (tmp_path / "ramdisk").write_bytes(MEGABYTE * 8)
    async with serving(tmp_path) as (_, (_, port), observer):
        status, said = await run(WINDOWS, port=port, name="ramdisk", into=tmp_path / "got", window=window)
        assert status == 0, said
        assert (tmp_path / "got").read_bytes() == MEGABYTE * 8
        assert observer.of(Stage.LOADER_REQUESTED)[0]["windowsize"] == window


BAD_LINE = {
    **{name: command for name, command in CLIENTS.items() if "large" in name},
    "atftp, windows of 16": WINDOWS.replace("{window}", "16"),
    "tftp-hpa": CLIENTS["tftp-hpa"],
}


@pytest.mark.parametrize("client", BAD_LINE)
async def test_a_file_arrives_over_a_line_that_loses_every_fifth_datagram(client: str, tmp_path: Path) -> None:
    async with serving(tmp_path, pace=2.0) as (_, server, observer), lossy_line(server, LOSS, seed=6) as line:
        status, said = await run(BAD_LINE[client], port=line.port, name="short", into=tmp_path / "got")
        assert status == 0, said
        assert (tmp_path / "got").read_bytes() == SHORT
        assert 0.1 < line.lost / (line.lost + line.passed) < 0.3
        assert observer.of(Stage.LOADER_REQUESTED)


# curl agrees on a time-out of six seconds where it may agree on anything.
BOOTING = {
    **{name: each for name, each in BAD_LINE.items() if "curl" not in name},
    "curl": CLIENTS["curl, without options"],
}


@pytest.mark.parametrize("client", BOOTING)
async def test_a_boot_loader_arrives_although_every_fifth_of_our_datagrams_is_lost(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where acknowledgements are lost these clients wait for time-outs of their own, up to five seconds for each."""
    monkeypatch.setattr(tftp, "TICK", tftp.TICK / PACE)
    # A client that is not scheduled for a second of ours is silent for many of the server's.
    monkeypatch.setattr(transfers, "RETRIES", int(PACE) * transfers.RETRIES)
    async with (
        serving(tmp_path, pace=PACE) as (_, server, observer),
        lossy_line(server, LOSS, seed=6, one_way=True) as line,
    ):
        status, said = await run(BOOTING[client], port=line.port, name="loader", into=tmp_path / "got")
        assert status == 0, said
        assert (tmp_path / "got").read_bytes() == MEGABYTE
        told = await observer.loaded()
        assert told["retransmissions"] >= line.lost > 0.1 * line.passed


async def test_two_hundred_at_once_all_get_their_file(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, server, observer):
        async with asyncio.TaskGroup() as group:
            fetching = [
                group.create_task(fetch(server, f"127.0.1.{number + 1}", "medium", 1 if number % 20 == 0 else 16))
                for number in range(CROWD)
            ]
        assert all(task.result() == MEDIUM for task in fetching)
        assert not observer.of(Stage.LOADER_FAILED)


async def test_clients_that_stop_hold_up_nobody_and_are_forgotten(tmp_path: Path) -> None:
    async with serving(tmp_path, pace=100.0) as (server, address, observer):
        stopping = [bind_udp(interface="lo", address="127.0.2.1", port=0) for _ in range(TFTP_TRANSFERS.each)]
        try:
            for client in stopping:
                client.sendto(b"\0\1loader\0octet\0", address)
            assert await fetch(address, "127.0.2.2", "loader", 16) == MEGABYTE
            async with asyncio.timeout(60):
                while server._transfers:  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0.05)
        finally:
            for client in stopping:
                client.close()
        failed = observer.of(Stage.LOADER_FAILED)
        assert len(failed) == TFTP_TRANSFERS.each
        assert {(facts["why"], facts["block"]) for facts in failed} == {("silence", 0)}
