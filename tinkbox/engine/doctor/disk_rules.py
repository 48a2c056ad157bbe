"""The doctor's rules about the disk of the appliance's data folder."""

from collections.abc import Iterator

from tinkbox.engine.doctor.case import Case, Finding, moment
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.disk_usage import LAST_ROOM, DiskUsage
from tinkbox.model.sizes import show_size


def disk_nearly_full(case: Case) -> Iterator[Finding]:
    """So little room that history is deleted early, or that machines cannot hand in what they did."""
    disk = case.disk
    if disk is None or not disk.nearly_full:
        return
    first = f" First {_remedy(disk)}." if disk.largest else ""
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"The disk of the data folder is {_how_full(disk)}.",
        evidence=(
            f"{moment(case.now)} retention.keep_free wants {show_size(disk.keep_free)} free",
            f"the database's file has {show_size(disk.database)}",
            *(f"{each.about}: {show_size(disk.shares[each].octets)}" for each in disk.largest),
        ),
        remedy=f"Free room on that disk.{first} If all of this is little, something else fills the disk.",
    )


def _how_full(disk: DiskUsage) -> str:
    free = f"{show_size(disk.free)} are free"
    if disk.full:
        return f"full: {free}, and machines cannot hand in output, data or images before {show_size(LAST_ROOM)} are"
    return f"nearly full: {free}"


def deleted_early(case: Case) -> Iterator[Finding]:
    """Finished workflows that were lately deleted before their time."""
    disk = case.disk
    if disk is None or disk.early is None:
        return
    early = disk.early
    most = f"; {disk.largest[0].title} take most now: {_remedy(disk)}" if disk.largest else ""
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"{early.workflows} finished workflows were deleted before their time, for lack of room.",
        evidence=(
            f"{moment(early.since)} to {moment(early.until)} they gave {show_size(early.octets)} of the database back",
            f"{show_size(disk.free)} are free now, and retention.keep_free wants {show_size(disk.keep_free)}",
        ),
        remedy=f"Give the data folder a larger disk, or lower retention.keep_free{most}.",
    )


def _remedy(disk: DiskUsage) -> str:
    return disk.largest[0].remedy
