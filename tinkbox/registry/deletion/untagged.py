"""Images that no tag names, such as those whose tag moved on: which nothing keeps, and which a push may still be at work on.

All of this blocks.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tinkbox.registry.blobs.promises import PROMISED_FOR
from tinkbox.registry.manifests.manifests import Manifest
from tinkbox.registry.manifests.parsed_manifests import ParsedManifests
from tinkbox.registry.manifests.repositories import Key, Repositories

_ABOUT: Final = 1.0  # seconds, which file systems may differ by


@dataclass(frozen=True, slots=True, kw_only=True)
class Untagged:
    """The manifests of images without a tag, and of these the `recent` ones.

    A push sends the images of an index before the index and its tag.  `listed` are parts of others, and no images of their own.
    """

    manifests: Collection[Key]
    recent: Collection[Key]
    listed: Collection[Key]


def untagged(repositories: Repositories, parsed: ParsedManifests, needed: Collection[str], now: datetime) -> Untagged:
    """What no tag names; `needed` are digests that something else names, such as a workflow.

    A damaged tag may name any image of its repository, so that nothing there is without a tag.
    """
    found: set[Key] = set()
    recent: set[Key] = set()
    listed: set[Key] = set()
    for repository in repositories.names():
        if repositories.damaged_tags(repository):
            continue
        links = repositories.links(repository)
        manifests = parsed.all_of(repository, links)
        tagged = {link.digest for link in repositories.tags(repository).values()}
        kept = tagged.union(needed)
        kept |= listed_by_damaged(repositories, repository, manifests, kept.intersection(links))
        for digest in unkept(links, manifests, kept):
            found.add((repository, digest))
            # Of a clock that was put back nothing is known.
            if abs(now - datetime.fromisoformat(links[digest].pushed_at)) < PROMISED_FOR:
                recent.add((repository, digest))
            if digest in manifests:
                members = [each for each in manifests[digest].members if each in links]
                listed.update((repository, each) for each in members if not links[each].alone_from)
    return Untagged(manifests=found, recent=recent, listed=listed)


def listed_by_damaged(
    repositories: Repositories, repository: str, manifests: Mapping[str, Manifest], kept: Collection[str]
) -> set[str]:
    """What those of `kept` may list that cannot be read: nobody knows, and what they list came before them.

    `manifests` are those of the repository that can be read.
    """
    unknown = [repositories.linked_at(repository, each) for each in kept if each not in manifests]
    if not unknown:
        return set()
    before = max(unknown) + _ABOUT
    return {each for each in repositories.links(repository) if repositories.linked_at(repository, each) < before}


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
