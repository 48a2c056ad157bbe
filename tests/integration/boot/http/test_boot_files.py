"""The boot files as curl finds them from two addresses, by the rule of the real engine."""

import asyncio
import json
import logging
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.integration.engine.appliance import Appliance, appliance
from tinkbox.boot.http.boot_files import TROUBLES, BootFolder, routes
from tinkbox.door.problems import refusals_become_problems
from tinkbox.engine.boot.booting import Booting
from tinkbox.engine.boot.leases import Leases
from tinkbox.engine.machines.boot_plan import MAX_BOOTS
from tinkbox.model.boot import Plan, Stage
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.hardware import MacAddress
from tinkbox.model.sightings import Sighting
from tinkbox.wire.messages.worker import Credential

HARDWARE = {
    "id": str(UUID(int=1)),
    "network": {
        "interfaces": [
            {
                "dhcp": {
                    "mac": "08:00:27:00:00:01",
                    "hostname": "lab-1",
                    "ip": {"address": "127.0.0.5", "netmask": "255.0.0.0"},
                }
            }
        ]
    },
}
TEMPLATE = """\
version: "0.1"
name: hello
tasks: [{name: one, worker: "{{.device_1}}", actions: [{name: hello, image: hello}]}]
"""
OWN, OTHER = "127.0.0.5", "127.0.0.6"
SCRIPT, CREDENTIAL = "/boot/08-00-27-00-00-01/script.ipxe", "/boot/08-00-27-00-00-01/credential.cpio"
FAILED, MAC = "/boot/08-00-27-00-00-01/failed", MacAddress("08:00:27:00:00:01")
KERNEL = bytes(range(256)) * 4096


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Appliance]:
    async with appliance(tmp_path / "tinkbox.sqlite") as made:
        await made.machines.push(parse_hardware(json.dumps(HARDWARE)))
        await made.templates.create("hello", TEMPLATE)
        await made.workflows.create("hello", {"device_1": "08:00:27:00:00:01"})
        yield made


class Warned(logging.Handler):
    """Waits for what the door logs of downloads."""

    def __init__(self) -> None:
        super().__init__()
        self._told = 0
        self._again = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "action", "") == "boot.download-trouble":
            self._told += 1
            self._again.set()

    async def times(self, number: int) -> None:
        async with asyncio.timeout(60):
            while self._told < number:
                self._again.clear()
                await self._again.wait()


@pytest.fixture
async def warned() -> AsyncIterator[Warned]:
    handler, logger = Warned(), logging.getLogger("tinkbox.boot.http.boot_files")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


@pytest.fixture
async def url(box: Appliance, tmp_path: Path) -> AsyncIterator[str]:
    osie = tmp_path / "osie" / "x86_64"
    osie.mkdir(parents=True)
    (osie / "vmlinuz").write_bytes(KERNEL)

    def credential(plan: Plan, server: str, address: str) -> Credential:
        return box.credential(plan, server, address)

    folder = BootFolder(osie=osie.parent, url="http://172.30.0.1", version="1.2")
    application = web.Application(middlewares=[refusals_become_problems])
    leases = Leases(box.store, (), box.clock, time.monotonic)
    booting = Booting(box.machines, leases, None, (), "reservation", lambda _: None, lambda _: False, time.monotonic)
    application.add_routes(routes(booting, credential, folder))
    async with TestServer(application) as server:
        yield f"http://127.0.0.1:{server.port}"


async def curl(*words: str) -> tuple[int, bytes]:
    """The status and the body."""
    process = await asyncio.create_subprocess_exec(
        "curl", "-sS", "-m", "60", "-w", "%{stderr}%{http_code}", *words, stdout=-1, stderr=-1
    )
    body, status = await process.communicate()
    return int(status), body


async def test_the_machine_itself_gets_its_script_and_credential(url: str) -> None:
    status, script = await curl("--interface", OWN, url + SCRIPT)
    assert status == 200
    assert b"booting the OSIE on behalf of workflow" in script
    status, ramdisk = await curl("--interface", OWN, url + CREDENTIAL)
    assert status == 200
    assert ramdisk.startswith(b"070701")
    assert b'"worker":"00000000-0000-0000-0000-000000000001"' in ramdisk


async def test_the_last_boot_that_is_given_before_a_machine_is_parked_has_its_credential_too(url: str) -> None:
    for _ in range(MAX_BOOTS):
        _, script = await curl("--interface", OWN, url + SCRIPT)
        assert b"booting the OSIE" in script
        assert (await curl("--interface", OWN, url + CREDENTIAL))[0] == 200
    _, script = await curl("--interface", OWN, url + SCRIPT)
    assert b"this machine is parked" in script


@pytest.mark.parametrize("path", [SCRIPT, CREDENTIAL])
@pytest.mark.parametrize("header", ["X-Forwarded-For: 127.0.0.5", "Forwarded: for=127.0.0.5", "Host: 127.0.0.5"])
async def test_another_address_gets_neither_whatever_it_claims(url: str, path: str, header: str) -> None:
    status, body = await curl("--interface", OTHER, "-H", header, url + path)
    assert status == 404
    assert b"token" not in body


async def test_a_machine_is_seen_at_the_address_it_fetches_from(box: Appliance, url: str) -> None:
    await curl("--interface", OTHER, url + "/boot/osie/x86_64/vmlinuz")
    assert (await box.machines.get("lab-1")).stage is None
    # By one connection: the second is answered when the first was noted.
    twice = [url + "/boot/osie/x86_64/vmlinuz"] * 2
    status, kernel = await curl("--interface", OWN, *twice)
    assert (status, kernel) == (200200, KERNEL * 2)
    stage = (await box.machines.get("lab-1")).stage
    assert stage is not None
    assert stage.value == "fetched the kernel"


async def test_step_that_failed_is_noted_of_the_machine_at_its_own_address_alone(box: Appliance, url: str) -> None:
    for _ in range(3):
        assert (await curl("--interface", OTHER, f"{url}{FAILED}?step=kernel&error=2d0c613b"))[0] == 404
    assert (await box.machines.get("lab-1")).stage is None
    for _ in range(3):
        assert (await curl("--interface", OWN, f"{url}{FAILED}?step=kernel&error=2d0c613b"))[0] == 200
    (seen,) = await box.machines.timeline.of(MAC)
    assert (seen.stage, seen.facts["count"]) == (Stage.STEP_FAILED, 3)
    assert seen.detail == "it could not load the kernel: not found (http://ipxe.org/2d0c613b)"


def hang_up(url: str, address: str, *, reading: int = 100_000) -> None:
    """Ask for the kernel from this address, take a part of it, and hang up."""
    host, port = url.removeprefix("http://").split(":")
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 10)
        client.bind((address, 0))
        client.connect((host, int(port)))
        client.sendall(b"GET /boot/osie/x86_64/vmlinuz HTTP/1.1\r\nHost: x\r\n\r\n")
        while reading > 0:
            reading -= len(client.recv(reading))


async def troubles(box: Appliance) -> list[Sighting]:
    return [each for each in await box.machines.timeline.of(MAC) if each.stage is Stage.DOWNLOAD_TROUBLE]


async def test_download_that_breaks_off_is_noted_of_the_machine_at_that_address_with_what_it_took(
    box: Appliance, url: str, warned: Warned
) -> None:
    await asyncio.to_thread(hang_up, url, OTHER)
    await warned.times(1)
    assert await troubles(box) == []
    await asyncio.to_thread(hang_up, url, OWN)
    await warned.times(2)
    (seen,) = await troubles(box)
    assert (seen.facts["what"], seen.facts["step"], seen.facts["size"]) == ("HUNG_UP", "KERNEL", len(KERNEL))
    assert 99_000 < int(seen.facts["bytes"]) < len(KERNEL) - 1
    assert seen.detail.endswith(" s over HTTP: the machine ended the connection")


async def test_address_that_breaks_off_again_and_again_takes_few_lines_and_none_from_its_boot(
    box: Appliance, url: str, warned: Warned
) -> None:
    for _ in range(3):
        assert (await curl("--interface", OWN, f"{url}{FAILED}?step=kernel&error=2d0c613b"))[0] == 200
    for number in range(1, 13):
        await asyncio.to_thread(hang_up, url, OWN)
        if number <= TROUBLES.burst:
            await warned.times(number)
    assert sum(int(each.facts.get("count", 1)) for each in await troubles(box)) == TROUBLES.burst
    (failed,) = [each for each in await box.machines.timeline.of(MAC) if each.stage is Stage.STEP_FAILED]
    assert failed.facts["count"] == 3


async def test_an_interrupted_download_goes_on_where_it_stopped(url: str, tmp_path: Path) -> None:
    (tmp_path / "half").write_bytes(KERNEL[:500_001])
    status, _ = await curl("-C", "-", "-o", str(tmp_path / "half"), url + "/boot/osie/x86_64/vmlinuz")
    assert status == 206
    assert (tmp_path / "half").read_bytes() == KERNEL


async def test_the_size_can_be_asked_for(url: str) -> None:
    status, head = await curl("-I", url + "/boot/osie/x86_64/vmlinuz")
    assert status == 200
    assert b"Content-Length: 1048576\r\n" in head
    assert b"Accept-Ranges: bytes\r\n" in head


async def test_a_path_is_not_followed_out_of_the_folder(url: str, tmp_path: Path) -> None:
    (tmp_path / "vmlinuz").write_bytes(b"hidden")
    for path in ("/boot/osie/../vmlinuz", "/boot/osie/%2e%2e/vmlinuz", "/boot/osie/..%2f/vmlinuz"):
        assert await curl("--path-as-is", "-o", "/dev/null", url + path) == (404, b"")
