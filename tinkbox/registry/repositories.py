"""Which manifests a repository has and what its tags point to, as small files.  All of this blocks.

A repository's own folders begin with an underscore, which no part of a name can.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tinkbox.model.errors import Invalid, NotFound
from tinkbox.model.image import DIGEST, REPOSITORY, TAG

MAX_NAME = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A repository has a manifest of this digest and media type since `pushed_at` (ISO 8601)."""

    digest: str
    media_type: str
    pushed_at: str


class Repositories:
    """The repositories below one folder; `write` makes a small file appear at once and for good."""

    def __init__(self, root: Path, write: Callable[[Path, bytes], None]) -> None:
        self._folder = root / "repositories"
        self._write = write

    def link(self, repository: str, link: Link) -> None:
        """Let the repository have a manifest."""
        self._write(self._manifest(repository, link.digest), json.dumps(asdict(link)).encode())

    def tag(self, repository: str, tag: str, link: Link) -> None:
        """Let a tag point to it."""
        self._write(self._tag(repository, tag), json.dumps(asdict(link)).encode())

    def resolve(self, repository: str, selector: str) -> Link:
        """The manifest that a tag or digest picks; raises NotFound."""
        path = self._manifest(repository, selector) if ":" in selector else self._tag(repository, selector)
        try:
            return Link(**json.loads(path.read_bytes()))
        except FileNotFoundError:
            raise NotFound(f"no image {repository}{'@' if ':' in selector else ':'}{selector} here") from None

    def unlink(self, repository: str, digest: str) -> None:
        """Let the repository forget a manifest."""
        self._remove(self._manifest(repository, digest))

    def untag(self, repository: str, tag: str) -> None:
        """Take a tag away."""
        self._remove(self._tag(repository, tag))

    def names(self) -> list[str]:
        """All repositories that hold something, in order."""
        return sorted({str(path.parent.relative_to(self._folder)) for path in self._folder.rglob("_manifests")})

    def tags(self, repository: str) -> dict[str, Link]:
        """What the repository's tags point to, in order."""
        return {path.name: self.resolve(repository, path.name) for path in self._files(repository, "_tags")}

    def links(self, repository: str) -> dict[str, Link]:
        """The repository's manifests by digest."""
        digests = [f"sha256:{path.name}" for path in self._files(repository, "_manifests")]
        return {digest: self.resolve(repository, digest) for digest in digests}

    def _files(self, repository: str, kind: str) -> Iterator[Path]:
        with suppress(FileNotFoundError):
            yield from sorted((self._home(repository) / kind).iterdir())

    def _home(self, repository: str) -> Path:
        if not REPOSITORY.match(repository) or len(repository) > MAX_NAME:
            raise Invalid(f"not a repository's name: {repository[:100]!r}")
        return self._folder / repository

    def _manifest(self, repository: str, digest: str) -> Path:
        if not DIGEST.match(digest):
            raise Invalid(f"not a sha256 digest: {digest[:100]!r}")
        return self._home(repository) / "_manifests" / digest.removeprefix("sha256:")

    def _tag(self, repository: str, tag: str) -> Path:
        if not TAG.match(tag):
            raise Invalid(f"not a tag: {tag[:150]!r}")
        return self._home(repository) / "_tags" / tag

    def _remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        folder = path.parent
        with suppress(OSError):  # the first folder that is not empty ends it
            while folder != self._folder:
                folder.rmdir()
                folder = folder.parent
