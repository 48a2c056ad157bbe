"""What a workflow says of itself in conditions, as Kubernetes users read them."""

from dataclasses import dataclass
from datetime import datetime

from tinkbox.model.reasons import NO_REASON, AnyReason, Reason
from tinkbox.model.services import ServiceStatus
from tinkbox.model.text import counted
from tinkbox.model.workflow import DONE, FINAL, State, Workflow, WorkflowHead, full_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One statement: `type` is Started, Succeeded or Held, `status` True, False or Unknown, since `at` (UTC).

    `reason` is CamelCase, `message` is for people.
    """

    type: str
    status: str
    reason: str
    message: str
    at: datetime


def conditions(workflow: Workflow, waits: str = "") -> tuple[Condition, ...]:
    """Whether a workflow was started, and whether it succeeded; what is not decided yet is Unknown.

    As long as an action of it is held, that as well.  `waits` says what it waits for, where that is known.
    """
    return _started(workflow, waits), _succeeded(workflow), *_held(workflow)


def explanation(workflow: WorkflowHead) -> tuple[AnyReason, str]:
    """(reason, message) of how a workflow ended, or is about to; both empty when there is nothing to explain."""
    if workflow.reason:
        return workflow.reason, workflow.message
    into = State.CANCELED if workflow.state is State.CANCELED else workflow.stop_into
    if into is not None:
        return why_stopped(into, workflow.global_timeout)
    status = workflow.current()
    if status is not None and status.state in FINAL - DONE and status.outcome is not None:
        told = f": {status.outcome.message}" if status.outcome.message else ""
        return status.outcome.reason, f"{full_name(status.action)}{told}"
    return why_stopped(State.TIMEOUT, workflow.global_timeout) if workflow.state is State.TIMEOUT else (NO_REASON, "")


def why_stopped(into: State, global_timeout: int) -> tuple[Reason, str]:
    """(reason, message) for what is stopped into CANCELED or TIMEOUT; `global_timeout` in seconds."""
    if into is State.CANCELED:
        return Reason.CANCELED, "the workflow was canceled"
    return Reason.TIMEOUT, f"the workflow took longer than its global_timeout of {counted(global_timeout, 'second')}"


def _held(workflow: Workflow) -> tuple[Condition, ...]:
    return tuple(
        Condition(
            type="Held",
            status="True",
            reason="Breakpoint",
            message=f"{full_name(each.action)} is held until somebody decides: tinkbox breakpoint list",
            at=each.held_at,
        )
        for each in workflow.actions
        if each.held_at is not None and workflow.state is State.RUNNING  # what is being stopped is not held
    )


def _started(workflow: Workflow, waits: str) -> Condition:
    if workflow.started_at is not None:
        return Condition(
            type="Started", status="True", reason="Started", message="an action has begun", at=workflow.started_at
        )
    if workflow.state is State.PENDING:
        reason, message = _waiting(workflow)
        message = f"waiting for {waits}" if waits else message
    else:
        reason, message = explanation(workflow)
    return Condition(type="Started", status="False", reason=reason, message=message, at=workflow.updated_at)


def _waiting(workflow: Workflow) -> tuple[str, str]:
    awaited = workflow.awaited()
    begun = [each for each in awaited if each.begun_at is not None]
    if begun:
        return "WaitingForServices", "waiting for " + "; ".join(map(_service, begun))
    if awaited:
        names = ", ".join(each.service.spec.name for each in awaited)
        return "Pending", f"waiting for its turn on its first machine, or for the hosts of its services: {names}"
    return "Pending", "waiting for the worker of its first action"


def _service(status: ServiceStatus) -> str:
    standing = status.standing
    told = f" ({standing.message})" if standing.message else ""
    return f"service {status.service.spec.name}, which is {standing.phase}{told}"


def _succeeded(workflow: Workflow) -> Condition:
    reason: str
    reason, message = explanation(workflow)
    if workflow.state is State.SUCCESS:
        status, reason, message = "True", "Succeeded", "every action is done"
    elif workflow.state in FINAL:
        status = "False"
    else:
        status, reason = "Unknown", workflow.state.capitalize()
        message = message or "not over yet"
    return Condition(type="Succeeded", status=status, reason=reason, message=message, at=workflow.updated_at)
