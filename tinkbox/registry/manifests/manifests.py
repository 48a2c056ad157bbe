"""Image manifests and indexes: what they refer to.  Pure.

Docker's schema 2 and OCI's image-spec v1 differ in media types only; schema 1 is refused, as everywhere today.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tinkbox.model.documents.json_text import read_json
from tinkbox.model.errors import Invalid
from tinkbox.model.images.references import DIGEST

MAX_NESTING = 8  # an index of images needs one level, an index of indexes two
MAX_MANIFEST = 4 * 1024 * 1024  # OCI distribution-spec: registries should take at least this much
MAX_LISTED = 2000  # layers of an image (engines take 127), or manifests of an index: others wait while they are read
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"
DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar"
DOCKER_LAYER_GZIP = "application/vnd.docker.image.rootfs.diff.tar.gzip"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
MANIFESTS = (DOCKER_MANIFEST, OCI_MANIFEST)
INDEXES = ("application/vnd.docker.distribution.manifest.list.v2+json", OCI_INDEX)
# Layers that are fetched from elsewhere, by their media types: Docker's, and OCI's.
_ELSEWHERE = (".foreign.", ".nondistributable.")
_UNSAID = ("", "application/json", "application/octet-stream")


# What the configuration of a container image says that it is; Docker up to 1.10 said no more than that it is bytes.
CONTAINER_CONFIGS = (
    "",
    "application/vnd.oci.image.config.v1+json",
    "application/vnd.docker.container.image.v1+json",
    "application/octet-stream",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """One thing a manifest refers to."""

    digest: str
    size: int
    media_type: str = ""
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a manifest refers to: an image has `blobs` (the configuration first), an index has `manifests`.

    Only `blobs` have to be here.  Not so the layers that clients fetch from elsewhere (`foreign`), and what an index lists:
    it may be sparse (image-spec, "Image Index": an image of it need not be there).  What it lists may be no manifest, as in
    the caches of BuildKit.  `artifact_type` is empty for a container image, `subject` the digest of what it describes.  Where the
    manifest does not tell it, it is what its configuration is (image-spec, "Guidelines for Artifact Usage").
    """

    media_type: str
    blobs: tuple[Descriptor, ...] = ()
    foreign: tuple[Descriptor, ...] = ()
    manifests: tuple[Descriptor, ...] = ()
    artifact_type: str = ""
    subject: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def digests(self) -> frozenset[str]:
        """Everything that is kept for it, if it is here."""
        return frozenset(each.digest for each in (*self.blobs, *self.foreign)) | self.members

    @property
    def members(self) -> frozenset[str]:
        """What it lists."""
        return frozenset(each.digest for each in self.manifests)

    @property
    def content(self) -> tuple[Descriptor, ...]:
        """Its own blobs, those among what an index lists included."""
        return self.blobs + tuple(each for each in self.manifests if each.media_type not in ("", *MANIFESTS, *INDEXES))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredManifest:
    """A manifest as it was pushed."""

    digest: str
    media_type: str
    content: bytes


def parse_manifest(content: bytes, content_type: str = "") -> Manifest:
    """Read a manifest or an index; raises Invalid.  `content_type` is what its bearer said it is."""
    document = parse_object(content, "manifest")
    if document.get("schemaVersion") != 2:
        raise Invalid("the manifest's schemaVersion is not 2")
    # Both at once would be an image to one client and an index to another (CVE-2021-41190).
    if "manifests" in document and ("layers" in document or "config" in document):
        raise Invalid("the manifest is an image and an index at once")
    annotations = _annotations(document, "manifest's annotations")
    described = document.get("subject")
    subject = _descriptor(described, "subject").digest if described is not None else ""
    media_type = _media_type(document, content_type.partition(";")[0].strip().lower())
    artifact = document.get("artifactType")
    artifact_type = artifact if isinstance(artifact, str) else ""
    if media_type in INDEXES:
        return Manifest(
            media_type=media_type,
            manifests=_descriptors(document, "manifests"),
            artifact_type=artifact_type,
            subject=subject,
            annotations=annotations,
        )
    config = _descriptor(document.get("config"), "config")
    if config.media_type not in CONTAINER_CONFIGS:
        artifact_type = artifact_type or config.media_type
    layers = list(zip(_descriptors(document, "layers"), document["layers"], strict=True))
    return Manifest(
        media_type=media_type,
        blobs=(config, *(layer for layer, entry in layers if not _is_foreign(layer, entry))),
        foreign=tuple(layer for layer, entry in layers if _is_foreign(layer, entry)),
        artifact_type=artifact_type,
        subject=subject,
        annotations=annotations,
    )


def whole(top: Descriptor, read: Callable[[Descriptor], Manifest]) -> Mapping[str, Manifest]:
    """A manifest, as the last one, with what it leads to: as `nested`."""
    manifest = read(top)
    return {**nested(manifest.manifests, read), top.digest: manifest}


def nested(listed: Iterable[Descriptor], read: Callable[[Descriptor], Manifest]) -> Mapping[str, Manifest]:
    """The manifests that an index leads to by what it lists, by digest: each read once, and before those that list it.

    Raises Invalid when there are more than MAX_NESTING levels of them.
    """
    found: dict[str, Manifest] = {}
    level = {each.digest: each for each in listed}
    for _ in range(MAX_NESTING):
        for digest, entry in level.items():
            # One that is found on a further level moves behind all that list it.
            found[digest] = found.pop(digest) if digest in found else read(entry)
        level = {each.digest: each for digest in level for each in found[digest].manifests}
    if level:
        raise Invalid(f"the indexes are nested too deep: at most {MAX_NESTING} levels of manifests below an index")
    return dict(reversed(found.items()))


def reachable(digest: str, manifests: Mapping[str, Manifest]) -> Mapping[str, Manifest]:
    """Those of `manifests` that a digest leads to, its own first, each once, however deep they are nested."""
    found: dict[str, Manifest] = {}
    pending = [digest]
    while pending:
        each = pending.pop()
        if each in manifests and each not in found:
            found[each] = manifests[each]
            pending.extend(manifests[each].members)
    return found


def parse_object(content: bytes, what: str) -> dict[str, Any]:
    """Decode a JSON object; raises Invalid naming `what` it should have been."""
    if len(content) > MAX_MANIFEST:
        raise Invalid(f"the {what} has more than {MAX_MANIFEST} bytes")
    try:
        document = read_json(content)
    except (ValueError, RecursionError):
        raise Invalid(f"the {what} is not JSON in UTF-8 without a byte order mark") from None
    if not isinstance(document, dict):
        raise Invalid(f"the {what} is not a JSON object")
    return document


def _is_foreign(layer: Descriptor, entry: Mapping[str, Any]) -> bool:
    """Whether clients fetch it from elsewhere (image-spec, "Non-Distributable Layers")."""
    return bool(entry.get("urls")) or any(word in layer.media_type for word in _ELSEWHERE)


def _media_type(document: dict[str, Any], told: str) -> str:
    written = document.get("mediaType", "")
    chosen = written if told in _UNSAID else told
    if not chosen:
        chosen = OCI_INDEX if "manifests" in document else OCI_MANIFEST
    if (written and written != chosen) or chosen not in (*MANIFESTS, *INDEXES):
        raise Invalid(
            f"unsupported or contradictory media type {str(chosen)[:100]!r} (in the manifest: {written!r:.100})"
        )
    return str(chosen)


def _descriptors(document: dict[str, Any], key: str) -> tuple[Descriptor, ...]:
    listed = document.get(key)
    if not isinstance(listed, list):
        raise Invalid(f"the manifest's {key} is not a list")
    if len(listed) > MAX_LISTED:
        raise Invalid(f"the manifest has {len(listed)} {key}: at most {MAX_LISTED}")
    return tuple(_descriptor(entry, f"{key}[{index}]") for index, entry in enumerate(listed))


def _descriptor(entry: Any, key: str) -> Descriptor:
    if not isinstance(entry, dict):
        raise Invalid(f"the manifest's {key} is not an object")
    digest, size = entry.get("digest"), entry.get("size")
    if not isinstance(digest, str) or not DIGEST.match(digest):
        raise Invalid(f"the manifest's {key} has no sha256 or sha512 digest")
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise Invalid(f"the manifest's {key} has no size")
    media_type = entry.get("mediaType")
    if not isinstance(media_type, str | None):
        raise Invalid(f"the manifest's {key} has a mediaType that is no text")
    annotations = _annotations(entry, f"annotations of the manifest's {key}")
    return Descriptor(digest=digest, size=size, media_type=media_type or "", annotations=annotations)


def _annotations(entry: dict[str, Any], what: str) -> Mapping[str, str]:
    annotations = entry.get("annotations")
    if annotations is None:
        return {}
    if not isinstance(annotations, dict) or not all(isinstance(value, str) for value in annotations.values()):
        raise Invalid(f"the {what} are not an object of texts")
    return annotations
