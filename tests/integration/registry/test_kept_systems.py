"""What the registry tells of the system images that it keeps."""

from datetime import UTC, datetime

import pytest

from tests.integration.registry.serving import Registry, chunks, tar
from tinkbox.model.system_image import About, BlockMap, Config, Firmware, RawDisk, Source, Verified
from tinkbox.wire.system_images import digest_of, encode_block_map, encode_config, index_text, manifest_text

RAW = RawDisk(size=4 << 20, digest=f"sha256:{'0' * 64}")


def archive(version: str, *tags: str, config: bytes = b"") -> bytes:
    """What `image import` loads, with a disk that is nothing."""
    source = Source(
        at=datetime(2026, 11, 1, tzinfo=UTC),
        url="https://x.example/x",
        digest=f"sha256:{'1' * 64}",
        size=7,
        verified=Verified.SUMS,
    )
    about = About(id="lab", version=version, source=source, title="Lab", firmware=(Firmware.UEFI,))
    config = config or encode_config(Config(about=about, raw=RAW))
    disk, block_map = version.encode(), encode_block_map(BlockMap(raw=RAW))
    manifest = manifest_text(config, (digest_of(disk), len(disk)), block_map, {})
    blobs = [(f"blobs/sha256/{digest_of(each)[7:]}", each) for each in (config, disk, block_map, manifest)]
    index = index_text(manifest, tuple(f"lab:{tag}" for tag in (version, *tags)))
    return tar([("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'), ("index.json", index), *blobs])


async def test_each_system_image_tells_what_it_is(registry: Registry) -> None:
    await registry.store.load(chunks(archive("1", "latest")), who="me")
    await registry.store.load(chunks(archive("2", "latest")), who="me")
    first, second = await registry.store.system_images()
    assert (first["id"], first["tags"], second["tags"]) == ("lab", ["1"], ["2", "latest"])
    assert second["config"]["version"] == "2"
    assert second["config"]["source"]["verified"] == "sums"
    assert second["size"] > 0


async def test_container_images_are_not_among_them(registry: Registry) -> None:
    await registry.push_image("x", "1")
    assert await registry.store.system_images() == []


@pytest.mark.parametrize("config", [b"{}", b"none", b"[" * 1000, b" " * 70_000])
async def test_one_that_says_nothing_sensible_is_left_out(registry: Registry, config: bytes) -> None:
    await registry.store.load(chunks(archive("1", config=config)), who="me")
    await registry.store.load(chunks(archive("2")), who="me")
    assert [each["tags"] for each in await registry.store.system_images()] == [["2"]]
