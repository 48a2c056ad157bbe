"""An order to stop that comes while the engine has not answered yet that a container is started."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.worker.actions import HOOKED, IMAGE, OFFER, bound, machine
from tests.unit.worker.fakes import FakeDoor, FakeRuntime, Killed
from tests.unit.worker.programs import Program
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import Container, ContainerSpec
from tinkbox.wire.ephemeral_data import decode
from tinkbox.wire.messages.worker import Offer, Order
from tinkbox.worker.attempts.attempt import AttemptRun
from tinkbox.worker.attempts.order_listener import OrderListener

pytestmark = pytest.mark.usefixtures("with_and_without_helper")

CANCEL = Order(state=State.CANCELED, message="canceled by the operator")
FAILING = replace(OFFER, action=HOOKED)


class Busy(FakeRuntime):
    """One that is slow to start what has the role `slow`: `asked` tells that it was asked to, `answers` lets it answer.

    As Docker: who looks meanwhile is told that it never began, and who has it stopped or removed waits until it did.
    """

    def __init__(self, programs: Mapping[str, Program], slow: str = "action") -> None:
        super().__init__(programs)
        self.slow = slow
        self.asked = asyncio.Event()
        self.answers = asyncio.Event()
        self.starting: set[str] = set()

    async def start(self, container_id: str) -> None:
        if self.containers[container_id].spec.labels["tinkbox.role"] != self.slow or self.asked.is_set():
            await super().start(container_id)
            return
        await super().start(container_id)
        self.starting.add(container_id)
        self.asked.set()
        await self.answers.wait()
        self.starting.discard(container_id)

    async def find(self, labels: Mapping[str, str]) -> list[Container]:
        found = await super().find(labels)
        return [replace(each, started=False, ended=False) if each.id in self.starting else each for each in found]

    async def stop(self, container_id: str, grace: int) -> None:
        self.starting.discard(container_id)
        await super().stop(container_id, grace)

    async def remove(self, container_id: str) -> None:
        self.starting.discard(container_id)
        await super().remove(container_id)


async def cut_short(leashes: list[OrderListener]) -> None:
    """Wait until what was under way when the order came was told to end."""

    def is_cut_short(listener: OrderListener) -> bool:
        return listener.order is not None and (listener._limit is None or listener._limit.expired())

    while not any(map(is_cut_short, leashes)):  # noqa: ASYNC110  nothing rings when a deadline has passed
        await asyncio.sleep(0)


def leaves_half(spec: ContainerSpec) -> None:
    (bound(spec, "/workflow") / "half").write_text("1")


async def ordered(
    runtime: Busy, folder: Path, leashes: list[OrderListener], offer: Offer = OFFER
) -> tuple[Outcome, FakeDoor]:
    """The outcome, and what was kept, of an attempt that is canceled before the engine has answered."""
    door = FakeDoor()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(AttemptRun(machine(runtime, door, folder), offer).outcome())
        await runtime.asked.wait()
        door.order_now(CANCEL)
        await cut_short(leashes)
        runtime.answers.set()
        outcome = await running
    assert outcome is not None
    assert all(each.ended.is_set() for each in runtime.containers.values())
    return outcome, door


async def test_a_canceled_action_keeps_output_and_data_though_its_start_is_not_answered(
    tmp_path: Path, leashes: list[OrderListener]
) -> None:
    runtime = Busy({IMAGE: Program(output=b"begun\n", lasts=True, work=leaves_half)})
    outcome, door = await ordered(runtime, tmp_path, leashes)
    assert (outcome.state, outcome.tail) == (State.CANCELED, ("begun",))
    assert door.printed == {"a1": b"begun\n"}
    assert [entry.path for entry in decode(door.archive)] == ["half"]
    assert runtime.starts() == 1


async def test_a_canceled_hook_keeps_its_output_though_its_start_is_not_answered(
    tmp_path: Path, leashes: list[OrderListener]
) -> None:
    programs = {IMAGE: Program(exit_code=3), f"{IMAGE} repair": Program(output=b"begun\n", lasts=True)}
    outcome, door = await ordered(Busy(programs, "on-failure"), tmp_path, leashes, FAILING)
    assert outcome.reason == "NonZeroExit"
    assert outcome.message.endswith("on-failure was stopped: canceled by the operator")
    assert door.printed == {"a1": b"begun\n"}


@pytest.mark.parametrize("role", ["action", "on-failure"])
async def test_an_order_that_overtakes_the_start_on_its_way_to_the_engine_loses_nothing(
    role: str, tmp_path: Path, leashes: list[OrderListener]
) -> None:
    class Crowded(Busy):
        """What it was asked first, to start, it reads last."""

        async def start(self, container_id: str) -> None:
            if self.containers[container_id].spec.labels["tinkbox.role"] == role and not self.answers.is_set():
                self.asked.set()
                await self.answers.wait()
            await FakeRuntime.start(self, container_id)

    begun = Program(output=b"begun\n", lasts=True)
    hooked = role == "on-failure"
    programs = {IMAGE: Program(exit_code=3) if hooked else begun, f"{IMAGE} repair": begun}
    _, door = await ordered(Crowded(programs), tmp_path, leashes, FAILING if hooked else OFFER)
    assert door.printed == {"a1": b"begun\n"}


@pytest.mark.parametrize("role", ["action", "on-failure"])
async def test_an_engine_that_answers_the_start_too_late_is_not_waited_for_and_nothing_is_lost(
    role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.runtime.seeing_through.SECONDS", 0.01)
    begun, hooked = Program(output=b"begun\n", lasts=True), role == "on-failure"
    runtime = Busy({IMAGE: Program(exit_code=3) if hooked else begun, f"{IMAGE} repair": begun}, role)
    door = FakeDoor()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        offer = FAILING if hooked else OFFER
        running = group.create_task(AttemptRun(machine(runtime, door, tmp_path), offer).outcome())
        await runtime.asked.wait()
        door.order_now(CANCEL)
    assert running.result() is not None
    assert door.printed == {"a1": b"begun\n"}
    assert not runtime.answers.is_set()


@pytest.mark.parametrize("role", ["action", "on-failure"])
async def test_what_begins_behind_the_order_to_stop_is_stopped_as_well(
    role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late(Busy):
        """What it was asked first, to start, it does when it has found nothing to stop."""

        async def start(self, container_id: str) -> None:
            if self.containers[container_id].spec.labels["tinkbox.role"] == role:
                self.asked.set()
                await self.answers.wait()
            await FakeRuntime.start(self, container_id)

        async def stop(self, container_id: str, grace: int) -> None:
            await super().stop(container_id, grace)
            late = self.containers[container_id].spec.labels["tinkbox.role"] == role
            if late and not self.answers.is_set():
                self.answers.set()
                await FakeRuntime.start(self, container_id)

    monkeypatch.setattr("tinkbox.runtime.seeing_through.SECONDS", 0.01)
    begun, hooked = Program(output=b"begun\n", lasts=True), role == "on-failure"
    runtime = Late({IMAGE: Program(exit_code=3) if hooked else begun, f"{IMAGE} repair": begun})
    door = FakeDoor()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(
            AttemptRun(machine(runtime, door, tmp_path), FAILING if hooked else OFFER).outcome()
        )
        await runtime.asked.wait()
        door.order_now(CANCEL)
    assert running.result() is not None
    assert runtime.answers.is_set()
    assert all(each.ended.is_set() for each in runtime.containers.values())
    assert door.printed == {"a1": b"begun\n"}


async def test_output_is_kept_when_the_worker_was_killed_before_the_engine_answered_its_start(tmp_path: Path) -> None:
    class Mortal(Busy):
        """Whoever asks it to start something dies before it answers."""

        async def start(self, container_id: str) -> None:
            self.answers.set()
            await super().start(container_id)
            self.starting.add(container_id)
            raise Killed

    runtime, door = Mortal({IMAGE: Program(output=b"begun\n", lasts=True)}), FakeDoor()
    place = machine(runtime, door, tmp_path)
    async with asyncio.timeout(60):
        with pytest.raises(BaseExceptionGroup):
            await AttemptRun(place, OFFER).outcome()
        place.folder.notes.keep_stop("a1", CANCEL)
        outcome = await AttemptRun(place, OFFER).outcome()
    assert outcome is not None
    assert (outcome.state, outcome.tail, door.printed) == (State.CANCELED, ("begun",), {"a1": b"begun\n"})
    assert runtime.starts() == 1
