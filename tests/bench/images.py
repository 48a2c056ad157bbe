"""Images pushed and pulled over HTTP: tinkbox's registry beside Debian's docker-registry.

Both keep them on the same disk and work on one processor; the client is the same, on the other processors.  Each pushes as
Docker does: it asks for every blob, sends it in one piece, and puts the manifest last.  Small images show what a manifest
costs, large ones what bytes do.  Lists and deletions among many tags stand beside those among few.
"""

import asyncio
import hashlib
import http.client
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.bench.figures import Comparison
from tests.bench.lab import TINKBOX, as_server, folder, need, on_loopback
from tests.bench.peers import DOCKER_REGISTRY, start_docker_registry
from tests.integration.cli.serving import Configuration, own_ports
from tinkbox.appliance import REGISTRY
from tinkbox.model.limits import DECLARED, Limits
from tinkbox.registry.storage import ImageStore

TOOLS: Final = {DOCKER_REGISTRY: "docker-registry", "taskset": "util-linux"}
PEER: Final = "docker-registry"
ROUNDS: Final = 9
LAYERS: Final = 3
LAYER: Final = 32 << 20
SMALL: Final = 40
TAGS: Final = 10_000
_PIECE: Final = 1 << 20
_OCI: Final = "application/vnd.oci.image.manifest.v1+json"
_BLOB: Final = "application/octet-stream"


def compare(program: Sequence[str] = (str(TINKBOX),), tags: int = TAGS) -> Iterator[Comparison]:
    need(TOOLS)
    with ExitStack() as stack:
        work = stack.enter_context(folder(Path("/var/tmp")))
        for part in ("tinkbox", "peer", "large", "small"):
            (work / part).mkdir()
        _, configuration = stack.enter_context(on_loopback(work / "tinkbox", as_server(*program)))
        (port,) = own_ports(1)
        stack.enter_context(start_docker_registry(work / "peer", port))
        ours, theirs = Client(configuration.http_port, _token(configuration)), Client(port)
        with on_other_processors():
            yield from _images(ours, theirs)
        large, small = (
            stack.enter_context(on_loopback(work / name, program, partial(fill, number=number)))[1]
            for name, number in (("large", tags), ("small", 2 * ROUNDS))
        )
        yield from _many_tags(*(Client(each.operator_port, _token(each)) for each in (large, small)), tags)


def fill(data: Path, number: int) -> None:
    """Put so many tags, each of an image of its own, into the registry of an appliance that does not run."""
    data.mkdir(mode=0o700)
    asyncio.run(_fill(data / REGISTRY, number))


async def _fill(root: Path, number: int) -> None:
    store = ImageStore(root, lambda: datetime.now(UTC), Limits(DECLARED, time.monotonic))
    layers = [os.urandom(100) for _ in range(LAYERS)]
    for each in range(number):
        image = Image(layers, each)
        for content in image.blobs.values():
            store._blobs.add(content)
        await store.put_manifest("many", f"v{each}", image.manifest, _OCI, who="the benchmark")


def _token(configuration: Configuration) -> str:
    return (configuration.data / "operator.token").read_text().strip()


def _images(ours: "Client", theirs: "Client") -> Iterator[Comparison]:
    large = Comparison(what=f"an image of {LAYERS} × 32 MB pushed", unit="ms", peer=PEER, better="less")
    pulled = Comparison(what="the same pulled", unit="ms", peer=PEER, better="less")
    small = Comparison(what=f"{SMALL} images of a few bytes pushed", unit="ms", peer=PEER, better="less")
    manifests = Comparison(what=f"{SMALL} more tags for an image", unit="ms", peer=PEER, better="less")
    base = os.urandom(LAYER)
    for number in range(ROUNDS):
        image, name = Image([os.urandom(16) + base[16:] for _ in range(LAYERS)], number), f"large{number}"
        large.add(*(timed(partial(each.push, name, "v1", image)) for each in (ours, theirs)))
        pulled.add(*(timed(partial(each.pull, name, "v1", image)) for each in (ours, theirs)))
    for number in range(ROUNDS):
        images, name = [Image([os.urandom(100)], f"{number}.{each}") for each in range(SMALL)], f"small{number}"
        small.add(*(timed(partial(_push_all, each, name, images)) for each in (ours, theirs)))
        manifests.add(*(timed(partial(_tag, each, name, images[0])) for each in (ours, theirs)))
    yield from (large, pulled, small, manifests)


def _push_all(client: "Client", name: str, images: Sequence["Image"]) -> None:
    for number, image in enumerate(images):
        client.push(name, f"v{number}", image)


def _tag(client: "Client", name: str, image: "Image") -> None:
    for number in range(SMALL):
        client.put(name, f"t{number}", image)


def _many_tags(large: "Client", small: "Client", tags: int) -> Iterator[Comparison]:
    peer = f"the same with {2 * ROUNDS}"
    listed = Comparison(what=f"/v1/images with {tags:,} tags", unit="ms", peer=peer, better="less")
    deleted = Comparison(what=f"one of {tags:,} tags deleted", unit="ms", peer=peer, better="less")
    for number in range(ROUNDS):
        listed.add(_listing(large), _listing(small))
        deleted.add(_deletion(large, f"v{number}"), _deletion(small, f"v{number}"))
    yield from (listed, deleted)


def _listing(operator: "Client") -> float:
    return timed(partial(operator.ask, "GET", "/v1/images?limit=0"))


def _deletion(operator: "Client", tag: str) -> float:
    return timed(partial(operator.ask, "DELETE", f"/v1/images?reference=many:{tag}"))


class Image:
    """Bytes of an image's parts, with their digests; `mark` makes it another one than those with the same layers."""

    def __init__(self, layers: Sequence[bytes], mark: object) -> None:
        config = json.dumps({"mark": str(mark), "rootfs": {"type": "layers", "diff_ids": []}}).encode()
        self.blobs = {_digest(each): each for each in (*layers, config)}
        described = [
            {"mediaType": _BLOB, "digest": digest, "size": len(content)} for digest, content in self.blobs.items()
        ]
        document = {"schemaVersion": 2, "mediaType": _OCI, "config": described[-1], "layers": described[:-1]}
        self.manifest = json.dumps(document).encode()


class Client:
    """One connection to a registry, as a push of Docker's has it."""

    def __init__(self, port: int, token: str = "") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def push(self, name: str, tag: str, image: Image) -> None:
        """All of an image."""
        for digest, content in image.blobs.items():
            if self.ask("HEAD", f"/v2/{name}/blobs/{digest}", missing=True) == 200:
                continue
            self.ask("POST", f"/v2/{name}/blobs/uploads/")
            self.ask("PATCH", self._place, content, _BLOB)
            beside = "&" if "?" in self._place else "?"
            self.ask("PUT", f"{self._place}{beside}digest={digest}")
        self.put(name, tag, image)

    def put(self, name: str, tag: str, image: Image) -> None:
        """The manifest alone."""
        self.ask("PUT", f"/v2/{name}/manifests/{tag}", image.manifest, _OCI)

    def pull(self, name: str, tag: str, image: Image) -> None:
        self.ask("GET", f"/v2/{name}/manifests/{tag}", accept=_OCI)
        for digest in image.blobs:
            self.ask("GET", f"/v2/{name}/blobs/{digest}")

    def ask(
        self, method: str, path: str, body: bytes = b"", kind: str = "", *, accept: str = "*/*", missing: bool = False
    ) -> int:
        """Ask and read the answer to its end; raises RuntimeError for a refusal, unless something may be `missing`."""
        headers = {**self._headers, "Accept": accept, **({"Content-Type": kind} if kind else {})}
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        room = bytearray(_PIECE)
        while answer.readinto(room):
            pass
        if answer.status >= 300 and not (missing and answer.status == 404):
            raise RuntimeError(f"{method} {path}: {answer.status} {bytes(room[:200])!r}")
        place = urlsplit(answer.headers.get("Location", ""))
        self._place = f"{place.path}?{place.query}" if place.query else place.path
        return answer.status


def timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


@contextmanager
def on_other_processors() -> Iterator[None]:
    """Work where no server does."""
    before = os.sched_getaffinity(0)
    first, *others = sorted(before)
    os.sched_setaffinity(0, others or [first])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
