"""System images in the appliance's registry: OCI artifacts with a disk in frames and a block map."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from block_map import BlockMap, parse_block_map
from failure import Failure
from server import Server

ARTIFACT = "application/vnd.tinkbox.system-image.v1"
CONFIG = "application/vnd.tinkbox.system-image.config.v1+json"
DISK = "application/vnd.tinkbox.disk.v1.raw+zstd"
BLOCK_MAP = "application/vnd.tinkbox.block-map.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_MOST_MANIFEST, _MOST_CONFIG, _MOST_MAP = 1 << 20, 1 << 18, 1 << 25
_NAME = re.compile(
    r"(?P<name>[a-z0-9]+(?:[._/-]+[a-z0-9]+)*)(?::(?P<tag>[\w][\w.-]{0,127}))?(?:@(?P<digest>\S+))?\Z", re.ASCII
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemImage:
    """What is known before any of its frames came; `url` and `length` are those of the blob with all frames."""

    name: str
    version: str
    architecture: str
    data_source: str
    growth: str
    least_disk: int
    url: str
    length: int
    blocks: BlockMap


def fetch(image: str, appliance: str, server: Server) -> SystemImage:
    """Find a system image by name, name:tag or name@digest; raises Failure."""
    match = _NAME.match(image)
    if match is None or len(image) > 255 or (match["digest"] and not _DIGEST.match(match["digest"])):
        raise Failure("InvalidParameter", f"IMAGE is a name like debian-13 or debian-13:20261101, or a URL: {image!r}")
    place = f"{appliance.rstrip('/')}/v2/{match['name']}"
    reference = match["digest"] or match["tag"] or "latest"
    try:
        text = server.document(f"{place}/manifests/{reference}", most=_MOST_MANIFEST, accept=_MANIFEST)
    except Failure as failure:
        if failure.reason == "ImageNotFound":
            raise Failure(
                "ImageNotFound",
                f"the appliance has no system image {image}: fetch it with `tinkbox image fetch {match['name']}`",
                f"Type `tinkbox image fetch {match['name']}` on the appliance, or `tinkbox image import` for an image of your "
                "own; then retry the workflow",
            ) from None
        raise
    if match["digest"]:
        _check(text, match["digest"], "manifest")
    manifest = _object(text, "manifest")
    if manifest.get("artifactType") != ARTIFACT:
        raise Failure(
            "NotASystemImage",
            f"{image} is the image of a container, not of a disk: `tinkbox image list` shows the system images",
        )
    config = _object(_blob(server, place, _described(manifest.get("config"), CONFIG, _MOST_CONFIG)), "configuration")
    layers = manifest.get("layers")
    if not isinstance(layers, list) or len(layers) < 2:
        raise _damaged("its manifest does not name a disk and a block map")
    disk_digest, disk_length = _described(layers[0], DISK, 1 << 50)
    blocks = parse_block_map(_blob(server, place, _described(layers[1], BLOCK_MAP, _MOST_MAP)), disk_length)
    least = config.get("least_disk", 0)
    if not isinstance(least, int) or isinstance(least, bool) or least < 0:
        raise _damaged(f"least_disk is {least!r}")
    return SystemImage(
        name=match["name"],
        version=str(config.get("version", reference))[:128],
        architecture=str(config.get("architecture", ""))[:32],
        data_source=str(config.get("data_source", ""))[:32],
        growth=str(config.get("growth", ""))[:32],
        least_disk=max(least, blocks.size),
        url=f"{place}/blobs/{disk_digest}",
        length=disk_length,
        blocks=blocks,
    )


def _described(descriptor: Any, media_type: str, most: int) -> tuple[str, int]:
    """The digest and size that a descriptor of this type names."""
    if not isinstance(descriptor, dict) or descriptor.get("mediaType") != media_type:
        raise _damaged(f"its manifest names no {media_type}")
    digest, length = descriptor.get("digest"), descriptor.get("size")
    if not isinstance(digest, str) or not _DIGEST.match(digest):
        raise _damaged(f"its manifest has the digest {str(digest)[:80]!r}")
    if not isinstance(length, int) or isinstance(length, bool) or not 0 < length <= most:
        raise _damaged(f"its manifest says that {media_type} has {str(length)[:30]} bytes")
    return digest, length


def _blob(server: Server, place: str, described: tuple[str, int]) -> bytes:
    digest, length = described
    content = server.document(f"{place}/blobs/{digest}", most=length)
    _check(content, digest, "blob")
    return content


def _check(content: bytes, digest: str, what: str) -> None:
    found = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if found != digest:
        raise _damaged(f"a {what} has the digest {found}, wanted was {digest}")


def _object(text: bytes, what: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise _damaged(f"its {what} is no JSON object")
    return document


def _damaged(why: str) -> Failure:
    return Failure("ImageDamaged", f"the system image is damaged: {why}: fetch or import it again")
