"""From a template's text to a definition: placeholders, YAML, every rule of the 2020 format.

Placeholders are 2020's `{{.name}}`, filled from the workflow's device map.  The YAML is read as
nodes, so that every problem names its line and scalars keep their literal text: `MODE: 0644` stays
`0644` and `COMPRESSED: true` stays `true`, as Tinkerbell's Go decoder has them.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.image import parse_reference
from tinkbox.model.template import DEFAULT_ACTION_SECONDS, MAX_NAME, Action, Definition, Task

MAX_TEXT = 256 * 1024
MAX_ALIASES = 100
_PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_FIELD = re.compile(r"\s*\.([A-Za-z_][A-Za-z0-9_]*)\s*\Z")
_NULL = "tag:yaml.org,2002:null"
_DUMMY = "00:00:00:00:00:00"
T = TypeVar("T")


def check(text: str) -> None:
    """Everything that can be said of a template before it is rendered.

    Placeholders stand for an address meanwhile.  Raises Invalid with every problem.
    """
    names = {field[1] for match in _PLACEHOLDER.finditer(text) if (field := _FIELD.match(match[1]))}
    render(text, dict.fromkeys(names, _DUMMY))


def render(text: str, devices: Mapping[str, str]) -> tuple[str, Definition]:
    """Fill the placeholders and read the result; returns the rendered text and what it means.

    Raises Invalid with every problem, each with its line.
    """
    _bound(text, "template")
    problems: list[Problem] = []
    rendered = _fill(text, devices, problems)
    if problems:
        raise _invalid(problems)
    _bound(rendered, "rendered template")
    definition = _Reader(problems).definition(_compose(rendered))
    if problems:
        raise _invalid(problems)
    return rendered, definition


def _invalid(problems: Sequence[Problem]) -> Invalid:
    ordered = sorted(problems, key=lambda problem: problem.line or 0)
    return Invalid(f"invalid template: {len(ordered)} problem(s)", ordered)


def _bound(text: str, what: str) -> None:
    if len(text.encode(errors="surrogatepass")) > MAX_TEXT:
        raise Invalid(f"the {what} exceeds {MAX_TEXT // 1024} KiB")


def _fill(text: str, devices: Mapping[str, str], problems: list[Problem]) -> str:
    def value(match: re.Match[str]) -> str:
        line = text.count("\n", 0, match.start()) + 1
        field = _FIELD.match(match[1])
        if field is None:
            problems.append(
                Problem(line=line, text=f"{match[0][:60]} is not supported: placeholders are written {{{{.name}}}}")
            )
            return ""
        if field[1] not in devices:
            given = ", ".join(sorted(devices)) or "nothing"
            problems.append(
                Problem(line=line, text=f"placeholder {field[1]} has no value: the -r map has {given}", key=field[1])
            )
            return ""
        return devices[field[1]]

    return _PLACEHOLDER.sub(value, text)


def _compose(text: str) -> Node | None:
    tab = re.search(r"^ *\t", text, re.MULTILINE)
    if tab is not None:
        line = text.count("\n", 0, tab.start()) + 1
        raise _invalid([Problem(line=line, text="a tab: YAML is indented with spaces")])
    try:
        events = sum(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader))
        if events > MAX_ALIASES:
            raise _invalid([Problem(text=f"{events} aliases: at most {MAX_ALIASES} are expanded")])
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        place = error.problem_mark.line + 1 if error.problem_mark else None
        context = f"{error.context}: " if error.context else ""
        raise _invalid([Problem(line=place, text=f"not valid YAML: {context}{error.problem}")]) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise _invalid([Problem(text=f"not valid YAML: {' '.join(str(error).split())[:200]}")]) from None


class _Reader:
    """Reads nodes into values and notes what does not fit; what it cannot read becomes empty."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems

    def refuse(self, node: Node, key: str, text: str) -> None:
        self._problems.append(Problem(line=node.start_mark.line + 1, key=key, text=text))

    def definition(self, node: Node | None) -> Definition:
        if node is None:
            self._problems.append(Problem(text="the template is empty"))
            return Definition(name="", tasks=())
        fields = self._fields(node, "", ("version", "name", "id", "global_timeout", "tasks"))
        version = self._text(fields, "version", "")
        if version != "0.1":
            where = fields.get("version", node)
            self.refuse(where, "version", f'invalid template version: {version or "none"} (it must be "0.1")')
        tasks = self._items(fields.get("tasks"), "tasks", self._task)
        if not tasks:
            self.refuse(fields.get("tasks", node), "tasks", "template must have at least one task defined")
        self._unique(
            [task.name for task in tasks], fields.get("tasks"), "tasks", "two tasks in a template cannot have same name"
        )
        return Definition(
            name=self._name(fields, node, ""),
            tasks=tasks,
            global_timeout=self._seconds(fields, "global_timeout", ""),
        )

    def _task(self, node: Node, key: str) -> Task:
        fields = self._fields(node, key, ("name", "worker", "volumes", "environment", "actions"))
        worker = self._text(fields, "worker", key)
        if not worker and isinstance(node, MappingNode):
            self.refuse(
                fields.get("worker", node), f"{key}.worker", "a task needs the MAC or IPv4 address of its worker"
            )
        actions = self._items(fields.get("actions"), f"{key}.actions", self._action)
        self._unique(
            [action.name for action in actions],
            fields.get("actions"),
            f"{key}.actions",
            "two actions in a task cannot have same name",
        )
        return Task(
            name=self._name(fields, node, key),
            worker=worker,
            actions=actions,
            volumes=self._volumes(fields, key),
            environment=self._environment(fields, key),
        )

    def _action(self, node: Node, key: str) -> Action:
        known = ("name", "image", "timeout", "command", "on-timeout", "on-failure", "volumes", "environment", "pid")
        fields = self._fields(node, key, known)
        pid = self._text(fields, "pid", key)
        if pid not in ("", "host"):
            self.refuse(fields["pid"], f"{key}.pid", f"expected host, not {pid!r}")
        return Action(
            name=self._name(fields, node, key),
            image=self._image(fields, node, key),
            timeout=self._seconds(fields, "timeout", key) or DEFAULT_ACTION_SECONDS,
            command=self._texts(fields, "command", key),
            on_timeout=self._texts(fields, "on-timeout", key),
            on_failure=self._texts(fields, "on-failure", key),
            volumes=self._volumes(fields, key),
            environment=self._environment(fields, key),
            pid=pid,
        )

    def _fields(self, node: Node, key: str, known: Sequence[str]) -> dict[str, Node]:
        if not isinstance(node, MappingNode):
            self.refuse(node, key, f"expected keys with values: {', '.join(known)}")
            return {}
        fields: dict[str, Node] = {}
        for name_node, value in self._pairs(node, key):
            name = name_node.value
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {close[0]}?" if close else f"known here: {', '.join(known)}"
                self.refuse(name_node, _path(key, name), f"unknown key {name}; {hint}")
            else:
                fields[name] = value
        return fields

    def _pairs(self, node: MappingNode, key: str) -> Iterator[tuple[ScalarNode, Node]]:
        seen: set[str] = set()
        for name_node, value in node.value:
            if not isinstance(name_node, ScalarNode):
                self.refuse(name_node, key, "a key must be text")
                continue
            name = name_node.value
            if name in seen:
                self.refuse(name_node, _path(key, name), f"key {name} is given twice")
            elif name == "<<":
                self.refuse(name_node, _path(key, name), "merge keys are not supported: write the values out")
            else:
                seen.add(name)
                yield name_node, value

    def _items(self, node: Node | None, key: str, read: Callable[[Node, str], T]) -> tuple[T, ...]:
        if node is None or _is_null(node):
            return ()
        if not isinstance(node, SequenceNode):
            self.refuse(node, key, "expected a list")
            return ()
        return tuple(read(item, f"{key}[{index}]") for index, item in enumerate(node.value))

    def _scalar(self, node: Node, key: str) -> str:
        if not isinstance(node, ScalarNode):
            self.refuse(node, key, "expected text (quote it if it begins with { or [)")
            return ""
        return "" if _is_null(node) else str(node.value)

    def _text(self, fields: Mapping[str, Node], name: str, key: str) -> str:
        return self._scalar(fields[name], _path(key, name)) if name in fields else ""

    def _texts(self, fields: Mapping[str, Node], name: str, key: str) -> tuple[str, ...]:
        node = fields.get(name)
        if isinstance(node, ScalarNode) and not _is_null(node):
            self.refuse(node, _path(key, name), f'expected a list of words, such as ["sh", "-c", {node.value[:40]!r}]')
            return ()
        return self._items(node, _path(key, name), self._scalar)

    def _environment(self, fields: Mapping[str, Node], key: str) -> dict[str, str]:
        node, path = fields.get("environment"), _path(key, "environment")
        if node is None or _is_null(node):
            return {}
        if not isinstance(node, MappingNode):
            self.refuse(node, path, "expected names with values")
            return {}
        return {name.value: self._scalar(value, _path(path, name.value)) for name, value in self._pairs(node, path)}

    def _volumes(self, fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
        volumes = self._texts(fields, "volumes", key)
        for volume in volumes:
            source, _, target = volume.partition(":")
            if not source.startswith("/") or not target.startswith("/"):
                self.refuse(
                    fields["volumes"], _path(key, "volumes"), f"{volume!r}: expected /host/path:/container/path[:ro]"
                )
        return volumes

    def _name(self, fields: Mapping[str, Node], node: Node, key: str) -> str:
        name = self._text(fields, "name", key)
        if isinstance(node, MappingNode) and not 0 < len(name.encode()) < MAX_NAME:
            self.refuse(
                fields.get("name", node),
                _path(key, "name"),
                f"name cannot be empty or have more than {MAX_NAME - 1} characters",
            )
        return name

    def _image(self, fields: Mapping[str, Node], node: Node, key: str) -> str:
        image = self._text(fields, "image", key)
        if isinstance(node, MappingNode):
            try:
                parse_reference(image)
            except Invalid as error:
                self.refuse(fields.get("image", node), _path(key, "image"), str(error))
        return image

    def _seconds(self, fields: Mapping[str, Node], name: str, key: str) -> int:
        text = self._text(fields, name, key)
        if not text:
            return 0
        if not re.fullmatch(r"[0-9]{1,9}", text):
            self.refuse(fields[name], _path(key, name), f"expected seconds as a whole number, not {text[:40]!r}")
            return 0
        return int(text)

    def _unique(self, names: Sequence[str], node: Node | None, key: str, text: str) -> None:
        for name in dict.fromkeys(name for name in names if name and names.count(name) > 1):
            assert isinstance(node, SequenceNode)
            again = [item for item, each in zip(node.value, names, strict=True) if each == name][1]
            self.refuse(again, key, f"{text}: {name}")


def _path(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.tag == _NULL
