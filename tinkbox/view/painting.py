"""What is written to a terminal, so that it shows other lines than before: only those that differ.

Rule: a line is erased before it is written.  Behind a line that is full, xterm and the Linux console still have the cursor
on its last letter, and erasing the rest would take that.
"""

from collections.abc import Sequence

from tinkbox.view.lines import coded
from tinkbox.view.picture import Shown


def painted(before: Sequence[Shown], after: Sequence[Shown], *, colours: bool = True) -> str:
    """The codes and texts (ECMA-48) that make one picture of the other; without one before, the screen is wiped first."""
    changes = [] if before else ["\x1b[2J"]
    for number, shown in enumerate(after):
        if number >= len(before) or before[number] != shown:
            line, selected = shown
            changes.append(f"\x1b[{number + 1};1H\x1b[K{coded(line, selected=selected, colours=colours)}")
    return "".join(changes)
