"""Binding: the tasks of a rendered template meet the machines they name."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.hardware import Hardware
from tinkbox.model.services import PlannedService
from tinkbox.model.template import Definition, merged_environment, merged_volumes
from tinkbox.model.workflow import ActionStatus, PlannedAction, State
from tinkbox.store.database import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the appliance is called, and what of it is open to services.

    `name` is what templates call it as the worker of a service, `address` its IPv4 address, which does as well; names of
    workflows end in `domain`.  Services on it may mount what lies below `opened`; None: nothing.
    """

    name: str
    address: str
    domain: str
    opened: Path | None = None


async def first_known(tables: Tables, devices: Mapping[str, str]) -> Hardware | None:
    """The first device of a map that is known hardware: the machine whose document the template sees."""
    for address in devices.values():
        hardware_id = await tables.hardware.by_address(address)
        if hardware_id is not None:
            (record,) = await tables.hardware.some([hardware_id])
            return record.hardware
    return None


async def bind(tables: Tables, definition: Definition) -> tuple[ActionStatus, ...]:
    """The flat list of actions, each with the id of the hardware that its task names; what does not apply is skipped.

    Raises Invalid when a machine is unknown or when nothing is left to do.
    """
    problems: list[Problem] = []
    planned: list[ActionStatus] = []
    for number, task in enumerate(definition.tasks):
        worker = await tables.hardware.by_address(task.worker)
        if worker is None:
            text = f"hardware mentioned with reference {task.worker} not found: push its hardware document first"
            problems.append(Problem(key=f"tasks[{number}].worker", text=text))
            continue
        for action in task.actions:
            bound = PlannedAction(
                index=len(planned),
                task=task.name,
                name=action.name,
                worker=worker,
                address=task.worker,
                image=action.image,
                timeout=action.timeout,
                command=action.command,
                on_timeout=action.on_timeout,
                on_failure=action.on_failure,
                volumes=merged_volumes(task, action),
                environment=merged_environment(task, action),
                pid=action.pid,
                retries=action.retries,
                reboot=action.reboot,
                helper=action.helper,
            )
            planned.append(ActionStatus(action=bound, state=State.PENDING if action.applies else State.SKIPPED))
    if problems:
        raise Invalid("the workflow cannot be bound to its machines", problems)
    if all(status.state is State.SKIPPED for status in planned):
        why = "the `if` of every action is false" if planned else "the workflow has no actions"
        raise Invalid(f"{why}: there is nothing to do")
    return tuple(planned)


async def bind_services(
    tables: Tables, definition: Definition, names: Names, workflow_id: str
) -> tuple[PlannedService, ...]:
    """The services of a template, each with its host: the appliance, or the hardware that it names.

    Raises Invalid with every problem: a host that is unknown, a folder that is not open, a boot script that could never
    be had.
    """
    raise NotImplementedError
