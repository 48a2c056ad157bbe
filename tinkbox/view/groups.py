"""Problems by what they have in common: hundreds of machines in a few lines."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from tinkbox.model.cells import cells
from tinkbox.view.lines import clean
from tinkbox.view.row import Row, natural_key
from tinkbox.view.standing import Standing, held_where

LONGEST_RANGE: Final = 30  # letters of its numbers
SHORTER_RANGES: Final = (LONGEST_RANGE, 12, 1)
_NUMBERED: Final = re.compile(r"(.*?)(0|[1-9][0-9]{0,8})")

_WITH_REASON: Final = frozenset({Standing.HELD, Standing.FAILED, Standing.TIMEOUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Machines that stand alike for one reason; `filter` finds them in the list."""

    standing: Standing
    reason: str
    names: tuple[str, ...]

    @property
    def filter(self) -> str:
        """What finds these rows, and seldom others."""
        return f"{self.standing.word} {self.reason}".strip().lower()


def groups_of(rows: Iterable[Row]) -> Sequence[Group]:
    """Every problem, the worst first, of those alike the largest."""
    found: dict[tuple[Standing, str], list[str]] = {}
    for row in rows:
        if row.standing.is_problem:
            work = row.work
            reason = clean(work.reason) or held_where(work) if work is not None and row.standing in _WITH_REASON else ""
            found.setdefault((row.standing, reason), []).append(row.name)
    groups = [
        Group(standing=standing, reason=reason, names=tuple(sorted(names, key=natural_key)))
        for (standing, reason), names in found.items()
    ]
    return sorted(groups, key=lambda each: (each.standing.rank, -len(each.names), each.reason))


def in_ranges(names: Sequence[str]) -> list[str]:
    """Names that differ in a last number alone, as one: `node[1-30,33]`; they come in their natural order.

    None of these is long, for a line may break only between them.
    """
    return [word for word, _ in _words(_runs(names), LONGEST_RANGE)]


def in_room(names: Sequence[str], width: int) -> str:
    """As many of them as fit in so many columns, in ranges, and how many more there are; empty where not even one fits."""
    fits, most = "", 0
    runs = list(_runs(names))
    # A range that does not fit may leave room for a shorter one, and that for its first machine.
    for words in ([(each, 1) for each in names[:1]], *(_words(runs, each) for each in SHORTER_RANGES)):
        told, number = "", 0
        for word, machines in words:
            told, number = f"{told} {word}".lstrip(), number + machines
            left = len(names) - number
            shown = f"{told} and {left} more" if left > 0 else told
            if cells(shown) <= width and number > most:
                fits, most = shown, number
            elif cells(told) > width:
                break
    return fits


def _words(runs: Iterable[tuple[str, list[tuple[int, int]]]], longest: int) -> Iterator[tuple[str, int]]:
    """Ranges with so many letters of numbers, each with how many names there are in it."""
    for head, numbers in runs:
        told = [(f"{first}-{last}" if first != last else f"{first}", last - first + 1) for first, last in numbers]
        if not told:
            yield head, 1
        while told:
            taken = max(1, sum(length <= longest for length in accumulate(len(each) + 1 for each, _ in told)))
            some, told = told[:taken], told[taken:]
            is_one = len(some) == 1 and "-" not in some[0][0]
            yield (
                f"{head}{some[0][0]}" if is_one else f"{head}[{','.join(each for each, _ in some)}]",
                sum(number for _, number in some),
            )


def _runs(names: Sequence[str]) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Heads of names, each with the numbers that follow it from first to last; none where a name has none."""
    head, numbers = "", list[tuple[int, int]]()
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None or (numbers and match[1] != head):
            if numbers:
                yield head, numbers
            numbers = []
        if match is None:
            yield name, []
            continue
        head, number = match[1], int(match[2])
        if numbers and numbers[-1][1] in (number - 1, number):
            numbers[-1] = numbers[-1][0], number
        else:
            numbers.append((number, number))
    if numbers:
        yield head, numbers
