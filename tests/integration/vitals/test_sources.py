"""What the appliance measures of its OSIEs, its engine and its store."""

import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.integration.docker_engine import DockerEngine
from tinkbox import __version__, vital_sources
from tinkbox.model.engine_trouble import EngineFault, EngineTrouble
from tinkbox.model.errors import Unavailable
from tinkbox.model.write_fault import Unwritten
from tinkbox.osie.image import OsieImage, describe, images, write
from tinkbox.refused_writes import RefusedWrites
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.store.database import Store
from tinkbox.vital_sources import (
    NeededEngine,
    damage,
    engine_trouble,
    first_unkept,
    newest_time,
    osie_files,
    other_versions,
    refused,
)


def osie(folder: Path, version: str) -> None:
    folder.mkdir(parents=True)
    (folder / "vmlinuz").write_bytes(b"kernel")
    files = {"vmlinuz": describe(folder / "vmlinuz")}
    write(OsieImage(architecture=folder.name, version=version, kernel="6.1", files=files, packages={}), folder)


def test_the_files_of_all_osies_are_known_with_their_digests_and_versions(tmp_path: Path) -> None:
    osie(tmp_path / "arm64", __version__)
    osie(tmp_path / "x86_64", "0.0.1")
    found = {each.path: each.size for each in osie_files(tmp_path, lambda: images(tmp_path))}
    assert found == {tmp_path / "arm64" / "vmlinuz": 6, tmp_path / "x86_64" / "vmlinuz": 6}
    (other,) = other_versions(lambda: images(tmp_path))
    assert (other.what, other.version) == ("the OSIE for x86_64", "0.0.1")
    (tmp_path / "x86_64" / "osie.json").unlink()
    missing = [each.path for each in osie_files(tmp_path, lambda: images(tmp_path))]
    assert missing == [tmp_path / "arm64" / "vmlinuz", tmp_path / "x86_64" / "osie.json"]


async def asked(url: str) -> EngineTrouble | None:
    async with DockerRuntime(url) as docker:
        return await engine_trouble(docker, needed=True)


async def test_an_engine_that_is_needed_and_away_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = tmp_path / "docker.sock"
    monkeypatch.setattr(vital_sources, "_USUAL_SOCKETS", (usual,))
    (tmp_path / "file").write_text("")
    with socket.socket(socket.AF_UNIX) as closed, socket.socket(socket.AF_INET) as shut:
        closed.bind(str(tmp_path / "closed.sock"))
        shut.bind(("127.0.0.1", 0))
        for url, fault in (
            (f"unix://{tmp_path}/nowhere.sock", EngineFault.NO_SOCKET),
            (f"unix://{tmp_path}/file/nowhere.sock", EngineFault.NO_SOCKET),
            (f"unix://{tmp_path}/file", EngineFault.NOT_A_SOCKET),
            (f"unix://{tmp_path}", EngineFault.NOT_A_SOCKET),
            (f"unix://{tmp_path}/closed.sock", EngineFault.REFUSED),
            (f"http://127.0.0.1:{shut.getsockname()[1]}", EngineFault.REFUSED),
        ):
            found = await asked(url)
            assert found is not None
            assert (found.fault, found.url, found.others) == (fault, url, ())
            assert f"no Docker engine answers at {url}: " in found.why
        with socket.socket(socket.AF_UNIX) as engine:
            engine.bind(str(usual))
            found = await asked(f"unix://{tmp_path}/nowhere.sock")
            assert found is not None
            assert found.others == (f"unix://{usual}",)


async def test_an_engine_that_does_not_answer_in_time_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vital_sources, "_ENGINE_SECONDS", 0.01)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "deaf.sock"))
        deaf.listen()
        found = await asked(f"unix://{tmp_path}/deaf.sock")
    assert found is not None
    assert found.fault is EngineFault.SILENT
    assert "does not answer within" in found.why


async def test_an_engine_that_answers_is_well_and_one_that_nothing_needs_is_not_asked(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    assert await asked(docker_engine.url) is None
    async with DockerRuntime(f"unix://{tmp_path}/nowhere.sock") as docker:
        with pytest.raises(Unavailable, match="no service of a workflow runs on this host"):
            await engine_trouble(docker, needed=False)


async def test_an_engine_for_which_a_workflow_failed_is_told_until_it_answers_and_for_a_day_at_most(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    now = 0.0
    path = tmp_path / "engine.sock"
    async with DockerRuntime(f"unix://{path}") as docker:
        engine = NeededEngine(docker, lambda: now)
        with pytest.raises(Unavailable):
            await engine.look(needed=False)
        assert await engine.look(needed=True) is not None
        now = 86_399
        assert await engine.look(needed=False) is not None, "the workflow that needed it has failed for it"
        now = 86_401
        with pytest.raises(Unavailable):
            await engine.look(needed=False)
        assert await engine.look(needed=True) is not None
        path.symlink_to(docker_engine.url.removeprefix("unix://"))
        assert await engine.look(needed=False) is None
        with pytest.raises(Unavailable):
            await engine.look(needed=False)


async def _never() -> bool:
    return False


def test_a_damaged_database_is_no_disk_that_refuses_writes() -> None:
    at = datetime(2026, 11, 29, 12, tzinfo=UTC)
    writes = RefusedWrites(lambda: at)
    assert damage(writes) == ""
    writes.refuse(Unwritten.DAMAGED, "malformed", _never)
    assert (refused(writes), damage(writes)) == ((), "malformed")
    assert first_unkept(writes) == (at, "malformed"), "what machines hand in cannot be kept either"
    writes.refuse(Unwritten.DATABASE, "no room", _never)
    (told,) = refused(writes)
    assert (told.text, told.since) == ("no room", at)


def test_a_refused_image_hides_no_refused_write_of_the_database() -> None:
    at = datetime(2026, 11, 29, 12, tzinfo=UTC)
    writes = RefusedWrites(lambda: at)
    writes.refuse(Unwritten.IMAGES, "no room for images", _never)
    writes.refuse(Unwritten.DATABASE, "no room for the database", _never)
    assert [each.text for each in refused(writes)] == ["no room for images", "no room for the database"]


async def test_the_newest_time_of_a_store_is_that_of_what_it_was_told_last(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "tinkbox.sqlite")
    try:
        assert await newest_time(store) is None
        at = datetime(2026, 11, 29, 12, tzinfo=UTC)
        await store.write(lambda tables: tables.events.add("", at, "condition.began", {}))
        assert await newest_time(store) == at
    finally:
        await store.close()
