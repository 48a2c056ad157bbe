"""The variable of the firmware that has its authorities, as a file: what is written, kept and left alone."""

import errno
import os
import struct
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from tests.unit.wire.test_efi_signature_lists import OLD, OTHER, OWN, one, pem
from tinkbox.wire.efi_signature_lists import OWNER, authority_fingerprint, read_lists, with_authorities, write_lists
from tinkbox.worker.host import firmware_authorities
from tinkbox.worker.host.firmware_authorities import AUTHORITIES, GUARDED, NO_UEFI, SECURE_BOOT, enroll

KEPT = struct.pack("<I", 7)


@pytest.fixture
def efivars(tmp_path: Path) -> Path:
    """Those of a machine with UEFI, without Secure Boot, of which nobody enrolled anything."""
    folder = tmp_path / "efivars"
    folder.mkdir()
    (folder / SECURE_BOOT).write_bytes(struct.pack("<I", 6) + b"\0")
    return folder


def refusing(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def write(descriptor: int, content: bytes) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(firmware_authorities.os, "write", write)


def test_a_machine_that_has_no_authority_gets_ours(efivars: Path) -> None:
    assert enroll(pem(OWN), efivars).authority == authority_fingerprint(pem(OWN))
    assert (efivars / AUTHORITIES).read_bytes() == KEPT + with_authorities(b"", (OWN,))


def test_what_is_there_already_is_not_written_again(efivars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enroll(pem(OWN), efivars)
    refusing(monkeypatch, errno.EIO)
    assert enroll(pem(OWN), efivars).authority == authority_fingerprint(pem(OWN))


def test_those_of_others_stay_and_ours_of_before_goes(efivars: Path) -> None:
    before = write_lists((one(OTHER, b"theirs"), one(OWNER, OLD)))
    (efivars / AUTHORITIES).write_bytes(KEPT + before)
    assert enroll(pem(OWN), efivars).authority
    content = (efivars / AUTHORITIES).read_bytes()[4:]
    assert read_lists(content) == (one(OTHER, b"theirs"), one(OWNER, OWN))


@pytest.mark.parametrize("make", [lambda folder: None, lambda folder: folder.mkdir()])
def test_a_machine_without_uefi_is_told_as_such(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "efivars")
    assert enroll(pem(OWN), tmp_path / "efivars").why == NO_UEFI


def test_under_secure_boot_nothing_is_written_for_grub_has_no_https(efivars: Path) -> None:
    (efivars / SECURE_BOOT).write_bytes(struct.pack("<I", 6) + b"\1")
    assert enroll(pem(OWN), efivars).why == GUARDED
    assert not (efivars / AUTHORITIES).exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (struct.pack("<I", 3) + write_lists((one(UUID(int=1), b"x"),)), "other attributes"),
        (KEPT + b"nonsense", "no list of signatures"),
    ],
)
def test_what_somebody_else_manages_is_left_alone(efivars: Path, content: bytes, words: str) -> None:
    (efivars / AUTHORITIES).write_bytes(content)
    assert words in enroll(pem(OWN), efivars).why
    assert (efivars / AUTHORITIES).read_bytes() == content


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EINVAL, errno.EIO])
def test_a_write_that_the_firmware_refuses_is_told_and_leaves_nothing(
    efivars: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing(monkeypatch, number)
    found = enroll(pem(OWN), efivars)
    assert (found.authority, os.strerror(number) in found.why) == ("", True)
    assert ("firmware's setup" in found.why) is (number == errno.EROFS)
    assert not (efivars / AUTHORITIES).exists()


def test_an_empty_file_that_a_refused_write_left_counts_for_nothing(efivars: Path) -> None:
    (efivars / AUTHORITIES).touch()
    assert enroll(pem(OWN), efivars).authority


def test_firmware_that_takes_it_and_keeps_nothing_is_told(efivars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firmware_authorities.os, "write", lambda _, content: len(content))
    assert "did not keep it" in enroll(pem(OWN), efivars).why


def test_what_is_no_authority_is_not_written(efivars: Path) -> None:
    assert "no certificate in PEM" in enroll("nonsense", efivars).why
    assert not (efivars / AUTHORITIES).exists()
