"""How a task's volumes and environment reach its actions."""

from tinkbox.model.actions.action import Action
from tinkbox.model.template import Task, merged_environment, merged_volumes


def test_the_action_wins_over_its_task() -> None:
    action = Action(name="a", image="i", volumes=("/dev:/dev:ro", "/b:/b"), environment={"K": "action", "A": "1"})
    task = Task(
        name="t", worker="w", actions=(action,), volumes=("/dev:/dev", "/c:/c"), environment={"K": "task", "T": "2"}
    )
    assert merged_volumes(task, action) == ("/dev:/dev:ro", "/c:/c", "/b:/b")
    assert merged_environment(task, action) == {"K": "action", "T": "2", "A": "1"}
