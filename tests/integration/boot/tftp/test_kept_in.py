"""Blocks that this host's own firewall keeps in, in a network namespace: what is told of a transfer that ends for them."""

import asyncio
import errno
import os
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

QUESTION = b"\0\1snponly.efi\0octet\0blksize\x001024\0"
KEEPS_IN = ("OUTPUT", "-p", "udp", "--dport", "2000", "-j", "DROP")
FASTER = 50  # than clocks go, so that the transfer is given up soon


class Files:
    def find(self, peer: str, name: str) -> bytes | Path | None:
        return b"iPXE" * 4096


class Observer:
    def __init__(self) -> None:
        self.failed: asyncio.Queue[dict[str, Fact]] = asyncio.Queue()

    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None:
        if stage is Stage.LOADER_FAILED:
            self.failed.put_nowait(facts)

    def moves(self, address: str) -> None: ...


class Noted(Refusals):
    """Tells that a reply was refused."""

    def __init__(self) -> None:
        super().__init__(lambda: datetime.now(UTC))
        self.any = asyncio.Event()

    def note(
        self, interface: str, what: str, error: OSError, to: str, again: Callable[[], object] | None = None
    ) -> None:
        super().note(interface, what, error, to, again)
        self.any.set()


@pytest.mark.parametrize("kept_in", [True, False], ids=["kept in", "lost"])
def test_a_transfer_that_ends_tells_whether_this_host_kept_its_blocks_in(kept_in: bool) -> None:
    with hosts("appliance") as (appliance,):

        def rule(what: str) -> None:
            if kept_in:
                run(*appliance.command("iptables", what, *KEEPS_IN))

        with at_home_in(appliance.name):
            facts = asyncio.run(_end_of_transfer(partial(rule, "-A"), partial(rule, "-D"), kept_in=kept_in))
    assert (facts["why"], facts["block"], facts["heard"]) == ("silence", 0, 1)
    assert facts.get("refused") == (os.strerror(errno.EPERM) if kept_in else None)


async def _end_of_transfer(
    keep_in: Callable[[], None], let_out: Callable[[], None], *, kept_in: bool
) -> dict[str, Fact]:
    """What is told of one whose first block was sent while the rule was there, and which ends when it is gone."""
    refusals, observer = Noted(), Observer()
    with (
        bind_udp(interface="", address="127.0.0.1", port=6969) as listening,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as machine,
    ):
        machine.bind(("127.0.0.1", 2000))
        machine.setblocking(False)
        server = TftpServer(
            listening, Files(), observer, lambda: time.monotonic() * FASTER, transfer_room(), str, refusals=refusals
        )
        async with asyncio.TaskGroup() as group, asyncio.timeout(60):
            task = group.create_task(server.serve())
            loop = asyncio.get_running_loop()
            machine.sendto(QUESTION, ("127.0.0.1", 6969))
            agreed, line = await loop.sock_recvfrom(machine, 100)
            assert agreed == b"\0\6blksize\x001024\0"
            keep_in()
            machine.sendto(b"\0\4\0\0", line)
            if kept_in:
                await refusals.any.wait()
            let_out()
            facts = await observer.failed.get()
            task.cancel()
    return facts
