"""Reads the pipelines of actions, and knows which variables they may use."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.parsing.lexer import Kind, Token
from tinkbox.gotemplate.parsing.literals import number
from tinkbox.gotemplate.parsing.nodes import (
    Chain,
    Command,
    Dot,
    Field,
    Function,
    Literal,
    Nil,
    Operand,
    Pipeline,
    Variable,
)
from tinkbox.gotemplate.parsing.reader import TokenReader
from tinkbox.gotemplate.printing.quoting import quote, unquote, unquote_rune
from tinkbox.gotemplate.spelling import suggestion

MAX_RANGE_VARIABLES = 2
DATA = "$"
OPERANDS = {
    Kind.BOOL,
    Kind.RUNE,
    Kind.COMPLEX,
    Kind.DOT,
    Kind.FIELD,
    Kind.IDENTIFIER,
    Kind.NUMBER,
    Kind.NIL,
    Kind.STRING,
    Kind.VARIABLE,
    Kind.OPEN,
}


class PipelineReader:
    """Reads pipelines; `used` collects the functions they call, each with the place of its first call. All methods may raise TemplateError."""

    def __init__(self, reader: TokenReader, functions: Collection[str]) -> None:
        self.used: dict[str, int] = {}
        self._reader = reader
        self._functions = functions
        self._scopes: list[set[str]] = [{DATA}]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Forget at the end the variables that are declared within."""
        self._scopes.append(set())
        yield
        self._scopes.pop()

    @contextmanager
    def own_variables(self) -> Iterator[None]:
        """Know nothing of the variables outside, as the body of a template does."""
        outside, self._scopes = self._scopes, [{DATA}]
        yield
        self._scopes = outside

    def pipeline(self, context: str, end: Kind) -> Pipeline:
        start = self._reader.peek()
        variables, assigns = self._declarations(context)
        commands: list[Command] = []
        while self._reader.peek().kind is not end:
            if self._reader.peek().kind not in OPERANDS:
                raise self._reader.unexpected(self._reader.peek(), context)
            commands.append(self._command())
        stop = self._reader.next()
        if not commands:
            raise self._reader.error(f"missing value for {context}", stop)
        for stage, command in enumerate(commands[1:], start=2):
            if isinstance(command.operands[0], Dot | Nil | Literal):
                raise self._reader.error(f"non executable command in pipeline stage {stage}", stop)
        return Pipeline(start.at, tuple(variables), assigns, tuple(commands))

    def _declarations(self, context: str) -> tuple[list[Variable], bool]:
        """Read `$x :=` or `$x =`, in a range also `$i, $x :=`; tell whether it is an assignment."""
        variables: list[Variable] = []
        while self._reader.peek().kind is Kind.VARIABLE:
            sign = self._reader.peek(1)
            if sign.kind not in (Kind.ASSIGN, Kind.DECLARE) and sign.text != ",":
                break
            variable, _ = self._reader.next(), self._reader.next()
            variables.append(Variable(variable.at, variable.text))
            self._scopes[-1].add(variable.text)
            if sign.text != ",":
                return variables, sign.kind is Kind.ASSIGN
            if context != "range" or len(variables) == MAX_RANGE_VARIABLES:
                raise self._reader.error(f"too many declarations in {context}", sign)
            if self._reader.peek().kind not in (Kind.VARIABLE, Kind.RIGHT, Kind.CLOSE):
                raise self._reader.error("range can only initialize variables", self._reader.peek())
        return variables, False

    def _command(self) -> Command:
        start = self._reader.peek()
        operands: list[Operand] = []
        while self._reader.peek().kind in OPERANDS:
            operands.append(self._operand())
            if self._reader.here().kind is not Kind.SPACE:
                break
        token = self._reader.peek()
        if token.kind is Kind.PIPE:
            self._reader.next()
        elif token.kind not in (Kind.RIGHT, Kind.CLOSE):
            raise self._reader.unexpected(token, "operand")
        return Command(start.at, tuple(operands))

    def _operand(self) -> Operand:
        """Read a term and the fields that follow it at once."""
        term = self._term(self._reader.next())
        names: list[str] = []
        after = self._reader.here()
        while self._reader.here().kind is Kind.FIELD:
            names.append(self._reader.next().text[1:])
        if not names:
            return term
        match term:
            case Field():
                return Field(term.at, (*term.names, *names))
            case Variable():
                return Variable(term.at, term.name, tuple(names))
            case Function() | Pipeline():
                return Chain(after.at, term, tuple(names))
            case _:
                raise self._reader.error(f"unexpected . after term {quote(str(term))}", after)

    def _term(self, token: Token) -> Operand:
        match token.kind:
            case Kind.DOT:
                return Dot(token.at)
            case Kind.NIL:
                return Nil(token.at)
            case Kind.FIELD:
                return Field(token.at, (token.text[1:],))
            case Kind.BOOL:
                return Literal(token.at, token.text, token.text == "true")
            case Kind.STRING:
                return Literal(token.at, token.text, self.string(token, "operand"))
            case Kind.VARIABLE:
                return self._variable(token)
            case Kind.IDENTIFIER:
                return self._function(token)
            case Kind.OPEN:
                with self._reader.nested(token):
                    return self.pipeline("parenthesized pipeline", Kind.CLOSE)
            case _:
                return Literal(token.at, token.text, self._number(token))

    def _variable(self, token: Token) -> Variable:
        if not any(token.text in scope for scope in self._scopes):
            known = {name for scope in self._scopes for name in scope} - {DATA}
            raise self._reader.error(f"undefined variable {quote(token.text)}{suggestion(token.text, known)}", token)
        return Variable(token.at, token.text)

    def _function(self, token: Token) -> Function:
        if token.text not in self._functions:
            near = suggestion(token.text, self._functions)
            raise self._reader.error(f"function {quote(token.text)} not defined{near}", token)
        self.used.setdefault(token.text, token.at)
        return Function(token.at, token.text)

    def _number(self, token: Token) -> int | float:
        if token.kind is Kind.RUNE:
            code = unquote_rune(token.text)
            if code is None:
                raise self._reader.error(f"malformed character constant: {token.text}", token)
            return code
        if token.kind is Kind.COMPLEX or token.text.endswith("i"):
            raise self._reader.error("complex numbers are not supported", token)
        try:
            return number(token.text)
        except GoError as error:
            raise self._reader.error(str(error), token) from error

    def string(self, token: Token, context: str) -> str:
        if token.kind is not Kind.STRING:
            raise self._reader.unexpected(token, context)
        value = unquote(token.text)
        if value is None:
            raise self._reader.error("invalid syntax", token)
        return value
