"""Downloads that break off, stand still or crawl, with real TCP: how far they came is told, and nothing else is taken for one."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.integration.boot.wires import ROOT, cable, hosts
from tinkbox.boot.http.download_watch import Listeners, Trouble
from tinkbox.boot.http.file_responses import Delivery
from tinkbox.model.boot import DownloadTrouble

LARGE, SMALL = 64 << 20, 1 << 20  # more than what the kernel holds for a connection, and less
LOOK_EVERY = 0.2


@dataclass(slots=True)
class Door:
    """A file at `/`; what is told of it comes one after the other: trouble, `delivered` or `stuck`."""

    path: Path
    told: asyncio.Queue[Trouble | str] = field(default_factory=asyncio.Queue)
    port: int = 0
    give_up_ms: int = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        connection = request.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, self.give_up_ms)
        listeners = Listeners(
            stuck=lambda: self.told.put_nowait("stuck"), trouble=self.told.put_nowait, look_every=LOOK_EVERY
        )
        return Delivery(self.path, "application/octet-stream", lambda: self.told.put_nowait("delivered"), listeners)

    async def next(self) -> Trouble | str:
        return await asyncio.wait_for(self.told.get(), 60)


@asynccontextmanager
async def serving(path: Path, size: int, give_up_ms: int = 0) -> AsyncIterator[Door]:
    with path.open("wb") as file:
        file.truncate(size)
    door = Door(path, give_up_ms=give_up_ms)
    application = web.Application()
    application.router.add_get("/", door.answer)
    server = TestServer(application)
    await server.start_server(shutdown_timeout=0.5)
    try:
        assert server.port is not None
        door.port = server.port
        yield door
    finally:
        await server.close()


@contextmanager
def asking(door: Door, headers: str = "", method: str = "GET") -> Iterator[socket.socket]:
    """A client with a small window that has sent its question, and has read nothing."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 10)
        client.connect(("127.0.0.1", door.port))
        client.setblocking(False)
        client.sendall(f"{method} / HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode())
        yield client


async def read(client: socket.socket, size: int) -> int:
    """Read so many bytes at least, or up to the end."""
    had = 0
    while had < size and (piece := await asyncio.get_running_loop().sock_recv(client, 64 << 10)):
        had += len(piece)
    return had


def trouble(told: Trouble | str) -> Trouble:
    assert isinstance(told, Trouble)
    return told


@pytest.mark.parametrize("size", [LARGE, SMALL])
async def test_client_that_hangs_up_is_told_with_what_it_acknowledged(tmp_path: Path, size: int) -> None:
    """The small one is in the kernel's hands as a whole when the client goes: it was sent, and did not arrive."""
    async with serving(tmp_path / "vmlinuz", size) as door:
        with asking(door) as client:
            had = await read(client, 300_000)
        told = trouble(await door.next())
        assert (told.what, told.size) == (DownloadTrouble.HUNG_UP, size)
        assert had - 1000 <= told.at <= had + (256 << 10)
        assert door.told.empty()


async def test_client_that_stops_reading_is_told_once_and_again_when_it_hangs_up(tmp_path: Path) -> None:
    async with serving(tmp_path / "vmlinuz", SMALL) as door:
        with asking(door) as client:
            await read(client, 300_000)
            still = trouble(await door.next())
        ended = trouble(await door.next())
        assert (still.what, ended.what) == (DownloadTrouble.STILL, DownloadTrouble.HUNG_UP)
        assert 300_000 - 1000 <= still.at <= ended.at < SMALL
        assert door.told.empty()


async def test_client_that_takes_nothing_any_more_is_given_up_and_told(tmp_path: Path) -> None:
    async with serving(tmp_path / "vmlinuz", LARGE, give_up_ms=1_000) as door:
        with asking(door) as client:
            await read(client, 300_000)
            told = [trouble(await door.next())]
            if told[0].what is DownloadTrouble.STILL:
                told.append(trouble(await door.next()))
        assert told[-1].what is DownloadTrouble.SILENCE
        assert 300_000 - 1000 <= told[-1].at < LARGE


async def test_client_that_reads_on_after_a_pause_has_its_file(tmp_path: Path) -> None:
    async with serving(tmp_path / "vmlinuz", SMALL) as door:
        with asking(door) as client:
            had = await read(client, 300_000)
            assert trouble(await door.next()).what is DownloadTrouble.STILL
            await read(client, SMALL - had)
            assert await door.next() == "delivered"
        assert door.told.empty()


@pytest.mark.parametrize(
    ("method", "headers", "size", "told"),
    [
        ("GET", "", SMALL, ["delivered"]),
        ("HEAD", "", 1, []),
        ("GET", "Range: bytes=100-500099\r\n", 500_000, []),
        ("GET", "Range: bytes=500000-\r\n", SMALL - 500_000, ["delivered"]),
        ("GET", "Range: bytes=9999999-\r\n", 1, []),
    ],
)
@pytest.mark.parametrize("ending", ["", "Connection: close\r\n"])
async def test_what_was_asked_for_and_arrived_is_no_trouble(
    tmp_path: Path, method: str, headers: str, size: int, told: list[str], ending: str
) -> None:
    async with serving(tmp_path / "vmlinuz", SMALL) as door:
        with asking(door, headers + ending, method) as client:
            await read(client, size)
    assert [door.told.get_nowait() for _ in range(door.told.qsize())] == told


async def test_part_that_breaks_off_is_told_with_its_place_in_the_file(tmp_path: Path) -> None:
    async with serving(tmp_path / "vmlinuz", LARGE) as door:
        with asking(door, f"Range: bytes={16 << 20}-\r\n") as client:
            had = await read(client, 300_000)
        told = trouble(await door.next())
        assert (told.what, told.size) == (DownloadTrouble.HUNG_UP, LARGE)
        assert had - 1000 <= told.at - (16 << 20) <= had + (256 << 10)


async def test_appliance_that_ends_accuses_no_client(tmp_path: Path) -> None:
    with ExitStack() as clients:
        async with serving(tmp_path / "vmlinuz", LARGE) as door:
            await read(clients.enter_context(asking(door)), 300_000)
        told = [trouble(door.told.get_nowait()).what for _ in range(door.told.qsize())]
    assert told in ([], [DownloadTrouble.STILL])


# Arguments: the file, the seconds between two looks.
SERVER = """
import sys
from pathlib import Path
from aiohttp import web
from tinkbox.boot.http.download_watch import Listeners
from tinkbox.boot.http.file_responses import Delivery
path, look_every, to_come = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
say = lambda *words: print(*words, flush=True)
async def kernel(request):
    told = Listeners(moves=lambda: say("moves"), trouble=lambda told: say(told.what.name, told.at, told.size, told.rate), look_every=look_every, to_come=to_come)
    return Delivery(path, "application/octet-stream", lambda: say("delivered"), told)
application = web.Application()
application.router.add_get("/vmlinuz", kernel)
web.run_app(application, host="172.30.0.1", port=80, print=lambda _: say("ready"))
"""


@contextmanager
def on_a_way(
    path: Path, way: str, size: int = 24 << 20, to_come: int = 0
) -> Iterator[tuple[Callable[[], list[str]], Callable[[], None]]]:
    """A machine that fetches so much by this discipline of the appliance's interface: what the server says next, and what pulls the cable."""
    with path.open("wb") as file:
        file.truncate(size)
    with hosts("broken-ours", "broken-machine") as (ours, machine):
        cable(ours, "eth1", machine, "eth1", "08:00:27:00:00:01")
        ours.ip("address add 172.30.0.1/24 dev eth1")
        machine.ip("address add 172.30.0.2/24 dev eth1")
        subprocess.run(ours.command(*f"tc qdisc add dev eth1 root {way}".split()), check=True)
        server = ours.start(
            sys.executable, "-c", SERVER, str(path), "1", str(to_come), stdout=subprocess.PIPE, cwd=ROOT
        )
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        machine.start("curl", "-s", "-o", "/dev/null", "--max-time", "120", "http://172.30.0.1/vmlinuz")
        said = server.stdout
        yield (lambda: said.readline().split()), (lambda: machine.ip("link set eth1 down"))


def next_trouble(said: Callable[[], list[str]]) -> list[str]:
    while (words := said()) == ["moves"]:
        pass
    return words


def test_cable_that_is_pulled_is_told_with_what_came_before(tmp_path: Path) -> None:
    with on_a_way(tmp_path / "vmlinuz", "tbf rate 20mbit burst 32kb latency 100ms") as (said, pull):
        assert said() == ["moves"]
        pull()
        what, at, size, rate = next_trouble(said)
        assert (what, size, rate) == ("STILL", str(24 << 20), "0")
        assert 1 << 20 < int(at) < 24 << 20


def test_way_that_crawls_is_told_with_its_rate(tmp_path: Path) -> None:
    with on_a_way(tmp_path / "vmlinuz", "tbf rate 400kbit burst 8kb latency 100ms") as (said, _):
        what, _, _, rate = next_trouble(said)
        assert what == "SLOW"
        assert 10_000 < int(rate) < 60_000


@pytest.mark.parametrize(("to_come", "is_slow"), [(92 << 20, True), (0, False)])
def test_kernel_that_comes_in_time_is_slow_where_the_ramdisk_that_follows_is_not(
    tmp_path: Path, to_come: int, is_slow: bool
) -> None:
    way = "tbf rate 400kbit burst 8kb latency 100ms"
    with on_a_way(tmp_path / "vmlinuz", way, 8 << 20, to_come) as (said, _):
        first = [said() for _ in range(4)]
        assert any(each[0] == "SLOW" for each in first) == is_slow
