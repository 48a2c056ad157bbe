"""How much room the disk has on which the engine keeps images and the files of containers."""

import asyncio
import os
from typing import Final, Protocol

from tinkbox.model.sizes import show_size
from tinkbox.model.text import counted

# What a program may have taken away again after it failed for want of room.
LITTLE_OCTETS: Final = 16 << 20
FEW_INODES: Final = 64


class Engine(Protocol):
    """What is asked of an engine."""

    async def root(self) -> str: ...


async def little_room(engine: Engine) -> str:
    """That there is hardly any room left on the engine's disk, as a note to a failure; empty where there is, or that is not known.

    Raises as `Engine.root` does.
    """
    root = await engine.root()
    return await asyncio.to_thread(hardly_any, root) if root else ""


def hardly_any(root: str) -> str:
    """The same of a folder.  An engine on another host may name one that is not here."""
    try:
        found = os.statvfs(root)
    except OSError:
        return ""
    # Programs in containers are root, mostly, and may have what is reserved.
    octets = found.f_bfree * found.f_frsize
    if octets < LITTLE_OCTETS:
        left = f"{show_size(octets)} free" if octets else "no room left"
    elif found.f_files and found.f_ffree < FEW_INODES:  # btrfs counts none
        left = f"{counted(found.f_ffree, 'inode')} left" if found.f_ffree else "no inode left"
    else:
        return ""
    return f"when it ended, the disk of the Docker engine ({root}) had {left}, which may be why: `docker system df` shows what takes it"
