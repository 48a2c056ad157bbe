"""Telling the appliance how far an action is, by what it writes to /dev/progress.

Nothing waits for it, and nothing fails with it: what cannot be told is told later, or never.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from tinkbox.client.node import SessionOver
from tinkbox.model.actions.progress import Told
from tinkbox.model.errors import Conflict, NotFound, Refusal
from tinkbox.wire.messages.progress import Telling
from tinkbox.wire.messages.worker import Offer

LOOK_EVERY = 1.0
TELL_EVERY = 2.0
# An appliance that was started anew knows it again after so long, though it stands still.
REPEAT_AFTER = 30.0
_log = logging.getLogger(__name__)


class Door(Protocol):
    """Who is told."""

    async def progress(self, attempt: str, telling: Telling) -> None: ...


class ProgressTelling:
    """Of one attempt; `said` reads what its action wrote last."""

    def __init__(self, door: Door, offer: Offer, boot_id: str, said: Callable[[], Told | None]) -> None:
        self._door = door
        self._offer = offer
        self._boot_id = boot_id
        self._said = said

    async def run(self) -> None:
        """Look and tell; whoever started it cancels it.  It ends by itself when nobody wants to know."""
        now = asyncio.get_running_loop().time
        told: Told | None = None
        said: Told | None = None
        told_at = now() - REPEAT_AFTER
        while True:
            await asyncio.sleep(LOOK_EVERY)
            before, said, since = said, self._said(), now() - told_at
            if said is None and before is not None:
                continue  # whoever writes the file anew empties it first
            if since < TELL_EVERY or (said == told and (said is None or since < REPEAT_AFTER)):
                continue
            told_at = now()
            try:
                await self._door.progress(self._offer.attempt, self._telling(said))
            except (NotFound, Conflict, SessionOver) as error:
                # An appliance of before there was progress; or it will say of the attempt itself what it says here.
                _log.info("the progress is not wanted: %s", error, extra={"action": "progress.unwanted"})
                return
            except Refusal as error:
                _log.debug("the progress is not told: %s", error, extra={"action": "progress.untold"})
            else:
                told = said

    def _telling(self, said: Told | None) -> Telling:
        return Telling(workflow_id=self._offer.workflow_id, boot_id=self._boot_id, progress=said)
