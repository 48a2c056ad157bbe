"""What goes with an image that is deleted, and what stays and is told."""

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.integration.cli.carried_images import index_layout
from tests.integration.registry.serving import (
    Registry,
    chunks,
    descriptor,
    digest_of,
    serving,
    tar,
    unpacked,
)
from tests.integration.registry.test_storage import push_index
from tinkbox.model.errors import Conflict, NotFound
from tinkbox.registry.manifests.manifests import DOCKER_MANIFEST, OCI_INDEX

INDEX = index_layout("tools/nest:v1", "amd64", "arm64")


def parts(archive: bytes) -> tuple[bytes, list[bytes]]:
    """The index of a layout, and the images that it lists."""
    files = unpacked(archive)
    (entry,) = json.loads(files["index.json"])["manifests"]
    index = files[f"blobs/sha256/{entry['digest'][7:]}"]
    return index, [files[f"blobs/sha256/{each['digest'][7:]}"] for each in json.loads(index)["manifests"]]


def alone(archive: bytes, manifest: bytes, media_type: str, name: str) -> bytes:
    """The same layout with one of its manifests as the only image."""
    files = unpacked(archive)
    entry = {**descriptor(manifest, media_type), "annotations": {"org.opencontainers.image.ref.name": name}}
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    return tar(files.items())


_, (AMD64, ARM64) = parts(INDEX)
NAME = f"tools/nest@{digest_of(AMD64)}"
ALONE = alone(INDEX, AMD64, DOCKER_MANIFEST, NAME)


async def listed(registry: Registry) -> list[str]:
    return [
        f"{each['name']}:{each['tag']}" if each["tag"] else each["digest"] for each in await registry.store.images()
    ]


async def load_alone(registry: Registry) -> None:
    assert await registry.store.load(chunks(ALONE), who="anna") == [NAME]


async def load_index(registry: Registry) -> None:
    assert await registry.store.load(chunks(INDEX), who="anna") == ["tools/nest:v1"]


async def push_all(registry: Registry) -> None:
    """As `docker push` sends an index: its images by their digests before it."""
    for body, selector, media_type in (
        (AMD64, digest_of(AMD64), DOCKER_MANIFEST),
        (ARM64, digest_of(ARM64), DOCKER_MANIFEST),
        (parts(INDEX)[0], "v1", OCI_INDEX),
    ):
        for each in unpacked(INDEX).values():
            await registry.push_blob(each, "tools/nest")
        assert (await registry.put_manifest("tools/nest", selector, body, media_type)).status == 201


async def push_alone(registry: Registry) -> None:
    """By its digest, and no index came within the hour."""
    for each in unpacked(INDEX).values():
        await registry.push_blob(each, "tools/nest")
    assert (await registry.put_manifest("tools/nest", digest_of(AMD64), AMD64)).status == 201
    registry.clock.advance(hours=1)


@pytest.mark.parametrize(
    "ways",
    [
        (load_alone, load_index),
        (load_index, load_alone),
        (load_alone, push_all),
        (push_all, load_alone),
        (push_alone, load_index),
        (push_alone, push_all),
        (load_index, push_alone),
    ],
)
async def test_an_image_that_came_by_its_digest_outlives_an_index_that_lists_it(
    tmp_path: Path, ways: tuple[Callable[[Registry], Awaitable[None]], ...]
) -> None:
    async with serving(tmp_path) as registry:
        for way in ways:
            await way(registry)
        clock = registry.clock
    async with serving(tmp_path, clock) as registry:
        assert await listed(registry) == ["tools/nest:v1", digest_of(AMD64)]
        await registry.store.delete("tools/nest:v1", who="anna")
        assert await listed(registry) == [digest_of(AMD64)]
        assert (await registry.http.get(f"/v2/tools/nest/manifests/{digest_of(AMD64)}")).status == 200
        assert not registry.store.has("tools/nest", digest_of(ARM64))
        assert len(await registry.left()) == 3
        assert (await registry.store.collect(who="anna", untagged=True)).images == 1
        assert await listed(registry) == []


async def test_an_image_that_an_index_brought_goes_with_it(tmp_path: Path) -> None:
    for way in (load_index, push_all):
        async with serving(tmp_path / way.__name__) as registry:
            await way(registry)
            await way(registry)
            assert await listed(registry) == ["tools/nest:v1"]
            await registry.store.delete("tools/nest:v1", who="anna")
            assert await registry.left() == set()


async def test_what_is_pushed_again_stays_as_old_as_it_is(tmp_path: Path) -> None:
    """While an index is damaged, all that are as old as it stay: they may be its parts."""
    async with serving(tmp_path) as registry:
        await push_all(registry)
        links = registry.root / "repositories" / "tools" / "nest" / "_manifests"
        for file in links.iterdir():
            os.utime(file, (1000, 1000))
        await push_all(registry)
        assert {file.stat().st_mtime for file in links.iterdir()} == {1000}


async def test_an_index_that_came_by_its_digest_stays_with_what_it_lists(registry: Registry) -> None:
    inner, (amd64, _) = parts(INDEX)
    outer = json.dumps({"schemaVersion": 2, "manifests": [descriptor(inner, OCI_INDEX)]}).encode()
    nested = alone(
        tar({**unpacked(INDEX), f"blobs/sha256/{digest_of(outer)[7:]}": outer}.items()), outer, OCI_INDEX, "x:v1"
    )
    assert await registry.store.load(chunks(alone(INDEX, inner, OCI_INDEX, f"x@{digest_of(inner)}")), who="anna")
    assert await registry.store.load(chunks(nested), who="anna") == ["x:v1"]
    await registry.store.delete("x:v1", who="anna")
    assert await listed(registry) == [digest_of(inner)]
    assert registry.store.has("x", digest_of(amd64))
    await registry.store.delete(f"x@{digest_of(inner)}", who="anna")
    assert await registry.left() == set()


async def test_an_image_that_has_a_tag_as_well_goes_with_its_last_tag(registry: Registry) -> None:
    await load_alone(registry)
    assert (await registry.put_manifest("tools/nest", "amd64", AMD64)).status == 201
    assert await listed(registry) == ["tools/nest:amd64"]
    await registry.store.delete("tools/nest:amd64", who="anna")
    assert await registry.left() == set()


async def test_a_part_of_an_index_is_not_deleted_by_its_digest(registry: Registry) -> None:
    index, (member, _) = await push_index(registry, "x", "all", "amd64", "arm64")
    with pytest.raises(Conflict, match=rf"x@{member} is a part of x:all: delete that first"):
        await registry.store.delete(f"x@{member}", who="anna")
    answer = await registry.operator.delete(f"/v2/x/manifests/{member}")
    (error,) = (await answer.json())["errors"]
    assert (answer.status, error["code"], "part of x:all" in error["message"]) == (403, "DENIED", True)
    assert (await registry.http.get(f"/v2/x/manifests/{member}")).status == 200
    await push_index(registry, "x", "all", "amd64", "riscv64")  # the tag moves on
    await registry.store.delete("x:all", who="anna")
    with pytest.raises(Conflict, match=rf"is a part of x@{index}: delete that first"):
        await registry.store.delete(f"x@{member}", who="anna")
    await registry.store.delete(f"x@{index}", who="anna")
    with pytest.raises(NotFound):
        await registry.store.delete(f"x@{member}", who="anna")
    assert await registry.left() == set()


async def test_a_part_of_an_index_is_told_when_its_own_tag_goes(registry: Registry) -> None:
    _, (member, _) = await push_index(registry, "x", "all", "amd64", "arm64")
    body = await (await registry.http.get(f"/v2/x/manifests/{member}")).read()
    assert (await registry.put_manifest("x", "amd64", body)).status == 201
    outer = json.dumps({"schemaVersion": 2, "manifests": [descriptor(body, DOCKER_MANIFEST)]}).encode()
    with pytest.raises(Conflict, match="part of x:all"):
        await registry.store.delete(f"x@{member}", who="anna")
    assert "x:amd64" in await listed(registry)
    (note,) = (await registry.store.delete("x:amd64", who="anna")).notes
    assert note.text == "x:amd64 was deleted, and the image stays: it is a part of x:all"
    assert (await registry.put_manifest("x", digest_of(outer), outer, OCI_INDEX)).status == 201
    await registry.store.delete("x:all", who="anna")
    with pytest.raises(Conflict, match=f"part of x@{digest_of(outer)}"):
        await registry.store.delete(f"x@{member}", who="anna")


async def test_what_a_load_in_progress_brings_is_not_deleted_by_its_digest(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = await registry.push_image("x", "v1")
    monkeypatch.setattr(registry.store._deleter, "_coming", lambda: {digest})
    with pytest.raises(Conflict, match=rf"x@{digest} is being loaded: delete it when that is done"):
        await registry.store.delete(f"x@{digest}", who="anna")
    assert await listed(registry) == ["x:v1"]
    monkeypatch.undo()
    await registry.store.delete(f"x@{digest}", who="anna")
    assert await listed(registry) == []


async def test_an_image_by_itself_is_counted_beside_an_index_without_a_tag(registry: Registry) -> None:
    await load_index(registry)
    await load_alone(registry)
    await registry.push_image("tools/nest", "v1", "the tag moves on")
    registry.clock.advance(hours=1)
    freed = await registry.store.collect(who="anna", untagged=True)
    assert (freed.images, await listed(registry)) == (2, ["tools/nest:v1"])
