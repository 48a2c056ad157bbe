"""An action, and a machine with an engine and an appliance in memory to run it on."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.unit.worker.fakes import FakeDoor, FakeRuntime
from tinkbox.model.actions.action import Action
from tinkbox.model.workflow import PlannedAction
from tinkbox.runtime import ContainerSpec
from tinkbox.wire.messages.worker import Credential, Offer
from tinkbox.worker.files.worker_folder import WorkerFolder
from tinkbox.worker.machine import Machine

REGISTRY = "172.30.0.1:7171"
IMAGE = f"{REGISTRY}/write:v1"
CREDENTIAL = Credential(server=f"http://{REGISTRY}", registry=REGISTRY, worker="m1", token="secret")


def with_spec(action: PlannedAction, **changes: object) -> PlannedAction:
    """The same action with these words of its template changed."""
    return replace(action, spec=replace(action.spec, **changes))  # type: ignore[arg-type]


ACTION = PlannedAction(
    index=0, task="os", worker="m1", address="08:00:27:00:00:01",
    spec=Action(name="write", image="write:v1", timeout=60, environment={"SIZE": "8"}),
)  # fmt: skip
HOOKED = with_spec(ACTION, on_failure=("repair", "now"), on_timeout=("hurry",))
HELPED = [True]  # whether actions run under the helper
OFFER = Offer(workflow_id="w1", attempt="a1", remaining=60, action=ACTION)


def machine(runtime: FakeRuntime, door: FakeDoor, folder: Path, *, debug: bool | None = None) -> Machine:
    """Its /dev takes words only where a test makes that folder."""
    return Machine(
        runtime=runtime, door=door, folder=WorkerFolder(folder, folder / "dev"), credential=CREDENTIAL,
        boot_id="boot-1", privileged=True, debug=HELPED[-1] if debug is None else debug,
    )  # fmt: skip


def bound(spec: ContainerSpec, target: str) -> Path:
    """The machine's own path of what the container sees at `target`."""
    return Path(spec.mounts[target])


def tells(reason: str, message: str) -> Callable[[ContainerSpec], None]:
    def work(spec: ContainerSpec) -> None:
        bound(spec, "/dev/reason").write_text(reason)
        bound(spec, "/dev/message").write_text(message)

    return work
