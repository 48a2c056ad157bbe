"""A clock that is wrong deletes nothing for its age."""

import logging
from datetime import timedelta
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance
from tinkbox.engine.audit.audit import Audit
from tinkbox.engine.clock_trust import ClockTrust
from tinkbox.engine.shells.shells import Shells
from tinkbox.engine.workflows.retention import Retainer
from tinkbox.model.audit import Act, Kind
from tinkbox.model.retention import Retention

ACT = Act(kind=Kind.ASKED, who="anna", how="token", source="192.0.2.1", what="POST /v1/hardware")
HOUR, DAY = 3600.0, 86_400.0
YEARS = 86_400.0 * 365 * 24


def trust(box: Appliance) -> ClockTrust:
    """As a start makes it."""
    return ClockTrust(box.store, box.clock, box.clock.steady)


async def test_nothing_is_deleted_in_the_first_hour(box: Appliance) -> None:
    await box.audit.begin(ACT)
    box.clock.forward(DAY * 10)
    made = trust(box)
    assert not await made.may_delete()
    box.clock.forward(HOUR - 1)
    assert not await made.may_delete()
    box.clock.forward(1)
    assert await made.may_delete()


async def test_start_with_a_clock_that_is_years_ahead_deletes_nothing_for_a_day_whatever_is_stored_meanwhile(
    box: Appliance, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    await box.audit.begin(ACT)
    box.clock.jump(YEARS)
    for _ in range(3):  # each a start
        made = trust(box)
        await box.audit.begin(ACT)
        box.clock.forward(HOUR * 2)
        assert not await made.may_delete()
    box.clock.forward(HOUR * 18 - 1)
    assert not await made.may_delete()
    box.clock.forward(1)
    assert await made.may_delete()
    assert "the clock says 2050-" in caplog.text


async def test_clock_that_is_set_right_again_is_believed_after_an_hour(box: Appliance) -> None:
    await box.audit.begin(ACT)
    box.clock.jump(YEARS)
    await box.audit.begin(ACT)
    box.clock.jump(-YEARS)
    box.clock.forward(DAY * 2)
    made = trust(box)
    box.clock.forward(HOUR)
    assert await made.may_delete()


async def test_clock_that_jumps_ahead_later_is_doubted_for_a_day(box: Appliance) -> None:
    await box.audit.begin(ACT)
    made = trust(box)
    box.clock.forward(HOUR)
    assert await made.may_delete()
    box.clock.jump(YEARS)
    assert not await made.may_delete()
    box.clock.forward(DAY - 1)
    assert not await made.may_delete()
    box.clock.forward(1)
    assert await made.may_delete()


async def test_box_that_nothing_happens_to_is_believed(box: Appliance) -> None:
    await box.audit.begin(ACT)
    made = trust(box)
    box.clock.forward(HOUR)
    assert await made.may_delete()
    box.clock.forward(DAY * 400)
    assert await made.may_delete()


async def test_lines_workflows_and_recordings_outlive_a_start_in_another_year(box: Appliance, tmp_path: Path) -> None:
    worker = await box.machine(1)
    made = await box.workflow()
    await box.finish(worker)
    await box.audit.begin(ACT)
    recording = tmp_path / "recordings" / made / "s1.cast"
    recording.parent.mkdir(parents=True)
    recording.write_text("{}")
    box.clock.jump(YEARS)
    trusted = trust(box)
    audit = Audit(box.store, box.wakeups, box.clock, box.clock.steady, None, timedelta(days=730), trusted)
    shells = Shells(
        box.store, box.wakeups, box.clock, str, str, tmp_path / "recordings", box.breakpoints.touch, box.masks,
        box.shell_drivers, kept=timedelta(days=30), clock_trust=trusted,
    )  # fmt: skip
    retainer = Retainer(
        box.store, box.wakeups, box.machines, box.clock, Retention(newest=0), shells.forget_recordings, lambda: 2**40,
        (shells.forget_old_recordings,), clock_trust=trusted,
    )  # fmt: skip
    assert (await retainer.look(), await audit.delete_old()) == (0, 0)
    assert recording.exists()
    box.clock.forward(DAY)
    assert (await retainer.look(), await audit.delete_old()) == (1, 1)
    assert not recording.exists()
