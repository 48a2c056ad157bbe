"""The boot loaders inside the program."""

from pathlib import Path

import pytest

from tinkbox.boot.http.loaders import LOADERS, load_loaders
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


def test_a_missing_loader_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "undionly.kpxe").write_bytes(b"")
    with pytest.raises(Unavailable, match=r"snponly\.efi\): run `make loaders`"):
        load_loaders(tmp_path)
