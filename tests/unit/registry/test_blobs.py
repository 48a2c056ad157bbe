"""Files named by their hash: complete or not there, and checked before they are used."""

import errno
import os
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from tests.integration.registry.serving import Clock, digest_of
from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.registry.blobs import VERIFIED_FOR, Blobs

CONTENT = b"some bytes"


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime(2026, 1, 1, tzinfo=UTC))


def opened(root: Path, clock: Clock) -> Blobs:
    tokens = count()
    return Blobs(root, clock, lambda: f"token-{next(tokens)}")


@pytest.fixture
def blobs(tmp_path: Path, clock: Clock) -> Blobs:
    return opened(tmp_path, clock)


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def flip_a_bit_unseen(path: Path) -> None:
    """As a failing disk does: no time stamp tells."""
    status = path.stat()
    flip_a_bit(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_blob_is_found_by_its_digest(blobs: Blobs) -> None:
    digest = blobs.add(CONTENT)
    assert digest == digest_of(CONTENT)
    assert blobs.read(digest) == CONTENT
    assert list(blobs) == [digest]


def test_a_blob_in_pieces_is_hashed_as_one(blobs: Blobs, tmp_path: Path) -> None:
    staged = blobs.stage()
    for byte in CONTENT:
        staged.write(bytes([byte]))
    assert (staged.digest, staged.size) == (digest_of(CONTENT), len(CONTENT))
    assert list(blobs) == []
    assert blobs.keep(staged) == digest_of(CONTENT)
    assert list((tmp_path / "incoming").iterdir()) == []


def test_a_flipped_bit_is_found_and_the_blob_dropped(blobs: Blobs) -> None:
    digest = blobs.add(CONTENT)
    flip_a_bit(blobs.path(digest))
    with pytest.raises(Unavailable, match="damaged on the disk"):
        blobs.verified(digest)
    with pytest.raises(NotFound):
        blobs.verified(digest)


def test_damage_from_before_the_start_is_found(blobs: Blobs, tmp_path: Path, clock: Clock) -> None:
    digest = blobs.add(CONTENT)
    flip_a_bit_unseen(blobs.path(digest))
    with pytest.raises(Unavailable):
        opened(tmp_path, clock).verified(digest)


def test_a_blob_is_not_hashed_for_every_reader_but_once_a_day(
    blobs: Blobs, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = blobs.add(CONTENT)
    hashed = []
    monkeypatch.setattr("hashlib.file_digest", lambda *arguments: hashed.append(digest) or _wrong())
    clock.advance(hours=23)
    blobs.verified(digest)
    assert hashed == []
    clock.now += VERIFIED_FOR - timedelta(hours=22)
    with pytest.raises(Unavailable):
        blobs.verified(digest)
    assert hashed == [digest]


def _wrong() -> object:
    import hashlib

    return hashlib.sha256(b"other bytes")


def test_what_was_cut_off_is_gone_after_a_start(blobs: Blobs, tmp_path: Path, clock: Clock) -> None:
    cut_off = blobs.stage()
    cut_off.write(b"half of")
    kept = blobs.add(CONTENT)
    again = opened(tmp_path, clock)
    assert list((tmp_path / "incoming").iterdir()) == []
    assert list(again) == [kept]
    cut_off.discard()


@pytest.mark.parametrize("digest", ["", "x", "sha256:..", "sha256:" + "A" * 64, "sha512:" + "a" * 64, "sha256:/etc"])
def test_what_is_no_digest_leads_to_no_file(blobs: Blobs, digest: str) -> None:
    with pytest.raises(Invalid):
        blobs.verified(digest)


def test_a_full_disk_is_said_and_leaves_nothing(blobs: Blobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(Unavailable, match="disk is full"):
        blobs.add(CONTENT)
    assert list(blobs) == []
    assert list((tmp_path / "incoming").iterdir()) == []


def test_a_small_file_is_replaced_wholly(blobs: Blobs, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "file"
    blobs.write(path, b"first")
    blobs.write(path, b"second")
    assert path.read_bytes() == b"second"
    assert [each.name for each in path.parent.iterdir()] == ["file"]
