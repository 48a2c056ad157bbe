"""An image that a web server has as one file: cut into pieces as it comes, written, and remembered by digest."""

import hashlib
from collections.abc import Iterator

from decompression import beginning, compression, decompressed
from download import Download
from failure import Failure
from frames import Piece
from gpt import parse_gpt
from image_start import LONGEST, refuse_web_page
from mbr import parse_mbr
from partitions import TableDamaged
from progress import Progress
from sizes import MIB, size
from target import Target

PIECE = 4 * MIB
_SYNCED_EVERY = 64


class StreamCopy:
    def __init__(self, url: str, download: Download, sha256: str) -> None:
        self._url = url
        self._download = download
        self._sha256 = sha256
        self._raw: Iterator[bytes] = iter(())
        self._chunks: Iterator[bytes] = iter(())
        self._pieces: list[Piece] = []
        self._zeros: list[tuple[int, int]] = []
        self.size = 0

    @property
    def total(self) -> int:
        """How many bytes the server said it has; 0 when it did not."""
        return self._download.total or 0

    def start(self, length: int) -> bytes:
        """The first bytes of the image; nothing is written.  Raises Failure for what is none."""
        came, self._chunks = beginning(self._download.chunks(), LONGEST)
        kind = compression(came)
        if not came:
            raise Failure("ImageEmpty", f"{self._url} is empty")
        refuse_web_page(self._url, self._download.content_type, kind, came)
        start, self._raw = beginning(decompressed(kind, self._chunks), length)
        self._least = len(start) if kind else self._download.total or len(start)
        return start[:length]

    def expected(self, start: bytes, sector: int) -> int:
        """How many bytes the image has at least, as far as that can be known before all of it is there."""
        try:
            table = parse_gpt(start) or parse_mbr(start, sector, 1 << 60)
        except TableDamaged:
            table = None
        ends = [(partition.last + 1) * table.sector for partition in table.partitions] if table else []
        return max([self._least, *ends])

    def pieces(self) -> list[Piece]:
        return self._pieces

    def zeros(self) -> list[tuple[int, int]]:
        return self._zeros

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
        found = self._download.digest.hexdigest()
        if self._sha256 and found != self._sha256:
            raise Failure("ChecksumMismatch", f"{self._url} has sha256 {found}, wanted was {self._sha256}")
        if not (self._sha256 or self._download.end_is_certain):
            raise Failure("SizeUnknown", "the server does not say how long the image is: set IMG_SHA256 to verify it")
