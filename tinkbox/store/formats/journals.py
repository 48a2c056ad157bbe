"""What a worker told of a history that the store has lost, as a JSON column."""

from tinkbox.model.journal import Entry, Seen
from tinkbox.store.formats.actions import outcome_of, outcome_text
from tinkbox.store.formats.json_text import read, write


def entries_text(boot_id: str, seen: Seen, entries: tuple[Entry, ...]) -> str:
    """The column `told` of a lost history."""
    return write(
        {
            "boot_id": boot_id,
            "seen": _seen(seen),
            "entries": [
                {
                    "position": each.position,
                    "attempt": each.attempt,
                    "workflow_id": each.workflow_id,
                    "index": each.index,
                    "task": each.task,
                    "action": each.action,
                    "outcome": None if each.outcome is None else outcome_text(each.outcome),
                    "over": each.over,
                }
                for each in entries
            ],
        }
    )


def entries_of(text: str) -> tuple[str, Seen, tuple[Entry, ...]]:
    """Reads `entries_text`: boot id, the newest attempt, and all of them."""
    told = read(text)
    entries = (Entry(**{**each, "outcome": outcome_of(each["outcome"])}) for each in told["entries"])
    return told["boot_id"], Seen(**told["seen"]), tuple(entries)


def restart_text(seen: Seen) -> str:
    """The column `restart`."""
    return write(_seen(seen))


def restart_of(text: str) -> Seen | None:
    """Reads `restart_text`; None: nobody has discarded it."""
    return Seen(**read(text)) if text else None


def _seen(seen: Seen) -> dict[str, object]:
    return {"store": seen.store, "position": seen.position, "attempt": seen.attempt, "over": seen.over}
