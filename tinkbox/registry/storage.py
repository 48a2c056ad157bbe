"""The images: what the registry's two faces, the OCI protocol and the operator's commands, both stand on.

`ImageStore` is the one door, and gives the turn to change what refers to what.  Its parts, such as `loading`, `deletion`
and `collection`, know neither it nor each other.

Nothing is deleted that the operator did not delete: a manifest whose tag moved on stays, is listed without a
tag, and can be pulled and deleted by its digest, unless a workflow or a template needs it.  Blobs that no manifest
refers to are collected (`collection`), except those that a client was told of (`promises`).

A version of a system image, such as `debian-13:20261101`, means the same bytes for ever: only `latest` moves on.  Under
whichever tag one comes, it has that of its version as well.
A repository has system images or others, never both: the name of an action cannot come to mean a disk.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NoReturn

from tinkbox.model.errors import Invalid, NotFound, Problem, TooLarge, Unavailable
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
    parse_reference,
)
from tinkbox.model.images.room import Amount, Collected, ImageRoom
from tinkbox.model.images.system_image import ARTIFACT_TYPE, LATEST
from tinkbox.model.limits import Limits
from tinkbox.model.text import counted
from tinkbox.refused_writes import RefusedWrites
from tinkbox.registry.archives.reading import Target, unpack
from tinkbox.registry.blobs.blobs import PIECE, Blobs, Incoming, Staged, make_folder
from tinkbox.registry.blobs.promises import PROMISED_FOR
from tinkbox.registry.blobs.room import Room
from tinkbox.registry.blobs.uploads import Upload, Uploads
from tinkbox.registry.damage import MANIFEST_DAMAGED, damage, lost_manifests
from tinkbox.registry.deletion.collection import Collector
from tinkbox.registry.deletion.deletion import Deleter
from tinkbox.registry.examination import Examination
from tinkbox.registry.image_list import image_list
from tinkbox.registry.image_referrers import referrers_of, referring_to
from tinkbox.registry.loading import Loader
from tinkbox.registry.manifests.manifests import (
    MANIFESTS,
    MAX_MANIFEST,
    Manifest,
    StoredManifest,
    nested,
    parse_manifest,
)
from tinkbox.registry.manifests.parsed_manifests import ParsedManifests
from tinkbox.registry.manifests.referrers import Page, page_of
from tinkbox.registry.manifests.repositories import Link, Repositories, is_repository
from tinkbox.registry.manifests.repository_kinds import RepositoryKinds
from tinkbox.registry.old_spellings import join_spellings
from tinkbox.registry.system_images import fit_version, refuse_other_bytes, system_image, system_images
from tinkbox.thread_turns import in_thread

_log = logging.getLogger(__name__)


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

    `needs` tells which images must stay, and what for, and `is_own` whether a host in an image's name is this registry.
    `room` is what the registry may take; what its disk does not take is noted among `refused_writes`.  The log says `who`
    changed what.
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
        refused_writes: RefusedWrites | None = None,
    ) -> None:
        self._clock = clock
        self._blobs = Blobs(
            root, clock, new_token, room, lambda: self.uploads.make_room(), refused_writes or RefusedWrites(clock)
        )
        if not self._blobs.usage().blobs:  # else the folder is lost, with what was in it, and that is told
            with suppress(OSError):
                make_folder(root / "repositories")
        self._repositories = Repositories(
            root, self._blobs.write, self._blobs.ways, lambda: bool(self._blobs.usage().blobs)
        )
        with suppress(Unavailable):  # a folder cannot be read: the next start does it
            join_spellings(self._repositories)
        self._parsed = ParsedManifests(self._blobs)
        self._needs = needs
        self._target = Target(size_here=self._size_here, is_own=is_own)
        self._kinds = RepositoryKinds(self._repositories, self._parsed)
        self._turn = asyncio.Lock()  # whoever changes what refers to what
        self._collector = Collector(self._blobs, self._repositories, self._parsed, self._turn)
        self._loader = Loader(self._blobs, self._repositories, self._kinds, clock)
        self._deleter = Deleter(
            self._blobs,
            self._repositories,
            self._parsed,
            self._kinds,
            self._repository,
            self._collector.step,
            self._loader.coming,
            clock,
        )
        self.uploads = Uploads(self._blobs.stage, clock, new_token, limits, self._blobs.is_full)
        self._examination = Examination(self._blobs, self._repositories)

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
        within the hour, and uploads that were left alone: a push in progress has to send that again.  Raises Unavailable
        where a folder cannot be used, and without `now` where repositories are missing.
        """
        await self._collector.warm_up()
        async with self._turn:
            await asyncio.to_thread(self._collector.refuse, now=now)
            found = await asyncio.to_thread(self._deleter.untagged, await self._needs(), self._clock())
            recent = {*found.recent} if not now else set()
            going = {*found.manifests} - recent if untagged else set()
            if not dry_run and going:
                await asyncio.to_thread(self._deleter.unlink, going)
                gone = counted(len(going - {*found.listed}), "image")
                _log.info("images without a tag deleted by %s: %s", who, gone, extra={"action": "registry.deleted"})
        staying = {*found.manifests} - going
        ends = now and not dry_run
        left_alone = await asyncio.to_thread(self.uploads.end_left_alone if ends else self.uploads.left_alone)
        if dry_run:
            collected = await self._collector.look(staying, going, now=now)
        else:
            collected = await self._collector.collect(staying, now=now)
        images = len(going - {*found.listed})
        left = Amount(number=len(staying - {*found.listed}), octets=collected.untagged.octets)
        freed, left_alone = (collected.freed + left_alone, Amount()) if now else (collected.freed, left_alone)
        collected = replace(
            collected, freed=freed, left_alone=left_alone, images=images, untagged=left, recent=untagged
        )
        if not dry_run:
            _log.info("blobs freed by %s: %s", who, collected.freed, extra={"action": "registry.collected"})
        return collected

    def room(self) -> ImageRoom:
        """What all images take, and what may still come."""
        return self._blobs.room(self.uploads.left_alone().octets)

    async def blob(self, digest: str, *, anew: bool = False, at_most_every: timedelta = timedelta()) -> Path:
        """A blob's file, verified; raises NotFound, or Unavailable for one that is damaged or cannot be read.

        With `anew` it is hashed now, unless it was found whole within `at_most_every`.
        """
        if anew and not self._blobs.was_hashed_within(at_most_every, digest):
            self._blobs.forget_hash(digest)
        found = self._blobs.ready(digest)
        if found is not None:
            return found
        if self._blobs.is_small(digest):
            return await asyncio.to_thread(self._blobs.verified, digest)
        try:
            # Others may wait for the same.
            whole = await asyncio.shield(asyncio.wrap_future(self._blobs.check(digest)))
        except FileNotFoundError:
            raise self._blobs.lost(digest) from None
        return self._blobs.outcome(digest, whole=whole)

    def doubt(self, digest: str) -> None:
        """A blob's file could not be read on: have it hashed anew, and marked where it is damaged, without waiting."""
        self._blobs.doubt(digest)

    async def refuse_unreadable(self, digest: str) -> NoReturn:
        """The same of one that could not be opened: raises as `blob`, and Unavailable where it is whole after all."""
        self._blobs.doubt(digest)
        await self.blob(digest)
        raise Unavailable(f"{digest} cannot be read on the appliance's disk now: ask again")

    async def promise(self, digest: str, *, anew: bool = False) -> Path:
        """As `blob`, for a push that will not send what is here already: the blob stays for an hour."""
        self._blobs.promise(digest)
        return await self.blob(digest, anew=anew)

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
            await asyncio.to_thread(self._deleter.delete_blob, digest)
        _log.info("blob deleted by %s: %s", who, digest, extra={"action": "registry.deleted"})

    def digest(self, repository: str, selector: str) -> str:
        """The digest of an image that is here, empty when there is none, or a damaged tag.  Reads one small file."""
        try:
            return self._repositories.resolve(repository, selector).digest
        except (NotFound, Unavailable):
            return ""

    def has(self, repository: str, selector: str) -> bool:
        """Whether there is such a tag or digest, a damaged tag included."""
        return self._repositories.has(repository, selector)

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

        Of a large index only some of the images are looked at (`damage.MOST_LOOKED_AT`).
        """
        return damage(self._repositories, self._parsed, self._blobs, repository, selector)

    def named(self, digest: str) -> str:
        """The first name by which a digest is here, by a tag if it has one; empty: it is not, or that cannot be read now."""
        with suppress(Unavailable):
            for repository in self._repositories.names():
                if self.has(repository, digest):
                    tags = [tag for tag, link in self._repositories.tags(repository).items() if link.digest == digest]
                    return f"{as_typed(repository)}:{tags[0]}" if tags else f"{as_typed(repository)}@{digest}"
        return ""

    def refuse_unread(self, repository: str) -> None:
        """Raise Unavailable where what a repository has could not be read so far."""
        self._repositories.refuse_unread(repository)

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
            return await asyncio.to_thread(
                image_list, self._repositories, self._parsed, self._kinds, self._blobs, self._clock()
            )

    async def damaged_blobs(self) -> frozenset[str]:
        """The blobs that are known to be damaged, after a pass of `examination`, which may take a second.

        Raises Unavailable, with the remedy, where images cannot be used as a whole.
        """
        if self._repositories.awaits:
            async with self._turn:
                await asyncio.to_thread(self._repositories.take_back)
        await asyncio.to_thread(self._examination.refuse)
        return await asyncio.to_thread(self._examination.damaged)

    async def system_images(self) -> list[SystemImageLine]:
        """The system images, with what they say of themselves."""
        async with self._turn:
            return await asyncio.to_thread(system_images, self._repositories, self._parsed, self._kinds, self._blobs)

    async def system_image(self, reference: str) -> SystemImageLine:
        """The system image that a name means.

        Raises NotFound, Invalid for an image of another kind, and Unavailable for one that cannot be read.
        """
        async with self._turn:
            return await asyncio.to_thread(
                system_image, self._repositories, self._parsed, self._kinds, self._blobs, reference
            )

    async def load(
        self,
        stream: AsyncIterator[bytes],
        *,
        who: str,
        name: str = "",
        tell: Callable[[Problem], None] = lambda _: None,
    ) -> list[str]:
        """Store the images of an archive that `docker save` or skopeo wrote; returns their names.

        Between two manifests or tags others have their turn, and it can be cancelled.  With a `name` it has one image,
        which is stored under this one.  `tell` hears of each tag that meant another image before.  Raises Invalid in one
        line, and stores nothing, when something about it is wrong; likewise Conflict for other bytes of a version of a
        system image, or where a repository has images of another kind.
        """
        async with unpack(stream, partial(self._blobs.stage, Incoming()), self._target, name) as archive:
            before = {
                (each.repository, each.tag): self.digest(each.repository, each.tag)
                for each in archive.images
                if each.tag
            }
            accepted = await in_thread(self._in_turn, self._loader.judge, archive)
            names: list[str] = []
            try:
                with closing(self._loader.steps(accepted, names.append)) as steps:
                    for step in steps:
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
        """The manifest that an image's name means; raises NotFound, or Unavailable for a damaged one.

        A damaged manifest that it lists is told as its `problem`.
        """
        repository, selector = self._place(reference)
        found = await self.manifest(repository, selector)
        lost = await asyncio.to_thread(lost_manifests, self._repositories, self._parsed, repository, found.digest)
        separator = "@" if ":" in selector else ":"
        return ImageDescriptor(
            reference=f"{as_typed(repository)}{separator}{selector}",
            digest=found.digest,
            media_type=found.media_type,
            size=len(found.content),
            problem=f"its manifest {lost[0]} is damaged: push or load it again" if lost else "",
        )

    async def referring(self, reference: str) -> list[ImageDescriptor]:
        """What refers to an image, to what it lists, or to what does: by a tag where that says it, else by its digest.

        Each is looked at wholly, for its image goes without a damaged one.  Raises as `described`.
        """
        repository, selector = self._place(reference)
        found = await asyncio.to_thread(
            referring_to, self._repositories, self._parsed, self._blobs, repository, selector
        )
        for each in found:
            if not each["problem"]:
                each["problem"] = await self._problem(repository, each["digest"])
        return found

    async def absent(self, digests: Sequence[str]) -> list[str]:
        """Those blobs that are not here; the others stay for an hour.  Raises Invalid for what is no digest."""
        return await asyncio.to_thread(lambda: [each for each in digests if not self._is_promised(each)])

    async def delete(self, reference: str, *, who: str, meant: str = "") -> Deleted:
        """Delete an image by its name: a tag (`latest` when none is given) or, with `@sha256:…`, a manifest.

        Raises as `delete_manifest`.
        """
        repository, selector = self._place(reference)
        return await self.delete_manifest(repository, selector, who=who, meant=meant)

    async def delete_manifest(self, repository: str, selector: str, *, who: str, meant: str = "") -> Deleted:
        """Delete a tag, or a manifest with all its tags, and what nothing else needs.

        Of an image with another tag, and of one that a template names by its digest, only the tag goes.  A system image goes
        with all its names, whichever is given; `latest` then is the one that came last of those that are left.  Raises
        NotFound, also where a tag has another digest than the one that is `meant`, or Conflict where a workflow or rollout that
        is not over needs it, a template or a setting what would go, or an index lists what would go.
        """
        async with self._turn:
            deleted = await asyncio.to_thread(self._deleter.delete, repository, selector, await self._needs(), meant)
        _log.info("image deleted by %s: %s", who, deleted.name, extra={"action": "registry.deleted"})
        return deleted

    async def _problem(self, repository: str, digest: str) -> str:
        """What is damaged of a manifest and of its own blobs; empty: nothing."""
        if await asyncio.to_thread(lost_manifests, self._repositories, self._parsed, repository, digest):
            return MANIFEST_DAMAGED
        for digest_of_blob in await asyncio.to_thread(self._blobs_of, repository, digest):
            try:
                await self.blob(digest_of_blob)
            except (NotFound, Unavailable):
                return f"its part {digest_of_blob} is damaged: push or load it again"
        return ""

    def _blobs_of(self, repository: str, digest: str) -> Sequence[str]:
        link = self._repositories.links(repository).get(digest)
        parsed = self._parsed.of(repository, link) if link is not None else None
        return [each.digest for each in parsed.manifest.blobs] if parsed is not None else []

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
        return parsed is not None and all(
            self._blobs.size(each) is not None and self._blobs.damaged_at(each) is None for each in needed
        )

    def _place(self, reference: str) -> tuple[str, str]:
        """Repository and tag or digest of an image by its name.

        Raises Invalid for what is none, and NotFound where the image is here by Docker's other name of it alone.
        """
        chosen = parse_reference(reference)
        pushed = f"{chosen.host}/{chosen.repository}"
        if chosen.host and is_repository(pushed) and self._repositories.links(pushed):
            return pushed, chosen.selector  # an earlier release kept this registry's own host so, and so it is listed
        repository, selector = self._repository(chosen), chosen.selector
        others = (familiar(repository), parse_reference(repository).as_docker_means.kept_as)
        for other in others if not self.has(repository, selector) else ():
            if is_repository(other) and self.has(other, selector):
                separator = "@" if ":" in selector else ":"
                asked, there = (f"{as_typed(each)}{separator}{selector}" for each in (repository, other))
                raise NotFound(f"no image {asked} here: there is {there}, which Docker takes for the same")
        return repository, selector

    def _repository(self, named: Reference) -> str:
        return named.repository if self._target.is_own(named.host) else named.kept_as

    def _is_promised(self, digest: str) -> bool:
        try:
            self._blobs.promise(digest)
        except NotFound:
            return False
        return True

    def _size_here(self, digest: str) -> int | None:
        """The bytes of a blob that is here, is what its digest says, and stays for an hour; None where it is to be sent.

        Raises Unavailable for one that is here, and cannot be read just now.
        """
        if not self._is_promised(digest):
            return None
        try:
            return self._blobs.verified(digest).stat().st_size
        except NotFound:
            return None
        except Unavailable:
            if self._blobs.has(digest):
                raise
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
        if not fetched:  # of what is fetched from a mirror the images come when they are asked for
            self._deleter.refuse_gone(repository, manifest)
        if manifest.artifact_type == ARTIFACT_TYPE:
            versions = [fit_version(manifest, repository, tag, self._blobs.read) for tag in tags or ("",)]
            newest = () if self._repositories.has(repository, LATEST) else (LATEST,)
            tags = tuple(dict.fromkeys((*tags, *versions, *newest))) if tags else tags
        algorithm = algorithm_of(selector) if DIGEST.match(selector) else "sha256"
        digest = digest_of(content, algorithm)
        if ":" in selector and selector != digest:
            raise Invalid(f"the manifest's digest is {digest}, not {selector[:140]}")
        self._kinds.refuse_mixed(repository, digest, manifest)
        for tag in tags:
            refuse_other_bytes(self._repositories, self._blobs, repository, tag, digest)
        now = self._clock()
        link = Link(
            digest=digest,
            media_type=manifest.media_type,
            pushed_at=now.isoformat(),
            fetched=fetched,
            # A push of an index sends its images before it.
            alone_from="" if tags or fetched else (now + PROMISED_FOR).isoformat(),
        )
        keep = partial(self._blobs.add, content, algorithm)
        self._repositories.put(repository, link, tags, keep, manifest.members)
        self._parsed.note(digest, manifest, len(content))
        self._blobs.note_needed(manifest.digests)
        self._kinds.note(repository, manifest)
        return digest

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

    def _in_turn(self) -> asyncio.Lock:
        return self._turn
