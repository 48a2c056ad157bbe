"""Archives and folders of images that others read: Docker, and skopeo; and theirs that we read."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.docker_engine import HEARD, DockerEngine
from tests.integration.registry.serving import (
    Registry,
    chunks,
    configuration,
    descriptor,
    digest_of,
    layer,
    manifest,
    run,
)
from tinkbox.registry.archives.layout_folders import LayoutFolder
from tinkbox.registry.archives.writing import Saved, archive_of
from tinkbox.registry.manifests.image_trees import ImageTree, tree_of
from tinkbox.registry.manifests.manifests import (
    DOCKER_CONFIG,
    DOCKER_LAYER,
    DOCKER_LAYER_GZIP,
    DOCKER_MANIFEST,
    OCI_INDEX,
    OCI_MANIFEST,
    Descriptor,
)

BUSYBOX = Path("/bin/busybox")


async def tree(registry: Registry, name: str) -> ImageTree:
    found = await registry.store.described(name)
    top = Descriptor(digest=found["digest"], size=found["size"], media_type=found["media_type"], annotations={})

    async def read(listed: Descriptor) -> bytes:
        return (await registry.store.blob(listed.digest)).read_bytes()

    return await tree_of(top, read)


def content_of(registry: Registry):
    async def content(digest: str, start: int = 0) -> AsyncIterator[bytes]:
        yield (await registry.store.blob(digest)).read_bytes()[start:]

    return content


async def saved(registry: Registry, path: Path, *names: str) -> Path:
    images = [Saved(name=name, tree=await tree(registry, name)) for name in names]
    path.write_bytes(b"".join([piece async for piece in archive_of(images, content_of(registry))]))
    return path


OCI = {
    DOCKER_MANIFEST: OCI_MANIFEST,
    DOCKER_CONFIG: "application/vnd.oci.image.config.v1+json",
    DOCKER_LAYER_GZIP: "application/vnd.oci.image.layer.v1.tar+gzip",
    DOCKER_LAYER: "application/vnd.oci.image.layer.v1.tar",
}


async def push_runnable(registry: Registry, name: str, *, packed: bool, oci: bool = False) -> str:
    """A small program with its shell, in Docker's media types or OCI's; returns the digest of the image."""
    repository, _, tag = name.rpartition(":")
    content = layer({"bin/busybox": BUSYBOX.read_bytes()})
    content = gzip.compress(content, 1) if packed else content
    document = json.loads(configuration([content]))
    document["config"]["Cmd"] = ["/bin/busybox", "sh", "-c", f"echo it runs; {HEARD}"]
    config = json.dumps(document).encode()
    for blob in (content, config):
        await registry.push_blob(blob, repository)
    body = manifest(config, [content])
    if packed:
        body = body.replace(b"diff.tar", b"diff.tar.gzip")
    for docker, ours in OCI.items() if oci else ():
        body = body.replace(docker.encode() + b'"', ours.encode() + b'"')
    answer = await registry.put_manifest(repository, tag, body, OCI_MANIFEST if oci else DOCKER_MANIFEST)
    assert answer.status == 201, await answer.text()
    return digest_of(body)


async def push_index(registry: Registry, name: str, *members: str) -> str:
    """An index of images that are here, the first of another platform than the second."""
    repository, _, tag = name.rpartition(":")
    entries = []
    for digest, architecture in zip(members, ("arm64", "amd64"), strict=False):
        content = (await registry.store.blob(digest)).read_bytes()
        media_type = json.loads(content)["mediaType"]
        assert (await registry.put_manifest(repository, digest, content, media_type)).status == 201
        platform = {"os": "linux", "architecture": architecture}
        entries.append({**descriptor(content, media_type), "platform": platform})
    body = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}).encode()
    assert (await registry.put_manifest(repository, tag, body, OCI_INDEX)).status == 201
    return digest_of(body)


@pytest.mark.docker
@pytest.mark.parametrize("packed", [False, True])
async def test_docker_loads_what_is_saved_and_runs_it(
    docker_engine: DockerEngine, registry: Registry, tmp_path: Path, packed: bool
) -> None:
    digest = await push_runnable(registry, "quay.io/tools/saved:v1", packed=packed)
    other = await registry.push_image("plain", "v1")
    await push_index(registry, "many:v1", other, digest)
    archive = await saved(registry, tmp_path / "saved.tar", "quay.io/tools/saved:v1", "many:v1")
    said = (await asyncio.to_thread(docker_engine.cli, "load", "--input", archive)).stdout
    names = ("quay.io/tools/saved:v1", "many:v1")
    for name in names:
        assert name in said
        ran = await asyncio.to_thread(docker_engine.cli, "run", "--rm", "--network=none", name)
        assert "it runs" in ran.stdout
    await asyncio.to_thread(docker_engine.cli, "rmi", *names)


@pytest.mark.docker
async def test_what_docker_saves_keeps_the_names_that_docker_shows(
    docker_engine: DockerEngine, registry: Registry, tmp_path: Path
) -> None:
    bare, archive = layer({"bin/busybox": BUSYBOX.read_bytes()}), tmp_path / "image.tar"
    names = ["made-here:v3", "quay.io/tools/made-here:v3"]
    docker_engine.cli("import", "-", names[0], stdin=bare)
    docker_engine.cli("tag", *names)
    docker_engine.cli("save", "-o", archive, *names)
    docker_engine.cli("rmi", *names)
    assert sorted(await registry.store.load(chunks(archive.read_bytes(), 100_000), who="anna")) == names


async def test_skopeo_reads_what_is_saved_and_exported(registry: Registry, tmp_path: Path) -> None:
    """Its OCI transports read images with OCI's media types alone, that of Docker's archives all."""
    digest = await push_runnable(registry, "tools/saved:v1", packed=True, oci=True)
    other = await registry.push_image("plain", "v1")
    index = await push_index(registry, "many:v1", other, digest)
    archive = await saved(registry, tmp_path / "saved.tar", "tools/saved:v1", "many:v1", "plain:v1")
    folder = LayoutFolder(tmp_path / "exported")
    with folder.growing():
        for name in ("tools/saved:v1", "many:v1"):
            await folder.add(Saved(name=name, tree=await tree(registry, name)), content_of(registry), lambda _: None)
    for source, expected in (
        (f"oci-archive:{archive}:tools/saved:v1", digest),
        (f"oci-archive:{archive}:many:v1", index),
        (f"oci:{tmp_path / 'exported'}:tools/saved:v1", digest),
        (f"oci:{tmp_path / 'exported'}:many:v1", index),
    ):
        status, raw = await run("skopeo", "inspect", "--raw", source)
        assert (status, digest_of(raw.encode())) == (0, expected), raw
        status, said = await run(
            "skopeo", "copy", "--insecure-policy", "--all", source, f"dir:{tmp_path / expected[7:19]}"
        )
        assert status == 0, said
    status, said = await run(
        "skopeo", "copy", "--insecure-policy", f"docker-archive:{archive}:plain:v1", f"dir:{tmp_path / 'docker'}"
    )
    assert status == 0, said


async def test_what_skopeo_writes_is_loaded_with_its_digest(
    registry: Registry, tmp_path: Path, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    digest = await push_runnable(registry, "tools/one:v1", packed=True, oci=True)
    index = await push_index(registry, "many:v1", digest)
    source = f"docker://{registry.host}/"
    insecure = ("--insecure-policy", "--src-tls-verify=false", "--all", "--preserve-digests")
    for name, target, expected in (
        ("tools/one:v1", f"oci-archive:{tmp_path / 'named.tar'}:quay.io/named:v1", "quay.io/named:v1"),
        ("many:v1", f"oci-archive:{tmp_path / 'unnamed.tar'}", "given:v2"),
    ):
        status, said = await run("skopeo", "copy", *insecure, f"{source}{name}", target)
        assert status == 0, said
        packed = Path(target.split(":")[1]).read_bytes()
        given = "" if "named:v1" in target else expected
        assert await registry.store.load(chunks(packed, 100_000), who="anna", name=given) == [expected]
    assert registry.store.digest("given", "v2") == index
