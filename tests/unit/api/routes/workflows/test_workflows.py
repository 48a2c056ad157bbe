"""What the operator door answers, as JSON; tests/integration/api has it from a real engine."""

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tinkbox.api.json_values import Document
from tinkbox.api.routes.workflows.breakpoints import breakpoints_document, hold_documents
from tinkbox.api.routes.workflows.events import event_document
from tinkbox.api.routes.workflows.services import service_document
from tinkbox.api.routes.workflows.workflow_data import data_document, version_documents
from tinkbox.api.routes.workflows.workflows import attempt_documents, state_document, workflow_document
from tinkbox.engine.workflows.breakpoints import Standing
from tinkbox.model.actions.action import Action
from tinkbox.model.actions.progress import Progress
from tinkbox.model.breakpoint import Breakpoints, Hold, Kind, Verb, Verdict
from tinkbox.model.services import Phase, PlannedService, Service, ServiceStatus
from tinkbox.model.services import Standing as Stands
from tinkbox.model.workflow import ActionStatus, Event, Outcome, PlannedAction, State, Workflow
from tinkbox.store.ephemeral_data import DataVersion
from tinkbox.store.workflows import Attempt
from tinkbox.wire.ephemeral_data import Entry, encode

AT = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)


def action(index: int, state: State, outcome: Outcome | None = None) -> ActionStatus:
    planned = PlannedAction(
        index=index,
        task="t",
        worker="w",
        address="08:00:27:00:00:01",
        spec=Action(name=f"a{index}", image="i", timeout=60),
    )
    return ActionStatus(action=planned, state=state, outcome=outcome)


def workflow(*actions: ActionStatus) -> Workflow:
    return Workflow(
        id="f", name="n", template_id="t", template_name="t", devices={}, text="x", state=State.RUNNING, actions=actions, created_at=AT,
        updated_at=AT,
    )  # fmt: skip


def hold(attempt: str = "", **changes: object) -> Hold:
    fields = {
        "attempt": attempt, "workflow_id": "f", "sequence": 1, "kind": Kind.FAILURE, "held_at": AT, "timeout": 1800,
        "deadline": AT + timedelta(minutes=30),
    }  # fmt: skip
    return Hold(**{**fields, **changes})


def state_of(flow: Workflow, *holds: Hold) -> Document:
    return state_document(Standing(workflow=flow, breakpoints=Breakpoints(), holds=holds))


def test_progress_counts_the_actions_that_succeeded() -> None:
    done, runs, waits = (
        action(index, state) for index, state in enumerate([State.SUCCESS, State.RUNNING, State.PENDING])
    )
    state = state_of(workflow(done, runs, waits))
    assert (state["progress"], state["current_action"], state["current_action_state"]) == (33, "a1", "RUNNING")
    state = state_of(workflow(done, action(1, State.SUCCESS), action(2, State.SUCCESS)))
    assert (state["progress"], state["current_action"], state["current_action_state"]) == (100, "a2", "SUCCESS")


def test_a_failed_actions_state_says_why() -> None:
    outcome = Outcome(state=State.FAILED, exit_code=1, reason="DiskNotFound", message="no disk")
    state = state_of(workflow(action(0, State.FAILED, outcome)))
    assert (state["progress"], state["reason"], state["message"]) == (0, "DiskNotFound", "no disk")


def test_a_workflow_is_json_with_what_is_not_yet_as_null() -> None:
    document = json.loads(json.dumps(workflow_document(workflow(action(0, State.PENDING)), str)))
    (only,) = document["actions"]
    assert (only["started_at"], only["ended_at"], only["outcome"], only["command"]) == (None, None, None, [])
    assert document["created_at"] == "2026-11-21T03:00:00+00:00"


def test_an_action_that_says_how_far_it_is_is_shown_with_it() -> None:
    far = Progress(done=41, total=100, unit="bytes", rate=2.5, seconds_left=24)
    flow = workflow(action(0, State.SUCCESS), action(1, State.RUNNING))

    def progress(status: ActionStatus | None) -> Progress | None:
        return far if status is not None and status.state is State.RUNNING else None

    done, running = json.loads(json.dumps(workflow_document(flow, str, progress)))["actions"]
    told = {"done": 41, "total": 100, "unit": "bytes", "rate": 2.5, "seconds_left": 24}
    assert ("progress" in done, running["progress"]) == (False, told)
    standing = Standing(workflow=flow, breakpoints=Breakpoints(), holds=())
    assert state_document(standing, progress)["action_progress"] == told
    assert "action_progress" not in state_of(flow)


SERVICE = ServiceStatus(
    service=PlannedService(index=0, host="", spec=Service(name="boot files", worker="provisioner", image="boot-files:v1", urls=("//example/a",), labels=(("tinkbox.public", "true"), ("traefik.http.routers.b.rule", "Path(`/b`)"),
                ("traefik.http.routers.b.priority", "7")))),
    standing=Stands(
        run="r", phase=Phase.FAILED, restarts=5, exit_code=3, reason="ImageNotFound", message="none", tail=("a", "b"),
        address="10.213.0.2", ports=(80,),
    ),
    begun_at=AT, changed_at=AT + timedelta(seconds=9), output_length=7,
)  # fmt: skip


def test_a_service_says_where_it_stands_and_what_it_is_asked_for_by() -> None:
    flow = replace(workflow(action(0, State.PENDING)), services=(SERVICE,))
    (document,) = json.loads(json.dumps(workflow_document(flow, lambda _: "")["services"]))
    assert document == {
        "name": "boot files", "host": "provisioner", "machine": "", "image": "boot-files:v1", "digest": "",
        "state": "FAILED", "restarts": 5, "begun_at": "2026-11-21T03:00:00+00:00", "ready_at": None,
        "changed_at": "2026-11-21T03:00:09+00:00", "exit_code": 3, "signal": "", "reason": "ImageNotFound",
        "message": "none", "hint": "push it, or load it with `tinkbox image load FILE`; `tinkbox image list` shows what is there",
        "last_output": ["a", "b"], "output_bytes": 7, "run": "r", "routes": ["Path(`/b`)", "//example/a"],
        "address": "10.213.0.2", "ports": [80],
    }  # fmt: skip


def test_the_machine_that_hosts_a_service_goes_by_its_name_where_it_has_one() -> None:
    planned = replace(SERVICE.service, host="m1", spec=replace(SERVICE.service.spec, worker="08:00:27:00:00:01"))
    for name, host in (("server001", "server001"), ("", planned.spec.worker)):
        document = service_document(replace(SERVICE, service=planned), {"m1": name}.__getitem__)
        assert (document["host"], document["machine"]) == (host, "m1")


def test_an_events_facts_stand_beside_its_number() -> None:
    fact = Event(workflow_id="f", number=3, at=AT, kind="action.started", data={"task": "t", "state": State.RUNNING})
    assert event_document(fact) == {
        "workflow_id": "f", "number": 3, "at": "2026-11-21T03:00:00+00:00", "kind": "action.started", "task": "t",
        "state": "RUNNING",
    }  # fmt: skip


def attempt(token: str, position: int, **changes: object) -> Attempt:
    fields = {
        "token": token, "workflow_id": "f", "position": position, "worker": "w", "boot_id": "b",
        "state": State.RUNNING, "started_at": AT,
    }  # fmt: skip
    return Attempt(**{**fields, **changes})


def test_every_attempt_is_listed_and_counted_by_its_action() -> None:
    outcome = Outcome(state=State.FAILED, exit_code=3, reason="DiskNotFound", hint="look", tail=("a", "b"))
    made = [
        attempt("x", 0, state=State.FAILED, ended_at=AT, outcome=outcome, output_length=7),
        attempt("y", 0, state=State.SUCCESS),
        attempt("z", 1),
    ]
    flow = workflow(action(0, State.SUCCESS), action(1, State.RUNNING))
    first, second, third = json.loads(json.dumps(attempt_documents(flow, made)))
    assert first == {
        "attempt": "x", "index": 0, "task": "t", "action": "a0", "number": 1, "worker": "w", "state": "FAILED",
        "started_at": "2026-11-21T03:00:00+00:00", "ended_at": "2026-11-21T03:00:00+00:00", "output_bytes": 7,
        "outcome": {
            "state": "FAILED", "exit_code": 3, "signal": "", "reason": "DiskNotFound", "message": "", "hint": "look",
            "tail": ["a", "b"],
        },
    }  # fmt: skip
    assert (second["number"], second["outcome"], second["ended_at"]) == (2, None, None)
    assert (third["action"], third["number"]) == ("a1", 1)


def test_conditions_have_the_words_of_kubernetes() -> None:
    (started, succeeded) = workflow_document(workflow(action(0, State.RUNNING)), str)["conditions"]
    assert set(started) == {"type", "status", "reason", "message", "lastTransitionTime"}
    assert (started["type"], succeeded["type"], succeeded["status"]) == ("Started", "Succeeded", "Unknown")
    assert state_of(workflow(action(0, State.RUNNING)))["conditions"] == [started, succeeded]


def test_the_state_has_everything_that_explains_a_failure() -> None:
    outcome = Outcome(state=State.FAILED, signal="SIGKILL", reason="OutOfMemory", hint="more memory", tail=("last",))
    state = state_of(workflow(replace(action(0, State.FAILED, outcome), failures=1)))
    assert (state["signal"], state["exit_code"], state["hint"]) == ("SIGKILL", None, "more memory")
    assert (state["last_output"], state["failures"], state["retries"]) == (["last"], 1, 0)


def test_a_workflow_that_was_canceled_before_it_began_says_so() -> None:
    flow = replace(workflow(action(0, State.PENDING)), state=State.CANCELED, stop_into=State.CANCELED)
    state = state_of(flow)
    assert (state["current_action_state"], state["reason"]) == ("PENDING", "Canceled")
    assert "canceled" in state["message"]
    assert "retry" in state["hint"]


def test_progress_is_whole_when_the_last_action_was_skipped() -> None:
    done = workflow(action(0, State.SUCCESS), action(1, State.SKIPPED))
    assert state_of(done)["progress"] == 100
    between = workflow(action(0, State.SKIPPED), action(1, State.RUNNING), action(2, State.SKIPPED))
    assert state_of(between)["progress"] == 33


FLOW = workflow(action(0, State.SUCCESS), action(1, State.RUNNING))
VERSION = DataVersion(version=1, at=AT, worker="w", size=4, digest="d", archive=b"junk")


def test_data_that_is_no_archive_is_told_instead_of_failing() -> None:
    (file,) = data_document(VERSION, FLOW, [])["files"]
    assert file["path"] == ""
    assert file["error"]
    assert data_document(replace(VERSION, archive=None), FLOW, []) == {"version": 0, "files": []}
    assert data_document(None, FLOW, []) == {"version": 0, "files": []}


def test_data_names_the_action_that_wrote_it() -> None:
    later = AT + timedelta(seconds=9)
    made = [attempt("x", 0), attempt("y", 1, worker="another"), attempt("z", 1, started_at=later)]
    for at, expected in ((AT, ("t", "a0")), (later, ("t", "a1")), (AT - timedelta(seconds=1), ("", ""))):
        document = data_document(replace(VERSION, at=at), FLOW, made)
        assert (document["task"], document["action"]) == expected


def test_versions_of_the_data_are_listed_without_what_is_in_them() -> None:
    archive = encode([Entry(path="a", content=b"12345"), Entry(path="b", link="a")])
    old, new = version_documents([replace(VERSION, archive=None), replace(VERSION, version=2, archive=archive)])
    assert (old["version"], old["kept"], old["files"]) == (1, False, [])
    assert (new["version"], new["kept"]) == (2, True)
    digest = hashlib.sha256(b"12345").hexdigest()
    assert new["files"] == [{"path": "a", "mode": 0o644, "size": 5, "sha256": digest}, {"path": "b", "link": "a"}]


OUTCOME = Outcome(state=State.FAILED, exit_code=3, reason="DiskNotFound", message="no disk", tail=("a", "b"))
FACTS = {"exit_code": 3, "reason": "DiskNotFound", "message": "no disk", "signal": "", "last_output": ["a", "b"]}


def test_what_is_held_is_told_with_how_its_process_ended() -> None:
    flow = workflow(replace(action(0, State.HELD), attempt="x"))
    state = json.loads(json.dumps(state_of(flow, hold("x", outcome=OUTCOME))))
    assert {name: state[name] for name in FACTS} == FACTS
    assert state["current_action_state"] == "HELD"
    held = state["held"]
    assert (held["task"], held["action"], held["kind"], held["sequence"]) == ("t", "a0", "failure", 1)
    assert (held["since"], held["deadline"]) == ("2026-11-21T03:00:00+00:00", "2026-11-21T03:30:00+00:00")
    assert (held["on_expiry"], held["timeout"], held["verdict"], held["ended_at"]) == ("fail", 1800, None, None)
    assert held["verdicts"] == ["continue", "fail", "retry", "abort"]
    assert held["outcome"]["exit_code"] == 3


def test_a_verdict_is_told_until_it_was_carried_out() -> None:
    flow = workflow(replace(action(0, State.HELD), attempt="x"))
    verdict = Verdict(verb=Verb.RETRY, who="anna", why="new disk", command=("sh",), environment={"A": "b"})
    decided = hold("x", outcome=OUTCOME, verdict=verdict, verdict_at=AT)
    held = json.loads(json.dumps(state_of(flow, decided)))["held"]
    assert held["verdict"] == {
        "verb": "retry", "who": "anna", "why": "new disk", "fresh": False, "command": ["sh"], "environment": {"A": "b"},
    }  # fmt: skip
    assert (held["decided_at"], held["verdicts"]) == ("2026-11-21T03:00:00+00:00", [])
    assert state_of(flow, replace(decided, ended_at=AT))["held"] is None


def test_an_action_that_is_held_before_it_began_has_not_ended() -> None:
    state = state_of(workflow(replace(action(0, State.HELD), attempt="x")), hold("x", kind=Kind.BEFORE))
    assert (state["reason"], state["exit_code"], state["held"]["outcome"]) == ("", None, None)
    assert state["held"]["verdicts"] == ["continue", "skip", "fail", "abort"]


def test_every_hold_is_listed_with_its_action_though_a_later_attempt_runs() -> None:
    flow = workflow(replace(action(0, State.SUCCESS), attempt="y"), replace(action(1, State.RUNNING), attempt="z"))
    made = [attempt("x", 0), attempt("y", 0), attempt("z", 1)]
    listed = (hold("x", ended_at=AT), hold("y", ended_at=AT), hold("y", sequence=2, ended_at=AT), hold("z"))
    standing = Standing(workflow=flow, breakpoints=Breakpoints(), holds=listed)
    assert [(each["action"], each["attempt"], each["sequence"]) for each in hold_documents(standing, made)] == [
        ("a0", "x", 1), ("a0", "y", 1), ("a0", "y", 2), ("a1", "z", 1),
    ]  # fmt: skip


def test_what_is_armed_is_told_with_what_is_held() -> None:
    armed = Breakpoints(on_failure=True, before=("t/a0",), timeout=60, on_expiry=Verb.ABORT)
    flow = workflow(replace(action(0, State.HELD), attempt="x"))
    told = json.loads(json.dumps(breakpoints_document(Standing(workflow=flow, breakpoints=armed, holds=(hold("x"),)))))
    assert (told["id"], told["name"], told["state"], told["held"]["action"]) == ("f", "n", "RUNNING", "a0")
    assert told["armed"] == {
        "on_failure": True, "before": ["t/a0"], "after": [], "timeout": 60, "on_expiry": "abort",
    }  # fmt: skip
