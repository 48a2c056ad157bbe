"""Frames on their way to one peer, who takes them at its own pace."""

import asyncio
from collections import deque
from typing import NoReturn

from tinkbox.wire.messages.shell import Frame

LIMIT = 256 * 1024


class CutOff(Exception):
    """The peer is to be hung up on, without another word."""


class FrameQueue:
    """A queue with a measure: with `limit` bytes in it it is full, and whoever can wait should wait for `room`.

    A peer that takes nothing for `patience` seconds while it is full is cut off; with None it has all the time.
    """

    def __init__(self, limit: int = LIMIT, patience: float | None = None) -> None:
        self._limit = limit
        self._patience = patience
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._taken = 0
        self._closed = False
        self._watched = False
        self._something = asyncio.Event()
        self._room = asyncio.Event()
        self._cut = asyncio.Event()
        self._room.set()

    @property
    def full(self) -> bool:
        return self._bytes >= self._limit

    @property
    def empty(self) -> bool:
        return not self._frames

    def put(self, frame: Frame) -> None:
        """Behind all others; nothing when it is closed."""
        if self._closed:
            return
        self._frames.append(frame)
        self._bytes += 1 + len(frame.content)
        self._something.set()
        if self.full:
            self._room.clear()
            self._watch()

    async def take(self) -> Frame | None:
        """The next frame, as soon as there is one; None when it is closed and there is none.  Raises CutOff."""
        await self._something.wait()
        if self._cut.is_set():
            raise CutOff
        if not self._frames:
            return None
        frame = self._frames.popleft()
        self._bytes -= 1 + len(frame.content)
        self._taken += 1
        if not self._frames and not self._closed:
            self._something.clear()
        if not self.full:
            self._room.set()
        return frame

    async def room(self) -> None:
        """Wait until it is not full, or closed."""
        await self._room.wait()

    def close(self) -> None:
        """What is in it can still be taken, and nothing comes behind it."""
        self._closed = True
        self._something.set()
        self._room.set()

    def cut_off(self) -> None:
        """Whatever is in it is lost."""
        self._frames.clear()
        self._bytes = 0
        self.close()
        self._cut.set()

    async def cut(self) -> NoReturn:
        """Wait until it is cut off; raises CutOff."""
        await self._cut.wait()
        raise CutOff

    def handed_over(self) -> "FrameQueue":
        """Another one with what is in this one, which is cut off."""
        other = FrameQueue(self._limit, self._patience)
        for frame in self._frames:
            other.put(frame)
        self.cut_off()
        return other

    def _watch(self) -> None:
        if self._patience is not None and not self._watched:
            self._watched = True
            asyncio.get_running_loop().call_later(self._patience, self._look, self._taken)

    def _look(self, taken: int) -> None:
        self._watched = False
        if self.full and self._taken == taken:
            self.cut_off()
        elif self.full:
            self._watch()
