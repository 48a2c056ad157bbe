"""Whether the services of a workflow let it begin.  Pure: no clock, no store."""

from tinkbox.model.reasons import Reason
from tinkbox.model.services import Phase, ServiceStatus
from tinkbox.model.text import counted
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.worker import MAX_MESSAGE

SHOWN_LINES = 5


def not_ready(status: ServiceStatus, seconds: float) -> Outcome | None:
    """Why a workflow fails for this service, `seconds` after its host began with it; None when it does not.

    One that is given up before it was ever ready fails the workflow at once, one that is not ready within its
    `timeout` then.  What becomes of it after it was ready concerns only the actions that need it (proposal 0014).
    """
    standing, name = status.standing, status.service.spec.name
    if status.ready_at is not None:
        return None
    if standing.phase is Phase.FAILED:
        reason, message = standing.reason or Reason.SERVICE_FAILED, f"service {name}: {standing.message or 'it ended'}"
    elif status.begun_at is not None and seconds >= status.service.spec.timeout:
        reason = Reason.SERVICE_NOT_READY
        message = f"service {name} was not ready within {counted(status.service.spec.timeout, 'second')}, but {standing.phase.lower()}"
        if standing.message:
            message += f": {standing.message}"
    else:
        return None
    if standing.tail:
        message += "; its last lines: " + " | ".join(standing.tail[-SHOWN_LINES:])
    return Outcome(
        state=State.FAILED, exit_code=standing.exit_code, signal=standing.signal, reason=reason,
        message=message[:MAX_MESSAGE], tail=standing.tail,
    )  # fmt: skip
