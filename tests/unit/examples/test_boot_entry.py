"""The firmware's boot entry, with an efibootmgr that remembers what it is told."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boot_entry
import pytest
from boot_entry import ordered, parse
from failure import Failure
from fat import file_system
from gpt import EFI_SYSTEM, Gpt

MIB = 1 << 20
ESP = bytes(range(16))
GUID = "03020100-0504-0706-0809-0a0b0c0d0e0f"
OLD = "11111111-2222-3333-4444-555555555555"
LISTING = f"""BootCurrent: 0001
Timeout: 0 seconds
BootOrder: 0001,0003,0002,0000
Boot0000* UiApp\tFvVol(7cb8bdc9)/FvFile(462caa21)
Boot0001* UEFI PXEv4 (MAC:525400123456)\tPciRoot(0x0)/Pci(0x3,0x0)/MAC(525400123456,1)/IPv4(0.0.0.00.0.0.0,0,0){{auto_created}}
Boot0002* tinkbox debian-12\tHD(15,GPT,{OLD},0x800,0x1000)/File(\\EFI\\debian\\shimx64.efi)
Boot0003* ubuntu\tHD(1,GPT,{OLD.upper()},0x800,0x1000)/File(\\EFI\\ubuntu\\shimx64.efi)
Boot0004* other disk\tHD(1,GPT,99999999-2222-3333-4444-555555555555,0x800,0x1000)/File(\\EFI\\x\\shimx64.efi)
"""


class Firmware:
    """What efibootmgr shows and changes."""

    def __init__(self, broken: str = "") -> None:
        self.listing = LISTING
        self.order: list[str] = []
        self.broken = broken
        self.commands: list[tuple[str, ...]] = []

    def __call__(self, *command: str) -> str:
        self.commands.append(command)
        if self.broken and self.broken in command:
            raise Failure("BootEntryFailed", "the firmware is full")
        if "-B" in command:
            self.listing = re.sub(rf"(?m)^Boot{command[-1]}.*\n", "", self.listing)
        if "-C" in command:
            label = command[command.index("-L") + 1]
            self.listing += f"Boot0002* {label}\tHD(1,GPT,{GUID},0x800,0x1000)/File(x)\n"
        if "-o" in command:
            self.order = command[-1].split(",")
        return self.listing


def head() -> bytes:
    entry = EFI_SYSTEM + ESP + (2048).to_bytes(8, "little") + (18431).to_bytes(8, "little") + bytes(80)
    table = Gpt(
        sector=512, sectors=40960, revision=0x10000, first_usable=34, last_usable=40926, guid=bytes(16), entries_at=2,
        entry_size=128, entries=(entry, *[bytes(128)] * 127),
    )  # fmt: skip
    return table.head(bytes(MIB))


def disk(*files: str) -> Any:
    esp = file_system(dict.fromkeys(files, b"loader"), label="ESP", size=8 * MIB, sector=512, hidden=2048)
    return SimpleNamespace(path=Path("/dev/fake"), read=lambda place, length: esp[place - MIB : place - MIB + length])


@pytest.fixture
def efi(tmp_path: Path) -> Path:
    (tmp_path / "efivars").mkdir()
    (tmp_path / "efivars" / "BootOrder").touch()
    return tmp_path


def made(efi: Path, firmware: Firmware, *files: str, machine: str = "x86_64") -> str:
    former = frozenset({OLD})
    return boot_entry.make(disk(*files), head(), "debian-13", former, firmware=efi, machine=machine, programs=firmware)


def test_entry_starts_the_signed_loader_and_comes_behind_the_network(efi: Path) -> None:
    firmware = Firmware()
    said = made(efi, firmware, "EFI/BOOT/BOOTX64.EFI", "EFI/debian/shimx64.efi", "EFI/debian/grubx64.efi")
    assert "starts \\EFI\\debian\\shimx64.efi" in said
    assert firmware.order == ["0001", "0002", "0000"]
    create = next(command for command in firmware.commands if "-C" in command)
    assert create[-1] == "\\EFI\\debian\\shimx64.efi"
    assert create[create.index("-p") + 1] == "1"


def test_entries_of_ours_and_of_partitions_that_are_gone_are_removed_and_others_stay(efi: Path) -> None:
    firmware = Firmware()
    made(efi, firmware, "EFI/BOOT/BOOTX64.EFI")
    assert [command[-1] for command in firmware.commands if "-B" in command] == ["0002", "0003"]
    assert [entry.label for entry in parse(firmware.listing)[0]][-2:] == ["other disk", "tinkbox debian-13"]


def test_loader_of_removable_disks_is_taken_where_there_is_no_other(efi: Path) -> None:
    assert "\\EFI\\BOOT\\BOOTX64.EFI" in made(efi, Firmware(), "EFI/BOOT/BOOTX64.EFI", "EFI/BOOT/fbx64.efi")
    assert "\\EFI\\boot\\bootaa64.efi" in made(efi, Firmware(), "EFI/boot/bootaa64.efi", machine="aarch64")


@pytest.mark.parametrize("broken", ["-v", "-C", "-o", "-B"])
def test_firmware_that_refuses_is_a_warning(broken: str, efi: Path) -> None:
    said = made(efi, Firmware(broken), "EFI/BOOT/BOOTX64.EFI")
    assert said.startswith("warning: no boot entry was made")
    assert "the firmware is full" in said


def test_image_without_a_loader_or_an_efi_partition_is_a_warning(efi: Path) -> None:
    assert "neither shimx64.efi nor BOOTX64.EFI" in made(efi, Firmware(), "EFI/debian/grubx64.efi")
    said = boot_entry.make(disk(), bytes(MIB), "x", frozenset(), firmware=efi, machine="x86_64", programs=Firmware())
    assert "no EFI system partition" in said


def test_program_that_is_missing_is_a_warning(efi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    said = boot_entry.make(disk("EFI/BOOT/BOOTX64.EFI"), head(), "x", frozenset(), firmware=efi, machine="x86_64")
    assert said.startswith("warning: ")


def test_machine_with_bios_needs_none(tmp_path: Path) -> None:
    assert "BIOS" in made(tmp_path / "none", Firmware())


@pytest.mark.parametrize(
    ("order", "network", "wanted"),
    [
        (["1", "2"], {"1"}, ["1", "9", "2"]),
        (["1", "2", "3"], {"1", "2"}, ["1", "2", "9", "3"]),
        (["1", "2"], {"2"}, ["9", "1", "2"]),
        ([], set(), ["9"]),
        (["1"], {"1"}, ["1", "9"]),
    ],
)
def test_network_stays_first_where_it_is_first(order: list[str], network: set[str], wanted: list[str]) -> None:
    assert ordered(order, network, "9") == wanted
