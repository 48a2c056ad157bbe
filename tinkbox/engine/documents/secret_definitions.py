"""What a template says of secrets: who is given which, and where the mark of one may stand."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.secret import (
    FOLDER,
    MAX_USES,
    NamedSecret,
    SecretUse,
    check_secret_name,
    has_mark,
    is_variable,
    marks_in,
)
from tinkbox.model.template import EXTENSION, SECRET_KEYS
from tinkbox.yaml_nodes import NodeReader, line_of, path

_PART: Final = r"(?:tasks\[\d+\](?:\.actions\[\d+\])?|services\[\d+\])"
_COMMANDS: Final = "command|on-timeout|on-failure"
_PLACES: Final = re.compile(rf"{_PART}\.(?:(?:{_COMMANDS})(?:\[\d+\])?|environment\..+)")
_FILE: Final = re.compile(rf"{FOLDER}/[A-Za-z0-9_][A-Za-z0-9._-]*")
_ENTRY: Final = re.compile(rf"{_PART}\.secrets\[\d+\](?:\.(?:env|file))?")
NOT_HERE: Final = (
    "a secret has no place here: its value is only known when an action is handed out. It may stand in command and environment, "
    "and `secrets:` gives it as a variable or a file"
)


class SecretReader(NodeReader):
    """Reads `secrets:` of an action or a service, and notes who asks for which."""

    def __init__(self) -> None:
        super().__init__()
        self.named: list[NamedSecret] = []

    def uses(self, fields: Mapping[str, Node], key: str) -> tuple[SecretUse, ...]:
        """The secrets that a container is given, as variables and files."""
        node, place = fields.get("secrets"), path(key, "secrets")
        uses = tuple(each for each in self.items(node, place, self._use) if each is not None)
        if node is None:
            return ()
        if len(uses) > MAX_USES:
            self.refuse(node, place, f"at most {MAX_USES} secrets, not {len(uses)}")
        for places in ([each.env for each in uses if each.env], [each.file for each in uses if each.file]):
            again = [each for index, each in enumerate(places) if each in places[:index]]
            if again:
                self.refuse(node, place, f"two secrets have the same place: {again[0]}")
        return uses

    def _use(self, node: Node, key: str) -> SecretUse | None:
        told = {"name": node} if isinstance(node, ScalarNode) else self.fields(node, key, SECRET_KEYS)
        name, variable, file = (self.text(told, each, key) for each in SECRET_KEYS)
        try:
            check_secret_name(name)
        except Invalid as refusal:
            self.refuse(told.get("name", node), key, str(refusal))
            return None
        if variable and not is_variable(variable):
            text = f"expected the name of a variable: letters, digits and underscores, not {variable[:40]!r}"
            self.refuse(told["env"], path(key, "env"), text)
        if file and not _FILE.fullmatch(file):
            self.refuse(
                told["file"],
                path(key, "file"),
                f"expected a file in {FOLDER}, such as {FOLDER}/{name}, not {file[:80]!r}",
            )
        self.named.append(NamedSecret(name=name, line=line_of(node), key=key))
        return SecretUse(name=name, env=variable, file=file or ("" if variable else f"{FOLDER}/{name}"))


def is_of_entry(problem: Problem) -> bool:
    """Whether it is one of name, variable or file of an entry of `secrets:`, which is wrong by itself, whatever else the template has."""
    return _ENTRY.fullmatch(problem.key) is not None


def marks_of(document: Node) -> Iterator[NamedSecret | Problem]:
    """The secrets whose marks stand in a template's document; where one may not stand, the problem."""
    seen: set[tuple[int, bool]] = set()
    left = [(document, "")]
    while left:
        node, key = left.pop()
        fits = _PLACES.fullmatch(key) is not None
        if (id(node), fits) in seen:  # an alias
            continue
        seen.add((id(node), fits))
        if isinstance(node, ScalarNode):
            yield from _marks_at(node, key, fits=fits)
        else:
            left += reversed([*_within(node, key)])


def _within(node: Node, key: str) -> Iterator[tuple[Node, str]]:
    """What stands in a list or a mapping, each with its key; of a mapping the names as well."""
    if isinstance(node, SequenceNode):
        yield from ((each, f"{key}[{index}]") for index, each in enumerate(node.value))
    elif isinstance(node, MappingNode):
        for name, value in node.value:
            called = str(name.value) if isinstance(name, ScalarNode) else ""
            if key or not called.startswith(EXTENSION):
                yield name, f"{key}."
                yield value, path(key, called)


def _marks_at(node: ScalarNode, key: str, *, fits: bool) -> Iterator[NamedSecret | Problem]:
    text = str(node.value)
    if has_mark(text) and not fits:
        yield Problem(line=line_of(node), key=key.rstrip("."), text=NOT_HERE)
    elif fits:
        for mark in marks_in([text]):
            yield NamedSecret(name=mark.name, line=line_of(node), key=key)
