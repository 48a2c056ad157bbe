"""What is written to a terminal, so that it shows other lines than before: only those that differ."""

from collections.abc import Sequence

from tinkbox.view.lines import coded
from tinkbox.view.picture import Shown


def painted(before: Sequence[Shown], after: Sequence[Shown]) -> str:
    """The codes and texts (ECMA-48) that make one picture of the other; without one before, the screen is wiped first."""
    changes = [] if before else ["\x1b[2J"]
    for number, shown in enumerate(after):
        if number >= len(before) or before[number] != shown:
            line, selected = shown
            changes.append(f"\x1b[{number + 1};1H{coded(line, selected=selected)}\x1b[K")
    return "".join(changes)
