"""The facts of a workflow: how each is told as an event, and what they add up to.

The state of a workflow is the fold of its events; what the store holds beside them is only quicker to read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from tinkbox.model.breakpoint import Armed, Breakpoints, Hold, Verdict
from tinkbox.model.devices import as_text
from tinkbox.model.errors import Invalid
from tinkbox.model.journal import Entry, summary
from tinkbox.model.reasons import Reason
from tinkbox.model.services import ENDED as ENDED_SERVICES
from tinkbox.model.services import Phase, PlannedService, Standing
from tinkbox.model.text import briefly, last_lines
from tinkbox.model.workflow import Event, Outcome, PlannedAction, State, Workflow

ENDED: Mapping[State, str] = {
    State.SUCCESS: "succeeded",
    State.FAILED: "failed",
    State.TIMEOUT: "timeout",
    State.CANCELED: "canceled",
}
_REACHED: Mapping[str, State] = {
    "workflow.started": State.RUNNING,
    "workflow.stopping": State.STOPPING,
    **{f"workflow.{word}": state for state, word in ENDED.items()},
}
_CAME_TO: Mapping[str, Phase] = {f"service.{phase.lower()}": phase for phase in Phase}
Fact = tuple[str, dict[str, Any]]
# Of what a host says of a service an event has so many characters: a workflow may have thousands of them.
SERVICE_MESSAGE: Final = 600
SERVICE_TAIL: Final = 400
# Of a parameter: user-data is one, and whoever reads events need not read that.
PARAMETER: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Where a workflow, each of its actions and each run of its services stand after the events so far."""

    state: State
    actions: tuple[State, ...]
    runs: Mapping[str, Phase] = field(default_factory=dict)


def created(workflow: Workflow) -> Fact:
    """A workflow was created; `workers` are the machines that have something to do in it."""
    services = [
        {"service": each.service.spec.name, "host": each.service.host, "run": each.standing.run}
        for each in workflow.services
    ]
    actions = [
        {"task": each.action.task, "action": each.action.spec.name, "worker": each.action.worker}
        for each in workflow.actions
    ]
    digests = {
        **{each.service.spec.image: each.digest for each in workflow.services if each.digest},
        **{each.action.spec.image: each.digest for each in workflow.actions if each.digest},
    }
    skipped = [each.action.index for each in workflow.actions if each.state is State.SKIPPED]
    return "workflow.created", {
        "name": workflow.name,
        "template": workflow.template_id,
        "devices": {name: briefly(as_text(value), PARAMETER) for name, value in workflow.devices.items()},
        "workers": workflow.workers(),
        "actions": actions,
        "skipped": skipped,
        "services": services,
        **_images(digests),
        **_confirmed(yes=workflow.wipe_confirmed),
    }


def started() -> Fact:
    """The first action of a workflow begins."""
    return "workflow.started", {}


def action_started(action: PlannedAction, attempt: str) -> Fact:
    """An attempt was offered to its worker."""
    return "action.started", {
        **_which(action, attempt),
        "state": State.RUNNING,
        "message": "Started execution",
    }


def action_leaving(action: PlannedAction, attempt: str) -> Fact:
    """The machine goes away by intention."""
    return "action.leaving", {
        **_which(action, attempt),
        "state": State.LEAVING,
        "message": "The machine goes away and is expected back",
    }


def phoned_home(action: PlannedAction | None, worker: str, told: str) -> Fact:
    """The system that was installed on a machine told that it is up; `action` is the one that waits for it."""
    which = _which(action, "") if action else {"worker": worker}
    return "machine.phoned-home", {**{name: value for name, value in which.items() if value != ""}, "message": told}


def first_boot_failed(worker: str, module: str, result: str, message: str) -> Fact:
    """A module of an installed system's cloud-init failed, or warned."""
    return "machine.cloud-init", {"worker": worker, "module": module, "result": result, "message": message}


def action_ended(
    action: PlannedAction, attempt: str, outcome: Outcome, seconds: float, *, again: bool, held: float | None = None
) -> Fact:
    """An attempt ended after it ran for `seconds`; with `again` its action waits for the next one.

    `held` is how many seconds the hold lasted that it ended in, None when it ended in none.
    """
    told: dict[str, Any] = {
        **_which(action, attempt),
        "state": outcome.state,
        "seconds": round(seconds, 3),
        **_how(outcome),
        "hint": outcome.hint,
    }
    if held is not None:
        told["held"] = round(held, 3)
    if again:
        told["next"] = State.PENDING
    return f"action.{ENDED[outcome.state]}", told


def breakpoints_armed(breakpoints: Breakpoints, who: str) -> Fact:
    """Somebody armed something; told is everything that is armed since."""
    return "breakpoint.armed", {**asdict(breakpoints), "who": who}


def breakpoints_cleared(breakpoints: Breakpoints, who: str) -> Fact:
    """Somebody cleared something; told is everything that is armed still."""
    return "breakpoint.cleared", {**asdict(breakpoints), "who": who}


def breakpoints_refused(action: PlannedAction, attempt: str, armed: Armed) -> Fact:
    """What is armed of an attempt does not hold it: its worker takes no breakpoints."""
    why = "the worker was started to take no breakpoints"
    return "breakpoint.refused", {**_which(action, attempt), **asdict(armed), "who": "the worker", "why": why}


def action_held(action: PlannedAction, hold: Hold) -> Fact:
    """An action is at a breakpoint; `ended` and what follows it say how its process ended, if it did."""
    told: dict[str, Any] = {
        **_which(action, hold.attempt),
        "state": State.HELD,
        "sequence": hold.sequence,
        "breakpoint": hold.kind,
        "deadline": hold.deadline.isoformat(),
        "on_expiry": hold.on_expiry,
    }
    if hold.outcome is not None:
        told |= {"ended": hold.outcome.state, **_how(hold.outcome)}
    return "action.held", told


def action_resumed(action: PlannedAction, hold: Hold, state: State, seconds: float) -> Fact:
    """A held action runs (again) after `seconds`, or has its machine go away as it said."""
    return "action.resumed", {
        **_which(action, hold.attempt),
        "state": state,
        "sequence": hold.sequence,
        "held": round(seconds, 3),
    }


def verdict_given(action: PlannedAction, hold: Hold, verdict: Verdict) -> Fact:
    """Somebody decided what becomes of a held action."""
    return "breakpoint.verdict", {**_which(action, hold.attempt), "sequence": hold.sequence, **asdict(verdict)}


def hold_extended(action: PlannedAction, hold: Hold, who: str, why: str) -> Fact:
    """Somebody had a hold wait longer."""
    return "breakpoint.extended", {**_deadline(action, hold), "who": who, "why": why}


def hold_expiring(action: PlannedAction, hold: Hold) -> Fact:
    """A hold ends soon by itself."""
    return "breakpoint.expiring", _deadline(action, hold)


def hold_expired(action: PlannedAction, hold: Hold, verdict: Verdict) -> Fact:
    """Nobody decided in time, so the deadline did."""
    return "breakpoint.expired", {**_deadline(action, hold), **asdict(verdict)}


def stopping(into: State, reason: str, message: str) -> Fact:
    """The running action was told to stop, and with it the workflow."""
    return "workflow.stopping", {"into": into, "reason": reason, "message": message}


def retried(
    first: int, runs: Sequence[str] = (), digests: Mapping[str, str] | None = None, *, confirmed: bool = False
) -> Fact:
    """A person made the actions from index `first` on ready again; `runs` are the new ones of its services.

    `digests` are those that images are pinned to from now on, and were not before.  `confirmed` says that it may wipe its
    disks from now on.
    """
    return "workflow.retried", {
        "from": first,
        "runs": list(runs),
        **_images(digests or {}),
        **_confirmed(yes=confirmed),
    }


def image_pinned(image: str, digest: str, told_by: str) -> Fact:
    """From now on the workflow means these bytes by the name of an image, by the word of a host or of the registry."""
    return "image.pinned", {"image": image, "digest": digest, **({"told_by": told_by} if told_by else {})}


def _images(digests: Mapping[str, str]) -> dict[str, dict[str, str]]:
    return {"images": dict(digests)} if digests else {}


def history_lost(worker: str, entries: Sequence[Entry]) -> Fact:
    """The store lacks what a machine did: the workflow waits until a person decides."""
    return "history.lost", {
        "worker": worker,
        "reason": Reason.HISTORY_LOST,
        "message": summary(entries),
        "attempts": [
            {
                "workflow_id": each.workflow_id,
                "task": each.task,
                "action": each.action,
                "index": each.index,
                "attempt": each.attempt,
                "state": each.outcome.state if each.outcome else State.RUNNING,
                "reported": each.over,
            }
            for each in entries
        ],
    }


def told_of_others(event: Event) -> list[str]:
    """The ids of the workflows that an event of one tells of: of what its machine did, that may be for others."""
    if event.kind != "history.lost":
        return []
    return [str(each["workflow_id"]) for each in event.data["attempts"]]


def history_taken_over(who: str) -> Fact:
    """A person had the store brought up to what the machines did."""
    return "history.taken-over", {"who": who}


def history_discarded(worker: str, who: str) -> Fact:
    """A person decided that what a machine did counts for nothing."""
    return "history.discarded", {"worker": worker, "who": who}


def _confirmed(*, yes: bool) -> dict[str, bool]:
    return {"wipe_confirmed": True} if yes else {}


def service_told(service: PlannedService, phase: Phase, standing: Standing, seconds: float | None = None) -> Fact:
    """A run of a service came to a phase, for the first time ready after `seconds`; told is what there is to say of that."""
    told = {"service": service.spec.name, "host": service.host, "run": standing.run, "restarts": standing.restarts}
    more: dict[str, Any] = {"reason": standing.reason, "message": standing.message[:SERVICE_MESSAGE]}
    if seconds is not None:
        more["seconds"] = round(seconds, 3)
    if phase is Phase.RESTARTING or phase in ENDED_SERVICES:
        tail = list(last_lines(standing.tail, SERVICE_TAIL))
        more |= {"exit_code": standing.exit_code, "signal": standing.signal, "tail": tail}
    return f"service.{phase.lower()}", told | {
        name: value for name, value in more.items() if value not in ("", None, [])
    }


def ended(state: State, reason: str, message: str) -> Fact:
    """The workflow is over."""
    return f"workflow.{ENDED[state]}", {"reason": reason, "message": message}


def diagnosed(fact: Fact, diagnosis: str) -> Fact:
    """The same of an end, with the cause that the doctor told then, where it ended badly and there was one."""
    kind, told = fact
    is_bad = kind.endswith((ENDED[State.FAILED], ENDED[State.TIMEOUT]))
    return (kind, {**told, "diagnosis": diagnosis}) if diagnosis and is_bad else fact


def fold(events: Iterable[Event]) -> History:
    """What one workflow's events, from the first on, add up to.

    Raises Invalid when a number is missing or comes twice, or when they do not begin with the creation.
    """
    history: History | None = None
    for expected, event in enumerate(events, 1):
        if event.number != expected:
            raise Invalid(f"event {event.number} of workflow {event.workflow_id} stands where {expected} belongs")
        history = _beginning(event) if history is None else _after(history, event)
    if history is None:
        raise Invalid("there are no events: every workflow begins with its creation")
    return history


def _beginning(event: Event) -> History:
    if event.kind != "workflow.created":
        raise Invalid(f"the events of workflow {event.workflow_id} begin with {event.kind}")
    skipped = set(event.data["skipped"])
    actions = (State.SKIPPED if index in skipped else State.PENDING for index in range(len(event.data["actions"])))
    runs = {each["run"]: Phase.PENDING for each in event.data.get("services", ())}
    return History(state=State.PENDING, actions=tuple(actions), runs=runs)


def _after(history: History, event: Event) -> History:
    if event.kind in _REACHED:
        return replace(history, state=_REACHED[event.kind])
    if event.kind == "workflow.retried":
        kept, ready = history.actions[: event.data["from"]], history.actions[event.data["from"] :]
        waiting = (state if state is State.SKIPPED else State.PENDING for state in ready)
        runs = dict.fromkeys(event.data.get("runs", ()), Phase.PENDING)
        return History(state=State.PENDING, actions=(*kept, *waiting), runs={**history.runs, **runs})
    if event.kind in _CAME_TO:
        return replace(history, runs={**history.runs, event.data["run"]: _CAME_TO[event.kind]})
    if event.kind.startswith("action."):
        index = event.data["index"]
        reached = State(event.data.get("next") or event.data["state"])
        return replace(history, actions=(*history.actions[:index], reached, *history.actions[index + 1 :]))
    return history


def _deadline(action: PlannedAction, hold: Hold) -> dict[str, Any]:
    return {
        **_which(action, hold.attempt),
        "sequence": hold.sequence,
        "deadline": hold.deadline.isoformat(),
        "on_expiry": hold.on_expiry,
    }


def _how(outcome: Outcome) -> dict[str, Any]:
    return {
        "reason": outcome.reason,
        "message": outcome.message,
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
    }


def _which(action: PlannedAction, attempt: str) -> dict[str, Any]:
    return {
        "task": action.task,
        "action": action.spec.name,
        "index": action.index,
        "worker": action.worker,
        "attempt": attempt,
    }
