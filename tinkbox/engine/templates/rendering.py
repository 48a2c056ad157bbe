"""From a template's text to a definition: its dialect is found, its placeholders are filled, its YAML is read.

Rendering depends on nothing but the text and the data: neither clock, chance, environment, files nor network.  Both are
bounded: a Go template by steps, in a thread; Jinja2 by a process of its own (`confinement`).  Whoever renders for others
gives a `turn` (`engine.turns`), which is entered for each piece of the work.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from tinkbox.engine.documents.definitions import invalid_template, read_definition
from tinkbox.engine.templates.dialects import (
    Dialect,
    Mark,
    Placeholder,
    as_go,
    device_names,
    find_dialect,
    placeholders,
)
from tinkbox.engine.templates.go_dialect import MAX_OUTPUT, NAMES, GoTemplate
from tinkbox.engine.templates.jinja_process import render_confined
from tinkbox.engine.turns import Turn
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.hardware import Hardware
from tinkbox.model.machine_views import object_view, struct_view
from tinkbox.model.template import Definition

WORKFLOW_IDS = ("workflow_id", "workflowid")
RESERVED = ("Hardware", "hardware", "references", *WORKFLOW_IDS)
NO_WORKFLOW = str(UUID(int=0))
DUMMY = "00:00:00:00:00:00"
Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A template filled with data: the text, and what it means."""

    text: str
    definition: Definition


def rendering_data(
    devices: Mapping[str, str], machine: Hardware | None, workflow_id: str = NO_WORKFLOW
) -> dict[str, Any]:
    """What a template can say: the device map, the machine it is for, and the workflow it becomes.

    Raises Invalid for a device that has the name of something else.
    """
    taken = [name for name in RESERVED if name in devices]
    if taken:
        raise Invalid(f"{taken[0]} cannot be the name of a device: in a template it is something else")
    document = machine.document if machine else {}
    return {
        **devices,
        "Hardware": struct_view(document),
        "hardware": object_view(document),
        "references": {},
        **dict.fromkeys(WORKFLOW_IDS, workflow_id),
    }


async def check(text: str, turn: Turn = nullcontext) -> None:
    """Everything that can be said of a template before it is rendered; raises Invalid with every problem.

    Where a text has nothing but names as placeholders, an address stands for them and it is read whole.
    """
    _bound(text, "template")
    dialect, mark = find_dialect(text, NAMES)
    names = placeholders(text, dialect)
    if names is not None:
        await _check_whole(text, names, turn)
    elif dialect is Dialect.GO:
        async with turn():
            await asyncio.to_thread(_read_go, text, _because(dialect, mark))
    else:
        problems = [each for each in await render_confined(text, [], turn) if isinstance(each, Problem)]
        if problems:
            raise invalid_template(problems, _because(dialect, mark))


async def _check_whole(text: str, names: Sequence[Placeholder], turn: Turn) -> None:
    known = {*device_names(text), *WORKFLOW_IDS}
    open_lines = {each.line for each in names if each.name not in known}
    dummies = dict.fromkeys((each.name for each in names), DUMMY)
    try:
        await render(text, dummies | dict.fromkeys(WORKFLOW_IDS, NO_WORKFLOW), turn)
    except Invalid as error:
        # What is neither a machine's name nor a workflow's id may be anything, also several lines: then only other lines
        # can be judged.
        certain = [each for each in error.problems if not open_lines or (each.key and each.line not in open_lines)]
        if certain:
            raise invalid_template(certain) from None


async def render(text: str, data: Data, turn: Turn = nullcontext) -> Rendered:
    """Fill a template and read what comes out; raises Invalid with every problem, each with its line."""
    (rendered,) = await render_each(text, [data], turn)
    if isinstance(rendered, Invalid):
        raise rendered
    return rendered


async def render_each(text: str, several: Sequence[Data], turn: Turn = nullcontext) -> list[Rendered | Invalid]:
    """The same with each of several data; raises Invalid for what is wrong with all of them."""
    _bound(text, "template")
    dialect, mark = find_dialect(text, NAMES)
    because = _because(dialect, mark)
    if dialect is not Dialect.JINJA:
        return await _render_each_go(text if dialect is Dialect.GO else as_go(text), several, because, turn)
    missing = [_missing(text, dialect, data) for data in several]
    texts = await render_confined(text, several, turn) if several else []
    return await asyncio.to_thread(
        lambda: [
            invalid_template(lacking, because) if lacking else _result(text, each, because)
            for lacking, each in zip(missing, texts, strict=True)
        ]
    )


async def _render_each_go(text: str, several: Sequence[Data], because: str, turn: Turn) -> list[Rendered | Invalid]:
    async with turn():
        template = await asyncio.to_thread(_read_go, text, because)
    results: list[Rendered | Invalid] = []
    for data in several:
        async with turn():  # others come between two machines
            results.append(await asyncio.to_thread(_render_go, template, text, data, because))
    return results


def _render_go(template: GoTemplate, text: str, data: Data, because: str) -> Rendered | Invalid:
    lacking = _missing(text, Dialect.GO, data)
    if lacking:
        return invalid_template(lacking, because)
    try:
        return _result(text, template.render(data), because)
    except Invalid as error:
        return invalid_template(error.problems, because)


def _read_go(text: str, because: str) -> GoTemplate:
    try:
        return GoTemplate(text)
    except Invalid as error:
        raise invalid_template(error.problems, because) from None


def _result(text: str, rendered: str | Problem, because: str) -> Rendered | Invalid:
    if isinstance(rendered, Problem):
        return invalid_template([rendered], because)
    try:
        _bound(rendered, "rendered template")
        return Rendered(text=rendered, definition=read_definition(rendered))
    except Invalid as error:
        if rendered.count("\n") == text.count("\n"):
            return error
        return Invalid(f"{error}; lines are counted in the rendered text", error.problems)


def _missing(text: str, dialect: Dialect, data: Data) -> list[Problem]:
    """Every placeholder without a value, where a text has nothing but names as placeholders."""
    given = [name for name in data if name not in RESERVED]
    return [
        Problem(
            line=each.line,
            key=each.name,
            text=f"placeholder {each.name} has no value: the -r map has {', '.join(sorted(given)) or 'nothing'}",
        )
        for each in placeholders(text, dialect) or ()
        if each.name not in data
    ]


def _because(dialect: Dialect, mark: Mark | None) -> str:
    return f", read as {dialect}" + (f" because of {mark}" if mark else "")


def _bound(text: str, what: str) -> None:
    if len(text.encode(errors="surrogatepass")) > MAX_OUTPUT:
        raise Invalid(f"the {what} exceeds {MAX_OUTPUT // 1024} KiB")
