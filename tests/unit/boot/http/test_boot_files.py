"""Scripts, credentials and files over HTTP, asked for by a real client on loopback."""

import asyncio
import errno
import subprocess
from collections.abc import AsyncIterator, Callable
from ipaddress import IPv4Address
from itertools import count
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tinkbox.boot.http import boot_files
from tinkbox.boot.http.boot_files import REPORTS, BootFolder, routes
from tinkbox.boot.http.download_watch import Listeners
from tinkbox.boot.http.file_responses import PIECE
from tinkbox.door.problems import refusals_become_problems
from tinkbox.model.boot import Boot, ConsoleAccess, Plan, Stage
from tinkbox.model.card_firmware import Need
from tinkbox.model.firmware_traits import LocalBoot
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.netboot import Netboot, OwnOsie
from tinkbox.model.sightings import Fact
from tinkbox.wire.messages.worker import Credential, TlsDoor, decode_credential

MAC = MacAddress("08:00:27:00:00:01")
SCRIPT, CREDENTIAL = "/boot/08-00-27-00-00-01/script.ipxe", "/boot/08-00-27-00-00-01/credential.cpio"
FAILED = "/boot/08-00-27-00-00-01/failed"
WORKER = Credential(server="http://172.30.0.1", registry="172.30.0.1", worker="h", token="secret")
TLS = TlsDoor(server="https://172.30.0.1", registry="172.30.0.1", authority="PEM\n")
KERNEL = bytes(range(256)) * 40
Door = TestClient[web.Request, web.Application]


class Lab:
    """A planner that knows one machine, at one address."""

    def __init__(self) -> None:
        self.boot, self.address, self.architecture = Boot.OSIE, "127.0.0.1", "x86_64"
        self.local_boot: LocalBoot | None = None
        self.other = ""
        self.firmware, self.ticket, self.netboot = Need.UNKNOWN, True, Netboot()
        self.https = False
        self.seen: list[tuple[str, Stage, str]] = []
        self.facts: list[dict[str, Fact]] = []
        self.begun: list[str] = []
        self.moved: list[str] = []
        self.tls: TlsDoor | None = None
        self.https_osies = {"x86_64"}
        self._noted: asyncio.Queue[Stage] = asyncio.Queue()

    def is_at(self, mac: MacAddress, address: str) -> bool:
        return (mac, address) == (MAC, self.address)

    def other_host(self, mac: MacAddress, peer: str) -> str:
        return self.other

    def script_plan(self, mac: MacAddress, peer: str) -> Plan | None:
        if mac != MAC or peer != self.address:
            return None
        interface = Interface(
            mac=mac,
            address=IPv4Address(self.address),
            hostname="lab-1",
            architecture=self.architecture,
            netboot=self.netboot,
        )
        return Plan(
            boot=self.boot,
            hardware_id="h",
            interface=interface,
            workflow="w",
            reason="r",
            script="http://w.lab/auto.ipxe",
            ticket=self.ticket,
            local_boot=self.local_boot,
            firmware=self.firmware,
            https=self.https,
        )

    def moves(self, address: str) -> None:
        self.moved.append(address)

    def booted(self, mac: MacAddress) -> None:
        self.begun.append(mac)

    def saw(self, mac: MacAddress, stage: Stage, detail: str = "", **facts: Fact) -> None:
        self.saw_address(mac, stage, detail, **facts)

    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None:
        self.seen.append((address, stage, detail))
        self.facts.append(facts)
        self._noted.put_nowait(stage)

    async def stages(self, number: int) -> list[Stage]:
        """So many stages, once they were noted: a delivery is when the client has it already."""
        async with asyncio.timeout(60):
            return [await self._noted.get() for _ in range(number)]


def credential(plan: Plan, server: str, address: str) -> Credential:
    assert (plan.hardware_id, server) == ("h", "http://172.30.0.1")
    return WORKER


def clock() -> Callable[[], float]:
    """One that goes on by a quarter of a second whenever it is looked at."""
    return map((0.25).__mul__, count()).__next__


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
    (tmp_path / "loaders").mkdir()
    for name in ("snponly.efi", "LICENCE.ipxe"):
        (tmp_path / "loaders" / name).write_bytes(b"MZ loader")
    application = web.Application(middlewares=[refusals_become_problems])
    folder = BootFolder(
        osie=tmp_path / "osie",
        loaders=tmp_path / "loaders",
        url="http://172.30.0.1",
        version="1.2",
        dns="172.30.0.7",
        tls=lambda: lab.tls,
        takes_https=lambda architecture: architecture in lab.https_osies,
    )
    application.add_routes(routes(lab, credential, folder, clock()))
    async with TestClient(TestServer(application)) as client:
        yield client


@pytest.mark.parametrize(
    ("boot", "stage", "detail", "line"),
    [
        (Boot.OSIE, Stage.SCRIPT, "", "echo booting the OSIE on behalf of workflow w"),
        (Boot.DISCOVERY, Stage.DISCOVERY, "", "echo booting the OSIE to tell what this machine is"),
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


REAL = "manufacturer=44656c6c20496e632e&product=506f776572456467652052373430"  # Dell Inc., PowerEdge R740
QEMU = "manufacturer=51454d55&product=5374616e64617264205043"


@pytest.mark.parametrize(
    ("need", "query", "sent"),
    [
        (Need.UNKNOWN, "", True),
        (Need.UNKNOWN, REAL, True),
        (Need.UNKNOWN, QEMU, False),
        (Need.NEEDED, QEMU, True),
        (Need.UNNEEDED, REAL, False),
    ],
)
@pytest.mark.parametrize("boot", [Boot.OSIE, Boot.DISCOVERY, Boot.WORKFLOW])
async def test_firmware_is_sent_to_a_machine_that_may_need_it(
    door: Door, lab: Lab, tmp_path: Path, boot: Boot, need: Need, query: str, sent: bool
) -> None:
    (tmp_path / "osie/x86_64/firmware").write_bytes(b"second ramdisk")
    lab.boot, lab.firmware = boot, need
    text = await (await door.get(f"{SCRIPT}?{query}")).text()
    url = "http://172.30.0.1/boot/osie/x86_64/firmware"
    if boot is Boot.WORKFLOW:
        assert (f"\nset tinkbox-firmware {url}\n" in text) is sent
    else:
        names = ["initramfs", "firmware", "credential.cpio"] if sent else ["initramfs", "credential.cpio"]
        assert f" {' '.join(f'initrd={name}' for name in names)} || goto failed\n" in text
        assert [line.split()[2] for line in text.splitlines() if line.startswith("initrd ")] == names
        assert (url in text) is sent


async def test_an_osie_without_a_second_ramdisk_boots_alone(door: Door, lab: Lab) -> None:
    lab.firmware = Need.NEEDED
    assert "firmware" not in await (await door.get(f"{SCRIPT}?{REAL}")).text()
    assert (await door.get("/boot/osie/x86_64/firmware")).status == 404


async def test_the_second_ramdisk_is_served_and_noted(door: Door, lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "osie/x86_64/firmware").write_bytes(b"second ramdisk")
    assert await (await door.get("/boot/osie/x86_64/firmware")).read() == b"second ramdisk"
    await lab.stages(1)
    assert lab.seen == [("127.0.0.1", Stage.FIRMWARE, "firmware, 14 bytes in 0.2 s over HTTP")]


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


@pytest.mark.parametrize("boot", [Boot.OSIE, Boot.DISCOVERY, Boot.WORKFLOW, Boot.WAITING, Boot.PARKED])
async def test_whatever_may_become_the_osie_has_its_credential(door: Door, lab: Lab, boot: Boot) -> None:
    lab.boot = boot
    assert (await door.get(CREDENTIAL)).status == 200


async def test_an_architecture_from_a_document_cannot_write_the_script(door: Door, lab: Lab) -> None:
    lab.architecture = "x\nshell"
    text = await (await door.get(SCRIPT)).text()
    assert "shell" not in text.splitlines()
    assert "\nkernel http://172.30.0.1/boot/osie/x%0Ashell/vmlinuz " in text


@pytest.mark.parametrize(
    ("boot", "own", "detail"),
    [
        (Boot.OWN_SCRIPT, Netboot(script="shell\n"), "the script of netboot.ipxe.contents"),
        (Boot.OWN_SCRIPT, Netboot(script_url="http://lab/x.ipxe"), "http://lab/x.ipxe"),
        (Boot.OWN_OSIE, Netboot(osie=OwnOsie(kernel="http://lab/k", initramfs="http://lab/i")), "http://lab/k"),
    ],
)
async def test_what_a_document_names_is_told_as_such(
    door: Door, lab: Lab, boot: Boot, own: Netboot, detail: str
) -> None:
    lab.boot, lab.netboot = boot, own
    assert (await door.get(SCRIPT)).status == 200
    assert lab.seen == [(MAC, Stage.OWN_BOOT, detail)]


async def test_another_osie_is_loaded_from_there_with_the_credential_and_without_firmware_of_ours(
    door: Door, lab: Lab, tmp_path: Path
) -> None:
    (tmp_path / "osie" / "x86_64" / "firmware").write_bytes(b"firmware")
    own = Netboot(osie=OwnOsie(kernel="http://lab/k", initramfs="http://lab/i"), kernel_parameters=("quiet",))
    lab.boot, lab.netboot = Boot.OWN_OSIE, own
    text = await (await door.get(SCRIPT)).text()
    assert "\nkernel http://lab/k tinkbox.server=http://172.30.0.1 " in text
    assert " quiet initrd=initramfs initrd=credential.cpio || goto failed\n" in text
    assert "\ninitrd --name initramfs http://lab/i || goto failed\n" in text
    assert "boot/osie" not in text
    assert "firmware" not in text
    assert (await door.get(CREDENTIAL)).status == 200


@pytest.mark.parametrize(("ticket", "status"), [(True, 200), (False, 404)])
async def test_own_script_finds_a_credential_only_with_a_ticket(
    door: Door, lab: Lab, ticket: bool, status: int
) -> None:
    lab.boot, lab.ticket, lab.netboot = Boot.OWN_SCRIPT, ticket, Netboot(script="shell\n")
    assert (await door.get(CREDENTIAL)).status == status


@pytest.mark.parametrize(
    ("query", "detail", "facts"),
    [
        (
            "step=kernel&error=2d0c613b",
            "it could not load the kernel: not found (http://ipxe.org/2d0c613b)",
            {"step": "KERNEL", "error": "NOT_FOUND", "code": "2d0c613b"},
        ),
        (
            "step=disk&error=1d852039.1d852039.2e008001.",
            "it could not boot its disk: not bootable, exec format error (http://ipxe.org/1d852039, http://ipxe.org/2e008001)",
            {"step": "DISK", "error": "NOT_BOOTABLE", "code": "1d852039.2e008001"},
        ),
        (
            "step=boot&error=%0ashell",
            "it could not start the kernel: its boot loader cannot tell why",
            {"step": "BOOT", "error": "UNTOLD", "code": ""},
        ),
    ],
)
async def test_step_that_failed_is_noted_with_its_error(
    door: Door, lab: Lab, query: str, detail: str, facts: dict[str, Fact]
) -> None:
    answer = await door.get(f"{FAILED}?{query}")
    assert (answer.status, await answer.text()) == (200, "noted\n")
    assert (lab.seen, lab.facts) == ([(MAC, Stage.STEP_FAILED, detail)], [facts])


@pytest.mark.parametrize("query", ["", "step=", "step=reboot&error=2d0c613b", "error=2d0c613b"])
async def test_step_that_no_script_has_is_not_found(door: Door, lab: Lab, query: str) -> None:
    assert (await door.get(f"{FAILED}?{query}")).status == 404
    assert lab.seen == []


async def test_step_is_noted_only_from_the_address_of_its_machine(door: Door, lab: Lab) -> None:
    assert (await door.head(f"{FAILED}?step=kernel")).status == 200
    lab.other = "08:00:27:00:00:66"
    answer = await door.get(f"{FAILED}?step=kernel")
    told = "not noted: it came from 08:00:27:00:00:66, and not from 08:00:27:00:00:01\n"
    assert (answer.status, await answer.text()) == (200, told)
    lab.address = "172.30.0.5"
    for path in (FAILED, FAILED.replace("01", "02"), "/boot/nonsense/failed"):
        assert (await door.get(f"{path}?step=kernel")).status == 404
    assert lab.seen == []


async def test_steps_that_are_told_too_often_are_not_noted(door: Door, lab: Lab) -> None:
    for number in range(40):
        answer = await door.get(f"{FAILED}?step=kernel&error=2d{number:06x}")
        assert answer.status == 200
    assert await answer.text() == "not noted: this machine tells of too many failed steps\n"
    assert REPORTS.burst <= len(lab.seen) <= REPORTS.burst + 2


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


async def given(door: Door, path: str) -> Credential:
    ramdisk = await (await door.get(path)).read()
    return decode_credential(read_by_cpio(ramdisk, "-i", "--to-stdout", "etc/tinkbox/worker.json"))


async def test_who_can_speak_https_gets_a_credential_for_that_and_nobody_else(door: Door, lab: Lab) -> None:
    assert await given(door, f"{CREDENTIAL}?https=yes") == WORKER, "the appliance speaks none yet"
    lab.tls = TLS
    assert await given(door, f"{CREDENTIAL}?https=yes") == TLS.credential(WORKER)
    for query in ("", "?https=no", "?https="):
        assert await given(door, f"{CREDENTIAL}{query}") == WORKER


@pytest.mark.parametrize(
    ("boot", "architecture", "asks"),
    [
        (Boot.OSIE, "x86_64", True),
        (Boot.DISCOVERY, "x86_64", True),
        (Boot.OSIE, "aarch64", False),
        # What another person's script or OSIE can do is not known.
        (Boot.WORKFLOW, "x86_64", False),
        (Boot.OWN_SCRIPT, "x86_64", False),
        (Boot.OWN_OSIE, "x86_64", False),
    ],
)
async def test_the_script_asks_for_what_the_osie_that_it_boots_can_do(
    door: Door, lab: Lab, boot: Boot, architecture: str, asks: bool
) -> None:
    lab.boot, lab.architecture, lab.tls = boot, architecture, TLS
    lab.netboot = (
        Netboot(osie=OwnOsie(kernel="http://o/k", initramfs="http://o/i")) if boot is Boot.OWN_OSIE else Netboot()
    )
    text = await (await door.get(SCRIPT)).text()
    url = f"http://172.30.0.1{CREDENTIAL}"
    assert url in text
    assert (f"{url}?https=yes" in text) is asks
    lab.tls = None
    assert "https=yes" not in await (await door.get(SCRIPT)).text()


async def test_a_machine_that_does_not_boot_the_osie_gets_no_credential(door: Door, lab: Lab) -> None:
    lab.boot = Boot.LOCAL_DISK
    assert (await door.get(CREDENTIAL)).status == 404


async def test_a_kernel_that_cannot_be_read_is_told_in_the_log(
    door: Door, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def closed(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", closed)
    answer = await door.get("/boot/osie/x86_64/vmlinuz")
    assert answer.status == 503
    assert caplog.messages[-1].endswith("osie/x86_64/vmlinuz: Permission denied")


async def test_kernel_and_ramdisk_are_served_and_noted(door: Door, lab: Lab) -> None:
    kernel = await door.get("/boot/osie/x86_64/vmlinuz")
    assert await kernel.read() == KERNEL
    assert kernel.headers["Content-Type"] == "application/octet-stream"
    await lab.stages(1)
    assert await (await door.get("/boot/osie/x86_64/initramfs")).read() == b"ramdisk"
    await lab.stages(1)
    assert lab.seen == [
        ("127.0.0.1", Stage.KERNEL, "vmlinuz, 10240 bytes in 0.2 s over HTTP"),
        ("127.0.0.1", Stage.RAMDISK, "initramfs, 7 bytes in 0.2 s over HTTP"),
    ]
    assert lab.facts[0] == {"name": "vmlinuz", "bytes": 10240, "seconds": 0.25, "over": "http"}


async def test_what_comes_in_parts_is_noted_with_the_last_of_them(door: Door, lab: Lab) -> None:
    for part in ("bytes=0-4095", "bytes=4096-10238", "bytes=10239-"):
        assert (await door.get("/boot/osie/x86_64/vmlinuz", headers={"Range": part})).status == 206
    assert await lab.stages(1) == [Stage.KERNEL]
    assert len(lab.seen) == 1


async def test_large_file_that_flows_for_long_is_told_to_move(door: Door, lab: Lab, tmp_path: Path) -> None:
    """The clock goes on by a quarter of a second with each piece."""
    large = tmp_path / "osie" / "x86_64" / "initramfs"
    with large.open("wb") as file:
        file.truncate(90 * PIECE + 1)
    answer = await door.get("/boot/osie/x86_64/initramfs")
    assert len(await answer.read()) == 90 * PIECE + 1
    await lab.stages(1)
    assert lab.moved == ["127.0.0.1"] * 2
    assert lab.seen[0][2].startswith(f"initramfs, {90 * PIECE + 1} bytes in ")


async def test_a_machine_that_hangs_up_has_not_got_it(door: Door, lab: Lab, tmp_path: Path) -> None:
    large = tmp_path / "osie" / "x86_64" / "initramfs"
    with large.open("wb") as file:
        file.truncate(256 << 20)
    answer = await door.get("/boot/osie/x86_64/initramfs")
    await answer.content.readexactly(1 << 20)
    answer.close()
    assert await lab.stages(1) == [Stage.DOWNLOAD_TROUBLE]
    assert (await door.get("/boot/osie/x86_64/vmlinuz")).status == 200
    assert await lab.stages(1) == [Stage.KERNEL]
    facts = lab.facts[0]
    assert {**facts, "bytes": 0, "seconds": 0} == {
        "step": "RAMDISK",
        "name": "initramfs",
        "what": "HUNG_UP",
        "bytes": 0,
        "size": 256 << 20,
        "seconds": 0,
    }
    assert 1 << 20 <= int(facts["bytes"]) < 256 << 20


@pytest.mark.parametrize(("name", "to_come"), [("vmlinuz", 92 << 20), ("initramfs", 0)])
async def test_ramdisk_is_still_to_come_while_the_kernel_is_sent(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, to_come: int
) -> None:
    with (tmp_path / "osie" / "x86_64" / "initramfs").open("wb") as file:
        file.truncate(92 << 20)
    told: list[Listeners] = []

    def delivery(path: Path, content_type: str, delivered: Callable[[], None], listeners: Listeners) -> web.Response:
        told.append(listeners)
        return web.Response(content_type=content_type)

    monkeypatch.setattr(boot_files, "Delivery", delivery)
    await door.get(f"/boot/osie/x86_64/{name}")
    assert [each.to_come for each in told] == [to_come]


@pytest.mark.parametrize("path", [SCRIPT, "/boot/osie/x86_64/vmlinuz"])
async def test_machine_that_goes_on_with_something_else_has_no_trouble(
    door: Door, lab: Lab, tmp_path: Path, path: str
) -> None:
    """As GRUB does, which reads on in another connection, or a machine that was switched off and boots anew."""
    with (tmp_path / "osie" / "x86_64" / "initramfs").open("wb") as file:
        file.truncate(256 << 20)
    answer = await door.get("/boot/osie/x86_64/initramfs")
    await answer.content.readexactly(1 << 20)
    await (await door.get(path)).read()
    answer.close()
    await (await door.get("/boot/osie/x86_64/vmlinuz")).read()
    assert Stage.DOWNLOAD_TROUBLE not in await lab.stages(2)


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
        "/boot/loaders/LICENCE.ipxe",
        "/boot/loaders/ipxe.efi",
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
    part = await door.get("/boot/loaders/snponly.efi", headers={"Range": "bytes=3-5"})
    assert (part.status, await part.read(), part.headers["Content-Range"]) == (206, b"loa", "bytes 3-5/9")
    await lab.stages(1)
    assert lab.seen == [("127.0.0.1", Stage.LOADER, "snponly.efi, 9 bytes in 0.2 s over HTTP")]
    assert lab.facts == [{"name": "snponly.efi", "bytes": 9, "seconds": 0.25, "over": "http"}]


async def test_what_ipxe_says_of_its_machine_is_noted_with_the_script(door: Door, lab: Lab) -> None:
    query = "platform=efi&manufacturer=41434d45202620536fcc88686e65&product=426f782033&serial=&memory=ffff0700&more=x"
    await door.get(f"{SCRIPT}?{query}")
    assert lab.facts == [{"platform": "efi", "manufacturer": "ACME & So\u0308hne", "product": "Box 3", "memory": 512}]


@pytest.mark.parametrize("memory", ["", "ffffffff", "00", "zzzzzzzz", "0" * 16])
async def test_memory_that_nobody_can_know_is_not_noted(door: Door, lab: Lab, memory: str) -> None:
    await door.get(f"{SCRIPT}?memory={memory}")
    assert lab.facts == [{}]


async def test_the_way_to_the_disk_is_noted(door: Door, lab: Lab) -> None:
    lab.boot, lab.local_boot = Boot.LOCAL_DISK, LocalBoot.EXIT
    assert "sanboot" not in await (await door.get(SCRIPT)).text()
    assert lab.facts == [{"way": "exit"}]


# --- machines that boot by HTTPS alone


@pytest.fixture
async def tls_door(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Door]:
    """The same door, to which everything comes by TLS."""
    (tmp_path / "osie" / "x86_64").mkdir(parents=True)
    monkeypatch.setattr(web.BaseRequest, "secure", True)
    application = web.Application(middlewares=[refusals_become_problems])
    folder = BootFolder(
        osie=tmp_path / "osie",
        url="http://172.30.0.1",
        version="1.2",
        tls=lambda: TlsDoor(server="https://172.30.0.1", registry="172.30.0.1", authority="PEM"),
        syslog_port=514,
        console=ConsoleAccess.NONE,
    )
    application.add_routes(routes(lab, credential, folder, clock()))
    async with TestClient(TestServer(application)) as client:
        yield client


async def test_by_plain_http_it_is_told_to_come_by_https_and_nothing_else(lab: Lab, door: Door) -> None:
    lab.https = True
    told = await (await door.get(SCRIPT)).text()
    assert "kernel" not in told
    assert "credential" not in told
    assert lab.seen == [(MAC, Stage.HTTPS_WANTED, "")]
    assert lab.begun == [], "it counts for no boot"


async def test_by_plain_http_it_gets_no_credential(lab: Lab, door: Door) -> None:
    lab.https = True
    answer = await door.get(CREDENTIAL)
    assert answer.status == 403
    assert "by HTTPS" in await answer.text()
    assert b"secret" not in await answer.read()


async def test_by_plain_http_it_can_tell_what_failed(lab: Lab, door: Door) -> None:
    lab.https = True
    await door.get(f"{FAILED}?step=https&error=0216eb8f")
    ((_, stage, detail),) = lab.seen
    assert stage is Stage.STEP_FAILED
    assert detail == "it could not come to the appliance by HTTPS: permission denied (http://ipxe.org/0216eb8f)"


async def test_what_came_by_https_is_noted_as_that(lab: Lab, tls_door: Door, tmp_path: Path) -> None:
    (tmp_path / "osie/x86_64/vmlinuz").write_bytes(b"kernel")
    assert await (await tls_door.get("/boot/osie/x86_64/vmlinuz")).read() == b"kernel"
    await lab.stages(1)
    assert [detail.rpartition(" over ")[2] for _, _, detail in lab.seen] == ["HTTPS"]


@pytest.mark.parametrize("https", [True, False])
async def test_what_came_by_https_goes_on_by_https(lab: Lab, tls_door: Door, *, https: bool) -> None:
    lab.https = https
    told = await (await tls_door.get(SCRIPT)).text()
    (kernel,) = [line for line in told.splitlines() if line.startswith("kernel ")]
    assert kernel.startswith("kernel https://172.30.0.1/boot/osie/x86_64/vmlinuz ")
    assert "tinkbox.server=http://172.30.0.1 " in kernel, "what has no TLS asks there"
    assert " tinkbox.console=none " in kernel
    assert "credential.cpio https://172.30.0.1/boot/08-00-27-00-00-01/credential.cpio" in told
    assert "set syslog 172.30.0.1 " in told
    assert (await tls_door.get(CREDENTIAL)).status == 200
    assert lab.begun == [MAC]
