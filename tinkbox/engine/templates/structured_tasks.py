"""Tinkerbell's Workflow of v1alpha2: values are filled in, and what comes out is the text of a template without placeholders.

Only texts are filled, each by itself: no placeholder changes what there is.  First the Workflow is, then each Task (templating.md
of Tinkerbell's docs/technical/v1alpha2).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tinkbox.engine.templates.dialects import Dialect
from tinkbox.engine.templates.go_dialect import GoTemplate
from tinkbox.engine.templates.rendering_process import render_confined
from tinkbox.engine.templates.surroundings import now, surroundings
from tinkbox.engine.turns import Turn, in_thread
from tinkbox.model.documents.machine_views import decoded
from tinkbox.model.errors import Invalid, Problem

MAX_TEXTS: Final = 1_000  # with placeholders, in one document
_BETWEEN: Final = "\x1f"  # between texts that are filled together; what has one itself is refused
_MARKS: Final = re.compile(r"\{(?=[{%#])")
Document = Mapping[str, Any]
_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One of a Workflow's tasks: its Task, the worker that it runs on, and `.hardware` of its machine."""

    task: Document
    worker: str
    hardware: Document


async def composed(
    workflow: Document, entries: Sequence[Entry], turn: Turn = nullcontext, *, apart: bool = False
) -> str:
    """The text of a template that says what a Workflow does; raises Invalid with what is wrong in it, or in a Task.

    `apart` is as in `render_each`.
    """
    first = entries[0].hardware if entries else {}
    data = {"hardware": first, "workflow": decoded(workflow), "references": {}}
    filled = await _filled(workflow, data, "the Workflow", turn, apart)
    spec = _mapping(filled.get("spec"))
    extras = [_mapping(each.get("extra")) for each in _list(spec.get("tasks"))]
    tasks: list[dict[str, Any]] = []
    for number, (entry, extra) in enumerate(zip(entries, extras, strict=True)):
        data = {
            "hardware": entry.hardware,
            "workflow": decoded(filled),
            "task": decoded(entry.task),
            "references": {},
        }
        name = str(_mapping(entry.task.get("metadata")).get("name"))
        task = await _filled(entry.task, data, f"Task {name}", turn, apart)
        names = [each["name"] for each in tasks]
        called = name if name not in names else f"{name}-{number + 1}"
        tasks.append(_task(called, entry.worker, _mapping(task.get("spec")), _mapping(spec.get("globals")), extra))
    name = str(_mapping(workflow.get("metadata")).get("name"))
    told = {"version": "0.1", "name": name, "global_timeout": spec.get("timeoutSeconds") or 0, "tasks": tasks}
    # What was filled in stays as it is: it is no template.
    return _MARKS.sub(r"\\u007b", json.dumps(told, ensure_ascii=False, indent=1))


def _task(name: str, worker: str, spec: Document, shared: Document, extra: Document) -> dict[str, Any]:
    """A task in the words of v1alpha1; what is nearer to the action counts more."""
    environment = {**_mapping(shared.get("env")), **_mapping(spec.get("env")), **_mapping(extra.get("env"))}
    volumes = [each for one in (shared, spec, extra) for each in _list(one.get("volumes"))]
    return _given(
        {
            "name": name,
            "worker": worker,
            "environment": environment,
            "volumes": volumes,
            "actions": [_action(_mapping(each)) for each in _list(spec.get("actions"))],
        }
    )


def _action(action: Document) -> dict[str, Any]:
    """An action in the words of v1alpha1."""
    command = [*([action["command"]] if action.get("command") else []), *_list(action.get("args"))]
    told = {
        "name": action.get("name"),
        "image": action.get("image"),
        "timeout": action.get("timeoutSeconds"),
        "command": command,
        "volumes": list(_list(action.get("volumes"))),
        "environment": dict(_mapping(action.get("env"))),
        "namespaces": _given(_mapping(action.get("namespaces"))),
        "retries": action.get("retries"),
    }
    condition = str(action.get("if") or "").strip()
    wanted = {} if not condition else {"if": condition.lower() == "true"}
    return {**_given(told), **wanted, **({"reboot": True} if action.get("background") else {})}


async def _filled(document: Document, data: Document, what: str, turn: Turn, apart: bool) -> Document:
    """The document with the texts of its spec filled."""
    found = [(path, text) for path, text in _texts(document.get("spec"), ()) if "{{" in text]
    if not found:
        return document
    if len(found) > MAX_TEXTS:
        raise Invalid(f"{what} has more than {MAX_TEXTS} texts with placeholders")
    if problems := await in_thread(turn, _wrong, found, what):
        raise Invalid(f"{what} cannot be read", problems)
    whole = _BETWEEN.join(text for _, text in found)
    if apart:
        (rendered,) = await render_confined(whole, [data], turn, Dialect.GO)
        if isinstance(rendered, Problem):
            raise Invalid(f"{what}: {rendered.text}", [Problem(text=f"{what}: {rendered.text}")])
    else:
        rendered = await in_thread(turn, partial(_render, whole, data, what))
    values = rendered.split(_BETWEEN)
    if len(values) != len(found):
        raise Invalid(f"{what}: a value has a control character that may not be in it")
    spec = json.loads(json.dumps(document["spec"]))
    for (path, _), value in zip(found, values, strict=True):
        holder = spec
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value
    return {**document, "spec": spec}


def _wrong(found: Sequence[tuple[_Path, str]], what: str) -> list[Problem]:
    """What is wrong with each text by itself: together, one could begin what another ends."""
    problems = []
    around = surroundings(now())
    for path, text in found:
        try:
            if _BETWEEN in text:
                raise Invalid("", [Problem(text="a control character may not be in it")])
            GoTemplate(text, around)
        except Invalid as refusal:
            where = ".".join(map(str, path))
            problems += [Problem(text=f"{what}, spec.{where}: {each.text}") for each in refusal.problems]
    return problems


def _render(text: str, data: Document, what: str) -> str:
    try:
        return GoTemplate(text, surroundings(now())).render(data)
    except Invalid as refusal:
        told = [f"{each.key}: {each.text}" if each.key else each.text for each in refusal.problems] or [str(refusal)]
        raise Invalid(f"{what} cannot be filled", [Problem(text=f"{what}: {each}") for each in told]) from None


def _texts(value: Any, path: _Path) -> Iterator[tuple[_Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(inner, (*path, name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _texts(inner, (*path, place))


def _given(values: Document) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", [], {}, 0)}


def _mapping(value: Any) -> Document:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
