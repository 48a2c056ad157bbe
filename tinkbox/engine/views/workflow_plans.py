"""What would happen if a workflow were made: it is prepared and bound as `Workflows.create` does, and forgotten."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Final

from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.engine.machines.machines_within import MachinesWithin
from tinkbox.engine.rollouts.planning import device_of, hardware_at, with_appliance
from tinkbox.engine.templates.binding import Names
from tinkbox.engine.templates.built_in import BuiltIn
from tinkbox.engine.templates.dialects import unmentioned
from tinkbox.engine.templates.templates import find_template
from tinkbox.engine.workflows.obstacles import boot_obstacles, started_by_hand
from tinkbox.engine.workflows.shortages import New, Shortages
from tinkbox.engine.workflows.workflows import Prepared, Workflows, check_size
from tinkbox.model.breakpoint import Breakpoints
from tinkbox.model.devices import Devices
from tinkbox.model.errors import Invalid, Problem, Refusal
from tinkbox.model.hardware import Hardware, called, worker_of
from tinkbox.model.images.standing import Source, StandingOf, WantedImage
from tinkbox.model.labels import Selector
from tinkbox.model.services import APPLIANCE
from tinkbox.model.workflow import State, Workflow
from tinkbox.store.database import Store, Tables
from tinkbox.store.hardware import MachineRecord
from tinkbox.store.templates import Template

_SHOWN: Final = 8  # letters of an id


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """What stands in the way; what does not block makes the workflow wait."""

    text: str
    blocks: bool = True
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedImage:
    """An image and what it is pinned to: a `digest`, if the appliance has it; `elsewhere` is pulled from another registry."""

    name: str
    digest: str = ""
    elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """An action as it would run; `machine` is what people call its machine, `timeout` in seconds, 0: none."""

    task: str
    action: str
    machine: str
    image: PlannedImage
    timeout: int
    retries: int
    skipped: bool
    reboots: bool
    disk: str
    wipes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedHost:
    """A service as it would be hosted; `host` is a machine, or the appliance."""

    name: str
    host: str
    image: PlannedImage


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowPlan:
    """What would be made, as far as it could be worked out.

    `unused` are parameters that the template does not mention, `notes` what there is to say that stands in nobody's way.
    """

    template: Template | BuiltIn
    name: str = ""
    devices: Devices = field(default_factory=dict)
    machines: Sequence[MachineRecord] = ()
    steps: Sequence[PlannedStep] = ()
    services: Sequence[PlannedHost] = ()
    breakpoints: Breakpoints = field(default_factory=Breakpoints)
    global_timeout: int = 0
    unused: Sequence[str] = ()
    obstacles: Sequence[Obstacle] = ()
    notes: Sequence[str] = ()

    @property
    def blocked(self) -> bool:
        return any(each.blocks for each in self.obstacles)


class WorkflowPlans:
    """Makes plans."""

    def __init__(
        self,
        store: Store,
        known: KnownMachines,
        workflows: Workflows,
        names: Names,
        standing_of: StandingOf,
        shortages: Shortages,
    ) -> None:
        self._store = store
        self._known = known
        self._workflows = workflows
        self._names = names
        self._standing_of = standing_of
        self._shortages = shortages

    async def plan(
        self,
        template_key: str,
        machine_key: str,
        parameters: Devices,
        osie: Collection[str],
        who: str,
        *,
        secrets: bool = True,
    ) -> WorkflowPlan:
        """For one machine, which is the template's one device, or without a key for the devices among the `parameters`.

        `osie` are the architectures of the OSIEs that there are.  Without `secrets` it is filled from documents that are masked.  Raises NotFound and Conflict for the template.
        """
        template = await self._store.read(lambda tables: find_template(tables, template_key))
        try:
            check_size(parameters)
        except Invalid as refusal:
            return WorkflowPlan(template=template, obstacles=[_obstacle(refusal)])
        plan = WorkflowPlan(template=template, devices=parameters)
        try:
            machines, devices = self._devices(template, machine_key, parameters)
            plan = replace(
                plan, machines=machines, devices=devices, unused=unmentioned(template.data, list(parameters))
            )
            said = machines[0].hardware if machines else None
            prepared = await self._workflows.prepare(template_key, devices, machine=said, who=who, secrets=secrets)
            plan = _named(plan, prepared)
            workflow = self._workflows.bound(hardware_at(self._known), prepared)
        except Refusal as refusal:
            return replace(plan, obstacles=[*_in_the_way(plan.machines, osie, self._known.key), _obstacle(refusal)])
        records = [each for worker in _everybody(workflow) if (each := self._known.get(worker)) is not None]
        plan = self._bound(plan, workflow, records)
        working = [each for each in records if each.hardware.id in workflow.workers()]
        waits = await self._store.read(lambda tables: list(_waits(tables, working)))
        new = [New(workflow, prepared.rendered.definition.metadata)]
        missing = [Obstacle(text=each) for each in self._shortages.images(new)]
        return replace(
            plan,
            obstacles=[*_in_the_way(working, osie, self._known.key), *missing, *waits],
            notes=[
                *map(str, prepared.told),
                *self._shortages.elsewhere(new),
                *self._shortages.metadata(new, self._hardware_of),
                *self._shortages.names(new),
            ],
        )

    async def warnings(self, ids: Sequence[str], osie: Collection[str], scope: Selector | None = None) -> list[str]:
        """What keeps workflows that were made from beginning, and what their machines ask for in vain; `osie` as for `plan`.

        Machines are named as who has a `scope` names them.
        """

        def question(tables: Tables) -> list[New]:
            return [New(each, tables.metadata.said(each.id)) for each in tables.workflows.some(ids)]

        found = await self._store.read(question)
        workers = dict.fromkeys(worker for each in found for worker in each.workflow.workers())
        machines = [each for worker in workers if (each := self._hardware_of(worker)) is not None]
        key = MachinesWithin(self._known, scope).key
        return [
            *boot_obstacles(machines, osie, key),
            *started_by_hand(machines, key),
            *self._shortages.images(found),
            *self._shortages.elsewhere(found),
            *self._shortages.metadata(found, self._hardware_of),
            *self._shortages.names(found),
        ]

    def _hardware_of(self, worker: str) -> Hardware | None:
        record = self._known.get(worker)
        return record.hardware if record else None

    def _bound(self, plan: WorkflowPlan, workflow: Workflow, records: Sequence[MachineRecord]) -> WorkflowPlan:
        """The plan with what the workflow's machines have to do."""
        names = {APPLIANCE: "the appliance"} | {each.hardware.id: called(each.hardware) for each in records}
        steps = [
            PlannedStep(
                task=each.action.task,
                action=each.action.spec.name,
                machine=names.get(each.action.worker, each.action.worker),
                image=self._image(each.action.spec.image, each.digest),
                timeout=each.action.spec.timeout,
                retries=each.action.spec.retries,
                skipped=each.state is State.SKIPPED,
                reboots=each.action.spec.reboot,
                disk=each.action.spec.disk,
                wipes=each.action.spec.wipes,
            )
            for each in workflow.actions
        ]
        services = [
            PlannedHost(
                name=each.service.spec.name,
                host=names.get(each.service.host, each.service.host),
                image=self._image(each.service.spec.image, each.digest),
            )
            for each in workflow.services
        ]
        return replace(plan, machines=records, steps=steps, services=services)

    def _devices(
        self, template: Template | BuiltIn, machine_key: str, parameters: Devices
    ) -> tuple[list[MachineRecord], Devices]:
        if not machine_key:
            return [], parameters
        record = self._known.find(machine_key)
        device = device_of(template.data, self._names, parameters)
        return [record], {device: worker_of(record.hardware), **with_appliance(template.data, self._names, parameters)}

    def _image(self, name: str, digest: str) -> PlannedImage:
        standing = self._standing_of(WantedImage(name))
        shown = digest if standing.source is Source.APPLIANCE else ""
        elsewhere = not (shown or standing.damage or standing.source is Source.NOBODY)
        return PlannedImage(name=name, digest=shown, elsewhere=elsewhere)


def _named(plan: WorkflowPlan, prepared: Prepared) -> WorkflowPlan:
    definition = prepared.rendered.definition
    return replace(
        plan, name=prepared.name, breakpoints=definition.breakpoints, global_timeout=definition.global_timeout
    )


def _everybody(workflow: Workflow) -> Sequence[str]:
    """The ids of the machines that act or host services, each once."""
    hosts = [each.service.host for each in workflow.services if each.service.host != APPLIANCE]
    return list(dict.fromkeys([*workflow.workers(), *hosts]))


def _obstacle(refusal: Refusal) -> Obstacle:
    return Obstacle(text=str(refusal), problems=refusal.problems if isinstance(refusal, Invalid) else ())


def _in_the_way(
    machines: Sequence[MachineRecord], osie: Collection[str], key: Callable[[Hardware], str]
) -> Iterator[Obstacle]:
    """What of the machines themselves stands in the way of their boot; `key` is what means one and no other."""
    for each in machines:
        if each.retired is not None:
            back = f"`tinkbox hardware return {quote(key(each.hardware))}` takes it back into service"
            yield Obstacle(text=f"machine {called(each.hardware)} is retired: {back}")
        yield from (Obstacle(text=text) for text in boot_obstacles([each.hardware], osie, key))
        yield from (Obstacle(text=text, blocks=False) for text in started_by_hand([each.hardware], key))


def _waits(tables: Tables, machines: Sequence[MachineRecord]) -> Iterator[Obstacle]:
    """What the machines have to do before."""
    ids = [each.hardware.id for each in machines]
    busy, waiting = tables.rollouts.busy(ids), tables.rollouts.waiting_in(ids)
    for each in machines:
        name = called(each.hardware)
        if (before := busy.get(each.hardware.id)) is not None:
            text = f"machine {name} has workflow {before.workflow_id[:_SHOWN]} ({before.name}) to finish first"
            yield Obstacle(text=text, blocks=False)
        if (rollout := waiting.get(each.hardware.id)) is not None:
            text = f"machine {name} waits in rollout {rollout[:_SHOWN]}: its workflow there may come first"
            yield Obstacle(text=text, blocks=False)
