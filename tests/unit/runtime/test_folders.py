import os
import socket
import stat
import threading
import time
from pathlib import Path

import pytest

from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.runtime import folders
from tinkbox.runtime.folders import mark, pack, remove
from tinkbox.wire.ephemeral_data import decode


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "data"
    place.mkdir()
    return place


def packed(folder: Path) -> dict[str, bytes | str | None]:
    return {entry.path: entry.link or entry.content for entry in decode(pack(folder))}


def test_files_folders_and_links_are_packed_with_their_permissions(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "script").write_bytes(b"#!\n\0")
    (folder / "deep" / "er" / "script").chmod(0o750)
    (folder / "link").symlink_to("deep/er/script")
    modes = {entry.path: entry.mode for entry in decode(pack(folder))}
    assert packed(folder) == {"deep": None, "deep/er": None, "deep/er/script": b"#!\n\0", "link": "deep/er/script"}
    assert modes["deep/er/script"] == 0o750


def test_what_is_too_large_is_named_and_never_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sub").mkdir()
    with (folder / "sub" / "huge.img").open("wb") as file:
        file.truncate(1 << 40)
    (folder / "small").write_text("1")
    monkeypatch.setattr(folders, "_content", lambda found, limit: pytest.fail(f"{found.path} was read"))
    with pytest.raises(TooLarge, match=r"sub/huge\.img \(1099511627776 bytes\)"):
        pack(folder)


def test_too_many_files_are_too_large_however_small_they_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(25_000):
        (folder / str(number)).touch()
    with pytest.raises(TooLarge, match="25000 files"):
        pack(folder)
    monkeypatch.setattr(folders, "MAX_FILES", 10)
    for look in (pack, mark):
        with pytest.raises(TooLarge, match="more than 10 files"):
            look(folder)


def test_only_files_folders_and_links_themselves_are_packed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("of the machine")
    (folder / "link").symlink_to(outside)
    (folder / "dangling").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    os.mknod(folder / "device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket"))
        assert packed(folder) == {"link": str(outside), "dangling": "nowhere"}


def test_a_folder_that_is_a_link_or_no_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "secret").write_text("of the machine")
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(Invalid):
        pack(tmp_path / "link")


def test_a_folder_that_was_never_made_holds_nothing_and_is_removed_already(tmp_path: Path) -> None:
    assert pack(tmp_path / "nothing") == b""
    assert mark(tmp_path / "nothing") == mark(tmp_path / "nothing else")
    remove(tmp_path / "nothing")


def test_nothing_outside_is_read_though_everything_is_swapped_all_the_time(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("secret")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for name, target in (("folder", outside), ("file", outside / "file")):
                (folder / "new").symlink_to(target)
                (folder / "new").rename(folder / name)
                (folder / name).unlink()
            (folder / "new").mkdir()
            (folder / "new" / "file").write_text("mine")
            (folder / "new").rename(folder / "folder")
            (folder / "file").write_text("mine")
            (folder / "file").unlink()
            (folder / "folder" / "file").unlink()
            (folder / "folder").rmdir()

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        # Whether anything is seen at all is up to who runs when.
        seen: set[bytes | str | None] = set()
        rounds, deadline = 0, time.monotonic() + 60
        while rounds < 2_000 or (b"mine" not in seen and time.monotonic() < deadline):
            seen |= set(packed(folder).values())
            rounds += 1
    finally:
        over.set()
        swapping.join()
    assert b"mine" in seen
    assert b"secret" not in seen


def test_a_file_that_grows_while_it_is_read_is_too_large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a").touch()
    monkeypatch.setattr(folders, "_content", lambda found, limit: bytes(limit))
    with pytest.raises(TooLarge, match=r"grew .* with a"):
        pack(folder)


def test_what_cannot_be_read_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a").touch()

    def broken(found: object, limit: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(folders, "_content", broken)
    with pytest.raises(Invalid, match="Input/output error"):
        pack(folder)


def test_every_change_makes_another_mark_and_looking_does_not(folder: Path) -> None:
    marks = [mark(folder)]

    def marked() -> None:
        marks.append(mark(folder))
        assert mark(folder) == marks[-1]

    (folder / "a").write_text("1")
    marked()
    (folder / "a").write_text("2")
    marked()
    (folder / "a").chmod(0o600)
    marked()
    (folder / "a").rename(folder / "b")
    marked()
    (folder / "b").unlink()
    assert len({*marks}) == len(marks)
    pack(folder)
    assert mark(folder) == marks[0]


def nested(folder: Path, depth: int) -> None:
    """Folders in folders, deeper than a path may be long."""
    here = os.open(folder, os.O_PATH)
    for _ in range(depth):
        os.mkdir("deeper", dir_fd=here)
        below = os.open("deeper", os.O_PATH, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def test_folders_nested_too_deep_are_refused_and_still_removed(folder: Path, tmp_path: Path) -> None:
    nested(folder, 3_000)
    with pytest.raises(TooLarge, match="nested"):
        pack(folder)
    (folder / "deeper" / "file").touch()
    (folder / "deeper" / "link").symlink_to("..")
    (folder / "link").symlink_to(tmp_path)
    remove(folder)
    assert list(tmp_path.iterdir()) == []
