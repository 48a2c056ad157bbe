"""What the tests of the store keep in it."""

from datetime import UTC, datetime

from tinkbox.model.workflow import ActionStatus, PlannedAction, State, Workflow
from tinkbox.store.data import DataVersion
from tinkbox.store.workflows import Attempt

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def workflow(identity: str, *workers: str, name: str = "w") -> Workflow:
    actions = tuple(
        ActionStatus(
            action=PlannedAction(
                index=index, task="t", name=f"a{index}", worker=worker, address="m", image="i", timeout=5,
                command=("x",), environment={"K": "v"}, volumes=("/a:/b",), pid="host",
            )
        )
        for index, worker in enumerate(workers)
    )  # fmt: skip
    return Workflow(
        id=identity, name=name, template_id="t", devices={"d": "m"}, text="text", state=State.PENDING,
        actions=actions, created_at=NOW, updated_at=NOW,
    )  # fmt: skip


def attempt(token: str, identity: str = "w1", position: int = 0) -> Attempt:
    return Attempt(
        token=token,
        workflow_id=identity,
        position=position,
        worker="m1",
        boot_id="b",
        state=State.RUNNING,
        started_at=NOW,
    )


def version(number: int) -> DataVersion:
    return DataVersion(version=number, at=NOW, worker="m1", size=1, digest=str(number), archive=b"x")
