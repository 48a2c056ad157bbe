"""Image archives on their way in: what `docker save` writes, and OCI layouts in a tar, plain, gzip or xz.

The stream is spooled to the disk, because a tar's table of contents comes last, and everything in it is
checked before anything is kept.  Layers stay as they are, compressed or not.
"""

import asyncio
import errno
import gzip
import hashlib
import lzma
import posixpath
import tarfile
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tinkbox.model.errors import Full, Invalid, TooLarge, Unavailable
from tinkbox.model.text import counted
from tinkbox.registry.archives.layouts import Images, read_images
from tinkbox.registry.archives.limits import MAX_ARCHIVE, MAX_MEMBERS
from tinkbox.registry.blobs.blobs import PIECE, Staged

MAX_HEADER = 64 << 10  # bytes; whatever is said of a file before its content
MAX_GLOBAL = 64  # what pax headers say of all files
MAX_LINKS = 8  # that lead to one another
MAGIC = 6
XZ_MEMORY = 128 << 20  # bytes to decompress in: `xz -9` asks for 65 MiB
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
    OverflowError,
)
# What every archive has once; `tar --append` writes other files anew.
_ONCE = ("oci-layout", "manifest.json")
_JOINED = "there are several image archives in one, as `tar --concatenate` writes them: load each archive by itself"
_NO_SENSE = "what it says of its files makes no sense"
_TWICE = (
    "A load needs room for its archive, and beside it for the images in it, until it is done: a push of the images "
    "(`docker push`, `skopeo copy --all --preserve-digests`) needs room for them alone"
)
_ADVICE = "expected what `docker save` or `skopeo copy` to docker-archive: or oci-archive: writes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """Everything an archive holds, checked; its blobs are on the disk, but nowhere to be seen yet."""

    blobs: Mapping[str, Staged]  # by digest
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
    Raises Invalid in one line; TooLarge; Full when the disk or the registry is.
    """
    staged: list[Staged] = []
    is_over = False

    def go_on() -> None:
        """Raise Unavailable in a thread that still reads what nobody waits for any more."""
        if is_over:
            raise Unavailable("the archive is not wanted any more: load it again")

    def tracked() -> Staged:
        go_on()
        staged.append(stage())
        return staged[-1]

    try:
        try:
            spool = tracked()
            async for piece in _pieces(stream):
                if spool.size + len(piece) > MAX_ARCHIVE:
                    raise TooLarge(f"an image archive may have {MAX_ARCHIVE >> 30} GiB at most")
                await asyncio.to_thread(spool.write, piece)
            archive = await asyncio.to_thread(_read, spool, tracked, go_on, target, name)
        except Full as error:
            raise Full(f"{error}. {_TWICE}") from None
        yield archive
    finally:
        is_over = True
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


class _Source:
    """A tar's file, of which no header may have more than MAX_HEADER bytes: the library reads each whole, into memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._left = MAX_HEADER
        self.mode = "rb"
        self.is_noted = False  # after that there are files to read, and no headers

    def next_header(self) -> None:
        self._left = MAX_HEADER

    def read(self, size: int) -> bytes:
        if not self.is_noted:
            self._left -= size
            if size < 0 or self._left < 0:
                raise tarfile.ReadError(f"what is said of one file has more than {MAX_HEADER >> 10} KiB")
        return self._file.read(size)

    def seek(self, place: int) -> int:
        return self._file.seek(place)

    def tell(self) -> int:
        return self._file.tell()


def _read(spool: Staged, stage: Callable[[], Staged], go_on: Callable[[], None], target: Target, name: str) -> Archive:
    if spool.size == 0:
        raise Invalid(f"the image archive is empty: {_ADVICE}")
    try:
        with _plain(spool, stage).open("rb") as file:
            source = _Source(file)
            with tarfile.open(fileobj=source, mode="r:") as tar:  # type: ignore[call-overload]
                contents = Contents(tar, source, stage, target.size_here, go_on)
                images = read_images(contents, target.is_own, name)
                return Archive(blobs=contents.blobs, images=images)
    except _DAMAGE as error:
        reason = _reason(error)
        raise Invalid(f"the image archive is damaged or is none ({reason}): {_ADVICE}") from None
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # A place in the file that no file can have.
        raise Invalid(f"the image archive is damaged or is none ({_NO_SENSE}): {_ADVICE}") from None


def _reason(error: Exception) -> str:
    """Why an archive cannot be read, in words that are not Python's."""
    if isinstance(error, gzip.BadGzipFile | zlib.error):
        return "its gzip stream is damaged, or something else follows it"
    told = isinstance(error, tarfile.TarError | EOFError | lzma.LZMAError)
    return (" ".join(str(error).split())[:200] if told else "") or _NO_SENSE


def _plain(spool: Staged, stage: Callable[[], Staged]) -> Path:
    """The archive's file, decompressed when it has to be."""
    with spool.path.open("rb") as file:
        start = file.read(MAGIC)
    if start.startswith(_ZSTD):
        raise Invalid(
            "the image archive is compressed with zstd: `tinkbox image load` takes that, or decompress it (zstd -d)"
        )
    decompressed = next((each for magic, each in _DECOMPRESSED.items() if start.startswith(magic)), None)
    if decompressed is None:
        return spool.path
    plain = stage()
    with spool.path.open("rb") as file:
        _copy(decompressed(file), plain)
    spool.discard()  # it takes room
    return plain.path


def _ungzip(file: IO[bytes]) -> Iterator[bytes]:
    with gzip.open(file) as content:
        yield from _pieces_of(content)


def _unxz(file: IO[bytes]) -> Iterator[bytes]:
    """What one xz stream or several are when decompressed; raises LZMAError, also for one that takes much memory."""
    ahead = file.read(PIECE)
    while ahead:
        stream = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
        while not stream.eof:
            if stream.needs_input and not ahead:
                raise EOFError("its xz stream ends too early")
            yield stream.decompress(ahead, PIECE)
            ahead = file.read(PIECE) if stream.needs_input else b""
        ahead = stream.unused_data or file.read(PIECE)
        while ahead and not (ahead := ahead.lstrip(b"\0")):  # padding between streams, and behind the last
            ahead = file.read(PIECE)


_DECOMPRESSED: Mapping[bytes, Callable[[IO[bytes]], Iterator[bytes]]] = {
    b"\x1f\x8b": _ungzip,
    b"\xfd7zXZ\x00": _unxz,
}


def _pieces_of(content: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    while piece := content.read(PIECE):
        yield piece


def _copy(pieces: Iterable[bytes], target: Staged) -> None:
    for piece in pieces:
        if target.size + len(piece) > MAX_ARCHIVE:
            raise TooLarge(f"an image archive may have {MAX_ARCHIVE >> 30} GiB at most when decompressed")
        target.write(piece)


class Contents:
    """The files in the archive, by name."""

    def __init__(
        self,
        tar: tarfile.TarFile,
        source: "_Source",
        stage: Callable[[], Staged],
        size_here: Callable[[str], int | None],
        go_on: Callable[[], None],
    ) -> None:
        self._tar = tar
        self._stage = stage
        self._go_on = go_on
        self.size_here = size_here
        # By name: where a file begins and how long it is, which other file a link means, and what of a sparse file is there.
        # A hundred thousand objects of the library would hold up the process whenever garbage is looked for, and when they go.
        self._places: dict[str, tuple[int, int]] = {}
        self._links: dict[str, str] = {}
        self._sparse: dict[str, Any] = {}
        count = 0
        while (member := tar.next()) is not None:
            count += 1
            go_on()
            source.next_header()
            if len(tar.pax_headers) > MAX_GLOBAL:
                raise Invalid(f"the image archive says more than {MAX_GLOBAL} things of all its files: write it again")
            if count > MAX_MEMBERS:
                raise Invalid(f"the image archive has more than {MAX_MEMBERS} files: save fewer images at once")
            self._note(member)
            tar.members.clear()  # type: ignore[attr-defined]
        source.is_noted = True
        self._refuse_more(tar, source, count)
        self.blobs: dict[str, Staged] = {}
        self._extracted: dict[tuple[str, str], Staged] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._places or name in self._links

    def read(self, name: str, limit: int) -> bytes:
        """A small file; raises Invalid when it is missing or larger than `limit`."""
        self._go_on()
        with self._open(name) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise Invalid(f"the image archive's {name[:100]} has more than {limit} bytes")
        return content

    def extract(self, name: str, algorithm: str = "sha256") -> Staged:
        """Make a blob of a file, once for each file and each content; `algorithm` is that of its digest."""
        if (name, algorithm) in self._extracted:
            return self._extracted[name, algorithm]
        staged = self._stage()
        with self._open(name) as file:
            _copy(_pieces_of(file), staged)
        staged.finish()  # an archive may have more layers than we may have open files
        known = self.blobs.setdefault(staged.digest_by(algorithm), staged)
        if known is not staged:
            staged.discard()
        self._extracted[name, algorithm] = known
        return known

    def unzipped_digest(self, staged: Staged) -> str:
        """The digest of what a gzip stream is when decompressed; raises TooLarge."""
        digest, size = hashlib.sha256(), 0
        with gzip.open(staged.path) as content:
            while piece := content.read(PIECE):
                self._go_on()
                size += len(piece)
                if size > MAX_ARCHIVE:
                    raise TooLarge(f"a layer of an image may have {MAX_ARCHIVE >> 30} GiB at most when decompressed")
                digest.update(piece)
        return f"sha256:{digest.hexdigest()}"

    def _refuse_more(self, tar: tarfile.TarFile, source: "_Source", files: int) -> None:
        """Raise Invalid where anything but zeros follows the end of the archive: the library reads up to that, or to a bad header."""
        source.seek(tar.offset)
        if source.read(tarfile.BLOCKSIZE).strip(b"\0"):
            raise Invalid(f"the image archive is damaged behind its first {counted(files, 'file')}: write it again")
        while piece := source.read(PIECE):
            self._go_on()
            if piece.strip(b"\0"):
                raise Invalid("something follows the end of the image archive: load each archive by itself")

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        meant = posixpath.normpath(name)
        for _ in range(MAX_LINKS):
            meant = self._links.get(meant, meant)
        if meant not in self._places:
            raise Invalid(f"the image archive lacks {name[:100]}: write it again")
        place = tarfile.TarInfo(meant)
        place.offset_data, place.size = self._places[meant]
        place.sparse = self._sparse.get(meant)
        with tarfile.ExFileObject(self._tar, place) as file:
            yield file

    def _note(self, member: tarfile.TarInfo) -> None:
        name = posixpath.normpath(member.name)
        if name in _ONCE and name in self._places:
            raise Invalid(_JOINED)
        for known in (self._places, self._links, self._sparse):  # of several with one name the last one counts
            known.pop(name, None)
        if member.issym():
            self._links[name] = posixpath.normpath(posixpath.join(posixpath.dirname(member.name), member.linkname))
        elif member.islnk():
            self._links[name] = posixpath.normpath(member.linkname)
        elif member.isreg() or member.type not in tarfile.SUPPORTED_TYPES:
            self._places[name] = member.offset_data, member.size
            if member.issparse():
                self._sparse[name] = member.sparse
