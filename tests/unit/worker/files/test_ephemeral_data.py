import os
from pathlib import Path

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.runtime.folders import remove
from tinkbox.wire.ephemeral_data import Entry, decode, encode
from tinkbox.worker.files.ephemeral_data import EphemeralData


@pytest.fixture
def data(tmp_path: Path) -> EphemeralData:
    return EphemeralData(tmp_path)


def test_data_comes_back_as_it_was_written(data: EphemeralData) -> None:
    data.unpack("w1", b"")
    place = data.folder("w1")
    assert place.stat().st_mode & 0o777 == 0o777
    assert data.pack("w1") == b""
    (place / "deep" / "er").mkdir(parents=True)
    (place / "deep" / "er" / "script").write_bytes(b"#!\n\0")
    (place / "deep" / "er" / "script").chmod(0o750)
    (place / "link").symlink_to("deep/er/script")
    (place / "to nowhere").symlink_to("/nowhere")
    archive = data.pack("w1")
    (place / "later").write_text("not in it")
    data.unpack("w1", archive)
    assert not (place / "later").exists()
    assert data.pack("w1") == archive
    assert (place / "link").readlink() == Path("deep/er/script")
    assert (place / "deep" / "er" / "script").stat().st_mode & 0o777 == 0o750
    assert [entry.path for entry in decode(archive)] == ["deep", "deep/er", "deep/er/script", "link", "to nowhere"]


def test_a_name_of_any_bytes_survives(data: EphemeralData) -> None:
    data.unpack("w1", b"")
    name = os.fsdecode(b"a\xff\nb")
    (data.folder("w1") / name).write_bytes(b"1")
    data.unpack("w1", data.pack("w1"))
    assert (data.folder("w1") / name).read_bytes() == b"1"


def test_a_bad_archive_leaves_the_data_that_was_there(data: EphemeralData) -> None:
    data.unpack("w1", b"")
    (data.folder("w1") / "kept").touch()
    with pytest.raises(Invalid):
        data.unpack("w1", b"no archive" * 100)
    assert (data.folder("w1") / "kept").exists()


def test_whoever_is_killed_while_unpacking_leaves_no_half_of_it(
    data: EphemeralData, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.unpack("w1", encode([Entry(path="old", content=b"1")]))
    fresh = encode([Entry(path=name, content=b"2") for name in ("a", "b", "c")])
    written: list[Path] = []

    def killed(self: Path, content: bytes) -> int:
        written.append(self)
        if len(written) == 2:
            raise KeyboardInterrupt
        with self.open("wb") as file:
            return file.write(content)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", killed)
        with pytest.raises(KeyboardInterrupt):
            data.unpack("w1", fresh)
    assert [entry.path for entry in decode(data.pack("w1"))] == ["old"]
    data.unpack("w1", fresh)
    assert data.pack("w1") == fresh


def test_any_user_reaches_what_has_no_folder_of_its_own_in_the_archive(data: EphemeralData) -> None:
    before = os.umask(0o077)
    try:
        data.unpack("w1", encode([Entry(path="deep/er/script", content=b"1")]))
    finally:
        os.umask(before)
    modes = [(data.folder("w1") / each).stat().st_mode & 0o777 for each in ("deep", "deep/er", "deep/er/script")]
    assert modes == [0o755, 0o755, 0o644]


def test_folders_nested_deeper_than_python_recurses_are_replaced(data: EphemeralData) -> None:
    """An action that nests them and fails must not keep the worker from trying again."""
    data.unpack("w1", b"")
    here = os.open(data.folder("w1"), os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        data.unpack("w1", b"")
        assert not any(data.folder("w1").iterdir())
    finally:
        remove(data.folder("w1"))  # pytest could not
