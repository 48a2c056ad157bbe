"""What is freed while images are loaded or pushed: of what came nothing is lost without a word."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.carried_images import index_layout, signed_image
from tests.integration.registry.serving import (
    Registry,
    chunks,
    configuration,
    descriptor,
    digest_of,
    layer,
    manifest,
    serving,
)
from tinkbox.model.errors import Unavailable
from tinkbox.registry import storage
from tinkbox.registry.manifests.manifests import DOCKER_MANIFEST, OCI_INDEX
from tinkbox.registry.manifests.repositories import Key


async def free(registry: Registry, *, now: bool = True) -> None:
    await registry.store.collect(who="anna", now=now, untagged=True)


@pytest.fixture
def freeing(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two steps of a load all is freed that no tag needs."""
    in_thread = storage.in_thread

    async def then_free(*arguments: Any) -> Any:
        done = await in_thread(*arguments)
        await free(registry)
        return done

    monkeypatch.setattr(storage, "in_thread", then_free)


def members_of(registry: Registry, digest: str) -> set[str]:
    return {each["digest"] for each in json.loads(registry.blob_path(digest).read_text())["manifests"]}


@pytest.mark.usefixtures("freeing")
async def test_a_load_keeps_the_images_of_an_index_until_its_tag_is_there(registry: Registry) -> None:
    archive = index_layout("tools/many:v1", "amd64", "arm64", "riscv64")
    assert await registry.store.load(chunks(archive), who="anna") == ["tools/many:v1"]
    members = members_of(registry, registry.store.digest("tools/many", "v1"))
    assert all(registry.store.has("tools/many", each) for each in members)
    await registry.store.delete("tools/many:v1", who="anna")
    await free(registry)
    assert await registry.left() == set(), "what is loaded is held no longer"


@pytest.mark.usefixtures("freeing")
async def test_a_load_keeps_signatures_until_the_tag_of_their_image_is_there(
    registry: Registry, tmp_path: Path
) -> None:
    signed = signed_image(tmp_path)
    await registry.store.load(chunks(signed.path.read_bytes()), who="anna")
    assert all(registry.store.has("tools/wipe", each) for each in (signed.signature, signed.countersignature))


async def test_a_load_that_lost_a_part_fails(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    link = registry.store._repositories.link
    first: list[Key] = []

    def losing(repository: str, *arguments: Any) -> None:
        link(repository, *arguments)
        if first:
            registry.store._deleter.unlink(first)
        first[:] = [(repository, arguments[0].digest)]

    monkeypatch.setattr(registry.store._repositories, "link", losing)
    archive = index_layout("tools/many:v1", "amd64", "arm64")
    with pytest.raises(Unavailable, match="was deleted meanwhile: load tools/many:v1 again"):
        await registry.store.load(chunks(archive), who="anna")
    assert registry.store.digest("tools/many", "v1") == ""


async def pushed(registry: Registry, text: str) -> bytes:
    """An image that has no tag."""
    content = layer({"a": text.encode()})
    config = configuration([content])
    for each in (content, config):
        await registry.push_blob(each)
    body = manifest(config, [content])
    assert (await registry.put_manifest("x", digest_of(body), body)).status == 201
    return body


@pytest.mark.parametrize("way", ["gc", "delete"])
async def test_an_index_whose_images_were_deleted_meanwhile_is_refused(registry: Registry, way: str) -> None:
    images = [await pushed(registry, text) for text in ("amd64", "arm64")]
    sparse = descriptor(b"never here", DOCKER_MANIFEST)
    entries = [*(descriptor(each, DOCKER_MANIFEST) for each in images), sparse]
    index = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}).encode()
    assert (await registry.put_manifest("x", digest_of(index), index, OCI_INDEX)).status == 201
    if way == "gc":
        await free(registry)
    else:
        await registry.store.delete(f"x@{digest_of(index)}", who="anna")
    for selector in (digest_of(index), "v1"):
        refused = await registry.put_manifest("x", selector, index, OCI_INDEX)
        told = (await refused.json())["errors"][0]
        assert (refused.status, "was deleted meanwhile: push the image again" in told["message"]) == (404, True), told
    for text in ("amd64", "arm64"):
        await pushed(registry, text)
    assert (await registry.put_manifest("x", "v1", index, OCI_INDEX)).status == 201
    await registry.store.delete("x:v1", who="anna")
    registry.clock.advance(hours=1)
    assert (await registry.put_manifest("x", "v1", index, OCI_INDEX)).status == 201, "sparse, and long after"


async def test_what_a_damaged_index_may_list_is_kept(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        images = [await pushed(registry, text) for text in ("amd64", "arm64")]
        entries = [descriptor(each, DOCKER_MANIFEST) for each in images]
        index = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}).encode()
        assert (await registry.put_manifest("x", "v1", index, OCI_INDEX)).status == 201
        other = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries[:1]}).encode()
        assert (await registry.put_manifest("x", "v2", other, OCI_INDEX)).status == 201
    registry.blob_path(digest_of(index)).write_bytes(b"damaged")
    async with serving(tmp_path, registry.clock) as registry:
        await registry.store.delete("x:v2", who="anna")
        await free(registry)
        for each in images:
            assert (await registry.http.get(f"/v2/x/manifests/{digest_of(each)}")).status == 200
        assert (await registry.put_manifest("x", "v1", index, OCI_INDEX)).status == 201
        await registry.store.delete("x:v1", who="anna")
        await free(registry)
        assert await registry.left() == set()
