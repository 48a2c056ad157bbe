"""Image archives: every kind that is promised, and every kind of damage."""

import asyncio
import errno
import gc
import gzip
import io
import json
import logging
import lzma
import struct
import tarfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.registry.serving import (
    Clock,
    Registry,
    chunks,
    configuration,
    descriptor,
    digest_of,
    docker_archive,
    layer,
    manifest,
    run,
    tar,
)
from tinkbox.model.errors import Invalid, TooLarge, Unavailable
from tinkbox.model.limits import DECLARED, Limits
from tinkbox.registry.archives import layouts
from tinkbox.registry.archives.layouts import Images, read_images
from tinkbox.registry.archives.limits import MAX_NAMES
from tinkbox.registry.archives.reading import MAX_GLOBAL, MAX_HEADER, unpack
from tinkbox.registry.blobs.blobs import Staged
from tinkbox.registry.manifests.manifests import DOCKER_MANIFEST, OCI_INDEX
from tinkbox.registry.storage import ImageStore

LAYERS = [layer({"a": b"1" * 3000}), layer({"b": b"2" * 3000})]
FILES = docker_archive(["x:v1"], LAYERS)
PACKED = tar(FILES.items())


def oci_layout(name: str | None) -> dict[str, bytes]:
    config = configuration(LAYERS)
    image = manifest(config, LAYERS)
    inner = json.dumps(
        {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [descriptor(image, DOCKER_MANIFEST)]}
    ).encode()
    annotations = {"org.opencontainers.image.ref.name": name} if name else {}
    entry = {**descriptor(inner, OCI_INDEX), "annotations": annotations}
    blobs = {f"blobs/sha256/{digest_of(each)[7:]}": each for each in (*LAYERS, config, image, inner)}
    index = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    return {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}', **blobs, "index.json": index}


def stored(root: Path) -> set[Path]:
    """Every file the registry holds, but for what it only remembers."""
    return {
        path
        for path in root.rglob("*")
        if path.is_file() and path.name not in ("verified", "promised", "known-repositories")
    }


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress])
async def test_an_archive_is_loaded_compressed_or_not(registry: Registry, compress: Callable[[bytes], bytes]) -> None:
    assert await registry.store.load(chunks(compress(PACKED)), who="anna") == ["x:v1"]
    assert {digest_of(each) for each in LAYERS} < registry.blobs()
    assert (await registry.http.get("/v2/x/manifests/v1")).status == 200
    assert registry.leftovers() == []


async def test_a_compressed_layer_stays_as_it_is(registry: Registry) -> None:
    packed = gzip.compress(LAYERS[0])
    await registry.store.load(chunks(tar(docker_archive(["x:v1"], [packed]).items())), who="anna")
    document = await (await registry.http.get("/v2/x/manifests/v1")).json(content_type=None)
    assert [each["digest"] for each in document["layers"]] == [digest_of(packed)]
    assert document["layers"][0]["mediaType"].endswith(".tar.gzip")


async def test_an_oci_layout_keeps_its_digests(registry: Registry) -> None:
    files = oci_layout("tools/x:v1")
    assert await registry.store.load(chunks(tar(files.items())), who="anna") == ["tools/x:v1"]
    entry = json.loads(files["index.json"])["manifests"][0]
    assert (await registry.http.get("/v2/tools/x/manifests/v1")).headers["Docker-Content-Digest"] == entry["digest"]


async def test_names_below_the_current_folder_are_found(registry: Registry) -> None:
    assert await registry.store.load(
        chunks(tar((f"./{name}", content) for name, content in FILES.items())), who="anna"
    ) == ["x:v1"]


def without(name: str) -> bytes:
    (missing,) = [each for each in FILES if each.endswith(name)][:1]
    return tar((each, content) for each, content in FILES.items() if each != missing)


def with_file(name: str, content: bytes) -> bytes:
    return tar({**FILES, name: content}.items())


def far_away(size: int) -> bytes:
    """An archive whose first file says that it is as long as this, in base-256 (GNU tar)."""
    packed = bytearray(PACKED)
    packed[124:136] = b"\x80\0\0\0" + struct.pack(">Q", size)
    packed[148:156] = b" " * 8
    packed[148:156] = b"%06o\0 " % sum(packed[:512])
    return bytes(packed)


def with_header(kind: bytes, content: bytes) -> bytes:
    """The archive with another member before its files, of this type: a long name, or a pax header."""
    added = tarfile.TarInfo("added")
    added.type, added.size = kind, len(content)
    block = added.tobuf(tarfile.USTAR_FORMAT) + content + b"\0" * (-len(content) % 512)
    return block + PACKED


# How hard it is packed does not matter here; by itself xz would fill tables of a gigabyte for it.
GIGABYTE = {"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}
DAMAGED = {
    "longer than any disk": far_away(1 << 62),
    "longer than any number": far_away((1 << 64) - 1),
    "a long name without an end": with_header(tarfile.GNUTYPE_LONGNAME, b"x" * MAX_HEADER),
    "a pax header without an end": with_header(tarfile.XHDTYPE, b"9" * MAX_HEADER),
    "what is said of all files without an end": with_header(
        tarfile.XGLTYPE, b"".join(b"13 key%03d=x\n" % each for each in range(MAX_GLOBAL + 1))
    ),
    "xz that asks for a gigabyte": lzma.compress(PACKED, filters=[GIGABYTE]),
    "empty": b"",
    "text": b"this is no archive\n" * 100,
    "a tar of something else": tar([("etc/passwd", b"root")]),
    "cut": PACKED[: len(PACKED) // 2],
    "cut gzip": gzip.compress(PACKED)[:-9],
    "cut xz": lzma.compress(PACKED)[:-9],
    "gzip with another checksum": gzip.compress(PACKED)[:-8] + b"\0" * 8,
    "gzip of text": gzip.compress(b"text"),
    "zstd": b"\x28\xb5\x2f\xfd" + b"\0" * 100,
    "no layer": without("layer.tar"),
    "no configuration": without(f"{digest_of(configuration(LAYERS))[7:]}.json"),
    "no list": without("manifest.json"),
    "list that is none": with_file("manifest.json", b"[[["),
    "name that is none": with_file("manifest.json", FILES["manifest.json"].replace(b"x:v1", b"../:1")),
    "layer outside": with_file("manifest.json", FILES["manifest.json"].replace(b'"Layers": ["', b'"Layers": ["/etc/')),
    "no names": with_file("manifest.json", FILES["manifest.json"].replace(b'["x:v1"]', b"[]")),
    "layout without names": tar(oci_layout(None).items()),
    "layout without a blob": tar(list(oci_layout("x:1").items())[2:]),
}


@pytest.mark.parametrize("packed", DAMAGED.values(), ids=DAMAGED.keys())
async def test_a_damaged_archive_is_refused_in_one_line_and_nothing_is_stored(
    registry: Registry, packed: bytes
) -> None:
    with pytest.raises(Invalid) as refusal:
        await registry.store.load(chunks(packed), who="anna")
    assert str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1
    assert stored(registry.root) == set()


async def test_several_xz_streams_are_one(registry: Registry) -> None:
    half = len(PACKED) // 2
    packed = lzma.compress(PACKED[:half]) + b"\0" * 8 + lzma.compress(PACKED[half:]) + b"\0" * 4
    assert await registry.store.load(chunks(packed), who="anna") == ["x:v1"]


@pytest.mark.parametrize("kind", ["docker", "oci"])
async def test_more_names_than_are_taken_are_refused(registry: Registry, kind: str) -> None:
    names = [f"x:{each}" for each in range(MAX_NAMES + 1)]
    files = docker_archive(names, LAYERS)
    if kind == "oci":
        files = oci_layout("x:0")
        index = json.loads(files["index.json"])
        entry = index["manifests"][0]
        index["manifests"] = [{**entry, "annotations": {"org.opencontainers.image.ref.name": each}} for each in names]
        files["index.json"] = json.dumps(index).encode()
    with pytest.raises(Invalid, match="gives 1001 names to images: at most 1000 are taken"):
        await registry.store.load(chunks(tar(files.items())), who="anna")
    assert stored(registry.root) == set()


async def test_more_manifests_than_are_taken_are_refused(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "MAX_MANIFESTS", 1)
    with pytest.raises(Invalid, match="more than 1 manifests: save fewer"):
        await registry.store.load(chunks(tar(oci_layout("x:1").items())), who="anna")


def told_of_tag(registry: Registry, tag: str, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """An event that is there when the store has a tag."""
    told, loop, keep = asyncio.Event(), asyncio.get_running_loop(), registry.store._repositories.tag

    def kept(repository: str, name: str, link: Any) -> None:
        keep(repository, name, link)
        if name == tag:
            loop.call_soon_threadsafe(told.set)

    monkeypatch.setattr(registry.store._repositories, "tag", kept)
    return told


async def test_others_have_their_turn_between_two_tags(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    third = told_of_tag(registry, "3", monkeypatch)
    names = [f"x:{each}" for each in range(50)]
    loading = chunks(tar(docker_archive(names, LAYERS).items()))
    async with asyncio.TaskGroup() as group:
        group.create_task(registry.store.load(loading, who="anna"))
        await third.wait()
        await registry.store.delete("x:3", who="bob")
        assert not registry.store.has("x", "49")
    assert registry.store.has("x", "49")


async def test_a_load_that_is_cancelled_ends_between_two_tags(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    third = told_of_tag(registry, "3", monkeypatch)
    names = [f"x:{each}" for each in range(50)]
    async with asyncio.TaskGroup() as group:
        loading = group.create_task(registry.store.load(chunks(tar(docker_archive(names, LAYERS).items())), who="anna"))
        await third.wait()
        loading.cancel()
    assert not registry.store.has("x", "49")
    assert registry.leftovers() == []
    assert (await registry.http.get("/v2/x/manifests/3")).status == 200
    assert "images loaded by anna: x:0, x:1, x:2, x:3" in caplog.text


async def test_what_follows_a_gzip_stream_is_told_in_plain_words(registry: Registry) -> None:
    with pytest.raises(
        Invalid, match=r"damaged or is none \(its gzip stream is damaged, or something else follows it\)"
    ):
        await registry.store.load(chunks(gzip.compress(PACKED) + b"garbage"), who="anna")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
async def test_what_follows_the_end_of_an_archive_is_refused(
    registry: Registry, pack: Callable[[bytes], bytes]
) -> None:
    second = tar(docker_archive(["y:v1"], [layer({"c": b"3"})]).items())
    with pytest.raises(Invalid, match="something follows the end of the image archive: load each archive by itself"):
        await registry.store.load(chunks(pack(PACKED) + pack(second)), who="anna")
    assert stored(registry.root) == set()
    assert await registry.store.load(chunks(pack(PACKED + bytes(3 << 20))), who="anna") == ["x:v1"]


async def test_archives_that_tar_joined_are_refused(registry: Registry) -> None:
    second = tar(docker_archive(["y:v1"], [layer({"c": b"3"})]).items())
    bare = PACKED.rstrip(b"\0")
    with pytest.raises(Invalid, match=r"several image archives in one.* load each archive by itself"):
        await registry.store.load(chunks(bare + bytes(-len(bare) % 512) + second), who="anna")
    assert stored(registry.root) == set()


async def test_an_archive_without_an_end_is_loaded_and_one_with_a_damaged_header_is_not(registry: Registry) -> None:
    bare = PACKED.rstrip(b"\0")
    bare += bytes(-len(bare) % 512)
    assert await registry.store.load(chunks(bare), who="anna") == ["x:v1"]
    with pytest.raises(Invalid, match=r"damaged behind its first [0-9]+ files"):
        await registry.store.load(chunks(bare + b"x" * 512), who="anna")


async def test_a_file_that_an_archive_lists_often_is_extracted_once(tmp_path: Path) -> None:
    staged: list[Staged] = []

    def stage() -> Staged:
        staged.append(Staged(tmp_path / str(len(staged))))
        return staged[-1]

    config = configuration(LAYERS)
    image = manifest(config, [*LAYERS, *LAYERS])
    entry = {**descriptor(image, DOCKER_MANIFEST), "annotations": {"org.opencontainers.image.ref.name": "x:1"}}
    blobs = {f"blobs/sha256/{digest_of(each)[7:]}": each for each in (*LAYERS, config, image)}
    index = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    async with unpack(chunks(tar([*blobs.items(), ("index.json", index)])), stage) as archive:
        assert len(archive.blobs) == 3
    assert len(staged) == 4  # the archive's own file is one


async def test_one_bad_image_of_two_refuses_both(registry: Registry) -> None:
    second = docker_archive(["y:v1"], [layer({"c": b"3"})])
    entries = json.loads(FILES["manifest.json"]) + json.loads(second["manifest.json"])
    files = {**FILES, **second, "manifest.json": json.dumps(entries).encode()}
    assert await registry.store.load(chunks(tar(files.items())), who="anna") == ["x:v1", "y:v1"]
    for line in await registry.store.images():
        await registry.store.delete(f"{line['name']}:{line['tag']}", who="anna")
    broken = next(name for name in second if name.endswith("layer.tar"))
    with pytest.raises(Invalid, match="damaged"):
        await registry.store.load(chunks(tar({**files, broken: layer({"c": b"4"})}.items())), who="anna")
    assert stored(registry.root) == set()


@given(place=st.integers(0, len(PACKED) * 8 - 1), cut=st.none() | st.integers(0, len(PACKED)))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_an_archive_with_a_flipped_bit_is_loaded_unharmed_or_refused(
    tmp_path_factory: pytest.TempPathFactory, place: int, cut: int | None
) -> None:
    """Damage in a tar's padding is harmless; anywhere else nothing is stored, or what is stored is what it says."""
    packed = bytearray(PACKED)
    packed[place // 8] ^= 1 << place % 8
    root = tmp_path_factory.mktemp("registry")
    store = ImageStore(root, Clock(), Limits(DECLARED, time.monotonic))
    try:
        names = await store.load(chunks(bytes(packed[:cut])), who="anna")
    except Invalid:
        assert stored(root) == set()
        return
    assert len(names) == 1
    (line,) = await store.images()
    content = (await store.manifest(line["name"], line["digest"])).content
    assert [each["digest"] for each in json.loads(content)["layers"]] == [digest_of(each) for each in LAYERS]


def member(
    name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, link, len(content)
    return made, content


async def test_files_that_are_links_to_others_are_read(registry: Registry) -> None:
    """As Docker before 25 writes a layer that several images have."""
    first, second = [name for name in FILES if name.endswith("layer.tar")]
    members = [member(name, content) for name, content in FILES.items() if not name.endswith("layer.tar")]
    members += [
        member("shared/one", LAYERS[0]),
        member(first, kind=tarfile.SYMTYPE, link="../shared/one"),
        member("again", kind=tarfile.LNKTYPE, link="two"),
        member("two", LAYERS[1]),
        member(second, kind=tarfile.SYMTYPE, link="../again"),
    ]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for each, content in members:
            archive.addfile(each, io.BytesIO(content))
    assert await registry.store.load(chunks(packed.getvalue()), who="anna") == ["x:v1"]
    assert {digest_of(each) for each in LAYERS} < registry.blobs()


async def test_holes_in_a_file_are_zeros(registry: Registry, tmp_path: Path) -> None:
    """As `tar --sparse` packs them."""
    content = layer({"a": bytes(1 << 20)})
    for name, packed in docker_archive(["x:v1"], [content]).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        with (tmp_path / name).open("wb") as file:
            for start in range(0, len(packed), 4096):
                piece = packed[start : start + 4096]
                file.write(piece) if any(piece) else file.seek(len(piece), 1)
            file.truncate(len(packed))
    names = [each.name for each in tmp_path.iterdir()]
    status, told = await run("tar", "-C", tmp_path, "--sparse", "-cf", tmp_path / "x.tar", *names)
    assert status == 0, told
    archive = (tmp_path / "x.tar").read_bytes()
    assert len(archive) < len(content) // 2
    assert await registry.store.load(chunks(archive), who="anna") == ["x:v1"]
    assert digest_of(content) in registry.blobs()


async def test_the_files_in_an_archive_are_no_objects_each(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand of them would hold up everything else while they are looked through, and when they go."""
    alive: list[int] = []

    def counting(*arguments: Any) -> Images:
        alive.append(sum(isinstance(each, tarfile.TarInfo) for each in gc.get_objects()))
        return read_images(*arguments)

    monkeypatch.setattr("tinkbox.registry.archives.reading.read_images", counting)
    many = {**FILES, **{f"more/{number}": b"x" for number in range(1000)}}
    archive = tar(many.items())
    gc.collect()  # what other tests left
    await registry.store.load(chunks(archive, 1 << 20), who="anna")
    assert alive[0] < 100


async def test_the_blobs_of_an_archive_come_to_the_disk_together(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While they do, no other image is stored or deleted."""
    synced: list[Path] = []
    monkeypatch.setattr("tinkbox.registry.blobs.blobs.sync_folder", synced.append)
    layers = [layer({str(number): b"1"}) for number in range(50)]
    await registry.store.load(chunks(tar(docker_archive(["x:v1"], layers).items())), who="anna")
    # Once for all blobs, once for the manifest, which is another.
    assert synced.count(registry.root / "blobs" / "sha256") == 2


async def test_links_in_circles_are_refused(registry: Registry) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, target in (("manifest.json", "other"), ("other", "manifest.json")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    with pytest.raises(Invalid):
        await registry.store.load(chunks(packed.getvalue()), who="anna")
    assert stored(registry.root) == set()


async def test_a_client_that_goes_away_leaves_nothing(registry: Registry) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield PACKED[: len(PACKED) // 2]
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await registry.store.load(breaking(), who="anna")
    assert stored(registry.root) == set()


async def test_too_large_an_archive_is_refused(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = gzip.compress(bytes(8 << 20))
    assert len(bomb) < 1 << 20
    monkeypatch.setattr("tinkbox.registry.archives.reading.MAX_ARCHIVE", 1 << 20)
    for packed in (bomb, bytes(2 << 20)):
        with pytest.raises(TooLarge):
            await registry.store.load(chunks(packed, 1 << 16), who="anna")
        assert stored(registry.root) == set()


async def test_a_full_disk_is_said_and_leaves_nothing(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(Unavailable, match="disk is full"):
        await registry.store.load(chunks(PACKED), who="anna")
    assert stored(registry.root) == set()


async def test_an_image_is_found_by_every_spelling_of_its_name(registry: Registry) -> None:
    await registry.store.load(
        chunks(tar(docker_archive(["docker.io/x:v1", "lab.example:5000/x:v1"], LAYERS).items())), who="anna"
    )
    for name, kept in (
        ("docker.io/library/x:v1", "docker.io/library/x:v1"),
        ("index.docker.io/x:v1", "docker.io/library/x:v1"),
        ("lab.example:5000/x:v1", "lab.example:5000/x:v1"),
        ("lab.example_5000/x:v1", "lab.example:5000/x:v1"),
    ):
        assert (await registry.store.described(name))["reference"] == kept
    await registry.push_image("docker.io/alpine", "v1")
    await registry.store.delete("docker.io/alpine:v1", who="anna")
    assert registry.store.digest("docker.io/alpine", "v1") == ""


async def test_a_blob_that_a_push_was_told_of_need_not_be_in_an_archive(registry: Registry) -> None:
    digests = [await registry.push_blob(each) for each in LAYERS]
    files = oci_layout("tools/x:v1")
    lacking = {name: content for name, content in files.items() if content not in LAYERS}
    lost = f"sha256:{'0' * 64}"
    assert await registry.store.absent([*digests, lost]) == [lost]
    assert await registry.store.load(chunks(tar(lacking.items())), who="anna") == ["tools/x:v1"]
    registry.blob_path(digests[0]).write_bytes(b"!" + LAYERS[0][1:])
    with pytest.raises(Invalid, match="lacks blobs"):
        await registry.store.load(chunks(tar(lacking.items())), who="anna")
