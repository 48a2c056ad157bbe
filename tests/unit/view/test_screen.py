"""The picture of one snapshot."""

import io
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from tests.golden import text as golden
from tinkbox.model.action_progress import Progress
from tinkbox.model.breakpoint import Kind, Verb
from tinkbox.model.limits import SHOWN_HOLDERS
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State
from tinkbox.view.screen import clean, elapsed, screen
from tinkbox.wire.messages.status import (
    DeletedLine,
    DiskLine,
    FailureLine,
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
)

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


def test_a_running_action_shows_how_far_it_is() -> None:
    far = Progress(done=41, total=100, unit="bytes", rate=38e6, seconds_left=72)
    running = RunningLine(task="t", name="image", started_at=NOW - timedelta(seconds=41), timeout=600, progress=far)
    text = picture(workflows=(workflow(running=running),))
    assert "▸ image  41 %  38 MB/s  1:12 left  0:41 of at most 10:00" in text


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


def failure(**changes: object) -> FailureLine:
    fields = {"task": "t", "name": "disk-image", "reason": "DiskTooSmall", "message": "needs 8 GiB"}
    return FailureLine(**{**fields, **changes})


def test_a_failure_says_what_to_do_and_how_the_process_ended() -> None:
    failed = failure(hint="use a larger disk", exit_code=3, attempt=3, attempts=3)
    text = picture(workflows=(workflow(state=State.FAILED, ended_at=NOW, failure=failed),))
    assert "disk-image (3 attempts): DiskTooSmall: needs 8 GiB (exit code 3)" in text
    assert "what to do: use a larger disk" in text
    killed = failure(reason="Signal", message="a signal ended it", signal="SIGSEGV")
    assert "Signal: a signal ended it (SIGSEGV)" in picture(workflows=(workflow(failure=killed),))
    said = failure(message="exit code 3", exit_code=3)
    assert "(exit code 3)" not in picture(workflows=(workflow(failure=said),))
    assert "disk-image: no reason was given" in picture(workflows=(workflow(failure=failure(reason="", message="")),))


def test_an_action_that_is_tried_again_shows_which_attempt_it_is_and_why() -> None:
    running = RunningLine(task="t", name="disk-image", started_at=NOW, timeout=60, attempt=2, attempts=3)
    text = picture(workflows=(workflow(running=running, retried=failure(attempt=1, attempts=3)),))
    assert "disk-image  attempt 2 of 3  0:00 of at most 1:00" in text
    assert "disk-image: attempt 1 of 3 failed, it is tried again: DiskTooSmall: needs 8 GiB" in text
    assert "attempt" not in picture(
        workflows=(workflow(running=RunningLine(task="t", name="x", started_at=NOW, timeout=60)),)
    )


def test_a_machine_that_goes_away_by_intention_is_waited_for() -> None:
    leaving = RunningLine(task="t", name="reboot", started_at=NOW, timeout=60, leaving=True)
    assert "waited for until it comes back" in picture(workflows=(workflow(running=leaving),))


def held(**changes: object) -> HeldLine:
    fields = {
        "task": "t", "name": "disk-image", "kind": Kind.FAILURE, "held_at": NOW - timedelta(seconds=75),
        "deadline": NOW + timedelta(seconds=1725), "on_expiry": Verb.FAIL, "reason": "NonZeroExit", "exit_code": 7,
    }  # fmt: skip
    return HeldLine(**{**fields, **changes})


def test_a_held_action_cannot_be_overlooked_and_says_what_to_type() -> None:
    text = picture(workflows=(workflow(held=held(last_output="no such disk")),))
    assert "1 held" in text
    assert "BREAKPOINT on the failure of disk-image" in text
    assert "NonZeroExit (exit code 7)  held for 1:15" in text
    assert "no such disk" in text
    assert "tinkbox breakpoint shell a8984b09" in text
    assert "in 28:45 nobody is waited for any more: fail" in text


@pytest.mark.parametrize(("kind", "words"), [(Kind.BEFORE, "before"), (Kind.AFTER, "after")])
def test_a_hold_says_of_what_kind_it_is(kind: Kind, words: str) -> None:
    text = picture(workflows=(workflow(held=held(kind=kind, reason="", exit_code=None)),))
    assert f"BREAKPOINT {words} disk-image" in text
    assert "no reason was given" not in text


def test_a_hold_that_was_decided_says_by_whom_and_asks_for_nothing() -> None:
    text = picture(workflows=(workflow(held=held(decided="anna: retry")),))
    assert "decided by anna: retry; this is being carried out" in text
    assert "tinkbox breakpoint shell" not in text
    assert "held" not in picture(workflows=(workflow(),))


@pytest.mark.parametrize(
    ("into", "words"), [(State.CANCELED, "being canceled"), (State.TIMEOUT, "global_timeout is over")]
)
def test_what_is_being_stopped_says_why_until_it_is_over(into: State, words: str) -> None:
    assert words in picture(workflows=(workflow(state=State.STOPPING, stop_into=into),))
    assert words not in picture(workflows=(workflow(state=into, stop_into=into, ended_at=NOW),))


TROUBLE = {
    Phase.STARTING: "the Docker engine is away",
    Phase.UNHEALTHY: "its health check fails: connection refused",
    Phase.RESTARTING: "ended with exit code 1, started again in 2 s",
    Phase.FAILED: "no such image: boot-files:v9",
}


def service(phase: Phase, **changes: object) -> ServiceLine:
    fields = {"name": f"is-{phase.lower()}", "host": "provisioner", "phase": phase, "message": TROUBLE.get(phase, "")}
    return ServiceLine(**{**fields, **changes})


def test_the_services_of_a_workflow_in_each_phase() -> None:
    waiting = (service(Phase.PENDING), service(Phase.STARTING), service(Phase.READY, ready=True))
    running = [service(phase, restarts=number, ready=True) for number, phase in enumerate(list(Phase)[3:], 1)]
    running[1] = service(Phase.RESTARTING, name="网", host="server001", restarts=12, ready=True)
    text = picture(
        workflows=(
            workflow(id="b0c1", name="to begin", state=State.PENDING, services=waiting),
            workflow(services=tuple(running), running=RunningLine(task="t", name="a", started_at=NOW, timeout=60)),
        )
    )
    assert text == golden("cli/status-services.txt")


def test_a_workflow_says_which_services_it_waits_for_until_the_last_one_was_ready() -> None:
    services = tuple(service(Phase.RESTARTING, name=name, ready=name == "a") for name in "abc")
    assert "it begins when its services are ready; not yet: b, c" in picture(
        workflows=(workflow(state=State.PENDING, services=services),)
    )
    for others in ({"services": services}, {"state": State.PENDING, "services": services[:1]}, {}):
        assert "services are ready" not in picture(workflows=(workflow(**others),))


def test_a_workflow_that_is_over_has_no_services_to_show() -> None:
    over = workflow(state=State.SUCCESS, ended_at=NOW, services=(service(Phase.STOPPED),))
    assert "is-stopped" not in picture(workflows=(over,))


def test_trouble_longer_than_the_line_is_not_lost_in_plain_text() -> None:
    printed = io.StringIO()
    told = service(Phase.FAILED, message="one two three " * 12 + "END")
    snapshot = Snapshot(now=NOW, version="0.1.0", machines=(), workflows=(workflow(services=(told,)),))
    Console(width=40, file=printed).print(screen(snapshot), soft_wrap=True)
    (line,) = [line for line in printed.getvalue().splitlines() if "is-failed" in line]
    assert line.startswith("  ✘ is-failed  provisioner  FAILED  one two")
    assert line.endswith("END")


def test_phases_have_their_colours_on_a_terminal() -> None:
    printed = io.StringIO()
    services = tuple(service(phase, message="") for phase in Phase)
    snapshot = Snapshot(now=NOW, version="0.1.0", machines=(), workflows=(workflow(services=services),))
    console = Console(width=110, file=printed, force_terminal=True, color_system="standard")
    console.print(screen(snapshot))
    text = printed.getvalue()
    for phase, codes in (("READY", "32"), ("FAILED", "1;31"), ("UNHEALTHY", "1;33"), ("STOPPED", "2")):
        assert f"\x1b[{codes}m{phase}" in text


def test_a_service_that_kept_its_workflow_from_beginning_is_named_with_where_its_output_is() -> None:
    kept = FailureLine(
        task="", name="", service="boot files", reason="ServiceNotReady", message="not ready within 300 seconds"
    )
    text = picture(workflows=(workflow(state=State.FAILED, ended_at=NOW, failure=kept),))
    assert "✘ boot files: ServiceNotReady: not ready within 300 seconds" in text
    assert "its whole output: tinkbox service logs 'a8984b09/boot files'" in text


def test_skipped_actions_are_done_and_told() -> None:
    text = picture(workflows=(workflow(tasks=(TaskLine(name="t", worker="w", done=3, total=4, skipped=2),)),))
    assert "3/4  2 skipped" in text


def test_tasks_and_services_that_are_left_out_are_counted() -> None:
    service = ServiceLine(name="s", host="w", phase=Phase.READY)
    text = picture(workflows=(workflow(tasks_before=1, tasks_after=7, services=(service,), services_more=2),))
    assert "  … 1 task before these\n" in text
    assert "  … 7 tasks after these\n" in text
    assert "  … 2 services more: tinkbox service list\n" in text


@pytest.mark.parametrize("state", [state for state in State if state not in {State.HELD, State.LEAVING, State.SKIPPED}])
def test_every_state_of_a_workflow_can_be_drawn(state: State) -> None:
    assert state.value in picture(workflows=(workflow(state=state),))


def test_a_machine_that_did_what_the_store_lost_says_so_and_how_to_free_it() -> None:
    lost, hint = (
        "HistoryLost: its machine did what this appliance does not know: t/one",
        "tinkbox hardware discard-history",
    )
    text = picture(machines=(machine(lost=lost, lost_hint=hint),))
    assert f"server001 {lost}" in text
    assert f"what to do: {hint}" in text


def test_a_parked_machine_says_why() -> None:
    text = picture(machines=(machine(parked="3 boots without progress", stage="parked"),))
    assert "server001 is parked: 3 boots without progress" in text


def test_no_part_of_a_mac_becomes_a_picture() -> None:
    seen = StrangerLine(mac="08:cd:27:ab:00:03", stage="discover", stage_at=NOW)
    text = drawn(
        Snapshot(
            now=NOW, version="0.1.0", machines=(machine(mac="08:cd:27:ab:00:02"),), workflows=(), strangers=(seen,)
        )
    )
    assert "08:cd:27:ab:00:02" in text
    assert "08:cd:27:ab:00:03" in text


def test_a_machine_that_was_never_seen_says_so() -> None:
    assert "not seen yet" in picture(machines=(machine(),))


def test_an_empty_appliance_says_what_to_do_next() -> None:
    assert "tinkbox hardware add MAC --name NAME" in picture()


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
    assert "and 4 older workflows" in text


def test_nothing_a_machine_says_can_steer_the_terminal() -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07ok\nnext\u202eline"
    told = failure(name=hostile, reason=hostile, message=hostile, hint=hostile, signal=hostile, last_output=hostile)
    running = RunningLine(task="t", name=hostile, started_at=NOW, timeout=60, last_output=hostile)
    stuck = held(name=hostile, reason=hostile, message=hostile, signal=hostile, last_output=hostile, decided=hostile)
    lines = tuple(ServiceLine(name=hostile, host=hostile, phase=phase, message=hostile) for phase in Phase)
    hit = workflow(name=hostile, failure=told, retried=told, running=running, held=stuck, services=lines)
    assert "\x1b" not in picture(workflows=(workflow(state=State.PENDING, services=lines),))
    assert "\x1b" not in picture(workflows=(workflow(failure=FailureLine(
        task="", name="", reason="", message="", service=hostile)),))  # fmt: skip
    text = picture(machines=(machine(hostname=hostile),), workflows=(hit,))
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


def test_who_gets_no_further_and_who_is_not_known_are_shown_with_what_is_known_of_them() -> None:
    """In tests/golden/cli/status-strangers.txt."""
    at = NOW - timedelta(seconds=40)
    machines = (
        machine(stage="fetched the kernel", stage_at=NOW - timedelta(seconds=3), ticket=True),
        machine(hostname="server002", stage="was offered an address", stage_at=at, stalled="stalled here for 40 s"),
    )
    strangers = (
        StrangerLine(mac="08:00:27:00:00:09", stage="was not answered", stage_at=at, detail="nobody\x1b[2J knows it"),
        StrangerLine(
            mac="08:00:27:00:00:0a", stage="asked for an address", stage_at=at, stalled="stalled here for 40 s"
        ),
    )
    snapshot = Snapshot(now=NOW, version="0.1.0", machines=machines, workflows=(), strangers=strangers)
    text = "".join(f"{line.rstrip()}\n" for line in drawn(snapshot).splitlines())
    assert text == golden("cli/status-strangers.txt")


def test_who_is_held_back_is_shown_with_what_it_takes() -> None:
    held = HeldBackLine(holder="172.30.0.12", held="128 connections", refused=412)
    limit = LimitLine(name="node_connections", used="130", total="8192 connections", held_back=(held,))
    text = drawn(Snapshot(now=NOW, version="0.1.0", machines=(), workflows=(), limits=(limit,)))
    assert "node_connections  130 of 8192 connections  172.30.0.12 (128 connections, refused 412" in text


def test_who_was_refused_once_was_refused_one_time() -> None:
    held = HeldBackLine(holder="172.30.0.12", held="1 transfer", refused=1)
    limit = LimitLine(name="tftp_transfers", used="1", total="2000 transfers", held_back=(held,))
    text = drawn(Snapshot(now=NOW, version="0.1.0", machines=(), workflows=(), limits=(limit,)))
    assert "tftp_transfers  1 of 2000 transfers  172.30.0.12 (1 transfer, refused 1 time)" in text


@pytest.mark.parametrize(
    ("holders", "told"),
    [(3, ""), (4, ", and 1 more: tinkbox doctor"), (SHOWN_HOLDERS, ", and at least 7 more: tinkbox doctor")],
)
def test_of_many_that_are_held_back_the_worst_are_shown(holders: int, told: str) -> None:
    held = tuple(HeldBackLine(holder=f"host{n}", held="4 uploads", refused=20 - n) for n in range(holders))
    limit = LimitLine(name="uploads", used="9", total="256 uploads", held_back=held)
    text = drawn(Snapshot(now=NOW, version="0.1.0", machines=(), workflows=(), limits=(limit,)))
    shown = ", ".join(f"host{n} (4 uploads, refused {20 - n} times)" for n in range(3))
    # Where the terminal is narrow, it goes on in further lines of its column.
    assert " ".join(text.partition("256 uploads")[2].split()) == shown + told


def stored(kind: str, octets: int) -> StoredLine:
    return StoredLine(kind=kind, octets=octets, number=1, remedy=f"delete {kind}")


def test_what_takes_most_room_is_one_line() -> None:
    kinds = (stored("images", 2200 << 20), stored("output", 310 << 20), stored("data", 9), stored("timelines", 8))
    disk = DiskLine(free=13 << 30, nearly_full=False, database=412 << 20, stored=kinds)
    lines = drawn(Snapshot(now=NOW, version="0.1.0", machines=(), workflows=(), disk=disk)).splitlines()
    assert [line.rstrip() for line in lines[-2:]] == [
        "",
        "DISK  13GiB free, database 412MiB: images 2.1GiB, output 310MiB, data 9 bytes",
    ]


def test_a_disk_of_which_nothing_was_measured_yet_has_its_sizes_alone() -> None:
    disk = DiskLine(free=13 << 30, nearly_full=False, database=292 << 10, stored=())
    lines = drawn(Snapshot(now=NOW, version="0.1.0", machines=(), workflows=(), disk=disk)).splitlines()
    assert lines[-1].rstrip() == "DISK  13GiB free, database 292KiB"


def test_a_disk_that_is_nearly_full_and_what_was_deleted_early_are_told() -> None:
    deleted = DeletedLine(workflows=35, octets=120 << 20, since=NOW - timedelta(hours=1), until=NOW)
    kinds = (stored("images", 2200 << 20),)
    disk = DiskLine(free=300 << 20, nearly_full=True, database=412 << 20, stored=kinds, deleted=deleted)
    text = drawn(Snapshot(now=NOW, version="0.1.0", machines=(), workflows=(), disk=disk))
    assert "the disk is nearly full: images take most: delete images" in text
    told = "35 finished workflow(s) were deleted early for lack of room (120MiB), from 2026-11-21 02:30 UTC to"
    assert told in text
    bare = DiskLine(free=3, nearly_full=True, database=4, stored=())
    assert "nearly full" in drawn(Snapshot(now=NOW, version="0.1.0", machines=(), workflows=(), disk=bare))
    full = DiskLine(free=3, nearly_full=True, database=4, stored=kinds, full=True)
    text = drawn(Snapshot(now=NOW, version="0.1.0", machines=(), workflows=(), disk=full))
    assert "the disk is full, and machines cannot hand in what they did: images take most" in text


def test_a_narrow_terminal_cuts_words_and_never_addresses() -> None:
    seen = {"stage": "was offered an address", "stage_at": NOW - timedelta(seconds=4), "ticket": True}
    known = machine(hostname="a-machine-with-a-long-name", **seen)
    unknown = StrangerLine(
        mac="08:00:27:00:00:09",
        stage="boots to tell what it is",
        stage_at=NOW - timedelta(seconds=71),
        detail="no hardware document names it (PXE, architecture 7)",
    )
    printed = io.StringIO()
    snapshot = Snapshot(now=NOW, version="0.1.0", machines=(known,), workflows=(), strangers=(unknown,))
    Console(width=80, file=printed).print(screen(snapshot))
    lines = printed.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    (first,) = [line for line in lines if "08:00:27:00:00:01" in line]
    assert first.split()[1:3] == ["08:00:27:00:00:01", "172.30.0.11"]
    assert first.split()[-2:] == ["0:04", "ticket"]
    (second,) = [line for line in lines if "08:00:27:00:00:09" in line]
    assert "1:11" in second
