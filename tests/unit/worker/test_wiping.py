"""An action that wipes disks: looked at before it begins, asked about, and looked at again at its end."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.worker.actions import ACTION, IMAGE, OFFER, machine, with_spec
from tests.unit.worker.fakes import FakeDoor, FakeRuntime, Faults, Finished
from tests.unit.worker.programs import Program
from tinkbox.model.disks.disks import Content, Disk, Refused
from tinkbox.model.errors import Conflict, Unavailable
from tinkbox.model.workflow import State
from tinkbox.wire.messages.worker import Offer, Report
from tinkbox.worker.main import serve

WIPING = replace(OFFER, action=with_spec(ACTION, wipes=("/dev/sda", "/dev/sdb")))
REFUSED = Refused(reason="DiskNotEmpty", message="/dev/sda holds photos")
AFTER = Content(kind="GPT", id="new")


async def served(folder: Path, door: FakeDoor, offer: Offer = WIPING) -> tuple[FakeRuntime, Report]:
    """A worker's work on this offer; its disks are empty until the action has run."""
    runtime = FakeRuntime({IMAGE: Program()})

    async def look(paths: Sequence[str]) -> tuple[Disk, ...]:
        contents = (AFTER,) if any(each.starts for each in runtime.ever) else ()
        return tuple(Disk(path=path, name=path, contents=contents) for path in paths)

    door.offers = [offer]
    with pytest.raises(Finished):
        await serve(replace(machine(runtime, door, folder), look=look), door)
    return runtime, door.reports["a1"]


async def test_the_appliance_is_asked_before_anything_is_fetched_and_told_how_it_ended(tmp_path: Path) -> None:
    door = FakeDoor()
    runtime, report = await served(tmp_path, door)
    (looked,) = door.looked
    assert [(disk.path, disk.contents) for disk in looked.disks] == [("/dev/sda", ()), ("/dev/sdb", ())]
    assert (looked.workflow_id, looked.boot_id) == ("w1", "boot-1")
    assert report.outcome.state is State.SUCCESS
    assert [(disk.path, disk.contents) for disk in report.disks] == [("/dev/sda", (AFTER,)), ("/dev/sdb", (AFTER,))]
    assert runtime.pulled


async def test_what_is_refused_never_runs_and_fails_with_the_appliances_words(tmp_path: Path) -> None:
    door = FakeDoor()
    door.refused = REFUSED
    runtime, report = await served(tmp_path, door)
    assert (report.outcome.state, report.outcome.reason) == (State.FAILED, "DiskNotEmpty")
    assert report.outcome.message == "/dev/sda holds photos"
    assert (list(runtime.ever), runtime.pulled) == ([], set())


async def test_an_action_that_wipes_nothing_asks_nothing(tmp_path: Path) -> None:
    door = FakeDoor()
    _, report = await served(tmp_path, door, OFFER)
    assert (door.looked, report.disks) == ([], ())


async def test_an_appliance_that_is_away_is_asked_again(tmp_path: Path) -> None:
    undisturbed = FakeDoor()
    await served(tmp_path / "undisturbed", undisturbed)
    at = undisturbed.faults.calls.index("may_wipe")
    door = FakeDoor(faults=Faults(Unavailable("away"), at, after=True))
    runtime, report = await served(tmp_path / "away", door)
    assert len(door.looked) == 2
    assert report.outcome.state is State.SUCCESS
    assert sum(each.starts for each in runtime.ever) == 1


async def test_an_attempt_that_is_over_on_the_appliance_runs_nothing(tmp_path: Path) -> None:
    undisturbed = FakeDoor()
    await served(tmp_path / "undisturbed", undisturbed)
    at = undisturbed.faults.calls.index("may_wipe")
    runtime, report = await served(tmp_path / "over", FakeDoor(faults=Faults(Conflict("it is over"), at)))
    assert report.outcome.state is State.CANCELED
    assert list(runtime.ever) == []


async def test_to_do_without_the_helper_is_no_way_around_it(tmp_path: Path) -> None:
    door = FakeDoor()
    door.refused = REFUSED
    bare = replace(WIPING, action=replace(WIPING.action, spec=replace(WIPING.action.spec, helper=False)))
    runtime, report = await served(tmp_path, door, bare)
    assert report.outcome.reason == "DiskNotEmpty"
    assert list(runtime.ever) == []
