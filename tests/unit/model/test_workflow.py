"""Where a workflow stands."""

from datetime import UTC, datetime

import pytest

from tinkbox.model.actions.action import Action
from tinkbox.model.workflow import ActionStatus, PlannedAction, State, Workflow, progress

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def workflow(*states: State) -> Workflow:
    actions = tuple(
        ActionStatus(
            state=state,
            action=PlannedAction(
                index=index, task="t", worker="w", address="m", spec=Action(name=f"a{index}", image="i", timeout=1)
            ),
        )
        for index, state in enumerate(states)
    )
    return Workflow(
        id="1", name="n", template_id="2", template_name="t", devices={}, text="", state=State.RUNNING, actions=actions,
        created_at=NOW, updated_at=NOW,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("states", "index"),
    [
        ((State.PENDING, State.PENDING), 0),
        ((State.SUCCESS, State.RUNNING), 1),
        ((State.SUCCESS, State.FAILED, State.PENDING), 1),
        ((State.SUCCESS, State.SUCCESS), 1),
    ],
)
def test_the_current_action_is_the_first_unfinished_or_the_last(states: tuple[State, ...], index: int) -> None:
    current = workflow(*states).current()
    assert current is not None
    assert current.action.index == index


def test_a_workflow_without_actions_stands_nowhere() -> None:
    assert workflow().current() is None


@pytest.mark.parametrize(
    ("index", "state", "total", "percent"),
    [
        (0, State.PENDING, 3, 0),
        (0, State.SUCCESS, 3, 33),
        (1, State.RUNNING, 3, 33),
        (2, State.FAILED, 3, 66),
        (2, State.SUCCESS, 3, 100),
        (0, State.PENDING, 0, 0),
    ],
)
def test_progress_is_counted_as_tinkerbell_did(index: int, state: State, total: int, percent: int) -> None:
    assert progress(index, state, total) == percent
