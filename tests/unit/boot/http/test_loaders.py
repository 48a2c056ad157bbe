"""The boot loaders inside the program."""

import os
from pathlib import Path

import pytest

from tinkbox.boot.http import loaders as module
from tinkbox.boot.http.loaders import (
    BIOS_BOOT,
    BIOS_CORE,
    LOADERS,
    ON_DISK,
    load_disk_loaders,
    load_loaders,
    loader_path,
)
from tinkbox.model.errors import Unavailable
from tinkbox.wire.dhcp.pxe import PROGRAMS, SIGNED_PROGRAMS


def gathered(folder: Path) -> Path:
    for name in (*LOADERS, "LICENCE"):
        (folder / name).write_bytes(name.encode())
    return folder


def test_every_loader_is_read(tmp_path: Path) -> None:
    assert load_loaders(gathered(tmp_path)) == {
        "undionly.kpxe": b"undionly.kpxe",
        "snponly.efi": b"snponly.efi",
        "ipxe.efi": b"ipxe.efi",
        "ipxe-arm64.efi": b"ipxe-arm64.efi",
        "shimx64.efi": b"shimx64.efi",
        "grubx64.efi": b"grubx64.efi",
    }


def test_every_program_that_firmware_is_told_of_is_there(tmp_path: Path) -> None:
    loaders = set(load_loaders(gathered(tmp_path)))
    assert set(PROGRAMS.values()) <= loaders
    assert set(SIGNED_PROGRAMS.values()) <= loaders


def test_a_disk_starts_with_what_is_carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (BIOS_BOOT, BIOS_CORE, *ON_DISK.values()):
        (tmp_path / name).write_bytes(name.encode())
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    found = load_disk_loaders()
    assert (found.boot, found.core) == (BIOS_BOOT.encode(), BIOS_CORE.encode())
    assert found.efi == {"EFI/BOOT/BOOTX64.EFI": b"shimx64.efi", "EFI/BOOT/grubx64.efi": b"grubx64.efi"}
    (tmp_path / BIOS_CORE).unlink()
    with pytest.raises(Unavailable, match=r"grub-bios-core\.img\): run `make loaders`"):
        load_disk_loaders()


def test_a_missing_loader_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "undionly.kpxe").write_bytes(b"")
    with pytest.raises(Unavailable, match=r"snponly\.efi\): run `make loaders`"):
        load_loaders(tmp_path)


class Carried:
    """A folder inside the packed executable: it has content, and no path."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __truediv__(self, name: str) -> "Carried":
        return Carried(self._path / name)

    def is_file(self) -> bool:
        return self._path.is_file()

    def read_bytes(self) -> bytes:
        return self._path.read_bytes()


@pytest.mark.parametrize("forbidden", [False, True])
def test_a_loader_without_a_file_of_its_own_becomes_one_in_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forbidden: bool
) -> None:
    def refused(name: str) -> int:
        raise PermissionError(name)

    folder = Carried(gathered(tmp_path))
    monkeypatch.setattr(module, "FOLDER", folder)
    if forbidden:
        monkeypatch.setattr(module.os, "memfd_create", refused)
    module._unnamed.cache_clear()
    path = loader_path(folder, "ipxe.efi")
    assert path is not None
    assert (path.read_bytes(), path.stat().st_size) == (b"ipxe.efi", 8)
    assert path == loader_path(folder, "ipxe.efi")
    assert loader_path(folder, "missing.efi") is None
    module._unnamed.cache_clear()
    os.close(int(path.name))


def test_a_loader_that_is_a_file_is_sent_as_it_is(tmp_path: Path) -> None:
    assert loader_path(gathered(tmp_path), "ipxe.efi") == tmp_path / "ipxe.efi"
