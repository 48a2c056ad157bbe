"""How rules are written: matchers with their values, joined by &&, ||, ! and parentheses, with Go's precedence.

Values are Go's strings: raw ones in back quotes, and double-quoted ones with Go's escapes.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from tinkbox.gotemplate.printing.quoting import unquote
from tinkbox.model.errors import Invalid

MAX_DEPTH: Final = 50

TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<mark>&&|\|\||[!(),])"""
    r"""|(?P<value>`[^`]*`|"(?:[^"\\\n]|\\.)*")""",
)
EXAMPLE: Final = "Host(`example.com`)"
ONE_MATCHER: Final = f"expected a matcher such as {EXAMPLE}"
IN_QUOTES: Final = f"values stand in back quotes or double quotes, as in {EXAMPLE}"
STRAY: Final = {
    "&": "write && for and",
    "|": "write || for or",
    "'": "a value stands in back quotes or double quotes, not in single ones",
    "`": "no back quote ends what begins here",
    '"': "no double quote ends what begins here, on the same line",
}
WORDS: Final = {"and": "&&", "or": "||", "not": "!"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A matcher with its values, as they are written; columns count characters from 1."""

    name: str
    column: int
    values: tuple[str, ...]
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Not:
    """What `inner` does not match."""

    inner: "Expression"


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """What all parts match."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Either:
    """What any of the parts matches."""

    parts: tuple["Expression", ...]


Expression: TypeAlias = Call | Not | Both | Either


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    """`kind` is name, mark or value, and end behind the last one."""

    kind: str
    text: str
    column: int

    def __str__(self) -> str:
        return "nothing" if self.kind == "end" else self.text[:40]


def parse_expression(text: str) -> Expression:
    """Raises Invalid with the column at which it is none."""
    return _Parser(tuple(_tokens(text))).expression()


def wrong(column: int, text: str) -> Invalid:
    """The refusal of a rule for what stands at a column."""
    return Invalid(f"column {column}: {text}")


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:
            raise wrong(position + 1, STRAY.get(text[position]) or f"unexpected {text[position]!r}: {IN_QUOTES}")
        if match.lastgroup and match.lastgroup != "space":
            yield _Token(kind=match.lastgroup, text=match[0], column=position + 1)
        position = match.end()
    yield _Token(kind="end", text="", column=len(text) + 1)


class _Parser:
    """Recursive descent; the depth is bounded, so that no rule exhausts the stack."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    def expression(self) -> Expression:
        if self._next.kind == "end":
            raise wrong(1, f"the rule is empty: {ONE_MATCHER}")
        whole = self._either()
        if self._next.kind == "end":
            return whole
        if self._next.text == ")":
            raise wrong(self._next.column, "no parenthesis was opened that ends here")
        raise self._unjoined()

    def _either(self) -> Expression:
        parts = [self._both()]
        while self._take("||"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Either(parts=tuple(parts))

    def _both(self) -> Expression:
        parts = [self._one()]
        while self._take("&&"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else Both(parts=tuple(parts))

    def _one(self) -> Expression:
        token = self._next
        if token.kind == "name":
            return self._call()
        if token.text not in ("!", "("):
            raise wrong(token.column, f"{ONE_MATCHER}, found {token}")
        self._position += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise wrong(token.column, f"more than {MAX_DEPTH} parentheses and negations within each other")
        inner: Expression = Not(inner=self._one()) if token.text == "!" else self._inside(token)
        self._depth -= 1
        return inner

    def _inside(self, opened: _Token) -> Expression:
        inner = self._either()
        if self._next.kind == "end":
            raise wrong(opened.column, "no parenthesis ends what this one begins")
        if not self._take(")"):
            raise self._unjoined()
        return inner

    def _call(self) -> Call:
        name = self._next
        self._position += 1
        opened = self._next
        if not self._take("("):
            if word := WORDS.get(name.text.lower()):
                raise wrong(name.column, f"write {word} for {name}")
            raise wrong(opened.column, f"the values of {name} stand in parentheses: {name}(`…`)")
        values: list[str] = []
        columns: list[int] = []
        while not self._take(")"):
            columns.append(self._next.column)
            values.append(self._value(name))
            if self._next.text not in (",", ")"):
                if self._next.kind == "end":
                    raise wrong(opened.column, f"no parenthesis ends the values of {name}")
                raise wrong(self._next.column, f"expected a comma or the end of the values of {name}")
            self._take(",")
        return Call(name=name.text, column=name.column, values=tuple(values), columns=tuple(columns))

    def _value(self, name: _Token) -> str:
        token = self._next
        if token.kind == "end":
            raise wrong(token.column, f"the rule ends before the values of {name} do")
        if token.kind != "value":
            raise wrong(token.column, f"expected a value of {name}, found {token}: {IN_QUOTES}")
        value = unquote(token.text)
        if value is None:
            raise wrong(
                token.column, "this is no string of Go's: in double quotes \\ begins an escape; use back quotes"
            )
        self._position += 1
        return value

    def _unjoined(self) -> Invalid:
        """What follows an expression without an operator."""
        token = self._next
        meant = WORDS.get(token.text.lower())
        return wrong(token.column, f"write {meant} for {token}" if meant else f"expected && or || before {token}")

    @property
    def _next(self) -> _Token:
        return self._tokens[self._position]

    def _take(self, mark: str) -> bool:
        found = self._next.text == mark
        self._position += found
        return found
