"""The images: what the registry's two faces, the OCI protocol and the operator's commands, both stand on.

Nothing is deleted that the operator did not delete: a manifest whose tag moved on stays, is listed without a
tag, and can be pulled and deleted by its digest, unless a workflow that is not over is pinned to it.  Blobs that no manifest refers to go with the next deletion,
except those that a push in progress was promised.

A version of a system image, such as `debian-13:20261101`, means the same bytes for ever: only `latest` moves on.
A repository has system images or others, never both: the name of an action cannot come to mean a disk.
"""

import asyncio
import hashlib
import logging
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypedDict

from tinkbox.model.errors import Conflict, Invalid, NotFound, Refusal, TooLarge, Unavailable
from tinkbox.model.image import REPOSITORY, parse_reference
from tinkbox.model.limits import Limits
from tinkbox.model.system_image import ARTIFACT_TYPE, LATEST
from tinkbox.registry.archive import Archive, unpack
from tinkbox.registry.blobs import Blobs, make_folder
from tinkbox.registry.kinds import Kind, kind_of, refuse_mixed
from tinkbox.registry.manifests import INDEXES, MAX_MANIFEST, Manifest, nested, parse_manifest, reachable
from tinkbox.registry.repositories import Link, Repositories
from tinkbox.registry.system_images import SystemImageLine, refuse_unfit, system_image, system_images
from tinkbox.registry.uploads import Upload, Uploads

PROMISED_FOR = timedelta(hours=1)
_log = logging.getLogger(__name__)


class ImageLine(TypedDict):
    """One line of `tinkbox image list`; `tag` is empty for a manifest that has none, `size` is that of all its blobs, each once."""

    name: str
    tag: str
    digest: str
    size: int
    pushed_at: str
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredManifest:
    """A manifest as it was pushed."""

    digest: str
    media_type: str
    content: bytes


async def _nothing_pinned() -> Mapping[str, str]:
    return {}


class ImageStore:
    """Images below `root`.  One process may use it at a time; making it drops what cut-off uploads left there.

    `pinned` tells the digests that must stay, each with the id of a workflow that needs it.  The log says `who` changed what.
    `full` tells whether the disk is.
    """

    def __init__(
        self,
        root: Path,
        clock: Callable[[], datetime],
        limits: Limits,
        full: Callable[[], bool],
        new_token: Callable[[], str] = lambda: secrets.token_hex(16),
        pinned: Callable[[], Awaitable[Mapping[str, str]]] = _nothing_pinned,
    ) -> None:
        make_folder(root / "repositories")
        self._clock = clock
        self._blobs = Blobs(root, clock, new_token)
        self._repositories = Repositories(root, self._blobs.write)
        self._pinned = pinned
        self._promised: dict[str, datetime] = {}
        self._turn = asyncio.Lock()  # whoever changes what refers to what
        self.uploads = Uploads(self._blobs.stage, clock, new_token, limits, full)

    async def blob(self, digest: str) -> Path:
        """A blob's file, verified; raises NotFound, or Unavailable for a damaged one."""
        return await asyncio.to_thread(self._blobs.verified, digest)

    async def promise(self, digest: str) -> Path:
        """The same for a push that will not send what is here already: the blob stays until its manifest came."""
        async with self._turn:
            path = await self.blob(digest)
            self._promised[digest] = self._clock()
        return path

    async def keep(self, upload: Upload, digest: str) -> None:
        """End an upload and keep its blob; raises Invalid, and keeps nothing, when its digest is another."""
        try:
            self._blobs.path(digest)
            if upload.staged.digest != digest:
                raise Invalid(f"what was uploaded has the digest {upload.staged.digest}, not {digest}")
            await asyncio.to_thread(upload.staged.finish)
            async with self._turn:
                self._promised[digest] = self._clock()
                await asyncio.to_thread(self._blobs.keep, upload.staged)
        finally:
            self.uploads.end(upload)

    async def put_manifest(self, repository: str, selector: str, content: bytes, content_type: str, *, who: str) -> str:
        """Keep a manifest under a tag or its digest; returns the digest.

        Raises Invalid for a bad one, NotFound when something it refers to is not here, Conflict for other bytes of a version
        of a system image, or where the repository has images of another kind.
        """
        if len(content) > MAX_MANIFEST:
            raise TooLarge(f"a manifest may have {MAX_MANIFEST} bytes at most")
        manifest = parse_manifest(content, content_type)
        async with self._turn:
            digest = await asyncio.to_thread(self._put, repository, selector, content, manifest)
        _log.info("image stored by %s: %s, %s", who, repository, selector, extra={"action": "registry.stored"})
        return digest

    async def manifest(self, repository: str, selector: str) -> StoredManifest:
        """The manifest that a tag or digest picks; raises NotFound, or Unavailable for a damaged one."""
        return await asyncio.to_thread(self._manifest, repository, selector)

    def digest(self, repository: str, selector: str) -> str:
        """The digest of an image that is here, empty when there is none.  Reads one small file."""
        try:
            return self._repositories.resolve(repository, selector).digest
        except NotFound:
            return ""

    async def repositories(self) -> list[str]:
        """The names of all repositories, in order."""
        return await asyncio.to_thread(self._repositories.names)

    async def tags(self, repository: str) -> list[str]:
        """A repository's tags, in order; raises NotFound when there is no such repository."""
        tags, links = await asyncio.to_thread(
            lambda: (self._repositories.tags(repository), self._repositories.links(repository))
        )
        if not links:
            raise NotFound(f"no repository {repository} here")
        return list(tags)

    async def images(self) -> list[ImageLine]:
        """All images, by name and tag."""
        async with self._turn:
            return await asyncio.to_thread(self._images)

    async def system_images(self) -> list[SystemImageLine]:
        """The system images, with what they say of themselves."""
        async with self._turn:
            return await asyncio.to_thread(system_images, self._repositories, self._blobs)

    async def system_image(self, reference: str) -> SystemImageLine:
        """The system image that a name means; raises NotFound, and Invalid for an image of another kind."""
        async with self._turn:
            return await asyncio.to_thread(system_image, self._repositories, self._blobs, reference)

    async def load(self, stream: AsyncIterator[bytes], *, who: str) -> list[str]:
        """Store the images of an archive that `docker save` or skopeo wrote; returns their names.

        Raises Invalid in one line, and stores nothing, when something about it is wrong; likewise Conflict for other bytes of
        a version of a system image, or where a repository has images of another kind.
        """
        async with unpack(stream, self._blobs.stage) as archive, self._turn:
            names = await asyncio.to_thread(self._adopt, archive)
        _log.info("images loaded by %s: %s", who, ", ".join(names), extra={"action": "registry.loaded"})
        return names

    async def delete(self, reference: str, *, who: str) -> None:
        """Delete an image by its name: a tag (`latest` when none is given) or, with `@sha256:…`, a manifest."""
        chosen = parse_reference(reference)
        # A name that begins like a host can have been pushed here nevertheless.
        repository = f"{chosen.host}/{chosen.repository}" if chosen.host else chosen.repository
        if not REPOSITORY.match(repository):
            raise NotFound(f"no image {reference} here: images are kept without the name of a registry")
        await self.delete_manifest(repository, chosen.selector, who=who)

    async def delete_manifest(self, repository: str, selector: str, *, who: str) -> None:
        """Delete a tag, or a manifest with all its tags, and what nothing else needs.

        A system image goes with all its names, whichever is given; `latest` then is the newest that is left.  Raises NotFound, or Conflict while a workflow that is not over is pinned to it.
        """
        async with self._turn:
            await asyncio.to_thread(self._delete, repository, selector, await self._pinned())
        _log.info("image deleted by %s: %s, %s", who, repository, selector, extra={"action": "registry.deleted"})

    def _put(self, repository: str, selector: str, content: bytes, manifest: Manifest) -> str:
        nested(manifest.manifests, lambda listed: self._listed(repository, listed.digest))
        for needed, told in dict.fromkeys((each.digest, each.size) for each in (*manifest.blobs, *manifest.manifests)):
            size = self._blobs.verified(needed).stat().st_size
            if size != told:
                raise Invalid(f"{needed} has {size} bytes, the manifest says {told}")
        if manifest.artifact_type == ARTIFACT_TYPE:
            refuse_unfit(manifest, repository, "" if ":" in selector else selector, self._blobs.read)
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        if ":" in selector and selector != digest:
            raise Invalid(f"the manifest's digest is {digest}, not {selector}")
        refuse_mixed(repository, manifest, self._named(repository))
        if ":" not in selector:
            self._refuse_other_bytes(repository, selector, digest)
        self._blobs.add(content)
        link = Link(digest=digest, media_type=manifest.media_type, pushed_at=self._clock().isoformat())
        self._repositories.link(repository, link)
        if ":" not in selector:
            self._repositories.tag(repository, selector, link)
        for fulfilled in manifest.digests:
            self._promised.pop(fulfilled, None)
        return digest

    def _listed(self, repository: str, digest: str) -> Manifest:
        """A manifest that an index lists; of an image, which lists none, only what it is."""
        link = self._repositories.resolve(repository, digest)
        if link.media_type not in INDEXES:
            return Manifest(media_type=link.media_type)
        return parse_manifest(self._blobs.read(digest), link.media_type)

    def _manifest(self, repository: str, selector: str) -> StoredManifest:
        link = self._repositories.resolve(repository, selector)
        content = self._blobs.read(link.digest)
        return StoredManifest(digest=link.digest, media_type=link.media_type, content=content)

    def _kept_system(self, repository: str, tag: str) -> tuple[Link, Manifest] | None:
        """The system image that has this version; None for `latest`, which moves, and where there is none."""
        if tag == LATEST:
            return None
        try:
            link = self._repositories.resolve(repository, tag)
            kept = parse_manifest(self._blobs.read(link.digest), link.media_type)
        except Refusal:  # nothing is here, or nothing that can be read
            return None
        return (link, kept) if kept.artifact_type == ARTIFACT_TYPE else None

    def _refuse_other_bytes(self, repository: str, tag: str, digest: str) -> None:
        """Raise Conflict where a tag is the version of a system image that has another digest."""
        kept = self._kept_system(repository, tag)
        if kept is not None and kept[0].digest != digest:
            raise Conflict(
                f"the system image {repository}:{tag} is here already with another digest: give this one another version, "
                f"or delete the other first with `tinkbox image delete {repository}:{tag}`"
            )

    def _named(self, repository: str) -> Sequence[tuple[str, Manifest]]:
        """What can be read of a repository's manifests, each with its name: by a tag where it has one."""
        tags = {link.digest: tag for tag, link in self._repositories.tags(repository).items()}
        names = {digest: f"{repository}:{tag}" for digest, tag in tags.items()}
        found = self._manifests(repository).items()
        return [(names.get(digest, f"{repository}@{digest}"), manifest) for digest, manifest in found]

    def _refuse_mixed(self, archive: Archive) -> None:
        """Raise Conflict where a repository would have system images and container images."""
        kept: dict[str, list[tuple[str, Manifest]]] = {}
        for image in archive.images:
            if image.repository not in kept:
                kept[image.repository] = [*self._named(image.repository)]
            others = kept[image.repository]
            for content, media_type in image.manifests:
                manifest = parse_manifest(content, media_type)
                refuse_mixed(image.repository, manifest, others)
                others.append((f"{image.repository}:{image.tag}", manifest))

    def _adopt(self, archive: Archive) -> list[str]:
        self._refuse_mixed(archive)
        here = self._same_disks(archive)
        for staged in archive.blobs:
            self._blobs.keep(staged)
        for image in archive.images:
            if image.digest in here:
                self._repositories.tag(image.repository, image.tag, here[image.digest])
                continue
            for content, media_type in image.manifests:
                manifest = parse_manifest(content, media_type)
                digest = self._blobs.add(content)
                link = Link(digest=digest, media_type=manifest.media_type, pushed_at=self._clock().isoformat())
                self._repositories.link(image.repository, link)
            self._repositories.tag(image.repository, image.tag, link)
        return [f"{image.repository}:{image.tag}" for image in archive.images]

    def _same_disks(self, archive: Archive) -> Mapping[str, Link]:
        """By its digest in the archive, the version of a system image that is here with the same disk, and is left as it is.

        Fetched again it may be proven in another way.  Raises Conflict where the version that is here has another disk.
        """
        here: dict[str, Link] = {}
        staged = {each.digest: each.path for each in archive.blobs}
        for image in archive.images:
            content, media_type = image.manifests[-1]
            manifest = parse_manifest(content, media_type)
            if manifest.artifact_type == ARTIFACT_TYPE:
                refuse_unfit(manifest, image.repository, image.tag, lambda digest: staged[digest].read_bytes())
            kept = self._kept_system(image.repository, image.tag)
            if kept is not None and kept[1].blobs[1:] == manifest.blobs[1:]:
                here[image.digest] = kept[0]
            else:
                self._refuse_other_bytes(image.repository, image.tag, image.digest)
        return here

    def _images(self) -> list[ImageLine]:
        lines: list[ImageLine] = []
        for repository in self._repositories.names():
            manifests = self._manifests(repository)
            tags = self._repositories.tags(repository)
            used = {link.digest for link in tags.values()}.union(*(each.members for each in manifests.values()))
            untagged = [
                ("", link) for digest, link in self._repositories.links(repository).items() if digest not in used
            ]
            listed = [*tags.items(), *untagged]
            sizes = {digest: _size(digest, manifests) for digest in {link.digest for _, link in listed}}
            for tag, link in listed:
                size = sizes[link.digest]
                line = ImageLine(
                    name=repository,
                    tag=tag,
                    digest=link.digest,
                    size=size,
                    pushed_at=link.pushed_at,
                    kind=kind_of(manifests[link.digest]) if link.digest in manifests else Kind.CONTAINER,
                )
                lines.append(line)
        return lines

    def _manifests(self, repository: str) -> dict[str, Manifest]:
        """What can be read of a repository's manifests, by digest."""
        found = {}
        for digest, link in self._repositories.links(repository).items():
            try:
                found[digest] = parse_manifest(self._blobs.read(digest), link.media_type)
            except (Invalid, NotFound, Unavailable) as error:
                _log.warning("manifest lost: %s@%s: %s", repository, digest, error, extra={"action": "registry.lost"})
        return found

    def _delete(self, repository: str, selector: str, pinned: Mapping[str, str]) -> None:
        digest = self._repositories.resolve(repository, selector).digest
        if digest in pinned:
            raise Conflict(
                f"workflow {pinned[digest]} is not over and needs {repository} ({digest}): delete the image when it is over, "
                f"or type `tinkbox workflow cancel {pinned[digest][:8]}` first"
            )
        manifest = self._manifests(repository).get(digest)
        system = manifest is not None and manifest.artifact_type == ARTIFACT_TYPE
        gone = [
            tag
            for tag, link in self._repositories.tags(repository).items()
            if selector in (tag, link.digest) or (system and link.digest == digest)
        ]
        for tag in gone:
            self._repositories.untag(repository, tag)
        left = self._repositories.tags(repository).values()
        if system and LATEST in gone and left:
            self._repositories.tag(repository, LATEST, max(left, key=lambda link: link.pushed_at))
        self._forget(repository, digest, pinned)
        self._collect()

    def _forget(self, repository: str, digest: str, pinned: Collection[str]) -> None:
        """Unlink a manifest that no tag, index or workflow needs, and then the members of an index likewise."""
        kept = {link.digest for link in self._repositories.tags(repository).values()}.union(pinned)
        manifests = self._manifests(repository)
        listed_by = Counter(member for manifest in manifests.values() for member in manifest.members)
        pending = {digest}
        while pending:
            digest = pending.pop()
            if digest in kept or listed_by[digest]:
                continue
            self._repositories.unlink(repository, digest)
            members = manifests[digest].members if digest in manifests else ()
            listed_by.subtract(members)
            pending.update(members)

    def _collect(self) -> None:
        """Drop the blobs that no manifest refers to and no push was promised."""
        needed: set[str] = set()
        for repository in self._repositories.names():
            links, manifests = self._repositories.links(repository), self._manifests(repository)
            if len(manifests) < len(links):
                _log.warning(
                    "no blob is deleted: a manifest of %s is damaged", repository, extra={"action": "registry.collect"}
                )
                return
            needed.update(links, *(manifest.digests for manifest in manifests.values()))
        now = self._clock()
        self._promised = {digest: at for digest, at in self._promised.items() if now - at < PROMISED_FOR}
        for digest in [each for each in self._blobs if each not in needed and each not in self._promised]:
            self._blobs.remove(digest)


def _size(digest: str, manifests: Mapping[str, Manifest]) -> int:
    found = reachable(digest, manifests)
    return sum({blob.digest: blob.size for manifest in found.values() for blob in manifest.blobs}.values())
