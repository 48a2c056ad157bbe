import json
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from tinkbox.engine.shells.recordings import Recording, Recordings
from tinkbox.model.errors import NotFound, Unavailable
from tinkbox.wire.terminal.asciicast import Header

Record = Callable[..., Recording]
MIB = 1024 * 1024


class Clock:
    now = datetime(2026, 11, 21, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


CLOCK = Clock()
HEADER = Header(width=80, height=24, timestamp=int(Clock.now.timestamp()))


@pytest.fixture
def recordings(tmp_path: Path) -> Recordings:
    CLOCK.now = Clock.now
    return Recordings(tmp_path / "recordings", CLOCK, limit=MIB)


@pytest.fixture
def record(recordings: Recordings) -> Iterator[Record]:
    """Record session `s` of workflow `w`, unless another is named; whatever is open at the end is closed."""
    made = []

    def begin(workflow: str = "w", header: Header = HEADER) -> Recording:
        made.append(recordings.record(workflow, "s", header))
        return made[-1]

    yield begin
    for each in made:
        each.close()


def events(recordings: Recordings) -> list[list[object]]:
    return [json.loads(line) for line in recordings.path("w", "s").read_text().splitlines()[1:]]


def test_what_happens_is_a_line_each_readable_by_the_owner_only(recordings: Recordings, record: Record) -> None:
    recording = record()
    recording.output(b"$ ")
    CLOCK.now += timedelta(seconds=1.25)
    recording.input(b"ls\r")
    recording.resize(50, 132)
    assert events(recordings) == [[0.0, "o", "$ "], [1.25, "i", "ls\r"], [1.25, "r", "132x50"]]
    path = recordings.path("w", "s")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700


def test_a_letter_may_come_in_pieces_and_what_is_none_is_marked(recordings: Recordings, record: Record) -> None:
    recording = record()
    for byte in "ü✓".encode():
        recording.output(bytes((byte,)))
    recording.output(b"\xff\xc3")
    recording.close()
    assert "".join(str(text) for _, _, text in events(recordings)) == "ü✓\ufffd\ufffd"


def test_a_recording_goes_on_after_a_restart_behind_its_last_whole_line(recordings: Recordings, record: Record) -> None:
    recording = record()
    recording.output(b"one")
    with recordings.path("w", "s").open("a") as file:
        file.write('[7, "o", "cut of')
    CLOCK.now += timedelta(seconds=9)
    again = record(header=Header(width=1, height=1, timestamp=1))
    again.output(b"two")
    assert events(recordings) == [[0.0, "o", "one"], [9.0, "o", "two"]]
    assert json.loads(recordings.path("w", "s").read_text().splitlines()[0])["width"] == 80
    assert b"".join(recordings.output("w", "s")) == b"onetwo"


def test_a_recording_that_did_not_come_to_its_first_line_begins_anew(recordings: Recordings, record: Record) -> None:
    path = recordings.path("w", "s")
    path.parent.mkdir(parents=True)
    path.write_text('{"version"')
    record().output(b"one")
    assert events(recordings) == [[0.0, "o", "one"]]


def test_time_does_not_go_back_in_a_recording(recordings: Recordings, record: Record) -> None:
    recording = record()
    CLOCK.now += timedelta(seconds=5)
    recording.output(b"one")
    CLOCK.now -= timedelta(seconds=3)
    recording.output(b"two")
    assert [seconds for seconds, _, _ in events(recordings)] == [5.0, 5.0]


@pytest.mark.parametrize("byte", [b"x", b"\0", "✓".encode()])
def test_a_recording_has_a_limit_and_its_last_line_says_so(recordings: Recordings, record: Record, byte: bytes) -> None:
    recording = record()
    for _ in range(40):
        recording.output(byte * (65_535 // len(byte)))
    size = recordings.path("w", "s").stat().st_size
    assert MIB / 2 < size < MIB
    assert events(recordings)[-1][1:] == ["o", "\r\n[the recording ends here, at 1 MiB]\r\n"]
    record().output(b"more")
    assert recordings.path("w", "s").stat().st_size == size


def test_what_is_kept_is_told_with_its_digest(recordings: Recordings, record: Record) -> None:
    recording = record()
    recording.output(b"one")
    recording.close()
    recording.output(b"late")
    recording.close()
    content = recordings.path("w", "s").read_bytes()
    kept = recordings.kept("w", "s")
    assert (kept.digest, kept.size) == (sha256(content).hexdigest(), len(content))
    with recordings.read("w", "s") as file:
        assert file.read() == content


def test_of_a_recording_that_is_not_there_nothing_is_kept(recordings: Recordings) -> None:
    assert (recordings.kept("w", "s").digest, recordings.kept("w", "s").size) == ("", 0)
    assert list(recordings.output("w", "s")) == []
    with pytest.raises(NotFound):
        recordings.read("w", "s")


def test_no_recording_follows_a_link(recordings: Recordings, record: Record, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("mine")
    path = recordings.path("w", "s")
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "other")
    with pytest.raises(Unavailable):
        record()
    assert (tmp_path / "other").read_text() == "mine"


def test_recordings_go_with_their_workflow(recordings: Recordings, record: Record) -> None:
    record().close()
    record("gone").close()
    recordings.forget({"w"})
    assert recordings.path("w", "s").exists()
    assert not recordings.path("gone", "s").parent.exists()


def test_without_recordings_there_is_nothing_to_forget(recordings: Recordings) -> None:
    recordings.forget(set())


def test_a_full_disk_ends_a_recording_and_nothing_else(record: Record, caplog: pytest.LogCaptureFixture) -> None:
    recording = record()
    with Path("/dev/full").open("wb", buffering=0) as full:
        recording._file.close()
        recording._file = full
        recording.output(b"one")
        recording.output(b"two")
    assert [record.__dict__["action"] for record in caplog.records] == ["shell.unrecorded"]
