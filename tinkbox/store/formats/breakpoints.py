"""What is armed of a workflow, and verdicts on held actions."""

from tinkbox.model.breakpoint import Breakpoints, Verb, Verdict
from tinkbox.store.formats.json_text import read, write


def breakpoints_text(breakpoints: Breakpoints) -> str:
    """The column `breakpoints` of a workflow; empty: the defaults, nothing is armed."""
    if breakpoints == Breakpoints():
        return ""
    return write(
        {
            "on_failure": breakpoints.on_failure,
            "before": breakpoints.before,
            "after": breakpoints.after,
            "timeout": breakpoints.timeout,
            "on_expiry": breakpoints.on_expiry,
        }
    )


def breakpoints_of(text: str) -> Breakpoints:
    """Reads `breakpoints_text`."""
    if not text:
        return Breakpoints()
    entry = read(text)
    return Breakpoints(
        on_failure=entry["on_failure"],
        before=tuple(entry["before"]),
        after=tuple(entry["after"]),
        timeout=entry["timeout"],
        on_expiry=Verb(entry["on_expiry"]),
    )


def verdict_text(verdict: Verdict) -> str:
    """The column `verdict` of a hold."""
    return write(
        {
            "verb": verdict.verb,
            "who": verdict.who,
            "why": verdict.why,
            "fresh": verdict.fresh,
            "command": verdict.command,
            "environment": dict(verdict.environment),
        }
    )


def verdict_of(text: str | None) -> Verdict | None:
    """Reads `verdict_text`; None: nobody has decided."""
    if not text:
        return None
    entry = read(text)
    command = entry["command"]
    return Verdict(
        verb=Verb(entry["verb"]),
        who=entry["who"],
        why=entry["why"],
        fresh=entry["fresh"],
        command=None if command is None else tuple(command),
        environment=entry["environment"],
    )
