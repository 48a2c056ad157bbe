"""The configuration file's YAML as plain values: texts, numbers, true and false, lists and keys; of anything else its line is told."""

import codecs
from typing import Any, Final

from yaml.constructor import ConstructorError, SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tinkbox.model.documents.json_text import MAX_DEPTH
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.text import counted
from tinkbox.yaml_nodes import MAX_VALUES, compose, line_of, not_yaml, path

_TAG: Final = "tag:yaml.org,2002:"
_TEXT: Final = ("str", "timestamp", "value")
_LONGEST_NUMBER: Final = 100
_SCALARS: Final = ("int", "float", "bool", "null")


def values_of(content: bytes, problems: list[Problem], lines: dict[str, int] | None = None) -> Any:
    """What a file says, without a key where it says nothing.  `lines` is given the line of each key, by its path.

    Notes keys that cannot count, as YAML's readers take one of two and say nothing.  Raises Invalid, whose problems have lines, for
    what is no YAML of one document, or not of plain values.
    """
    try:
        documents = compose(_decoded(content))
    except Invalid as error:
        plain = [Problem(line=each.line, text=each.text.removeprefix("not valid YAML: ")) for each in error.problems]
        raise Invalid(str(error), plain) from None
    if len(documents) > 1:
        raise not_yaml(f"it has {counted(len(documents), 'document')}: remove the line `---`", line_of(documents[1]))
    value = _Reading(problems, {} if lines is None else lines).value(documents[0], "", ()) if documents else None
    return {} if value is None else value


def _decoded(content: bytes) -> str:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise not_yaml("it is UTF-16: save it as UTF-8", 1)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise not_yaml(f"byte 0x{content[error.start]:02x} is not of UTF-8: save the file as UTF-8", line) from None


class _Reading:
    def __init__(self, problems: list[Problem], lines: dict[str, int]) -> None:
        self._problems = problems
        self._lines = lines
        self._constructor = SafeConstructor()
        self._values = 0

    def value(self, node: Node, key: str, around: tuple[Node, ...]) -> Any:
        """`around` are the nodes that it stands in."""
        self._values += 1
        if any(each is node for each in around):
            raise not_yaml("an alias stands within what it names: write the value out", line_of(node))
        if self._values > MAX_VALUES or len(around) > MAX_DEPTH:
            text = "too many values within each other: write fewer brackets, and no alias of aliases"
            raise not_yaml(text, line_of(node))
        kind = node.tag.removeprefix(_TAG)
        if isinstance(node, MappingNode) and kind == "map":
            return self._keys(node, key, around)
        if isinstance(node, SequenceNode) and kind == "seq":
            self._lines |= {f"{key}[{at}]": line_of(each) for at, each in enumerate(node.value)}
            return [self.value(each, f"{key}[{at}]", (*around, node)) for at, each in enumerate(node.value)]
        if isinstance(node, ScalarNode) and kind in (*_TEXT, *_SCALARS):
            return self._scalar(node, kind)
        if isinstance(node, ScalarNode) and kind == "merge":
            raise not_yaml(
                f"{node.value[:40]!r} is a key that merges others, and no value: put it in quotes", line_of(node)
            )
        raise not_yaml(f"the tag {_shown(node)} is not supported: remove it", line_of(node))

    def _keys(self, node: MappingNode, key: str, around: tuple[Node, ...]) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        merged: dict[Any, Any] = {}
        lines: dict[str, int] = {}
        for name, value in node.value:
            line = line_of(name)
            if not isinstance(name, ScalarNode):
                raise not_yaml("a key must be text: write it without brackets", line)
            below = path(key, name.value)
            if name.value in lines:
                text = f"it is in line {lines[name.value]} as well: leave one of them"
                self._problems.append(Problem(line=line, key=below, text=text))
            lines[name.value] = line
            if name.tag == f"{_TAG}merge":
                for each in self._merged(value, key, (*around, node)):
                    for inner, kept in each.items():
                        merged.setdefault(inner, kept)
                continue
            found[self.value(name, below, (*around, node))] = self.value(value, below, (*around, node))
        self._lines |= {path(key, name): line for name, line in lines.items()}  # before those of merged keys
        return merged | found

    def _merged(self, node: Node, key: str, around: tuple[Node, ...]) -> list[dict[Any, Any]]:
        """What stands at `<<`: of a key that several have, the first one counts, and one beside it before them."""
        value = self.value(node, key, around)
        listed = value if isinstance(value, list) else [value]
        if not all(isinstance(each, dict) for each in listed):
            text = "a merge key (<<) takes an alias of keys with values, or a list of such aliases: write <<: *name"
            raise not_yaml(text, line_of(node))
        return listed

    def _scalar(self, node: ScalarNode, kind: str) -> Any:
        # No setting is a day: what looks like one is a text.
        text = str(node.value)
        if kind in _TEXT:
            # Written as escapes, such as "\\0": no name, path or URL has them.
            if "\0" in text or any("\ud800" <= each <= "\udfff" for each in text):
                raise not_yaml(f"{text[:40]!r} has a character that no setting can have: remove it", line_of(node))
            return text
        try:
            if len(text) > _LONGEST_NUMBER:
                raise ValueError
            return self._constructor.construct_object(node)
        except (ConstructorError, ValueError, LookupError, ArithmeticError):
            raise not_yaml(f"{text[:40]!r} is not a value of {_shown(node)}: put it in quotes", line_of(node)) from None


def _shown(node: Node) -> str:
    """A tag as people write it."""
    tag = str(node.tag)
    return (f"!!{tag.removeprefix(_TAG)}" if tag.startswith(_TAG) else tag)[:60]
