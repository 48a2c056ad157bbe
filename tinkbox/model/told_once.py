"""What is in the way of many machines, told once for all that it is in the way of."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from tinkbox.model.errors import Problem

NAMED: Final = 5  # machines of one reason


def problems_told_once(refused: Sequence[tuple[str, Problem]], left: int) -> list[Problem]:
    """What is in the way of machines, of their MACs with a reason at its place: those of one reason in one problem, at the first place.

    `left` more machines have none.  What is in the way of all of several machines has no place.
    """
    firsts: dict[str, Problem] = {}
    for _, problem in refused:
        firsts.setdefault(problem.text, problem)
    counts = Counter(problem.text for _, problem in refused)
    told: list[Problem] = []
    for macs, why in reasons_told_once([(mac, problem.text) for mac, problem in refused], left):
        of_all = counts[why] == len(refused) + left > 1
        text = f"{macs}: {why}"
        told.append(Problem(text=text) if of_all else replace(firsts[why], text=text))
    return told


def reasons_told_once(refused: Iterable[tuple[str, str]], left: int, *, named: int = NAMED) -> list[tuple[str, str]]:
    """Each reason with the first `named` machines that it is about, of machines' names with reasons; `left` more machines have none."""
    about: dict[str, list[str]] = {}
    for name, why in refused:
        about.setdefault(why, []).append(name)
    total = left + sum(map(len, about.values()))
    return [(_machines(names, total, named), why) for why, names in about.items()]


def _machines(names: list[str], total: int, named: int) -> str:
    if len(names) == total > 1:
        return f"all {total} machines"
    more = len(names) - named
    return ", ".join(names[:named]) + (f" and {more} more" if more > 0 else "")
