"""What the tests of the store keep in it."""

from collections.abc import Sequence
from datetime import UTC, datetime

from tinkbox.model.actions.action import Action
from tinkbox.model.services import (
    HealthCheck,
    Phase,
    PlannedService,
    Restart,
    RestartPolicy,
    Service,
    ServiceStatus,
    Standing,
)
from tinkbox.model.workflow import ActionStatus, PlannedAction, State, Workflow
from tinkbox.store.ephemeral_data import DataVersion
from tinkbox.store.workflows import Attempt

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def service(run: str, index: int = 0, host: str = "", name: str = "") -> ServiceStatus:
    """A service with everything that a template can say of it, and its first run."""
    planned = PlannedService(
        index=index,
        host=host,
        spec=Service(
            name=name or f"s{index}",
            worker="m",
            image="i",
            command=("x",),
            environment={"K": "v"},
            volumes=("/a:/b",),
            labels=(("n", "1"), ("n", "2")),
            urls=("http://x/",),
            ports=(80,),
            timeout=7,
            health=HealthCheck(test=("CMD", "x"), interval=1.5, retries=3),
            restart=Restart(policy=RestartPolicy.ALWAYS, limit=2),
        ),
    )
    return ServiceStatus(service=planned, standing=Standing(run=run, phase=Phase.PENDING))


def workflow(identity: str, *workers: str, name: str = "w", services: Sequence[ServiceStatus] = ()) -> Workflow:
    actions = tuple(
        ActionStatus(
            action=PlannedAction(
                index=index, task="t", worker=worker, address="m",
                spec=Action(
                    name=f"a{index}", image="i", timeout=5, command=("x",), environment={"K": "v"}, volumes=("/a:/b",),
                    pid="host",
                ),
            )
        )
        for index, worker in enumerate(workers)
    )  # fmt: skip
    return Workflow(
        id=identity, name=name, template_id="t", template_name="t", devices={"d": "m"}, text="text", state=State.PENDING,
        actions=actions, created_at=NOW, updated_at=NOW, services=tuple(services),
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
