"""The boot files as curl finds them from two addresses, by the rule of the real engine."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.integration.engine.appliance import Appliance, appliance
from tinkbox.boot.http.boot_files import BootFolder, routes
from tinkbox.door.problems import refusals_become_problems
from tinkbox.engine.boot.booting import Booting
from tinkbox.engine.boot.leases import Leases
from tinkbox.engine.machines.boot_plan import MAX_BOOTS
from tinkbox.model.boot import Plan, Stage
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.hardware import MacAddress
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


@pytest.fixture
async def url(box: Appliance, tmp_path: Path) -> AsyncIterator[str]:
    osie = tmp_path / "osie" / "x86_64"
    osie.mkdir(parents=True)
    (osie / "vmlinuz").write_bytes(KERNEL)

    def credential(plan: Plan, server: str, address: str) -> Credential:
        return box.machines.credential(plan.hardware_id, server, "172.30.0.1", "ann")

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
    status, kernel = await curl("--interface", OWN, url + "/boot/osie/x86_64/vmlinuz")
    assert (status, kernel) == (200, KERNEL)
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
