"""What clients were told of stays for an hour, also over a restart."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.integration.registry.serving import Clock, digest_of
from tinkbox.registry.blobs.promises import PROMISED_FOR, Promises

ONE, TWO = digest_of(b"1"), digest_of(b"2")


def test_a_promise_holds_for_an_hour(tmp_path: Path) -> None:
    clock = Clock()
    promises = Promises(tmp_path / "promised", clock)
    promises.make(ONE)
    assert (promises.hold(ONE), promises.hold(TWO)) == (True, False)
    clock.now += PROMISED_FOR - timedelta(seconds=1)
    assert Promises(tmp_path / "promised", clock).hold(ONE)
    promises.make(ONE)
    clock.now += timedelta(minutes=59)
    assert promises.hold(ONE)
    clock.now += timedelta(minutes=1)
    assert not promises.hold(ONE)
    assert not Promises(tmp_path / "promised", clock).hold(ONE)


@pytest.mark.parametrize(
    "text", ["", "x", f"{ONE} \n", f"{ONE} -1\n", f"{ONE} {'9' * 30}\n", f"{ONE} 1 2\n", "\0\n", "x 1\n"]
)
def test_a_damaged_journal_holds_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "promised").write_text(text)
    promises = Promises(tmp_path / "promised", Clock())
    assert not promises.hold(ONE)
    promises.make(TWO)
    assert Promises(tmp_path / "promised", Clock()).hold(TWO)


def test_promises_that_ended_are_forgotten(tmp_path: Path) -> None:
    clock = Clock()
    promises = Promises(tmp_path / "promised", clock)
    for number in range(3000):
        promises.make(digest_of(str(number).encode()))
        clock.advance(minutes=1)
    assert (tmp_path / "promised").stat().st_size < 90 * 1300
