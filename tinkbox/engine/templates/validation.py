"""What is wrong with a template before anybody makes a workflow of it: it is rendered for machines, and forgotten."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from tinkbox.engine.templates.binding import HardwareAt, Names, bind, bind_services
from tinkbox.engine.templates.dialects import device_names
from tinkbox.engine.templates.rendering import (
    DUMMY,
    NO_WORKFLOW,
    RESERVED,
    Rendered,
    check,
    render_each,
    rendering_data,
)
from tinkbox.engine.turns import Turn, in_thread
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.hardware import Hardware, MacAddress, primary
from tinkbox.model.template import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of rendering a template for one machine; no problems means that it is fine.

    `machine` is None when devices were given and none of them is known.
    """

    machine: Hardware | None
    devices: Mapping[str, str]
    problems: tuple[Problem, ...]


async def validate(
    text: str,
    machines: Sequence[Hardware],
    names: Names,
    devices: Mapping[str, str] | None = None,
    turn: Turn = nullcontext,
) -> list[Verdict]:
    """Render a template with these devices, or else with each of the machines as every device that it names.

    A device that is called as the appliance is stands for the appliance.  What comes out is bound as `workflow create`
    would bind it.  Raises Invalid for what is wrong with the template whatever the machine.
    """
    await check(text, turn, apart=True)
    ids = _ids(machines)

    def hardware_at(address: str) -> str | None:
        return ids.get(_spelled(address))

    called = await in_thread(turn, device_names, text)
    if devices is not None:
        known = (found for address in devices.values() if (found := _known(machines, hardware_at(address))))
        asked = [(next(known, None), devices)]
    else:
        asked = [(each, _devices(called, names, str(primary(each).mac))) for each in machines]
    if not asked:
        await _judge_alone(text, _devices(called, names, DUMMY), names, turn)
    rendered = await render_each(text, [rendering_data(given, machine) for machine, given in asked], turn, apart=True)
    verdicts = []
    for (machine, given), each in zip(asked, rendered, strict=True):
        problems = await in_thread(turn, _problems, each, hardware_at, names)
        verdicts.append(Verdict(machine=machine, devices=given, problems=problems))
    return verdicts


async def _judge_alone(text: str, devices: Mapping[str, str], names: Names, turn: Turn) -> None:
    """Raise Invalid for services that are refused whatever the machine, where a template can be rendered without one."""
    (rendered,) = await render_each(text, [rendering_data(devices, None)], turn, apart=True)
    if isinstance(rendered, Rendered):
        await in_thread(turn, bind_services, lambda address: address, rendered.definition, names, NO_WORKFLOW)


def _devices(called: Sequence[str], names: Names, address: str) -> Mapping[str, str]:
    return {name: names.name if name == names.name else address for name in called if name not in RESERVED}


def _problems(rendered: Rendered | Invalid, hardware_at: HardwareAt, names: Names) -> tuple[Problem, ...]:
    refusals = [rendered] if isinstance(rendered, Invalid) else _refusals(rendered.definition, hardware_at, names)
    return tuple(problem for each in refusals for problem in each.problems or [Problem(text=str(each))])


def _refusals(definition: Definition, hardware_at: HardwareAt, names: Names) -> Iterator[Invalid]:
    try:
        bind(hardware_at, definition, names)
    except Invalid as refusal:
        yield refusal
    try:
        bind_services(hardware_at, definition, names, NO_WORKFLOW)
    except Invalid as refusal:
        yield refusal


def _ids(machines: Sequence[Hardware]) -> Mapping[str, str]:
    """The ids of machines by all that a task may name them by."""
    return {
        _spelled(str(address)): machine.id
        for machine in machines
        for address in (machine.agent_id, *(at for each in machine.interfaces for at in (each.mac, each.address)))
        if address
    }


def _spelled(address: str) -> str:
    """A MAC in the one spelling, whatever else as it is."""
    try:
        return MacAddress(address)
    except Invalid:
        return address


def _known(machines: Sequence[Hardware], hardware_id: str | None) -> Hardware | None:
    return next((each for each in machines if each.id == hardware_id), None)
