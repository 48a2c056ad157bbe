"""Writes that the disk refuses: known for as long as it does, since the caller that hears of it is often a machine."""

import asyncio
import logging
import os
import tempfile
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, NoReturn

from tinkbox.model.write_fault import RefusedWrite, Unwritten, WriteFault

# Bytes that must find room before a disk counts as one that takes writes: what fits may be small where the next is not.
PROBE: Final = 1 << 20
# In seconds, how often it is tried whether a write is taken again.
EVERY: Final = 5.0
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Standing:
    refused: RefusedWrite
    takes_again: Callable[[], Awaitable[bool]]
    fresh: bool = True


class RefusedWrites:
    """Remembers the writes that are refused, by what was to be written; `refuse` may be called in any thread.

    One is over when nothing like it was refused for a while and its probe succeeds.  The log has two lines of each: the first
    refusal, and the end.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._standing: dict[Unwritten, _Standing] = {}
        self._turn = threading.Lock()

    def refuse(
        self,
        what: Unwritten,
        text: str,
        takes_again: Callable[[], Awaitable[bool]],
        said: str = "writes are refused",
        *,
        fault: WriteFault = WriteFault.OTHER,
        way_out: str = "",
    ) -> None:
        """Note that `what` was not written; `takes_again` tries later whether it could be now, `said` begins the log's line."""
        now = self._clock()
        with self._turn:
            known = self._standing.get(what)
            since = known.refused.since if known is not None else now
            refused = RefusedWrite(since=since, what=what, text=text, fault=fault, way_out=way_out)
            self._standing[what] = _Standing(refused, takes_again)
        if known is None:
            _log.error("%s: %s", said, refused.text, extra={"action": "disk.refused"})

    @property
    def all(self) -> tuple[RefusedWrite, ...]:
        """Those that stand now, the longest first."""
        with self._turn:
            return tuple(sorted((each.refused for each in self._standing.values()), key=lambda each: each.since))

    async def run(self) -> NoReturn:
        """Find out when writes are taken again, for ever."""
        while True:
            await asyncio.sleep(EVERY)
            await self.try_again()

    async def try_again(self) -> None:
        """Find it out now."""
        for each in list(self._standing.values()):
            await self._try(each)

    async def _try(self, each: _Standing) -> None:
        if each.fresh:
            each.fresh = False
            return
        if not await each.takes_again():
            return
        refused = each.refused
        with self._turn:
            if self._standing.get(refused.what) is not each:  # refused once more meanwhile
                return
            del self._standing[refused.what]
        _log.warning(
            "writes are taken again: %s, which was refused since %s: %s",
            refused.what,
            f"{refused.since:%H:%M:%S} UTC",
            refused.text,
            extra={"action": "disk.taken-again"},
        )


def has_room(folder: Path) -> bool:
    """Whether the disk of a folder takes PROBE bytes now; this blocks."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(PROBE))
            os.fsync(file.fileno())
            return file.tell() == PROBE
    except OSError:
        return False
