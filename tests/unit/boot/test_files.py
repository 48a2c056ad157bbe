"""Scripts, credentials and files over HTTP, asked for by a real client on loopback."""

import subprocess
from collections.abc import AsyncIterator
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tinkbox.boot.files import BootFolder, routes
from tinkbox.door.problems import refusals_become_problems
from tinkbox.model.boot import Boot, Plan, Stage
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.wire.worker import Credential, decode_credential

MAC = MacAddress("08:00:27:00:00:01")
SCRIPT, CREDENTIAL = "/boot/08-00-27-00-00-01/script.ipxe", "/boot/08-00-27-00-00-01/credential.cpio"
WORKER = Credential(server="http://172.30.0.1", registry="172.30.0.1", worker="h", token="secret")
KERNEL = bytes(range(256)) * 40
Door = TestClient[web.Request, web.Application]


class Lab:
    """A planner that knows one machine, at one address."""

    def __init__(self) -> None:
        self.boot, self.address, self.architecture = Boot.OSIE, "127.0.0.1", "x86_64"
        self.seen: list[tuple[str, Stage, str]] = []
        self.begun: list[str] = []

    def script_plan(self, mac: MacAddress, peer: str) -> Plan | None:
        if mac != MAC or peer != self.address:
            return None
        interface = Interface(
            mac=mac, address=IPv4Address(self.address), hostname="lab-1", architecture=self.architecture
        )
        return Plan(
            boot=self.boot,
            hardware_id="h",
            interface=interface,
            workflow="w",
            reason="r",
            script="http://w.lab/auto.ipxe",
        )

    def booted(self, mac: MacAddress) -> None:
        self.begun.append(mac)

    def saw(self, mac: MacAddress, stage: Stage, detail: str = "") -> None:
        self.seen.append((mac, stage, detail))

    def saw_address(self, address: str, stage: Stage, detail: str = "") -> None:
        self.seen.append((address, stage, detail))


async def credential(hardware_id: str) -> Credential:
    assert hardware_id == "h"
    return WORKER


def read_by_cpio(ramdisk: bytes, *options: str) -> bytes:
    return subprocess.run(["cpio", "--quiet", *options], input=ramdisk, capture_output=True, check=True).stdout


@pytest.fixture
def lab() -> Lab:
    return Lab()


@pytest.fixture
async def door(lab: Lab, tmp_path: Path) -> AsyncIterator[Door]:
    osie = tmp_path / "osie" / "x86_64"
    osie.mkdir(parents=True)
    (osie / "vmlinuz").write_bytes(KERNEL)
    (osie / "initramfs").write_bytes(b"ramdisk")
    (osie / "osie.json").write_text("{}")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "vmlinuz").write_bytes(b"hidden")
    application = web.Application(middlewares=[refusals_become_problems])
    folder = BootFolder(
        osie=tmp_path / "osie",
        loaders={"snponly.efi": b"MZ loader"},
        url="http://172.30.0.1",
        version="1.2",
        dns="172.30.0.7",
    )
    application.add_routes(routes(lab, credential, folder))
    async with TestClient(TestServer(application)) as client:
        yield client


@pytest.mark.parametrize(
    ("boot", "stage", "detail", "line"),
    [
        (Boot.OSIE, Stage.SCRIPT, "", "echo booting the OSIE on behalf of workflow w"),
        (Boot.LOCAL_DISK, Stage.LOCAL_DISK, "", "echo nothing to install: booting the local disk"),
        (Boot.PARKED, Stage.PARKED, "", "echo this machine is parked: r"),
        (Boot.WORKFLOW, Stage.SUPPLIED, "", "chain --replace --autofree http://w.lab/auto.ipxe || goto failed"),
        (Boot.WAITING, Stage.SERVICES, "r", "echo waiting on behalf of workflow w: r"),
    ],
)
async def test_the_script_says_what_was_decided_and_is_noted(
    door: Door, lab: Lab, boot: Boot, stage: Stage, detail: str, line: str
) -> None:
    lab.boot = boot
    answer = await door.get(SCRIPT)
    assert answer.status == 200
    text = await answer.text()
    assert text.startswith("#!ipxe\n")
    assert line in text.splitlines()
    assert lab.seen == [(MAC, stage, detail)]
    assert lab.begun == [MAC]


async def test_the_script_names_this_machines_files_and_no_secret(door: Door) -> None:
    text = await (await door.get(SCRIPT)).text()
    assert (
        "\nkernel http://172.30.0.1/boot/osie/x86_64/vmlinuz tinkbox.server=http://172.30.0.1"
        " tinkbox.dns=172.30.0.7 tinkbox.mac=08:00:27:00:00:01 console=tty0 console=ttyS0,115200 initrd=initramfs initrd=credential.cpio "
    ) in text
    assert "\ninitrd --name initramfs http://172.30.0.1/boot/osie/x86_64/initramfs " in text
    assert f"\ninitrd --name credential.cpio http://172.30.0.1{CREDENTIAL} " in text
    assert "secret" not in text


async def test_what_a_workflow_supplies_is_told_where_everything_is(door: Door, lab: Lab) -> None:
    lab.boot = Boot.WORKFLOW
    lines = (await (await door.get(SCRIPT)).text()).splitlines()
    arguments = (
        "tinkbox.server=http://172.30.0.1 tinkbox.dns=172.30.0.7 tinkbox.mac=08:00:27:00:00:01"
        " console=tty0 console=ttyS0,115200"
    )
    assert {
        "set tinkbox-server http://172.30.0.1",
        f"set tinkbox-arguments {arguments}",
        f"set tinkbox-credential http://172.30.0.1{CREDENTIAL}",
        "iseq ${dns} 172.30.0.7 || set upstream-dns ${dns} ||",
        "set dns 172.30.0.7",
    } <= set(lines)


@pytest.mark.parametrize("boot", [Boot.OSIE, Boot.WORKFLOW, Boot.WAITING, Boot.PARKED])
async def test_whatever_may_become_the_osie_has_its_credential(door: Door, lab: Lab, boot: Boot) -> None:
    lab.boot = boot
    assert (await door.get(CREDENTIAL)).status == 200


async def test_an_architecture_from_a_document_cannot_write_the_script(door: Door, lab: Lab) -> None:
    lab.architecture = "x\nshell"
    text = await (await door.get(SCRIPT)).text()
    assert "shell" not in text.splitlines()
    assert "\nkernel http://172.30.0.1/boot/osie/x_shell/vmlinuz " in text


async def test_looking_at_the_script_is_no_boot(door: Door, lab: Lab) -> None:
    answer = await door.head(SCRIPT)
    assert answer.status == 200
    assert lab.seen == []


@pytest.mark.parametrize("path", [SCRIPT, CREDENTIAL])
async def test_another_address_gets_neither_script_nor_credential(door: Door, lab: Lab, path: str) -> None:
    lab.address = "172.30.0.5"
    answer = await door.get(path)
    assert answer.status == 404
    assert (await answer.json())["type"] == "/problems/notfound"
    assert lab.seen == []


@pytest.mark.parametrize("mac", ["08-00-27-00-00-99", "nonsense", "..", "08-00-27-00-00-01-02", "%0a"])
async def test_an_unknown_machine_and_nonsense_are_not_found(door: Door, mac: str) -> None:
    assert (await door.get(f"/boot/{mac}/script.ipxe")).status == 404
    assert (await door.get(f"/boot/{mac}/credential.cpio")).status == 404


async def test_the_credential_is_a_ramdisk_with_one_private_file(door: Door) -> None:
    answer = await door.get(CREDENTIAL)
    assert answer.status == 200
    ramdisk = await answer.read()
    *folders, file = read_by_cpio(ramdisk, "-tv").decode().splitlines()
    assert [line.split()[-1] for line in folders] == ["etc", "etc/tinkbox"]
    assert file.startswith("-rw-------")
    assert file.endswith(" etc/tinkbox/worker.json")
    assert decode_credential(read_by_cpio(ramdisk, "-i", "--to-stdout", "etc/tinkbox/worker.json")) == WORKER


async def test_a_machine_that_does_not_boot_the_osie_gets_no_credential(door: Door, lab: Lab) -> None:
    lab.boot = Boot.LOCAL_DISK
    assert (await door.get(CREDENTIAL)).status == 404


async def test_kernel_and_ramdisk_are_served_and_noted(door: Door, lab: Lab) -> None:
    kernel = await door.get("/boot/osie/x86_64/vmlinuz")
    assert await kernel.read() == KERNEL
    assert kernel.headers["Content-Type"] == "application/octet-stream"
    assert await (await door.get("/boot/osie/x86_64/initramfs")).read() == b"ramdisk"
    assert lab.seen == [
        ("127.0.0.1", Stage.KERNEL, "10240 bytes"),
        ("127.0.0.1", Stage.RAMDISK, "7 bytes"),
    ]


async def test_a_part_of_the_kernel_can_be_had_and_is_no_stage(door: Door, lab: Lab) -> None:
    part = await door.get("/boot/osie/x86_64/vmlinuz", headers={"Range": "bytes=256-259"})
    assert part.status == 206
    assert part.headers["Content-Range"] == "bytes 256-259/10240"
    assert await part.read() == b"\0\1\2\3"
    head = await door.head("/boot/osie/x86_64/vmlinuz")
    assert head.status == 200
    assert head.headers["Content-Length"] == "10240"
    assert (await door.get("/boot/osie/x86_64/vmlinuz", headers={"Range": "bytes=20000-"})).status == 416
    assert lab.seen == []


@pytest.mark.parametrize(
    "path",
    [
        "/boot/osie/x86_64/osie.json",
        "/boot/osie/aarch64/vmlinuz",
        "/boot/osie/..%2Fsecret/vmlinuz",
        "/boot/osie/../secret/vmlinuz",
        "/boot/osie/%2e%2e/vmlinuz",
        "/boot/osie/x86_64%0a/vmlinuz",
        "/boot/osie/x86_64/..%2f..%2fsecret%2fvmlinuz",
        "/boot/osie/" + "x" * 400 + "/vmlinuz",
        "/boot/loaders/nothing",
        "/boot/loaders/..%2fdhcp.py",
    ],
)
async def test_nothing_else_is_served(door: Door, lab: Lab, path: str) -> None:
    answer = await door.get(path)
    assert answer.status == 404
    assert b"hidden" not in await answer.read()
    assert lab.seen == []


async def test_a_loader_is_served_to_firmware_that_boots_over_http(door: Door, lab: Lab) -> None:
    answer = await door.get("/boot/loaders/snponly.efi")
    assert (answer.status, await answer.read()) == (200, b"MZ loader")
    assert answer.headers["Content-Type"] == "application/efi"
    head = await door.head("/boot/loaders/snponly.efi")
    assert head.headers["Content-Length"] == "9"
    assert lab.seen == [("127.0.0.1", Stage.LOADER, "snponly.efi over HTTP")]
