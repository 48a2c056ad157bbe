"""Reads tokens into the statements of nodes.py.

The parser notices what Go's notices, and as late: a function or variable must be known, a template that is invoked need
not exist before it is executed.
"""

from collections.abc import Collection
from dataclasses import dataclass

from tinkbox.gotemplate.parsing.lexer import Kind, Token
from tinkbox.gotemplate.parsing.nodes import (
    Action,
    Block,
    Branch,
    Break,
    Continue,
    Invocation,
    Pipeline,
    Range,
    Statement,
    Text,
    is_empty,
)
from tinkbox.gotemplate.parsing.pipelines import PipelineReader
from tinkbox.gotemplate.parsing.reader import TokenReader
from tinkbox.gotemplate.printing.quoting import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a source contains: its templates by name, the whole of it under its own, and the functions they call.

    Each function has the place of its first call, in characters.
    """

    definitions: dict[str, Block]
    functions: dict[str, int]


def read(source: str, name: str, functions: Collection[str]) -> Source:
    """Read a source that may call the functions of these names. Raises TemplateError."""
    parser = _Parser(source, name, functions)
    parser.read(name)
    return Source(definitions=parser.definitions, functions=parser.functions)


class _Parser:
    def __init__(self, source: str, name: str, functions: Collection[str]) -> None:
        self.definitions: dict[str, Block] = {}
        self._reader = TokenReader(source, name)
        self._pipelines = PipelineReader(self._reader, functions)
        self._loops = 0

    @property
    def functions(self) -> dict[str, int]:
        return self._pipelines.used

    def read(self, name: str) -> None:
        statements: list[Statement] = []
        while self._reader.peek().kind is not Kind.END:
            if self._is_definition():
                self._definition()
            else:
                statements.append(self._only_statement())
        self._define(name, tuple(statements), self._reader.peek())

    # Templates

    def _is_definition(self) -> bool:
        keyword = self._reader.peek(1)
        is_action = self._reader.peek().kind is Kind.LEFT
        return is_action and keyword.kind is Kind.KEYWORD and keyword.text == "define"

    def _definition(self) -> None:
        self._reader.next()
        keyword = self._reader.next()
        name = self._pipelines.string(self._reader.next(), "define clause")
        self._reader.expect(Kind.RIGHT, "define clause")
        self._template(name, keyword, "define clause")

    def _template(self, name: str, keyword: Token, context: str) -> None:
        """Read the body of a template, which sees neither variables nor loops around it."""
        outside, self._loops = self._loops, 0
        with self._reader.nested(keyword), self._pipelines.own_variables():
            body = self._until_end(context)
        self._loops = outside
        self._define(name, body, keyword)

    def _define(self, name: str, body: Block, token: Token) -> None:
        before = self.definitions.get(name)
        if before is None or is_empty(before):
            self.definitions[name] = body
        elif not is_empty(body):
            raise self._reader.error(f"multiple definition of template {quote(name)}", token)

    # Statements

    def _only_statement(self) -> Statement:
        statement = self._statement()
        if isinstance(statement, Token):
            raise self._reader.error(f"unexpected {{{{{statement.text}}}}}", statement)
        return statement

    def _body(self) -> tuple[Block, Token]:
        """Read statements up to `end` or `else`, and give that keyword; an `end` is taken whole."""
        statements: list[Statement] = []
        while True:
            if self._reader.peek().kind is Kind.END:
                raise self._reader.error("unexpected EOF", self._reader.peek())
            statement = self._statement()
            if isinstance(statement, Token):
                return tuple(statements), statement
            statements.append(statement)

    def _until_end(self, context: str) -> Block:
        body, stop = self._body()
        if stop.text != "end":
            raise self._reader.error(f"unexpected {{{{else}}}} in {context}", stop)
        return body

    def _statement(self) -> Statement | Token:
        """Read a statement, or an `end` or `else`, of which it gives the keyword."""
        token = self._reader.next()
        if token.kind is Kind.TEXT:
            return Text(token.at, token.text)
        if token.kind is not Kind.LEFT:
            raise self._reader.unexpected(token, "input")
        keyword = self._reader.peek()
        if keyword.kind is Kind.KEYWORD and keyword.text != "define":
            self._reader.next()
            return self._control(keyword)
        return Action(keyword.at, self._pipelines.pipeline("command", Kind.RIGHT))

    def _control(self, keyword: Token) -> Statement | Token:
        match keyword.text:
            case "if" | "with":
                return self._branch(keyword)
            case "range":
                return self._range(keyword)
            case "block":
                return self._block(keyword)
            case "template":
                return self._invocation()
            case "break" | "continue":
                return self._jump(keyword)
            case "else" if self._reader.peek().kind is Kind.KEYWORD:
                return keyword  # of `else if` and `else with`; what else comes is an error of whoever reads on
            case _:
                self._reader.expect(Kind.RIGHT, keyword.text)
                return keyword

    def _branch(self, keyword: Token) -> Branch:
        arms: list[tuple[Pipeline, Block]] = []
        otherwise: Block = ()
        with self._reader.nested(keyword), self._pipelines.scope():
            stop = keyword
            while stop.text != "end":
                pipeline = self._pipelines.pipeline(keyword.text, Kind.RIGHT)
                body, stop = self._body()
                arms.append((pipeline, body))
                if stop.text == "else" and not self._continues(keyword.text):
                    otherwise = self._else()
                    break
        return Branch(arms[0][0].at, keyword.text == "with", tuple(arms), otherwise)

    def _continues(self, word: str) -> bool:
        """Take the second word of an `else if` after an `if`, of an `else with` after a `with`."""
        token = self._reader.peek()
        if token.kind is not Kind.KEYWORD or token.text != word:
            return False
        self._reader.next()
        return True

    def _else(self) -> Block:
        body, stop = self._body()
        if stop.text != "end":
            raise self._reader.error("expected end; found {{else}}", stop)
        return body

    def _range(self, keyword: Token) -> Range:
        with self._reader.nested(keyword), self._pipelines.scope():
            pipeline = self._pipelines.pipeline("range", Kind.RIGHT)
            self._loops += 1
            body, stop = self._body()
            self._loops -= 1
            otherwise = self._else() if stop.text == "else" else ()
        return Range(pipeline.at, pipeline, body, otherwise)

    def _jump(self, keyword: Token) -> Break | Continue:
        self._reader.expect(Kind.RIGHT, f"{{{{{keyword.text}}}}}")
        if not self._loops:
            raise self._reader.error(f"{{{{{keyword.text}}}}} outside {{{{range}}}}", keyword)
        return Break(keyword.at) if keyword.text == "break" else Continue(keyword.at)

    def _block(self, keyword: Token) -> Invocation:
        token = self._reader.next()
        name = self._pipelines.string(token, "block clause")
        pipeline = self._pipelines.pipeline("block clause", Kind.RIGHT)
        self._template(name, keyword, "block clause")
        return Invocation(token.at, token.text, name, pipeline)

    def _invocation(self) -> Invocation:
        token = self._reader.next()
        name = self._pipelines.string(token, "template clause")
        if self._reader.peek().kind is Kind.RIGHT:
            self._reader.next()
            return Invocation(token.at, token.text, name, None)
        return Invocation(token.at, token.text, name, self._pipelines.pipeline("template clause", Kind.RIGHT))
