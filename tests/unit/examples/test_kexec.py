import errno
import fcntl
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from failure import Failure
from kexec import FIRST_PIDS, Parameters, check_pids, chosen, hand_over, load, parameters

ENVIRONMENT = {
    "BLOCK_DEVICE": "/dev/vda1",
    "FS_TYPE": "vfat",
    "KERNEL_PATH": "/vmlinuz",
    "INITRD_PATH": "/initrd",
    "CMD_LINE": "quiet",
}


def asked(**changes: str) -> Parameters:
    return parameters({**ENVIRONMENT, **changes})


@dataclass
class Kernel:
    """Takes kernels, or refuses them with `refusal`; `taken` holds kernel, ramdisk and command line of each."""

    refusal: int = 0
    taken: list[tuple[bytes, bytes | None, str]] = field(default_factory=list)

    def load(self, kernel: int, ramdisk: int | None, command_line: str) -> None:
        if self.refusal:
            raise OSError(self.refusal, os.strerror(self.refusal))
        if ramdisk is not None:
            assert fcntl.fcntl(ramdisk, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        self.taken.append((os.read(kernel, 99), None if ramdisk is None else os.read(ramdisk, 99), command_line))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "vmlinuz").write_bytes(b"a kernel")
    (tmp_path / "initrd").write_bytes(b"a ramdisk")
    return tmp_path


def test_everything_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(Failure, match="set BLOCK_DEVICE, FS_TYPE in") as failure:
        asked(BLOCK_DEVICE="", FS_TYPE="")
    assert failure.value.reason == "MissingParameter"


def test_kernel_ramdisk_and_command_line_are_taken_from_the_disk(root: Path) -> None:
    kernel = Kernel()
    load(root, asked(), kernel.load)
    assert kernel.taken == [(b"a kernel", b"a ramdisk", "quiet")]


def test_a_kernel_may_do_without_a_ramdisk_and_words(root: Path) -> None:
    kernel = Kernel()
    load(
        root, parameters({name: ENVIRONMENT[name] for name in ("BLOCK_DEVICE", "FS_TYPE", "KERNEL_PATH")}), kernel.load
    )
    assert kernel.taken == [(b"a kernel", None, "")]


def test_a_link_leads_where_it_leads_on_the_installed_system(root: Path) -> None:
    (root / "boot").mkdir()
    (root / "boot/vmlinuz-6.1").write_bytes(b"the newest kernel")
    (root / "vmlinuz").unlink()
    (root / "vmlinuz").symlink_to("/boot/vmlinuz-6.1")
    kernel = Kernel()
    load(root, asked(KERNEL_PATH="vmlinuz"), kernel.load)
    assert kernel.taken[0][0] == b"the newest kernel"


@pytest.mark.parametrize("name", ["KERNEL_PATH", "INITRD_PATH"])
def test_a_file_that_is_not_there_is_named(root: Path, name: str) -> None:
    kernel = Kernel()
    with pytest.raises(Failure, match=f"{name} /missing on /dev/vda1: No such file") as failure:
        load(root, asked(**{name: "/missing"}), kernel.load)
    assert failure.value.reason == "FileUnusable"
    assert not kernel.taken


@pytest.mark.parametrize(
    ("number", "reason", "told"),
    [
        (errno.ENOEXEC, "KernelUnusable", "/vmlinuz on /dev/vda1 is no kernel for this processor"),
        (errno.EPERM, "KernelRefused", "Secure Boot"),
        (errno.EBUSY, "KernelRefused", "does not take /vmlinuz: Device or resource busy"),
    ],
)
def test_what_the_running_kernel_refuses_is_said(root: Path, number: int, reason: str, told: str) -> None:
    with pytest.raises(Failure, match=told) as failure:
        load(root, asked(), Kernel(refusal=number).load)
    assert failure.value.reason == reason


def test_no_file_stays_open(root: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    load(root, asked(), Kernel().load)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_container_with_processes_of_its_own_is_told_what_it_lacks() -> None:
    check_pids(FIRST_PIDS)
    with pytest.raises(Failure, match="pid: host") as failure:
        check_pids("pid:[4026532441]")
    assert failure.value.reason == "MissingHostPid"


MENU = """\
menuentry 'Debian' {
	linux	/vmlinuz root=LABEL=root ro
	initrd	/early /initrd
}
"""


@pytest.mark.parametrize("place", ["boot/grub/grub.cfg", "boot/grub2/grub.cfg", "grub/grub.cfg", "grub2/grub.cfg"])
def test_without_a_kernel_the_default_of_the_boot_menu_is_started(root: Path, place: str) -> None:
    (root / place).parent.mkdir(parents=True)
    (root / place).write_text(MENU)
    (root / "early").write_bytes(b"microcode, ")
    kernel = Kernel()
    # As Tinkerbell's action: a ramdisk without a kernel counts for nothing.
    load(root, chosen(root, asked(KERNEL_PATH="", CMD_LINE="")), kernel.load)
    assert kernel.taken == [(b"a kernel", b"microcode, a ramdisk", "root=LABEL=root ro")]
    assert chosen(root, asked(KERNEL_PATH="")).command_line == "quiet"
    assert chosen(root, asked()) == asked()


def test_a_menu_may_be_elsewhere(root: Path) -> None:
    (root / "menu").write_text(MENU)
    assert chosen(root, asked(KERNEL_PATH="", GRUBCFG_PATH="/menu")).kernel == "/vmlinuz"


@pytest.mark.parametrize(
    ("menu", "told"),
    [
        (None, "/dev/vda1 has no GRUB menu \\(boot/grub/grub.cfg or .*\\): set GRUBCFG_PATH, or KERNEL_PATH"),
        ("blscfg\n", "GRUB's menu on /dev/vda1 starts no kernel: set KERNEL_PATH, INITRD_PATH and CMD_LINE"),
    ],
)
def test_a_disk_without_a_usable_menu_is_told_what_to_set(root: Path, menu: str | None, told: str) -> None:
    if menu is not None:
        (root / "grub").mkdir()
        (root / "grub/grub.cfg").write_text(menu)
    with pytest.raises(Failure, match=told) as failure:
        chosen(root, asked(KERNEL_PATH=""))
    assert failure.value.reason == "NoBootMenu"


def test_the_kernel_is_handed_over_to_the_worker(tmp_path: Path) -> None:
    hand_over(tmp_path)
    assert (tmp_path / "reboot").read_text() == "kexec\n"
    with pytest.raises(Failure, match="is it in the OSIE") as failure:
        hand_over(tmp_path / "missing")
    assert failure.value.reason == "RebootNotAsked"
