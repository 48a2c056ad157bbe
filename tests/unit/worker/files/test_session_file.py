"""What makes a worker the one of its data folder."""

import os
import shutil
from pathlib import Path

import pytest

from tinkbox.model.errors import Unavailable
from tinkbox.worker.files.session_file import SessionFile, only_worker


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.json"


def test_a_worker_that_is_started_again_has_the_same_secret_and_another_credential_another(path: Path) -> None:
    first = SessionFile(path).secret("ticket-1")
    assert SessionFile(path).secret("ticket-1") == first
    second = SessionFile(path).secret("ticket-2")
    assert len({first, second}) == 2
    assert SessionFile(path).secret("ticket-2") == second


def test_nobody_else_reads_the_secret_whatever_the_umask_is(path: Path) -> None:
    before = os.umask(0)
    try:
        SessionFile(path).secret("ticket-1")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_copy_is_refused_until_it_has_a_credential_of_its_own(path: Path, tmp_path: Path) -> None:
    secret = SessionFile(path).secret("ticket-1")
    copy = tmp_path / "copy.json"
    shutil.copy2(path, copy)
    with pytest.raises(Unavailable, match="copy of another worker's folder"):
        SessionFile(copy).secret("ticket-1")
    assert SessionFile(copy).secret("ticket-2") != secret
    assert SessionFile(path).secret("ticket-1") == secret


@pytest.mark.parametrize("content", ["", "{", "[]", '{"secret": "x"}', '{"secret": "x", "place": 1, "ticket": "y"}'])
def test_a_file_that_is_broken_counts_for_nothing(path: Path, content: str) -> None:
    path.write_text(content)
    secret = SessionFile(path).secret("ticket-1")
    assert len(secret) >= 32
    assert SessionFile(path).secret("ticket-1") == secret


def test_a_folder_has_one_worker_at_a_time(tmp_path: Path) -> None:
    with only_worker(tmp_path), pytest.raises(Unavailable, match="another worker uses"), only_worker(tmp_path):
        pass
    with only_worker(tmp_path):
        pass
