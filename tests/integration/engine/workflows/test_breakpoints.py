"""Breakpoints: armed before and while a workflow runs, shown, and seen by whoever is to keep them."""

import asyncio
from datetime import timedelta

import pytest

from tests.integration.engine.appliance import Appliance
from tests.integration.engine.holding import FAILING, FAILURE, FLOW, SUCCESS, begun
from tinkbox.engine.workflows.breakpoints import Change
from tinkbox.model.breakpoint import Armed, Breakpoints, Kind, Verb, Verdict
from tinkbox.model.errors import Conflict, Invalid, NotFound
from tinkbox.model.shells import ShellWish
from tinkbox.model.workflow import Outcome, State
from tinkbox.store.shells import Session
from tinkbox.wire.messages.breakpoints import Orders

RETRYING = FLOW.replace("name: disk, image: x, timeout: 60", "name: disk, image: x, timeout: 60, retries: 1")
ARMED = FLOW.replace(
    "tasks:", "breakpoint: {onFailure: true, before: [grub], timeout: 90s, onExpiry: continue}\ntasks:", 1
)


async def test_nothing_holds_a_workflow_unless_somebody_armed_it(box: Appliance) -> None:
    work = await begun(box)
    assert (work.offer.armed, await work.orders()) == (Armed(), Orders())
    assert (await box.breakpoints.standing(work.key)).breakpoints == Breakpoints()
    assert await box.breakpoints.all() == []
    assert await work.events("breakpoint") == []


async def test_a_template_arms_its_breakpoints_and_a_person_more(box: Appliance) -> None:
    worker = await box.machine(1)
    plain = await box.workflow(ARMED)
    of_template = Breakpoints(on_failure=True, before=("install/grub",), timeout=90, on_expiry=Verb.CONTINUE)
    assert (await box.breakpoints.standing(plain)).breakpoints == of_template
    template = (await box.workflows.get(plain)).template_id
    change = Change(on_failure=False, after=("install/disk",), timeout=600)
    key = await box.workflows.create(template, {"device_1": "08:00:27:00:00:01"}, breakpoints=change, who="anna")
    standing = await box.breakpoints.standing(key)
    assert standing.breakpoints == Breakpoints(
        before=("install/grub",), after=("install/disk",), timeout=600, on_expiry=Verb.CONTINUE
    )
    told = [event.data["who"] for event in await box.workflows.events(key) if event.kind == "breakpoint.armed"]
    assert told == ["the template", "anna"]
    offer = await box.offer(worker)
    assert offer is not None
    assert (offer.workflow_id, offer.armed) == (plain, Armed(on_failure=True))
    with pytest.raises(NotFound, match="no action nowhere"):
        await box.workflows.create(
            template, {"device_1": "08:00:27:00:00:01"}, breakpoints=Change(before=("nowhere",)), who="anna"
        )
    assert len(await box.workflows.all()) == 2


async def test_what_is_armed_while_an_action_runs_reaches_it_and_so_does_that_it_is_cleared(box: Appliance) -> None:
    work = await begun(box)
    change = Change(on_failure=True, before=("grub",), after=("install/disk",))
    armed = await box.breakpoints.arm(work.key, change, "anna")
    assert armed == Breakpoints(on_failure=True, before=("install/grub",), after=("install/disk",))
    assert (await work.orders()).armed == Armed(on_failure=True, after=True)
    assert (await work.told("breakpoint.armed"))["who"] == "anna"
    cleared = await box.breakpoints.clear(work.key, Change(after=("disk",)), "ben")
    assert cleared == Breakpoints(on_failure=True, before=("install/grub",))
    assert (await work.orders()).armed == Armed(on_failure=True)
    assert await box.breakpoints.clear(work.key, None, "ben") == Breakpoints()
    assert (await work.orders()).armed == Armed()
    assert (await work.told("breakpoint.cleared"))["who"] == "ben"
    await box.breakpoints.arm(work.key, change, "anna")
    await work.report(SUCCESS)
    offer = await work.again()
    assert offer is not None
    assert offer.armed == Armed(on_failure=True, before=True)
    assert "breakpoint.refused" not in await work.events()


async def test_its_worker_is_woken_by_every_change_and_verdict(box: Appliance) -> None:
    work = await begun(box)

    for change in (
        lambda: box.breakpoints.arm(work.key, FAILING, "anna"),
        lambda: box.breakpoints.clear(work.key, None, "anna"),
        work.held,
        lambda: work.decide(Verb.RETRY),
        work.resumed,
    ):
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            waiting = group.create_task(box.attempts.wait(work.worker, 60))
            following = group.create_task(box.workflows.changed(60))
            await asyncio.sleep(0)
            await change()
            await waiting
            await following


async def test_a_failure_is_held_only_when_no_retry_follows(box: Appliance) -> None:
    work = await begun(box, RETRYING, change=Change(on_failure=True, before=("disk",)))
    assert work.offer.armed == Armed(before=True)
    assert (await work.orders()).armed == Armed(before=True)
    await work.report(FAILURE)
    offer = await work.again()
    assert offer is not None
    assert offer.armed == Armed(before=True, on_failure=True)
    assert "breakpoint.refused" not in await work.events()


async def test_nothing_is_to_be_held_in_a_workflow_that_is_stopped(box: Appliance) -> None:
    work = await begun(box, change=FAILING)
    await box.workflows.cancel(work.key)
    assert (await work.orders()).armed == Armed()


async def test_a_worker_that_takes_no_breakpoints_is_sent_none_and_that_is_told(box: Appliance) -> None:
    work = await begun(box, debug=False, change=FAILING)
    assert (work.offer.armed, (await work.orders()).armed) == (Armed(), Armed())
    told = await work.told("breakpoint.refused")
    assert (told["action"], told["attempt"], told["on_failure"], told["before"]) == (
        "disk", work.offer.attempt, True, False,
    )  # fmt: skip
    await box.breakpoints.arm(work.key, Change(before=("grub",)), "anna")
    await box.breakpoints.clear(work.key, FAILING, "anna")
    await box.breakpoints.arm(work.key, Change(before=("grub",)), "anna")
    assert (await work.events("breakpoint")).count("breakpoint.refused") == 2, "said when it concerns what runs now"
    offer = await work.again(debug=True)
    assert offer is not None
    assert offer.attempt == work.offer.attempt
    await box.breakpoints.arm(work.key, Change(after=("disk",)), "anna")
    assert (await work.orders()).armed == Armed(after=True), "its worker was started anew, and takes them now"


@pytest.mark.parametrize(
    ("change", "refusal", "words"),
    [
        (Change(), Invalid, "nothing to arm"),
        (Change(timeout=0), Invalid, "between 1 and 604800 seconds, not 0"),
        (Change(timeout=604_801), Invalid, "not 604801"),
        (Change(on_expiry=Verb.RETRY), Invalid, "fail, continue, abort, not with retry"),
        (Change(before=("nowhere",)), NotFound, "there is no action nowhere: there are install/disk, install/grub"),
        (Change(after=("install/disk",)), Conflict, "install/disk is done already"),
    ],
)
async def test_what_cannot_be_armed_is_refused_and_changes_nothing(
    box: Appliance, change: Change, refusal: type[Exception], words: str
) -> None:
    work = await begun(box)
    await work.report(SUCCESS)
    with pytest.raises(refusal, match=words):
        await box.breakpoints.arm(work.key, change, "anna")
    assert (await box.breakpoints.standing(work.key)).breakpoints == Breakpoints()
    assert await work.events("breakpoint") == []


async def test_a_workflow_that_failed_can_be_armed_for_its_retry_one_that_succeeded_not(box: Appliance) -> None:
    work = await begun(box)
    await work.report(FAILURE)
    await box.breakpoints.arm(work.key, FAILING, "anna")
    await box.workflows.retry(work.key)
    offer = await work.again()
    assert offer is not None
    assert offer.armed == Armed(on_failure=True)
    await box.finish(work.worker)
    with pytest.raises(Conflict, match="succeeded"):
        await box.breakpoints.arm(work.key, FAILING, "anna")
    assert await box.breakpoints.all() == []


async def test_all_shows_what_is_armed_or_held_and_not_over_oldest_first(box: Appliance) -> None:
    first = await begun(box, number=1)
    await first.held()
    armed = await begun(box, number=2, change=FAILING)
    timeout_only = await begun(box, number=3, change=Change(timeout=60))
    over = await begun(box, number=4, change=FAILING)
    await over.report(FAILURE)
    standings = await box.breakpoints.all()
    assert [each.workflow.id for each in standings] == [first.key, armed.key]
    assert standings[0].hold == await first.hold()
    assert standings[1].breakpoints.on_failure
    assert timeout_only.key not in {each.workflow.id for each in standings}


async def test_a_hold_knows_what_a_person_asks_about_it(box: Appliance) -> None:
    work = await begun(box, change=Change(timeout=600, on_expiry=Verb.ABORT))
    box.clock.forward(5)
    await work.held()
    hold = await work.hold()
    assert (hold.kind, hold.outcome, hold.held_at) == (Kind.FAILURE, FAILURE, box.clock())
    assert (hold.deadline, hold.timeout, hold.on_expiry) == (box.clock() + timedelta(minutes=10), 600, Verb.ABORT)
    told = await work.told("action.held")
    assert (told["breakpoint"], told["exit_code"], told["reason"]) == ("failure", 7, "NonZeroExit")
    assert told["deadline"] == hold.deadline.isoformat()
    (line,) = (await box.overview.snapshot("1")).workflows
    assert line.held is not None
    assert (line.running, line.held.name, line.held.exit_code, line.held.last_output) == (None, "disk", 7, "boom")
    await work.decide(Verb.RETRY)
    (line,) = (await box.overview.snapshot("1")).workflows
    assert line.held is not None
    assert line.held.decided == "anna: retry"
    await work.resumed()
    box.clock.forward(3)
    (line,) = (await box.overview.snapshot("1")).workflows
    assert line.held is None
    assert line.running is not None
    assert line.running.started_at == box.clock() - timedelta(seconds=3), "its time is counted anew"


async def test_who_decides_inside_the_container_is_the_person_of_the_shell(box: Appliance) -> None:
    work = await begun(box)
    await work.held()
    session = Session(
        id="s1", attempt=work.offer.attempt, workflow_id=work.key, who="anna", driver="ben",
        wish=ShellWish(id="s1", tty=True), record_input=False, opened_at=box.clock(),
    )  # fmt: skip
    await box.store.write(lambda tables: tables.shells.add(session))
    assert (await work.orders()).shells == ()
    await box.store.write(lambda tables: tables.shells.begin("s1", box.clock()))
    assert (await work.orders()).shells == (session.wish,)
    await work.asked(Verb.FAIL, shell="s1")
    verdict = (await work.hold()).verdict
    assert verdict is not None
    assert verdict.who == "ben"


async def test_of_a_shell_that_is_not_there_the_container_decides(box: Appliance) -> None:
    work = await begun(box, change=Change(on_failure=True))
    await work.held()
    await work.asked(Verb.FAIL, shell="made up")
    verdict = (await work.hold()).verdict
    assert verdict is not None
    assert verdict.who == "the container"


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict(verb=Verb.FAIL, who="a", fresh=True), "fail runs nothing"),
        (Verdict(verb=Verb.ABORT, who="a", command=("sh",)), "abort runs nothing"),
        (Verdict(verb=Verb.RETRY, who="a", command=()), "between 1 and 256 words, not 0"),
        (Verdict(verb=Verb.RETRY, who="a", command=("x",) * 257), "not 257"),
        (Verdict(verb=Verb.RETRY, who="a", command=("a\0b",)), "without NUL"),
        (Verdict(verb=Verb.RETRY, who="a", environment={"A=B": "c"}), "'A=B' is no name"),
    ],
)
async def test_a_verdict_that_makes_no_sense_is_refused_and_decides_nothing(
    box: Appliance, verdict: Verdict, words: str
) -> None:
    work = await begun(box)
    await work.held()
    with pytest.raises(Invalid, match=words):
        await box.breakpoints.resolve(work.key, verdict)
    assert (await work.hold()).verdict is None


async def test_a_held_action_is_shown_as_held_wherever_workflows_are(box: Appliance) -> None:
    work = await begun(box)
    await work.held()
    status = (await box.workflows.get(work.key)).actions[0]
    assert (status.state, status.held_at, status.outcome) == (State.HELD, box.clock(), None)
    (made,) = await box.workflows.attempts(work.key)
    assert (made.state, made.outcome) == (State.HELD, None)
    await work.decide(Verb.FAIL)
    await work.report(Outcome(state=State.FAILED, reason="NonZeroExit"))
    assert (await box.workflows.get(work.key)).actions[0].held_at is None
