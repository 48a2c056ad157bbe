"""A registry on loopback, and small images made without a network."""

import asyncio
import gzip
import hashlib
import io
import json
import socket
import tarfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aiohttp import ClientResponse, ClientSession, web

from tests.people import People
from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.model.access import Caller, Right, operator
from tinkbox.model.images.mirrors import Mirror
from tinkbox.model.images.system_image import About, BlockMap, Config, Firmware, RawDisk, Source, Verified
from tinkbox.model.limits import DECLARED, Limits
from tinkbox.registry.blobs.room import Room
from tinkbox.registry.manifests.manifests import DOCKER_CONFIG, DOCKER_LAYER, DOCKER_MANIFEST
from tinkbox.registry.mirrors.upstreams import Upstreams
from tinkbox.registry.protocol.push_tokens import PushTokens
from tinkbox.registry.protocol.pushers import Pushers
from tinkbox.registry.protocol.routes import routes
from tinkbox.registry.storage import ImageStore
from tinkbox.wire.system_images import encode_block_map, encode_config, index_text, manifest_text

TOKEN = "the-operators-token"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
Middleware = Callable[
    [web.Request, Callable[[web.Request], Awaitable[web.StreamResponse]]], Awaitable[web.StreamResponse]
]
START = datetime(2026, 1, 1, tzinfo=UTC)
LOOKER = {"Authorization": "Bearer somebody-who-may-look"}
ANNAS = "the-token-of-anna"
PEOPLE = People(
    {
        TOKEN: operator(),
        ANNAS: Caller(name="anna@example", rights=frozenset({Right.PUSH})),
        "somebody-who-may-look": Caller(name="somebody", rights=frozenset({Right.LOOK})),
    }
)


@dataclass
class Clock:
    """Time that passes when told to."""

    now: datetime = field(default_factory=lambda: START)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **how_much: float) -> None:
        self.now += timedelta(**how_much)


@dataclass
class Registry:
    """One that answers at `host`; `http` speaks to it without, `operator` with the operator's credential."""

    root: Path
    host: str
    store: ImageStore
    clock: Clock
    http: ClientSession
    operator: ClientSession
    upstreams: Upstreams

    async def push_blob(self, content: bytes, repository: str = "hello") -> str:
        digest = digest_of(content)
        path = f"/v2/{repository}/blobs/uploads/?digest={digest}"
        async with self.operator.post(path, data=io.BytesIO(content)) as answer:
            assert answer.status == 201, await answer.text()
        return digest

    async def push_image(self, repository: str = "hello", tag: str = "v1", text: str = "hello") -> str:
        """Push a small image by hand; returns the manifest's digest."""
        content = layer({"hello.txt": text.encode()})
        config = configuration([content])
        for blob in (content, config):
            await self.push_blob(blob, repository)
        body = manifest(config, [content])
        answer = await self.put_manifest(repository, tag, body)
        assert answer.status == 201, await answer.text()
        return digest_of(body)

    async def put_manifest(
        self, repository: str, selector: str, body: bytes, media_type: str = DOCKER_MANIFEST
    ) -> ClientResponse:
        headers = {"Content-Type": media_type}
        answer = await self.operator.put(
            f"/v2/{repository}/manifests/{selector}", data=io.BytesIO(body), headers=headers
        )
        await answer.read()
        return answer

    def blob_path(self, digest: str) -> Path:
        return self.root / "blobs" / "sha256" / digest.removeprefix("sha256:")

    def blobs(self) -> set[str]:
        return {f"sha256:{path.name}" for path in (self.root / "blobs" / "sha256").iterdir()}

    async def left(self) -> set[str]:
        """The blobs that are left when no push is under way any more and what nothing needs was collected."""
        self.clock.advance(hours=1)
        await self.store.collect(who="anna")
        return self.blobs()

    def leftovers(self) -> list[Path]:
        return list((self.root / "incoming").iterdir())


@asynccontextmanager
async def serving(
    root: Path,
    clock: Clock | None = None,
    mirrors: Mapping[str, Mirror] = MappingProxyType({}),
    middlewares: Sequence[Middleware] = (),
    room: Room | None = None,
    port: int = 0,
    prepare: Callable[[web.Application], None] = lambda _: None,
) -> AsyncIterator[Registry]:
    """`middlewares` see each request first, and `prepare` changes the application.  What `mirrors` have is fetched.  `port` 0: any."""
    clock = clock or Clock()
    store = ImageStore(root, clock, Limits(DECLARED, time.monotonic), room)
    app = web.Application(middlewares=[*middlewares, refusals_become_problems])
    prepare(app)
    upstreams = Upstreams(store, mirrors, lambda: (clock() - START).total_seconds(), clock=clock)
    tokens = PushTokens(b"key", lambda: (clock() - START).total_seconds())
    app.add_routes(routes(store, upstreams, Pushers(PEOPLE, tokens), RefusedTokens()))
    prepare(app)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    host = f"127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with (
            ClientSession(f"http://{host}") as http,
            ClientSession(f"http://{host}", headers=OPERATOR) as operator,
            asyncio.TaskGroup() as group,
        ):
            fetching = group.create_task(upstreams.run())
            yield Registry(root, host, store, clock, http, operator, upstreams)
            fetching.cancel()
    finally:
        await runner.cleanup()
        for upload in list(store.uploads._uploads.values()):
            store.uploads.end(upload)


def free_port() -> int:
    """A TCP port of loopback that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


async def run(*command: str | Path) -> tuple[int, str]:
    """Run a program without holding up the registry; returns its status and all it said."""
    process = await asyncio.create_subprocess_exec(
        *map(str, command), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(120):
        output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode(errors="replace")


async def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Look again and again, where nothing can announce it: what is waited for happens in another process."""
    for _ in range(int(seconds * 100)):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


async def chunks(content: bytes, size: int = 1000) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def tar(files: Iterable[tuple[str, bytes]]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def unpacked(archive: bytes) -> dict[str, bytes]:
    """The files of a tar, by their names."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        return {each.name: file.read() for each in packed if (file := packed.extractfile(each)) is not None}


def layer(files: dict[str, bytes]) -> bytes:
    return tar(files.items())


def configuration(layers: list[bytes]) -> bytes:
    """An image's configuration; `layers` may be compressed."""
    bare = [gzip.decompress(each) if each.startswith(b"\x1f\x8b") else each for each in layers]
    document = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Cmd": ["/bin/busybox", "echo", "hello"]},
        "rootfs": {"type": "layers", "diff_ids": [digest_of(each) for each in bare]},
    }
    return json.dumps(document).encode()


def descriptor(content: bytes, media_type: str) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest_of(content), "size": len(content)}


def manifest(config: bytes, layers: list[bytes]) -> bytes:
    document = {
        "schemaVersion": 2,
        "mediaType": DOCKER_MANIFEST,
        "config": descriptor(config, DOCKER_CONFIG),
        "layers": [descriptor(each, DOCKER_LAYER) for each in layers],
    }
    return json.dumps(document).encode()


def docker_archive(names: list[str], layers: list[bytes]) -> dict[str, bytes]:
    """The files of what `docker save` writes, in its order."""
    config = configuration(layers)
    stored = {f"{digest_of(each)[7:]}/layer.tar": each for each in layers}
    config_name = f"{digest_of(config)[7:]}.json"
    entry = {"Config": config_name, "RepoTags": names, "Layers": list(stored)}
    return {**stored, config_name: config, "manifest.json": json.dumps([entry]).encode()}


def sha512_files(config: bytes, layers: list[bytes]) -> tuple[dict[str, bytes], str]:
    """An OCI layout with one image, x:1, whose digests are all sha512; and its digest."""
    text = manifest(config, layers).decode()
    for each in (config, *layers):
        text = text.replace(digest_of(each), sha512_of(each))
    image = text.encode()
    entry = {
        **descriptor(image, DOCKER_MANIFEST),
        "digest": sha512_of(image),
        "annotations": {"org.opencontainers.image.ref.name": "x:1"},
    }
    blobs = {f"blobs/{sha512_of(each).replace(':', '/')}": each for each in (image, config, *layers)}
    index = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    return {**blobs, "index.json": index}, sha512_of(image)


def sha512_of(content: bytes) -> str:
    return f"sha512:{hashlib.sha512(content).hexdigest()}"


RAW = RawDisk(size=4 << 20, digest=f"sha256:{'0' * 64}")


def system_image_archive(
    version: str,
    *tags: str,
    config: bytes = b"",
    block_map: bytes = b"",
    verified: Verified = Verified.SUMS,
    disk: bytes = b"",
    name: str = "lab",
) -> bytes:
    """What `image import` loads, with a disk that is nothing."""
    source = Source(
        url="https://x.example/x",
        digest=f"sha256:{'1' * 64}",
        size=7,
        verified=verified,
    )
    about = About(id="lab", version=version, source=source, title="Lab", firmware=(Firmware.UEFI,))
    config = config or encode_config(Config(about=about, raw=RAW))
    disk, block_map = disk or version.encode(), block_map or encode_block_map(BlockMap(raw=RAW))
    manifest = manifest_text(config, (digest_of(disk), len(disk)), block_map, {})
    blobs = [(f"blobs/sha256/{digest_of(each)[7:]}", each) for each in (config, disk, block_map, manifest)]
    index = index_text(manifest, tuple(f"{name}:{tag}" for tag in (version, *tags)))
    return tar([("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'), ("index.json", index), *blobs])
