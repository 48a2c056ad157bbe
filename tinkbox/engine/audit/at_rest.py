"""Whether the audit of an appliance that may not run is as it was written: its newest lines, and the head beside the store."""

from pathlib import Path
from typing import Final

from tinkbox.engine.audit.head import ANOTHER_KEY, HEAD, KEY, HeadFile
from tinkbox.model.audit import LOST, Chain, Head, Seals, lost_lines, unguarded, unwritten_lines, wrong_index
from tinkbox.store.audit import AuditTable

# A second's work; `tinkbox audit verify` examines all.
MOST: Final = 20_000


def damage_of(audit: AuditTable, data: Path) -> str:
    """What is wrong and was not told by a line yet, for a person, empty: nothing; it writes nothing.  Raises Unavailable."""
    if not (data / KEY).exists() and ((data / HEAD).exists() or audit.has_seals()):
        return (
            f"the audit cannot be examined to its end: {data / KEY}, the key by which {data / HEAD} and the lines are sealed, is missing. Put "
            f"it back from a backup. Without a backup start tinkbox: it {ANOTHER_KEY}"
        )
    # The head first: what is committed meanwhile is behind it.
    file = HeadFile(data) if (data / KEY).exists() else None
    head, wrong = file.read() if file is not None else (None, "")
    sealed_from = head.sealed_from if head is not None else 0
    seals = Seals(file.seal_line, sealed_from) if file is not None and sealed_from else None
    told = audit.found_broken(seals)
    after = max(0, audit.head().number - MOST, told.number if told is not None else 0)
    chain = Chain(after, seals)
    if head is not None:
        chain.watch_for(head.number)
    for each in audit.after(after, MOST):
        chain.add(each)
    lines = (
        wrong
        or chain.verdict(head if head is not None and head.number > after else None).problem
        or audit.put_in_before(seals)
    )
    # Of an appliance that starts the head follows its key at once.
    missing = file is not None and head is None and not wrong and file.read() == (None, "")
    found = [
        lines,
        f"{data / HEAD} is missing, so whether lines at the end are missing is not known" if missing else "",
        _unwritten(audit, head, seals),
        _unguarded(audit),
    ]
    if not any(found) and not audit.head().number and audit.had_lines():
        found = ["all lines are missing, and there have been some"]
    problem = ". Besides, ".join(filter(None, found))
    return f"the audit is not as it was written: {problem}. `tinkbox audit verify` says more" if problem else ""


def _unwritten(audit: AuditTable, head: Head | None, seals: Seals | None) -> str:
    """Which lines waited when the head was written, and are told by none yet; empty: none."""
    left = head.unwritten if head is not None else None
    if left is None or audit.tells(LOST, lost_lines(left), seals):
        return ""
    return f"{unwritten_lines(left)}. A start records that in a line"


def _unguarded(audit: AuditTable) -> str:
    """What another program changed of the schema, or of an index of the lines; empty: nothing."""
    if wrong := audit.wrong_parts():
        return f"{unguarded(wrong)}; the next start mends that"
    return wrong_index(found) if (found := audit.wrong_index()) else ""
