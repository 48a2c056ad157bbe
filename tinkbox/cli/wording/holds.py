"""Holds and breakpoints: where an action is held, how its process ended, what is armed."""

from collections.abc import Iterator, Mapping

from tinkbox.cli.output.formats import Document
from tinkbox.cli.output.printable import moment
from tinkbox.model.duration import show_duration

HELD: Mapping[str, str] = {"before": "before it starts", "failure": "because it failed", "after": "after its end"}


def full_name(hold: Document) -> str:
    return f"{hold['task']}/{hold['action']}"


def ended(outcome: Document | None) -> str:
    """How a process ended, in few words: `exit 3, DiskTooSmall`."""
    if outcome is None:
        return "not started yet"
    if outcome["signal"]:
        how = outcome["signal"]
    elif outcome["exit_code"] is not None:
        how = f"exit {outcome['exit_code']}"
    else:
        how = ""
    return ", ".join(part for part in (how, outcome["reason"]) if part) or outcome["state"]


def until(hold: Document) -> str:
    """When a hold ends by itself and how, or what was decided already."""
    if hold["verdict"]:
        return f"decided: {hold['verdict']['verb']} ({hold['verdict']['who']})"
    return f"{moment(hold['deadline'])}, then {hold['on_expiry']}"


def places(armed: Document) -> str:
    """Where something is armed: `on failure, before disk/wipe`."""
    named = [f"{word} {name}" for word in ("before", "after") for name in armed[word]]
    return ", ".join(["on failure", *named] if armed["on_failure"] else named)


def armed_for(armed: Document) -> str:
    """Everything that is armed, with what becomes of a hold that nobody decides about."""
    lasts = f"{show_duration(armed['timeout'])} after the last activity a hold ends by itself: {armed['on_expiry']}"
    return f"armed {where}; {lasts}" if (where := places(armed)) else "nothing is armed"


def failed(hold: Document) -> bool:
    """Whether what is held ended badly."""
    return hold["outcome"] is not None and hold["outcome"]["state"] != "SUCCESS"


def _by_whom(verdict: Document) -> str:
    return f"{verdict['verb']} by {verdict['who']}"


def _why(verdict: Document) -> str:
    return f": {verdict['why']}" if verdict.get("why") else ""


def being_carried_out(verdict: Document) -> str:
    """What was decided about a hold; the machine has not done it yet."""
    return f"{_by_whom(verdict)}, being carried out"


def decided_fields(hold: Document) -> Iterator[tuple[str, object]]:
    """A hold after its verdict as fields of a table, for people: nothing is held that waits for no verdict."""
    yield "Was Held", HELD[hold["kind"]]
    yield "Verdict", f"{being_carried_out(hold['verdict'])}{_why(hold['verdict'])}"


def held_fields(hold: Document, program: str) -> Iterator[tuple[str, object]]:
    """A hold as fields of a table; `program` is how the lines begin that a person may type."""
    yield "Held", HELD[hold["kind"]]
    yield "Held Since", moment(hold["since"])
    if hold["verdict"]:
        yield "Verdict", f"{_by_whom(hold['verdict'])}{_why(hold['verdict'])}"
    else:
        yield "Held Until", until(hold)
        yield "Verdicts", f"{', '.join(hold['verdicts'])} ({program} breakpoint VERDICT WORKFLOW)"
    if not hold["container"]:
        yield "Container", "none to open a shell in"
