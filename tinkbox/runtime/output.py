"""What a container prints, on its way to the appliance while it runs.

The appliance says which byte it wants next, so that nothing is lost or doubled when either side is
restarted: the container's log is read from its beginning and what is known already is skipped.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Protocol

from tinkbox.model.errors import Conflict, Refusal, Unavailable
from tinkbox.model.reasons import Reason
from tinkbox.runtime import ContainerFailed, EngineAway
from tinkbox.runtime.retrying import patiently
from tinkbox.wire.messages.worker import MAX_OUTPUT_CHUNK, MAX_TAIL_LINES

MAX_WAITING = 4 * MAX_OUTPUT_CHUNK
TAIL_BYTES = 16 * 1024
_ANSWER_SECONDS = 2.0
_log = logging.getLogger(__name__)


class Door(Protocol):
    """Where output goes."""

    async def output(self, token: str, offset: int, chunk: bytes, /) -> int:
        """Take what was printed from byte `offset` on; returns the offset wanted next.  May raise a Refusal."""


class OutputPump:
    """Carries the output of containers, one after the other, as that of one thing, which `token` names to the door."""

    def __init__(self, door: Door, token: str) -> None:
        self._door = door
        self._token = token
        self._base = 0  # where the current container's output begins within the whole
        self._read = 0  # how far the current container's log was read
        self._waiting = bytearray()
        self._tail = bytearray()
        self._wanted: int | None = None
        self._refused = False

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines of the current container."""
        text = bytes(self._tail).replace(b"\0", b"").decode(errors="replace").replace("\r", "\n")
        lines = [line.rstrip() for line in text.split("\n")]
        return tuple(line for line in lines if line)[-MAX_TAIL_LINES:]

    @property
    def read(self) -> int:
        """How many bytes were read of the current container."""
        return self._read

    @property
    def received(self) -> int:
        """How many bytes were read of all containers."""
        return self._base + self._read

    def next_container(self) -> None:
        """What is carried from now on is another container's output, behind what there was."""
        self._base += self._read
        self._read = 0
        self._tail.clear()

    def next_run(self) -> None:
        """What is carried from now on is printed by another process in the same container."""
        self._tail.clear()

    async def carry(
        self,
        output: Callable[[], AsyncIterator[bytes]],
        patience: float = math.inf,
        so_far: Callable[[], AsyncIterator[bytes]] | None = None,
    ) -> None:
        """Carry the container's output until it ends, however often the engine or the appliance is away.

        An engine that stays away for more than `patience` seconds ends it as well.  Carried again, after it was
        interrupted or ended, it goes on where it was.  Of a log of which an engine drops the beginning, `so_far` is all
        that there is now: where that is less than was known, it goes on behind it.
        """
        ended, more, room = asyncio.Event(), asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._reading(output, so_far, patience, ended, more, room))
            group.create_task(self._sending(ended, more, room))

    async def _reading(
        self,
        output: Callable[[], AsyncIterator[bytes]],
        so_far: Callable[[], AsyncIterator[bytes]] | None,
        patience: float,
        ended: asyncio.Event,
        more: asyncio.Event,
        room: asyncio.Event,
    ) -> None:
        now, away_since = asyncio.get_running_loop().time, math.inf

        async def read_through() -> None:
            nonlocal away_since
            position = 0 if so_far is None else await self._dropped(so_far)
            async for chunk in output():
                away_since = math.inf
                fresh = chunk[max(0, self._read - position) :]
                position += len(chunk)
                if not fresh:
                    continue
                self._read = position
                self._take(fresh)
                more.set()
                while len(self._waiting) > MAX_WAITING:
                    room.clear()
                    await room.wait()

        async def read_while_it_answers() -> None:
            nonlocal away_since
            try:
                await read_through()
            except EngineAway as error:
                away_since = min(away_since, now())
                if now() - away_since >= patience:
                    raise ContainerFailed(Reason.ENGINE_GONE, str(error)) from None
                raise

        try:
            await patiently(read_while_it_answers, EngineAway)
        except ContainerFailed as error:
            _log.warning("the output ends early: %s", error, extra={"action": "output.lost"})
        ended.set()
        more.set()

    async def _dropped(self, so_far: Callable[[], AsyncIterator[bytes]]) -> int:
        """How many bytes at its beginning the log has lost, as if nothing had been printed while it was not read.

        Docker 20.10 also repeats lines to those who follow where it cuts a log: no count tells more of such a one.
        """
        known = max(self._read, await self._first_wanted() - self._base)
        length = 0
        if known:
            async for chunk in so_far():
                length += len(chunk)
        return max(0, known - length)

    async def _first_wanted(self) -> int:
        """The offset that the appliance wants next; 0 where it does not say: what is printed is read also without it."""
        if self._wanted is None:
            with suppress(Refusal, TimeoutError):
                async with asyncio.timeout(_ANSWER_SECONDS):
                    self._wanted = await self._door.output(self._token, 0, b"")
        return self._wanted or 0

    def _take(self, fresh: bytes) -> None:
        self._tail += fresh
        del self._tail[:-TAIL_BYTES]
        if not self._refused:
            self._waiting += fresh

    async def _sending(self, ended: asyncio.Event, more: asyncio.Event, room: asyncio.Event) -> None:
        while not (ended.is_set() and not self._waiting):
            await more.wait()
            more.clear()
            try:
                while self._waiting:
                    await patiently(self._send_some, Unavailable)
                    room.set()
            except Refusal as error:
                # Nobody wants it any more; what prints it goes on.
                _log.warning("output is not wanted: %s", error, extra={"action": "output.refused"})
                self._refused = True
                self._waiting.clear()
                room.set()

    async def _send_some(self) -> None:
        if self._wanted is None:
            self._wanted = await self._door.output(self._token, 0, b"")
        start = self._base + self._read - len(self._waiting)
        known = max(0, self._wanted - start)
        del self._waiting[:known]
        if not self._waiting:
            return
        start += known
        self._wanted = await self._door.output(self._token, start, bytes(self._waiting[:MAX_OUTPUT_CHUNK]))
        if self._wanted < start:
            raise Conflict(f"the appliance wants output from byte {self._wanted} again, which is here no more")
