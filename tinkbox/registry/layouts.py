"""What the files in an image archive mean: Docker's layout (`manifest.json`) and OCI's (`index.json`).

An archive with both, which newer Dockers write, is read as Docker's: that one is always complete.
"""

import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tinkbox.model.errors import Invalid
from tinkbox.model.image import parse_reference
from tinkbox.registry.blobs import Staged
from tinkbox.registry.manifests import (
    DOCKER_CONFIG,
    DOCKER_LAYER,
    DOCKER_LAYER_GZIP,
    DOCKER_MANIFEST,
    MAX_MANIFEST,
    Descriptor,
    parse_manifest,
    parse_object,
)

MAX_DEPTH = 4
_NAMED_BY_DIGEST = re.compile(r"(?:.*/)?([0-9a-f]{64})(?:\.json|\.tar)?\Z", re.DOTALL)
_NAMES = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
_DOCKER_HUB = ("docker.io", "index.docker.io")


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One name an archive gives; `manifests` are (bytes, media type), those an index needs before it."""

    repository: str
    tag: str
    manifests: tuple[tuple[bytes, str], ...]


Images = tuple[Image, ...]


class Files(Protocol):
    """The files in an archive."""

    def __contains__(self, name: str) -> bool: ...
    def read(self, name: str, limit: int) -> bytes: ...
    def extract(self, name: str) -> Staged: ...


def read_images(files: Files) -> Images:
    """All images of an archive, with their layers extracted and checked; raises Invalid."""
    if "manifest.json" in files:
        images = _docker_images(files)
    elif "index.json" in files:
        images = _oci_images(files)
    else:
        raise Invalid("the image archive has neither a manifest.json nor an index.json: it is damaged or no image")
    if not images:
        raise Invalid("the image archive names no image: save it by its name (docker save NAME:TAG)")
    return images


def local_name(text: str) -> tuple[str, str]:
    """Repository and tag under which the image is kept here: its own name without a registry's.

    A template that names no registry is served from here, so an image saved as quay.io/tools/wipe:v1
    is tools/wipe:v1 here.  Docker Hub's `library/` is not part of the name people use.
    """
    reference = parse_reference(text)
    repository = reference.repository
    if reference.host in _DOCKER_HUB:
        repository = repository.removeprefix("library/")
    if reference.digest:
        raise Invalid(f"the image archive's name {text[:200]!r} has a digest where a tag is needed")
    return repository, reference.tag or "latest"


def _docker_images(files: Files) -> Images:
    try:
        entries = json.loads(files.read("manifest.json", MAX_MANIFEST))
        listed = [(str(each["Config"]), each.get("RepoTags") or [], list(each["Layers"])) for each in entries]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Invalid("the image archive's manifest.json is damaged: write it again") from None
    images = []
    for config, names, layers in listed:
        content = _docker_manifest(files, config, [str(layer) for layer in layers]) if names else b""
        for repository, tag in (local_name(str(name)) for name in names):
            images.append(Image(repository=repository, tag=tag, manifests=((content, DOCKER_MANIFEST),)))
    return tuple(images)


def _docker_manifest(files: Files, config_name: str, layer_names: list[str]) -> bytes:
    document = parse_object(files.read(config_name, MAX_MANIFEST), "image's configuration")
    config = _extract(files, config_name)
    rootfs = document.get("rootfs")
    expected = rootfs.get("diff_ids") if isinstance(rootfs, dict) else None
    if not isinstance(expected, list) or len(expected) != len(layer_names):
        raise Invalid(f"the image archive has {len(layer_names)} layers, but its configuration says otherwise")
    layers = []
    for name, diff_id in zip(layer_names, expected, strict=True):
        staged = _extract(files, name)
        media_type, actual = _layer(staged)
        if actual != diff_id:
            raise Invalid(
                f"the image archive is damaged: layer {name[:100]} is not what the image's configuration says"
            )
        layers.append(_written(media_type, staged))
    written = {
        "schemaVersion": 2,
        "mediaType": DOCKER_MANIFEST,
        "config": _written(DOCKER_CONFIG, config),
        "layers": layers,
    }
    return json.dumps(written, separators=(",", ":")).encode()


def _layer(staged: Staged) -> tuple[str, str]:
    """A layer's media type and the digest of its bare tar."""
    with staged.path.open("rb") as file:
        start = file.read(4)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        raise Invalid("the image archive has layers compressed with zstd, which Docker engines before 23 cannot read")
    if not start.startswith(b"\x1f\x8b"):
        return DOCKER_LAYER, staged.digest
    with gzip.open(staged.path) as content:
        return DOCKER_LAYER_GZIP, "sha256:" + hashlib.file_digest(content, "sha256").hexdigest()


def _oci_images(files: Files) -> Images:
    index = parse_manifest(files.read("index.json", MAX_MANIFEST))
    images = []
    for entry in index.manifests:
        name = next((entry.annotations[key] for key in _NAMES if key in entry.annotations), None)
        if name is not None:
            repository, tag = local_name(str(name))
            manifests = tuple(_oci_manifests(files, entry, 0))
            images.append(Image(repository=repository, tag=tag, manifests=manifests))
    return tuple(images)


def _oci_manifests(files: Files, entry: Descriptor, depth: int) -> list[tuple[bytes, str]]:
    if depth == MAX_DEPTH:
        raise Invalid(f"the image archive's indexes are nested more than {MAX_DEPTH} deep")
    content = files.read(_blob(entry), MAX_MANIFEST)
    if hashlib.sha256(content).hexdigest() != entry.digest.removeprefix("sha256:"):
        raise Invalid(f"the image archive is damaged: {entry.digest} is not what its name says")
    manifest = parse_manifest(content, entry.media_type)
    for blob in manifest.blobs:
        _extract(files, _blob(blob))
    below = [found for member in manifest.manifests for found in _oci_manifests(files, member, depth + 1)]
    return [*below, (content, manifest.media_type)]


def _extract(files: Files, name: str) -> Staged:
    """Make a blob of a file, which must be what its name says when that is a digest."""
    staged = files.extract(name)
    named = _NAMED_BY_DIGEST.match(name)
    if named and staged.digest != f"sha256:{named[1]}":
        raise Invalid(f"the image archive is damaged: {name[:100]} is not what its name says")
    return staged


def _blob(entry: Descriptor) -> str:
    return f"blobs/sha256/{entry.digest.removeprefix('sha256:')}"


def _written(media_type: str, staged: Staged) -> Mapping[str, Any]:
    return {"mediaType": media_type, "size": staged.size, "digest": staged.digest}
