"""What a rollout would do, before it is made: which machines, which are refused and why, which disks are wiped."""

import asyncio
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from shlex import quote
from typing import Any, Final, TypeVar

from tinkbox.engine.documents.definitions import refuse_ignored
from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.engine.machines.machines_within import MachinesWithin
from tinkbox.engine.rules.arming import Change, armed
from tinkbox.engine.templates.binding import HardwareAt, Names, WorkerNamed, bind, bind_services
from tinkbox.engine.templates.built_in import BuiltIn
from tinkbox.engine.templates.dialects import device_names
from tinkbox.engine.templates.references import Referents, no_referents, with_referents
from tinkbox.engine.templates.rendering import NO_WORKFLOW, RESERVED, Rendered, render_each, rendering_data
from tinkbox.engine.templates.wanted_images import wanted_images
from tinkbox.engine.turns import in_slices
from tinkbox.engine.workflows.metadata_mentions import MetadataGap, gaps, mentions
from tinkbox.engine.workflows.workflows import check_size
from tinkbox.model import machine_keys
from tinkbox.model.devices import Devices
from tinkbox.model.documents.secret_fields import masked_machine
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Refusal
from tinkbox.model.hardware import Hardware, called, mac_of, worker_of
from tinkbox.model.images.standing import WantedImage
from tinkbox.model.labels import Labels, Selector
from tinkbox.model.rollout import MAX_MACHINES, OnFailure
from tinkbox.model.telling import Telling
from tinkbox.model.template import Definition
from tinkbox.model.text import natural, shortened
from tinkbox.model.workflow import ActionStatus, State, Workflow
from tinkbox.store.database import Tables
from tinkbox.store.hardware import MachineRecord
from tinkbox.store.templates import Template
from tinkbox.thread_turns import Turn, in_thread
from tinkbox.yaml_nodes import MOST_IGNORED

DEVICE: Final = "device_1"
AT_ONCE: Final = 200  # machines of which the rendered templates are in memory
KEYS_AT_ONCE: Final = 50  # that are looked up in a turn of the event loop
TOLD: Final = 500  # letters of a reason
DIGEST: Final = 32  # letters
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a person asks for: the machines of these keys, and those that are selected.

    `parameters` are the `-r` map without the machine; `max_parallel` 0: all at once.  With `require_images` nothing is begun as
    long as the appliance's registry lacks one.
    """

    template: str
    machines: Sequence[str] = ()
    selector: Selector | None = None
    parameters: Devices = field(default_factory=dict)
    max_parallel: int = 0
    on_failure: OnFailure = OnFailure.STOP
    labels: Labels = field(default_factory=dict)
    breakpoints: Change | None = None
    confirm_wipe: bool = False
    require_images: bool = False
    strict: bool = False  # about what would be ignored of the template
    secrets: bool = True  # whether a plan is filled from what the field calls secret
    scope: Selector | None = None  # no work is made for a machine outside of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A machine that is meant; `name` is what people call it, and it was `registered` then."""

    hardware: Hardware
    name: str
    registered: datetime

    @property
    def mac(self) -> str:
        """The MAC that it is shown by; empty: its document tells none."""
        return mac_of(self.hardware)

    @property
    def worker(self) -> str:
        """What the template is told."""
        return worker_of(self.hardware)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A machine that is meant and cannot begin; without an id where its key means no machine.

    Where it is `rendered`, the reason may have what the template made of the machine's document.  One that is `engaged` has other
    work, which the reason is `of` (`Telling`), and can begin once that is over.
    """

    name: str
    machine: str
    why: str
    rendered: bool = False
    engaged: bool = False
    of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An action, as the template has it for the first machine."""

    task: str
    action: str
    image: str
    disk: str
    wipes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The machines in the order in which they begin, and what is done with them.

    Each of them is the template's `device`; `parameters` are the rest of the `-r` map.
    `wiped` are the disks that the template has wiped there, by the machines' ids; `images` are those that actions and services need,
    of any machine, `gaps` the machines that ask for metadata and would be given nothing, by where they ask and why.  `ignored` is
    what is not taken as it stands in the template (`Definition`).
    """

    template: Template | BuiltIn
    device: str
    parameters: Devices
    machines: tuple[Chosen, ...]
    refused: tuple[Refused, ...]
    steps: tuple[Step, ...]
    wiped: Mapping[str, frozenset[str]]
    images: tuple[WantedImage, ...]
    gaps: Mapping[tuple[str, str], Sequence[Hardware]] = field(default_factory=dict)
    ignored: tuple[Problem, ...] = ()

    @property
    def names(self) -> dict[str, str]:
        """What people call the machines, by their ids."""
        return {each.hardware.id: each.name for each in self.machines}

    @property
    def wipes(self) -> dict[str, int]:
        """How many of the machines have a disk wiped, by disks; those that are refused keep theirs."""
        return Counter(disk for each in self.machines for disk in self.wiped[each.hardware.id])

    @property
    def digest(self) -> str:
        """Stands for what is shown of it before a person says yes: 32 hexadecimal digits.

        It is the same for the same text of the template and its parameters, and the same machines that begin, in this order,
        with the same disks that are wiped.  One that was registered anew is not the same, nor is one with another name or MAC.
        """
        machines = [
            (
                each.hardware.id,
                each.name,
                each.worker,
                each.registered.isoformat(),
                sorted(self.wiped[each.hardware.id]),
            )
            for each in self.machines
        ]
        shown = json.dumps([self.template.data, dict(self.parameters), machines], sort_keys=True)
        return hashlib.sha256(shown.encode()).hexdigest()[:DIGEST]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """Why no workflow can be made for a machine, else what it would do, the images that it needs, and the `gaps` of its metadata."""

    why: str = ""
    steps: tuple[Step, ...] = ()
    images: tuple[WantedImage, ...] = ()
    gaps: tuple[tuple[str, str], ...] = ()
    ignored: tuple[Problem, ...] = ()


async def chosen_machines(known: KnownMachines, wanted: Wanted) -> tuple[list[Chosen], list[Refused]]:
    """The machines as they are named, behind them those that are selected, in the order of their names; each once, within the scope alone.

    Booting machines are answered in between.  Raises Invalid for none and for too many.
    """
    if len(wanted.machines) > MAX_MACHINES:
        raise _too_many(len(wanted.machines))
    within = MachinesWithin(known, wanted.scope)
    found: dict[str, Chosen] = {}
    refused: list[Refused] = []
    for place, key in enumerate(dict.fromkeys(wanted.machines)):
        if place % KEYS_AT_ONCE == KEYS_AT_ONCE - 1:
            await asyncio.sleep(0)
        try:
            record = within.find(key)
        except (NotFound, Conflict) as refusal:
            refused.append(Refused(name=shortened(key, 80), machine="", why=str(refusal)))
            continue
        machine = _chosen(record)
        if record.retired is None:
            found.setdefault(machine.hardware.id, machine)
        else:
            refused.append(
                Refused(name=machine.name, machine=machine.hardware.id, why=_retired(within.key(record.hardware)))
            )
    if wanted.selector is not None:
        selected = await in_slices(
            _chosen, [each for each in known.selected(wanted.selector) if within.has(each.hardware.id)]
        )
        places = await in_slices(lambda each: natural(each.name), selected)
        for number in sorted(range(len(selected)), key=places.__getitem__):
            found.setdefault(selected[number].hardware.id, selected[number])
        if not found and not refused:
            raise Invalid(
                f"no machine has the labels {wanted.selector}: `tinkbox hardware label MACHINE KEY=VALUE` gives it some"
            )
    if not found and not refused:
        raise Invalid("no machine is named: name machines, or select some by their labels")
    if len(found) + len(refused) > MAX_MACHINES:
        raise _too_many(len(found) + len(refused))
    return list(found.values()), refused


def _retired(key: str) -> str:
    return f"it is retired: `tinkbox hardware return {quote(key)}` takes it back into service"


def _too_many(number: int) -> Invalid:
    return Invalid(f"{number} machines: a rollout has at most {MAX_MACHINES}, so make several")


def device_of(text: str, names: Names, parameters: Devices) -> str:
    """The one device of a template that each machine of a rollout is; raises Invalid when it is not one."""
    devices = [each for each in device_names(text) if each not in RESERVED and each != names.name]
    free = [each for each in devices if each not in parameters]
    if len(free) > 1:
        raise Invalid(
            f"the template is for {len(free)} machines, {', '.join(free)}, and here each machine is by itself: give the others "
            f'with -r, such as -r \'{{"{free[-1]}": "08:00:27:00:00:01"}}\''
        )
    if devices and not free:
        raise Invalid(
            f"-r says already which machine {devices[0]} is: leave it out, for it is each of the machines in turn"
        )
    return free[0] if free else DEVICE


def with_appliance(text: str, names: Names, parameters: Devices) -> Devices:
    """The parameters; a device that is called as the appliance is stands for it."""
    if names.name in parameters or names.name not in device_names(text):
        return parameters
    return {**parameters, names.name: names.name}


async def planned(
    template: Template | BuiltIn,
    machines: Sequence[Chosen],
    wanted: Wanted,
    names: Names,
    known: KnownMachines,
    gap: MetadataGap,
    turn: Turn,
    referents: Referents = no_referents,
) -> Plan:
    """Render the template for each machine and bind it, as `Workflows.create` does; nothing is stored.

    Raises Invalid for what is wrong whatever the machine.
    """
    within = MachinesWithin(known, wanted.scope)
    text, at = template.data, within.only(hardware_at(known))
    device = device_of(text, names, wanted.parameters)
    parameters = with_appliance(text, names, wanted.parameters)
    check_size({device: "", **parameters})
    fit: list[Chosen] = []
    refused: list[Refused] = []
    steps: tuple[Step, ...] = ()
    wiped: dict[str, frozenset[str]] = {}
    images: dict[WantedImage, None] = {}
    ignored: dict[Problem, None] = {}
    lacking: dict[tuple[str, str], list[Hardware]] = defaultdict(list)
    for piece in _pieces(machines, AT_ONCE):
        data = await in_slices(partial(_rendering_data, wanted, device, parameters), piece)
        rendered = await render_each(text, await with_referents(data, referents), turn)

        def judge(piece: Sequence[Chosen] = piece, rendered: Sequence[Rendered | Invalid] = rendered) -> list[_Judged]:
            return [
                _judged(each, result, wanted, names, at, within.worker_named, gap)
                for each, result in zip(piece, rendered, strict=True)
            ]

        for each, judged in zip(piece, await in_thread(turn, judge), strict=True):
            if judged.why:
                refused.append(Refused(name=each.name, machine=each.hardware.id, why=judged.why, rendered=True))
                continue
            fit.append(each)
            steps = steps or judged.steps
            wiped[each.hardware.id] = frozenset(disk for step in judged.steps for disk in step.wipes)
            images |= dict.fromkeys(judged.images)
            if len(ignored) < MOST_IGNORED:
                ignored |= dict.fromkeys(judged.ignored)
            for one in judged.gaps:
                lacking[one].append(each.hardware)
    return Plan(
        template=template,
        device=device,
        parameters=parameters,
        machines=tuple(fit),
        refused=tuple(refused),
        steps=steps,
        wiped=wiped,
        images=tuple(images),
        gaps=lacking,
        ignored=tuple(ignored),
    )


def engaged(tables: Tables, machines: Mapping[str, str], apart_from: str = "") -> dict[str, Telling]:
    """Why machines, names by ids, cannot begin, by their ids: what they are in already, or that they are out of service.

    What the rollout `apart_from` has them for does not count.
    """
    ids = list(machines)
    busy = {
        machine: Telling(
            text=f"workflow {each.workflow_id[:8]} ({each.name}) is not over: `tinkbox workflow watch {each.workflow_id[:8]}` "
            f"follows it, `tinkbox workflow cancel {each.workflow_id[:8]}` ends it",
            of=(each.workflow_id,),
        )
        for machine, each in tables.rollouts.busy(ids, apart_from).items()
    }
    waiting = {
        machine: Telling(
            text=f"it waits in rollout {rollout_id[:8]}: `tinkbox rollout get {rollout_id[:8]}` shows that",
            of=(rollout_id,),
        )
        for machine, rollout_id in tables.rollouts.waiting_in(ids, apart_from).items()
    }
    gone = {
        machine: Telling(
            text="it was deleted meanwhile"
            if deleted
            else _retired(machine_keys.key(tables.hardware, machine, machines[machine]))
        )
        for machine, deleted in tables.rollouts.out_of_service(ids).items()
    }
    return waiting | busy | gone


def hardware_at(known: KnownMachines) -> HardwareAt:
    """What tasks may name machines by, from memory: for each of many machines the store would be asked anew."""
    return lambda address: known.at(address) or None


def _rendering_data(wanted: Wanted, device: str, parameters: Devices, each: Chosen) -> dict[str, Any]:
    machine = each.hardware if wanted.secrets else masked_machine(each.hardware)
    return rendering_data({device: each.worker, **parameters}, machine)


def told(refusal: Refusal) -> str:
    """A refusal in one line, with the problems that it lists."""
    problems = refusal.problems if isinstance(refusal, Invalid) else ()
    return shortened(": ".join([str(refusal), *map(str, problems)]), TOLD)


def _chosen(record: MachineRecord) -> Chosen:
    hardware = record.hardware
    return Chosen(hardware=hardware, name=called(hardware, mac_of(hardware)), registered=record.created_at)


def _judged(
    machine: Chosen,
    rendered: Rendered | Invalid,
    wanted: Wanted,
    names: Names,
    at: HardwareAt,
    worker_named: WorkerNamed,
    gap: MetadataGap,
) -> _Judged:
    if isinstance(rendered, Invalid):
        return _Judged(why=told(rendered))
    definition = rendered.definition
    try:
        if wanted.strict:
            refuse_ignored(definition.ignored)
        actions = bind(at, definition, names, worker_named)
        services = bind_services(at, definition, names, NO_WORKFLOW, worker_named)
        draft = _draft(definition, actions)
        if wanted.breakpoints is not None:
            armed(definition.breakpoints, wanted.breakpoints, draft)
    except Refusal as refusal:
        return _Judged(why=told(refusal))
    if machine.hardware.id not in draft.workers():
        workers = shortened(", ".join(dict.fromkeys(task.worker for task in definition.tasks)), 200)
        return _Judged(why=f"the template has nothing to do for this machine: its tasks are for {workers}")
    steps = _steps(definition)
    mentioned = mentions(draft).get(machine.hardware.id, ())
    return _Judged(
        steps=steps,
        images=tuple(wanted_images(actions, services)),
        gaps=tuple(gaps(machine.hardware, definition.metadata, mentioned, gap)),
        ignored=definition.ignored,
    )


def _draft(definition: Definition, actions: tuple[ActionStatus, ...]) -> Workflow:
    """The workflow that would be made, as far as it is judged."""
    return Workflow(
        id=NO_WORKFLOW,
        name=definition.name,
        template_id="",
        template_name="",
        devices={},
        state=State.PENDING,
        created_at=_NEVER,
        updated_at=_NEVER,
        text="",
        actions=actions,
    )


def _steps(definition: Definition) -> tuple[Step, ...]:
    return tuple(
        Step(task=task.name, action=each.name, image=each.image, disk=each.disk, wipes=each.wipes)
        for task in definition.tasks
        for each in task.actions
        if each.name not in task.skipped
    )


def _pieces(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]


def refused_in(machines: Mapping[str, str], why: Mapping[str, Telling]) -> list[Refused]:
    """Of machines, names by ids, those that are engaged, with the reasons of `engaged`."""
    return [
        Refused(name=name, machine=each, why=why[each].text, engaged=True, of=why[each].of)
        for each, name in machines.items()
        if each in why
    ]
