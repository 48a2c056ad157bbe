"""The snapshot that the terminal view draws travels unchanged."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tinkbox.model.action_progress import Progress
from tinkbox.model.breakpoint import Kind, Verb
from tinkbox.model.errors import Invalid
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State
from tinkbox.wire.messages.status import (
    DeletedLine,
    DiskLine,
    FailureLine,
    HeldLine,
    MachineLine,
    RunningLine,
    ServiceLine,
    Snapshot,
    StoredLine,
    StrangerLine,
    TaskLine,
    WorkflowLine,
    decode_snapshot,
    encode_snapshot,
)

NOW = datetime(2026, 11, 21, 3, 30, tzinfo=UTC)
FULL = Snapshot(
    now=NOW,
    version="0.1.0",
    machines=(
        MachineLine(
            id="1", hostname="h", mac="m", address="a", stage="s", stage_at=NOW, last_contact=None, stalled="x"
        ),
    ),
    strangers=(StrangerLine(mac="m", stage="s", stage_at=NOW, detail="d", stalled="x"),),
    workflows=(
        WorkflowLine(
            id="2",
            name="n",
            state=State.FAILED,
            created_at=NOW,
            ended_at=NOW,
            tasks=(TaskLine(name="t", worker="w", done=1, total=2, skipped=1),),
            stop_into=State.CANCELED,
            running=RunningLine(
                task="t",
                name="a",
                started_at=NOW,
                timeout=5,
                attempt=2,
                attempts=3,
                leaving=True,
                progress=Progress(done=1, total=2, unit="bytes", rate=0.5, seconds_left=2),
            ),
            held=HeldLine(
                task="t",
                name="a",
                kind=Kind.FAILURE,
                held_at=NOW,
                deadline=NOW,
                on_expiry=Verb.ABORT,
                reason="R",
                message="m",
                exit_code=3,
                signal="",
                decided="anna: retry",
                last_output="l",
            ),
            retried=FailureLine(task="t", name="a", reason="R", message="m", signal="SIGKILL", attempt=1, attempts=3),
            failure=FailureLine(task="t", name="a", reason="R", message="m", hint="h", exit_code=3, service="s"),
            services=(
                ServiceLine(name="s", host="h", phase=Phase.RESTARTING, restarts=2, message="m", ready=True),
                ServiceLine(name="b", host="h", phase=Phase.PENDING),
            ),
        ),
    ),
)


def test_a_snapshot_travels_unchanged() -> None:
    assert decode_snapshot(encode_snapshot(FULL)) == FULL


def test_a_view_of_before_there_was_progress_is_told_of_none_where_there_is_none() -> None:
    (only,) = FULL.workflows
    assert only.running is not None
    silent = replace(FULL, workflows=(replace(only, running=replace(only.running, progress=None)),))
    text = encode_snapshot(silent)
    assert "progress" not in text
    assert decode_snapshot(text) == silent


def test_what_takes_room_travels_unchanged() -> None:
    stored = (StoredLine(kind="output", octets=7, number=2, remedy="delete workflows"),)
    deleted = DeletedLine(workflows=3, octets=9, since=NOW, until=NOW)
    for disk in (
        DiskLine(free=1, nearly_full=True, database=2, stored=stored, deleted=deleted),
        DiskLine(free=1, nearly_full=False, database=2, stored=()),
    ):
        told = replace(FULL, disk=disk)
        assert decode_snapshot(encode_snapshot(told)) == told


def test_a_snapshot_of_an_appliance_that_tells_nothing_of_its_disk_is_read() -> None:
    earlier = json.loads(encode_snapshot(FULL))
    del earlier["disk"]
    assert decode_snapshot(json.dumps(earlier)) == FULL


@pytest.mark.parametrize(
    "change",
    [{"now": "yesterday"}, {"machines": [{}]}, {"workflows": [{"state": "?"}]}, {"version": None, "machines": 3}],
)
def test_what_is_no_snapshot_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        decode_snapshot(json.dumps({**json.loads(encode_snapshot(FULL)), **change}))
    with pytest.raises(Invalid):
        decode_snapshot("[]")


def test_a_phase_that_nobody_knows_is_refused() -> None:
    text = encode_snapshot(FULL)
    assert text.count('"RESTARTING"') == 1
    with pytest.raises(Invalid):
        decode_snapshot(text.replace('"RESTARTING"', '"SOMEHOW"'))
