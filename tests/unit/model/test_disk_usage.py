"""What takes room on the disk, by kind."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tinkbox.model.disk_usage import LAST_ROOM, TOLD_FOR, DiskUsage, EarlyDeletion, Share, Stored

DOCS = Path(__file__).parents[3] / "docs" / "operating.md"
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def test_the_docs_tell_every_kind() -> None:
    part = DOCS.read_text().split("### What takes room", 1)[1].split("\n### ", 1)[0].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `([a-z]+)` \| ([^|]+?) \|", part, re.MULTILINE)
    assert rows == [(each.title, each.about) for each in Stored]


def test_the_largest_kind_stands_first() -> None:
    shares = {
        Stored.OUTPUT: Share(octets=2, number=9),
        Stored.IMAGES: Share(octets=3, number=1),
        Stored.DATA: Share(octets=0, number=0),
    }
    usage = DiskUsage(free=5, keep_free=5, database=1, shares=shares)
    assert usage.largest == (Stored.IMAGES, Stored.OUTPUT)


@pytest.mark.parametrize(
    ("keep_free", "free", "nearly_full"),
    [(512, 512, False), (512, 511, True), (512, 31, True), (10, 32, False), (10, 31, True), (0, 31, True)],
)
def test_a_disk_is_told_to_be_nearly_full_no_later_than_machines_are_refused(
    keep_free: int, free: int, nearly_full: bool
) -> None:
    usage = DiskUsage(free=free << 20, keep_free=keep_free << 20, database=1, shares={})
    assert (usage.nearly_full, usage.full) == (nearly_full, free << 20 < LAST_ROOM)


def test_an_early_deletion_is_news_for_a_week() -> None:
    early = EarlyDeletion(workflows=1, octets=1, since=NOW - timedelta(days=30), until=NOW)
    assert early.is_news(NOW + TOLD_FOR - timedelta(seconds=1))
    assert not early.is_news(NOW + TOLD_FOR)
