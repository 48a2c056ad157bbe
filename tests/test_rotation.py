import subprocess
from pathlib import Path

import pytest

from tests import rotation


@pytest.fixture(autouse=True)
def no_turn_yet() -> None:
    rotation.turn.cache_clear()


@pytest.mark.parametrize(("cells", "number"), [(24, 2), (33, 5), (33, 33), (7, 3), (3, 5)])
def test_every_cell_is_taken_within_as_many_turns_as_there_are_cells(cells: int, number: int) -> None:
    taken = [rotation.taken(range(cells), number, turn) for turn in range(cells)]
    assert {cell for turn in taken for cell in turn} == set(range(cells))
    assert {len(set(turn)) for turn in taken} == {min(number, cells)}


def test_mixed_cells_are_all_there_and_always_in_the_same_order() -> None:
    assert rotation.mixed(range(8)) == rotation.mixed([*range(7, -1, -1)])
    assert sorted(rotation.mixed(range(8))) == [*range(8)] != rotation.mixed(range(8))


def test_the_turn_that_is_told_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rotation.VARIABLE, "17")
    assert rotation.turn() == 17
    assert "TESTS_TURN=17" in rotation.told()
    assert [rotation.mark(cell, range(10), 3) == pytest.mark.rotating for cell in range(10)] == [
        rotation.taken(range(10), 3, 17).count(cell) == 1 for cell in range(10)
    ]


def test_the_turn_is_that_of_the_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(rotation.VARIABLE, raising=False)
    monkeypatch.setattr(rotation, "ROOT", tmp_path)
    assert rotation.turn() == 0  # there is no commit
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "m"], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, stdout=subprocess.PIPE, text=True).stdout
    rotation.turn.cache_clear()
    assert rotation.turn() == int(commit[:4], 16)
