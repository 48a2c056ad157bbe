"""How far an action is, as its worker tells the appliance: kept in memory, shown while it runs."""

import pytest

from tests.integration.engine.appliance import HELLO, Appliance
from tinkbox.engine.workflows.running_progress import FORGOTTEN_AFTER
from tinkbox.model.actions.progress import Progress, Told
from tinkbox.model.breakpoint import Kind
from tinkbox.model.errors import Conflict, NotFound
from tinkbox.model.workflow import ActionStatus, State
from tinkbox.wire.messages.breakpoints import Held
from tinkbox.wire.messages.progress import Telling
from tinkbox.wire.messages.worker import Offer


async def begun(box: Appliance, number: int = 1) -> tuple[str, Offer]:
    worker = await box.machine(number)
    await box.workflow(HELLO, device_1=number)
    offer = await box.offer(worker)
    assert offer is not None
    return worker, offer


async def tell(
    box: Appliance,
    worker: str,
    offer: Offer,
    done: int | None,
    total: int = 100,
    unit: str = "bytes",
    boot: str = "boot-1",
) -> None:
    told = None if done is None else Told(done=done, total=total, unit=unit)
    telling = Telling(workflow_id=offer.workflow_id, boot_id=boot, progress=told)
    await box.running_progress.tell(worker, offer.attempt, telling)


async def shown(box: Appliance) -> Progress | None:
    """What status shows of the newest workflow's running action."""
    lines = (await box.overview.snapshot("1")).workflows
    return next((line.running.progress for line in lines if line.running is not None), None)


async def test_a_running_action_is_shown_with_its_rate_and_what_is_left(box: Appliance) -> None:
    worker, offer = await begun(box)
    assert await shown(box) is None
    await tell(box, worker, offer, 20)
    assert await shown(box) == Progress(done=20, total=100, unit="bytes")
    box.clock.forward(2)
    await tell(box, worker, offer, 40)
    assert await shown(box) == Progress(done=40, total=100, unit="bytes", rate=10.0, seconds_left=6)


async def test_it_is_gone_when_the_attempt_ends(box: Appliance) -> None:
    worker, offer = await begun(box)
    await tell(box, worker, offer, 20)
    await box.report(worker, offer, State.FAILED)
    assert await shown(box) is None
    with pytest.raises(Conflict, match="is over"):
        await tell(box, worker, offer, 30)


async def test_the_next_action_begins_without_any(box: Appliance) -> None:
    worker, offer = await begun(box)
    await tell(box, worker, offer, 20)
    await box.report(worker, offer)
    following = await box.offer(worker)
    assert following is not None
    assert await shown(box) is None
    await tell(box, worker, following, 1)
    assert await shown(box) == Progress(done=1, total=100, unit="bytes")


async def test_what_is_taken_back_or_counts_something_else_begins_anew(box: Appliance) -> None:
    worker, offer = await begun(box)
    for done in (20, 40):
        await tell(box, worker, offer, done)
        box.clock.forward(2)
    await tell(box, worker, offer, 5, 7, "files")
    assert await shown(box) == Progress(done=5, total=7, unit="files")
    await tell(box, worker, offer, None)
    assert await shown(box) is None


async def test_while_it_is_held_nothing_is_shown_and_nothing_is_refused(box: Appliance) -> None:
    worker, offer = await begun(box)
    await tell(box, worker, offer, 20)
    held = Held(workflow_id=offer.workflow_id, boot_id="boot-1", sequence=1, kind=Kind.BEFORE)
    await box.breakpoints.held(worker, offer.attempt, held)
    assert await shown(box) is None
    await tell(box, worker, offer, 20)


async def test_only_the_worker_that_is_at_the_attempt_is_heard(box: Appliance) -> None:
    worker, offer = await begun(box)
    other = await box.machine(2)
    with pytest.raises(NotFound):
        await tell(box, other, offer, 20)
    with pytest.raises(Conflict, match="another boot"):
        await tell(box, worker, offer, 20, boot="boot-0")
    await box.session(worker)
    with pytest.raises(Conflict, match="another session"):
        await tell(box, worker, offer, 20)
    assert await shown(box) is None


async def test_what_is_not_repeated_is_forgotten(box: Appliance) -> None:
    worker, offer = await begun(box)
    await tell(box, worker, offer, 20)
    box.clock.forward(FORGOTTEN_AFTER + 1)
    other, offer_2 = await begun(box, 2)
    await tell(box, other, offer_2, 1)
    assert [each is None for each in map(box.running_progress.of, await currents(box))] == [True, False]


async def currents(box: Appliance) -> list[ActionStatus | None]:
    return [flow.current() for flow in await box.workflows.all()]
