"""Finds what rotted of the images before a machine asks for it: every blob is hashed once a day, and at once when its file changed.

All of this blocks.
"""

from contextlib import suppress
from datetime import timedelta
from typing import Final

from tinkbox.model.errors import NotFound, Unavailable
from tinkbox.registry.blobs.blobs import Blobs
from tinkbox.registry.manifests.repositories import Repositories

# Of the bytes of blobs, so many are hashed in one pass, but for one blob that is larger: machines that boot read the same disk.
OCTETS_AT_ONCE: Final = 64 << 20
# So many files are looked at in one pass: a look at one costs a hundred thousandth of a second.
FILES_AT_ONCE: Final = 4096
# A blob that was hashed within this time, and whose file did not change, is left alone.
_HASHED_FOR: Final = timedelta(days=1)


class Examination:
    """`damaged` goes on from pass to pass where it ended."""

    def __init__(self, blobs: Blobs, repositories: Repositories) -> None:
        self._blobs = blobs
        self._repositories = repositories
        self._found: frozenset[str] = frozenset()
        self._next = 0

    def damaged(self) -> frozenset[str]:
        """The digests that are known to be damaged, after a pass that looks at files and hashes some of them."""
        returned = self._blobs.returned()
        found = {each for each in self._found if self._blobs.damaged_at(each) is not None}
        digests = [*self._blobs]
        looked_at = digests[self._next : self._next + FILES_AT_ONCE]
        self._next = self._next + FILES_AT_ONCE if self._next + FILES_AT_ONCE < len(digests) else 0
        changed, stale = [*returned], list[str]()
        for digest in looked_at:
            if digest in returned:
                continue
            if self._blobs.damaged_at(digest) is not None:
                found.add(digest)
            elif not self._blobs.is_unchanged(digest):
                changed.append(digest)
            elif not self._blobs.was_hashed_within(_HASHED_FOR, digest):
                stale.append(digest)
        hashed = 0
        for digest in (*changed, *stale):
            if hashed >= OCTETS_AT_ONCE:
                break
            hashed += self._blobs.size(digest) or 0
            self._hash(digest)
            if self._blobs.damaged_at(digest) is not None:
                found.add(digest)
        self._found = frozenset(found)
        return self._found

    def refuse(self) -> None:
        """Raise Unavailable where images cannot be used as a whole: a folder cannot be read, or repositories are gone."""
        self._blobs.refuse_unreadable()
        self._repositories.refuse_unlisted()
        self._repositories.refuse_missing()

    def _hash(self, digest: str) -> None:
        with suppress(NotFound, Unavailable):
            try:
                self._blobs.check(digest).result()
            except FileNotFoundError:
                self._blobs.lost(digest)
