"""The node door, of a worker that does not take its appliance's word for it that an attempt is not wanted any more.

An appliance whose store was put back to an earlier day does not know what runs here.  It is told, and asked again, until
it knows or a person has decided; until then nothing is stopped and nothing is removed.
"""

import asyncio
import logging
from collections.abc import Mapping

from tinkbox.client.node import NodeDoor, Prove
from tinkbox.model.errors import NotFound, Refusal
from tinkbox.model.journal import Standing
from tinkbox.runtime.retrying import patiently
from tinkbox.wire.messages.journal import Answer
from tinkbox.wire.messages.session import Opening
from tinkbox.wire.messages.worker import Credential
from tinkbox.worker.files.journal import Journal

PAUSE = 1.0  # after an answer that no person has decided, for it may come at once
_ATTEMPTS = "/worker/attempts/"
_KNOWN = Answer(standing=Standing.KNOWN)
_log = logging.getLogger(__name__)


class FaithfulDoor(NodeDoor):
    """Every request about an attempt that the appliance does not know waits until `settled`, and is sent once more."""

    def __init__(self, credential: Credential, opening: Opening, prove: Prove, journal: Journal) -> None:
        super().__init__(credential, opening, prove)
        self._journal = journal
        self._boot_id = opening.boot_id
        self._settling = asyncio.Lock()

    async def settled(self) -> Answer:
        """Tell what was done here until the appliance knows of all, or a person decided that it counts for nothing."""
        async with self._settling:
            waits = False
            # An appliance that refuses the question knows of no journals, or of no such machine: it was put back as well.
            while (answer := await patiently(self._told, Refusal)) is None:
                if not waits:
                    waits = True
                    _log.warning(
                        "the appliance does not know all that was done here: its store was put back to an earlier day. "
                        "Nothing is begun, stopped or removed before a person decides",
                        extra={"action": "history.lost"},
                    )
                await asyncio.sleep(PAUSE)
            return answer

    async def _told(self) -> Answer | None:
        told = self._journal.told(self._boot_id)
        return _KNOWN if told is None else await self.history(told)

    async def _exchange(
        self, method: str, path: str, body: bytes | None, seconds: float
    ) -> tuple[bytes, Mapping[str, str]]:
        try:
            return await super()._exchange(method, path, body, seconds)
        except NotFound:
            if not path.startswith(_ATTEMPTS):
                raise
        if (await self.settled()).standing is Standing.DISCARDED:
            raise NotFound("a person decided that what was done here counts for nothing")
        return await super()._exchange(method, path, body, seconds)
