"""Tinkerbell's Workflow of v1alpha2: values are filled in, and what comes out is the text of a template without placeholders.

Only texts are filled, each by itself: no placeholder changes what there is.  First the Workflow is, then each Task (templating.md
of Tinkerbell's docs/technical/v1alpha2).  A text that refers to others of its own document, as `{{ .task.spec.env.one }}` does, is
filled when these are: it has their values, and what comes of a value is never read as a placeholder.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, Final

from tinkbox.engine.templates.dialects import Dialect
from tinkbox.engine.templates.go_dialect import GoTemplate
from tinkbox.engine.templates.rendering_process import render_confined
from tinkbox.engine.templates.surroundings import now, surroundings
from tinkbox.model.documents.loose_values import list_of, mapping_of, those_given
from tinkbox.model.documents.machine_views import decoded
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.text import quoted
from tinkbox.thread_turns import Turn, in_thread

MAX_TEXTS: Final = 1_000  # with placeholders, in one document
_BETWEEN: Final = "\x1f"  # between texts that are filled together; what has one itself is refused
MAX_ROUNDS: Final = 11  # a text that leads to ten others, one after the other, is filled behind these
# What a text mentions of its own document, by the name of that.
_MENTIONS: Final = {each: re.compile(rf"\.{each}\b((?:\.\w+)*)") for each in ("task", "workflow")}
_MARKS: Final = re.compile(r"\{(?=[{%#])")
Document = Mapping[str, Any]
_Path = tuple[str | int, ...]
_Text = tuple[_Path, str]  # a text with placeholders, and where it stands in the spec


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
    data = {"hardware": first, "references": {}}
    filled = await _filled(workflow, "workflow", data, "the Workflow", turn, apart)
    spec = mapping_of(filled.get("spec"))
    extras = [mapping_of(each.get("extra")) for each in list_of(spec.get("tasks"))]
    tasks: list[dict[str, Any]] = []
    for number, (entry, extra) in enumerate(zip(entries, extras, strict=True)):
        data = {
            "hardware": entry.hardware,
            "workflow": decoded(filled),
            "references": {},
        }
        name = str(mapping_of(entry.task.get("metadata")).get("name"))
        task = await _filled(entry.task, "task", data, f"Task {name}", turn, apart)
        names = [each["name"] for each in tasks]
        called = name if name not in names else f"{name}-{number + 1}"
        tasks.append(_task(called, entry.worker, mapping_of(task.get("spec")), mapping_of(spec.get("globals")), extra))
    name = str(mapping_of(workflow.get("metadata")).get("name"))
    told = {"version": "0.1", "name": name, "global_timeout": spec.get("timeoutSeconds") or 0, "tasks": tasks}
    # What was filled in stays as it is: it is no template.
    return _MARKS.sub(r"\\u007b", json.dumps(told, ensure_ascii=False, indent=1))


def _task(name: str, worker: str, spec: Document, shared: Document, extra: Document) -> dict[str, Any]:
    """A task in the words of v1alpha1; what is nearer to the action counts more."""
    environment = {**mapping_of(shared.get("env")), **mapping_of(spec.get("env")), **mapping_of(extra.get("env"))}
    volumes = [each for one in (shared, spec, extra) for each in list_of(one.get("volumes"))]
    return those_given(
        {
            "name": name,
            "worker": worker,
            "environment": environment,
            "volumes": volumes,
            "actions": [_action(mapping_of(each)) for each in list_of(spec.get("actions"))],
        }
    )


def _action(action: Document) -> dict[str, Any]:
    """An action in the words of v1alpha1."""
    command = [*([action["command"]] if action.get("command") else []), *list_of(action.get("args"))]
    told = {
        "name": action.get("name"),
        "image": action.get("image"),
        "timeout": action.get("timeoutSeconds"),
        "command": command,
        "volumes": list(list_of(action.get("volumes"))),
        "environment": dict(mapping_of(action.get("env"))),
        "namespaces": those_given(mapping_of(action.get("namespaces"))),
        "retries": action.get("retries"),
    }
    condition = str(action.get("if") or "").strip()
    wanted = {} if not condition else {"if": condition.lower() == "true"}
    return {**those_given(told), **wanted, **({"reboot": True} if action.get("background") else {})}


async def _filled(document: Document, called: str, data: Document, what: str, turn: Turn, apart: bool) -> Document:
    """The document with the texts of its spec filled; in them it is `called` so."""
    found = [(path, text) for path, text in _texts(document.get("spec"), ()) if "{{" in text]
    if not found:
        return document
    if len(found) > MAX_TEXTS:
        raise Invalid(f"{what} has more than {MAX_TEXTS} texts with placeholders")
    if problems := await in_thread(turn, _wrong, found, what):
        raise Invalid(f"{what} cannot be read", problems)
    spec = json.loads(json.dumps(document["spec"]))
    for number in range(MAX_ROUNDS):
        ready = _ready(found, called) if number < MAX_ROUNDS - 1 else found
        known = {**data, called: decoded({**document, "spec": spec})}
        values = await _values([text for _, text in ready], known, what, turn, apart)
        later = [each for each in found if each not in ready]
        _refuse_unfilled(ready, values, later or found, called, what)
        for (path, _), value in zip(ready, values, strict=True):
            holder = spec
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = value
        found = later
        if not found:
            break
    return {**document, "spec": spec}


async def _values(texts: Sequence[str], data: Document, what: str, turn: Turn, apart: bool) -> list[str]:
    """What becomes of texts, filled together."""
    whole = _BETWEEN.join(texts)
    if apart:
        (rendered,) = await render_confined(whole, [data], turn, Dialect.GO)
        if isinstance(rendered, Problem):
            raise Invalid(f"{what}: {rendered.text}", [Problem(text=f"{what}: {rendered.text}")])
    else:
        rendered = await in_thread(turn, partial(_render, whole, data, what))
    values = rendered.split(_BETWEEN)
    if len(values) != len(texts):
        raise Invalid(f"{what}: a value has a control character that may not be in it")
    return values


def _mentioned(text: str, called: str) -> list[tuple[str, ...]]:
    """The fields of its own document that a text mentions, such as `("spec", "env", "one")`."""
    return [tuple(each.split(".")[1:]) for each in _MENTIONS[called].findall(text)]


def _ready(found: Sequence[_Text], called: str) -> Sequence[_Text]:
    """The texts that mention none which is still to be filled; all, where each waits for another."""
    fields = [("spec", *takewhile(lambda step: isinstance(step, str), path)) for path, _ in found]
    within = Counter(field[:length] for field in fields for length in range(len(field) + 1))
    whole = Counter(fields)

    def waits(text: str, own: tuple[object, ...]) -> bool:
        return any(
            within[mentioned] > (own[: len(mentioned)] == mentioned)
            or any(whole[mentioned[:length]] > (own == mentioned[:length]) for length in range(len(mentioned)))
            for mentioned in _mentioned(text, called)
        )

    return [each for each, own in zip(found, fields, strict=True) if not waits(each[1], own)] or found


def _refuse_unfilled(
    filled: Sequence[_Text], values: Sequence[str], waiting: Sequence[_Text], called: str, what: str
) -> None:
    """Raise Invalid for a value that has the text of another placeholder: no action can mean that."""
    problems = [
        Problem(
            text=f"{what}, spec.{'.'.join(map(str, path))}: it leads to {quoted(left)}, which is not filled by then"
        )
        for (path, text), value in zip(filled, values, strict=True)
        if _mentioned(text, called)
        for left in [next((one for _, one in waiting if one in value), "")]
        if left
    ]
    if problems:
        raise Invalid(f"{what} cannot be filled", problems)


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
