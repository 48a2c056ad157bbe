"""Folders of ours, which no other user of the host may read."""

import errno
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.everybodys_checkout import BEFORE, PYTHON
from tinkbox.model.errors import Unavailable
from tinkbox.private_files import (
    LEAST_SECRET,
    Layout,
    as_user,
    examine_private,
    kept_secret,
    make_private,
    stored_secret,
)

LAYOUT = Layout(
    private=("own", "own.*"),
    files=("own.token", "own/*.key"),
    folders=("own",),
    sockets=("own.sock",),
    shared=("given", "own/*/given"),
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes files of other users")


def modes(folder: Path, *names: str) -> list[int]:
    return [(folder / name).stat().st_mode & 0o7777 for name in names]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As wide as files can be."""
    folder = tmp_path / "data"
    for name in ("own/deep/given", "given"):
        (folder / name).mkdir(parents=True)
    for name in ("own.token", "own/deep/secret", "own/deep/given/x", "given/x", "other"):
        (folder / name).touch()
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777)
    return folder


def test_what_is_private_is_tightened_and_what_is_shared_is_left(folder: Path) -> None:
    make_private(folder, LAYOUT)
    assert modes(folder, ".", "own", "own/deep", "own/deep/secret", "own.token") == [0o700] * 5
    assert modes(folder, "own/deep/given", "own/deep/given/x", "given", "given/x", "other") == [0o777] * 5


@needs_root
def test_a_group_that_may_pass_through_the_folder_reads_nothing_in_it(folder: Path) -> None:
    for _ in range(2):
        make_private(folder, LAYOUT, passing=1)
        assert modes(folder, ".", "own", "own.token") == [0o710, 0o700, 0o600 | 0o100]
        assert [(folder / name).stat().st_gid for name in (".", "own")] == [1, os.getegid()]
    make_private(folder, LAYOUT)
    assert modes(folder, ".") == [0o700]


def test_a_folder_that_is_missing_is_made(tmp_path: Path) -> None:
    make_private(tmp_path / "a" / "b", LAYOUT)
    assert modes(tmp_path, "a/b") == [0o700]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder outside, with a file, as they are by default."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "s").touch()
    elsewhere.chmod(0o755)
    (elsewhere / "s").chmod(0o644)
    return elsewhere


@pytest.mark.parametrize("name", ["own.d", "own/link"])
def test_a_link_of_ours_may_lead_to_a_folder_of_ours_where_nothing_is_changed(
    folder: Path, elsewhere: Path, name: str
) -> None:
    (folder / name).symlink_to(elsewhere)
    make_private(folder, LAYOUT)
    assert modes(elsewhere, ".", "s") == [0o755, 0o644]


@needs_root
@pytest.mark.parametrize("name", [".", "own.d", "own/link"])
def test_a_link_of_another_user_is_refused_and_not_followed(folder: Path, elsewhere: Path, name: str) -> None:
    if name == ".":
        folder, data = elsewhere, folder.parent / "link"
        link, leads_to = data, folder
    else:
        data, link, leads_to = folder, folder / name, elsewhere
    link.symlink_to(leads_to)
    os.chown(link, 4711, 4711, follow_symlinks=False)
    for look in (examine_private, make_private):
        with pytest.raises(Unavailable, match=rf"{link} is a link that user 4711 made, to {leads_to}: delete it"):
            look(data, LAYOUT)
    assert modes(elsewhere, ".", "s") == [0o755, 0o644]


@pytest.mark.parametrize(
    ("leads_to", "problem"),
    [
        ("elsewhere/s", "may only lead to a folder that belongs to"),
        ("wide", "that nobody else may write to"),
        ("missing", "No such file or directory: mount or make what it leads to"),
        ("data/own.d", "Too many levels of symbolic links"),
    ],
)
def test_a_link_that_leads_to_anything_else_is_refused(
    folder: Path, elsewhere: Path, leads_to: str, problem: str
) -> None:
    (elsewhere.parent / "wide").mkdir()
    (elsewhere.parent / "wide").chmod(0o775)
    (folder / "own.d").symlink_to(elsewhere.parent / leads_to)
    with pytest.raises(Unavailable, match=rf"own\.d is a link to .*{problem}"):
        make_private(folder, LAYOUT)
    assert modes(elsewhere, ".", "s") == [0o755, 0o644]


@needs_root
def test_a_link_to_a_folder_of_another_user_is_refused(folder: Path, elsewhere: Path) -> None:
    os.chown(elsewhere, 4711, 4711)
    (folder / "own.d").symlink_to(elsewhere)
    with pytest.raises(Unavailable, match="may only lead to a folder that belongs to root") as refused:
        make_private(folder, LAYOUT)
    assert f"type `chown root {elsewhere}` and `chmod 700 {elsewhere}`" in str(refused.value)
    os.chown(elsewhere / "s", 4711, 4711)
    with pytest.raises(Unavailable, match="Have the link lead to a folder of its own, which `install -d") as refused:
        make_private(folder, LAYOUT)
    assert "chown" not in str(refused.value)


@needs_root
@pytest.mark.parametrize("place", ["/", "/etc", "/usr/share", "/var/lib", "/tmp", "/home"])
def test_a_folder_of_the_system_is_never_to_be_given_away(place: str) -> None:
    with TemporaryDirectory(dir="/tmp") as made:
        folder = Path(made)
        (folder / "own").symlink_to(place)
        os.chown(folder, 4711, 4711)
        with as_user(folder):
            for data in (folder, Path(place)):
                with pytest.raises(Unavailable) as refused:
                    examine_private(data, LAYOUT)
                assert "chown" not in str(refused.value)
                assert "chmod" not in str(refused.value)


@needs_root
def test_what_another_user_puts_in_until_the_folder_is_narrowed_is_seen(
    folder: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = Path.chmod

    def planted(path: Path, mode: int, **how: bool) -> None:
        if path == folder:
            (folder / "own.d").symlink_to(elsewhere)
            os.chown(folder / "own.d", 4711, 4711, follow_symlinks=False)
        narrow(path, mode, **how)

    monkeypatch.setattr(Path, "chmod", planted)
    with pytest.raises(Unavailable, match="is a link that user 4711 made"):
        make_private(folder, LAYOUT)


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


@pytest.mark.parametrize("make", [os.mkfifo, bind, Path.mkdir])
@pytest.mark.parametrize("name", ["own.token", "own/boot.key"])
def test_what_is_no_file_in_the_place_of_one_is_refused(folder: Path, name: str, make: Callable[[Path], None]) -> None:
    (folder / name).unlink(missing_ok=True)
    make(folder / name)
    for look in (examine_private, make_private):
        with pytest.raises(Unavailable, match=rf"{folder / name} is no regular file: move it away"):
            look(folder, LAYOUT)


@pytest.mark.parametrize("make", [os.mkfifo, bind, Path.touch])
def test_what_is_no_folder_in_the_place_of_one_is_refused(folder: Path, make: Callable[[Path], None]) -> None:
    shutil.rmtree(folder / "own")
    make(folder / "own")
    for look in (examine_private, make_private):
        with pytest.raises(Unavailable, match=rf"{folder / 'own'} is no folder: move it away"):
            look(folder, LAYOUT)


@pytest.mark.parametrize("make", [os.mkfifo, Path.touch, Path.mkdir])
def test_what_is_no_socket_in_the_place_of_one_is_refused(folder: Path, make: Callable[[Path], None]) -> None:
    make(folder / "own.sock")
    for look in (examine_private, make_private):
        with pytest.raises(Unavailable, match=rf"{folder / 'own.sock'} is no socket: move it away"):
            look(folder, LAYOUT)


def test_a_name_of_a_file_may_be_that_of_a_folder_elsewhere(folder: Path) -> None:
    (folder / "own/deep/own.token").mkdir()
    (folder / "own/deep/own").mkdir()
    (folder / "own/deep/own/boot.key").mkdir()
    make_private(folder, LAYOUT)
    assert modes(folder, "own/deep/own/boot.key") == [0o700]


def test_a_folder_for_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    tmp_path.chmod(0o755)
    with pytest.raises(Unavailable, match="is for other things, such as letters: name a folder of its own"):
        make_private(tmp_path, LAYOUT)
    assert modes(tmp_path, ".") == [0o755]


@needs_root
@pytest.mark.parametrize("name", [".", "own.token", "own/deep/secret"])
def test_what_another_user_owns_is_refused_with_the_remedy(folder: Path, name: str) -> None:
    os.chown(folder / name, 4711, 4711)
    with pytest.raises(Unavailable, match=r"belongs to user 4711: name another folder .*`chown -R root .*` gives it"):
        make_private(folder, LAYOUT)


@needs_root
def test_a_folder_of_root_is_refused_to_another_user(tmp_path: Path) -> None:
    text = f"from tests.unit.test_private_files import *; make_private(Path({str(tmp_path / 'data')!r}), LAYOUT)"
    tmp_path.chmod(0o700)
    command = [*BEFORE, "setpriv", "--reuid", "4711", "--clear-groups", PYTHON, "-c", text]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "cannot use the data directory" in ended.stderr
    assert "`chown -R 4711 " in ended.stderr


def test_to_examine_a_folder_changes_nothing(folder: Path, tmp_path: Path) -> None:
    examine_private(folder, LAYOUT)
    examine_private(tmp_path / "not" / "there", LAYOUT)
    assert modes(folder, ".", "own", "own/deep", "own/deep/secret", "own.token") == [0o777] * 5
    assert not (tmp_path / "not").exists()


@needs_root
def test_to_examine_a_folder_refuses_what_the_start_refuses(folder: Path) -> None:
    os.chown(folder / "own/deep/secret", 4711, 4711)
    with pytest.raises(Unavailable, match=r"secret belongs to user 4711: name another folder .*`chown -R root"):
        examine_private(folder, LAYOUT)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="may not write to"):
        examine_private(tmp_path / "file" / "data", LAYOUT)


@needs_root
def test_root_looks_at_another_users_folder_with_that_users_rights(tmp_path: Path) -> None:
    os.chown(tmp_path, 4711, 4712)
    before = os.geteuid(), os.getegid(), os.getgroups()
    with as_user(tmp_path) as owner:
        assert (owner, os.geteuid(), os.getegid(), os.getgroups()) == ("4711", 4711, 4712, [4712])
    assert (os.geteuid(), os.getegid(), os.getgroups()) == before


@pytest.mark.parametrize("name", ["", "missing"])
def test_at_a_folder_of_ours_we_look_as_ourselves(tmp_path: Path, name: str) -> None:
    with as_user(tmp_path / name) as owner:
        assert (owner, os.geteuid()) == ("", tmp_path.stat().st_uid)


def test_a_secret_that_is_not_there_is_made_by_the_start_alone(tmp_path: Path) -> None:
    assert stored_secret(tmp_path / "key") == ""
    made = kept_secret(tmp_path / "key")
    assert len(made) > LEAST_SECRET
    assert made == stored_secret(tmp_path / "key") == kept_secret(tmp_path / "key")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"x" * (LEAST_SECRET - 1) + b"\n", "is too short"),
        (b"\xff" * 40, "other bytes than ASCII's"),
    ],
)
def test_what_is_no_secret_is_refused_with_the_way_out(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "boot.key"
    path.write_bytes(content)
    for read in (kept_secret, stored_secret):
        with pytest.raises(
            Unavailable, match=rf"boot\.key .*{problem}.*: delete it, and the next start makes a new one$"
        ):
            read(path)
        with pytest.raises(Unavailable, match=rf"boot\.key .*{problem}.*: ask anna for it$"):
            read(path, remedy="ask anna for it")
    assert path.read_bytes() == content


def test_a_secret_is_never_written_through_a_link(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("as it was")
    (tmp_path / "boot.new").symlink_to(elsewhere)
    assert kept_secret(tmp_path / "boot.key") == stored_secret(tmp_path / "boot.key")
    assert (elsewhere.read_text(), modes(tmp_path, "boot.key")) == ("as it was", [0o600])


def test_a_secret_that_cannot_be_made_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "boot.new").mkdir()
    with pytest.raises(Unavailable, match=r"cannot make the secret .*boot\.key: .*: look at .*boot\.new"):
        kept_secret(tmp_path / "boot.key")


def test_a_secret_that_cannot_be_read_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot read the secret"):
        kept_secret(tmp_path)


@pytest.mark.parametrize("name", ["own/blobs/stray", "own/blobs/deep/stray"])
def test_a_link_that_nobody_follows_may_lead_anywhere(folder: Path, elsewhere: Path, name: str) -> None:
    layout = replace(LAYOUT, unfollowed=("own/blobs",))
    (folder / name).parent.mkdir(parents=True)
    for leads_to in (elsewhere / "s", elsewhere / "gone"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(leads_to)
        examine_private(folder, layout)
        make_private(folder, layout)
        with pytest.raises(Unavailable, match="is a link to"):
            make_private(folder, LAYOUT)
    assert modes(elsewhere, ".", "s") == [0o755, 0o644]


def test_a_link_in_the_place_of_a_folder_may_not_lead_anywhere(folder: Path, elsewhere: Path) -> None:
    layout = replace(LAYOUT, folders=("own", "own/blobs", "own/blobs/sha256"), unfollowed=("own/blobs",))
    (folder / "own/blobs").mkdir()
    (folder / "own/blobs/sha256").symlink_to(elsewhere / "s")
    with pytest.raises(Unavailable, match="sha256 is a link to"):
        make_private(folder, layout)


@needs_root
def test_a_link_of_another_user_is_refused_where_nobody_follows_it(folder: Path, elsewhere: Path) -> None:
    (folder / "own/blobs").mkdir()
    (folder / "own/blobs/x").symlink_to(elsewhere)
    os.chown(folder / "own/blobs/x", 4711, 4711, follow_symlinks=False)
    with pytest.raises(Unavailable, match="is a link that user 4711 made"):
        make_private(folder, replace(LAYOUT, unfollowed=("own/blobs",)))


@needs_root
@pytest.mark.parametrize(
    ("owner", "kind", "is_left"), [(0, "folder", True), (4711, "folder", False), (0, "file", False)]
)
def test_the_lost_and_found_of_a_disk_does_not_refuse_its_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, owner: int, kind: str, is_left: bool
) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 1, 1)
    lost = folder / "own/lost+found"
    lost.mkdir(mode=0o700) if kind == "folder" else lost.touch()
    os.chown(lost, owner, owner)
    monkeypatch.setattr(os, "geteuid", lambda: 1)
    for look in (examine_private, make_private):
        if is_left:
            look(folder, LAYOUT)
        else:
            with pytest.raises(Unavailable, match=r"lost\+found belongs to user"):
                look(folder, LAYOUT)


@needs_root
def test_a_fresh_disk_can_be_the_whole_folder(tmp_path: Path) -> None:
    (tmp_path / "disk/lost+found").mkdir(parents=True, mode=0o700)
    (tmp_path / "disk").chmod(0o755)
    make_private(tmp_path / "disk", LAYOUT)
    assert modes(tmp_path, "disk") == [0o700]


@pytest.mark.parametrize("number", [errno.EBADMSG, errno.EIO, errno.EUCLEAN])
def test_a_file_with_a_bad_inode_is_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    bad, lstat = folder / "own/deep/secret", Path.lstat

    def looked_at(path: Path) -> os.stat_result:
        if path == bad:
            raise OSError(number, os.strerror(number), str(path))
        return lstat(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "lstat", looked_at)
        examine_private(folder, LAYOUT)
        make_private(folder, LAYOUT)
    assert modes(folder, "own", "own/deep", "own.token", "own/deep/secret") == [0o700, 0o700, 0o700, 0o777]
