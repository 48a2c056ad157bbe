"""An action with `disk:`: its disk is found before anything is fetched, and is in its environment."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.worker.actions import ACTION, IMAGE, OFFER, machine, with_spec
from tests.unit.worker.fakes import FakeDoor, FakeRuntime, Faults, Killed, lives_until_finished
from tests.unit.worker.programs import Program
from tinkbox.model.disks.disks import Disk, Refused
from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.worker import Offer
from tinkbox.worker.attempts.attempt import AttemptRun
from tinkbox.worker.main import serve

pytestmark = pytest.mark.usefixtures("with_and_without_helper")
CHOOSING = replace(OFFER, action=with_spec(ACTION, disk="serial=S1"))
AMBIGUOUS = Refused(reason=Reason.DISK_AMBIGUOUS, message="`serial=S1` means 2 disks")


class Disks:
    """Finds this, and counts how often it is asked."""

    def __init__(self, found: str | Refused = "/dev/vdb") -> None:
        self.found = found
        self.asked: list[str] = []

    async def find(self, selection: str) -> str | Refused:
        self.asked.append(selection)
        return self.found


async def run(folder: Path, disks: Disks, offer: Offer = CHOOSING, exit_code: int = 0) -> tuple[Outcome, FakeRuntime]:
    runtime = FakeRuntime({IMAGE: Program(exit_code=exit_code), f"{IMAGE} repair": Program()})
    outcome = await AttemptRun(replace(machine(runtime, FakeDoor(), folder), find_disk=disks.find), offer).outcome()
    assert outcome is not None
    return outcome, runtime


def environments(runtime: FakeRuntime) -> list[tuple[str | None, str | None]]:
    return [tuple(map(each.spec.environment.get, ("TINKBOX_DISK", "DEST_DISK"))) for each in runtime.ever]  # type: ignore[misc]


async def test_an_action_is_told_of_the_disk_that_is_meant(tmp_path: Path) -> None:
    disks = Disks()
    outcome, runtime = await run(tmp_path, disks)
    assert outcome.state is State.SUCCESS
    assert disks.asked == ["serial=S1"]
    assert environments(runtime) == [("/dev/vdb", "/dev/vdb")]


async def test_where_the_template_says_dest_disk_that_counts(tmp_path: Path) -> None:
    action = with_spec(CHOOSING.action, environment={"DEST_DISK": "/dev/md0", "TINKBOX_DISK": "/dev/sda"})
    _, runtime = await run(tmp_path, Disks(), replace(CHOOSING, action=action))
    assert environments(runtime) == [("/dev/vdb", "/dev/md0")]


async def test_an_action_without_a_disk_is_told_of_none(tmp_path: Path) -> None:
    disks = Disks()
    _, runtime = await run(tmp_path, disks, OFFER)
    assert (environments(runtime), disks.asked) == ([(None, None)], [])


@pytest.mark.parametrize("wipes", [(), ("serial=S1",)])
async def test_a_choice_that_is_refused_fails_before_anything_is_fetched_or_asked(
    tmp_path: Path, wipes: tuple[str, ...]
) -> None:
    door, runtime = FakeDoor(), FakeRuntime({IMAGE: Program()})
    offer = replace(CHOOSING, action=with_spec(CHOOSING.action, wipes=wipes))
    here = replace(machine(runtime, door, tmp_path), find_disk=Disks(AMBIGUOUS).find)
    outcome = await AttemptRun(here, offer).outcome()
    assert outcome is not None
    assert (outcome.state, outcome.reason, outcome.message) == (State.FAILED, "DiskAmbiguous", AMBIGUOUS.message)
    assert (list(runtime.ever), runtime.pulled, door.looked) == ([], set(), [])


async def test_a_hook_is_told_of_the_same_disk(tmp_path: Path) -> None:
    offer = replace(CHOOSING, action=with_spec(CHOOSING.action, on_failure=("repair",)))
    _, runtime = await run(tmp_path, Disks(), offer, exit_code=3)
    assert environments(runtime) == [("/dev/vdb", "/dev/vdb")] * 2


async def test_a_worker_that_was_started_since_goes_on_with_the_container_and_its_disk(tmp_path: Path) -> None:
    _, undisturbed = await run(tmp_path / "undisturbed", Disks())
    faults = Faults(Killed(), undisturbed.faults.calls.index("start"), after=True)
    door, runtime = FakeDoor([CHOOSING]), FakeRuntime({IMAGE: Program()}, faults)
    disks = Disks()
    here = replace(machine(runtime, door, tmp_path / "killed"), find_disk=disks.find)
    assert await lives_until_finished(lambda: serve(here, door)) == 2
    assert door.reports["a1"].outcome.state is State.SUCCESS
    assert environments(runtime) == [("/dev/vdb", "/dev/vdb")]


async def test_each_attempt_chooses_anew(tmp_path: Path) -> None:
    door, runtime, disks = FakeDoor(), FakeRuntime({IMAGE: Program()}), Disks()
    door.offers = [CHOOSING, replace(CHOOSING, attempt="a2")]
    here = replace(machine(runtime, door, tmp_path), find_disk=disks.find)
    await lives_until_finished(lambda: serve(here, door))
    assert disks.asked == ["serial=S1"] * 2


@pytest.mark.parametrize(("device", "reason"), [("/dev/vdb", ""), ("/dev/vdc", "DiskAmbiguous"), ("", "DiskAmbiguous")])
async def test_the_disk_that_is_judged_is_the_one_that_is_written(tmp_path: Path, device: str, reason: str) -> None:
    async def look(selections: Sequence[str]) -> tuple[Disk, ...]:
        return tuple(Disk(path=each, device=device, name="S1") for each in selections)

    door, runtime = FakeDoor(), FakeRuntime({IMAGE: Program()})
    offer = replace(CHOOSING, action=with_spec(CHOOSING.action, wipes=("serial=S1",)))
    here = replace(machine(runtime, door, tmp_path), find_disk=Disks().find, look=look)
    outcome = await AttemptRun(here, offer).outcome()
    assert outcome is not None
    assert outcome.reason == reason
    assert [disk.device for looked in door.looked for disk in looked.disks] == ([] if reason else ["/dev/vdb"])


async def test_a_disk_that_is_named_by_its_path_is_the_one_that_is_written(tmp_path: Path) -> None:
    async def look(selections: Sequence[str]) -> tuple[Disk, ...]:
        return tuple(Disk(path=each, name="S1") for each in selections)

    offer = replace(CHOOSING, action=with_spec(CHOOSING.action, disk="/dev/vdb", wipes=("/dev/vdb", "/dev/vdc")))
    here = replace(machine(FakeRuntime({IMAGE: Program()}), FakeDoor(), tmp_path), find_disk=Disks().find, look=look)
    outcome = await AttemptRun(here, offer).outcome()
    assert outcome is not None
    assert outcome.state is State.SUCCESS
