"""Small archives in the `newc` format, as the kernel unpacks them over its first root file system.

The kernel's Documentation/driver-api/early-userspace/buffer-format describes it.
"""

import stat
from collections.abc import Mapping
from typing import Final

_ALIGN: Final = 4
_BLOCK: Final = 512


def archive(files: Mapping[str, bytes], mode: int = 0o600) -> bytes:
    """An archive of regular files with the directories above them, owned by root.

    Paths are relative, as `etc/tinkbox/worker.json`.  The length is a multiple of 512, so that
    another archive can follow.
    """
    entries: list[bytes] = []
    made: set[str] = set()
    for path, content in sorted(files.items()):
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            if folder not in made:
                made.add(folder)
                entries.append(entry(folder, stat.S_IFDIR | 0o755, b"", len(entries) + 1))
        entries.append(entry(path, stat.S_IFREG | mode, content, len(entries) + 1))
    entries.append(trailer())
    joined = b"".join(entries)
    return joined + b"\0" * (-len(joined) % _BLOCK)


def entry(
    path: str, mode: int, content: bytes, inode: int, *, links: int = 1, device: tuple[int, int] = (0, 0)
) -> bytes:
    """One entry; `mode` with its file type, `device` for device nodes."""
    name = path.encode() + b"\0"
    fields = (inode, mode, 0, 0, links, 0, len(content), 0, 0, *device, len(name), 0)
    header = b"070701" + b"".join(b"%08X" % value for value in fields) + name
    return _padded(header) + _padded(content)


def trailer() -> bytes:
    """What ends an archive."""
    return entry("TRAILER!!!", 0, b"", 0)


def _padded(part: bytes) -> bytes:
    return part + b"\0" * (-len(part) % _ALIGN)
