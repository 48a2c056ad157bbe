"""Saving, in batches, what is kept in memory while machines are answered."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn

from tinkbox.model.errors import Unavailable

SAVE_EVERY = 0.25
RETRY_SAVING = 5.0
_log = logging.getLogger(__name__)


async def keep_saving(noted: asyncio.Event, save: Callable[[], Awaitable[None]], what: str) -> NoReturn:
    """Call `save` soon after `noted` is set, for ever; a full disk is tried again, and said once."""
    refused = False
    while True:
        await noted.wait()
        await asyncio.sleep(SAVE_EVERY)
        noted.clear()
        try:
            await save()
        except Unavailable as error:
            if not refused:
                _log.warning("%s is not saved: %s", what, error, extra={"action": "saving.refused"})
            refused = True
            await asyncio.sleep(RETRY_SAVING)
            noted.set()
        else:
            if refused:
                _log.info("%s is saved again", what, extra={"action": "saving.recovered"})
            refused = False
