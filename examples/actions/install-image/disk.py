"""The disk that an action writes: a block device, or a file that stands for one."""

import contextlib
import errno
import fcntl
import mmap
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

from failure import Failure
from sizes import MIB

# The part of the disk that is written last: until then its place holds zeros, so that a disk which got half
# an image, or a wrong one, does not boot.
HEAD = MIB
RUN = 64 * 1024
# <linux/fs.h>
_BLKRRPART, _BLKSSZGET, _BLKZEROOUT = 0x125F, 0x1268, 0x127F
_ZEROED_AT_ONCE = 256 * MIB


class Disk:
    """`capacity` is in bytes, `sector` is the size of a logical sector.

    Raises Failure with DiskNotFound, DiskBusy (mounted, or in use by RAID or LVM) or DiskUnusable.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_device = False
        self._descriptor = self._opened()
        self.capacity = os.lseek(self._descriptor, 0, os.SEEK_END)
        self.sector = self._sector()
        self.zeroes_quickly = not self.is_device or self._device_zeroes()

    def _opened(self) -> int:
        path = self.path
        try:
            mode = path.stat().st_mode
            self.is_device = stat.S_ISBLK(mode)
            if not (self.is_device or stat.S_ISREG(mode)):
                raise Failure("DiskNotFound", f"{path} is no disk")
            # On a block device O_EXCL means: not while it is mounted.
            return os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_EXCL if self.is_device else 0))
        except OSError as error:
            reason = {errno.ENOENT: "DiskNotFound", errno.EBUSY: "DiskBusy"}.get(error.errno or 0, "DiskUnusable")
            hint = ": it is mounted, or a part of a RAID or of LVM" if reason == "DiskBusy" else ""
            raise Failure(reason, f"cannot open {path} for writing: {error.strerror}{hint}") from None

    @property
    def is_partition(self) -> bool:
        return self.is_device and (self._sysfs() / "partition").exists()

    def write(self, data: bytes | memoryview, place: int) -> None:
        """Raises Failure with WriteFailed, which names the place."""
        view = memoryview(data)
        try:
            while view:
                done = os.pwrite(self._descriptor, view, place)
                view, place = view[done:], place + done
        except OSError as error:
            raise self._failed(place, error) from None

    def write_sparsely(self, data: bytes | memoryview, place: int) -> None:
        """Write; long runs of zeros are left to the device where that is quicker."""
        if not self.zeroes_quickly:
            self.write(data, place)
            return
        view = memoryview(data)
        for start, end, zeros in runs(view):
            if zeros:
                self.zero(place + start, end - start)
            else:
                self.write(view[start:end], place + start)

    def zero(self, place: int, length: int) -> None:
        """From now on this range reads as zeros."""
        end = place + length
        try:
            if not self.is_device:
                self._zero_file(place, end)
                return
            start, stop = -(-place // self.sector) * self.sector, end // self.sector * self.sector
            if start >= stop:
                self.write(bytes(length), place)
                return
            self.write(bytes(start - place), place)
            while start < stop:
                part = min(_ZEROED_AT_ONCE, stop - start)
                fcntl.ioctl(self._descriptor, _BLKZEROOUT, struct.pack("=QQ", start, part))
                start += part
            self.write(bytes(end - stop), stop)
        except OSError as error:
            raise self._failed(place, error) from None

    def read(self, place: int, length: int) -> bytes:
        """Raises Failure with ReadFailed; what lies behind the end of the disk is missing from the answer."""
        parts = []
        try:
            while length and (part := os.pread(self._descriptor, length, place)):
                parts.append(part)
                place, length = place + len(part), length - len(part)
        except OSError as error:
            raise Failure(
                "ReadFailed", f"{self.path}, byte {place}: {error.strerror}: the disk may be faulty"
            ) from None
        return b"".join(parts)

    def sync(self) -> None:
        """Return when all that was written is on the disk."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise Failure("WriteFailed", f"{self.path}: {error.strerror}: the disk may be faulty") from None

    @contextlib.contextmanager
    def read_back(self) -> Iterator["Reader"]:
        """Reads what the disk holds, not what the kernel remembers of it."""
        self.sync()
        os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        reader = Reader(self)
        try:
            yield reader
        finally:
            reader.close()

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Within the block another program can open it for itself alone."""
        self.sync()
        os.close(self._descriptor)
        try:
            yield
        finally:
            self._descriptor = self._opened()

    def announce(self) -> str:
        """Have the kernel read the partition table; returns why it keeps the old one, else nothing."""
        try:
            fcntl.ioctl(self._descriptor, _BLKRRPART)
        except OSError as error:
            if error.errno not in {errno.ENOTTY, errno.EINVAL}:  # a file, or a partition
                return f"the kernel keeps the old partition table of {self.path}: {error.strerror}"
        return ""

    def close(self) -> None:
        os.close(self._descriptor)

    def _failed(self, place: int, error: OSError) -> Failure:
        return Failure("WriteFailed", f"{self.path}, byte {place}: {error.strerror}: the disk may be faulty")

    def _zero_file(self, place: int, end: int) -> None:
        """Holes stay holes."""
        while place < end:
            try:
                start = os.lseek(self._descriptor, place, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                return
            stop = min(end, os.lseek(self._descriptor, start, os.SEEK_HOLE))
            place = start
            while place < stop:
                part = min(stop - place, 4 * MIB)
                self.write(bytes(part), place)
                place += part

    def _sysfs(self) -> Path:
        number = os.fstat(self._descriptor).st_rdev
        return Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")

    def _sector(self) -> int:
        if not self.is_device:
            return 512
        return int(struct.unpack("=i", fcntl.ioctl(self._descriptor, _BLKSSZGET, bytes(4)))[0])

    def _device_zeroes(self) -> bool:
        folder = self._sysfs()
        for queue in (folder / "queue", folder.resolve().parent / "queue"):
            with contextlib.suppress(OSError, ValueError):
                return int((queue / "write_zeroes_max_bytes").read_text()) > 0
        return False


class Reader:
    """A second way to a disk, past the kernel's memory where the disk lets us."""

    ALIGNMENT = 4096

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._direct: int | None = None
        with contextlib.suppress(OSError):
            self._direct = os.open(disk.path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT)

    def read(self, place: int, length: int) -> bytes:
        """`place` is aligned; what lies behind the end of the disk is missing from the answer."""
        if self._direct is None or place % self.ALIGNMENT:
            return self._disk.read(place, length)
        rounded = -(-length // self.ALIGNMENT) * self.ALIGNMENT
        with mmap.mmap(-1, rounded) as buffer:
            done = 0
            try:
                while done < length:
                    with memoryview(buffer) as whole, whole[done:] as rest:
                        part = os.preadv(self._direct, [rest], place + done)
                    if not part:
                        break
                    done += part
                    if done % self.ALIGNMENT:  # the end of the disk
                        break
            except OSError as error:
                if error.errno == errno.EINVAL:
                    return self._disk.read(place, length)
                raise Failure(
                    "ReadFailed", f"{self._disk.path}, byte {place + done}: {error.strerror}: the disk may be faulty"
                ) from None
            return buffer[: min(done, length)]

    def close(self) -> None:
        if self._direct is not None:
            os.close(self._direct)


def runs(data: memoryview) -> Iterator[tuple[int, int, bool]]:
    """`data` in pieces `(start, end, whether all of it is zeros)`, zeros in whole runs of 64 KiB."""
    start, kind = 0, None
    for place in range(0, len(data), RUN):
        part = data[place : place + RUN]
        zeros = len(part) == RUN and part == _ZEROS
        if kind is not None and zeros != kind:
            yield start, place, kind
            start = place
        kind = zeros
    if kind is not None:
        yield start, len(data), kind


_ZEROS = bytes(RUN)
