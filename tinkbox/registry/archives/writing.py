"""Image archives on their way out: an OCI layout in a tar, with Docker's `manifest.json` beside it.

docker, containerd, podman and skopeo read it, and `tinkbox image load` keeps its digests and its whole indexes.  Each blob is in
it once, and is checked while it passes.
"""

import hashlib
import json
import tarfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tinkbox.model.documents.json_text import read_json
from tinkbox.model.errors import NotFound, Unavailable
from tinkbox.model.images.references import parse_reference
from tinkbox.registry.archives.oci_index import CONTAINERD_NAME, REF_NAME, blob_name, hub_name
from tinkbox.registry.manifests.image_trees import Damaged, ImageTree, refuse_other
from tinkbox.registry.manifests.manifests import DOCKER_CONFIG, MANIFESTS, OCI_INDEX, Manifest
from tinkbox.registry.manifests.referrers import subject_of_tag

OCI_LAYOUT: Final = b'{"imageLayoutVersion":"1.0.0"}'
INDEX: Final = "index.json"
LAYOUT_FILE: Final = "oci-layout"
_CONFIGS: Final = (DOCKER_CONFIG, "application/vnd.oci.image.config.v1+json")
_BLOCK: Final = 512
# Which image of several Docker's list names: that of most machines.
_USUAL: Final = ("linux", "amd64")
Content = Callable[[str], AsyncIterator[bytes]]
# Of an appliance's blobs; what a folder lacks says itself what to do.
PUSH_AGAIN: Final = ": push or load its image again (`tinkbox image list` tells what is damaged)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """An image and its name with its tag (`oci_index.tagged`), which is empty for one that was named by its digest."""

    name: str
    tree: ImageTree


async def archive_of(
    images: Sequence[Saved], content: Content, without: Collection[str] = (), way_out: str = PUSH_AGAIN
) -> AsyncIterator[bytes]:
    """The bytes of an archive; `content` gives a blob, and raises NotFound where it is not there.

    `without` are the blobs that it lacks, since its reader has them; `way_out` is told after what `content` says of one that is
    missing.  Raises Unavailable for a blob that is not what its digest
    says, or is missing.
    """
    index = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [index_entry(each) for each in images]}
    yield _file(LAYOUT_FILE, OCI_LAYOUT)
    yield _file(INDEX, json.dumps(index, separators=(",", ":")).encode())
    if listed := _docker_list(images):
        yield _file("manifest.json", json.dumps(listed, separators=(",", ":")).encode())
    written = set(without)
    for each in images:
        for digest, (manifest, _) in each.tree.manifests.items():
            if digest not in written:
                yield _file(blob_name(digest), manifest)
        written.update(each.tree.manifests)
        for digest, size in (*each.tree.needed.items(), *each.tree.optional.items()):
            if digest not in written:
                written.add(digest)
                async for piece in _blob(digest, size, content, way_out if digest in each.tree.needed else None):
                    yield piece
    yield bytes(2 * _BLOCK)


def index_entry(image: Saved) -> Mapping[str, Any]:
    """How an `index.json` lists an image: with its name as it is kept, and as containerd and Docker complete it."""
    top = image.tree.top
    entry: dict[str, Any] = {"mediaType": top.media_type, "digest": top.digest, "size": top.size}
    if artifact_type := image.tree.manifests[top.digest][1].artifact_type:
        entry["artifactType"] = artifact_type
    if image.name:
        entry["annotations"] = {REF_NAME: image.name, CONTAINERD_NAME: hub_name(image.name)}
    return entry


async def checked(digest: str, size: int, content: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes; raises Damaged at their end, or as soon as there are too many, when they are not those of the digest."""
    hashed, passed = hashlib.new(digest.partition(":")[0]), 0
    try:
        async for piece in content:
            hashed.update(piece)
            passed += len(piece)
            if passed > size:
                break
            yield piece
    finally:
        if isinstance(content, AsyncGenerator):  # it has a file open
            await content.aclose()
    if passed != size:
        many = "more than" if passed > size else f"{passed} of"
        raise Damaged(digest, f"with {many} {size} bytes")
    refuse_other(digest, hashed.hexdigest())


async def _blob(digest: str, size: int, content: Content, way_out: str | None) -> AsyncIterator[bytes]:
    """A blob with its header; nothing of one that is not there where that is no mistake, and needs no way out."""
    began = False
    try:
        async for piece in checked(digest, size, content(digest)):
            if not began:
                yield _header(blob_name(digest), size)
                began = True
            yield piece
    except NotFound as error:
        if way_out is None and not began:
            return
        raise Unavailable(f"{error}{PUSH_AGAIN if way_out is None else way_out}") from None
    yield bytes(-size % _BLOCK) if began else _header(blob_name(digest), size)


def _docker_list(images: Sequence[Saved]) -> Sequence[Mapping[str, Any]]:
    """Docker's `manifest.json`: of an index one image alone; what has no image of Docker's or OCI's kind is not in it."""
    listed: dict[str, dict[str, Any]] = {}
    for each in images:
        manifest = _runnable(each.tree)
        if manifest is None or manifest.subject or subject_of_tag(parse_reference(each.name).tag if each.name else ""):
            continue  # Docker would load a signature as an image
        config, *layers = (blob_name(blob.digest) for blob in manifest.blobs)
        entry = listed.setdefault(each.tree.top.digest, {"Config": config, "RepoTags": [], "Layers": layers})
        if each.name:
            entry["RepoTags"].append(each.name)
    return [*listed.values()]


def _runnable(tree: ImageTree) -> Manifest | None:
    top = tree.manifests[tree.top.digest][1]
    found = [top] if top.media_type in MANIFESTS else _members(tree, tree.top.digest)
    return next((each for each in found if _is_image(each)), None)


def _members(tree: ImageTree, digest: str) -> list[Manifest]:
    """The images that an index lists and that are there: first that of the usual platform, then the others."""
    entries = read_json(tree.manifests[digest][0])["manifests"]
    there = [
        (platform.get("os") if isinstance(platform := each.get("platform"), dict) else "", platform, each["digest"])
        for each in entries
        if each["digest"] in tree.manifests
    ]
    usual = [name for os, platform, name in there if platform and (os, platform.get("architecture")) == _USUAL]
    others = [name for os, _, name in there if os != "unknown"]  # as BuildKit calls what is no image
    return [tree.manifests[name][1] for name in (*usual, *others)]


def _is_image(manifest: Manifest) -> bool:
    """Whether Docker can load it: a container image whose layers are all there."""
    return (
        manifest.media_type in MANIFESTS
        and not manifest.artifact_type
        and not manifest.foreign
        and manifest.blobs[0].media_type in _CONFIGS
    )


def _file(name: str, content: bytes) -> bytes:
    return _header(name, len(content)) + content + bytes(-len(content) % _BLOCK)


def _header(name: str, size: int) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o644
    return entry.tobuf(tarfile.GNU_FORMAT)
