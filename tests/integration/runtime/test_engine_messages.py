"""The engine's refusals, each provoked on a real one: by images, volumes, and a registry that answers badly."""

import asyncio
import io
import json
import random
import re
import tarfile
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.integration.docker_engine import DockerEngine, docker_engine_in
from tests.integration.registry.serving import Registry, configuration, descriptor, digest_of, layer, manifest, serving
from tests.integration.runtime.test_docker import BUSYBOX
from tinkbox.registry.manifests.manifests import DOCKER_MANIFEST
from tinkbox.runtime import ContainerFailed, ContainerSpec, Ended
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.worker.host.mounts import mount_tmpfs, unmount

IMAGE = "tools/refused:v1"
BARE = "tools/bare:v1"
LISTED = "application/vnd.docker.distribution.manifest.list.v2+json"
GOOD, JUNK = layer({"hello": b"hello" * 1000}), b"this is no archive" * 1000


def programs(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, (content, mode) in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), mode
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


@pytest.fixture(scope="module")
def engine(docker_engine: DockerEngine) -> DockerEngine:
    files = {
        "bin/busybox": (BUSYBOX.read_bytes(), 0o755),
        "bin/plain": (BUSYBOX.read_bytes(), 0o644),
        "bin/alien": (b"\0\1 not for this machine", 0o755),
        "bin/orphan": (b"#!/no/such/interpreter\n", 0o755),
    }
    docker_engine.cli("import", "-", IMAGE, stdin=programs(files))
    docker_engine.cli("import", "-", BARE, stdin=layer({"empty": b""}))
    return docker_engine


async def refusal(engine: DockerEngine, spec: ContainerSpec) -> ContainerFailed:
    """What becomes of a container that cannot be made or started."""
    async with DockerRuntime(engine.url) as runtime:
        try:
            container = await runtime.create(spec)
        except ContainerFailed as error:
            return error
        try:
            await runtime.start(container.id)
        except ContainerFailed as error:
            return error
        finally:
            await runtime.remove(container.id)
    raise AssertionError("it was started")


def spec(*command: str, image: str = IMAGE, **options: object) -> ContainerSpec:
    return ContainerSpec(image=image, labels={}, command=command, privileged=False, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("",), "the command is empty"),
        (("nothing",), "the image has no program nothing in the folders of its PATH"),
        (("/bin/nothing",), "the image has no program /bin/nothing"),
        (("/bin/plain",), "/bin/plain may not be executed"),
        (("/bin",), "/bin may not be executed"),
    ],
)
async def test_a_bad_command_says_what_is_wrong_with_it(
    engine: DockerEngine, command: tuple[str, ...], message: str
) -> None:
    error = await refusal(engine, spec(*command))
    assert error.reason == "BadCommand"
    assert message in str(error)


async def test_an_image_that_says_nothing_to_run_wants_a_command(engine: DockerEngine) -> None:
    error = await refusal(engine, spec(image=BARE))
    assert error.reason == "BadCommand"
    assert "neither the template nor its image says what to run" in str(error)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("/bin/alien", "exec /bin/alien: exec format error\n"),
        ("/bin/orphan", "exec /bin/orphan: no such file or directory\n"),
    ],
)
async def test_what_the_kernel_will_not_begin_ends_with_these_words(
    engine: DockerEngine, program: str, said: str
) -> None:
    """On a busy host the engine loses now and then what a container says that ends at once: 2 of 60 with Docker 26."""
    output = ""
    async with DockerRuntime(engine.url) as runtime:
        for _ in range(20):
            container = await runtime.create(spec(program))
            await runtime.start(container.id)
            assert await runtime.wait(container.id) in (Ended(exit_code=1), Ended(exit_code=255))
            pieces = [piece async for piece in runtime.output(container.id)]
            await runtime.remove(container.id)
            output = b"".join(pieces).decode().replace("\r", "")
            if output:
                break
    assert output == said


@pytest.mark.parametrize(
    "volume",
    ["/a:b", "/tmp:/x:sideways", "rel ative:/x", "/proc/no/such:/x", "/etc/passwd:/bin", "/tmp:/", "/dev:/dev:rshared"],
)
async def test_a_volume_that_cannot_be_mounted_is_a_mount_failure(engine: DockerEngine, volume: str) -> None:
    error = await refusal(engine, spec("/bin/busybox", "true", binds=(volume,)))
    assert error.reason == "MountFailed"
    assert str(error).startswith("a volume cannot be mounted: ")


async def test_a_mount_of_our_own_that_is_not_there_is_refused_and_not_made(engine: DockerEngine) -> None:
    error = await refusal(engine, spec("/bin/busybox", "true", mounts={"/x": "/no/such/file"}))
    assert error.reason == "MountFailed"


async def test_another_missing_thing_is_no_missing_image(engine: DockerEngine) -> None:
    assert (await refusal(engine, spec("/bin/busybox", pid="container:other"))).reason == "CreateFailed"


async def test_memory_that_runs_out_is_told_from_a_kill(engine: DockerEngine) -> None:
    eat = "while [ ! -e /go ]; do /bin/busybox sleep 0.05; done; exec /bin/busybox tail /dev/zero"
    async with DockerRuntime(engine.url) as runtime:
        container = await runtime.create(spec("/bin/busybox", "sh", "-c", eat))
        await runtime.start(container.id)
        engine.cli("update", "--memory", "16m", "--memory-swap", "16m", container.id)
        async with asyncio.TaskGroup() as group:
            ended = group.create_task(runtime.wait(container.id))
            while not ended.done():  # an engine was seen to say that it had run this, and had not
                await asyncio.to_thread(engine.cli, "exec", container.id, "/bin/busybox", "touch", "/go", check=False)
                await asyncio.wait([ended], timeout=1)
        assert ended.result() == Ended(exit_code=137, out_of_memory=True)
        await runtime.remove(container.id)


@asynccontextmanager
async def bad_registry() -> AsyncIterator[str]:
    """A registry whose images are broken each in the way that their name says, or never come; yields its host."""
    runner = web.AppRunner(_bad_registry(), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _bad_registry() -> web.Application:
    blobs = {digest_of(blob): blob for layer in (GOOD, JUNK) for blob in (layer, configuration([layer]))}

    async def answer(request: web.Request) -> web.Response:
        kind = request.match_info["kind"]
        if kind.isdigit():
            codes = {"401": "UNAUTHORIZED", "403": "DENIED"}
            errors = {"errors": [{"code": codes.get(kind, "UNKNOWN"), "message": "go away"}]}
            return web.json_response(errors, status=int(kind))
        if kind == "silent":
            await asyncio.Event().wait()
        if kind == "plain403":
            return web.Response(status=403, text="<html>not from here</html>")
        if request.match_info["what"] == "manifests":
            return _manifest(request, kind)
        blob = blobs[request.match_info["name"]]
        if kind == "lost" and blob == GOOD:
            errors = {"errors": [{"code": "BLOB_UNKNOWN", "message": "unknown blob"}]}
            return web.json_response(errors, status=404)
        return web.Response(body=blob.replace(b"hello", b"jello", 1) if kind == "changed" else blob)

    app = web.Application()
    app.router.add_get("/v2/", _empty)
    app.router.add_get("/v2/{kind}/image/{what}/{name}", answer)
    return app


async def _empty(_: web.Request) -> web.Response:
    return web.json_response({})


def _manifest(request: web.Request, kind: str) -> web.Response:
    content = JUNK if kind == "junk" else GOOD
    body, media_type = manifest(configuration([content]), [content]), DOCKER_MANIFEST
    if kind == "alien":
        listed = descriptor(body, DOCKER_MANIFEST) | {"platform": {"architecture": "s390x", "os": "linux"}}
        body = json.dumps({"schemaVersion": 2, "mediaType": LISTED, "manifests": [listed]}).encode()
        media_type = LISTED
    headers = {"Docker-Content-Digest": digest_of(body)}
    if request.method == "HEAD":
        headers["Content-Length"] = str(len(body))
    return web.Response(body=body, content_type=media_type, headers=headers)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("401", "ImageNotAllowed"),
        ("403", "ImageNotAllowed"),
        ("junk", "ImageCorrupt"),
        ("changed", "ImageCorrupt"),
        ("lost", "ImageCorrupt"),
        ("alien", "WrongPlatform"),
        ("503", "RegistryUnreachable"),
    ],
)
async def test_what_a_registry_does_wrong_has_its_own_reason(engine: DockerEngine, kind: str, reason: str) -> None:
    error = await refused_pull(engine, kind)
    assert error.reason == reason, str(error)


async def test_a_web_page_in_place_of_a_refusal_is_what_the_engine_takes_it_for(engine: DockerEngine) -> None:
    """Docker 20 cannot read it, and says so; Docker 26 passes it on as what the registry itself says."""
    error = await refused_pull(engine, "plain403")
    told = re.search(r"denied: <html>|error parsing HTTP 403 response body: .*<html>", str(error))
    assert told is not None, str(error)
    assert error.reason == ("ImageNotAllowed" if told[0].startswith("denied") else "ImagePullFailed"), str(error)


async def refused_pull(engine: DockerEngine, kind: str) -> ContainerFailed:
    async with bad_registry() as host, DockerRuntime(engine.url) as runtime:
        with pytest.raises(ContainerFailed) as refusal:
            await runtime.pull(f"{host}/{kind}/image:v1")
    return refusal.value


async def test_an_image_for_which_there_is_no_room(tmp_path: Path) -> None:
    place = Path(tempfile.mkdtemp(prefix="tinkbox-full-"))  # a socket's path must be short
    mount_tmpfs(place, "size=48m")
    try:
        with docker_engine_in(place) as full:
            async with serving(tmp_path) as registry, DockerRuntime(full.url) as runtime:
                await push(registry, layer({"large": random.Random(1).randbytes(60_000_000)}))
                with pytest.raises(ContainerFailed) as refusal:
                    await runtime.pull(f"{registry.host}/large:v1")
    finally:
        unmount(place)
        place.rmdir()
    assert refusal.value.reason == "NoSpace", str(refusal.value)


async def push(registry: Registry, content: bytes) -> None:
    config = configuration([content])
    for blob in (content, config):
        await registry.push_blob(blob, "large")
    await registry.put_manifest("large", "v1", manifest(config, [content]))


async def test_a_registry_without_an_address_is_unreachable(engine: DockerEngine) -> None:
    async with DockerRuntime(engine.url) as runtime:
        with pytest.raises(ContainerFailed) as refusal:
            await runtime.pull("registry.invalid/image:v1")
    assert refusal.value.reason == "RegistryUnreachable"
