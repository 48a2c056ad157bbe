"""The images: what the registry's two faces, the OCI protocol and the operator's commands, both stand on.

Nothing is deleted that the operator did not delete: a manifest whose tag moved on stays, is listed without a
tag, and can be pulled and deleted by its digest, unless a workflow or a template needs it.  Blobs that no manifest refers to
are collected (`collection`), except those that a client was told of (`promises`).

A version of a system image, such as `debian-13:20261101`, means the same bytes for ever: only `latest` moves on.  Under
whichever tag one comes, it has that of its version as well.
A repository has system images or others, never both: the name of an action cannot come to mean a disk.
"""

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Final

from tinkbox.engine.turns import in_thread
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Refusal, TooLarge, Unavailable
from tinkbox.model.images.deleted import Deleted
from tinkbox.model.images.listed_images import ImageDescriptor, ImageLine, SystemImageLine
from tinkbox.model.images.needs import ImageNeed
from tinkbox.model.images.references import (
    DIGEST,
    Reference,
    algorithm_of,
    as_typed,
    digest_of,
    familiar,
    official,
    parse_reference,
)
from tinkbox.model.images.room import Amount, Collected, ImageRoom
from tinkbox.model.images.system_image import ARTIFACT_TYPE, LATEST
from tinkbox.model.limits import Limits
from tinkbox.model.text import counted
from tinkbox.registry.archives.layouts import Image
from tinkbox.registry.archives.reading import Archive, Target, unpack
from tinkbox.registry.blobs.blobs import PIECE, Blobs, Staged, make_folder
from tinkbox.registry.blobs.room import Room
from tinkbox.registry.blobs.uploads import Upload, Uploads
from tinkbox.registry.collection import Collector
from tinkbox.registry.image_referrers import referrers_of, referring_to
from tinkbox.registry.manifests.kinds import Kind, kind_of, refuse_mixed
from tinkbox.registry.manifests.manifests import (
    MANIFESTS,
    MAX_MANIFEST,
    Manifest,
    StoredManifest,
    nested,
    parse_manifest,
    reachable,
)
from tinkbox.registry.manifests.parsed_manifests import ParsedManifests
from tinkbox.registry.manifests.referrers import Page, page_of
from tinkbox.registry.manifests.repositories import Key, Link, Repositories, is_repository
from tinkbox.registry.needs import only_the_tag, refuse_needed
from tinkbox.registry.system_images import fit_version, system_image, system_images
from tinkbox.registry.untagged import Untagged, untagged

MOST_LOOKED_AT: Final = 100  # manifests of one image, while others wait
TAG_DAMAGED: Final = "the tag is damaged: push or load it again, or delete it"
_log = logging.getLogger(__name__)
_Reader = Callable[[StoredManifest], Manifest]


@dataclass(frozen=True, slots=True, kw_only=True)
class PutManifest:
    """What was kept of a manifest: its digest, that of its subject if it has one, and the tags that point to it now."""

    digest: str
    subject: str
    tags: Sequence[str]


async def _nothing_needed() -> Sequence[ImageNeed]:
    return ()


class ImageStore:
    """Images below `root`.  One process may use it at a time; making it drops what cut-off uploads left there.

    `needs` tells which images must stay, and what for, and `is_own` whether a host in an image's name is this registry.  The log says `who` changed what.
    `room` is what the registry may take.
    """

    def __init__(
        self,
        root: Path,
        clock: Callable[[], datetime],
        limits: Limits,
        room: Room | None = None,
        new_token: Callable[[], str] = lambda: secrets.token_hex(16),
        needs: Callable[[], Awaitable[Sequence[ImageNeed]]] = _nothing_needed,
        is_own: Callable[[str], bool] = lambda _: False,
    ) -> None:
        make_folder(root / "repositories")
        self._clock = clock
        self._blobs = Blobs(root, clock, new_token, room)
        self._repositories = Repositories(root, self._blobs.write)
        _join_spellings(self._repositories)
        self._parsed = ParsedManifests(self._blobs)
        self._needs = needs
        self._target = Target(size_here=self._size_here, is_own=is_own)
        self._kinds: dict[str, set[Kind]] = {}
        self._turn = asyncio.Lock()  # whoever changes what refers to what
        self._collector = Collector(self._blobs, self._repositories, self._parsed, self._turn)
        self.uploads = Uploads(self._blobs.stage, clock, new_token, limits, self._blobs.is_full)

    async def run(self) -> None:
        """Free what nothing needs any more, for ever."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.uploads.run())
                group.create_task(self._collector.run())
        finally:
            self._blobs.close()

    async def collect(self, *, who: str, dry_run: bool = False, now: bool = False, untagged: bool = False) -> Collected:
        """Free the blobs that no image needs, or tell what that would free: with `untagged` also the images without a tag.

        An image stays that a workflow or a template needs.  With `now` goes also what came, or what a client was told of,
        within the hour: a push in progress has to send it again.
        """
        await self._collector.warm_up()
        async with self._turn:
            found = await asyncio.to_thread(self._untagged, await self._needs())
            recent = {*found.recent} if not now else set()
            going = {*found.manifests} - recent if untagged else set()
            if not dry_run:
                await asyncio.to_thread(self._unlink, going)
        staying = {*found.manifests} - going
        if dry_run:
            collected = await self._collector.look(staying, going, now=now)
        else:
            collected = await self._collector.collect(staying, now=now)
        images = len(going - {*found.listed})
        left = Amount(number=len(staying - {*found.listed}), octets=collected.untagged.octets)
        collected = replace(collected, images=images, untagged=left, recent=untagged)
        if not dry_run:
            told = f"{collected.freed}, with {counted(images, 'image')}" if images else str(collected.freed)
            _log.info("blobs freed by %s: %s", who, told, extra={"action": "registry.collected"})
        return collected

    def room(self) -> ImageRoom:
        """What all images take, and what may still come."""
        return self._blobs.room()

    async def blob(self, digest: str) -> Path:
        """A blob's file, verified; raises NotFound, or Unavailable for a damaged one."""
        found = self._blobs.ready(digest)
        if found is not None:
            return found
        if self._blobs.is_small(digest):
            return await asyncio.to_thread(self._blobs.verified, digest)
        try:
            # Others may wait for the same.
            whole = await asyncio.shield(asyncio.wrap_future(self._blobs.check(digest)))
        except FileNotFoundError:
            raise NotFound(f"no blob {digest}") from None
        return self._blobs.outcome(digest, whole=whole)

    async def promise(self, digest: str) -> Path:
        """The same for a push that will not send what is here already: the blob stays for an hour."""
        self._blobs.promise(digest)
        return await self.blob(digest)

    async def keep(self, upload: Upload, digest: str) -> None:
        """End an upload and keep its blob; raises Invalid, and keeps nothing, when its digest is another: the upload stays."""
        try:
            self._blobs.path(digest)
            await asyncio.to_thread(self._keep_staged, upload.staged, digest)
        except Invalid:
            raise
        except BaseException:
            self.uploads.end(upload)
            raise
        self.uploads.end(upload)

    async def take_in(self, digest: str, size: int, chunks: AsyncIterator[bytes]) -> None:
        """Keep a blob that comes from another registry, and stays for an hour.

        Raises Invalid, and keeps nothing, when it is not what its digest and size say; Unavailable when there is no room for it.
        """
        staged, pending = self._blobs.stage(), bytearray()
        try:
            async for chunk in chunks:
                pending += chunk
                if staged.size + len(pending) > size:
                    raise Invalid(f"{digest} has more than the {size} bytes that its manifest says")
                if len(pending) >= PIECE:
                    await asyncio.to_thread(staged.write, pending)
                    pending = bytearray()
            await asyncio.to_thread(staged.write, pending)
            if staged.size != size:
                raise Invalid(f"{digest} has {staged.size} bytes, its manifest says {size}")
            await asyncio.to_thread(self._keep_staged, staged, digest)
        finally:
            staged.discard()

    async def is_whole(self, repository: str, selector: str) -> bool:
        """Whether an image is here with all its blobs; of an index, whether the index is."""
        return await asyncio.to_thread(self._is_whole, repository, selector)

    async def put_manifest(
        self,
        repository: str,
        selector: str,
        content: bytes,
        content_type: str,
        tags: Sequence[str] = (),
        *,
        who: str,
        fetched: bool = False,
    ) -> PutManifest:
        """Keep a manifest under a tag, or under its digest and `tags`.

        One that was `fetched` from a mirror takes no tag that a person gave to an image.
        Raises Invalid for a bad one, NotFound when a blob of it is not here, Conflict for other bytes of a version of a system
        image, or where the repository has images of another kind.
        """
        if len(content) > MAX_MANIFEST:
            raise TooLarge(f"a manifest may have {MAX_MANIFEST} bytes at most")
        manifest = parse_manifest(content, content_type)
        named = tuple(dict.fromkeys(tags)) if ":" in selector else (selector,)
        for needed in manifest.digests:
            with suppress(NotFound, Unavailable):  # told below
                await self.blob(needed)  # to hash it takes long, and whoever has the turn holds up all others
        async with self._turn:
            if fetched:
                named = tuple(tag for tag in named if not self.by_hand(repository, tag))
            digest = await asyncio.to_thread(self._put, repository, selector, named, content, manifest, fetched)
        shown = ", ".join(named or (selector,))
        _log.info("image stored by %s: %s, %s", who, repository, shown, extra={"action": "registry.stored"})
        return PutManifest(digest=digest, subject=manifest.subject, tags=named)

    async def manifest(self, repository: str, selector: str) -> StoredManifest:
        """The manifest that a tag or digest picks; raises NotFound, or Unavailable for a damaged one."""
        return await asyncio.to_thread(self._manifest, repository, selector)

    async def referrers(self, repository: str, digest: str, artifact_type: str = "", last: str = "") -> Page:
        """What refers to a digest as its subject, of one artifact type or of all; raises Invalid for what is no digest.

        It is the same for a repository, and for a digest, that is not here: nothing.
        """
        if not DIGEST.match(digest):
            raise Invalid(f"not a sha256 or sha512 digest: {digest[:140]!r}")
        find = partial(referrers_of, self._repositories, self._parsed, repository, digest, artifact_type)
        return page_of(await asyncio.to_thread(find), last)

    async def delete_blob(self, digest: str, *, who: str) -> None:
        """Delete a blob at once; raises NotFound, and Conflict where a manifest needs it."""
        async with self._turn:
            await asyncio.to_thread(self._delete_blob, digest)
        _log.info("blob deleted by %s: %s", who, digest, extra={"action": "registry.deleted"})

    def digest(self, repository: str, selector: str) -> str:
        """The digest of an image that is here, empty when there is none, or a damaged tag.  Reads one small file."""
        try:
            return self._repositories.resolve(repository, selector).digest
        except (NotFound, Unavailable):
            return ""

    def has(self, repository: str, selector: str) -> bool:
        """Whether there is such a tag or digest, a damaged tag included."""
        try:
            self._repositories.resolve(repository, selector)
        except NotFound:
            return False
        except Unavailable:
            return True
        return True

    def is_system(self, repository: str, selector: str) -> bool:
        """Whether there is such a system image, a damaged one included."""
        try:
            parsed = self._parsed.of(repository, self._repositories.resolve(repository, selector))
        except NotFound:
            return False
        except Unavailable:
            return True
        return parsed is None or parsed.manifest.artifact_type == ARTIFACT_TYPE

    def damage(self, repository: str, selector: str) -> str:
        """What `images` says is damaged of one that is here; empty: nothing.  Reads small files.

        Of an index that lists more than MOST_LOOKED_AT images the others are not looked at.
        """
        try:
            link = self._repositories.resolve(repository, selector)
        except NotFound:
            return ""
        except Unavailable:
            return TAG_DAMAGED
        links, looked_at, manifests = self._repositories.links(repository), set[str](), dict[str, Manifest]()
        pending = [link.digest]
        while pending and len(looked_at) < MOST_LOOKED_AT:
            digest = pending.pop()
            if digest in links and digest not in looked_at:
                looked_at.add(digest)
                if (parsed := self._parsed.readable(repository, links[digest])) is not None:
                    manifests[digest] = parsed.manifest
                    pending.extend(parsed.manifest.members)
        needed = {blob.digest for each in manifests.values() for blob in each.blobs}
        here = {each for each in needed if self._blobs.path(each).exists()}
        return _problem(link.digest, looked_at, manifests, here)

    def named(self, digest: str) -> str:
        """The first name by which a digest is here, by a tag if it has one; empty: it is not."""
        for repository in self._repositories.names():
            if self.has(repository, digest):
                tags = [tag for tag, link in self._repositories.tags(repository).items() if link.digest == digest]
                return f"{as_typed(repository)}:{tags[0]}" if tags else f"{as_typed(repository)}@{digest}"
        return ""

    def by_hand(self, repository: str, tag: str) -> str:
        """The digest of what a person pushed or loaded under a tag, empty where nobody did; a mirror does not change it."""
        try:
            link = self._repositories.resolve(repository, tag)
        except (NotFound, Unavailable):
            return ""
        return "" if link.fetched else link.digest

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

    def repository(self, name: str) -> str:
        """The repository that a name in the OCI protocol means (`Reference.kept_as`): any spelling of it means the same one.

        What is no name stays as it is, and is refused by whatever it is given to.
        """
        try:
            named = parse_reference(name)
        except Invalid:
            return name
        return name if named.tag or named.digest else self._repository(named)

    async def images(self) -> list[ImageLine]:
        """All images, by name as a person types it, and tag."""
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

    async def load(
        self,
        stream: AsyncIterator[bytes],
        *,
        who: str,
        name: str = "",
        tell: Callable[[Problem], None] = lambda _: None,
    ) -> list[str]:
        """Store the images of an archive that `docker save` or skopeo wrote; returns their names.

        Between two manifests or tags others have their turn, and it can be cancelled.  With a `name` it has one image, which is stored under this one.  `tell` hears of each tag that meant another image
        before.  Raises Invalid in one line, and stores nothing, when something about it is wrong; likewise Conflict for other bytes of
        a version of a system image, or where a repository has images of another kind.
        """
        async with unpack(stream, self._blobs.stage, self._target, name) as archive:
            before = {(each.repository, each.tag): self.digest(each.repository, each.tag) for each in archive.images}
            read = cache(lambda each: parse_manifest(each.content, each.media_type))
            images, here = await in_thread(self._in_turn, self._acceptable, archive, read)
            names: list[str] = []
            try:
                for step in self._adopting(archive, images, here, read, names.append):
                    await in_thread(self._in_turn, step)
            finally:
                if names:
                    _log.info("images loaded by %s: %s", who, ", ".join(names), extra={"action": "registry.loaded"})
            for (repository, tag), digest in before.items():
                # The `latest` of a system image moves on, and the one before has its version.
                if digest not in ("", self.digest(repository, tag)) and not self.is_system(repository, tag):
                    named = as_typed(repository)
                    tell(Problem(text=f"{named}:{tag} was another image before: {named}@{digest}"))
        return names

    async def described(self, reference: str) -> ImageDescriptor:
        """The manifest that an image's name means; raises NotFound, or Unavailable for a damaged one."""
        repository, selector = self._place(reference)
        found = await self.manifest(repository, selector)
        separator = "@" if ":" in selector else ":"
        return ImageDescriptor(
            reference=f"{as_typed(repository)}{separator}{selector}",
            digest=found.digest,
            media_type=found.media_type,
            size=len(found.content),
        )

    async def referring(self, reference: str) -> list[ImageDescriptor]:
        """What refers to an image, to what it lists, or to what does: by a tag where that says it, else by its digest.

        Raises as `described`.
        """
        repository, selector = self._place(reference)
        return await asyncio.to_thread(
            referring_to, self._repositories, self._parsed, self._blobs, repository, selector
        )

    async def absent(self, digests: Sequence[str]) -> list[str]:
        """Those blobs that are not here; the others stay for an hour.  Raises Invalid for what is no digest."""
        return await asyncio.to_thread(lambda: [each for each in digests if not self._is_promised(each)])

    async def delete(self, reference: str, *, who: str) -> Deleted:
        """Delete an image by its name: a tag (`latest` when none is given) or, with `@sha256:…`, a manifest.

        Raises as `delete_manifest`.
        """
        repository, selector = self._place(reference)
        return await self.delete_manifest(repository, selector, who=who)

    async def delete_manifest(self, repository: str, selector: str, *, who: str) -> Deleted:
        """Delete a tag, or a manifest with all its tags, and what nothing else needs.

        Of an image with another tag, and of one that a template names by its digest, only the tag goes.  A system image goes
        with all its names, whichever is given; `latest` then is the one that came last of those that are left.  Raises NotFound, or Conflict where a workflow that is not over needs it, or a template what would go.
        """
        async with self._turn:
            deleted = await asyncio.to_thread(self._delete, repository, selector, await self._needs())
        _log.info("image deleted by %s: %s", who, deleted.name, extra={"action": "registry.deleted"})
        return deleted

    def _keep_staged(self, staged: Staged, digest: str) -> None:
        algorithm = algorithm_of(digest)
        actual = staged.digest_by(algorithm)
        if actual != digest:
            raise Invalid(f"what was uploaded has the digest {actual}, not {digest}")
        self._blobs.keep(staged, algorithm, promised=True)

    def _is_whole(self, repository: str, selector: str) -> bool:
        try:
            link = self._repositories.resolve(repository, selector)
        except (NotFound, Unavailable):
            return False
        parsed = self._parsed.of(repository, link)
        needed = [link.digest, *(each.digest for each in parsed.manifest.blobs)] if parsed is not None else []
        return parsed is not None and all(self._blobs.size(each) is not None for each in needed)

    def _place(self, reference: str) -> tuple[str, str]:
        """Repository and tag or digest of an image by its name; raises Invalid for what is none."""
        chosen = parse_reference(reference)
        pushed = f"{chosen.host}/{chosen.repository}"
        if chosen.host and is_repository(pushed) and self._repositories.links(pushed):
            return pushed, chosen.selector  # an earlier release kept this registry's own host so, and so it is listed
        return self._repository(chosen), chosen.selector

    def _repository(self, named: Reference) -> str:
        return named.repository if self._target.is_own(named.host) else named.kept_as

    def _is_promised(self, digest: str) -> bool:
        try:
            self._blobs.promise(digest)
        except NotFound:
            return False
        return True

    def _size_here(self, digest: str) -> int | None:
        """The bytes of a blob that is here, is what its digest says, and stays for an hour."""
        if not self._is_promised(digest):
            return None
        with suppress(NotFound, Unavailable):
            return self._blobs.verified(digest).stat().st_size
        return None

    def _put(
        self,
        repository: str,
        selector: str,
        tags: Sequence[str],
        content: bytes,
        manifest: Manifest,
        fetched: bool,
    ) -> str:
        nested(manifest.manifests, lambda listed: self._listed(repository, listed.digest))
        self._refuse_missing(manifest)
        if manifest.artifact_type == ARTIFACT_TYPE:
            versions = [fit_version(manifest, repository, tag, self._blobs.read) for tag in tags or ("",)]
            tags = tuple(dict.fromkeys((*tags, *versions))) if tags else tags
        algorithm = algorithm_of(selector) if DIGEST.match(selector) else "sha256"
        digest = digest_of(content, algorithm)
        if ":" in selector and selector != digest:
            raise Invalid(f"the manifest's digest is {digest}, not {selector[:140]}")
        if self._would_mix(repository, manifest):
            refuse_mixed(as_typed(repository), manifest, self._named(repository))
        for tag in tags:
            self._refuse_other_bytes(repository, tag, digest)
        moment = self._clock().isoformat()
        link = Link(digest=digest, media_type=manifest.media_type, pushed_at=moment, fetched=fetched)
        self._repositories.put(repository, link, tags, lambda files: self._blobs.add(content, algorithm, files))
        self._parsed.note(digest, manifest, len(content))
        self._blobs.note_needed(manifest.digests)
        self._kinds[repository].add(kind_of(manifest))
        return digest

    def _would_mix(self, repository: str, manifest: Manifest) -> bool:
        """Whether a repository would have system images and container images.  What it has is looked for once."""
        if repository not in self._kinds:
            links = self._repositories.links(repository).values()
            parsed = [self._parsed.of(repository, each) for each in links]
            self._kinds[repository] = {kind_of(each.manifest) for each in parsed if each is not None}
        return {Kind.SYSTEM, Kind.CONTAINER} <= {*self._kinds[repository], kind_of(manifest)}

    def _refuse_missing(self, manifest: Manifest) -> None:
        """Raise NotFound where a blob that it needs is not here, and Invalid where one has another size than it says."""
        needed = {each.digest for each in manifest.blobs}
        listed = (*manifest.blobs, *manifest.foreign, *manifest.manifests)
        for digest, told in dict.fromkeys((each.digest, each.size) for each in listed):
            try:
                size = self._blobs.verified(digest).stat().st_size
            except (NotFound, Unavailable):
                if digest in needed:
                    raise
                continue
            if size != told:
                raise Invalid(f"{digest} has {size} bytes, the manifest says {told}")

    def _listed(self, repository: str, digest: str) -> Manifest:
        """A manifest that an index lists; of an image, of a blob and of what is not here, which list none, only what it is."""
        try:
            link = self._repositories.resolve(repository, digest)
            if link.media_type in MANIFESTS:
                return Manifest(media_type=link.media_type)
            return parse_manifest(self._blobs.read(digest), link.media_type)
        except (NotFound, Unavailable):
            return Manifest(media_type="")

    def _manifest(self, repository: str, selector: str) -> StoredManifest:
        link = self._repositories.resolve(repository, selector)
        content = self._blobs.read(link.digest)
        media_type = link.media_type or parse_manifest(content).media_type
        return StoredManifest(digest=link.digest, media_type=media_type, content=content)

    def _delete_blob(self, digest: str) -> None:
        if not self._blobs.path(digest).exists():
            raise NotFound(f"no blob {digest}")
        for repository in self._repositories.names():
            for each, manifest in self._manifests(repository).items():
                if digest == each or digest in manifest.digests:
                    raise Conflict(
                        f"{as_typed(repository)}@{each} needs this blob: delete the image, and it goes by itself"
                    )
            if digest in self._repositories.links(repository):
                named = as_typed(repository)
                raise Conflict(f"this blob is a manifest of {named}: delete {named}@{digest}")
        self._blobs.remove(digest)

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
        named = as_typed(repository)
        names = {digest: f"{named}:{tag}" for digest, tag in tags.items()}
        found = self._manifests(repository).items()
        return [(names.get(digest, f"{named}@{digest}"), manifest) for digest, manifest in found]

    def _refuse_mixed(self, archive: Archive, read: _Reader) -> None:
        """Raise Conflict where a repository would have system images and container images."""
        kept: dict[str, dict[Kind, tuple[str, Manifest]]] = {}  # one of each kind by repository
        for image in archive.images:
            named = as_typed(image.repository)
            if image.repository not in kept:
                kept[image.repository] = {kind_of(each[1]): each for each in reversed(self._named(image.repository))}
            others = kept[image.repository]
            for manifest in map(read, image.manifests):
                refuse_mixed(named, manifest, others.values())
                others.setdefault(kind_of(manifest), (f"{named}:{image.tag}", manifest))

    def _in_turn(self) -> asyncio.Lock:
        return self._turn

    def _acceptable(self, archive: Archive, read: _Reader) -> tuple[Sequence[Image], Mapping[str, Link]]:
        """The images of an archive as they are kept, and what `_same_disks` says of them; raises for what is wrong with any."""
        archive = replace(archive, images=self._with_versions(archive, read))
        self._refuse_mixed(archive, read)
        for image in archive.images:
            for each in image.manifests:
                self._refuse_freed(archive, image, read(each))
        return archive.images, self._same_disks(archive, read)

    def _adopting(
        self,
        archive: Archive,
        images: Sequence[Image],
        here: Mapping[str, Link],
        read: _Reader,
        stored: Callable[[str], None],
    ) -> Iterator[Callable[[], None]]:
        """What is to be done for an archive's images, in steps: each leaves nothing that refers to what is not there.

        `stored` hears the name of each image that is.
        """
        linked: set[tuple[str, str]] = set()
        for image in images:
            kept = here.get(image.digest)
            if kept is None or kept.digest == image.digest:
                for each in image.manifests:
                    if (image.repository, each.digest) not in linked:
                        linked.add((image.repository, each.digest))
                        yield partial(self._adopt, archive, image, each, read(each))
            yield partial(self._adopt_tag, image, kept, stored)

    def _adopt(self, archive: Archive, image: Image, stored: StoredManifest, manifest: Manifest) -> None:
        self._refuse_freed(archive, image, manifest)
        if self._would_mix(image.repository, manifest):
            refuse_mixed(as_typed(image.repository), manifest, self._named(image.repository))
        own = {digest: archive.blobs[digest] for digest in sorted(manifest.digests) if digest in archive.blobs}
        try:
            self._blobs.keep_all(own)
        except FileNotFoundError:  # it was kept with another image, which was deleted since
            raise Unavailable(f"a layer was freed meanwhile: load {image.repository}:{image.tag} again") from None
        self._blobs.add(stored.content, algorithm_of(stored.digest))
        link = Link(digest=stored.digest, media_type=stored.media_type, pushed_at=self._clock().isoformat())
        self._repositories.link(image.repository, link)
        self._blobs.note_needed(manifest.digests)
        self._kinds[image.repository].add(kind_of(manifest))

    def _adopt_tag(self, image: Image, kept: Link | None, stored: Callable[[str], None]) -> None:
        link = kept or self._repositories.resolve(image.repository, image.digest)
        self._refuse_other_bytes(image.repository, image.tag, link.digest)
        self._repositories.tag(image.repository, image.tag, replace(link, fetched=False))
        stored(f"{as_typed(image.repository)}:{image.tag}")

    def _refuse_freed(self, archive: Archive, image: Image, manifest: Manifest) -> None:
        """Raise Unavailable where what an archive lacks, since it was here, was freed meanwhile: `image gc --now` does that."""
        for blob in manifest.blobs:
            if blob.digest not in archive.blobs and self._blobs.size(blob.digest) is None:
                raise Unavailable(f"{blob.digest} was freed meanwhile: load {image.repository}:{image.tag} again")

    def _with_versions(self, archive: Archive, read: _Reader) -> tuple[Image, ...]:
        """The images of an archive, of system images each with its version as well; raises Invalid for one that is unfit."""
        found: dict[tuple[str, str], Image] = {(each.repository, each.tag): each for each in archive.images}
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
        return tuple(found.values())

    def _same_disks(self, archive: Archive, read: _Reader) -> Mapping[str, Link]:
        """By its digest in the archive, the version of a system image that is here with the same disk, and is left as it is.

        Fetched again it may be proven in another way.  Raises Conflict where the version that is here has another disk.
        """
        here: dict[str, Link] = {}
        for image in archive.images:
            manifest = read(image.manifests[-1])
            kept = self._kept_system(image.repository, image.tag)
            if kept is not None and kept[1].blobs[1:] == manifest.blobs[1:]:
                here[image.digest] = kept[0]
            else:
                self._refuse_other_bytes(image.repository, image.tag, image.digest)
        return here

    def _images(self) -> list[ImageLine]:
        lines: list[ImageLine] = []
        here = self._blobs.seen()
        for repository in self._repositories.names():
            manifests = self._manifests(repository)
            tags = self._repositories.tags(repository)
            used = {link.digest for link in tags.values()}
            used.update(*(each.members for each in manifests.values() if each.manifests))
            links = self._repositories.links(repository)
            untagged = [("", link) for digest, link in links.items() if digest not in used]
            listed = [*tags.items(), *untagged]
            looked_at: dict[str, tuple[int, str]] = {}
            for tag, link in listed:
                if link.digest not in looked_at:
                    looked_at[link.digest] = self._looked_at(link.digest, links, manifests, here)
                size, problem = looked_at[link.digest]
                line = ImageLine(
                    name=as_typed(repository),
                    tag=tag,
                    digest=link.digest,
                    size=size,
                    pushed_at=link.pushed_at,
                    kind=kind_of(manifests[link.digest]) if link.digest in manifests else Kind.CONTAINER,
                    problem=problem,
                )
                lines.append(line)
            lines += [_lost(repository, tag, self._clock()) for tag in self._repositories.damaged_tags(repository)]
        return lines

    def _looked_at(
        self, digest: str, links: Collection[str], manifests: Mapping[str, Manifest], here: Collection[str]
    ) -> tuple[int, str]:
        """The bytes of an image, and what is missing of it."""
        manifest = manifests.get(digest)
        if manifest is not None and not manifest.manifests and all(each.digest in here for each in manifest.blobs):
            return self._parsed.size(digest), ""
        return _size(digest, manifests), _problem(digest, links, manifests, here)

    def _manifests(self, repository: str) -> dict[str, Manifest]:
        """What can be read of a repository's manifests, by digest."""
        found = {}
        for digest, link in self._repositories.links(repository).items():
            parsed = self._parsed.readable(repository, link)
            if parsed is not None:
                found[digest] = parsed.manifest
        return found

    def _delete(self, repository: str, selector: str, needs: Sequence[ImageNeed]) -> Deleted:
        try:
            link = self._repositories.resolve(repository, selector)
        except Unavailable:  # nothing is known of a damaged tag but its name
            self._repositories.untag(repository, selector)
            return Deleted(name=f"{as_typed(repository)}:{selector}")
        digest, parsed = link.digest, self._parsed.of(repository, link)
        system = parsed is not None and parsed.manifest.artifact_type == ARTIFACT_TYPE
        tags = self._repositories.tags(repository)
        gone = [tag for tag, link in tags.items() if selector == tag or (system and link.digest == digest)]
        if ":" in selector:
            gone = [tag for tag, link in tags.items() if link.digest == digest]
        left = [tag for tag, link in tags.items() if link.digest == digest and tag not in gone]
        whole = system or ":" in selector
        of_this = [each for each in needs if self._is_for(each, repository)]
        needing = [each for each in of_this if each.digest == digest]
        refuse_needed(repository, selector, digest, needing, whole=whole, left=left)
        for tag in gone:
            self._repositories.untag(repository, tag)
        others = self._repositories.tags(repository).values()
        if system and LATEST in gone and others:
            self._repositories.tag(repository, LATEST, max(others, key=lambda link: link.pushed_at))
        self._forget(repository, digest, {each.digest for each in of_this})
        self._collector.step()
        version = next((tag for tag in sorted(gone) if tag != LATEST), selector) if system else selector
        name = f"{as_typed(repository)}{'@' if ':' in version else ':'}{version}"
        notes = [] if whole else only_the_tag(repository, selector, digest, needing, left)
        return Deleted(name=name, notes=notes)

    def _is_for(self, need: ImageNeed, repository: str) -> bool:
        """Whether a repository is the one that gives what is needed; what cannot be told apart is taken for it."""
        try:
            named = parse_reference(need.image)
        except Invalid:
            return True
        kept = self._repository(named)
        places = [each for each in (kept, official(kept) or familiar(kept)) if each]
        giving = [each for each in places if is_repository(each) and self.has(each, need.digest)]
        return repository in (giving[:1] or places)

    def _untagged(self, needs: Sequence[ImageNeed]) -> Untagged:
        return untagged(self._repositories, self._parsed, {each.digest for each in needs}, self._clock())

    def _unlink(self, manifests: Iterable[Key]) -> None:
        for repository, digest in manifests:
            self._repositories.unlink(repository, digest)
            self._parsed.forget([digest])
            self._kinds.pop(repository, None)

    def _forget(self, repository: str, digest: str, needed: Collection[str]) -> None:
        """Unlink a manifest that no tag, index, workflow or template needs, and then the members of an index likewise."""
        kept = {link.digest for link in self._repositories.tags(repository).values()}.union(needed)
        manifests: dict[str, Manifest] = {}
        for each, link in self._repositories.links(repository).items():
            parsed = self._parsed.of(repository, link)
            if parsed is not None:
                manifests[each] = parsed.manifest
        listed_by = Counter(
            member for manifest in manifests.values() if manifest.manifests for member in manifest.members
        )
        pending = {digest}
        while pending:
            digest = pending.pop()
            if digest in kept or listed_by[digest]:
                continue
            self._unlink([(repository, digest)])
            members = manifests[digest].members if digest in manifests else ()
            listed_by.subtract(members)
            pending.update(members)


def _join_spellings(repositories: Repositories) -> None:
    """Have each repository once, as `Reference.kept_as` has it: an earlier release kept every spelling that was pushed.

    A tag of both means what it meant to templates; the other image stays without it.
    """
    for name in repositories.names():
        kept = parse_reference(name).kept_as
        if kept == name or not is_repository(kept):
            continue
        with suppress(Unavailable):  # something is in the way; the next start tries again
            for link in repositories.links(name).values():
                repositories.link(kept, link)
            for tag, link in repositories.tags(name).items():
                if tag not in repositories.tags(kept):
                    repositories.tag(kept, tag, link)
            for tag in (*repositories.tags(name), *repositories.damaged_tags(name)):
                repositories.untag(name, tag)
            for digest in repositories.links(name):
                repositories.unlink(name, digest)
            _log.info("images moved: %s to %s", name, kept, extra={"action": "registry.moved"})


def _problem(digest: str, links: Collection[str], manifests: Mapping[str, Manifest], here: Collection[str]) -> str:
    """What is missing of an image, as far as it is known; `links` are the repository's manifests, `here` the blobs on the disk."""
    found = reachable(digest, manifests)
    members = {each for one in found.values() for each in one.members if each in links}
    if any(each not in manifests for each in {digest} | members):
        return "its manifest is damaged: push or load it again"
    missing = {blob.digest for one in found.values() for blob in one.blobs if blob.digest not in here}
    return f"damaged, {len(missing)} of its blobs are gone: push or load it again" if missing else ""


def _lost(repository: str, tag: str, now: datetime) -> ImageLine:
    """The line of a tag whose file is damaged."""
    moment = now.isoformat()
    return ImageLine(
        name=as_typed(repository),
        tag=tag,
        digest="",
        size=0,
        pushed_at=moment,
        kind=Kind.CONTAINER,
        problem=TAG_DAMAGED,
    )


def _size(digest: str, manifests: Mapping[str, Manifest]) -> int:
    found = reachable(digest, manifests)
    return sum({blob.digest: blob.size for manifest in found.values() for blob in manifest.content}.values())
