"""Waiting for a folder's files to change, which Python has no call for: inotify(7)."""

import asyncio
import ctypes
import os
from pathlib import Path
from types import TracebackType
from typing import Self

_libc = ctypes.CDLL(None, use_errno=True)
_IN_MODIFY, _IN_MOVED_TO, _IN_CREATE = 0x02, 0x80, 0x100
_LOOK_EVERY = 0.2  # where the kernel has no more watches to give


class Watch:
    """A context manager; `changed` is told of everything that is written below the folder from then on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._came = asyncio.Event()

    def __enter__(self) -> Self:
        self._descriptor = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        events = _IN_MODIFY | _IN_MOVED_TO | _IN_CREATE
        self._watches = _libc.inotify_add_watch(self._descriptor, bytes(self._folder), events) >= 0
        if self._descriptor >= 0:
            asyncio.get_running_loop().add_reader(self._descriptor, self._drain)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor >= 0:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._descriptor)
            # The kernel takes a while to let go of a watch: some 20 ms, for which nothing here need wait.
            loop.run_in_executor(None, os.close, self._descriptor)

    async def changed(self, timeout: float) -> None:
        """Return when something was written since the last call, or after `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout if self._watches else min(timeout, _LOOK_EVERY)):
                await self._came.wait()
        except TimeoutError:
            return
        self._came.clear()

    def _drain(self) -> None:
        try:
            os.read(self._descriptor, 65_536)
        except BlockingIOError:
            return
        self._came.set()
