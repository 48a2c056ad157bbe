"""What the operator lists, loads and deletes, and what is collected after it."""

import codecs
import json

import pytest

from tests.integration.registry.serving import (
    OPERATOR,
    Registry,
    chunks,
    configuration,
    descriptor,
    digest_of,
    docker_archive,
    layer,
    manifest,
    tar,
)
from tinkbox.model.errors import Conflict, Invalid, NotFound
from tinkbox.registry import manifests
from tinkbox.registry.manifests import DOCKER_MANIFEST, MAX_NESTING, OCI_INDEX
from tinkbox.registry.repositories import Link


async def push_index(registry: Registry, repository: str, tag: str, *texts: str) -> tuple[str, list[str]]:
    """An index of images that have no tags of their own."""
    entries = []
    for text in texts:
        content = layer({"a": text.encode()})
        config = configuration([content])
        for blob in (content, config):
            await registry.push_blob(blob)
        body = manifest(config, [content])
        assert (await registry.put_manifest(repository, digest_of(body), body)).status == 201
        entries.append(descriptor(body, DOCKER_MANIFEST))
    index = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}).encode()
    assert (await registry.put_manifest(repository, tag, index, OCI_INDEX)).status == 201
    return digest_of(index), [entry["digest"] for entry in entries]


async def push_ladder(registry: Registry, levels: int) -> list[str]:
    """A small image of x, and so many indexes, each of which lists the one before it twice; returns their digests."""
    digests = [await registry.push_image("x", "0")]
    body = await (await registry.http.get("/v2/x/manifests/0")).read()
    media_type = DOCKER_MANIFEST
    for level in range(1, levels + 1):
        body = index_of(body, media_type)
        media_type = OCI_INDEX
        answer = await registry.put_manifest("x", str(level), body, media_type)
        assert answer.status == 201, await answer.text()
        digests.append(digest_of(body))
    return digests


def index_of(body: bytes, media_type: str) -> bytes:
    return json.dumps({"schemaVersion": 2, "manifests": [descriptor(body, media_type)] * 2}).encode()


async def test_what_an_unfinished_workflow_is_pinned_to_stays(registry: Registry) -> None:
    _, members = await push_index(registry, "x", "v1", "amd64", "arm64")
    single = await registry.push_image("y", "v1")
    pinned = {single: "one", members[0]: "two"}

    async def asked() -> dict[str, str]:
        return pinned

    registry.store._pinned = asked
    for name in ("y:v1", f"y@{single}"):
        with pytest.raises(Conflict, match=r"workflow one is not over.*tinkbox workflow cancel one"):
            await registry.store.delete(name, who="anna")
    await registry.store.delete("x:v1", who="anna")
    assert {each["digest"] for each in await registry.store.images()} == {members[0], single}
    assert (await registry.http.get(f"/v2/x/manifests/{members[0]}")).status == 200
    answer = await registry.operator.delete(f"/v2/y/manifests/{single}")
    assert answer.status == 403
    assert registry.store.digest("x", "v1") == ""
    assert registry.store.digest("y", "v1") == single
    pinned.clear()
    await registry.store.delete("y:v1", who="anna")
    await registry.store.delete(f"x@{members[0]}", who="anna")
    assert registry.blobs() == set()


async def test_images_are_listed_with_size_and_time(registry: Registry) -> None:
    first = await registry.push_image("tools/x", "v1")
    registry.clock.advance(hours=1)
    await registry.push_image("a", "latest")
    content = layer({"hello.txt": b"hello"})
    size = len(content) + len(configuration([content]))
    a, x = await registry.store.images()
    assert x == {
        "name": "tools/x",
        "tag": "v1",
        "digest": first,
        "size": size,
        "pushed_at": "2026-01-01T00:00:00+00:00",
        "kind": "container",
    }
    assert (a["name"], a["tag"], a["pushed_at"]) == ("a", "latest", "2026-01-01T01:00:00+00:00")


async def test_an_image_whose_tag_moved_on_stays_until_it_is_deleted(registry: Registry) -> None:
    old = await registry.push_image("x", "v1", "old")
    new = await registry.push_image("x", "v1", "new")
    assert {(line["tag"], line["digest"]) for line in await registry.store.images()} == {("v1", new), ("", old)}
    await registry.store.delete(f"x@{old}", who="anna")
    assert [line["digest"] for line in await registry.store.images()] == [new]
    assert len(registry.blobs()) == 3


async def test_members_of_an_index_are_no_images_of_their_own(registry: Registry) -> None:
    index, _ = await push_index(registry, "x", "all", "amd64", "arm64")
    (line,) = await registry.store.images()
    assert (line["digest"], line["tag"]) == (index, "all")
    assert line["size"] > 2 * len(layer({"a": b"amd64"}))


async def test_an_index_below_too_many_others_is_refused(registry: Registry) -> None:
    digests = await push_ladder(registry, MAX_NESTING)
    body = await (await registry.http.get(f"/v2/x/manifests/{digests[-1]}")).read()
    answer = await registry.put_manifest("x", "top", index_of(body, OCI_INDEX), OCI_INDEX)
    (error,) = (await answer.json())["errors"]
    assert (answer.status, error["code"]) == (400, "MANIFEST_INVALID")
    assert "nested too deep: at most 8 levels" in error["message"]
    assert {line["digest"] for line in await registry.store.images()} == set(digests)


async def test_what_is_listed_along_many_ways_counts_once(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in indexes that are stored already, and nested deeper than a new one may be."""
    with monkeypatch.context() as patch:
        patch.setattr(manifests, "MAX_NESTING", 1000)
        digests = await push_ladder(registry, 2 * MAX_NESTING)
    content = layer({"hello.txt": b"hello"})
    lines = await registry.store.images()
    assert {line["digest"] for line in lines} == set(digests)
    assert {line["size"] for line in lines} == {len(content) + len(configuration([content]))}
    for line in lines[1:]:
        await registry.store.delete(f"x:{line['tag']}", who="anna")
    await registry.store.delete(f"x:{lines[0]['tag']}", who="anna")
    assert registry.blobs() == set()


async def test_deleting_an_index_deletes_all_below_it_down_to_what_is_tagged(registry: Registry) -> None:
    digests = await push_ladder(registry, 4)
    for tag in ("0", "1", "3"):
        await registry.store.delete(f"x:{tag}", who="anna")
    await registry.store.delete("x:4", who="anna")
    assert [line["digest"] for line in await registry.store.images()] == [digests[2]]
    assert set(digests) & registry.blobs() == set(digests[:3])


async def test_deleting_an_image_keeps_what_others_need(registry: Registry) -> None:
    shared = layer({"shared": b"1"})
    for name, tag in (("x", b"1"), ("y", b"2")):
        own = layer({"own": tag})
        config = configuration([shared, own])
        for blob in (shared, own, config):
            await registry.push_blob(blob)
        assert (await registry.put_manifest(name, "v1", manifest(config, [shared, own]))).status == 201
    await registry.store.delete("x:v1", who="anna")
    assert digest_of(shared) in registry.blobs()
    assert len(registry.blobs()) == 4
    assert (await registry.http.get("/v2/y/manifests/v1")).status == 200
    await registry.store.delete("y:v1", who="anna")
    assert registry.blobs() == set()


async def test_deleting_one_of_two_tags_keeps_the_image(registry: Registry) -> None:
    digest = await registry.push_image("x", "latest")
    await registry.push_image("x", "v2")
    await registry.store.delete("x", who="anna")
    assert [(line["tag"], line["digest"]) for line in await registry.store.images()] == [("v2", digest)]
    await registry.store.delete(f"x@{digest}", who="anna")
    assert await registry.store.images() == []
    assert registry.blobs() == set()


async def test_deleting_an_index_deletes_the_members_that_nothing_else_needs(registry: Registry) -> None:
    _, (kept, _) = await push_index(registry, "x", "all", "amd64", "arm64")
    body = await (await registry.http.get(f"/v2/x/manifests/{kept}")).read()
    assert (await registry.put_manifest("x", "amd64", body)).status == 201
    await registry.store.delete("x:all", who="anna")
    assert [(line["tag"], line["digest"]) for line in await registry.store.images()] == [("amd64", kept)]
    assert len(registry.blobs()) == 3


async def test_a_member_of_an_index_outlives_its_own_tag(registry: Registry) -> None:
    _, (member, _) = await push_index(registry, "x", "all", "amd64", "arm64")
    body = await (await registry.http.get(f"/v2/x/manifests/{member}")).read()
    await registry.put_manifest("x", "amd64", body)
    await registry.store.delete("x:amd64", who="anna")
    assert (await registry.http.get(f"/v2/x/manifests/{member}")).status == 200


async def test_a_push_in_progress_keeps_its_blobs(registry: Registry) -> None:
    """Between a push's blobs and its manifest somebody deletes another image."""
    await registry.push_image("other", "v1", "other")
    fresh = await registry.push_blob(b"pushed a moment ago")
    await registry.store.delete("other:v1", who="anna")
    assert registry.blobs() == {fresh}
    registry.clock.advance(hours=2)
    asked_for = await registry.http.head(f"/v2/x/blobs/{fresh}", headers=OPERATOR)  # "it is here, no need to send it"
    assert asked_for.status == 200
    await registry.push_image("other", "v1", "other")
    await registry.store.delete("other:v1", who="anna")
    assert registry.blobs() == {fresh}
    registry.clock.advance(hours=2)
    # Who may not push keeps nothing.
    assert (await registry.http.head(f"/v2/x/blobs/{fresh}")).status == 200
    await registry.push_image("other", "v1", "other")
    await registry.store.delete("other:v1", who="anna")
    assert registry.blobs() == set()


async def test_a_pulled_image_is_freed_at_once_when_deleted(registry: Registry) -> None:
    await registry.push_image("x", "v1")
    for digest in registry.blobs():
        assert (await registry.http.get(f"/v2/x/blobs/{digest}")).status == 200
    await registry.store.delete("x:v1", who="anna")
    assert registry.blobs() == set()


async def test_nothing_is_collected_while_a_manifest_cannot_be_read(registry: Registry) -> None:
    digest = await registry.push_image("x", "v1", "precious")
    await registry.push_image("y", "v1", "other")
    registry.blob_path(digest).write_bytes(b"damaged")
    before = registry.blobs() - {digest}
    await registry.store.delete("y:v1", who="anna")
    assert registry.blobs() == before
    await registry.store.delete("x:v1", who="anna")
    assert registry.blobs() == set()


async def test_a_stored_manifest_that_would_be_refused_today_is_listed_and_can_be_deleted(registry: Registry) -> None:
    digest = await registry.push_image("x", "v1")
    body = codecs.BOM_UTF8 + await (await registry.http.get("/v2/x/manifests/v1")).read()
    answer = await registry.put_manifest("x", "v2", body)
    assert (answer.status, (await answer.json())["errors"][0]["code"]) == (400, "MANIFEST_INVALID")
    registry.store._blobs.add(body)
    link = Link(digest=digest_of(body), media_type=DOCKER_MANIFEST, pushed_at=registry.clock().isoformat())
    registry.store._repositories.link("x", link)
    lines = await registry.store.images()
    assert {(line["digest"], line["size"] > 0) for line in lines} == {(digest, True), (link.digest, False)}
    await registry.store.delete(f"x@{link.digest}", who="anna")
    await registry.store.delete("x:v1", who="anna")
    assert registry.blobs() == set()


async def test_a_loaded_image_can_be_pulled_and_deleted(registry: Registry) -> None:
    packed = tar(docker_archive(["x:v1"], [layer({"a": b"1"})]).items())
    assert await registry.store.load(chunks(packed), who="anna") == ["x:v1"]
    assert await registry.store.load(chunks(packed), who="anna") == ["x:v1"]
    (line,) = await registry.store.images()
    assert (await registry.http.get(f"/v2/x/manifests/{line['digest']}")).status == 200
    await registry.store.delete("x:v1", who="anna")
    assert registry.blobs() == set()


@pytest.mark.parametrize("reference", ["x:v2", "y:v1", "quay.io/x:v1", "127.0.0.1:80/x:v1", f"x@sha256:{'a' * 64}"])
async def test_what_is_not_here_cannot_be_deleted(registry: Registry, reference: str) -> None:
    await registry.push_image("x", "v1")
    with pytest.raises(NotFound):
        await registry.store.delete(reference, who="anna")
    assert len(await registry.store.images()) == 1


async def test_a_name_that_is_none_is_refused(registry: Registry) -> None:
    with pytest.raises(Invalid):
        await registry.store.delete("../x", who="anna")


async def test_a_name_that_looks_like_a_host_can_be_deleted_too(registry: Registry) -> None:
    await registry.push_image("my.tools/x", "v1")
    await registry.store.delete("my.tools/x:v1", who="anna")
    assert await registry.store.images() == []
