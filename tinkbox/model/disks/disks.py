"""What is on a machine's disks, and whether an action may wipe them (`wipes:` of a template).

Rule 1: what no workflow put on a disk is wiped only when a person confirmed it.
Rule 2: what a permitted action left there needs no confirmation, nor what it wrote when its machine was lost.
Rule 3: what cannot be looked at is not wiped.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tinkbox.model.reasons import NO_REASON, AnyReason, Reason

TOLD = 6
# One action may wipe so many.
MAX_DISKS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A partition table, a file system, or what else a disk is used for, by what it says of itself.

    `kind` is such as `GPT` or `ext4`; `id` what it calls itself in the world, mostly a UUID, and `label` for people: both
    may be empty.  `offset` is in bytes from the beginning of the disk.
    """

    kind: str
    id: str = ""
    label: str = ""
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """One disk as its machine sees it: `path` is what the template calls it, `name` what it is known by.

    `device` is where it is now, when the template calls it by a selection.
    `name` is its serial number, or where it is plugged in when it has none.  `size` is in bytes.  `problem` says why it
    could not be looked at, `reason` in one word; its contents are not known then.
    """

    path: str
    name: str = ""
    size: int = 0
    contents: tuple[Content, ...] = ()
    reason: AnyReason = NO_REASON
    problem: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What the appliance knows of a disk.

    `ours` was there when a permitted action ended.  While one writes, `foreign` is what was there that was not ours
    when it began; None: nothing writes now.
    """

    ours: tuple[Content, ...] = ()
    foreign: tuple[Content, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Why a disk is not wiped, and what a person can do about it."""

    reason: AnyReason
    message: str


def foreign(contents: Sequence[Content], remembered: Remembered) -> tuple[Content, ...]:
    """What on a disk no workflow put there."""
    if remembered.foreign is not None:
        return _of(contents, remembered.foreign)
    ours = set(map(_key, remembered.ours))
    return tuple(each for each in contents if _key(each) not in ours)


def begun(contents: Sequence[Content], remembered: Remembered) -> Remembered:
    """What to remember of a disk that an action may write now."""
    return Remembered(ours=remembered.ours, foreign=foreign(contents, remembered))


def ended(contents: Sequence[Content], remembered: Remembered, *, succeeded: bool) -> Remembered:
    """What to remember of a disk when the action that might write it is over.

    One that succeeded answers for all that is there.  What was foreign when one began that failed, and is there still,
    may not have been touched: it stays foreign.
    """
    stays = set() if succeeded else set(map(_key, _of(contents, remembered.foreign or ())))
    return Remembered(ours=tuple(each for each in contents if _key(each) not in stays))


def refusal(disk: Disk, not_ours: Sequence[Content], workflow_id: str) -> Refused | None:
    """Why the disk must not be wiped without a person's word; None: it may be."""
    if disk.problem:
        return Refused(reason=disk.reason or Reason.DISK_UNREADABLE, message=disk.problem)
    if not not_ours:
        return None
    meant = f", by `{disk.path}`" if disk.device else ""
    return Refused(
        reason=Reason.DISK_NOT_EMPTY,
        message=f"{disk.device or disk.path} ({disk.name}, {_size(disk.size)}{meant}) holds what no recorded workflow put there: {listed(not_ours)}; "
        f"if it can go: tinkbox workflow retry {workflow_id} --confirm-wipe",
    )


def listed(contents: Sequence[Content]) -> str:
    """What is there, in words, the first few of it."""
    words = [_word(each) for each in contents[:TOLD]]
    if len(contents) > TOLD:
        words.append(f"{len(contents) - TOLD} more")
    return ", ".join(words)


def _word(content: Content) -> str:
    named = f' "{content.label}"' if content.label else ""
    return f"{content.kind}{named}" + (f" at {_size(content.offset)}" if content.offset else "")


def _size(size: int) -> str:
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"


def _of(contents: Sequence[Content], among: Sequence[Content]) -> tuple[Content, ...]:
    keys = set(map(_key, among))
    return tuple(each for each in contents if _key(each) in keys)


def _key(content: Content) -> tuple[str, str, int]:
    """What makes it the same: not its label, which an installed system may change, nor its size, which may grow."""
    return content.kind, content.id, content.offset
