"""Booting machines first: while there is more to do than can be done, hosts that ask much wait.

It does not matter what else they ask for: what is not found costs as much as what is.  Nothing is refused, and nothing is
delayed as long as everything that comes is answered at once.
"""

import asyncio
from typing import Final, NoReturn

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from tinkbox.door.requests.bodies import holder_of
from tinkbox.model.rates import Buckets, Rate

LOOK_EVERY: Final = 0.05
# Seconds by which the event loop is late, in the mean of the last half a second.
HIGH: Final = 0.02
# What a host may ask in any case: all that an action needs, and an image that its container engine pulls.
MODEST: Final = Rate(burst=100, a_second=4)
REMEMBERED: Final = 8_192
PAUSE: Final = 0.25
LONGEST: Final = 2.0


class Pressure:
    """How late the event loop is; `run` is a part."""

    def __init__(self) -> None:
        self._late = 0.0
        self._asked = Buckets(MODEST, REMEMBERED)

    async def run(self) -> NoReturn:
        """Measure it, for ever."""
        now = asyncio.get_running_loop().time
        while True:
            due = now() + LOOK_EVERY
            await asyncio.sleep(LOOK_EVERY)
            self._late += (now() - due - self._late) / 10

    def guard(self, but: str) -> Middleware:
        """Has requests wait of a host that asked much, while there is pressure, but those below the path `but`.

        It belongs outside of all that costs time.
        """

        @web.middleware
        async def hold_back(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not request.path.startswith(but):
                await self._wait(holder_of(request))
            return await handler(request)

        return hold_back

    async def _wait(self, host: str) -> None:
        if self._asked.take(host, asyncio.get_running_loop().time()):
            return
        waited = 0.0
        while self._late > HIGH and waited < LONGEST:
            await asyncio.sleep(PAUSE)
            waited += PAUSE
