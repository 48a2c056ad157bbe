"""Names over real sockets: what the resolvers of glibc and of busybox make of them, and what hostile askers achieve."""

import asyncio
import os
import socket
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from tests.unit.wire.test_dns import NAME, WORKFLOW, labels, question
from tinkbox.boot.dns import QUESTIONS, Answers, NamesServer
from tinkbox.boot.network.datagrams import DRAIN
from tinkbox.boot.network.sockets import bind_tcp, bind_udp
from tinkbox.model.limits import NAME_CONNECTIONS, Ledger, Room
from tinkbox.wire.dns import Zone

PORT = 53
OURS, UPSTREAM = "172.30.0.1", "172.30.0.99"
FIRST, SECOND = (f"127.{os.getpid() % 251}.53.{last}" for last in (1, 2))
ZONE = Zone("workflows.tinkbox.internal", IPv4Address(OURS))
# The server that the network gave: of another domain, so that it is seen who was asked.
OTHER = Zone("example.lab", IPv4Address(UPSTREAM))
# Whoever asks sees another resolv.conf than the rest of this host.
RESOLVE = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"'


@dataclass
class Broken:
    """Trips over everything but one question."""

    def answer(self, message: bytes) -> bytes | None:
        if message != question(NAME):
            raise IndexError
        return ZONE.answer(message)


class Wordy:
    """Has much to say."""

    def answer(self, message: bytes) -> bytes | None:
        return message * 1000


@contextmanager
def sockets(address: str, port: int) -> Iterator[tuple[socket.socket, socket.socket]]:
    with (
        closing(bind_tcp(address=address, port=port)) as tcp,
        closing(bind_udp(interface="", address=address, port=tcp.getsockname()[1])) as udp,
    ):
        yield udp, tcp


@asynccontextmanager
async def serving(
    zone: Answers = ZONE, address: str = "127.0.0.1", port: int = 0, idle: float = 30.0, known: str = "", host: str = ""
) -> AsyncIterator[int]:
    """The port that is served; one address may be that of a known machine, and all may be one `host`'s."""
    room = Room(ledger=Ledger(NAME_CONNECTIONS, lambda: 0.0), known=lambda holder: holder == known)
    with sockets(address, port) as (udp, tcp):
        async with asyncio.TaskGroup() as group:
            server = group.create_task(NamesServer(udp, tcp, zone, room, lambda one: host or one, idle).serve())
            try:
                yield tcp.getsockname()[1]
            finally:
                server.cancel()


@pytest.fixture
async def servers() -> AsyncIterator[None]:
    async with serving(ZONE, FIRST, PORT), serving(OTHER, SECOND, PORT):
        yield


async def resolved(tmp_path: Path, *command: str, options: str = "") -> tuple[int, str]:
    """What a program prints that asks our server first, and then the one that the network gave."""
    configuration = tmp_path / "resolv.conf"
    servers = f"nameserver {FIRST}\nnameserver {SECOND}\noptions timeout:30\n"  # who is held up is not passed over
    configuration.write_text(f"search example.lab\n{servers}{options}\n")
    process = await asyncio.create_subprocess_exec(
        "unshare", "--mount", "sh", "-c", RESOLVE, "resolve", str(configuration), *command,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    async with asyncio.timeout(120):
        output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


@pytest.mark.parametrize("options", ["", "options use-vc", "options edns0", "options edns0 single-request"])
async def test_glibc_finds_a_workflow_over_udp_and_over_tcp(servers: None, tmp_path: Path, options: str) -> None:
    for command in ("ahosts", "hosts"):
        status, found = await resolved(tmp_path, "getent", command, NAME, options=options)
        assert (status, {line.split()[0] for line in found.splitlines()}) == (0, {OURS})


@pytest.mark.parametrize("name", [f"{WORKFLOW}.example.lab", WORKFLOW])
async def test_glibc_asks_the_networks_own_server_for_everything_else(servers: None, tmp_path: Path, name: str) -> None:
    # (Over TCP it would take a refusal for an answer, but it asks that way only what comes back truncated.)
    status, found = await resolved(tmp_path, "getent", "ahostsv4", name)
    assert (status, {line.split()[0] for line in found.splitlines()}) == (0, {UPSTREAM})


async def test_glibc_believes_that_there_is_no_other_name_in_the_domain(servers: None, tmp_path: Path) -> None:
    status, found = await resolved(tmp_path, "getent", "ahostsv4", "x.workflows.tinkbox.internal")
    assert (status, found) == (2, "")


async def test_busybox_finds_the_workflow_and_what_the_domain_is(servers: None, tmp_path: Path) -> None:
    _, found = await resolved(tmp_path, "busybox", "nslookup", "-timeout=30", NAME, FIRST)
    assert f"Name:\t{NAME}\nAddress: {OURS}\n" in found
    _, found = await resolved(
        tmp_path, "busybox", "nslookup", "-timeout=30", "-type=soa", "workflows.tinkbox.internal", FIRST
    )
    assert "origin = workflows.tinkbox.internal" in found
    assert "mail addr = hostmaster.workflows.tinkbox.internal" in found
    status, found = await resolved(
        tmp_path, "busybox", "nslookup", "-timeout=30", "x.workflows.tinkbox.internal", FIRST
    )
    assert status != 0
    assert "NXDOMAIN" in found
    status, found = await resolved(tmp_path, "busybox", "nslookup", "-timeout=30", "example.com", FIRST)
    assert status != 0
    assert "REFUSED" in found


async def asked(port: int, *messages: bytes) -> bytes:
    """The first answer that comes to these datagrams."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.setblocking(False)
        for message in messages:
            asker.sendto(message, ("127.0.0.1", port))
        async with asyncio.timeout(60):
            return await asyncio.get_running_loop().sock_recv(asker, 4096)


@asynccontextmanager
async def connected(
    port: int, address: str = "127.0.0.1"
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def over_tcp(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(60):
        (length,) = struct.unpack(">H", await reader.readexactly(2))
        return await reader.readexactly(length)


async def answered_in_the_end(port: int, message: bytes, answer: bytes | None) -> None:
    """Ask until there is an answer, by as many connections as are hung up on."""
    async with asyncio.timeout(60):
        while True:
            async with connected(port) as (reader, writer):
                with suppress(asyncio.IncompleteReadError, ConnectionError):
                    writer.write(framed(message))
                    assert await over_tcp(reader) == answer
                    return


def framed(message: bytes) -> bytes:
    return struct.pack(">H", len(message)) + message


async def hung_up(reader: asyncio.StreamReader) -> bool:
    async with asyncio.timeout(60):
        try:
            return await reader.read() == b""
        except ConnectionError:
            return True


async def test_a_hostile_datagram_does_not_keep_the_next_from_its_answer() -> None:
    hostile = [b"", b"\0", b"\xff" * 4000, b"\xff" * 60_000, question(NAME, flags=0x8100)]
    async with serving() as port:
        assert await asked(port, *hostile, question(NAME)) == ZONE.answer(question(NAME))


async def test_what_the_library_trips_over_ends_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(Broken()) as port:
        assert await asked(port, b"trips", question(NAME)) == ZONE.answer(question(NAME))
        async with connected(port) as (reader, writer), connected(port) as (other, others):
            writer.write(framed(b"trips"))
            assert await hung_up(reader)
            others.write(framed(question(NAME)))
            assert await over_tcp(other) == ZONE.answer(question(NAME))
    assert {record.action for record in caplog.records} == {"dns.failed"}  # type: ignore[attr-defined]


async def test_one_connection_takes_many_questions_in_whatever_pieces_they_come() -> None:
    async with serving() as port, connected(port) as (reader, writer):
        writer.write(framed(question(NAME)) + framed(question("a.b")))
        assert await over_tcp(reader) == ZONE.answer(question(NAME))
        assert await over_tcp(reader) == ZONE.answer(question("a.b"))
        for octet in framed(question(NAME)):
            writer.write(bytes([octet]))
            await writer.drain()
        assert await over_tcp(reader) == ZONE.answer(question(NAME))


@pytest.mark.parametrize(
    "said", [b"\0\0", framed(question(NAME, flags=0x8100)), struct.pack(">H", 4097) + b"x" * 4097, framed(b"short")]
)
async def test_who_asks_nothing_over_tcp_is_hung_up_on(said: bytes) -> None:
    async with serving() as port, connected(port) as (reader, writer):
        writer.write(said)
        assert await hung_up(reader)


@pytest.mark.parametrize("said", [b"", b"\0", framed(question(NAME))[:-1]])
async def test_who_is_too_slow_is_hung_up_on(said: bytes) -> None:
    async with serving(idle=0.2) as port, connected(port) as (reader, writer):
        writer.write(said)
        assert await hung_up(reader)


async def test_who_takes_no_answers_is_hung_up_on() -> None:
    async with serving(Wordy(), idle=0.2) as port:
        with socket.create_connection(("127.0.0.1", port)) as deaf:
            deaf.setblocking(False)
            async with asyncio.timeout(60):
                with pytest.raises(ConnectionError):
                    await asyncio.get_running_loop().sock_sendall(deaf, framed(b"question") * 10_000_000)
        await answered_in_the_end(port, b"again", b"again" * 1000)


async def test_one_address_cannot_take_all_connections_and_gets_them_back_when_it_lets_go() -> None:
    async with serving() as port:
        lines = []
        for _ in range(NAME_CONNECTIONS.each):
            lines.append(await asyncio.open_connection("127.0.0.1", port))
            lines[-1][1].write(framed(question(NAME)))
            await over_tcp(lines[-1][0])
        async with connected(port) as (reader, _):
            assert await hung_up(reader)
        async with connected(port, "127.0.0.2") as (reader, writer):
            writer.write(framed(question(NAME)))
            assert await over_tcp(reader) == ZONE.answer(question(NAME))
        for _, writer in lines:
            writer.close()
        await answered_in_the_end(port, question(NAME), ZONE.answer(question(NAME)))


async def test_a_host_with_many_addresses_has_one_share_of_the_connections() -> None:
    async with serving(host="08:00:27:00:00:01") as port, AsyncExitStack() as stack:
        for number in range(NAME_CONNECTIONS.each):
            reader, writer = await stack.enter_async_context(connected(port, f"127.0.1.{1 + number}"))
            writer.write(framed(question(NAME)))
            await over_tcp(reader)
        async with connected(port, "127.0.2.1") as (reader, _):
            assert await hung_up(reader)


async def test_strangers_together_leave_connections_to_known_machines() -> None:
    machine = "127.0.3.1"
    async with serving(known=machine) as port:
        lines = []
        for number in range(NAME_CONNECTIONS.for_strangers):
            address = f"127.0.1.{1 + number // NAME_CONNECTIONS.each}"
            lines.append(await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0)))
            lines[-1][1].write(framed(question(NAME)))
            await over_tcp(lines[-1][0])
        async with connected(port, "127.0.2.1") as (reader, _):
            assert await hung_up(reader)
        async with connected(port, machine) as (reader, writer):
            writer.write(framed(question(NAME)))
            assert await over_tcp(reader) == ZONE.answer(question(NAME))
        assert await asked(port, question(NAME)) == ZONE.answer(question(NAME))
        for _, writer in lines:
            writer.close()


async def test_whoever_asks_for_much_at_once_gets_it_all() -> None:
    names = [labels(f"{number}.workflows.tinkbox.internal") for number in range(100)]
    async with serving() as port:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.setblocking(False)
            for name in names:
                message = struct.pack(">6H", 1, 0, 1, 0, 0, 0) + name + b"\0\1\0\1"
                asker.sendto(message, ("127.0.0.1", port))
            answers = set()
            async with asyncio.timeout(60):
                while len(answers) < len(names):
                    answers.add(await asyncio.get_running_loop().sock_recv(asker, 4096))
    assert all(any(name in answer for answer in answers) for name in names)


async def test_an_address_that_asks_without_end_is_left_alone_and_others_are_answered() -> None:
    loop, asked = asyncio.get_running_loop(), question(NAME)
    async with asyncio.timeout(60), serving() as port, AsyncExitStack() as stack:
        greedy, other = (stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(2))
        for line, address in ((greedy, FIRST), (other, SECOND)):
            line.setblocking(False)
            line.bind((address, 0))
            line.connect(("127.0.0.1", port))
        for _ in range(int(QUESTIONS.burst)):
            greedy.send(asked)
            assert await loop.sock_recv(greedy, 512)
        for _ in range(DRAIN * 4):
            greedy.send(asked)
        other.send(asked)
        assert await loop.sock_recv(other, 512)
        answers = 0
        with suppress(BlockingIOError):
            while greedy.recv(512):
                answers += 1
        assert answers < DRAIN * 4
