import stat
from pathlib import Path

import pytest

from tinkbox.model.errors import Unavailable
from tinkbox.osie.build import FILES
from tinkbox.osie.modules import choose, prune, read_dependencies, read_patterns

INDEX = """kernel/fs/ext4/ext4.ko: kernel/fs/jbd2/jbd2.ko kernel/lib/crc16.ko
kernel/fs/jbd2/jbd2.ko: kernel/lib/deep.ko
kernel/lib/crc16.ko:
kernel/lib/deep.ko:
kernel/drivers/net/ethernet/intel/e1000e/e1000e.ko: kernel/drivers/ptp/ptp.ko
kernel/drivers/net/ethernet/intel/ice/ice.ko:
kernel/drivers/ptp/ptp.ko:
kernel/sound/snd.ko:
"""


def names(modules: set[str]) -> set[str]:
    return {Path(module).name.partition(".")[0] for module in modules}


def test_modules_come_with_all_they_depend_on() -> None:
    kept, unmatched = choose(read_dependencies(INDEX), "fs/ext4/*")
    assert names(kept) == {"ext4", "jbd2", "crc16", "deep"}
    assert unmatched == []


def test_a_folder_brings_everything_below_it_except_what_is_taken_out() -> None:
    kept, _ = choose(read_dependencies(INDEX), "drivers/net/ethernet/*\n-drivers/net/ethernet/intel/ice/*")
    assert names(kept) == {"e1000e", "ptp"}


def test_what_is_taken_out_stays_when_something_needs_it() -> None:
    kept, _ = choose(read_dependencies(INDEX), "drivers/net/ethernet/*\n-drivers/ptp/*")
    assert "ptp" in names(kept)


def test_patterns_that_match_nothing_are_told() -> None:
    assert choose(read_dependencies(INDEX), "fs/ext4/*\nfs/reiser5/*")[1] == ["fs/reiser5/*"]


def test_compressed_modules_are_found_by_the_same_patterns() -> None:
    kept, _ = choose(read_dependencies(INDEX.replace(".ko", ".ko.xz")), "fs/ext4/ext4.ko")
    assert names(kept) == {"ext4", "jbd2", "crc16", "deep"}


def test_modules_that_depend_on_each_other_end_the_search() -> None:
    assert choose({"kernel/a.ko": ("kernel/b.ko",), "kernel/b.ko": ("kernel/a.ko",)}, "a.ko")[0] == {
        "kernel/a.ko",
        "kernel/b.ko",
    }


@pytest.mark.parametrize(
    "needed",
    ["drivers/net/virtio_net.ko", "drivers/net/ethernet/*", "drivers/nvme/host/nvme.ko", "drivers/ata/*", "drivers/scsi/*",
     "drivers/block/virtio_blk.ko", "drivers/usb/storage/usb-storage.ko", "fs/overlayfs/*", "fs/ext4/*", "fs/xfs/*", "fs/fat/*"],
)  # fmt: skip
def test_the_list_has_the_hardware_that_machines_are_made_of(needed) -> None:
    assert needed in read_patterns((FILES / "modules.txt").read_text())[0]


def busybox(folder: Path, script: str) -> Path:
    program = folder / "busybox"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(stat.S_IRWXU)
    return program


def test_unwanted_modules_are_deleted_and_the_index_is_written_anew(tmp_path) -> None:
    folder = tmp_path / "lib/modules/6.1"
    for module in read_dependencies(INDEX):
        (folder / module).parent.mkdir(parents=True, exist_ok=True)
        (folder / module).touch()
    (tmp_path / "index").write_text(INDEX)
    depmod = busybox(tmp_path, f'echo "$@" >> {tmp_path}/calls; cp {tmp_path}/index {folder}/modules.dep')
    assert prune(tmp_path, "6.1", "fs/ext4/*", depmod) == []
    assert names({str(path) for path in folder.rglob("*.ko")}) == {"ext4", "jbd2", "crc16", "deep"}
    assert (tmp_path / "calls").read_text().splitlines() == [f"depmod -b {tmp_path} 6.1"] * 2


def test_a_module_that_is_built_into_the_kernel_is_not_missed(tmp_path) -> None:
    folder = tmp_path / "lib/modules/6.12"
    folder.mkdir(parents=True)
    (folder / "modules.builtin").write_text("kernel/fs/fuse/fuse.ko\nkernel/fs/fuse/virtiofs.ko\n")
    depmod = busybox(tmp_path, f"touch {folder}/modules.dep")
    assert prune(tmp_path, "6.12", "fs/fuse/fuse.ko\nfs/ext4/*", depmod) == ["fs/ext4/*"]


def test_an_index_that_cannot_be_made_is_reported(tmp_path) -> None:
    with pytest.raises(Unavailable, match=r"kernel 6\.1 could not be indexed: bad elf"):
        prune(tmp_path, "6.1", "fs/*", busybox(tmp_path, "echo bad elf >&2; exit 1"))


def test_the_order_in_which_files_lie_on_the_disk_does_not_matter(tmp_path) -> None:
    folder = tmp_path / "lib/modules/6.1"
    folder.mkdir(parents=True)
    depmod = busybox(tmp_path, f"for name in dep alias symbols; do printf 'b:\\na:\\n' > {folder}/modules.$name; done")
    prune(tmp_path, "6.1", "fs/*", depmod)
    assert {(folder / f"modules.{name}").read_text() for name in ("dep", "alias", "symbols")} == {"a:\nb:\n"}
