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
from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.model.images.references import parse_reference
from tinkbox.registry.archives.limits import MAX_ARCHIVE, MAX_MANIFESTS, MAX_MEMBERS, MAX_NAMES
from tinkbox.registry.archives.oci_index import (
    CONTAINERD_NAME,
    MANIFESTS_NAME,
    REF_NAME,
    blob_name,
    counts_as_name,
    hub_name,
)
from tinkbox.registry.manifests.image_trees import Damaged, ImageTree, refuse_other
from tinkbox.registry.manifests.manifests import (
    DOCKER_CONFIG,
    INDEXES,
    MANIFESTS,
    MAX_LISTED,
    MAX_MANIFEST,
    OCI_INDEX,
    Manifest,
)
from tinkbox.registry.manifests.referrers import subject_of_tag

OCI_LAYOUT: Final = b'{"imageLayoutVersion":"1.0.0"}'
INDEX: Final = "index.json"
LAYOUT_FILE: Final = "oci-layout"
_CONFIGS: Final = (DOCKER_CONFIG, "application/vnd.oci.image.config.v1+json")
_BLOCK: Final = 512
# Which image of several Docker's list names: that of most machines.
_USUAL: Final = ("linux", "amd64")
Content = Callable[[str], AsyncIterator[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """An image and its name with its tag or digest (`oci_index.tagged`); what comes along by its digest alone has none."""

    name: str
    tree: ImageTree


async def archive_of(images: Sequence[Saved], content: Content, without: Collection[str] = ()) -> AsyncIterator[bytes]:
    """The bytes of an archive; `content` gives a blob, and raises NotFound, with the way out, where it is not there.

    `without` are the blobs that it lacks, since its reader has them.  Raises Invalid, before anything comes of it, for one that nobody would load (`limits`); Unavailable for a blob that is
    not what its digest says, or is missing.
    """
    index = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [index_entry(each) for each in images]}
    lists = {INDEX: json.dumps(index, separators=(",", ":")).encode()}
    if listed := _docker_list(images):
        lists["manifest.json"] = json.dumps(listed, separators=(",", ":")).encode()
    _refuse_unreadable(images, lists, without)
    yield _file(LAYOUT_FILE, OCI_LAYOUT)
    for name, content_of in lists.items():
        yield _file(name, content_of)
    written = set(without)
    for each in images:
        for digest, (manifest, _) in each.tree.manifests.items():
            if digest not in written:
                yield _file(blob_name(digest), manifest)
        written.update(each.tree.manifests)
        for digest, size in (*each.tree.needed.items(), *each.tree.optional.items()):
            if digest not in written:
                written.add(digest)
                async for piece in _blob(digest, size, content, is_needed=digest in each.tree.needed):
                    yield piece
    yield bytes(2 * _BLOCK)


def _refuse_unreadable(images: Sequence[Saved], lists: Mapping[str, bytes], without: Collection[str]) -> None:
    """Raise Invalid for what has more than an archive's reader takes."""
    trees = {each.tree.top.digest: each.tree for each in images}
    sizes = {digest: size for each in trees.values() for digest, size in each.sizes.items()}
    for digest in without:
        sizes.pop(digest, None)
    files = [len(OCI_LAYOUT), *map(len, lists.values()), *sizes.values()]
    names = sum(counts_as_name(each.name) for each in images if each.name)
    manifests = sum(len(each.manifests) for each in trees.values())
    for many, most, what in (
        (names, MAX_NAMES, "names of images"),
        (len(images), MAX_LISTED, "names and signatures of images"),
        (manifests, MAX_MANIFESTS, "manifests"),
        (len(files), MAX_MEMBERS, "files"),
        (max(map(len, lists.values())), MAX_MANIFEST, "bytes in its list of images"),
        (sum(size + 2 * _BLOCK for size in files), MAX_ARCHIVE, "bytes"),
    ):
        if many > most:
            raise Invalid(
                f"the archive would have {many} {what}, and `tinkbox image load` takes {most} at most: save fewer images at once, or "
                "carry them in folders (`tinkbox image export`)"
            )


def index_entry(image: Saved) -> Mapping[str, Any]:
    """How an `index.json` lists an image: with its name as it is kept, and as containerd and Docker complete it.

    Of an index also how many manifests there are (`oci_index.written_with`).
    """
    top = image.tree.top
    entry: dict[str, Any] = {"mediaType": top.media_type, "digest": top.digest, "size": top.size}
    if artifact_type := image.tree.manifests[top.digest][1].artifact_type:
        entry["artifactType"] = artifact_type
    annotations = {REF_NAME: image.name} if image.name else {}
    if _is_tagged(image.name):  # Docker and containerd take no other name
        annotations[CONTAINERD_NAME] = hub_name(image.name)
    if top.media_type in INDEXES:
        annotations[MANIFESTS_NAME] = str(len(image.tree.manifests))
    if annotations:
        entry["annotations"] = annotations
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


async def _blob(digest: str, size: int, content: Content, *, is_needed: bool) -> AsyncIterator[bytes]:
    """A blob with its header; nothing of one that is not there where that is no mistake."""
    began = False
    try:
        async for piece in checked(digest, size, content(digest)):
            if not began:
                yield _header(blob_name(digest), size)
                began = True
            yield piece
    except NotFound as error:
        if not is_needed and not began:
            return
        raise Unavailable(str(error)) from None
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
        if _is_tagged(each.name):
            entry["RepoTags"].append(each.name)
    return [*listed.values()]


def _is_tagged(name: str) -> bool:
    """Whether it is a name with a tag alone, by which Docker knows an image."""
    return bool(name) and "@" not in name


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
