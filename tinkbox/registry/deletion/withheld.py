"""Blobs that no image needs, as it seems, because the folder of repositories was found emptied.  All of this blocks.

So it looks where it was not mounted when tinkbox started, or was left out of a backup.  What is freed then is lost, so a
person has to say so, also after a restart, and after pushes that went into the empty folder meanwhile.
"""

import logging
from contextlib import suppress
from pathlib import Path

from tinkbox.model.errors import Refusal, Unavailable
from tinkbox.registry.blobs.blobs import Blobs
from tinkbox.registry.manifests.repositories import Repositories

_log = logging.getLogger(__name__)


class Withheld:
    """`file` below the registry's folder is there as long as nothing is freed; `repositories` is the folder that was empty."""

    def __init__(self, file: Path, repositories: Path, blobs: Blobs) -> None:
        self._file = file
        self._repositories = repositories
        self._blobs = blobs
        self._is_so = False
        with suppress(OSError):
            self._is_so = file.exists()

    def found_empty(self) -> None:
        """The folder of repositories was emptied: from now on nothing is freed, where there are blobs."""
        if not self._blobs.usage().blobs or self._is_so:
            return
        self._is_so = True
        with suppress(Refusal):  # then it is so until the next start, which finds the same
            self._blobs.write(self._file, b"")

    def examine(self, repositories: Repositories) -> None:
        """End it where the folder has a manifest from before it was found empty; else the log tells of it."""
        if not self._is_so:
            return
        with suppress(OSError, Unavailable):
            since = self._file.stat().st_mtime
            found = ((name, digest) for name in repositories.names() for digest in repositories.links(name))
            if any(repositories.linked_at(*each) < since for each in found):
                self.end()
                return
        _log.warning("%s", self._problem(), extra={"action": "registry.withheld"})

    def refuse(self) -> None:
        """Raise Unavailable where nothing may be freed unless a person says so."""
        if self._is_so:
            raise Unavailable(self._problem())

    def end(self) -> None:
        """A person has decided, or the images are here again."""
        self._is_so = False
        with suppress(OSError):
            self._file.unlink()

    def _problem(self) -> str:
        return (
            f"nothing is freed: {self._repositories} was empty when tinkbox started, though there are blobs of images. Put "
            "back what was in it, such as from a backup, and restart tinkbox. If all those images are meant to be gone, "
            "`tinkbox image gc --now` frees the blobs"
        )
