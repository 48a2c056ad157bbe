import os
import stat
from pathlib import Path, PurePosixPath

import pytest
from failure import Failure
from file_writing import Parameters, parameters, write

ENVIRONMENT = {
    "DEST_DISK": "/dev/vda2",
    "FS_TYPE": "ext4",
    "DEST_PATH": "/etc/motd",
    "CONTENTS": "hello\n",
    "UID": "12",
    "GID": "34",
    "MODE": "0640",
    "DIRMODE": "0710",
}


def asked(**changes: str) -> Parameters:
    return parameters({**ENVIRONMENT, **changes})


def test_numbers_are_read_as_people_write_them() -> None:
    wanted = asked()
    assert (wanted.uid, wanted.gid, wanted.mode, wanted.directory_mode) == (12, 34, 0o640, 0o710)
    assert wanted.path == PurePosixPath("/etc/motd")


def test_the_contents_may_be_empty_but_not_forgotten() -> None:
    assert asked(CONTENTS="").contents == ""
    with pytest.raises(Failure, match="CONTENTS") as failure:
        parameters({name: value for name, value in ENVIRONMENT.items() if name != "CONTENTS"})
    assert failure.value.reason == "MissingParameter"


def test_everything_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(Failure, match="set UID, MODE in"):
        asked(UID="", MODE="")


@pytest.mark.parametrize(
    "wrong",
    [
        {"DEST_PATH": "etc/motd"},
        {"DEST_PATH": "/"},
        {"DEST_PATH": "/etc/"},
        {"DEST_PATH": "/etc/../../motd"},
        {"MODE": "0888"},
        {"MODE": "17777"},
        {"DIRMODE": "rwx"},
        {"UID": "-1"},
        {"GID": "root"},
    ],
)
def test_nonsense_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(Failure) as failure:
        asked(**wrong)
    assert failure.value.reason == "InvalidParameter"


def test_the_file_has_its_contents_owner_and_mode(tmp_path: Path) -> None:
    write(tmp_path, asked())
    written = tmp_path / "etc" / "motd"
    status = written.stat()
    assert written.read_text() == "hello\n"
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12, 34, 0o640)


def test_whoever_writes_stays_where_it_was(tmp_path: Path) -> None:
    before = Path.cwd()
    write(tmp_path, asked())
    assert Path.cwd() == before


def test_folders_are_made_with_their_owner_and_mode_and_existing_ones_left(tmp_path: Path) -> None:
    (tmp_path / "srv").mkdir(mode=0o755)
    write(tmp_path, asked(DEST_PATH="/srv/a/b/file"))
    made = (tmp_path / "srv/a/b").stat()
    assert (made.st_uid, made.st_gid, stat.S_IMODE(made.st_mode)) == (12, 34, 0o710)
    assert stat.S_IMODE((tmp_path / "srv/a").stat().st_mode) == 0o710
    assert (tmp_path / "srv").stat().st_uid == os.getuid()


def test_a_file_that_was_there_is_replaced_with_nothing_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/motd").write_text("a longer text than the new one")
    write(tmp_path, asked())
    assert [path.name for path in (tmp_path / "etc").iterdir()] == ["motd"]
    assert (tmp_path / "etc/motd").read_text() == "hello\n"


@pytest.mark.parametrize("link", ["{outside}", "../../../../../../../..{outside}"])
def test_a_link_to_a_folder_outside_stays_inside(tmp_path: Path, link: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "etc").symlink_to(link.format(outside=outside))
    (root / str(outside).lstrip("/")).mkdir(parents=True)
    write(root, asked())
    assert list(outside.iterdir()) == []
    assert (root / str(outside).lstrip("/") / "motd").read_text() == "hello\n"


def test_a_link_in_the_place_of_the_file_stays_inside(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "victim"
    (root / "etc").mkdir(parents=True)
    outside.write_text("untouched")
    (root / "etc/motd").symlink_to("/run/motd")
    (root / "run").mkdir()
    (root / "run/motd").symlink_to("../../../../../../victim")
    write(root, asked())
    assert outside.read_text() == "untouched"
    assert (root / "victim").read_text() == "hello\n"


def test_a_folder_in_the_place_of_the_file_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "etc/motd").mkdir(parents=True)
    with pytest.raises(Failure, match="/etc/motd on /dev/vda2") as failure:
        write(tmp_path, asked())
    assert failure.value.reason == "WriteFailed"
