"""Which cells of a large matrix a run of `make test` takes; `make campaign` takes all of them.

The turn is a number.  It is made from the commit that is checked out, so one commit takes the same cells everywhere, and
another one others.  TESTS_TURN=NUMBER chooses a turn; every run prints its own.
"""

import hashlib
import os
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

import pytest

ROOT: Final = Path(__file__).parents[1]
VARIABLE: Final = "TESTS_TURN"
# Commits have 40 hexadecimal digits; these many are a number that a person can type.
DIGITS: Final = 4
Cell = TypeVar("Cell")


@cache
def turn() -> int:
    """The turn of this run; 0 when it is not told and there is no commit, as in an unpacked archive."""
    told = os.environ.get(VARIABLE, "")
    if told:
        return int(told)
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "rev-parse", "HEAD"]
    try:
        commit = subprocess.run(command, check=True, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return 0
    return int(commit.stdout[:DIGITS], 16)


def taken(cells: Sequence[Cell], number: int, at: int) -> list[Cell]:
    """So many neighbouring cells; the next turn takes those behind them, and behind the last comes the first."""
    first = at * number
    return [cells[(first + place) % len(cells)] for place in range(min(number, len(cells)))]


def mixed(cells: Sequence[Cell], name: Callable[[Cell], str] = str) -> list[Cell]:
    """The cells in an order that has nothing to do with theirs, and is the same everywhere: neighbours have little in common."""
    return sorted(cells, key=lambda cell: hashlib.sha256(name(cell).encode()).digest())


def mark(cell: Cell, cells: Sequence[Cell], number: int = 1) -> pytest.MarkDecorator:
    """The mark of a cell of which `make test` takes only `number` a run."""
    return pytest.mark.rotating if cell in taken(cells, number, turn()) else pytest.mark.campaign


def told() -> str:
    """How to take the same cells again."""
    return f"{VARIABLE}={turn()} takes the same cells of the matrices again"
