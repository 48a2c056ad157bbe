"""Files named by their hash: complete or not there, and checked before they are used."""

import errno
import os
import resource
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from tests.integration.registry.serving import Clock, digest_of
from tinkbox.model.errors import Full, Invalid, NotFound, Unavailable
from tinkbox.refused_writes import RefusedWrites
from tinkbox.registry.blobs.blobs import Blobs, Usage
from tinkbox.registry.blobs.room import Room
from tinkbox.registry.blobs.verified import VERIFIED_FOR

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
    check = blobs._verified.check_here
    monkeypatch.setattr(
        blobs._verified, "check_here", lambda digest, path: hashed.append(digest) or check(digest, path)
    )
    clock.advance(hours=23)
    blobs.verified(digest)
    assert hashed == []
    clock.now += VERIFIED_FOR - timedelta(hours=22)
    blobs.verified(digest)
    blobs.verified(digest)
    assert hashed == [digest]


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


def test_a_limit_on_the_size_of_files_is_said_and_the_disk_is_not_accused(blobs: Blobs) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, before[1]))
    try:
        with pytest.raises(Unavailable, match=r"may be larger than 64KiB \(`LimitFSIZE=` of its unit"):
            blobs.add(bytes(128 << 10))
        assert blobs.room().file_size_limit == 64 << 10
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_what_the_disk_does_not_take_is_noted_until_it_does(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes, tokens = RefusedWrites(clock), count()
    blobs = Blobs(tmp_path, clock, lambda: f"token-{next(tokens)}", refused_writes=writes)

    def failing(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr("os.fsync", failing)
        with pytest.raises(Unavailable, match="cannot write"):
            blobs.add(CONTENT)
        for _ in range(3):
            await writes.try_again()
        (refused,) = writes.all
        assert refused.what == "the registry"
        assert refused.text.startswith("the registry cannot write (Input/output error): see that its disk is sound")
    await writes.try_again()
    assert writes.all == ()


async def test_want_of_room_is_noted_until_there_is_room_or_a_blob_comes(tmp_path: Path, clock: Clock) -> None:
    writes, tokens, free = RefusedWrites(clock), count(), [100]
    room = Room(free=lambda: free[0], reserve=50)
    blobs = Blobs(tmp_path, clock, lambda: f"token-{next(tokens)}", room, refused_writes=writes)
    for over in (lambda: free.append(free.pop() + (2 << 20)), lambda: blobs.add(b"small")):
        free[:] = [100]
        with pytest.raises(Full):
            blobs.add(b"x" * 60)
        for _ in range(3):
            await writes.try_again()
        assert [each.what for each in writes.all] == ["images"]
        over()
        await writes.try_again()
        assert writes.all == ()


@pytest.mark.parametrize(("held", "is_over"), [(0, True), (20, True), (60, False)])
async def test_want_of_room_for_one_that_was_too_large_is_over_when_it_was_discarded(
    tmp_path: Path, clock: Clock, held: int, *, is_over: bool
) -> None:
    """As of an image that is larger than the disk; a registry that is full for the most part stays so."""
    writes, tokens = RefusedWrites(clock), count()
    disk, mib = 100 << 20, 1 << 20

    def free() -> int:
        return disk - sum(each.stat().st_size for each in tmp_path.rglob("*") if each.is_file())

    blobs = Blobs(tmp_path, clock, lambda: f"token-{next(tokens)}", Room(free=free, reserve=mib), refused_writes=writes)
    if held:
        blobs.add(bytes(held * mib))
    staged = blobs.stage()
    while staged.size < (98 - held) * mib:
        staged.write(bytes(mib))
    with pytest.raises(Full) as full:
        staged.write(bytes(2 * mib))
    for _ in range(3):
        await writes.try_again()
    (refused,) = writes.all
    assert refused.what == "images"
    assert refused.way_out == full.value.way_out
    assert refused.way_out.endswith("free room on that disk, or give the data folder a larger one")
    staged.discard()
    await writes.try_again()
    assert (writes.all == ()) is is_over


def test_a_blob_that_a_client_was_told_of_is_not_put_aside(blobs: Blobs, clock: Clock, tmp_path: Path) -> None:
    """Also when it was told after somebody saw that nothing needs the blob."""
    digest = blobs.add(CONTENT)
    blobs.promise(digest)
    assert blobs.put_aside(digest) is None
    assert blobs.read(digest) == CONTENT
    clock.advance(hours=1)
    aside = blobs.put_aside(digest)
    assert aside is not None
    assert (aside.read_bytes(), aside.parent) == (CONTENT, tmp_path / "incoming")
    assert (list(blobs), blobs.usage().taken) == ([], 0)
    with pytest.raises(NotFound):
        blobs.promise(digest)
    with pytest.raises(NotFound):
        blobs.verified(digest)


def test_files_that_refer_to_a_blob_appear_with_it(blobs: Blobs, tmp_path: Path) -> None:
    one, two, three = (tmp_path / name / "file" for name in ("one", "two", "three"))
    digest = blobs.add(CONTENT, beside=[(one, b"same"), (two, b"same"), (three, b"other")])
    assert [path.read_bytes() for path in (blobs.path(digest), one, two, three)] == [
        CONTENT,
        b"same",
        b"same",
        b"other",
    ]
    assert one.stat().st_ino == two.stat().st_ino
    blobs.write(one, b"changed")
    assert two.read_bytes() == b"same"
    assert list((tmp_path / "incoming").iterdir()) == []
    assert blobs.usage() == Usage(blobs=1, octets=len(CONTENT), incoming=0)


def test_a_small_file_is_replaced_wholly(blobs: Blobs, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "file"
    blobs.write(path, b"first")
    blobs.write(path, b"second")
    assert path.read_bytes() == b"second"
    assert [each.name for each in path.parent.iterdir()] == ["file"]


def test_a_stray_link_is_passed_over_and_not_followed(
    blobs: Blobs, tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    digest = digest_of(CONTENT)
    (tmp_path / "elsewhere").write_bytes(CONTENT)
    blobs.path(digest).symlink_to(tmp_path / "elsewhere")
    again = opened(tmp_path, clock)
    assert list(again) == []
    assert f"passed over: {again.path(digest)}" in caplog.text
    for question in (again.ready, again.read, again.promise):
        with pytest.raises(NotFound):
            question(digest)
    assert again.add(CONTENT) == digest
    assert again.read(digest) == CONTENT
    assert not again.path(digest).is_symlink()
