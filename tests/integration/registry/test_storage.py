"""What the operator lists, loads and deletes, and what is collected after it."""

import asyncio
import codecs
import io
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

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
    serving,
    tar,
    until,
)
from tinkbox.model.errors import Conflict, Full, Invalid, NotFound, Unavailable
from tinkbox.model.images.deleted import Deleted
from tinkbox.model.images.needs import ImageNeed
from tinkbox.model.images.room import Amount
from tinkbox.registry.archives.oci_index import REF_NAME
from tinkbox.registry.archives.reading import Archive, unpack
from tinkbox.registry.blobs.room import Room
from tinkbox.registry.deletion import collection
from tinkbox.registry.manifests import manifests, parsed_manifests
from tinkbox.registry.manifests.manifests import DOCKER_MANIFEST, MAX_NESTING, OCI_INDEX, OCI_MANIFEST
from tinkbox.registry.manifests.repositories import Link


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
    pinned = [need(single, "y:v1", "one"), need(members[0], "x@z", "two"), need(single, "y", "three")]
    needing(registry, pinned)
    told = r"workflow W-one \(one of template T\), workflow W-three \(three of template T\) are not over and need y .*"
    for name in ("y:v1", f"y@{single}"):
        with pytest.raises(Conflict, match=told + "tinkbox workflow cancel one"):
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
    assert await registry.left() == set()


def need(digest: str, image: str, workflow: str = "") -> ImageNeed:
    """Of a workflow, or of the template T."""
    return ImageNeed(
        digest=digest,
        image=image,
        template="T",
        workflow_id=workflow,
        workflow=f"W-{workflow}" if workflow else "",
    )


def needing(registry: Registry, needs: list[ImageNeed]) -> None:
    async def asked() -> list[ImageNeed]:
        return needs

    registry.store._needs = asked


async def test_a_tag_beside_another_one_goes_unless_a_workflow_names_it(registry: Registry) -> None:
    digest = await registry.push_image("x", "v1")
    for tag in ("v2", "v3"):
        await registry.push_image("x", tag)
    needing(registry, [need(digest, "x:v1", "one")])
    (note,) = (await registry.store.delete("x:v2", who="anna")).notes
    assert note.text == "x:v2 was deleted, and the image stays as x:v1"
    with pytest.raises(Conflict, match="workflow W-one"):
        await registry.store.delete("x:v1", who="anna")
    needing(registry, [])
    assert len((await registry.store.delete("x:v1", who="anna")).notes) == 1
    assert await registry.store.delete("x:v3", who="anna") == Deleted(name="x:v3", notes=[])
    assert await registry.left() == set()


async def test_an_image_that_a_template_names_by_its_digest_stays(registry: Registry) -> None:
    digest = await registry.push_image("x", "v1")
    needing(registry, [need(digest, "x")])
    (note,) = (await registry.store.delete("x:v1", who="anna")).notes
    assert "the image stays: template T names it by its digest" in note.text
    await registry.left()
    assert (await registry.http.get(f"/v2/x/manifests/{digest}")).status == 200
    with pytest.raises(Conflict, match=r"template T needs x by its digest.*tinkbox template update"):
        await registry.store.delete(f"x@{digest}", who="anna")
    needing(registry, [])
    assert await registry.store.delete(f"x@{digest}", who="anna") == Deleted(name=f"x@{digest}", notes=[])
    assert await registry.left() == set()


async def test_another_name_of_the_same_bytes_goes_though_a_workflow_needs_them(registry: Registry) -> None:
    digest = await registry.push_image("a", "1")
    await registry.push_image("b", "1")
    await registry.push_image("b", "2", "other")
    needing(registry, [need(digest, "a:1", "one"), need(digest, "a")])
    assert not (await registry.store.delete("b:1", who="anna")).notes
    assert [f"{line['name']}:{line['tag']}" for line in await registry.store.images()] == ["a:1", "b:2"]
    with pytest.raises(Conflict, match=r"workflow W-one .* needs a "):
        await registry.store.delete("a:1", who="anna")
    await registry.push_image("b", "1")
    for image in (f"b:1@{digest}", f"}}}}/b@{digest}"):  # the second stands behind a placeholder
        needing(registry, [need(digest, image, "two")])
        with pytest.raises(Conflict, match=r"workflow W-two .* needs b "):
            await registry.store.delete(f"b@{digest}", who="anna")


@pytest.mark.parametrize(
    ("needed", "kept"), [("docker.io/tools/x:1", "tools/x"), ("alpine:1", "docker.io/library/alpine")]
)
async def test_the_image_that_answers_for_dockers_other_name_of_it_stays(
    registry: Registry, needed: str, kept: str
) -> None:
    digest = await registry.push_image(kept, "1")
    needing(registry, [need(digest, needed, "one")])
    with pytest.raises(Conflict, match=f"workflow W-one .* needs {kept} "):
        await registry.store.delete(f"{kept}:1", who="anna")


async def test_many_workflows_that_need_an_image_are_named_in_part(registry: Registry) -> None:
    digest = await registry.push_image("x", "v1")
    needing(registry, [need(digest, "x:v1", f"{number:08}") for number in range(9)])
    with pytest.raises(Conflict, match=r"W-00000004 \(00000004 of template T\) and 4 others are not over and need x"):
        await registry.store.delete("x:v1", who="anna")


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
        "problem": "",
    }
    assert (a["name"], a["tag"], a["pushed_at"]) == ("a", "latest", "2026-01-01T01:00:00+00:00")


async def test_an_image_whose_tag_moved_on_stays_until_it_is_deleted(registry: Registry) -> None:
    old = await registry.push_image("x", "v1", "old")
    new = await registry.push_image("x", "v1", "new")
    assert {(line["tag"], line["digest"]) for line in await registry.store.images()} == {("v1", new), ("", old)}
    await registry.store.delete(f"x@{old}", who="anna")
    assert [line["digest"] for line in await registry.store.images()] == [new]
    assert len(await registry.left()) == 3


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
    assert await registry.left() == set()


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
    assert len(await registry.left()) == 4
    assert (await registry.http.get("/v2/y/manifests/v1")).status == 200
    await registry.store.delete("y:v1", who="anna")
    assert await registry.left() == set()


async def test_deleting_one_of_two_tags_keeps_the_image(registry: Registry) -> None:
    digest = await registry.push_image("x", "latest")
    await registry.push_image("x", "v2")
    await registry.store.delete("x", who="anna")
    assert [(line["tag"], line["digest"]) for line in await registry.store.images()] == [("v2", digest)]
    await registry.store.delete(f"x@{digest}", who="anna")
    assert await registry.store.images() == []
    assert await registry.left() == set()


async def test_deleting_an_index_deletes_the_members_that_nothing_else_needs(registry: Registry) -> None:
    _, (kept, _) = await push_index(registry, "x", "all", "amd64", "arm64")
    body = await (await registry.http.get(f"/v2/x/manifests/{kept}")).read()
    assert (await registry.put_manifest("x", "amd64", body)).status == 201
    await registry.store.delete("x:all", who="anna")
    assert [(line["tag"], line["digest"]) for line in await registry.store.images()] == [("amd64", kept)]
    assert len(await registry.left()) == 3


async def test_a_member_of_an_index_outlives_its_own_tag(registry: Registry) -> None:
    _, (member, _) = await push_index(registry, "x", "all", "amd64", "arm64")
    body = await (await registry.http.get(f"/v2/x/manifests/{member}")).read()
    await registry.put_manifest("x", "amd64", body)
    await registry.store.delete("x:amd64", who="anna")
    assert (await registry.http.get(f"/v2/x/manifests/{member}")).status == 200


async def test_a_push_in_progress_keeps_its_blobs(registry: Registry) -> None:
    """Between a push's blobs and its manifest somebody deletes another image."""
    other = await registry.push_image("other", "v1", "other")
    fresh = await registry.push_blob(b"pushed a moment ago")
    registry.clock.advance(minutes=59)
    await registry.store.delete("other:v1", who="anna")
    await registry.store.collect(who="anna")
    assert fresh in registry.blobs()
    assert other not in registry.blobs()
    asked_for = await registry.http.head(f"/v2/x/blobs/{fresh}", headers=OPERATOR)  # "it is here, no need to send it"
    assert asked_for.status == 200
    registry.clock.advance(minutes=59)
    await registry.store.collect(who="anna")
    assert registry.blobs() == {fresh}
    # Who may not push keeps nothing.
    pulling = {"Authorization": "Bearer anonymous"}
    assert (await registry.http.head(f"/v2/x/blobs/{fresh}", headers=pulling)).status == 200
    registry.clock.advance(minutes=2)
    await registry.store.collect(who="anna")
    assert registry.blobs() == set()


@pytest.mark.parametrize("told", ["uploaded", "asked", "mounted", "not absent"])
async def test_what_a_client_was_told_of_outlives_another_push_that_ended_and_was_deleted(
    registry: Registry, told: str
) -> None:
    """Both push an image with the same layer.  The manifest of one does not end what the other was told."""
    content = layer({"hello.txt": b"hello"})
    await registry.push_image("x", "v1")
    registry.clock.advance(hours=2)
    if told == "uploaded":
        await registry.push_blob(content, "y")
    elif told == "asked":
        assert (await registry.http.head(f"/v2/y/blobs/{digest_of(content)}", headers=OPERATOR)).status == 200
    elif told == "not absent":
        assert await registry.store.absent([digest_of(content)]) == []
    else:
        mounted = await registry.operator.post(f"/v2/y/blobs/uploads/?mount={digest_of(content)}&from=x")
        assert mounted.status == 201
    config = configuration([content])
    await registry.push_blob(config)
    assert (await registry.put_manifest("x", "v2", manifest(config, [content]))).status == 201
    await registry.store.delete("x:v1", who="anna")
    for tag in [line["tag"] for line in await registry.store.images()]:
        await registry.store.delete(f"x:{tag}", who="anna")
    await registry.store.collect(who="anna")
    assert (await registry.put_manifest("y", "v1", manifest(config, [content]))).status == 201


async def test_what_a_client_was_told_of_outlives_a_restart(registry: Registry) -> None:
    fresh = await registry.push_blob(b"pushed a moment ago")
    async with serving(registry.root, registry.clock) as again:
        await again.store.collect(who="anna")
        assert again.blobs() == {fresh}
        assert await again.left() == set()


async def test_blobs_of_pushes_that_were_broken_off_are_collected(registry: Registry) -> None:
    image = await registry.push_image("x", "v1")
    kept = registry.blobs()
    orphans = [await registry.push_blob(bytes([number]) * 1000) for number in range(61)]
    looked = await registry.store.collect(who="anna", dry_run=True)
    assert looked.freed == Amount(number=0, octets=0)
    assert looked.promised.blobs == Amount(number=61, octets=61_000)
    (note,) = looked.notes
    until = registry.clock.now + timedelta(hours=1)
    assert note.text == (
        f"61 blobs of 59.6KiB, which no image needs, kept until {until:%H:%M} UTC for pushes that began within the hour: "
        "`tinkbox image gc --now` frees that, and they send it again"
    )
    registry.clock.advance(hours=1)
    looked = await registry.store.collect(who="anna", dry_run=True)
    assert looked.freed == Amount(number=61, octets=61_000)
    assert set(orphans) < registry.blobs()
    assert await registry.store.collect(who="anna") == looked
    assert registry.blobs() == kept
    assert image in kept
    assert registry.leftovers() == []
    assert await registry.store.collect(who="anna", dry_run=True) == await registry.store.collect(who="anna")


async def test_what_was_deleted_is_freed_at_once_where_a_person_asks_for_that(registry: Registry) -> None:
    kept = await registry.push_image("x", "v1")
    before = registry.blobs()
    await registry.push_image("y", "v1", "other")
    await registry.store.delete("y:v1", who="anna")
    assert (await registry.store.collect(who="anna")).freed.number == 0
    looked = await registry.store.collect(who="anna", dry_run=True, now=True)
    assert registry.blobs() > before
    freed = await registry.store.collect(who="anna", now=True)
    assert (freed.freed.number, freed.notes, looked) == (2, [], freed)
    assert registry.blobs() == before
    assert kept in before


async def test_a_push_in_progress_learns_that_its_blobs_are_gone(registry: Registry) -> None:
    content = layer({"hello.txt": b"hello"})
    config = configuration([content])
    for blob in (content, config):
        await registry.push_blob(blob, "x")
    await registry.store.collect(who="anna", now=True)
    answer = await registry.put_manifest("x", "v1", manifest(config, [content]))
    assert (answer.status, "MANIFEST_BLOB_UNKNOWN" in await answer.text()) == (404, True)
    await registry.push_image("x", "v1")


async def test_a_load_that_lacks_a_blob_which_is_freed_meanwhile_stores_nothing(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = layer({"hello.txt": b"hello"})
    digest = await registry.push_blob(content)
    config = configuration([content])
    image = manifest(config, [content])
    files = {f"blobs/sha256/{digest_of(each)[7:]}": each for each in (config, image)}
    top = {**descriptor(image, DOCKER_MANIFEST), "annotations": {REF_NAME: "x:v1"}}
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [top]}).encode()

    @asynccontextmanager
    async def freed_meanwhile(*arguments: Any) -> AsyncIterator[Archive]:
        async with unpack(*arguments) as found:
            await registry.store.collect(who="anna", now=True)
            yield found

    monkeypatch.setattr("tinkbox.registry.storage.unpack", freed_meanwhile)
    with pytest.raises(Unavailable, match=f"{digest} was freed meanwhile: load x:v1 again"):
        await registry.store.load(chunks(tar(files.items())), who="anna")
    assert await registry.store.images() == []


async def test_a_refusal_for_want_of_room_tells_what_can_be_freed(tmp_path: Path) -> None:
    async with serving(tmp_path, room=Room(most=50_000)) as full:
        await full.push_image("x", "v1", "a" * 30_000)
        await full.store.delete("x:v1", who="anna")
        with pytest.raises(AssertionError, match="`tinkbox image gc --now` frees 2 blobs of "):
            await full.push_image("y", "v1", "b" * 30_000)
        content = layer({"hello.txt": b"a" * 30_000})
        again = manifest(configuration([content]), [content])
        assert (await full.put_manifest("x", "v1", again)).status == 201
        with pytest.raises(AssertionError) as refused:
            await full.push_image("y", "v1", "b" * 30_000)
        assert "image gc --now" not in str(refused.value)
        await full.store.delete("x:v1", who="anna")
        await full.store.collect(who="anna", now=True)
        await full.push_image("y", "v1", "b" * 30_000)


async def broken_off(registry: Registry, octets: int, repository: str = "x") -> None:
    """Part of a push whose client is gone."""
    async with registry.operator.post(f"/v2/{repository}/blobs/uploads/") as begun:
        place = begun.headers["Location"]
    async with registry.operator.patch(place, data=io.BytesIO(b"x" * octets)) as answer:
        assert answer.status == 202


async def test_a_push_that_was_broken_off_leaves_its_room_to_what_comes(tmp_path: Path) -> None:
    async with serving(tmp_path, room=Room(most=100_000)) as small:
        await broken_off(small, 70_000)
        with pytest.raises(AssertionError, match=r"with 68.4KiB on their way in.*try again in 10 seconds"):
            await small.push_blob(b"b" * 40_000)
        small.clock.advance(seconds=10)
        await small.push_blob(b"b" * 40_000)
        assert small.leftovers() == []
        await small.store.collect(who="anna", now=True)

        await broken_off(small, 70_000)
        small.clock.advance(seconds=10)
        files = docker_archive(["loaded:v1"], [layer({"a": b"a" * 20_000})])
        assert await small.store.load(chunks(tar(files.items())), who="anna") == ["loaded:v1"]
        await small.store.delete("loaded:v1", who="anna")
        await small.store.collect(who="anna", now=True)

        await broken_off(small, 70_000)
        small.clock.advance(seconds=10)
        fetched = b"f" * 40_000
        await small.store.take_in(digest_of(fetched), len(fetched), chunks(fetched))
        assert (small.blobs(), small.leftovers()) == ({digest_of(fetched)}, [])


async def test_a_load_that_is_refused_tells_what_else_is_on_its_way(tmp_path: Path) -> None:
    """Its archive finds room, and not the layer in it."""
    async with serving(tmp_path, room=Room(most=50_000)) as small:
        files = docker_archive(["loaded:v1"], [layer({"a": b"a" * 20_000})])
        assert len(tar(files.items())) < 45_000
        told = (
            r"holds 0 bytes of 48.8KiB \(images.most\), and what comes has more than the 48.8KiB that are left: raise"
        )
        with pytest.raises(Full, match=told):
            await small.store.load(chunks(tar(files.items())), who="anna")
        await broken_off(small, 1024)
        with pytest.raises(Full, match="with 1KiB on their way in"):
            await small.store.load(chunks(tar(files.items())), who="anna")


async def test_uploads_that_were_left_alone_are_freed_where_a_person_asks_for_that(registry: Registry) -> None:
    await broken_off(registry, 60_000)
    fresh = await registry.store.collect(who="anna", now=True)
    assert (fresh.freed, fresh.notes) == (Amount(), [])
    registry.clock.advance(seconds=10)
    (note,) = (await registry.store.collect(who="anna")).notes
    assert note.text == (
        "1 blob of 58.6KiB, of uploads that wait or were broken off: what needs the room gets it, and "
        "`tinkbox image gc --now` frees it"
    )
    dry = await registry.store.collect(who="anna", dry_run=True, now=True)
    assert (dry.freed, dry.notes, len(registry.leftovers())) == (Amount(number=1, octets=60_000), [], 1)
    assert await registry.store.collect(who="anna", now=True) == dry
    assert registry.leftovers() == []


async def test_what_may_still_come_has_the_room_of_uploads_that_were_left_alone(tmp_path: Path) -> None:
    async with serving(tmp_path, room=Room(most=100_000)) as small:
        await broken_off(small, 60_000)
        assert (small.store.room().free, small.store.room().incoming) == (40_000, 60_000)
        small.clock.advance(seconds=10)
        assert (small.store.room().free, small.store.room().incoming) == (100_000, 60_000)


async def sign(registry: Registry, repository: str, subject: str) -> str:
    """A manifest without a tag that refers to another."""
    for blob in (b"{}", b"signature"):
        await registry.push_blob(blob, repository)
    document = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": descriptor(b"{}", "application/vnd.oci.empty.v1+json"),
        "layers": [descriptor(b"signature", "text/plain")],
        "subject": {"mediaType": DOCKER_MANIFEST, "digest": subject, "size": 1},
    }
    body = json.dumps(document).encode()
    assert (await registry.put_manifest(repository, digest_of(body), body, OCI_MANIFEST)).status == 201
    return digest_of(body)


async def test_images_without_a_tag_are_freed_where_a_person_asks_for_that(
    registry: Registry,
) -> None:
    """A tag moved on three times: of what it left a workflow needs one, and a signature another that has a tag."""
    first, second, third = [await registry.push_image("it/er", "dev", text) for text in ("1", "2", "3")]
    kept = await registry.push_image("it/er", "kept", "4")
    signature = await sign(registry, "it/er", kept)
    orphan = await sign(registry, "it/er", second)
    await registry.push_image("it/er", "dev", "5")
    needing(registry, [need(first, "it/er:dev", "one")])
    recent = await registry.store.collect(who="anna", untagged=True)
    assert (recent.images, recent.untagged.number) == (0, 3)
    assert "`tinkbox image gc --untagged --now`" in recent.notes[-1].text
    registry.clock.advance(hours=1)
    looked = await registry.store.collect(who="anna")
    assert looked.untagged.number == 3
    assert looked.notes[-1].text.endswith(
        "`tinkbox image gc --untagged` frees what no workflow and no template needs of that"
    )
    dry = await registry.store.collect(who="anna", dry_run=True, untagged=True)
    assert (dry.images, dry.freed.octets) == (3, looked.untagged.octets)
    freed = await registry.store.collect(who="anna", untagged=True)
    assert freed == dry
    digests = {each["digest"] for each in await registry.store.images()}
    assert {first, kept, signature} <= digests
    assert not {second, third, orphan} & (digests | registry.blobs())
    assert len(digests) == 4


async def test_many_blobs_are_collected_some_at_a_time(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two turns others store and delete images."""
    monkeypatch.setattr(collection, "AT_ONCE", 3)
    for number in range(10):
        await registry.push_blob(bytes([number]))
    registry.clock.advance(hours=1)
    turns = 0
    acquire = registry.store._turn.acquire

    async def counted() -> bool:
        nonlocal turns
        turns += 1
        return await acquire()

    monkeypatch.setattr(registry.store._turn, "acquire", counted)
    assert (await registry.store.collect(who="anna")).freed == Amount(number=10, octets=10)
    assert turns == 5, "the first tells which images have no tag"


async def test_a_deleted_image_is_freed_at_once_though_it_was_pulled(registry: Registry) -> None:
    await registry.push_image("x", "v1")
    registry.clock.advance(hours=1)
    for digest in registry.blobs():
        assert (await registry.http.get(f"/v2/x/blobs/{digest}")).status == 200
    await registry.store.delete("x:v1", who="anna")
    assert registry.blobs() == set()


async def test_a_damaged_manifest_keeps_what_it_refers_to_and_nothing_else(registry: Registry) -> None:
    """Its layers came before it.  After a restart that is all that is known of them."""
    digest = await registry.push_image("x", "v1", "precious")
    needed = registry.blobs() - {digest}
    for path in map(registry.blob_path, needed):
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 60))
    await registry.push_image("y", "v1", "other")
    for path in map(registry.blob_path, registry.blobs() - needed - {digest}):
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime + 60))
    registry.blob_path(digest).write_bytes(b"damaged")
    async with serving(registry.root, registry.clock) as again:
        registry.clock.advance(hours=1)
        await again.store.delete("y:v1", who="anna")
        collected = await again.store.collect(who="anna")
        assert again.blobs() == needed
        assert collected.unknown.number == len(needed)
        (note,) = collected.notes
        assert "a damaged image may need them" in note.text
        await again.store.delete("x:v1", who="anna")
        assert again.blobs() == set()


async def test_what_a_manifest_refers_to_is_known_when_it_is_damaged_later(registry: Registry) -> None:
    digest = await registry.push_image("x", "v1", "precious")
    needed = registry.blobs() - {digest}
    await registry.push_blob(b"nothing needs this")
    registry.blob_path(digest).write_bytes(b"damaged")
    assert (await registry.http.get("/v2/x/manifests/v1")).status == 503
    assert await registry.left() == needed


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
    assert await registry.left() == set()


async def test_a_loaded_image_can_be_pulled_and_deleted(registry: Registry) -> None:
    packed = tar(docker_archive(["x:v1"], [layer({"a": b"1"})]).items())
    assert await registry.store.load(chunks(packed), who="anna") == ["x:v1"]
    assert await registry.store.load(chunks(packed), who="anna") == ["x:v1"]
    (line,) = await registry.store.images()
    assert (await registry.http.get(f"/v2/x/manifests/{line['digest']}")).status == 200
    await registry.store.delete("x:v1", who="anna")
    assert await registry.left() == set()


@pytest.mark.parametrize("reference", ["x:v2", "y:v1", "quay.io/x:v1", "127.0.0.1:80/x:v1", f"x@sha256:{'a' * 64}"])
async def test_what_is_not_here_cannot_be_deleted(registry: Registry, reference: str) -> None:
    await registry.push_image("x", "v1")
    with pytest.raises(NotFound):
        await registry.store.delete(reference, who="anna")
    assert len(await registry.store.images()) == 1


async def test_a_name_that_is_none_is_refused(registry: Registry) -> None:
    with pytest.raises(Invalid):
        await registry.store.delete("../x", who="anna")


@pytest.mark.parametrize(
    ("kept", "typed"),
    [
        ("tools/y", "docker.io/tools/y"),
        ("docker.io/tools/y", "tools/y"),
        ("alpine", "docker.io/alpine"),
        ("docker.io/library/alpine", "alpine"),
    ],
)
async def test_dockers_other_name_of_an_image_that_is_not_here_is_told(
    registry: Registry, kept: str, typed: str
) -> None:
    await registry.push_image(kept, "v1")
    for refused in (registry.store.delete(f"{typed}:v1", who="anna"), registry.store.described(f"{typed}:v1")):
        with pytest.raises(NotFound, match=f"here: there is {kept}:v1, which Docker takes for the same"):
            await refused
    assert len(await registry.store.images()) == 1


async def test_a_name_that_looks_like_a_host_can_be_deleted_too(registry: Registry) -> None:
    await registry.push_image("my.tools/x", "v1")
    await registry.store.delete("my.tools/x:v1", who="anna")
    assert await registry.store.images() == []


async def test_what_nothing_needs_goes_by_itself(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """The part that runs for as long as the appliance does."""
    monkeypatch.setattr(collection, "EVERY", 0.001)
    image = await registry.push_image("x", "v1")
    kept = registry.blobs()
    await registry.push_blob(b"of a push that was broken off")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(registry.store.run())
        await asyncio.to_thread(lambda: None)
        assert len(registry.blobs()) == len(kept) + 1
        registry.clock.advance(hours=1)
        await until(lambda: registry.blobs() == kept)
        running.cancel()
    assert image in registry.blobs()


async def test_manifests_are_parsed_once(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    for tag in ("v1", "v2", "v3"):
        await registry.push_image("x", tag, tag)
    parsed = []
    async with serving(registry.root, registry.clock) as again:
        parse = parsed_manifests.parse_manifest
        monkeypatch.setattr(parsed_manifests, "parse_manifest", lambda *given: parsed.append(given) or parse(*given))
        for _ in range(3):
            assert len(await again.store.images()) == 3
        await again.push_image("x", "v4", "v4")
        await again.store.delete("x:v1", who="anna")
        assert len(await again.store.images()) == 3
        assert len(parsed) == 3


async def test_an_image_that_is_pushed_again_is_as_old_as_its_newest_tag(registry: Registry) -> None:
    digest = await registry.push_image("x", "v1")
    link = registry.root / "repositories" / "x" / "_manifests" / digest.removeprefix("sha256:")
    written = link.stat().st_ino
    registry.clock.advance(hours=1)
    await registry.push_image("x", "v2")
    assert [line["pushed_at"][11:13] for line in await registry.store.images()] == ["00", "01"]
    assert link.stat().st_ino == written
    async with serving(registry.root, registry.clock) as again:
        assert await again.store.images() == await registry.store.images()


async def test_spellings_that_an_earlier_release_kept_apart_become_one(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        new = await registry.push_image("docker.io/library/alpine", "both", "new")
        old = await registry.push_image("other", "both", "old")
        assert (await registry.operator.get("/v2/other/manifests/both")).status == 200
        body = (await registry.store.manifest("other", old)).content
        assert (await registry.put_manifest("other", "old", body)).status == 201
    (tmp_path / "repositories" / "other").rename(tmp_path / "repositories" / "docker.io" / "alpine")
    for _ in range(2):  # the second start finds it done
        async with serving(tmp_path) as registry:
            assert await registry.store.repositories() == ["docker.io/library/alpine"]
            assert registry.store.digest("docker.io/library/alpine", "both") == new
            assert registry.store.digest("docker.io/library/alpine", "old") == old
            assert (await registry.http.get("/v2/docker.io/alpine/manifests/old")).status == 200
    assert not (tmp_path / "repositories" / "docker.io" / "alpine").exists()


async def test_needs_and_refusals_name_an_image_as_a_person_types_it(registry: Registry) -> None:
    digest = await registry.push_image("lab.example_5000/w", "v1")
    store = registry.store
    needing(registry, [need(digest, "lab.example:5000/w:v1", "1")])
    with pytest.raises(Conflict, match=r"need.* lab\.example:5000/w "):
        await store.delete("lab.example_5000/w:v1", who="anna")
    with pytest.raises(NotFound, match=r"no image lab\.example:5000/w:v2 here"):
        await store.delete("lab.example_5000/w:v2", who="anna")
    assert [each["name"] for each in await store.images()] == ["lab.example:5000/w"]
