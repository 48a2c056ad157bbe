from dataclasses import replace
from datetime import timedelta

from tests.integration.store.objects import NOW, attempt
from tinkbox.model.shells import ShellEnd, ShellWish
from tinkbox.model.workflow import Outcome, State
from tinkbox.store.database import Store, Tables
from tinkbox.store.shells import Session

LATER = NOW + timedelta(minutes=1)


def session(identity: str, token: str = "a1") -> Session:
    wish = ShellWish(id=identity, tty=True, command=("ls", "ü"), environment={"A": "b"}, rows=50, columns=132)
    return Session(
        id=identity, attempt=token, workflow_id="w1", who="anna", driver="anna", token="token of anna", wish=wish,
        record_input=True, opened_at=NOW,
    )  # fmt: skip


async def opened(store: Store, *identities: str) -> None:
    for identity in identities:
        await store.write(lambda tables, identity=identity: tables.shells.add(session(identity)))


async def test_a_session_comes_back_as_it_was_kept(one: Store) -> None:
    await opened(one, "s1")
    assert await one.read(lambda tables: tables.shells.get("s1")) == session("s1")
    assert await one.read(lambda tables: tables.shells.get("s2")) is None
    assert await one.read(lambda tables: tables.shells.of("w1")) == [session("s1")]
    assert await one.read(lambda tables: tables.shells.of("w2")) == []


async def test_a_worker_serves_a_session_from_its_first_client_to_its_end(one: Store) -> None:
    await opened(one, "s1", "s2")

    async def served() -> list[str]:
        return await one.read(lambda tables: [each.wish.id for each in tables.shells.open_of("a1")])

    assert await served() == []
    await one.write(lambda tables: tables.shells.begin("s2", NOW))
    await one.write(lambda tables: tables.shells.begin("s1", LATER))
    assert await served() == ["s1", "s2"]
    end = ShellEnd(None, "Idle", "nobody was there")
    await one.write(lambda tables: tables.shells.end("s1", end, LATER, digest="d", size=7))
    assert await served() == ["s2"]
    over = await one.read(lambda tables: tables.shells.get("s1"))
    assert await one.read(lambda tables: [each.id for each in tables.shells.live()]) == ["s2"]
    assert over == replace(session("s1"), begun_at=LATER, ended_at=LATER, end=end, digest="d", size=7)


async def test_nobody_comes_first_twice(one: Store) -> None:
    await opened(one, "s1")
    await one.write(lambda tables: tables.shells.begin("s1", NOW))
    await one.write(lambda tables: tables.shells.begin("s1", LATER))
    found = await one.read(lambda tables: tables.shells.get("s1"))
    assert found is not None
    assert found.begun_at == NOW


async def test_a_session_is_left_behind_when_its_attempt_is_over(one: Store) -> None:
    def use_case(tables: Tables) -> None:
        tables.workflows.begin_attempt(attempt("a2", position=1))
        tables.shells.add(session("s1"))
        tables.shells.add(session("s2", "a2"))
        tables.shells.begin("s1", NOW)
        tables.workflows.end_attempt("a1", Outcome(state=State.FAILED), LATER)

    await one.write(use_case)
    assert await one.read(lambda tables: tables.shells.left_behind()) == ["s1"]
    assert await one.read(lambda tables: tables.shells.open_of("a1")) == []
    assert await one.read(lambda tables: tables.shells.live_of("a1")) == []
    assert await one.read(lambda tables: [each.id for each in tables.shells.live_of("a2")]) == ["s2"]
    assert await one.read(lambda tables: [each.id for each in tables.shells.live()]) == ["s1", "s2"]


async def test_a_session_keeps_who_types_in_it_and_with_which_token(one: Store) -> None:
    await opened(one, "s1")

    async def driver(identity: str, attempt: str) -> tuple[str, str, str | None] | None:
        found = await one.read(lambda tables: tables.shells.in_attempt(identity, attempt))
        return None if found is None else (found.who, found.driver, found.token)

    assert await driver("s1", "a1") == ("anna", "anna", "token of anna")
    assert [await driver("s2", "a1"), await driver("s1", "a2")] == [None, None]
    await one.write(lambda tables: tables.shells.set_driver("s1", "ben", "token of ben"))
    assert await driver("s1", "a1") == ("anna", "ben", "token of ben")


async def test_sessions_go_with_their_workflow(one: Store) -> None:
    await opened(one, "s1")
    await one.write(lambda tables: tables.workflows.delete("w1"))
    assert await one.read(lambda tables: tables.shells.live()) == []
