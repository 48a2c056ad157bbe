"""What can go wrong: each fault strikes while the exchange that marks a transition is held."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from tests.integration.faults.rig import Rig
from tests.integration.faults.wire import Exchange

Fault = Callable[[Rig, Exchange], Awaitable[None]]
DAY = 86_400.0


async def appliance_killed(rig: Rig, exchange: Exchange) -> None:
    """kill -9, and started again; what it was asked or was answering is gone with it."""
    if exchange.wire.name == "door":
        exchange.lose()
    await asyncio.to_thread(rig.appliance.restart)


async def worker_killed(rig: Rig, exchange: Exchange) -> None:
    """kill -9, and started again; what it was about to ask is never asked."""
    rig.worker.kill()
    if not exchange.status:
        exchange.lose()
    rig.worker.start()


async def worker_killed_when_it_had_asked(rig: Rig, exchange: Exchange) -> None:
    """The same, and its request arrives after its death."""
    rig.worker.kill()
    rig.worker.start()


async def engine_killed(rig: Rig, exchange: Exchange) -> None:
    """kill -9 of the engine, containerd and all containers, and started again."""
    if exchange.wire.name == "docker":
        # It tells of a container's end a moment before it has saved it; whoever inspects waits for that.
        await asyncio.to_thread(rig.engine.cli, "inspect", *await asyncio.to_thread(rig.containers), check=False)
        exchange.lose()
    await rig.restart_engine()


async def connection_cut(rig: Rig, exchange: Exchange) -> None:
    """Whatever the worker has open, to the appliance and to the engine, breaks."""
    for wire in rig.wires:
        wire.cut()


async def answer_lost(rig: Rig, exchange: Exchange) -> None:
    """The request arrives and has its effect, and the worker never learns of it."""
    exchange.answer_lost = True
    if exchange.status:
        exchange.lose()


async def reports_doubled(rig: Rig, exchange: Exchange) -> None:
    """Whatever the worker told so far, reports, output and data, arrives once more, long after its time."""
    for earlier in list(rig.script.story.effects):
        status = await earlier.wire.again(earlier)
        rig.script.story.add(f"** again: {earlier.method} {earlier.path} -> {status}")
        # Of an attempt that is over, data would undo what came after it, and leaving means nothing.
        stale = earlier.path.endswith(("/data", "/leaving"))
        if status != 200 and not (status == 409 and stale):
            rig.refused.append(f"{earlier.method} {earlier.path} again: {status}")


async def clock_a_day_ahead(rig: Rig, exchange: Exchange) -> None:
    """From here on the worker's wall clock is a day ahead."""
    rig.worker.set_clock(DAY)


async def clock_a_day_behind(rig: Rig, exchange: Exchange) -> None:
    """From here on the worker's wall clock is a day behind."""
    rig.worker.set_clock(-DAY)


async def canceled(rig: Rig, exchange: Exchange) -> None:
    """The operator cancels the workflow."""
    await rig.operator.workflows.cancel(rig.workflow)


async def machine_goes(rig: Rig, exchange: Exchange) -> None:
    """The machine boots again."""
    await rig.reboot()


async def none(rig: Rig, exchange: Exchange) -> None:
    """Nothing; a step to be behind."""


FAULTS: Sequence[Fault] = (
    appliance_killed,
    worker_killed,
    worker_killed_when_it_had_asked,
    engine_killed,
    connection_cut,
    answer_lost,
    reports_doubled,
    clock_a_day_ahead,
    clock_a_day_behind,
)


def plan(rig: Rig, fault: Fault, transition: str, action: str, *, goes_on: bool = True) -> None:
    """Let the fault strike when the action reaches the transition, after all that was planned before.

    An action that waits for it may go on afterwards, unless `goes_on` is false.
    """

    async def strike(exchange: Exchange) -> None:
        again = rig.script.waits(action)
        if again:
            rig.hold(action)
        await fault(rig, exchange)
        if goes_on and not again:
            rig.allow(action)

    rig.script.plan(transition, action, name(fault), strike)


def name(fault: Fault) -> str:
    """For people."""
    return fault.__name__.replace("_", " ")


class LateReport:
    """A report that is still on its way when its machine loses power.  Without `asks` it is an earlier release's."""

    def __init__(self, *, asks: bool = True) -> None:
        self._asks = asks
        self._report: Exchange

    async def power_cut_behind_it(self, rig: Rig, exchange: Exchange) -> None:
        """It arrives whenever `arrives` is planned, which is too late: the machine is back."""
        await self._power_cut(rig, exchange)
        await rig.power_on()

    async def arrives_while_the_power_is_off(self, rig: Rig, exchange: Exchange) -> None:
        """It arrives before the machine is back."""
        await self._power_cut(rig, exchange)
        await self._send(rig, 200)
        rig.script.story.acknowledge(self._report)
        await rig.power_on()

    async def arrives(self, rig: Rig, exchange: Exchange) -> None:
        """It is refused: the session that sent it is over."""
        await self._send(rig, 401)

    async def _power_cut(self, rig: Rig, exchange: Exchange) -> None:
        self._report = exchange
        if not self._asks:
            document = json.loads(exchange.body)
            del document["next"]
            self._report = replace(exchange, body=json.dumps(document).encode())
        exchange.lose()
        await rig.power_off()

    async def _send(self, rig: Rig, wanted: int) -> None:
        status = await self._report.wire.again(self._report)
        rig.script.story.add(f"** the late report -> {status}")
        if status != wanted:
            rig.refused.append(f"the late report: {status}")
