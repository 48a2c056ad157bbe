"""Breakpoints and holds as stored."""

from dataclasses import replace
from datetime import timedelta

from tests.integration.store.objects import NOW, attempt, workflow
from tinkbox.model.breakpoint import Breakpoints, Hold, Kind, Override, Verb, Verdict
from tinkbox.model.workflow import Outcome, State
from tinkbox.store.database import Store, Tables

LATER = NOW + timedelta(seconds=90.5)
HOLD = Hold(
    attempt="a1", workflow_id="w1", sequence=1, kind=Kind.FAILURE, held_at=NOW, deadline=LATER, timeout=60,
    on_expiry=Verb.CONTINUE, container=False, in_place=False,
    outcome=Outcome(state=State.FAILED, exit_code=7, reason="R", message="ü", tail=("x",)),
)  # fmt: skip
VERDICT = Verdict(verb=Verb.RETRY, who="anna", why="ü", fresh=True, command=("a", "b c"), environment={"A": "=b"})


async def opened(store: Store, *holds: Hold) -> None:
    def use_case(tables: Tables) -> None:
        for hold in holds:
            tables.holds.add(hold)

    await store.write(use_case)


async def test_a_hold_comes_back_as_it_was_kept(one: Store) -> None:
    before = replace(HOLD, sequence=2, kind=Kind.BEFORE, outcome=None, container=True, in_place=True)
    await opened(one, HOLD, before)
    assert await one.read(lambda tables: tables.holds.get("a1", 1)) == HOLD
    assert await one.read(lambda tables: tables.holds.get("a1", 3)) is None
    assert await one.read(lambda tables: tables.holds.of("w1") == tables.holds.of_attempt("a1") == [HOLD, before])
    assert await one.read(lambda tables: tables.holds.of("w2") == tables.holds.of_attempt("a2") == [])


async def test_a_hold_is_decided_once_and_not_when_it_is_over(one: Store) -> None:
    await opened(one, HOLD)
    other = Verdict(verb=Verb.FAIL, who="ben")
    assert await one.write(lambda tables: tables.holds.decide(HOLD, VERDICT, LATER))
    assert not await one.write(lambda tables: tables.holds.decide(HOLD, other, LATER))
    assert await one.read(lambda tables: tables.holds.open_of("a1")) == replace(HOLD, verdict=VERDICT, verdict_at=LATER)
    await one.write(lambda tables: tables.holds.end(HOLD, LATER))
    next_one = replace(HOLD, sequence=2)
    await opened(one, next_one)
    await one.write(lambda tables: tables.holds.end(next_one, LATER))
    assert not await one.write(lambda tables: tables.holds.decide(next_one, other, LATER))


async def test_a_hold_that_is_over_is_open_no_more_and_its_seconds_are_the_workflows(one: Store) -> None:
    await opened(one, HOLD)
    await one.write(lambda tables: tables.workflows.set_started("w1", NOW))
    await one.write(lambda tables: tables.workflows.set_state("w1", State.RUNNING, NOW))
    await one.write(lambda tables: tables.workflows.set_action_state("w1", 0, State.HELD))
    await one.write(lambda tables: tables.workflows.hold("a1"))
    (standing,) = await one.read(lambda tables: tables.workflows.under_way())
    assert (standing.hold, standing.held_seconds) == (HOLD, 0)
    assert (await one.read(lambda tables: tables.workflows.get("w1"))).actions[0].held_at == NOW
    assert await one.read(lambda tables: tables.figures.holds()) == {Kind.FAILURE: 1}
    for sequence in (1, 2):
        hold = replace(HOLD, sequence=sequence)
        if sequence == 2:
            await opened(one, hold)
        await one.write(lambda tables, hold=hold: tables.holds.end(hold, LATER))
    (standing,) = await one.read(lambda tables: tables.workflows.under_way("w1"))
    assert (standing.hold, standing.held_seconds) == (None, 181)
    assert await one.read(lambda tables: tables.holds.open_of("a1")) is None
    assert await one.read(lambda tables: [each.ended_at for each in tables.holds.of("w1")]) == [LATER, LATER]
    assert (await one.read(lambda tables: tables.workflows.get("w1"))).actions[0].held_at is None
    assert await one.read(lambda tables: tables.figures.holds()) == {}
    await one.write(lambda tables: tables.workflows.make_ready("w1", 0))
    await one.write(lambda tables: tables.workflows.set_started("w1", NOW))
    (standing,) = await one.read(lambda tables: tables.workflows.under_way("w1"))
    assert standing.held_seconds == 0


async def test_what_may_change_of_a_hold_is_kept_and_nothing_else(one: Store) -> None:
    await opened(one, HOLD, replace(HOLD, sequence=2))
    changed = replace(HOLD, deadline=NOW, warned=True, container=True, in_place=True)
    await one.write(lambda tables: tables.holds.keep(replace(changed, kind=Kind.AFTER, timeout=1)))
    assert await one.read(lambda tables: tables.holds.of("w1")) == [changed, replace(HOLD, sequence=2)]


async def test_what_is_armed_comes_back_and_nothing_is_by_itself(one: Store) -> None:
    async def armed() -> Breakpoints:
        return await one.read(lambda tables: tables.holds.armed("w1"))

    assert await armed() == Breakpoints()
    full = Breakpoints(on_failure=True, before=("t/ü",), after=("t/a", "t/b"), timeout=5, on_expiry=Verb.ABORT)
    for breakpoints in (full, Breakpoints(timeout=7), Breakpoints()):
        await one.write(lambda tables, armed=breakpoints: tables.holds.arm("w1", armed))
        assert await armed() == breakpoints


async def test_what_is_armed_or_held_concerns_people_until_the_workflow_is_over(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        for identity in ("w1", "w2", "w3", "w4", "w5"):
            tables.workflows.insert(workflow(identity, "m1"))
            tables.workflows.begin_attempt(attempt(f"a-{identity}", identity))
        for identity in ("w1", "w4"):
            tables.holds.add(replace(HOLD, attempt=f"a-{identity}", workflow_id=identity))
        tables.holds.end(replace(HOLD, attempt="a-w4", workflow_id="w4"), LATER)
        for identity in ("w3", "w5"):
            tables.holds.arm(identity, Breakpoints(on_failure=True))
        tables.workflows.set_state("w5", State.FAILED, NOW)

    await store.write(use_case)
    assert await store.read(lambda tables: tables.holds.concerned()) == ["w1", "w3"]


async def test_what_a_person_changed_for_an_attempt_comes_back_until_it_is_forgotten(one: Store) -> None:
    async def changed(position: int = 0) -> Override | None:
        return await one.read(lambda tables: tables.holds.override("w1", position))

    assert await changed() is None
    for override in (Override(command=("a", ""), environment={"A": "ü"}), Override(environment={"A": ""})):
        await one.write(lambda tables, override=override: tables.holds.set_override("w1", 0, override))
        assert (await changed(), await changed(1)) == (override, None)
    await one.write(lambda tables: tables.holds.set_override("w1", 0, Override()))
    assert await changed() is None
    for forget in (
        lambda tables: tables.workflows.make_ready("w1", 0),
        lambda tables: tables.workflows.begin_attempt(replace(attempt("a2"), override=Override(command=("x",)))),
    ):
        await one.write(lambda tables: tables.holds.set_override("w1", 0, Override(command=("x",))))
        await one.write(forget)
        assert await changed() is None
    assert await one.read(lambda tables: tables.workflows.attempt("a2")) == replace(
        attempt("a2"), override=Override(command=("x",))
    )


async def test_holds_go_with_their_workflow(one: Store) -> None:
    await opened(one, HOLD)
    await one.write(lambda tables: tables.workflows.delete("w1"))
    assert await one.read(lambda tables: tables.holds.of("w1")) == []


async def test_an_attempt_says_since_when_it_runs_again_and_whether_its_worker_takes_breakpoints(one: Store) -> None:
    await one.write(lambda tables: tables.workflows.hold("a1"))
    assert await one.read(lambda tables: tables.workflows.attempt("a1")) == replace(attempt("a1"), state=State.HELD)
    await one.write(lambda tables: tables.workflows.resume("a1", State.RUNNING, LATER))
    await one.write(lambda tables: tables.workflows.set_debug("a1", debug=False))
    resumed = replace(attempt("a1"), resumed_at=LATER, debug=False)
    assert await one.read(lambda tables: tables.workflows.attempt("a1")) == resumed
    assert (await one.read(lambda tables: tables.workflows.get("w1"))).actions[0].resumed_at == LATER
    await one.write(lambda tables: tables.workflows.leave("a1", NOW))
    await one.write(lambda tables: tables.workflows.resume("a1", State.LEAVING, LATER))
    assert await one.read(lambda tables: tables.workflows.attempt("a1")) == replace(
        resumed, state=State.LEAVING, left_at=LATER
    )
