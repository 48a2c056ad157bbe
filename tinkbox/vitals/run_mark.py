"""A mark that stands for as long as the appliance runs, and stays where it ends without being told to.

It stands in the file that the appliance has locked.  It names that file's own place on the disk: a data folder that was copied while an
appliance ran, as for a backup, has another, and says nothing of an end.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, NoReturn, TextIO

from tinkbox.model.vitals import UncleanEnd

# Seconds between two signs of life, which are all that is known of when it ended.
ALIVE_EVERY: Final = 30.0
_LONGEST: Final = 200


class RunMark:
    """In a `file` that is open for reading and writing; `boot_id` names this boot of the host (random(4)).

    `unclean` is how the appliance before this one ended, None where it was told to, or where that is not known.  OSError is nowhere raised:
    a disk that takes nothing is told of elsewhere.
    """

    def __init__(self, file: TextIO, boot_id: Callable[[], str]) -> None:
        self._file = file
        self._boot_id = boot_id
        self.unclean = self._before()

    def begin(self) -> None:
        """From now on an end is one that was not asked for."""
        with suppress(OSError):
            self._write(f"{self._place()} {self._boot_id()}\n")

    def end(self) -> None:
        """The appliance was told to end."""
        with suppress(OSError):
            self._write("")

    async def run(self) -> NoReturn:
        """Give signs of life, for ever."""
        while True:
            await asyncio.sleep(ALIVE_EVERY)
            with suppress(OSError):
                os.utime(self._file.fileno())

    def _before(self) -> UncleanEnd | None:
        try:
            self._file.seek(0)
            place, _, boot_id = self._file.read(_LONGEST).strip().partition(" ")
            if not boot_id or place != self._place():
                return None
            at = datetime.fromtimestamp(os.fstat(self._file.fileno()).st_mtime, UTC)
            return UncleanEnd(alive_at=at, host_booted=boot_id != self._boot_id())
        except (OSError, ValueError):
            return None

    def _place(self) -> str:
        found = os.fstat(self._file.fileno())
        return f"{found.st_dev}:{found.st_ino}"

    def _write(self, text: str) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._file.write(text)
        self._file.flush()
