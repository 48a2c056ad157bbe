"""From the words of a template to a block device."""

from pathlib import Path

import pytest

from tests.unit.worker.host.disk_trees import Tree
from tinkbox.model.disks.disks import Refused
from tinkbox.model.reasons import Reason
from tinkbox.worker.host.chosen_disk import STILL_APPEARING, all_there, device_of, find_disk
from tinkbox.worker.host.disks import look_at

GB = 10**9


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path)
    tree.virtio("vdzz", "02.0", 20 * GB, "one")
    tree.nvme("nvme0n1", "04.0", 480 * GB, "FAST", "two", "eui.0025")
    return tree


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("/dev/anything", "/dev/anything"),
        ("smallest", "/dev/vdzz"),
        ("serial=two", "/dev/nvme0n1"),
        ("/dev/disk/by-id/virtio-one", "/dev/vdzz"),
        ("/dev/disk/by-id/virtio-one-part2", "/dev/vdzz2"),
        ("/dev/disk/by-id/nvme-FAST_two-part1", "/dev/nvme0n1p1"),
        ("/dev/disk/by-path/pci-0000:00:04.0-nvme-1", "/dev/nvme0n1"),
    ],
)
def test_the_words_lead_to_a_device(tree: Tree, text: str, device: str) -> None:
    assert device_of(text, tree.sys, tree.dev) == device


def test_a_name_that_udev_made_leads_where_it_points(tree: Tree) -> None:
    (tree.dev / "dm-0").touch()
    (tree.dev / "disk/by-uuid").mkdir(parents=True)
    (tree.dev / "disk/by-uuid/1234").symlink_to("../../dm-0")
    assert device_of("/dev/disk/by-uuid/1234", tree.sys, tree.dev) == "/dev/dm-0"


@pytest.mark.parametrize(
    ("text", "reason", "message"),
    [
        ("only", Reason.DISK_AMBIGUOUS, "`only` means 2 disks of this machine"),
        (
            "serial=x",
            Reason.NO_SUCH_DISK,
            "no disk of this machine is meant by `serial=x`: it has /dev/nvme0n1 size=480G",
        ),
        ("/dev/disk/by-id/x", Reason.NO_SUCH_DISK, "no disk of this machine is meant by `/dev/disk/by-id/x`"),
        ("/dev/disk/by-id/x-part1", Reason.NO_SUCH_DISK, "no disk of this machine is meant by"),
        ("/dev/disk/by-uuid/1", Reason.NO_SUCH_DISK, "without udev only names below /dev/disk/by-id and"),
        ("colour=red", Reason.NO_SUCH_DISK, "Build the OSIE of the appliance's version: tinkbox osie build"),
    ],
)
def test_what_leads_nowhere_is_refused(tree: Tree, text: str, reason: Reason, message: str) -> None:
    refused = device_of(text, tree.sys, tree.dev)
    assert isinstance(refused, Refused)
    assert refused.reason == reason
    assert message in refused.message


@pytest.mark.parametrize("text", ["/dev/no-such-disk", "/dev/null", "serial=one"])
async def test_what_is_no_block_device_is_not_given_to_an_action(tree: Tree, text: str) -> None:
    """The tree's own disks are not there either."""
    refused = await find_disk(text, tree.sys, tree.dev)
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.NO_SUCH_DISK
    assert "on this machine: it has /dev/nvme0n1 size=480G" in refused.message


def test_a_selection_that_is_refused_is_a_disk_with_a_problem(tree: Tree) -> None:
    disk = look_at("only", tree.sys)
    assert (disk.path, disk.reason) == ("only", Reason.DISK_AMBIGUOUS)
    assert disk.problem.startswith("`only` means 2 disks")


def test_a_disk_that_is_looked_at_keeps_the_words_of_the_template(tree: Tree) -> None:
    disk = look_at("smallest", tree.sys)
    # The tree's disk is not there.
    assert (disk.path, disk.device, disk.reason) == ("smallest", "/dev/vdzz", Reason.NO_SUCH_DISK)


async def test_disks_that_are_still_appearing_are_waited_for(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    appearing: list[str] = []

    async def appear(_: float) -> None:
        if len(appearing) < 3:
            appearing.append(f"vdz{len(appearing)}")
            tree.virtio(appearing[-1], f"1{len(appearing)}.0", GB)

    monkeypatch.setattr("tinkbox.worker.host.chosen_disk.asyncio.sleep", appear)
    await all_there(["/dev/vda"], tree.sys, lambda: 5.0)
    await all_there([], tree.sys, lambda: 5.0)
    await all_there(["smallest"], tree.sys, lambda: STILL_APPEARING)
    assert appearing == []
    await all_there(["/dev/vda", "smallest"], tree.sys, lambda: 5.0)
    assert len(appearing) == 3


async def test_a_machine_without_disks_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.worker.host.chosen_disk.LOOK_AGAIN", 0.0)
    uptimes = iter(range(40, 80, 5))
    await all_there(["only"], tmp_path, lambda: next(uptimes))
    assert next(uptimes) == 65
