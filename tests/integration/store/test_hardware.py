"""Machines as stored."""

import json
from dataclasses import replace
from datetime import UTC, datetime

from tests.integration.engine.appliance import address, hardware, mac
from tests.integration.store.objects import attempt, workflow
from tinkbox.model.boot import Stage
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.hardware import Hardware
from tinkbox.model.workflow import State
from tinkbox.store.database import Store, Tables

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def machine(number: int) -> Hardware:
    return parse_hardware(json.dumps(hardware(number)))


async def push(store: Store, *numbers: int) -> None:
    def use_case(tables: Tables) -> None:
        for number in numbers:
            tables.hardware.upsert(machine(number), NOW)

    await store.write(use_case)


async def test_progress_comes_back_as_it_was_saved(store: Store) -> None:
    await push(store, 1)
    (record,) = await store.read(lambda tables: tables.hardware.all())
    assert (record.hardware, record.ticket, record.boots) == (machine(1), False, 0)
    later = replace(
        record, boots=2, furthest=Stage.KERNEL, stage=Stage.SCRIPT, stage_at=NOW, boot_id="b", last_contact=NOW
    )
    await store.write(lambda tables: tables.hardware.save_progress([later]))
    assert await store.read(lambda tables: tables.hardware.some([record.hardware.id, "unknown"])) == [later]


async def test_pushing_again_moves_the_addresses(store: Store) -> None:
    await push(store, 1)
    moved = replace(machine(1), interfaces=machine(10).interfaces)
    await store.write(lambda tables: tables.hardware.upsert(moved, NOW))

    def question(tables: Tables) -> None:
        assert tables.hardware.by_address(mac(1)) is None
        assert mac(10).upper() != mac(10)
        for spelled in (mac(10).upper(), mac(10).replace(":", "-"), mac(10).replace(":", "")):
            assert tables.hardware.by_address(spelled) == machine(1).id
        assert tables.hardware.by_address(address(10)) == machine(1).id

    await store.read(question)


async def test_others_that_hold_an_address_are_named(store: Store) -> None:
    await push(store, 1, 2)
    claim = replace(machine(3), interfaces=machine(1).interfaces)
    held = await store.read(lambda tables: tables.hardware.holders(claim))
    assert sorted(held) == sorted([(mac(1), machine(1).id), (address(1), machine(1).id)])
    assert await store.read(lambda tables: tables.hardware.holders(machine(1))) == []


async def test_a_machine_goes_with_everything_that_is_its(store: Store) -> None:
    await push(store, 1)
    await store.write(lambda tables: tables.hardware.delete(machine(1).id))
    assert await store.read(lambda tables: tables.hardware.all()) == []
    assert await store.read(lambda tables: tables.hardware.by_address(mac(1))) is None


async def test_a_machine_that_goes_away_is_known_with_whether_it_has_more_to_do(store: Store) -> None:
    await push(store, 1, 2)
    first, second = machine(1).id, machine(2).id

    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("w1", first, second))
        tables.workflows.begin_attempt(attempt("a1"))
        tables.workflows.set_action_state("w1", 0, State.LEAVING)
        tables.workflows.set_state("w1", State.RUNNING, NOW)

    await store.write(use_case)
    assert await store.read(lambda tables: [(each.leaving, each.wanted) for each in tables.hardware.all()]) == [
        ("a1", False),
        ("", True),
    ]
    await store.write(lambda tables: tables.workflows.insert(workflow("w2", first)))
    assert await store.read(lambda tables: [(each.leaving, each.wanted) for each in tables.hardware.some([first])]) == [
        ("a1", True)
    ]


async def test_a_machine_whose_action_is_held_keeps_its_ticket_and_has_something_to_do(store: Store) -> None:
    await push(store, 1)
    first = machine(1).id

    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("w1", first))
        tables.workflows.begin_attempt(attempt("a1"))
        tables.workflows.set_action_state("w1", 0, State.HELD)
        tables.workflows.set_state("w1", State.RUNNING, NOW)
        tables.hardware.grant_ticket([first])
        tables.hardware.withdraw_ticket([first], installed=False)

    await store.write(use_case)
    (found,) = await store.read(lambda tables: tables.hardware.all())
    (queue,) = await store.read(lambda tables: tables.figures.queues())
    assert (found.ticket, found.wanted, found.leaving) == (True, True, "")
    assert (queue.worker, queue.length) == (first, 1)


async def test_a_ticket_is_kept_as_long_as_something_is_left_to_do(store: Store) -> None:
    await push(store, 1, 2)
    workers = [machine(1).id, machine(2).id]

    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("w1", *workers))
        tables.hardware.grant_ticket(workers)
        tables.workflows.set_action_state("w1", 0, State.SUCCESS)
        tables.hardware.withdraw_ticket(workers, installed=True)

    await store.write(use_case)
    assert await store.read(lambda tables: [(each.ticket, each.installed) for each in tables.hardware.all()]) == [
        (False, True),
        (True, True),
    ]


async def test_an_agent_id_finds_its_machine_and_is_nobody_elses(store: Store) -> None:
    document = {**hardware(1), "spec": {"agentID": "agent-7"}}
    named = replace(machine(1), document=document, agent_id="agent-7")
    await store.write(lambda tables: tables.hardware.upsert(named, NOW))
    assert await store.read(lambda tables: tables.hardware.by_address("agent-7")) == named.id
    assert await store.read(lambda tables: tables.hardware.by_address("agent-8")) is None
    assert await store.read(lambda tables: tables.hardware.holders(named)) == []
    assert await store.read(lambda tables: tables.hardware.holders(replace(machine(2), agent_id="agent-7"))) == [
        ("agent-7", named.id)
    ]
    assert await store.read(lambda tables: tables.hardware.holders(machine(2))) == []


async def test_a_document_that_sqlite_cannot_read_breaks_no_question_about_other_machines(store: Store) -> None:
    bad = parse_hardware(json.dumps(hardware(2)))
    bad = replace(bad, document={**bad.document, "a": float("nan")})

    def use_case(tables: Tables) -> None:
        tables.hardware.upsert(machine(1), NOW)
        tables.hardware.upsert(bad, NOW)

    await store.write(use_case)
    assert await store.read(lambda tables: tables.hardware.named("machine-1")) == [machine(1).id]
    assert await store.read(lambda tables: tables.hardware.by_address("nobody")) is None
    assert await store.read(lambda tables: tables.hardware.by_address(mac(2))) == bad.id
    assert await store.read(lambda tables: tables.hardware.holders(machine(3))) == []
    kept = await store.read(lambda tables: tables.hardware.some([bad.id]))
    assert kept[0].hardware.document["a"] is None


async def test_no_document_is_read_to_find_a_machine_by_what_tasks_call_it(store: Store) -> None:
    asked: list[str] = []

    def use_case(tables: Tables) -> list[str]:
        sql = tables.hardware._sql
        sql.set_trace_callback(asked.append)
        tables.hardware.by_address("agent-7")
        tables.hardware.holders(replace(machine(1), agent_id="agent-7"))
        sql.set_trace_callback(None)
        return [row["detail"] for each in asked for row in sql.execute(f"EXPLAIN QUERY PLAN {each}").fetchall()]

    steps = await store.read(use_case)
    assert len([each for each in steps if "USING INDEX hardware_by_bare_agent" in each]) == 2, steps
    assert not [each for each in steps if each.startswith("SCAN") and "json_each" not in each], steps
