"""The system images among the images: disks of operating systems, each an OCI artifact whose configuration says what it is."""

import asyncio
from typing import TypedDict

from tinkbox.model.errors import Invalid, NotFound
from tinkbox.model.image import REPOSITORY, parse_reference
from tinkbox.model.system_image import ARTIFACT_TYPE, CONFIG_TYPE
from tinkbox.registry.manifests import MANIFESTS, parse_manifest, parse_object
from tinkbox.registry.storage import ImageStore, StoredManifest
from tinkbox.wire.system_images import MAX_CONFIG, decode_config


class SystemImageLine(TypedDict):
    """What an operator's commands ask of one; `reference` names these bytes for ever, `size` is the raw disk's."""

    id: str
    reference: str
    digest: str
    title: str
    version: str
    architecture: str
    firmware: list[str]
    data_source: str
    default_user: str
    least_disk: int
    size: int


async def system_image(images: ImageStore, reference: str) -> SystemImageLine:
    """The one that a name means, `debian-13`, `debian-13:20261101` or `debian-13@sha256:…`.

    Raises NotFound where there is none, and Invalid for an image of another kind.
    """
    named = parse_reference(reference)
    if named.host or not REPOSITORY.match(named.repository):
        raise NotFound(f"no system image {reference[:200]} here: they are kept without the name of a registry")
    stored = await images.manifest(named.repository, named.selector)
    config = _config_of(stored, reference)
    path = await images.blob(config)
    content = await asyncio.to_thread(lambda: path.read_bytes() if path.stat().st_size <= MAX_CONFIG else b"")
    decoded = decode_config(content)
    about = decoded.about
    return SystemImageLine(
        id=named.repository,
        reference=f"{named.repository}@{stored.digest}",
        digest=stored.digest,
        title=about.title or about.id,
        version=about.version,
        architecture=about.architecture,
        firmware=list(about.firmware),
        data_source=about.data_source,
        default_user=about.default_user,
        least_disk=about.least_disk,
        size=decoded.raw.size,
    )


def _config_of(stored: StoredManifest, reference: str) -> str:
    """The digest of the configuration; raises Invalid for a manifest of anything else."""
    manifest = parse_object(stored.content, "manifest")
    if stored.media_type in MANIFESTS and manifest.get("artifactType") == ARTIFACT_TYPE:
        first, *_ = parse_manifest(stored.content, stored.media_type).blobs
        if first.media_type == CONFIG_TYPE:
            return first.digest
    raise Invalid(
        f"{reference[:200]} is a container image, which actions run from, and no system image: `tinkbox image list` shows "
        "all that are kept"
    )
