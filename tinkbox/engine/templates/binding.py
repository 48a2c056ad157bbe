"""Binding: the tasks of a rendered template meet the machines they name, and its services their hosts.

What is refused here is refused when a workflow is created, and told when a template is validated.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tinkbox.model.actions.volumes import parse_volume
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.hardware import is_mac
from tinkbox.model.images.references import StandIns
from tinkbox.model.services import APPLIANCE, HostFolder, PlannedService, Resources, Service
from tinkbox.model.sizes import show_size
from tinkbox.model.template import Definition, merged_environment, merged_volumes
from tinkbox.model.workflow import ActionStatus, PlannedAction, State
from tinkbox.wire.routing.labels import Labels, read_labels
from tinkbox.wire.routing.rules import Request

MODES = frozenset({"ro", "rw"})
# The id of the hardware that has a MAC, IPv4 address, agent id or id; None: it is unknown.
HardwareAt = Callable[[str], str | None]
# What templates call the machine that has a name (`worker_of`), by which they cannot; empty: none has, or several have.
WorkerNamed = Callable[[str], str]


def no_name(_: str) -> str:
    """Where the names of machines are not known."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the appliance is called, what of it is open to services, and which images templates mean.

    `name` is what templates call it as the worker of a service, `address` its IPv4 address, which does as well; names of
    workflows end in `domain`.  Services on it may mount `volumes`, by their names, and nothing else of it, and ask for
    `most` resources; None: for what they like.  `images` run instead of those that templates name.
    """

    name: str
    address: str
    domain: str
    volumes: Mapping[str, HostFolder] = field(default_factory=dict)
    most: Resources | None = None
    images: StandIns = field(default_factory=StandIns)


def bind(
    hardware_at: HardwareAt, definition: Definition, names: Names, worker_named: WorkerNamed = no_name
) -> tuple[ActionStatus, ...]:
    """The flat list of actions, each with the id of the hardware that its task names; what does not apply is skipped.

    Raises Invalid when a machine is unknown or when nothing is left to do.
    """
    problems: list[Problem] = []
    planned: list[ActionStatus] = []
    for number, task in enumerate(definition.tasks):
        worker = hardware_at(task.worker)
        if worker is None:
            problems.append(Problem(key=f"tasks[{number}].worker", text=not_found(task.worker, worker_named)))
            continue
        for action in task.actions:
            merged = replace(
                action,
                image=names.images.meant(action.image),
                volumes=merged_volumes(task, action),
                environment=merged_environment(task, action),
            )
            bound = PlannedAction(index=len(planned), task=task.name, worker=worker, address=task.worker, spec=merged)
            skipped = action.name in task.skipped
            planned.append(ActionStatus(action=bound, state=State.SKIPPED if skipped else State.PENDING))
    if problems:
        raise Invalid("the workflow cannot be bound to its machines", problems)
    if all(status.state is State.SKIPPED for status in planned):
        why = "the `if` of every action is false" if planned else "the workflow has no actions"
        raise Invalid(f"{why}: there is nothing to do")
    return tuple(planned)


def bind_services(
    hardware_at: HardwareAt, definition: Definition, names: Names, workflow_id: str, worker_named: WorkerNamed = no_name
) -> tuple[PlannedService, ...]:
    """The services of a template, each with its host: the appliance, or the hardware that it names.

    Raises Invalid with every problem: a host that is unknown, a volume that it does not have, a boot script that no machine
    could ever get.
    """
    problems: list[Problem] = []
    planned: list[PlannedService] = []
    for index, service in enumerate(definition.services):
        host = _host(hardware_at, service, names)
        if host is None:
            called = f"the appliance, which is called {names.name} or {names.address}"
            text = f"{service.worker} is neither {called}, nor known hardware: {way_out(service.worker, worker_named)}"
            problems.append(Problem(key=f"services[{index}].worker", text=text))
            continue
        key = f"services[{index}].volumes"
        unfit = _unfit_here(service.volumes, names.volumes) if host == APPLIANCE else _unfit_there(service.volumes)
        problems += [Problem(key=key, text=text) for text in unfit]
        if host == APPLIANCE and names.most is not None:
            problems += _too_much(f"services[{index}]", service.resources, names.most)
        meant = replace(service, image=names.images.meant(service.image))
        planned.append(PlannedService(index=index, host=host, spec=meant))
    problems += _boot_problems(planned, _working(hardware_at, definition), f"{workflow_id}.{names.domain}".lower())
    if problems:
        raise Invalid("the workflow cannot be bound to the hosts of its services", problems)
    return tuple(planned)


def not_found(worker: str, worker_named: WorkerNamed) -> str:
    """What to say of a worker that is no known hardware."""
    return f"hardware mentioned with reference {worker} not found: {way_out(worker, worker_named)}"


def way_out(worker: str, worker_named: WorkerNamed) -> str:
    """What helps where no hardware has what a template calls a worker."""
    if meant := worker_named(worker):
        kind = "MAC" if is_mac(meant) else "agent id or id"
        return f"{worker} is the name of a machine: give its {kind} {meant}"
    return "push its hardware document first"


def _host(hardware_at: HardwareAt, service: Service, names: Names) -> str | None:
    if service.worker in (names.name, names.address):
        return APPLIANCE
    return hardware_at(service.worker)


def _working(hardware_at: HardwareAt, definition: Definition) -> set[str]:
    """The machines that have something to do in the tasks."""
    addresses = [
        task.worker for task in definition.tasks if any(action.name not in task.skipped for action in task.actions)
    ]
    return {worker for each in addresses if (worker := hardware_at(each)) is not None}


def _unfit_here(volumes: Sequence[str], named: Mapping[str, HostFolder]) -> Iterator[str]:
    """What a service on the appliance must not mount: whatever the configuration does not name."""
    known = f"one of {', '.join(named)}" if named else "and none is named"
    for volume in volumes:
        parsed = parse_volume(volume, shortest=1)
        source, modes = parsed.source, parsed.modes
        folder = named.get(source)
        if folder is None:
            yield (
                f"{volume!r}: on the appliance a volume is one that services.volumes in its tinkbox.yaml names, {known}, "
                "such as isos:/data"
            )
        elif modes - MODES:
            yield f"{volume!r}: expected :ro, :rw or nothing after the folder, not :{', '.join(sorted(modes))}"
        elif "rw" in modes and folder.read_only:
            yield f"{volume!r}: services.volumes has {source} to be read only: leave :rw out"


def _unfit_there(volumes: Sequence[str]) -> Iterator[str]:
    """What no engine of a machine mounts for a service."""
    for volume in volumes:
        try:
            parse_volume(volume)
        except Invalid as error:
            yield f"{volume!r}: {error}"


def _too_much(key: str, asked: Resources, most: Resources) -> Iterator[Problem]:
    """What a service on the appliance asks for beyond what the configuration lets it have."""
    if asked.memory > most.memory:
        yield Problem(key=f"{key}.mem_limit", text=_beyond(show_size(asked.memory), show_size(most.memory), "memory"))
    if asked.cpus > most.cpus:
        yield Problem(key=f"{key}.cpus", text=_beyond(f"{asked.cpus:g}", f"{most.cpus:g}", "cpus"))
    if asked.pids > most.pids:
        yield Problem(key=f"{key}.pids_limit", text=_beyond(str(asked.pids), str(most.pids), "pids"))


def _beyond(asked: str, most: str, setting: str) -> str:
    return (
        f"{asked}: a service on the appliance may have {most}; services.most_{setting} in its tinkbox.yaml allows more"
    )


def _boot_problems(planned: Sequence[PlannedService], working: Collection[str], own: str) -> Iterator[Problem]:
    """Why the boot script that a service supplies by its label could not be had; `own` is the workflow's name."""
    suppliers = [(each, labels) for each in planned if (labels := read_labels(each.spec.labels, each.spec.urls)).boot]
    for service, labels in suppliers:
        key = f"services[{service.index}].labels"
        if service is not suppliers[0][0]:
            text = f"service {suppliers[0][0].spec.name} supplies the boot script already: a workflow has one"
            yield Problem(key=key, text=text)
        if labels.boot_host not in ("", own):
            text = f"machines boot from the workflow's own name, which is {own}, not from {labels.boot_host}"
            yield Problem(key=key, text=text)
        elif not _routed(labels, own):
            text = f"no route of this service is for http://{own}{labels.boot}, where its boot script is: add a rule or a URL"
            yield Problem(key=key, text=text)
        if service.host in working:
            text = f"{service.spec.worker} is to boot by the script of this service: have another machine host it"
            yield Problem(key=f"services[{service.index}].worker", text=text)


def _routed(labels: Labels, own: str) -> bool:
    request = Request(method="GET", host=own, path=labels.boot)
    return any(route.rule.matches(request) for route in labels.routes)
