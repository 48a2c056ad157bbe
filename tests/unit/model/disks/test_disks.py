"""What may be wiped: what was there, what a workflow put there, what a person confirmed."""

from dataclasses import replace

from tinkbox.model.disks.disks import (
    Content,
    Disk,
    Refused,
    Remembered,
    begun,
    ended,
    foreign,
    listed,
    refusal,
)
from tinkbox.model.reasons import Reason

TABLE = Content(kind="GPT", id="aaaa", label="2 partitions")
ROOT = Content(kind="ext4", id="bbbb", label="root", offset=1 << 20)
HOME = Content(kind="XFS", id="cccc", label="home", offset=1 << 30)
NOTHING = Remembered()
DISK = Disk(path="/dev/sda", name="WD-1", size=4 << 40, contents=(TABLE, ROOT))


def test_everything_is_foreign_on_a_disk_that_nobody_knows() -> None:
    assert foreign((TABLE, ROOT), NOTHING) == (TABLE, ROOT)
    assert foreign((), NOTHING) == ()


def test_what_a_workflow_left_may_be_labelled_and_filled_but_what_came_later_is_not_its_own() -> None:
    known = Remembered(ours=(TABLE, ROOT))
    relabelled = (replace(TABLE, label="3 partitions"), replace(ROOT, label="system"))
    assert foreign((*relabelled, HOME), known) == (HOME,)
    assert foreign((replace(ROOT, id="dddd"),), known) == (replace(ROOT, id="dddd"),)
    assert foreign((replace(ROOT, kind="Btrfs"),), known) == (replace(ROOT, kind="Btrfs"),)
    assert foreign((replace(ROOT, offset=0),), known) == (replace(ROOT, offset=0),)


def test_while_one_writes_only_what_was_there_before_it_is_foreign() -> None:
    writing = begun((TABLE, ROOT), Remembered(ours=(TABLE,)))
    assert writing == Remembered(ours=(TABLE,), foreign=(ROOT,))
    assert foreign((ROOT, HOME), writing) == (ROOT,)
    assert begun((ROOT, HOME), writing) == writing


def test_who_succeeded_answers_for_all_that_is_there() -> None:
    writing = begun((ROOT,), NOTHING)
    assert ended((ROOT, HOME), writing, succeeded=True) == Remembered(ours=(ROOT, HOME))


def test_who_failed_may_not_have_touched_what_was_there_before() -> None:
    writing = begun((TABLE, ROOT), NOTHING)
    left = ended((ROOT, HOME), writing, succeeded=False)
    assert left == Remembered(ours=(HOME,))
    assert foreign((ROOT, HOME), left) == (ROOT,)


def test_a_refusal_names_the_disk_what_is_on_it_and_the_word_that_is_missing() -> None:
    refused = refusal(DISK, (TABLE, ROOT), "w1")
    assert refused == Refused(
        reason=Reason.DISK_NOT_EMPTY,
        message='/dev/sda (WD-1, 4 TiB) holds what no recorded workflow put there: GPT "2 partitions", ext4 "root" at 1 MiB; '
        "if it can go: tinkbox workflow retry w1 --confirm-wipe",
    )
    assert refusal(DISK, (), "w1") is None


def test_what_cannot_be_looked_at_is_refused_whatever_is_not_foreign() -> None:
    gone = Disk(path="/dev/sdz", reason=Reason.NO_SUCH_DISK, problem="there is no /dev/sdz")
    assert refusal(gone, (), "w1") == Refused(reason=Reason.NO_SUCH_DISK, message="there is no /dev/sdz")
    unsaid = refusal(replace(gone, reason=""), (), "w1")
    assert unsaid is not None
    assert unsaid.reason == Reason.DISK_UNREADABLE


def test_a_disk_with_many_things_on_it_is_told_in_one_line() -> None:
    many = tuple(Content(kind="FAT", offset=number * 512) for number in range(9))
    assert listed(many) == "FAT, FAT at 512 bytes, FAT at 1 KiB, FAT at 1.5 KiB, FAT at 2 KiB, FAT at 2.5 KiB, 3 more"


def test_a_refusal_names_the_disk_that_a_selection_means() -> None:
    chosen = replace(DISK, path="largest", device="/dev/sdb")
    refused = refusal(chosen, (ROOT,), "w1")
    assert refused is not None
    assert refused.message.startswith(
        "/dev/sdb (WD-1, 4 TiB, by `largest`) holds what no recorded workflow put there: ext4"
    )
