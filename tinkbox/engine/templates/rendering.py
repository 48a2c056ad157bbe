"""From a template's text to a definition: its dialect is found, its placeholders are filled, its YAML is read.

Rendering depends on the text, the data, one moment and chance (`surroundings`): neither environment, files nor network.  Nothing
is rendered twice: what a workflow was created with stays.  Both languages are
bounded: a Go template by steps; Jinja2 by a process of its own (`confinement`).  A Go template has a process as well where
anybody may have it rendered, and a thread where a workflow is made of it.  Whoever renders for others gives a `turn`
(`thread_turns`), which is entered for each piece of the work.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from tinkbox.engine.documents.definitions import invalid_template, read_definition
from tinkbox.engine.documents.secret_definitions import is_of_entry
from tinkbox.engine.templates.dialects import (
    JINJA_GLOBALS,
    Dialect,
    Mark,
    Placeholder,
    as_go,
    device_names,
    find_dialect,
    placeholders,
    words,
)
from tinkbox.engine.templates.go_dialect import NAMES, GoTemplate
from tinkbox.engine.templates.references import references_of
from tinkbox.engine.templates.rendering_process import render_confined
from tinkbox.engine.templates.sample_machine import SAMPLE
from tinkbox.engine.templates.secret_marks import MARKS_KEY, refuse_altered_marks
from tinkbox.engine.templates.surroundings import now, surroundings
from tinkbox.engine.turns import in_slices
from tinkbox.model.devices import Devices
from tinkbox.model.documents.machine_views import decoded, object_view, of_cluster, struct_view
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.hardware import Hardware
from tinkbox.model.spelling import nearest
from tinkbox.model.template import MAX_TEXT, Definition
from tinkbox.sprig.all_functions import SLOW
from tinkbox.thread_turns import Turn, in_thread

WORKFLOW_IDS = ("workflow_id", "workflowid")
RESERVED = ("Hardware", "hardware", "references", *WORKFLOW_IDS, MARKS_KEY)
NO_WORKFLOW = str(UUID(int=0))
MAX_TOLD = 20
DUMMY = "00:00:00:00:00:00"
_FILLED = re.compile(r"\{[{%]")
GIVEN_BY = "with --set NAME=VALUE, or in the -r map"  # to `workflow create`
DECLARED_IN = "under spec.hardwareMap of the document"  # that `apply` or `workflow create -f` has
Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A template filled with data: the text, and what it means; `notes` are what there is to say of how it was filled."""

    text: str
    definition: Definition
    notes: tuple[Problem, ...] = ()


def rendering_data(
    devices: Devices, machine: Hardware | None, workflow_id: str = NO_WORKFLOW, marks_key: bytes = b""
) -> dict[str, Any]:
    """What a template can say: the device map, the machine it is for, and the workflow it becomes.

    `marks_key` is that of this workflow's marks of secrets; without one they are good for nothing but to be looked at.
    Raises Invalid as `check_devices`.
    """
    check_devices(devices)
    document = machine.document if machine else {}
    view = object_view(document)
    return {
        **devices,
        "Hardware": struct_view(document),
        "hardware": of_cluster(view, machine) if machine else view,
        "references": references_of(view),
        **dict.fromkeys(WORKFLOW_IDS, workflow_id),
        MARKS_KEY: (marks_key or os.urandom(32)).hex(),
    }


def check_devices(devices: Devices) -> None:
    """Raise Invalid for a device that has the name of something else."""
    taken = [name for name in RESERVED if name in devices]
    if taken:
        raise Invalid(f"{taken[0]} cannot be the name of a device: in a template it is something else")


async def check(text: str, turn: Turn = nullcontext, *, apart: bool = False) -> tuple[Problem, ...]:
    """Everything that can be said of a template before it is rendered; raises Invalid with every problem.

    What is ignored of it (`Definition`) is returned.  Where a text has nothing but names as placeholders, an address stands for
    them and it is read whole; what another makes is known as far as it can be filled from a sample (`fill_from_sample`), and
    refused for what is wrong as the text stands.
    `apart` is as in `render_each`.
    """
    _bound(text, "template")
    dialect, mark = await in_thread(turn, find_dialect, text, NAMES)
    names = await in_thread(turn, placeholders, text, dialect)
    because = _because(dialect, mark)
    if names is not None:
        return await _check_whole(text, names, turn, apart)
    if dialect is Dialect.GO and not apart:
        await in_thread(turn, _read_go, text, because, now())
    filled = await fill_from_sample(text, turn, apart=apart)
    if not isinstance(filled, Rendered) and (dialect is not Dialect.GO or apart):
        problems = [each for each in await render_confined(text, [], turn, dialect) if isinstance(each, Problem)]
        if problems:
            raise invalid_template(problems, because)
    if isinstance(filled, Invalid) and (certain := _as_written(filled.problems, text)):
        raise invalid_template(certain, ignored=_ignored_of(filled))
    return _ignored_of(filled)


def _as_written(problems: Sequence[Problem], text: str) -> list[Problem]:
    """Those of a text filled from a sample that are not the sample's fault: of entries of `secrets:` in lines without placeholders."""
    lines = text.split("\n")
    return [
        each
        for each in problems
        if is_of_entry(each) and 0 < (each.line or 0) <= len(lines) and not _FILLED.search(lines[(each.line or 0) - 1])
    ]


async def told_of_stored(text: str, turn: Turn = nullcontext, *, apart: bool = False) -> tuple[Problem, ...]:
    """What `check` returns, of a text that it took once; what it refuses by now is among it.

    Of what Jinja2 makes nothing is told: that takes a process for each of many texts that stay as they are.
    """
    try:
        dialect, _ = await in_thread(turn, find_dialect, text, NAMES)
        names = await in_thread(turn, placeholders, text, dialect)
        if names is not None:
            return await _check_whole(await in_thread(turn, as_go, text), names, turn, apart)
        return _ignored_of(await fill_from_sample(text, turn, apart=apart)) if dialect is Dialect.GO else ()
    except Invalid as refusal:
        return tuple(refusal.problems)


async def fill_from_sample(text: str, turn: Turn = nullcontext, *, apart: bool = False) -> Rendered | Invalid | None:
    """A template as it is filled from a machine that has everything, with an address for every other name.

    None: it may call what takes long.  What fails may be the fault of the sample.  Raises as `render_each`.
    """
    if any(each in text for each in SLOW):
        return None
    dialect, _ = await in_thread(turn, find_dialect, text, NAMES)
    names = {*await in_thread(turn, words, text)} - {*RESERVED}
    if dialect is Dialect.JINJA:  # where data would hide what it can call
        names -= {*NAMES, *JINJA_GLOBALS}
    data = rendering_data(dict.fromkeys(names, DUMMY), SAMPLE)
    (filled,) = await render_each(text, [data], turn, apart=apart)
    return filled


def _ignored_of(filled: Rendered | Invalid | None) -> tuple[Problem, ...]:
    """What is ignored of a template that was filled from a sample, but for what is so because of the sample."""
    if filled is None:
        return ()
    ignored = filled.definition.ignored if isinstance(filled, Rendered) else filled.ignored
    return tuple(each for each in ignored if DUMMY not in str(each))


async def _check_whole(text: str, names: Sequence[Placeholder], turn: Turn, apart: bool) -> tuple[Problem, ...]:
    known = {*await in_thread(turn, device_names, text), *WORKFLOW_IDS}
    open_lines = {each.line for each in names if each.name not in known}
    dummies = dict.fromkeys((each.name for each in names), DUMMY)
    data = dummies | dict.fromkeys(WORKFLOW_IDS, NO_WORKFLOW)
    (rendered,) = await render_each(text, [data], turn, apart=apart)
    if isinstance(rendered, Invalid):
        # What is neither a machine's name nor a workflow's id may be anything, also several lines: then only other lines
        # can be judged.
        reasons = rendered.reasons
        certain = [
            each for each in reasons if not open_lines or (each.key and each.line and each.line not in open_lines)
        ]
        if certain:
            raise invalid_template(certain, ignored=rendered.ignored)
        return rendered.ignored
    return rendered.definition.ignored


async def render(
    text: str, data: Data, turn: Turn = nullcontext, way_out: str = GIVEN_BY, clock: Callable[[], datetime] = now
) -> Rendered:
    """Fill a template and read what comes out; raises Invalid with every problem, each with its line.

    `way_out` and `clock` are as for `render_each`.
    """
    (rendered,) = await render_each(text, [data], turn, way_out=way_out, clock=clock)
    if isinstance(rendered, Invalid):
        raise rendered
    return rendered


async def render_each(
    text: str,
    several: Sequence[Data],
    turn: Turn = nullcontext,
    *,
    apart: bool = False,
    way_out: str = GIVEN_BY,
    clock: Callable[[], datetime] = now,
) -> list[Rendered | Invalid]:
    """The same with each of several data; raises Invalid for what is wrong with all of them.

    `apart`: a Go template has a process of its own too, as Jinja2 always has.  That takes half a second to start, but
    leaves Python to booting machines; what cannot be read fails for each of the data then.  `way_out` says how a person
    gives the value NAME, where one is missing.  The template has one moment of the `clock`, the same for all of the data.
    """
    _bound(text, "template")
    moment = clock()
    dialect, mark = await in_thread(turn, find_dialect, text, NAMES)
    because = _because(dialect, mark)
    if dialect is Dialect.EITHER:
        text, dialect = await in_thread(turn, as_go, text), Dialect.GO
    if dialect is Dialect.GO:
        several = await in_slices(_as_go, several)
    if dialect is Dialect.GO and not apart:
        template = await in_thread(turn, _read_go, text, because, moment)
        return [await in_thread(turn, _render_go, template, text, each, because, way_out) for each in several]
    texts = await render_confined(text, several, turn, dialect, moment) if several else []
    # Each in a turn of its own: others come between two machines.
    return [
        await in_thread(turn, _read_rendered, text, dialect, data, each, because, way_out)
        for data, each in zip(several, texts, strict=True)
    ]


def _as_go(data: Data) -> Data:
    """The data with the numbers of the device map as Go decodes them from JSON: float64."""
    return {
        name: value if name in RESERVED or isinstance(value, str) else decoded(value) for name, value in data.items()
    }


def _read_rendered(
    text: str, dialect: Dialect, data: Data, rendered: str | Problem, because: str, way_out: str
) -> Rendered | Invalid:
    lacking = _missing(text, dialect, data, way_out)
    if not lacking and isinstance(rendered, Problem):
        lacking = [_naming_the_value(rendered, data, way_out)]
    return _result(text, rendered) if isinstance(rendered, str) and not lacking else invalid_template(lacking, because)


def _render_go(template: GoTemplate, text: str, data: Data, because: str, way_out: str) -> Rendered | Invalid:
    lacking = _missing(text, Dialect.GO, data, way_out)
    if lacking:
        return invalid_template(lacking, because)
    try:
        rendered = template.render(data)
    except Invalid as error:
        return invalid_template([_naming_the_value(each, data, way_out) for each in error.problems], because)
    return _result(text, rendered)


def _read_go(text: str, because: str, moment: datetime) -> GoTemplate:
    try:
        return GoTemplate(text, surroundings(moment))
    except Invalid as error:
        raise invalid_template(error.problems, because) from None


def _result(text: str, rendered: str) -> Rendered | Invalid:
    try:
        _bound(rendered, "rendered template")
        refuse_altered_marks(rendered)
        definition = read_definition(rendered)
        if rendered.count("\n") != text.count("\n"):  # another text has the lines
            definition = replace(
                definition,
                ignored=tuple(replace(each, line=None) for each in definition.ignored),
                secrets=tuple(replace(each, line=None) for each in definition.secrets),
            )
        return Rendered(text=rendered, definition=definition)
    except Invalid as error:
        if rendered.count("\n") == text.count("\n"):
            return error
        return Invalid(
            str(error), list(map(_in_rendered, error.problems)), ignored=list(map(_in_rendered, error.ignored))
        )


def _in_rendered(problem: Problem) -> Problem:
    """A problem whose line is one of the rendered text."""
    text = f"line {problem.line} of the rendered text: {problem.text}" if problem.line else problem.text
    return Problem(key=problem.key, text=text)


def _missing(text: str, dialect: Dialect, data: Data, way_out: str) -> list[Problem]:
    """Every placeholder without a value, where a text has nothing but names as placeholders."""
    names = placeholders(text, dialect) or ()
    given = _given(data)
    return [_without_value(each.name, each.line, given, way_out) for each in names if each.name not in data]


def _naming_the_value(problem: Problem, data: Data, way_out: str) -> Problem:
    """What a dialect says of a text, with the way out where a value is missing, which is the problem's key then."""
    return _without_value(problem.key, problem.line, _given(data), way_out) if problem.key else problem


def _given(data: Data) -> str:
    """The names that a person gave values, the first of many: each placeholder without one tells them."""
    names = sorted(each for each in data if each not in RESERVED)
    more = f" and {len(names) - MAX_TOLD} more" if len(names) > MAX_TOLD else ""
    return f"{', '.join(names[:MAX_TOLD])}{more}" or "nothing"


def _without_value(name: str, line: int | None, given: str, way_out: str) -> Problem:
    near = nearest(name, RESERVED)
    text = f"placeholder {name} has no value: give it {way_out.replace('NAME', name)}, which has {given}"
    return Problem(line=line, key=name, text=f"{text}; did you mean {near}?" if near else text)


def _because(dialect: Dialect, mark: Mark | None) -> str:
    return f", read as {dialect}" + (f" because of {mark} of its text" if mark else "")


def _bound(text: str, what: str) -> None:
    if len(text.encode(errors="surrogatepass")) > MAX_TEXT:
        raise Invalid(f"the {what} exceeds {MAX_TEXT // 1024} KiB")
