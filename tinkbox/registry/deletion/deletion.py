"""What a deletion takes along, and what it may not take: images by tag or digest, those that no tag names, and blobs.

All of this blocks.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Unavailable
from tinkbox.model.images.deleted import Deleted
from tinkbox.model.images.needs import ImageNeed
from tinkbox.model.images.references import Reference, as_typed, familiar, official, parse_reference
from tinkbox.model.images.system_image import LATEST
from tinkbox.registry.blobs.blobs import Blobs
from tinkbox.registry.blobs.promises import PROMISED_FOR
from tinkbox.registry.deletion.needs import only_the_tag, refuse_needed, refuse_part
from tinkbox.registry.deletion.untagged import Untagged, listed_by_damaged, untagged
from tinkbox.registry.manifests.kinds import Kind
from tinkbox.registry.manifests.manifests import Manifest
from tinkbox.registry.manifests.parsed_manifests import ParsedManifests
from tinkbox.registry.manifests.repositories import Key, Repositories, is_repository
from tinkbox.registry.manifests.repository_kinds import RepositoryKinds


class Deleter:
    """A part.  Whoever asks it for anything has the turn to change what refers to what.

    `kept_as` tells the repository that an image's name means; `free` frees blobs that no manifest refers to any more.  `coming` are
    the digests of manifests that a load in progress brings, whose tags come later.
    """

    def __init__(
        self,
        blobs: Blobs,
        repositories: Repositories,
        parsed: ParsedManifests,
        kinds: RepositoryKinds,
        kept_as: Callable[[Reference], str],
        free: Callable[[], None],
        coming: Callable[[], Collection[str]],
        clock: Callable[[], datetime],
    ) -> None:
        self._blobs = blobs
        self._repositories = repositories
        self._parsed = parsed
        self._kinds = kinds
        self._kept_as = kept_as
        self._free = free
        self._coming = coming
        self._clock = clock
        self._gone: dict[Key, datetime] = {}

    def delete(self, repository: str, selector: str, needs: Sequence[ImageNeed], meant: str = "") -> Deleted:
        """Delete a tag, or a manifest with all its tags, and what nothing else needs.

        Raises NotFound, also where it has another digest than the one that is `meant`, and Conflict where something of `needs`
        names what would go, and where all of an image should go that is a part of another.
        """
        try:
            link = self._repositories.resolve(repository, selector)
        except Unavailable:  # nothing is known of a damaged tag but its name
            self._repositories.untag(repository, selector)
            return Deleted(name=f"{as_typed(repository)}:{selector}")
        if meant not in ("", link.digest):
            raise NotFound(f"{as_typed(repository)}:{selector} was {meant}, and by now is {link.digest}: it stays")
        digest, system = link.digest, self._kinds.kind(repository, link) is Kind.SYSTEM
        tags = self._repositories.tags(repository)
        gone = [tag for tag, link in tags.items() if selector == tag or (system and link.digest == digest)]
        if ":" in selector:
            gone = [tag for tag, link in tags.items() if link.digest == digest]
        left = [tag for tag, link in tags.items() if link.digest == digest and tag not in gone]
        whole = system or ":" in selector
        of_this = [each for each in needs if self._is_for(each, repository)]
        needing = [each for each in of_this if each.digest == digest]
        refuse_needed(repository, selector, digest, needing, whole=whole, left=left)
        manifests = self._parsed.all_of(repository, self._repositories.links(repository))
        part_of = self._part_of(repository, digest, manifests)
        if whole:
            refuse_part(repository, digest, part_of)
            if digest in self._coming():
                raise Conflict(f"{as_typed(repository)}@{digest} is being loaded: delete it when that is done")
        for tag in gone:
            self._repositories.untag(repository, tag)
        others = self._repositories.tags(repository).values()
        if system and LATEST in gone and others:
            self._repositories.tag(repository, LATEST, max(others, key=lambda link: link.pushed_at))
        self._forget(repository, digest, manifests, {each.digest for each in of_this}, whole=whole)
        version = next((tag for tag in sorted(gone) if tag != LATEST), selector) if system else selector
        name = f"{as_typed(repository)}{'@' if ':' in version else ':'}{version}"
        damaged = self._repositories.damaged_tags(repository)
        notes = [] if whole else [*only_the_tag(repository, selector, digest, needing, left, part_of, damaged)]
        try:
            self._free()
        except Unavailable as error:  # the collector does it later
            notes.append(Problem(text=f"{name} was deleted, and its blobs are not freed yet: {error}"))
        return Deleted(name=name, notes=notes)

    def delete_blob(self, digest: str) -> None:
        """Delete a blob.

        Raises NotFound, Conflict where a manifest needs it, or it is one, and Unavailable where no blob can be read.
        """
        self._blobs.refuse_unreadable()
        if not self._blobs.has_file(digest):
            raise self._blobs.lost(digest)
        for repository in self._repositories.names():
            links = self._repositories.links(repository)
            for each, manifest in self._parsed.all_readable(repository, links).items():
                if digest == each or digest in manifest.digests:
                    raise Conflict(
                        f"{as_typed(repository)}@{each} needs this blob: delete the image, and it goes by itself"
                    )
            if digest in links:
                named = as_typed(repository)
                raise Conflict(f"this blob is a manifest of {named}: delete {named}@{digest}")
        self._blobs.remove(digest)

    def untagged(self, needs: Sequence[ImageNeed], now: datetime) -> Untagged:
        """The manifests of images that no tag names, and nothing of `needs`."""
        kept = {each.digest for each in needs}.union(self._coming())
        return untagged(self._repositories, self._parsed, kept, now)

    def unlink(self, manifests: Iterable[Key]) -> None:
        """Let repositories forget manifests."""
        now = self._clock()
        self._gone = {key: moment for key, moment in self._gone.items() if abs(now - moment) < PROMISED_FOR}
        for repository, digest in manifests:
            if self._repositories.has(repository, digest):
                self._gone[repository, digest] = now
            self._repositories.unlink(repository, digest)
            self._parsed.forget([digest])
            self._kinds.forget(repository)

    def refuse_gone(self, repository: str, manifest: Manifest) -> None:
        """Raise NotFound where a push began before something was deleted that it lists, and that it may have sent or been told of.

        What was never here may be missing: an index may be sparse (image-spec, "Image Index").
        """
        for each in manifest.manifests:
            moment = self._gone.get((repository, each.digest))
            if moment is None or self._repositories.has(repository, each.digest):
                continue
            if abs(self._clock() - moment) < PROMISED_FOR:
                raise NotFound(f"{each.digest}, which it lists, was deleted meanwhile: push the image again")

    def _is_for(self, need: ImageNeed, repository: str) -> bool:
        """Whether a repository is the one that gives what is needed; what cannot be told apart is taken for it."""
        try:
            named = parse_reference(need.image)
        except Invalid:
            return True
        kept = self._kept_as(named)
        places = [each for each in (kept, official(kept) or familiar(kept)) if each]
        giving = [each for each in places if is_repository(each) and self._repositories.has(each, need.digest)]
        return repository in (giving[:1] or places)

    def _part_of(self, repository: str, digest: str, manifests: Mapping[str, Manifest]) -> str:
        """The name of an image that lists this one, or what does: one with a tag if there is one.  Empty: there is none."""
        tags = {link.digest: tag for tag, link in self._repositories.tags(repository).items()}
        found, pending = [digest], [digest]
        while pending:
            part = pending.pop()
            listing = [
                each
                for each, manifest in manifests.items()
                if manifest.manifests and part in manifest.members and each not in found
            ]
            if tagged := [each for each in listing if each in tags]:
                return f"{as_typed(repository)}:{tags[tagged[0]]}"
            found += listing
            pending += listing
        return f"{as_typed(repository)}@{found[-1]}" if found[1:] else ""

    def _forget(
        self,
        repository: str,
        digest: str,
        manifests: Mapping[str, Manifest],
        needed: Collection[str],
        *,
        whole: bool,
    ) -> None:
        """Unlink a manifest that no tag, index, workflow or template needs, and then the members of an index likewise.

        A member that is an image by itself stays.  So does what a damaged tag may name, but for an image that goes as a `whole`.
        """
        kept = {link.digest for link in self._repositories.tags(repository).values()}.union(needed, self._coming())
        links = self._repositories.links(repository)
        kept |= {each for each, link in links.items() if link.alone_from} - {digest}
        if self._repositories.damaged_tags(repository):
            kept |= {*links} - ({digest} if whole else set())
        kept |= listed_by_damaged(self._repositories, repository, manifests, {*links} - {digest}) - {digest}
        listed_by = Counter(
            member for manifest in manifests.values() if manifest.manifests for member in manifest.members
        )
        pending = {digest}
        while pending:
            digest = pending.pop()
            if digest in kept or listed_by[digest]:
                continue
            self.unlink([(repository, digest)])
            members = manifests[digest].members if digest in manifests else ()
            listed_by.subtract(members)
            pending.update(members)
