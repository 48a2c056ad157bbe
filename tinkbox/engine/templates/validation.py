"""What is wrong with a template before anybody makes a workflow of it: it is rendered for machines, and forgotten."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Final

from tinkbox.engine.templates.binding import HardwareAt, Names, WorkerNamed, bind, bind_services
from tinkbox.engine.templates.dialects import Dialect, mentioned_devices, placeholders, unmentioned
from tinkbox.engine.templates.filling import Lookup, Wanted, fill_each
from tinkbox.engine.templates.references import Referents, no_referents
from tinkbox.engine.templates.rendering import (
    DUMMY,
    NO_WORKFLOW,
    RESERVED,
    Rendered,
    check,
    fill_from_sample,
    render_each,
    rendering_data,
)
from tinkbox.engine.templates.rendering_process import MAX_BATCH
from tinkbox.engine.templates.secret_marks import REFERENCES
from tinkbox.engine.templates.wanted_images import wanted_images
from tinkbox.engine.turns import in_slices
from tinkbox.model.devices import Devices
from tinkbox.model.errors import Invalid, Problem, Remarks
from tinkbox.model.hardware import Hardware, addressed_by, names_of, spelled_address, worker_of
from tinkbox.model.images.standing import WantedImage
from tinkbox.model.secret import NamedSecret
from tinkbox.thread_turns import Turn, in_thread

GIVEN_BY = "in the -r map"  # to `template validate`
AT_ONCE: Final = 4 * MAX_BATCH  # machines of which the rendered templates are in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of rendering a template for one machine; no problems means that it is fine.

    `machine` is None when devices were given and none of them is known.  `images` are those that it needs there, `ignored` is what
    was not taken as it stands (`Definition`), `secrets` are those that it asks for.
    """

    machine: Hardware | None
    devices: Devices
    problems: tuple[Problem, ...]
    images: tuple[WantedImage, ...] = ()
    ignored: tuple[Problem, ...] = ()
    secrets: tuple[NamedSecret, ...] = ()


class Verdicts(list[Verdict]):
    """Verdicts of one template, with what there is to say of it whatever the machine, as far as it is known then."""

    remarks = Remarks()


async def validate(
    text: str,
    machines: Sequence[Hardware],
    names: Names,
    devices: Devices | None = None,
    turn: Turn = nullcontext,
    referents: Referents = no_referents,
) -> Verdicts:
    """Render a template with these devices, or else with each of the machines as every device that it names.

    A device that is called as the appliance is stands for the appliance.  What comes out is bound as `workflow create`
    would bind it.  Raises Invalid for what is wrong with the template whatever the machine.
    """
    verdicts = Verdicts()
    verdicts.remarks = Remarks(ignored=await check(text, turn, apart=True))
    async with turn():
        known = await _Known.of(machines)
    called = await in_thread(turn, mentioned_devices, text)
    if devices is None and not machines:
        verdicts.remarks = await _judge_alone(text, _devices(called, names, DUMMY), names, turn, verdicts.remarks)

    lookup = Lookup(
        at=known.machine_at,
        worker_named=known.worker_named,
        appliance=(names.name, names.address),
        referents=referents,
    )

    def for_machine(machine: Hardware) -> Wanted:
        return Wanted(devices=_devices(called, names, worker_of(machine)), machine=machine)

    async def wanted_from(begin: int) -> Sequence[Wanted]:
        if devices is not None:
            return [Wanted(devices=devices)]
        async with turn():
            return await in_slices(for_machine, machines[begin : begin + AT_ONCE])

    for begin in range(0, len(machines) if devices is None else 1, AT_ONCE):
        wanted = await wanted_from(begin)
        filled = await fill_each(text, wanted, lookup, turn, apart=True, way_out=GIVEN_BY)
        for one, (machine, each) in zip(wanted, filled, strict=True):
            problems, images = await in_thread(turn, _judged, each, known.at, names, known.worker_named)
            ignored = each.definition.ignored if isinstance(each, Rendered) else ()
            asked = tuple(each.definition.secrets) if isinstance(each, Rendered) else ()
            verdicts.append(
                Verdict(
                    machine=machine,
                    devices=one.devices,
                    problems=problems,
                    images=images,
                    ignored=ignored,
                    secrets=asked,
                )
            )
            if isinstance(each, Rendered) and each.notes:
                verdicts.remarks += Remarks(notes=each.notes)
    return verdicts


_NOT_LOOKED_AT: Final = (
    "no machine is registered and the template cannot be filled without one, so nothing of what it makes was looked at, such as "
    "unknown keys: give devices with -r, or register a machine first"
)


_REFERENCES_UNKNOWN: Final = (
    "no machine is registered, so it is not known which Secrets and ConfigMaps there are in references, nor which keys these have: what "
    "the template makes of them was not looked at"
)


async def _judge_alone(text: str, devices: Devices, names: Names, turn: Turn, known: Remarks) -> Remarks:
    """What there is to say of a template where there is no machine; `known` is what is said of it without rendering it.

    Raises Invalid for services that are refused whatever the machine, where it can be rendered without one.
    """
    if not await in_thread(turn, unmentioned, text, [REFERENCES]):
        known += Remarks(notes=(Problem(text=_REFERENCES_UNKNOWN),))
    (rendered,) = await render_each(text, [rendering_data(devices, None)], turn, apart=True)
    if isinstance(rendered, Rendered):
        await in_thread(turn, bind_services, lambda address: address, rendered.definition, names, NO_WORKFLOW)
        return replace(known, ignored=rendered.definition.ignored)
    has_names_alone = await in_thread(turn, placeholders, text, Dialect.EITHER) is not None
    is_looked_at = has_names_alone or isinstance(await fill_from_sample(text, turn, apart=True), Rendered)
    return known if is_looked_at else known + Remarks(notes=(Problem(text=_NOT_LOOKED_AT),))


def _devices(called: Sequence[str], names: Names, address: str) -> Devices:
    return {name: names.name if name == names.name else address for name in called if name not in RESERVED}


def _judged(
    rendered: Rendered | Invalid, hardware_at: HardwareAt, names: Names, worker_named: WorkerNamed
) -> tuple[tuple[Problem, ...], tuple[WantedImage, ...]]:
    """What is wrong, and which images of actions and services are needed."""
    images: dict[WantedImage, None] = {}
    refusals: list[Invalid] = []
    if isinstance(rendered, Invalid):
        refusals.append(rendered)
    else:
        definition = rendered.definition
        try:
            actions = bind(hardware_at, definition, names, worker_named)
            images |= dict.fromkeys(wanted_images(actions, ()))
        except Invalid as refusal:
            refusals.append(refusal)
        try:
            services = bind_services(hardware_at, definition, names, NO_WORKFLOW, worker_named)
            images |= dict.fromkeys(wanted_images((), services))
        except Invalid as refusal:
            refusals.append(refusal)
    return tuple(problem for each in refusals for problem in each.problems or [Problem(text=str(each))]), tuple(images)


class _Known:
    """The machines by all that a task may name them by, and by their names."""

    def __init__(self) -> None:
        self._at: dict[str, Hardware] = {}
        self._named: dict[str, list[Hardware]] = defaultdict(list)

    @classmethod
    async def of(cls, machines: Iterable[Hardware]) -> "_Known":
        """Booting machines are answered in between."""
        known = cls()
        await in_slices(known._take, machines)
        return known

    def _take(self, machine: Hardware) -> None:
        self._at |= dict.fromkeys(addressed_by(machine), machine)
        for name in set(names_of(machine)):
            self._named[name].append(machine)

    def at(self, address: str) -> str | None:
        """The id of the machine that has a MAC or an id, however these are spelled, an IPv4 address or an agent id."""
        found = self.machine_at(address)
        return found.id if found else None

    def machine_at(self, address: str) -> Hardware | None:
        """The machine that `at` tells the id of."""
        return self._at.get(spelled_address(address))

    def worker_named(self, name: str) -> str:
        """What templates call the only machine that has this name; empty where none has, or several have."""
        so_called = self._named.get(name, ())
        return worker_of(so_called[0]) if len(so_called) == 1 else ""
