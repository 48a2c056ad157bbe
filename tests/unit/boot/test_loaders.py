"""The boot loaders inside the program."""

from pathlib import Path

import pytest

from tinkbox.boot.loaders import load_loaders
from tinkbox.model.errors import Unavailable
from tinkbox.wire.pxe import PROGRAMS


def test_every_loader_is_read(tmp_path: Path) -> None:
    for name in ("undionly.kpxe", "snponly.efi", "ipxe.efi", "LICENCE"):
        (tmp_path / name).write_bytes(name.encode())
    assert load_loaders(tmp_path) == {
        "undionly.kpxe": b"undionly.kpxe",
        "snponly.efi": b"snponly.efi",
        "ipxe.efi": b"ipxe.efi",
    }


def test_every_program_that_firmware_is_told_of_is_there(tmp_path: Path) -> None:
    for name in ("undionly.kpxe", "snponly.efi", "ipxe.efi"):
        (tmp_path / name).write_bytes(b"")
    assert set(PROGRAMS.values()) <= set(load_loaders(tmp_path))


def test_a_missing_loader_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "undionly.kpxe").write_bytes(b"")
    with pytest.raises(Unavailable, match=r"snponly\.efi\): run `make loaders`"):
        load_loaders(tmp_path)
