"""Offers, reports, output and data: at least once on the wire, exactly once in effect."""

import asyncio
from dataclasses import replace

import pytest

from tests.integration.engine.appliance import RELAY, Appliance
from tests.integration.engine.serving import packed
from tinkbox.model.errors import Conflict, Denied, Invalid, NotFound, TooLarge
from tinkbox.model.workflow import Outcome, State
from tinkbox.store.output import HEAD, TAIL
from tinkbox.wire.ephemeral_limits import MAX_ARCHIVE_BYTES, MAX_DATA_BYTES
from tinkbox.wire.messages.worker import Hello, Offer, Report


async def started(box: Appliance, number: int = 1) -> tuple[str, Offer]:
    worker = await box.machine(number)
    await box.workflow(device_1=number)
    offer = await box.offer(worker)
    assert offer is not None
    return worker, offer


async def test_a_worker_that_comes_back_gets_the_same_attempt(box: Appliance) -> None:
    worker, offer = await started(box)
    box.clock.forward(10)
    again = await box.offer(worker)
    assert again is not None
    assert (again.attempt, again.action) == (offer.attempt, offer.action)
    assert again.remaining == offer.remaining - 10 == 50
    box.clock.forward(1000)
    late = await box.offer(worker)
    assert late is not None
    assert (late.attempt, late.remaining) == (offer.attempt, 0)


async def test_two_polls_at_once_are_one_attempt(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow()
    async with asyncio.TaskGroup() as group:
        polls = [group.create_task(box.offer(worker)) for _ in range(8)]
    assert len({poll.result().attempt for poll in polls if poll.result() is not None}) == 1


async def test_work_is_due_before_anything_is_begun_and_then_offered(box: Appliance) -> None:
    worker, hello = await box.machine(1), Hello(boot_id="boot-1")
    assert await box.attempts.is_due(worker, hello) is None
    workflow = await box.workflow()
    assert await box.attempts.is_due(worker, hello)
    assert await box.attempts.is_due(worker, replace(hello, finishing=True)) is None
    assert (await box.workflows.get(workflow)).state is State.PENDING
    assert await box.attempts.offer(worker, hello) is not None


async def test_an_attempt_of_before_the_boot_is_due(box: Appliance) -> None:
    worker, _ = await started(box)
    assert await box.attempts.is_due(worker, Hello(boot_id="boot-1"))
    assert await box.attempts.is_due(worker, Hello(boot_id="boot-2"))
    assert await box.attempts.offer(worker, Hello(boot_id="boot-2")) is None
    assert await box.attempts.is_due(worker, Hello(boot_id="boot-2")) is None


async def test_a_machine_that_rebooted_in_the_middle_of_an_action_has_it_failed_not_repeated(box: Appliance) -> None:
    worker, offer = await started(box)
    assert await box.offer(worker, boot_id="boot-2") is None
    workflow = await box.workflows.get(offer.workflow_id)
    assert workflow.state is State.FAILED
    outcome = workflow.actions[0].outcome
    assert outcome is not None
    assert outcome.reason == "WorkerLost"
    with pytest.raises(Conflict, match="too late"):
        await box.report(worker, offer)


async def test_a_machine_that_lost_an_action_goes_on_with_its_next_workflow_at_once(box: Appliance) -> None:
    worker, lost = await started(box)
    waiting = await box.workflow()
    offer = await box.offer(worker, boot_id="boot-2")
    assert offer is not None
    assert offer.workflow_id == waiting
    assert (await box.workflows.get(lost.workflow_id)).state is State.FAILED


async def test_a_reboot_between_two_actions_loses_nothing(box: Appliance) -> None:
    worker, offer = await started(box)
    await box.report(worker, offer)
    following = await box.offer(worker, boot_id="boot-2")
    assert following is not None
    assert following.action.spec.name == "second"


async def test_a_machine_that_is_about_to_go_away_ends_what_it_began_and_begins_nothing(box: Appliance) -> None:
    worker, offer = await started(box)
    finishing = Hello(boot_id="boot-1", finishing=True)
    again = await box.attempts.offer(worker, finishing)
    assert again is not None
    assert again.attempt == offer.attempt
    await box.report(worker, offer)
    assert await box.attempts.offer(worker, finishing) is None
    following = await box.offer(worker)
    assert following is not None
    assert following.action.spec.name == "second"


async def test_the_same_report_again_gets_the_same_answer(box: Appliance) -> None:
    worker, offer = await started(box)
    for _ in range(3):
        await box.report(worker, offer, State.SUCCESS, exit_code=0)
    events = [event.kind for event in await box.workflows.events(offer.workflow_id)]
    assert events.count("action.succeeded") == 1
    with pytest.raises(Conflict, match="too late"):
        await box.report(worker, offer, State.FAILED, exit_code=1)


async def test_another_machines_attempt_is_not_there(box: Appliance) -> None:
    _, offer = await started(box, 1)
    stranger = await box.machine(2)
    with pytest.raises(NotFound):
        await box.report(stranger, offer)
    with pytest.raises(NotFound):
        await box.attempts.output(stranger, offer.attempt, 0, b"x")
    with pytest.raises(NotFound):
        await box.data(stranger, offer.attempt)
    with pytest.raises(NotFound):
        await box.attempts.keep_data(stranger, offer.attempt, b"x")


async def test_a_machine_that_was_forgotten_since_it_showed_its_credential_is_denied(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.machines.delete(worker)
    with pytest.raises(Denied, match="deleted meanwhile"):
        await box.offer(worker)


async def test_a_report_on_the_wrong_workflow_is_refused(box: Appliance) -> None:
    worker, offer = await started(box)
    report = Report(workflow_id="other", boot_id="b", outcome=Outcome(state=State.SUCCESS))
    with pytest.raises(Conflict):
        await box.attempts.report(worker, offer.attempt, report)


async def test_a_waiting_worker_is_woken_by_a_new_workflow(box: Appliance) -> None:
    worker = await box.machine(1)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(box.attempts.wait(worker, 60))
        await asyncio.sleep(0)
        await box.workflow()
        await waiting


async def test_a_waiting_worker_is_woken_when_another_machine_has_done_its_part(box: Appliance) -> None:
    first, second = await box.machine(1), await box.machine(2)
    await box.workflow(RELAY, a=1, b=2)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(box.attempts.wait(second, 60))
        await asyncio.sleep(0)
        await box.finish(first)
        await waiting


async def test_who_follows_a_workflow_is_woken_by_its_output(box: Appliance) -> None:
    worker, offer = await started(box)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(box.workflows.changed(60))
        await asyncio.sleep(0)
        await box.attempts.output(worker, offer.attempt, 0, b"hello")
        await waiting


async def printed(box: Appliance, offer: Offer) -> bytes:
    (output,) = await box.workflows.output(offer.workflow_id, {})
    return b"".join(piece.chunk for piece in output.pieces)


async def test_output_is_taken_by_offset_without_gaps_or_repetition(box: Appliance) -> None:
    worker, offer = await started(box)
    take = box.attempts.output
    assert await take(worker, offer.attempt, 0, b"hello ") == 6
    assert await take(worker, offer.attempt, 0, b"hello ") == 6
    assert await take(worker, offer.attempt, 3, b"lo world") == 11
    assert await take(worker, offer.attempt, 99, b"gap") == 11
    assert await take(worker, offer.attempt, 0, b"") == 11
    assert await printed(box, offer) == b"hello world"
    (rest,) = await box.workflows.output(offer.workflow_id, {offer.attempt: 8})
    assert [(piece.start, piece.chunk) for piece in rest.pieces] == [(8, b"rld")]


@pytest.mark.parametrize("state", [State.SUCCESS, State.FAILED])
async def test_nothing_is_added_to_the_output_of_an_attempt_that_is_over(box: Appliance, state: State) -> None:
    worker, offer = await started(box)
    length = await box.attempts.output(worker, offer.attempt, 0, b"the true end\n")
    await box.report(worker, offer, state)
    for boot in ("boot-1", "boot-2"):
        await box.offer(worker, boot)
        with pytest.raises(Conflict, match="is over: its output is not taken any more"):
            await box.attempts.output(worker, offer.attempt, length, b"all fine\n" * 70_000)
    assert (await box.workflows.output(offer.workflow_id, {}))[0].pieces[-1].chunk == b"the true end\n"


async def test_a_later_boot_adds_nothing_to_what_an_attempt_hands_in_that_it_did_not_begin(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.session(worker)
    await box.workflow()
    offer = await box.offer(worker)
    assert offer is not None
    assert await box.attempts.output(worker, offer.attempt, 0, b"hello\n") == 6
    await box.session(worker, "boot-2")
    with pytest.raises(Conflict, match="belongs to another session"):
        await box.attempts.output(worker, offer.attempt, 6, b"all fine\n")
    with pytest.raises(Conflict, match="belongs to another session"):
        await box.attempts.keep_data(worker, offer.attempt, packed({"a": "forged"}))
    assert await printed(box, offer) == b"hello\n"


async def test_endless_output_keeps_its_head_and_its_tail(box: Appliance) -> None:
    worker, offer = await started(box)
    chunk, length = b"x" * 65_536, 0
    while length < 4 * (HEAD + TAIL):
        length = await box.attempts.output(worker, offer.attempt, length, chunk)
    assert await box.attempts.output(worker, offer.attempt, length, b"the end") == length + 7
    (output,) = await box.workflows.output(offer.workflow_id, {})
    kept = sum(len(piece.chunk) for piece in output.pieces)
    assert HEAD + TAIL <= kept <= HEAD + TAIL + 2 * len(chunk)
    assert output.pieces[0].start == 0
    assert output.pieces[-1].chunk.endswith(b"the end")
    assert output.attempt.output_length == length + 7


async def test_the_last_line_printed_is_in_the_status(box: Appliance) -> None:
    worker, offer = await started(box)
    await box.attempts.output(worker, offer.attempt, 0, b"one\n10 %\r20 %\r")
    (line,) = (await box.overview.snapshot("1")).workflows
    assert line.running is not None
    assert line.running.last_output == "20 %"


async def test_data_is_kept_by_version_and_the_newest_three_stay(box: Appliance) -> None:
    worker, offer = await started(box)
    assert await box.data(worker, offer.attempt) == b""
    for number in range(1, 6):
        archive = packed({"a": f"version {number}"})
        assert await box.attempts.keep_data(worker, offer.attempt, archive) == number
        assert await box.attempts.keep_data(worker, offer.attempt, archive) == number
    assert await box.data(worker, offer.attempt) == packed({"a": "version 5"})
    third = await box.workflows.data(offer.workflow_id, 3)
    assert third is not None
    assert third.archive == packed({"a": "version 3"})
    with pytest.raises(NotFound, match=r"kept: 3, 4, 5"):
        await box.workflows.data(offer.workflow_id, 2)


async def test_too_much_data_is_refused_and_the_former_version_stays(box: Appliance) -> None:
    worker, offer = await started(box)
    await box.attempts.keep_data(worker, offer.attempt, packed({"a": "small"}))
    with pytest.raises(TooLarge):
        await box.attempts.keep_data(worker, offer.attempt, b"x" * (MAX_ARCHIVE_BYTES + 1))
    assert await box.data(worker, offer.attempt) == packed({"a": "small"})
    largest = packed({"a": "x" * MAX_DATA_BYTES}).ljust(MAX_ARCHIVE_BYTES, b"\0")
    assert await box.attempts.keep_data(worker, offer.attempt, largest) == 2


@pytest.mark.parametrize("archive", [b"x" * 512, packed({"d/" * 65 + "f": ""}), packed({"../f": ""})])
async def test_data_that_nobody_can_unpack_is_refused_and_the_former_version_stays(
    box: Appliance, archive: bytes
) -> None:
    worker, offer = await started(box)
    former = packed({"a": "1"})
    await box.attempts.keep_data(worker, offer.attempt, former)
    with pytest.raises(Invalid):
        await box.attempts.keep_data(worker, offer.attempt, archive)
    assert await box.data(worker, offer.attempt) == former


async def test_data_of_an_attempt_that_is_over_is_not_taken(box: Appliance) -> None:
    worker, offer = await started(box)
    await box.report(worker, offer)
    with pytest.raises(Conflict):
        await box.attempts.keep_data(worker, offer.attempt, packed({"a": "late"}))


def ended(offer: Offer, boot_id: str = "boot-1", *, finishing: bool = False, asks_as: str = "boot-1") -> Report:
    """A success that asks what comes next."""
    return Report(
        workflow_id=offer.workflow_id,
        boot_id=boot_id,
        outcome=Outcome(state=State.SUCCESS, exit_code=0),
        next=Hello(boot_id=asks_as, finishing=finishing),
    )


async def test_a_report_that_asks_is_answered_with_what_comes_next_until_nothing_does(box: Appliance) -> None:
    worker, offer = await started(box)
    await box.workflow()
    names = []
    following: Offer | None = offer
    while following is not None:
        names.append(following.action.spec.name)
        following = await box.attempts.report(worker, following.attempt, ended(following))
    assert names == ["hello_world", "second"] * 2
    assert await box.offer(worker) is None


async def test_a_report_whose_answer_was_lost_offers_the_same_attempt_again(box: Appliance) -> None:
    worker, offer = await started(box)
    first = await box.attempts.report(worker, offer.attempt, ended(offer))
    assert first is not None
    again = await box.attempts.report(worker, offer.attempt, ended(offer))
    polled = await box.offer(worker)
    assert again is not None
    assert polled is not None
    assert first.attempt == again.attempt == polled.attempt != offer.attempt
    assert len(await box.workflows.attempts(offer.workflow_id)) == 2


async def test_a_report_of_a_machine_that_goes_away_begins_nothing(box: Appliance) -> None:
    worker, offer = await started(box)
    assert await box.attempts.report(worker, offer.attempt, ended(offer, finishing=True)) is None
    assert [each.state for each in (await box.workflows.get(offer.workflow_id)).actions] == ["SUCCESS", "PENDING"]


async def test_a_report_that_asks_for_another_boot_is_taken_and_offers_nothing(box: Appliance) -> None:
    worker, offer = await started(box)
    assert await box.attempts.report(worker, offer.attempt, ended(offer, asks_as="boot-0")) is None
    assert [each.state for each in (await box.workflows.get(offer.workflow_id)).actions] == ["SUCCESS", "PENDING"]
    # The machine's own worker is not taken for that of an earlier boot.
    assert await box.offer(worker) is not None


async def test_a_report_that_is_refused_offers_nothing(box: Appliance) -> None:
    worker, offer = await started(box)
    with pytest.raises(Conflict, match="another boot"):
        await box.attempts.report(worker, offer.attempt, ended(offer, boot_id="boot-0"))
    assert len(await box.workflows.attempts(offer.workflow_id)) == 1


async def test_an_offer_says_that_there_is_no_data_as_long_as_nobody_could_write_some(box: Appliance) -> None:
    worker, offer = await started(box)
    assert offer.no_data
    await box.attempts.keep_data(worker, offer.attempt, packed({"a": ""}))
    following = await box.attempts.report(worker, offer.attempt, ended(offer))
    assert following is not None
    assert not following.no_data
    wipes = RELAY.replace("{name: one, image: x}", "{name: one, image: x, wipes: [/dev/sda]}")
    other = await box.machine(2)
    await box.workflow(wipes, a=2, b=1)
    wiping = await box.offer(other)
    assert wiping is not None
    assert not wiping.no_data


async def test_an_action_with_a_network_is_not_begun_by_a_worker_that_does_not_know_networks(box: Appliance) -> None:
    text = RELAY.replace("{name: one, image: x}", "{name: one, image: x, retries: 1, namespaces: {network: none}}")
    worker, _ = await box.machine(1), await box.machine(2)
    workflow_id = await box.workflow(text, a=1, b=2)
    assert await box.attempts.offer(worker, Hello(boot_id="boot-1")) is None
    last = (await box.workflows.attempts(workflow_id))[-1]
    assert last.outcome is not None
    assert (last.outcome.state, last.outcome.reason) == (State.FAILED, "WorkerOutdated")
    await box.workflows.retry(workflow_id)
    offer = await box.attempts.offer(worker, Hello(boot_id="boot-1", networks=True))
    assert offer is not None
    assert offer.action.spec.network == "none"


async def test_an_action_that_left_and_is_tried_again_leaves_its_machine_where_it_is(box: Appliance) -> None:
    text = RELAY.replace("{name: one, image: x}", "{name: one, image: x, reboot: true, retries: 1}")
    worker, _ = await box.machine(1), await box.machine(2)
    await box.workflow(text, a=1, b=2)
    offer = await box.offer(worker)
    assert offer is not None
    await box.leave(worker, offer)
    failed = Report(
        workflow_id=offer.workflow_id,
        boot_id="boot-1",
        outcome=Outcome(state=State.FAILED, reason="NonZeroExit", exit_code=1),
        next=Hello(boot_id="boot-1"),
    )
    again = await box.attempts.report(worker, offer.attempt, failed)
    assert again is not None
    assert again.action.spec.name == "one"
    record = box.machines.known.get(worker)
    assert record is not None
    assert (record.leaving, record.wanted) == ("", True)


async def test_offers_are_counted_whichever_way_they_go(box: Appliance) -> None:
    worker, offer = await started(box)
    assert await box.attempts.report(worker, offer.attempt, ended(offer)) is not None
    await box.offer(worker)
    assert box.attempts.offered == 3
