from dataclasses import replace
from datetime import UTC, datetime

from examples.demo.account import account, news
from tinkbox.model.workflow import State
from tinkbox.wire.messages.status import MachineLine, RunningLine, Snapshot, WorkflowLine

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MACHINE = MachineLine(id="1", hostname="server001", mac="08:00:27:00:00:01", address="172.30.0.21")
WORKFLOW = WorkflowLine(id="2", name="demo", state=State.PENDING, created_at=NOON, ended_at=None, tasks=())
RUNNING = RunningLine(task="install", name="stream", started_at=NOON, timeout=60)


def snapshot(machine: MachineLine = MACHINE, workflow: WorkflowLine = WORKFLOW) -> Snapshot:
    return Snapshot(now=NOON, version="0", machines=(machine,), workflows=(workflow,))


def test_a_stage_is_told_once() -> None:
    booted = snapshot(replace(MACHINE, stage="fetched the kernel"))
    assert list(news(None, booted)) == ["server001: fetched the kernel"]
    assert list(news(booted, booted)) == []


def test_a_parked_machine_says_why() -> None:
    parked = snapshot(replace(MACHINE, parked="3 boots without progress"))
    assert list(news(snapshot(), parked)) == ["server001: 3 boots without progress"]


def test_an_action_is_told_when_it_begins_and_whenever_it_says_something_new() -> None:
    began = snapshot(workflow=replace(WORKFLOW, running=RUNNING))
    spoke = snapshot(workflow=replace(WORKFLOW, running=replace(RUNNING, last_output="half")))
    assert list(news(snapshot(), began)) == ["install / stream: running"]
    assert list(news(began, spoke)) == ["install / stream: half"]
    assert list(news(spoke, spoke)) == []


def test_the_end_of_a_workflow_is_told() -> None:
    ended = snapshot(workflow=replace(WORKFLOW, state=State.SUCCESS))
    assert list(news(snapshot(), ended)) == ["workflow demo: SUCCESS"]


def test_the_account_puts_stages_and_actions_in_the_order_in_which_they_began() -> None:
    fact = {"task": "install", "action": "stream"}
    timeline = [
        {"at": "2026-01-01T12:00:00+00:00", "stage": "asked for an address", "facts": {"asker": "PXE"}},
        {"at": "2026-01-01T12:00:17.5+00:00", "stage": "action", "facts": fact},
        {"at": "2026-01-01T12:00:30+00:00", "stage": "action", "facts": {**fact, "state": "SUCCESS", "seconds": 12.5}},
        {"at": "2026-01-01T12:00:40+00:00", "stage": "told to boot its disk", "facts": {}},
    ]
    lines = account(timeline).splitlines()
    assert lines[1:] == [
        "   0.0 s  asked for an address",
        "  17.5 s  install / stream: SUCCESS                        12.5 s",
        "  40.0 s  told to boot its disk",
    ]


def test_a_question_for_a_files_size_is_no_failure() -> None:
    at, stage = "2026-01-01T12:00:00+00:00", "did not get its boot loader"
    assert account([{"at": at, "stage": stage, "facts": {"why": "probe"}}]) == "nothing was seen"
    assert stage in account([{"at": at, "stage": stage, "facts": {"why": "silence"}}])


def test_nothing_seen_is_said_plainly() -> None:
    assert account([]) == "nothing was seen"
