"""A folder or file of the registry that the disk does not give costs no image: that is told, and nothing is freed meanwhile."""

import asyncio
import errno
import io
import json
import logging
import os
import re
import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.integration.registry.serving import (
    Clock,
    Registry,
    chunks,
    configuration,
    descriptor,
    digest_of,
    layer,
    manifest,
    serving,
    tar,
)
from tinkbox.model.errors import NotFound, Unavailable
from tinkbox.registry.deletion import collection
from tinkbox.registry.manifests.manifests import DOCKER_MANIFEST


class Entry:
    """What lies in a folder, of which the disk gives the name and the kind alone."""

    def __init__(self, entry: "os.DirEntry[str]", number: int) -> None:
        self.name, self.path, self._entry, self._number = entry.name, entry.path, entry, number

    def is_symlink(self) -> bool:
        return self._entry.is_symlink()

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self._entry.is_file(follow_symlinks=follow_symlinks)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._entry.is_dir(follow_symlinks=follow_symlinks)

    def stat(self, *, follow_symlinks: bool = True) -> NoReturn:
        raise OSError(self._number, os.strerror(self._number), self.path)


class Entries(list[Any]):
    def __enter__(self) -> Iterable[Any]:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass


class Disk:
    """What the system says of some folders and files; `mend` ends that."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def cannot_list(self, folder: Path, number: int) -> None:
        scandir = os.scandir

        def scanned(path: Any) -> Any:
            if path in (folder, str(folder)):
                raise OSError(number, os.strerror(number), str(path))
            return scandir(path)

        self._monkeypatch.setattr(os, "scandir", scanned)

    def has_a_bad_inode(self, file: Path, number: int = errno.EBADMSG) -> None:
        """No call gets further than the file's name."""
        scandir = os.scandir

        def scanned(path: Any) -> Any:
            if path not in (file.parent, str(file.parent)):
                return scandir(path)
            with scandir(path) as found:
                return Entries(Entry(each, number) if Path(each.path) == file else each for each in found)

        def failing(name: str) -> Any:
            call = getattr(Path, name)

            def called(path: Path, *arguments: Any, **named: Any) -> Any:
                if file in (path, *arguments):
                    raise OSError(number, os.strerror(number), str(path), None, *map(str, arguments[:1]))
                return call(path, *arguments, **named)

            return called

        self._monkeypatch.setattr(os, "scandir", scanned)
        for name in ("stat", "lstat", "open", "rename", "replace", "unlink"):
            self._monkeypatch.setattr(Path, name, failing(name))

    def takes_nothing(self, *folders: Path, number: int = errno.EACCES) -> None:
        """Nothing is made, renamed or deleted in these folders, nor anything that they hold."""
        access = os.access

        def failing(name: str) -> Any:
            call = getattr(Path, name)

            def called(path: Path, *arguments: Any, **named: Any) -> Any:
                places = [each for each in (path, *arguments) if isinstance(each, Path)]
                if any(each.is_relative_to(folder) for each in places for folder in folders):
                    raise OSError(number, os.strerror(number), str(path))
                return call(path, *arguments, **named)

            return called

        def may(path: Any, mode: int) -> bool:
            return access(path, mode) and not (mode == os.W_OK and Path(path) in folders)

        for name in ("rename", "replace", "unlink", "mkdir"):
            self._monkeypatch.setattr(Path, name, failing(name))
        self._monkeypatch.setattr(os, "access", may)

    def mend(self) -> None:
        self._monkeypatch.undo()


@pytest.fixture
def disk() -> Iterator[Disk]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield Disk(monkeypatch)


async def lines(registry: Registry) -> dict[str, str]:
    return {f"{line['name']}:{line['tag']}": line["problem"] for line in await registry.store.images()}


async def told(registry: Registry, path: str) -> tuple[int, str]:
    async with registry.http.get(path) as answer:
        return answer.status, (await answer.json())["errors"][0]["message"]


def archive(name: str) -> bytes:
    content = layer({"hello.txt": b"loaded"})
    config = configuration([content])
    image = manifest(config, [content])
    entry = descriptor(image, DOCKER_MANIFEST) | {"annotations": {"org.opencontainers.image.ref.name": name}}
    files = {f"blobs/sha256/{digest_of(each)[7:]}": each for each in (image, config, content)}
    index = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    return tar((files | {"index.json": index}).items())


async def nothing_is_freed_by_itself(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it try twice."""
    before, tried, refuse = registry.blobs(), threading.Semaphore(0), registry.store._collector.refuse

    def trying(*, now: bool = False) -> None:
        tried.release()
        refuse(now=now)

    with monkeypatch.context() as patched:
        patched.setattr(collection, "EVERY", 0.0)
        patched.setattr(registry.store._collector, "refuse", trying)
        async with asyncio.TaskGroup() as group:
            collecting = group.create_task(registry.store._collector.run())
            for _ in range(2):
                assert await asyncio.to_thread(tried.acquire, timeout=60)
            collecting.cancel()
    assert registry.blobs() == before


def unusable(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EBADMSG, errno.EIO])
@pytest.mark.parametrize("place", ["", "tools", "tools/x", "tools/x/_tags", "tools/x/_manifests"])
async def test_images_below_a_folder_that_cannot_be_read_at_the_start_are_not_taken_for_gone(
    tmp_path: Path,
    disk: Disk,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    number: int,
    place: str,
) -> None:
    async with serving(tmp_path) as registry:
        digest = await registry.push_image("tools/x", "v1")
        await registry.push_image("y", "v1", "other")
        here, clock = registry.blobs(), registry.clock
    clock.advance(hours=2)
    folder = tmp_path / "repositories" / place
    disk.cannot_list(folder, number)
    wanted = f"the registry cannot read its folder {folder} ({os.strerror(number)}): "
    async with serving(tmp_path, clock) as registry:
        for _ in range(2):
            status, message = await told(registry, "/v2/tools/x/manifests/v1")
            assert (status, message.startswith(wanted)) == (503, True)
            assert ("chmod u+rwx" in message) == (number == errno.EACCES)
            assert (await registry.http.get("/v2/y/manifests/v1")).status == (200 if place else 503)
            assert (await registry.http.get("/v2/_catalog")).status == 503
            assert (await registry.put_manifest("tools/x", "v2", b"{}")).status in (400, 503)
            for asked in (
                registry.store.images(),
                registry.store.system_images(),
                registry.store.load(chunks(archive("tools/x:v2")), who="anna"),
                registry.store.delete("tools/x:v1", who="anna"),
                registry.store.collect(who="anna", now=True, untagged=True),
                registry.store.collect(who="anna", dry_run=True),
            ):
                with pytest.raises(Unavailable, match="the registry cannot read its folder"):
                    await asked
            assert registry.store.damage("tools/x", "v1").startswith(wanted)
            assert registry.store.named(digest) == ""
        await nothing_is_freed_by_itself(registry, monkeypatch)
        assert unusable(caplog) == [f"{wanted}{message.removeprefix(wanted)}"]
        disk.mend()
        assert await lines(registry) == {"tools/x:v1": "", "y:v1": ""}
        assert await registry.left() == here


async def test_a_push_below_a_folder_that_could_not_be_read_at_the_start_is_refused(tmp_path: Path, disk: Disk) -> None:
    async with serving(tmp_path) as registry:
        await registry.push_image("x", "v1")
        body = await (await registry.http.get("/v2/x/manifests/v1")).read()
    disk.cannot_list(tmp_path / "repositories" / "x", errno.EBADMSG)
    async with serving(tmp_path) as registry:
        answer = await registry.put_manifest("x", "v2", body)
        assert (answer.status, "look at the disk" in (await answer.json())["errors"][0]["message"]) == (503, True)
        disk.mend()
        assert (await registry.put_manifest("x", "v2", body)).status == 201
        assert await lines(registry) == {"x:v1": "", "x:v2": ""}


async def test_a_folder_that_can_be_no_repository_may_be_unreadable(tmp_path: Path, disk: Disk) -> None:
    """As root's `lost+found` is."""
    async with serving(tmp_path) as registry:
        await registry.push_image("x", "v1")
    folder = tmp_path / "repositories" / "lost+found"
    folder.mkdir()
    disk.cannot_list(folder, errno.EACCES)
    async with serving(tmp_path) as registry:
        assert await lines(registry) == {"x:v1": ""}


async def test_the_folder_of_repositories_is_missed_where_there_are_blobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as registry:
        await registry.push_image("x", "v1")
        here, clock = registry.blobs(), registry.clock
    clock.advance(hours=2)
    (tmp_path / "repositories").rename(tmp_path / "aside")
    async with serving(tmp_path, clock) as registry:
        status, message = await told(registry, "/v2/x/manifests/v1")
        assert status == 503
        assert message == (
            f"the registry cannot read its folder {tmp_path / 'repositories'} (No such file or directory): put back the "
            "folder that was there, such as from a backup, so that tinkbox's user can read and write it"
        )
        await nothing_is_freed_by_itself(registry, monkeypatch)
        (tmp_path / "aside").rename(tmp_path / "repositories")
        assert await lines(registry) == {"x:v1": ""}
        assert await registry.left() == here


async def test_an_emptied_registry_of_an_earlier_release_frees_nothing_by_itself(tmp_path: Path) -> None:
    """That release does not say which images there were."""
    clock, here = await emptied(tmp_path)
    (tmp_path / "known-repositories").unlink()
    for tag in ("v1", "v2"):
        async with serving(tmp_path, clock) as registry:
            with pytest.raises(Unavailable, match=EMPTY):
                await registry.store.collect(who="anna")
            await registry.push_image("y", tag, "other")
            assert here <= registry.blobs()
    (tmp_path / "aside" / "x").rename(tmp_path / "repositories" / "x")
    async with serving(tmp_path, clock) as registry:
        assert await lines(registry) == {"x:v1": "", "y:v1": "", "y:v2": ""}
        await registry.store.collect(who="anna")
        assert here <= registry.blobs()


EMPTY = "nothing is freed: (the images of x|all images) are gone from "


async def emptied(tmp_path: Path) -> tuple[Clock, set[str]]:
    """A registry whose disk of repositories is not mounted; returns its clock, two hours later, and its blobs."""
    async with serving(tmp_path) as registry:
        await registry.push_image("x", "v1")
        here, clock = registry.blobs(), registry.clock
    clock.advance(hours=2)
    (tmp_path / "repositories").rename(tmp_path / "aside")
    (tmp_path / "repositories").mkdir()
    return clock, here


async def test_an_empty_folder_of_repositories_frees_nothing_unless_a_person_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also when images were pushed into it, and after a restart."""
    clock, here = await emptied(tmp_path)
    for tag in ("v1", "v2"):
        caplog.clear()
        async with serving(tmp_path, clock) as registry:
            await nothing_is_freed_by_itself(registry, monkeypatch)
            for asked in (registry.store.collect(who="anna"), registry.store.collect(who="anna", dry_run=True)):
                with pytest.raises(Unavailable, match=f"{EMPTY}.*`tinkbox image gc --now` frees"):
                    await asked
            await registry.push_image("y", tag, "other")
            await registry.push_image("z", tag, "third")
            (note,) = (await registry.store.delete(f"z:{tag}", who="anna")).notes
            assert f"z:{tag} was deleted, and its blobs are not freed yet: nothing is freed: " in note.text
            assert here < registry.blobs()
            (logged,) = unusable(caplog)
            assert re.search(EMPTY, logged)
    async with serving(tmp_path, clock) as registry:
        assert (await registry.store.collect(who="anna", now=True, dry_run=True)).freed.number > 0
        assert here < registry.blobs()
        await registry.store.collect(who="anna", now=True)
        assert not here & registry.blobs()
        await registry.store.collect(who="anna")
    caplog.clear()
    async with serving(tmp_path, clock) as registry:
        await registry.store.collect(who="anna")
        assert unusable(caplog) == []


async def test_blobs_are_freed_by_themselves_again_when_the_repositories_are_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock, here = await emptied(tmp_path)
    async with serving(tmp_path, clock) as registry:
        assert await lines(registry) == {}
    (tmp_path / "repositories").rmdir()
    (tmp_path / "aside").rename(tmp_path / "repositories")
    caplog.clear()
    async with serving(tmp_path, clock) as registry:
        assert await registry.left() == here
        assert unusable(caplog) == []


@pytest.mark.parametrize("way", ["gone", "emptied", "a link", "a file"])
async def test_a_repository_that_something_else_took_away_is_missed_until_it_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    async with serving(tmp_path) as registry:
        await registry.push_image("tools/x", "v1")
        await registry.push_image("y", "v1", "other")
        here, clock = registry.blobs(), registry.clock
    clock.advance(hours=2)
    folder, aside = tmp_path / "repositories" / "tools", tmp_path / "aside"
    folder.rename(aside)
    if way == "emptied":
        (folder / "x").mkdir(parents=True)
    elif way == "a link":
        folder.symlink_to(aside)
    elif way == "a file":
        folder.touch()
    async with serving(tmp_path, clock) as registry:
        assert await lines(registry) == {"y:v1": ""}
        for _ in range(2):
            with pytest.raises(Unavailable, match="nothing is freed: the images of tools/x are gone from "):
                await registry.store.collect(who="anna")
            (note,) = (await registry.store.delete("y:v1", who="anna")).notes if await lines(registry) else [None]
            assert note is None or "tools/x are gone" in note.text
        assert registry.blobs() == here
    if way == "emptied":
        (folder / "x").rmdir()
        folder.rmdir()
    elif way != "gone":
        folder.unlink()
    aside.rename(folder)
    caplog.clear()
    async with serving(tmp_path, clock) as registry:
        assert await lines(registry) == {"tools/x:v1": ""}
        assert await registry.left() < here
        assert unusable(caplog) == []


async def test_images_that_are_back_while_tinkbox_runs_are_not_freed_though_a_person_says_so(tmp_path: Path) -> None:
    clock, here = await emptied(tmp_path)
    async with serving(tmp_path, clock) as registry:
        (tmp_path / "repositories").rmdir()
        (tmp_path / "aside").rename(tmp_path / "repositories")
        for dry_run in (True, False):
            with pytest.raises(Unavailable, match="has images again that were missing: tinkbox reads them"):
                await registry.store.collect(who="anna", now=True, dry_run=dry_run)
        assert registry.blobs() == here


@pytest.mark.parametrize("noted", [True, False])
async def test_images_that_are_put_back_while_tinkbox_runs_are_there_again_by_themselves(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, noted: bool
) -> None:
    """Also where an earlier release kept no names of repositories."""
    clock, here = await emptied(tmp_path)
    if not noted:
        (tmp_path / "known-repositories").unlink()
    async with serving(tmp_path, clock) as registry:
        for _ in range(2):
            with pytest.raises(Unavailable, match="gone from"):
                await registry.store.damaged_blobs()
        (tmp_path / "repositories").rmdir()
        (tmp_path / "aside").rename(tmp_path / "repositories")
        with pytest.raises(Unavailable):  # what is there may still grow
            await registry.store.damaged_blobs()
        assert await registry.store.damaged_blobs() == frozenset()
        assert await lines(registry) == {"x:v1": ""}
        assert "put back" in caplog.text
        with pytest.raises(Unavailable, match="were put back lately"):
            await registry.store.collect(who="anna")
        assert registry.blobs() == here
        await registry.store.collect(who="anna", now=True)
        assert registry.blobs() == here, "an image needs them"


async def test_images_that_come_back_one_after_the_other_are_missed_until_all_are_there(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        for name in ("x", "y"):
            await registry.push_image(name, "v1", name)
        here = registry.blobs()
    (tmp_path / "repositories").rename(tmp_path / "aside")
    (tmp_path / "repositories").mkdir()
    async with serving(tmp_path) as registry:
        for name, missing in (("y", "x"), ("x", "")):
            (tmp_path / "aside" / name).rename(tmp_path / "repositories" / name)
            for _ in range(2):
                with suppress(Unavailable):
                    await registry.store.damaged_blobs()
            if missing:
                with pytest.raises(Unavailable, match=f"the images of {missing} are gone"):
                    await registry.store.damaged_blobs()
        assert await lines(registry) == {"x:v1": "", "y:v1": ""}
        shutil.copytree(tmp_path / "repositories" / "x", tmp_path / "repositories" / "z")
        await registry.store.damaged_blobs()
        assert "z:v1" in await lines(registry), "more that comes while it settles is read"
        assert registry.blobs() == here


async def test_images_below_a_folder_that_could_not_be_read_are_still_known_when_others_were_deleted(
    tmp_path: Path, disk: Disk
) -> None:
    """Also where a check of the file system takes that folder away afterwards."""
    async with serving(tmp_path) as registry:
        await registry.push_image("tools/x", "v1")
        await registry.push_image("y", "v1", "other")
        here, clock = registry.blobs(), registry.clock
    clock.advance(hours=2)
    disk.cannot_list(tmp_path / "repositories" / "tools", errno.EBADMSG)
    async with serving(tmp_path, clock) as registry:
        await registry.store.delete("y:v1", who="anna")
    disk.mend()
    shutil.rmtree(tmp_path / "repositories" / "tools")
    async with serving(tmp_path, clock) as registry:
        with pytest.raises(Unavailable, match="the images of tools/x are gone"):
            await registry.store.collect(who="anna")
        assert registry.blobs() == here


@pytest.mark.parametrize("had_images", [False, True])
async def test_a_registry_without_images_frees_what_was_broken_off_also_after_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, had_images: bool
) -> None:
    """Also where its images were deleted."""
    async with serving(tmp_path) as registry:
        if had_images:
            await registry.push_image("x", "v1")
            await registry.store.delete("x:v1", who="anna")
        await registry.push_blob(b"unneeded")
    async with serving(tmp_path, registry.clock) as registry:
        assert await registry.left() == set()
    assert unusable(caplog) == []


@pytest.mark.parametrize("way", ["gone", "emptied", "a repository is gone"])
async def test_nothing_is_pushed_or_freed_when_the_repositories_vanish_meanwhile(registry: Registry, way: str) -> None:
    await registry.push_image("x", "v1")
    body = await (await registry.http.get("/v2/x/manifests/v1")).read()
    await registry.push_blob(b"unneeded")
    registry.clock.advance(hours=2)
    here, folder = registry.blobs(), registry.root / "repositories"
    moved = folder / "x" if way == "a repository is gone" else folder
    (folder / "y").mkdir()
    moved.rename(registry.root / "aside")
    if way == "emptied":
        folder.mkdir()
    if way != "a repository is gone":
        assert (await registry.put_manifest("z", "v1", body)).status == 503
    with pytest.raises(Unavailable, match=r"^the registry('s| cannot read its) folder "):
        await registry.store.collect(who="anna", now=True)
    assert registry.blobs() == here
    if way == "emptied":
        folder.rmdir()
    (registry.root / "aside").rename(moved)
    assert len(await registry.left()) == len(here) - 1


@pytest.mark.parametrize("way", ["empty", "unreadable"])
async def test_an_image_stays_while_a_tag_of_its_repository_is_damaged(tmp_path: Path, disk: Disk, way: str) -> None:
    """The tag may name it."""
    async with serving(tmp_path) as registry:
        first = await registry.push_image("x", "v1")
        second = await registry.push_image("x", "v2", "other")
        here, clock = registry.blobs(), registry.clock
    clock.advance(hours=2)
    tag = tmp_path / "repositories" / "x" / "_tags" / "v1"
    if way == "empty":
        tag.unlink()
        tag.write_bytes(b"")
    else:
        disk.has_a_bad_inode(tag, errno.EACCES)
    async with serving(tmp_path, clock) as registry:
        collected = await registry.store.collect(who="anna", now=True, untagged=True)
        assert (collected.images, registry.blobs()) == (0, here)
        assert "the tag is damaged" in (await lines(registry))["x:v1"]
        (note,) = (await registry.store.delete("x:v2", who="anna")).notes
        assert note.text == (
            f"x:v2 was deleted, and the image stays, since the tag v1 is damaged: delete x@{second} too if it is not the "
            "image of that tag"
        )
        assert registry.blobs() == here
        disk.mend()
        await registry.store.delete("x:v1", who="anna")
        assert (await registry.store.collect(who="anna", now=True, untagged=True)).images == 2
        assert registry.blobs() == set()
        assert first not in registry.blobs()


async def test_a_blob_with_a_bad_inode_stops_no_start_is_marked_and_says_so_to_a_push(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(tmp_path) as registry:
        await registry.push_image("x", "v1")
        await registry.push_image("y", "v1", "other")
        clock = registry.clock
    content = layer({"hello.txt": b"hello"})
    path = registry.blob_path(digest_of(content))
    clock.advance(hours=2)
    disk.has_a_bad_inode(path)
    async with serving(tmp_path, clock) as registry:
        logged = f"blob damaged, whose file the disk cannot give (Bad message): {path}"
        assert unusable(caplog) == [logged]
        found = await lines(registry)
        assert (found["x:v1"].startswith("damaged since"), found["y:v1"]) == (True, "")
        assert (await told(registry, f"/v2/x/blobs/{digest_of(content)}"))[0] in (404, 503)
        await registry.store.collect(who="anna", now=True)
        assert (await registry.operator.delete(f"/v2/x/blobs/{digest_of(content)}")).status == 404
        upload = f"/v2/x/blobs/uploads/?digest={digest_of(content)}"
        async with registry.operator.post(upload, data=io.BytesIO(content)) as answer:
            (error,) = (await answer.json())["errors"]
        assert answer.status == 503
        assert error["message"].startswith(
            f"the registry cannot write {path} (Bad message): see that its disk is sound"
        )
        assert all(each.exc_info is None for each in caplog.records)
        disk.mend()
        await registry.push_image("x", "v1")
        assert set((await lines(registry)).values()) == {""}


async def test_a_blob_whose_inode_is_bad_by_now_does_not_hold_up_what_is_freed(
    registry: Registry, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    bad, other = [registry.blob_path(await registry.push_blob(content)) for content in (b"bad", b"other")]
    registry.clock.advance(hours=2)
    disk.has_a_bad_inode(bad)
    assert (await registry.store.collect(who="anna")).freed.number == 1
    assert (os.path.lexists(bad), os.path.lexists(other)) == (True, False)
    assert unusable(caplog) == [f"blob damaged, whose file the disk cannot give (Bad message): {bad}"]


@pytest.mark.parametrize("place", ["blobs/sha256", "blobs/sha512"])
async def test_a_folder_of_blobs_that_cannot_be_read_refuses_the_start_with_the_way_out(
    tmp_path: Path, disk: Disk, place: str
) -> None:
    async with serving(tmp_path) as registry:
        await registry.push_image("x", "v1")
    folder = tmp_path / place
    disk.cannot_list(folder, errno.EACCES)
    with pytest.raises(Unavailable, match=rf"cannot read its folder {folder} .* and `chmod u\+rwx {folder}`"):
        async with serving(tmp_path):
            pass


async def test_a_deletion_is_told_and_logged_though_its_blobs_cannot_be_freed_yet(
    registry: Registry, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    folder = registry.root / "blobs" / "sha256"
    for tag in ("v1", "v2"):
        await registry.push_image("x", tag, tag)
    registry.clock.advance(hours=2)
    disk.takes_nothing(folder)
    for tag in ("v1", "v2"):
        (note,) = (await registry.store.delete(f"x:{tag}", who="anna")).notes
        wanted = (
            f"x:{tag} was deleted, and its blobs are not freed yet: the registry cannot write to its folder {folder} "
            f"(Permission denied): give it back to tinkbox's user with `chown -R --reference={folder.parent} {folder}` and "
            f"`chmod u+rwx {folder}`"
        )
        assert note.text == wanted
        assert f"image deleted by anna: x:{tag}" in [each.getMessage() for each in caplog.records]
    assert len(unusable(caplog)) == 1
    assert await lines(registry) == {}
    disk.mend()
    await registry.store.collect(who="anna")
    assert registry.blobs() == set()


async def test_the_folder_is_named_that_does_not_take_what_is_freed(registry: Registry, disk: Disk) -> None:
    await registry.push_blob(b"unneeded")
    disk.takes_nothing(registry.root / "incoming")
    with pytest.raises(Unavailable, match=f"cannot write to its folder {registry.root / 'incoming'} "):
        await registry.store.collect(who="anna", now=True)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
async def test_repositories_that_take_nothing_are_told_to_all_who_change_them(
    registry: Registry, disk: Disk, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    digest = await registry.push_image("x", "v1")
    body = await (await registry.http.get("/v2/x/manifests/v1")).read()
    disk.takes_nothing(registry.root / "repositories", registry.root / "blobs" / "sha256", number=number)
    for asked in (
        registry.store.delete("x:v1", who="anna"),
        registry.store.delete_blob(await registry_blob(registry), who="anna"),
        registry.store.load(chunks(archive("z:v1")), who="anna"),
    ):
        with pytest.raises(Unavailable, match=f"the registry cannot write.*{os.strerror(number)}"):
            await asked
    for selector in ("v1", digest):
        assert (await registry.operator.delete(f"/v2/x/manifests/{selector}")).status == 503
    for repository in ("x", "y"):
        assert (await registry.put_manifest(repository, "v2", body)).status == 503
    assert all(each.exc_info is None for each in caplog.records)
    disk.mend()
    assert await lines(registry) == {"x:v1": ""}


async def registry_blob(registry: Registry) -> str:
    """A blob that no manifest needs, on a disk that takes nothing."""
    path = registry.blob_path(digest_of(b"unneeded"))
    path.write_bytes(b"unneeded")
    return digest_of(b"unneeded")


async def test_repositories_that_cannot_be_entered_are_told_to_a_push(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await registry.push_image("x", "v1")
    body = await (await registry.http.get("/v2/x/manifests/v1")).read()
    folder, is_symlink, access = registry.root / "repositories", Path.is_symlink, os.access

    def asked(path: Path) -> bool:
        if folder in path.parents:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return is_symlink(path)

    monkeypatch.setattr(Path, "is_symlink", asked)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder and access(path, mode))
    for repository in ("x", "y"):
        answer = await registry.put_manifest(repository, "v2", body)
        (error,) = (await answer.json())["errors"]
        assert (answer.status, f"the registry cannot read its folder {folder} (" in error["message"]) == (503, True)
    assert len(unusable(caplog)) == 1
    assert all(each.exc_info is None for each in caplog.records)


async def test_a_damaged_manifest_is_logged_once_and_a_container_image_never_as_a_system_image(
    registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    for number, image in enumerate([await registry.push_image("tools/x", f"v{each}", str(each)) for each in range(2)]):
        registry.blob_path(image).unlink()
        for _ in range(3):
            await registry.store.images()
            await registry.store.system_images()
        told = [each for each in unusable(caplog) if "lost" in each]
        assert len(told) == number + 1
        assert all(each.startswith("manifest lost: ") for each in told)


@pytest.mark.parametrize("way", ["a folder", "a fifo"])
@pytest.mark.parametrize("asks", ["a pull", "a push"])
async def test_what_is_no_file_in_the_place_of_a_blob_is_marked_and_named(
    registry: Registry, caplog: pytest.LogCaptureFixture, way: str, asks: str
) -> None:
    await registry.push_image("x", "v1")
    content = layer({"hello.txt": b"hello"})
    digest = digest_of(content)
    path = registry.blob_path(digest)
    path.unlink()
    if way == "a folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    assert "1 of its blobs is gone" in (await lines(registry))["x:v1"]
    for _ in range(2):
        if asks == "a pull":
            status, message = await told(registry, f"/v2/x/blobs/{digest}")
            assert (status, message.endswith("is no file, and a blob belongs there: remove it")) == (503, True)
        else:
            with suppress(NotFound):
                await registry.store.promise(digest)
    assert (await lines(registry))["x:v1"].startswith("damaged since 2026-01-01 00:00 UTC, 1 of its blobs is gone")
    assert unusable(caplog) == [f"blob damaged, in whose place is no file: {path}"]


async def test_a_push_whose_upload_cannot_even_be_deleted_is_told_where_the_disk_takes_nothing(
    registry: Registry, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """As one that the kernel made read-only meanwhile."""
    begun = await registry.operator.post("/v2/x/blobs/uploads/")
    disk.takes_nothing(registry.root / "incoming", registry.root / "blobs" / "sha256", number=errno.EROFS)
    answer = await registry.operator.put(f"{begun.headers['Location']}?digest={digest_of(b'new')}", data=b"new")
    assert (answer.status, "the registry cannot write" in await answer.text()) == (503, True)
    assert all(each.exc_info is None for each in caplog.records)
