"""One run of an action's process: what happened when it ended, is held, or took too long."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.worker.actions import IMAGE, OFFER, bound, machine, tells, with_spec
from tests.unit.worker.fakes import FakeDoor, FakeRuntime
from tests.unit.worker.programs import Program
from tinkbox.model.breakpoint import Armed, Kind
from tinkbox.model.errors import Conflict, Invalid, NotFound, Refusal, TooLarge, Unavailable
from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import State
from tinkbox.runtime import ContainerFailed, ContainerSpec, EngineAway
from tinkbox.wire.ephemeral_data import Entry, encode
from tinkbox.wire.messages.worker import Offer
from tinkbox.worker.attempts.action_process import ActionProcess, Pulling
from tinkbox.worker.attempts.arming import Arming
from tinkbox.worker.attempts.order_listener import OrderListener
from tinkbox.worker.attempts.retrying import Patience
from tinkbox.worker.containers.action_containers import Containers
from tinkbox.worker.containers.helped_container import Helped
from tinkbox.worker.machine import no_kernel_log, nothing_to_gather
from tinkbox.worker.transitions import AttemptEvent, Step

Gather = Callable[[str], Awaitable[None]]
ON_FAILURE = replace(OFFER, armed=Armed(on_failure=True))


def test_a_pull_tells_how_long_its_registry_is_silent() -> None:
    seconds = 100.0
    pulling = Pulling("quay.io/x:v1", "quay.io", lambda: seconds)
    assert str(pulling) == "pulling quay.io/x:v1 from quay.io, no answer for 0 seconds"
    seconds = 104.0
    pulling.hear()
    seconds = 106.0
    assert str(pulling) == "pulling quay.io/x:v1 from quay.io, which was under way"
    seconds = 164.0
    assert str(pulling) == "pulling quay.io/x:v1 from quay.io, no answer for 60 seconds"


@asynccontextmanager
async def process(
    folder: Path,
    program: Program,
    offer: Offer,
    door: FakeDoor | None = None,
    gather: Gather = nothing_to_gather,
    kernel_log: Callable[[], str] = no_kernel_log,
) -> AsyncIterator[ActionProcess]:
    here = replace(
        machine(FakeRuntime({IMAGE: program}), door or FakeDoor(), folder), gather=gather, kernel_log=kernel_log
    )
    files = here.folder.helper(offer.attempt)
    arming = Arming(offer.action, offer.armed, debug=True)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        made = ActionProcess(
            here, offer, OrderListener(here.door, offer.attempt, offer.armed, lambda _: None), Containers(here, offer, files),
            Helped(here.runtime, files, arming.policy), arming, Patience(lambda: True), group,
        )  # fmt: skip
        yield made
        made.carrier.drop()


async def tried(folder: Path, program: Program, offer: Offer = ON_FAILURE, seconds: float = 60) -> Step:
    async with process(folder, program, offer) as made:
        return await made.tried(seconds)


async def test_a_success_ends_and_a_failure_is_held_where_that_is_armed(tmp_path: Path) -> None:
    good = await tried(tmp_path / "good", Program())
    assert (good.event, good.outcome and good.outcome.state) == (AttemptEvent.SUCCEEDS, State.SUCCESS)
    bad = await tried(tmp_path / "bad", Program(exit_code=7, work=tells("DiskNotFound", "no disk")))
    assert (bad.event, bad.kind) == (AttemptEvent.REACHES_BREAKPOINT, Kind.FAILURE)
    assert bad.outcome
    assert bad.outcome.reason == "DiskNotFound"
    bare = await tried(tmp_path / "bare", Program(exit_code=7), OFFER)
    assert (bare.event, bare.outcome and bare.outcome.exit_code) == (AttemptEvent.FAILS, 7)


async def test_before_it_begins_it_has_no_outcome(tmp_path: Path) -> None:
    step = await tried(tmp_path, Program(), replace(OFFER, armed=Armed(before=True)))
    assert step == Step(event=AttemptEvent.REACHES_BREAKPOINT, kind=Kind.BEFORE)


async def test_memory_that_ran_out_is_known_though_the_container_goes_on(tmp_path: Path) -> None:
    step = await tried(tmp_path, Program(exit_code=137, out_of_memory=True))
    assert (step.outcome and step.outcome.reason, step.kind) == ("OutOfMemory", Kind.FAILURE)


@pytest.mark.parametrize(("at", "reason"), [(math.inf, "OutOfMemory"), (0.0, "Signal")])
async def test_memory_of_the_machine_that_ran_out_since_it_began_is_why_it_was_killed(
    tmp_path: Path, at: float, reason: str
) -> None:
    def log() -> str:
        moment = 0 if at == 0.0 else int(asyncio.get_running_loop().time() * 1e6)
        return f"3,800,{moment},-;Out of memory: Killed process 412 (tail) total-vm:809344kB\n"

    async with process(tmp_path, Program(exit_code=137), OFFER, kernel_log=log) as made:
        step = await made.tried(60)
    assert step.outcome
    assert step.outcome.reason == reason
    assert ("Killed process 412 (tail)" in step.outcome.message) == (reason == "OutOfMemory")


async def test_memory_of_a_group_above_the_container_that_ran_out_is_why_it_was_killed(tmp_path: Path) -> None:
    runtime: FakeRuntime | None = None

    def log() -> str:
        assert runtime is not None
        (container,) = runtime.containers
        groups = f"oom_memcg=/lab.slice,task_memcg=/lab.slice/{container}"
        moment = int(asyncio.get_running_loop().time() * 1e6)
        return f"6,800,{moment},-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),{groups},task=tail,pid=7,uid=0\n"

    async with process(tmp_path, Program(exit_code=137), OFFER, kernel_log=log) as made:
        assert isinstance(made._machine.runtime, FakeRuntime)
        runtime = made._machine.runtime
        step = await made.tried(60)
    assert step.outcome
    assert step.outcome.reason == "OutOfMemory"
    assert "control group /lab.slice was used up" in step.outcome.message


@pytest.mark.parametrize(
    ("program", "noted"),
    [
        (Program(exit_code=1), True),
        (Program(exit_code=1, work=tells("NoDisk", "none")), True),
        (Program(exit_code=137, out_of_memory=True), False),
        (Program(), False),
    ],
)
async def test_a_failure_beside_a_full_disk_of_the_engine_says_so_and_keeps_its_reason(
    tmp_path: Path, program: Program, *, noted: bool
) -> None:
    async def full() -> str:
        return "the disk is full"

    async def unknown() -> str:
        raise ContainerFailed(Reason.ENGINE_FAILED, "it does not tell")

    steps = []
    for each in (full, unknown):
        async with process(tmp_path / each.__name__, program, OFFER) as made:
            made._machine = replace(made._machine, little_room=each)
            steps.append(await made.tried(60))
    told, untold = (each.outcome for each in steps)
    assert told
    assert untold
    assert told.reason == untold.reason
    assert told.message == (f"{untold.message}; the disk is full" if noted else untold.message)


async def test_what_took_too_long_is_held_where_that_is_armed_and_stopped_where_not(tmp_path: Path) -> None:
    held = await tried(tmp_path / "held", Program(lasts=True), seconds=0.01)
    assert (held.event, held.kind) == (AttemptEvent.REACHES_BREAKPOINT, Kind.FAILURE)
    assert held.outcome
    assert held.outcome.state is State.TIMEOUT
    late = await tried(tmp_path / "late", Program(lasts=True), OFFER, seconds=0.01)
    assert (late.event, late.outcome) == (AttemptEvent.STOPS, None)
    assert late.order
    assert late.order.state is State.TIMEOUT


@pytest.mark.parametrize(
    ("armed", "event"), [(Armed(), AttemptEvent.FAILS), (Armed(on_failure=True), AttemptEvent.REACHES_BREAKPOINT)]
)
async def test_what_never_began_has_no_container_to_be_held_in(
    tmp_path: Path, armed: Armed, event: AttemptEvent
) -> None:
    offer = replace(OFFER, armed=armed, action=with_spec(OFFER.action, image="missing:v1"))
    step = await tried(tmp_path, Program(), offer)
    assert (step.event, step.outcome and step.outcome.reason) == (event, "ImageNotFound")


class Gathering:
    """What services wrote is in the data once it was gathered; before, `refusals` are raised in turn."""

    def __init__(self, *refusals: Exception) -> None:
        self.refusals = list(refusals)
        self.door = FakeDoor()
        self.calls: list[str] = []

    async def gather(self, workflow_id: str) -> None:
        self.calls.append(workflow_id)
        if self.refusals:
            raise self.refusals.pop(0)
        self.door.archive = encode([Entry(path="from-a-service", content=b"secret")])


async def gathered(folder: Path, gathering: Gathering) -> bytes:
    """What the action finds of what services wrote."""
    found = b""

    def work(spec: ContainerSpec) -> None:
        nonlocal found
        place = bound(spec, "/workflow") / "from-a-service"
        found = place.read_bytes() if place.exists() else b""

    async with process(folder, Program(work=work), OFFER, gathering.door, gathering.gather) as made:
        step = await made.tried(60)
    assert step.event is AttemptEvent.SUCCEEDS
    return found


async def test_what_services_on_the_machine_wrote_is_there_when_an_action_begins(tmp_path: Path) -> None:
    gathering = Gathering()
    assert await gathered(tmp_path, gathering) == b"secret"
    assert gathering.calls == ["w1"]


@pytest.mark.parametrize("away", [Unavailable("no answer"), EngineAway("no engine")])
async def test_what_services_wrote_is_waited_for_while_nobody_answers(tmp_path: Path, away: Exception) -> None:
    gathering = Gathering(away, away)
    assert await gathered(tmp_path, gathering) == b"secret"
    assert gathering.calls == ["w1"] * 3


@pytest.mark.parametrize("refusal", [NotFound("?"), Conflict("?"), Invalid("?"), TooLarge("?")])
async def test_an_action_begins_without_what_services_wrote_and_nobody_keeps(tmp_path: Path, refusal: Refusal) -> None:
    gathering = Gathering(refusal)
    assert await gathered(tmp_path, gathering) == b""
    assert gathering.calls == ["w1"]
