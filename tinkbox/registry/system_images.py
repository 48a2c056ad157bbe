"""The system images among the images: disks of operating systems, each with what it says of itself.  All of this blocks."""

import json
import logging
from collections.abc import Callable

from tinkbox.model.errors import Conflict, Invalid, NotFound, Refusal, Unavailable
from tinkbox.model.images.listed_images import SystemImageLine
from tinkbox.model.images.references import REPOSITORY, parse_reference
from tinkbox.model.images.system_image import ARTIFACT_TYPE, BLOCK_MAP_TYPE, CONFIG_TYPE, DISK_TYPE, LATEST
from tinkbox.registry.blobs.blobs import Blobs
from tinkbox.registry.damage import damage
from tinkbox.registry.manifests.kinds import Kind
from tinkbox.registry.manifests.manifests import Manifest, parse_manifest
from tinkbox.registry.manifests.parsed_manifests import ParsedManifests
from tinkbox.registry.manifests.repositories import Link, Repositories
from tinkbox.registry.manifests.repository_kinds import RepositoryKinds
from tinkbox.wire.system_images import MAX_BLOCK_MAP, MAX_CONFIG, decode_block_map, decode_config

_log = logging.getLogger(__name__)


def system_images(
    repositories: Repositories, parsed: ParsedManifests, kinds: RepositoryKinds, blobs: Blobs
) -> list[SystemImageLine]:
    """All that have a tag, by id and time; one that cannot be read is left out, and the log says so.

    Raises Unavailable where no blob can be read.
    """
    blobs.refuse_unreadable()
    found = []
    for repository in repositories.names():
        tags = _tags(repositories, repository)
        links = {link.digest: link for link in repositories.tags(repository).values()}
        for link in sorted(links.values(), key=lambda each: each.pushed_at):
            try:
                kept = _kept(repository, link, tags[link.digest], blobs)
                if kept is not None:
                    kept["problem"] = damage(repositories, parsed, blobs, repository, link.digest)
            except Refusal as error:
                if kinds.kind(repository, link) is Kind.SYSTEM:
                    problem = f"{repository}@{link.digest}: {error}"
                    _log.warning("system image lost: %s", problem, extra={"action": "registry.lost"})
                continue
            if kept is not None:
                found.append(kept)
    return found


def system_image(
    repositories: Repositories, parsed: ParsedManifests, kinds: RepositoryKinds, blobs: Blobs, reference: str
) -> SystemImageLine:
    """The one that a name means: `debian-13`, `debian-13:20261101` or `debian-13@sha256:…`.

    Raises NotFound where there is none, Invalid for an image of another kind, and Unavailable for one that cannot be read.
    """
    named = parse_reference(reference)
    if named.host or not REPOSITORY.match(named.repository):
        raise NotFound(f"no system image {reference[:200]} here: they are kept without the name of a registry")
    link = repositories.resolve(named.repository, named.selector)
    kept = None
    try:
        kept = _kept(named.repository, link, _tags(repositories, named.repository).get(link.digest, []), blobs)
    except (NotFound, Unavailable) as error:
        problem = damage(repositories, parsed, blobs, named.repository, link.digest) or str(error)
        match kinds.kind(named.repository, link):
            case Kind.SYSTEM:
                raise Unavailable(f"the system image {reference[:200]} cannot be read: {problem}") from None
            case Kind.UNKNOWN:
                raise Unavailable(
                    f"{reference[:200]} cannot be read, and it is not known whether it is a system image: {problem}"
                ) from None
    if kept is None:
        raise Invalid(
            f"{reference[:200]} is a container image, which actions run from, and no system image: `tinkbox image list` "
            "shows all that are kept"
        )
    kept["problem"] = damage(repositories, parsed, blobs, named.repository, link.digest)
    return kept


def fit_version(manifest: Manifest, repository: str, tag: str, read: Callable[[str], bytes]) -> str:
    """The version that a system image on its way in says it is.

    `tag` is empty where it comes by its digest, `read` gives a blob by its digest.  Raises Invalid where its parts are missing,
    unreadable, or contradict each other or its name.  What lies is found when it is written: each frame has a digest.
    """
    types = tuple(each.media_type for each in manifest.blobs)
    if types != (CONFIG_TYPE, DISK_TYPE, BLOCK_MAP_TYPE):
        raise Invalid("a system image has a configuration, a disk and a block map, in this order, and nothing else")
    config, disk, block_map = manifest.blobs
    for part, most in ((config, MAX_CONFIG), (block_map, MAX_BLOCK_MAP)):
        if part.size > most:
            raise Invalid(f"the system image's {part.media_type} has {part.size} bytes: at most {most} are taken")
    told, mapped = decode_config(read(config.digest)), decode_block_map(read(block_map.digest))
    about = told.about
    if about.id != repository or tag not in ("", LATEST, about.version):
        named = f"{repository}:{tag}" if tag else repository
        raise Invalid(
            f"the system image {named} says of itself that it is {about.id}:{about.version}: it was renamed, or one was put "
            "in the place of another; fetch or import it anew"
        )
    if told.raw != mapped.raw:
        raise Invalid("the system image's configuration and its block map tell of different disks")
    if any(frame.offset + frame.length > disk.size for frame in mapped.frames):
        raise Invalid("the system image's block map names frames that lie behind its disk's end")
    return about.version


def kept_version(
    repositories: Repositories, blobs: Blobs, repository: str, version: str
) -> tuple[Link, Manifest] | None:
    """The system image that has this version; None for `latest`, which moves, and where there is none."""
    if version == LATEST:
        return None
    try:
        link = repositories.resolve(repository, version)
        kept = parse_manifest(blobs.read(link.digest), link.media_type)
    except Refusal:  # nothing is here, or nothing that can be read
        return None
    return (link, kept) if kept.artifact_type == ARTIFACT_TYPE else None


def refuse_other_bytes(repositories: Repositories, blobs: Blobs, repository: str, tag: str, digest: str) -> None:
    """Raise Conflict where a tag is the version of a system image that has another digest."""
    kept = kept_version(repositories, blobs, repository, tag)
    if kept is not None and kept[0].digest != digest:
        raise Conflict(
            f"the system image {repository}:{tag} is here already with another digest: give this one another version, "
            f"or delete the other first with `tinkbox image delete {repository}:{tag}`"
        )


def _tags(repositories: Repositories, repository: str) -> dict[str, list[str]]:
    tags: dict[str, list[str]] = {}
    for tag, link in repositories.tags(repository).items():
        tags.setdefault(link.digest, []).append(tag)
    return tags


def _kept(repository: str, link: Link, tags: list[str], blobs: Blobs) -> SystemImageLine | None:
    """None for an image of another kind."""
    manifest = parse_manifest(blobs.read(link.digest), link.media_type)
    if manifest.artifact_type != ARTIFACT_TYPE:
        return None
    if manifest.blobs[0].size > MAX_CONFIG:
        raise Invalid(
            f"the configuration of {repository} has more than {MAX_CONFIG >> 10} KiB: import or fetch it anew"
        )
    content = blobs.read(manifest.blobs[0].digest)
    told = decode_config(content, kept=True)
    return SystemImageLine(
        id=repository,
        reference=f"{repository}@{link.digest}",
        tags=sorted(tags),
        digest=link.digest,
        size=sum({blob.digest: blob.size for blob in manifest.blobs}.values()),
        pushed_at=link.pushed_at,
        config={**json.loads(content), "default_user": told.about.default_user},
        problem="",
    )
