"""Workflows in any state, for tests of pure decisions."""

from collections.abc import Sequence
from datetime import UTC, datetime

from tinkbox.model.actions.action import Action
from tinkbox.model.services import Phase, PlannedService, Service, ServiceStatus, Standing
from tinkbox.model.workflow import DONE, ActionStatus, Outcome, PlannedAction, State, Step, Workflow

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def action(index: int = 0, worker: str = "me", task: str = "t", **changes: object) -> PlannedAction:
    known = {"name": f"a{index}", "image": "i", "timeout": 60}
    spec = Action(**{**known, **changes})  # type: ignore[arg-type]
    return PlannedAction(index=index, task=task, worker=worker, address="m", spec=spec)


def status(state: State, index: int = 0, worker: str = "me", **changes: object) -> ActionStatus:
    """An action that stands at `state`; ended badly it says why."""
    bad = state in {State.FAILED, State.TIMEOUT, State.CANCELED}
    outcome = Outcome(state=state, reason="DiskNotFound", message="no /dev/sda") if bad else None
    token = "" if state in {State.PENDING, State.SKIPPED} else "token"
    known = {"action": action(index, worker), "attempt": token, "outcome": outcome}
    return ActionStatus(state=state, **{**known, **changes})  # type: ignore[arg-type]


def service(
    phase: Phase, *, name: str = "boot", index: int = 0, host: str = "", timeout: int = 60, **told: object
) -> ServiceStatus:
    """A service whose newest run, r0 for the first, stands at `phase`."""
    planned = PlannedService(
        index=index, host=host, spec=Service(name=name, worker="provisioner", image="i", timeout=timeout)
    )
    times = {each: told.pop(each) for each in ("begun_at", "ready_at", "changed_at") if each in told}
    standing = Standing(run=f"r{index}", phase=phase, **told)  # type: ignore[arg-type]
    return ServiceStatus(service=planned, standing=standing, **times)  # type: ignore[arg-type]


def workflow(state: State, actions: Sequence[ActionStatus] = (), **changes: object) -> Workflow:
    return Workflow(
        id="w1", name="n", template_id="t1", template_name="t", devices={"d": "m"}, text="", state=state, actions=tuple(actions),
        created_at=NOW, updated_at=NOW, **changes,  # type: ignore[arg-type]
    )  # fmt: skip


def step(flow: Workflow, position: int | None = None) -> Step | None:
    """The action at a place of a workflow, else the one that it stands at; what a store is to answer."""
    if not flow.actions:
        return None
    if position is None:
        position = next((at for at, each in enumerate(flow.actions) if each.state not in DONE), len(flow.actions) - 1)
    undone = [at for at, each in enumerate(flow.actions) if at != position and each.state not in DONE]
    return Step(
        workflow_id=flow.id,
        state=flow.state,
        status=flow.actions[position],
        stop_into=flow.stop_into,
        awaits=bool(flow.awaited()),
        others_done=not undone,
        following=next((flow.actions[at].action.worker for at in undone if at > position), ""),
    )
