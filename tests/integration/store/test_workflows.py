from dataclasses import replace
from datetime import timedelta

from tests.integration.store.objects import NOW, attempt, version, workflow
from tinkbox.model.workflow import Outcome, State
from tinkbox.store.database import Store, Tables


async def test_a_workflow_comes_back_as_it_was_stored(store: Store) -> None:
    stored = workflow("w1", "m1", "m2")
    await store.write(lambda tables: tables.workflows.insert(stored))
    async with store.read() as tables:
        assert await tables.workflows.get("w1") == stored
        assert await tables.workflows.all() == [stored]


async def test_a_whole_id_beats_the_beginning_of_another_and_an_id_beats_a_name(store: Store) -> None:
    async def use_case(tables: Tables) -> None:
        for identity, name in (("w1", "n"), ("w10", "n"), ("x1", "w1")):
            await tables.workflows.insert(workflow(identity, "m1", name=name))

    await store.write(use_case)
    async with store.read() as tables:
        found = {key: [each.id for each in await tables.workflows.matching(key)] for key in ("w1", "w", "n", "z")}
    assert found == {"w1": ["w1"], "w": ["w1", "w10"], "n": ["w10"], "z": []}


async def test_an_attempt_shows_in_its_action_and_its_outcome_stays(one: Store) -> None:
    outcome = Outcome(state=State.FAILED, exit_code=3, reason="R", message="m", tail=("a", "b"))
    await one.write(lambda tables: tables.workflows.end_attempt("a1", outcome, NOW + timedelta(seconds=2)))
    async with one.read() as tables:
        status = (await tables.workflows.get("w1")).actions[0]
        ended = await tables.workflows.attempt("a1")
        assert await tables.workflows.attempt("nothing") is None
    assert (status.attempt, status.started_at, status.outcome) == ("a1", NOW, outcome)
    assert ended == replace(attempt("a1"), state=State.FAILED, ended_at=NOW + timedelta(seconds=2), outcome=outcome)


async def test_the_oldest_unfinished_workflow_comes_first_for_its_machines(store: Store) -> None:
    async def use_case(tables: Tables) -> None:
        await tables.workflows.insert(workflow("w1", "m1"))
        await tables.workflows.insert(workflow("w2", "m1", "m2"))
        await tables.workflows.set_state("w1", State.FAILED, NOW)

    await store.write(use_case)
    async with store.read() as tables:
        assert [await tables.workflows.next_for(worker) for worker in ("m1", "m2", "m3")] == ["w2", "w2", None]
        assert await tables.workflows.needing("m1") == ["w2"]


async def test_finished_workflows_are_shown_up_to_a_number_and_unfinished_ones_always(store: Store) -> None:
    async def use_case(tables: Tables) -> None:
        for number in range(6):
            await tables.workflows.insert(workflow(f"w{number}", "m1"))
            if number % 2:
                await tables.workflows.set_state(f"w{number}", State.SUCCESS, NOW)

    await store.write(use_case)
    async with store.read() as tables:
        assert [each.id for each in await tables.workflows.unfinished_and_newest(1)] == ["w0", "w2", "w4", "w5"]


async def test_a_workflow_goes_with_everything_that_is_its(one: Store) -> None:
    async def use_case(tables: Tables) -> None:
        await tables.events.add("w1", NOW, "kind", {})
        await tables.output.append("a1", 0, b"x")
        await tables.data.add("w1", version(1))
        await tables.workflows.delete("w1")
        assert await tables.workflows.attempt("a1") is None
        assert await tables.events.of("w1") == []
        assert await tables.output.after("a1", 0) == []
        assert await tables.data.versions("w1") == []

    await one.write(use_case)
