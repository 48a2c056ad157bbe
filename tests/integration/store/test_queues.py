"""Whose turn it is, as the store tells it without loading a workflow."""

from tests.integration.store.objects import NOW, workflow
from tinkbox.model.workflow import State
from tinkbox.store.database import Store, Tables

MACHINES = ("m1", "m2", "m3")


async def due(store: Store) -> list[str]:
    async with store.read() as tables:
        return [machine for machine in MACHINES if await tables.queues.has_turn(machine)]


async def stand(store: Store, *states: State) -> None:
    """Let the first actions of w1 stand at these states."""

    async def use_case(tables: Tables) -> None:
        for position, state in enumerate(states):
            await tables.workflows.set_action_state("w1", position, state)

    await store.write(use_case)


async def test_only_the_machine_of_the_first_undone_action_has_its_turn(store: Store) -> None:
    await store.write(lambda tables: tables.workflows.insert(workflow("w1", "m1", "m2", "m3", "m1")))
    assert await due(store) == ["m1"]
    for going in (State.RUNNING, State.HELD, State.LEAVING):
        await stand(store, going)
        assert await due(store) == ["m1"]
    await stand(store, State.SUCCESS)
    assert await due(store) == ["m2"]
    await stand(store, State.SUCCESS, State.SKIPPED, State.SUCCESS)
    assert await due(store) == ["m1"]


async def test_a_machine_waits_in_its_oldest_workflow_although_a_later_one_begins_with_it(store: Store) -> None:
    async def use_case(tables: Tables) -> None:
        await tables.workflows.insert(workflow("w1", "m1", "m2"))
        await tables.workflows.insert(workflow("w2", "m2", "m3"))

    await store.write(use_case)
    assert await due(store) == ["m1"]
    await store.write(lambda tables: tables.workflows.set_state("w1", State.FAILED, NOW))
    assert await due(store) == ["m2"]


async def test_in_what_stops_only_the_machine_that_runs_something_has_its_turn(store: Store) -> None:
    async def use_case(tables: Tables) -> None:
        await tables.workflows.insert(workflow("w1", "m1", "m2"))
        await tables.workflows.insert(workflow("w2", "m2"))
        await tables.workflows.set_state("w1", State.STOPPING, NOW)

    await store.write(use_case)
    for going in (State.RUNNING, State.HELD):
        await stand(store, going)
        assert await due(store) == ["m1", "m2"]
    await stand(store, State.PENDING)
    assert await due(store) == ["m2"]
