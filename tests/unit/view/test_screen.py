"""The picture of one snapshot."""

import io
from datetime import UTC, datetime, timedelta

from rich.console import Console

from tinkbox.model.workflow import State
from tinkbox.view.screen import clean, elapsed, screen
from tinkbox.wire.status import FailureLine, MachineLine, RunningLine, Snapshot, TaskLine, WorkflowLine

NOW = datetime(2026, 11, 21, 3, 30, tzinfo=UTC)


def machine(**changes: object) -> MachineLine:
    fields = {"id": "0eba0bf8", "hostname": "server001", "mac": "08:00:27:00:00:01", "address": "172.30.0.11"}
    return MachineLine(**{**fields, **changes})


def workflow(**changes: object) -> WorkflowLine:
    fields = {
        "id": "a8984b09",
        "name": "ubuntu_provisioning",
        "state": State.RUNNING,
        "created_at": NOW - timedelta(seconds=134),
        "ended_at": None,
        "tasks": (TaskLine(name="os-installation", worker="server001", done=1, total=3),),
    }
    return WorkflowLine(**{**fields, **changes})


def drawn(snapshot: Snapshot, notice: str = "") -> str:
    printed = io.StringIO()
    Console(width=110, file=printed).print(screen(snapshot, notice))
    return printed.getvalue()


def picture(*, machines: tuple[MachineLine, ...] = (), workflows: tuple[WorkflowLine, ...] = ()) -> str:
    return drawn(Snapshot(now=NOW, version="0.1.0", machines=machines, workflows=workflows))


def test_a_running_action_shows_its_time_its_limit_and_its_last_line() -> None:
    running = RunningLine(
        task="os-installation",
        name="disk-image",
        started_at=NOW - timedelta(seconds=21),
        timeout=600,
        last_output="412 MB written",
    )
    text = picture(machines=(machine(),), workflows=(workflow(running=running),))
    assert "disk-image  0:21 of at most 10:00" in text
    assert "412 MB written" in text
    assert "1/3" in text
    assert "RUNNING  2:14" in text


def test_a_failure_is_told_in_plain_words_with_where_to_read_more() -> None:
    failure = FailureLine(
        task="t", name="disk-image", reason="ImageNotFound", message="no such image", last_output="boom"
    )
    text = picture(workflows=(workflow(state=State.FAILED, ended_at=NOW, failure=failure),))
    assert "disk-image: ImageNotFound: no such image" in text
    assert "boom" in text
    assert "tinkbox workflow logs a8984b09" in text


def test_a_parked_machine_says_why() -> None:
    text = picture(machines=(machine(parked="3 boots without progress", stage="parked"),))
    assert "server001 is parked: 3 boots without progress" in text


def test_a_machine_that_was_never_seen_says_so() -> None:
    assert "not seen yet" in picture(machines=(machine(),))


def test_an_empty_appliance_says_what_to_do_next() -> None:
    assert "tinkbox hardware push" in picture()


def test_only_the_newest_finished_workflows_are_shown_but_every_unfinished_one() -> None:
    old = tuple(
        workflow(
            id=f"old-{number}",
            state=State.SUCCESS,
            created_at=NOW - timedelta(days=1, seconds=number),
            ended_at=NOW - timedelta(hours=5),
        )
        for number in range(12)
    )
    waiting = workflow(id="waiting", state=State.PENDING, created_at=NOW - timedelta(days=9))
    text = picture(workflows=(*old, waiting))
    assert "waiting" in text
    assert "old-0 " in text
    assert "old-11" not in text
    assert "and 4 older workflow(s)" in text


def test_nothing_a_machine_says_can_steer_the_terminal() -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07ok\nnext\u202eline"
    text = picture(machines=(machine(hostname=hostile),))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert clean("a" * 500, 10) == "a" * 9 + "…"


def test_a_notice_stands_above_the_last_picture() -> None:
    snapshot = Snapshot(now=NOW, version="0.1.0", machines=(machine(),), workflows=())
    text = drawn(snapshot, "the appliance is away")
    assert text.index("the appliance is away") < text.index("server001")


def test_durations_read_like_a_clock() -> None:
    assert elapsed(NOW, NOW + timedelta(seconds=7)) == "0:07"
    assert elapsed(NOW, NOW + timedelta(seconds=3723)) == "1:02:03"
    assert elapsed(NOW, NOW - timedelta(seconds=5)) == "0:00"
