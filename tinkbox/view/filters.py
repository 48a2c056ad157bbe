"""What a person filters the list by: words, and requirements of labels, which mean these exactly.

What is a requirement is told by the grammar of selectors.  A word alone is one only where it is the key of a label that a
machine has, and no word of the column STATE.  Such a word means what stands in that column, and nothing else that a row has.
`!word` leaves out the rows that the word finds, unless it is such a key: then it is the requirement `!key`.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import MacAddress
from tinkbox.model.keys import LEAST
from tinkbox.model.labels import Labels, Operator, Requirement, requirements_among
from tinkbox.view.row import Row
from tinkbox.view.standing import ROW_WORDS

_SET_WORDS: Final = (Operator.IN, Operator.NOT_IN)
_LEFT_OUT: Final = re.compile(r"!\s*(?P<word>[^=!\s,]+)")


@dataclass(frozen=True, slots=True)
class Filter:
    """All of its words must be found, none of `other_words`, and all of its requirements be met; without any it keeps all.

    A word has several spellings where it is a MAC, all in small letters, or where several words of the column STATE have commas
    between; one of them must be found.  Of `states`, words of that column that are among the words, one must be that of the row:
    `held timeout` is what is held because of a timeout; none of `other_states` may be.
    """

    words: tuple[tuple[str, ...], ...] = ()
    other_words: tuple[tuple[str, ...], ...] = ()
    requirements: tuple[Requirement, ...] = ()
    states: frozenset[str] = frozenset()
    other_states: frozenset[str] = frozenset()

    def keeps(self, row: Row) -> bool:
        """Whether it keeps this row."""
        state = row.standing.word.lower()
        return (
            (state in self.states or not self.states)
            and state not in self.other_states
            and all(_is_found(each, row) for each in self.words)
            and not any(_is_found(each, row) for each in self.other_words)
            and all(each.matches(row.machine.labels) for each in self.requirements)
        )

    def names(self, row: Row) -> bool:
        """Whether one of its words is all of the machine's name, host name, MAC or address."""
        machine = row.machine
        names = {each.lower() for each in (row.name, machine.hostname, machine.mac, machine.address)}
        return any(not names.isdisjoint(spellings) for spellings in self.words)


def parse_filter(text: str, rows: Sequence[Row], *, is_typed: bool = False) -> Filter:
    """The filter that a text is for these rows.

    While it is still typed, a requirement at its end counts from when it is whole: `rack=`, `rack in (` and the first letter
    of a value that a machine has do not empty the list.  Nor does a word at its end that leaves rows out: `!d` would leave none.
    """
    if not text.strip():
        return Filter()
    machines = [each.machine.labels for each in rows]
    pieces = [*_pieces(_closed(text) if is_typed else text, {key for labels in machines for key in labels})]
    if is_typed and pieces and _is_begun(pieces, machines):
        pieces.pop()
    kept_by = _filter(pieces)
    leaves_out = is_typed and pieces and pieces[-1].kind is _Kind.OTHER_WORD
    if leaves_out and not any(map(kept_by.keeps, rows)):
        return _filter(pieces[:-1])
    return kept_by


class _Kind(Enum):
    """What a piece of a filter is."""

    WORD = "word"
    OTHER_WORD = "!word"
    STATE = "failed"
    OTHER_STATE = "!failed"
    REQUIREMENT = "rack=r1"


@dataclass(frozen=True, slots=True)
class _Piece:
    """What stands between blanks and commas, `text` without a `!` before it, and in small letters unless it `requires`.

    One that `goes_on` is one more of the states before it, behind a comma: `failed,held`.
    """

    kind: _Kind
    text: str
    requires: Requirement | None = None
    follows_comma: bool = False
    goes_on: bool = False

    @property
    def is_state(self) -> bool:
        return self.kind in (_Kind.STATE, _Kind.OTHER_STATE)


def _pieces(text: str, keys: Collection[str]) -> Iterator[_Piece]:
    """What a text consists of where machines have labels of these keys."""
    before: _Piece | None = None
    for told, requirement, follows_comma in requirements_among(text):
        piece = replace(_piece(told, requirement, keys), follows_comma=follows_comma)
        if piece.kind is _Kind.STATE and follows_comma and before is not None and before.is_state:
            piece = replace(piece, kind=before.kind, goes_on=True)
        yield piece
        before = piece


def _piece(told: str, requirement: Requirement | None, keys: Collection[str]) -> _Piece:
    word, other = told.lower(), _LEFT_OUT.fullmatch(told)
    if word in ROW_WORDS:
        return _Piece(_Kind.STATE, word)
    if other is not None:
        key = other["word"]
        if key.lower() in ROW_WORDS:
            return _Piece(_Kind.OTHER_STATE, key.lower())
        if key not in keys:
            return _Piece(_Kind.OTHER_WORD, key.lower())
    if requirement is None or (requirement.operator is Operator.EXISTS and requirement.key not in keys):
        return _Piece(_Kind.WORD, word)
    return _Piece(_Kind.REQUIREMENT, told, requirement)


def _filter(pieces: Sequence[_Piece]) -> Filter:
    words: list[tuple[str, ...]] = []
    for each in pieces:
        if each.kind is _Kind.STATE and each.goes_on:
            words[-1] = (*words[-1], each.text)
        elif each.kind in (_Kind.STATE, _Kind.WORD):
            words.append(_spellings(each.text))
    return Filter(
        words=tuple(words),
        other_words=tuple(_spellings(each.text) for each in pieces if each.kind is _Kind.OTHER_WORD),
        requirements=tuple(each.requires for each in pieces if each.requires is not None),
        states=frozenset(each.text for each in pieces if each.kind is _Kind.STATE),
        other_states=frozenset(each.text for each in pieces if each.kind is _Kind.OTHER_STATE),
    )


def _is_found(spellings: Sequence[str], row: Row) -> bool:
    return any(each in row.searched or _is_id(each, row) for each in spellings)


def _is_id(word: str, row: Row) -> bool:
    return len(word) >= LEAST and any(each.startswith(word) for each in row.ids)


def _spellings(word: str) -> tuple[str, ...]:
    """The word, and where it is a whole MAC that as rows have it."""
    try:
        return word, MacAddress(word)
    except Invalid:
        return (word,)


def _closed(text: str) -> str:
    """As if a list of values were finished, without one that has none yet, and without the beginning of `!=` or `!rack`."""
    before, _, values = text.rpartition("(")
    if text.rfind("(") <= text.rfind(")"):
        return text.removesuffix("!")
    return f"{text})" if values.strip(" ,") else before


def _is_begun(pieces: Sequence[_Piece], machines: Sequence[Labels]) -> bool:
    """Whether the last piece of a text may be the beginning of a requirement that a machine meets, or of one more state."""
    last, before = pieces[-1], pieces[-2] if len(pieces) > 1 else None
    if last.kind is _Kind.WORD and before is not None:
        if before.is_state and last.follows_comma:
            return any(each.startswith(last.text) for each in ROW_WORDS)
        is_key = before.requires is not None and before.requires.operator is Operator.EXISTS
        return is_key and any(each.value.startswith(last.text) for each in _SET_WORDS)
    asked = last.requires
    if asked is None or asked.operator is not Operator.IN:
        return False
    values = {labels[asked.key] for labels in machines if asked.key in labels}
    return values.isdisjoint(asked.values) and any(each.startswith(asked.values[-1]) for each in values)
