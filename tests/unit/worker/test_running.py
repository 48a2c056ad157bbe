"""One run of an action's process: how it stands when it ended, is held, or took too long."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.worker.actions import IMAGE, OFFER, machine, tells
from tests.unit.worker.fakes import FakeDoor, FakeRuntime
from tests.unit.worker.programs import Program
from tinkbox.model.breakpoint import Armed, Kind
from tinkbox.model.workflow import State
from tinkbox.wire.worker import Offer
from tinkbox.worker.arming import Arming
from tinkbox.worker.containers import Containers
from tinkbox.worker.helped import Helped
from tinkbox.worker.leash import Leash
from tinkbox.worker.patience import Patience
from tinkbox.worker.running import ActionProcess, Stand

ON_FAILURE = replace(OFFER, armed=Armed(on_failure=True))


@asynccontextmanager
async def process(folder: Path, program: Program, offer: Offer) -> AsyncIterator[ActionProcess]:
    here = machine(FakeRuntime({IMAGE: program}), FakeDoor(), folder)
    files = here.folder.helper(offer.attempt)
    arming = Arming(offer.action, offer.armed, debug=True)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        made = ActionProcess(
            here, offer, Leash(here.door, offer.attempt, offer.armed, lambda _: None), Containers(here, offer, files),
            Helped(here.runtime, files, arming.policy), arming, Patience(), group,
        )  # fmt: skip
        yield made
        made.carrier.drop()


async def stood(folder: Path, program: Program, offer: Offer = ON_FAILURE, seconds: float = 60) -> Stand:
    async with process(folder, program, offer) as made:
        return await made.tried(seconds)


async def test_a_success_ends_and_a_failure_is_held_where_that_is_armed(tmp_path: Path) -> None:
    good = await stood(tmp_path / "good", Program())
    assert (good.outcome and good.outcome.state, good.kind, good.final) == (State.SUCCESS, None, False)
    bad = await stood(tmp_path / "bad", Program(exit_code=7, work=tells("DiskNotFound", "no disk")))
    assert (bad.outcome and bad.outcome.reason, bad.kind, bad.final) == ("DiskNotFound", Kind.FAILURE, False)
    bare = await stood(tmp_path / "bare", Program(exit_code=7), OFFER)
    assert (bare.outcome and bare.outcome.exit_code, bare.kind) == (7, None)


async def test_before_it_begins_it_has_no_outcome(tmp_path: Path) -> None:
    stand = await stood(tmp_path, Program(), replace(OFFER, armed=Armed(before=True)))
    assert stand == Stand(outcome=None, kind=Kind.BEFORE)


async def test_memory_that_ran_out_is_known_though_the_container_goes_on(tmp_path: Path) -> None:
    stand = await stood(tmp_path, Program(exit_code=137, out_of_memory=True))
    assert (stand.outcome and stand.outcome.reason, stand.kind) == ("OutOfMemory", Kind.FAILURE)


async def test_what_took_too_long_is_held_where_that_is_armed_and_over_where_not(tmp_path: Path) -> None:
    held = await stood(tmp_path / "held", Program(lasts=True), seconds=0.01)
    assert (held.outcome and held.outcome.state, held.kind, held.final) == (State.TIMEOUT, Kind.FAILURE, False)
    over = await stood(tmp_path / "over", Program(lasts=True), OFFER, seconds=0.01)
    assert (over.outcome and over.outcome.state, over.kind, over.final) == (State.TIMEOUT, None, True)


@pytest.mark.parametrize("armed", [Armed(), Armed(on_failure=True)])
async def test_what_never_began_has_no_container_to_be_held_in(tmp_path: Path, armed: Armed) -> None:
    offer = replace(OFFER, armed=armed, action=replace(OFFER.action, image="missing:v1"))
    stand = await stood(tmp_path, Program(), offer)
    assert (stand.outcome and stand.outcome.reason, stand.kind, stand.final) == ("ImageNotFound", None, False)
