"""Uploads in progress are bounded, and their bytes are what arrived."""

import errno
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.registry.serving import Clock, chunks, digest_of
from tinkbox.model.errors import Conflict, Full, NotFound, TooLarge, TooMany, Unavailable
from tinkbox.model.images.room import Amount
from tinkbox.model.limits import DECLARED, UPLOAD_BYTES, UPLOADS, Limit, Limits
from tinkbox.registry.blobs.blobs import PIECE, Blobs, Usage
from tinkbox.registry.blobs.room import Room
from tinkbox.registry.blobs.uploads import Upload, Uploads


class Made:
    def __init__(
        self, root: Path, max_blob: int = 10 * PIECE, chosen: Sequence[Limit] = DECLARED, room: Room | None = None
    ) -> None:
        self.clock = Clock()
        numbers = count()
        self.limits = Limits(chosen, lambda: 0.0)
        self.root = root
        self.blobs = Blobs(root, self.clock, lambda: str(next(numbers)), room, lambda: self.uploads.make_room())
        self.full = False
        self.uploads = Uploads(
            self.blobs.stage, self.clock, lambda: f"upload-{next(numbers)}", self.limits, lambda: self.full, max_blob
        )

    def files(self) -> int:
        return len(list((self.root / "incoming").iterdir()))


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    made = Made(tmp_path)
    yield made
    for upload in list(made.uploads._uploads.values()):
        made.uploads.end(upload)


@given(parts=st.lists(st.binary(max_size=50), max_size=8), size=st.integers(1, 20))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_blob_is_the_same_however_it_was_cut(made: Made, parts: list[bytes], size: int) -> None:
    upload = made.uploads.begin("x", "a")
    sent = 0
    for part in parts:
        await made.uploads.append(upload, chunks(part, size), sent)
        sent += len(part)
    assert (upload.staged.digest, upload.staged.size) == (digest_of(b"".join(parts)), sent)
    made.uploads.end(upload)


async def test_a_chunk_from_elsewhere_changes_nothing(made: Made) -> None:
    upload = made.uploads.begin("x", "a")
    await made.uploads.append(upload, chunks(b"12345"), 0)
    for start in (0, 4, 6):
        with pytest.raises(Conflict, match="goes on at byte 5"):
            await made.uploads.append(upload, chunks(b"x"), start)
    assert made.uploads.get("x", upload.id).staged.size == 5


async def test_what_arrived_before_a_connection_broke_stays(made: Made) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"a" * PIECE
        yield b"and more"
        raise ConnectionResetError

    upload = made.uploads.begin("x", "a")
    with pytest.raises(ConnectionResetError):
        await made.uploads.append(upload, breaking())
    assert made.uploads.get("x", upload.id).staged.digest == digest_of(b"a" * PIECE + b"and more")


async def test_an_upload_belongs_to_its_repository(made: Made) -> None:
    upload = made.uploads.begin("x", "a")
    with pytest.raises(NotFound):
        made.uploads.get("y", upload.id)
    made.uploads.end(upload)
    with pytest.raises(NotFound):
        made.uploads.get("x", upload.id)
    assert made.files() == 0


async def test_too_large_a_blob_ends_its_upload(tmp_path: Path) -> None:
    made = Made(tmp_path, max_blob=PIECE + 10)
    upload = made.uploads.begin("x", "a")
    with pytest.raises(TooLarge):
        await made.uploads.append(upload, chunks(b"x" * (PIECE + 11), PIECE))
    assert made.files() == 0
    with pytest.raises(NotFound):
        made.uploads.get("x", upload.id)


async def test_a_full_disk_has_no_room_for_what_was_left_alone(made: Made) -> None:
    left, going_on = made.uploads.begin("x", "a"), made.uploads.begin("x", "a")
    made.clock.advance(seconds=11)
    await made.uploads.append(going_on, chunks(b"still here"))
    made.uploads.look()
    assert made.files() == 2
    made.full = True
    made.uploads.look()
    assert made.files() == 1
    assert made.uploads.get("x", going_on.id) is going_on
    with pytest.raises(NotFound):
        made.uploads.get("x", left.id)


async def left_alone(made: Made, octets: int) -> Upload:
    upload = made.uploads.begin("x", "a")
    await made.uploads.append(upload, chunks(b"x" * octets))
    made.clock.advance(seconds=10)
    return upload


async def test_what_was_left_alone_makes_room_for_what_comes(tmp_path: Path) -> None:
    made = Made(tmp_path, room=Room(most=1000))
    left, coming = await left_alone(made, 600), made.uploads.begin("x", "b")
    await made.uploads.append(coming, chunks(b"y" * 400))
    assert made.uploads.get("x", left.id) is left
    await made.uploads.append(coming, chunks(b"y"))
    with pytest.raises(NotFound):
        made.uploads.get("x", left.id)
    assert made.blobs.usage().incoming == 401
    assert [made.limits.of(each).used for each in (UPLOADS, UPLOAD_BYTES)] == [1, 401]
    made.uploads.end(coming)
    left = await left_alone(made, 600)
    made.blobs.add(b"z" * 500)
    with pytest.raises(NotFound):
        made.uploads.get("x", left.id)
    assert made.files() == 0


async def test_an_upload_begins_with_the_room_of_one_that_was_left_alone(tmp_path: Path) -> None:
    disk = 1000
    made = Made(tmp_path, room=Room(free=lambda: disk if made.files() else 1000, reserve=500))
    left = await left_alone(made, 400)
    disk = 400
    coming = made.uploads.begin("x", "b")
    with pytest.raises(NotFound):
        made.uploads.get("x", left.id)
    made.uploads.end(coming)


async def test_what_a_client_works_on_stays_and_room_is_refused(tmp_path: Path) -> None:
    made = Made(tmp_path, room=Room(most=1000))
    left, coming = await left_alone(made, 600), made.uploads.begin("x", "b")
    async with left.turn, coming.turn:
        with pytest.raises(Full, match=r"with 600 bytes on their way in.*that are left: raise images.most"):
            await made.uploads.append(coming, chunks(b"y" * 500))
        assert made.uploads.get("x", left.id) is left
    made.uploads.end(left)


async def test_an_upload_that_stood_still_stays_within_the_room_for_images(tmp_path: Path) -> None:
    """Its request is over by then.  What comes later belongs to another request, or is refused."""

    async def standing_still() -> AsyncIterator[bytes]:
        yield b"x" * 600
        raise web.HTTPRequestTimeout

    made = Made(tmp_path, room=Room(most=1000))
    left, coming = made.uploads.begin("x", "a"), made.uploads.begin("x", "b")
    async with left.turn:
        with pytest.raises(web.HTTPRequestTimeout):
            await made.uploads.append(left, standing_still())
    made.clock.advance(seconds=30)
    await made.uploads.append(coming, chunks(b"y" * 400))
    with pytest.raises(Full):
        await made.uploads.append(left, chunks(b"x"))  # goes on before another needs its room
    left = await left_alone(made, 600)
    await made.uploads.append(coming, chunks(b"y" * 600))
    with pytest.raises(NotFound):
        made.uploads.get("x", left.id)
    with pytest.raises(Unavailable, match="over"):
        left.staged.write(b"x")
    assert made.blobs.usage().incoming == 1000
    made.uploads.end(coming)


async def test_a_refusal_tells_of_room_that_is_free_soon_unless_a_push_goes_on(tmp_path: Path) -> None:
    made = Made(tmp_path, room=Room(most=1000))
    left, coming = made.uploads.begin("x", "a"), made.uploads.begin("x", "b")
    await made.uploads.append(left, chunks(b"x" * 600))
    async with coming.turn:
        await made.uploads.append(coming, chunks(b"y" * 300))
        told = (
            r"holds 0 bytes of 1000 bytes \(images.most\), with 600 bytes on their way in, and what comes has more than the "
            "400 bytes that are left: try again in 10 seconds, since 600 bytes are of uploads that wait or were broken off, and "
            "those that were are free by then; or raise images.most"
        )
        with pytest.raises(Full, match=told):
            await made.uploads.append(coming, chunks(b"y" * 500))
    # What is still too much when that is gone is not told to wait.
    coming = made.uploads.begin("x", "b")
    async with coming.turn:
        with pytest.raises(Full, match="that are left: raise"):
            await made.uploads.append(coming, chunks(b"y" * 1001))
    made.uploads.end(left)


async def test_uploads_that_were_left_alone_can_be_ended_and_counted(made: Made) -> None:
    left, going_on = await left_alone(made, 600), made.uploads.begin("x", "a")
    assert made.uploads.left_alone() == Amount(number=1, octets=600)
    assert made.uploads.end_left_alone() == Amount(number=1, octets=600)
    assert made.uploads.left_alone() == made.uploads.end_left_alone() == Amount()
    assert made.uploads.get("x", going_on.id) is going_on
    with pytest.raises(NotFound):
        made.uploads.get("x", left.id)


async def test_the_bytes_of_what_was_left_alone_are_for_other_uploads(tmp_path: Path) -> None:
    made = Made(tmp_path, chosen=[UPLOADS, replace(UPLOAD_BYTES, each=100, all=150)])
    left, coming = await left_alone(made, 60), made.uploads.begin("x", "a")
    await made.uploads.append(coming, chunks(b"y" * 60))
    with pytest.raises(NotFound):
        made.uploads.get("x", left.id)
    made.uploads.end(coming)
    assert [made.limits.of(each).used for each in (UPLOADS, UPLOAD_BYTES)] == [0, 0]


async def test_uploads_are_bounded_in_number_and_forgotten_when_idle(made: Made) -> None:
    first = made.uploads.begin("x", "a")
    for _ in range(UPLOADS.each - 1):
        made.uploads.begin("x", "a")
    with pytest.raises(TooMany, match=f"{UPLOADS.each} uploads of a are in progress"):
        made.uploads.begin("x", "a")
    for each in range(UPLOADS.all - UPLOADS.each):
        made.uploads.begin("x", f"other {each}")
    with pytest.raises(TooMany, match=f"{UPLOADS.all} in all"):
        made.uploads.begin("x", "b")
    made.clock.advance(minutes=59)
    await made.uploads.append(first, chunks(b"still here"))
    made.clock.advance(minutes=2)
    made.uploads.begin("x", "a")
    assert made.files() == 2
    assert made.uploads.get("x", first.id) is first


async def test_uploads_that_were_interrupted_make_room_for_those_of_the_same_host(made: Made) -> None:
    interrupted = [made.uploads.begin("x", "a") for _ in range(UPLOADS.each)]
    other = made.uploads.begin("x", "b")
    made.clock.advance(seconds=11)
    await made.uploads.append(interrupted[0], chunks(b"goes on"))
    async with interrupted[1].turn:  # a request of it is answered now
        assert made.uploads.begin("x", "a")
        for gone in interrupted[2:3]:
            with pytest.raises(NotFound):
                made.uploads.get("x", gone.id)
        for kept in (*interrupted[:2], other):
            assert made.uploads.get("x", kept.id) is kept
        for _ in interrupted[3:]:
            made.uploads.begin("x", "a")
        with pytest.raises(TooMany):
            made.uploads.begin("x", "a")
    assert made.uploads.get("x", other.id) is other


async def test_the_uploads_left_alone_for_longest_make_room_when_all_places_are_taken(made: Made) -> None:
    first = made.uploads.begin("x", "host 0")
    made.clock.advance(seconds=1)
    for number in range(1, UPLOADS.all):
        made.uploads.begin("x", f"host {number}")
    made.clock.advance(seconds=9.5)
    made.uploads.begin("x", "another")
    with pytest.raises(NotFound):
        made.uploads.get("x", first.id)
    with pytest.raises(TooMany):
        made.uploads.begin("x", "another")


async def test_uploads_are_bounded_in_bytes_which_are_given_back(tmp_path: Path) -> None:
    made = Made(tmp_path, chosen=[UPLOADS, replace(UPLOAD_BYTES, each=100, all=150)])
    uploads = made.uploads
    kept, ended = uploads.begin("x", "a"), uploads.begin("x", "a")
    await uploads.append(kept, chunks(b"x" * 60))
    with pytest.raises(TooMany, match=r"100 bytes of one address.*limits\.upload_bytes"):
        await uploads.append(ended, chunks(b"x" * 60))
    with pytest.raises(NotFound):
        uploads.get("x", ended.id)
    with pytest.raises(TooLarge, match=r"limits\.upload_bytes\.each is 100"):
        await uploads.append(uploads.begin("x", "c"), chunks(b"x" * 101))
    other = uploads.begin("x", "b")
    await uploads.append(other, chunks(b"x" * 90))
    for each in (kept, other):
        uploads.end(each)
        uploads.end(each)
    assert [made.limits.of(each).used for each in (UPLOADS, UPLOAD_BYTES)] == [0, 0]


async def test_an_upload_that_met_a_full_disk_is_over(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = made.uploads.begin("x", "a")

    class Full:
        closed = False

        def write(self, _: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            self.closed = True

    upload.staged._file.close()
    monkeypatch.setattr(upload.staged, "_file", Full())
    with pytest.raises(Unavailable, match="disk is full"):
        await made.uploads.append(upload, chunks(b"x"))
    with pytest.raises(NotFound):
        made.uploads.get("x", upload.id)
    assert made.files() == 0


async def test_the_next_piece_comes_while_one_is_written(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = made.uploads.begin("x", "a")
    came, write, sizes = threading.Event(), upload.staged.write, []

    def waiting(chunk: bytearray) -> None:
        assert came.wait(60)
        sizes.append(len(chunk))
        write(chunk)

    async def pieces() -> AsyncIterator[bytes]:
        yield b"a" * PIECE
        came.set()
        yield b"b" * PIECE
        yield b"c"

    monkeypatch.setattr(upload.staged, "write", waiting)
    await made.uploads.append(upload, pieces())
    assert sizes == [PIECE, PIECE, 1]
    assert upload.staged.digest == digest_of(b"a" * PIECE + b"b" * PIECE + b"c")


async def test_a_piece_that_cannot_be_written_ends_an_upload_whose_next_one_came(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = made.uploads.begin("x", "a")

    def full(_: bytearray) -> None:
        raise Unavailable("the registry is full")

    monkeypatch.setattr(upload.staged, "write", full)
    with pytest.raises(Unavailable, match="is full"):
        await made.uploads.append(upload, chunks(b"a" * 3 * PIECE, PIECE))
    with pytest.raises(NotFound):
        made.uploads.get("x", upload.id)
    assert made.files() == 0
    assert [made.limits.of(each).used for each in (UPLOADS, UPLOAD_BYTES)] == [0, 0]


async def test_what_uploads_take_is_counted_and_given_back(tmp_path: Path) -> None:
    made = Made(tmp_path)
    kept, ended = made.uploads.begin("x", "a"), made.uploads.begin("x", "a")
    for each in (kept, ended):
        await made.uploads.append(each, chunks(b"x" * 1000))
    assert (made.blobs.usage().incoming, made.blobs.usage().octets) == (2000, 0)
    made.blobs.keep(kept.staged)
    for each in (kept, ended):
        made.uploads.end(each)
        made.uploads.end(each)
    with pytest.raises(Unavailable, match="over"):
        ended.staged.write(b"too late")
    assert made.blobs.usage() == Usage(blobs=1, octets=1000, incoming=0)
