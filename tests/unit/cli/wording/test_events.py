"""Events in a person's words, from the facts as they are recorded."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tinkbox.api.routes.workflows.events import event_document
from tinkbox.cli.output.formats import Document
from tinkbox.cli.wording.events import action_status, concerns_action, line_of, told, undecided
from tinkbox.model import condition_events, history, shells
from tinkbox.model.actions.action import Action
from tinkbox.model.breakpoint import Armed, Breakpoints, Hold, Kind, Verb, Verdict
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.workflow import Event, Outcome, PlannedAction, State

AT = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
ACTION = PlannedAction(index=0, task="disk", worker="w", address="a", spec=Action(name="wipe", image="i", timeout=60))
BROKEN = Outcome(state=State.FAILED, exit_code=3, reason="DiskNotFound", message="no disk\x1b[2J")
HOLD = Hold(
    attempt="x", workflow_id="f", sequence=1, kind=Kind.FAILURE, held_at=AT, deadline=AT + timedelta(minutes=30),
    timeout=1800, outcome=BROKEN,
)  # fmt: skip
RETRY = Verdict(verb=Verb.RETRY, who="anna", why="new disk")
UNTIL = "until 2026-11-21 03:30:00 UTC, then fail"


def event(fact: history.Fact) -> Document:
    """A fact as the appliance answers with it."""
    kind, data = fact
    document = event_document(Event(workflow_id="f", number=3, at=AT, kind=kind, data=data))
    decoded: Document = json.loads(json.dumps(document))
    return decoded


TOLD = [
    (history.action_held(ACTION, HOLD), f"Held because it failed (exit 3, DiskNotFound: no disk\x1b[2J), {UNTIL}"),
    (
        history.action_held(ACTION, replace(HOLD, kind=Kind.BEFORE, outcome=None)),
        f"Held before it starts, {UNTIL}",
    ),
    (
        history.action_held(ACTION, replace(HOLD, kind=Kind.AFTER, outcome=Outcome(state=State.SUCCESS, exit_code=0))),
        f"Held after its end (exit 0), {UNTIL}",
    ),
    (history.action_resumed(ACTION, HOLD, State.RUNNING, 75.2), "Goes on after 1m15s at a breakpoint"),
    (history.verdict_given(ACTION, HOLD, RETRY), "anna: retry: new disk"),
    (
        history.verdict_given(
            ACTION, HOLD, replace(RETRY, fresh=True, command=("sh", "-c", "true"), environment={"A": "secret", "B": ""})
        ),
        "anna: retry in a new container with the command sh -c true with other values of A, B: new disk",
    ),
    (
        history.breakpoints_armed(Breakpoints(on_failure=True, before=("disk/wipe",)), "anna"),
        "anna: armed on failure, before disk/wipe; 30m after the last activity a hold ends by itself: fail",
    ),
    (history.breakpoints_cleared(Breakpoints(), "anna"), "anna: nothing is armed"),
    (history.image_pinned("debian:12", "sha256:1", ""), "debian:12 is sha256:1"),
    (history.image_pinned("debian:12", "sha256:1", "node-7"), "debian:12 is sha256:1, as node-7 says"),
    (history.retried(0), ""),
    (
        history.retried(0, (), {"debian:12": "sha256:2", "x.test/y": ""}),
        "debian:12 is sha256:2 now, x.test/y is pulled again",
    ),
    (
        history.breakpoints_refused(ACTION, "x", Armed(on_failure=True)),
        "not held: the worker was started to take no breakpoints",
    ),
    (history.hold_extended(ACTION, HOLD, "anna", "a part is coming"), f"anna: held {UNTIL}: a part is coming"),
    (history.hold_expiring(ACTION, HOLD), f"held {UNTIL}"),
    (
        history.hold_expired(ACTION, HOLD, Verdict(verb=Verb.FAIL, who="deadline", why="nobody decided in time")),
        "no decision in time: fail",
    ),
    (shells.command("s", "anna", ["cat", "/etc/fstab"]), "anna: cat /etc/fstab (s)"),
    (shells.attached("s", "bert", driver=False), "bert (s)"),
    (
        shells.ended("s", exit_code=1, reason="", message="", sha256="0", size=3),
        "exit 1 (s)",
    ),
    (history.action_started(ACTION, "x"), "Started execution"),
    (
        history.action_ended(ACTION, "x", Outcome(state=State.SUCCESS), 1, again=False),
        "Finished Execution Successfully",
    ),
    (
        history.action_ended(ACTION, "x", replace(BROKEN, message="no disk"), 1, again=True),
        "DiskNotFound: no disk (it is tried again)",
    ),
    (history.stopping(State.CANCELED, "Canceled", "it was canceled"), "Canceled: it was canceled"),
]


EXIT = {"exit_code": 1, "tail": ["bound", "no such file\x1b[2J"]}
SERVICES = {
    "starting": ({"message": "fetching boot-files:v1"}, "starting: fetching boot-files:v1"),
    "ready": ({"seconds": 3.21}, "ready after 3.2 s"),
    "unhealthy": ({"message": "connection refused"}, "not healthy any more: connection refused"),
    "restarting": (
        {**EXIT, "message": "ended with exit code 1 (bad\x1b): started again in 2 s", "restarts": 2},
        "ended with exit code 1 (bad\x1b): started again in 2 s (restarts so far: 2)",
    ),
    "exited": ({"exit_code": 0, "tail": ["bye"]}, "done after exit 0: bye"),
    "failed": (
        {**EXIT, "reason": "ServiceFailed", "message": "ended with exit code 1 (bad), after 5 restarts in a row"},
        "failed: ServiceFailed: ended with exit code 1 (bad), after 5 restarts in a row",
    ),
    "stopping": ({}, "told to end"),
    "stopped": ({"exit_code": 137, "signal": "SIGKILL", "tail": []}, "ended after SIGKILL"),
}


@pytest.mark.parametrize("what", SERVICES)
def test_what_becomes_of_a_service_is_told(what: str) -> None:
    data, said = SERVICES[what]
    happened = event((f"service.{what}", {"service": "boot files", "host": "", "run": "r", "restarts": 0, **data}))
    assert told(happened) == said
    kind = f"service.{what}".ljust(18)
    assert line_of(happened) == f"2026-11-21 03:00:00 UTC  {kind} boot files: {said}".replace("\x1b", " ")


def test_a_restart_that_its_host_said_nothing_of_is_told_by_its_end() -> None:
    happened = event(("service.restarting", {"service": "s", "restarts": 0, **EXIT}))
    assert told(happened) == "started again after exit 1: no such file\x1b[2J"


def test_what_is_not_known_of_a_service_is_left_out() -> None:
    for what, said in (("ready", "ready"), ("restarting", "started again"), ("failed", "failed")):
        assert told(event((f"service.{what}", {"service": "s"}))) == said


@pytest.mark.parametrize(("fact", "said"), TOLD, ids=[fact[0] for fact, _ in TOLD])
def test_an_event_is_told(fact: history.Fact, said: str) -> None:
    assert told(event(fact)) == said


def test_a_line_has_when_what_and_the_rest_and_nothing_that_steers_a_terminal() -> None:
    assert line_of(event(TOLD[0][0])) == (
        "2026-11-21 03:00:00 UTC  action.held        disk / wipe: "
        f"Held because it failed (exit 3, DiskNotFound: no disk [2J), {UNTIL}"
    )
    assert line_of(event(history.breakpoints_cleared(Breakpoints(), "anna"))).endswith(
        "UTC  breakpoint.cleared anna: nothing is armed"
    )


def test_what_goes_as_expected_is_not_spelled_out() -> None:
    assert line_of(event(history.action_started(ACTION, "x"))).endswith("action.started     disk / wipe")
    assert line_of(event(history.started())).endswith("UTC  workflow.started")
    ended = history.action_ended(ACTION, "x", Outcome(state=State.SUCCESS), 1.25, again=False)
    assert line_of(event(ended)).endswith("action.succeeded   disk / wipe after 1.2 s")


def test_what_was_decided_about_an_action_stands_among_what_happened_to_it() -> None:
    status = {fact[0]: action_status(event(fact)) for fact, _ in TOLD if concerns_action(event(fact))}
    assert status == {
        "action.started": "ACTION_IN_PROGRESS",
        "action.held": "ACTION_HELD",
        "breakpoint.verdict": "ACTION_HELD",
        "breakpoint.expired": "ACTION_HELD",
        "action.resumed": "ACTION_IN_PROGRESS",
        "action.succeeded": "ACTION_SUCCESS",
        "action.failed": "ACTION_FAILED",
    }


def test_a_hold_wants_a_verdict_until_something_follows_it() -> None:
    held = event(history.action_held(ACTION, HOLD))
    for fact in (
        history.verdict_given(ACTION, HOLD, RETRY),
        history.hold_expired(ACTION, HOLD, RETRY),
        history.action_resumed(ACTION, HOLD, State.RUNNING, 1),
        history.action_ended(ACTION, "x", BROKEN, 1, again=False),
        history.stopping(State.CANCELED, "Canceled", ""),
    ):
        assert undecided([held, event(fact)]) is None
        assert undecided([event(fact), held]) == held
    still = [history.hold_expiring(ACTION, HOLD), history.breakpoints_cleared(Breakpoints(), "anna")]
    assert undecided([held, *map(event, still)]) == held
    assert undecided([]) is None


def test_a_condition_of_the_appliance_is_told_with_what_to_do_and_how_long_it_lasted() -> None:
    disk = Diagnosis(
        rule="DiskNearlyFull",
        gravity=Gravity.FAULT,
        cause="The disk is nearly full.",
        evidence=("3MiB are free",),
        remedy="Free room.",
    )
    began = event(("condition.began", condition_events.began(disk, "")))
    assert line_of(began).endswith(
        "condition.began    fault DiskNearlyFull: The disk is nearly full. What to do: Free room."
    )
    over = event(("condition.over", condition_events.over("DiskNearlyFull", "", disk.gravity, disk.cause, 125)))
    assert line_of(over).endswith("condition.over     DiskNearlyFull is over after 2m5s: The disk is nearly full.")
    over = event(("condition.over", condition_events.over("DiskNearlyFull", "", disk.gravity, disk.cause, 0)))
    assert line_of(over).endswith("DiskNearlyFull is over; one look saw it: The disk is nearly full.")


def test_what_the_doctor_said_of_a_failure_stands_beside_its_reason() -> None:
    fact = history.diagnosed(
        history.action_ended(ACTION, "x", BROKEN, 1.0, again=False), "The disk is not in the machine."
    )
    assert "no disk" in told(event(fact))
    assert told(event(fact)).endswith("(doctor: The disk is not in the machine.)")
