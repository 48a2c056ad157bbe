"""Labels of machines, templates and workflows, and what selects by them, in Kubernetes' grammar.

A label is a key with a value: `rack=r1`.  A key may have a DNS name and a slash before it (`example.org/rack`), and a value
may be empty.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.text import counted, quoted

Labels = Mapping[str, str]
Relabelled = tuple[Labels, Labels | None]
"""The labels that something had, and has now; None: it is there no more."""
NO_LABELS: Final[Labels] = MappingProxyType({})
MAX_LABELS: Final = 64
MAX_SELECTOR: Final = 4096  # letters
MAX_REQUIREMENTS: Final = 32  # of a selector: each is asked of every machine or workflow
_WORD: Final = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_KEY: Final = re.compile(rf"(?:(?=[^/]{{1,253}}/)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/)?{_WORD}")
_VALUE: Final = re.compile(rf"(?:{_WORD})?")
_KEY_RULE: Final = "letters, digits, -, _ and . between a letter or digit at both ends, at most 63, such as rack"
_VALUE_RULE: Final = "at most 63 letters, digits, -, _ and ., with a letter or digit at both ends, such as r1"
_SET: Final = re.compile(r"(?P<key>[^\s,]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)")
_EQUAL: Final = re.compile(r"(?P<key>[^=!\s,]+)\s*(?P<operator>==|=|!=)\s*(?P<value>[^=!\s,]*)")
_MISSING: Final = re.compile(r"!\s*(?P<key>[^=!\s,]+)")
_WORDS: Final = re.compile(r"[^\s,]+")
# How far a requirement goes in a text that has other words beside it; the last one is any word.
_SHAPES: Final = (_SET, _EQUAL, _MISSING, _WORDS)
_BETWEEN: Final = re.compile(r"[\s,]|\Z")
_SELECTOR_RULE: Final = "expected such as rack=r1,gpu!=no, or rack in (r1,r2), rack, !rack"


def is_change(word: str) -> bool:
    """Whether a word beside keys is a change of a label by its form: `rack=r1`, or `rack-`, as `kubectl label` has it."""
    return "=" in word or word.endswith("-")


class LabelKind(StrEnum):
    """What has labels."""

    MACHINE = "machine"
    TEMPLATE = "template"
    WORKFLOW = "workflow"


class Operator(StrEnum):
    """What a requirement asks of one key."""

    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    MISSING = "!"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition on one key; `values` belong to IN and NOT_IN."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """A key that is missing is NOT_IN any values, as in Kubernetes."""
        match self.operator:
            case Operator.IN:
                return labels.get(self.key) in self.values
            case Operator.NOT_IN:
                return labels.get(self.key) not in self.values
            case Operator.EXISTS:
                return self.key in labels
            case Operator.MISSING:
                return self.key not in labels

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.MISSING:
                return f"!{self.key}"
            case _ if len(self.values) == 1:
                return f"{self.key}{'=' if self.operator is Operator.IN else '!='}{self.values[0]}"
            case _:
                return f"{self.key} {self.operator} ({','.join(self.values)})"


@dataclass(frozen=True, slots=True)
class Selector:
    """All of its requirements; without any it selects everything.  Raises Invalid for more than MAX_REQUIREMENTS."""

    requirements: tuple[Requirement, ...] = ()

    def __post_init__(self) -> None:
        if len(self.requirements) > MAX_REQUIREMENTS:
            raise Invalid(
                f"a label selector has at most {MAX_REQUIREMENTS} requirements, this one {len(self.requirements)}: "
                "name several values of a key as in rack in (r1,r2)"
            )

    def matches(self, labels: Labels) -> bool:
        return all(each.matches(labels) for each in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


ALL: Final = Selector()  # selects everything


@dataclass(frozen=True, slots=True)
class LabelChange:
    """Labels to set, and keys to take away."""

    set: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.set or self.removed)

    def applied_to(self, labels: Labels) -> dict[str, str]:
        """The labels with this change; raises Invalid for too many."""
        changed = {key: value for key, value in labels.items() if key not in self.removed} | dict(self.set)
        return _few_enough(changed)


def parse_labels(document: Any, where: str = "labels") -> dict[str, str]:
    """A map of labels from JSON or YAML; raises Invalid with every problem.  None is none."""
    if document is None:
        return {}
    if not isinstance(document, Mapping):
        raise Invalid(f"{where}: expected a map such as {{rack: r1}}")
    problems = [Problem(text=wrong, key=where) for key, value in document.items() if (wrong := _wrong(key, value))]
    if problems:
        raise Invalid(f"{where} has {counted(len(problems), 'problem')}", problems)
    return _few_enough({str(key): str(value) for key, value in document.items()})


def parse_change(texts: Iterable[str]) -> LabelChange:
    """`KEY=VALUE` sets a label, `KEY-` takes it away, as `kubectl label` has it; raises Invalid."""
    set_to: dict[str, str] = {}
    removed: list[str] = []
    for text in texts:
        key, equals, value = text.strip().partition("=")
        if not equals and key.endswith("-"):
            removed.append(_key(key.removesuffix("-"), text))
        elif not equals:
            raise Invalid(f"{quoted(text)} is no label: write KEY=VALUE to set one, KEY- to remove one")
        elif set_to.setdefault(_key(key, text), _value(value, text)) != value:
            raise Invalid(f"label {key} is set to {quoted(set_to[key])} and to {quoted(value)}: leave one of them out")
    both = [key for key in removed if key in set_to]
    if both:
        raise Invalid(f"label {both[0]} is set and removed at once: leave one of them out")
    return LabelChange(set=tuple(set_to.items()), removed=tuple(dict.fromkeys(removed)))


def parse_selector(text: str) -> Selector:
    """`rack=r1,gpu!=no,rack in (r1,r2),rack notin (r3),rack,!rack`; all must hold.  Raises Invalid."""
    if len(text) > MAX_SELECTOR:
        raise Invalid(f"a label selector has at most {MAX_SELECTOR} letters, this one {len(text)}")
    if not text.strip():
        raise Invalid(f"the label selector is empty: {_SELECTOR_RULE}")
    return Selector(tuple(_requirement(part.strip(), text) for part in _parts(text)))


def requirements_among(text: str) -> Iterator[tuple[str, Requirement | None, bool]]:
    """The words of a text, each with the requirement that it is as in a selector, or None: `held rack in (r1,r2)` has two.

    Blanks and commas stand between them; with each it is told whether a comma stands before it.  A word alone is a requirement
    as well where it may be a key.
    """
    place = 0
    while (begins := _WORDS.search(text, place)) is not None:
        found = next(
            match
            for shape in _SHAPES
            if (match := shape.match(text, begins.start())) is not None and _BETWEEN.match(text, match.end())
        )
        follows_comma = "," in text[place : begins.start()]
        place = found.end()
        try:
            (requirement,) = parse_selector(found[0]).requirements
        except Invalid:
            yield found[0], None, follows_comma
        else:
            yield found[0], requirement, follows_comma


def show_labels(labels: Labels) -> str:
    """As `kubectl` shows them: `gpu=no,rack=r1`."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _parts(text: str) -> Sequence[str]:
    """What stands between commas outside of parentheses."""
    return re.split(r",(?![^(]*\))", text)


def _requirement(part: str, text: str) -> Requirement:
    if (found := _SET.fullmatch(part)) is not None:
        if not found["values"].strip():
            raise Invalid(f"{quoted(text)}: the parentheses are empty: {_SELECTOR_RULE}")
        values = tuple(dict.fromkeys(_value(each.strip(), text) for each in found["values"].split(",")))
        return Requirement(_key(found["key"], text), Operator(found["operator"]), values)
    if (found := _EQUAL.fullmatch(part)) is not None:
        operator = Operator.NOT_IN if found["operator"] == "!=" else Operator.IN
        return Requirement(_key(found["key"], text), operator, (_value(found["value"], text),))
    if (found := _MISSING.fullmatch(part)) is not None:
        return Requirement(_key(found["key"], text), Operator.MISSING)
    return Requirement(_key(part, text), Operator.EXISTS)


def _key(key: str, text: str) -> str:
    if not _KEY.fullmatch(key):
        raise Invalid(f"{quoted(text)}: {quoted(key)} is no key of a label: {_KEY_RULE}")
    return key


def _value(value: str, text: str) -> str:
    if not _VALUE.fullmatch(value):
        raise Invalid(f"{quoted(text)}: {quoted(value)} is no value of a label: {_VALUE_RULE}")
    return value


def _wrong(key: object, value: object) -> str:
    """What is wrong with one entry of a map; empty when nothing is."""
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        return f"{quoted(str(key))} is no key of a label: {_KEY_RULE}"
    if not isinstance(value, str):
        return f"the value of {key} is no text: put it in quotes"
    if not _VALUE.fullmatch(value):
        return f"{quoted(value)} is no value of label {key}: {_VALUE_RULE}"
    return ""


def _few_enough(labels: dict[str, str]) -> dict[str, str]:
    if len(labels) > MAX_LABELS:
        raise Invalid(f"there are {len(labels)} labels: at most {MAX_LABELS} are kept")
    return labels
