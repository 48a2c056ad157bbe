"""Starts the kernel of an installed system without the machine's firmware; see README.md for its variables."""

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from failure import NEW_TEXT, Failure, required, run
from filesystem import mounted, root_moved_to
from grub_menu import default_entry

# The numbers of kexec_file_load(2), which the C library has no function for.
KEXEC_FILE_LOAD = {"x86_64": 320, "aarch64": 294}
NO_INITRAMFS = 4
# Where GRUB's menu is, on a root file system or on one of its own for /boot; Fedora and its kin say grub2.
MENUS = ("boot/grub/grub.cfg", "boot/grub2/grub.cfg", "grub/grub.cfg", "grub2/grub.cfg")
MOST_OF_A_MENU = 1 << 20
# The worker's folder as the machine itself has it.  Templates for Tinkerbell do not bind it here, but `pid: host` shows it.
WORKER = Path("/proc/1/root/worker")
# The inode of the machine's first pid namespace (PROC_PID_INIT_INO in linux/proc_ns.h): nobody else may reboot.
FIRST_PIDS = "pid:[4026531836]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """`kernel` and `ramdisks` are paths on the disk; without a kernel GRUB's menu says what to start, which is at `menus`."""

    disk: str
    fs_type: str
    kernel: str
    ramdisks: tuple[str, ...]
    command_line: str
    menus: tuple[str, ...] = MENUS


Load = Callable[[int, int | None, str], None]
"""Has the kernel take another, by descriptors of its file and of its ramdisk; raises OSError."""


def parameters(environment: Mapping[str, str]) -> Parameters:
    """Read the action's environment; raises Failure."""
    known = dict(environment)
    disk, fs_type = required(known, "BLOCK_DEVICE", "FS_TYPE")
    return Parameters(
        disk=disk,
        fs_type=fs_type,
        kernel=known.get("KERNEL_PATH", ""),
        ramdisks=tuple(filter(None, [known.get("INITRD_PATH", "")])),
        command_line=known.get("CMD_LINE", ""),
        menus=tuple(filter(None, [known.get("GRUBCFG_PATH", "")])) or MENUS,
    )


# What a person can do about each reason of failure.
ADVICE = {
    "MissingHostPid": f"Write `pid: host` beside the action's image in the template{NEW_TEXT}",
    "DiskNotFound": f"Type `tinkbox hardware get MACHINE` for the disks that the machine has, and correct BLOCK_DEVICE in the template{NEW_TEXT}",
    "NoBootMenu": "Set KERNEL_PATH, INITRD_PATH and CMD_LINE in the action's environment",
    "FileUnusable": "Check the path as the installed system names it, and that DEST_DISK is the partition that holds it",
    "KernelUnusable": "Install the image for this machine's processor",
    "KernelRefused": "Use the action reboot instead: the firmware starts the system then. Or switch Secure Boot off",
    "RebootNotAsked": "Run the action in an OSIE of tinkbox: other systems have no /worker",
}


def chosen(root: Path, wanted: Parameters) -> Parameters:
    """The same with a kernel: without one, that of GRUB's default entry below `root`; raises Failure.

    As in Tinkerbell, a ramdisk without a kernel counts for nothing, and a command line beats the entry's.
    """
    if wanted.kernel:
        return wanted
    text = next(filter(None, (_menu(root, path) for path in wanted.menus)), "")
    if not text:
        where = " or ".join(wanted.menus)
        raise Failure(
            "NoBootMenu", f"{wanted.disk} has no GRUB menu ({where}): set GRUBCFG_PATH, or KERNEL_PATH and the others"
        )
    entry = default_entry(text)
    if entry is None:
        raise Failure(
            "NoBootMenu", f"GRUB's menu on {wanted.disk} starts no kernel: set KERNEL_PATH, INITRD_PATH and CMD_LINE"
        )
    words = wanted.command_line or entry.command_line
    return replace(wanted, kernel=entry.kernel, ramdisks=entry.ramdisks, command_line=words)


def _menu(root: Path, path: str) -> str:
    """The text of a menu, empty where it is not there."""
    try:
        with root_moved_to(root), Path("/", path).open("rb") as file:
            return file.read(MOST_OF_A_MENU).decode("utf-8", "replace")
    except OSError:
        return ""


def check_pids(namespace: str) -> None:
    """Raises Failure where a container has processes of its own: it may not reboot, and would learn it too late."""
    if namespace != FIRST_PIDS:
        raise Failure("MissingHostPid", "only the machine's own processes may start another kernel: add pid: host")


def load(root: Path, wanted: Parameters, into: Load) -> None:
    """Have the kernel and its ramdisk below `root` taken; raises Failure."""
    with ExitStack() as opened:
        kernel = opened.enter_context(_opened(root, wanted.kernel, "KERNEL_PATH", wanted.disk))
        ramdisks = [
            opened.enter_context(_opened(root, each, "INITRD_PATH", wanted.disk)) for each in wanted.ramdisks if each
        ]
        ramdisk = ramdisks[0] if ramdisks else None
        if len(ramdisks) > 1:
            ramdisk = opened.enter_context(_joined(ramdisks))
        try:
            into(kernel, ramdisk, wanted.command_line)
        except OSError as error:
            raise _refusal(error, wanted) from None


@contextmanager
def _joined(ramdisks: list[int]) -> Iterator[int]:
    """Several ramdisks as one, in memory: the kernel unpacks what follows each other."""
    memory = os.memfd_create("ramdisks", os.MFD_CLOEXEC)
    try:
        for each in ramdisks:
            while os.sendfile(memory, each, None, 1 << 24):
                pass
        # The kernel takes no file that is open for writing.
        descriptor = os.open(f"/proc/self/fd/{memory}", os.O_RDONLY)
    finally:
        os.close(memory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _opened(root: Path, path: str, name: str, disk: str) -> Iterator[int]:
    try:
        with root_moved_to(root):
            descriptor = os.open(f"/{path}", os.O_RDONLY)
    except OSError as error:
        raise Failure("FileUnusable", f"{name} {path} on {disk}: {error.strerror}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _refusal(error: OSError, wanted: Parameters) -> Failure:
    match error.errno:
        case errno.ENOEXEC:
            return Failure("KernelUnusable", f"{wanted.kernel} on {wanted.disk} is no kernel for this processor")
        case errno.EPERM | errno.EKEYREJECTED | errno.ENOKEY:
            return Failure(
                "KernelRefused", "the running kernel starts no other, or none that is not signed: Secure Boot?"
            )
    return Failure("KernelRefused", f"the running kernel does not take {wanted.kernel}: {error.strerror}")


def kexec_file_load(kernel: int, ramdisk: int | None, command_line: str) -> None:
    """kexec_file_load(2); raises OSError."""
    text = os.fsencode(command_line) + b"\0"
    flags = NO_INITRAMFS if ramdisk is None else 0
    number = KEXEC_FILE_LOAD[platform.machine()]
    libc = ctypes.CDLL(None, use_errno=True)
    place = -1 if ramdisk is None else ramdisk
    if libc.syscall(ctypes.c_long(number), kernel, place, ctypes.c_ulong(len(text)), text, ctypes.c_ulong(flags)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def hand_over(worker: Path) -> None:
    """Have the worker start the kernel, when the appliance knows of this action's success; raises Failure."""
    try:
        (worker / "reboot").write_text("kexec\n")
    except OSError as error:
        raise Failure(
            "RebootNotAsked", f"the worker's folder /worker on the machine: {error.strerror}: is it in the OSIE?"
        ) from None


def main() -> None:
    wanted = parameters(os.environ)
    check_pids(str(Path("/proc/self/ns/pid").readlink()))
    with mounted(wanted.disk, wanted.fs_type) as root:
        wanted = chosen(root, wanted)
        load(root, wanted, kexec_file_load)
    hand_over(WORKER)
    print(f"starting {wanted.kernel} of {wanted.disk}: {wanted.command_line}", flush=True)


if __name__ == "__main__":
    sys.exit(run(main, advice=ADVICE))
