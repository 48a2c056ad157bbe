"""How many files and connections this process may have open (`RLIMIT_NOFILE`), and what is done when they are used up.

Some descriptors are kept in reserve.  They are given back as soon as the kernel refuses another one: the operator's commands,
`tinkbox doctor` among them, have those.  Other newcomers are told why they are turned away, until there is room again.
"""

import asyncio
import errno
import logging
import os
import resource
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final, NoReturn

from aiohttp import web

from tinkbox.model.errors import Unavailable
from tinkbox.model.vitals import Descriptors

# What a look of the doctor, its programs and some connections of the operator take.
RESERVE: Final = 48
# In seconds, how often it is tried whether there is room again.
EVERY: Final = 1.0
# Newcomers that are told why they are turned away, at once: each has a descriptor.
MOST_TOLD: Final = 8
_TABLES: Final = (errno.EMFILE, errno.ENFILE)
_OURS: Final = Path("/proc/self/fd")
_log = logging.getLogger(__name__)


def raise_open_files(wanted: int) -> int:
    """Have as many as wanted allowed, as far as this host lets us; returns how many are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= allowed:
        return wanted if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed


def is_for_descriptors(error: BaseException) -> bool:
    """Whether the kernel refused another descriptor, to this process or to any on this host."""
    return isinstance(error, OSError) and error.errno in _TABLES


class OpenFiles:
    """The descriptors of this process.  `clock` is in UTC; `begin` takes the reserve."""

    def __init__(self, clock: Callable[[], datetime], reserve: int = RESERVE) -> None:
        self._clock = clock
        self._size = reserve
        self._reserve: list[int] = []
        self._refused_at: datetime | None = None
        self._of_host = False
        self.scarce = False
        self.telling = 0

    def begin(self) -> None:
        """Take the reserve, as far as it can be had."""
        self._fill()

    def close(self) -> None:
        """Keep no reserve any more."""
        while self._reserve:
            os.close(self._reserve.pop())

    def ran_out(self, error: BaseException) -> bool:
        """Note that `error` refused a descriptor, if it did; returns whether there are some now, from the reserve."""
        if not is_for_descriptors(error):
            return False
        assert isinstance(error, OSError)
        self._refused_at, self._of_host = self._clock(), error.errno == errno.ENFILE
        if not self.scarce:
            self.scarce = True
            _log.error("%s", self.why, extra={"action": "descriptors.used-up"})
        has_some = bool(self._reserve)
        self.close()
        return has_some

    @property
    def why(self) -> str:
        """The reason of a refusal, with what to do."""
        if self._of_host:
            return (
                "this host has no file descriptor left for any program (ENFILE): end what holds many, or raise "
                "`sysctl fs.file-max`. `tinkbox doctor` tells more"
            )
        return (
            f"the appliance has no file descriptor left (EMFILE): its process may have {_most()} open. Raise "
            "LimitNOFILE= of its unit. `tinkbox doctor` tells more"
        )

    def look(self) -> Descriptors:
        """How many are open, the reserve included, and how many may be."""
        most = _most()
        opened = number_open()
        return Descriptors(
            opened=most if opened is None else opened,
            most=most,
            process=os.getpid(),
            refused_at=self._refused_at,
            used_up=self.scarce,
            of_host=self._of_host,
        )

    async def run(self) -> NoReturn:
        """Find out when there is room again, for ever."""
        while True:
            await asyncio.sleep(EVERY)
            self.try_again()

    def try_again(self) -> None:
        """Find it out now."""
        if not self.scarce:
            return
        opened = number_open()
        # Twice the reserve: what is taken for a moment must not be missing to the operator in that moment.
        if opened is None or opened + 2 * self._size > _most() or not self._fill():
            return
        self.scarce = False
        _log.warning("there are file descriptors again", extra={"action": "descriptors.free-again"})

    def _fill(self) -> bool:
        try:
            while len(self._reserve) < self._size:
                self._reserve.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            self.close()
            return False
        return True


def number_open(folder: Path = _OURS) -> int | None:
    """How many descriptors this process has open; None where that takes one more and there is none."""
    # Linux tells it so since 6.2, and that takes no descriptor.
    try:
        return folder.stat().st_size or len(list(folder.iterdir())) - 1
    except OSError:
        return None


def _most() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


_OPEN_FILES: Final = web.AppKey("open_files", OpenFiles)


def tell_used_up(application: web.Application, open_files: OpenFiles) -> None:
    """Have requests of an application that fail for want of a descriptor answered with that reason."""
    application[_OPEN_FILES] = open_files


def refusal_for(request: web.Request, error: OSError) -> Unavailable | None:
    """Why a request failed that ended with `error`, where that was for want of a descriptor."""
    open_files = request.app.get(_OPEN_FILES)
    if open_files is None or not is_for_descriptors(error):
        return None
    open_files.ran_out(error)
    return Unavailable(open_files.why)
