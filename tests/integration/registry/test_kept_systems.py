"""What the registry tells of the system images that it keeps."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.registry.serving import (
    RAW,
    Registry,
    chunks,
    configuration,
    descriptor,
    digest_of,
    docker_archive,
    layer,
    manifest,
    serving,
    system_image_archive,
    tar,
    unpacked,
)
from tinkbox.model.errors import Conflict, Invalid, Unavailable
from tinkbox.model.images.system_image import BlockMap, Frame, Verified
from tinkbox.registry.manifests.manifests import OCI_MANIFEST, parse_manifest
from tinkbox.wire.system_images import encode_block_map, index_text, manifest_text


async def test_each_system_image_tells_what_it_is(registry: Registry) -> None:
    await registry.store.load(chunks(system_image_archive("1", "latest")), who="me")
    await registry.store.load(chunks(system_image_archive("2", "latest")), who="me")
    first, second = await registry.store.system_images()
    assert (first["id"], first["tags"], second["tags"]) == ("lab", ["1"], ["2", "latest"])
    assert second["config"]["version"] == "2"
    assert second["config"]["source"]["verified"] == "sums"
    assert second["size"] > 0


async def test_container_images_are_not_among_them(registry: Registry) -> None:
    await registry.push_image("x", "1")
    assert await registry.store.system_images() == []


@pytest.mark.parametrize("config", [b"{}", b"none", b"[" * 1000, b" " * 70_000])
async def test_one_that_says_nothing_sensible_is_refused(registry: Registry, config: bytes) -> None:
    await registry.store.load(chunks(system_image_archive("1", "latest")), who="me")
    kept = await registry.store.system_images()
    with pytest.raises(Invalid, match=r"configuration|config\.v1"):
        await registry.store.load(chunks(system_image_archive("2", "latest", config=config)), who="me")
    assert await registry.store.system_images() == kept


async def test_default_user_that_can_be_none_is_refused_but_loses_nothing_that_is_kept(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    await registry.store.load(chunks(system_image_archive("1", "latest")), who="me")
    told = (await registry.store.system_images())[0]["config"]
    config = json.dumps({**told, "version": "2", "default_user": "DOMAIN\\admin"}).encode()
    archive = system_image_archive("2", "latest", config=config)
    with pytest.raises(Invalid) as refused:
        await registry.store.load(chunks(archive), who="me")
    assert [each.key for each in refused.value.problems] == ["default_user"]
    with monkeypatch.context() as earlier:
        earlier.setattr("tinkbox.registry.loading.fit_version", lambda *_: "2")
        await registry.store.load(chunks(archive), who="me")
    kept = (await registry.store.system_images())[1]
    assert (kept["tags"], kept["config"]["default_user"]) == (["2", "latest"], "")
    assert (await registry.store.system_image("lab:2"))["config"] == kept["config"]


@pytest.mark.parametrize(
    ("block_map", "problem"),
    [
        (BlockMap(raw=replace(RAW, size=8 << 20)), "different disks"),
        (BlockMap(raw=RAW, frames=(Frame(index=0, offset=0, length=99, digest="0" * 64),)), "behind its disk's end"),
    ],
)
async def test_one_whose_parts_contradict_each_other_is_refused(
    registry: Registry, block_map: BlockMap, problem: str
) -> None:
    archive = system_image_archive("1", block_map=encode_block_map(block_map))
    with pytest.raises(Invalid, match=problem):
        await registry.store.load(chunks(archive), who="me")
    assert await registry.store.images() == []


async def test_a_blob_that_is_larger_than_its_manifest_says_is_not_loaded(registry: Registry) -> None:
    large = b" " * 70_000
    lying = manifest_text(large, (digest_of(b""), 0), b"{}", {}).replace(b"70000", b"10000")
    files = {f"blobs/sha256/{digest_of(each)[7:]}": each for each in (large, b"", b"{}", lying)}
    index = index_text(lying, ("lab:1",))
    packed = tar([("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'), ("index.json", index), *files.items()])
    with pytest.raises(Invalid, match="has 70000 bytes, its manifest says 10000"):
        await registry.store.load(chunks(packed), who="me")
    assert await registry.store.images() == []


async def test_a_version_means_the_same_bytes_for_ever_and_latest_moves_on(registry: Registry) -> None:
    await registry.store.load(chunks(system_image_archive("1", "latest")), who="me")
    (first,) = await registry.store.system_images()
    await registry.store.load(chunks(system_image_archive("1", "latest")), who="me")
    with pytest.raises(Conflict, match="tinkbox image delete lab:1"):
        await registry.store.load(chunks(system_image_archive("1", "latest", disk=b"2")), who="me")
    other = json.dumps({**json.loads((await registry.store.manifest("lab", "1")).content), "annotations": {"a": "b"}})
    with pytest.raises(Conflict, match="lab:1 is here already with another digest"):
        await registry.store.put_manifest("lab", "1", other.encode(), OCI_MANIFEST, who="me")
    assert await registry.store.system_images() == [first]
    await registry.store.load(chunks(system_image_archive("2", "latest")), who="me")
    assert [each["tags"] for each in await registry.store.system_images()] == [["1"], ["2", "latest"]]
    await registry.store.delete("lab:1", who="me")
    await registry.store.load(chunks(system_image_archive("1")), who="me")


async def test_same_disk_that_was_proven_in_another_way_is_left_as_it_is(registry: Registry) -> None:
    await registry.store.load(chunks(system_image_archive("1", "latest")), who="me")
    kept = await registry.store.system_images()
    names = await registry.store.load(chunks(system_image_archive("1", "latest", verified=Verified.TYPED)), who="me")
    assert names == ["lab:1", "lab:latest"]
    assert await registry.store.system_images() == kept


async def test_a_signature_of_a_version_that_is_kept_is_taken(registry: Registry) -> None:
    plain = system_image_archive("1", "latest")
    await registry.store.load(chunks(plain), who="me")
    kept = await registry.store.system_images()
    files = unpacked(plain)
    described = {"mediaType": OCI_MANIFEST, "digest": kept[0]["digest"], "size": 1}
    config = descriptor(b"{}", "application/vnd.oci.empty.v1+json")
    signature = json.dumps(
        {"schemaVersion": 2, "artifactType": "a/b", "config": config, "layers": [config], "subject": described}
    ).encode()
    index = json.loads(files["index.json"])
    index["manifests"].append(descriptor(signature, OCI_MANIFEST))
    files["index.json"] = json.dumps(index).encode()
    files |= {f"blobs/sha256/{digest_of(each)[7:]}": each for each in (b"{}", signature)}
    registry.clock.advance(hours=1)
    await registry.store.load(chunks(tar(files.items())), who="me")
    assert [each["digest"] for each in await registry.store.referring("lab:1")] == [digest_of(signature)]
    assert await registry.store.system_images() == kept


async def test_the_version_is_a_tag_whatever_tag_the_image_comes_with(registry: Registry) -> None:
    files = unpacked(system_image_archive("1"))
    alone = tar({**files, "index.json": files["index.json"].replace(b"lab:1", b"lab:latest")}.items())
    assert await registry.store.load(chunks(alone), who="me") == ["lab:latest", "lab:1"]
    kept = await registry.store.manifest("lab", "1")
    await registry.store.delete("lab", who="me")
    assert await registry.store.images() == []
    for digest in parse_manifest(kept.content).digests:
        await registry.push_blob(files[f"blobs/sha256/{digest[7:]}"], "lab")
    await registry.store.put_manifest("lab", kept.digest, kept.content, OCI_MANIFEST, who="me")
    assert await registry.store.tags("lab") == []
    await registry.store.put_manifest("lab", "latest", kept.content, OCI_MANIFEST, who="me")
    assert await registry.store.tags("lab") == ["1", "latest"]


@pytest.mark.parametrize("name", ["lab", "lab:2"])
async def test_deleted_image_goes_with_all_its_names(registry: Registry, name: str) -> None:
    for version in ("1", "2"):
        await registry.store.load(chunks(system_image_archive(version, "latest")), who="me")
    assert (await registry.store.delete(name, who="me")).name == "lab:2", "the version is told, whatever was typed"
    assert [each["tags"] for each in await registry.store.system_images()] == [["1", "latest"]]
    await registry.store.delete(name.replace("2", "1"), who="me")
    assert await registry.store.system_images() == []


async def test_latest_is_what_came_last_whatever_its_version(registry: Registry) -> None:
    for version in ("20261129", "20261129.1", "20200101"):
        await registry.store.load(chunks(system_image_archive(version, "latest")), who="me")
        registry.clock.advance(hours=1)
    digest = (await registry.store.system_images())[0]["digest"]
    assert (await registry.store.delete("lab", who="me")).name == "lab:20200101"
    assert [each["tags"] for each in await registry.store.system_images()] == [["20261129"], ["20261129.1", "latest"]]
    assert (await registry.store.delete(f"lab@{digest}", who="me")).name == "lab:20261129"


async def test_a_version_that_comes_alone_is_latest_where_there_is_none(registry: Registry) -> None:
    assert await registry.store.load(chunks(system_image_archive("2")), who="me") == ["lab:2", "lab:latest"]
    kept = await registry.store.manifest("lab", "2")
    await registry.store.load(chunks(system_image_archive("3")), who="me")
    assert [each["tags"] for each in await registry.store.system_images()] == [["2", "latest"], ["3"]]
    await registry.store.delete("lab:3", who="me")
    await registry.store.delete("lab:2", who="me")
    files = unpacked(system_image_archive("2"))
    for digest in parse_manifest(kept.content).digests:
        await registry.push_blob(files[f"blobs/sha256/{digest[7:]}"], "lab")
    await registry.store.put_manifest("lab", "2", kept.content, OCI_MANIFEST, who="me")
    assert (await registry.store.system_image("lab"))["tags"] == ["2", "latest"]


async def test_system_image_does_not_take_the_name_of_a_container_image(registry: Registry) -> None:
    await registry.push_image("lab", "v1")
    kept, blobs = await registry.store.images(), registry.blobs()
    with pytest.raises(Conflict, match=r"lab has a container image \(lab:v1\), and this is a system image"):
        await registry.store.load(chunks(system_image_archive("v1")), who="me")
    with pytest.raises(Conflict, match="tinkbox image delete lab:v1"):
        await registry.store.load(chunks(system_image_archive("1", "latest")), who="me")
    assert (await registry.store.images(), registry.blobs()) == (kept, blobs)


@pytest.mark.parametrize("tag", ["latest", "1", "other"])
async def test_container_image_does_not_take_the_name_of_a_system_image(registry: Registry, tag: str) -> None:
    await registry.store.load(chunks(system_image_archive("1", "latest")), who="me")
    kept = await registry.store.images()
    content = layer({"hello.txt": b"hello"})
    for blob in (content, configuration([content])):
        await registry.push_blob(blob, "lab")
    body = manifest(configuration([content]), [content])
    for selector in (tag, digest_of(body)):
        answer = await registry.put_manifest("lab", selector, body)
        assert (answer.status, "lab has a system image" in await answer.text()) == (403, True)
    with pytest.raises(Conflict, match="lab has a system image"):
        await registry.store.load(chunks(tar(docker_archive([f"lab:{tag}"], [content]).items())), who="me")
    assert await registry.store.images() == kept


async def test_a_signature_lies_beside_the_system_image_that_it_is_of(registry: Registry) -> None:
    await registry.store.load(chunks(system_image_archive("1", "latest")), who="me")
    kept = await registry.store.manifest("lab", "1")
    empty = b"{}"
    await registry.push_blob(empty, "lab")
    nothing = descriptor(empty, "application/vnd.oci.empty.v1+json")
    body = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "artifactType": "application/vnd.example.signature",
            "config": nothing,
            "layers": [nothing],
            "subject": descriptor(kept.content, OCI_MANIFEST),
        }
    ).encode()
    answer = await registry.put_manifest("lab", digest_of(body), body, OCI_MANIFEST)
    assert answer.status == 201, await answer.text()


async def test_archive_with_both_kinds_under_one_name_is_refused(registry: Registry) -> None:
    content = layer({"hello.txt": b"hello"})
    config = configuration([content])
    body = json.dumps({**json.loads(manifest(config, [content])), "mediaType": OCI_MANIFEST}).encode()
    files = unpacked(system_image_archive("1"))
    index = json.loads(files["index.json"])
    named = {"org.opencontainers.image.ref.name": "lab:v1"}
    index["manifests"].append({**descriptor(body, OCI_MANIFEST), "annotations": named})
    files |= {f"blobs/sha256/{digest_of(each)[7:]}": each for each in (content, config, body)}
    with pytest.raises(Conflict, match=r"lab has a system image \(lab:1\), and this is a container image"):
        await registry.store.load(chunks(tar({**files, "index.json": json.dumps(index).encode()}.items())), who="me")
    assert await registry.store.images() == []


@pytest.mark.parametrize("archive", [system_image_archive("1", "2"), system_image_archive("1", name="debian-13")])
async def test_system_image_under_another_name_than_its_own_is_refused(registry: Registry, archive: bytes) -> None:
    with pytest.raises(
        Invalid, match=r"system image (lab:2|debian-13:1) says of itself that it is lab:1: it was renamed"
    ):
        await registry.store.load(chunks(archive), who="me")
    assert await registry.store.images() == []


async def test_system_image_is_not_pushed_under_another_name_than_its_own(registry: Registry) -> None:
    await registry.store.load(chunks(system_image_archive("1", "latest")), who="me")
    kept = await registry.store.manifest("lab", "1")
    for repository, selector in (("lab", "2"), ("debian-13", "1"), ("debian-13", kept.digest)):
        with pytest.raises(Invalid, match="says of itself that it is lab:1"):
            await registry.store.put_manifest(repository, selector, kept.content, OCI_MANIFEST, who="me")
    for selector in ("latest", kept.digest):
        await registry.store.put_manifest("lab", selector, kept.content, OCI_MANIFEST, who="me")


def drop(registry: Registry, digest: str) -> None:
    registry.blob_path(digest).unlink()


def blobs_of(registry: Registry, version: str) -> tuple[str, list[str]]:
    """The digests of a system image and of its blobs."""
    digest = registry.store.digest("lab", version)
    parsed = parse_manifest(registry.blob_path(digest).read_bytes(), OCI_MANIFEST)
    return digest, [each.digest for each in parsed.blobs]


async def lines(registry: Registry) -> dict[str, tuple[str, bool]]:
    """By tag, the kind of an image of lab, and whether it is damaged."""
    return {each["tag"]: (each["kind"], bool(each["problem"])) for each in await registry.store.images()}


CONTAINER = tar(docker_archive(["lab:x"], [layer({"a": b"a"})]).items())


async def test_one_whose_configuration_is_lost_stays_a_system_image(registry: Registry) -> None:
    await registry.store.load(chunks(system_image_archive("2")), who="me")
    drop(registry, blobs_of(registry, "2")[1][0])
    assert await lines(registry) == {"2": ("system", True), "latest": ("system", True)}
    told = "lab:2 cannot be read: damaged since 2026-01-01 00:00 UTC, 1 of its blobs is gone, changed or "
    with pytest.raises(Unavailable, match=told):
        await registry.store.system_image("lab:2")
    await registry.store.load(chunks(system_image_archive("2")), who="me")
    assert (await registry.store.system_image("lab:2"))["problem"] == ""


async def test_one_whose_disk_is_lost_tells_it(registry: Registry) -> None:
    await registry.store.load(chunks(system_image_archive("2")), who="me")
    drop(registry, blobs_of(registry, "2")[1][1])
    told = "damaged, 1 of its blobs is gone: push or load it again"
    assert (await registry.store.system_image("lab:2"))["problem"] == told
    assert [each["problem"] for each in await registry.store.system_images()] == [told]


@pytest.mark.parametrize(
    ("known_by", "kind"), [("memory", "system"), ("another version", "system"), ("nothing", "unknown")]
)
async def test_what_a_lost_manifest_was_is_kept_free_for_it(tmp_path: Path, known_by: str, kind: str) -> None:
    """Nothing of another kind takes its repository meanwhile, and the same image heals it."""
    async with serving(tmp_path) as registry:
        if known_by == "another version":
            await registry.store.load(chunks(system_image_archive("1")), who="me")
        await registry.store.load(chunks(system_image_archive("2", "latest")), who="me")
        drop(registry, blobs_of(registry, "2")[0])
        if known_by == "memory":
            await refuse_container_and_heal(registry, kind)
    if known_by != "memory":
        async with serving(tmp_path) as registry:
            await refuse_container_and_heal(registry, kind)


async def refuse_container_and_heal(registry: Registry, kind: str) -> None:
    found = await lines(registry)
    assert (found["2"], found["latest"]) == ((kind, True), (kind, True))
    unknown = kind == "unknown"
    told = (
        "it is not known whether it is a system image: its" if unknown else "the system image lab:2 cannot be read: its"
    )
    with pytest.raises(Unavailable, match=f"{told} manifest is damaged: push or load it again"):
        await registry.store.system_image("lab:2")
    told = r"lab:latest is damaged, and its kind is not known" if unknown else r"lab has a system image \(lab:"
    with pytest.raises(Conflict, match=told):
        await registry.store.load(chunks(CONTAINER), who="me")
    content = layer({"a": b"a"})
    for blob in (content, configuration([content])):
        await registry.push_blob(blob)
    body = manifest(configuration([content]), [content])
    pushed = await registry.put_manifest("lab", "x", body)
    assert (pushed.status, "lab" in (await registry.store.repositories())) == (403, True)
    await registry.store.load(chunks(system_image_archive("2", "latest")), who="me")
    assert (await registry.store.system_image("lab:2"))["problem"] == ""
    assert {*(await lines(registry)).values()} == {("system", False)}
    with pytest.raises(Conflict, match="lab has a system image"):
        await registry.store.load(chunks(CONTAINER), who="me")


async def test_a_lost_container_image_leaves_its_repository_to_container_images(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        for name in ("lab", "tools/lab", "alone"):
            digest = await registry.push_image(name, "1")
        await registry.push_image("lab", "2", "another")
        drop(registry, digest)
    async with serving(tmp_path) as registry:
        kinds = {f"{each['name']}:{each['tag']}": each["kind"] for each in await registry.store.images()}
        assert kinds == {
            "lab:1": "container",
            "lab:2": "container",
            "tools/lab:1": "container",  # no system image is called so
            "alone:1": "unknown",
        }
        for name in ("lab", "tools/lab"):
            await registry.push_image(name, "3", "new")
        with pytest.raises(Conflict, match="alone:1 is damaged, and its kind is not known"):
            await registry.store.load(chunks(tar(docker_archive(["alone:2"], [layer({})]).items())), who="me")
        await registry.store.delete("alone:1", who="me")
        await registry.push_image("alone", "2", "new")


async def test_a_damaged_tag_is_of_the_kind_of_its_repository(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        await registry.store.load(chunks(system_image_archive("2", "latest")), who="me")
    (registry.root / "repositories" / "lab" / "_tags" / "latest").write_bytes(b"")
    async with serving(tmp_path) as registry:
        assert await lines(registry) == {"2": ("system", False), "latest": ("system", True)}


async def test_one_whose_manifest_is_lost_is_deleted_with_all_its_names(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        await registry.store.load(chunks(system_image_archive("1")), who="me")
        await registry.store.load(chunks(system_image_archive("2", "latest")), who="me")
        drop(registry, blobs_of(registry, "2")[0])
    async with serving(tmp_path) as registry:
        assert (await registry.store.delete("lab", who="me")).name == "lab:2"
        assert await lines(registry) == {"1": ("system", False), "latest": ("system", False)}
