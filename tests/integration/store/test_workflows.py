from collections.abc import Callable
from dataclasses import fields, replace
from datetime import timedelta
from functools import partial
from itertools import product

import pytest

from tests.integration.store.objects import NOW, attempt, service, version, workflow
from tests.integration.store.test_holds import HOLD
from tests.unit.model.flows import step
from tinkbox.model.keys import meant
from tinkbox.model.listing import Order, WorkflowListing
from tinkbox.model.workflow import ListedWorkflow, Outcome, State, Step, WorkflowHead
from tinkbox.store.database import Store, Tables


async def test_a_workflow_comes_back_as_it_was_stored(store: Store) -> None:
    made = workflow("w1", "m1", "m2")
    await store.write(lambda tables: tables.workflows.insert(made))
    stored = replace(made, run=1)
    assert await store.read(lambda tables: tables.workflows.get("w1")) == stored
    assert await store.read(lambda tables: tables.workflows.some(tables.workflows.ids())) == [stored]


async def test_a_whole_id_beats_a_name_and_a_name_the_beginning_of_an_id(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        for identity, name in (("effac1", "n"), ("effac10", "n"), ("beef1", "effac"), ("beef2", "effac1")):
            tables.workflows.insert(workflow(identity, "m1", name=name))

    await store.write(use_case)
    keys = ("effac1", "effac10", "effa", "eff", "effac", "n", "z")
    found = await store.read(lambda tables: {key: [each.id for each in meant(tables.workflows, key)] for key in keys})
    assert found == {
        "effac1": ["effac1"],
        "effac10": ["effac10"],
        "effa": ["effac1", "effac10"],
        "eff": [],  # too few letters for an id
        "effac": ["beef1"],
        "n": ["effac10"],
        "z": [],
    }


async def test_workflows_are_listed_by_numbers_of_which_none_means_another_one_later(store: Store) -> None:
    def insert(tables: Tables, *ids: str) -> None:
        for each in ids:
            tables.workflows.insert(workflow(each, "m1", name=f"n{each}"))

    def ids(wanted: WorkflowListing) -> Callable[[Tables], list[str]]:
        return lambda tables: tables.workflows.numbered(tables.workflows.listed_numbers(wanted)[0])

    await store.write(lambda tables: insert(tables, "w1", "w3", "w2"))
    last_first = WorkflowListing(order=Order("name", descending=True), limit=2)
    numbers, total = await store.read(lambda tables: tables.workflows.listed_numbers(last_first))
    assert (len(numbers) * numbers.itemsize, total) == (16, 3)
    assert await store.read(ids(last_first)) == ["w3", "w2"]
    assert await store.read(ids(WorkflowListing())) == ["w1", "w3", "w2"]
    await store.write(lambda tables: tables.workflows.delete("w2"))
    await store.write(lambda tables: insert(tables, "w4"))
    assert await store.read(lambda tables: tables.workflows.numbered(numbers)) == ["w3"]


async def test_an_attempt_shows_in_its_action_and_its_outcome_stays(one: Store) -> None:
    outcome = Outcome(state=State.FAILED, exit_code=3, reason="R", message="m", tail=("a", "b"))
    await one.write(lambda tables: tables.workflows.end_attempt("a1", outcome, NOW + timedelta(seconds=2)))
    status = (await one.read(lambda tables: tables.workflows.get("w1"))).actions[0]
    ended = await one.read(lambda tables: tables.workflows.attempt("a1"))
    assert await one.read(lambda tables: tables.workflows.attempt("nothing")) is None
    assert (status.attempt, status.started_at, status.outcome) == ("a1", NOW, outcome)
    assert ended == replace(attempt("a1"), state=State.FAILED, ended_at=NOW + timedelta(seconds=2), outcome=outcome)


async def test_the_oldest_unfinished_workflow_comes_first_for_its_machines(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("w1", "m1"))
        tables.workflows.insert(workflow("w2", "m1", "m2"))
        tables.workflows.set_state("w1", State.FAILED, NOW)

    await store.write(use_case)
    assert await store.read(lambda tables: [tables.queues.next_for(worker) for worker in ("m1", "m2", "m3")]) == [
        "w2",
        "w2",
        None,
    ]
    assert await store.read(lambda tables: tables.workflows.needing("m1")) == ["w2"]


async def test_finished_workflows_are_shown_up_to_a_number_and_unfinished_ones_always(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        for number in range(6):
            tables.workflows.insert(workflow(f"w{number}", "m1"))
            if number % 2:
                tables.workflows.set_state(f"w{number}", State.SUCCESS, NOW)

    await store.write(use_case)
    assert await store.read(lambda tables: tables.workflows.unfinished_and_newest(1)) == ["w0", "w2", "w4", "w5"]


async def test_lists_have_of_a_workflow_where_it_stands_and_not_its_plan(one: Store) -> None:
    whole = await one.read(lambda tables: tables.workflows.get("w1"))
    stands = whole.actions[0]

    async def listed() -> ListedWorkflow:
        (found,) = await one.read(lambda tables: tables.workflows.listed(["w1", "gone"]))
        return found

    assert await listed() == ListedWorkflow(
        **{each.name: getattr(whole, each.name) for each in fields(WorkflowHead)},
        at=stands,
        done=0,
        total=2,
        workers=("m1", "m2"),
    )
    await one.write(lambda tables: tables.workflows.set_action_state("w1", 0, State.SKIPPED))
    found = await listed()
    assert (found.at, found.done) == (whole.actions[1], 1)
    await one.write(lambda tables: tables.workflows.set_action_state("w1", 1, State.SUCCESS))
    found = await listed()
    assert found.at is not None
    assert (found.at.action, found.done) == (whole.actions[1].action, 2)


@pytest.mark.parametrize(
    ("done", "shown", "before", "after"), [(0, "t0 t1 t2", 0, 4), (4, "t3 t4 t5", 3, 1), (7, "t4 t5 t6", 4, 0)]
)
async def test_of_many_tasks_those_are_shown_that_a_workflow_stands_at(
    store: Store, done: int, shown: str, before: int, after: int
) -> None:
    half = "\ud800"  # JSON can spell it, and text cannot
    flow = workflow("w1", *("m1" for _ in range(7)))
    actions = tuple(
        replace(each, action=replace(each.action, task=f"t{place}{half}")) for place, each in enumerate(flow.actions)
    )

    def use_case(tables: Tables) -> None:
        tables.workflows.insert(replace(flow, actions=actions))
        for place in range(done):
            tables.workflows.set_action_state("w1", place, State.SKIPPED)

    await store.write(use_case)
    found = (await store.read(lambda tables: tables.workflows.tasks(["w1"], 3)))["w1"]
    assert [each.name for each in found.tasks] == [f"{name}?" for name in shown.split()]
    assert (found.before, found.after) == (before, after)
    assert {(each.worker, each.address, each.total) for each in found.tasks} == {("m1", "m", 1)}
    everything = (await store.read(lambda tables: tables.workflows.tasks(["w1"], 7)))["w1"]
    assert (len(everything.tasks), everything.before, everything.after) == (7, 0, 0)
    assert [each.skipped == each.done for each in everything.tasks] == [True] * 7


async def test_a_workflow_goes_with_everything_that_is_its(one: Store) -> None:
    def use_case(tables: Tables) -> None:
        tables.events.add("w1", NOW, "kind", {})
        tables.output.append("a1", 0, 0, b"x")
        tables.data.add("w1", version(1))
        tables.workflows.delete("w1")
        assert tables.workflows.attempt("a1") is None
        assert tables.events.of("w1") == []
        assert tables.output.after("a1", 0) == []
        assert tables.data.versions("w1") == []

    await one.write(use_case)


def begin(tables: Tables, token: str, identity: str, position: int = 0) -> None:
    """An attempt begins at an action, and with it the workflow."""
    tables.workflows.begin_attempt(attempt(token, identity, position))
    tables.workflows.set_action_state(identity, position, State.RUNNING)
    tables.workflows.set_state(identity, State.RUNNING, NOW)
    tables.workflows.set_started(identity, NOW)


async def test_the_times_of_a_run_come_back_and_a_retry_forgets_them(store: Store) -> None:
    later = NOW + timedelta(seconds=9)

    def use_case(tables: Tables) -> None:
        tables.workflows.insert(replace(workflow("w1", "m1", "m1", "m1"), global_timeout=7))
        begin(tables, "a1", "w1")
        tables.workflows.count_failure("w1", 0)
        tables.workflows.leave("a1", later)
        tables.workflows.set_action_state("w1", 1, State.SKIPPED)
        tables.workflows.set_state("w1", State.STOPPING, later)
        tables.workflows.set_stop("w1", State.TIMEOUT, later)

    await store.write(use_case)
    found = await store.read(lambda tables: tables.workflows.get("w1"))
    assert (found.global_timeout, found.started_at, found.stop_into, found.stopped_at) == (7, NOW, State.TIMEOUT, later)
    assert (found.actions[0].failures, found.actions[0].left_at) == (1, later)
    await store.write(lambda tables: tables.workflows.make_ready("w1", 0))
    ready = await store.read(lambda tables: tables.workflows.get("w1"))
    assert await store.read(lambda tables: [each.token for each in tables.workflows.attempts("w1")]) == ["a1"]
    assert (ready.started_at, ready.stop_into, ready.stopped_at) == (None, None, None)
    assert [each.state for each in ready.actions] == [State.PENDING, State.SKIPPED, State.PENDING]
    assert (ready.actions[0].failures, ready.actions[0].attempt, ready.actions[0].left_at) == (0, "", None)


async def test_actions_before_the_first_to_retry_stay_as_they_are(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("w1", "m1", "m1"))
        tables.workflows.set_action_state("w1", 0, State.SUCCESS)
        tables.workflows.set_action_state("w1", 1, State.FAILED)
        tables.workflows.make_ready("w1", 1)

    await store.write(use_case)
    assert await store.read(lambda tables: [each.state for each in tables.workflows.get("w1").actions]) == [
        State.SUCCESS,
        State.PENDING,
    ]


async def test_a_retried_workflow_waits_behind_those_that_are_there(store: Store) -> None:
    def use_case(tables: Tables) -> list[str | None]:
        found = []
        for identity in ("w1", "w2"):
            tables.workflows.insert(workflow(identity, "m1"))
        found.append(tables.queues.next_for("m1"))
        tables.workflows.make_ready("w1", 0)
        found.append(tables.queues.next_for("m1"))
        tables.workflows.insert(workflow("w3", "m1"))
        tables.workflows.delete("w2")
        found.append(tables.queues.next_for("m1"))
        tables.workflows.delete("w1")
        found.append(tables.queues.next_for("m1"))
        return found

    assert await store.write(use_case) == ["w1", "w2", "w1", "w3"]


async def test_what_stops_is_only_for_the_machine_that_had_begun(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("w1", "m1", "m2"))
        begin(tables, "a1", "w1")
        tables.workflows.set_state("w1", State.STOPPING, NOW)

    await store.write(use_case)
    assert await store.read(lambda tables: [tables.queues.next_for(worker) for worker in ("m1", "m2")]) == ["w1", None]
    assert await store.read(lambda tables: tables.workflows.needing("m2")) == ["w1"], "it is not over yet"
    assert await store.read(lambda tables: tables.workflows.unfinished_and_newest(0)) == ["w1"]


async def test_what_is_under_way_comes_with_the_attempt_that_runs(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        for identity in ("w1", "w2", "w3", "w4"):
            tables.workflows.insert(replace(workflow(identity, "m1", "m2"), global_timeout=7))
        for identity in ("w1", "w2", "w3"):
            begin(tables, f"a-{identity}", identity)
        tables.workflows.set_action_state("w2", 0, State.SUCCESS)
        tables.workflows.set_state("w3", State.FAILED, NOW)

    await store.write(use_case)
    first, second = await store.read(lambda tables: tables.workflows.under_way())
    assert await store.read(lambda tables: tables.workflows.under_way("w1")) == [first]
    assert await store.read(lambda tables: tables.workflows.under_way("w4")) == []
    assert (first.workflow_id, first.state, first.began, first.global_timeout) == ("w1", State.RUNNING, NOW, 7)
    assert (first.stop_into, first.stopped_at) == (None, None)
    assert first.attempt == attempt("a-w1")
    assert first.action == workflow("w1", "m1", "m2").actions[0].action
    assert (second.workflow_id, second.action, second.attempt) == ("w2", None, None)


@pytest.mark.parametrize(
    "states", list(product((None, State.PENDING, State.SUCCESS, State.SKIPPED, State.FAILED), repeat=3))
)
async def test_step_is_what_the_workflow_says(store: Store, states: tuple[State | None, ...]) -> None:
    """The action under way is None: it is held at its second attempt."""

    def stand(tables: Tables) -> None:
        tables.workflows.insert(workflow("other", "m4", "m5"))
        tables.workflows.insert(workflow("w1", "m1", "m2", "m1", services=[service("r1"), service("r2", 1)]))
        for position, state in enumerate(states):
            if state is None:
                tables.workflows.begin_attempt(attempt(f"a{position}", position=position))
                tables.workflows.count_failure("w1", position)
                tables.holds.add(replace(HOLD, attempt=f"a{position}"))
            tables.workflows.set_action_state("w1", position, state or State.HELD)
        tables.services.set_ready("r1", NOW)

    await store.write(stand)
    await compare(store)
    await store.write(lambda tables: tables.services.set_ready("r2", NOW))
    await compare(store)
    await store.write(lambda tables: tables.workflows.set_stop("w1", State.CANCELED, NOW))
    await store.write(lambda tables: tables.workflows.set_state("w1", State.STOPPING, NOW))
    await compare(store)


async def compare(store: Store) -> None:
    whole = await store.read(lambda tables: tables.workflows.get("w1"))
    assert await store.read(lambda tables: tables.workflows.current_step("w1")) == step(whole)
    for position in range(3):
        found = await store.read(partial(step_at, position=position))
        assert found == step(whole, position)


def step_at(tables: Tables, position: int) -> Step:
    return tables.workflows.step("w1", position)


async def test_workflow_without_actions_stands_nowhere(store: Store) -> None:
    await store.write(lambda tables: tables.workflows.insert(workflow("w1")))
    assert await store.read(lambda tables: tables.workflows.current_step("w1")) is None
