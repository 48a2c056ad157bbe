"""Whatever hosts, workers, people and the clock do in whatever order: services live as long as their workflow needs.

Hosts here are honest but unlucky: what they say is lost, doubled and late.
"""

import asyncio
import random
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from hypothesis import Phase as Stage
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integration.engine.appliance import Appliance, Clock, appliance
from tests.integration.engine.serving import HOST, SERVED, Host, hosts
from tinkbox.model.errors import Conflict
from tinkbox.model.services import ENDED, Phase, Standing
from tinkbox.model.workflow import BEGUN, FINAL, State, Workflow
from tinkbox.wire.messages.worker import Offer

MACHINES = (1, 2)
GONE = {*ENDED, Phase.STOPPING}
STEPS = (
    "create", "poll", "poll", "report", "cancel", "retry", "delete", "time", "deadlines", "restart",
    *["ask", "get on", "get on", "send", "send", "late"] * 3, "obey",
)  # fmt: skip
NEXT = {
    Phase.PENDING: (Phase.STARTING,),
    Phase.STARTING: (Phase.READY, Phase.READY, Phase.READY, Phase.FAILED, Phase.RESTARTING),
    Phase.READY: (Phase.UNHEALTHY, Phase.RESTARTING, Phase.EXITED, Phase.FAILED),
    Phase.UNHEALTHY: (Phase.READY, Phase.RESTARTING),
    Phase.RESTARTING: (Phase.STARTING, Phase.FAILED),
}


@dataclass
class Lab:
    """An appliance, its machines, and two hosts with what they said once."""

    box: Appliance
    dice: random.Random
    both: tuple[Host, Host]
    sent: list[tuple[str, tuple[Standing, ...]]] = field(default_factory=list)
    offers: dict[str, Offer] = field(default_factory=dict)
    waiting: dict[str, Workflow] = field(default_factory=dict)

    async def step(self, what: str) -> None:
        workflows = await self.box.workflows.all()
        worker = await self.box.machine(self.dice.choice(MACHINES))
        host = self.dice.choice(self.both)
        if what == "create" and len(workflows) < 6:
            await self.box.workflow(SERVED, device_1=self.dice.choice(MACHINES), host=HOST)
        elif what == "poll":
            offer = await self.box.offer(worker)
            if offer is not None:
                self.offers[worker] = offer
        elif what == "report" and worker in self.offers:
            state = self.dice.choice((State.SUCCESS, State.SUCCESS, State.FAILED))
            with suppress(Conflict):
                await self.box.report(worker, self.offers.pop(worker), state)
        elif what in {"cancel", "retry", "delete"} and workflows:
            key = self.dice.choice(workflows).id
            with suppress(Conflict):
                await {"cancel": self.box.workflows.cancel, "retry": self.box.workflows.retry, "delete": self.box.workflows.delete}[what](key)  # fmt: skip
            self.offers = {
                each: offer for each, offer in self.offers.items() if what != "delete" or offer.workflow_id != key
            }
        elif what == "time":
            self.box.clock.forward(self.dice.choice((1, 20, 70)))
        elif what == "deadlines":
            await self.box.deadlines.look()
        elif what == "late" and self.sent:
            await self.box.services.observed(*self.dice.choice(self.sent))
        elif what in {"ask", "get on", "send", "obey"}:
            await {"ask": self.ask, "get on": self.get_on, "send": self.send, "obey": Host.obey}[what](host)

    async def ask(self, host: Host) -> None:
        """It ends at once what is not wanted, and has what is."""
        await host.ask()
        runs = [each.run for each in host.wanted.services]
        host.has = {run: host.has.get(run) or Standing(run=run, phase=Phase.PENDING) for run in runs}

    async def get_on(self, host: Host) -> None:
        for run, standing in host.has.items():
            phase = self.dice.choice(NEXT.get(standing.phase, (standing.phase,)))
            restarts = standing.restarts + (phase is Phase.RESTARTING)
            host.has[run] = Standing(run=run, phase=phase, restarts=restarts, message=self.dice.choice(("", "why")))

    async def send(self, host: Host) -> None:
        standings = tuple(host.has.values())
        self.sent.append((host.id, standings))
        await self.box.services.observed(host.id, standings)

    async def check(self) -> None:
        workflows = {each.id: each for each in await self.box.workflows.all()}
        for key, flow in workflows.items():
            begun = any(each.state in BEGUN for each in flow.actions)
            before = self.waiting.get(key)
            if begun and before is not None and before.state is State.PENDING:
                assert all(each.ready_at for each in flow.services), "it begins when all are ready"
            if flow.state is State.PENDING:
                failed = [each for each in flow.services if each.standing.phase is Phase.FAILED and not each.ready_at]
                assert not failed, "what cannot begin is over"
            for status in flow.services:
                assert (flow.state in FINAL) <= (status.standing.phase in GONE)
                assert (status.standing.phase in {Phase.STOPPING, Phase.STOPPED}) <= (flow.state in FINAL)
        self.waiting = workflows
        wanted = await self.box.store.read(lambda tables: tables.queues.with_services())
        assert wanted.keys() == {key for key, flow in workflows.items() if flow.state not in FINAL}
        for key, flow in workflows.items():
            current = flow.current()
            assert current is not None
            first = await self.next_for(current.action.worker) == key
            if flow.state not in FINAL:
                assert wanted[key] == (flow.state is not State.PENDING or first)

    async def next_for(self, worker: str) -> str | None:
        return await self.box.store.read(lambda tables: tables.queues.next_for(worker))

    async def finish(self) -> None:
        """When everything is over and hosts have done as they were told, nothing is left."""
        for flow in await self.box.workflows.all():
            if flow.state not in FINAL:
                await self.box.workflows.cancel(flow.id)
        for worker, offer in self.offers.items():
            with suppress(Conflict):
                await self.box.report(worker, offer, State.CANCELED)
        for flow in await self.box.workflows.all():
            if flow.state not in FINAL:
                current = flow.current()
                assert current is not None
                offer = await self.box.offer(current.action.worker)
                assert offer is not None
                await self.box.report(current.action.worker, offer, State.CANCELED)
        for host in self.both:
            await host.obey()
            assert host.has == {}
        for flow in await self.box.workflows.all():
            for each in flow.services:
                for run in await self.box.runs(flow.id, each.service.spec.name):
                    assert run.status.standing.phase in ENDED


async def run(path: Path, seed: int, steps: list[str]) -> None:
    clock, dice, numbers = Clock(), random.Random(seed), count(1)
    lab: Lab | None = None
    remaining = iter([*steps, "end"])
    what = "begin"
    while what != "end":
        async with appliance(path, clock, numbers) as box:
            for number in (*MACHINES, HOST):
                await box.machine(number)
            if lab is None:
                lab = Lab(box, dice, await hosts(box))
            lab.box = box
            for host in lab.both:
                host.box = box
            for what in remaining:
                if what in {"restart", "end"}:
                    break
                await lab.step(what)
                await lab.check()
            if what == "end":
                await lab.finish()


@settings(max_examples=20, deadline=None, phases=(Stage.explicit, Stage.generate))
@given(st.integers(0, 2**32), st.lists(st.sampled_from(STEPS), min_size=40, max_size=80))
def test_whatever_happens_services_live_as_long_as_their_workflow_needs(seed: int, steps: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder) / "db", seed, ["create", *steps]))
