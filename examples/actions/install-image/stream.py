"""An image that a web server has as one file: cut into pieces as it comes, written, and remembered by digest."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from decompression import KINDS, beginning, compression, decompressed
from download import Download
from failure import Failure
from frames import Piece
from image_start import LONGEST, refuse_other_formats, refuse_web_page
from progress import Progress
from sizes import MIB, size
from target import Target

PIECE = 4 * MIB
_SYNCED_EVERY = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class WebImage:
    """`compressed` is None when its bytes tell; `sha256` is that of the file, `size` that of the disk in it."""

    url: str
    compressed: bool | None = None
    sha256: str = ""
    size: int | None = None


class StreamCopy:
    """`least` is how many bytes the image has at least, as far as that is known; `size` how many came."""

    def __init__(self, image: WebImage, download: Download) -> None:
        self._image = image
        self._download = download
        self._raw: Iterator[bytes] = iter(())
        self._chunks: Iterator[bytes] = iter(())
        self._pieces: list[Piece] = []
        self._zeros: list[tuple[int, int]] = []
        self.least = 0
        self.size = 0

    @property
    def total(self) -> int:
        """How many bytes the server said it has; 0 when it did not."""
        return self._download.total or 0

    def start(self, length: int) -> bytes:
        """The first bytes of the image; nothing is written.  Raises Failure for what is none."""
        image = self._image
        as_it_comes = image.compressed is False
        came, self._chunks = beginning(self._download.chunks(), LONGEST)
        kind = compression(came)
        if not came:
            raise self._empty()
        refuse_web_page(image.url, self._download.content_type, kind, came, suffix_counts=not as_it_comes)
        if as_it_comes:
            kind = ""
        elif image.compressed and not kind:
            raise Failure("ImageDamaged", f"COMPRESSED is true, but the image is none of {', '.join(KINDS)}")
        start, self._raw = beginning(decompressed(kind, self._chunks), length)
        if not start:
            raise self._empty()
        if not as_it_comes:
            refuse_other_formats(start)
        self.least = max(image.size or 0, len(start) if kind else self._download.total or len(start))
        return start[:length]

    def pieces(self) -> list[Piece]:
        return self._pieces

    def zeros(self) -> list[tuple[int, int]]:
        return self._zeros

    def vouch(self, piece: Piece) -> None:
        """The digest was made of what came."""

    def copy(self, target: Target, progress: Progress) -> int:
        received = 0
        piece = bytearray()
        for block in self._raw:
            piece += block
            while len(piece) >= PIECE:
                self._put(target, bytes(piece[:PIECE]))
                del piece[:PIECE]
            progress.advance(self._download.received - received)
            received = self._download.received
        if piece:
            self._put(target, bytes(piece))
        for _ in self._chunks:
            pass  # bytes behind the end of a compressed stream belong to the digest
        self._verify()
        return 0

    def came(self) -> str:
        """What came, in words with which it can be asked for again."""
        return f"{self._download.received} bytes downloaded, their sha256 is {self._download.digest.hexdigest()}"

    def _put(self, target: Target, raw: bytes) -> None:
        place, self.size = self.size, self.size + len(raw)
        if self.size > target.disk.capacity:
            raise Failure(
                "DiskTooSmall",
                f"the image needs {size(self.size)} or more, {target.disk.path} has {size(target.disk.capacity)}",
            )
        if raw != bytes(len(raw)):
            target.put(place, raw)
            self._pieces.append(Piece(place, len(raw), hashlib.sha256(raw).hexdigest()))
        else:
            target.zero(place, len(raw))
            self._zeros.append((place, len(raw)))
        if place // PIECE % _SYNCED_EVERY == _SYNCED_EVERY - 1:
            target.disk.sync()

    def _verify(self) -> None:
        image, found = self._image, self._download.digest.hexdigest()
        if image.sha256 and found != image.sha256:
            raise Failure("ChecksumMismatch", f"{image.url} has sha256 {found}, wanted was {image.sha256}")
        if image.size is not None and self.size != image.size:
            raise Failure("SizeMismatch", f"the image has {self.size} bytes, IMG_SIZE says {image.size}")
        if not (image.sha256 or image.size is not None or self._download.end_is_certain):
            raise Failure(
                "SizeUnknown", "the server does not say how long the image is: set IMG_SHA256 or IMG_SIZE to verify it"
            )

    def _empty(self) -> Failure:
        return Failure("ImageEmpty", f"{self._image.url} is empty")
