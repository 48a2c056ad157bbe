"""What a benchmark found, and the lines that show it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

TITLES = ("what", "unit", "tinkbox", "peer", "peer's", "ratio", "rounds", "better")
# The least width of each column: a line is shown before the next one is known.
_WIDTHS = (52, 11, 9, 34, 9, 6, 18, 0)
_RIGHT = {"tinkbox", "peer's", "ratio"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The same measured on both sides, alternating, once a round; `better` tells which way the figures are good."""

    what: str
    unit: str
    peer: str
    better: Literal["more", "less"]
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    def add(self, ours: float, theirs: float) -> None:
        """One round."""
        self.ours.append(ours)
        self.theirs.append(theirs)

    @property
    def ratios(self) -> list[float]:
        """Ours through theirs, round by round, so that what slowed down a whole round falls out."""
        return [own / other for own, other in zip(self.ours, self.theirs, strict=True)]

    @property
    def cells(self) -> tuple[str, ...]:
        ratios = self.ratios
        return (
            self.what,
            self.unit,
            _shown(median(self.ours)),
            self.peer,
            _shown(median(self.theirs)),
            f"{median(ratios):.2f}",
            f"{min(ratios):.2f}–{max(ratios):.2f} of {len(ratios)}",
            self.better,
        )


def heading() -> str:
    """The line above all others."""
    return _aligned(TITLES)


def line(comparison: Comparison) -> str:
    """One comparison, below the heading."""
    return _aligned(comparison.cells)


def _aligned(row: Sequence[str]) -> str:
    cells = zip(row, TITLES, _WIDTHS, strict=True)
    return "  ".join(f"{cell:>{width}}" if title in _RIGHT else f"{cell:<{width}}" for cell, title, width in cells)


def _shown(figure: float) -> str:
    """Three digits that mean something; a benchmark has no more."""
    if figure >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.1f}" if figure >= 10 else f"{figure:.2f}"
