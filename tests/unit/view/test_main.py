"""The loop of the view: keys in, pictures out, effects carried out; with a terminal and an appliance of a test's own."""

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.view.snapshots import ALL_KINDS, NOW, failed, held, machine, snapshot, work
from tinkbox.client.operator.connection import Found
from tinkbox.client.refusals import Unanswered, Unreachable
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Unavailable
from tinkbox.model.workflow import State
from tinkbox.view import main
from tinkbox.view.main import live
from tinkbox.wire.messages.status import Snapshot

PATIENCE = 20.0


@dataclass
class FakeTerminal:
    """What is typed comes from a queue; `shown` is everything that was written."""

    rows: int = 24
    columns: int = 100
    typed: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    shown: str = ""
    is_lent: bool = False
    came: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def size(self) -> tuple[int, int]:
        return self.rows, self.columns

    async def read(self) -> bytes:
        return await self.typed.get()

    def write(self, text: str) -> None:
        assert not self.is_lent, "it draws over the shell"
        self.shown += text
        self.came.set()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        self.is_lent = True
        try:
            yield
        finally:
            self.is_lent = False

    async def type(self, keys: str, shows: str) -> str:
        """Type it, and wait until this is shown."""
        self.shown = ""
        self.typed.put_nowait(keys.encode())
        return await self.sees(shows)

    async def sees(self, shows: str) -> str:
        """Wait until this is shown; returns all that was since something was typed."""
        async with asyncio.timeout(PATIENCE):
            while shows not in self.shown:
                self.came.clear()
                await self.came.wait()
        return self.shown


class FakeAppliance:
    """Answers what a test put in; `asked` is what it was asked to do, `changes` what status answers one after the other."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.changes: list[Snapshot | Exception] = []
        self.refusal: Exception | None = None
        self.printed = ["one\n", "two\n"]
        self.looks = asyncio.Event()
        self.breakpoints = SimpleNamespace(decide=self._doing("decide", {}))
        self.workflows = SimpleNamespace(
            retry=self._doing("retry", {"state": "PENDING"}),
            cancel=self._doing("cancel", {"state": "STOPPING"}),
            get=self._doing("workflow", WORKFLOW),
            found=self._doing("found", Found([OLDER], 1)),
            output=self._output,
        )
        self.hardware = SimpleNamespace(timeline=self._doing("timeline", [SIGHTING]))
        self.seen = SimpleNamespace(get=self._doing("seen", {"timeline": [SIGHTING]}))

    async def status(self, after: str = "") -> Snapshot:
        self.looks.set()
        change = self.changes.pop(0) if self.changes else replace(ALL_KINDS, machines=(), part=True)
        if isinstance(change, Exception):
            raise change
        return change

    async def doctor(self, machine: str = "") -> dict[str, Any]:
        self.asked.append(("doctor", machine))
        return {"diagnoses": [DIAGNOSIS], "unasked": "no right"}

    async def _output(self, key: str, place: str, *, follow: bool) -> AsyncIterator[tuple[str, dict[str, Any] | None]]:
        assert not follow
        self.asked.append(("output", key, place))
        for number, text in enumerate(self.printed[int(place or 0) :], int(place or 0) + 1):
            output = base64.b64encode(text.encode()).decode()
            yield str(number), {"attempt": "a", "task": "t", "action": "disk", "output": output}

    def _doing(self, name: str, answer: object) -> Callable[..., Any]:
        async def do(*arguments: object, run: int = 0) -> object:
            self.asked.append((name, *arguments, *([f"run {run}"] if run else [])))
            if self.refusal is not None:
                raise self.refusal
            return answer

        return do


WORKFLOW = {
    "id": work().id,
    "name": "ubuntu_provisioning",
    "state": "FAILED",
    "actions": [
        {"name": "wipe", "state": "SUCCESS", "started_at": NOW.isoformat(), "ended_at": NOW.isoformat()},
        {
            "name": "image",
            "state": "FAILED",
            "outcome": {"reason": "DiskNotFound", "message": "no disk", "exit_code": 3},
        },
    ],
    "services": [{"name": "files", "host": "h", "phase": "READY", "message": ""}],
}
OLDER = {
    "id": "0ld", "name": "first_try", "state": "CANCELED", "created_at": NOW.isoformat(), "reason": "Canceled",
    "machines": [{"id": "0eba", "name": "rack9-node9", "hostname": "", "mac": ""}],
}  # fmt: skip
SIGHTING = {"at": NOW.isoformat(), "stage": "fetched the kernel", "detail": "vmlinuz"}
DIAGNOSIS = {
    "gravity": "fault", "rule": "NoOsie", "machine": "", "cause": "there is none", "evidence": ["none"], "remedy": "build it",
}  # fmt: skip


def uncoded(text: str) -> str:
    """What was written, without the codes of the terminal."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)


def told(first: Snapshot) -> asyncio.Future[Snapshot]:
    """A first answer that is there."""
    answer = asyncio.get_running_loop().create_future()
    answer.set_result(first)
    return answer


@asynccontextmanager
async def viewing(
    first: "Snapshot | asyncio.Future[Snapshot]",
    appliance: FakeAppliance,
    shell: "Callable[[str], Any] | None" = None,
    interval: float = 1000,
    unanswered: list[str] | None = None,
    *,
    colours: bool = True,
) -> AsyncIterator[FakeTerminal]:
    """A view that is left when the test is done with it."""

    async def no_shell(_: str) -> str | None:
        raise AssertionError("no shell was asked for")

    terminal = FakeTerminal()
    begins = told(first) if isinstance(first, Snapshot) else first
    left = unanswered if unanswered is not None else []
    async with asyncio.TaskGroup() as group:
        shown = live(appliance, terminal, begins, shell or no_shell, left, colours=colours, interval=interval)  # type: ignore[arg-type]
        task = group.create_task(shown)
        yield terminal
        terminal.typed.put_nowait(b"\x03")
        async with asyncio.timeout(PATIENCE):
            await task


async def test_a_key_writes_only_the_lines_that_differ() -> None:
    async with viewing(ALL_KINDS, FakeAppliance()) as terminal:
        first = await terminal.type("?", "a shell in the held action")
        assert "node11" in first
        await terminal.type("\x1b", "node11")
        written = await terminal.type("j", "node7")
        assert written.count("\x1b[K") == 4, "two rows, the place in the list, the keys"


async def test_the_page_of_a_machine_has_its_boot_its_actions_and_its_log() -> None:
    appliance = FakeAppliance()
    async with viewing(snapshot(failed(1)), appliance) as terminal:
        text = await terminal.type("\r", "two")
    for part in (
        "fetched the kernel",
        "wipe",
        "DiskNotFound: no disk (exit code 3)",
        "files",
        "one",
        "look at its disks",
        "last seen: the worker is in touch",
    ):
        assert part in text, part
    assert ("timeline", failed(1).id) in appliance.asked


async def test_the_page_of_a_machine_that_waits_in_a_paused_rollout_says_how_it_goes_on() -> None:
    async with viewing(snapshot(machine(1, rollout="1a2b3c4d-0000", rollout_paused=True)), FakeAppliance()) as terminal:
        turn = "waits for its turn in rollout 1a2b3c4d, which is paused: tinkbox rollout resume 1a2b3c4d"
        await terminal.type("\r", turn)


async def test_the_page_of_a_machine_that_waits_names_its_rollout_and_marks_an_earlier_workflow() -> None:
    async with viewing(snapshot(failed(1, rollout="1a2b3c4d-0000")), FakeAppliance()) as terminal:
        text = await terminal.type("\r", "two")
    assert "WAITING" in text
    assert "waits for its turn in rollout 1a2b3c4d: tinkbox rollout get 1a2b3c4d" in text
    assert "EARLIER WORKFLOW, WHICH IS OVER" in text
    assert "look at its disks" not in text


@pytest.mark.parametrize("width", [60, 80, 200])
async def test_a_page_names_the_machine_whose_earlier_sightings_it_leaves_out_and_cuts_no_stage(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(FakeTerminal, "size", (60, width))
    appliance, stage = FakeAppliance(), "a credential was made by hand for a person"
    appliance.hardware.timeline = appliance._doing("timeline", [{**SIGHTING, "stage": stage}] * 17)
    async with viewing(snapshot(failed(1)), appliance) as terminal:
        text = await terminal.type("\r", "LOG")
    assert "… 5 before these: tinkbox hardware get node1" in text
    assert text.count(stage) == 12


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"retired": {"at": NOW.isoformat(), "who": "ann"}}, "node1 was retired by ann 0s ago"),
        (None, "node1 is gone: it was deleted, or not seen for a while"),
    ],
)
async def test_a_page_says_that_its_machine_was_retired_or_deleted(answer: dict[str, Any] | None, said: str) -> None:
    appliance, asked = FakeAppliance(), list[str]()

    async def get(machine: str) -> dict[str, Any]:
        asked.append(machine)
        if answer is None:
            raise NotFound("there is no such machine")
        return answer

    appliance.hardware.get = get
    async with viewing(snapshot(failed(1), failed(2)), appliance, interval=0.01) as terminal:
        await terminal.type("/node1\r\r", "two")
        appliance.changes.append(snapshot(part=True, gone=(failed(1).id,)))
        text = await terminal.sees(said)
    assert set(asked) == {failed(1).id}
    assert "404" not in text
    assert ("workflow", "") not in appliance.asked


async def test_a_machine_that_is_gone_has_pages_that_say_so() -> None:
    appliance = FakeAppliance()

    async def gone(*_: object) -> None:
        raise NotFound("there is no such machine")

    async with viewing(snapshot(failed(1), failed(2)), appliance) as terminal:
        await terminal.type("\r", "two")
        appliance.workflows.found = gone
        appliance.doctor = gone  # type: ignore[assignment,method-assign]
        await terminal.type("o", "node1 is gone: it was deleted")
        await terminal.type("q", "q back")
        await terminal.type("d", "node1 is gone: it was deleted")


async def test_workflows_of_all_machines_name_these_and_those_of_one_do_not() -> None:
    async with viewing(snapshot(failed(1)), FakeAppliance()) as terminal:
        assert "rack9-node9" not in await terminal.type("o", "first_try")
        await terminal.type("q", "q leave")
        await terminal.type("/nomatch\r", "no machine has")
        assert "rack9-node9" in await terminal.type("o", "first_try")


async def test_the_page_of_a_workflow_names_its_machines_wherever_it_was_opened() -> None:
    appliance = FakeAppliance()
    machines = [{"id": str(each), "name": f"r1-n{each}", "hostname": "", "mac": ""} for each in (1, 2, 10)]
    async with viewing(snapshot(failed(1)), appliance) as terminal:
        await terminal.type("o", "first_try")
        # Also where an earlier appliance names none.
        assert "workflow 0ld on node1 " in await terminal.type("\r", "wipe")
        await terminal.type("qq", "q leave")
        appliance.workflows.get = appliance._doing("workflow", {**WORKFLOW, "machines": machines})
        await terminal.type("/nomatch\r", "no machine has")
        await terminal.type("o", "first_try")
        assert "on r1-n[1-2,10]" in await terminal.type("\r", "wipe")


@pytest.mark.parametrize("of_all", [True, False])
async def test_a_list_of_workflows_says_how_many_there_are_beside_those_it_shows(of_all: bool) -> None:
    appliance = FakeAppliance()
    appliance.workflows.found = appliance._doing("found", Found([OLDER], 221))
    async with viewing(snapshot(failed(1)), appliance) as terminal:
        if of_all:
            await terminal.type("/nomatch\r", "no machine has")
        await terminal.type("o", "… 1 of 221 shown: tinkbox workflow list has all")
        await terminal.type("j\r", "1 of 221")
        await terminal.type("l", "there is no workflow here")
        await terminal.type("k\r", "wipe")


@pytest.mark.parametrize(("key", "shows"), [("d", "What to do: build it"), ("o", "first_try")])
async def test_a_page_that_had_no_connection_is_asked_for_again_when_there_is_one(key: str, shows: str) -> None:
    appliance, goes_on = FakeAppliance(), asyncio.Event()
    found, doctor, status = appliance.workflows.found, appliance.doctor, appliance.status

    async def gone(*_: object) -> None:
        raise Unreachable("no appliance answers")

    async def late(after: str = "") -> Snapshot:
        await goes_on.wait()
        return await status(after)

    appliance.workflows.found, appliance.doctor, appliance.status = gone, gone, late  # type: ignore[assignment,method-assign]
    async with viewing(snapshot(failed(1)), appliance, interval=0) as terminal:
        await terminal.type(key, "no appliance answers")
        appliance.workflows.found, appliance.doctor = found, doctor  # type: ignore[method-assign]
        goes_on.set()
        assert "no appliance answers" not in (await terminal.sees(shows)).split("asking")[-1].split("listens")[-1]


async def test_the_doctor_is_not_asked_again_for_what_it_refused() -> None:
    appliance = FakeAppliance()
    appliance.refusal = Conflict("not now")
    appliance.doctor = appliance._doing("doctor", {})  # type: ignore[method-assign]
    async with viewing(snapshot(failed(1)), appliance, interval=0) as terminal:
        await terminal.type("d", "not now")
        for _ in range(3):
            appliance.looks.clear()
            await appliance.looks.wait()
    assert [asked[0] for asked in appliance.asked].count("doctor") == 1


async def test_the_page_of_what_is_held_says_since_when_and_whether_it_is_decided_as_its_row() -> None:
    appliance = FakeAppliance()
    action = {"name": "image", "state": "HELD", "started_at": (NOW - timedelta(hours=3)).isoformat()}
    appliance.workflows.get = appliance._doing("workflow", {**WORKFLOW, "state": "RUNNING", "actions": [action]})
    line = held(1, since=NOW - timedelta(minutes=6))
    async with viewing(snapshot(line, replace(held(2, decided=True), hostname="node2")), appliance) as terminal:
        assert re.search(r"image +HELD +6:00", uncoded(await terminal.type("/node1\r\r", "two")))
        await terminal.type("q", "q leave")
        decided = uncoded(await terminal.type("/node2\r\r", "two"))
        assert re.search(r"image +RUNNING +2:14  decided, being carried out", decided)
        assert "HELD" not in decided.rpartition("WORKFLOW")[2]


async def test_the_page_of_what_is_being_stopped_does_not_call_it_held() -> None:
    appliance = FakeAppliance()
    action = {"name": "image", "state": "HELD", "started_at": (NOW - timedelta(hours=3)).isoformat()}
    appliance.workflows.get = appliance._doing("workflow", {**WORKFLOW, "state": "STOPPING", "actions": [action]})
    line = held(1)
    assert line.work is not None
    stopping = replace(line, work=replace(line.work, state=State.STOPPING, since=NOW - timedelta(minutes=6)))
    async with viewing(snapshot(stopping), appliance) as terminal:
        page = uncoded(await terminal.type("\r", "two")).rpartition("WORKFLOW")[2]
        assert re.search(r"◐ 1 +image +STOPPING +6:00", page)
        assert "HELD" not in page


async def test_what_failed_its_actions_and_the_end_of_the_log_are_on_the_first_screen() -> None:
    appliance = FakeAppliance()
    appliance.printed = [f"line {number}\n" for number in range(99)]
    steps = [(-3600, "DHCP discover"), (-3500, "fetched the kernel"), (-60, "DHCP offer"), (-50, "fetched the ramdisk")]
    told = [{"at": (NOW + timedelta(seconds=at)).isoformat(), "stage": stage, "detail": ""} for at, stage in steps]
    appliance.hardware.timeline = appliance._doing("timeline", told)
    created = (NOW - timedelta(seconds=90)).isoformat()
    appliance.workflows.get = appliance._doing("workflow", {**WORKFLOW, "created_at": created})
    async with viewing(snapshot(failed(1)), appliance) as terminal:
        terminal.columns = 80
        terminal.changed.set()
        first = await terminal.type("\r", "line 98")
        for part in ("DiskNotFound: there is no", "look at its disks", "wipe", "no disk (exit code", "l shows more"):
            assert part in first, part
        assert "… 5 more lines" in first
        assert "line 80" not in first
        rest = await terminal.type("G", "fetched the ramdisk")
        assert rest.index("line 98") < rest.index("BOOT") < rest.index("… 2 before these") < rest.index("DHCP offer")
        assert "fetched the kernel" not in rest
        assert "line 80" in await terminal.type("l", "line 80")


@pytest.mark.parametrize("more", [{"parked": "3 boots"}, {"stalled": "stalled"}])
async def test_the_boot_comes_first_where_that_does_not_go_on(more: dict[str, str]) -> None:
    line = machine(1, work=work(State.PENDING), ticket=True, **more)
    async with viewing(snapshot(line), FakeAppliance()) as terminal:
        text = await terminal.type("\r", "two")
    assert text.index("BOOT") < text.index("WORKFLOW") < text.index("LOG")


async def test_what_was_read_of_a_log_is_not_asked_for_again() -> None:
    appliance = FakeAppliance()
    async with viewing(snapshot(failed(1)), appliance) as terminal:
        await terminal.type("\r", "two")
        appliance.printed.append("three\n")
        await terminal.type("q", "q leave")
        await terminal.type("\r", "three")
    assert [each[2] for each in appliance.asked if each[0] == "output"] == ["", "2"]


async def test_two_pages_of_one_workflow_read_its_log_once() -> None:
    appliance, goes_on = FakeAppliance(), asyncio.Event()
    output = appliance.workflows.output

    async def slow(key: str, place: str, *, follow: bool) -> AsyncIterator[tuple[str, dict[str, Any] | None]]:
        async for each in output(key, place, follow=follow):
            yield each
            await goes_on.wait()

    appliance.workflows.output = slow
    appliance.workflows.found = appliance._doing("found", Found([{**OLDER, "id": failed(1).work.id}], 1))  # type: ignore[union-attr]
    async with viewing(snapshot(failed(1)), appliance) as terminal:
        await terminal.type("\r", "asking")
        await terminal.type("o", "first_try")
        await terminal.type("\r", "asking")
        await asyncio.sleep(0)
        goes_on.set()
        assert (await terminal.sees("two")).count("two") == 1


async def test_what_is_typed_while_the_appliance_answers_is_not_undone() -> None:
    appliance, answered = FakeAppliance(), asyncio.Event()
    get, retry = appliance.workflows.get, appliance.workflows.retry

    async def slow(*arguments: object, run: int = 0) -> object:
        await answered.wait()
        return await (get(*arguments) if len(arguments) == 1 else retry(*arguments, run=run))

    appliance.workflows.get = appliance.workflows.retry = slow
    async with viewing(snapshot(failed(1), failed(2)), appliance) as terminal:
        await terminal.type("\r", "asking")
        await terminal.type("qj", "2/2")
        await terminal.type("ryk", "1/2")
        await terminal.type("r", "(y/n)")
        terminal.shown = ""
        answered.set()
        appliance.asked.clear()
        while not {"retry", "workflow"} <= {each[0] for each in appliance.asked}:  # noqa: ASYNC110
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        assert terminal.shown == "", "still the question is asked"
        await terminal.type("y", "node1 is PENDING again")


@pytest.mark.parametrize(
    ("keys", "shows"),
    [
        ("G", "13/13"),
        ("/node5", "1 machine; Enter keeps it"),
        ("Ga", "no workflow: nothing to abort or cancel"),
        ("/node2\ra", "(y/n)"),
        ("p", "Enter open  j k scroll"),
    ],
)
async def test_a_late_answer_belongs_to_the_page_that_asked_and_is_dropped_with_it(keys: str, shows: str) -> None:
    appliance, answered = FakeAppliance(), asyncio.Event()
    doctor, told = appliance.doctor, asyncio.Event()

    async def slow(_: str) -> dict[str, Any]:
        await answered.wait()
        told.set()
        return await doctor()

    appliance.doctor = slow  # type: ignore[method-assign]
    async with viewing(ALL_KINDS, appliance) as terminal:
        await terminal.type("d", "listens")
        await terminal.type("q", "q leave")
        await terminal.type(keys, shows)
        terminal.shown = ""
        answered.set()
        await told.wait()
        for _ in range(10):
            await asyncio.sleep(0)
        assert terminal.shown == ""


async def test_a_refusal_for_a_page_is_told_on_it_and_for_one_that_was_left_not_at_all() -> None:
    appliance = FakeAppliance()
    appliance.refusal = Conflict("there is no such machine\x1b[2J any more")
    async with viewing(snapshot(failed(1)), appliance) as terminal:
        assert "asking" not in (await terminal.type("o", "no such machine [2J")).split("no such machine")[1]
        await terminal.type("q", "q leave")
        appliance.refusal = None
        assert "no such machine" not in await terminal.type("o", "first_try")


async def test_an_appliance_that_hangs_is_told_of_while_keys_stay_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "SILENCE", 0)
    appliance, goes_on = FakeAppliance(), asyncio.Event()
    status = appliance.status

    async def hung(after: str = "") -> Snapshot:
        await goes_on.wait()
        return await status(after)

    appliance.status = hung  # type: ignore[method-assign]
    async with viewing(snapshot(machine(1), machine(2)), appliance, interval=0) as terminal:
        await terminal.sees("no answer for 0s (trying again")
        await terminal.type("j", "2/2")
        terminal.shown = ""
        goes_on.set()
        await terminal.sees("q leave")


async def test_pages_of_the_doctor_of_older_workflows_and_of_a_stranger() -> None:
    appliance = FakeAppliance()
    async with viewing(ALL_KINDS, appliance) as terminal:
        assert "FAULT  NoOsie" in await terminal.type("d", "What to do: build it")
        await terminal.type("q", "q leave")
        older = await terminal.type("o", "first_try")
        assert "CANCELED" in older
        assert "0s ago" in older
        await terminal.type("\r", "wipe")
        await terminal.type("qq", "q leave")
        await terminal.type("/52:54\r", "1/1")
        assert "tinkbox hardware add 52:54:00:00:00:09" in await terminal.type("\r", "fetched the kernel")
    assert ("seen", "52:54:00:00:00:09") in appliance.asked
    assert ("found", {"limit": "200", "sort": "-created_at", "machine": machine(11).id}) in appliance.asked


async def test_what_is_decided_is_done_once_and_told() -> None:
    appliance = FakeAppliance()
    async with viewing(snapshot(held()), appliance) as terminal:
        await terminal.type("r", "(y/n)")
        await terminal.type("y", "decided: retry")
        await terminal.type("cbecause\r", "decided: continue")
        await terminal.type("a", "(y/n)")
        await terminal.type("y", "decided: abort")
    assert [each for each in appliance.asked if each[0] == "decide"] == [
        ("decide", work().id, {"verb": "retry"}),
        ("decide", work().id, {"verb": "continue", "why": "because"}),
        ("decide", work().id, {"verb": "abort"}),
    ]


async def test_what_is_done_is_done_to_the_run_and_the_hold_that_a_person_saw() -> None:
    appliance = FakeAppliance()
    bad = work(State.FAILED, id="b1", run=7)
    seen = snapshot(machine(1, work=bad), machine(2, work=work(id="r2", run=8)), held(3, id="h3", run=9, hold="a/2"))
    async with viewing(seen, appliance) as terminal:
        await terminal.type("/node1\rry", "node1 is PENDING again")
        await terminal.type("/\x15node2\ray", "the workflow of node2 is being canceled")
        await terminal.type("/\x15node3\rry", "decided: retry on node3")
    assert appliance.asked == [
        ("retry", "b1", None, "run 7"),
        ("cancel", "r2", "run 8"),
        ("decide", "h3", {"verb": "retry", "hold": "a/2"}),
    ]


async def test_what_is_refused_of_several_for_the_same_reason_is_told_once() -> None:
    appliance = FakeAppliance()

    async def late(workflow: str, _: object, run: int) -> object:
        raise Conflict(f"workflow {workflow} is PENDING: only one that is over can be retried")

    appliance.workflows.retry = late
    async with viewing(snapshot(*(failed(each) for each in range(1, 6))), appliance) as terminal:
        await terminal.type("*ry", "5 refused")
        told = await terminal.type("!", "node[1-5]")
    assert told.count("its workflow is PENDING: only one that is over can be retried") == 1


async def test_a_refusal_is_told_and_the_view_goes_on() -> None:
    appliance = FakeAppliance()
    async with viewing(snapshot(failed(1)), appliance) as terminal:
        appliance.refusal = Conflict("it is over\x1b[2J already")
        assert "over [2J already" in await terminal.type("ry", "it is over")
        appliance.refusal = Invalid("1 problem", [Problem(text="say why")])
        await terminal.type("ry", "1 problem: say why")
        appliance.refusal = None
        await terminal.type("ry", "node1 is PENDING again")


async def test_a_shell_has_the_terminal_alone_and_the_view_comes_back() -> None:
    opened, left = asyncio.Event(), asyncio.Event()

    async def shell(workflow: str) -> str | None:
        assert workflow == work().id
        opened.set()
        await left.wait()
        return "the shell ended with its container"

    appliance = FakeAppliance()
    async with viewing(snapshot(held()), appliance, shell, interval=0) as terminal:
        terminal.typed.put_nowait(b"s")
        await opened.wait()
        assert terminal.is_lent
        appliance.looks.clear()
        await appliance.looks.wait()  # what is told meanwhile is not drawn: FakeTerminal.write says so
        left.set()
        text = await terminal.sees("the shell ended with its container")
        assert "\x1b[2J" in text


async def test_a_shell_that_is_refused_leads_back_and_one_that_a_signal_ends_leaves() -> None:
    async def refused(_: str) -> str | None:
        raise Conflict("nothing is held any more")

    async with viewing(snapshot(held()), FakeAppliance(), refused) as terminal:
        await terminal.type("s", "nothing is held any more")

    async def ended(_: str) -> str | None:
        return None

    async with viewing(snapshot(held()), FakeAppliance(), ended) as terminal:
        terminal.typed.put_nowait(b"s")


async def test_a_restart_of_the_appliance_is_survived_with_a_notice() -> None:
    appliance = FakeAppliance()
    appliance.changes = [Unavailable("nobody answers"), snapshot(machine(9, hostname="back"))]
    async with viewing(snapshot(machine(1)), appliance, interval=0) as terminal:
        await terminal.sees("back")
        assert "nobody answers (trying again" in terminal.shown


async def test_another_size_is_drawn_anew() -> None:
    async with viewing(ALL_KINDS, FakeAppliance()) as terminal:
        await terminal.sees("node1")
        terminal.rows, terminal.shown = 10, ""
        terminal.changed.set()
        assert "\x1b[2J" in await terminal.sees("\x1b[10;1H")
        assert "\x1b[11;1H" not in terminal.shown


async def test_a_terminal_that_is_gone_ends_the_view() -> None:
    terminal = FakeTerminal()
    terminal.typed.put_nowait(b"")

    async def no_shell(_: str) -> str | None:
        raise AssertionError

    async with asyncio.timeout(PATIENCE):
        await live(FakeAppliance(), terminal, told(ALL_KINDS), no_shell, [])  # type: ignore[arg-type]


async def test_until_the_first_answer_it_says_that_it_asks() -> None:
    first: asyncio.Future[Snapshot] = asyncio.get_running_loop().create_future()
    async with viewing(first, FakeAppliance()) as terminal:
        assert "q leave" in await terminal.sees("asking the appliance …")
        terminal.typed.put_nowait(b"j?")
        first.set_result(ALL_KINDS)
        await terminal.sees("node11")


@pytest.mark.parametrize("key", [b"q", b"\x03", b""])
async def test_one_may_leave_before_the_first_answer(key: bytes) -> None:
    terminal = FakeTerminal()
    terminal.typed.put_nowait(key)
    first: asyncio.Future[Snapshot] = asyncio.get_running_loop().create_future()

    async def no_shell(_: str) -> str | None:
        raise AssertionError

    async with asyncio.timeout(PATIENCE):
        await live(FakeAppliance(), terminal, first, no_shell, [])  # type: ignore[arg-type]
    assert "node" not in terminal.shown


async def test_what_is_sent_and_not_answered_is_told_also_to_those_who_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "SILENCE", 0)
    appliance, goes_on, left = FakeAppliance(), asyncio.Event(), list[str]()
    retry = appliance.workflows.retry

    async def slow(*arguments: object, run: int) -> object:
        await goes_on.wait()
        return await retry(*arguments, run=run)

    appliance.workflows.retry = appliance.workflows.cancel = slow
    async with viewing(snapshot(failed(1), machine(2, work=work())), appliance, unanswered=left) as terminal:
        await terminal.type("ry", "retry on node1: sent, no answer yet")
        goes_on.set()
        await terminal.sees("node1 is PENDING again")
        goes_on.clear()
        await terminal.type("jay", "cancel on node2: sent, no answer yet")
    assert left == ["cancel on node2 was sent, and the appliance has not answered: look again whether it was done"]


async def test_all_that_are_marked_are_retried_and_refusals_are_counted() -> None:
    appliance = FakeAppliance()
    retry = appliance.workflows.retry

    async def some(workflow: str, who: object, run: int) -> object:
        if workflow == failed(2).work.id:  # type: ignore[union-attr]
            raise Conflict("its disk is gone")
        return await retry(workflow, who, run=run)

    appliance.workflows.retry = some
    async with viewing(snapshot(*(failed(each) for each in range(1, 41))), appliance) as terminal:
        await terminal.type("*r", "Retry 40 machines? node[1-40]")
        await terminal.type("y", "39 retried, 1 refused: node2: its disk is gone")
        await terminal.type("!", "its disk is gone")
    asked = [each[1] for each in appliance.asked if each[0] == "retry"]
    assert sorted(map(str, asked)) == sorted(failed(each).work.id for each in range(1, 41) if each != 2)  # type: ignore[union-attr]


async def test_of_marked_ones_what_was_sent_to_an_appliance_that_goes_is_uncertain_and_the_rest_not_sent() -> None:
    appliance, asked = FakeAppliance(), 0

    async def goes(workflow: str, run: int) -> object:
        nonlocal asked
        asked += 1
        if asked == 1:
            return {"state": "STOPPING"}
        if asked < main.ACTS_AT_ONCE:
            raise Unanswered(f"it did not answer POST {workflow} (Server disconnected)", "look")
        raise Unreachable("no appliance answers")

    appliance.workflows.cancel = goes
    running = (machine(each, work=replace(work(), id=failed(each).work.id)) for each in range(1, 41))  # type: ignore[union-attr]
    async with viewing(snapshot(*running), appliance) as terminal:
        await terminal.type("*a", "Abort or cancel 40 machines?")
        await terminal.type("y", "1 aborted or canceled, it is uncertain whether 6 were, 33 not sent")
        text = await terminal.type("!", "not sent: no appliance answers")
    assert "sent and not answered: it is uncertain whether" in text


@pytest.mark.parametrize(
    ("error", "said", "listed"),
    [
        (Unreachable("no appliance answers"), "0 retried, 1 not sent: ! lists them", "not sent: no appliance answers"),
        (
            Unanswered("it did not answer", "look"),
            "0 retried, it is uncertain whether node1 was: ! lists them",
            "sent and not answered",
        ),
        (Conflict("it is over"), "0 retried, 1 refused: node1: it is over", "it is over"),
    ],
)
async def test_of_one_machine_it_is_told_as_of_several_what_was_not_done(
    error: Exception, said: str, listed: str
) -> None:
    appliance = FakeAppliance()
    appliance.refusal = error
    async with viewing(snapshot(failed(1)), appliance) as terminal:
        await terminal.type("ry", said)
        await terminal.type("!", listed)
        await terminal.sees("    node1")
        await terminal.type("q", "q leave")
        appliance.refusal = None
        await terminal.type("\r", "two")
        appliance.refusal = error
        await terminal.type("ry", said)


async def test_that_one_was_not_sent_is_told_until_the_appliance_answers_again() -> None:
    appliance, is_gone = FakeAppliance(), True
    status = appliance.status

    async def sometimes(after: str = "") -> Snapshot:
        if is_gone:
            raise Unreachable("no appliance answers")
        return await status(after)

    appliance.status = sometimes  # type: ignore[method-assign]
    appliance.refusal = Unreachable("no appliance answers")
    async with viewing(snapshot(failed(1)), appliance, interval=0.001) as terminal:
        await terminal.sees("trying again")
        await terminal.type("ry", "0 retried, 1 not sent: ! lists them")
        terminal.shown, is_gone = "", False
        await terminal.sees("q leave")


async def test_who_leaves_while_answers_are_out_is_told_what_was_not_answered_until_then() -> None:
    appliance, left, never = FakeAppliance(), list[str](), asyncio.Event()
    broken = asyncio.Event()

    async def breaks(workflow: str, _: object, run: int) -> object:
        if workflow == failed(2).work.id:  # type: ignore[union-attr]
            broken.set()
            raise Unanswered("it did not answer", "look")
        await never.wait()
        raise AssertionError("nothing answers")

    appliance.workflows.retry = breaks
    async with viewing(snapshot(failed(1), failed(2)), appliance, unanswered=left) as terminal:
        await terminal.type("*ry", "retried: asking for 2 machines")
        await broken.wait()
    told = "was sent, and the appliance has not answered: look again whether it was done"
    assert sorted(left) == [f"retry on node1 {told}", f"retry on node2 {told}"]


async def test_who_leaves_before_all_marked_were_asked_for_is_told_how_many_were_not() -> None:
    appliance, left, never = FakeAppliance(), list[str](), asyncio.Event()
    asked = 0
    all_at_once = asyncio.Event()

    async def hangs(*_: object, run: int) -> object:
        nonlocal asked
        asked += 1
        if asked == main.ACTS_AT_ONCE:
            all_at_once.set()
        await never.wait()
        raise AssertionError("nothing answers")

    appliance.workflows.retry = hangs
    async with viewing(snapshot(*(failed(each) for each in range(1, 41))), appliance, unanswered=left) as terminal:
        await terminal.type("*ry", "retried: asking for 40 machines")
        await all_at_once.wait()
    assert len(left) == main.ACTS_AT_ONCE + 1
    assert left[-1].startswith("the view was left before 32 more machines had their turn")


async def test_a_page_is_drawn_anew_for_another_width() -> None:
    appliance = FakeAppliance()
    async with viewing(ALL_KINDS, appliance) as terminal:
        await terminal.type("d", "there is none")
        asked = len(appliance.asked)
        terminal.columns, terminal.shown = 30, ""
        terminal.changed.set()
        await terminal.sees("build it")
        assert len(appliance.asked) == asked


async def test_what_is_refused_is_answered() -> None:
    appliance, left = FakeAppliance(), list[str]()
    appliance.refusal = Conflict("it is over already")
    async with viewing(snapshot(failed(1)), appliance, unanswered=left) as terminal:
        await terminal.type("ry", "it is over already")
    assert left == []


async def test_the_doctor_on_a_page_of_a_machine_looks_at_that_one() -> None:
    appliance = FakeAppliance()
    async with viewing(snapshot(failed(1)), appliance) as terminal:
        await terminal.type("d", "build it")
        await terminal.type("q", "q leave")
        await terminal.type("\r", "two")
        await terminal.type("d", "doctor for node1")
        await terminal.sees("build it")
    assert [each[1] for each in appliance.asked if each[0] == "doctor"] == ["", failed(1).id]


async def test_without_colours_none_is_drawn() -> None:
    async with viewing(ALL_KINDS, FakeAppliance(), colours=False) as terminal:
        text = await terminal.sees("node11")
    assert "\x1b[1m" in text
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", text)


@pytest.mark.parametrize("width", [60, 80])
async def test_nothing_of_a_machine_is_cut_on_its_page(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr(FakeTerminal, "size", (60, width))
    appliance = FakeAppliance()
    long = "why it was not done, " * 9 + "at all"
    actions = [{"name": "image", "state": "FAILED", "outcome": {"reason": "DiskNotFound", "message": long}}]
    appliance.workflows.get = appliance._doing("workflow", {**WORKFLOW, "name": "n" * 60, "actions": actions})
    appliance.hardware.timeline = appliance._doing("timeline", [{**SIGHTING, "detail": long}])
    appliance.printed = ["x" * 200 + "\n"]
    labels = {f"label{number}": "value" * 5 for number in range(9)}
    async with viewing(snapshot(failed(1, labels=labels)), appliance) as terminal:
        page = (await terminal.type("\r", "LOG")).partition("BOOT")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\s", "", "".join(page))
    assert "…" not in text.partition("asking")[2].partition("…")[2]
    assert text.count(long.replace(" ", "")) == 2
    assert "x" * 200 in text
    assert all(f"{key}={value}" in text for key, value in labels.items())
