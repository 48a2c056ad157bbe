"""What takes room on the disk is told by kind."""

from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, appliance
from tinkbox.engine.views.disk import DiskGauge
from tinkbox.model.disk_usage import Share, Stored


@pytest.fixture
def folders(tmp_path: Path) -> dict[Stored, Path]:
    below = tmp_path / "kept" / "w1"
    below.mkdir(parents=True)
    (below / "a.cast").write_bytes(b"x" * 1_000)
    (below / "b.cast").write_bytes(b"x" * 24)
    (below / "link").symlink_to(tmp_path / "elsewhere")
    osie = tmp_path / "osie" / "x86_64"
    osie.mkdir(parents=True)
    (osie / "vmlinuz").write_bytes(b"x" * 512)
    return {
        Stored.RECORDINGS: tmp_path / "kept",
        Stored.IMAGES: tmp_path / "registry",
        Stored.OSIE: tmp_path / "osie",
    }


async def test_folders_are_measured_with_all_that_is_below_them(tmp_path: Path, folders: dict[Stored, Path]) -> None:
    async with appliance(tmp_path / "db") as box:
        gauge = DiskGauge(box.store, folders, lambda: 7, 8, box.clock, lambda: 9)
        assert (await gauge.usage()).total == 9
        assert not {Stored.RECORDINGS, Stored.IMAGES, Stored.OSIE} & (await gauge.usage()).shares.keys()
        await gauge.measure()
        shares = (await gauge.usage()).shares
        assert shares.keys() == set(Stored)
        link = len(str(tmp_path / "elsewhere"))
        assert shares[Stored.RECORDINGS] == Share(octets=1_024 + link, number=3)
        assert shares[Stored.IMAGES] == Share(octets=0, number=0)
        assert shares[Stored.OSIE] == Share(octets=512, number=1)


async def test_a_kind_that_counts_itself_is_not_measured(tmp_path: Path, folders: dict[Stored, Path]) -> None:
    async with appliance(tmp_path / "db") as box:
        gauge = DiskGauge(box.store, folders, lambda: 7, 8, box.clock)
        gauge.count(Stored.RECORDINGS, lambda: Share(octets=5, number=2))
        for _ in range(2):
            assert (await gauge.usage()).shares[Stored.RECORDINGS] == Share(octets=5, number=2)
            await gauge.measure()


async def test_the_largest_kinds_stand_first_and_empty_ones_nowhere(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow()
    offer = await box.offer(worker)
    assert offer is not None
    await box.attempts.output(worker, offer.attempt, 0, b"x" * 100_000)
    usage = await box.disk.usage()
    assert usage.largest == (Stored.OUTPUT, Stored.WORKFLOWS)
    assert (usage.free, usage.nearly_full) == (2**40, False)
    assert usage.database > 100_000


async def test_a_status_tells_what_takes_room(box: Appliance) -> None:
    await box.machine(1)
    await box.workflow()
    disk = (await box.overview.snapshot("1")).disk
    assert disk is not None
    assert [(each.kind, each.number) for each in disk.stored] == [("workflows", 1)]
    assert (disk.free, disk.nearly_full, disk.deleted) == (2**40, False, None)
