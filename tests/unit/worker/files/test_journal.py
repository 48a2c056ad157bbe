from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from tests.unit.worker.actions import OFFER
from tinkbox.model.journal import Seen
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.journal import MAX_ENTRIES
from tinkbox.wire.messages.worker import Offer
from tinkbox.worker.files.journal import Journal

DONE = Outcome(state=State.SUCCESS, exit_code=0)


def offer(position: int, attempt: str = "", store: str = "s") -> Offer:
    return replace(
        OFFER, workflow_id=str(UUID(int=1)), store=store, position=position, attempt=attempt or f"a{position}"
    )


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """One with two attempts, the first of which is over."""
    journal = Journal(tmp_path / "journal.json")
    journal.begin(offer(4))
    journal.end("a4", DONE)
    journal.close("a4")
    journal.begin(offer(5))
    return journal


def test_what_was_seen_outlives_the_worker(journal: Journal, tmp_path: Path) -> None:
    again = Journal(tmp_path / "journal.json")
    assert again.told("b") == journal.told("b")
    assert again.seen == Seen(store="s", position=5, attempt="a5")


@pytest.mark.parametrize(
    ("offered", "taken"),
    [
        (offer(6), True), (offer(5), True),  # the next, or the same once more
        (offer(4), False), (offer(5, "other"), False), (offer(3), False),  # over, or of a store that was put back
        (offer(6, store="another"), False), (offer(6, store=""), False),  # of a new store, or of an earlier release
    ],
)  # fmt: skip
def test_an_offer_is_taken_only_when_it_follows_what_was_seen(journal: Journal, offered: Offer, taken: bool) -> None:
    assert journal.takes(offered) is taken


def test_an_end_that_was_acknowledged_is_seen(journal: Journal) -> None:
    journal.close("a5")
    assert journal.seen is not None
    assert journal.seen.over
    assert not journal.takes(offer(5))


def test_an_appliance_of_an_earlier_release_leaves_no_trace(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.json")
    journal.begin(offer(0, "a", store=""))
    assert journal.told("b") is None
    assert journal.takes(offer(0, "b", store=""))


def test_a_journal_keeps_the_newest(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.json")
    for position in range(1, MAX_ENTRIES + 3):
        journal.begin(offer(position))
    told = journal.told("b")
    assert told is not None
    assert [each.position for each in told.entries] == list(range(3, MAX_ENTRIES + 3))


def test_a_journal_that_counts_for_nothing_begins_anew(journal: Journal) -> None:
    journal.restart(Seen(store="s", position=9, attempt="x"))
    told = journal.told("b")
    assert told is not None
    assert told.entries == ()
    assert journal.takes(offer(10))
    assert not journal.takes(offer(9))
