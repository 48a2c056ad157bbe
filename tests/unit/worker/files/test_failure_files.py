import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.actions.progress import Told as ToldProgress
from tinkbox.model.reasons import MAX_REASON
from tinkbox.wire.messages.worker import MAX_MESSAGE
from tinkbox.worker.files.failure_files import MAX_SAID, PLACES, Told, Words

ROOT = Path(__file__).parents[4]


@pytest.fixture
def words(tmp_path: Path) -> Words:
    (tmp_path / "dev").mkdir()
    return Words(tmp_path / "words", tmp_path / "dev")


def prepared(words: Words, attempt: str = "a1", role: str = "action", volumes: tuple[str, ...] = ()) -> dict[str, Path]:
    mounts = words.prepare(attempt, role, volumes, bounded=False)
    return {target: Path(source) for target, source in mounts.items()}


def test_an_action_says_why_it_failed_through_files_mounted_into_it(words: Words) -> None:
    mounts = prepared(words)
    assert set(mounts) == {target for targets in PLACES.values() for target in targets}
    assert set(mounts) == {
        "/dev/reason", "/dev/message", "/dev/hint", "/dev/progress",
        "/tinkerbell/failure-reason", "/tinkerbell/failure-message", "/tinkerbell/failure-hint", "/tinkerbell/progress",
    }  # fmt: skip
    assert words.told("a1", "action") == Told("", "")
    mounts["/dev/reason"].write_text("DiskTooSmall\n")
    mounts["/tinkerbell/failure-message"].write_text("the image needs 8 GB\r\nand more\n")
    mounts["/dev/hint"].write_text("use a larger disk\n")
    assert words.told("a1", "action") == Told("DiskTooSmall", "the image needs 8 GB\nand more", "use a larger disk")
    assert all(path.stat().st_mode & 0o777 == 0o666 for path in mounts.values())
    words.forget("a1")
    assert words.told("a1", "action") == Told("", "")
    assert not any(path.exists() for path in mounts.values())


def test_preparing_again_keeps_what_was_said(words: Words) -> None:
    prepared(words)["/dev/reason"].write_text("Reason")
    prepared(words)
    assert words.told("a1", "action").reason == "Reason"


def test_a_hook_says_nothing_in_the_actions_name(words: Words) -> None:
    prepared(words)["/dev/reason"].write_text("Reason")
    prepared(words, role="on-failure")["/dev/reason"].write_text("Other")
    assert words.told("a1", "action").reason == "Reason"


def test_an_action_says_how_far_it_is(words: Words) -> None:
    path = prepared(words)["/dev/progress"]
    assert words.progress("a1", "action") is None
    path.write_text("1 4 bytes\n2 4 bytes\n")
    assert words.progress("a1", "action") == ToldProgress(done=2, total=4, unit="bytes")
    words.clear("a1", "action")
    assert words.progress("a1", "action") is None
    path.unlink()
    assert words.progress("a1", "action") is None
    os.mkfifo(path)
    assert words.progress("a1", "action") is None


@pytest.mark.parametrize("mode", ["a", "r+"])
def test_progress_that_is_written_line_after_line_takes_little_room(words: Words, mode: str) -> None:
    path = prepared(words)["/dev/progress"]
    # A file that is not opened to append keeps its place, and leaves a hole before it.
    with path.open(mode) as file:
        for number in range(3):
            file.write("".join(f"{line} 9999999 bytes\n" for line in range(20_000)) + f"{number} 9 bytes\n")
            file.flush()
            assert words.progress("a1", "action") == ToldProgress(done=number, total=9, unit="bytes")
            assert path.read_text() == f"{number} 9 bytes\n"
            assert words.progress("a1", "action") == ToldProgress(done=number, total=9, unit="bytes")


def test_words_of_attempts_that_are_over_take_no_room(words: Words) -> None:
    old = prepared(words, attempt="a1")
    prepared(words, attempt="a2")
    assert not any(path.exists() for path in old.values())


def test_the_reason_is_the_first_line_that_has_one(words: Words) -> None:
    prepared(words)["/dev/reason"].write_text("\n  \n DiskTooSmall \nOther\n")
    assert words.told("a1", "action").reason == "DiskTooSmall"


def test_what_is_said_is_bounded_and_what_is_cut_is_said(words: Words) -> None:
    mounts = prepared(words)
    mounts["/dev/reason"].write_bytes(b"R" * 10_000)
    with mounts["/dev/message"].open("wb") as file:
        file.write(b"a\0\xffb" + b"m" * 100_000)
        file.truncate(300_000_000)
    told = words.told("a1", "action")
    assert len(told.reason) == MAX_REASON + 1
    assert told.message.startswith("a\ufffdbmmm")
    assert told.message.endswith(f"mmm … (cut: it wrote 300000000 bytes, the first {MAX_SAID} are kept)")
    assert len(told.message) < MAX_MESSAGE
    mounts["/dev/hint"].write_bytes(b"h" * 100_000)
    assert len(words.told("a1", "action").hint) < MAX_MESSAGE


@pytest.mark.parametrize(("size", "kept"), [(6_144, 6_144), (6_145, 6_144)])
def test_of_a_message_6_kib_are_kept(words: Words, size: int, kept: int) -> None:
    prepared(words)["/dev/message"].write_bytes(b"m" * size)
    assert words.told("a1", "action").message.count("m") == kept


def test_a_message_is_not_cut_within_a_character(words: Words) -> None:
    prepared(words)["/dev/message"].write_text("m" + "é" * 4_000)
    assert words.told("a1", "action").message.startswith("m" + "é" * 3_071 + " … (cut")


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_whatever_bytes_are_written_become_text_that_any_store_takes(
    tmp_path_factory: pytest.TempPathFactory, reason: bytes, message: bytes
) -> None:
    words = Words(tmp_path_factory.mktemp("words"))
    mounts = prepared(words)
    mounts["/dev/reason"].write_bytes(reason)
    mounts["/dev/message"].write_bytes(message)
    told = words.told("a1", "action")
    assert "\0" not in told.both
    told.both.encode()
    assert "\n" not in told.reason


def test_a_file_that_became_something_else_is_not_followed(words: Words, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    mounts = prepared(words)
    mounts["/dev/message"].unlink()
    mounts["/dev/message"].symlink_to(tmp_path / "secret")
    mounts["/dev/reason"].unlink()
    os.mkfifo(mounts["/dev/reason"])
    assert words.told("a1", "action") == Told("", "")


@pytest.mark.parametrize("volume", ["/dev:/dev", "/dev:/dev:ro", "/dev:/dev/"])
def test_an_action_with_the_machines_dev_finds_the_mount_points_there(
    words: Words, tmp_path: Path, volume: str
) -> None:
    prepared(words, volumes=("/lib:/lib",))
    assert list((tmp_path / "dev").iterdir()) == []
    prepared(words, volumes=(volume,))
    assert {path.name for path in (tmp_path / "dev").iterdir()} == set(PLACES)


def test_nothing_stays_in_the_machines_dev(words: Words, tmp_path: Path) -> None:
    dev = tmp_path / "dev"
    prepared(words, volumes=("/dev:/dev",))
    words.release()
    assert {path.name for path in dev.iterdir()} == set(PLACES)  # a container may run on
    words.forget("a1")
    assert list(dev.iterdir()) == []


def test_a_worker_that_has_no_words_leaves_those_of_another_in_the_machines_dev(words: Words, tmp_path: Path) -> None:
    prepared(words, volumes=("/dev:/dev",))
    Words(tmp_path / "other", tmp_path / "dev").release()
    assert {path.name for path in (tmp_path / "dev").iterdir()} == set(PLACES)


def test_an_attempt_that_ends_leaves_those_of_another_worker_in_the_machines_dev(words: Words, tmp_path: Path) -> None:
    prepared(words, volumes=("/dev:/dev",))
    for volumes in ((), ("/dev:/dev",)):
        other = Words(tmp_path / "other", tmp_path / "dev")
        prepared(other, volumes=volumes)
        other.forget("a1")
        assert {path.name for path in (tmp_path / "dev").iterdir()} == set(PLACES)


def test_a_worker_that_was_started_again_knows_what_it_left_in_the_machines_dev(words: Words, tmp_path: Path) -> None:
    prepared(words, volumes=("/dev:/dev",))
    Words(tmp_path / "words", tmp_path / "dev").forget("a1")
    assert list((tmp_path / "dev").iterdir()) == []


def test_what_others_keep_in_the_machines_dev_stays(words: Words, tmp_path: Path) -> None:
    dev = tmp_path / "dev"
    (dev / "reason").write_text("somebody's")
    (dev / "message").symlink_to("null")
    (dev / "progress").mkdir()
    prepared(words, volumes=("/dev:/dev",))
    words.forget("a1")
    assert {path.name for path in dev.iterdir()} == {"reason", "message", "progress"}


def test_another_folder_in_the_place_of_dev_is_not_the_machines(words: Words, tmp_path: Path) -> None:
    prepared(words, volumes=("/srv/dev:/dev",))
    assert list((tmp_path / "dev").iterdir()) == []


def test_a_machine_whose_dev_takes_no_files_is_no_hindrance(tmp_path: Path) -> None:
    words = Words(tmp_path / "words", tmp_path / "no dev")
    assert set(prepared(words, volumes=("/dev:/dev",))) == {target for each in PLACES.values() for target in each}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_where_the_engine_sees_it_no_flood_fills_the_memory_or_hides_the_reason(words: Words, tmp_path: Path) -> None:
    mounts = {name: Path(path) for name, path in words.prepare("a1", "action", (), bounded=True).items()}
    try:
        words.prepare("a1", "on-failure", (), bounded=True)
        with mounts["/dev/message"].open("wb", buffering=0) as file:
            assert file.write(b"m" * 1_000_000) == 65_536
        mounts["/dev/reason"].write_text("Flooded")
        told = words.told("a1", "action")
        assert told.reason == "Flooded"
        assert "it wrote 65536 bytes" in told.message
        words.prepare("a2", "action", (), bounded=True)
        (tmp_path / "words" / "message" / "a2.action").write_bytes(b"m" * 60_000)
    finally:
        for name in PLACES:
            os.system(f"umount {tmp_path}/words/{name}")


ENDED = """\
import sys, os, signal
from pathlib import Path
from tinkbox.worker.files.failure_files import Words
from tinkbox.worker.main import leaving_no_mounts

words = Words(Path(sys.argv[1]))
with leaving_no_mounts(words):
    words.prepare("a1", "action", (), bounded=True)
    if sys.argv[2] == "over":
        words.forget("a1")
    if sys.argv[3] == "SIGTERM":
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
@pytest.mark.parametrize(("how", "status"), [("itself", 0), ("SIGTERM", -signal.SIGTERM)])
@pytest.mark.parametrize(("attempt", "mounted"), [("over", False), ("running", True)])
def test_a_worker_that_ends_leaves_mounts_only_for_a_container_that_runs_on(
    tmp_path: Path, attempt: str, mounted: bool, how: str, status: int
) -> None:
    folders = [tmp_path / name for name in PLACES]
    try:
        ended = subprocess.run([sys.executable, "-c", ENDED, str(tmp_path), attempt, how], cwd=ROOT, check=False)
        assert ended.returncode == status
        assert [os.path.ismount(each) for each in folders] == [mounted] * len(folders)
    finally:
        for each in folders:
            os.system(f"umount --quiet {each}")


def test_words_that_are_there_already_are_not_hidden_by_a_mount(words: Words) -> None:
    prepared(words)["/dev/reason"].write_text("Reason")
    words.prepare("a1", "action", (), bounded=True)
    assert words.told("a1", "action").reason == "Reason"
