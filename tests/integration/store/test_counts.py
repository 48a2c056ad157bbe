"""What is stored, counted by the database."""

from datetime import timedelta

from tests.integration.store.objects import NOW, attempt, service, workflow
from tinkbox.model.services import Phase
from tinkbox.model.services import Standing as ServiceStanding
from tinkbox.model.workflow import Outcome, State
from tinkbox.store.counts import Queue, Standing
from tinkbox.store.database import Store, Tables


async def test_an_empty_store_has_nothing_to_count(store: Store) -> None:
    assert await store.read(lambda tables: tables.figures.workflows()) == []
    assert await store.read(lambda tables: tables.figures.actions()) == []
    assert await store.read(lambda tables: tables.figures.queues()) == []


def failed(tables: Tables, identity: str, token: str, reason: str) -> None:
    """A workflow whose first action failed for this reason."""
    tables.workflows.insert(workflow(identity, "m1"))
    tables.workflows.begin_attempt(attempt(token, identity))
    tables.workflows.end_attempt(token, Outcome(state=State.FAILED, reason=reason), NOW)
    tables.workflows.set_action_state(identity, 0, State.FAILED)
    tables.workflows.set_state(identity, State.FAILED, NOW)
    tables.events.add(identity, NOW, "action.failed", {"reason": reason})
    tables.events.add(identity, NOW, "workflow.failed", {"reason": reason, "message": ""})


async def test_what_ended_badly_is_counted_by_its_reason(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        failed(tables, "w1", "a1", "DiskNotFound")
        failed(tables, "w2", "a2", "DiskNotFound")
        failed(tables, "w3", "a3", "")
        tables.workflows.insert(workflow("w4", "m1", "m2"))

    await store.write(use_case)
    expected = [("FAILED", "", 1), ("FAILED", "DiskNotFound", 2)]
    assert told(await store.read(lambda tables: tables.figures.workflows())) == [*expected, ("PENDING", "", 1)]
    assert told(await store.read(lambda tables: tables.figures.actions())) == [*expected, ("PENDING", "", 2)]


def told(standings: list[Standing]) -> list[tuple[str, str, int]]:
    return sorted((each.state.value, each.reason, each.number) for each in standings)


async def test_a_reason_that_is_no_text_is_counted_all_the_same(store: Store) -> None:
    await store.write(lambda tables: failed(tables, "w1", "a1", "\udcff\x00x"))

    def question(tables: Tables) -> None:
        for standings in (tables.figures.workflows(), tables.figures.actions()):
            ((state, reason, number),) = told(standings)
            assert (state, number) == ("FAILED", 1)
            assert reason
            reason.encode()

    await store.read(question)


async def test_an_action_that_is_tried_again_has_no_reason_any_more(one: Store) -> None:
    def use_case(tables: Tables) -> None:
        tables.workflows.end_attempt("a1", Outcome(state=State.FAILED, reason="DiskNotFound"), NOW)
        tables.workflows.set_action_state("w1", 0, State.PENDING)

    await one.write(use_case)
    assert told(await one.read(lambda tables: tables.figures.actions())) == [("PENDING", "", 2)]


async def test_a_queue_is_what_a_machine_still_has_to_do(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        for identity, *workers in (("w1", "m1", "m2"), ("w2", "m2", "m2"), ("w3", "m1"), ("w4", "m1", "m1")):
            tables.workflows.insert(workflow(identity, *workers))
        tables.workflows.set_action_state("w1", 1, State.SUCCESS)
        tables.workflows.set_state("w2", State.RUNNING, NOW)
        tables.workflows.set_state("w3", State.CANCELED, NOW)
        tables.workflows.set_state("w4", State.PENDING, NOW + timedelta(seconds=1))

    await store.write(use_case)
    assert await store.read(lambda tables: tables.figures.queues()) == [
        Queue(worker="m1", length=2, since=NOW),
        Queue(worker="m2", length=1, since=None),
    ]


async def test_the_services_of_what_is_not_over_are_counted_by_their_phase(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        for number in range(3):
            both = (service(f"a{number}"), service(f"b{number}", 1))
            tables.workflows.insert(workflow(f"w{number}", "m1", services=both))
        tables.services.stand(ServiceStanding(run="a0", phase=Phase.READY), NOW)
        tables.services.stand(ServiceStanding(run="a2", phase=Phase.READY), NOW)
        tables.workflows.set_state("w2", State.FAILED, NOW)
        tables.services.renew("w1", ["a3", "b3"])

    await store.write(use_case)
    assert await store.read(lambda tables: tables.figures.services()) == {Phase.READY: 1, Phase.PENDING: 3}


async def test_what_is_told_of_services_after_the_end_is_not_its_reason(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        failed(tables, "w1", "a1", "DiskNotFound")
        tables.events.add("w1", NOW, "service.failed", {"reason": "ServiceFailed"})

    await store.write(use_case)
    assert told(await store.read(lambda tables: tables.figures.workflows())) == [("FAILED", "DiskNotFound", 1)]
