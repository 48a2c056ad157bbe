"""A file that changed on the disk though its times did not: it counts as whole until it is hashed again."""

import json
from pathlib import Path

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import make_mocked_request

from tests.integration.cli.carried_images import index_layout
from tests.integration.registry.serving import (
    Registry,
    chunks,
    configuration,
    digest_of,
    docker_archive,
    layer,
    manifest,
    tar,
)
from tinkbox.door.answers.blob_answers import wants_anew
from tinkbox.registry.blobs.verified import Verified

NO_CACHE = {"Cache-Control": "no-cache"}
LAYER = layer({"program": b"x" * 5000})


def rot(registry: Registry, digest: str) -> None:
    path = registry.blob_path(digest)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    registry.store._blobs._verified.note(digest, path)  # nothing tells that it changed
    registry.clock.advance(minutes=2)


async def problem(registry: Registry) -> str:
    return (await registry.store.images())[0]["problem"]


async def rotten_layer(registry: Registry) -> str:
    config = configuration([LAYER])
    for content in (LAYER, config):
        await registry.push_blob(content)
    assert (await registry.put_manifest("hello", "v1", manifest(config, [LAYER]))).status == 201
    rot(registry, digest_of(LAYER))
    return digest_of(LAYER)


async def asked(http: ClientSession, digest: str, headers: dict[str, str]) -> tuple[int, bytes]:
    async with http.get(f"/v2/hello/blobs/{digest}", headers=headers) as answer:
        return answer.status, await answer.read()


@pytest.mark.parametrize("who", ["http", "operator"])
async def test_a_client_that_takes_no_blob_of_a_cache_has_it_hashed_and_marked_where_it_is_damaged(
    registry: Registry, who: str
) -> None:
    digest, http = await rotten_layer(registry), getattr(registry, who)
    status, content = await asked(http, digest, {})
    assert (status, content == LAYER, await problem(registry)) == (200, False, "")
    status, content = await asked(http, digest, {**NO_CACHE, "Range": "bytes=0-9"})
    assert (status, b"is damaged on the disk: push or load its image again" in content) == (503, True)
    assert "damaged since" in await problem(registry)
    assert (await asked(http, digest, {}))[0] == 404
    await registry.push_blob(LAYER)
    assert await asked(http, digest, NO_CACHE) == (200, LAYER)
    assert await problem(registry) == ""


async def test_a_blob_that_was_hashed_just_now_is_not_hashed_anew_for_anybody_who_asks(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = await rotten_layer(registry)
    await registry.push_blob(LAYER)
    hashed: list[str] = []
    check = Verified.check_here

    def counted(verified: Verified, asked: str, path: Path) -> bool:
        hashed.append(asked)
        return check(verified, asked, path)

    monkeypatch.setattr(Verified, "check_here", counted)
    for _ in range(3):
        assert await asked(registry.http, digest, NO_CACHE) == (200, LAYER)
    assert hashed == []
    registry.clock.advance(minutes=2)
    for _ in range(3):
        assert await asked(registry.http, digest, NO_CACHE) == (200, LAYER)
    assert hashed == [digest]


async def test_a_push_that_asks_for_a_blob_anew_sends_a_damaged_one_again(registry: Registry) -> None:
    digest = await rotten_layer(registry)
    assert (await registry.operator.head(f"/v2/hello/blobs/{digest}")).status == 200
    assert (await registry.operator.head(f"/v2/hello/blobs/{digest}", headers=NO_CACHE)).status == 404
    assert (await registry.operator.head(f"/v2/hello/blobs/{digest}")).status == 404


@pytest.mark.parametrize("way", ["push", "load"])
async def test_bytes_that_come_take_the_place_of_those_that_are_here(registry: Registry, way: str) -> None:
    digest = await rotten_layer(registry)
    octets = registry.store.room().blobs
    if way == "push":
        await registry.push_blob(LAYER)
    else:  # two images share it
        archive = tar(docker_archive(["hello:v1", "hello:v2"], [LAYER]).items())
        await registry.store.load(chunks(archive), who="anna")
    assert registry.blob_path(digest).read_bytes() == LAYER
    assert registry.store.room().blobs.octets >= octets.octets
    assert registry.leftovers() == []


async def test_a_manifest_that_changed_on_the_disk_is_not_served_and_is_healed_by_a_push(registry: Registry) -> None:
    config = configuration([LAYER])
    body = manifest(config, [LAYER])
    await rotten_layer(registry)
    rot(registry, digest_of(body))
    assert (await registry.http.get("/v2/hello/manifests/v1")).status == 503
    assert (await registry.put_manifest("hello", "v1", body)).status == 201
    rot(registry, digest_of(body))
    assert (await registry.put_manifest("hello", "v1", body)).status == 201
    assert await (await registry.http.get("/v2/hello/manifests/v1")).read() == body


async def test_manifests_that_changed_on_the_disk_are_replaced_by_those_of_an_archive(registry: Registry) -> None:
    archive = index_layout("hello:v1", "amd64", "arm64")
    await registry.store.load(chunks(archive), who="anna")
    index = await registry.store.manifest("hello", "v1")
    members = [each["digest"] for each in json.loads(index.content)["manifests"]]
    for digest in (index.digest, *members):
        rot(registry, digest)
    await registry.store.load(chunks(archive), who="anna")
    for digest in (index.digest, *members):
        assert digest_of(registry.blob_path(digest).read_bytes()) == digest


@pytest.mark.parametrize(
    ("value", "anew"),
    [
        ("no-cache", True),
        ("max-age=0, No-Cache", True),
        ("no-cache ,no-transform", True),
        ("no-store", False),
        ("", False),
        ('no-cache="x"', False),
    ],
)
def test_no_cache_is_found_among_the_directives(value: str, anew: bool) -> None:
    assert wants_anew(make_mocked_request("GET", "/", headers={"cache-control": value})) is anew
    assert not wants_anew(make_mocked_request("GET", "/"))
