"""Writes that are refused, and why."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum, auto


class Unwritten(StrEnum):
    """What is not written, in words that follow "refused"."""

    DATABASE = "the database"
    DAMAGED = "the damaged database"  # its disk is not what refuses
    HANDED_IN = "what machines hand in"
    REGISTRY = "the registry"  # for want of a disk that takes it
    IMAGES = "images"  # for want of room that images may take


class WriteFault(Enum):
    """Why a write is refused, as far as it was seen."""

    LOCKED = auto()  # another program holds the file: the disk is sound
    READ_ONLY = auto()  # the file system
    FULL = auto()  # the disk, its inodes, or a quota
    FAILING = auto()  # the disk answers with an error of its own
    TOO_MUCH = auto()  # what a setting allows is used up, whatever the disk has
    LIMITED = auto()  # what the process itself may write
    OTHER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedWrite:
    """`what` is not written since `since`; `text` is the newest refusal, and `way_out` what it says to do, empty where that is not known."""

    since: datetime
    what: Unwritten
    text: str
    fault: WriteFault = WriteFault.OTHER
    way_out: str = ""
