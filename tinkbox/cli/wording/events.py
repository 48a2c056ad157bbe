"""Events of a workflow."""

from collections.abc import Callable, Mapping, Sequence

from tinkbox.cli.output.formats import Document
from tinkbox.cli.output.printable import clean, moment
from tinkbox.cli.wording.holds import armed_for, ended
from tinkbox.model.duration import show_duration

# As 2020's tink named them, and in its way the ones that it did not have.
ACTION_STATES: Mapping[str, str] = {
    "PENDING": "ACTION_PENDING",
    "RUNNING": "ACTION_IN_PROGRESS",
    "HELD": "ACTION_HELD",
    "LEAVING": "ACTION_LEAVING",
    "SUCCESS": "ACTION_SUCCESS",
    "FAILED": "ACTION_FAILED",
    "TIMEOUT": "ACTION_TIMEOUT",
    "CANCELED": "ACTION_CANCELED",
    "SKIPPED": "ACTION_SKIPPED",
}
SPOKEN = {
    "SUCCESS": "Finished Execution Successfully",
    "FAILED": "Action Failed",
    "TIMEOUT": "Action Timed out",
    "CANCELED": "Action Canceled",
}
HELD = {"before": "Held before it starts", "failure": "Held because it failed", "after": "Held after its end"}
# Events of an action that are no `action.…`: what was decided about it.
DECISIONS = ("breakpoint.verdict", "breakpoint.expired")


def concerns_action(event: Document) -> bool:
    """Whether it belongs into 2020's table of a workflow's events."""
    return event["kind"].startswith("action.") or event["kind"] in DECISIONS


def action_status(event: Document) -> str:
    """The state that the event's action is in since, in 2020's words; while a verdict is given it is held."""
    return ACTION_STATES[event.get("state", "HELD")]


def undecided(events: Sequence[Document]) -> Document | None:
    """The hold that is open after these events and wants a verdict."""
    held = None
    for event in events:
        if event["kind"] == "action.held":
            held = event
        elif event["kind"].startswith(("action.", "workflow.")) or event["kind"] in DECISIONS:
            held = None
    return held


def told(event: Document) -> str:
    """What there is to say of an event beside when it was and to what."""
    tell = _TOLD.get(event["kind"])
    if tell is not None:
        return tell(event)
    if event["kind"].startswith("shell."):
        return _shell(event)
    reason = ": ".join(part for part in (event.get("reason"), event.get("message")) if part)
    if event.get("diagnosis"):
        reason = f"{reason} (doctor: {event['diagnosis']})".lstrip()
    again = " (it is tried again)" if event.get("next") == "PENDING" else ""
    return (reason or SPOKEN.get(event.get("state", ""), "")) + again


def concerned(event: Document) -> str:
    """The action or service that an event is about."""
    return " / ".join(str(event[name]) for name in ("task", "action", "service") if event.get(name))


def took(seconds: float | None) -> str:
    """How long an action ran: `0.2s`, `12m`."""
    return "" if seconds is None else f"{seconds:.1f}s" if seconds < 10 else show_duration(seconds)


def line_of(event: Document, workflow: str = "") -> str:
    """One line for one event, with the workflow's name or id if it is given; what went as expected is not spelled out."""
    seconds = f"after {event['seconds']:.1f} s" if event["kind"].startswith("action.") and "seconds" in event else ""
    quiet = event["kind"].startswith(("workflow.", "action.")) and event["kind"] not in _TOLD
    said = "" if quiet and not event.get("reason") else told(event)
    text = ": ".join(part for part in (f"{concerned(event)} {seconds}".strip(), said) if part)
    whose = f"{workflow}  " if workflow else ""
    return clean(f"{moment(event['at'])}  {whose}{event['kind']:<18} {text}".rstrip())


def _held(event: Document) -> str:
    message = f": {event['message']}" if event.get("message") else ""
    how = f" ({ended({**event, 'state': event['ended']})}{message})" if "ended" in event else ""
    return f"{HELD[event['breakpoint']]}{how}, until {moment(event['deadline'])}, then {event['on_expiry']}"


def _resumed(event: Document) -> str:
    return f"Goes on after {show_duration(event['held'])} at a breakpoint"


def _verdict(event: Document) -> str:
    changes = ["in a new container"] if event.get("fresh") else []
    if event.get("command") is not None:
        changes.append(f"with the command {' '.join(event['command'])}")
    if event.get("environment"):
        changes.append(f"with other values of {', '.join(event['environment'])}")
    return _by(event, " ".join([event["verb"], *changes]))


def _until(event: Document) -> str:
    return _by(event, f"held until {moment(event['deadline'])}, then {event['on_expiry']}")


def _ready(event: Document) -> str:
    return f"ready after {event['seconds']:.1f} s" if "seconds" in event else "ready"


def _restarting(event: Document) -> str:
    so_far = f" (restarts so far: {event['restarts']})" if event.get("restarts") else ""
    return (event.get("message") or _ended(event, "started again")) + so_far


def _ended(event: Document, became: str) -> str:
    """What became of a service: in its host's words, else with how its process ended and the last line it printed."""
    if event.get("message"):
        return _because(event, became)
    how = event.get("signal") or ("" if event.get("exit_code") is None else f"exit {event['exit_code']}")
    return ": ".join([f"{became} after {how}" if how else became, *(event.get("tail") or ())[-1:]])


def _because(event: Document, became: str) -> str:
    return ": ".join([became, *(str(event[name]) for name in ("reason", "message") if event.get(name))])


def _shell(event: Document) -> str:
    parts = [f"exit {event['exit_code']}"] if event.get("exit_code") is not None else []
    parts += [" ".join(event["argv"])] if event.get("argv") else []
    parts += [str(event[name]) for name in ("reason", "message") if event.get(name)]
    # Its beginning is what `breakpoint replay` takes.
    return f"{_by(event, ', '.join(parts))} ({event['session'][:8]})".lstrip()


def _by(event: Document, what: str) -> str:
    """Who did it, what, and why."""
    return ": ".join(part for part in (event.get("who", ""), what, event.get("why", "")) if part)


def _pinned(event: Document) -> str:
    """The images that mean other bytes than before a retry."""
    return ", ".join(
        f"{image} is {digest} now" if digest else f"{image} is pulled again"
        for image, digest in event.get("images", {}).items()
    )


def _image_pinned(event: Document) -> str:
    told_by = f", as {event['told_by']} says" if event.get("told_by") else ""
    return f"{event['image']} is {event['digest']}{told_by}"


def _condition_began(event: Document) -> str:
    return f"{event.get('gravity', '')} {event.get('rule', '')}: {event.get('message', '')} What to do: {event.get('remedy', '')}"


def _condition_over(event: Document) -> str:
    lasted = event.get("lasted", 0)
    how_long = f" after {show_duration(lasted)}" if lasted else "; one look saw it"
    return f"{event.get('rule', '')} is over{how_long}: {event.get('message', '')}"


_TOLD: Mapping[str, Callable[[Document], str]] = {
    "condition.began": _condition_began,
    "condition.over": _condition_over,
    "history.lost": lambda event: f"{event['reason']}: {event['message']}",
    "history.taken-over": lambda event: _by(event, "goes on from what its machines did"),
    "history.discarded": lambda event: _by(event, "what its machine did counts for nothing"),
    "image.pinned": _image_pinned,
    "workflow.retried": _pinned,
    "action.held": _held,
    "action.resumed": _resumed,
    "breakpoint.armed": lambda event: _by(event, armed_for(event)),
    "breakpoint.cleared": lambda event: _by(event, armed_for(event)),
    "breakpoint.refused": lambda event: f"not held: {event['why']}",
    "breakpoint.verdict": _verdict,
    "breakpoint.extended": _until,
    "breakpoint.expiring": _until,
    "breakpoint.expired": lambda event: f"no decision in time: {event['verb']}",
    "service.starting": lambda event: _because(event, "starting"),
    "service.ready": _ready,
    "service.unhealthy": lambda event: _because(event, "not healthy any more"),
    "service.restarting": _restarting,
    "service.exited": lambda event: _ended(event, "done"),
    "service.failed": lambda event: _ended(event, "failed"),
    "service.stopping": lambda event: _because(event, "told to end"),
    "service.stopped": lambda event: _ended(event, "ended"),
}
