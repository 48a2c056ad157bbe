"""Docker, containerd and skopeo, as operators use them, against the registry.  Other clients: `test_clients.py`."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.integration.docker_engine import HEARD, CommandFailed, DockerEngine
from tests.integration.registry.serving import (
    Registry,
    descriptor,
    digest_of,
    docker_archive,
    layer,
    run,
    serving,
    tar,
)
from tinkbox.registry.manifests.manifests import DOCKER_MANIFEST, OCI_INDEX

BUSYBOX = Path("/bin/busybox")

pytestmark = pytest.mark.docker


@pytest.fixture
def image(docker_engine: DockerEngine) -> str:
    """A runnable image that came from nowhere, one layer of it shared with the next test's."""
    bare = layer({"bin/busybox": BUSYBOX.read_bytes()})
    command = json.dumps(["/bin/busybox", "sh", "-c", f"echo it runs; {HEARD}"])
    docker_engine.cli("import", "--change", f"CMD {command}", "-", "made-here:v1", stdin=bare)
    return "made-here:v1"


async def docker(engine: DockerEngine, *arguments: str | Path, check: bool = True) -> str:
    done = await asyncio.to_thread(engine.cli, *arguments, check=check)
    return done.stdout + done.stderr


async def test_docker_logs_in_pushes_and_anybody_pulls(
    docker_engine: DockerEngine, registry: Registry, image: str, token: str
) -> None:
    name = f"{registry.host}/tools/made-here:v1"
    await docker(docker_engine, "tag", image, name)
    await docker(docker_engine, "login", "-u", "me", "-p", token, registry.host)
    await docker(docker_engine, "push", name)
    await docker(docker_engine, "logout", registry.host)
    await docker(docker_engine, "rmi", name, image)
    await docker(docker_engine, "pull", name)
    assert "it runs" in await docker(docker_engine, "run", "--rm", "--network=none", name)
    await docker(docker_engine, "rmi", name)


async def test_docker_sends_nothing_twice(
    docker_engine: DockerEngine, registry: Registry, image: str, token: str
) -> None:
    await docker(docker_engine, "login", "-u", "me", "-p", token, registry.host)
    first, second = f"{registry.host}/one:v1", f"{registry.host}/two:v1"
    for name in (first, second):
        await docker(docker_engine, "tag", image, name)
    await docker(docker_engine, "push", first)
    before = registry.blobs()
    said = await docker(docker_engine, "push", second)
    assert "Mounted from one" in said or "Layer already exists" in said
    assert registry.blobs() == before
    await docker(docker_engine, "rmi", first, second)


async def test_docker_push_without_login_is_refused_in_words(
    docker_engine: DockerEngine, registry: Registry, image: str
) -> None:
    name = f"{registry.host}/tools/made-here:v1"
    await docker(docker_engine, "tag", image, name)
    with pytest.raises(CommandFailed, match="docker login"):
        await docker(docker_engine, "push", name)
    assert registry.blobs() == set()
    await docker(docker_engine, "rmi", name)


async def test_docker_login_with_a_wrong_password_fails(docker_engine: DockerEngine, registry: Registry) -> None:
    with pytest.raises(CommandFailed, match="unauthorized"):
        await docker(docker_engine, "login", "-u", "me", "-p", "wrong", registry.host)


async def test_what_docker_saves_can_be_loaded_and_pulled(
    docker_engine: DockerEngine, registry: Registry, image: str, tmp_path: Path
) -> None:
    archive = tmp_path / "image.tar"
    await docker(docker_engine, "tag", image, "quay.io/tools/made-here:v2")
    await docker(docker_engine, "save", "-o", archive, image, "quay.io/tools/made-here:v2")

    async def pieces():
        with archive.open("rb") as file:
            while piece := file.read(100_000):
                yield piece

    assert await registry.store.load(pieces(), who="anna") == ["made-here:v1", "quay.io/tools/made-here:v2"]
    assert registry.leftovers() == []
    await docker(docker_engine, "rmi", image, "quay.io/tools/made-here:v2")
    name = f"{registry.host}/quay.io/tools/made-here:v2"
    assert "it runs" in await docker(docker_engine, "run", "--rm", "--network=none", name)
    await docker(docker_engine, "rmi", name)


async def test_a_pushed_image_survives_a_restart_of_the_registry(
    docker_engine: DockerEngine, image: str, token: str, tmp_path: Path
) -> None:
    async with serving(tmp_path / "kept") as registry:
        name = f"{registry.host}/made-here:v1"
        await docker(docker_engine, "login", "-u", "me", "-p", token, registry.host)
        await docker(docker_engine, "tag", image, name)
        await docker(docker_engine, "push", name)
        await docker(docker_engine, "rmi", name, image)
    async with serving(tmp_path / "kept") as registry:
        name = f"{registry.host}/made-here:v1"
        assert "it runs" in await docker(docker_engine, "run", "--rm", "--network=none", name)
        await docker(docker_engine, "rmi", name)


async def skopeo(*arguments: str | Path) -> str:
    status, said = await run("skopeo", "--insecure-policy", *arguments)
    assert status == 0, said
    return said


async def test_skopeo_copies_in_and_out_and_the_image_is_the_same(
    registry: Registry, token: str, tmp_path: Path
) -> None:
    source = tmp_path / "oci"
    packed = tmp_path / "packed.tar"
    packed.write_bytes(_saved())
    remote = f"docker://{registry.host}/tools/x:v1"
    await skopeo("copy", "--dest-tls-verify=false", f"--dest-creds=me:{token}", f"docker-archive:{packed}", remote)
    await skopeo("copy", "--src-tls-verify=false", remote, f"oci:{source}:x:v1")
    back = tmp_path / "back.tar"
    await skopeo("copy", "--src-tls-verify=false", remote, f"docker-archive:{back}:x:v1")
    before = json.loads(await skopeo("inspect", "--config", f"docker-archive:{packed}"))
    after = json.loads(await skopeo("inspect", "--config", f"docker-archive:{back}"))
    assert before["rootfs"] == after["rootfs"]
    listed = json.loads(await skopeo("list-tags", "--tls-verify=false", f"docker://{registry.host}/tools/x"))
    assert listed["Tags"] == ["v1"]


async def test_skopeo_cannot_push_without_the_credential(registry: Registry, tmp_path: Path) -> None:
    packed = tmp_path / "packed.tar"
    packed.write_bytes(_saved())
    for extra in ([], ["--dest-creds=me:wrong"]):
        remote = f"docker://{registry.host}/tools/x:v1"
        status, said = await run(
            "skopeo", "--insecure-policy", "copy", "--dest-tls-verify=false", *extra, f"docker-archive:{packed}", remote
        )
        assert status != 0
        assert any(each in said for each in ("pushing needs a token", "unauthorized", "credential"))
    assert registry.blobs() == set()


async def test_oci_archives_of_skopeo_can_be_loaded(registry: Registry, tmp_path: Path) -> None:
    packed, oci = tmp_path / "packed.tar", tmp_path / "oci.tar"
    packed.write_bytes(_saved())
    await skopeo("copy", f"docker-archive:{packed}", f"oci-archive:{oci}:tools/x:v3")

    async def content():
        yield oci.read_bytes()

    assert await registry.store.load(content(), who="anna") == ["tools/x:v3"]
    await skopeo("copy", "--src-tls-verify=false", f"docker://{registry.host}/tools/x:v3", f"dir:{tmp_path / 'dir'}")


async def test_skopeo_copies_an_index_without_its_images(registry: Registry, token: str) -> None:
    await registry.push_image("one", "image")
    content = await (await registry.http.get("/v2/one/manifests/image")).read()
    listed = descriptor(content, DOCKER_MANIFEST) | {"platform": {"os": "linux", "architecture": "amd64"}}
    index = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [listed]}).encode()
    assert (await registry.put_manifest("one", "all", index, OCI_INDEX)).status == 201
    source, target = (f"docker://{registry.host}/{name}:all" for name in ("one", "two"))
    insecure = ("--src-tls-verify=false", "--dest-tls-verify=false", f"--dest-creds=me:{token}")
    await skopeo("copy", "--multi-arch=index-only", *insecure, source, target)
    assert json.loads(await skopeo("inspect", "--raw", "--tls-verify=false", target)) == json.loads(index)
    assert (await registry.http.get(f"/v2/two/manifests/{digest_of(content)}")).status == 404


async def test_containerd_pushes_an_image_whose_blobs_are_all_here_and_pulls_it(
    docker_engine: DockerEngine, registry: Registry, token: str, tmp_path: Path
) -> None:
    """`ctr` asks for all blobs first: where it need not send any, it sends the manifest as the first thing that has to log in."""
    packed = tmp_path / "packed.tar"
    packed.write_bytes(_saved())
    first, second = f"{registry.host}/one:v1", f"{registry.host}/two:v1"
    await ctr(docker_engine, "import", packed)
    for name in (first, second):
        await ctr(docker_engine, "tag", "docker.io/library/x:v1", name)
        await ctr(docker_engine, "push", "--plain-http", f"--user=me:{token}", name)
    # It has a token to pull with when it sends the manifest: it ends, and does not wait for ever.
    third = f"{registry.host}/three:v1"
    await ctr(docker_engine, "tag", second, third)
    with pytest.raises(AssertionError, match="403 Forbidden"):
        await asyncio.wait_for(ctr(docker_engine, "push", "--plain-http", third), 600)
    await ctr(docker_engine, "rm", third)
    assert registry.store.digest("one", "v1") == registry.store.digest("two", "v1") != ""
    await ctr(docker_engine, "rm", "--sync", "docker.io/library/x:v1", first, second)
    await ctr(docker_engine, "pull", "--plain-http", second)
    assert second in await ctr(docker_engine, "list", "-q")
    await ctr(docker_engine, "rm", second)


async def ctr(engine: DockerEngine, verb: str, *arguments: str | Path) -> str:
    status, said = await run("ctr", f"--address={engine.containerd}", "--namespace=test", "images", verb, *arguments)
    assert status == 0, said
    return said


async def test_curl_gets_a_part_of_a_blob(registry: Registry) -> None:
    content = bytes(range(256)) * 1000
    digest = await registry.push_blob(content)
    url = f"http://{registry.host}/v2/hello/blobs/{digest}"
    process = await asyncio.create_subprocess_exec("curl", "-fsS", "-r", "100-299", url, stdout=asyncio.subprocess.PIPE)
    part, _ = await process.communicate()
    assert (process.returncode, part) == (0, content[100:300])


def _saved() -> bytes:
    return tar(docker_archive(["x:v1"], [layer({"a": b"1" * 5000}), layer({"b": b"2"})]).items())
