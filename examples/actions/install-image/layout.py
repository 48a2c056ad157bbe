"""Decides what the disk will look like: which partition grows, where the seed goes, what the last table says."""

import hashlib
from dataclasses import dataclass

from failure import Failure
from gpt import Gpt, parse_gpt, sector_size
from mbr import parse_mbr
from partitions import MIB, NoPartitionFree, Partition, Table, TableDamaged
from sizes import size

SEED = 8 * MIB
# An MBR does not tell its sectors; BIOS, for which it is, knows no others.
_MBR_SECTOR = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A partition in bytes."""

    place: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """`table` is the one that is written, None for the image's own; `outdated` held the table at the image's end."""

    table: Table | None = None
    root: Area | None = None
    seed: Area | None = None
    outdated: Area | None = None
    notes: tuple[str, ...] = ()


def least_size(head: bytes, sector: int) -> int:
    """How many bytes an image that begins so has, by its partitions; 0 when it does not tell."""
    try:
        table = parse_gpt(head) or parse_mbr(head, sector, 1 << 60)
    except TableDamaged:
        table = None
    return max(((partition.last + 1) * table.sector for partition in table.partitions), default=0) if table else 0


def exact(head: bytes, image_size: int, capacity: int, sector: int) -> Layout:
    """The layout of the image itself.  Raises Failure with DiskTooSmall or WrongSectorSize."""
    made_for = sector_size(head) or (_MBR_SECTOR if _has_mbr(head) else sector)
    if made_for != sector:
        raise Failure(
            "WrongSectorSize",
            f"the image is made for disks with sectors of {made_for} bytes, this one has {sector}: "
            "use an image for such disks, or another disk",
        )
    if image_size > capacity:
        raise Failure("DiskTooSmall", f"the image needs {size(image_size)}, the disk has {size(capacity)}")
    return Layout()


def plan(
    head: bytes, image_size: int, capacity: int, sector: int, *, grow: bool, seed: str, identity: bytes = b""
) -> Layout:
    """The layout of a disk of `capacity` bytes for an image that begins with `head`.

    `seed` is the name of the seed partition, empty for none; `identity` makes its GUID.  Raises Failure with
    DiskTooSmall, WrongSectorSize, NoPartitionTable or NoPartitionFree.
    """
    exact(head, image_size, capacity, sector)
    try:
        table = _table(head, image_size, sector)
    except TableDamaged as damage:
        if seed:
            raise Failure("NoPartitionTable", f"the image has no room for a seed: {damage}: set SEED=none") from None
        return Layout(notes=(f"the partition table stays as it is: {damage}",))
    if table is None:
        if seed:
            raise Failure(
                "NoPartitionTable", "the image has no partition table, so it cannot get a seed: set SEED=none"
            )
        return Layout(notes=("the image has no partition table: nothing grows",) if grow else ())
    fitted = table.fitted(capacity // sector)
    over = max((partition.last for partition in table.partitions), default=0) + 1 - fitted.end
    if isinstance(fitted, Gpt) and over > 0:
        raise Failure(
            "DiskTooSmall",
            f"the image needs {size(image_size)} and {over} sectors for the second partition table, "
            f"the disk has {size(capacity)}",
        )
    outdated = _outdated(table, image_size, capacity)
    changed, area, notes = fitted, None, []
    end = fitted.end
    if seed:
        first, last = _room(fitted, sector, capacity, image_size)
        try:
            name = hashlib.sha256(identity + head).digest()
            changed = changed.with_seed(first, last, seed, name)
        except NoPartitionFree as full:
            raise Failure("NoPartitionFree", f"the image cannot get a seed: {full}: set SEED=none") from None
        area = Area(place=first * sector, length=(last + 1 - first) * sector)
        end = min(end, first) if first > _last(table).last else end
    root = None
    if grow:
        changed, root, note = _grown(changed, _last(table), end)
        notes = [note] if note else []
    if isinstance(changed, Gpt) or changed != fitted:
        return Layout(table=changed, root=root, seed=area, outdated=outdated, notes=tuple(notes))
    return Layout(notes=tuple(notes))


def _table(head: bytes, image_size: int, sector: int) -> Table | None:
    gpt = parse_gpt(head)
    if gpt is None:
        return parse_mbr(head, sector, image_size // sector)
    if gpt.partitions and max(one.last for one in gpt.partitions) >= image_size // sector:
        raise TableDamaged("its GPT has partitions behind the end of the image")
    return gpt


def _has_mbr(head: bytes) -> bool:
    try:
        return parse_mbr(head, _MBR_SECTOR, 1 << 60) is not None
    except TableDamaged:
        return True


def _last(table: Table) -> Partition:
    return max(table.partitions, key=lambda partition: partition.last, default=Partition(number=0, first=0, last=0))


def _outdated(table: Table, image_size: int, capacity: int) -> Area | None:
    """Where the image has its second table, which the disk has elsewhere; None when partitions lie there."""
    if not isinstance(table, Gpt) or image_size == capacity:
        return None
    start = image_size - len(table.tail())
    if start < (_last(table).last + 1) * table.sector:
        return None
    return Area(place=start, length=image_size - start)


def _room(table: Table, sector: int, capacity: int, image_size: int) -> tuple[int, int]:
    """The last place for the seed between partitions or behind them, on whole mebibytes."""
    step, wanted = MIB // sector, SEED // sector
    ends = table.end
    for partition in sorted(table.partitions, key=lambda one: one.last, reverse=True):
        first = (ends - wanted) // step * step
        if first > partition.last:
            return first, first + wanted - 1
        ends = min(ends, partition.first)
    first = (ends - wanted) // step * step
    if first >= max(table.first_free, step):
        return first, first + wanted - 1
    raise Failure(
        "DiskTooSmall",
        f"the image needs {size(image_size)} and {size(SEED)} for its seed, the disk has {size(capacity)}: "
        "use a larger disk, or set SEED=none",
    )


def _grown(table: Table, root: Partition, end: int) -> tuple[Table, Area | None, str]:
    """The partition up to the sector `end`; what grew, or why nothing did."""
    if not root.number:
        return table, None, "the image has no partition that could grow"
    if root.fixed:
        return table, None, f"partition {root.number}, the last on the disk, does not grow: {root.fixed}"
    step = MIB // table.sector
    last = end // step * step - 1
    if last <= root.last:
        return table, None, ""
    area = Area(place=root.first * table.sector, length=(last + 1 - root.first) * table.sector)
    return table.grown(root.number, last), area, ""
