"""Events told, and added up."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.model.flows import NOW, action, service, status, workflow
from tinkbox.model import history
from tinkbox.model.breakpoint import Armed, Breakpoints, Hold, Kind, Verb, Verdict
from tinkbox.model.errors import Invalid
from tinkbox.model.history import Fact, History, fold
from tinkbox.model.services import Phase, Standing
from tinkbox.model.workflow import Event, Outcome, State

THREE = workflow(State.PENDING, [status(State.PENDING), status(State.SKIPPED, 1), status(State.PENDING, 2, "other")])
BEGUN = [history.created(THREE), history.started(), history.action_started(action(), "x")]


def events(facts: Sequence[Fact]) -> list[Event]:
    return [
        Event(workflow_id="w1", number=number, at=NOW, kind=kind, data=data)
        for number, (kind, data) in enumerate(facts, 1)
    ]


def ended(state: State, index: int = 0, *, again: bool = False) -> Fact:
    return history.action_ended(action(index), "x", Outcome(state=state), 1.23456, again=again)


HOLD = Hold(
    attempt="x", workflow_id="w1", sequence=2, kind=Kind.FAILURE, held_at=NOW, deadline=NOW + timedelta(seconds=60),
    timeout=60, outcome=Outcome(state=State.FAILED, exit_code=3, reason="DiskNotFound", message="no disk"),
)  # fmt: skip
VERDICT = Verdict(verb=Verb.RETRY, who="anna", why="the cable", fresh=True, command=("sh",), environment={"A": "b"})
ABOUT_HOLDS = [
    history.breakpoints_armed(Breakpoints(on_failure=True), "anna"),
    history.breakpoints_cleared(Breakpoints(), "anna"),
    history.breakpoints_refused(action(), "x", Armed(before=True)),
    history.verdict_given(action(), HOLD, VERDICT),
    history.hold_extended(action(), HOLD, "anna", "lunch"),
    history.hold_expiring(action(), HOLD),
    history.hold_expired(action(), HOLD, VERDICT),
]


def resumed(state: State) -> Fact:
    return history.action_resumed(action(), HOLD, state, 12.3456)


@pytest.mark.parametrize(
    ("facts", "state", "actions"),
    [
        ([history.created(THREE)], "PENDING", "PENDING SKIPPED PENDING"),
        (BEGUN, "RUNNING", "RUNNING SKIPPED PENDING"),
        ([*BEGUN, history.action_leaving(action(), "x")], "RUNNING", "LEAVING SKIPPED PENDING"),
        ([*BEGUN, history.action_held(action(), HOLD)], "RUNNING", "HELD SKIPPED PENDING"),
        ([*BEGUN, history.action_held(action(), HOLD), *ABOUT_HOLDS], "RUNNING", "HELD SKIPPED PENDING"),
        ([*BEGUN, history.action_held(action(), HOLD), resumed(State.RUNNING)], "RUNNING", "RUNNING SKIPPED PENDING"),
        ([*BEGUN, history.action_held(action(), HOLD), resumed(State.LEAVING)], "RUNNING", "LEAVING SKIPPED PENDING"),
        ([*BEGUN, ended(State.SUCCESS)], "RUNNING", "SUCCESS SKIPPED PENDING"),
        ([*BEGUN, ended(State.FAILED, again=True)], "RUNNING", "PENDING SKIPPED PENDING"),
        ([*BEGUN, history.stopping(State.CANCELED, "Canceled", "")], "STOPPING", "RUNNING SKIPPED PENDING"),
        (
            [*BEGUN, ended(State.TIMEOUT), history.ended(State.TIMEOUT, "Timeout", "")],
            "TIMEOUT",
            "TIMEOUT SKIPPED PENDING",
        ),
        (
            [*BEGUN, ended(State.SUCCESS), ended(State.CANCELED, 2), history.ended(State.CANCELED, "", ""), history.retried(1)],
            "PENDING",
            "SUCCESS SKIPPED PENDING",
        ),
        ([*BEGUN, ended(State.SUCCESS), history.ended(State.FAILED, "", ""), history.retried(0)], "PENDING", "PENDING SKIPPED PENDING"),
        ([*BEGUN, ("service.unheard-of", {})], "RUNNING", "RUNNING SKIPPED PENDING"),
    ],
)  # fmt: skip
def test_events_add_up(facts: list[Fact], state: str, actions: str) -> None:
    assert fold(events(facts)) == History(state=State(state), actions=tuple(State(each) for each in actions.split()))


def came_to(phase: Phase, run: str = "r0", **told: object) -> Fact:
    standing = Standing(run=run, phase=phase, **told)  # type: ignore[arg-type]
    return history.service_told(service(phase).service, phase, standing)


def test_thousands_of_events_of_a_service_are_a_few_megabytes() -> None:
    told = came_to(Phase.RESTARTING, reason="NonZeroExit", message="m" * 8000, tail=("t" * 1000,) * 20)
    assert len(json.dumps(told)) * 5000 < 7_000_000
    _, about = came_to(Phase.RESTARTING, message="cannot bind", tail=("starting", "port 80 is taken"))
    assert (about["message"], about["tail"]) == ("cannot bind", ["starting", "port 80 is taken"])


def test_each_run_of_a_service_adds_up_on_its_own() -> None:
    two = (service(Phase.PENDING), service(Phase.PENDING, index=1, name="key", host="m2"))
    told = [history.created(replace(THREE, services=two)), came_to(Phase.STARTING), came_to(Phase.READY)]
    assert fold(events(told)).runs == {"r0": Phase.READY, "r1": Phase.PENDING}
    told += [history.ended(State.CANCELED, "", ""), came_to(Phase.STOPPING), came_to(Phase.STOPPED, "r1")]
    told += [history.retried(0, ["r2", "r3"]), came_to(Phase.STOPPED), came_to(Phase.STARTING, "r3")]
    expected = {"r0": Phase.STOPPED, "r1": Phase.STOPPED, "r2": Phase.PENDING, "r3": Phase.STARTING}
    assert (fold(events(told)).state, fold(events(told)).runs) == (State.PENDING, expected)
    assert told[0][1]["services"] == [
        {"service": "boot", "host": "", "run": "r0"}, {"service": "key", "host": "m2", "run": "r1"},
    ]  # fmt: skip


def test_histories_of_before_there_were_services_have_none() -> None:
    kind, data = history.created(THREE)
    old = {name: value for name, value in data.items() if name != "services"}
    assert fold(events([(kind, old), ("workflow.retried", {"from": 0})])).runs == {}


@pytest.mark.parametrize("phase", [each for each in Phase if each is not Phase.PENDING])
def test_a_service_tells_how_it_ended_where_it_did_and_its_trouble_everywhere(phase: Phase) -> None:
    ended = {"exit_code": 0, "signal": "SIGHUP", "tail": ["a"]}
    kind, data = came_to(phase, restarts=2, reason="R", message="m", exit_code=0, signal="SIGHUP", tail=("a",))
    assert kind == f"service.{phase.value.lower()}"
    common = {"service": "boot", "host": "", "run": "r0", "restarts": 2, "reason": "R", "message": "m"}
    shown = phase.value in {"RESTARTING", "EXITED", "FAILED", "STOPPED"}
    assert json.loads(json.dumps(data)) == {**common, **(ended if shown else {})}
    assert came_to(phase)[1] == {"service": "boot", "host": "", "run": "r0", "restarts": 0}


@pytest.mark.parametrize("state", [State.SUCCESS, State.FAILED, State.TIMEOUT, State.CANCELED])
def test_every_end_is_told_by_its_word(state: State) -> None:
    assert fold(events([*BEGUN, ended(state), history.ended(state, "", "")])).state is state


def test_a_missing_or_repeated_event_is_noticed() -> None:
    told = events([*BEGUN, ended(State.SUCCESS)])
    for wrong in (told[1:], [told[0], *told[2:]], [told[0], *told], []):
        with pytest.raises(Invalid):
            fold(wrong)


def test_what_does_not_begin_with_the_creation_is_no_history() -> None:
    with pytest.raises(Invalid, match="begin with"):
        fold(events([history.started()]))


def test_the_creation_names_actions_and_the_workers_that_are_needed() -> None:
    kind, data = history.created(THREE)
    assert kind == "workflow.created"
    assert data["workers"] == ["me", "other"]
    assert data["skipped"] == [1]
    assert data["actions"][2] == {"task": "t", "action": "a2", "worker": "other"}


def test_an_end_tells_everything_a_person_asks() -> None:
    outcome = Outcome(state=State.FAILED, exit_code=137, signal="SIGKILL", reason="Signal", message="m", hint="h")
    kind, data = history.action_ended(action(), "x", outcome, 1.23456, again=True)
    assert kind == "action.failed"
    assert data == {
        "task": "t", "action": "a0", "index": 0, "worker": "me", "attempt": "x", "state": "FAILED", "seconds": 1.235,
        "reason": "Signal", "message": "m", "hint": "h", "exit_code": 137, "signal": "SIGKILL", "next": "PENDING",
    }  # fmt: skip


WHICH = {"task": "t", "action": "a0", "index": 0, "worker": "me", "attempt": "x"}
BY = (NOW + timedelta(seconds=60)).isoformat()


def test_a_hold_tells_how_its_process_ended_and_until_when_it_lasts() -> None:
    assert history.action_held(action(), HOLD) == ("action.held", {
        **WHICH, "state": "HELD", "sequence": 2, "breakpoint": "failure", "deadline": BY, "on_expiry": "fail",
        "ended": "FAILED", "reason": "DiskNotFound", "message": "no disk", "exit_code": 3, "signal": "",
    })  # fmt: skip
    assert "ended" not in history.action_held(action(), replace(HOLD, kind=Kind.BEFORE, outcome=None))[1]
    assert resumed(State.RUNNING)[1] == {**WHICH, "state": "RUNNING", "sequence": 2, "held": 12.346}


def test_an_end_in_a_hold_tells_how_long_it_was_held() -> None:
    told = history.action_ended(action(), "x", Outcome(state=State.FAILED), 1, again=False, held=9.8765)[1]
    assert told["held"] == 9.877


def test_whoever_did_something_about_a_breakpoint_is_named_with_their_why() -> None:
    assert {kind for kind, _ in ABOUT_HOLDS} == {
        "breakpoint.armed", "breakpoint.cleared", "breakpoint.refused", "breakpoint.verdict", "breakpoint.extended",
        "breakpoint.expiring", "breakpoint.expired",
    }  # fmt: skip
    told = {kind: json.loads(json.dumps(data)) for kind, data in ABOUT_HOLDS}
    armed = {"on_failure": True, "before": [], "after": [], "timeout": 1800, "on_expiry": "fail", "who": "anna"}
    assert told["breakpoint.armed"] == armed
    assert told["breakpoint.cleared"] == {**armed, "on_failure": False}
    assert (told["breakpoint.refused"]["before"], told["breakpoint.refused"]["after"]) == (True, False)
    assert told["breakpoint.refused"]["why"]
    assert told["breakpoint.verdict"] == {
        **WHICH, "sequence": 2, "verb": "retry", "who": "anna", "why": "the cable", "fresh": True, "command": ["sh"],
        "environment": {"A": "b"},
    }  # fmt: skip
    deadline = {**WHICH, "sequence": 2, "deadline": BY, "on_expiry": "fail"}
    assert told["breakpoint.extended"] == {**deadline, "who": "anna", "why": "lunch"}
    assert told["breakpoint.expiring"] == deadline
    assert told["breakpoint.expired"] == {**told["breakpoint.verdict"], **deadline}
