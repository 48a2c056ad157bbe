"""What the files in an image archive mean: Docker's layout (`manifest.json`) and OCI's (`index.json`).

Of an archive with both the OCI layout is read, which keeps digests and whole indexes, unless Docker's names images that
it does not.

Blobs that are here already need not be in an archive, so that nobody sends them twice.  What an index lists need not be there
either (image-spec, "Image Index").  What refers to an image, such as its signature, comes with it under whatever name it comes.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from tinkbox.model.documents.json_text import read_json
from tinkbox.model.errors import Invalid
from tinkbox.model.images.references import algorithm_of, as_typed, digest_of, parse_reference
from tinkbox.registry.archives.limits import MAX_MANIFESTS, MAX_NAMES
from tinkbox.registry.archives.oci_index import (
    blob_name,
    counts_as_name,
    hub_name,
    listing_of,
    named,
    names_of,
    only_tags,
    tag_of,
    written_with,
)
from tinkbox.registry.blobs.blobs import Staged
from tinkbox.registry.manifests.manifests import (
    DOCKER_CONFIG,
    DOCKER_LAYER,
    DOCKER_LAYER_GZIP,
    DOCKER_MANIFEST,
    INDEXES,
    MANIFESTS,
    MAX_MANIFEST,
    Descriptor,
    Manifest,
    StoredManifest,
    parse_manifest,
    parse_object,
    whole,
)
from tinkbox.registry.manifests.referrers import subject_of_tag
from tinkbox.registry.manifests.repositories import is_repository

_NAMED_BY_DIGEST = re.compile(r"(?:.*/)?([0-9a-f]{64})(?:\.json|\.tar)?\Z", re.DOTALL)
_GIVE_A_NAME = "load it with `--name NAME`, or save it by its name (docker save NAME:TAG)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One name an archive gives; `manifests` has what it means last, and before that what an index needs, and what refers to it.

    `tag` is empty where the image is named by its digest alone.
    """

    repository: str
    tag: str
    manifests: tuple[StoredManifest, ...]

    @property
    def digest(self) -> str:
        """Of the manifest that the name means."""
        return self.manifests[-1].digest

    @property
    def selector(self) -> str:
        """What picks it within its repository: its tag, else its digest."""
        return self.tag or self.digest

    @property
    def name(self) -> str:
        """As a person types it."""
        return f"{as_typed(self.repository)}{':' if self.tag else '@'}{self.selector}"


Images = tuple[Image, ...]


class Files(Protocol):
    """The files in an archive."""

    def __contains__(self, name: str) -> bool: ...
    def read(self, name: str, limit: int) -> bytes: ...
    def extract(self, name: str, algorithm: str = "sha256") -> Staged:
        """A blob of a file, which is to be kept by its digest of this algorithm."""
        ...

    def unzipped_digest(self, staged: Staged) -> str:
        """The digest of what a gzip stream is when decompressed; raises TooLarge."""
        ...

    def size_here(self, digest: str) -> int | None:
        """The bytes of a blob that is kept here already, and stays; None when it is not."""
        ...


def read_images(files: Files, is_own: Callable[[str], bool], name: str = "") -> Images:
    """All images of an archive that it names, with their layers extracted and checked; raises Invalid.

    `is_own` is as for `local_name`.  With a `name` the archive has one image, and that is its name, whatever the archive says.
    """
    docker = _docker_entries(files) if "manifest.json" in files else None
    index = parse_manifest(files.read("index.json", MAX_MANIFEST)).manifests if "index.json" in files else None
    if docker is None and index is None:
        raise Invalid("the image archive has neither a manifest.json nor an index.json: it is damaged or no image")
    told = [tag for entry in docker or () for tag in entry.names]
    _refuse_many(len(told))
    oci = [_Named(what=entry, names=_familiar(names_of(entry), told)) for entry in index or ()]
    _refuse_many(sum(counts_as_name(name) for each in oci for name in each.names))
    if docker is not None and not (oci and {*told} <= {name for each in oci for name in each.names}):
        make = _docker_reader(files)
        images = [
            Image(repository=repository, tag=tag, manifests=(make(each.what),))
            for each in _as_named(docker, name)
            for repository, tag in (local_name(one, is_own, make(each.what).digest) for one in each.names)
        ]
    else:
        images = _oci_images(files, oci, is_own, name)
    if not images:
        raise Invalid(f"the image archive names no image{only_tags(index or ())}: {_GIVE_A_NAME}")
    return tuple(images)


def _refuse_many(names: int) -> None:
    if names > MAX_NAMES:
        raise Invalid(
            f"the image archive gives {names} names to images: at most {MAX_NAMES} are taken, save fewer images at once"
        )


def _oci_images(files: Files, listed: Sequence["_Named"], is_own: Callable[[str], bool], name: str) -> list[Image]:
    """The images that an OCI layout names, each with what refers to it: tags of that come behind the image."""
    read = _oci_reader(files)
    listing = listing_of([each.what for each in listed], lambda entry: _content(files, entry))
    found: dict[tuple[str, str], Image] = {}
    if any(listing.is_image(each.what) and names_of(each.what) for each in listed):
        for lost in listing.of_unknown_image():
            raise Invalid(
                f"the image archive is damaged: {lost.digest}, which its index lists, is missing or not what its name says"
            )
    for each in _as_named([one for one in listed if listing.is_image(one.what)], name):
        own = read(each.what)
        beside = listing.referring(one.digest for one in own)
        manifests = {one.digest: one for other in beside for one in read(other)}
        manifests |= {one.digest: manifests.pop(one.digest, one) for one in own}
        for repository, tag in (local_name(one, is_own, each.what.digest) for one in each.names):
            image = Image(repository=repository, tag=tag, manifests=tuple(manifests.values()))
            found[repository, image.selector] = image
            for other in beside:
                if subject_of_tag(more := tag_of(other)):
                    one = Image(repository=repository, tag=more, manifests=read(other))
                    found.setdefault((repository, more), one)
    return [*found.values()]


def _content(files: Files, entry: Descriptor) -> bytes:
    """The manifest of an entry; nothing where it is missing or damaged."""
    name = blob_name(entry.digest)
    content = files.read(name, MAX_MANIFEST) if name in files else b""
    return content if digest_of(content, algorithm_of(entry.digest)) == entry.digest else b""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """An image that an archive lists, as its layout describes it."""

    what: Any
    names: Sequence[str]


def _as_named(found: Sequence[_Named], name: str) -> Sequence[_Named]:
    """The same, or the only image under this name; raises Invalid where there are several."""
    if not name:
        return found
    different = {each.what.digest if isinstance(each.what, Descriptor) else each.what for each in found}
    if len(different) > 1:
        raise Invalid(
            f"the image archive has {len(different)} images, and `--name` names one: leave it out, or save them one by one"
        )
    return [
        _Named(what=each.what, names=[named(name, each.what) if isinstance(each.what, Descriptor) else name])
        for each in found[:1]
    ]


def _familiar(names: Sequence[str], told: Sequence[str]) -> Sequence[str]:
    """The same names as Docker's layout beside it has them: with `docker.io/library/` only where a person typed that."""
    shorter = {hub_name(each): each for each in told}
    return [shorter.get(hub_name(each), each) for each in names]


def local_name(text: str, is_own: Callable[[str], bool], digest: str) -> tuple[str, str]:
    """Repository and tag under which an image of this digest is kept here: its whole name (`Reference.kept_as`).

    What names no registry is this one's own, as is what names this one, which `is_own` tells of a host.  The tag is empty for a
    name that has a digest alone.  Raises Invalid for one that has another digest.
    """
    reference = parse_reference(text)
    if reference.digest not in ("", digest):
        raise Invalid(
            f"the image's name {text[:200]!r} has another digest than the image, {digest}: load it with `--name NAME`"
        )
    repository = reference.repository if is_own(reference.host) else reference.kept_as
    if not is_repository(repository):
        raise Invalid(f"the image's name {text[:200]!r} is too long to be kept: load it with `--name NAME`")
    return repository, reference.tag or ("" if reference.digest else "latest")


@dataclass(frozen=True, slots=True)
class _DockerImage:
    """An entry of manifest.json: the names of files."""

    config: str
    layers: tuple[str, ...]


def _docker_entries(files: Files) -> Sequence[_Named]:
    try:
        return [
            _Named(
                what=_DockerImage(str(each["Config"]), tuple(map(str, list(each["Layers"])))),
                names=[str(name) for name in each.get("RepoTags") or []],
            )
            for each in read_json(files.read("manifest.json", MAX_MANIFEST))
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Invalid("the image archive's manifest.json is damaged: write it again") from None


def _docker_reader(files: Files) -> Callable[[_DockerImage], StoredManifest]:
    layer = cache(lambda name: _docker_layer(files, name))

    def read(image: _DockerImage) -> StoredManifest:
        content = _docker_manifest(files, image.config, image.layers, layer)
        return StoredManifest(digest=digest_of(content), media_type=DOCKER_MANIFEST, content=content)

    return cache(read)


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
    return _written(DOCKER_LAYER_GZIP, staged), files.unzipped_digest(staged)


def _oci_reader(files: Files) -> Callable[[Descriptor], tuple[StoredManifest, ...]]:
    """What gives the manifests of an entry, read once, whatever names it has."""
    known: dict[str, tuple[StoredManifest, ...]] = {}

    def read(entry: Descriptor) -> tuple[StoredManifest, ...]:
        if entry.digest not in known:
            known[entry.digest] = _oci_manifests(files, entry)
            if sum(map(len, known.values())) > MAX_MANIFESTS:
                raise Invalid(f"the image archive has more than {MAX_MANIFESTS} manifests: save fewer images at once")
        return known[entry.digest]

    return read


def _oci_manifests(files: Files, entry: Descriptor) -> tuple[StoredManifest, ...]:
    contents: dict[str, bytes] = {}

    def read(listed: Descriptor) -> Manifest:
        if listed is not entry and not _is_listed_manifest(files, listed):
            return Manifest(media_type="")
        content = contents[listed.digest] = files.read(blob_name(listed.digest), MAX_MANIFEST)
        if digest_of(content, algorithm_of(listed.digest)) != listed.digest:
            raise Invalid(f"the image archive is damaged: {listed.digest} is not what its name says")
        manifest = parse_manifest(content, listed.media_type)
        for blob in manifest.blobs:
            _take_blob(files, blob)
        for blob in manifest.foreign:
            if blob_name(blob.digest) in files:
                _take_blob(files, blob)
        is_bare = manifest.manifests and not any(_is_there(files, each) for each in manifest.manifests)
        if is_bare and not written_with(entry):  # nobody tells that it was sparse when it was saved
            raise Invalid(f"the image archive is damaged: nothing is there of what its index {listed.digest} lists")
        return manifest

    found = whole(entry, read)
    if len(contents) < written_with(entry):
        lost = f"{written_with(entry) - len(contents)} of {written_with(entry)} manifests of {entry.digest}"
        raise Invalid(f"the image archive is damaged: it lacks {lost}, which it was written with: save it again")
    return tuple(
        StoredManifest(digest=digest, media_type=manifest.media_type, content=contents[digest])
        for digest, manifest in found.items()
        if digest in contents
    )


def _is_listed_manifest(files: Files, listed: Descriptor) -> bool:
    """Whether what an index lists is a manifest in the archive; what is something else is a blob, and taken if it is there."""
    if not _is_there(files, listed):
        return False
    if listed.media_type in ("", *MANIFESTS, *INDEXES):
        return blob_name(listed.digest) in files
    _take_blob(files, listed)
    return False


def _is_there(files: Files, listed: Descriptor) -> bool:
    return blob_name(listed.digest) in files or files.size_here(listed.digest) is not None


def _take_blob(files: Files, blob: Descriptor) -> None:
    """Extract a blob, or find that it is here; raises Invalid where it is neither, or not as long as its manifest says."""
    name = blob_name(blob.digest)
    size = None if name in files else files.size_here(blob.digest)
    if size is None:
        staged = files.extract(name, algorithm_of(blob.digest))
        if staged.digest_by(algorithm_of(blob.digest)) != blob.digest:
            raise Invalid(f"the image archive is damaged: {name[:140]} is not what its name says")
        size = staged.size
    if size != blob.size:
        raise Invalid(f"the image archive is damaged: {blob.digest} has {size} bytes, its manifest says {blob.size}")


def _extract(files: Files, name: str) -> Staged:
    """Make a blob of a file, which must be what its name says when that is a digest."""
    staged = files.extract(name)
    named = _NAMED_BY_DIGEST.match(name)
    if named and staged.digest != f"sha256:{named[1]}":
        raise Invalid(f"the image archive is damaged: {name[:100]} is not what its name says")
    return staged


def _written(media_type: str, staged: Staged) -> Mapping[str, Any]:
    return {"mediaType": media_type, "size": staged.size, "digest": staged.digest}
