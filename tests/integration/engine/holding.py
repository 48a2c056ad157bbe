"""A machine at work on an action that is held, for tests of what becomes of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.integration.engine.appliance import Appliance
from tinkbox.engine.workflows.breakpoints import Change
from tinkbox.model.breakpoint import Hold, Kind, Verb, Verdict
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.breakpoints import Asked, Held, Orders, Resumed
from tinkbox.wire.messages.worker import Hello, Offer, Report

FLOW = """\
version: "0.1"
name: flow
global_timeout: 1000
tasks:
  - name: install
    worker: "{{.device_1}}"
    actions:
      - {name: disk, image: x, timeout: 60}
      - {name: grub, image: x, timeout: 60}
"""
FAILURE = Outcome(state=State.FAILED, exit_code=7, reason="NonZeroExit", message="no disk", tail=("boom",))
SUCCESS = Outcome(state=State.SUCCESS, exit_code=0)
ENDED: Mapping[Kind, Outcome | None] = {Kind.BEFORE: None, Kind.FAILURE: FAILURE, Kind.AFTER: SUCCESS}
FAILING = Change(on_failure=True)


@dataclass
class AtWork:
    """A worker with its offer."""

    box: Appliance
    worker: str
    offer: Offer
    boot_id: str = "boot-1"

    @property
    def key(self) -> str:
        return self.offer.workflow_id

    async def held(self, kind: Kind = Kind.FAILURE, sequence: int = 1, **changes: Any) -> None:
        fields = {"outcome": ENDED[kind], "boot_id": self.boot_id, "workflow_id": self.key, **changes}
        await self.box.breakpoints.held(self.worker, self.offer.attempt, Held(sequence=sequence, kind=kind, **fields))

    async def resumed(self, sequence: int = 1, **changes: Any) -> None:
        fields = {"boot_id": self.boot_id, "workflow_id": self.key, **changes}
        await self.box.breakpoints.resumed(self.worker, self.offer.attempt, Resumed(sequence=sequence, **fields))

    async def asked(self, verb: Verb, sequence: int = 1, **changes: Any) -> None:
        fields = {"boot_id": self.boot_id, "workflow_id": self.key, **changes}
        await self.box.breakpoints.asked(self.worker, self.offer.attempt, Asked(sequence=sequence, verb=verb, **fields))

    async def report(self, outcome: Outcome) -> None:
        told = Report(workflow_id=self.key, boot_id=self.boot_id, outcome=outcome)
        await self.box.attempts.report(self.worker, self.offer.attempt, told)

    async def orders(self) -> Orders:
        return await self.box.breakpoints.orders(self.worker, self.offer.attempt)

    async def decide(self, verb: Verb, who: str = "anna", why: str = "", **changes: Any) -> Hold:
        return await self.box.breakpoints.resolve(self.key, Verdict(verb=verb, who=who, why=why, **changes))

    async def hold(self) -> Hold:
        """The newest."""
        return (await self.box.breakpoints.standing(self.key)).holds[-1]

    async def states(self) -> str:
        """Of the workflow, then of its actions."""
        workflow = await self.box.workflows.get(self.key)
        return " ".join([workflow.state, *(each.state for each in workflow.actions)])

    async def outcome(self, index: int = 0) -> Outcome:
        found = (await self.box.workflows.get(self.key)).actions[index].outcome
        assert found is not None
        return found

    async def events(self, about: str = "") -> list[str]:
        """The kinds of what happened, or of what happened about this."""
        told = await self.box.workflows.events(self.key)
        return [event.kind for event in told if event.kind.startswith(about)]

    async def told(self, kind: str) -> Mapping[str, Any]:
        """What the newest event of this kind says."""
        return [event.data for event in await self.box.workflows.events(self.key) if event.kind == kind][-1]

    async def again(self, *, debug: bool = True) -> Offer | None:
        """What the worker is offered when it asks once more."""
        return await self.box.attempts.offer(self.worker, Hello(boot_id=self.boot_id, debug=debug))


async def begun(
    box: Appliance, text: str = FLOW, *, debug: bool = True, change: Change | None = None, number: int = 1
) -> AtWork:
    """A machine that has begun the first action of a workflow of its own."""
    worker = await box.machine(number)
    key = await box.workflow(text, device_1=number)
    if change is not None:
        await box.breakpoints.arm(key, change, "anna")
    offer = await box.attempts.offer(worker, Hello(boot_id="boot-1", debug=debug))
    assert offer is not None
    assert offer.workflow_id == key
    return AtWork(box, worker, offer)
