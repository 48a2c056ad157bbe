"""A shell belongs to its driver, and ends with the token that this one came with."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance
from tests.integration.engine.held import COMMAND, SHELL, Hub, hold, shown
from tests.integration.engine.holding import FAILING, AtWork
from tinkbox.api.scopes import end_with_rights
from tinkbox.door.requests.live_requests import LiveRequests
from tinkbox.engine.people.tokens import Tokens
from tinkbox.model.access import Right, operator
from tinkbox.model.breakpoint import Verb
from tinkbox.model.errors import Conflict
from tinkbox.model.labels import LabelChange, parse_selector
from tinkbox.model.shells import Mode, ShellEnd
from tinkbox.store.shells import Session
from tinkbox.wire.messages.shell import control
from tinkbox.wire.messages.worker import Offer

REVOKED = ShellEnd(None, "TokenOver", "the token of anna was revoked")
EXPIRED = ShellEnd(None, "TokenOver", "the token of anna has expired")
LEFT = ShellEnd(None, "LeftScope", "labels changed, and a machine left the scope of the token of anna")


@dataclass
class Shop:
    """A held action, shells in its container, and tokens."""

    hub: Hub
    worker: str
    offer: Offer
    tokens: Tokens

    async def token(self, name: str, *, scope: str = "", lasts: timedelta | None = None) -> str:
        """The id of a new one."""
        until = None if lasts is None else self.hub.box.clock() + lasts
        selector = parse_selector(scope) if scope else None
        _, made = await self.tokens.make(name, frozenset({Right.ATTACH}), scope=selector, until=until, by=operator())
        return made.id

    async def labelled(self, **labels: str) -> None:
        await self.hub.box.machines.label(self.worker, LabelChange(set=tuple(labels.items())))

    @asynccontextmanager
    async def typing(self, name: str, token: str, mode: Mode = Mode.DRIVE) -> AsyncIterator[str]:
        """While a person types in the shell of the container; yields its id."""
        opened = await self.hub.shells.open(self.offer.workflow_id, SHELL, replace(operator(name), token=token))
        async with self.hub.shells.attached(opened.id, opened.ticket, mode):
            yield opened.id

    async def left(self, name: str, token: str) -> str:
        """The id of a shell whose driver is gone."""
        async with self.typing(name, token) as session:
            return session

    async def session(self, session_id: str) -> Session:
        found = await self.hub.box.store.read(lambda tables: tables.shells.get(session_id))
        assert found is not None
        return found

    async def end(self, session_id: str) -> ShellEnd | None:
        """How it ended, after it was looked at."""
        await self.hub.shells.sweep()
        return (await self.session(session_id)).end

    async def asked(self, session_id: str) -> str:
        """Who decided, as is asked for in a shell, or why not."""
        work = AtWork(self.hub.box, self.worker, self.offer)
        try:
            await work.asked(Verb.CONTINUE, shell=session_id)
        except Conflict as refusal:
            return str(refusal)
        verdict = (await work.hold()).verdict
        assert verdict is not None
        return verdict.who


@asynccontextmanager
async def running(hub: Hub) -> AsyncIterator[None]:
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        task = group.create_task(hub.shells.run())
        try:
            yield
        finally:
            task.cancel()


@pytest.fixture
async def shop(box: Appliance, tmp_path: Path) -> AsyncIterator[Shop]:
    numbers = count(1)
    tokens = Tokens(
        box.store, box.clock, lambda: f"token-{next(numbers)}", lambda: f"{next(numbers):048x}", own="the-operators"
    )
    box.bearers.known = [tokens]
    worker = await box.machine(1)
    offer = await hold(box, worker)
    await box.breakpoints.arm(offer.workflow_id, FAILING, "dora")
    hub = Hub(box, tmp_path)
    await hub.shells.load()
    end_with_rights(box.machines, tokens, LiveRequests(tokens.counts), hub.shells)
    yield Shop(hub, worker, offer, tokens)
    await hub.stop()


async def test_a_shell_ends_with_the_token_of_its_driver_who_is_there(shop: Shop) -> None:
    token = await shop.token("anna")
    opened = await shop.hub.shells.open(shop.offer.workflow_id, SHELL, replace(operator("anna"), token=token))
    async with (
        shop.hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE) as anna,
        shop.hub.shells.served(shop.worker, shop.offer.attempt, opened.id) as line,
    ):
        assert await shop.end(opened.id) is None
        await shop.tokens.revoke("anna")
        await shop.hub.shells.sweep()
        await shown(anna, REVOKED)
        assert await line.next_frame() == control({"end": True})


async def test_a_shell_ends_with_the_token_of_its_driver_who_has_left(shop: Shop) -> None:
    session = await shop.left("anna", await shop.token("anna"))
    orders = partial(shop.hub.box.breakpoints.orders, shop.worker, shop.offer.attempt)
    assert [wish.id for wish in (await orders()).shells] == [session]
    await shop.tokens.revoke("anna")
    assert await shop.end(session) == REVOKED
    assert (await orders()).shells == ()
    assert (await shop.hub.events(shop.offer.workflow_id))[-1][1]["message"] == REVOKED.message


async def test_the_audit_tells_why_a_shell_ended(shop: Shop) -> None:
    session = await shop.left("anna", await shop.token("anna"))
    await shop.tokens.revoke("anna")
    await shop.hub.shells.sweep()
    lines = await shop.hub.box.audit.after(0, 100)
    (line,) = [each for each in lines if "shell ended" in str(each)]
    assert session in str(line)
    assert REVOKED.message in str(line)


async def test_a_shell_ends_when_the_token_of_its_driver_expires(shop: Shop) -> None:
    session = await shop.left("anna", await shop.token("anna", lasts=timedelta(minutes=5)))
    shop.hub.box.clock.forward(299)
    assert await shop.end(session) is None
    shop.hub.box.clock.forward(1)
    assert await shop.end(session) == EXPIRED


async def test_a_shell_ends_when_its_machine_leaves_the_scope_of_its_drivers_token(shop: Shop) -> None:
    await shop.labelled(rack="r1", row="a")
    session = await shop.left("anna", await shop.token("anna", scope="rack=r1"))
    await shop.labelled(row="b")
    assert await shop.end(session) is None
    await shop.labelled(rack="r2")
    assert await shop.end(session) == LEFT


async def test_a_shell_that_another_person_drives_goes_on_and_ends_with_their_token(shop: Shop) -> None:
    annas, bens = await shop.token("anna"), await shop.token("ben")
    async with shop.typing("anna", annas) as session, shop.typing("ben", bens, Mode.TAKE):
        await shop.tokens.revoke("anna")
        assert await shop.end(session) is None
    assert await shop.end(session) is None
    assert (await shop.session(session)).token == bens
    await shop.tokens.revoke("ben")
    assert await shop.end(session) == ShellEnd(None, "TokenOver", "the token of ben was revoked")


async def test_who_takes_the_keyboard_later_is_the_driver(shop: Shop) -> None:
    annas, bens = await shop.token("anna"), await shop.token("ben")
    opened = await shop.hub.shells.open(shop.offer.workflow_id, SHELL, replace(operator("anna"), token=annas))
    looking = await shop.hub.shells.join(shop.offer.workflow_id, replace(operator("ben"), token=bens))
    async with (
        shop.hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE),
        shop.hub.shells.attached(opened.id, looking.ticket, Mode.VIEW) as ben,
    ):
        await ben.deliver(control({"take": True}))
        await shop.tokens.revoke("anna")
        assert await shop.end(opened.id) is None


async def test_who_looks_on_ends_no_shell(shop: Shop) -> None:
    annas, bens = await shop.token("anna"), await shop.token("ben")
    async with shop.typing("anna", annas) as session, shop.typing("ben", bens, Mode.VIEW):
        await shop.tokens.revoke("ben")
        assert await shop.end(session) is None


async def test_a_driver_who_came_back_with_another_token_keeps_the_shell(shop: Shop) -> None:
    session = await shop.left("anna", await shop.token("anna", lasts=timedelta(minutes=5)))
    shop.hub.box.clock.forward(200)
    await shop.left("anna", await shop.token("another"))
    shop.hub.box.clock.forward(100)
    assert await shop.end(session) is None


async def test_a_shell_of_the_unix_socket_ends_with_no_token(shop: Shop) -> None:
    session = await shop.left("anna", "")
    await shop.token("anna")
    await shop.tokens.revoke("anna")
    assert await shop.end(session) is None
    assert await shop.asked(session) == "anna"


async def test_a_command_ends_with_the_token_of_its_client_and_says_so(shop: Shop) -> None:
    token = await shop.token("anna")
    opened = await shop.hub.shells.open(shop.offer.workflow_id, COMMAND, replace(operator("anna"), token=token))
    async with shop.hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE):
        await shop.tokens.revoke("anna")
    assert (await shop.session(opened.id)).end == REVOKED


async def test_a_shell_whose_first_client_never_came_ends_with_its_token(shop: Shop) -> None:
    token = await shop.token("anna")
    opened = await shop.hub.shells.open(shop.offer.workflow_id, SHELL, replace(operator("anna"), token=token))
    await shop.tokens.revoke("anna")
    assert await shop.end(opened.id) == REVOKED


async def test_a_token_that_ended_while_the_appliance_was_off_ends_its_shell_at_the_start(shop: Shop) -> None:
    session = await shop.left("anna", await shop.token("anna", lasts=timedelta(minutes=5)))
    await shop.hub.restart()
    assert await shop.end(session) is None
    shop.hub.box.clock.forward(300)
    await shop.hub.restart()
    async with running(shop.hub):
        while (await shop.session(session)).end is None:
            pass
    assert (await shop.session(session)).end == EXPIRED


async def test_a_shell_that_an_earlier_release_opened_ends_at_the_start(shop: Shop) -> None:
    session = await shop.left("anna", await shop.token("anna"))

    def forget(tables: object) -> None:
        tables.shells._sql.execute("UPDATE shell SET token = NULL")  # type: ignore[attr-defined]

    await shop.hub.box.store.write(forget)
    await shop.hub.restart()
    found = await shop.end(session)
    assert found is not None
    assert found.reason == "TokenNotKept"


@pytest.mark.parametrize("how", ["revoked", "expired", "relabelled"])
async def test_a_shell_ends_as_soon_as_its_drivers_token_does(shop: Shop, how: str) -> None:
    await shop.labelled(rack="r1")
    session = await shop.left("anna", await shop.token("anna", scope="rack=r1", lasts=timedelta(minutes=5)))
    async with running(shop.hub):
        await shop.hub.shells.sweep()
        assert (await shop.session(session)).end is None
        match how:
            case "revoked":
                await shop.tokens.revoke("anna")
            case "expired":
                shop.hub.box.clock.forward(300)
                shop.tokens.tell_expired()
            case _:
                await shop.labelled(rack="r2")
        async with asyncio.timeout(1):
            while (await shop.session(session)).end is None:
                pass


async def test_a_token_that_ends_while_the_shells_are_looked_at_is_not_missed(shop: Shop) -> None:
    tokens = {name: await shop.token(name) for name in ("anna", "ben", "cleo")}
    sessions = []
    for name, token in tokens.items():
        opened = await shop.hub.shells.open(
            shop.offer.workflow_id, replace(SHELL, user=name), replace(operator(name), token=token)
        )
        sessions.append(opened.id)
    async with running(shop.hub), asyncio.timeout(3):
        for name in tokens:
            await shop.tokens.revoke(name)
        for session in sessions:
            while (await shop.session(session)).end is None:
                pass


async def test_nothing_is_decided_in_a_shell_whose_driver_has_no_token_any_more(shop: Shop) -> None:
    """Its worker is away, and has ended nothing of it yet."""
    session = await shop.left("anna", await shop.token("anna"))
    await shop.tokens.revoke("anna")
    for _ in range(2):
        said = await shop.asked(session)
        assert said.startswith(
            f"shell {session} is over, and decides nothing any more: the token of anna was revoked. "
        )
        await shop.hub.shells.sweep()
    assert (await AtWork(shop.hub.box, shop.worker, shop.offer).hold()).verdict is None


async def test_nothing_is_decided_in_a_shell_whose_machine_left_the_scope(shop: Shop) -> None:
    await shop.labelled(rack="r1")
    session = await shop.left("anna", await shop.token("anna", scope="rack=r1"))
    await shop.labelled(rack="r2")
    assert LEFT.message in await shop.asked(session)


async def test_nothing_is_decided_in_a_shell_that_ended_otherwise(shop: Shop) -> None:
    session = await shop.left("anna", "")
    await shop.hub.shells.over(await shop.session(session), ShellEnd(3))
    assert "it ended with status 3" in await shop.asked(session)


async def test_a_verdict_that_was_given_is_confirmed_when_its_shell_is_over(shop: Shop) -> None:
    session = await shop.left("anna", await shop.token("anna"))
    assert await shop.asked(session) == "anna"
    await shop.tokens.revoke("anna")
    assert await shop.end(session) == REVOKED
    assert await shop.asked(session) == "anna"
