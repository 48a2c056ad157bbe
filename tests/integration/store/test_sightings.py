"""Sightings as stored."""

from dataclasses import replace
from datetime import timedelta

from tests.integration.engine.appliance import mac
from tests.integration.store.objects import NOW, attempt, workflow
from tinkbox.model.boot import Stage
from tinkbox.model.sightings import Line, Sighting
from tinkbox.model.workflow import Outcome, State
from tinkbox.store.database import Store, Tables
from tinkbox.store.sightings import KEPT_EVIDENCE, KEPT_SIGHTINGS

SEEN = Sighting(mac=mac(1), at=NOW, stage=Stage.DISCOVER, detail="PXE", facts={"secs": 4, "gap": 1.5, "asker": "PXE"})


async def test_a_sighting_comes_back_as_it_was_saved_and_can_be_replaced(store: Store) -> None:
    await store.write(lambda tables: tables.sightings.save({7: SEEN, 3: replace(SEEN, mac=mac(2))}))
    again = replace(SEEN, facts={"count": 2})
    await store.write(lambda tables: tables.sightings.save({7: again}))
    assert await store.read(lambda tables: tables.sightings.of([mac(1)])) == {7: again}
    assert await store.read(lambda tables: tables.sightings.of([mac(1), mac(2)])) == {
        3: replace(SEEN, mac=mac(2)),
        7: again,
    }


async def test_only_the_newest_of_each_machine_are_kept(store: Store) -> None:
    quiet = {1: replace(SEEN, mac=mac(2))}
    many = {number: replace(SEEN, at=NOW + timedelta(seconds=number)) for number in range(2, KEPT_SIGHTINGS + 52)}
    await store.write(lambda tables: tables.sightings.save(quiet))
    await store.write(lambda tables: tables.sightings.save(many))
    assert await store.read(lambda tables: tables.sightings.of([mac(1)])) == dict(list(many.items())[50:])
    assert await store.read(lambda tables: tables.sightings.of([mac(2)])) == quiet
    assert await store.read(lambda tables: tables.sightings.recent(list(tables.sightings.newest_first()), 2)) == {
        **quiet,
        **dict(list(many.items())[-2:]),
    }


async def test_who_worked_as_a_machine_is_kept_whatever_else_it_was_seen_with(store: Store) -> None:
    refused = replace(SEEN, stage=Stage.TICKET_REFUSED)
    many = dict.fromkeys(range(2, 2 * KEPT_SIGHTINGS), SEEN)
    await store.write(lambda tables: tables.sightings.save({1: refused, **many}))
    kept = await store.read(lambda tables: tables.sightings.of([SEEN.mac]))
    assert (len(kept), kept[1].stage) == (KEPT_SIGHTINGS + 1, Stage.TICKET_REFUSED)
    more = {1000 + number: refused for number in range(2 * KEPT_EVIDENCE)}
    await store.write(lambda tables: tables.sightings.save(more))
    assert len(await store.read(lambda tables: tables.sightings.of([SEEN.mac]))) == KEPT_SIGHTINGS + KEPT_EVIDENCE


async def test_machines_are_told_in_the_order_of_their_macs_until_they_have_so_many_rows(store: Store) -> None:
    seen = {1: replace(SEEN, mac=mac(3)), 2: replace(SEEN, mac=mac(2)), 3: SEEN, 4: SEEN}
    line = Line(mac=mac(2), at=NOW, severity=6, program="kernel", text="hello")
    await store.write(lambda tables: tables.sightings.save(seen))
    await store.write(lambda tables: tables.syslog.save({1: line}))
    assert await store.read(lambda tables: list(tables.sightings.newest_first())) == [mac(1), mac(2), mac(3)]
    for behind, rows, told in (("", 2, [1]), ("", 3, [1, 2]), ("", 4, [1, 2]), (mac(1), 3, [2, 3]), (mac(3), 3, [])):
        found = await store.read(lambda tables, behind=behind, rows=rows: tables.sightings.behind(behind, rows))
        assert found == [mac(number) for number in told]


async def test_what_is_forgotten_is_gone(store: Store) -> None:
    await store.write(lambda tables: tables.sightings.save({1: SEEN, 2: replace(SEEN, mac=mac(2))}))
    await store.write(lambda tables: tables.sightings.forget([mac(1), mac(3)]))
    assert list(await store.read(lambda tables: tables.sightings.recent(list(tables.sightings.newest_first()), 9))) == [
        2
    ]


async def test_a_machines_acts_are_its_attempts_in_the_order_in_which_they_began(store: Store) -> None:
    outcome = Outcome(state=State.FAILED, reason="Signal", message="killed")

    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("w1", "m1", "m2", "m1"))
        tables.workflows.begin_attempt(attempt("first", position=0))
        tables.workflows.end_attempt("first", outcome, NOW + timedelta(seconds=3))
        tables.workflows.begin_attempt(replace(attempt("others", position=1), worker="m2"))
        tables.workflows.begin_attempt(attempt("second", position=2))

    await store.write(use_case)
    first, second = await store.read(lambda tables: tables.sightings.acts("m1", 10))
    assert await store.read(lambda tables: [each.attempt for each in tables.sightings.acts("m1", 1)]) == ["second"]
    assert (first.attempt, first.workflow_id, first.task, first.action) == ("first", "w1", "t", "a0")
    assert (first.started_at, first.ended_at, first.outcome) == (NOW, NOW + timedelta(seconds=3), outcome)
    assert (second.action, second.ended_at, second.outcome, second.state) == ("a2", None, None, State.RUNNING)
