"""What the appliance measures of its OSIEs, its engine and its store."""

import socket
from datetime import UTC, datetime
from pathlib import Path

from tests.integration.docker_engine import DockerEngine
from tinkbox import __version__
from tinkbox.osie.image import OsieImage, describe, images, write
from tinkbox.refused_writes import RefusedWrites
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.store.database import DAMAGED, DATABASE, Store
from tinkbox.vital_sources import (
    damage,
    engine_trouble,
    first_refused,
    first_unkept,
    newest_time,
    osie_files,
    other_versions,
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


async def test_an_engine_that_is_needed_and_away_is_told(tmp_path: Path) -> None:
    async with DockerRuntime(f"unix://{tmp_path}/docker.sock") as docker:
        assert await engine_trouble(docker, needed=False) is None
        assert "no Docker engine answers at" in (await engine_trouble(docker, needed=True) or "")
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "closed.sock"))
        async with DockerRuntime(f"unix://{tmp_path}/closed.sock") as docker:
            assert "no Docker engine answers at" in (await engine_trouble(docker, needed=True) or "")


async def test_an_engine_that_answers_is_well(docker_engine: DockerEngine) -> None:
    async with DockerRuntime(docker_engine.url) as docker:
        assert await engine_trouble(docker, needed=True) == ""


async def _never() -> bool:
    return False


def test_a_damaged_database_is_no_disk_that_refuses_writes() -> None:
    at = datetime(2026, 11, 29, 12, tzinfo=UTC)
    writes = RefusedWrites(lambda: at)
    assert damage(writes) == ""
    writes.refuse(DAMAGED, "malformed", _never)
    assert (first_refused(writes), damage(writes)) == (None, "malformed")
    assert first_unkept(writes) == (at, "malformed"), "what machines hand in cannot be kept either"
    writes.refuse(DATABASE, "no room", _never)
    assert first_refused(writes) == ("no room", at)


async def test_the_newest_time_of_a_store_is_that_of_what_it_was_told_last(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "tinkbox.sqlite")
    try:
        assert await newest_time(store) is None
        at = datetime(2026, 11, 29, 12, tzinfo=UTC)
        await store.write(lambda tables: tables.events.add("", at, "condition.began", {}))
        assert await newest_time(store) == at
    finally:
        await store.close()
