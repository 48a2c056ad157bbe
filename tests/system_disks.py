"""Disks to make system images of: small, with a partition table, holes, and what can be compressed and what cannot."""

import random
import struct
import subprocess
from pathlib import Path

SIZE = 10 * 1024 * 1024 + 1536


def raw_disk(path: Path, size: int = SIZE) -> bytes:
    """Write a sparse raw disk; returns all of it."""
    chance = random.Random(7)
    with path.open("wb") as file:
        file.truncate(size)
        file.write(boot_sector())
        for at in (1 << 20, 9 << 20):
            if at < size:
                file.seek(at)
                file.write(chance.randbytes(300_000) + b"text " * 100_000)
        file.seek(size - 1000)
        file.write(b"end" * 100)
    return path.read_bytes()


def boot_sector() -> bytes:
    """An MBR with boot code and one partition."""
    entry = struct.pack("<B3sB3sII", 0x80, b"", 0x83, b"", 1, 1)
    return b"\xeb\x63\x90".ljust(446, b"\x90") + entry + bytes(48) + b"\x55\xaa"


def convert(source: Path, target: Path, *options: str) -> Path:
    """Make a qcow2 of a raw disk."""
    command = ["qemu-img", "convert", "-f", "raw", "-O", "qcow2", *options, str(source), str(target)]
    subprocess.run(command, check=True, capture_output=True)
    return target
