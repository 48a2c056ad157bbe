"""The FAT32 file systems that we make, as other programs see them."""

from pathlib import Path

import pytest

from tests.file_systems import lay, run
from tinkbox.wire.disk.fat32 import file_system

SECTORS = 253_952
FILES = {
    "EFI/BOOT/BOOTX64.EFI": bytes(range(256)) * 4000,
    "EFI/BOOT/grubx64.efi": b"b" * 513,
    "EFI/debian/BOOTX64.CSV": b"",
    "grub/grub.cfg": b"configfile\n",
}


def test_files_are_there_with_what_they_hold(tmp_path: Path) -> None:
    path = lay(tmp_path / "esp.fat", file_system(SECTORS, FILES, serial=0xABCD1234, label="UEFI"))
    assert path.stat().st_size == SECTORS * 512
    assert f"{len(FILES) + 5} files" in run("fsck.fat", "-n", path)
    listed = run("mdir", "-/", "-b", "-i", path, "::").splitlines()
    assert set(listed) >= {f"::/{name}" for name in FILES}
    for name, content in FILES.items():
        run("mcopy", "-n", "-i", path, f"::/{name}", tmp_path / "out")
        assert (tmp_path / "out").read_bytes() == content
        (tmp_path / "out").unlink()
    assert "Serial Number is ABCD-1234" in run("mdir", "-i", path, "::")
    assert "Volume in drive : is UEFI" in run("mdir", "-i", path, "::")


def test_the_same_files_are_the_same_bytes() -> None:
    first, second = (list(file_system(SECTORS, FILES, serial=7, label="UEFI")) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("sectors", "files", "text"),
    [
        (60_000, {}, "too few"),
        (70_000, {"large": bytes(40 << 20)}, "do not fit"),
        (SECTORS, {"a long name.txt": b""}, "8.3"),
        (SECTORS, {f"{number}": b"" for number in range(20)}, "more files than one cluster"),
    ],
)
def test_what_it_cannot_hold_is_refused(sectors: int, files: dict[str, bytes], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        list(file_system(sectors, files, serial=7, label="UEFI"))
