"""What PyYAML, by which cloud-init reads a cloud-config, cannot load, and what it loads as hardly anybody means it.

Only the nodes are looked at, and no value is made but of one scalar at a time: a whole text may be a bomb.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from yaml.constructor import SafeConstructor
from yaml.error import YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tinkbox.model.documents.json_text import MAX_DEPTH
from tinkbox.model.errors import Problem
from tinkbox.model.text import quoted
from tinkbox.yaml_nodes import MAX_VALUES, line_of, not_yaml, path

# Longer ones take long to load, or Python refuses them.
MAX_NUMBER: Final = 1000
_NAME: Final = 40
_MOST_NOTES: Final = 100  # about one text
_STANDARD: Final = "tag:yaml.org,2002:"
_STR, _MERGE, _VALUE = (f"{_STANDARD}{name}" for name in ("str", "merge", "value"))
_PAIRS: Final = (f"{_STANDARD}omap", f"{_STANDARD}pairs")  # lists of mappings with one key each
_NUMBERS: Final = (f"{_STANDARD}int", f"{_STANDARD}float")
_KINDS: Final = {
    ScalarNode: (_STR, *_NUMBERS, *(f"{_STANDARD}{name}" for name in ("null", "bool", "binary", "timestamp"))),
    SequenceNode: (f"{_STANDARD}seq", *_PAIRS),
    MappingNode: (f"{_STANDARD}map", f"{_STANDARD}set"),
}
_KNOWN: Final = frozenset(tag for tags in _KINDS.values() for tag in tags)
_NOT_SO: Final = {
    f"{_STANDARD}timestamp": "is read as a date or time, and there is none such: quote it",
    f"{_STANDARD}binary": "is not base64, as !!binary says",
    f"{_STANDARD}bool": "is neither true nor false, as !!bool says",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """What is told of a text with its lines: `problems` are in the way of loading it, `notes` are not."""

    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]


def loading(root: Node) -> Loading:
    """What becomes of a document; raises Invalid where there is too much within each other, or by aliases."""
    reading = _Reading()
    reading.measure(root, "", 0)
    return Loading(problems=tuple(reading.problems), notes=tuple(reading.notes))


class _Reading:
    """Each node is looked at once, however many aliases stand for it."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []
        # How many values a node is with its aliases written out, and how deep it is.
        self._measured: dict[Node, tuple[int, int]] = {}
        self._around: set[Node] = set()

    def measure(self, node: Node, key: str, depth: int) -> tuple[int, int]:
        """Look at a node and all in it, and tell its size and depth."""
        if node in self._around:
            self._note(node, key, "an alias stands within what it names, so this value has no end")
            return 1, 1
        size, height = self._measured.get(node) or self._measure(node, key, depth)
        if size > MAX_VALUES or depth + height > MAX_DEPTH:
            raise not_yaml(f"more than {MAX_VALUES} values, or {MAX_DEPTH} within each other", line_of(node))
        self._measured[node] = size, height
        return size, height

    def _measure(self, node: Node, key: str, depth: int) -> tuple[int, int]:
        if isinstance(node, ScalarNode):
            self._scalar(node, key)
            return 1, 1
        if depth >= MAX_DEPTH:
            return 1, 1 + MAX_DEPTH
        self._tag(node, key)
        self._around.add(node)
        size, height = 1, 0
        inside = self._pairs(node, key) if isinstance(node, MappingNode) else self._items(node, key)
        for name, value in inside:
            values, levels = self.measure(value, name, depth + 1)
            size, height = size + 1 + values, max(height, levels)
        self._around.remove(node)
        return size, height + 1

    def _items(self, node: Node, key: str) -> list[tuple[str, Node]]:
        items = [(f"{key}[{index}]", each) for index, each in enumerate(node.value)]
        if node.tag not in _PAIRS:
            return items
        return [pair for place, each in items if (pair := self._pair(each, place)) is not None]

    def _pair(self, node: Node, key: str) -> tuple[str, Node] | None:
        """What an item of `!!omap` or `!!pairs` has under its one key."""
        if not isinstance(node, MappingNode) or len(node.value) != 1 or not isinstance(node.value[0][0], ScalarNode):
            self._refuse(node, key, "expected one key with its value, as !!omap and !!pairs say")
            return None
        name, value = node.value[0]
        place = path(key, str(name.value)[:_NAME])
        self._scalar(name, place)
        return place, value

    def _pairs(self, node: MappingNode, key: str) -> list[tuple[str, Node]]:
        """The values of a mapping with their paths; its keys are looked at."""
        found = list[tuple[str, Node]]()
        names = set[Hashable]()
        for name, value in node.value:
            if not isinstance(name, ScalarNode):
                self._refuse(name, key, "a key must be text")
                continue
            shown = str(name.value)[:_NAME]
            place = path(key, shown)
            found.append((place, value))
            if name.tag == _MERGE:
                self._merge(value, place)
                continue
            loaded = name.value if name.tag == _VALUE else self._scalar(name, place)
            if loaded in names:
                self._note(name, place, f"key {shown} is given twice: cloud-init takes the last one")
            names.add(loaded)
        return found

    def _merge(self, value: Node, key: str) -> None:
        merged = value.value if isinstance(value, SequenceNode) else [value]
        for each in merged:
            if not isinstance(each, MappingNode):
                self._refuse(each, key, "<< takes keys with values, or a list of such")

    def _scalar(self, node: ScalarNode, key: str) -> Hashable:
        """What it is loaded as; where it cannot be, a problem, and its text."""
        text = str(node.value)
        if node.tag == _STR or not self._tag(node, key):
            return text
        if node.tag in _NUMBERS and len(text) > MAX_NUMBER:
            self._refuse(node, key, f"a number of {len(text)} characters: quote it")
            return text
        try:
            loaded: Hashable = SafeConstructor().construct_object(node)
            hash(loaded)
        except (YAMLError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            why = _NOT_SO.get(node.tag, "is read as a number, and is none: quote it")
            self._refuse(node, key, f"{quoted(text, _NAME)} {why}")
            return text
        return loaded

    def _tag(self, node: Node, key: str) -> bool:
        """Whether its tag is one that may stand there; where not, a problem."""
        if node.tag in _KINDS[type(node)]:
            return True
        shown = str(node.tag).replace(_STANDARD, "!!", 1)[:80]
        if node.tag in (_MERGE, _VALUE) and isinstance(node, ScalarNode):
            text = f"{quoted(str(node.value), _NAME)} means something else to YAML: quote it"
        elif node.tag in _KNOWN:
            text = f"what follows the tag {shown} does not fit it: leave the tag out"
        else:
            text = f"cloud-init does not read the tag {shown}: leave it out"
        self._refuse(node, key, text)
        return False

    def _note(self, node: Node, key: str, text: str) -> None:
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(Problem(line=line_of(node), key=key, text=text))

    def _refuse(self, node: Node, key: str, text: str) -> None:
        self.problems.append(Problem(line=line_of(node), key=key, text=text))
