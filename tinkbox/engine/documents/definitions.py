"""From a rendered template to a definition: every rule of Tinkerbell's format, and what tinkbox adds to it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from yaml.nodes import Node, ScalarNode, SequenceNode

from tinkbox.engine.documents.container_definitions import ContainerReader
from tinkbox.engine.documents.metadata_definitions import MetadataReader
from tinkbox.engine.documents.plan_size import PlanSize
from tinkbox.engine.documents.secret_definitions import marks_of
from tinkbox.engine.documents.service_definitions import ServiceReader
from tinkbox.model.actions.action import DEFAULT_ACTION_SECONDS, Action, Until
from tinkbox.model.actions.namespaces import MACHINE, check_network, check_pid
from tinkbox.model.breakpoint import DEFAULT_HOLD_SECONDS, MAX_HOLD_SECONDS, ON_EXPIRY, Breakpoints, Verb
from tinkbox.model.disks.disks import MAX_DISKS
from tinkbox.model.disks.selection import parse_selection
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.metadata import Metadata
from tinkbox.model.names import check_name
from tinkbox.model.secret import NamedSecret, has_mark
from tinkbox.model.services import Service
from tinkbox.model.spelling import is_misspelt, nearest
from tinkbox.model.template import (
    ACTION_KEYS,
    BREAKPOINT_KEYS,
    EXTENSION,
    MAX_NAME,
    MAX_RETRIES,
    MAX_SECONDS,
    NAMESPACE_KEYS,
    OWN_KEYS,
    ROOT_KEYS,
    TASK_KEYS,
    Definition,
    Task,
)
from tinkbox.model.text import counted
from tinkbox.yaml_nodes import compose_first, go_number, is_null, line_of, path

# A number that Go takes for an octal one.
_OCTAL = re.compile(r"[-+]?0[0-7_]*[1-7][0-7_]*")


def read_definition(text: str) -> Definition:
    """What a rendered template means; raises Invalid with every problem, each with its line.

    It is read as Tinkerbell reads it, by yaml.v3: the first document counts, and unknown keys are ignored, which is told.
    """
    document, behind = compose_first(text)
    reader = _DefinitionReader()
    definition = reader.definition(document)
    marks = [*marks_of(document)] if document is not None and has_mark(text) else []
    misplaced = [each for each in marks if isinstance(each, Problem)]
    # What else is wrong with such a place is wrong with the mark, which nobody is to see.
    places = {(each.line, each.key) for each in misplaced}
    reader.problems = [each for each in reader.problems if (each.line, each.key) not in places] + misplaced
    reader.named_secrets += [each for each in marks if isinstance(each, NamedSecret)]
    ignored = reader.ignored
    if behind is not None:
        ignored = [*ignored, Problem(line=behind, text="a template is one document: what begins here is ignored")]
    if reader.problems:
        raise invalid_template(reader.problems, ignored=ignored)
    return replace(
        definition,
        ignored=tuple(sorted(ignored, key=lambda each: each.line or 0)),
        secrets=tuple(reader.named_secrets),
    )


def refuse_ignored(ignored: Sequence[Problem]) -> None:
    """Raise Invalid for what is not taken as it stands in a template, where its author wants to hear of it so (`--strict`)."""
    if ignored:
        raise invalid_template(ignored)


def invalid_template(problems: Sequence[Problem], about: str = "", ignored: Sequence[Problem] = ()) -> Invalid:
    """The refusal of a template, its problems in the order of their lines, with what is ignored of it among them."""
    ordered = sorted([*problems, *ignored], key=lambda problem: problem.line or 0)
    return Invalid(f"invalid template: {counted(len(problems), 'problem')}{about}", ordered, ignored=ignored)


class _DefinitionReader(ContainerReader):
    def __init__(self) -> None:
        super().__init__()
        self._plan = PlanSize()

    def fields(self, node: Node, key: str, known: Sequence[str]) -> dict[str, Node]:
        found = super().fields(node, key, known)
        if known not in OWN_KEYS:
            return found
        return {name: self._without_empty(value, path(key, name)) for name, value in found.items()}

    def _without_empty(self, node: Node, key: str) -> Node:
        """A list without its items that are null, as yaml.v3 reads it."""
        if not isinstance(node, SequenceNode) or not any(map(is_null, node.value)):
            return node
        for index, item in enumerate(node.value):
            if is_null(item):
                self.ignore(item, f"{key}[{index}]", "an item with nothing in it is ignored")
        kept = [each for each in node.value if not is_null(each)]
        return SequenceNode(node.tag, kept, node.start_mark, node.end_mark)

    def unknown(self, node: ScalarNode, key: str, known: Sequence[str]) -> None:
        """Refuse what stands below a key of our own, or is nearly one: it would change what happens to a machine."""
        name, own = node.value, OWN_KEYS.get(tuple(known))
        if own is None or ((near := nearest(name, known)) in own and is_misspelt(name, near)):
            super().unknown(node, key, known)
        elif not name.startswith(EXTENSION):
            self.unknown_is_ignored(node, key, known)

    def definition(self, node: Node | None) -> Definition:
        if node is None or is_null(node):
            self.problems.append(Problem(text="the template is empty"))
            return Definition(name="", tasks=())
        fields = self.fields(node, "", ROOT_KEYS)
        self.text(fields, "version", "")  # anything: no release of Tinkerbell since 2022 looks at it
        self.text(fields, "id", "")
        tasks = self.items(fields.get("tasks"), "tasks", self._task)
        if not tasks:
            self.refuse(fields.get("tasks", node), "tasks", "template must have at least one task defined")
        names = [task.name for task in tasks]
        self.unique(names, fields.get("tasks"), "tasks", "two tasks in a template cannot have same name")
        return Definition(
            name=self._own_name(fields, node),
            tasks=tasks,
            services=self._services(fields.get("services")),
            global_timeout=self._seconds(fields, "global_timeout", ""),
            breakpoints=self._breakpoints(fields["breakpoint"], tasks) if "breakpoint" in fields else Breakpoints(),
            metadata=self._metadata(fields.get("metadata")),
        )

    def _own_name(self, fields: Mapping[str, Node], node: Node) -> str:
        """The template's, which its workflows have too."""
        name = self.name(fields, node, "")
        try:
            check_name(name or "none", "workflow")  # that there is none is told already
        except Invalid as refusal:
            self.refuse(fields["name"], "name", str(refusal))
        return name

    def _metadata(self, node: Node | None) -> Metadata:
        reader = MetadataReader()
        metadata = reader.metadata(node)
        self.problems += reader.problems
        self.ignored += reader.ignored
        return metadata

    def _services(self, node: Node | None) -> tuple[Service, ...]:
        reader = ServiceReader()
        services = reader.services(node)
        self.problems += reader.problems
        self.named_secrets += reader.named_secrets
        if node is not None and services:
            self._plan.begin_services(len(services), line_of(node))
            for service in services:
                self._stop_at(self._plan.service(service))
        return services

    def _stop_at(self, problem: Problem | None) -> None:
        """Read no further where the plan is too large: aliases can make it thousands of times as large as the text."""
        if problem is not None:
            raise invalid_template([*self.problems, problem])

    def _task(self, node: Node, key: str) -> Task:
        fields = self.fields(node, key, TASK_KEYS)
        needed = "a task needs its worker: the MAC or IPv4 address of known hardware, its agentID, or its id"
        task = Task(
            name=self.name(fields, node, key),
            worker=self.worker(fields, node, key, needed),
            actions=(),
            volumes=self.volumes(fields, key),
            environment=self.environment(fields, key),
        )
        listed = fields.get("actions")
        if isinstance(listed, SequenceNode):
            self._plan.begin_task(task, len(listed.value), key, line_of(node))

        places: list[tuple[Node, str]] = []

        def planned(node: Node, key: str) -> tuple[Action, bool]:
            action, applies = self._action(node, key)
            self._stop_at(self._plan.action(task, action))
            places.append((node, key))
            return action, applies

        read = self.items(listed, path(key, "actions"), planned)
        actions = tuple(action for action, _ in read)
        for action, (where, place) in list(zip(actions, places, strict=True))[:-1]:
            if action.until:
                text = "only the last action of a task waits for the installed system: what follows it would run there"
                self.refuse(where, path(place, "until"), text)
        names = [action.name for action in actions]
        twice = "two actions in a task cannot have same name"
        self.unique(names, listed, path(key, "actions"), twice)
        return replace(task, actions=actions, skipped=frozenset(action.name for action, applies in read if not applies))

    def _action(self, node: Node, key: str) -> tuple[Action, bool]:
        """An action, and whether it applies."""
        fields = self.fields(node, key, ACTION_KEYS)
        pid, network = self._namespaces(fields, key)
        action = Action(
            name=self.name(fields, node, key),
            image=self.image(fields, node, key),
            timeout=self._seconds(fields, "timeout", key, none="one hour, as 0 is") or DEFAULT_ACTION_SECONDS,
            command=self.command(fields, key),
            on_timeout=self.command(fields, key, "on-timeout"),
            on_failure=self.command(fields, key, "on-failure"),
            volumes=self.volumes(fields, key),
            environment=self.environment(fields, key),
            pid=pid,
            network=network,
            retries=self._retries(fields, key),
            reboot=self.flag(fields["reboot"], path(key, "reboot")) if "reboot" in fields else False,
            helper=self.flag(fields["helper"], path(key, "helper"), absent=True) if "helper" in fields else True,
            wipes=self._wipes(fields, key),
            disk=self._disk(fields, key),
            until=self._until(fields, key),
            secrets=self.secrets(fields, key),
        )
        return action, self._applies(fields, key)

    def _until(self, fields: Mapping[str, Node], key: str) -> Until:
        text = self.text(fields, "until", key)
        if not text:
            return Until.SEEN
        if text != Until.PHONE_HOME:
            self.refuse(fields["until"], path(key, "until"), f"expected {Until.PHONE_HOME}, not {text[:40]!r}")
            return Until.SEEN
        if "reboot" not in fields or not self.flag(fields["reboot"], path(key, "reboot")):
            text = "only an action with `reboot: true` waits for the installed system: add that"
            self.refuse(fields["until"], path(key, "until"), text)
        return Until.PHONE_HOME

    def _breakpoints(self, node: Node, tasks: Sequence[Task]) -> Breakpoints:
        if is_null(node):
            return Breakpoints()
        fields = self.fields(node, "breakpoint", BREAKPOINT_KEYS)
        failure = fields.get("onFailure")
        return Breakpoints(
            on_failure=self.flag(failure, "breakpoint.onFailure") if failure is not None else False,
            before=self._named_actions(fields.get("before"), "breakpoint.before", tasks),
            after=self._named_actions(fields.get("after"), "breakpoint.after", tasks),
            timeout=self.duration(
                fields, "timeout", "breakpoint", absent=DEFAULT_HOLD_SECONDS, least=1, most=MAX_HOLD_SECONDS
            ),
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

    def _on_expiry(self, fields: Mapping[str, Node]) -> Verb:
        text = self.text(fields, "onExpiry", "breakpoint")
        if text in ("", *ON_EXPIRY):
            return Verb(text or Verb.FAIL)
        self.refuse(fields["onExpiry"], "breakpoint.onExpiry", f"expected {', '.join(ON_EXPIRY)}, not {text[:40]!r}")
        return Verb.FAIL

    def _namespaces(self, fields: Mapping[str, Node], key: str) -> tuple[str, str]:
        """The action's `pid` and network: today's `namespaces` beat the `pid` of before."""
        node, place = fields.get("namespaces"), path(key, "namespaces")
        inner = {} if node is None or is_null(node) else self.fields(node, place, NAMESPACE_KEYS)
        pid = self._namespace(fields, "pid", key, check_pid)
        pid = self._namespace(inner, "pid", place, check_pid) or pid
        network = self._namespace(inner, "network", place, check_network)
        return pid, "" if network == MACHINE else network

    def _namespace(self, fields: Mapping[str, Node], name: str, key: str, check: Callable[[str], None]) -> str:
        value = self.text(fields, name, key)
        try:
            check(value)
        except Invalid as error:
            self.refuse(fields[name], path(key, name), str(error))
        return value

    def _retries(self, fields: Mapping[str, Node], key: str) -> int:
        if "retries" not in fields:
            return 0
        return self.number(fields["retries"], path(key, "retries"), "attempts after a failure", MAX_RETRIES)

    def _applies(self, fields: Mapping[str, Node], key: str) -> bool:
        """The last word of an `if`: nothing means yes."""
        return self.flag(fields["if"], path(key, "if"), absent=True) if "if" in fields else True

    def _wipes(self, fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
        written = self.texts(fields, "wipes", key)
        disks = tuple(self._selection(each, fields["wipes"], path(key, "wipes")) for each in written)
        if len(disks) > MAX_DISKS:
            self.refuse(fields["wipes"], path(key, "wipes"), f"at most {MAX_DISKS} disks, not {len(disks)}")
        if "wipes" in fields:
            self.unique(disks, fields["wipes"], path(key, "wipes"), "the same disk twice")
        return disks

    def _disk(self, fields: Mapping[str, Node], key: str) -> str:
        text = self.text(fields, "disk", key)
        return self._selection(text, fields["disk"], path(key, "disk")) if text.strip() else ""

    def _selection(self, text: str, node: Node, key: str) -> str:
        try:
            return parse_selection(text).text
        except Invalid as error:
            self.refuse(node, key, str(error))
            return text

    def _seconds(self, fields: Mapping[str, Node], name: str, key: str, none: str = "no limit") -> int:
        """Whole seconds, as Go decodes a number of YAML into an int64; `none` says what less than one of them means here."""
        if name not in fields:
            return 0
        node, place = fields[name], path(key, name)
        text = self.scalar(node, place)
        number = go_number(text) if text else 0
        if number is None:
            self.refuse(node, place, f"expected seconds as a whole number, such as 600, not {text[:40]!r}")
            return 0
        seconds = min(max(int(number), 0), MAX_SECONDS)
        if number != seconds or _OCTAL.fullmatch(text):
            self.ignore(
                node,
                place,
                f"{text[:40]} is read as {counted(seconds, 'second')}" if seconds else f"{text[:40]} is {none}",
            )
        return seconds
