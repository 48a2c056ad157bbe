"""What a person filters the list by: words, and requirements of labels, which mean these exactly.

What is a requirement is told by the grammar of selectors.  A word alone is one only where it is the key of a label that a
machine has, and no word of the column STATE.  Such a word means what stands in that column, and nothing else that a row has.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import MacAddress
from tinkbox.model.labels import Labels, Operator, Requirement, requirements_among
from tinkbox.view.row import Row
from tinkbox.view.standing import ROW_WORDS

_SET_WORDS: Final = (Operator.IN, Operator.NOT_IN)


@dataclass(frozen=True, slots=True)
class Filter:
    """All of its words must be found, and all of its requirements be met; without any it keeps all.

    A word has several spellings where it is a MAC, all in small letters; one of them must be found.  Of `states`, words of the
    column STATE that are among the words, one must be that of the row: `held timeout` is what is held because of a timeout; none
    of `other_states` may be.
    """

    words: tuple[tuple[str, ...], ...] = ()
    requirements: tuple[Requirement, ...] = ()
    states: frozenset[str] = frozenset()
    other_states: frozenset[str] = frozenset()

    def keeps(self, row: Row) -> bool:
        """Whether it keeps this row."""
        state = row.standing.word.lower()
        return (
            (state in self.states or not self.states)
            and state not in self.other_states
            and all(any(each in row.searched for each in spellings) for spellings in self.words)
            and all(each.matches(row.machine.labels) for each in self.requirements)
        )

    def names(self, row: Row) -> bool:
        """Whether one of its words is all of the machine's name, host name, MAC or address."""
        machine = row.machine
        names = {each.lower() for each in (row.name, machine.hostname, machine.mac, machine.address)}
        return any(not names.isdisjoint(spellings) for spellings in self.words)


def parse_filter(text: str, machines: Sequence[Labels], *, is_typed: bool = False) -> Filter:
    """The filter that a text is for machines with these labels.

    While it is still typed, a requirement at its end counts from when it is whole: `rack=`, `rack in (` and the first letter
    of a value that a machine has do not empty the list.
    """
    if not text.strip():
        return Filter()
    keys = {key for labels in machines for key in labels}
    pieces = [*requirements_among(_closed(text) if is_typed else text)]
    told = [(word, requirement if _is_meant(requirement, keys) else None) for word, requirement in pieces]
    if is_typed and told and _is_begun(told, machines):
        told.pop()
    requirements = [requirement for _, requirement in told if requirement is not None]
    other_states = {each.key.lower() for each in requirements if each.operator is Operator.MISSING} & ROW_WORDS
    words = [word.lower() for word, requirement in told if requirement is None]
    return Filter(
        words=tuple(map(_spellings, words)),
        requirements=tuple(
            each
            for each in requirements
            if each.operator is not Operator.MISSING or each.key.lower() not in other_states
        ),
        states=ROW_WORDS.intersection(words),
        other_states=frozenset(other_states),
    )


def _spellings(word: str) -> tuple[str, ...]:
    """The word, and where it is a whole MAC that as rows have it."""
    try:
        return word, MacAddress(word)
    except Invalid:
        return (word,)


def _closed(text: str) -> str:
    """As if a list of values were finished, and without the beginning of `!=` or `!rack`."""
    return f"{text})" if text.rfind("(") > text.rfind(")") else text.removesuffix("!")


def _is_meant(requirement: Requirement | None, keys: Collection[str]) -> bool:
    if requirement is None or requirement.operator is not Operator.EXISTS:
        return requirement is not None
    return requirement.key in keys and requirement.key not in ROW_WORDS


def _is_begun(told: Sequence[tuple[str, Requirement | None]], machines: Sequence[Labels]) -> bool:
    """Whether the last piece of a text may be the beginning of a requirement that a machine meets, and is none itself."""
    word, last = told[-1]
    if last is None:
        before = told[-2][1] if len(told) > 1 else None
        is_key = before is not None and before.operator is Operator.EXISTS
        return is_key and any(each.value.startswith(word) for each in _SET_WORDS)
    if last.operator is not Operator.IN:
        return False
    values = {labels[last.key] for labels in machines if last.key in labels}
    return values.isdisjoint(last.values) and any(each.startswith(last.values[-1]) for each in values)
