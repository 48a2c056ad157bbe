"""What is served by TFTP, and what is told of it."""

from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from tinkbox.boot.http.boot_files import BootFolder
from tinkbox.boot.http.credential_ramdisk import credential_ramdisk
from tinkbox.boot.tftp.files import TftpFiles
from tinkbox.model.boot import Boot, ConsoleAccess, Plan, Stage
from tinkbox.model.card_firmware import Need
from tinkbox.model.firmware_traits import LocalBoot
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.sightings import Fact
from tinkbox.wire.messages.worker import Credential, TlsDoor

MAC, PEER, STRANGER = MacAddress("08:00:27:00:00:01"), "172.30.0.21", "172.30.0.99"
LOADERS = {"snponly.efi": b"iPXE", "shimx64.efi": b"shim", "grubx64.efi": b"GRUB"}
WORKER = Credential(server="http://172.30.0.1", registry="172.30.0.1", worker="h", token="secret")
PXELINUX, TURN, CREDENTIAL = "pxelinux.cfg/01-08-00-27-00-00-01", "grub/turn.cfg", "machine/credential.cpio"
PI = "c81f3b5a/"
Seen = tuple[str, Stage, str, dict[str, Fact]]


class Lab:
    """A planner that knows one machine, at one address."""

    def __init__(self) -> None:
        interface = Interface(mac=MAC, address=IPv4Address(PEER), hostname="lab-1")
        self.plan: Plan | None = Plan(boot=Boot.OSIE, hardware_id="h", interface=interface, workflow="w", reason="r")
        self.document: str | None = interface.architecture
        self.seen: list[Seen] = []
        self.begun: list[MacAddress] = []
        self.refused: list[str] = []
        self.other = ""
        self.tls: TlsDoor | None = None

    def told(self, boot: Boot, architecture: str = "x86_64", local_boot: LocalBoot | None = None) -> None:
        assert self.plan is not None
        interface = replace(self.plan.interface, architecture=architecture)
        self.document = architecture
        self.plan = replace(self.plan, boot=boot, interface=interface, local_boot=local_boot)

    def at(self, address: str) -> MacAddress | None:
        return MAC if address == PEER else None

    def is_at(self, mac: MacAddress, address: str) -> bool:
        return self.at(address) == mac

    def other_host(self, mac: MacAddress, peer: str) -> str:
        return self.other

    def script_plan(self, mac: MacAddress, peer: str) -> Plan | None:
        if self.plan is None or (mac, peer) != (MAC, PEER):
            self.refused.append(peer)
            return None
        return self.plan

    def architecture(self, mac: MacAddress) -> str | None:
        return self.document

    def booted(self, mac: MacAddress) -> None:
        self.begun.append(mac)

    def saw(self, mac: MacAddress, stage: Stage, detail: str = "", **facts: Fact) -> None:
        self.seen.append((mac, stage, detail, facts))

    def moves(self, address: str) -> None: ...

    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None:
        self.seen.append((address, stage, detail, facts))


@pytest.fixture
def lab() -> Lab:
    return Lab()


@pytest.fixture
def tftp_files(lab: Lab, tmp_path: Path) -> TftpFiles:
    for architecture in ("x86_64", "aarch64"):
        (tmp_path / "osie" / architecture).mkdir(parents=True)
        for name in ("vmlinuz", "initramfs", "osie.json"):
            (tmp_path / "osie" / architecture / name).write_text(f"{name} for {architecture}")
    blobs = tmp_path / "raspberrypi"
    (blobs / "overlays").mkdir(parents=True)
    (blobs / "start4.elf").write_text("firmware")
    (blobs / "overlays" / "disable-bt.dtbo").write_text("overlay")
    (tmp_path / "secret").write_text("secret")
    (blobs / "escape").symlink_to(tmp_path / "secret")
    folder = BootFolder(
        osie=tmp_path / "osie",
        url="http://172.30.0.1",
        version="1.2",
        syslog_port=514,
        console=ConsoleAccess.NONE,
        tls=lambda: lab.tls,
        takes_https=lambda architecture: architecture == "x86_64",
    )

    def credential(plan: Plan, server: str, address: str) -> Credential:
        assert (plan.hardware_id, server) == ("h", "http://172.30.0.1")
        return WORKER

    return TftpFiles(LOADERS, lab, credential, folder, blobs)


def content(tftp_files: TftpFiles, name: str, peer: str = PEER) -> bytes | None:
    found = tftp_files.find(peer, name)
    return found.read_bytes() if isinstance(found, Path) else found


def text(tftp_files: TftpFiles, name: str, peer: str = PEER) -> str:
    found = content(tftp_files, name, peer)
    assert found is not None, name
    return found.decode()


@pytest.mark.parametrize("peer", [PEER, STRANGER])
def test_loaders_and_the_osie_are_for_everybody(tftp_files: TftpFiles, peer: str, tmp_path: Path) -> None:
    assert tftp_files.find(peer, "shimx64.efi") == b"shim"
    assert tftp_files.find(peer, "osie/x86_64/vmlinuz") == tmp_path / "osie" / "x86_64" / "vmlinuz"
    assert text(tftp_files, "grub/grub.cfg", peer).startswith("echo 'tinkbox 1.2: ")


@pytest.mark.parametrize("name", [TURN, CREDENTIAL, PXELINUX, "config.txt", "cmdline.txt", "start4.elf", "vmlinuz"])
def test_what_is_a_machines_own_is_for_its_address_alone(tftp_files: TftpFiles, lab: Lab, name: str) -> None:
    lab.told(Boot.OSIE, "aarch64")
    assert tftp_files.find(PEER, name) is not None
    assert tftp_files.find(STRANGER, name) is None
    lab.plan = None
    assert tftp_files.find(PEER, name) is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        "osie/x86_64/osie.json",
        "osie/../secret",
        "osie/x86_64/vmlinuz/",
        "osie/riscv64/vmlinuz",
        "pxelinux.cfg/01-08-00-27-00-00-02",
        "pxelinux.cfg/default",
        "../secret",
        "escape",
        f"{PI}../secret",
        "overlays",
        "x" * 5000,
        "start4.elf\0",
        "LICENCE.ipxe",
    ],
)
def test_nothing_else_is_there(tftp_files: TftpFiles, lab: Lab, name: str) -> None:
    lab.told(Boot.OSIE, "aarch64")
    assert tftp_files.find(PEER, name) is None


FOR_ALL = [(TURN, 1), (CREDENTIAL, 1), (PXELINUX, 1), ("hello.txt", 0), ("pxelinux.cfg/01-08-00-27-00-00-02", 0)]
FOR_PI = ["config.txt", f"{PI}cmdline.txt", f"{PI}vmlinuz", "start4.elf", f"{PI}overlays/disable-bt.dtbo"]


@pytest.mark.parametrize(
    ("architecture", "name", "refused"),
    [
        *[(architecture, *each) for architecture in ("x86_64", "aarch64", None) for each in FOR_ALL],
        *[("x86_64", name, 0) for name in FOR_PI],
        *[(architecture, name, 1) for architecture in ("aarch64", None) for name in FOR_PI],
        ("aarch64", f"{PI}recovery.elf", 0),
    ],
)
def test_a_script_is_refused_to_a_machine_only_when_it_asks_for_what_it_would_be_given(
    tftp_files: TftpFiles, lab: Lab, architecture: str | None, name: str, refused: int
) -> None:
    lab.plan, lab.document = None, architecture
    assert tftp_files.find(PEER, name) is None
    assert lab.refused == [PEER] * refused


def test_grubs_turn_names_what_this_shelf_has(tftp_files: TftpFiles) -> None:
    words = text(tftp_files, TURN).replace("'", " ").split()
    *files, told = [each.lstrip("/") for each in words if each.startswith("/")]
    assert told == "grub/failed/$step"
    assert files == ["osie/x86_64/vmlinuz", "osie/x86_64/initramfs", CREDENTIAL]
    assert all(tftp_files.find(PEER, each) is not None for each in files)
    assert {"tinkbox.server=http://172.30.0.1", "tinkbox.syslog=172.30.0.1", f"tinkbox.mac={MAC}"} <= set(words)
    assert "secret" not in words


@pytest.mark.parametrize(
    ("architecture", "name"), [("x86_64", TURN), ("x86_64", PXELINUX), ("aarch64", f"{PI}cmdline.txt")]
)
def test_every_loader_tells_the_osie_that_its_consoles_offer_no_shell(
    tftp_files: TftpFiles, lab: Lab, architecture: str, name: str
) -> None:
    lab.told(Boot.OSIE, architecture)
    assert "tinkbox.console=none" in text(tftp_files, name).replace("'", " ").split()


@pytest.fixture
def firmware(tmp_path: Path) -> Path:
    path = tmp_path / "osie/x86_64/firmware"
    path.write_text("second ramdisk")
    return path


def test_grub_looks_whether_its_machine_is_virtual_where_nobody_knows(
    tftp_files: TftpFiles, lab: Lab, firmware: Path
) -> None:
    lines = text(tftp_files, TURN).splitlines()
    assert "set 'firmware=/osie/x86_64/firmware'" in lines
    assert "if initrd '/osie/x86_64/initramfs' $firmware '/machine/credential.cpio'" in lines
    assert lines.index("smbios --type 1 --get-string 4 --set maker") < lines.index("then set firmware=")
    assert tftp_files.find(PEER, "osie/x86_64/firmware") == firmware


@pytest.mark.parametrize(("need", "sent"), [(Need.NEEDED, True), (Need.UNNEEDED, False)])
def test_grub_looks_for_nothing_where_it_is_known(
    tftp_files: TftpFiles, lab: Lab, firmware: Path, need: Need, sent: bool
) -> None:
    assert lab.plan is not None
    lab.plan = replace(lab.plan, firmware=need)
    turn = text(tftp_files, TURN)
    assert ("'/osie/x86_64/initramfs' '/osie/x86_64/firmware' '/machine/credential.cpio'" in turn) is sent
    assert "smbios" not in turn


def test_pxelinux_takes_three_ramdisks_where_firmware_may_be_needed(
    tftp_files: TftpFiles, lab: Lab, firmware: Path
) -> None:
    three = f"  INITRD /osie/x86_64/initramfs,/osie/x86_64/firmware,/{CREDENTIAL}"
    assert three in text(tftp_files, PXELINUX).splitlines()
    assert lab.plan is not None
    lab.plan = replace(lab.plan, firmware=Need.UNNEEDED)
    assert three not in text(tftp_files, PXELINUX).splitlines()


def test_firmware_by_tftp_has_a_stage_of_its_own(tftp_files: TftpFiles, lab: Lab) -> None:
    tftp_files.saw_address(PEER, Stage.LOADER, "firmware, 7 bytes", name="osie/x86_64/firmware")
    assert [each[1] for each in lab.seen] == [Stage.FIRMWARE]


def test_by_tftp_an_osie_that_can_speak_https_gets_a_credential_for_that(tftp_files: TftpFiles, lab: Lab) -> None:
    lab.tls = TlsDoor(server="https://172.30.0.1", registry="172.30.0.1", authority="PEM\n")
    assert tftp_files.find(PEER, CREDENTIAL) == credential_ramdisk(lab.tls.credential(WORKER))
    lab.told(Boot.OSIE, "aarch64")
    assert tftp_files.find(PEER, CREDENTIAL) == credential_ramdisk(WORKER), "this one is of an earlier release"
    lab.told(Boot.WORKFLOW)
    assert tftp_files.find(PEER, CREDENTIAL) == credential_ramdisk(WORKER)


def test_the_credential_is_the_machines_own_while_it_may_boot_the_osie(tftp_files: TftpFiles, lab: Lab) -> None:
    assert tftp_files.find(PEER, CREDENTIAL) == credential_ramdisk(WORKER)
    lab.told(Boot.LOCAL_DISK)
    assert tftp_files.find(PEER, CREDENTIAL) is None


def test_pxelinux_takes_both_ramdisks(tftp_files: TftpFiles) -> None:
    lines = text(tftp_files, PXELINUX).splitlines()
    assert "  KERNEL /osie/x86_64/vmlinuz" in lines
    assert f"  INITRD /osie/x86_64/initramfs,/{CREDENTIAL}" in lines


def test_u_boot_takes_one(tftp_files: TftpFiles, lab: Lab) -> None:
    lab.told(Boot.OSIE, "aarch64")
    assert (
        "  INITRD /osie/aarch64/initramfs"
        in text(tftp_files, PXELINUX.upper().replace("PXELINUX.CFG", "pxelinux.cfg")).splitlines()
    )


@pytest.mark.parametrize("folder", [PI, "dc-a6-32-00-00-01/", ""])
def test_a_raspberry_pi_finds_its_files_wherever_it_looks(tftp_files: TftpFiles, lab: Lab, folder: str) -> None:
    lab.told(Boot.OSIE, "aarch64")
    assert "\nkernel=vmlinuz\ninitramfs initramfs followkernel\n" in text(tftp_files, f"{folder}config.txt")
    assert text(tftp_files, f"{folder}cmdline.txt").split()[0] == "tinkbox.server=http://172.30.0.1"
    assert text(tftp_files, f"{folder}vmlinuz") == "vmlinuz for aarch64"
    assert text(tftp_files, f"{folder}initramfs") == "initramfs for aarch64"
    assert text(tftp_files, f"{folder}start4.elf") == "firmware"
    assert text(tftp_files, f"{folder}overlays/disable-bt.dtbo") == "overlay"
    assert tftp_files.find(PEER, f"{folder}fixup4.dat") is None


def test_the_operators_config_comes_first(tftp_files: TftpFiles, lab: Lab, tmp_path: Path) -> None:
    lab.told(Boot.OSIE, "aarch64")
    (tmp_path / "raspberrypi" / "config.txt").write_bytes(b"dtparam=audio=on\n\xff")
    assert text(tftp_files, f"{PI}config.txt").startswith("dtparam=audio=on\n")
    assert text(tftp_files, f"{PI}config.txt").endswith("followkernel\n")


@pytest.mark.parametrize(("boot", "architecture"), [(Boot.LOCAL_DISK, "aarch64"), (Boot.OSIE, "x86_64")])
def test_without_files_a_raspberry_pi_goes_on_to_its_next_boot_device(
    tftp_files: TftpFiles, lab: Lab, boot: Boot, architecture: str
) -> None:
    lab.told(boot, architecture)
    assert [tftp_files.find(PEER, f"{PI}{name}") for name in ("start4.elf", "config.txt", "vmlinuz")] == [None] * 3


def delivered(tftp_files: TftpFiles, name: str, stage: Stage = Stage.LOADER, **facts: Fact) -> None:
    tftp_files.saw_address(PEER, stage, "as it went", name=name, **facts)


def test_a_loader_is_told_as_it_is(tftp_files: TftpFiles, lab: Lab) -> None:
    for stage in (Stage.LOADER_REQUESTED, Stage.LOADER_FAILED, Stage.LOADER):
        delivered(tftp_files, "shimx64.efi", stage, bytes=4)
    assert [stage for _, stage, _, _ in lab.seen] == [Stage.LOADER_REQUESTED, Stage.LOADER_FAILED, Stage.LOADER]
    assert lab.seen[-1] == (PEER, Stage.LOADER, "as it went", {"name": "shimx64.efi", "bytes": 4})


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("osie/x86_64/vmlinuz", Stage.KERNEL),
        ("osie/x86_64/initramfs", Stage.RAMDISK),
        (f"{PI}vmlinuz", Stage.KERNEL),
        (f"{PI}initramfs", Stage.RAMDISK),
    ],
)
def test_kernel_and_ramdisk_are_stages_of_their_own(tftp_files: TftpFiles, lab: Lab, name: str, stage: Stage) -> None:
    delivered(tftp_files, name, Stage.LOADER_REQUESTED)
    delivered(tftp_files, name, Stage.LOADER, bytes=7)
    delivered(tftp_files, name, Stage.LOADER_FAILED, why="silence")
    assert [stage for _, stage, _, _ in lab.seen] == [Stage.LOADER_REQUESTED, stage, Stage.LOADER_FAILED]
    assert lab.begun == []


@pytest.mark.parametrize("name", [TURN, PXELINUX, f"{PI}config.txt"])
@pytest.mark.parametrize(
    ("boot", "stage", "detail"),
    [
        (Boot.OSIE, Stage.SCRIPT, ""),
        (Boot.DISCOVERY, Stage.DISCOVERY, ""),
        (Boot.PARKED, Stage.PARKED, ""),
        (Boot.WAITING, Stage.SERVICES, "r"),
        (Boot.WORKFLOW, Stage.PARKED, "workflow w supplies a boot script for iPXE, which it cannot run"),
        (Boot.OWN_SCRIPT, Stage.PARKED, "its hardware document has a boot script for iPXE, which it cannot run"),
        (Boot.OWN_OSIE, Stage.PARKED, "its hardware document names an OSIE that needs iPXE, which it cannot run"),
    ],
)
def test_a_script_is_told_as_what_it_says(
    tftp_files: TftpFiles, lab: Lab, name: str, boot: Boot, stage: Stage, detail: str
) -> None:
    lab.told(boot)
    delivered(tftp_files, name, Stage.LOADER_REQUESTED)
    assert lab.seen == []
    delivered(tftp_files, name)
    assert lab.seen == [(MAC, stage, detail, {} if "iPXE" in detail else {"file": name})]
    assert lab.begun == [MAC]


def test_what_is_no_way_of_ours_to_the_disk_is_told_without_one(tftp_files: TftpFiles, lab: Lab) -> None:
    lab.told(Boot.LOCAL_DISK)
    delivered(tftp_files, PXELINUX)
    assert lab.seen == [(MAC, Stage.LOCAL_DISK, "", {"file": PXELINUX})]


@pytest.mark.parametrize(("way", "told"), [(None, "grub"), (LocalBoot.EXIT, "exit"), (LocalBoot.NO_FILE, "grub")])
def test_grub_that_is_left_to_the_disk_is_told_with_its_way(
    tftp_files: TftpFiles, lab: Lab, way: LocalBoot | None, told: str
) -> None:
    lab.told(Boot.LOCAL_DISK, local_boot=way)
    delivered(tftp_files, TURN)
    assert lab.seen == [(MAC, Stage.LOCAL_DISK, "", {"file": TURN, "way": told})]


@pytest.mark.parametrize("name", ["grub/grub.cfg", CREDENTIAL, f"{PI}start4.elf", f"{PI}cmdline.txt"])
def test_what_says_nothing_of_its_own_is_not_told(tftp_files: TftpFiles, lab: Lab, name: str) -> None:
    delivered(tftp_files, name, Stage.LOADER_REQUESTED)
    delivered(tftp_files, name)
    assert lab.seen == []


@pytest.mark.parametrize(
    "name",
    [
        "autoexec.ipxe",
        "revocations_sku.efi",
        "shim_certificate_0.efi",
        "grub/x86_64-efi/command.lst",
        "grub/x86_64-efi/grub.cfg",
        "pxelinux.cfg/C0A80115",
        f"{PI}recovery.elf",
        "c81f3b5a/pieeprom.sig",
    ],
)
def test_what_a_loader_looks_for_and_does_without_is_no_failure(tftp_files: TftpFiles, lab: Lab, name: str) -> None:
    delivered(tftp_files, name, Stage.LOADER_FAILED, why="not found")
    assert lab.seen == []
    delivered(tftp_files, name, Stage.LOADER_FAILED, why="silence")
    assert len(lab.seen) == 1


@pytest.mark.parametrize("why", ["not found", "silence"])
def test_file_that_is_called_like_a_step_tells_that_it_failed(tftp_files: TftpFiles, lab: Lab, why: str) -> None:
    assert tftp_files.find(PEER, "grub/failed/kernel") is None
    delivered(tftp_files, "grub/failed/kernel", Stage.LOADER_FAILED, why=why)
    detail = "it could not load the kernel: its boot loader cannot tell why"
    assert lab.seen == [
        (MAC, Stage.STEP_FAILED, detail, {"step": "KERNEL", "error": "UNTOLD", "code": "", "over": "tftp"})
    ]
    lab.other = "08:00:27:00:00:66"
    delivered(tftp_files, "grub/failed/disk", Stage.LOADER_FAILED, why=why)
    assert len(lab.seen) == 1
    delivered(tftp_files, "grub/failed/nonsense", Stage.LOADER_FAILED, why=why)
    assert [stage for _, stage, _, _ in lab.seen] == [Stage.STEP_FAILED, Stage.LOADER_FAILED]


@pytest.mark.parametrize("name", ["nonsense.efi", "bootx64.efi", "osie/x86_64/vmlinuz", "shimx64.efi"])
def test_what_is_missed_is_a_failure(tftp_files: TftpFiles, lab: Lab, name: str) -> None:
    delivered(tftp_files, name, Stage.LOADER_FAILED, why="not found")
    assert [stage for _, stage, _, _ in lab.seen] == [Stage.LOADER_FAILED]


def test_of_a_machine_that_is_no_longer_told_anything_no_script_is_told(tftp_files: TftpFiles, lab: Lab) -> None:
    lab.plan = None
    delivered(tftp_files, TURN)
    assert (lab.seen, lab.begun) == ([], [])


@pytest.mark.parametrize("name", ["SNPONLY.EFI", "snponly.efi\ufffd", "snponly.efi ", "Snponly.efi\ufffd\ufffd"])
def test_a_loader_is_served_and_noted_by_its_name_to_firmware_that_spells_it_otherwise(
    lab: Lab, tftp_files: TftpFiles, name: str
) -> None:
    assert tftp_files.find(STRANGER, name) == b"iPXE"
    tftp_files.saw_address(PEER, Stage.LOADER, f"{name}, 4 bytes", name=name)
    assert lab.seen == [(PEER, Stage.LOADER, f"{name}, 4 bytes", {"name": "snponly.efi"})]


@pytest.mark.parametrize("name", ["snponly.efi.bak", "\ufffdsnponly.efi", "VMLINUZ"])
def test_what_only_begins_or_ends_as_a_loader_is_not_served(lab: Lab, tftp_files: TftpFiles, name: str) -> None:
    assert tftp_files.find(STRANGER, name) is None
    tftp_files.saw_address(PEER, Stage.LOADER_FAILED, "", name=name, why="not found")
    assert lab.seen == [(PEER, Stage.LOADER_FAILED, "", {"name": name, "why": "not found"})]


# --- machines that boot by HTTPS alone


def test_by_tftp_one_that_boots_by_https_alone_is_parked_and_gets_no_credential(
    tftp_files: TftpFiles, lab: Lab
) -> None:
    assert lab.plan is not None
    lab.plan = replace(lab.plan, https=True)
    assert tftp_files.find(PEER, CREDENTIAL) is None
    for name in (TURN, PXELINUX):
        told = tftp_files.find(PEER, name)
        assert isinstance(told, bytes)
        assert b"HTTPS alone" in told
        assert b"initramfs" not in told
    delivered(tftp_files, TURN)
    assert [(stage, detail) for _, stage, detail, _ in lab.seen] == [
        (Stage.PARKED, "it boots by HTTPS alone, and this boot loader has none")
    ]


def test_by_tftp_it_is_still_told_to_boot_its_disk(tftp_files: TftpFiles, lab: Lab) -> None:
    lab.told(Boot.LOCAL_DISK)
    before = tftp_files.find(PEER, TURN)
    assert lab.plan is not None
    lab.plan = replace(lab.plan, https=True)
    assert tftp_files.find(PEER, TURN) == before


def test_a_raspberry_pi_that_boots_by_https_alone_is_served_nothing(tftp_files: TftpFiles, lab: Lab) -> None:
    lab.told(Boot.OSIE, "aarch64")
    assert lab.plan is not None
    lab.plan = replace(lab.plan, https=True)
    assert tftp_files.find(PEER, f"{PI}config.txt") is None
