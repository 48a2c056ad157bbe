"""What the two kinds of partition tables have in common."""

from dataclasses import dataclass
from typing import Protocol

MIB = 1 << 20


class TableDamaged(Exception):
    """The partition table cannot be used; the text says why."""


class NoPartitionFree(Exception):
    """The table has no entry left for another partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """`first` and `last` are sectors, the last one included; `fixed` says why it cannot grow, if it cannot."""

    number: int
    first: int
    last: int
    fixed: str = ""


class Table(Protocol):
    """A table as a value: each change gives another one.  `sector` is the size of a sector in bytes."""

    @property
    def sector(self) -> int: ...

    @property
    def partitions(self) -> tuple[Partition, ...]: ...

    @property
    def first_free(self) -> int:
        """The first sector behind the table."""
        ...

    @property
    def end(self) -> int:
        """The sector behind the last one that a partition may have."""
        ...

    def fitted(self, sectors: int) -> "Table":
        """For a disk with so many sectors."""
        ...

    def grown(self, number: int, last: int) -> "Table":
        """With that partition ending at another sector."""
        ...

    def with_seed(self, first: int, last: int, name: str, identity: bytes) -> "Table":
        """With one more partition, for FAT; raises NoPartitionFree."""
        ...

    def head(self, head: bytes) -> bytes:
        """The first bytes of the disk with this table in them."""
        ...

    def tail(self) -> bytes:
        """What belongs at the very end of the disk."""
        ...
