"""Streams a disk image from a web server to a disk; see README.md for its variables."""

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from decompression import beginning, compression, decompressed
from disk import Disk, Stream
from download import Download
from failure import Failure, required, run
from image_start import LONGEST, refuse_other_formats, refuse_web_page
from sizes import MIB
from variables import flag, number


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
    retry = flag(environment, "RETRY_ENABLED")
    return Parameters(
        url=url,
        disk=Path(disk),
        compressed=flag(environment, "COMPRESSED"),
        sha256=sha256,
        size=number(environment, "IMG_SIZE") if environment.get("IMG_SIZE") else None,
        patience=60.0 * number(environment, "RETRY_DURATION_MINUTES", "10") if retry else 0.0,
        interval=float(number(environment, "PROGRESS_INTERVAL_SECONDS", "3")),
    )


def say(text: str) -> None:
    print(text, flush=True)


def main() -> None:
    wanted = parameters(os.environ)
    started = time.monotonic()
    disk = Disk(wanted.disk)
    try:
        download = Download(wanted.url, patience=wanted.patience, clock=time.monotonic, sleep=time.sleep, say=say)
        say(f"{wanted.url} goes to {wanted.disk} ({disk.capacity / MIB:.0f} MiB)")
        image = Stream(disk)
        copy(download, image, wanted)
        verify(download, image, wanted)
        image.finish()
        if kept := disk.announce():
            say(kept)
    finally:
        disk.close()
    proof = "its sha256 is the wanted one" if wanted.sha256 else f"sha256 {download.digest.hexdigest()}"
    say(
        f"{image.written} bytes written in {time.monotonic() - started:.1f} s from {download.received} downloaded, {proof}"
    )


def copy(download: Download, image: Stream, wanted: Parameters) -> None:
    """Everything that comes, decompressed, to the disk."""
    if wanted.size is not None:
        image.fits(wanted.size)
    start, chunks = beginning(download.chunks(), LONGEST)
    kind = compression(start)
    if start:
        as_it_comes = wanted.compressed is False
        refuse_web_page(wanted.url, download.content_type, kind, start, suffix_counts=not as_it_comes)
    if wanted.compressed is False:
        kind = ""
    elif wanted.compressed and not kind:
        raise Failure("ImageDamaged", "COMPRESSED is true, but the image is neither gzip, xz, zstd nor bzip2")
    if not kind and download.total is not None:
        image.fits(download.total)
    told = time.monotonic()
    raw, blocks = beginning(decompressed(kind, chunks), LONGEST)
    if wanted.compressed is not False:
        refuse_other_formats(raw)
    for block in blocks:
        image.write(block)
        if time.monotonic() - told >= wanted.interval:
            told = time.monotonic()
            say(progress(download, image))
    for _ in chunks:
        pass  # bytes behind the end of a compressed stream belong to the digest


def progress(download: Download, image: Stream) -> str:
    of = f" of {download.total / MIB:.1f}" if download.total is not None else ""
    part = f" ({100 * download.received // download.total} %)" if download.total else ""
    return f"{download.received / MIB:.1f}{of} MiB downloaded{part}, {image.written / MIB:.1f} MiB written"


def verify(download: Download, image: Stream, wanted: Parameters) -> None:
    """Refuse what is not the image that was asked for."""
    if wanted.sha256 and download.digest.hexdigest() != wanted.sha256:
        raise Failure(
            "ChecksumMismatch", f"{wanted.url} has sha256 {download.digest.hexdigest()}, wanted was {wanted.sha256}"
        )
    if wanted.size is not None and image.written != wanted.size:
        raise Failure("SizeMismatch", f"the image has {image.written} bytes, IMG_SIZE says {wanted.size}")
    if not image.written:
        raise Failure("ImageEmpty", f"{wanted.url} is empty")
    if not (download.end_is_certain or wanted.sha256 or wanted.size is not None):
        raise Failure(
            "SizeUnknown", "the server does not say how long the image is: set IMG_SHA256 or IMG_SIZE to verify it"
        )


if __name__ == "__main__":
    sys.exit(run(main))
