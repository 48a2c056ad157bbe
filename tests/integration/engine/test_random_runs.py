"""Whatever workers, people and the clock do in whatever order: what must hold, holds.

Machines here are honest but unlucky: they boot at any time, their messages are lost, doubled and late.
"""

import asyncio
import random
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.integration.engine.appliance import Appliance, appliance, mac
from tinkbox.model.errors import Conflict, NotFound
from tinkbox.model.workflow import DONE, FINAL, Outcome, State, Workflow
from tinkbox.wire.worker import Leaving, Offer, Report

MACHINES = (1, 2, 3)
TEMPLATES = (
    """\
version: "0.1"
name: plain
tasks:
  - {name: one, worker: "{{.a}}", actions: [{name: first, image: x, timeout: 30}, {name: second, image: x, timeout: 30}]}
""",
    """\
version: "0.1"
name: relay
global_timeout: 400
tasks:
  - {name: one, worker: "{{.a}}", actions: [{name: first, image: x, timeout: 30, retries: 1}, {name: no, image: x, if: "false"}]}
  - {name: two, worker: "{{.b}}", actions: [{name: second, image: x, timeout: 30}]}
  - {name: three, worker: "{{.a}}", actions: [{name: third, image: x, timeout: 30}]}
""",
    """\
version: "0.1"
name: away
tasks:
  - {name: one, worker: "{{.a}}", actions: [{name: go, image: x, timeout: 60, reboot: true, retries: 1}]}
  - {name: two, worker: "{{.b}}", actions: [{name: wait, image: x, timeout: 30, on-failure: [sh]}]}
  - {name: three, worker: "{{.a}}", actions: [{name: last, image: x, timeout: 60, reboot: true}]}
""",
)
OUTCOMES = (
    Outcome(state=State.SUCCESS, exit_code=0),
    Outcome(state=State.SUCCESS, exit_code=0),
    Outcome(state=State.FAILED, exit_code=1, reason="NonZeroExit", message="no"),
    Outcome(state=State.TIMEOUT, reason="Timeout", message="slow"),
)
STEPS = (
    "create", "poll", "poll", "poll", "report", "report", "report", "repeat", "boot", "stale poll", "leave", "order",
    "power", "cancel", "retry", "time", "deadlines", "delete",
)  # fmt: skip


@dataclass
class Machine:
    """A machine as it is in truth; `held` is what its worker works on, `past` are boots whose workers asked."""

    number: int
    worker: str
    boot: int = 1
    asked: bool = False
    held: Offer | None = None
    past: list[str] = field(default_factory=list)

    @property
    def boot_id(self) -> str:
        return f"{self.number}-{self.boot}"


@dataclass
class Lab:
    """Machines and people, and what they remember of what they were told."""

    box: Appliance
    dice: random.Random
    machines: list[Machine] = field(default_factory=list)
    sent: list[tuple[Machine, str, Report]] = field(default_factory=list)
    acknowledged: dict[str, Outcome] = field(default_factory=dict)
    begun: dict[str, tuple[str, int]] = field(default_factory=dict)
    over: dict[str, State] = field(default_factory=dict)
    retried: Counter[str] = field(default_factory=Counter)

    async def step(self, what: str) -> None:
        machine = self.dice.choice(self.machines)
        workflows = await self.box.workflows.all()
        of_machines = {"poll": self.poll, "boot": self.reboot, "stale poll": self.stale_poll, "power": self.power}
        of_workers = {"report": self.report, "leave": self.leave, "order": self.obey}
        of_people = {"cancel": self.cancel, "retry": self.retry, "delete": self.delete}
        if what in of_machines:
            await of_machines[what](machine)
        elif what in of_workers and machine.held:
            await of_workers[what](machine)
        elif what in of_people and workflows:
            await of_people[what](self.dice.choice(workflows))
        elif what == "create":
            await self.create(self.dice.choice(TEMPLATES), *self.dice.sample(MACHINES, 2))
        elif what == "repeat" and self.sent:
            await self.send(*self.dice.choice(self.sent))
        elif what == "time":
            self.box.clock.forward(self.dice.choice((1, 10, 45, 200)))
        elif what == "deadlines":
            await self.box.deadlines.look()

    async def create(self, text: str, a: int, b: int) -> None:
        name = text.split("name: ", 1)[1].split("\n", 1)[0]
        if not [each for each in await self.box.templates.all() if each.name == name]:
            await self.box.templates.create(name, text)
        await self.box.workflows.create(name, {"a": mac(a), "b": mac(b)})

    async def poll(self, machine: Machine) -> None:
        """An idle worker asks; one that works does so only after it was killed, and finds its container."""
        offer = await self.box.offer(machine.worker, machine.boot_id)
        machine.asked = True
        if offer is None:
            assert machine.held is None or await self.given_up(machine)
            machine.held = None
            return
        assert offer.action.worker == machine.worker
        if machine.held is not None and machine.held.attempt != offer.attempt:
            assert await self.given_up(machine)
        machine.held = offer
        if offer.attempt not in self.begun:
            self.begun[offer.attempt] = (offer.workflow_id, offer.action.index)
            await self.check_begun(offer)

    async def given_up(self, machine: Machine) -> bool:
        """Whether the appliance has ended what this machine holds, and its worker would have been told."""
        assert machine.held is not None
        try:
            return await self.box.stop_order(machine.worker, machine.held) is not None
        except NotFound:
            return True

    async def reboot(self, machine: Machine) -> None:
        if machine.asked:
            machine.past.append(machine.boot_id)
        machine.boot += 1
        machine.asked, machine.held = False, None

    async def stale_poll(self, machine: Machine) -> None:
        """A question of an earlier boot arrives after the machine's newest worker has asked."""
        if not machine.past:
            return
        await self.poll(machine)
        before = await self.box.workflows.all()
        with pytest.raises(Conflict):
            await self.box.offer(machine.worker, self.dice.choice(machine.past[-8:]))
        assert await self.box.workflows.all() == before

    async def power(self, machine: Machine) -> None:
        """Its firmware asks for an address."""
        self.box.machines.booted(mac(machine.number))
        await self.box.returns.look()

    async def report(self, machine: Machine, outcome: Outcome | None = None) -> None:
        assert machine.held is not None
        offer, outcome = machine.held, outcome or self.dice.choice(OUTCOMES)
        report = Report(workflow_id=offer.workflow_id, boot_id=machine.boot_id, sequence=1, outcome=outcome)
        self.sent.append((machine, offer.attempt, report))
        if self.dice.random() < 0.8:  # else it is lost, and comes late or never
            await self.send(machine, offer.attempt, report)

    async def send(self, machine: Machine, token: str, report: Report) -> None:
        try:
            await self.box.attempts.report(machine.worker, token, report)
        except NotFound:
            there = [workflow.id for workflow in await self.box.workflows.all()]
            assert report.workflow_id not in there, "only what was deleted is forgotten"
            return
        except Conflict:
            assert self.acknowledged.get(token) != report.outcome, "the same again gets the same answer"
            return
        assert self.acknowledged.setdefault(token, report.outcome) == report.outcome
        if machine.held is not None and machine.held.attempt == token:
            machine.held = None

    async def leave(self, machine: Machine) -> None:
        assert machine.held is not None
        offer = machine.held
        try:
            await self.box.attempts.leave(
                machine.worker, offer.attempt, Leaving(workflow_id=offer.workflow_id, boot_id=machine.boot_id)
            )
        except (Conflict, NotFound):
            return
        assert offer.action.reboot
        if self.dice.random() < 0.6:
            await self.reboot(machine)

    async def obey(self, machine: Machine) -> None:
        assert machine.held is not None
        try:
            order = await self.box.stop_order(machine.worker, machine.held)
        except NotFound:
            machine.held = None
            return
        if order is not None:
            await self.report(machine, Outcome(state=order.state, reason="Canceled", message=order.message))
            machine.held = None

    async def cancel(self, workflow: Workflow) -> None:
        try:
            await self.box.workflows.cancel(workflow.id)
        except Conflict:
            assert workflow.state in FINAL

    async def retry(self, workflow: Workflow) -> None:
        try:
            await self.box.workflows.retry(workflow.id, self.dice.choice((None, workflow.actions[0].action.name)))
        except Conflict:
            done = all(each.state in DONE for each in workflow.actions)
            assert workflow.state not in FINAL or workflow.state is State.SUCCESS or done
        else:
            assert workflow.state in FINAL - {State.SUCCESS}
            self.retried[workflow.id] += 1
            self.over.pop(workflow.id, None)

    async def delete(self, workflow: Workflow) -> None:
        if workflow.state is State.PENDING and self.dice.random() < 0.3:
            await self.box.workflows.delete(workflow.id)
            self.over.pop(workflow.id, None)

    async def check_begun(self, offer: Offer) -> None:
        """What was begun just now was its turn, and is not begun more often than allowed."""
        workflow = await self.box.workflows.get(offer.workflow_id)
        assert workflow.state is State.RUNNING
        assert all(each.state in DONE for each in workflow.actions[: offer.action.index])
        tries = [key for key in self.begun.values() if key == (offer.workflow_id, offer.action.index)]
        allowed = (1 + offer.action.retries) * (1 + self.retried[workflow.id])
        assert len(tries) <= allowed, f"{offer.action.name} began {len(tries)} times"

    async def check(self) -> None:
        """What holds at any moment."""
        workflows = await self.box.workflows.all()
        busy: Counter[str] = Counter()
        for workflow in workflows:
            active = [each for each in workflow.actions if each.state in {State.RUNNING, State.LEAVING}]
            assert len(active) == (1 if workflow.state is State.STOPPING else min(1, len(active)))
            assert not active or workflow.state in {State.RUNNING, State.STOPPING}
            busy.update(each.action.worker for each in active)
            if workflow.id in self.over:
                assert workflow.state is self.over[workflow.id], "what is over stays as it ended"
            if workflow.state in FINAL:
                self.over[workflow.id] = workflow.state
            for attempt in await self.box.workflows.attempts(workflow.id):
                reported = self.acknowledged.get(attempt.token)
                if reported is not None:
                    assert attempt.outcome is not None
                    assert (attempt.state, attempt.outcome.message) == (reported.state, reported.message)
        assert all(number == 1 for number in busy.values()), "a machine does one thing at a time"
        await self.box.check_histories()

    async def finish(self) -> None:
        """Everybody does what they are asked from now on, and everything comes to an end."""
        for _ in range(40):
            self.box.clock.forward(500)
            await self.box.deadlines.look()
            for machine in self.machines:
                await self.reboot(machine)
                machine.asked = True
                while (offer := await self.box.offer(machine.worker, machine.boot_id)) is not None:
                    machine.held = offer
                    await self.send(
                        machine,
                        offer.attempt,
                        Report(workflow_id=offer.workflow_id, boot_id=machine.boot_id, sequence=1, outcome=OUTCOMES[0]),
                    )
            if all(each.state in FINAL for each in await self.box.workflows.all()):
                return
        left = [(each.name, each.state) for each in await self.box.workflows.all() if each.state not in FINAL]
        raise AssertionError(f"never over: {left}")


async def run(steps: list[str], seed: int, path: Path) -> None:
    async with appliance(path) as box:
        lab = Lab(box, random.Random(seed))
        lab.machines = [Machine(number, await box.machine(number)) for number in MACHINES]
        for _ in range(3):
            await lab.step("create")
        for what in steps:
            await lab.step(what)
            await lab.check()
        await lab.finish()
        await lab.check()


# To shrink a run takes longer than to read it: the steps are in the order in which they happened.
@settings(max_examples=min(settings().max_examples, 8_000) // 4, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.lists(st.sampled_from(STEPS), min_size=20, max_size=60), st.integers(min_value=0, max_value=2**32))
def test_whatever_happens_nothing_runs_twice_nothing_is_lost_and_everything_ends(steps: list[str], seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(steps, seed, Path(folder) / "db"))
