"""What the registry keeps of system images: what each says of itself.  All of this blocks."""

import json
import logging
from collections.abc import Mapping
from typing import Any, TypedDict

from tinkbox.model.errors import Refusal
from tinkbox.model.system_image import ARTIFACT_TYPE
from tinkbox.registry.blobs import Blobs
from tinkbox.registry.manifests import parse_manifest
from tinkbox.registry.repositories import Link, Repositories
from tinkbox.wire.system_images import MAX_CONFIG, decode_config

_log = logging.getLogger(__name__)


class KeptSystem(TypedDict):
    """One system image: `tags` are its version and perhaps `latest`, `size` is what its blobs have, `config` its configuration."""

    id: str
    tags: list[str]
    digest: str
    size: int
    pushed_at: str
    config: Mapping[str, Any]


def kept_systems(repositories: Repositories, blobs: Blobs) -> list[KeptSystem]:
    """All of them that have a tag, by id and time; one that cannot be read is left out, and the log says so."""
    found = []
    for repository in repositories.names():
        tags: dict[str, list[str]] = {}
        links: dict[str, Link] = {}
        for tag, link in repositories.tags(repository).items():
            tags.setdefault(link.digest, []).append(tag)
            links[link.digest] = link
        for link in sorted(links.values(), key=lambda each: each.pushed_at):
            try:
                kept = _kept(repository, link, tags[link.digest], blobs)
            except Refusal as error:
                problem = f"{repository}@{link.digest}: {error}"
                _log.warning("system image lost: %s", problem, extra={"action": "registry.lost"})
                continue
            if kept is not None:
                found.append(kept)
    return found


def _kept(repository: str, link: Link, tags: list[str], blobs: Blobs) -> KeptSystem | None:
    manifest = parse_manifest(blobs.read(link.digest), link.media_type)
    if manifest.artifact_type != ARTIFACT_TYPE or manifest.blobs[0].size > MAX_CONFIG:
        return None
    content = blobs.read(manifest.blobs[0].digest)
    decode_config(content)
    return KeptSystem(
        id=repository,
        tags=sorted(tags),
        digest=link.digest,
        size=sum({blob.digest: blob.size for blob in manifest.blobs}.values()),
        pushed_at=link.pushed_at,
        config=json.loads(content),
    )
