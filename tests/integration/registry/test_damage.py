"""What is damaged or stray below the registry's folder spoils nothing else, is shown, and is healed by a push."""

import asyncio
import errno
import io
import json
import logging
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from aiohttp import ClientPayloadError

from tests.integration.registry.serving import (
    Registry,
    chunks,
    configuration,
    descriptor,
    digest_of,
    layer,
    manifest,
    serving,
    tar,
    until,
)
from tests.integration.registry.test_storage import push_index, sign
from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.registry.deletion import collection
from tinkbox.registry.manifests.manifests import DOCKER_MANIFEST, OCI_INDEX


def tag_file(registry: Registry, repository: str, tag: str) -> Path:
    return registry.root / "repositories" / repository / "_tags" / tag


def link_file(registry: Registry, repository: str, digest: str) -> Path:
    return registry.root / "repositories" / repository / "_manifests" / digest.removeprefix("sha256:")


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def replace(path: Path, content: bytes) -> None:
    """Damage one file alone, though it may be the same as another."""
    path.unlink()
    path.write_bytes(content)


async def problems(registry: Registry) -> dict[str, str]:
    return {f"{line['name']}:{line['tag']}": line["problem"] for line in await registry.store.images()}


async def status_of(registry: Registry, path: str) -> int:
    async with registry.http.get(path) as answer:
        await answer.read()
        return answer.status


async def test_docker_hub_does_not_stand_in_for_a_damaged_tag(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        await registry.push_image("alpine", "v1")
        await registry.push_image("docker.io/library/alpine", "v1", "other")
    replace(tag_file(registry, "alpine", "v1"), b"")
    async with serving(tmp_path) as registry:
        assert await status_of(registry, "/v2/alpine/manifests/v1") == 503


GARBAGE = [
    b"",
    b"\0" * 200,
    b"garbage",
    b"[]",
    b"{}",
    b'{"digest": 7, "media_type": "", "pushed_at": ""}',
    b'{"digest": "sha256:../../secret", "media_type": "x/y", "pushed_at": ""}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("content", GARBAGE)
async def test_a_damaged_tag_is_shown_and_spoils_nothing_else(tmp_path: Path, content: bytes) -> None:
    async with serving(tmp_path) as registry:
        digest = await registry.push_image("x", "v1")
        await registry.push_image("x", "v2", "other")
        await registry.push_image("y", "v1")
    replace(tag_file(registry, "x", "v1"), content)
    async with serving(tmp_path) as registry:
        assert await status_of(registry, "/v2/x/manifests/v1") == 503
        for path in ("/v2/x/manifests/v2", f"/v2/x/manifests/{digest}", "/v2/y/manifests/v1", "/v2/_catalog"):
            assert await status_of(registry, path) == 200
        assert await (await registry.http.get("/v2/x/tags/list")).json() == {"name": "x", "tags": ["v2"]}
        found = await problems(registry)
        assert {name for name, problem in found.items() if problem} == {"x:v1"}
        assert "the tag is damaged" in found["x:v1"]
        assert registry.store.digest("x", "v1") == ""
        await registry.store.delete("y:v1", who="anna")
        assert await registry.push_image("x", "v1") == digest
        assert set((await problems(registry)).values()) == {""}
        assert await status_of(registry, "/v2/x/manifests/v1") == 200


async def test_a_damaged_tag_can_be_deleted(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        digest = await registry.push_image("x", "v1")
    replace(tag_file(registry, "x", "v1"), b"")
    async with serving(tmp_path) as registry:
        await registry.store.delete("x:v1", who="anna")
        assert await problems(registry) == {"x:": ""}
        with pytest.raises(NotFound):
            await registry.store.delete("x:v1", who="anna")
        await registry.store.delete(f"x@{digest}", who="anna")
        assert await problems(registry) == {}


@pytest.mark.parametrize("content", GARBAGE)
async def test_a_damaged_note_of_a_manifest_loses_nothing(tmp_path: Path, content: bytes) -> None:
    """What it said is in its name, and in the manifest."""
    async with serving(tmp_path) as registry:
        digest = await registry.push_image("x", "v1")
    replace(link_file(registry, "x", digest), content)
    async with serving(tmp_path) as registry:
        answer = await registry.http.get(f"/v2/x/manifests/{digest}")
        assert (answer.status, answer.content_type) == (200, DOCKER_MANIFEST)
        assert digest_of(await answer.read()) == digest
        assert await problems(registry) == {"x:v1": ""}
        await registry.store.delete("x:v1", who="anna")
        assert await problems(registry) == {}


async def test_a_tag_whose_manifest_is_gone_is_shown(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        lost = await registry.push_image("x", "v1")
        await registry.push_image("x", "v2", "other")
    link_file(registry, "x", lost).unlink()
    registry.blob_path(lost).unlink()
    async with serving(tmp_path) as registry:
        assert "manifest is damaged" in (await problems(registry))["x:v1"]
        await registry.push_image("x", "v1")
        assert set((await problems(registry)).values()) == {""}


@pytest.mark.parametrize("part", ["manifest", "layer", "configuration"])
async def test_a_damaged_part_of_an_image_is_shown_and_healed_by_a_push(registry: Registry, part: str) -> None:
    content = layer({"hello.txt": b"damaged"})
    config = configuration([content])
    image = await registry.push_image("x", "v1", "damaged")
    await registry.push_image("x", "v2", "other")
    digest = {"manifest": image, "layer": digest_of(content), "configuration": digest_of(config)}[part]
    flip_a_bit(registry.blob_path(digest))
    kind = "manifests" if part == "manifest" else "blobs"
    assert await status_of(registry, f"/v2/x/{kind}/{digest}") == 503
    assert await status_of(registry, "/v2/x/manifests/v2") == 200
    assert await status_of(registry, "/v2/_catalog") == 200
    found = await problems(registry)
    assert {name for name, problem in found.items() if problem} == {"x:v1"}
    assert "damaged" in found["x:v1"]
    await registry.push_image("y", "v1", "third")
    await registry.store.delete("y:v1", who="anna")
    await registry.push_image("x", "v1", "damaged")
    assert set((await problems(registry)).values()) == {""}
    assert await status_of(registry, f"/v2/x/{kind}/{digest}") == 200


async def test_a_damaged_image_can_be_deleted(registry: Registry) -> None:
    image = await registry.push_image("x", "v1")
    await registry.push_image("x", "v2", "other")
    flip_a_bit(registry.blob_path(image))
    await registry.store.delete("x:v1", who="anna")
    assert await problems(registry) == {"x:v2": ""}


async def test_a_push_is_asked_to_send_again_what_is_damaged(registry: Registry) -> None:
    """Clients ask which blobs they need not send: the answer is no, and not that something is wrong, so one push heals it."""
    for ask in ("head", "mount"):
        digest = await registry.push_blob(b"some bytes" * 1000)
        flip_a_bit(registry.blob_path(digest))
        if ask == "head":
            assert (await registry.operator.head(f"/v2/x/blobs/{digest}")).status == 404
        else:
            assert (await registry.operator.post(f"/v2/x/blobs/uploads/?mount={digest}&from=hello")).status == 202
    image = await registry.push_image("x", "v1")
    flip_a_bit(registry.blob_path(image))
    assert (await registry.operator.head("/v2/x/manifests/v1")).status == 404


def make_folder(path: Path) -> None:
    path.mkdir(parents=True)


def make_file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"stray")


@pytest.mark.parametrize("make", [make_folder, make_file])
@pytest.mark.parametrize(
    "place",
    [
        "repositories/lost+found",
        "repositories/.hidden",
        "repositories/Upper/_manifests",
        "repositories/x/lost",
        "repositories/x/_tags/.swap",
        "repositories/x/_tags/lost+found",
        "repositories/x/_tags/a name",
        "repositories/x/_manifests/.swap",
        "repositories/x/_manifests/readme",
        "repositories/empty/_manifests",
        "blobs/sha256/readme",
        "blobs/sha512/readme",
        "blobs/readme",
        "incoming/readme",
        "readme",
    ],
)
async def test_what_is_stray_is_passed_over(tmp_path: Path, make: Callable[[Path], None], place: str) -> None:
    async with serving(tmp_path) as registry:
        digest = await registry.push_image("x", "v1")
        await registry.push_image("y", "v1", "other")
    make(tmp_path / place)
    async with serving(tmp_path) as registry:
        await nothing_is_spoilt(registry, digest)


async def nothing_is_spoilt(registry: Registry, digest: str) -> None:
    assert await (await registry.http.get("/v2/_catalog")).json() == {"repositories": ["x", "y"]}
    assert await (await registry.http.get("/v2/x/tags/list")).json() == {"name": "x", "tags": ["v1"]}
    assert await problems(registry) == {"x:v1": "", "y:v1": ""}
    for selector in ("v1", digest):
        assert await status_of(registry, f"/v2/x/manifests/{selector}") == 200
    await registry.store.delete("y:v1", who="anna")
    await registry.push_image("x", "v2", "third")
    await registry.store.delete("x:v1", who="anna")
    assert await problems(registry) == {"x:v2": ""}


async def test_a_folder_is_no_tag_and_no_manifest_whatever_its_name(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        await registry.push_image("x", "v1")
    make_folder(tag_file(registry, "x", "v2"))
    make_folder(link_file(registry, "x", f"sha256:{'a' * 64}"))
    async with serving(tmp_path) as registry:
        assert await (await registry.http.get("/v2/x/tags/list")).json() == {"name": "x", "tags": ["v1"]}
        assert await problems(registry) == {"x:v1": ""}
        for path in ("manifests/v2", f"manifests/sha256:{'a' * 64}"):
            assert await status_of(registry, f"/v2/x/{path}") == 404
        await registry.push_image("x", "v3", "other")
        await registry.store.delete("x:v3", who="anna")
        assert await problems(registry) == {"x:v1": ""}


@pytest.mark.parametrize("place", ["x", "x/_tags/v1"])
async def test_what_is_in_the_way_of_a_push_is_named(registry: Registry, place: str) -> None:
    await registry.push_image("y", "v1")
    stray = registry.root / "repositories" / place
    if place == "x":
        make_file(stray)
    else:
        make_folder(stray)
    body = await (await registry.http.get("/v2/y/manifests/v1")).read()
    answer = await registry.put_manifest("x", "v1", body)
    assert answer.status == 503
    assert str(stray) in (await answer.json())["errors"][0]["message"]
    if place == "x":
        stray.unlink()
    else:
        shutil.rmtree(stray)
    assert (await registry.put_manifest("x", "v1", body)).status == 201


class Unreadable(io.FileIO):
    def readinto(self, _: object) -> NoReturn:
        raise OSError(errno.EIO, "Input/output error")

    def read(self, _: int = -1) -> NoReturn:
        self.readinto(b"")


async def test_a_disk_that_cannot_read_a_file_spoils_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as registry:
        tagged, layer_of = await registry.push_image("x", "v1"), digest_of(layer({"hello.txt": b"other"}))
        await registry.push_image("x", "v2", "other")
    unreadable = {tag_file(registry, "x", "v1"), registry.blob_path(layer_of)}
    opened = Path.open

    def open_path(path: Path, *arguments: Any, **named: Any) -> Any:
        return Unreadable(path) if path in unreadable else opened(path, *arguments, **named)

    (tmp_path / "verified").unlink()  # so that all has to be read again
    monkeypatch.setattr(Path, "open", open_path)
    async with serving(tmp_path) as registry:
        found = await problems(registry)
        assert {name for name, problem in found.items() if problem} == {"x:v1"}
        with pytest.raises(Unavailable, match="damaged on the disk"):
            await registry.store.manifest("x", "v1")
        assert await status_of(registry, f"/v2/x/manifests/{tagged}") == 200
        assert await status_of(registry, f"/v2/x/blobs/{layer_of}") == 503
        assert await status_of(registry, f"/v2/x/blobs/{layer_of}") == 404
        found = await problems(registry)
        assert {name for name, problem in found.items() if problem} == {"x:v1", "x:v2"}


@pytest.mark.parametrize("is_known", [False, True])
async def test_a_manifest_that_the_disk_cannot_read_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_known: bool
) -> None:
    """Also one that counts as whole, for it was hashed within a day."""
    async with serving(tmp_path) as registry:
        lost = await registry.push_image("x", "v1")
        await registry.push_image("y", "v1", "other")
    opened, unreadable = Path.open, registry.blob_path(lost)

    def open_path(path: Path, *arguments: Any, **named: Any) -> Any:
        return Unreadable(path) if path == unreadable else opened(path, *arguments, **named)

    if not is_known:
        (tmp_path / "verified").unlink()
    with monkeypatch.context() as context:
        context.setattr(Path, "open", open_path)
        async with serving(tmp_path) as registry:
            found = await problems(registry)
            assert {name for name, problem in found.items() if problem} == {"x:v1"}
            assert await status_of(registry, "/v2/y/manifests/v1") == 200
            assert await status_of(registry, f"/v2/x/manifests/{lost}") in (404, 503)
    async with serving(tmp_path) as registry:
        assert await registry.push_image("x", "v1") == lost
        assert not any((await problems(registry)).values())


@pytest.mark.parametrize("way", ["gone", "a folder", "cut"])
async def test_the_file_that_a_repository_has_of_a_manifest_is_not_needed_while_a_tag_means_it(
    tmp_path: Path, way: str
) -> None:
    async with serving(tmp_path) as registry:
        image = await registry.push_image("x", "v1")
        left = await registry.left()
    (record,) = (tmp_path / "repositories" / "x" / "_manifests").iterdir()
    record.unlink()
    if way == "a folder":
        record.mkdir()
    elif way == "cut":
        record.write_text("{")
    async with serving(tmp_path) as registry:
        assert await problems(registry) == {"x:v1": ""}
        await registry.store.collect(who="anna", now=True)
        assert await registry.left() == left
        assert await status_of(registry, f"/v2/x/manifests/{image}") == 200


async def test_what_lies_where_a_blob_belongs_stops_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        lost = await registry.push_image("x", "v1")
        await registry.push_image("y", "v1", "other")
    registry.blob_path(lost).unlink()
    registry.blob_path(lost).mkdir()
    async with serving(tmp_path) as registry:
        found = await problems(registry)
        assert {name for name, problem in found.items() if problem} == {"x:v1"}
        with pytest.raises(Unavailable, match="is no file, and a blob belongs there: remove it"):
            await registry.store.manifest("x", "v1")
        registry.blob_path(lost).rmdir()
        assert await registry.push_image("x", "v1") == lost


async def test_a_damaged_signature_is_told_also_when_nobody_knows_what_it_refers_to(tmp_path: Path) -> None:
    """While the registry runs it is known from before."""
    async with serving(tmp_path) as registry:
        image = await registry.push_image("x", "v1")
        signature = await sign(registry, "x", image)
        await registry.push_image("y", "v1", "other")
        flip_a_bit(registry.blob_path(signature))
        (told,) = await registry.store.referring("x:v1")
        assert (told["digest"], told["problem"]) == (signature, "its manifest is damaged: push or load it again")
    async with serving(tmp_path) as registry:
        (told,) = await registry.store.referring("x:v1")
        assert (told["digest"], "nobody knows any more" in told["problem"]) == (signature, True)
        assert await registry.store.referring("y:v1") == []
        assert await sign(registry, "x", image) == signature
        assert [each["problem"] for each in await registry.store.referring("x:v1")] == [""]


async def test_a_damaged_image_of_an_index_is_told_and_one_that_was_never_here_is_not(registry: Registry) -> None:
    _, members = await push_index(registry, "x", "v1", "amd64", "arm64")
    assert (await registry.store.described("x:v1"))["problem"] == ""
    flip_a_bit(registry.blob_path(members[1]))
    assert (await registry.store.described("x:v1"))["problem"].startswith(f"its manifest {members[1]} is damaged")
    body = json.dumps({"schemaVersion": 2, "manifests": [descriptor(b"elsewhere", DOCKER_MANIFEST)]}).encode()
    assert (await registry.put_manifest("x", "sparse", body, OCI_INDEX)).status == 201
    assert (await registry.store.described("x:sparse"))["problem"] == ""


class Disk:
    """What the system says when one blob, or the folder of all, is asked for; `mend` ends that."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._open, self._lstat, self._scandir = Path.open, Path.lstat, os.scandir

    def cannot_open(self, unreadable: Path, number: int) -> None:
        def open_path(path: Path, *arguments: Any, **named: Any) -> Any:
            if path == unreadable:
                raise OSError(number, os.strerror(number), str(path))
            return self._open(path, *arguments, **named)

        self._monkeypatch.setattr(Path, "open", open_path)

    def cannot_read(self, unreadable: Path) -> None:
        """Beyond its first bytes."""

        def open_path(path: Path, *arguments: Any, **named: Any) -> Any:
            return Unreadable(path) if path == unreadable else self._open(path, *arguments, **named)

        sent = []

        def sendfile(to: int, file: int, offset: int, _: int) -> int:
            if sent:
                raise OSError(errno.EIO, "Input/output error")
            sent.append(os.write(to, os.pread(file, 10, offset)))
            return sent[0]

        self._monkeypatch.setattr(Path, "open", open_path)
        self._monkeypatch.setattr(os, "sendfile", sendfile)

    def cannot_delete(self) -> None:
        def unlink(path: Path, missing_ok: bool = False) -> NoReturn:
            raise OSError(errno.EROFS, "Read-only file system", str(path))

        self._monkeypatch.setattr(Path, "unlink", unlink)

    def cannot_enter(self, folder: Path) -> None:
        def lstat(path: Path) -> os.stat_result:
            if path.parent == folder:
                raise OSError(errno.EACCES, "Permission denied", str(path))
            return self._lstat(path)

        def scandir(path: Any) -> Any:
            if Path(path) == folder:
                raise OSError(errno.EACCES, "Permission denied", str(path))
            return self._scandir(path)

        self._monkeypatch.setattr(Path, "lstat", lstat)
        self._monkeypatch.setattr(os, "scandir", scandir)

    def mend(self) -> None:
        self._monkeypatch.undo()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


async def told(registry: Registry, path: str) -> tuple[int, str]:
    """The status and message of a refusal."""
    async with registry.http.get(path) as answer:
        (error,) = (await answer.json())["errors"]
        return answer.status, error["message"]


SINCE = "damaged since 2026-01-01 00:00 UTC, 1 of its blobs is gone, changed or cannot be read"


async def image_with_layer(registry: Registry) -> str:
    """Push an image x:v1; returns the digest of its layer."""
    await registry.push_image("x", "v1")
    await registry.push_image("x", "v2", "other")
    return digest_of(layer({"hello.txt": b"hello"}))


async def is_marked_and_healed_by_a_push(registry: Registry, disk: Disk, digest: str) -> None:
    """All tell that the layer of x:v1 is damaged, whatever becomes of the disk, until it is pushed again."""
    registry.clock.advance(hours=5)
    for _ in range(2):
        found = await problems(registry)
        assert found == {"x:v1": f"{SINCE} ({digest}): push or load it again", "x:v2": ""}
        assert (await registry.operator.head(f"/v2/x/blobs/{digest}")).status == 404
        assert (await registry.operator.post(f"/v2/x/blobs/uploads/?mount={digest}&from=x")).status == 202
        assert await registry.store.absent([digest]) == [digest]
        assert registry.store.damage("x", "v1") == found["x:v1"]
        assert not await registry.store.is_whole("x", "v1")
    disk.mend()
    await registry.push_image("x", "v1")
    assert set((await problems(registry)).values()) == {""}
    assert await registry.store.absent([digest]) == []
    assert await status_of(registry, f"/v2/x/blobs/{digest}") == 200


async def test_a_blob_that_cannot_be_read_to_its_end_is_marked_and_healed_by_a_push(
    registry: Registry, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """Also one that counts as whole, for it was hashed within a day."""
    digest = await image_with_layer(registry)
    disk.cannot_read(registry.blob_path(digest))
    async with registry.http.get(f"/v2/x/blobs/{digest}") as answer:
        assert answer.status == 200
        with pytest.raises(ClientPayloadError):
            await answer.read()
    status, message = await told(registry, f"/v2/x/blobs/{digest}")
    assert (status, "damaged on the disk" in message) in [(503, True), (404, True)]
    assert await told(registry, f"/v2/x/blobs/{digest}") == (
        404,
        f"no blob {digest}: it is damaged on the disk since 2026-01-01 00:00 UTC: push or load its image again",
    )
    await is_marked_and_healed_by_a_push(registry, disk, digest)
    assert sum("not sent to its end" in each.getMessage() for each in caplog.records) == 1
    assert sum("blob deleted, which was damaged" in each.getMessage() for each in caplog.records) == 1
    assert all(each.exc_info is None for each in caplog.records)


async def test_a_blob_that_cannot_be_opened_is_told_marked_and_healed_by_a_push(
    registry: Registry, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    digest = await image_with_layer(registry)
    path = registry.blob_path(digest)
    disk.cannot_open(path, errno.EACCES)
    wanted = f"{path} cannot be opened: Permission denied: let tinkbox's user read it, or push or load its image again"
    for _ in range(2):
        assert await told(registry, f"/v2/x/blobs/{digest}") == (503, wanted)
    assert path.exists()
    assert sum("blob damaged, which cannot be opened" in each.getMessage() for each in caplog.records) == 1
    assert all(each.exc_info is None for each in caplog.records)
    await is_marked_and_healed_by_a_push(registry, disk, digest)


async def test_the_list_tells_that_a_blob_has_only_to_be_made_readable(
    registry: Registry, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = await image_with_layer(registry)
    path = registry.blob_path(digest)
    disk.cannot_open(path, errno.EACCES)
    assert await status_of(registry, f"/v2/x/blobs/{digest}") == 503
    monkeypatch.setattr(os, "access", lambda asked, *_: asked != path)  # root may read everything
    wanted = (
        f"damaged since 2026-01-01 00:00 UTC, 1 of its blobs cannot be opened: let tinkbox's user read {path}, or push or load "
        "it again"
    )
    assert (await problems(registry))["x:v1"] == wanted
    assert registry.store.damage("x", "v1") == wanted
    path.unlink()
    assert "gone, changed or cannot be read" in (await problems(registry))["x:v1"]


async def test_a_push_that_asks_for_a_blob_that_cannot_be_opened_is_to_send_it(registry: Registry, disk: Disk) -> None:
    digest = await image_with_layer(registry)
    disk.cannot_open(registry.blob_path(digest), errno.EACCES)
    assert (await registry.operator.head(f"/v2/x/blobs/{digest}")).status == 404
    await is_marked_and_healed_by_a_push(registry, disk, digest)


async def test_a_blob_that_can_be_opened_again_is_whole_and_the_mark_of_one_that_cannot_outlives_a_restart(
    tmp_path: Path, disk: Disk
) -> None:
    async with serving(tmp_path) as registry:
        digest = await image_with_layer(registry)
        path = registry.blob_path(digest)
        disk.cannot_open(path, errno.EACCES)
        assert await status_of(registry, f"/v2/x/blobs/{digest}") == 503
    disk.mend()
    async with serving(tmp_path) as registry:
        assert (await problems(registry))["x:v1"].startswith(SINCE)
        path.chmod(0o640)
        assert set((await problems(registry)).values()) == {""}
        assert await status_of(registry, f"/v2/x/blobs/{digest}") == 200
        assert set((await problems(registry)).values()) == {""}


async def test_a_blob_whose_file_is_gone_is_marked_and_healed_by_a_push(
    registry: Registry, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    digest = await image_with_layer(registry)
    registry.blob_path(digest).unlink()
    for _ in range(2):
        status, message = await told(registry, f"/v2/x/blobs/{digest}")
        assert (status, "push or load its image again" in message) == (404, True)
    assert sum("blob damaged, whose file is gone" in each.getMessage() for each in caplog.records) == 1
    await is_marked_and_healed_by_a_push(registry, disk, digest)


async def test_a_damaged_blob_of_a_disk_from_which_nothing_can_be_deleted_is_marked(
    registry: Registry, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """As of one that the kernel made read-only when it could not read it."""
    digest = await image_with_layer(registry)
    flip_a_bit(registry.blob_path(digest))
    disk.cannot_delete()
    for _ in range(2):
        assert await told(registry, f"/v2/x/blobs/{digest}") == (
            503,
            f"{digest} is damaged on the disk: push or load its image again",
        )
    assert sum("blob damaged, and not deleted" in each.getMessage() for each in caplog.records) == 1
    await is_marked_and_healed_by_a_push(registry, disk, digest)


@pytest.mark.parametrize("way", ["cannot be opened", "cannot be read", "gone"])
async def test_a_load_heals_a_damaged_blob_and_asks_for_it_where_its_archive_lacks_it(
    registry: Registry, disk: Disk, way: str
) -> None:
    content = layer({"hello.txt": b"hello"})
    digest, path = await image_with_layer(registry), registry.blob_path(digest_of(content))
    config = configuration([content])
    image = manifest(config, [content])
    entry = descriptor(image, DOCKER_MANIFEST) | {"annotations": {"org.opencontainers.image.ref.name": "x:v1"}}
    index = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    files = {"index.json": index} | {f"blobs/sha256/{digest_of(each)[7:]}": each for each in (image, config)}
    if way == "cannot be opened":
        path.chmod(0)  # which keeps nothing from the superuser
        disk.cannot_open(path, errno.EACCES)
    elif way == "cannot be read":
        flip_a_bit(path)
        disk.cannot_read(path)
    else:
        path.unlink()
    with pytest.raises(Invalid, match=f"lacks blobs/sha256/{digest[7:]}"):
        await registry.store.load(chunks(tar(files.items())), who="anna")
    assert await registry.store.absent([digest]) == [digest]  # and so the client sends it
    whole = files | {f"blobs/sha256/{digest[7:]}": content}
    assert await registry.store.load(chunks(tar(whole.items())), who="anna") == ["x:v1"]
    disk.mend()
    assert path.read_bytes() == content
    assert set((await problems(registry)).values()) == {""}


async def test_a_load_is_not_told_to_lack_what_the_appliance_cannot_read_just_now(
    registry: Registry, disk: Disk
) -> None:
    content = layer({"hello.txt": b"hello"})
    digest, config = await image_with_layer(registry), configuration([content])
    image = manifest(config, [content])
    entry = descriptor(image, DOCKER_MANIFEST) | {"annotations": {"org.opencontainers.image.ref.name": "x:v1"}}
    index = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    files = {"index.json": index} | {f"blobs/sha256/{digest_of(each)[7:]}": each for each in (image, config)}
    registry.blob_path(digest).touch()  # so that it has to be hashed
    disk.cannot_open(registry.blob_path(digest), errno.EMFILE)
    with pytest.raises(Unavailable, match="cannot be read now: Too many open files: ask again"):
        await registry.store.load(chunks(tar(files.items())), who="anna")
    assert set((await problems(registry)).values()) == {""}


@pytest.mark.parametrize("way", ["may not be entered", "is a file", "is gone"])
async def test_a_folder_of_blobs_that_cannot_be_read_is_named_with_the_remedy_and_logged_once(
    registry: Registry, disk: Disk, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    digest = await image_with_layer(registry)
    folder = registry.root / "blobs" / "sha256"
    for _ in range(2):
        caplog.clear()
        remedy = (
            "put back the folder that was there, such as from a backup, so that tinkbox's user can read and write it"
        )
        if way == "may not be entered":
            disk.cannot_enter(folder)
            remedy = (
                f"give it back to tinkbox's user with `chown -R --reference={folder.parent} {folder}` and "
                f"`chmod u+rwx {folder}`"
            )
        else:
            folder.rename(registry.root / "aside")
        if way == "is a file":
            folder.write_bytes(b"stray")
        for _ in range(2):
            for place in (f"blobs/{digest}", "manifests/v1"):
                status, message = await told(registry, f"/v2/x/{place}")
                assert (status, message.startswith(f"the registry cannot read its folder {folder} (")) == (503, True)
                assert message.endswith(f": {remedy}")
            assert (await registry.operator.head(f"/v2/x/blobs/{digest}")).status in (404, 503)
            for asked in (registry.store.images(), registry.store.system_images(), registry.store.absent([digest])):
                with pytest.raises(Unavailable, match="the registry cannot read its folder"):
                    await asked
            assert "the registry cannot read its folder" in registry.store.damage("x", "v1")
        (logged,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
        assert (logged.exc_info, logged.getMessage().endswith(remedy)) == (None, True)
        disk.mend()
        if way == "is a file":
            folder.unlink()
        if way != "may not be entered":
            (registry.root / "aside").rename(folder)
        assert set((await problems(registry)).values()) == {""}
        assert await status_of(registry, f"/v2/x/blobs/{digest}") == 200


async def test_what_nothing_needs_is_freed_again_once_the_folder_of_blobs_can_be_read(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "EVERY", 0.0)
    path, folder = registry.blob_path(await registry.push_blob(b"unneeded")), registry.root / "blobs" / "sha256"
    registry.clock.advance(hours=1)
    folder.rename(registry.root / "aside")
    folder.write_bytes(b"stray")
    with pytest.raises(Unavailable, match="the registry cannot read its folder"):
        await registry.store.collect(who="anna")
    tried, put_aside = threading.Semaphore(0), registry.store._blobs.put_aside

    def trying(digest: str, *, though_promised: bool = False) -> Path | None:
        tried.release()
        return put_aside(digest, though_promised=though_promised)

    monkeypatch.setattr(registry.store._blobs, "put_aside", trying)
    async with asyncio.TaskGroup() as group:
        collecting = group.create_task(registry.store._collector.run())
        for _ in range(2):
            assert await asyncio.to_thread(tried.acquire, timeout=60)
        folder.unlink()
        (registry.root / "aside").rename(folder)
        await until(lambda: not path.exists())
        collecting.cancel()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
async def test_a_push_that_the_disk_does_not_take_is_told_where(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    def refused(path: Path, to: Path) -> NoReturn:
        raise OSError(number, os.strerror(number), str(path), None, str(to))

    digest = digest_of(b"new")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", refused)
        async with registry.operator.post(f"/v2/x/blobs/uploads/?digest={digest}", data=io.BytesIO(b"new")) as answer:
            (error,) = (await answer.json())["errors"]
        wanted = (
            f"the registry cannot write {registry.blob_path(digest)} ({os.strerror(number)}): see that its disk is "
        )
        assert (answer.status, error["message"].startswith(wanted)) == (503, True)
    assert all(each.exc_info is None for each in caplog.records)
    assert registry.leftovers() == []
    await registry.push_blob(b"new")


async def test_a_blob_that_is_away_with_its_folder_for_a_moment_is_freed_once_it_is_there_again(
    registry: Registry,
) -> None:
    path, folder = registry.blob_path(await registry.push_blob(b"unneeded")), registry.root / "blobs" / "sha256"
    registry.clock.advance(hours=1)
    folder.rename(registry.root / "aside")
    with pytest.raises(Unavailable, match="the registry cannot read its folder"):
        await registry.store.collect(who="anna")
    (registry.root / "aside").rename(folder)
    await registry.store.collect(who="anna")
    assert not path.exists()
