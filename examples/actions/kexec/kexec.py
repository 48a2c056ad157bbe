"""Starts the kernel of an installed system without the machine's firmware; see README.md for its variables."""

import ctypes
import errno
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from failure import Failure, required, run
from filesystem import mounted, root_moved_to

# The numbers of kexec_file_load(2), which the C library has no function for.
KEXEC_FILE_LOAD = {"x86_64": 320, "aarch64": 294}
NO_INITRAMFS = 4
REBOOT_KEXEC = 0x45584543
# The inode of the machine's first pid namespace (PROC_PID_INIT_INO in linux/proc_ns.h): nobody else may reboot.
FIRST_PIDS = "pid:[4026531836]"
FOR_THE_OUTPUT_SECONDS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """`kernel` and `ramdisk` are paths on the disk; `ramdisk` is empty where there is none."""

    disk: str
    fs_type: str
    kernel: str
    ramdisk: str
    command_line: str


Load = Callable[[int, int | None, str], None]
"""Has the kernel take another, by descriptors of its file and of its ramdisk; raises OSError."""


def parameters(environment: Mapping[str, str]) -> Parameters:
    """Read the action's environment; raises Failure."""
    known = dict(environment)
    disk, fs_type, kernel = required(known, "BLOCK_DEVICE", "FS_TYPE", "KERNEL_PATH")
    return Parameters(
        disk=disk,
        fs_type=fs_type,
        kernel=kernel,
        ramdisk=known.get("INITRD_PATH", ""),
        command_line=known.get("CMD_LINE", ""),
    )


def check_pids(namespace: str) -> None:
    """Raises Failure where a container has processes of its own: it may not reboot, and would learn it too late."""
    if namespace != FIRST_PIDS:
        raise Failure("MissingHostPid", "only the machine's own processes may start another kernel: add pid: host")


def load(root: Path, wanted: Parameters, into: Load) -> None:
    """Have the kernel and its ramdisk below `root` taken; raises Failure."""
    with (
        _opened(root, wanted.kernel, "KERNEL_PATH", wanted.disk) as kernel,
        _opened(root, wanted.ramdisk, "INITRD_PATH", wanted.disk) as ramdisk,
    ):
        assert kernel is not None
        try:
            into(kernel, ramdisk, wanted.command_line)
        except OSError as error:
            raise _refusal(error, wanted) from None


@contextmanager
def _opened(root: Path, path: str, name: str, disk: str) -> Iterator[int | None]:
    if not path:
        yield None
        return
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


def leave() -> None:
    """Start the kernel that was taken; returns only when it could not be, by raising Failure."""
    os.sync()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.reboot(ctypes.c_int(REBOOT_KEXEC))
    raise Failure("KernelRefused", f"the kernel that was loaded cannot be started: {os.strerror(ctypes.get_errno())}")


def main() -> None:
    wanted = parameters(os.environ)
    check_pids(str(Path("/proc/self/ns/pid").readlink()))
    with mounted(wanted.disk, wanted.fs_type) as root:
        load(root, wanted, kexec_file_load)
    print(f"starting {wanted.kernel} of {wanted.disk}: {wanted.command_line}", flush=True)
    time.sleep(FOR_THE_OUTPUT_SECONDS)
    leave()


if __name__ == "__main__":
    sys.exit(run(main))
