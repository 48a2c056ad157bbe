"""What is missing of the images that are kept.  All of this blocks."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from tinkbox.model.errors import NotFound, Unavailable
from tinkbox.registry.blobs.blobs import TO_THE_MINUTE, Blobs
from tinkbox.registry.manifests.manifests import Manifest, reachable
from tinkbox.registry.manifests.parsed_manifests import ParsedManifests
from tinkbox.registry.manifests.repositories import Repositories

MOST_LOOKED_AT: Final = 100  # manifests of one image, while others wait
MANIFEST_DAMAGED: Final = "its manifest is damaged: push or load it again"
TAG_DAMAGED: Final = "the tag is damaged: push or load it again, or delete it"


def damage(repositories: Repositories, parsed: ParsedManifests, blobs: Blobs, repository: str, selector: str) -> str:
    """What the list of images says is damaged of one that is here; empty: nothing.  Reads small files.

    Of an index that lists more than MOST_LOOKED_AT images the others are not looked at.
    """
    try:
        repositories.refuse_unread(repository)
        blobs.refuse_unreadable()
    except Unavailable as error:
        return str(error)
    try:
        link = repositories.resolve(repository, selector)
    except NotFound:
        return ""
    except Unavailable:
        return TAG_DAMAGED
    links, looked_at, manifests = repositories.links(repository), set[str](), dict[str, Manifest]()
    pending = [link.digest]
    while pending and len(looked_at) < MOST_LOOKED_AT:
        digest = pending.pop()
        if digest in links and digest not in looked_at:
            looked_at.add(digest)
            if (known := parsed.readable(repository, links[digest])) is not None:
                manifests[digest] = known.manifest
                pending.extend(known.manifest.members)
    needed = {blob.digest for each in manifests.values() for blob in each.blobs}
    here = {each for each in needed if blobs.has(each)}
    return missing_of(link.digest, looked_at, manifests, here, blobs)


def lost_manifests(repositories: Repositories, parsed: ParsedManifests, repository: str, digest: str) -> Sequence[str]:
    """Of the manifests that an image leads to by what it lists, itself included, those that were here and are damaged.

    What was never here is not among them: an index may be sparse (image-spec, "Image Index").
    """
    links, lost = repositories.links(repository), list[str]()
    looked_at, pending = set[str](), [digest]
    while pending:
        digest = pending.pop()
        if digest in looked_at or digest not in links:
            continue
        looked_at.add(digest)
        if (known := parsed.readable(repository, links[digest])) is None:
            lost.append(digest)
        else:
            pending.extend(known.manifest.members)
    return lost


def missing_of(
    digest: str,
    links: Collection[str],
    manifests: Mapping[str, Manifest],
    here: Collection[str],
    blobs: Blobs,
) -> str:
    """What is missing of an image, as far as it is known; empty: nothing.

    `links` are the repository's manifests, `manifests` those that can be read, `here` those of the `blobs` on the disk that
    are not known to be damaged.
    """
    found = reachable(digest, manifests)
    members = {each for one in found.values() for each in one.members if each in links}
    if any(each not in manifests for each in {digest} | members):
        return MANIFEST_DAMAGED
    missing = {blob.digest for one in found.values() for blob in one.blobs if blob.digest not in here}
    if not missing:
        return ""
    are = "is" if len(missing) == 1 else "are"
    since = {at: each for each in sorted(missing, reverse=True) if (at := blobs.damaged_at(each)) is not None}
    if not since:
        return f"damaged, {len(missing)} of its blobs {are} gone: push or load it again"
    first = min(since)
    damaged = f"damaged since {first:{TO_THE_MINUTE}}, {len(missing)} of its blobs"
    others = "" if len(missing) == 1 else " and others"
    if all(map(blobs.is_closed, missing)):
        place = blobs.path(since[first])
        return f"{damaged} cannot be opened: let tinkbox's user read {place}{others}, or push or load it again"
    return f"{damaged} {are} gone, changed or cannot be read ({since[first]}{others}): push or load it again"
