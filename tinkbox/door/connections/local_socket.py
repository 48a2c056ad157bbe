"""The unix socket of a door: its file may be deleted while it is listened on, and then nobody comes any more."""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, NoReturn

from tinkbox.model.errors import Unavailable

# In seconds, how often its file is looked for.
EVERY: Final = 2.0
_log = logging.getLogger(__name__)


class LocalSocket:
    """What listens at `path`, as `bind` makes it; `problem` is why its file is not there and cannot be made anew, or nothing.

    Raises what `bind` raises.
    """

    def __init__(self, path: Path, bind: Callable[[], socket.socket], every: float = EVERY) -> None:
        self._path = path
        self._bind = bind
        self._every = every
        self.listening = bind()
        self._file = self._found()
        self.problem = ""

    def close(self) -> None:
        """Listen no more."""
        self.listening.close()

    async def serve(self, accept: Callable[[socket.socket], Coroutine[Any, Any, NoReturn]]) -> NoReturn:
        """Take connections with `accept`, for ever, and from a new socket where the file of this one is gone or is another's."""
        while True:
            listening = self.listening
            async with asyncio.TaskGroup() as group:
                accepting = group.create_task(accept(listening))
                while True:
                    await asyncio.sleep(self._every)
                    if self._found() != self._file and self._renewed():
                        break
                accepting.cancel()
            listening.close()

    def _renewed(self) -> bool:
        try:
            self.listening = self._bind()
        except Unavailable as why:
            if str(why) != self.problem:
                _log.error(
                    "%s is gone, and cannot be made anew: %s", self._path, why, extra={"action": "door.socket-gone"}
                )
            self.problem = str(why)
            return False
        self._file, self.problem = self._found(), ""
        _log.warning(
            "%s was deleted or replaced: it was made anew", self._path, extra={"action": "door.socket-made-anew"}
        )
        return True

    def _found(self) -> tuple[int, int] | None:
        """Which file is there now."""
        try:
            found = self._path.lstat()
        except OSError:
            return None
        return found.st_dev, found.st_ino
