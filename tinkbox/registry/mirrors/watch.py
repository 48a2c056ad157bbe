"""Whether a mirror answers: by what comes of the pulls that need it, and by a look at it every few minutes."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, NoReturn

from tinkbox.model.images.mirrors import MirrorFault, MirrorTrouble
from tinkbox.registry.mirrors.upstream_client import UpstreamFailed

# Seconds between two looks; while one fails, and before a failure is believed.
LOOKS_EVERY: Final = 300.0
LOOKS_AGAIN: Final = 60.0
BELIEVED_AFTER: Final = 15.0
# A pull that failed is told for so long, unless one succeeds.
TOLD_FOR: Final = timedelta(minutes=10)


@dataclass(slots=True)
class _Failures:
    """So many in a row, since then; `fault`, `why` and `at` are the newest's."""

    since: datetime
    at: datetime
    fault: MirrorFault
    why: str
    times: int = 1


class MirrorWatch:
    """Of the mirror of `host` at `url`: `look` asks it for nothing in particular and raises UpstreamFailed, `clock` is in UTC."""

    def __init__(self, host: str, url: str, look: Callable[[], Awaitable[None]], clock: Callable[[], datetime]) -> None:
        self._host = host
        self._url = url
        self._look = look
        self._clock = clock
        self._looks: _Failures | None = None
        self._pulls: _Failures | None = None
        self._doubted = asyncio.Event()

    def answered(self) -> None:
        """It gave what a pull needs, or said that it has not got that."""
        self._pulls = None
        if self._looks is not None:
            self._doubted.set()

    def failed(self, error: UpstreamFailed) -> None:
        """A pull failed; what is only about the image that was asked for says nothing of the mirror."""
        if error.fault is None:
            return
        self._pulls = _one_more(self._pulls, error.fault, str(error), self._clock())
        self.doubt()

    def doubt(self) -> None:
        """Look soon; while looks fail the next one comes in any case."""
        if self._looks is None:
            self._doubted.set()

    @property
    def trouble(self) -> MirrorTrouble | None:
        """What keeps all of it from coming, as far as is known; None: nothing.

        One look that failed is no trouble yet: a registry may be started anew.
        """
        pulls = self._pulls_told
        looks = self._looks if self._looks is not None and (self._looks.times > 1 or pulls) else None
        newest = looks or pulls
        if newest is None:
            return None
        return MirrorTrouble(
            host=self._host,
            url=self._url,
            fault=newest.fault,
            why=newest.why,
            since=min(each.since for each in (looks, pulls) if each),
            at=newest.at,
            looked=looks is not None,
            pulled_at=pulls.at if pulls else None,
        )

    @property
    def _pulls_told(self) -> _Failures | None:
        pulls = self._pulls
        return None if pulls is None or self._clock() - pulls.at > TOLD_FOR else pulls

    async def run(self) -> NoReturn:
        """Look, for ever."""
        while True:
            self._doubted.clear()
            try:
                await self._look()
            except UpstreamFailed as error:
                # A pull that failed and had us look is the beginning of the same, also when it is told no more.
                before = self._looks or self._pulls_told
                times = self._looks.times if self._looks else 0
                looks = _one_more(before, error.fault or MirrorFault.ANSWER, str(error), self._clock())
                self._looks = replace(looks, times=times + 1)
            else:
                self._looks = None
            try:
                async with asyncio.timeout(self._pause()):
                    await self._doubted.wait()
            except TimeoutError:
                continue

    def _pause(self) -> float:
        if self._looks is None:
            return LOOKS_EVERY
        if self._looks.times == 1:
            return BELIEVED_AFTER
        # A registry may shut out whoever tries a wrong login too often.
        return LOOKS_EVERY if self._looks.fault is MirrorFault.LOGIN else LOOKS_AGAIN


def _one_more(before: _Failures | None, fault: MirrorFault, why: str, now: datetime) -> _Failures:
    if before is None:
        return _Failures(since=now, at=now, fault=fault, why=why)
    return _Failures(since=before.since, at=now, fault=fault, why=why, times=before.times + 1)
