"""Whoever is killed while an action is held: it is still held, it can still be decided, and the verdict counts once."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

from tests.integration.cli.serving import serving
from tests.integration.worker.machine import Lab, Refused, Worker, until

# It needs a repair, counts its runs, and leaves something behind that only its container has.
BREAKS = """
/bin/busybox echo run >>/marks/runs
/bin/busybox test -e /marks/repaired && exit 0
/bin/busybox echo mine >/left
echo Broken >/dev/reason
exit 7
"""


@dataclass
class Running:
    """An appliance and a worker that can be killed and started again."""

    lab: Lab
    stack: ExitStack
    worker: Worker

    def kill_worker(self) -> None:
        self.worker.kill()
        self.worker = self.stack.enter_context(self.lab.working())

    def kill_appliance(self) -> None:
        self.appliance.kill()
        self.appliance.wait()
        self.serve()

    def serve(self) -> None:
        self.appliance = self.stack.enter_context(serving(self.lab.configuration))

    def kill_engine(self) -> None:
        self.lab.engine.kill()
        self.lab.engine.start()

    def restart_engine(self) -> None:
        self.lab.engine.restart()


VICTIMS: dict[str, Callable[[Running], None]] = {
    "worker": Running.kill_worker,
    "appliance": Running.kill_appliance,
    "engine": Running.kill_engine,
    "engine, in order": Running.restart_engine,
}


@contextmanager
def running(lab: Lab) -> Iterator[Running]:
    with ExitStack() as stack:
        here = Running(lab, stack, None)  # type: ignore[arg-type]  # it has to be on first
        here.serve()
        here.worker = stack.enter_context(lab.working())
        yield here


def state(lab: Lab, workflow: str) -> str:
    return str(json.loads(lab.tinkbox("workflow", "state", workflow, "--format", "json"))["current_action_state"])


def held(lab: Lab, workflow: str) -> None:
    until(lambda: state(lab, workflow) == "HELD", "the action to be held")


def can_be_looked_into(lab: Lab, workflow: str) -> bool:
    """The container is held, whoever has to find it again first."""
    try:
        return lab.tinkbox("breakpoint", "shell", workflow, "--", "/bin/busybox", "cat", "/left") == "mine\n"
    except Refused:
        return False


@pytest.mark.parametrize("victim", VICTIMS)
def test_it_is_still_held_and_is_repaired_where_it_was(lab: Lab, victim: str) -> None:
    with running(lab) as here:
        workflow = lab.workflow(BREAKS)
        lab.tinkbox("breakpoint", "arm", workflow)
        held(lab, workflow)
        VICTIMS[victim](here)
        until(lambda: can_be_looked_into(lab, workflow), "the container to be held")
        assert state(lab, workflow) == "HELD"
        lab.allow("repaired")
        lab.tinkbox("breakpoint", "retry", workflow, "-m", "it is there now")
        assert lab.finished(workflow) == "SUCCESS"
        kinds = [event["kind"] for event in lab.events(workflow)]
    assert (lab.marks / "runs").read_text().split() == ["run", "run"]
    assert [kinds.count(kind) for kind in ("action.held", "breakpoint.verdict", "action.resumed")] == [1, 1, 1]


@pytest.mark.parametrize("victim", ["worker", "engine"])
def test_a_verdict_that_is_given_while_nobody_is_there_is_carried_out_once(lab: Lab, victim: str) -> None:
    with running(lab) as here:
        workflow = lab.workflow(BREAKS)
        lab.tinkbox("breakpoint", "arm", workflow)
        held(lab, workflow)
        lab.allow("repaired")
        if victim == "worker":
            here.worker.kill()
        else:
            lab.engine.kill()
        lab.tinkbox("breakpoint", "retry", workflow)
        with pytest.raises(Refused, match="decided already"):
            lab.tinkbox("breakpoint", "fail", workflow)
        if victim == "worker":
            here.worker = here.stack.enter_context(lab.working())
        else:
            lab.engine.start()
        assert lab.finished(workflow) == "SUCCESS"
    assert (lab.marks / "runs").read_text().split() == ["run", "run"]
