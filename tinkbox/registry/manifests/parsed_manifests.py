"""What the manifests that are kept refer to: each is read and parsed once.  All of this blocks."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from sys import intern
from typing import Final

from tinkbox.model.errors import Refusal
from tinkbox.registry.blobs.blobs import Blobs
from tinkbox.registry.manifests.manifests import Descriptor, Manifest, parse_manifest
from tinkbox.registry.manifests.referrers import Referrer, referrer
from tinkbox.registry.manifests.repositories import Link

_NO_ANNOTATIONS: Final[Mapping[str, str]] = {}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A manifest; `size` is that of its own blobs, each once.  `referrer` is None where it refers to none."""

    manifest: Manifest
    size: int
    referrer: Referrer | None


class ParsedManifests:
    """By digest.  One that was read once is known for as long as it is kept, also when its file is damaged since."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._known: dict[str, Parsed] = {}
        self._told: dict[str, set[str]] = {}  # what the log says of those that cannot be read, by digest

    def of(self, repository: str, link: Link) -> Parsed | None:
        """A manifest of a repository; None, and the log says why, where it cannot be read and never could."""
        known = self._known.get(link.digest)
        return known if known is not None else self._read(repository, link)

    def knows(self, digest: str) -> bool:
        """Whether a manifest was read."""
        return digest in self._known

    def readable(self, repository: str, link: Link) -> Parsed | None:
        """The same of one whose file is there and as it was; None otherwise."""
        known = self._known.get(link.digest)
        return known if known is not None and self._blobs.is_unchanged(link.digest) else self._read(repository, link)

    def all_of(self, repository: str, links: Mapping[str, Link]) -> dict[str, Manifest]:
        """What `of` gives of a repository's manifests, by digest, without those that cannot be read and never could."""
        return {
            digest: one.manifest for digest, link in links.items() if (one := self.of(repository, link)) is not None
        }

    def all_readable(self, repository: str, links: Mapping[str, Link]) -> dict[str, Manifest]:
        """The same of those that `readable` gives."""
        found = ((digest, self.readable(repository, link)) for digest, link in links.items())
        return {digest: one.manifest for digest, one in found if one is not None}

    def size(self, digest: str) -> int:
        """The bytes of the blobs of one that is known."""
        return self._known[digest].size

    def note(self, digest: str, manifest: Manifest, octets: int) -> None:
        """A manifest that is kept from now on, and has so many bytes itself."""
        kept = _lean(manifest)
        size = sum({each.digest: each.size for each in kept.content}.values())
        told = referrer(digest, octets, manifest) if manifest.subject else None
        self._told.pop(digest, None)
        self._known[intern(digest)] = Parsed(manifest=kept, size=size, referrer=told)

    def forget(self, digests: Iterable[str]) -> None:
        """They are not kept any more."""
        for digest in digests:
            self._known.pop(digest, None)
            self._told.pop(digest, None)

    def _read(self, repository: str, link: Link) -> Parsed | None:
        try:
            content = self._blobs.read(link.digest)
            self.note(link.digest, parse_manifest(content, link.media_type), len(content))
        except Refusal as error:
            lost, told = f"{repository}@{link.digest}: {error}", self._told.setdefault(link.digest, set())
            if lost not in told:
                told.add(lost)
                _log.warning("manifest lost: %s", lost, extra={"action": "registry.lost"})
            return None
        return self._known[link.digest]


def _lean(manifest: Manifest) -> Manifest:
    """The same in less memory: texts that many have are there once, and annotations are left out."""
    return replace(
        manifest,
        media_type=intern(manifest.media_type),
        annotations=_NO_ANNOTATIONS,
        blobs=tuple(map(_lean_descriptor, manifest.blobs)),
        foreign=tuple(map(_lean_descriptor, manifest.foreign)),
        manifests=tuple(map(_lean_descriptor, manifest.manifests)),
    )


def _lean_descriptor(each: Descriptor) -> Descriptor:
    return Descriptor(
        digest=intern(each.digest),
        size=each.size,
        media_type=intern(each.media_type),
        annotations=_NO_ANNOTATIONS,
    )
