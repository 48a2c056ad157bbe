"""Images that no tag names, such as those whose tag moved on: which nothing keeps, and which a push may still be at work on.

All of this blocks.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from tinkbox.registry.blobs.promises import PROMISED_FOR
from tinkbox.registry.manifests.manifests import Manifest
from tinkbox.registry.manifests.parsed_manifests import ParsedManifests
from tinkbox.registry.manifests.repositories import Key, Repositories


@dataclass(frozen=True, slots=True, kw_only=True)
class Untagged:
    """The manifests of images without a tag, and of these the `recent` ones.

    A push sends the images of an index before the index and its tag.  `listed` are parts of others, and no images of their own.
    """

    manifests: Collection[Key]
    recent: Collection[Key]
    listed: Collection[Key]


def untagged(repositories: Repositories, parsed: ParsedManifests, needed: Collection[str], now: datetime) -> Untagged:
    """What no tag names; `needed` are digests that something else names, such as a workflow."""
    found: set[Key] = set()
    recent: set[Key] = set()
    listed: set[Key] = set()
    for repository in repositories.names():
        links = repositories.links(repository)
        manifests: dict[str, Manifest] = {}
        for digest, link in links.items():
            if (known := parsed.of(repository, link)) is not None:
                manifests[digest] = known.manifest
        tagged = {link.digest for link in repositories.tags(repository).values()}
        for digest in unkept(links, manifests, tagged.union(needed)):
            found.add((repository, digest))
            # Of a clock that was put back nothing is known.
            if abs(now - datetime.fromisoformat(links[digest].pushed_at)) < PROMISED_FOR:
                recent.add((repository, digest))
            if digest in manifests:
                listed.update((repository, member) for member in manifests[digest].members)
    return Untagged(manifests=found, recent=recent, listed=listed)


def unkept(links: Collection[str], manifests: Mapping[str, Manifest], kept: Collection[str]) -> set[str]:
    """Those of a repository's manifests that nothing keeps.

    What is `kept` keeps what it lists, and what refers to it, such as its signature.
    """
    referring: dict[str, list[str]] = {}
    for digest, manifest in manifests.items():
        if manifest.subject:
            referring.setdefault(manifest.subject, []).append(digest)
    staying: set[str] = set()
    pending = [*kept]
    while pending:
        digest = pending.pop()
        if digest not in staying:
            staying.add(digest)
            pending += referring.get(digest, ())
            pending += manifests[digest].members if digest in manifests else ()
    return {*links} - staying
