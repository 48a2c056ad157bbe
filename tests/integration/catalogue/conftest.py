import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.integration.catalogue.mirror import File, Mirror, Signer, mirror, signer
from tinkbox.catalogue.downloading import Arrived, Download, Downloads, alone
from tinkbox.catalogue.entries import Entry
from tinkbox.catalogue.fetching import Choices, decided, fetch, order_of
from tinkbox.catalogue.reading import read_catalogue
from tinkbox.catalogue.resolving import Found, Resolver
from tinkbox.catalogue.transport import Web

NAME = "lab-20261101.raw"
IMAGE = hashlib.sha256(b"lab").digest() * 40_000
SUMS = f"{hashlib.sha256(IMAGE).hexdigest()}  {NAME}\n".encode()

NONE = Choices()


@dataclass
class Client:
    """The catalogue's program against the mirror: `entry` is what it has of it."""

    mirror: Mirror
    publisher: Signer
    folder: Path
    silence: float = 5.0
    quiet: float = 5.0
    said: list[Arrived] = field(default_factory=list)
    free: int = 1 << 40
    max_size: int = 1 << 30
    heard: Callable[[Arrived], None] | None = None

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def keys(self) -> Path:
        return self.folder / "keys"

    @property
    def kept(self) -> list[str]:
        """What is in the cache folder of the image itself."""
        return [path.name for path in self.cache.glob("*.raw")]

    def entry(self, resolver: str = "", signature: str = "", id: str = "lab") -> Entry:  # noqa: A002
        resolver = resolver or f"{{kind: sums, sums: {self.mirror.url}/SUMS, file: 'lab-(?P<version>[0-9]+)\\.raw'}}"
        text = f"images: {{{id}: {{title: Lab, architectures: {{x86_64: {{}}}}, least_disk: 1MiB, resolver: {resolver}"
        text += f", signature: {signature}" if signature else ""
        return read_catalogue(text + "}}", "test").entries[id]

    def signed(self, of: str = "sums") -> str:
        url = {"sums": ', url: "{sums}.sig"', "image": ', url: "{file}.sig"', "inside-sums": ""}[of]
        return f"{{of: {of}, keys: [{self.publisher.fingerprint}]{url}}}"

    async def find(self, entry: Entry, choices: Choices = NONE) -> Found:
        async with Web(self.mirror.trust(), self.silence) as web:
            resolver = Resolver(web, datetime.now(UTC), [self.keys], lenient=choices.unverified)
            return await resolver.told(decided(await resolver.newest(entry), choices))

    async def bring(self, entry: Entry, choices: Choices = NONE, found: Found | None = None) -> tuple[Found, Download]:
        found = found or await self.find(entry, choices)
        with alone(self.cache, order_of(found, choices), pytest.fail):
            return await self._brought(found, choices)

    async def _brought(self, found: Found, choices: Choices) -> tuple[Found, Download]:
        async with Web(self.mirror.trust(), self.silence) as web:
            downloads = Downloads(
                web,
                self.cache,
                time.monotonic,
                pause=0,
                quiet=self.quiet,
                free=lambda folder: self.free - sum(path.stat().st_size for path in folder.iterdir()),
                max_size=self.max_size,
            )
            return await fetch(
                downloads, found, choices, datetime.now(UTC), self.heard or self.said.append, [self.keys]
            )


@pytest.fixture(scope="session")
def publisher() -> Signer:
    return signer("publisher")


@pytest.fixture
def client(tmp_path: Path, publisher: Signer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """With an image and its checksums, and no proxy."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with mirror(tmp_path) as made:
        made.publish({"/SUMS": SUMS, f"/{NAME}": IMAGE})
        client = Client(made, publisher, tmp_path)
        publisher.put(client.keys)
        yield client


def sums_of(files: Sequence[tuple[str, bytes]]) -> File:
    return File("".join(f"{hashlib.sha256(each).hexdigest()}  {name}\n" for name, each in files).encode())
