"""One hold: what is announced when, who is answered, and what is noted before anything happens."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unit.worker.actions import OFFER
from tests.unit.worker.fakes import FakeDoor
from tinkbox.model.breakpoint import Armed, Kind, Verb, Verdict
from tinkbox.model.errors import Conflict, Refusal, Unavailable
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.breakpoints import Asked, Held, Orders, Resumed, Ruling
from tinkbox.wire.messages.worker import Order
from tinkbox.worker.attempts.holding import Holding
from tinkbox.worker.attempts.order_listener import OrderListener
from tinkbox.worker.files.helper_files import HelperFiles
from tinkbox.worker.files.notes import Notes
from tinkbox.worker.host.inotify import Watch

FAILED = Outcome(state=State.FAILED, exit_code=7)
RETRY = Ruling(sequence=1, verdict=Verdict(verb=Verb.RETRY, who="anna"))


@dataclass
class Place:
    holding: Holding
    door: FakeDoor
    files: HelperFiles
    notes: Notes
    news: list[Orders]


@asynccontextmanager
async def place(folder: Path, door: FakeDoor | None = None) -> AsyncIterator[Place]:
    door, notes, files = door or FakeDoor(), Notes(folder / "notes"), HelperFiles(folder / "holds", "a1")
    notes.begin("a1")
    files.prepare()
    news: list[Orders] = []
    listener = OrderListener(door, "a1", Armed(), news.append)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        holding = Holding(door, listener, notes, files, OFFER, "boot-1")
        listening = group.create_task(listener.listen(asyncio.get_running_loop().time()))
        agreeing = group.create_task(holding.agree())
        yield Place(holding, door, files, notes, news)
        listening.cancel()
        agreeing.cancel()


async def for_ever() -> None:
    await asyncio.Event().wait()


def ask(files: HelperFiles, name: str, verb: str, **more: object) -> None:
    with (files.run / "request").open("a") as request:
        request.write(json.dumps({"id": name, "verb": verb, **more}) + "\n")


async def answered(files: HelperFiles, name: str) -> str:
    path = files.run.parent / "control" / "answer"
    with Watch(path.parent) as watch:
        while not (path.exists() and path.read_text().startswith(name)):
            await watch.changed(1)
    return path.read_text()


async def test_it_is_announced_and_the_verdict_waited_for(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        here.door.order_now(Orders(ruling=RETRY))
        assert await here.holding.ruled(Kind.FAILURE, FAILED, in_place=True, keep=for_ever) == RETRY
        (held,) = here.door.holds.values()
        assert (held.sequence, held.kind, held.outcome, held.container) == (1, Kind.FAILURE, FAILED, True)
        assert here.holding.unfinished is not None


async def test_a_verdict_from_inside_is_handed_on_and_answered(tmp_path: Path) -> None:
    async with place(tmp_path) as here, asyncio.TaskGroup() as group:
        ask(here.files, "early", "continue")  # of an earlier hold: nobody waits for its answer any more
        ruling = group.create_task(here.holding.ruled(Kind.FAILURE, FAILED, in_place=True, keep=for_ever))
        await here.door.is_held.wait()
        ask(here.files, "first", "retry", why="mounted it", shell="s1")
        assert await answered(here.files, "first") == "first ok the verdict is: retry\n"
        here.door.winner = "bert"
        ask(here.files, "second", "fail")
        assert await answered(here.files, "second") == "second refused bert decided already\n"
        (asked,) = here.door.asked
        assert (asked.verb, asked.why, asked.shell, asked.sequence) == (Verb.RETRY, "mounted it", "s1", 1)
        here.door.order_now(Orders(ruling=RETRY))
        assert await ruling == RETRY


class Hasty(FakeDoor):
    """The verdict is known before whoever asked for it is answered."""

    async def verdict(self, attempt: str, asked: Asked) -> None:
        self.order_now(Orders(ruling=RETRY))
        for _ in range(100):
            await asyncio.sleep(0)
        await super().verdict(attempt, asked)


async def test_whoever_asked_inside_is_answered_before_the_verdict_is_carried_out(tmp_path: Path) -> None:
    async with place(tmp_path, Hasty()) as here, asyncio.TaskGroup() as group:
        ruling = group.create_task(here.holding.ruled(Kind.FAILURE, FAILED, in_place=True, keep=for_ever))
        await here.door.is_held.wait()
        ask(here.files, "first", "retry")
        assert await ruling == RETRY
        assert (tmp_path / "holds" / "a1" / "control" / "answer").read_text() == "first ok the verdict is: retry\n"


async def test_a_container_that_is_gone_is_announced_as_gone(tmp_path: Path) -> None:
    async def gone() -> None:
        return

    async with place(tmp_path) as here, asyncio.TaskGroup() as group:
        ruling = group.create_task(here.holding.ruled(Kind.FAILURE, FAILED, in_place=True, keep=gone))
        for _ in range(2):
            await here.door.is_held.wait()
            here.door.is_held.clear()
        assert (here.door.holds[1].container, here.door.holds[1].in_place) == (False, False)
        here.door.order_now(Orders(ruling=RETRY))
        assert await ruling == RETRY


async def test_a_command_is_noted_before_it_is_given_and_given_once(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        here.door.order_now(Orders(ruling=RETRY))
        await here.holding.ruled(Kind.FAILURE, FAILED, in_place=True, keep=for_ever)
        here.files.command("signal", "15")
        await here.holding.resume(2, "retry")
        assert here.files.given == 2
        note = here.notes.hold("a1")
        assert note is not None
        assert (note.command, note.over, here.door.resumptions) == ((2, "retry"), True, [1])
        assert here.holding.unfinished is None


class Late(FakeDoor):
    """The appliance has given up what is held."""

    async def resumed(self, attempt: str, resumed: Resumed) -> None:
        raise Conflict("the hold is over")


async def test_what_the_appliance_gave_up_meanwhile_does_not_run(tmp_path: Path) -> None:
    async with place(tmp_path, Late()) as here:
        here.door.order_now(Orders(ruling=RETRY))
        await here.holding.ruled(Kind.FAILURE, FAILED, in_place=True, keep=for_ever)
        with pytest.raises(Conflict):
            await here.holding.resume(1, "retry")
        assert here.files.given == 0


@pytest.mark.parametrize("given", [False, True])
async def test_another_life_gives_the_same_command_once_more(tmp_path: Path, given: bool) -> None:
    async with place(tmp_path) as here:
        here.door.order_now(Orders(ruling=RETRY))
        await here.holding.ruled(Kind.FAILURE, FAILED, in_place=True, keep=for_ever)
        note = here.notes.hold("a1")
        assert note is not None
    (tmp_path / "notes" / "a1" / "hold.json").write_text(
        json.dumps({**json.loads((tmp_path / "notes" / "a1" / "hold.json").read_text()), "command": [1, "retry"]})
    )
    if given:
        here.files.command("retry", sequence=1)
    async with place(tmp_path) as again:
        unfinished = again.holding.unfinished
        assert unfinished is not None
        assert unfinished.command == (1, "retry")
        await again.holding.resume(1, "retry")
        assert (again.files.given, again.door.resumptions) == (1, [1])


async def test_the_next_hold_has_the_next_number_also_in_another_life(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        here.door.order_now(Orders(ruling=RETRY))
        await here.holding.ruled(Kind.BEFORE, None, in_place=True, keep=for_ever)
        await here.holding.resume(1, "run")
    async with place(tmp_path) as again:
        assert again.holding.was_before
        again.door.order_now(Orders(ruling=Ruling(sequence=2, verdict=RETRY.verdict)))
        await again.holding.ruled(Kind.FAILURE, FAILED, in_place=True, keep=for_ever)
        assert list(again.door.holds) == [2]


async def heard(door: FakeDoor, *orders: Orders) -> list[str]:
    """Have these orders come, one after the other; returns what the appliance was told since."""
    before = len(door.faults.calls)
    for each in orders:
        door.order_now(each)
        for _ in range(100):
            await asyncio.sleep(0)
    assert not door.answers
    return door.faults.calls[before:]


@pytest.mark.parametrize("put_back", [Orders(), Orders(hold=7)], ids=["no hold", "another hold"])
async def test_a_hold_that_orders_do_not_name_is_announced_again_once_for_each_news(
    tmp_path: Path, put_back: Orders
) -> None:
    async with place(tmp_path) as here, asyncio.TaskGroup() as group:
        ruling = group.create_task(here.holding.ruled(Kind.FAILURE, FAILED, in_place=True, keep=for_ever))
        await here.door.is_held.wait()
        assert await heard(here.door, Orders(hold=1), Orders(hold=1, armed=Armed(after=True))) == []
        (announced,) = here.door.holds.values()
        here.door.holds.clear()
        assert await heard(here.door, put_back) == ["held"]
        assert list(here.door.holds.values()) == [announced]
        assert await heard(here.door, Orders(hold=1)) == []
        assert await heard(here.door, Orders(hold=1, ruling=RETRY)) == []
        assert await ruling == RETRY
        assert await heard(here.door, put_back) == [], "whoever carries the verdict out says so"


async def test_a_hold_that_is_over_and_that_orders_name_is_told_to_have_been_let_go(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        for number in (1, 2):
            here.door.order_now(Orders(hold=number, ruling=Ruling(sequence=number, verdict=RETRY.verdict)))
            await here.holding.ruled(Kind.FAILURE, FAILED, in_place=True, keep=for_ever)
            await here.holding.resume(number, "retry")
        assert await heard(here.door, Orders()) == []
        assert here.door.resumptions == [1, 2]
        assert await heard(here.door, Orders(hold=2), Orders(), Orders(hold=1)) == ["resumed", "resumed"]
        assert here.door.resumptions == [1, 2, 2, 1]
        assert await heard(here.door, Orders(), Orders(hold=3)) == [], "nothing is known here of such a hold"
        assert here.files.given == 2


async def test_an_appliance_that_names_no_hold_but_in_a_verdict_is_told_no_more_than_it_needs(tmp_path: Path) -> None:
    async with place(tmp_path) as here, asyncio.TaskGroup() as group:
        ruling = group.create_task(here.holding.ruled(Kind.FAILURE, FAILED, in_place=True, keep=for_ever))
        await here.door.is_held.wait()
        assert await heard(here.door, Orders(armed=Armed(after=True))) == ["held"]
        assert await heard(here.door, Orders(ruling=RETRY)) == []
        assert await ruling == RETRY
        await here.holding.resume(1, "retry")
        assert await heard(here.door, Orders(), Orders(armed=Armed(after=True))) == []


class Returning(FakeDoor):
    """Notes which orders were said to be seen."""

    seen: list[str]

    async def orders(self, attempt: str, seen: str, engine_away: float = 0.0) -> Orders | None:
        self.seen.append(seen)
        return await super().orders(attempt, seen, engine_away)


async def test_an_appliance_that_returns_with_the_same_orders_may_have_lost_a_hold_that_they_never_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.runtime.retrying.FIRST_WAIT", 0.0)
    door = Returning()
    door.seen = []
    async with place(tmp_path, door) as here, asyncio.TaskGroup() as group:
        ruling = group.create_task(here.holding.ruled(Kind.FAILURE, FAILED, in_place=True, keep=for_ever))
        await door.is_held.wait()
        door.order_now(Unavailable("away"))
        assert await heard(door, Orders()) == ["held"]
        assert door.seen == [Orders().mark, "", Orders().mark]
        assert here.news == [], "it changes nothing else"
        door.order_now(Unavailable("away"))
        assert await heard(door, Orders(hold=1)) == []
        door.order_now(Unavailable("away"))
        assert await heard(door, Orders(hold=1)) == []
        door.order_now(Orders(hold=1, ruling=RETRY))
        assert await ruling == RETRY
        await here.holding.resume(1, "retry")
        door.order_now(Unavailable("away"))
        assert await heard(door, Orders(hold=1, ruling=RETRY)) == ["resumed"]


async def test_of_an_action_that_was_never_held_nothing_is_told(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        here.door.order_now(Orders(armed=Armed(after=True)), Orders(hold=1), Orders())
        for _ in range(100):
            await asyncio.sleep(0)
        assert here.door.faults.calls == []


async def test_what_is_to_be_stopped_is_not_announced_again(tmp_path: Path) -> None:
    async with place(tmp_path) as here, asyncio.TaskGroup() as group:
        ruling = group.create_task(here.holding.ruled(Kind.FAILURE, FAILED, in_place=True, keep=for_ever))
        await here.door.is_held.wait()
        stop = Order(state=State.CANCELED, message="by anna")
        assert await heard(here.door, Orders(hold=1), Orders(stop=stop)) == []
        assert await ruling is None


class Deaf(FakeDoor):
    """The first hold is heard of at once; announced again it is answered so, one answer after the other."""

    refusals: list[Refusal]

    async def held(self, attempt: str, held: Held) -> None:
        await super().held(attempt, held)
        if len(self.refusals) and self.faults.calls.count("held") > 1:
            raise self.refusals.pop(0)


async def test_what_is_refused_ends_nothing_and_an_appliance_that_is_away_is_told_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tinkbox.runtime.retrying.FIRST_WAIT", 0.0)
    door = Deaf()
    door.refusals = [Conflict("the attempt ended already"), Unavailable("away"), Unavailable("away")]
    async with place(tmp_path, door) as here, asyncio.TaskGroup() as group:
        ruling = group.create_task(here.holding.ruled(Kind.FAILURE, FAILED, in_place=True, keep=for_ever))
        await door.is_held.wait()
        assert await heard(door, Orders(hold=1), Orders()) == ["held"]
        assert "the attempt ended already" in caplog.text
        assert await heard(door, Orders(armed=Armed(after=True))) == 3 * ["held"]
        door.order_now(Orders(hold=1, ruling=RETRY))
        assert await ruling == RETRY
