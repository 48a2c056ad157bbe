"""A host that has no port left for a transfer, in a network namespace."""

import asyncio
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from tests.integration.boot.rooms import transfer_room
from tests.integration.boot.wires import at_home_in, hosts, run
from tinkbox.boot.network.refused_replies import Refusals
from tinkbox.boot.network.sockets import bind_udp
from tinkbox.boot.tftp.server import TftpServer
from tinkbox.model.boot import Stage
from tinkbox.model.sightings import Fact

ONLY = 50001
QUESTION = b"\0\1snponly.efi\0octet\0"


class Files:
    def find(self, peer: str, name: str) -> bytes | Path | None:
        return b"iPXE"


class Observer:
    def __init__(self) -> None:
        self.failed: asyncio.Queue[tuple[str, Fact, str]] = asyncio.Queue()

    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None:
        if stage is Stage.LOADER_FAILED:
            self.failed.put_nowait((address, facts["why"], detail))

    def moves(self, address: str) -> None: ...


@pytest.mark.parametrize("reserved", [False, True], ids=["in use", "reserved"])
def test_a_question_for_whose_answer_there_is_no_port_is_noted_until_there_is_one(reserved: bool) -> None:
    with hosts("appliance") as (appliance,):

        def limits(low: int, high: int, kept: str = "") -> None:
            ports = f"net.ipv4.ip_local_port_range={low} {high}"
            run(*appliance.command("sysctl", "-qw", ports, f"net.ipv4.ip_local_reserved_ports={kept}"))

        limits(ONLY, ONLY, str(ONLY) if reserved else "")
        with at_home_in(appliance.name):
            asyncio.run(_without_a_port(partial(limits, ONLY, ONLY + 9), None if reserved else ONLY))


async def _without_a_port(gives_more: Callable[[], None], used: int | None) -> None:
    refusals, observer = Refusals(lambda: datetime.now(UTC)), Observer()
    with (
        bind_udp(interface="", address="127.0.0.1", port=6969) as listening,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as machine,
    ):
        machine.bind(("127.0.0.1", 2000))
        machine.setblocking(False)
        if used is not None:
            other.bind(("127.0.0.1", used))
        server = TftpServer(listening, Files(), observer, time.monotonic, transfer_room(), str, refusals=refusals)
        async with asyncio.TaskGroup() as group, asyncio.timeout(60):
            task = group.create_task(server.serve())
            machine.sendto(QUESTION, ("127.0.0.1", 6969))
            address, why, detail = await observer.failed.get()
            assert (address, why) == ("127.0.0.1", "no port")
            assert detail == "'snponly.efi': the appliance has no port to send it from: Address already in use"
            (told,) = refusals.look()
            assert (told.what, told.times, told.to, told.no_port) == ("TFTP", 1, "127.0.0.1", True)
            gives_more()
            assert refusals.look() == ()
            machine.sendto(QUESTION, ("127.0.0.1", 6969))
            assert await asyncio.get_running_loop().sock_recv(machine, 100) == b"\0\3\0\1iPXE"
            task.cancel()
