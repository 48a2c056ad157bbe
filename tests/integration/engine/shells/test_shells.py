import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance
from tests.integration.engine.held import COMMAND, SHELL, Hub, hold, kinds, out, shown, told, typed
from tinkbox.engine.shells.frame_queue import CutOff
from tinkbox.engine.shells.scrollback import Scrollback
from tinkbox.engine.shells.shells import Opened
from tinkbox.engine.wakeups import worker_wakeup
from tinkbox.model.access import operator
from tinkbox.model.errors import Conflict, Denied, Forbidden, Invalid, NotFound, Unavailable
from tinkbox.model.shells import Mode, ShellEnd, ShellWish
from tinkbox.model.workflow import State
from tinkbox.store.shells import Session
from tinkbox.wire.messages.shell import control, status
from tinkbox.wire.messages.worker import Offer


@pytest.fixture
async def worker(box: Appliance) -> str:
    return await box.machine(1)


@pytest.fixture
async def offer(box: Appliance, worker: str) -> Offer:
    """A held action."""
    return await hold(box, worker)


@pytest.fixture
async def hub(box: Appliance, tmp_path: Path) -> AsyncIterator[Hub]:
    made = Hub(box, tmp_path)
    await made.shells.load()
    yield made
    await made.stop()


async def wanted(hub: Hub, worker: str, offer: Offer) -> list[str]:
    """The ids of the shells that the worker is told to serve."""
    return [wish.id for wish in (await hub.box.breakpoints.orders(worker, offer.attempt)).shells]


async def test_a_shell_is_served_from_its_first_client_until_it_ends(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, replace(SHELL, rows=50, columns=132), operator("anna"))
    assert opened.fresh
    assert await wanted(hub, worker, offer) == []
    async with hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE) as anna:
        assert await wanted(hub, worker, offer) == [opened.id]
        async with hub.shells.served(worker, offer.attempt, opened.id) as line:
            await line.deliver(out(b"/ # "))
            await shown(anna, b"/ # ")
            await anna.deliver(typed(b"exit 3\r"))
            assert await line.next_frame() == typed(b"exit 3\r")
            await line.deliver(status(ShellEnd(3)))
            await shown(anna, ShellEnd(3))
            assert await anna.next_frame() is None
            assert [await line.next_frame() for _ in range(2)] == [control({"end": True}), None]
    assert await wanted(hub, worker, offer) == []
    content = (hub.folder / "recordings" / offer.workflow_id / f"{opened.id}.cast").read_bytes()
    assert await hub.events(offer.workflow_id) == [
        ("shell.opened", {"session": opened.id, "who": "anna", "user": "", "record_input": False}),
        ("shell.attached", {"session": opened.id, "who": "anna", "driver": True}),
        ("shell.ended", {"session": opened.id, "exit_code": 3, "reason": "", "message": "",
                         "sha256": sha256(content).hexdigest(), "bytes": len(content)}),
    ]  # fmt: skip


async def test_a_worker_is_told_at_once_that_somebody_came(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(hub.box.wakeups.wait(worker_wakeup(worker), 600))
        await asyncio.sleep(0)
        async with hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE):
            await waiting


async def test_just_a_shell_is_the_one_that_is_there(hub: Hub, worker: str, offer: Offer) -> None:
    first = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    second = await hub.shells.open(offer.workflow_id, replace(SHELL, rows=9), operator("ben"))
    assert (first.id, first.fresh) == (second.id, not second.fresh)
    assert first.ticket != second.ticket
    others = [
        replace(SHELL, user="root"), replace(SHELL, folder="/tmp"), replace(SHELL, environment={"A": "b"}),
        replace(SHELL, command=("top",)), COMMAND, COMMAND,
    ]  # fmt: skip
    ids = [(await hub.shells.open(offer.workflow_id, wish, operator("anna"))).id for wish in others]
    assert len({first.id, *ids}) == 7
    recorded = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"), record_input=True)
    assert recorded.fresh
    assert not (await hub.shells.open(offer.workflow_id, SHELL, operator("anna"), record_input=True)).fresh


async def test_a_ticket_lets_one_person_in_once_to_one_shell(hub: Hub, offer: Offer) -> None:
    mine = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    other = await hub.shells.open(offer.workflow_id, replace(SHELL, user="root"), operator("anna"))
    with pytest.raises(Denied):
        async with hub.shells.attached(other.id, mine.ticket, Mode.DRIVE):
            pass
    async with hub.shells.attached(mine.id, mine.ticket, Mode.DRIVE) as seat:
        assert seat.person == "anna"
    with pytest.raises(Denied):
        async with hub.shells.attached(mine.id, mine.ticket, Mode.DRIVE):
            pass


async def test_a_worker_serves_the_shells_of_its_own_attempt_only(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    other = await hub.box.machine(2)
    await hub.box.workflow(device_1=2)
    theirs = await hub.box.offer(other)
    assert theirs is not None
    for who, attempt, session in (
        (other, offer.attempt, opened.id),
        (other, theirs.attempt, opened.id),
        (worker, theirs.attempt, opened.id),
        (worker, "nonsense", opened.id),
        (worker, offer.attempt, "nonsense"),
    ):
        with pytest.raises(NotFound):
            async with hub.shells.served(who, attempt, session):
                pass
    async with hub.shells.served(worker, offer.attempt, opened.id):
        pass


async def test_two_viewers_and_a_driver(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with (
        hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE) as anna,
        hub.shells.served(worker, offer.attempt, opened.id) as line,
    ):
        await line.deliver(out(b"before"))
        ben_ticket, cleo_ticket = [
            (await hub.shells.join(offer.workflow_id, operator(who))).ticket for who in ("ben", "cleo")
        ]
        async with (
            hub.shells.attached(opened.id, ben_ticket, Mode.VIEW) as ben,
            hub.shells.attached(opened.id, cleo_ticket, Mode.TAKE) as cleo,
        ):
            await line.deliver(out(b" after"))
            for seat in (anna, ben, cleo):
                assert await shown(seat, b"after") == b"before after"
            (listed,) = await hub.shells.listed(offer.workflow_id)
            assert listed.people == (("anna", False), ("ben", False), ("cleo", True))
            assert listed.session.driver == "cleo"
            await anna.deliver(typed(b"no"))
            await ben.deliver(control({"take": True}))
    assert [event for event in await hub.events(offer.workflow_id) if event[0] != "shell.opened"] == [
        ("shell.attached", {"session": opened.id, "who": "anna", "driver": True}),
        ("shell.attached", {"session": opened.id, "who": "ben", "driver": False}),
        ("shell.attached", {"session": opened.id, "who": "cleo", "driver": True}),
        ("shell.driver", {"session": opened.id, "who": "cleo", "before": "anna"}),
        ("shell.driver", {"session": opened.id, "who": "ben", "before": "cleo"}),
        ("shell.detached", {"session": opened.id, "who": "cleo", "driver": False}),
        ("shell.detached", {"session": opened.id, "who": "ben", "driver": True}),
        ("shell.detached", {"session": opened.id, "who": "anna", "driver": False}),
    ]
    session = await hub.box.store.read(lambda tables: tables.shells.in_attempt(opened.id, offer.attempt))
    assert session is not None
    assert session.driver == "ben"


async def test_a_shell_survives_its_driver_and_the_appliance(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with (
        hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE) as anna,
        hub.shells.served(worker, offer.attempt, opened.id) as line,
    ):
        await line.deliver(out("grün\r\n".encode()))
        assert await told(anna, "place") == 0
    await hub.restart()
    assert await wanted(hub, worker, offer) == [opened.id]
    again = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    assert (again.id, again.fresh) == (opened.id, False)
    async with (
        hub.shells.attached(again.id, again.ticket, Mode.DRIVE) as anna,
        hub.shells.served(worker, offer.attempt, opened.id) as line,
    ):
        await line.deliver(out(b"more"))
        assert await shown(anna, b"more") == "grün\r\nmore".encode()


async def test_who_was_there_before_is_shown_only_what_they_missed(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with (
        hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE),
        hub.shells.served(worker, offer.attempt, opened.id) as line,
    ):
        await line.deliver(out(b"seen unseen"))
    again = await hub.shells.join(offer.workflow_id, operator("anna"), opened.id)
    async with hub.shells.attached(again.id, again.ticket, Mode.DRIVE, after=5) as anna:
        assert await shown(anna, b"unseen") == b"unseen"
        assert await told(anna, "place") == 11


async def test_everybody_is_hung_up_on_when_the_appliance_stops(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with (
        asyncio.timeout(60),
        hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE) as anna,
        hub.shells.served(worker, offer.attempt, opened.id) as line,
    ):
        await hub.stop()
        for side in (anna, line):
            with pytest.raises(CutOff):
                await side.until_cut_off()
    assert "shell.detached" not in kinds(await hub.events(offer.workflow_id))
    # Whoever is told that it is over would not come again.
    with pytest.raises(Unavailable):
        async with hub.shells.served(worker, offer.attempt, opened.id):
            pass


async def test_nobody_comes_to_a_shell_that_ends_while_its_recording_is_read(
    hub: Hub, offer: Offer, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    scrollback = hub.shells._scrollback

    def reading(session: Session) -> Scrollback:
        ending = asyncio.run_coroutine_threadsafe(hub.shells.over(session, ShellEnd(0)), loop)
        ending.result(60)
        return scrollback(session)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(hub.shells, "_scrollback", reading)
    with pytest.raises(NotFound):
        async with hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE):
            pass


async def test_a_command_runs_for_its_client(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, COMMAND, operator("anna"))
    async with (
        hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE) as anna,
        hub.shells.served(worker, offer.attempt, opened.id) as line,
    ):
        await line.deliver(out(b"text"))
        await line.deliver(status(ShellEnd(0)))
        assert await shown(anna, ShellEnd(0)) == b"text"
    told_of = await hub.events(offer.workflow_id)
    assert kinds(told_of) == ["shell.opened", "shell.command", "shell.attached", "shell.ended"]
    assert told_of[1][1] == {"session": opened.id, "who": "anna", "argv": ["cat", "a file"]}
    with await hub.shells.recording(opened.id) as recording:
        header, line_ = recording.read().splitlines()
    assert json.loads(header)["command"] == "cat 'a file'"
    assert json.loads(line_)[1:] == ["o", "text"]


async def test_a_command_ends_with_its_client(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, COMMAND, operator("anna"))
    async with hub.shells.served(worker, offer.attempt, opened.id) as line:
        async with hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE):
            pass
        assert await line.next_frame() == control({"end": True})
    assert await wanted(hub, worker, offer) == []
    assert (await hub.events(offer.workflow_id))[-1][1]["reason"] == "ClientGone"


async def test_a_command_whose_client_was_lost_in_a_restart_is_ended(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, COMMAND, operator("anna"))
    async with hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE):
        await hub.shells.sweep()
        assert await wanted(hub, worker, offer) == [opened.id]
        await hub.restart()
        async with hub.shells.served(worker, offer.attempt, opened.id) as line:
            await hub.shells.sweep()
            assert await line.next_frame() == control({"end": True})
    assert await wanted(hub, worker, offer) == []


async def test_a_shell_without_a_driver_is_ended_after_a_quarter_of_an_hour(
    hub: Hub, worker: str, offer: Offer
) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    viewer = await hub.shells.join(offer.workflow_id, operator("ben"))
    async with (
        hub.shells.attached(opened.id, viewer.ticket, Mode.VIEW) as ben,
        hub.shells.served(worker, offer.attempt, opened.id) as line,
    ):
        async with hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE):
            hub.box.clock.forward(3600)
            await hub.shells.sweep()
        hub.box.clock.forward(15 * 60)
        await hub.shells.sweep()
        assert await wanted(hub, worker, offer) == [opened.id]
        hub.box.clock.forward(1)
        await hub.shells.sweep()
        end = ShellEnd(None, "Idle", "nobody was there to type")
        await shown(ben, end)
        async with asyncio.timeout(60):
            while await line.next_frame() != control({"end": True}):
                pass
    assert await wanted(hub, worker, offer) == []
    assert (await hub.events(offer.workflow_id))[-1][1]["reason"] == "Idle"


async def test_after_a_restart_the_quarter_of_an_hour_begins_anew(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE):
        pass
    hub.box.clock.forward(14 * 60)
    await hub.restart()
    hub.box.clock.forward(14 * 60)
    await hub.shells.sweep()
    assert await wanted(hub, worker, offer) == [opened.id]
    hub.box.clock.forward(2 * 60)
    await hub.shells.sweep()
    assert await wanted(hub, worker, offer) == []


async def test_a_shell_that_nobody_came_to_is_forgotten_soon(hub: Hub, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    hub.box.clock.forward(60)
    await hub.shells.sweep()
    assert kinds(await hub.events(offer.workflow_id)) == ["shell.opened"]
    hub.box.clock.forward(1)
    await hub.shells.sweep()
    await hub.shells.sweep()
    assert (await hub.events(offer.workflow_id))[1:] == [
        ("shell.ended", {"session": opened.id, "exit_code": None, "reason": "Idle",
                         "message": "nobody was there to type", "sha256": "", "bytes": 0}),
    ]  # fmt: skip


async def test_a_shell_ends_with_its_attempt(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE) as anna:
        await hub.box.report(worker, offer, State.FAILED, exit_code=7, reason="NonZeroExit",
                             message="it ended with status 7")  # fmt: skip
        async with asyncio.TaskGroup() as group:
            running = group.create_task(hub.shells.run())
            await asyncio.sleep(0)
            hub.box.wakeups.wake("changes")
            await shown(anna, ShellEnd(None, "AttemptOver", "the action is not held any more"))
            running.cancel()


async def test_a_shell_goes_with_its_workflow(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE) as anna:
        await hub.box.report(worker, offer, State.FAILED, exit_code=7, reason="NonZeroExit",
                             message="it ended with status 7")  # fmt: skip
        await hub.box.workflows.delete(offer.workflow_id)
        await hub.shells.sweep()
        await shown(anna, ShellEnd(None, "WorkflowDeleted", "its workflow was deleted"))
    recordings = hub.folder / "recordings" / offer.workflow_id
    assert recordings.exists()
    await hub.restart()
    assert not recordings.exists()


async def test_a_hold_lasts_while_its_shell_is_used(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with (
        hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE) as anna,
        hub.shells.served(worker, offer.attempt, opened.id) as line,
    ):
        await hub.shells.sweep()
        assert hub.touched == []
        await anna.deliver(typed(b"x"))
        await hub.shells.sweep()
        await hub.shells.sweep()
        assert hub.touched == [offer.attempt]
        await line.deliver(out(b"x"))
        await hub.shells.sweep()
        assert hub.touched == [offer.attempt] * 2


async def test_nothing_is_opened_where_nothing_is_held(hub: Hub, worker: str) -> None:
    workflow_id = await hub.box.workflow()
    with pytest.raises(Conflict, match="is PENDING, not held: tinkbox breakpoint arm"):
        await hub.shells.open(workflow_id, SHELL, operator("anna"))
    offer = await hub.box.offer(worker)
    assert offer is not None
    with pytest.raises(Conflict, match=r"hello world/hello_world .* is RUNNING, not held"):
        await hub.shells.open(workflow_id, SHELL, operator("anna"))
    await hub.box.report(worker, offer, State.FAILED)
    with pytest.raises(Conflict, match=r"is over \(FAILED\)"):
        await hub.shells.open(workflow_id, SHELL, operator("anna"))
    with pytest.raises(NotFound):
        await hub.shells.open("nonsense", SHELL, operator("anna"))


async def test_nothing_is_opened_where_there_is_no_container(hub: Hub, worker: str) -> None:
    offer = await hold(hub.box, worker, container=False)
    with pytest.raises(Conflict, match="no container"):
        await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))


async def test_a_machine_that_takes_no_breakpoints_opens_no_shell(hub: Hub, worker: str) -> None:
    offer = await hold(hub.box, worker, debug=False)
    with pytest.raises(Forbidden, match="--no-debug"):
        await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))


@pytest.mark.parametrize(
    "wish",
    [
        ShellWish(id="", tty=False),
        replace(SHELL, command=("a\0b",)),
        replace(SHELL, user="\0"),
        replace(SHELL, folder="here"),
        replace(SHELL, environment={"": "x"}),
        replace(SHELL, environment={"a=b": "x"}),
        replace(SHELL, environment={"a": "\0"}),
    ],
)
async def test_what_no_process_can_be_given_is_refused(hub: Hub, offer: Offer, wish: ShellWish) -> None:
    with pytest.raises(Invalid):
        await hub.shells.open(offer.workflow_id, wish, operator("anna"))


async def test_there_are_not_too_many_shells_in_a_container(hub: Hub, offer: Offer) -> None:
    for _ in range(16):
        await hub.shells.open(offer.workflow_id, COMMAND, operator("anna"))
    with pytest.raises(Conflict, match="16 shells are open"):
        await hub.shells.open(offer.workflow_id, COMMAND, operator("anna"))


async def test_whoever_looks_on_needs_a_shell_that_is_there(hub: Hub, worker: str, offer: Offer) -> None:
    with pytest.raises(Conflict, match="nobody has a shell open"):
        await hub.shells.join(offer.workflow_id, operator("ben"))
    await hub.shells.open(offer.workflow_id, COMMAND, operator("anna"))
    with pytest.raises(Conflict, match="nobody has a shell open"):
        await hub.shells.join(offer.workflow_id, operator("ben"))
    with pytest.raises(NotFound):
        await hub.shells.join(offer.workflow_id, operator("ben"), "nonsense")
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with (
        hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE) as anna,
        hub.shells.served(worker, offer.attempt, opened.id) as line,
    ):
        await line.deliver(status(ShellEnd(5)))
        await shown(anna, ShellEnd(5))
    with pytest.raises(Conflict, match="is over: it ended with status 5"):
        await hub.shells.join(offer.workflow_id, operator("ben"), opened.id)


async def test_nobody_comes_to_what_is_over(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    late = await hub.shells.join(offer.workflow_id, operator("ben"))
    async with (
        hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE) as anna,
        hub.shells.served(worker, offer.attempt, opened.id) as line,
    ):
        await line.deliver(status(ShellEnd(0)))
        await shown(anna, ShellEnd(0))
    with pytest.raises(NotFound):
        async with hub.shells.attached(opened.id, late.ticket, Mode.VIEW):
            pass
    with pytest.raises(NotFound):
        async with hub.shells.served(worker, offer.attempt, opened.id):
            pass


async def test_an_end_that_is_reported_again_changes_nothing(hub: Hub, worker: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with (
        hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE),
        hub.shells.served(worker, offer.attempt, opened.id) as line,
    ):
        await line.deliver(status(ShellEnd(0)))
        await line.deliver(status(ShellEnd(1)))
    assert [event[1]["exit_code"] for event in await hub.events(offer.workflow_id) if event[0] == "shell.ended"] == [0]


async def test_no_shell_is_opened_that_cannot_be_recorded(hub: Hub, offer: Offer) -> None:
    (hub.folder / "recordings").write_text("in the way")
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    with pytest.raises(Unavailable, match="cannot record"):
        async with hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE):
            pass


async def test_recordings_are_found_by_the_beginning_of_an_id(hub: Hub, offer: Offer) -> None:
    async def one() -> Opened:
        opened = await hub.shells.open(offer.workflow_id, COMMAND, operator("anna"))
        async with hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE):
            return opened

    first, _ = await one(), await one()
    for key in (first.id, first.id[:8]):
        with await hub.shells.recording(key) as recording:
            assert recording.name.endswith(f"{first.id}.cast")
    with pytest.raises(Conflict):
        await hub.shells.recording("0")
    with pytest.raises(NotFound):
        await hub.shells.recording("nonsense")
