"""What takes room on the disk, for those who look at the appliance.

The store counts its own bytes as they come and go, and so does what says so (`DiskGauge.count`); other folders are measured in a
thread, every minute.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, NoReturn

from tinkbox.model.disk_usage import DiskUsage, Share, Stored
from tinkbox.store.database import Store, Tables

MEASURE_EVERY: Final = 60.0


class DiskGauge:
    """A part.  `folders` are the kinds that lie beside the database; `free` gives the bytes that are free on the disk, `total` those that files may take in all."""

    def __init__(
        self,
        store: Store,
        folders: Mapping[Stored, Path],
        free: Callable[[], int],
        keep_free: int,
        clock: Callable[[], datetime],
        total: Callable[[], int] = int,
    ) -> None:
        self._store = store
        self._folders = folders
        self._free = free
        self._keep_free = keep_free
        self._clock = clock
        self._total = total
        self._measured: Mapping[Stored, Share] = {}
        self._counted: dict[Stored, Callable[[], Share]] = {}

    def count(self, kind: Stored, share: Callable[[], Share]) -> None:
        """Have a kind tell what it takes; its folder is measured no more."""
        self._counted[kind] = share

    async def run(self) -> NoReturn:
        """Measure the folders every so often, for ever."""
        while True:
            await self.measure()
            await asyncio.sleep(MEASURE_EVERY)

    async def measure(self) -> None:
        """Measure the folders."""
        self._measured = await asyncio.to_thread(
            lambda: {kind: _size(folder) for kind, folder in self._folders.items() if kind not in self._counted}
        )

    async def usage(self) -> DiskUsage:
        """What takes room now; folders as they were measured last.  It costs the same however much is stored."""
        counted = {kind: share() for kind, share in self._counted.items()}

        def question(tables: Tables) -> DiskUsage:
            early = tables.room.early_deletion()
            return DiskUsage(
                free=self._free(),
                keep_free=self._keep_free,
                database=tables.room.file(),
                shares={**tables.room.shares(), **self._measured, **counted},
                total=self._total(),
                early=early if early and early.is_news(self._clock()) else None,
            )

        return await self._store.read(question)


def _size(folder: Path) -> Share:
    """The files below a folder, none when there is no such folder."""
    octets = number = 0
    for where, _, files in os.walk(folder):
        for name in files:
            try:
                octets += Path(where, name).lstat().st_size
            except OSError:  # it went meanwhile
                continue
            number += 1
    return Share(octets=octets, number=number)
