"""What takes room on the disk of the data folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from tinkbox.model.sizes import show_size

# Below so many free bytes what machines send to be kept is refused: a person cancels, deletes and is told in these.
LAST_ROOM: Final = 32 << 20
# A kind that takes a smaller part of the disk, or of what is to be kept free, makes no room: one in so many.
_SUBSTANTIAL: Final = 10
# So long people are told that history was deleted early.
TOLD_FOR: Final = timedelta(days=7)


class Stored(Enum):
    """A kind of what is stored: its name, what it is, and how a person makes it smaller; empty: it is needed as it is."""

    OUTPUT = "output", "what actions and services printed", "delete workflows, or lower retention.workflows"
    DATA = "data", "the ephemeral data of workflows", "delete workflows, or lower retention.workflows"
    WORKFLOWS = (
        "workflows",
        "workflows and rollouts, their attempts and events",
        "delete workflows, or lower retention.workflows",
    )
    RECORDINGS = "recordings", "recordings of shells", "delete workflows, or lower retention.workflows"
    TIMELINES = "timelines", "boot timelines, syslog and notes of machines", "delete hardware that is gone"
    DISCOVERED = "discovered", "unknown machines and their inventories", "accept or refuse unknown machines"
    DOCUMENTS = (
        "documents",
        "rule sets, policies, tasks, ConfigMaps and BMC documents",
        "delete those that nothing needs (`tinkbox document delete`)",
    )
    AUDIT = "audit", "lines that say who did what", "lower retention.audit"
    IMAGES = (
        "images",
        "images in the registry",
        "free what no image needs (`tinkbox image gc`), or delete images (`tinkbox image delete`)",
    )
    OSIE = "osie", "OSIEs that were built", ""

    def __init__(self, title: str, about: str, remedy: str) -> None:
        self.title = title
        self.about = about
        self.remedy = remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Bytes that one kind takes, about, and how many there are: workflows, machines, files, else rows of the database."""

    octets: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyDeletion:
    """Finished workflows that were deleted before their time, for lack of room: how many, and their bytes in the database.

    It began at `since`; the last went at `until`.
    """

    workflows: int
    octets: int
    since: datetime
    until: datetime

    def is_news(self, now: datetime) -> bool:
        """Whether people are still told of it."""
        return now - self.until < TOLD_FOR


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUsage:
    """Bytes: `free` of the disk, `keep_free` as the settings have it, the `database`'s file, and what each kind takes.

    A kind that was not measured yet is missing.  `total` is what files may take in all, 0 where no disk tells.
    """

    free: int
    keep_free: int
    database: int
    shares: Mapping[Stored, Share]
    total: int = 0
    early: EarlyDeletion | None = None

    @property
    def nearly_full(self) -> bool:
        """Whether history is deleted early, or what machines send is refused: on a small disk that may come first."""
        return self.free < self.keep_free or self.full

    @property
    def full(self) -> bool:
        """Whether what machines send to be kept is refused."""
        return self.free < LAST_ROOM

    @property
    def largest(self) -> tuple[Stored, ...]:
        """The kinds that take anything, the largest first."""
        there = [kind for kind, share in self.shares.items() if share.octets]
        return tuple(sorted(there, key=lambda kind: -self.shares[kind].octets))

    @property
    def ours(self) -> int:
        """Bytes that tinkbox has there, as far as they were measured."""
        return self.database + sum(each.octets for each in self.shares.values())

    @property
    def worth_deleting(self) -> tuple[Stored, ...]:
        """The kinds that a person can make smaller, the largest first; none where all of them together would give no room to speak of."""
        found = tuple(each for each in self.largest if each.remedy)
        octets = sum(self.shares[each].octets for each in found)
        wanted = max(self.keep_free, LAST_ROOM)
        enough = max(wanted - self.free, wanted // _SUBSTANTIAL)
        return found if octets >= enough or 0 < self._a_part <= octets else ()

    @property
    def is_of_others(self) -> bool:
        """Whether something else fills the disk: what tinkbox has there would not give what is short, or is needed beside much that is not its own."""
        if self.ours < max(self.keep_free, LAST_ROOM) - self.free:
            return True
        others = self.total - self.free - self.ours
        return self.nearly_full and not self.worth_deleting and 0 < self._a_part <= others

    @property
    def is_of_osies(self) -> bool:
        """Whether what is needed as it is fills the disk."""
        is_left = self.nearly_full and not self.worth_deleting and not self.is_of_others
        return is_left and self._a_part > 0 and self.largest[:1] == (Stored.OSIE,)

    @property
    def _a_part(self) -> int:
        return self.total // _SUBSTANTIAL

    def remedy(self, mount: str = "") -> str:
        """What to do where room is short, as half a sentence; empty where it is not known what takes it.

        `mount` is where the disk is mounted, as a shell has it; empty: the doctor is asked, who knows.
        """
        if self.is_of_others:
            what = (
                f"`du -xh {mount} | sort -h | tail` shows what" if mount else "`tinkbox doctor` says how to find what"
            )
            return f"something else fills it, for tinkbox has {show_size(self.ours)} there: {what}"
        if self.is_of_osies:
            return "OSIEs take most, and are needed: give the data folder a larger disk"
        most = self.worth_deleting[:1]
        beside = "beside OSIEs, " if self.largest[:1] != (*most,) else ""
        return f"{beside}{most[0].title} take most: {most[0].remedy}" if most else ""
