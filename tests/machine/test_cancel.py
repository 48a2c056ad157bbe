"""A running workflow is canceled: its container is stopped, and the machine goes on with the next in its queue."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.machine.lab import Lab, hold
from tests.machine.waiting import ONE, laboratory_with
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = pytest.mark.machine
STUBBORN, POLITE, LATER, NEXT = "stubborn", "polite", "later", "next"
LISTENS = "listens"
TOLD_TO_STOP = f"trap 'echo \"{POLITE} is told to stop\"; exit 0' TERM; knock {LISTENS}"
# A pattern that does not find the text it is in.
LOOK = """echo "still running: $(grep -l -E 'stubbor[n]|polit[e]' /proc/[0-9]*/cmdline 2>/dev/null)" """


@dataclass(frozen=True)
class Canceled:
    """Two workflows that were canceled while they ran, and the one behind them, which is over."""

    lab: Lab
    stubborn: str
    polite: str
    after: str


@pytest.fixture(scope="module")
def canceled(waiting: Path) -> Iterator[Canceled]:
    with laboratory_with(waiting, [ONE]) as lab:
        gate = lab.gate
        # A shell that is a container's first process does not hear SIGTERM unless it says what then.
        stubborn = lab.workflow(ONE, hold(STUBBORN, gate), hold(LATER, gate))
        polite = lab.workflow(ONE, hold(POLITE, gate, TOLD_TO_STOP, **{"on-failure": ["echo no hook"]}))
        after = lab.workflow(ONE, hold(NEXT, gate, LOOK, pid="host"))
        for workflow, name, what in ((stubborn, STUBBORN, "began"), (polite, POLITE, LISTENS)):
            gate.wait_for(what, name)
            lab.appliance.command("workflow", "cancel", workflow)
            lab.ended(workflow)
        gate.open(STUBBORN)
        gate.open(NEXT)
        lab.ended(after)
        yield Canceled(lab, stubborn, polite, after)


def test_canceled_workflow_ends_as_canceled_and_says_why(canceled: Canceled) -> None:
    lab = canceled.lab
    assert lab.happened(canceled.stubborn) == [
        ("workflow.started", None),
        ("action.started", STUBBORN),
        ("workflow.stopping", None),
        ("action.canceled", STUBBORN),
        ("workflow.canceled", None),
    ]
    assert lab.actions(canceled.stubborn) == {STUBBORN: State.CANCELED, LATER: State.PENDING}
    told = lab.appliance.command("workflow", "state", canceled.stubborn)
    assert "Canceled" in told


def test_container_gets_sigterm_and_then_sigkill(canceled: Canceled) -> None:
    gate = canceled.lab.gate
    for name in (STUBBORN, POLITE):
        assert [gate.knocks("began", name), gate.knocks("ended", name)] == [1, 0], name
    printed = canceled.lab.appliance.command("workflow", "logs", canceled.polite)
    assert f"{POLITE} is told to stop" in printed
    assert "no hook" not in printed
    left = canceled.lab.appliance.command("workflow", "logs", canceled.after)
    assert [line.strip() for line in left.splitlines() if "still" in line] == ["still running:"]


def test_next_workflow_runs_without_another_boot(canceled: Canceled) -> None:
    lab = canceled.lab
    assert lab.state(canceled.after).state is State.SUCCESS
    assert lab.stages(ONE).count(Stage.SCRIPT) == 1
    assert lab.stages(ONE).count(Stage.WORKER) == 1
