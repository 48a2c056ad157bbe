"""The tokens of a source, one after the other, and the errors about them."""

from collections.abc import Iterator
from contextlib import contextmanager

from tinkbox.gotemplate.errors import TemplateError, error_at
from tinkbox.gotemplate.parsing.lexer import Kind, Token, tokens
from tinkbox.gotemplate.printing.quoting import quote

MAX_NESTING = 100
MAX_SHOWN = 20


class TokenReader:
    """Gives the tokens of one source; spaces matter only between operands and are passed over elsewhere."""

    def __init__(self, source: str, name: str) -> None:
        self._source = source
        self._name = name
        self._tokens = tokens(source)
        self._at = 0
        self._nesting = 0

    def here(self) -> Token:
        """Look at the next token, even if it is space."""
        return self._tokens[self._at]

    def peek(self, ahead: int = 0) -> Token:
        """Look at the next token that is no space, or at a later one."""
        at = self._after_space(self._at)
        for _ in range(ahead):
            at = self._after_space(self._following(at))
        return self._tokens[at]

    def next(self) -> Token:
        """Take the next token that is no space; the last one can be taken again and again."""
        at = self._after_space(self._at)
        self._at = self._following(at)
        return self._tokens[at]

    def expect(self, kind: Kind, context: str) -> Token:
        """Take a token that must be of this kind. Raises TemplateError."""
        token = self.next()
        if token.kind is not kind:
            raise self.unexpected(token, context)
        return token

    def unexpected(self, token: Token, context: str) -> TemplateError:
        if token.kind is Kind.ERROR:
            return self.error(token.text, token)
        shown = "EOF" if token.kind is Kind.END else quote(token.text[:MAX_SHOWN])
        return self.error(f"unexpected {shown} in {context}", token)

    def error(self, problem: str, token: Token) -> TemplateError:
        return error_at(problem, self._source, token.at, self._name)

    @contextmanager
    def nested(self, token: Token) -> Iterator[None]:
        """Go one level deeper into blocks and parentheses. Raises TemplateError when that is too deep."""
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            raise self.error(f"the source is nested more than {MAX_NESTING} levels deep", token)
        yield
        self._nesting -= 1

    def _after_space(self, at: int) -> int:
        return at + (self._tokens[at].kind is Kind.SPACE)

    def _following(self, at: int) -> int:
        return min(at + 1, len(self._tokens) - 1)
