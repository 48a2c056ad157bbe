"""The snapshot that the terminal view draws travels unchanged."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tinkbox.model.actions.progress import Progress
from tinkbox.model.breakpoint import Kind, Verb
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.errors import Invalid
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State
from tinkbox.wire.messages.status import (
    ConditionLine,
    DeletedLine,
    DiskLine,
    FailureLine,
    HealthLine,
    HeldBackLine,
    HeldLine,
    LimitLine,
    MachineLine,
    RunningLine,
    ServiceLine,
    Snapshot,
    StoredLine,
    StrangerLine,
    TaskLine,
    WorkflowLine,
    WorkLine,
    decode_snapshot,
    encode_changes,
    encode_machine,
    encode_snapshot,
    encode_snapshot_machine,
    encode_snapshot_workflow,
    merged,
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


def whole(snapshot: Snapshot) -> str:
    machines, workflows = (
        map(encode_snapshot_machine, snapshot.machines),
        map(encode_snapshot_workflow, snapshot.workflows),
    )
    return encode_snapshot(snapshot, machines, workflows)


def test_a_snapshot_travels_unchanged() -> None:
    assert decode_snapshot(whole(FULL)) == FULL


def test_a_view_of_before_there_was_progress_is_told_of_none_where_there_is_none() -> None:
    (only,) = FULL.workflows
    assert only.running is not None
    silent = replace(FULL, workflows=(replace(only, running=replace(only.running, progress=None)),))
    text = whole(silent)
    assert "progress" not in text
    assert decode_snapshot(text) == silent


def test_what_makes_room_is_told_to_those_who_ask_for_changes_alone() -> None:
    disk = DiskLine(free=1, nearly_full=True, database=2, stored=(), remedy="delete workflows")
    told = replace(CHANGES, disk=disk)
    assert decode_snapshot(encoded(told)).disk == disk
    assert decode_snapshot(whole(replace(FULL, disk=disk))).disk == replace(disk, remedy="")


def test_what_takes_room_travels_unchanged() -> None:
    stored = (StoredLine(kind="output", octets=7, number=2, remedy="delete workflows"),)
    deleted = DeletedLine(workflows=3, octets=9, since=NOW, until=NOW)
    for disk in (
        DiskLine(free=1, nearly_full=True, database=2, stored=stored, deleted=deleted),
        DiskLine(free=1, nearly_full=False, database=2, stored=()),
    ):
        told = replace(FULL, disk=disk)
        assert decode_snapshot(whole(told)) == told


def test_a_snapshot_of_an_appliance_that_tells_nothing_of_its_disk_is_read() -> None:
    earlier = json.loads(whole(FULL))
    del earlier["disk"]
    assert decode_snapshot(json.dumps(earlier)) == FULL


@pytest.mark.parametrize(
    "change",
    [{"now": "yesterday"}, {"machines": [{}]}, {"workflows": [{"state": "?"}]}, {"version": None, "machines": 3}],
)
def test_what_is_no_snapshot_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        decode_snapshot(json.dumps({**json.loads(whole(FULL)), **change}))
    with pytest.raises(Invalid):
        decode_snapshot("[]")


def test_a_phase_that_nobody_knows_is_refused() -> None:
    text = whole(FULL)
    assert text.count('"RESTARTING"') == 1
    with pytest.raises(Invalid):
        decode_snapshot(text.replace('"RESTARTING"', '"SOMEHOW"'))


WORK = WorkLine(
    id="2",
    name="n",
    state=State.RUNNING,
    since=NOW,
    template="t",
    action="disk",
    number=3,
    total=7,
    progress=Progress(done=1, total=2, unit="bytes", rate=0.5, seconds_left=2),
    reason="R",
    message="m",
    hint="h",
    lost=True,
    held=Kind.AFTER,
    deadline=NOW,
    on_expiry=Verb.ABORT,
    decided=True,
    attempt=2,
    attempts=3,
    leaving=True,
    elsewhere="node9",
    awaited=("files",),
    service="db",
)
WORKING = replace(
    FULL.machines[0],
    name="node1",
    labels={"rack": "r1"},
    work=WORK,
    rollout="5",
    rollout_paused=True,
    state="working",
    diagnosis="The machine is off.",
    silent_since=NOW,
)
CHANGES = Snapshot(
    now=NOW,
    version="1",
    machines=(WORKING, MachineLine(id="3", hostname="h", mac="m", address="a")),
    strangers=FULL.strangers,
    limits=(LimitLine(name="l", used="1", total="2"),),
    disk=DiskLine(free=1, nearly_full=True, database=2, stored=()),
    place="life/7",
    part=True,
    gone=("4",),
    health=HealthLine(
        sent=2.5,
        faults=("NoOsie",),
        conditions=(
            ConditionLine(
                rule="NoOsie", gravity=Gravity.FAULT, since=NOW, cause="None was built.", remedy="Build one."
            ),
            ConditionLine(rule="HeldBack", gravity=Gravity.SUSPECT, since=NOW, cause="One is held back."),
        ),
    ),
)


def encoded(changes: Snapshot) -> str:
    return encode_changes(changes, map(encode_machine, changes.machines))


def test_changes_travel_unchanged() -> None:
    assert decode_snapshot(encoded(CHANGES)) == CHANGES
    empty = Snapshot(now=NOW, version="1", machines=())
    assert decode_snapshot(encoded(empty)) == empty


def test_what_is_as_always_is_not_told() -> None:
    assert set(json.loads(encode_machine(CHANGES.machines[1]))) == {"id", "hostname", "mac", "address"}


def test_a_view_of_an_earlier_release_is_told_of_nothing_that_it_does_not_know() -> None:
    told = json.loads(whole(replace(FULL, machines=(WORKING,), place="x", gone=("1",), part=True)))
    assert set(told) == {"now", "version", "machines", "workflows", "strangers", "limits", "disk"}
    assert not {"name", "labels", "work", "rollout", "rollout_paused", "state"} & set(told["machines"][0])


def test_an_earlier_appliance_that_does_not_tell_whether_a_rollout_is_paused_is_read() -> None:
    earlier = json.loads(encoded(CHANGES))
    del earlier["machines"][0]["rollout_paused"]
    assert decode_snapshot(json.dumps(earlier)).machines[0] == replace(WORKING, rollout_paused=False)


def test_what_a_newer_appliance_tells_beside_is_ignored() -> None:
    newer = json.loads(encoded(CHANGES))
    newer["machines"][0]["work"]["new"] = newer["machines"][0]["new"] = newer["health"]["new"] = newer["new"] = 1
    assert decode_snapshot(json.dumps(newer)) == CHANGES


def test_also_in_every_line_of_a_list() -> None:
    stored = (StoredLine(kind="output", octets=7, number=2, remedy="delete workflows"),)
    deleted = DeletedLine(workflows=3, octets=9, since=NOW, until=NOW)
    limit = LimitLine(
        name="streams", used="8", total="10", held_back=(HeldBackLine(holder="10.0.0.1", held="4", refused=1),)
    )
    work = replace(WORK, progress=Progress(done=1, total=2))
    told = replace(
        CHANGES,
        machines=(replace(WORKING, work=work, labels={}),),
        strangers=FULL.strangers,
        limits=(limit,),
        disk=DiskLine(free=1, nearly_full=True, database=2, stored=stored, deleted=deleted),
    )

    def newer(document: object) -> object:
        if isinstance(document, list):
            return [newer(each) for each in document]
        return (
            {name: newer(each) for name, each in document.items()} | {"new": 1}
            if isinstance(document, dict)
            else document
        )

    assert decode_snapshot(json.dumps(newer(json.loads(encoded(told))))) == told


@pytest.mark.parametrize(
    "change",
    [
        {"work": {"state": "?"}},
        {"work": {"id": "1"}},
        {"work": 3},
        {"work": {**json.loads(encode_machine(WORKING))["work"], "held": "?"}},
    ],
)
def test_work_that_cannot_be_is_refused(change: dict[str, object]) -> None:
    wrong = json.loads(encoded(CHANGES))
    wrong["machines"][0].update(change)
    with pytest.raises(Invalid):
        decode_snapshot(json.dumps(wrong))


def machine(number: int, stage: str = "") -> MachineLine:
    return MachineLine(id=str(number), hostname=f"node{number}", mac="m", address="a", stage=stage)


def test_a_change_is_made_to_what_was_there_before() -> None:
    before = Snapshot(now=NOW, version="1", machines=(machine(1), machine(2), machine(3)), place="x/1")
    change = replace(before, machines=(machine(2, "new"), machine(4)), gone=("1",), part=True, place="x/2")
    after = merged(before, change)
    assert after.machines == (machine(2, "new"), machine(3), machine(4))
    assert (after.place, after.part, after.gone) == ("x/2", False, ())
    assert after.machines[1] is before.machines[2]


def test_a_whole_takes_the_place_of_what_was_there() -> None:
    before = Snapshot(now=NOW, version="1", machines=(machine(1),), place="x/1")
    assert merged(before, replace(before, machines=(machine(2),), place="y/1")).machines == (machine(2),)


def test_where_nothing_changed_the_machines_stay_the_same_object() -> None:
    before = Snapshot(now=NOW, version="1", machines=(machine(1),), place="x/1")
    assert merged(before, replace(before, machines=(), part=True)).machines is before.machines
