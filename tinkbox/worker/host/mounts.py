"""Mounting, which Python has no call for."""

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_MNT_DETACH = 2
_MS_BIND = 4096
_CLONE_FS, _CLONE_NEWNS = 0x200, 0x20000


def mount_tmpfs(folder: Path, options: str) -> None:
    """Mount a new tmpfs (`options` as in tmpfs(5)) on a folder; raises OSError."""
    _checked(_libc.mount(b"tinkbox", bytes(folder), b"tmpfs", 0, options.encode()), folder)


def mount_overlay(place: Path, *, lower: Path, upper: Path, work: Path) -> None:
    """Mount a new overlay (overlayfs) on a folder, which may be the upper one itself; raises OSError."""
    options = f"lowerdir={_escaped(lower)},upperdir={_escaped(upper)},workdir={_escaped(work)}"
    _checked(_libc.mount(b"overlay", bytes(place), b"overlay", 0, os.fsencode(options)), place)


def bind(source: Path, place: Path) -> None:
    """Show a folder in another place too; raises OSError."""
    _checked(_libc.mount(bytes(source), bytes(place), None, _MS_BIND, None), place)


def among_mounts_of(process: int, do: Callable[[], None]) -> None:
    """Do it where another process sees its mounts; raises OSError."""

    def enter() -> None:
        namespace = Path(f"/proc/{process}/ns/mnt")
        descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # A thread that shares its root and its folder with others cannot go elsewhere.
            _checked(_libc.unshare(_CLONE_FS), namespace)
            _checked(_libc.setns(descriptor, _CLONE_NEWNS), namespace)
        finally:
            os.close(descriptor)
        do()

    with ThreadPoolExecutor(max_workers=1) as own_thread:
        own_thread.submit(enter).result()


def unmount(place: Path) -> None:
    """Take off what is mounted there, though it may be in use; raises OSError."""
    _checked(_libc.umount2(bytes(place), _MNT_DETACH), place)


def _escaped(path: Path) -> str:
    """As overlayfs takes a path among its options."""
    return "".join(f"\\{letter}" if letter in "\\,:" else letter for letter in str(path))


def _checked(result: int, place: Path) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(place))
