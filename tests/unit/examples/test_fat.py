"""The FAT file systems that install-image writes and reads, against mtools and dosfstools."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from failure import Failure
from fat import file_system
from fat_reading import NotFat, files

MIB = 1 << 20
NOCLOUD = {"meta-data": b"instance-id: i-1\n", "user-data": b"#cloud-config\n" * 5000, "network-config": b"", "A": b"x"}


def written(path: Path, content: dict[str, bytes], sector: int = 512, label: str = "CIDATA") -> Path:
    path.write_bytes(file_system(content, label=label, size=8 * MIB, sector=sector, hidden=2048))
    return path


def reader(image: bytes) -> Callable[[int, int], bytes]:
    return lambda place, length: image[place : place + length]


@pytest.mark.parametrize("sector", [512, 4096])
def test_files_are_read_by_others_as_they_were_written(sector: int, tmp_path: Path) -> None:
    image = written(tmp_path / "fat", NOCLOUD, sector)
    checked = subprocess.run(["fsck.vfat", "-n", image], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    for name, content in NOCLOUD.items():
        read = subprocess.run(["mtype", "-i", image, f"::/{name}"], capture_output=True, check=True).stdout
        assert read == content
    assert b"CIDATA" in subprocess.run(["mlabel", "-s", "-i", image, "::"], capture_output=True, check=True).stdout


def test_folders_and_the_label_of_a_configuration_drive(tmp_path: Path) -> None:
    content = {"openstack/latest/meta_data.json": b"{}", "openstack/latest/user_data": b"#!/bin/sh\n"}
    image = written(tmp_path / "fat", content, label="config-2")
    checked = subprocess.run(["fsck.vfat", "-n", image], capture_output=True, text=True)
    assert "4 files" not in checked.stderr
    for name, wanted in content.items():
        read = subprocess.run(["mtype", "-i", image, f"::/{name}"], capture_output=True, check=True).stdout
        assert read == wanted
    assert files(reader(image.read_bytes()), "OpenStack") == sorted(f"/{name}" for name in content)
    found = subprocess.run(["blkid", "-p", "-o", "value", "-s", "LABEL", image], capture_output=True, text=True)
    assert found.stdout.strip() == "config-2"


def test_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    assert written(tmp_path / "one", NOCLOUD).read_bytes() == written(tmp_path / "two", NOCLOUD).read_bytes()


def test_files_that_do_not_fit_are_refused() -> None:
    with pytest.raises(Failure) as failure:
        file_system({"user-data": bytes(9 * MIB)}, label="CIDATA", size=8 * MIB, sector=512, hidden=0)
    assert failure.value.reason == "SeedTooLarge"


@pytest.mark.parametrize("size", [2, 40, 300])
def test_files_of_every_kind_of_fat_are_found(size: int, tmp_path: Path) -> None:
    image = tmp_path / "esp"
    subprocess.run(["mkfs.vfat", "-C", image, str(size * 1024)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["mmd", "-i", image, "::/EFI", "::/EFI/debian", "::/EFI/BOOT"], check=True)
    names = ["::/EFI/debian/shimx64.efi", "::/EFI/BOOT/BOOTX64.EFI", "::/EFI/BOOT/a rather long name ä.conf"]
    for name in names:
        subprocess.run(["mcopy", "-i", image, "-", name], input=b"x", check=True)
    with image.open("rb") as file:

        def read(place: int, length: int) -> bytes:
            file.seek(place)
            return file.read(length)

        found = files(read, "efi")
    assert found[:1] + found[2:] == ["/EFI/BOOT/BOOTX64.EFI", "/EFI/debian/shimx64.efi"]
    assert found[1].startswith("/EFI/BOOT/a rather")


def test_folders_that_lead_in_a_circle_end() -> None:
    image = bytearray(file_system({"EFI/BOOT/BOOTX64.EFI": b"x"}, label="ESP", size=8 * MIB, sector=512, hidden=0))
    place = image.index(b"BOOT~1") + 26
    image[place : place + 2] = (2).to_bytes(2, "little")
    with pytest.raises(NotFat, match="more than 64 folders"):
        files(reader(bytes(image)), "EFI")


@pytest.mark.parametrize("place", [11, 13, 14, 16, 17, 19, 22])
def test_boot_sector_that_makes_no_sense_ends_in_an_answer_or_a_refusal(place: int) -> None:
    image = file_system({"EFI/BOOT/BOOTX64.EFI": b"x"}, label="ESP", size=8 * MIB, sector=512, hidden=0)
    for value in (0, 1, 0x7F, 0xFF):
        changed = bytearray(image)
        changed[place] = value
        try:
            files(reader(bytes(changed)), "EFI")
        except NotFat:
            continue
    with pytest.raises(NotFat):
        files(reader(b"no boot sector"), "EFI")
