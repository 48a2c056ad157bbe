"""Problems by what they have in common."""

import pytest

from tests.unit.view.snapshots import ALL_KINDS, failed, held, machine, snapshot
from tinkbox.model.breakpoint import Kind
from tinkbox.view.groups import groups_of, in_ranges, in_room
from tinkbox.view.rows import Order, chosen, rows_of


def test_the_worst_come_first_and_of_those_alike_the_largest() -> None:
    told = snapshot(failed(1, "A"), failed(2, "B"), failed(3, "B"), machine(4, parked="x"), machine(5))
    groups = groups_of(rows_of(told, {}).values())
    assert [(each.standing.word, each.reason, each.names) for each in groups] == [
        ("FAILED", "B", ("node2", "node3")),
        ("FAILED", "A", ("node1",)),
        ("PARKED", "", ("node4",)),
    ]


def test_what_is_held_without_a_failure_is_a_group_of_its_own_that_its_filter_finds_alone() -> None:
    rows = rows_of(snapshot(held(1), held(2, Kind.BEFORE), held(3, Kind.AFTER, reason="")), {})
    found = {
        each.names: [row.name for row in chosen(rows.values(), each.filter, Order.NAME)]
        for each in groups_of(rows.values())
    }
    assert found == {("node1",): ["node1"], ("node2",): ["node2"], ("node3",): ["node3"]}


def test_only_problems_are_grouped() -> None:
    assert all(each.standing.is_problem for each in groups_of(rows_of(ALL_KINDS, {}).values()))


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["node1", "node2", "node3", "node7"], ["node[1-3,7]"]),
        (["a1", "b1", "b2"], ["a1", "b[1-2]"]),
        (["gateway", "node9", "node10"], ["gateway", "node[9-10]"]),
        (["n01", "n02"], ["n0[1-2]"]),
        (["n1", "n1"], ["n1"]),
        (["r1-n1", "r1-n2", "r2-n1"], ["r1-n[1-2]", "r2-n1"]),
        ([], []),
    ],
)
def test_names_in_a_row_are_told_as_ranges(names: list[str], shown: list[str]) -> None:
    assert in_ranges(names) == shown


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (-5, ""),
        (16, ""),
        (17, "node1 and 18 more"),
        (23, "node1 node3 and 17 more"),
        (27, "node[1,3,5,7,9] and 14 more"),
        (33, "node[1,3,5,7,9,11,13,15,17,20-29]"),
    ],
)
def test_as_many_names_as_fit_and_how_many_more_there_are(width: int, shown: str) -> None:
    assert in_room([f"node{each}" for each in (*range(1, 19, 2), *range(20, 30))], width) == shown
    assert in_room([], width) == ""
