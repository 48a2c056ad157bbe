"""The doctor's rules about the disk of the appliance's data folder."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Final

from tinkbox.engine.doctor.case import Case, Duty, Finding, Stops, moment
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.disk_usage import LAST_ROOM, DiskUsage
from tinkbox.model.sizes import show_size
from tinkbox.model.text import counted
from tinkbox.model.workflow import State
from tinkbox.model.write_fault import RefusedWrite, Unwritten, WriteFault

# With fewer inodes, or a smaller share of all, there is soon no new file.
_FEW_INODES: Final = 1024
_FEW_SHARE: Final = 20
# The refusal may say more. As evidence not every reader of the remedy sees it.
_AS_REFUSED: Final = "Do what the refusal says: {refusal}."
# What is wrong, as the beginning of a sentence, and what to do where no way out was seen: `{refusal}` is what was said.
_REFUSED: Final[Mapping[WriteFault, tuple[str, str]]] = {
    WriteFault.LOCKED: (
        "Another program has locked the appliance's database, so that nothing can be written",
        f"End that program, such as `sqlite3` or a backup of the file. The disk is not to blame. {_AS_REFUSED}",
    ),
    WriteFault.READ_ONLY: (
        "The file system that the appliance writes to is read-only",
        (
            "`dmesg | grep -i error` tells whether the kernel made it so after an error of the disk: then look after the disk. Else do what "
            "the refusal says: {refusal}."
        ),
    ),
    WriteFault.FULL: (
        "The file system that the appliance writes to is full",
        f"{_AS_REFUSED} `df -h` and `df -i` show how full the file system is.",
    ),
    WriteFault.FAILING: (
        "The disk that the appliance writes to answers with errors",
        f"`dmesg | grep -i error` shows them. {_AS_REFUSED}",
    ),
    WriteFault.LIMITED: (
        "A limit of tinkbox's own process refuses writes",
        f"{_AS_REFUSED} The disk is not to blame.",
    ),
    WriteFault.TOO_MUCH: ("The registry has no room for more images", _AS_REFUSED),
    WriteFault.OTHER: (
        "The appliance cannot write",
        f"{_AS_REFUSED} `df -h`, `df -i` and `dmesg | grep -i error` show more of its disk.",
    ),
}
# What is lost of each kind, as the end of a sentence, and what to do once writes are taken again.
_LOST: Final[Mapping[Unwritten, tuple[str, str]]] = {
    Unwritten.DATABASE: (
        "what machines and people send is not kept",
        "Workers send again on their own what was refused; type a refused command again.",
    ),
    Unwritten.HANDED_IN: (
        "what machines hand in is not kept",
        "Workers hand it in again on their own; push an image again.",
    ),
    Unwritten.REGISTRY: (
        "images that are pushed, loaded or fetched are refused",
        "Afterwards push or load the image again.",
    ),
    Unwritten.IMAGES: (
        "images that are pushed, loaded or fetched are refused",
        "Afterwards push or load the image again.",
    ),
}
# Without these a machine cannot go on, whatever becomes of images.
_KEPT: Final = (Unwritten.DATABASE, Unwritten.HANDED_IN)
_HANDS_IN = frozenset({State.RUNNING, State.LEAVING, State.HELD})


_NOT_THE_DISK: Final = (WriteFault.LOCKED, WriteFault.LIMITED)
_LARGEST_FILE: Final = 16 << 30  # an image of a system, with room


def disk_nearly_full(case: Case) -> Iterator[Finding]:
    """So little room that history is deleted early, or that machines cannot hand in what they did."""
    yield from _few_inodes(case)
    disk = case.disk
    if disk is None or not disk.nearly_full:
        return
    other = "" if disk.is_of_others or disk.is_of_osies else " If all of this is little, something else fills the disk."
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"The disk of the data folder is {_how_full(disk)}.",
        evidence=(
            f"{moment(case.now)} retention.keep_free wants {show_size(disk.keep_free)} free",
            f"the database's file has {show_size(disk.database)}",
            *(f"{each.about}: {show_size(disk.shares[each].octets)}" for each in disk.largest),
        ),
        remedy=f"Free room on that disk.{_room(case, disk)}{other}",
    )


def _few_inodes(case: Case) -> Iterator[Finding]:
    """So few inodes that there is soon no new file, however many bytes are free."""
    inodes = case.vitals.inodes if case.vitals else None
    if inodes is None or inodes.free >= min(_FEW_INODES, inodes.total // _FEW_SHARE):
        return
    free = f", though {show_size(case.disk.free)} are free" if case.disk is not None else ""
    left = f"has {counted(inodes.free, 'inode')} left" if inodes.free else "has no inode left"
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"The file system of the data folder {left}{free}: each new file takes one.",
        evidence=(f"{moment(case.now)} {inodes.free} of {inodes.total} inodes are free",),
        remedy=f"Delete files there that are small and many, which `du --inodes -x {_mount(case)} | sort -n | tail` "
        "finds. Or move the data folder to a file system with more inodes.",
        subject="inodes",
    )


def _mount(case: Case) -> str:
    return shlex.quote(case.vitals.data_mount) if case.vitals is not None else "/"


def _how_full(disk: DiskUsage) -> str:
    free = f"{show_size(disk.free)} are free"
    if disk.full:
        return f"full: {free}, and machines cannot hand in output, data or images before {show_size(LAST_ROOM)} are"
    return f"nearly full: {free}"


def write_refused(case: Case) -> Iterator[Finding]:
    """Something could not be written, whatever kept it from that, and cannot since; each kind by itself, since one hides no other."""
    for each in case.vitals.refused_writes if case.vitals is not None else ():
        yield _refused(case, each)


def _refused(case: Case, write: RefusedWrite) -> Finding:
    disk = case.disk
    why, remedy = _REFUSED[write.fault]
    remedy = remedy.format(refusal=write.text.rstrip("."))
    if write.way_out:
        sound = " The disk is not to blame." if write.fault in _NOT_THE_DISK else ""
        remedy = f"{_sentence(write.way_out)}{sound}"
    lost, again = _LOST[write.what]
    is_short = write.fault in (WriteFault.FULL, WriteFault.OTHER) and disk is not None and disk.nearly_full
    room = _room(case, disk) if is_short and disk is not None else ""
    return Finding(
        gravity=Gravity.FAULT,
        cause=f"{why} since {write.since:%H:%M:%S} UTC: {lost}.",
        evidence=(f"{moment(write.since)} refused for the first time: {write.text}",),
        remedy=f"{remedy}{room} {again}",
        subject=str(write.what),
        stops=Stops(duties=frozenset({Duty.STORE}), since=write.since) if write.what in _KEPT else None,
    )


def _sentence(way_out: str) -> str:
    begin = way_out[:1] if way_out.startswith(("`", "/")) else way_out[:1].upper()
    return f"{begin}{way_out[1:]}."


def file_size_limited(case: Case) -> Iterator[Finding]:
    """A limit of the process that ends what it writes, whatever room the disk has."""
    most = case.vitals.file_size_limit if case.vitals else None
    if most is None:
        return
    yield Finding(
        gravity=Gravity.FAULT if most < _LARGEST_FILE else Gravity.SUSPECT,
        cause=f"No file that tinkbox writes may be larger than {show_size(most)}: images and the database end there.",
        evidence=(f"{moment(case.now)} `Max file size` in /proc/PID/limits of its process is {most}",),
        remedy="Take that limit away: `LimitFSIZE=` of its unit (`systemctl edit tinkbox`), or `ulimit -f` where it was started. Then start it again.",
    )


def output_not_kept(case: Case) -> Iterator[Finding]:
    """A running action of which the appliance cannot keep what it prints and hands in; told of a workflow that is looked at."""
    work = case.work
    if work is None or work.unkept is None or work.action_state not in _HANDS_IN:
        return
    since, why = work.unkept
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"What action {work.action} prints and hands in is not kept: the appliance cannot write it since {since:%H:%M:%S} UTC.",
        evidence=(f"{moment(since)} refused for the first time: {why}",),
        remedy="Mend that on the appliance; the worker holds it and hands it in again by itself. `tinkbox doctor` tells more of the appliance.",
    )


def deleted_early(case: Case) -> Iterator[Finding]:
    """Finished workflows that were lately deleted before their time."""
    disk = case.disk
    if disk is None or disk.early is None:
        return
    early = disk.early
    to_do = f"; {remedy}" if (remedy := disk.remedy(_mount(case))) else ""
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"{early.workflows} finished workflows were deleted before their time, for lack of room.",
        evidence=(
            f"{moment(early.since)} to {moment(early.until)} they gave {show_size(early.octets)} of the database back",
            f"{show_size(disk.free)} are free now, and retention.keep_free wants {show_size(disk.keep_free)}",
        ),
        remedy=f"Give the data folder a larger disk, or lower retention.keep_free{to_do}.",
    )


def _room(case: Case, disk: DiskUsage) -> str:
    """What makes room, as a sentence behind another; empty where it is not known what takes it."""
    remedy = disk.remedy(_mount(case))
    return f" {remedy[:1].upper()}{remedy[1:]}." if remedy else ""
