"""What loading an archive does: its images are judged all together, and then kept one after the other.

All of this blocks.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial

from tinkbox.model.errors import Unavailable
from tinkbox.model.images.references import algorithm_of, as_typed
from tinkbox.model.images.system_image import ARTIFACT_TYPE, LATEST
from tinkbox.registry.archives.layouts import Image
from tinkbox.registry.archives.reading import Archive
from tinkbox.registry.blobs.blobs import Blobs
from tinkbox.registry.manifests.kinds import Kind, kind_of, refuse_mixed
from tinkbox.registry.manifests.manifests import Manifest, StoredManifest, parse_manifest
from tinkbox.registry.manifests.repositories import Key, Link, Repositories
from tinkbox.registry.manifests.repository_kinds import RepositoryKinds
from tinkbox.registry.system_images import fit_version, kept_version, refuse_other_bytes

_Reader = Callable[[StoredManifest], Manifest]


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptable:
    """An archive whose images may be kept, of system images each with its version as well.

    `same_disks` has, by its digest in the archive, the version of a system image that is here with the same disk, and is
    left as it is.  `read` gives what a manifest of the archive says.
    """

    archive: Archive
    same_disks: Mapping[str, Link]
    read: _Reader


class Loader:
    """A part.  Whoever asks it for anything, a step of `steps` included, has the turn to change what refers to what."""

    def __init__(
        self, blobs: Blobs, repositories: Repositories, kinds: RepositoryKinds, clock: Callable[[], datetime]
    ) -> None:
        self._blobs = blobs
        self._repositories = repositories
        self._kinds = kinds
        self._clock = clock
        self._coming: list[list[Image]] = []

    def coming(self) -> Collection[str]:
        """The digests of the manifests of images that are being loaded, whose tags come after them."""
        images = [each for left in [*self._coming] for each in [*left]]
        return {each.digest for image in images for each in image.manifests}

    def judge(self, archive: Archive) -> Acceptable:
        """The images of an archive as they are kept; raises for what is wrong with any.

        That is Invalid for a system image that is unfit, Conflict for other bytes of a version of one or where a
        repository has images of another kind, Unavailable for a blob that was freed meanwhile.
        """
        read: _Reader = cache(lambda each: parse_manifest(each.content, each.media_type))
        archive = replace(archive, images=self._with_versions(archive, read))
        self._refuse_mixed(archive, read)
        for image in archive.images:
            for each in image.manifests:
                self._refuse_freed(archive, image, read(each))
        return Acceptable(archive=archive, same_disks=self._same_disks(archive, read), read=read)

    def steps(self, accepted: Acceptable, stored: Callable[[str], None]) -> Generator[Callable[[], None], None, None]:
        """What is to be done for an archive's images, in steps: each leaves nothing that refers to what is not there.

        `stored` hears the name of each image that is.  What is not done yet is `coming` until this is closed.
        """
        left = [*accepted.archive.images]
        self._coming.append(left)
        try:
            yield from self._steps(accepted, left, stored)
        finally:
            self._coming = [each for each in self._coming if each is not left]

    def _steps(
        self, accepted: Acceptable, left: list[Image], stored: Callable[[str], None]
    ) -> Iterator[Callable[[], None]]:
        archive, read = accepted.archive, accepted.read
        linked: set[Key] = set()
        alone = {(image.repository, image.digest) for image in archive.images if not image.tag}
        for image in archive.images:
            kept = accepted.same_disks.get(image.digest)
            if kept is None or kept.digest == image.digest:
                for each in image.manifests:
                    if (image.repository, each.digest) not in linked:
                        linked.add((image.repository, each.digest))
                        is_alone = (image.repository, each.digest) in alone
                        yield partial(self._adopt, archive, image, each, read(each), is_alone)
            yield partial(self._adopt_tag, image, kept, stored)
            left.remove(image)

    def _adopt(
        self, archive: Archive, image: Image, stored: StoredManifest, manifest: Manifest, is_alone: bool
    ) -> None:
        self._refuse_freed(archive, image, manifest)
        self._kinds.refuse_mixed(image.repository, stored.digest, manifest)
        own = {digest: archive.blobs[digest] for digest in sorted(manifest.digests) if digest in archive.blobs}
        try:
            self._blobs.keep_all(own)
        except FileNotFoundError:  # it was kept with another image, which was deleted since
            raise Unavailable(f"a layer was freed meanwhile: load {image.name} again") from None
        self._blobs.add(stored.content, algorithm_of(stored.digest))
        now = self._clock().isoformat()
        alone_from = now if is_alone else ""
        link = Link(digest=stored.digest, media_type=stored.media_type, pushed_at=now, alone_from=alone_from)
        self._repositories.link(image.repository, link)
        self._blobs.note_needed(manifest.digests)
        self._kinds.note(image.repository, manifest)

    def _adopt_tag(self, image: Image, kept: Link | None, stored: Callable[[str], None]) -> None:
        for each in image.manifests if kept is None or kept.digest == image.digest else ():
            if not self._repositories.has(image.repository, each.digest):
                raise Unavailable(f"{each.digest} was deleted meanwhile: load {image.name} again")
        link = kept or self._repositories.resolve(image.repository, image.digest)
        if image.tag:
            refuse_other_bytes(self._repositories, self._blobs, image.repository, image.tag, link.digest)
            self._repositories.tag(image.repository, image.tag, replace(link, fetched=False))
        # Of a system image that is left as it is the digest may be another.
        stored(image.name if image.tag else f"{as_typed(image.repository)}@{link.digest}")

    def _with_versions(self, archive: Archive, read: _Reader) -> tuple[Image, ...]:
        """The images of an archive, of system images each with its version as well; raises Invalid for one that is unfit.

        Where no version is `latest`, the last one is.
        """
        newest: dict[str, Image] = {}
        found: dict[tuple[str, str], Image] = {(each.repository, each.selector): each for each in archive.images}
        staged = archive.blobs
        for image in archive.images:
            manifest = read(image.manifests[-1])
            if manifest.artifact_type == ARTIFACT_TYPE:
                version = fit_version(
                    manifest,
                    image.repository,
                    image.tag,
                    lambda digest: staged[digest].path.read_bytes() if digest in staged else self._blobs.read(digest),
                )
                found.setdefault((image.repository, version), replace(image, tag=version))
                newest[image.repository] = replace(image, tag=LATEST)
        for repository, image in newest.items():
            if not self._repositories.has(repository, LATEST):
                found.setdefault((repository, LATEST), image)
        return tuple(found.values())

    def _refuse_mixed(self, archive: Archive, read: _Reader) -> None:
        """Raise Conflict where a repository would have system images and container images."""
        kept: dict[str, dict[Kind, str]] = {}  # one of each kind by repository
        for image in archive.images:
            named = as_typed(image.repository)
            if image.repository not in kept:
                kept[image.repository] = {**self._kinds.one_of_each(image.repository)}
            others = kept[image.repository]
            for each in image.manifests:
                kind = kind_of(read(each))
                if not self._repositories.has(image.repository, each.digest):  # what is here may be healed
                    refuse_mixed(named, kind, others)
                others.setdefault(kind, image.name)

    def _refuse_freed(self, archive: Archive, image: Image, manifest: Manifest) -> None:
        """Raise Unavailable where what an archive lacks, since it was here, was freed meanwhile: `image gc --now` does that."""
        for blob in manifest.blobs:
            if blob.digest not in archive.blobs and self._blobs.size(blob.digest) is None:
                raise Unavailable(f"{blob.digest} was freed meanwhile: load {image.name} again")

    def _same_disks(self, archive: Archive, read: _Reader) -> Mapping[str, Link]:
        """By its digest in the archive, the version of a system image that is here with the same disk, and is left as it is.

        Fetched again it may be proven in another way.  Raises Conflict where the version that is here has another disk.
        """
        here: dict[str, Link] = {}
        for image in archive.images:
            manifest = read(image.manifests[-1])
            kept = kept_version(self._repositories, self._blobs, image.repository, image.selector)
            if kept is not None and kept[1].blobs[1:] == manifest.blobs[1:]:
                here[image.digest] = kept[0]
            else:
                refuse_other_bytes(self._repositories, self._blobs, image.repository, image.selector, image.digest)
        return here
