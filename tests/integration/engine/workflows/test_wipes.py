"""Whether an attempt may wipe its disks: asked by the worker, decided by the appliance, remembered at its end."""

from dataclasses import replace

import pytest

from tests.integration.engine.appliance import Appliance
from tinkbox.model.disks.disks import Content, Disk, Refused
from tinkbox.model.errors import Conflict, NotFound
from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.disks import Looked
from tinkbox.wire.messages.worker import Offer, Report

WIPE = """\
version: "0.1"
name: wipe
tasks:
  - name: install
    worker: "{{.device_1}}"
    actions:
      - {name: write, image: x, timeout: 60, wipes: [/dev/sda]}
      - {name: last, image: x, timeout: 60}
"""
BOTH = WIPE.replace("[/dev/sda]", "[/dev/sda, /dev/sdb]")
THEIRS = Content(kind="ext4", id="theirs", label="photos")
OURS = Content(kind="GPT", id="ours")
EMPTY = Disk(path="/dev/sda", name="WD-1", size=1 << 30)
FULL = replace(EMPTY, contents=(THEIRS,))
INSTALLED = replace(EMPTY, contents=(OURS,))
DONE = Outcome(state=State.SUCCESS, exit_code=0)
BAD = Outcome(state=State.FAILED, reason="NonZeroExit", exit_code=1)


async def asked(
    box: Appliance, offer: Offer, *disks: Disk, worker: str | None = None, boot_id: str = "boot-1"
) -> Refused | None:
    looked = Looked(workflow_id=offer.workflow_id, boot_id=boot_id, disks=disks)
    return await box.attempts.may_wipe(worker or offer.action.worker, offer.attempt, looked)


async def reported(box: Appliance, offer: Offer, outcome: Outcome, *disks: Disk) -> None:
    report = Report(workflow_id=offer.workflow_id, boot_id="boot-1", outcome=outcome, disks=disks)
    await box.attempts.report(offer.action.worker, offer.attempt, report)


async def begun(
    box: Appliance, text: str = WIPE, machine: int = 1, *, boot_id: str = "boot-1", confirm_wipe: bool = False
) -> Offer:
    """The offer of a new workflow's first action."""
    if not [each for each in await box.machines.all() if each.hardware.id.endswith(str(machine))]:
        await box.machine(machine)
    template = await box.templates.create(f"t-{next(box.numbers)}", text)
    await box.workflows.create(template, {"device_1": f"08:00:27:00:00:0{machine}"}, confirm_wipe=confirm_wipe)
    return await offered(box, machine, boot_id)


async def offered(box: Appliance, machine: int = 1, boot_id: str = "boot-1") -> Offer:
    (worker,) = [each.hardware.id for each in await box.machines.all() if each.hardware.id.endswith(str(machine))]
    offer = await box.offer(worker, boot_id)
    assert offer is not None
    return offer


async def over(box: Appliance, offer: Offer) -> None:
    """Let the workflow's other action succeed."""
    following = await offered(box)
    assert following.workflow_id == offer.workflow_id
    await reported(box, following, DONE)


async def test_an_empty_disk_is_wiped_and_what_is_written_may_be_wiped_by_the_next_workflow(box: Appliance) -> None:
    first = await begun(box)
    assert first.action.spec.wipes == ("/dev/sda",)
    assert await asked(box, first, EMPTY) is None
    await reported(box, first, DONE, INSTALLED)
    await over(box, first)
    second = await begun(box)
    assert await asked(box, second, INSTALLED) is None


async def test_a_disk_with_something_on_it_is_refused_with_what_it_is(box: Appliance) -> None:
    offer = await begun(box)
    refused = await asked(box, offer, FULL)
    assert refused is not None
    assert refused.reason == Reason.DISK_NOT_EMPTY
    assert 'ext4 "photos"' in refused.message
    assert f"tinkbox workflow retry {offer.workflow_id} --confirm-wipe" in refused.message
    # Refused, it changes nothing: neither by its end nor by asking again.
    await reported(box, offer, Outcome(state=State.FAILED, reason=Reason.DISK_NOT_EMPTY), FULL)
    await box.workflows.retry(offer.workflow_id)
    assert await asked(box, await offered(box), FULL) == refused


@pytest.mark.parametrize("when", ["create", "retry"])
async def test_a_persons_word_lets_it_go_at_once_or_when_it_is_taken_up_again(box: Appliance, when) -> None:
    offer = await begun(box, confirm_wipe=when == "create")
    if when == "retry":
        await reported(box, offer, Outcome(state=State.FAILED, reason=Reason.DISK_NOT_EMPTY))
        await box.workflows.retry(offer.workflow_id, confirm_wipe=True)
        offer = await offered(box)
    assert await asked(box, offer, FULL) is None
    await reported(box, offer, DONE, INSTALLED)
    kinds = {event.kind: event.data for event in await box.workflows.events(offer.workflow_id)}
    assert kinds["workflow.created" if when == "create" else "workflow.retried"]["wipe_confirmed"] is True


async def test_the_word_for_one_workflow_is_none_for_the_next(box: Appliance) -> None:
    first = await begun(box, confirm_wipe=True)
    assert await asked(box, first, FULL) is None
    await reported(box, first, DONE, INSTALLED)
    await over(box, first)
    second = await begun(box)
    refused = await asked(box, second, replace(FULL, contents=(OURS, THEIRS)))
    assert refused is not None
    assert "ext4" in refused.message
    assert "GPT" not in refused.message


async def test_who_succeeded_answers_also_for_what_looks_as_it_did_before(box: Appliance) -> None:
    first = await begun(box, confirm_wipe=True)
    assert await asked(box, first, FULL) is None
    await reported(box, first, DONE, FULL)  # the same image again, with the same ids
    await over(box, first)
    assert await asked(box, await begun(box), FULL) is None


async def test_a_try_that_failed_may_be_followed_by_another(box: Appliance) -> None:
    first = await begun(box)
    assert await asked(box, first, EMPTY) is None
    await reported(box, first, BAD, INSTALLED)
    await box.workflows.retry(first.workflow_id)
    again = await offered(box)
    assert await asked(box, again, INSTALLED) is None
    await reported(box, again, BAD, INSTALLED)
    await box.workflows.delete(first.workflow_id)
    assert await asked(box, await begun(box), INSTALLED) is None


async def test_a_word_that_came_to_nothing_is_no_word_for_what_was_not_touched(box: Appliance) -> None:
    first = await begun(box, confirm_wipe=True)
    assert await asked(box, first, FULL) is None
    await reported(box, first, BAD, FULL)
    await box.workflows.delete(first.workflow_id)
    refused = await asked(box, await begun(box), FULL)
    assert refused is not None


async def test_a_machine_that_is_lost_while_it_writes_may_write_again_in_the_same_workflow_only(box: Appliance) -> None:
    first = await begun(box)
    assert await asked(box, first, EMPTY) is None
    assert await box.offer(first.action.worker, "boot-2") is None  # it booted again: the attempt is lost
    await box.workflows.retry(first.workflow_id)
    again = await offered(box, boot_id="boot-2")
    assert await asked(box, again, INSTALLED, boot_id="boot-2") is None
    assert await box.offer(again.action.worker, "boot-3") is None
    await box.workflows.delete(first.workflow_id)
    another = await begun(box, boot_id="boot-3")
    assert await asked(box, another, INSTALLED, boot_id="boot-3") is not None


async def test_a_worker_that_does_not_ask_never_begins(box: Appliance) -> None:
    offer = await begun(box)
    with pytest.raises(Conflict, match="build the OSIE of this version"):
        await box.data(offer.action.worker, offer.attempt)
    assert await asked(box, offer, FULL) is not None
    with pytest.raises(Conflict, match="did not look"):
        await box.data(offer.action.worker, offer.attempt)
    assert await asked(box, offer, EMPTY) is None
    assert await box.data(offer.action.worker, offer.attempt) == b""
    await reported(box, offer, DONE, INSTALLED)
    other = await offered(box)
    assert await box.data(other.action.worker, other.attempt) == b""


async def test_every_disk_must_be_free_before_any_is_wiped(box: Appliance) -> None:
    offer = await begun(box, BOTH)
    other = Disk(path="/dev/sdb", name="WD-2", size=1 << 30, contents=(THEIRS,))
    refused = await asked(box, offer, EMPTY, other)
    assert refused is not None
    assert refused.message.startswith("/dev/sdb (WD-2")
    await reported(box, offer, BAD, INSTALLED, other)
    assert await box.store.read(lambda tables: tables.disks.written_by(offer.attempt)) == {}


async def test_a_disk_that_is_not_there_is_refused_whoever_confirmed(box: Appliance) -> None:
    offer = await begun(box, confirm_wipe=True)
    gone = Disk(path="/dev/sda", reason=Reason.NO_SUCH_DISK, problem="there is no /dev/sda on this machine")
    assert await asked(box, offer, gone) == Refused(
        reason=Reason.NO_SUCH_DISK, message="there is no /dev/sda on this machine"
    )


async def test_a_disk_that_vanished_meanwhile_is_not_forgotten(box: Appliance) -> None:
    first = await begun(box)
    assert await asked(box, first, EMPTY) is None
    await reported(box, first, BAD, replace(EMPTY, problem="it cannot be read any more"))
    await box.workflows.retry(first.workflow_id)
    assert await asked(box, await offered(box), INSTALLED) is None


async def test_only_the_attempt_itself_is_answered_and_only_for_its_own_disks(box: Appliance) -> None:
    offer = await begun(box)
    await box.machine(2)
    with pytest.raises(NotFound):
        await asked(box, offer, EMPTY, worker="another")
    with pytest.raises(Conflict, match="wipes /dev/sda, by its template"):
        await asked(box, offer, replace(EMPTY, path="/dev/sdb"))
    with pytest.raises(Conflict, match="by its template"):
        await asked(box, offer)
    with pytest.raises(Conflict, match="another boot"):
        await asked(box, offer, EMPTY, boot_id="boot-9")
    await reported(box, offer, BAD)
    with pytest.raises(Conflict, match="over"):
        await asked(box, offer, EMPTY)


async def test_the_same_disk_in_another_machine_is_another_disk(box: Appliance) -> None:
    first = await begun(box)
    assert await asked(box, first, EMPTY) is None
    await reported(box, first, DONE, INSTALLED)
    second = await begun(box, machine=2)
    assert await asked(box, second, INSTALLED) is not None


async def test_a_report_that_is_sent_again_changes_nothing(box: Appliance) -> None:
    first = await begun(box)
    assert await asked(box, first, EMPTY) is None
    await reported(box, first, DONE, INSTALLED)
    await reported(box, first, DONE, FULL)
    await over(box, first)
    assert await asked(box, await begun(box), FULL) is not None
