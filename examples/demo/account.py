"""What the demo tells at its end: where the time went.  Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from tinkbox.model.boot import Stage


def account(timeline: Sequence[Mapping[str, Any]]) -> str:
    """A short table: each boot stage and each action with the time it began and, for an action, took.

    Times count from the machine's first packet.
    """
    entries = [_told(entry) for entry in timeline if _counts(entry)]
    if not entries:
        return "nothing was seen"
    entries.sort(key=lambda entry: entry[0])
    first = entries[0][0]
    lines = [f"{'after':>8}  {'what':<48} took"]
    lines += [f"{(at - first).total_seconds():6.1f} s  {what:<48} {took}".rstrip() for at, what, took in entries]
    return "\n".join(lines)


def _counts(entry: Mapping[str, Any]) -> bool:
    """Of an action its end; and no question for a file's size alone, which looks like a transfer that broke off."""
    facts = entry["facts"]
    if entry["stage"] == Stage.ACTION:
        return "state" in facts
    return not (entry["stage"] == Stage.LOADER_FAILED and facts.get("why") == "probe")


def _told(entry: Mapping[str, Any]) -> tuple[datetime, str, str]:
    """When it began, what it was, and how long it took, if that is known; an action is told by its end."""
    at, facts = _at(entry), entry["facts"]
    if entry["stage"] != Stage.ACTION:
        return at, str(entry["stage"]), ""
    seconds = float(facts["seconds"])
    what = f"{facts['task']} / {facts['action']}: {facts['state']}"
    return at - timedelta(seconds=seconds), what, f"{seconds:.1f} s"


def _at(entry: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(entry["at"])
