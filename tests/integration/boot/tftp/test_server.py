"""Real TFTP clients on a loopback port."""

import asyncio
import shlex
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.integration.boot.rooms import transfer_room
from tests.integration.boot.wires import at_home_in, hosts
from tinkbox.boot.network.sockets import bind_udp
from tinkbox.boot.tftp.server import TftpServer
from tinkbox.model.boot import Stage
from tinkbox.model.sightings import Fact

FILES = {
    "loader": struct.pack(">1300000I", *range(1_300_000)) + b"end",  # 72,223 blocks of 72
    "empty": b"",
    "even": bytes(range(256)) * 8,
}
CLIENTS = {
    "tftp-hpa": "tftp -4 -m octet 127.0.0.1 {port} -c get {name} {into}",
    "atftp": "atftp --get -r {name} -l {into} 127.0.0.1 {port}",
    "atftp, large blocks": "atftp --option 'blksize 1468' --option tsize --get -r {name} -l {into} 127.0.0.1 {port}",
    "atftp, windows": "atftp --option 'blksize 1024' --option 'windowsize 8' --get -r {name} -l {into} 127.0.0.1 {port}",
    "curl": "curl -sS --fail -o {into} tftp://127.0.0.1:{port}/{name}",
    "curl, large blocks": "curl -sS --fail --tftp-blksize 1468 -o {into} tftp://127.0.0.1:{port}/{name}",
    "curl, without options": "curl -sS --fail --tftp-no-options -o {into} tftp://127.0.0.1:{port}/{name}",
    "busybox": "busybox tftp -g -r {name} -l {into} 127.0.0.1 {port}",
    "busybox, large blocks": "busybox tftp -g -b 1468 -r {name} -l {into} 127.0.0.1 {port}",
}


class TftpFiles:
    def find(self, peer: str, name: str) -> bytes | None:
        return FILES.get(name)


class Observer:
    def __init__(self) -> None:
        self.told: asyncio.Queue[tuple[str, Fact, Fact]] = asyncio.Queue()

    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None:
        if stage is Stage.LOADER:
            self.told.put_nowait((address, facts["name"], facts["bytes"]))

    def moves(self, address: str) -> None: ...


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[int, Observer]]:
    observer = Observer()
    with bind_udp(interface="lo", address="127.0.0.1", port=0) as listening:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(
                TftpServer(listening, TftpFiles(), observer, time.monotonic, transfer_room(), str).serve()
            )
            yield listening.getsockname()[1], observer
            task.cancel()


async def run(command: str, **values: object) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *shlex.split(command.format(**values)), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), 300)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, said.decode()


@pytest.mark.parametrize("name", ["loader", "even"])
@pytest.mark.parametrize("client", CLIENTS)
async def test_a_real_client_gets_the_file(client: str, name: str, tmp_path: Path) -> None:
    async with serving() as (port, observer):
        status, said = await run(CLIENTS[client], port=port, name=name, into=tmp_path / "got")
        assert status == 0, said
        assert (tmp_path / "got").read_bytes() == FILES[name]
        assert await asyncio.wait_for(observer.told.get(), 60) == ("127.0.0.1", name, len(FILES[name]))


# curl refuses to hear that a file has no bytes: "invalid tsize -:0:- value in OACK packet".
@pytest.mark.parametrize("client", sorted(set(CLIENTS) - {"curl", "curl, large blocks"}))
async def test_a_real_client_gets_an_empty_file(client: str, tmp_path: Path) -> None:
    async with serving() as (port, observer):
        await run(CLIENTS[client], port=port, name="empty", into=tmp_path / "got")
        assert await asyncio.wait_for(observer.told.get(), 60) == ("127.0.0.1", "empty", 0)


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_real_client_is_told_that_there_is_no_such_file(client: str, tmp_path: Path) -> None:
    async with serving() as (port, observer):
        status, _ = await run(CLIENTS[client], port=port, name="nothing", into=tmp_path / "got")
        assert status != 0 or not (tmp_path / "got").exists() or not (tmp_path / "got").read_bytes()
        assert observer.told.empty()


async def test_where_the_interface_carries_less_no_block_comes_in_pieces(tmp_path: Path) -> None:
    """Such as over a tunnel: boot ROMs cannot put fragments together."""
    with hosts("tftp-narrow") as (host,):
        host.ip("link set lo mtu 1400")
        with at_home_in(host.name):
            async with serving() as (port, observer):
                for client in ("busybox, large blocks", "atftp, large blocks", "curl, large blocks"):
                    status, said = await run(CLIENTS[client], port=port, name="loader", into=tmp_path / "got")
                    assert status == 0, said
                    assert (tmp_path / "got").read_bytes() == FILES["loader"]
                    await asyncio.wait_for(observer.told.get(), 60)
            _, counted = await run(f"ip netns exec {host.name} cat /proc/net/snmp")
    names, numbers = (line.split() for line in counted.splitlines() if line.startswith("Ip:"))
    assert dict(zip(names, numbers, strict=True))["FragCreates"] == "0"


@pytest.mark.parametrize(
    "command",
    [
        "curl -sS --fail --tftp-blksize 72 -o {into} tftp://127.0.0.1:{port}/loader",
        "busybox tftp -g -b 72 -r loader -l {into} 127.0.0.1 {port}",
        "atftp --option 'blksize 72' --option 'windowsize 16' --get -r loader -l {into} 127.0.0.1 {port}",
    ],
)
async def test_a_real_client_follows_the_block_number_around(command: str, tmp_path: Path) -> None:
    async with serving() as (port, _):
        status, said = await run(command, port=port, into=tmp_path / "got")
        assert status == 0, said
        assert (tmp_path / "got").read_bytes() == FILES["loader"]


async def test_real_clients_are_served_side_by_side(tmp_path: Path) -> None:
    async with serving() as (port, _), asyncio.TaskGroup() as group:
        running = {
            number: group.create_task(run(command, port=port, name="loader", into=tmp_path / str(number)))
            for number, command in enumerate(CLIENTS.values())
        }
    assert [task.result()[0] for task in running.values()] == [0] * len(CLIENTS)
    assert all((tmp_path / str(number)).read_bytes() == FILES["loader"] for number in running)


async def test_a_real_client_may_not_write(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    async with serving() as (port, _):
        status, said = await run("curl -sS -T {mine} tftp://127.0.0.1:{port}/loader", mine=tmp_path / "mine", port=port)
        assert status == 69, said  # CURLE_TFTP_PERM
