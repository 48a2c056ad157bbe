import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.bundle import decode
from tinkbox.wire.worker import MAX_MESSAGE, MAX_REASON
from tinkbox.worker.folder import Told, WorkerFolder, failure

FALLBACK = Outcome(state=State.FAILED, exit_code=3, reason="NonZeroExit", message="it ended with 3", tail=("last",))


@pytest.fixture
def folder(tmp_path: Path) -> WorkerFolder:
    return WorkerFolder(tmp_path)


def test_an_action_tells_its_failure_through_files_bound_into_it(folder: WorkerFolder, tmp_path: Path) -> None:
    binds = dict(bind.rsplit(":", 1)[::-1] for bind in folder.prepare_attempt("a1", ()))
    assert set(binds) == {"/dev/reason", "/dev/message", "/tinkerbell/failure-reason", "/tinkerbell/failure-message"}
    assert folder.told("a1") == Told("", "")
    Path(binds["/dev/reason"]).write_text("DiskTooSmall\n")
    Path(binds["/dev/message"]).write_text("the image needs 8 GB\n")
    assert folder.told("a1") == Told("DiskTooSmall\n", "the image needs 8 GB\n")
    assert all(Path(path).stat().st_mode & 0o777 == 0o666 for path in binds.values())
    folder.forget_attempt("a1")
    assert folder.told("a1") == Told("", "")
    assert not (tmp_path / "attempts" / "a1").exists()


def test_preparing_an_attempt_again_keeps_what_was_told(folder: WorkerFolder) -> None:
    (path, *_) = [bind.split(":")[0] for bind in folder.prepare_attempt("a1", ())]
    Path(path).write_text("Reason")
    folder.prepare_attempt("a1", ())
    assert folder.told("a1").reason == "Reason"


def test_what_an_action_tells_is_bounded_and_made_text(folder: WorkerFolder) -> None:
    binds = dict(bind.rsplit(":", 1)[::-1] for bind in folder.prepare_attempt("a1", ()))
    Path(binds["/dev/reason"]).write_bytes(b"R" * 10_000)
    Path(binds["/dev/message"]).write_bytes(b"a\0\xffb" + b"m" * 100_000)
    told = folder.told("a1")
    assert told.reason == "R" * MAX_REASON
    assert told.message.startswith("a\ufffdb")
    assert len(told.message) < MAX_MESSAGE


@pytest.mark.parametrize(
    ("told", "reason", "message"),
    [
        (Told("", ""), "NonZeroExit", "it ended with 3"),
        (Told("DiskTooSmall\n", ""), "DiskTooSmall", "it ended with 3"),
        (Told("", " words \n"), "NonZeroExit", "words"),
        (Told("DiskTooSmall", "words"), "DiskTooSmall", "words"),
        (
            Told("disk too small", ""),
            "InvalidReason",
            "the action's reason 'disk too small' is not one CamelCase word.",
        ),
        (Told("9x", "words"), "InvalidReason", "the action's reason '9x' is not one CamelCase word. words"),
    ],
)
def test_a_failure_is_told_in_the_actions_own_words_when_it_left_any(told: Told, reason: str, message: str) -> None:
    assert failure(told, FALLBACK) == Outcome(
        state=State.FAILED, exit_code=3, reason=reason, message=message, tail=("last",)
    )


@given(st.text(), st.text())
def test_a_failure_always_has_a_reason_of_one_word_and_a_message(reason: str, message: str) -> None:
    outcome = failure(Told(reason, message), FALLBACK)
    assert outcome.reason.isalnum()
    assert outcome.message


def test_data_comes_back_as_it_was_written(folder: WorkerFolder) -> None:
    folder.unpack_data("w1", b"")
    place = folder.data_folder("w1")
    assert place.stat().st_mode & 0o777 == 0o777
    assert folder.pack_data("w1") == b""
    (place / "deep" / "er").mkdir(parents=True)
    (place / "deep" / "er" / "script").write_bytes(b"#!\n\0")
    (place / "deep" / "er" / "script").chmod(0o750)
    (place / "link").symlink_to("deep/er/script")
    archive = folder.pack_data("w1")
    (place / "later").write_text("not in it")
    folder.unpack_data("w1", archive)
    assert not (place / "later").exists()
    assert folder.pack_data("w1") == archive
    assert (place / "link").readlink() == Path("deep/er/script")
    assert (place / "deep" / "er" / "script").stat().st_mode & 0o777 == 0o750
    assert [entry.path for entry in decode(archive)] == ["deep", "deep/er", "deep/er/script", "link"]


def test_only_files_folders_and_links_themselves_are_packed(folder: WorkerFolder, tmp_path: Path) -> None:
    folder.unpack_data("w1", b"")
    place, outside = folder.data_folder("w1"), tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("of the machine")
    (place / "link").symlink_to(outside)
    (place / "dangling").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place / "socket"))
        packed = {entry.path: entry.link for entry in decode(folder.pack_data("w1"))}
    assert packed == {"link": str(outside), "dangling": "nowhere"}


def test_a_bad_archive_leaves_the_data_that_was_there(folder: WorkerFolder) -> None:
    folder.unpack_data("w1", b"")
    (folder.data_folder("w1") / "kept").touch()
    with pytest.raises(Invalid):
        folder.unpack_data("w1", b"no archive" * 100)
    assert (folder.data_folder("w1") / "kept").exists()


def test_an_action_asks_for_a_reboot_by_a_file(folder: WorkerFolder, tmp_path: Path) -> None:
    assert not folder.reboot_wanted
    (tmp_path / "reboot").touch()
    assert folder.reboot_wanted
