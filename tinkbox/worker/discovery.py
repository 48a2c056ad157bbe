"""Telling the appliance what this machine is, and waiting to be accepted when nobody knows it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from tinkbox.model.errors import NotFound, Refusal
from tinkbox.model.inventory import Inventory
from tinkbox.runtime.retrying import patiently
from tinkbox.wire.messages.inventory import Accepted, Told
from tinkbox.wire.messages.worker import Credential

_log = logging.getLogger(__name__)


class Door(Protocol):
    """What this asks of the appliance; `client.node` tells what each raises."""

    async def tell_inventory(self, told: Told) -> None: ...
    async def accepted(self) -> Accepted | None: ...


async def tell(door: Door, boot_id: str, read: Callable[[], Inventory]) -> None:
    """Say what this machine is, as often as it takes; an appliance that does not ask for it is not told."""
    told = Told(boot_id=boot_id, inventory=await asyncio.to_thread(read))

    async def once() -> None:
        try:
            await door.tell_inventory(told)
        except NotFound:
            _log.info("this appliance asks for no inventory", extra={"action": "inventory.unwanted"})

    await patiently(once, Refusal)


async def introduced(door: Door, credential: Credential, boot_id: str, read: Callable[[], Inventory]) -> Credential:
    """Who this worker is once its machine is accepted, however long that takes: it goes on with the session that it has."""
    _log.info(
        "nobody knows this machine, %s: it tells what it is and waits to be accepted", credential.worker,
        extra={"action": "discovery.tells"},
    )  # fmt: skip
    await tell(door, boot_id, read)
    while (accepted := await patiently(door.accepted, Refusal)) is None:
        pass
    _log.info("accepted as machine %s", accepted.worker, extra={"action": "discovery.accepted"})
    return replace(credential, worker=accepted.worker, discovery=False)
