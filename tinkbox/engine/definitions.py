"""From a rendered template to a definition: every rule of Tinkerbell's format, and what tinkbox adds to it."""

from collections.abc import Mapping, Sequence

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tinkbox.engine.yamltext import NodeReader, compose, is_null, line_of, path
from tinkbox.model.breakpoint import DEFAULT_HOLD_SECONDS, MAX_HOLD_SECONDS, ON_EXPIRY, Breakpoints, Verb
from tinkbox.model.duration import parse_duration, show_duration
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.image import parse_reference
from tinkbox.model.template import (
    ACTION_KEYS,
    BREAKPOINT_KEYS,
    DEFAULT_ACTION_SECONDS,
    MAX_NAME,
    MAX_RETRIES,
    MAX_SECONDS,
    NAMESPACE_KEYS,
    OTHER_WORDS,
    ROOT_KEYS,
    TASK_KEYS,
    Action,
    Definition,
    Task,
)


def read_definition(text: str) -> Definition:
    """What a rendered template means; raises Invalid with every problem, each with its line."""
    documents = compose(text)
    reader = _DefinitionReader()
    definition = reader.definition(documents[0] if documents else None)
    if len(documents) > 1:
        place = line_of(documents[1])
        reader.problems.append(Problem(line=place, text="a template is one document: a second one begins here"))
    if reader.problems:
        raise invalid_template(reader.problems)
    return definition


def invalid_template(problems: Sequence[Problem], about: str = "") -> Invalid:
    """The refusal of a template, its problems in the order of their lines."""
    ordered = sorted(problems, key=lambda problem: problem.line or 0)
    return Invalid(f"invalid template: {len(ordered)} problem(s){about}", ordered)


class _DefinitionReader(NodeReader):
    def definition(self, node: Node | None) -> Definition:
        if node is None or is_null(node):
            self.problems.append(Problem(text="the template is empty"))
            return Definition(name="", tasks=())
        fields = self.fields(node, "", ROOT_KEYS)
        version = self.text(fields, "version", "")
        if version != "0.1":
            where = fields.get("version", node)
            self.refuse(where, "version", f'invalid template version: {version or "none"} (it must be "0.1")')
        tasks = self.items(fields.get("tasks"), "tasks", self._task)
        if not tasks:
            self.refuse(fields.get("tasks", node), "tasks", "template must have at least one task defined")
        names = [task.name for task in tasks]
        self._unique(names, fields.get("tasks"), "tasks", "two tasks in a template cannot have same name")
        return Definition(
            name=self._name(fields, node, ""),
            tasks=tasks,
            global_timeout=self._seconds(fields, "global_timeout", ""),
            breakpoints=self._breakpoints(fields["breakpoint"], tasks) if "breakpoint" in fields else Breakpoints(),
        )

    def unknown(self, node: ScalarNode, key: str, known: Sequence[str]) -> None:
        name, other = node.value, OTHER_WORDS.get(node.value)
        if other in known:
            self.refuse(node, path(key, name), f"unknown key {name}; here it is {other}")
        else:
            super().unknown(node, key, known)

    def _task(self, node: Node, key: str) -> Task:
        fields = self.fields(node, key, TASK_KEYS)
        worker = self.text(fields, "worker", key)
        if not worker and isinstance(node, MappingNode):
            text = "a task needs its worker: the MAC or IPv4 address of known hardware, or its agentID"
            self.refuse(fields.get("worker", node), path(key, "worker"), text)
        actions = self.items(fields.get("actions"), path(key, "actions"), self._action)
        names = [action.name for action in actions]
        twice = "two actions in a task cannot have same name"
        self._unique(names, fields.get("actions"), path(key, "actions"), twice)
        return Task(
            name=self._name(fields, node, key),
            worker=worker,
            actions=actions,
            volumes=self._volumes(fields, key),
            environment=self._environment(fields, key),
        )

    def _action(self, node: Node, key: str) -> Action:
        fields = self.fields(node, key, ACTION_KEYS)
        return Action(
            name=self._name(fields, node, key),
            image=self._image(fields, node, key),
            timeout=self._seconds(fields, "timeout", key) or DEFAULT_ACTION_SECONDS,
            command=self._texts(fields, "command", key),
            on_timeout=self._texts(fields, "on-timeout", key),
            on_failure=self._texts(fields, "on-failure", key),
            volumes=self._volumes(fields, key),
            environment=self._environment(fields, key),
            pid=self._pid(fields, key),
            retries=self._retries(fields, key),
            applies=self._applies(fields, key),
            reboot=self.flag(fields["reboot"], path(key, "reboot")) if "reboot" in fields else False,
            helper=self.flag(fields["helper"], path(key, "helper"), absent=True) if "helper" in fields else True,
        )

    def _breakpoints(self, node: Node, tasks: Sequence[Task]) -> Breakpoints:
        if is_null(node):
            return Breakpoints()
        fields = self.fields(node, "breakpoint", BREAKPOINT_KEYS)
        failure = fields.get("onFailure")
        return Breakpoints(
            on_failure=self.flag(failure, "breakpoint.onFailure") if failure is not None else False,
            before=self._named_actions(fields.get("before"), "breakpoint.before", tasks),
            after=self._named_actions(fields.get("after"), "breakpoint.after", tasks),
            timeout=self._hold_timeout(fields),
            on_expiry=self._on_expiry(fields),
        )

    def _named_actions(self, node: Node | None, key: str, tasks: Sequence[Task]) -> tuple[str, ...]:
        """The full names of the actions that a list names as ACTION or TASK/ACTION, each once."""
        meant: dict[str, list[str]] = {}
        for task in tasks:
            for action in task.actions:
                full = f"{task.name}/{action.name}"
                meant.setdefault(action.name, []).append(full)
                meant.setdefault(full, []).append(full)

        def full_name(node: Node, key: str) -> str:
            name = self.scalar(node, key)
            found = meant.get(name, [])
            if len(found) > 1:
                self.refuse(node, key, f"{len(found)} actions are called {name}: name the task as well, as task/action")
            elif not found and isinstance(node, ScalarNode):
                self.refuse(node, key, f"there is no action {name[:MAX_NAME]!r} in this template")
            return found[0] if len(found) == 1 else ""

        return tuple(dict.fromkeys(filter(None, self.items(node, key, full_name))))

    def _hold_timeout(self, fields: Mapping[str, Node]) -> int:
        text = self.text(fields, "timeout", "breakpoint")
        try:
            seconds = parse_duration(text) if text else DEFAULT_HOLD_SECONDS
        except Invalid as error:
            self.refuse(fields["timeout"], "breakpoint.timeout", str(error))
            return DEFAULT_HOLD_SECONDS
        if not 0 < seconds <= MAX_HOLD_SECONDS:
            text = f"expected 1s to {show_duration(MAX_HOLD_SECONDS)}, not {text}"
            self.refuse(fields["timeout"], "breakpoint.timeout", text)
        return seconds

    def _on_expiry(self, fields: Mapping[str, Node]) -> Verb:
        text = self.text(fields, "onExpiry", "breakpoint")
        if text in ("", *ON_EXPIRY):
            return Verb(text or Verb.FAIL)
        self.refuse(fields["onExpiry"], "breakpoint.onExpiry", f"expected {', '.join(ON_EXPIRY)}, not {text[:40]!r}")
        return Verb.FAIL

    def _pid(self, fields: Mapping[str, Node], key: str) -> str:
        pid = self._host(fields, "pid", key, "actions have a process namespace of their own, or the host's")
        inner = fields.get("namespaces")
        if inner is None or is_null(inner):
            return pid
        key = path(key, "namespaces")
        spaces = self.fields(inner, key, NAMESPACE_KEYS)
        self._host(spaces, "network", key, "actions always have the host's network")
        return self._host(spaces, "pid", key, "actions have a process namespace of their own, or the host's") or pid

    def _host(self, fields: Mapping[str, Node], name: str, key: str, honoured: str) -> str:
        value = self.text(fields, name, key)
        if value in ("", "host"):
            return value
        self.refuse(fields[name], path(key, name), f"expected host, not {value[:40]!r}: {honoured}")
        return ""

    def _retries(self, fields: Mapping[str, Node], key: str) -> int:
        if "retries" not in fields:
            return 0
        return self.number(fields["retries"], path(key, "retries"), "attempts after a failure", MAX_RETRIES)

    def _applies(self, fields: Mapping[str, Node], key: str) -> bool:
        """The last word of an `if`: nothing means yes."""
        return self.flag(fields["if"], path(key, "if"), absent=True) if "if" in fields else True

    def _texts(self, fields: Mapping[str, Node], name: str, key: str) -> tuple[str, ...]:
        node = fields.get(name)
        if isinstance(node, ScalarNode) and not is_null(node):
            self.refuse(node, path(key, name), f'expected a list of words, such as ["sh", "-c", {node.value[:40]!r}]')
            return ()
        return self.items(node, path(key, name), self.scalar)

    def _environment(self, fields: Mapping[str, Node], key: str) -> dict[str, str]:
        node, place = fields.get("environment"), path(key, "environment")
        if node is None or is_null(node):
            return {}
        if not isinstance(node, MappingNode):
            self.refuse(node, place, "expected names with values")
            return {}
        return {name.value: self.scalar(value, path(place, name.value)) for name, value in self.pairs(node, place)}

    def _volumes(self, fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
        volumes = self._texts(fields, "volumes", key)
        for volume in volumes:
            source, _, target = volume.partition(":")
            if not source.startswith("/") or not target.startswith("/"):
                text = f"{volume!r}: expected /host/path:/container/path[:ro]"
                self.refuse(fields["volumes"], path(key, "volumes"), text)
        return volumes

    def _name(self, fields: Mapping[str, Node], node: Node, key: str) -> str:
        name = self.text(fields, "name", key)
        if isinstance(node, MappingNode) and not 0 < len(name.encode()) < MAX_NAME:
            text = f"name cannot be empty or have more than {MAX_NAME - 1} characters"
            self.refuse(fields.get("name", node), path(key, "name"), text)
        return name

    def _image(self, fields: Mapping[str, Node], node: Node, key: str) -> str:
        image = self.text(fields, "image", key)
        if isinstance(node, MappingNode):
            try:
                parse_reference(image)
            except Invalid as error:
                self.refuse(fields.get("image", node), path(key, "image"), str(error))
        return image

    def _seconds(self, fields: Mapping[str, Node], name: str, key: str) -> int:
        return self.number(fields[name], path(key, name), "seconds", MAX_SECONDS) if name in fields else 0

    def _unique(self, names: Sequence[str], node: Node | None, key: str, text: str) -> None:
        for name in dict.fromkeys(name for name in names if name and names.count(name) > 1):
            assert isinstance(node, SequenceNode)
            again = [item for item, each in zip(node.value, names, strict=True) if each == name][1]
            self.refuse(again, key, f"{text}: {name}")
