"""Problems by what they have in common: hundreds of machines in a few lines."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from tinkbox.view.lines import clean
from tinkbox.view.rows import Row, natural_key
from tinkbox.view.standing import Standing

LONGEST_RANGE: Final = 30  # letters of its numbers
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
            work = row.machine.work
            reason = clean(work.reason) if work is not None and row.standing in _WITH_REASON else ""
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
    words: list[str] = []
    for head, numbers in _runs(names):
        told = [f"{first}-{last}" if first != last else f"{first}" for first, last in numbers]
        if not told:
            words.append(head)
        while told:
            taken = max(1, sum(length <= LONGEST_RANGE for length in accumulate(len(each) + 1 for each in told)))
            some, told = told[:taken], told[taken:]
            is_one = len(some) == 1 and "-" not in some[0]
            words.append(f"{head}{some[0]}" if is_one else f"{head}[{','.join(some)}]")
    return words


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
