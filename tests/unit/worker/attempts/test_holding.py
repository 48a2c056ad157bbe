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
from tinkbox.model.errors import Conflict
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.breakpoints import Asked, Orders, Resumed, Ruling
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


@asynccontextmanager
async def place(folder: Path, door: FakeDoor | None = None) -> AsyncIterator[Place]:
    door, notes, files = door or FakeDoor(), Notes(folder / "notes"), HelperFiles(folder / "holds", "a1")
    notes.begin("a1")
    files.prepare()
    listener = OrderListener(door, "a1", Armed(), lambda _: None)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        listening = group.create_task(listener.listen(asyncio.get_running_loop().time()))
        yield Place(Holding(door, listener, notes, files, OFFER, "boot-1"), door, files, notes)
        listening.cancel()


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
