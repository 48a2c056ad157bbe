"""Streams a disk image from a web server to a disk; see README.md for its variables."""

import errno
import fcntl
import os
import stat
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from decompression import BLOCK, decompressed, peek
from download import Download
from failure import Failure, required, run

MIB = 1 << 20
BLKRRPART = 0x125F  # <linux/fs.h>: read the partition table again


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """`compressed` is None when the image itself shall tell; `patience` and `interval` are in seconds."""

    url: str
    disk: Path
    compressed: bool | None
    sha256: str
    size: int | None
    patience: float
    interval: float


def parameters(environment: Mapping[str, str]) -> Parameters:
    """Read the action's environment; raises Failure."""
    url, disk = required(dict(environment), "IMG_URL", "DEST_DISK")
    sha256 = environment.get("IMG_SHA256", "").lower().removeprefix("sha256:")
    if sha256 and (len(sha256) != 64 or set(sha256) - set("0123456789abcdef")):
        raise Failure("InvalidParameter", f"IMG_SHA256 is no sha256 digest of 64 hexadecimal digits: {sha256}")
    retry = _flag(environment, "RETRY_ENABLED")
    return Parameters(
        url=url,
        disk=Path(disk),
        compressed=_flag(environment, "COMPRESSED"),
        sha256=sha256,
        size=_number(environment, "IMG_SIZE") if environment.get("IMG_SIZE") else None,
        patience=60.0 * _number(environment, "RETRY_DURATION_MINUTES", "10") if retry else 0.0,
        interval=float(_number(environment, "PROGRESS_INTERVAL_SECONDS", "3")),
    )


def _flag(environment: Mapping[str, str], name: str) -> bool | None:
    text = environment.get(name, "").lower()
    if text not in {"", "true", "false", "1", "0"}:
        raise Failure("InvalidParameter", f"{name} is true or false, not {text!r}")
    return text in {"true", "1"} if text else None


def _number(environment: Mapping[str, str], name: str, default: str = "") -> int:
    text = environment.get(name) or default
    if not text.isdecimal():
        raise Failure("InvalidParameter", f"{name} is a whole number, not {text!r}")
    return int(text)


class Disk:
    """Where the image goes: a block device, or a file that stands for one.

    The first block is written last.  Until then its place holds zeros, so that a disk which got half an
    image, or a wrong one, does not boot.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            mode = path.stat().st_mode
            if not (stat.S_ISBLK(mode) or stat.S_ISREG(mode)):
                raise Failure("DiskNotFound", f"{path} is no disk")
            # On a block device O_EXCL means: not while it is mounted.
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | (os.O_EXCL if stat.S_ISBLK(mode) else 0))
        except OSError as error:
            reason = {errno.ENOENT: "DiskNotFound", errno.EBUSY: "DiskBusy"}.get(error.errno or 0, "DiskUnusable")
            raise Failure(reason, f"cannot open {path} for writing: {error.strerror}") from None
        self.capacity = os.lseek(self._descriptor, 0, os.SEEK_END)
        self.written = 0
        self._first = b""

    def fits(self, size: int) -> None:
        """Raises Failure when an image of `size` bytes is too large."""
        if size > self.capacity:
            raise Failure("ImageTooLarge", f"the image has {size} bytes or more, {self._path} has {self.capacity}")

    def write(self, data: bytes) -> None:
        self.fits(self.written + len(data))
        if self.written == 0:
            self._put(b"\0" * min(BLOCK, self.capacity), 0)
        missing = BLOCK - len(self._first)
        self._first += data[:missing]
        if len(data) > missing:
            self._put(data[missing:], self.written + missing)
        self.written += len(data)

    def finish(self) -> None:
        """Put the first block in its place, and return when all of it is on the disk."""
        try:
            os.fsync(self._descriptor)
            self._put(self._first, 0)
            os.fsync(self._descriptor)
        except OSError as error:
            raise Failure("WriteFailed", f"{self._path}: {error.strerror}") from None
        try:
            fcntl.ioctl(self._descriptor, BLKRRPART)
        except OSError as error:
            if error.errno != errno.ENOTTY:  # a file has no partitions
                print(f"the kernel keeps the old partition table of {self._path}: {error.strerror}", flush=True)

    def close(self) -> None:
        os.close(self._descriptor)

    def _put(self, data: bytes, place: int) -> None:
        view = memoryview(data)
        try:
            while view:
                done = os.pwrite(self._descriptor, view, place)
                view, place = view[done:], place + done
        except OSError as error:
            raise Failure("WriteFailed", f"{self._path}, byte {place}: {error.strerror}") from None


def say(text: str) -> None:
    print(text, flush=True)


def main() -> None:
    wanted = parameters(os.environ)
    started = time.monotonic()
    disk = Disk(wanted.disk)
    try:
        download = Download(wanted.url, patience=wanted.patience, clock=time.monotonic, sleep=time.sleep, say=say)
        say(f"{wanted.url} goes to {wanted.disk} ({disk.capacity / MIB:.0f} MiB)")
        copy(download, disk, wanted)
        verify(download, disk, wanted)
        disk.finish()
    finally:
        disk.close()
    proof = "its sha256 is the wanted one" if wanted.sha256 else f"sha256 {download.digest.hexdigest()}"
    say(
        f"{disk.written} bytes written in {time.monotonic() - started:.1f} s from {download.received} downloaded, {proof}"
    )


def copy(download: Download, disk: Disk, wanted: Parameters) -> None:
    """Everything that comes, decompressed, to the disk."""
    if wanted.size is not None:
        disk.fits(wanted.size)
    kind, chunks = peek(download.chunks())
    if wanted.compressed is False:
        kind = ""
    elif wanted.compressed and not kind:
        raise Failure("ImageDamaged", "COMPRESSED is true, but the image is neither gzip, xz, zstd nor bzip2")
    if not kind and download.total is not None:
        disk.fits(download.total)
    told = time.monotonic()
    for block in decompressed(kind, chunks):
        disk.write(block)
        if time.monotonic() - told >= wanted.interval:
            told = time.monotonic()
            say(progress(download, disk))
    for _ in chunks:
        pass  # bytes behind the end of a compressed stream belong to the digest


def progress(download: Download, disk: Disk) -> str:
    of = f" of {download.total / MIB:.1f}" if download.total is not None else ""
    part = f" ({100 * download.received // download.total} %)" if download.total else ""
    return f"{download.received / MIB:.1f}{of} MiB downloaded{part}, {disk.written / MIB:.1f} MiB written"


def verify(download: Download, disk: Disk, wanted: Parameters) -> None:
    """Refuse what is not the image that was asked for."""
    if wanted.sha256 and download.digest.hexdigest() != wanted.sha256:
        raise Failure(
            "ChecksumMismatch", f"{wanted.url} has sha256 {download.digest.hexdigest()}, wanted was {wanted.sha256}"
        )
    if wanted.size is not None and disk.written != wanted.size:
        raise Failure("SizeMismatch", f"the image has {disk.written} bytes, IMG_SIZE says {wanted.size}")
    if not disk.written:
        raise Failure("ImageEmpty", f"{wanted.url} is empty")
    if not (download.end_is_certain or wanted.sha256 or wanted.size is not None):
        raise Failure(
            "SizeUnknown", "the server does not say how long the image is: set IMG_SHA256 or IMG_SIZE to verify it"
        )


if __name__ == "__main__":
    sys.exit(run(main))
