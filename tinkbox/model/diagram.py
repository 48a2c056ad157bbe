"""Transition tables as diagrams for the documentation."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)


def state_diagram(table: Mapping[tuple[S, E], S], first: S) -> str:
    """A mermaid diagram of `table`, row by row from `first` on; a state that no row leaves is an end."""
    left = {before for before, _ in table}
    lines = [f"    {before} --> {after}: {event}" for (before, event), after in table.items()]
    ends = [f"    {state} --> [*]" for state in dict.fromkeys(table.values()) if state not in left]
    return "\n".join(["```mermaid", "stateDiagram-v2", f"    [*] --> {first}", *lines, *ends, "```"])
