"""What an image consists of, and what comes of it in an archive."""

import io
import json
import tarfile
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.integration.registry.serving import configuration, descriptor, digest_of, layer, manifest
from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.registry.archives.writing import Saved, archive_of
from tinkbox.registry.manifests import image_trees
from tinkbox.registry.manifests.image_trees import ImageTree, tree_of
from tinkbox.registry.manifests.manifests import DOCKER_MANIFEST, MAX_NESTING, OCI_INDEX, Descriptor

LAYER = layer({"a": b"1"})
CONFIG = configuration([LAYER])
IMAGE = manifest(CONFIG, [LAYER])
CACHE = b"what BuildKit keeps"
ANYWHERE = "application/vnd.oci.image.layer.v1.tar"


class Kept(dict[str, bytes]):
    """Blobs by digest."""

    def __init__(self, *contents: bytes) -> None:
        super().__init__({digest_of(each): each for each in contents})

    async def read(self, listed: Descriptor) -> bytes:
        return self.get_it(listed.digest)

    async def content(self, digest: str) -> AsyncIterator[bytes]:
        content = self.get_it(digest)
        for start in range(0, len(content), 700):
            yield content[start : start + 700]

    def get_it(self, digest: str) -> bytes:
        if digest not in self:
            raise NotFound(f"no blob {digest}")
        return self[digest]

    async def tree(self, content: bytes, media_type: str) -> ImageTree:
        top = Descriptor(digest=digest_of(content), size=len(content), media_type=media_type, annotations={})
        return await tree_of(top, self.read)

    async def archive(self, *images: Saved) -> tuple[dict[str, bytes], bytes]:
        """The files of an archive of these, and its bytes."""
        packed = b"".join([piece async for piece in archive_of(images, self.content)])
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            files = {each.name: (archive.extractfile(each) or io.BytesIO()).read() for each in archive}
        return files, packed


def index(*entries: dict[str, Any]) -> bytes:
    return json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}).encode()


def platform(content: bytes, os: str, architecture: str) -> dict[str, Any]:
    return {**descriptor(content, DOCKER_MANIFEST), "platform": {"os": os, "architecture": architecture}}


async def test_an_index_has_what_is_there_of_what_it_lists() -> None:
    lacking = manifest(CONFIG, [])
    top = index(descriptor(lacking, DOCKER_MANIFEST), descriptor(IMAGE, DOCKER_MANIFEST), descriptor(CACHE, ANYWHERE))
    tree = await Kept(top, IMAGE).tree(top, OCI_INDEX)
    assert list(tree.manifests) == [digest_of(IMAGE), digest_of(top)], "those that it lists come before it"
    assert tree.needed == {digest_of(CONFIG): len(CONFIG), digest_of(LAYER): len(LAYER)}
    assert tree.optional == {digest_of(CACHE): len(CACHE)}


async def test_what_is_optional_and_not_there_is_left_out_of_an_archive_and_what_is_needed_is_told() -> None:
    top = index(descriptor(IMAGE, DOCKER_MANIFEST), descriptor(CACHE, ANYWHERE))
    kept = Kept(top, IMAGE, CONFIG, LAYER)
    saved = Saved(name="x:v1", tree=await kept.tree(top, OCI_INDEX))
    files, _ = await kept.archive(saved)
    assert f"blobs/sha256/{digest_of(CACHE)[7:]}" not in files
    kept[digest_of(CACHE)] = CACHE
    files, packed = await kept.archive(saved)
    assert files[f"blobs/sha256/{digest_of(CACHE)[7:]}"] == CACHE
    assert len(packed) % 512 == 0
    del kept[digest_of(LAYER)]
    with pytest.raises(Unavailable, match=f"^no blob {digest_of(LAYER)}$"):
        await kept.archive(saved)


@pytest.mark.parametrize("wrong", [LAYER[:-1], LAYER + b"x", LAYER[:-1] + b"x"])
async def test_a_blob_that_comes_damaged_ends_the_archive(wrong: bytes) -> None:
    kept = Kept(IMAGE, CONFIG, LAYER)
    saved = Saved(name="x:v1", tree=await kept.tree(IMAGE, DOCKER_MANIFEST))
    kept[digest_of(LAYER)] = wrong
    with pytest.raises(Unavailable, match="came damaged"):
        await kept.archive(saved)


async def test_dockers_list_has_the_image_of_an_index_that_most_machines_run() -> None:
    attested, other = manifest(CONFIG, []), manifest(CONFIG, [LAYER, LAYER])
    kept = Kept(IMAGE, CONFIG, LAYER, attested, other)
    for entries, layers in (
        (
            (
                platform(attested, "unknown", "unknown"),
                platform(other, "linux", "arm64"),
                platform(IMAGE, "linux", "amd64"),
            ),
            1,
        ),
        ((platform(attested, "unknown", "unknown"), platform(other, "linux", "arm64")), 2),
    ):
        top = index(*entries)
        kept[digest_of(top)] = top
        files, _ = await kept.archive(Saved(name="quay.io/x:v1", tree=await kept.tree(top, OCI_INDEX)))
        (listed,) = json.loads(files["manifest.json"])
        assert (listed["RepoTags"], len(listed["Layers"])) == (["quay.io/x:v1"], layers)
    top = index(platform(attested, "unknown", "unknown"))
    kept[digest_of(top)] = top
    files, _ = await kept.archive(Saved(name="x:v1", tree=await kept.tree(top, OCI_INDEX)))
    assert "manifest.json" not in files


async def test_a_manifest_that_is_missing_damaged_or_nested_too_deep_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound):
        await Kept().tree(IMAGE, DOCKER_MANIFEST)
    damaged = Kept(IMAGE)
    damaged[digest_of(IMAGE)] = IMAGE + b" "
    with pytest.raises(Unavailable, match="came damaged"):
        await damaged.tree(IMAGE, DOCKER_MANIFEST)
    kept, top = Kept(IMAGE), IMAGE
    for number in range(MAX_NESTING):  # as many as a push takes
        top = index(descriptor(top, OCI_INDEX if number else DOCKER_MANIFEST))
        kept[digest_of(top)] = top
    assert list((await kept.tree(top, OCI_INDEX)).manifests)[-1] == digest_of(top)
    top = index(descriptor(top, OCI_INDEX))
    kept[digest_of(top)] = top
    with pytest.raises(Invalid, match="nested too deep"):
        await kept.tree(top, OCI_INDEX)
    monkeypatch.setattr(image_trees, "MAX_MANIFESTS", 2)
    with pytest.raises(Invalid, match="more than 2 manifests"):
        await kept.tree(top, OCI_INDEX)
