"""How machines stand, which of them a filter keeps, and in which order they come."""

from dataclasses import replace

import pytest

from tests.unit.view.snapshots import ALL_KINDS, FAR, NOW, failed, held, machine, snapshot, work
from tinkbox.model.breakpoint import Kind
from tinkbox.model.workflow import FINAL, State
from tinkbox.view.columns import ALL_COLUMNS
from tinkbox.view.rows import Order, chosen, counted_by_standing, rows_of
from tinkbox.view.standing import Standing, standing_of
from tinkbox.wire.messages.status import MachineLine, Snapshot, StrangerLine


def names(told: Snapshot, filtered_by: str = "", order: Order = Order.PROBLEM) -> list[str]:
    return [each.name for each in chosen(rows_of(told, {}).values(), filtered_by, order)]


def test_problems_come_first_the_worst_of_all() -> None:
    rows = chosen(rows_of(ALL_KINDS, {}).values(), "", Order.PROBLEM)
    assert [each.standing for each in rows] == [each for each in Standing if each is not Standing.WAITING]


def test_of_problems_alike_the_newest_comes_first_and_the_rest_is_in_the_order_of_names() -> None:
    told = snapshot(failed(30), failed(2), machine(10, work=None), machine(9, work=None))
    assert names(told) == ["node2", "node30", "node9", "node10"]


def test_a_worker_that_fell_silent_stands_before_all_unknown_machines() -> None:
    strangers = tuple(
        StrangerLine(mac=f"52:54:00:00:00:{each:02x}", stage="DHCP discover", stage_at=NOW) for each in range(3)
    )
    told = replace(
        snapshot(machine(1, work=work()), machine(2, work=work(), silent_since=NOW), failed(3)), strangers=strangers
    )
    found = names(told)
    assert (found[:2], found[-1]) == (["node3", "node2"], "node1")


@pytest.mark.parametrize("state", [each for each in State if each.name in Standing.__members__ and each != State.HELD])
def test_a_machine_stands_as_its_workflow(state: State) -> None:
    assert standing_of(machine(work=work(state))).word == state


def test_a_machine_that_stalls_is_a_problem_only_where_something_waits_for_it() -> None:
    assert standing_of(machine(stalled="stalled", work=work(State.PENDING))) is Standing.STALLED
    assert standing_of(machine(stalled="stalled", ticket=True)) is Standing.STALLED
    assert standing_of(machine(stalled="stalled", work=work(State.SUCCESS))) is Standing.SUCCESS
    assert standing_of(machine(stalled="stalled")) is Standing.IDLE


def test_a_machine_waits_for_its_turn_in_a_rollout_once_its_last_workflow_is_over() -> None:
    for state in FINAL:
        assert standing_of(machine(rollout="1a", work=work(state))) is Standing.WAITING, state
    assert standing_of(machine(rollout="1a", work=work(State.PENDING))) is Standing.PENDING
    assert standing_of(machine(rollout="1a")) is Standing.WAITING
    assert standing_of(machine(rollout="1a", parked="x")) is Standing.PARKED


def test_of_a_machine_that_waits_in_a_rollout_no_row_shows_its_last_workflow_whatever_it_waits_with() -> None:
    for more in ({}, {"parked": "x"}, {"stalled": "stalled", "ticket": True}, {"lost": "it ran disk"}):
        (row,) = rows_of(snapshot(failed(1, rollout="1a", **more)), {}).values()
        assert row.work is None, more
    (row,) = rows_of(snapshot(machine(1, rollout="1a", work=work())), {}).values()
    assert row.work is not None
    (row,) = rows_of(snapshot(machine(1, rollout="1a", work=work(State.FAILED, lost=True))), {}).values()
    assert row.work is not None, "a person has to decide about it"


def test_a_lost_history_is_worse_than_everything() -> None:
    assert standing_of(machine(work=work(lost=True), parked="x")) is Standing.LOST
    assert standing_of(replace(held(), parked="x")) is Standing.HELD


def test_what_is_decided_is_not_held_any_more_and_is_no_problem() -> None:
    standing = standing_of(held(decided=True))
    assert standing is Standing.RUNNING
    assert not standing.is_problem


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("node5", ["node5"]),
        ("DISKNOTFOUND", ["node5"]),
        ("nvme1n1 failed", ["node5"]),
        ("rack=r1", ["node2"]),
        ("172.30.0.9", ["node9"]),
        ("08:00:27:00:00:0a", ["node10"]),
        ("52:54", ["52:54:00:00:00:09"]),
        ("node5 node6", []),
    ],
)
def test_a_filter_finds_every_word_wherever_it_stands(words: str, found: list[str]) -> None:
    assert names(ALL_KINDS, words) == found


RACKS = snapshot(
    machine(1, labels={"rack": "r1", "gpu": "yes"}),
    machine(10, labels={"rack": "r10"}),
    machine(19, labels={"rack": "r19"}),
    machine(2, labels={}, hostname="rack-spare"),
)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("rack=r1", ["node1"]),
        ("rack!=r1", ["node10", "node19", "rack-spare"]),
        ("rack=r10,gpu!=yes", ["node10"]),
        ("rack in (r1,r19)", ["node1", "node19"]),
        ("!rack", ["rack-spare"]),
        ("rack", ["node1", "node10", "node19"]),
        ("rack=r1 idle", ["node1"]),
        ("idle rack!=r1 node1", ["node10", "node19"]),
        ("rack=", []),
        ("colour=r1", []),
        ("r1", ["node1", "node10", "node19"]),
        ("spare", ["rack-spare"]),
        ("rack=r1(", []),
        ("rack in (r1,r10) node1", ["node1", "node10"]),
        ("idle rack in (r1, r10)", ["node1", "node10"]),
        ("rack notin (r1) idle", ["node10", "node19", "rack-spare"]),
        ("rack=r1, gpu=yes idle", ["node1"]),
        ("rack=r1, gpu=no idle", []),
        ("!gpu idle", ["node10", "node19", "rack-spare"]),
        ("!colour idle", ["node1", "node10", "node19", "rack-spare"]),
        ("!spare", ["node1", "node10", "node19"]),
        ("!node1 idle", ["rack-spare"]),
        ("! spare, !r19", ["node1", "node10"]),
        ("!08-00-27-00-00-0A", ["node1", "node19", "rack-spare"]),
        ("!rack=r1", []),
        ("idle,running gpu", ["node1"]),
        ("rack=r10, idle", ["node10"]),
        ("gpu node", ["node1"]),
        ("rack=r1,", ["node1"]),
        ("  ", ["node1", "node10", "node19", "rack-spare"]),
    ],
)
def test_a_filter_means_labels_exactly(words: str, found: list[str]) -> None:
    assert sorted(names(RACKS, words)) == sorted(found)


@pytest.mark.parametrize(
    "text", ["rack in (r1,r19) idle", "idle rack in (r1, r19)", "rack notin (r1) idle", "!gpu idle", "rack=r1, gpu=yes idle",
             "rack!=r10,gpu!=yes", "rack==r19 node", "!spare", "!failed,held !08:00:27:00:00:01",
             "idle,failed,held node1"]
)  # fmt: skip
def test_what_is_half_typed_empties_no_list_that_the_whole_does_not(text: str) -> None:
    rows = rows_of(RACKS, {}).values()
    for length in range(1, len(text) + 1):
        assert chosen(rows, text[:length], Order.NAME, is_typed=True), text[:length]
    assert chosen(rows, text, Order.NAME, is_typed=True) == chosen(rows, text, Order.NAME)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("node19 rack=", ["node19"]),
        ("rack=r10 gpu=", ["node10"]),
        ("rack=r1", ["node1"]),
        ("rack=r9", []),
        ("rack in (r19,r1", ["node1", "node19"]),
        ("node1 rack in (", ["node1", "node10", "node19"]),
        ("node1 rack!", ["node1", "node10", "node19"]),
        ("node1 !node", ["node1", "node10", "node19"]),
        ("!node1", ["rack-spare"]),
        ("idle,h", ["node1", "node10", "node19", "rack-spare"]),
        ("!held,i", ["node1", "node10", "node19", "rack-spare"]),
    ],
)
def test_while_it_is_typed_what_is_finished_of_a_filter_counts(text: str, found: list[str]) -> None:
    rows = chosen(rows_of(RACKS, {}).values(), text, Order.NAME, is_typed=True)
    assert sorted(each.name for each in rows) == sorted(found)


def test_a_word_of_the_column_state_means_that_also_where_it_is_the_key_of_a_label() -> None:
    told = snapshot(held(1), machine(2, labels={"held": "yes"}))
    assert names(told, "held") == ["node1"]
    assert names(told, "held=yes") == ["node2"]
    assert names(told, "!held") == names(told, "!HELD idle") == ["node2"]


@pytest.mark.parametrize("standing", Standing)
def test_a_word_of_the_column_state_finds_exactly_the_rows_that_show_it(standing: Standing) -> None:
    lines = [replace(each, stage=" ".join(word.word for word in Standing)) for each in ALL_KINDS.machines]
    told = replace(
        ALL_KINDS, machines=(*lines, machine(13, rollout="1a"), replace(held(14, decided=True), state="held"))
    )
    rows = rows_of(told, {}).values()
    shown = {each.name for each in chosen(rows, standing.word.lower(), Order.NAME)}
    assert shown == {each.name for each in rows if each.standing is standing} != set()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("!DiskNotFound", ["node2", "node3", "node4"]),
        ("!disknotfound !node2", ["node3", "node4"]),
        ("!r1-n1 failed", ["node2"]),
        ("!08:00:27:00:00:01", ["node2", "node3", "node4"]),
        ("!0800.2700.0001 failed", ["node2"]),
        ("!rack", ["node2", "node3"]),
        ("!held", ["node1", "node2", "node4"]),
    ],
)
def test_a_word_with_an_exclamation_mark_leaves_out_what_it_finds_unless_it_is_a_key(
    words: str, found: list[str]
) -> None:
    told = snapshot(
        failed(1, labels={"rack": "r1"}, address="r1-n1"),
        failed(2, "OutOfMemory"),
        held(3),
        machine(4, labels={"rack": "r2"}),
    )
    assert sorted(names(told, words)) == found


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("failed,held", ["node1", "node2"]),
        ("FAILED , Held", ["node1", "node2"]),
        ("failed,held,running", ["node1", "node2", "node3"]),
        ("!failed,held", ["node3", "node4"]),
        ("!failed, held", ["node3", "node4"]),
        ("node2 failed,held", ["node2"]),
        ("failed,held timeout", ["node2"]),
        ("failed,disknotfound", ["node1"]),
        ("failed,!held", ["node1"]),
        ("idle,pending rack in (failed,held)", ["node4"]),
    ],
)
def test_words_of_the_column_state_with_commas_between_mean_one_of_these_states(words: str, found: list[str]) -> None:
    told = snapshot(
        failed(1), held(2, reason="Timeout"), machine(3, work=work(id="3")), machine(4, labels={"rack": "held"})
    )
    assert sorted(names(told, words)) == found


def test_of_two_words_of_the_column_state_one_is_the_state_and_the_other_stands_anywhere() -> None:
    told = snapshot(held(1, reason="Timeout"), held(2), machine(3, work=work(State.TIMEOUT, message="was held")))
    assert names(told, "held timeout") == ["node1", "node3"]
    assert names(told, "held running") == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (held(decided=True), "decided, being carried out"),
        (held(), "fails by itself"),
        (held(kind=Kind.BEFORE), "before it begins"),
        (held(deadline=None), "waits for a verdict"),
        (machine(rollout="18c4ffa8-00", rollout_paused=True), "waits in rollout 18c4ffa8, which is paused"),
        (machine(stage="", stage_at=None), "not seen yet"),
        (machine(mac="", stage="", stage_at=None), "its document tells no mac"),
        (machine(stalled="no kernel", ticket=True, stage=""), "not seen yet: no kernel"),
        (machine(work=work(leaving=True, attempt=2, attempts=3)), "goes away by intention, and is waited for, attempt 2 of 3"),
        (machine(work=work(elsewhere="node9")), "waits for node9"),
        (machine(work=work(State.PENDING, awaited=("nfs",)), stage=""), "waits for its services: nfs"),
        (machine(work=work(progress=FAR)), "41 %"),
        (machine(work=work(done=2)), "2/5 ubuntu_provisioning a8984b09"),
    ],
)  # fmt: skip
def test_a_filter_finds_all_that_a_row_shows(line: MachineLine, words: str) -> None:
    assert names(snapshot(line, machine(99, work=work(State.SUCCESS, done=5, name="x", id="y"))), words) == ["node1"]


def test_a_filter_finds_every_text_of_every_column_but_times() -> None:
    for row in rows_of(ALL_KINDS, {}).values():
        for column in ALL_COLUMNS:
            assert column.cell(row, None)[0].lower() in row.searched, column.title


def test_an_id_is_found_by_its_beginning_and_by_nothing_in_it() -> None:
    flow = work(id="7b2cd000-1111-4222-8333-a44455556666", name="x")
    told = snapshot(machine(1, id="f00dcafe-3772-4b4a-ab9f-6ebe93b90a94", work=flow), machine(2, work=None))
    for found in ("f00d", "7b2c", "7B2CD000-1111-4222", "7b2"):  # the last is in the column WORKFLOW
        assert names(told, found) == ["node1"], found
    for not_found in ("f00", "cafe", "3772-4b4a-ab9f", "b90a", "5556"):
        assert "node1" not in names(told, not_found), not_found


@pytest.mark.parametrize(
    "spelling", ["08-00-27-00-00-0A", "08002700000a", "0800.2700.000a", "08:00:27:00:00:0A"],
)  # fmt: skip
def test_a_whole_mac_is_found_in_every_spelling(spelling: str) -> None:
    assert names(ALL_KINDS, spelling) == ["node10"]


def test_what_looks_like_a_mac_is_found_as_it_is_as_well() -> None:
    assert names(snapshot(machine(1, id="6ebe93b90a94")), "6ebe93b90a94") == ["node1"], "an id of its own"


def test_an_idle_machine_has_no_age_and_one_whose_boot_is_told_of_has_that_of_its_last_step() -> None:
    assert rows_of(snapshot(machine(1)), {})[machine(1).id].since is None
    for more in ({"parked": "x"}, {"lost": "ran disk"}, {"stalled": "stalled", "ticket": True}):
        (row,) = rows_of(snapshot(machine(1, **more)), {}).values()
        assert row.since == machine(1).stage_at, more


def test_a_filter_finds_why_a_machine_waits() -> None:
    told = snapshot(
        machine(1, parked="3 boots", ticket=True),
        machine(2, stalled="no kernel", ticket=True),
        machine(3, lost="ran disk"),
    )
    assert [names(told, words) for words in ("3 boots", "no kernel", "ran disk")] == [["node1"], ["node2"], ["node3"]]


def test_a_filter_does_not_find_what_a_machine_did_that_waits_for_its_turn() -> None:
    told = snapshot(failed(1), failed(2, rollout="1a2b3c4d-00"))
    assert [names(told, words) for words in ("failed", "disknotfound", "1a2b3c4d")] == [["node1"], ["node1"], ["node2"]]


def test_the_list_is_sorted_by_name_state_and_age() -> None:
    told = snapshot(failed(10), machine(2, work=None, stage_at=None), failed(9))
    assert names(told, order=Order.NAME) == ["node2", "node9", "node10"]
    assert names(told, order=Order.STATE) == ["node9", "node10", "node2"]
    assert names(told, order=Order.AGE) == ["node9", "node10", "node2"]
    assert [each.following for each in Order] == [*list(Order)[1:], Order.PROBLEM]


def test_rows_of_machines_that_did_not_change_are_taken_over() -> None:
    before = rows_of(ALL_KINDS, {})
    changed = replace(ALL_KINDS.machines[0], stage="new")
    after = rows_of(replace(ALL_KINDS, machines=(changed, *ALL_KINDS.machines[1:])), before)
    assert [key for key in after if after[key] is not before[key]] == [changed.id]


def test_machines_are_counted_by_how_they_stand() -> None:
    assert counted_by_standing(rows_of(snapshot(failed(1), failed(2), machine(3, work=None)), {}).values()) == [
        (Standing.FAILED, 2),
        (Standing.IDLE, 1),
    ]
