"""Writes an OCI layout into a tar.

A blob whose digest and length are known only when it is written begins behind room for its header, which is filled in then, so
that nothing has to be written twice.
"""

import hashlib
import tarfile
from typing import BinaryIO, Final

_BLOCK: Final = 512
_RECORD: Final = 20 * _BLOCK
OCI_LAYOUT: Final = b'{"imageLayoutVersion":"1.0.0"}'


class Layout:
    """An OCI layout on its way into `file`, which is empty and can be sought in."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._begin = 0
        self._hash = hashlib.sha256()
        self.stored = 0

    def begin(self) -> None:
        """Begin a blob."""
        self._begin = self._file.tell()
        self._hash = hashlib.sha256()
        self._file.write(bytes(_BLOCK))

    def write(self, content: bytes) -> None:
        """Add to the blob."""
        self._file.write(content)
        self._hash.update(content)

    def end(self) -> tuple[str, int]:
        """End the blob; returns its digest and length."""
        size, digest = self._file.tell() - self._begin - _BLOCK, self._hash.hexdigest()
        self._file.write(bytes(-size % _BLOCK))
        behind = self._file.tell()
        self._file.seek(self._begin)
        self._file.write(_header(_blob(digest), size))
        self._file.seek(behind)
        self.stored += size
        return f"sha256:{digest}", size

    def add_blob(self, content: bytes) -> str:
        """Add a small blob; returns its digest."""
        self.begin()
        self.write(content)
        return self.end()[0]

    def close(self, index: bytes) -> None:
        """End the layout with its index."""
        for name, content in (("oci-layout", OCI_LAYOUT), ("index.json", index)):
            self._file.write(_header(name, len(content)) + content + bytes(-len(content) % _BLOCK))
        self._file.write(bytes(2 * _BLOCK))
        self._file.write(bytes(-self._file.tell() % _RECORD))


def _blob(digest: str) -> str:
    return f"blobs/sha256/{digest}"


def _header(name: str, size: int) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size = size
    entry.mode = 0o644
    header = entry.tobuf(tarfile.GNU_FORMAT)
    assert len(header) == _BLOCK
    return header
