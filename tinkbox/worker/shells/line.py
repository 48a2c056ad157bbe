"""A shell's line to the appliance, dialled again whenever it breaks."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import NoReturn, Protocol

from tinkbox.model.errors import Refusal
from tinkbox.wire.messages.shell import Frame

FIRST_WAIT = 0.25
LONGEST_WAIT = 8.0
_log = logging.getLogger(__name__)


class Connection(Protocol):
    """One connection; `client.shell` has what is raised."""

    async def send_frame(self, frame: Frame) -> None: ...
    async def receive_frame(self) -> Frame | None: ...


class Line:
    """`dial` makes a connection, `arrived` is given every frame that comes, one after the other.

    Of what is on its way when a connection breaks, some may be lost; what comes behind it waits for the next one.
    """

    def __init__(
        self, dial: Callable[[], AbstractAsyncContextManager[Connection]], arrived: Callable[[Frame], Awaitable[None]]
    ) -> None:
        self._dial = dial
        self._arrived = arrived
        self._connection: Connection | None = None
        self._changed = asyncio.Event()
        self._last: Frame | None = None
        self._hung_up = False
        self.finished = asyncio.Event()

    async def keep(self) -> NoReturn:
        """Keep the line up; whoever started it cancels it."""
        wait = FIRST_WAIT
        while True:
            try:
                async with self._dial() as connection:
                    if self._last is not None:
                        await self._say_last(connection)
                    self._connection = connection
                    self._changed.set()
                    while (frame := await connection.receive_frame()) is not None:
                        wait = FIRST_WAIT
                        await self._arrived(frame)
            except Refusal as error:
                # Also where there is no such shell: orders tell whether it is wanted.
                _log.info("%s; dialling again in %.2f s", error, wait, extra={"action": "shell.redials"})
            finally:
                self._connection = None
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    async def send_when_up(self, frame: Frame) -> None:
        """Send as soon as the line is up and the appliance has room."""
        while not self._hung_up:
            connection = self._connection
            if connection is None:
                self._changed.clear()
                await self._changed.wait()
                continue
            try:
                await connection.send_frame(frame)
            except Refusal:
                # Whoever listens on it notices too, and dials again.
                if self._connection is connection:
                    self._connection = None
            else:
                return

    async def finish(self, frame: Frame) -> None:
        """Send the last frame, now and on every connection from now on; `finished` is set once it was sent."""
        self._last = frame
        if self._connection is not None:
            with suppress(Refusal):
                await self._say_last(self._connection)

    def hang_up(self) -> None:
        """Nobody wants to hear any more: from now on nothing waits for the line."""
        self._hung_up = True
        self._changed.set()

    async def _say_last(self, connection: Connection) -> None:
        assert self._last is not None, "there is more to say"
        await connection.send_frame(self._last)
        self.finished.set()
