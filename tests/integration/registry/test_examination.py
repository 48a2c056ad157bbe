"""What rots of the images is found before a machine asks for it."""

import shutil

import pytest

from tests.integration.registry.serving import Registry
from tinkbox.model.errors import Unavailable
from tinkbox.registry import examination
from tinkbox.vital_sources import DamagedImages


def blobs(registry: Registry) -> dict[str, int]:
    """The size of each blob, by its digest."""
    folder = registry.root / "blobs" / "sha256"
    return {f"sha256:{each.name}": each.stat().st_size for each in folder.iterdir()}


def flip(registry: Registry, digest: str) -> None:
    path = registry.root / "blobs" / "sha256" / digest.removeprefix("sha256:")
    with path.open("r+b") as file:
        first = file.read(1)
        file.seek(0)
        file.write(bytes((first[0] ^ 1,)))


async def test_sound_images_are_found_sound(registry: Registry) -> None:
    await registry.push_image()
    assert await registry.store.damaged_blobs() == frozenset()
    assert await DamagedImages(registry.store).look() == ((), "")


async def test_a_blob_whose_file_changed_is_found_in_the_next_pass_and_named(registry: Registry) -> None:
    await registry.push_image(tag="v1", text="one")
    known = set(blobs(registry))
    await registry.push_image(tag="v2", text="two")
    images = DamagedImages(registry.store)
    assert await images.look() == ((), "")
    damaged = max(set(blobs(registry)) - known, key=lambda each: blobs(registry)[each])
    flip(registry, damaged)
    (found,), why = await images.look()
    assert (found.path, why) == ("hello:v2", "")
    assert damaged in found.how
    await registry.push_image(tag="v2", text="two")
    assert await images.look() == ((), "")


async def test_a_blob_that_is_gone_is_found(registry: Registry) -> None:
    await registry.push_image()
    gone = max(blobs(registry), key=lambda each: blobs(registry)[each])
    (registry.root / "blobs" / "sha256" / gone.removeprefix("sha256:")).unlink()
    assert await registry.store.damaged_blobs() == {gone}


async def test_a_blob_that_is_back_counts_again_and_is_watched_again(registry: Registry) -> None:
    await registry.push_image()
    before = registry.store.room().blobs
    gone = max(blobs(registry), key=lambda each: blobs(registry)[each])
    path = registry.root / "blobs" / "sha256" / gone.removeprefix("sha256:")
    content = path.read_bytes()
    path.unlink()
    assert await registry.store.damaged_blobs() == {gone}
    assert registry.store.room().blobs != before
    path.write_bytes(content)
    assert await registry.store.damaged_blobs() == frozenset()
    assert registry.store.room().blobs == before
    flip(registry, gone)
    assert await registry.store.damaged_blobs() == {gone}


async def test_a_blob_that_is_back_with_other_bytes_is_damaged(registry: Registry) -> None:
    await registry.push_image()
    gone = max(blobs(registry), key=lambda each: blobs(registry)[each])
    path = registry.root / "blobs" / "sha256" / gone.removeprefix("sha256:")
    path.unlink()
    assert await registry.store.damaged_blobs() == {gone}
    path.write_bytes(b"something else")
    assert await registry.store.damaged_blobs() == {gone}


async def test_of_many_files_some_are_looked_at_in_each_pass(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "FILES_AT_ONCE", 1)
    for number in range(3):
        await registry.push_image(tag=f"v{number}", text=str(number))
    gone = sorted(blobs(registry))[:2]
    for each in gone:
        (registry.root / "blobs" / "sha256" / each.removeprefix("sha256:")).unlink()
    for _ in range(len(blobs(registry)) + len(gone)):
        found = await registry.store.damaged_blobs()
    assert found == set(gone)
    assert await registry.store.damaged_blobs() == found


async def test_every_blob_is_hashed_again_after_a_day(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    await registry.push_image()
    hashed: list[str] = []
    check = registry.store._blobs.check
    monkeypatch.setattr(registry.store._blobs, "check", lambda digest: (hashed.append(digest), check(digest))[1])
    assert await registry.store.damaged_blobs() == frozenset()
    assert hashed == []
    registry.clock.advance(days=1, seconds=1)
    assert await registry.store.damaged_blobs() == frozenset()
    assert sorted(hashed) == sorted(blobs(registry))
    hashed.clear()
    registry.clock.advance(days=1, seconds=1)
    monkeypatch.setattr(examination, "OCTETS_AT_ONCE", 1)
    for _ in blobs(registry):  # no more of them in one pass than a disk bears
        await registry.store.damaged_blobs()
    assert sorted(hashed) == sorted(blobs(registry))


async def test_folders_that_cannot_be_used_are_told_as_such(registry: Registry) -> None:
    await registry.push_image()
    images = DamagedImages(registry.store)
    folder = registry.root / "repositories"
    folder.rename(registry.root / "elsewhere")
    found, why = await images.look()
    assert found == ()
    assert str(folder) in why
    with pytest.raises(Unavailable):
        await registry.store.damaged_blobs()
    shutil.rmtree(folder, ignore_errors=True)
    (registry.root / "elsewhere").rename(folder)
    assert await images.look() == ((), "")
