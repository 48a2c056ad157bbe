"""Whose turn it is, and which services are to be there, as the store tells it without loading a workflow."""

from tests.integration.store.objects import NOW, service, workflow
from tinkbox.model.workflow import State
from tinkbox.store.database import Store, Tables

MACHINES = ("m1", "m2", "m3")


async def due(store: Store) -> list[str]:
    """The machines at an action of which the first workflow of their queue stands, and may begin."""

    def question(tables: Tables) -> list[str]:
        following = {machine: tables.queues.next_for(machine) for machine in MACHINES}
        steps = {machine: tables.workflows.current_step(each) for machine, each in following.items() if each}
        return [
            machine
            for machine, step in steps.items()
            if step is not None and step.status.action.worker == machine and not step.awaits
        ]

    return await store.read(question)


async def stand(store: Store, *states: State) -> None:
    """Let the first actions of w1 stand at these states."""

    def use_case(tables: Tables) -> None:
        for position, state in enumerate(states):
            tables.workflows.set_action_state("w1", position, state)

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


async def test_a_machine_has_its_turn_when_every_service_was_ready_once(store: Store) -> None:
    two = (service("r0"), service("r1", 1))
    await store.write(lambda tables: tables.workflows.insert(workflow("w1", "m1", "m2", services=two)))
    for ready in ("r1", "r0"):
        assert await due(store) == []
        await store.write(lambda tables, ready=ready: tables.services.set_ready(ready, NOW))
    assert await due(store) == ["m1"]
    await store.write(lambda tables: tables.services.renew("w1", ["r2", "r3"]))
    assert await due(store) == []
    await store.write(lambda tables: tables.workflows.set_state("w1", State.RUNNING, NOW))
    assert await due(store) == ["m1"], "what becomes of its services does not hold what has begun"


async def test_services_are_to_be_there_when_their_workflow_is_the_first_of_the_machine_it_stands_at(
    store: Store,
) -> None:
    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("plain", "m3"))
        for number, workers in enumerate((("m1", "m2"), ("m2",), ("m1",), ("m3",), ("m4",)), 1):
            tables.workflows.insert(workflow(f"w{number}", *workers, services=[service(f"r{number}")]))

    await store.write(use_case)

    async def wanted() -> list[str]:
        return await store.read(
            lambda tables: [workflow_id for workflow_id, each in tables.queues.with_services().items() if each]
        )

    async def at(workflow_id: str, state: State) -> None:
        await store.write(lambda tables: tables.workflows.set_state(workflow_id, state, NOW))

    assert await wanted() == ["w1", "w5"]
    assert list(await store.read(lambda tables: tables.queues.with_services())) == ["w1", "w2", "w3", "w4", "w5"]
    for state in (State.RUNNING, State.STOPPING):
        await at("w4", state)
        assert await wanted() == ["w1", "w4", "w5"], "also behind others, once it has begun"
    await at("w4", State.PENDING)
    await at("w1", State.RUNNING)
    await store.write(lambda tables: tables.workflows.set_action_state("w1", 0, State.SUCCESS))
    assert await wanted() == ["w1", "w3", "w5"], "the first machine of w1 has nothing to do in it any more"
    for over in (State.SUCCESS, State.FAILED, State.TIMEOUT, State.CANCELED):
        await at("w1", over)
        assert await wanted() == ["w2", "w3", "w5"]
    await store.write(lambda tables: tables.workflows.delete("plain"))
    assert await wanted() == ["w2", "w3", "w4", "w5"]


async def test_a_machine_waits_in_its_oldest_workflow_although_a_later_one_begins_with_it(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("w1", "m1", "m2"))
        tables.workflows.insert(workflow("w2", "m2", "m3"))

    await store.write(use_case)
    assert await due(store) == ["m1"]
    await store.write(lambda tables: tables.workflows.set_state("w1", State.FAILED, NOW))
    assert await due(store) == ["m2"]


async def test_in_what_stops_only_the_machine_that_runs_something_has_its_turn(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("w1", "m1", "m2"))
        tables.workflows.insert(workflow("w2", "m2"))
        tables.workflows.set_state("w1", State.STOPPING, NOW)

    await store.write(use_case)
    for going in (State.RUNNING, State.HELD):
        await stand(store, going)
        assert await due(store) == ["m1", "m2"]
    await stand(store, State.PENDING)
    assert await due(store) == ["m2"]
