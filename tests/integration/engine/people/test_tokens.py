"""Tokens are made, listed and revoked, and outlive the appliance's process."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Clock
from tests.integration.store.stores import opened_store
from tinkbox.engine.people.tokens import EXPIRED, KEPT, REVOKED, Tokens
from tinkbox.model.access import Caller, Means, Right, operator
from tinkbox.model.errors import Conflict, Forbidden, Full, Invalid
from tinkbox.model.labels import parse_selector
from tinkbox.model.tokens import MAX_LOGINS, MAX_TOKENS, PREFIX
from tinkbox.store.database import Store

LOOK, ADMIN = frozenset({Right.LOOK}), frozenset({Right.ADMIN, Right.LOOK})
OPERATOR = operator()
OWN = "the-operators-own-token"
RACK = parse_selector("rack=r1")


class Box:
    """Tokens over a store, which can be made anew as after a restart, and what was told of their ends."""

    def __init__(self, store: Store, path: Path) -> None:
        self.store, self.path, self.clock = store, path, Clock()
        self.ends: list[tuple[str, str]] = []
        self._numbers = count(1)

    async def tokens(self) -> Tokens:
        made = Tokens(
            self.store,
            self.clock,
            lambda: f"id-{next(self._numbers)}",
            lambda: f"{next(self._numbers):048x}",
            own=OWN,
        )
        made.tell_ends(lambda token, why: self.ends.append((token, why)))
        await made.load()
        return made


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Box]:
    async with opened_store(tmp_path / "tinkbox.sqlite") as store:
        yield Box(store, tmp_path / "tinkbox.sqlite")


async def test_a_token_names_its_bearer_and_goes_on_doing_so_after_a_restart(box: Box) -> None:
    made = await (await box.tokens()).issue("anna", LOOK, scope=RACK, until=None, by=OPERATOR)
    assert made.startswith(PREFIX)
    assert len(made) == len(PREFIX) + 48
    for tokens in (await box.tokens(), await box.tokens()):
        known = tokens.bearer(made)
        assert known is not None
        assert (known.name, known.rights, known.means, known.scope) == ("anna", LOOK, Means.TOKEN, RACK)
        assert tokens.with_id(known.token) == known


async def test_the_text_of_a_token_is_nowhere_in_the_database(box: Box) -> None:
    tokens = await box.tokens()
    made = await tokens.issue("anna", LOOK, until=None, by=OPERATOR)
    tokens.bearer(made)
    await tokens.save()
    written = b"".join(each.read_bytes() for each in box.path.parent.glob("tinkbox.sqlite*"))
    assert b"anna" in written
    for secret in (made, made.removeprefix(PREFIX), OWN):
        assert secret.encode() not in written


async def test_a_token_is_compared_whole(box: Box) -> None:
    tokens = await box.tokens()
    made = await tokens.issue("anna", LOOK, until=None, by=OPERATOR)
    for wrong in ("", made[:-1], f"{made}0", made.upper(), made.removeprefix(PREFIX), f" {made}", "\udcff", OWN[:-1]):
        assert tokens.bearer(wrong) is None, wrong
    assert tokens.bearer(OWN) == replace(OPERATOR, token=tokens.bearer(OWN).token)


async def test_a_revoked_token_counts_no_more_and_what_is_under_way_with_it_is_told(box: Box) -> None:
    tokens = await box.tokens()
    annas = await tokens.issue("anna", LOOK, until=None, by=OPERATOR)
    berts = await tokens.issue("bert", LOOK, until=None, by=OPERATOR)
    known = tokens.bearer(annas)
    assert known is not None
    await tokens.revoke("anna")
    assert box.ends == [(known.token, REVOKED)]
    for again in (tokens, await box.tokens()):
        assert again.bearer(annas) is None
        assert not again.counts(known.token)
        assert again.bearer(berts) is not None
    assert await tokens.revoke("anna") == []


async def test_a_clock_that_may_be_wrong_deletes_no_token(box: Box) -> None:
    believed = False

    async def may_delete() -> bool:
        return believed

    tokens = Tokens(box.store, box.clock, lambda: "id", lambda: "0" * 48, own=OWN, may_delete=may_delete)
    made = await tokens.issue("anna", LOOK, until=box.clock() + timedelta(hours=1), by=OPERATOR)
    box.clock.forward(86_400 * 1000)
    await tokens.forget_old()
    box.clock.forward(-86_400 * 1000)
    assert tokens.bearer(made) is not None, "the clock was set right"
    box.clock.forward(86_400 * 1000)
    believed = True
    await tokens.forget_old()
    assert tokens.all() == []


async def test_a_token_expires_at_its_second_and_is_listed_for_a_week(box: Box) -> None:
    tokens = await box.tokens()
    made = await tokens.issue("anna", LOOK, until=box.clock() + timedelta(hours=1), by=OPERATOR)
    known = tokens.bearer(made)
    assert known is not None
    box.clock.forward(3599)
    tokens.tell_expired()
    assert (tokens.bearer(made), box.ends) == (known, [])
    box.clock.forward(1)
    assert tokens.bearer(made) is None
    tokens.tell_expired()
    assert box.ends == [(known.token, EXPIRED)]
    assert [each.name for each in tokens.all()] == ["anna"]
    box.clock.forward(KEPT.total_seconds())
    await tokens.forget_old()
    assert tokens.all() == []
    assert (await box.tokens()).all() == []


async def test_an_end_is_told_at_its_time_also_of_a_token_that_is_made_later(box: Box) -> None:
    tokens = Tokens(box.store, lambda: datetime.now(UTC), lambda: "id", lambda: "0" * 48, own=OWN)
    ended: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()
    tokens.tell_ends(lambda token, why: None if ended.done() else ended.set_result((token, why)))
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(tokens.run())
        until = datetime.now(UTC) + timedelta(milliseconds=200)
        made = await tokens.issue("anna", LOOK, until=until, by=OPERATOR)
        assert await ended == ("id", EXPIRED)
        assert datetime.now(UTC) >= until
        assert tokens.bearer(made) is None
        running.cancel()


async def test_a_name_is_taken_until_its_token_expires(box: Box) -> None:
    tokens = await box.tokens()
    await tokens.issue("anna", LOOK, until=box.clock() + timedelta(hours=1), by=OPERATOR)
    with pytest.raises(Conflict, match="`tinkbox token revoke anna` ends it"):
        await tokens.issue("anna", LOOK, until=None, by=OPERATOR)
    box.clock.forward(3600)
    made = await tokens.issue("anna", ADMIN, until=None, by=OPERATOR)
    assert [each.rights for each in (await box.tokens()).all()] == [ADMIN]
    assert tokens.bearer(made) is not None


async def test_names_that_differ_in_case_only_are_one_name_and_those_of_before_keep_working(box: Box) -> None:
    assert await (await box.tokens()).take_in("Anna", LOOK, "a-token-of-before", "operator.people")
    assert await (await box.tokens()).take_in("ANNA", LOOK, "another-token-of-before", "operator.people")
    tokens = await box.tokens()
    for means in (Means.TOKEN, Means.ISSUER):
        with pytest.raises(Conflict, match="there is a token 'ANNA' already"):
            await tokens.issue("anna", LOOK, until=None, by=OPERATOR, means=means)
    assert [each.name for each in await tokens.revoke("ANNA")] == ["ANNA"]
    assert tokens.bearer("a-token-of-before") is not None
    await tokens.revoke("Anna")
    await tokens.issue("Bert", LOOK, until=None, by=OPERATOR, means=Means.ISSUER)
    with pytest.raises(Conflict, match="there is a token 'Bert' already"):
        await tokens.issue("bert", LOOK, until=None, by=OPERATOR, means=Means.ISSUER)


async def test_nobody_gives_a_right_that_they_lack(box: Box) -> None:
    tokens = await box.tokens()
    anna = Caller(name="anna", rights=ADMIN)
    for right in Right:
        asked = tokens.issue(f"for-{right}", frozenset({right}), until=None, by=anna)
        if right in ADMIN:
            assert tokens.bearer(await asked) is not None
            continue
        with pytest.raises(Forbidden, match=rf"anna .* cannot give the right to {right}"):
            await asked
    assert {each.by for each in tokens.all()} == {"anna"}


@pytest.mark.parametrize("given", [None, "rack=r2", "rack in (r1,r2)", "gpu=yes", "rack"])
async def test_nobody_gives_a_wider_scope_than_their_own(box: Box, given: str | None) -> None:
    tokens = await box.tokens()
    anna = Caller(name="anna", rights=ADMIN, scope=RACK)
    with pytest.raises(Forbidden, match="anna has the scope rack=r1 and cannot give a wider one"):
        await tokens.issue("bert", LOOK, scope=parse_selector(given) if given else None, until=None, by=anna)
    await tokens.issue("carl", LOOK, scope=parse_selector("gpu=yes,rack=r1"), until=None, by=anna)


@pytest.mark.parametrize("name", ["", "operator", "a b", "-a", "a/b", "a" * 65, "ä", "a\n", "../a"])
async def test_a_name_that_is_none_is_refused(box: Box, name: str) -> None:
    with pytest.raises(Invalid, match="is no name of a token"):
        await (await box.tokens()).issue(name, LOOK, until=None, by=OPERATOR)


async def test_there_is_an_end_to_how_many_there_are(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_TOKENS > 100
    monkeypatch.setattr("tinkbox.engine.people.tokens.MAX_TOKENS", 3)
    tokens = await box.tokens()
    for number in range(3):
        await tokens.issue(f"token-{number}", LOOK, until=None, by=OPERATOR)
    with pytest.raises(Full, match="there are 3 tokens"):
        await tokens.issue("one-more", LOOK, until=None, by=OPERATOR)


async def test_a_person_whom_an_issuer_vouches_for_is_logged_in_on_several_hosts_up_to_a_number(box: Box) -> None:
    tokens = await box.tokens()

    async def log_in() -> str:
        box.clock.forward(1)
        return await tokens.issue("anna@example.org", LOOK, until=None, by=OPERATOR, means=Means.ISSUER)

    texts = [await log_in() for _ in range(MAX_LOGINS)]
    assert all(tokens.bearer(each) is not None for each in texts)
    newest = await log_in()
    assert [tokens.bearer(each) is not None for each in (*texts, newest)] == [False, *[True] * MAX_LOGINS]
    assert len(box.ends) == 1
    with pytest.raises(Conflict):
        await tokens.issue("anna@example.org", LOOK, until=None, by=OPERATOR)
    await tokens.revoke("anna@example.org")
    assert tokens.all() == []


async def test_when_a_token_was_used_last_is_kept_coarsely(box: Box) -> None:
    tokens = await box.tokens()
    made = await tokens.issue("anna", LOOK, until=None, by=OPERATOR)
    begun = box.clock()
    for _ in range(3):
        tokens.bearer(made)
        box.clock.forward(10)
    assert [each.used_at for each in tokens.all()] == [begun]
    await tokens.save()
    assert [each.used_at for each in (await box.tokens()).all()] == [begun]
    box.clock.forward(60)
    tokens.bearer(made)
    await tokens.save()
    with closing(sqlite3.connect(box.path)) as database:
        assert database.execute("SELECT used_at FROM token").fetchall() == [(box.clock().isoformat(),)]


async def test_a_token_of_old_is_taken_in_once_and_its_revocation_counts(box: Box) -> None:
    for _ in range(2):
        assert await (await box.tokens()).take_in("anna", LOOK, "annas-token-of-old", "operator.people")
    tokens = await box.tokens()
    known = tokens.bearer("annas-token-of-old")
    assert known is not None
    assert known.rights == LOOK
    assert [each.until for each in tokens.all()] == [None]
    assert not await tokens.take_in("anna", LOOK, "another-token-of-anna", "operator.people")
    assert not await tokens.take_in("bert", LOOK, "annas-token-of-old", "operator.people")
    assert not await tokens.take_in("bert", LOOK, OWN, "operator.people")
