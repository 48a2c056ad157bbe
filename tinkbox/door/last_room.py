"""The last room on the disk, which is the operator's: what machines send to be kept waits until there is more."""

import re
from collections.abc import Callable
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from tinkbox.model.disk_usage import LAST_ROOM
from tinkbox.model.errors import Unavailable
from tinkbox.model.write_fault import Unwritten, WriteFault
from tinkbox.refused_writes import RefusedWrites

# What of ours takes much of it, if anything does, is for the doctor to say: history that takes little is deleted for nothing.
_WAY_OUT: Final = "free room where its data folder is"
FULL: Final = f"the appliance's disk is full: {_WAY_OUT}"
# How an attempt ended is always taken; a worker that has output to hand in first tells it when there is room.
_GROWS: Final = re.compile(r"/worker/(attempts/[^/]+/(output|data|held|verdict)|services(/.*)?|inventory)|/v2/.*")


def keep_last_room(free: Callable[[], int], refused_writes: RefusedWrites) -> Middleware:
    """Refuses what would be kept while the disk has less than LAST_ROOM; `free` gives its free bytes.

    What is refused is noted among `refused_writes`.
    """

    async def is_over() -> bool:
        return free() >= LAST_ROOM

    @web.middleware
    async def refuse(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.method not in ("GET", "HEAD", "DELETE") and _GROWS.fullmatch(request.path) and free() < LAST_ROOM:
            refused_writes.refuse(Unwritten.HANDED_IN, FULL, is_over, fault=WriteFault.FULL, way_out=_WAY_OUT)
            raise Unavailable(FULL)
        return await handler(request)

    return refuse
