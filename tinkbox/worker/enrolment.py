"""Giving the machine's firmware the appliance's authority, and telling the appliance what came of it."""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from tinkbox.model.errors import Conflict, NotFound, Refusal
from tinkbox.runtime.retrying import patiently
from tinkbox.wire.messages.enrolment import Enrolled

_log = logging.getLogger(__name__)


class Door(Protocol):
    """What this asks of the appliance; `client.node` tells what each raises."""

    async def tell_enrolment(self, enrolled: Enrolled) -> None: ...


async def enrol(door: Door, authority: str, write: Callable[[str], Enrolled]) -> None:
    """Have the firmware trust an authority (PEM), and say so as often as it takes; what cannot be had is said as well."""
    enrolled = await asyncio.to_thread(write, authority)
    if enrolled.authority:
        _log.info("the firmware trusts this appliance: the next boot is by HTTPS", extra={"action": "enrolment.done"})
    else:
        _log.warning("this machine goes on booting by HTTP: %s", enrolled.why, extra={"action": "enrolment.refused"})

    async def once() -> None:
        try:
            await door.tell_enrolment(enrolled)
        except (NotFound, Conflict) as error:
            _log.warning("the appliance took no word of it: %s", error, extra={"action": "enrolment.unwanted"})

    await patiently(once, Refusal)
