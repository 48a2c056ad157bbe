"""What refers to the images of a repository, such as signatures: as OCI lists it, and for whoever carries an image elsewhere.

All of this blocks.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from tinkbox.model.images.listed_images import ImageDescriptor
from tinkbox.model.images.references import as_typed
from tinkbox.registry.blobs.blobs import Blobs
from tinkbox.registry.damage import MANIFEST_DAMAGED
from tinkbox.registry.manifests.manifests import Manifest, reachable
from tinkbox.registry.manifests.parsed_manifests import ParsedManifests
from tinkbox.registry.manifests.referrers import Referrer, referring, subject_of_tag
from tinkbox.registry.manifests.repositories import Link, Repositories

_UNKNOWN: Final = "it is damaged, and nobody knows any more which image it is for: push or load it again, or delete it"


def referrers_of(
    repositories: Repositories, parsed: ParsedManifests, repository: str, subject: str, artifact_type: str
) -> list[Referrer]:
    """What has this digest as its subject, of one artifact type or, where that is empty, of all."""
    found = []
    for link in repositories.links(repository).values():
        known = parsed.of(repository, link)
        if known is None or known.manifest.subject != subject:
            continue
        # Whether its file is still there is asked of few.
        told = one.referrer if (one := parsed.readable(repository, link)) is not None else None
        if told is not None and artifact_type in ("", told.artifact_type):
            found.append(told)
    return found


def referring_to(
    repositories: Repositories, parsed: ParsedManifests, blobs: Blobs, repository: str, selector: str
) -> list[ImageDescriptor]:
    """What refers to an image, to what it lists, or to what does: by its tag where that says so, else by its digest.

    Raises NotFound where there is no such image, and Unavailable for a damaged tag.
    """
    top = repositories.resolve(repository, selector).digest
    links, tags = repositories.links(repository), repositories.tags(repository)
    # What is damaged since it was read is told.
    known, readable = parsed.all_of(repository, links), parsed.all_readable(repository, links)
    manifests = known | readable
    own = {top, *(member for each in reachable(top, manifests).values() for member in each.members)}
    subjects = {digest: each.subject for digest, each in manifests.items() if each.subject}
    by_tag = {tag: link for tag, link in tags.items() if subject_of_tag(tag) and link.digest not in own}
    for tag, link in by_tag.items():
        subjects[tag] = subject_of_tag(tag)
        subjects.setdefault(link.digest, subject_of_tag(tag))  # which something may refer to in its turn
    found = referring(subjects, own)
    tagged = {by_tag[each].digest for each in found if each in by_tag}
    listed = {member for each in manifests.values() for member in each.members}
    named_otherwise = {link.digest for link in tags.values()} | listed | own
    # Of what could never be read nobody knows what it refers to.
    unknown = [digest for digest in links if digest not in manifests and digest not in named_otherwise]
    keys = [each for each in (*found, *unknown) if each not in tagged]
    return [*_described(repository, keys, links | by_tag, manifests, readable, blobs)]


def _described(
    repository: str,
    keys: list[str],
    links: Mapping[str, Link],
    manifests: Mapping[str, Manifest],
    readable: Collection[str],
    blobs: Blobs,
) -> Iterator[ImageDescriptor]:
    """Each by its digest, or by its tag."""
    named = as_typed(repository)
    for key in keys:
        link, manifest = links[key], manifests.get(links[key].digest)
        yield ImageDescriptor(
            reference=f"{named}{'@' if ':' in key else ':'}{key}",
            digest=link.digest,
            media_type=link.media_type or (manifest.media_type if manifest is not None else ""),
            size=blobs.size(link.digest) or 0,
            problem="" if link.digest in readable else MANIFEST_DAMAGED if manifest is not None else _UNKNOWN,
        )
