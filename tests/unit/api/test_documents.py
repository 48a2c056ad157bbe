"""What the operator door answers, as JSON; tests/integration/api has it from a real engine."""

import json
from dataclasses import replace
from datetime import UTC, datetime

from tinkbox.api import documents
from tinkbox.model.workflow import ActionStatus, Event, Outcome, PlannedAction, State, Workflow
from tinkbox.store.data import DataVersion

AT = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)


def action(index: int, state: State, outcome: Outcome | None = None) -> ActionStatus:
    planned = PlannedAction(
        index=index, task="t", name=f"a{index}", worker="w", address="08:00:27:00:00:01", image="i", timeout=60
    )
    return ActionStatus(action=planned, state=state, outcome=outcome)


def workflow(*actions: ActionStatus) -> Workflow:
    return Workflow(
        id="f", name="n", template_id="t", devices={}, text="x", state=State.RUNNING, actions=actions, created_at=AT,
        updated_at=AT,
    )  # fmt: skip


def test_progress_counts_the_actions_that_succeeded() -> None:
    done, runs, waits = (
        action(index, state) for index, state in enumerate([State.SUCCESS, State.RUNNING, State.PENDING])
    )
    state = documents.state(workflow(done, runs, waits))
    assert (state["progress"], state["current_action"], state["current_action_state"]) == (33, "a1", "RUNNING")
    state = documents.state(workflow(done, action(1, State.SUCCESS), action(2, State.SUCCESS)))
    assert (state["progress"], state["current_action"], state["current_action_state"]) == (100, "a2", "SUCCESS")


def test_a_failed_actions_state_says_why() -> None:
    outcome = Outcome(state=State.FAILED, exit_code=1, reason="DiskNotFound", message="no disk")
    state = documents.state(workflow(action(0, State.FAILED, outcome)))
    assert (state["progress"], state["reason"], state["message"]) == (0, "DiskNotFound", "no disk")


def test_a_workflow_is_json_with_what_is_not_yet_as_null() -> None:
    document = json.loads(json.dumps(documents.workflow(workflow(action(0, State.PENDING)))))
    (only,) = document["actions"]
    assert (only["started_at"], only["ended_at"], only["outcome"], only["command"]) == (None, None, None, [])
    assert document["created_at"] == "2026-11-21T03:00:00+00:00"


def test_an_events_facts_stand_beside_its_number() -> None:
    fact = Event(workflow_id="f", number=3, at=AT, kind="action.started", data={"task": "t", "state": State.RUNNING})
    assert documents.event(fact) == {
        "workflow_id": "f", "number": 3, "at": "2026-11-21T03:00:00+00:00", "kind": "action.started", "task": "t",
        "state": "RUNNING",
    }  # fmt: skip


def test_data_that_is_no_archive_is_told_instead_of_failing() -> None:
    version = DataVersion(version=1, at=AT, worker="w", size=4, digest="d", archive=b"junk")
    (file,) = documents.data(version)["files"]
    assert file["path"] == ""
    assert file["error"]
    assert documents.data(replace(version, archive=None)) == {"version": 0, "files": []}
    assert documents.data(None) == {"version": 0, "files": []}
