"""A system image's documents: what is written is read back, and what is wrong is refused with all that is."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.model.images.system_image import (
    ARTIFACT_TYPE,
    FRAME,
    About,
    BlockMap,
    Compression,
    Config,
    DataSource,
    Firmware,
    Format,
    Frame,
    Growth,
    RawDisk,
    Source,
    Verified,
)
from tinkbox.registry.manifests.manifests import parse_manifest
from tinkbox.wire.system_images import (
    MAX_FRAME_LENGTH,
    decode_block_map,
    decode_config,
    digest_of,
    encode_block_map,
    encode_config,
    index_text,
    manifest_text,
)

RAW = RawDisk(size=3 * FRAME + 512, digest=f"sha256:{'a' * 64}")
CONFIG = Config(
    about=About(
        id="debian-13",
        version="20261101",
        title="Debian 13 “trixie”",
        firmware=(Firmware.BIOS, Firmware.UEFI),
        data_source=DataSource.NOCLOUD,
        growth=Growth.CLOUD_INIT,
        default_user="debian",
        licence="DFSG",
        least_disk=3 << 30,
        source=Source(
            url="https://cloud.debian.org/x.qcow2",
            digest=f"sha512:{'b' * 128}",
            size=300,
            format=Format.QCOW2,
            compression=Compression.XZ,
            verified=Verified.SUMS,
            signer="",
        ),
    ),
    raw=RAW,
)
FRAMES = (Frame(0, 0, 100, "c" * 64), Frame(2, 140, 4096, "d" * 64), Frame(3, 4236, 20, "e" * 64))
MAP = BlockMap(raw=RAW, frames=FRAMES)


def test_a_configuration_is_read_as_it_was_written() -> None:
    assert decode_config(encode_config(CONFIG)) == CONFIG
    local = replace(CONFIG.about.source, url="", file="disk.raw")
    config = replace(CONFIG, about=replace(CONFIG.about, source=local))
    assert decode_config(encode_config(config)) == config
    assert set(json.loads(encode_config(config))) == {
        "schema", "id", "title", "version", "architecture", "firmware", "data_source", "growth", "default_user", "licence",
        "least_disk", "raw", "source",
    }  # fmt: skip


def test_all_that_is_wrong_with_a_configuration_is_told_at_once() -> None:
    document = json.loads(encode_config(CONFIG))
    document |= {"id": "a/b", "version": "", "firmware": ["coreboot"], "default_user": "a\nb", "least_disk": -1}
    document["source"] |= {"digest": "md5:1", "size": True}
    document["raw"] |= {"size": 1 << 60, "frame_size": 0}
    with pytest.raises(Invalid, match="configuration is wrong") as refused:
        decode_config(json.dumps(document).encode())
    assert {problem.key for problem in refused.value.problems} == {
        "id", "version", "firmware", "default_user", "least_disk", "source.digest", "source.size", "raw.size",
        "raw.frame_size",
    }  # fmt: skip


@pytest.mark.parametrize("user", ["a b;$(x)", "-oProxyCommand=x", "lab$", "a" * 33, "DOMAIN\\admin", "user@corp", 5])
def test_a_default_user_that_is_no_user_is_refused_and_read_as_none_where_it_is_kept(user: object) -> None:
    document = json.loads(encode_config(CONFIG)) | {"default_user": user}
    with pytest.raises(Invalid) as refused:
        decode_config(json.dumps(document).encode())
    (problem,) = refused.value.problems
    assert problem.key == "default_user"
    assert "up to 32 letters, digits, _, . and -, the first a letter or _" in problem.text
    assert "with another --default-user" in problem.text
    assert decode_config(json.dumps(document).encode(), kept=True).about.default_user == ""


@pytest.mark.parametrize("user", ["", "_lab", "Ann.Lee-2", "cloud-user"])
def test_a_default_user_is_kept_as_it_is(user: str) -> None:
    document = json.loads(encode_config(CONFIG)) | {"default_user": user}
    for kept in (False, True):
        assert decode_config(json.dumps(document).encode(), kept=kept).about.default_user == user


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"[" * 10_000, b"\xff", b"{}", b" " * 100_000], ids=str)
def test_what_is_no_configuration_is_refused(content: bytes) -> None:
    with pytest.raises(Invalid):
        decode_config(content)


def test_a_newer_schema_asks_for_a_newer_tinkbox() -> None:
    document = json.loads(encode_config(CONFIG)) | {"schema": 2}
    with pytest.raises(Invalid, match="a newer tinkbox made it"):
        decode_config(json.dumps(document).encode())


def test_a_block_map_is_read_as_it_was_written() -> None:
    assert decode_block_map(encode_block_map(MAP)) == MAP
    assert json.loads(encode_block_map(MAP)) == {
        "size": RAW.size,
        "frame_size": FRAME,
        "digest": RAW.digest,
        "frames": [[0, 0, 100, "c" * 64], [2, 140, 4096, "d" * 64], [3, 4236, 20, "e" * 64]],
    }


Change = Callable[[dict[str, Any]], object]
WRONG: Mapping[str, Change] = {
    "no frames": lambda entry: entry.pop("frames"),
    "frames twice": lambda entry: entry["frames"].append([3, 9000, 20, "e" * 64]),
    "beyond the end": lambda entry: entry["frames"].append([4, 9000, 20, "e" * 64]),
    "backwards": lambda entry: entry["frames"].reverse(),
    "overlapping": lambda entry: entry["frames"][1].__setitem__(1, 99),
    "no length": lambda entry: entry["frames"][1].__setitem__(2, 0),
    "a long frame": lambda entry: entry["frames"][2].__setitem__(2, MAX_FRAME_LENGTH + 1),
    "a huge offset": lambda entry: entry["frames"][2].__setitem__(1, 1 << 60),
    "a truth for a number": lambda entry: entry["frames"][0].__setitem__(1, False),
    "a digest of ours": lambda entry: entry["frames"][0].__setitem__(3, "sha256:" + "c" * 57),
    "an object": lambda entry: entry["frames"].append({}),
    "no size": lambda entry: entry.pop("size"),
    "another frame size": lambda entry: entry.update(frame_size=512),
    "an endless disk": lambda entry: entry.update(size=1 << 50),
    "many frames": lambda entry: entry.update(frames=[[]] * 300_000),
    "many numbers": lambda entry: entry.update(frames=[list(range(2_000_000))]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_block_map_is_refused(name: str) -> None:
    document = json.loads(encode_block_map(MAP))
    WRONG[name](document)
    with pytest.raises(Invalid):
        decode_block_map(json.dumps(document).encode())


def test_the_manifest_is_one_that_the_registry_takes() -> None:
    config, block_map = encode_config(CONFIG), encode_block_map(MAP)
    text = manifest_text(config, (f"sha256:{'f' * 64}", 5000), block_map, {"a": "b"})
    manifest = parse_manifest(text)
    assert manifest.artifact_type == ARTIFACT_TYPE
    assert [each.digest for each in manifest.blobs] == [digest_of(config), f"sha256:{'f' * 64}", digest_of(block_map)]
    index = parse_manifest(index_text(text, ("debian-13:1", "debian-13:latest")))
    assert {each.annotations["org.opencontainers.image.ref.name"] for each in index.manifests} == {
        "debian-13:1",
        "debian-13:latest",
    }
    assert {each.digest for each in index.manifests} == {digest_of(text)}
