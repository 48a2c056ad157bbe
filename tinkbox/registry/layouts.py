"""What the files in an image archive mean: Docker's layout (`manifest.json`) and OCI's (`index.json`).

An archive with both, which newer Dockers write, is read as Docker's: that one is always complete.
"""

import gzip
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from tinkbox.model.errors import Invalid
from tinkbox.model.image import parse_reference
from tinkbox.model.json_text import read_json
from tinkbox.registry.blobs import Staged
from tinkbox.registry.manifests import (
    DOCKER_CONFIG,
    DOCKER_LAYER,
    DOCKER_LAYER_GZIP,
    DOCKER_MANIFEST,
    MAX_MANIFEST,
    Descriptor,
    Manifest,
    nested,
    parse_manifest,
    parse_object,
)

_NAMED_BY_DIGEST = re.compile(r"(?:.*/)?([0-9a-f]{64})(?:\.json|\.tar)?\Z", re.DOTALL)
_NAMES = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
_DOCKER_HUB = ("docker.io", "index.docker.io")


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One name an archive gives; `manifests` are (bytes, media type), those an index needs before it."""

    repository: str
    tag: str
    manifests: tuple[tuple[bytes, str], ...]

    @property
    def digest(self) -> str:
        """Of the manifest that the name means."""
        return f"sha256:{hashlib.sha256(self.manifests[-1][0]).hexdigest()}"


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
        entries = read_json(files.read("manifest.json", MAX_MANIFEST))
        listed = [(str(each["Config"]), each.get("RepoTags") or [], list(each["Layers"])) for each in entries]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Invalid("the image archive's manifest.json is damaged: write it again") from None
    layer = cache(lambda name: _docker_layer(files, name))
    manifest = cache(lambda config, layers: _docker_manifest(files, config, layers, layer))
    images = []
    for config, names, layers in listed:
        content = manifest(config, tuple(map(str, layers))) if names else b""
        for repository, tag in (local_name(str(name)) for name in names):
            images.append(Image(repository=repository, tag=tag, manifests=((content, DOCKER_MANIFEST),)))
    return tuple(images)


def _docker_manifest(
    files: Files, config_name: str, layer_names: tuple[str, ...], layer: Callable[[str], tuple[Mapping[str, Any], str]]
) -> bytes:
    document = parse_object(files.read(config_name, MAX_MANIFEST), "image's configuration")
    config = _extract(files, config_name)
    rootfs = document.get("rootfs")
    expected = rootfs.get("diff_ids") if isinstance(rootfs, dict) else None
    if not isinstance(expected, list) or len(expected) != len(layer_names):
        raise Invalid(f"the image archive has {len(layer_names)} layers, but its configuration says otherwise")
    layers = []
    for name, diff_id in zip(layer_names, expected, strict=True):
        written, actual = layer(name)
        if actual != diff_id:
            raise Invalid(
                f"the image archive is damaged: layer {name[:100]} is not what the image's configuration says"
            )
        layers.append(written)
    made = {
        "schemaVersion": 2,
        "mediaType": DOCKER_MANIFEST,
        "config": _written(DOCKER_CONFIG, config),
        "layers": layers,
    }
    return json.dumps(made, separators=(",", ":")).encode()


def _docker_layer(files: Files, name: str) -> tuple[Mapping[str, Any], str]:
    """A layer's descriptor and the digest of its bare tar."""
    staged = _extract(files, name)
    with staged.path.open("rb") as file:
        start = file.read(4)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        raise Invalid("the image archive has layers compressed with zstd, which Docker engines before 23 cannot read")
    if not start.startswith(b"\x1f\x8b"):
        return _written(DOCKER_LAYER, staged), staged.digest
    with gzip.open(staged.path) as content:
        return _written(DOCKER_LAYER_GZIP, staged), "sha256:" + hashlib.file_digest(content, "sha256").hexdigest()


def _oci_images(files: Files) -> Images:
    index = parse_manifest(files.read("index.json", MAX_MANIFEST))
    images = []
    for entry in index.manifests:
        name = next((entry.annotations[key] for key in _NAMES if key in entry.annotations), None)
        if name is not None:
            repository, tag = local_name(name)
            images.append(Image(repository=repository, tag=tag, manifests=_oci_manifests(files, entry)))
    return tuple(images)


def _oci_manifests(files: Files, entry: Descriptor) -> tuple[tuple[bytes, str], ...]:
    contents: dict[str, bytes] = {}

    def read(listed: Descriptor) -> Manifest:
        content = contents[listed.digest] = files.read(_blob(listed), MAX_MANIFEST)
        if hashlib.sha256(content).hexdigest() != listed.digest.removeprefix("sha256:"):
            raise Invalid(f"the image archive is damaged: {listed.digest} is not what its name says")
        manifest = parse_manifest(content, listed.media_type)
        for blob in manifest.blobs:
            size = _extract(files, _blob(blob)).size
            if size != blob.size:
                raise Invalid(
                    f"the image archive is damaged: {blob.digest} has {size} bytes, its manifest says {blob.size}"
                )
        return manifest

    return tuple((contents[digest], manifest.media_type) for digest, manifest in nested([entry], read).items())


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
