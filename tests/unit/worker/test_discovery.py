"""How a machine that nobody knows tells what it is, waits, and goes on as what it is accepted as."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from tinkbox.model.errors import Conflict, Denied, NotFound, Unavailable
from tinkbox.model.inventory import Inventory
from tinkbox.runtime import retrying
from tinkbox.wire.messages.inventory import Accepted, Told
from tinkbox.wire.messages.worker import Credential
from tinkbox.worker.discovery import introduced, tell

WHAT = Inventory(architecture="x86_64", processor="p", processors=1, memory=1, firmware="bios")
GUEST = Credential(server="http://a", registry="a", worker="08:00:27:00:00:07", token="guest", discovery=True)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_WAIT", 0.0)
    monkeypatch.setattr(retrying, "LONGEST_WAIT", 0.0)


@dataclass
class FakeDoor:
    """Raises each of `troubles` once, one per question; accepts when it was asked `asks` times."""

    troubles: list[Exception] = field(default_factory=list)
    asks: int = 1
    told: list[Told] = field(default_factory=list)

    async def tell_inventory(self, told: Told) -> None:
        self._trouble()
        self.told.append(told)

    async def accepted(self) -> Accepted | None:
        self._trouble()
        await asyncio.sleep(0)
        self.asks -= 1
        return None if self.asks else Accepted(worker="machine-7")

    def _trouble(self) -> None:
        if self.troubles:
            raise self.troubles.pop(0)


async def test_it_tells_waits_and_goes_on_with_the_machine_s_own_credential() -> None:
    door = FakeDoor(asks=3)
    own = await introduced(door, GUEST, "boot-1", lambda: WHAT)
    assert own == replace(GUEST, worker="machine-7", discovery=False)
    assert door.told == [Told(boot_id="boot-1", inventory=WHAT)]


async def test_whatever_the_appliance_answers_it_asks_again() -> None:
    away = [Unavailable("away"), Denied("who?"), Conflict("no")]
    door = FakeDoor(troubles=[*away, Unavailable("still away")])
    assert (await introduced(door, GUEST, "boot-1", lambda: WHAT)).worker == "machine-7"
    assert len(door.told) == 1


async def test_trouble_while_it_waits_passes_as_well() -> None:
    class Restarted(FakeDoor):
        async def accepted(self) -> Accepted | None:
            found = await super().accepted()
            if self.asks == 2:
                self.troubles.append(Unavailable("restarts"))
            return found

    assert (await introduced(Restarted(asks=4), GUEST, "boot-1", lambda: WHAT)).worker == "machine-7"


async def test_an_appliance_that_asks_for_no_inventory_is_not_asked_for_ever() -> None:
    door = FakeDoor(troubles=[NotFound("no such path")])
    async with asyncio.timeout(60):
        await tell(door, "boot-1", lambda: WHAT)
    assert door.told == []
