"""Whatever workers, people and the clock do in whatever order: what must hold, holds.

Machines here are honest but unlucky: they boot at any time, their messages are lost, doubled and late.
"""

import asyncio
import random
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.integration.engine.appliance import Appliance, appliance, mac
from tinkbox.engine.workflows.breakpoints import Change
from tinkbox.model.breakpoint import Kind, Verb, Verdict
from tinkbox.model.errors import Conflict, NotFound
from tinkbox.model.workflow import BEGUN, DONE, FINAL, Outcome, State, Workflow
from tinkbox.wire.messages.breakpoints import Asked, Held, Resumed
from tinkbox.wire.messages.worker import Leaving, Offer, Report

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
    "power", "cancel", "retry", "time", "deadlines", "delete", "hold", "hold", "hold", "hold", "ask",
    *["carry out"] * 5, "decide", "decide", "decide", "extend", "expire", "arm",
)  # fmt: skip
OF_HOLDS = frozenset({"carry out", "ask", "decide", "extend", "expire"})


@dataclass
class Machine:
    """A machine as it is in truth; `held` is what its worker works on, `past` are boots whose workers asked.

    `hold` is the breakpoint that its action is at, `holds` how many it was at in this attempt.
    """

    number: int
    worker: str
    boot: int = 1
    asked: bool = False
    held: Offer | None = None
    hold: Held | None = None
    holds: int = 0
    past: list[str] = field(default_factory=list)

    @property
    def boot_id(self) -> str:
        return f"{self.number}-{self.boot}"

    def work_on(self, offer: Offer | None) -> None:
        if offer is None or self.held is None or self.held.attempt != offer.attempt:
            self.hold, self.holds = None, 0
        self.held = offer


@dataclass
class Lab:
    """Machines and people, and what they remember of what they were told."""

    box: Appliance
    dice: random.Random
    machines: list[Machine] = field(default_factory=list)
    sent: list[tuple[Machine, str, Report | Held | Resumed]] = field(default_factory=list)
    acknowledged: dict[str, Outcome] = field(default_factory=dict)
    begun: dict[str, tuple[str, int]] = field(default_factory=dict)
    over: dict[str, State] = field(default_factory=dict)
    retried: Counter[str] = field(default_factory=Counter)
    verdicts: dict[tuple[str, int], Verdict] = field(default_factory=dict)

    async def step(self, what: str) -> None:
        workflows = await self.box.workflows.all()
        if what in OF_HOLDS:
            # Else there would be few, and little would become of them.
            machine = self.dice.choice([each for each in self.machines if each.hold] or self.machines)
            workflows = [each for each in workflows if any(status.held_at for status in each.actions)] or workflows
        else:
            machine = self.dice.choice(self.machines)
        of_machines = {"poll": self.poll, "boot": self.reboot, "stale poll": self.stale_poll, "power": self.power}
        of_workers = {
            "report": self.report, "leave": self.leave, "order": self.obey, "hold": self.stop_there,
            "carry out": self.carry_out, "ask": self.ask,
        }  # fmt: skip
        of_people = {
            "cancel": self.cancel, "retry": self.retry, "delete": self.delete, "arm": self.arm, "decide": self.decide,
            "extend": self.extend, "expire": self.expire,
        }  # fmt: skip
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
            machine.work_on(None)
            return
        assert offer.action.worker == machine.worker
        if machine.held is not None and machine.held.attempt != offer.attempt:
            assert await self.given_up(machine)
        machine.work_on(offer)
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
        machine.asked = False
        machine.work_on(None)

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
        await self.box.is_back(machine.number)

    async def report(self, machine: Machine, outcome: Outcome | None = None) -> None:
        assert machine.held is not None
        if machine.hold is not None and outcome is None:
            return await self.carry_out(machine)
        offer, outcome = machine.held, outcome or self.dice.choice(OUTCOMES)
        report = Report(workflow_id=offer.workflow_id, boot_id=machine.boot_id, outcome=outcome)
        await self.say(machine, offer.attempt, report)
        return None

    async def say(self, machine: Machine, token: str, message: Report | Held | Resumed) -> None:
        self.sent.append((machine, token, message))
        if self.dice.random() < 0.8:  # else it is lost, and comes late or never
            await self.send(machine, token, message)

    async def send(self, machine: Machine, token: str, message: Report | Held | Resumed) -> None:
        if isinstance(message, Report):
            return await self.send_report(machine, token, message)
        with suppress(NotFound, Conflict):
            if isinstance(message, Held):
                await self.box.breakpoints.held(machine.worker, token, message)
            else:
                await self.box.breakpoints.resumed(machine.worker, token, message)
                if machine.held is not None and machine.held.attempt == token and machine.hold is not None:
                    machine.hold = machine.hold if machine.hold.sequence > message.sequence else None
        return None

    async def send_report(self, machine: Machine, token: str, report: Report) -> None:
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
            machine.work_on(None)

    async def stop_there(self, machine: Machine) -> None:
        """The action comes to a breakpoint; what is at one already says so again."""
        assert machine.held is not None
        if machine.hold is None:
            machine.holds += 1
            kind = self.dice.choice(list(Kind))
            machine.hold = Held(
                workflow_id=machine.held.workflow_id, boot_id=machine.boot_id, sequence=machine.holds, kind=kind,
                outcome={Kind.BEFORE: None, Kind.FAILURE: OUTCOMES[2], Kind.AFTER: OUTCOMES[0]}[kind],
                in_place=self.dice.random() < 0.8,
            )  # fmt: skip
        await self.say(machine, machine.held.attempt, machine.hold)

    async def carry_out(self, machine: Machine) -> None:
        """Do what the verdict says, once there is one."""
        assert machine.held is not None
        hold, token = machine.hold, machine.held.attempt
        if hold is None:
            return None
        try:
            orders = await self.box.breakpoints.orders(machine.worker, token)
        except NotFound:
            return machine.work_on(None)
        if orders.stop is not None:
            return await self.obey(machine)
        if orders.ruling is None or orders.ruling.sequence != hold.sequence:
            return None
        verb, fresh = orders.ruling.verdict.verb, orders.ruling.verdict.fresh
        assert self.verdicts[token, hold.sequence].verb is verb
        if (hold.kind, verb) == (Kind.BEFORE, Verb.CONTINUE) or (verb is Verb.RETRY and not fresh):
            resumed = Resumed(workflow_id=hold.workflow_id, boot_id=machine.boot_id, sequence=hold.sequence)
            return await self.say(machine, token, resumed)
        failed = Outcome(state=State.FAILED, reason="FailedAtBreakpoint", message="no")
        if verb is Verb.FAIL:
            return await self.report(machine, hold.outcome if hold.kind is Kind.FAILURE else failed)
        if verb is Verb.RETRY:
            return await self.report(machine, hold.outcome)
        assert verb in {Verb.CONTINUE, Verb.SKIP}, "an abort comes as an order to stop"
        return await self.report(machine, OUTCOMES[0])

    async def ask(self, machine: Machine) -> None:
        """Somebody decides inside the container, and maybe says so twice."""
        assert machine.held is not None
        if machine.hold is None:
            return
        hold, token = machine.hold, machine.held.attempt
        asked = Asked(
            workflow_id=hold.workflow_id, boot_id=machine.boot_id, sequence=hold.sequence,
            verb=self.dice.choice(list(Verb)), why="inside",
        )  # fmt: skip
        for _ in range(self.dice.choice((1, 2))):
            with suppress(NotFound, Conflict):
                await self.box.breakpoints.asked(machine.worker, token, asked)
                await self.note_verdict(hold.workflow_id, "the container")

    async def decide(self, workflow: Workflow) -> None:
        verb, who = self.dice.choice((*Verb, Verb.RETRY, Verb.RETRY)), self.dice.choice(("anna", "ben"))
        verdict = Verdict(verb=verb, who=who, why="because", fresh=verb is Verb.RETRY and self.dice.random() < 0.5)
        held = any(each.state is State.HELD for each in workflow.actions)
        try:
            hold = await self.box.breakpoints.resolve(workflow.id, verdict)
        except Conflict:
            return
        assert held
        assert (hold.attempt, hold.sequence) not in self.verdicts, "the first verdict counts"
        await self.note_verdict(workflow.id, who)

    async def note_verdict(self, key: str, who: str) -> None:
        hold = (await self.box.breakpoints.standing(key)).holds[-1]
        assert hold.verdict is not None
        assert hold.verdict.who == who
        self.verdicts.setdefault((hold.attempt, hold.sequence), hold.verdict)

    async def extend(self, workflow: Workflow) -> None:
        with suppress(Conflict):
            hold = await self.box.breakpoints.extend(workflow.id, 300, "anna", "")
            assert hold.ended_at is None
            await self.box.breakpoints.touch(hold.attempt)

    async def expire(self, workflow: Workflow) -> None:
        """Nobody does anything about a hold until its deadline."""
        hold = (await self.box.breakpoints.standing(workflow.id)).hold
        if hold is not None and hold.verdict is None and workflow.state is State.RUNNING:
            self.box.clock.forward((hold.deadline - self.box.clock()).total_seconds())
            while await self.box.deadlines.look() == 0:
                pass
            decided = (await self.box.breakpoints.standing(workflow.id)).holds[-1].verdict
            assert decided is not None
            assert (decided.who, decided.verb) == ("deadline", hold.on_expiry)

    async def arm(self, workflow: Workflow) -> None:
        name = f"{workflow.actions[0].action.task}/{workflow.actions[0].action.spec.name}"
        change = self.dice.choice(
            (Change(on_failure=True), Change(before=(name,)), Change(timeout=60, on_expiry=Verb.CONTINUE))
        )
        with suppress(Conflict):
            await self.box.breakpoints.arm(workflow.id, change, "anna")
        if self.dice.random() < 0.3:
            await self.box.breakpoints.clear(workflow.id, None, "ben")

    async def leave(self, machine: Machine) -> None:
        assert machine.held is not None
        offer = machine.held
        if machine.hold is not None:
            return
        try:
            await self.box.attempts.leave(
                machine.worker, offer.attempt, Leaving(workflow_id=offer.workflow_id, boot_id=machine.boot_id)
            )
        except (Conflict, NotFound):
            return
        assert offer.action.spec.reboot
        if self.dice.random() < 0.6:
            await self.reboot(machine)

    async def obey(self, machine: Machine) -> None:
        assert machine.held is not None
        try:
            order = await self.box.stop_order(machine.worker, machine.held)
        except NotFound:
            machine.work_on(None)
            return
        if order is not None:
            await self.report(machine, Outcome(state=order.state, reason="Canceled", message=order.message))
            machine.work_on(None)

    async def cancel(self, workflow: Workflow) -> None:
        try:
            await self.box.workflows.cancel(workflow.id)
        except Conflict:
            assert workflow.state in FINAL

    async def retry(self, workflow: Workflow) -> None:
        try:
            await self.box.workflows.retry(workflow.id, self.dice.choice((None, workflow.actions[0].action.spec.name)))
        except Conflict:
            done = all(each.state in DONE for each in workflow.actions)
            is_over = workflow.state in FINAL - {State.SUCCESS}
            assert not is_over or done or await self.is_overtaken(workflow)
        else:
            assert workflow.state in FINAL - {State.SUCCESS}
            assert not await self.is_overtaken(workflow)
            self.retried[workflow.id] += 1
            self.over.pop(workflow.id, None)

    async def is_overtaken(self, workflow: Workflow) -> bool:
        """Whether a machine of it is another workflow's, or was since its end."""
        for other in await self.box.workflows.all():
            shared = set(other.workers()) & set(workflow.workers())
            if other.id == workflow.id or not shared:
                continue
            attempts = await self.box.workflows.attempts(other.id)
            began = [each.started_at for each in attempts if each.worker in shared]
            if other.state not in FINAL or any(at > workflow.updated_at for at in began):
                return True
        return False

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
        attempts = {attempt for attempt, key in self.begun.items() if key == (offer.workflow_id, offer.action.index)}
        again = [
            each for (attempt, _), each in self.verdicts.items() if attempt in attempts and each.verb is Verb.RETRY
        ]
        allowed = (1 + offer.action.spec.retries) * (1 + self.retried[workflow.id]) + len(again)
        assert len(tries) <= allowed, f"{offer.action.spec.name} began {len(tries)} times"

    async def check(self) -> None:
        """What holds at any moment."""
        workflows = await self.box.workflows.all()
        busy: Counter[str] = Counter()
        for workflow in workflows:
            active = [each for each in workflow.actions if each.state in BEGUN]
            await self.check_holds(workflow)
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

    async def check_holds(self, workflow: Workflow) -> None:
        """Exactly what is held has an open hold, and no verdict ever changes."""
        holds = (await self.box.breakpoints.standing(workflow.id)).holds
        held = [each.attempt for each in workflow.actions if each.state is State.HELD]
        assert [each.attempt for each in holds if each.ended_at is None] == held
        for each in holds:
            if each.verdict is not None:
                key = each.attempt, each.sequence
                assert self.verdicts.setdefault(key, each.verdict) == each.verdict
            else:
                assert (each.attempt, each.sequence) not in self.verdicts

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
                        Report(workflow_id=offer.workflow_id, boot_id=machine.boot_id, outcome=OUTCOMES[0]),
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
