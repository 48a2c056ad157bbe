"""A blob is hashed once, however many ask, and not again after a restart."""

import errno
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

import pytest

from tests.integration.registry.serving import Clock, digest_of
from tinkbox.model.errors import Unavailable
from tinkbox.registry.blobs.folders import Folders
from tinkbox.registry.blobs.verified import VERIFIED_FOR, Verified

CONTENT = b"some bytes" * 1000


class Made:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = Clock(datetime(2026, 1, 1, tzinfo=UTC))
        self.dropped: list[str] = []
        self.digest = digest_of(CONTENT)
        self.path = root / self.digest.removeprefix("sha256:")
        self.path.write_bytes(CONTENT)

    def opened(self) -> Verified:
        return Verified(self.root / "verified", self.clock, threading.Lock(), self.dropped.append, Folders(self.root))


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def test_what_was_hashed_is_known_after_a_restart(made: Made) -> None:
    first = made.opened()
    assert not first.holds(made.digest, made.path)
    assert first.check(made.digest, made.path).result()
    assert made.opened().holds(made.digest, made.path)
    made.clock.now += VERIFIED_FOR
    assert not made.opened().holds(made.digest, made.path)


def test_what_was_hashed_on_its_way_in_is_known_after_a_restart(made: Made) -> None:
    made.opened().note(made.digest, made.path)
    assert made.opened().holds(made.digest, made.path)


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(CONTENT + b"more"),
        lambda path: path.touch(),
        lambda path: path.write_bytes(b"other byte" * 1000),
        lambda path: path.chmod(0o600),
        lambda path: path.with_name("new").write_bytes(CONTENT) and path.with_name("new").replace(path),
    ],
)
def test_a_file_that_changed_is_hashed_again(made: Made, change: Callable[[Path], object]) -> None:
    made.opened().note(made.digest, made.path)
    change(made.path)
    assert not made.opened().holds(made.digest, made.path)


def test_a_clock_that_was_put_back_makes_nothing_known_for_longer(made: Made) -> None:
    verified = made.opened()
    verified.note(made.digest, made.path)
    made.clock.now -= timedelta(days=300)
    assert not verified.holds(made.digest, made.path)


@pytest.mark.parametrize(
    "harm",
    [
        lambda text: text[:-7],
        lambda text: text[: len(text) // 2],
        lambda text: text.replace(b" ", b"  "),
        lambda text: b"\0\xff" * 1000,
        lambda text: b"",
        lambda text: text.strip() + b"0\n",
        lambda text: text[:-1] + text,
    ],
)
def test_a_damaged_journal_only_means_to_hash_again(made: Made, harm: Callable[[bytes], bytes]) -> None:
    first = made.opened()
    first.note(made.digest, made.path)
    journal = made.root / "verified"
    journal.write_bytes(harm(journal.read_bytes()))
    again = made.opened()
    assert not again.holds(made.digest, made.path)
    assert again.check(made.digest, made.path).result()
    assert made.opened().holds(made.digest, made.path)


def test_a_journal_that_cannot_be_written_harms_nothing(made: Made) -> None:
    (made.root / "verified").mkdir()
    verified = made.opened()
    assert verified.check(made.digest, made.path).result()
    assert verified.holds(made.digest, made.path)


def test_a_journal_does_not_grow_for_ever(made: Made) -> None:
    verified = made.opened()
    for _ in range(5000):
        verified.note(made.digest, made.path)
    assert (made.root / "verified").stat().st_size < 300 * 1100
    assert made.opened().holds(made.digest, made.path)


def test_many_who_ask_at_once_wait_for_one_check(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    verified, going_on, hashed = made.opened(), threading.Event(), []
    check = verified.check_here

    def slow(digest: str, path: Path) -> bool:
        hashed.append(digest)
        assert going_on.wait(60)
        return check(digest, path)

    monkeypatch.setattr(verified, "check_here", slow)
    asked: list[Future[bool]] = [verified.check(made.digest, made.path) for _ in range(16)]
    going_on.set()
    assert all(each.result() for each in asked)
    assert hashed == [made.digest]
    assert verified.check(made.digest, made.path).result()
    assert hashed == [made.digest]


def test_a_damaged_file_is_dropped_once_and_what_came_into_its_place_stays(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified = made.opened()
    made.path.write_bytes(b"damaged")
    assert not verified.check(made.digest, made.path).result()
    assert made.dropped == [made.digest]
    made.dropped.clear()
    monkeypatch.setattr("hashlib.new", lambda algorithm: _Healing(made.path))
    assert not verified.check_here(made.digest, made.path)
    assert made.dropped == []


def test_damage_is_known_after_a_restart_and_over_once_the_file_is_kept_or_changed(made: Made) -> None:
    first = made.opened()
    made.path.write_bytes(b"damaged")
    assert not first.check(made.digest, made.path).result()
    found_at = made.clock()
    made.clock.advance(hours=5)
    for verified in (first, made.opened(), made.opened()):
        assert verified.damaged_at(made.digest, made.path) == found_at
        assert [*verified.damaged()] == [made.digest]
    made.path.write_bytes(CONTENT)
    assert first.damaged_at(made.digest, made.path) is None
    first.note(made.digest, made.path)
    for verified in (first, made.opened()):
        assert [*verified.damaged()] == []
        assert verified.holds(made.digest, made.path)


def test_a_file_that_is_gone_is_damaged_for_as_long_as_it_is_gone(made: Made) -> None:
    verified = made.opened()
    made.path.unlink()
    verified.miss(made.digest, made.path)
    assert made.opened().damaged_at(made.digest, made.path) == made.clock()
    made.path.write_bytes(CONTENT)
    assert made.opened().damaged_at(made.digest, made.path) is None


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOMEM])
def test_a_file_that_cannot_be_opened_for_want_of_something_else_is_not_damaged(
    made: Made, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refused(*_: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    verified = made.opened()
    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(Unavailable, match="ask again"):
        verified.check_here(made.digest, made.path)
    assert verified.damaged_at(made.digest, made.path) is None
    assert made.dropped == []


class _Healing:
    """While it hashes, the blob is pushed again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def update(self, _: bytes) -> None:
        new = self.path.with_name("new")
        new.write_bytes(CONTENT)
        new.replace(self.path)

    def hexdigest(self) -> str:
        return "of what was damaged"


def test_a_stop_does_not_wait_for_what_is_hashed(made: Made) -> None:
    verified = made.opened()
    verified.close()
    with pytest.raises(Unavailable, match="stops"):
        verified.check_here(made.digest, made.path)
