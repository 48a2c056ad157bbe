"""Why a folder of ours takes no write although it is there: its file system, room, inodes, quota, flags, rights.  Linux."""

import errno
import fcntl
import os
import resource
import shlex
import stat
import struct
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from tinkbox.disk_room import mounted_at
from tinkbox.host_users import user_name
from tinkbox.installed_unit import installed_unit, is_closed
from tinkbox.model.sizes import show_size
from tinkbox.model.write_fault import WriteFault

# With less, an error is one of room: SQLite tells so of some of its files.
LITTLE: Final = 1 << 20
_PAGE: Final = 4096
# ioctl_iflags(2): the number on 64 bit, and what chattr calls +i and +a.
_GET_FLAGS: Final = 0x80086601
_IMMUTABLE: Final = 0x10
_APPEND_ONLY: Final = 0x20


class Unwritable(NamedTuple):
    """What keeps something from being written; `text` says it to people, with the way out, and is empty where that cannot be seen."""

    fault: WriteFault
    text: str


_NOT_SEEN: Final = Unwritable(WriteFault.OTHER, "")


def why_unwritable(folder: Path, *files: Path) -> str:
    """The text of `unwritable`."""
    return unwritable(folder, *files).text


def unwritable(folder: Path, *files: Path) -> Unwritable:
    """What keeps a folder, or these files in it, from being written.  It blocks."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return _NOT_SEEN
    if disk.f_flag & os.ST_RDONLY:
        return _read_only(folder)
    flags = {each: _flags(each) for each in (folder, *files)}
    if fixed := [shlex.quote(str(each)) for each, set_ in flags.items() if set_ & _IMMUTABLE]:
        is_so = ("is", "it") if len(fixed) == 1 else ("are", "them")
        text = f"{' and '.join(fixed)} {is_so[0]} immutable: `chattr -i {' '.join(fixed)}` has {is_so[1]} take writes again"
        return Unwritable(WriteFault.OTHER, text)
    for each in [each for each, set_ in flags.items() if set_ & _APPEND_ONLY]:
        text = f"{each} takes additions alone: `chattr -a {each}` has it take writes again"
        return Unwritable(WriteFault.OTHER, text)
    if disk.f_bavail * disk.f_frsize < LITTLE:
        return Unwritable(WriteFault.FULL, no_room(folder, disk.f_bavail * disk.f_frsize))
    if disk.f_files and not disk.f_favail:
        return _no_inode(folder, disk.f_bavail * disk.f_frsize)
    found = _why(folder, _refusal(folder))
    return found if found.text else _file_size_limited()


def file_size_limit() -> int | None:
    """How many bytes a file that this process writes may have (getrlimit(2), RLIMIT_FSIZE); None: any number."""
    most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return None if most == resource.RLIM_INFINITY else most


def no_room(folder: Path, free: int | None) -> str:
    """What to say of a disk without room; `free` are the bytes that are left, if they are known."""
    left = "" if free is None else f"its disk has {show_size(free)} free; "
    return f"{left}free space where the data folder {folder} is (`df -h {folder}`)"


def _why(folder: Path, number: int) -> Unwritable:
    """What an error means that a small new file in the folder meets."""
    if number == errno.EDQUOT:
        me = user_name(os.geteuid())
        text = f"the disk quota of {me} is used up: `quota -s -u {me}` shows it; raise it, or delete what is not needed"
        return Unwritable(WriteFault.FULL, text)
    if number == errno.EROFS:
        return _read_only(folder)
    if number in (errno.EACCES, errno.EPERM):
        text = f"{user_name(os.geteuid())} may not write there: see whose it is, and its mode, with `ls -ld {folder}`"
        return Unwritable(WriteFault.OTHER, text)
    if number == errno.EIO:
        return failing(folder)
    return _NOT_SEEN


def _file_size_limited() -> Unwritable:
    """What to say where this process may write no large file; nothing where it may."""
    most = file_size_limit()
    if most is None:
        return _NOT_SEEN
    text = (
        f"no file that tinkbox writes may be larger than {show_size(most)} (`LimitFSIZE=` of its unit, or `ulimit -f` where it was started): "
        "take that limit away, and start tinkbox again"
    )
    return Unwritable(WriteFault.LIMITED, text)


def failing(folder: Path) -> Unwritable:
    """What to say of a disk that answers with errors."""
    text = f"its disk fails: look for its errors with `dmesg`, and copy {folder} to a sound disk"
    return Unwritable(WriteFault.FAILING, text)


def why_read_only(folder: Path) -> str:
    """What to say of a folder on a file system that is read-only for us: of its disk, or by the unit that runs us."""
    unit = installed_unit()
    if unit is not None and (closed := unit.closed([folder])):
        return is_closed(closed)
    place = mounted_at(folder)
    return (
        f"its file system, mounted at {place}, is read-only: `dmesg` tells whether the kernel made it so after an error of the disk; if "
        f"not, `mount -o remount,rw {place}` has it take writes again"
    )


def _read_only(folder: Path) -> Unwritable:
    return Unwritable(WriteFault.READ_ONLY, why_read_only(folder))


def _no_inode(folder: Path, free: int) -> Unwritable:
    return Unwritable(
        WriteFault.FULL,
        f"its file system has no inode left for another file, though {show_size(free)} are free (`df -i {folder}`): delete files there "
        f"that are small and many, which `du --inodes -x {mounted_at(folder)} | sort -n | tail` finds",
    )


def _refusal(folder: Path) -> int:
    """The number of the error that a new file meets there; 0: none.  It need not come to the disk: the caller waits."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(_PAGE))
    except OSError as error:
        return error.errno or 0
    return 0


def _flags(path: Path) -> int:
    try:
        if not stat.S_ISREG(path.lstat().st_mode) and not path.is_dir():
            return 0
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        return int(struct.unpack_from("I", fcntl.ioctl(opened, _GET_FLAGS, bytes(8)))[0])
    except OSError:  # a file system without them
        return 0
    finally:
        os.close(opened)
