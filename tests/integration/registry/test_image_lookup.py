"""What the appliance knows of an image before a machine pulls it, and that a pull finds it so."""

import json
from pathlib import Path

from tests.integration.registry.serving import (
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
)
from tinkbox.model.images.mirrors import Mirror
from tinkbox.model.images.references import Sources, parse_reference
from tinkbox.model.images.standing import ImageStanding, Source, WantedImage
from tinkbox.registry.image_lookup import ImageLookup
from tinkbox.registry.manifests.manifests import OCI_INDEX, OCI_MANIFEST

OURS = "172.30.0.1"
NOWHERE = f"sha256:{'0' * 64}"
DAMAGED = "damaged, 1 of its blobs is gone: push or load it again"
HUB = {"docker.io": Mirror(url="http://127.0.0.1:9")}


def lookup(registry: Registry, *, offline: bool = False) -> ImageLookup:
    return ImageLookup(registry.store, registry.upstreams, lambda host: host == OURS, offline=offline)


def standing(registry: Registry, name: str, *, offline: bool = False, system: bool = False) -> ImageStanding:
    return lookup(registry, offline=offline).standing(WantedImage(name, system=system))


def source(registry: Registry, name: str, *, offline: bool = False) -> Source:
    return standing(registry, name, offline=offline).source


async def pulled(registry: Registry, name: str) -> int:
    """The status that a machine gets which asks the appliance for an image."""
    ours = Sources.of(parse_reference(name), OURS, appliance_only=True).names[0]
    async with registry.http.get(f"/v2/{ours.repository}/manifests/{ours.selector}") as answer:
        await answer.read()
        return answer.status


async def test_a_digest_that_nothing_has_is_missing(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        kept = await registry.push_image("tools/wipe")
        assert source(registry, f"nowhere/at/all@{NOWHERE}") is Source.NOBODY
        assert source(registry, f"{OURS}/tools/wipe:v1@{NOWHERE}") is Source.NOBODY
        assert source(registry, f"quay.io/x:v1@{NOWHERE}", offline=True) is Source.NOBODY
        assert source(registry, f"tools/wipe@{kept}") is Source.APPLIANCE
        assert source(registry, f"{OURS}/tools/wipe@{kept}") is Source.APPLIANCE
        assert standing(registry, f"quay.io/x:v1@{NOWHERE}") == ImageStanding(source=Source.HOST, host="quay.io")


async def test_a_digest_of_another_repository_is_missing_and_its_name_is_told(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        digest = await registry.push_image("tools/wipe")
        name = f"other/wipe:v1@{digest}"
        assert standing(registry, name) == ImageStanding(source=Source.NOBODY, same_as="tools/wipe:v1")
        assert await pulled(registry, name) == 404
        await registry.push_image("tools/wipe", "v1", "another")
        assert standing(registry, name).same_as == f"tools/wipe@{digest}"


async def test_what_the_list_says_is_damaged_is_known(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        await registry.push_image("tools/wipe")
        registry.blob_path(digest_of(layer({"hello.txt": b"hello"}))).unlink()
        (listed,) = await registry.store.images()
        assert standing(registry, "tools/wipe:v1") == ImageStanding(source=Source.APPLIANCE, damage=DAMAGED)
        assert listed["problem"] == DAMAGED
        digest = await registry.push_image("tools/other", text="other")
        registry.blob_path(digest).unlink()
        damage = standing(registry, "tools/other:v1").damage
        assert damage in [each["problem"] for each in await registry.store.images()]
        assert "manifest is damaged" in damage
    (tmp_path / "repositories" / "tools" / "other" / "_tags" / "v1").write_bytes(b"")
    async with serving(tmp_path) as registry:
        damage = standing(registry, "tools/other:v1").damage
        assert damage in [each["problem"] for each in await registry.store.images()]
        assert "the tag is damaged" in damage


async def test_damage_of_an_image_in_an_index_is_known(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        content = layer({"a": b"a"})
        config = configuration([content])
        for blob in (content, config):
            await registry.push_blob(blob)
        image = manifest(config, [content])
        await registry.put_manifest("x", digest_of(image), image)
        index = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [descriptor(image, OCI_MANIFEST)]}
        await registry.put_manifest("x", "v1", json.dumps(index).encode(), OCI_INDEX)
        assert standing(registry, "x:v1").damage == ""
        registry.blob_path(digest_of(content)).unlink()
        assert standing(registry, "x:v1").damage == DAMAGED


async def test_a_mirror_has_what_is_lacking_of_its_images(tmp_path: Path) -> None:
    async with serving(tmp_path, mirrors=HUB) as registry:
        await registry.push_image("docker.io/library/alpine", "3")
        registry.blob_path(digest_of(layer({"hello.txt": b"hello"}))).unlink()
        assert standing(registry, "alpine:3") == ImageStanding(source=Source.APPLIANCE)
        asked = ImageStanding(source=Source.MIRROR, host="docker.io")
        for name in ("hello-wrold", "docker.io/tools/wipe:v1", f"docker.io/alpine@{NOWHERE}"):
            assert standing(registry, name) == asked, name
        assert source(registry, "tools/wipe:v1") is Source.NOBODY


async def load(registry: Registry, *names: str) -> None:
    archive = tar(docker_archive(list(names), [layer({"eraser": b"e"})]).items())
    await registry.store.load(chunks(archive), who="anna")


async def test_what_docker_saves_of_docker_hub_is_found_by_its_whole_name(tmp_path: Path) -> None:
    # Docker leaves docker.io, and library, out of the archive of `docker save docker.io/tools/eraser:v1`.
    async with serving(tmp_path) as registry:
        await load(registry, "tools/eraser:v1", "alpine:3")
        digest = registry.store.digest("tools/eraser", "v1")
        for name in ("docker.io/tools/eraser:v1", "index.docker.io/alpine:3", "docker.io/library/alpine:3"):
            assert source(registry, name) is Source.APPLIANCE, name
            assert lookup(registry).digest(name) == digest
            assert await pulled(registry, name) == 200
            assert await pulled(registry, f"{name}@{digest}") == 200
        for name in ("docker.io/tools/eraser:v2", "docker.io/library/tools/eraser:v1", "quay.io/tools/eraser:v1"):
            assert source(registry, name, offline=True) is Source.NOBODY, name
            assert await pulled(registry, name) == 404


async def test_an_image_under_the_whole_name_comes_before_the_one_under_the_short_name(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        await load(registry, "tools/eraser:v1")
        digest = await registry.push_image("docker.io/tools/eraser")
        assert lookup(registry).digest("docker.io/tools/eraser:v1") == digest


async def test_where_a_mirror_has_docker_hub_the_short_name_is_the_appliances_own(tmp_path: Path) -> None:
    async with serving(tmp_path, mirrors=HUB) as registry:
        await load(registry, "tools/eraser:v1")
        assert source(registry, "docker.io/tools/eraser:v1") is Source.MIRROR
        assert source(registry, "tools/eraser:v1") is Source.APPLIANCE


async def test_a_system_image_is_known_by_name_version_and_digest(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        await registry.store.load(chunks(system_image_archive("1", "latest")), who="anna")
        await registry.push_image("tools/wipe")
        digest = registry.store.digest("lab", "latest")

        def known(name: str) -> Source:
            return standing(registry, name, system=True).source

        for name in ("lab", "lab:1", f"lab@{digest}"):
            assert known(name) is Source.APPLIANCE, name
        for name in ("nope-1", "lab:2", f"lab@{NOWHERE}", "tools/wipe:v1", "quay.io/lab", "No Name"):
            assert known(name) is Source.NOBODY, name
