"""The images as people see them listed: each tag, and each image without one, with its size and what is missing of it.

All of this blocks.
"""

from collections.abc import Collection, Mapping
from datetime import datetime

from tinkbox.model.images.listed_images import ImageLine
from tinkbox.model.images.references import as_typed
from tinkbox.registry.blobs.blobs import Blobs
from tinkbox.registry.damage import TAG_DAMAGED, missing_of
from tinkbox.registry.manifests.kinds import Kind, kind_of_damaged
from tinkbox.registry.manifests.manifests import Manifest, reachable
from tinkbox.registry.manifests.parsed_manifests import ParsedManifests
from tinkbox.registry.manifests.repositories import Repositories
from tinkbox.registry.manifests.repository_kinds import RepositoryKinds


def image_list(
    repositories: Repositories, parsed: ParsedManifests, kinds: RepositoryKinds, blobs: Blobs, now: datetime
) -> list[ImageLine]:
    """All images, by name as a person types it, and tag; nobody knows when a damaged tag came, and `now` is shown."""
    lines: list[ImageLine] = []
    here = blobs.seen()
    for repository in repositories.names():
        links, tags = repositories.links(repository), repositories.tags(repository)
        manifests = parsed.all_readable(repository, links)
        kinds_here = kinds.by_digest(repository)
        damaged = kind_of_damaged(repository, {*kinds_here.values()})  # where not even its digest is known
        tagged = {link.digest for link in tags.values()}
        listed = {member for each in manifests.values() for member in each.members}
        others = [link for digest, link in links.items() if digest not in tagged]
        untagged = [("", link) for link in others if link.alone_from or link.digest not in listed]
        looked_at: dict[str, tuple[int, str]] = {}
        for tag, link in [*tags.items(), *untagged]:
            if link.digest not in looked_at:
                looked_at[link.digest] = _looked_at(link.digest, links, manifests, here, parsed, blobs)
            size, problem = looked_at[link.digest]
            line = ImageLine(
                name=as_typed(repository),
                tag=tag,
                digest=link.digest,
                size=size,
                pushed_at=link.pushed_at,
                kind=kinds_here.get(link.digest, damaged),
                problem=problem,
            )
            lines.append(line)
        lines += [_damaged_tag(repository, tag, damaged, now) for tag in repositories.damaged_tags(repository)]
    return lines


def _looked_at(
    digest: str,
    links: Collection[str],
    manifests: Mapping[str, Manifest],
    here: Collection[str],
    parsed: ParsedManifests,
    blobs: Blobs,
) -> tuple[int, str]:
    """The bytes of an image, and what is missing of it."""
    manifest = manifests.get(digest)
    if manifest is not None and not manifest.manifests and all(each.digest in here for each in manifest.blobs):
        return parsed.size(digest), ""
    found = reachable(digest, manifests)
    size = sum({blob.digest: blob.size for each in found.values() for blob in each.content}.values())
    return size, missing_of(digest, links, manifests, here, blobs)


def _damaged_tag(repository: str, tag: str, kind: Kind, now: datetime) -> ImageLine:
    return ImageLine(
        name=as_typed(repository),
        tag=tag,
        digest="",
        size=0,
        pushed_at=now.isoformat(),
        kind=kind,
        problem=TAG_DAMAGED,
    )
