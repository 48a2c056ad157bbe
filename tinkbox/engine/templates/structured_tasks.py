"""Tinkerbell's Workflow of v1alpha2: values are filled in, and what comes out is the text of a template without placeholders.

Only texts are filled, each by itself: no placeholder changes what there is.  First the Workflow is, then each Task (templating.md
of Tinkerbell's docs/technical/v1alpha2).  A text that refers to others of its own document, as `{{ .task.spec.env.one }}` does, is
filled when these are: it has their values, and what comes of a value is never read as a placeholder.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Any, Final

from tinkbox.engine.documents.definitions import read_definition
from tinkbox.engine.templates.dialects import Dialect
from tinkbox.engine.templates.go_dialect import GoTemplate
from tinkbox.engine.templates.references import Referents, references_of, with_referents
from tinkbox.engine.templates.rendering_process import render_confined
from tinkbox.engine.templates.secret_marks import MARKS_KEY, REFERENCES
from tinkbox.engine.templates.surroundings import now, surroundings
from tinkbox.model.documents.kubernetes import DEFAULT_NAMESPACE
from tinkbox.model.documents.loose_values import list_of, mapping_of, those_given
from tinkbox.model.documents.machine_views import decoded
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.text import quoted
from tinkbox.thread_turns import Turn, in_thread

MAX_TEXTS: Final = 1_000  # with placeholders, in one document
_MARK: Final = "\x1f"  # what has one itself is refused
_BETWEEN: Final = f"{_MARK}\n{_MARK}"  # between texts that are filled together, each on lines of its own
MAX_ROUNDS: Final = 11  # a text that leads to ten others, one after the other, is filled behind these
# What a text mentions of its own document, by the name of that.
_MENTIONS: Final = {each: re.compile(rf"\.{each}\b((?:\.\w+)*)") for each in ("task", "workflow")}
_MARKS: Final = re.compile(r"\{(?=[{%#])")
_ANY: Final = "any"  # the worker of a Task and the name of a workflow, which a Workflow says
_NO_ACTIONS: Final = "there are none: a Workflow that names this Task does nothing by it"
# How v1alpha2 calls what v1alpha1 calls so.
_IN_V1ALPHA2: Final = {"timeout": "timeoutSeconds", "environment": "env", "command": "args", "reboot": "background"}
Document = Mapping[str, Any]
_Path = tuple[str | int, ...]
_Text = tuple[_Path, str]  # a text with placeholders, and where it stands in the spec
At = Callable[[str], str]  # what people are told of where a field stands: its document may be one of a file


def in_itself(key: str) -> str:
    """`At` of a document that is in no file."""
    return key


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One of a Workflow's tasks: its Task, the worker that it runs on, and `.hardware` of its machine."""

    task: Document
    worker: str
    hardware: Document
    at: At = in_itself  # of the Task


def _key(path: _Path) -> str:
    """What people call a place in the spec."""
    return "spec" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


@dataclass(frozen=True, slots=True)
class _Named:
    """What people call a document, and where its fields stand."""

    what: str
    at: At

    def problem(self, path: _Path, text: str) -> Problem:
        """A problem with a text of the spec."""
        return Problem(text=f"{self.what}, {self.at(_key(path))}: {text}")


async def composed(
    workflow: Document,
    entries: Sequence[Entry],
    turn: Turn = nullcontext,
    at: At = in_itself,
    *,
    marks_key: bytes,
    referents: Referents,
    apart: bool = False,
) -> str:
    """The text of a template that says what a Workflow does; raises Invalid with what is wrong in it, or in a Task.

    `at` is of the Workflow; `apart` is as in `render_each`, `marks_key` as in `rendering_data`.  `referents` finds what the Workflow
    and its Tasks refer to: each sees by `.references` what its own `spec.references` names.
    """

    async def seen(document: Document, others: Document) -> Document:
        data = {**others, REFERENCES: references_of(document), MARKS_KEY: marks_key.hex()}
        return (await with_referents([data], referents))[0]

    first = entries[0].hardware if entries else {}
    data = await seen(workflow, {"hardware": first})
    filled = await _filled(workflow, "workflow", data, _Named("the Workflow", at), turn, apart)
    spec = mapping_of(filled.get("spec"))
    extras = [mapping_of(each.get("extra")) for each in list_of(spec.get("tasks"))]
    tasks: list[dict[str, Any]] = []
    for number, (entry, extra) in enumerate(zip(entries, extras, strict=True)):
        data = await seen(entry.task, {"hardware": entry.hardware, "workflow": decoded(_placed(filled))})
        name = str(mapping_of(entry.task.get("metadata")).get("name"))
        task = await _filled(entry.task, "task", data, _Named(f"Task {name}", entry.at), turn, apart)
        names = [each["name"] for each in tasks]
        called = name if name not in names else f"{name}-{number + 1}"
        tasks.append(_task(called, entry.worker, mapping_of(task.get("spec")), mapping_of(spec.get("globals")), extra))
    name = str(mapping_of(workflow.get("metadata")).get("name"))
    return _template(name, spec.get("timeoutSeconds") or 0, tasks)


async def check_task(task: Document, turn: Turn = nullcontext) -> tuple[Problem, ...]:
    """Everything that can be said of a Task before a Workflow fills it; raises Invalid with every problem.

    What is ignored of it (`Definition`) is returned.  The key of each problem is the field.  Of a text with placeholders only these
    are read: what comes of it may be anything.
    """
    return await in_thread(turn, _checked, task)


def _checked(task: Document) -> tuple[Problem, ...]:
    found = _open_texts(task)
    if len(found) > MAX_TEXTS:
        raise Invalid("", [Problem(key="spec", text=f"more than {MAX_TEXTS} texts with placeholders")])
    problems = [Problem(key=_key(path), text=text) for path, text in _wrong(found)]
    given = mapping_of(task.get("spec"))
    actions = [_known_of_action(mapping_of(each), place) for place, each in enumerate(list_of(given.get("actions")))]
    ignored = [] if actions else [Problem(key="spec.actions", text=_NO_ACTIONS)]
    name = str(mapping_of(task.get("metadata")).get("name"))
    spec = {**_known(given), "actions": actions}
    try:
        definition = read_definition(_template(_ANY, 0, [_task(name, _ANY, spec, {}, {})]))
        ignored += map(_of_task, definition.ignored)
    except Invalid as refusal:
        problems += map(_of_task, refusal.reasons)
        ignored += map(_of_task, refusal.ignored)
    if problems:
        raise Invalid("no machine could carry out the Task", [*problems, *ignored], ignored=ignored)
    return tuple(ignored)


def _known_of_action(action: Document, place: int) -> Document:
    """The action with a name and an image of its own where placeholders say these."""
    open_ones = [name for name in ("name", "image") if _is_open(action.get(name))]
    return {**_known(action), **dict.fromkeys(open_ones, f"{_ANY}-{place}")}


def _known(value: Any) -> Any:
    """A copy without the texts that have placeholders."""
    if isinstance(value, Mapping):
        return {name: _known(inner) for name, inner in value.items() if not _is_open(inner)}
    if isinstance(value, list):
        return [_known(inner) for inner in value if not _is_open(inner)]
    return value


def _is_open(value: Any) -> bool:
    return isinstance(value, str) and "{{" in value


def _of_task(problem: Problem) -> Problem:
    """What is told of the one task of a template, as it is told of the Task that this was made of."""
    steps = problem.key.split(".")[1:]
    if not problem.key.startswith("tasks["):
        return Problem(key="spec", text=problem.text)
    if steps == ["name"]:
        return Problem(key="metadata.name", text=problem.text)
    return Problem(key=".".join(("spec", *(_IN_V1ALPHA2.get(each, each) for each in steps))), text=problem.text)


def _template(name: str, seconds: Any, tasks: Sequence[Document]) -> str:
    """The text of a template with these tasks."""
    told = {"version": "0.1", "name": name, "global_timeout": seconds, "tasks": tasks}
    # What was filled in stays as it is: it is no template.
    return _MARKS.sub(r"\\u007b", json.dumps(told, ensure_ascii=False, indent=1))


def _placed(document: Document) -> Document:
    """The document with a namespace, as any has it in a cluster."""
    metadata = mapping_of(document.get("metadata"))
    return {**document, "metadata": {**metadata, "namespace": metadata.get("namespace") or DEFAULT_NAMESPACE}}


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


async def _filled(document: Document, called: str, data: Document, named: _Named, turn: Turn, apart: bool) -> Document:
    """The document with the texts of its spec filled; in them it is `called` so."""
    found = _open_texts(document)
    if not found:
        return document
    if len(found) > MAX_TEXTS:
        raise Invalid(f"{named.what} has more than {MAX_TEXTS} texts with placeholders")
    if wrong := await in_thread(turn, _wrong, found):
        raise Invalid(f"{named.what} cannot be read", [named.problem(path, text) for path, text in wrong])
    spec = json.loads(json.dumps(document["spec"]))
    for number in range(MAX_ROUNDS):
        ready = _ready(found, called) if number < MAX_ROUNDS - 1 else found
        known = {**data, called: decoded(_placed({**document, "spec": spec}))}
        values = await _values(ready, known, named, turn, apart)
        later = [each for each in found if each not in ready]
        _refuse_unfilled(ready, values, later or found, called, named)
        for (path, _), value in zip(ready, values, strict=True):
            holder = spec
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = value
        found = later
        if not found:
            break
    return {**document, "spec": spec}


async def _values(found: Sequence[_Text], data: Document, named: _Named, turn: Turn, apart: bool) -> list[str]:
    """What becomes of texts, filled together."""
    whole = _BETWEEN.join(text for _, text in found)
    if apart:
        (rendered,) = await render_confined(whole, [data], turn, Dialect.GO)
    else:
        rendered = await in_thread(turn, _render, whole, data)
    if isinstance(rendered, Problem):
        raise Invalid(f"{named.what} cannot be filled", [_told(rendered, found, named)])
    if rendered.count(_MARK) != whole.count(_MARK):
        raise Invalid(f"{named.what}: a value has a control character that may not be in it")
    return rendered.split(_BETWEEN)


def _told(problem: Problem, found: Sequence[_Text], named: _Named) -> Problem:
    """Why texts cannot be filled together, with the place of the one that it is about, where that is known."""
    told = f"{problem.key}: {problem.text}" if problem.key else problem.text
    lines = accumulate(text.count("\n") + 1 for _, text in found)
    last = problem.line or 0
    path = next((path for (path, _), line in zip(found, lines, strict=True) if 0 < last <= line), None)
    return Problem(text=f"{named.what}: {told}") if path is None else named.problem(path, told)


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
    filled: Sequence[_Text], values: Sequence[str], waiting: Sequence[_Text], called: str, named: _Named
) -> None:
    """Raise Invalid for a value that has the text of another placeholder: no action can mean that."""
    problems = [
        named.problem(path, f"it leads to {quoted(left)}, which is not filled by then")
        for (path, text), value in zip(filled, values, strict=True)
        if _mentioned(text, called)
        for left in [next((one for _, one in waiting if one in value), "")]
        if left
    ]
    if problems:
        raise Invalid(f"{named.what} cannot be filled", problems)


def _wrong(found: Sequence[_Text]) -> list[tuple[_Path, str]]:
    """What is wrong with each text by itself, and where it stands: together, one could begin what another ends."""
    wrong: list[tuple[_Path, str]] = []
    around = surroundings(now())
    for path, text in found:
        try:
            if _MARK in text:
                raise Invalid("", [Problem(text="a control character may not be in it")])
            GoTemplate(text, around)
        except Invalid as refusal:
            wrong += [(path, each.text) for each in refusal.problems]
    return wrong


def _render(text: str, data: Document) -> str | Problem:
    try:
        return GoTemplate(text, surroundings(now())).render(data)
    except Invalid as refusal:
        return refusal.problems[0]


def _open_texts(document: Document) -> list[_Text]:
    """The texts of a document that have placeholders."""
    return [(path, text) for path, text in _texts(document.get("spec"), ()) if _is_open(text)]


def _texts(value: Any, path: _Path) -> Iterator[tuple[_Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(inner, (*path, name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _texts(inner, (*path, place))
