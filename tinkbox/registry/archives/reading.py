"""Image archives on their way in: what `docker save` writes, and OCI layouts in a tar, plain, gzip or xz.

The stream is spooled to the disk, because a tar's table of contents comes last, and everything in it is
checked before anything is kept.  Layers stay as they are, compressed or not.
"""

import asyncio
import gzip
import lzma
import posixpath
import tarfile
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.registry.archives.layouts import Images, read_images
from tinkbox.registry.blobs.blobs import PIECE, Staged

MAX_ARCHIVE = 64 << 30
MAX_MEMBERS = 100_000
MAGIC = 6
_OPENERS: Mapping[bytes, Callable[[Path], Any]] = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open}
_ZSTD = b"\x28\xb5\x2f\xfd"
_DAMAGE = (
    tarfile.TarError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
    RecursionError,
    ValueError,
    KeyError,
)
_ADVICE = "expected what `docker save` or `skopeo copy` to docker-archive: or oci-archive: writes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """Everything an archive holds, checked; its blobs are on the disk, but nowhere to be seen yet."""

    blobs: tuple[Staged, ...]
    images: Images


def _nothing_here(_: str) -> None:
    return None


def _nobody(_: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The registry that an archive is for.

    `size_here` tells the bytes of a blob that is kept already, which an archive may lack, None for others; `is_own` tells whether
    a host in an image's name is this registry.
    """

    size_here: Callable[[str], int | None] = _nothing_here
    is_own: Callable[[str], bool] = _nobody


@asynccontextmanager
async def unpack(
    stream: AsyncIterator[bytes], stage: Callable[[], Staged], target: Target = Target(), name: str = ""
) -> AsyncIterator[Archive]:
    """Read and check an archive; whatever the caller does not keep is gone afterwards.

    `name` is as for `layouts.read_images`.
    Raises Invalid in one line; TooLarge; Unavailable when the disk is full.
    """
    staged: list[Staged] = []

    def tracked() -> Staged:
        staged.append(stage())
        return staged[-1]

    try:
        spool = tracked()
        async for piece in _pieces(stream):
            if spool.size + len(piece) > MAX_ARCHIVE:
                raise TooLarge(f"an image archive may have {MAX_ARCHIVE >> 30} GiB at most")
            await asyncio.to_thread(spool.write, piece)
        yield await asyncio.to_thread(_read, spool, tracked, target, name)
    finally:
        for each in staged:
            each.discard()


async def _pieces(stream: AsyncIterator[bytes]) -> AsyncIterator[bytearray]:
    """The same bytes in pieces large enough to be worth a thread each."""
    pending = bytearray()
    async for chunk in stream:
        pending += chunk
        if len(pending) >= PIECE:
            yield pending
            pending = bytearray()
    yield pending


def _read(spool: Staged, stage: Callable[[], Staged], target: Target, name: str) -> Archive:
    if spool.size == 0:
        raise Invalid(f"the image archive is empty: {_ADVICE}")
    try:
        with _plain(spool, stage).open("rb") as file, tarfile.open(fileobj=file, mode="r:") as tar:
            contents = Contents(tar, stage, target.size_here)
            images = read_images(contents, target.is_own, name)
            return Archive(blobs=tuple(contents.blobs.values()), images=images)
    except _DAMAGE as error:
        reason = _reason(error)
        raise Invalid(f"the image archive is damaged or is none ({reason}): {_ADVICE}") from None


def _reason(error: Exception) -> str:
    """Why an archive cannot be read, in words that are not Python's."""
    if isinstance(error, gzip.BadGzipFile | zlib.error):
        return "its gzip stream is damaged, or something else follows it"
    told = isinstance(error, tarfile.TarError | EOFError | lzma.LZMAError)
    return (" ".join(str(error).split())[:200] if told else "") or "what it says of its files makes no sense"


def _plain(spool: Staged, stage: Callable[[], Staged]) -> Path:
    """The archive's file, decompressed when it has to be."""
    with spool.path.open("rb") as file:
        start = file.read(MAGIC)
    if start.startswith(_ZSTD):
        raise Invalid(
            "the image archive is compressed with zstd: `tinkbox image load` takes that, or decompress it (zstd -d)"
        )
    for magic, opener in _OPENERS.items():
        if start.startswith(magic):
            plain = stage()
            with opener(spool.path) as content:
                _copy(content, plain)
            return plain.path
    return spool.path


def _copy(content: IO[bytes], target: Staged) -> None:
    while piece := content.read(PIECE):
        if target.size + len(piece) > MAX_ARCHIVE:
            raise TooLarge(f"an image archive may have {MAX_ARCHIVE >> 30} GiB at most when decompressed")
        target.write(piece)


class Contents:
    """The files in the archive, by name."""

    def __init__(
        self, tar: tarfile.TarFile, stage: Callable[[], Staged], size_here: Callable[[str], int | None]
    ) -> None:
        self._tar = tar
        self._stage = stage
        self.size_here = size_here
        self._members: dict[str, tarfile.TarInfo] = {}
        for count, member in enumerate(tar):
            if count == MAX_MEMBERS:
                raise Invalid(f"the image archive has more than {MAX_MEMBERS} files")
            self._members[posixpath.normpath(member.name)] = member
        self.blobs: dict[str, Staged] = {}
        self._extracted: dict[str, Staged] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str, limit: int) -> bytes:
        """A small file; raises Invalid when it is missing or larger than `limit`."""
        with self._open(name) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise Invalid(f"the image archive's {name[:100]} has more than {limit} bytes")
        return content

    def extract(self, name: str) -> Staged:
        """Make a blob of a file, once for each file and each content."""
        if name in self._extracted:
            return self._extracted[name]
        staged = self._stage()
        with self._open(name) as file:
            _copy(file, staged)
        staged.finish()  # an archive may have more layers than we may have open files
        known = self.blobs.setdefault(staged.digest, staged)
        if known is not staged:
            staged.discard()
        self._extracted[name] = known
        return known

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        member = self._members.get(posixpath.normpath(name))
        file: IO[Any] | None = self._tar.extractfile(member) if member is not None else None
        if file is None:
            raise Invalid(f"the image archive lacks {name[:100]}: write it again")
        with file:
            yield file
