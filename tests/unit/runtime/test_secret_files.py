"""Secrets as files for containers."""

import os
from pathlib import Path

import pytest

from tinkbox.model.reasons import Reason
from tinkbox.model.secret import Form, SecretUse, mark_of
from tinkbox.runtime import ContainerFailed
from tinkbox.runtime.secret_files import SecretFiles, variables, with_values

USES = (
    SecretUse(name="key", file="/run/secrets/key"),
    SecretUse(name="word", env="WORD"),
    SecretUse(name="word", file="/run/secrets/other"),
)
GIVEN = {"key": b"\xff\x00", "word": b"correct-horse"}


@pytest.fixture
def files(tmp_path: Path) -> SecretFiles:
    (tmp_path / "worker").mkdir()
    (tmp_path / "memory").mkdir()
    return SecretFiles(tmp_path / "worker", tmp_path / "memory")


def test_files_are_for_their_owner_alone_and_gone_with_their_container(files: SecretFiles, tmp_path: Path) -> None:
    mounts = files.make("attempt", USES, GIVEN)
    assert {target: Path(source).read_bytes() for target, source in mounts.items()} == {
        "/run/secrets/key": b"\xff\x00",
        "/run/secrets/other": b"correct-horse",
    }
    for source in map(Path, mounts.values()):
        assert source.stat().st_mode & 0o777 == (0o400 if os.geteuid() == 0 else 0o444)
        assert source.parent.stat().st_mode & 0o777 == 0o700
    assert files.make("attempt", USES, GIVEN) == mounts
    files.make("another", USES, GIVEN)
    files.forget_others(["another"])
    assert not Path(mounts["/run/secrets/key"]).exists()
    files.forget("another")
    files.forget("another")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize(
    ("user", "owner", "mode"),
    [("", 0, 0o400), ("root:adm", 0, 0o400), ("0", 0, 0o400), ("1000:50", 1000, 0o400), ("nginx", 0, 0o444)],
)
def test_files_are_for_the_user_of_the_image(files: SecretFiles, user: str, owner: int, mode: int) -> None:
    for source in map(Path, files.make("attempt", USES, GIVEN, user).values()):
        found = source.stat()
        assert (found.st_uid, found.st_mode & 0o777) == (owner, mode)
        assert source.parent.stat().st_mode & 0o777 == 0o700


def test_a_link_in_the_place_of_the_folder_is_not_followed(files: SecretFiles, tmp_path: Path) -> None:
    mounts = files.make("attempt", USES, GIVEN)
    top = Path(mounts["/run/secrets/key"]).parents[1]
    files.forget("attempt")
    top.symlink_to(tmp_path)
    with pytest.raises(PermissionError):
        files.make("attempt", USES, GIVEN)


def test_variables_and_words_have_their_values() -> None:
    mark = mark_of(b"k", "word", Form.RAW)
    assert variables(USES, GIVEN) == {"WORD": "correct-horse"}
    assert with_values(f"a {mark} b", {mark: b"correct-horse"}) == "a correct-horse b"
    assert with_values("plain", {}) == "plain"


def test_what_was_not_given_or_is_no_text_fails_the_container() -> None:
    mark = mark_of(b"k", "word", Form.RAW)
    with pytest.raises(ContainerFailed) as failed:
        with_values(mark, {})
    assert failed.value.reason == Reason.SECRET_UNREADABLE
    with pytest.raises(ContainerFailed) as failed:
        with_values(mark, {mark: b"\xff\x00\xfe"})
    assert failed.value.reason == Reason.BAD_COMMAND
    assert "give it as a file" in str(failed.value)
    with pytest.raises(ContainerFailed):
        variables((SecretUse(name="none", env="NONE"),), {})
