"""Decompresses a stream piece by piece, whatever it would become: no piece is large, and a stream that ends early is told."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

import zstandard

from tinkbox.model.errors import Invalid
from tinkbox.model.images.system_image import Compression
from tinkbox.model.sizes import show_size

PIECE: Final = 1 << 20
CHUNK: Final = 64 << 10
# One block of a zstd frame is 4 bytes at least and 128 KiB at most: what comes of so much input fits into memory.
_ZSTD_BITE: Final = 1 << 10
MAX_WINDOW: Final = 128 << 20
_XZ_MEMORY: Final = 256 << 20
_DAMAGE: Final = (zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError, EOFError, ValueError)

Read = Callable[[int], bytes]


class _Decoder(Protocol):
    """One stream of those that a file may have one after the other."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def feed(self, data: bytes) -> Iterator[bytes]: ...


class _Gzip:
    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(31)

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self._decoder.eof:
            yield self._decoder.decompress(data, PIECE)
            data = self._decoder.unconsumed_tail


class _Buffering:
    """xz and bzip2, which keep what they were given until there is room for what comes of it."""

    def __init__(self, decoder: lzma.LZMADecompressor | bz2.BZ2Decompressor) -> None:
        self._decoder = decoder

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield self._decoder.decompress(data, PIECE)
        while not self._decoder.eof and not self._decoder.needs_input:
            yield self._decoder.decompress(b"", PIECE)


class _Zstd:
    def __init__(self) -> None:
        self._decoder = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj()
        self.unused_data = b""

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        for place in range(0, len(data), _ZSTD_BITE):
            yield self._decoder.decompress(data[place : place + _ZSTD_BITE])
            if self._decoder.eof:
                self.unused_data = self._decoder.unused_data + data[place + _ZSTD_BITE :]
                return


_DECODERS: Final[Mapping[Compression, Callable[[], _Decoder]]] = {
    Compression.GZIP: _Gzip,
    Compression.XZ: lambda: _Buffering(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)),
    Compression.BZIP2: lambda: _Buffering(bz2.BZ2Decompressor()),
    Compression.ZSTD: _Zstd,
}
# What may stand between streams and behind the last one.
_PADDED: Final = (Compression.GZIP, Compression.XZ)


def decompressed(read: Read, compression: Compression) -> Iterator[bytes]:
    """The content of all streams of a file, in pieces; `read(number)` gives its next bytes, none at its end.

    Raises Invalid, which says where, for what is damaged or truncated.
    """
    decoder: _Decoder | None = None
    data, given, streams = b"", 0, 0
    while True:
        data = data or read(CHUNK)
        if not data:
            break
        if decoder is None:
            data = data.lstrip(b"\0") if streams and compression in _PADDED else data
            if not data:
                continue
            decoder = _DECODERS[compression]()
        try:
            for piece in decoder.feed(data):
                given += len(piece)
                if piece:
                    yield piece
        except _DAMAGE as error:
            raise Invalid(_damage(compression, given, error)) from None
        data = b""
        if decoder.eof:
            data, decoder, streams = decoder.unused_data, None, streams + 1
    if decoder is not None or not streams:
        raise Invalid(
            f"it is truncated: its {compression} stream ends after {_so_much(given)} of content without its end"
        )


def _damage(compression: Compression, given: int, error: Exception) -> str:
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    if "Memory usage limit" in reason or "requires too much memory" in reason or "Frame requires" in reason:
        return (
            f"it needs more memory to be decompressed than {show_size(MAX_WINDOW)}: compress it with a smaller window"
        )
    return f"it is damaged: its {compression} stream cannot be read after {_so_much(given)} of content ({reason})"


def _so_much(amount: int) -> str:
    return f"{show_size(amount)} ({amount} bytes)" if amount >= 1024 else show_size(amount)
