"""What is wrong with a template before anybody makes a workflow of it: it is rendered for machines, and forgotten."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from tinkbox.engine.templates.dialects import device_names
from tinkbox.engine.templates.rendering import RESERVED, Rendered, check, render_each, rendering_data
from tinkbox.engine.templates.rendering_queue import Turn
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.hardware import Hardware, primary


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of rendering a template for one machine; no problems means that it is fine.

    `machine` is None when devices were given and none of them is known.
    """

    machine: Hardware | None
    devices: Mapping[str, str]
    problems: tuple[Problem, ...]


async def validate(
    text: str, machines: Sequence[Hardware], devices: Mapping[str, str] | None = None, turn: Turn = nullcontext
) -> list[Verdict]:
    """Render a template with these devices, or else with each of the machines as every device that it names.

    Raises Invalid for what is wrong with the template whatever the machine.
    """
    await check(text, turn)
    if devices is not None:
        known = (found for address in devices.values() if (found := _known(machines, address)))
        asked = [(next(known, None), devices)]
    else:
        names = [name for name in device_names(text) if name not in RESERVED]
        asked = [(each, dict.fromkeys(names, str(primary(each).mac))) for each in machines]
    rendered = await render_each(text, [rendering_data(given, machine) for machine, given in asked], turn)
    return [
        Verdict(machine=machine, devices=given, problems=_problems(each, machines))
        for (machine, given), each in zip(asked, rendered, strict=True)
    ]


def _problems(rendered: Rendered | Invalid, machines: Sequence[Hardware]) -> tuple[Problem, ...]:
    if isinstance(rendered, Invalid):
        return rendered.problems or (Problem(text=str(rendered)),)
    return tuple(
        Problem(key=f"tasks[{number}].worker", text=f"{task.worker} is no known hardware")
        for number, task in enumerate(rendered.definition.tasks)
        if _known(machines, task.worker) is None
    )


def _known(machines: Sequence[Hardware], address: str) -> Hardware | None:
    return next((each for each in machines if each.answers_to(address)), None)
