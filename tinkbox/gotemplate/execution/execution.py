"""Executes the statements of a template; whatever goes wrong is a GoError, place() tells where."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, auto
from functools import partial

from tinkbox.gotemplate.errors import GoError, NoEntry
from tinkbox.gotemplate.execution.arguments import constant, fitting, go_name, is_nilable
from tinkbox.gotemplate.execution.functions import Arity, Typed, arity
from tinkbox.gotemplate.execution.limits import Budget
from tinkbox.gotemplate.execution.variables import Variables
from tinkbox.gotemplate.parsing.nodes import (
    Action,
    Block,
    Branch,
    Break,
    Chain,
    Command,
    Continue,
    Dot,
    Field,
    Function,
    Invocation,
    Literal,
    Nil,
    Operand,
    Operation,
    Pipeline,
    Range,
    Text,
    Variable,
)
from tinkbox.gotemplate.printing.formatting import text
from tinkbox.gotemplate.printing.quoting import quote
from tinkbox.gotemplate.spelling import suggestion
from tinkbox.gotemplate.types.kinds import kind, sorted_items, truth, type_name
from tinkbox.gotemplate.types.structs import NilPointer, Struct
from tinkbox.gotemplate.types.typed_values import Thing

MAX_SHOWN = 60


class Absent(Enum):
    """Stands for the value that a first command does not get from a pipe."""

    ABSENT = auto()


class Jump(Enum):
    """How a block ended before its end."""

    BREAK = auto()
    CONTINUE = auto()


# Calls the function or method of a name with arguments, or raises GoError.
Calling = Callable[[str, Callable[..., object], Sequence[object]], object]


def plainly(_: str, function: Callable[..., object], arguments: Sequence[object]) -> object:
    """Call a function whatever its arguments are."""
    return function(*arguments)


class Execution:
    """One rendering; `calling` calls every function and method."""

    def __init__(
        self,
        definitions: Mapping[str, Block],
        functions: Mapping[str, tuple[Callable[..., object], Arity]],
        budget: Budget,
        calling: Calling = plainly,
    ) -> None:
        self._calling = calling
        self._definitions = definitions
        self._functions = functions
        self._budget = budget
        self._variables = Variables(None)
        self._here: Operation = Text(0, "")

    def run(self, name: str, data: object) -> str:
        """Execute a template and give its output, which may hold escaped bytes. Raises GoError and RecursionError."""
        self._variables = Variables(data)
        self._block(self._definitions[name], data)
        return "".join(self._budget.output)

    def place(self) -> tuple[int, str]:
        """Tell where the execution is: the offset in the source, and a short form of what stands there."""
        shown = str(self._here)
        return self._here.at, shown if len(shown) <= MAX_SHOWN else shown[: MAX_SHOWN - 1] + "…"

    # Statements

    def _block(self, block: Block, dot: object) -> Jump | None:
        self._budget.enter()
        jump = None
        for statement in block:
            self._here = statement
            self._budget.step()
            match statement:
                case Text():
                    self._budget.write(statement.text)
                case Action():
                    self._action(statement, dot)
                case Branch():
                    jump = self._branch(statement, dot)
                case Range():
                    jump = self._range(statement, dot)
                case Invocation():
                    self._invoke(statement, dot)
                case Break():
                    jump = Jump.BREAK
                case Continue():
                    jump = Jump.CONTINUE
            if jump:
                break
        self._budget.leave()
        return jump

    def _action(self, action: Action, dot: object) -> None:
        value = self._pipeline(action.pipeline, dot)
        if not action.pipeline.variables:
            self._here = action
            self._budget.write(text(value))

    def _branch(self, branch: Branch, dot: object) -> Jump | None:
        mark = self._variables.mark()
        for pipeline, body in branch.arms:
            value = self._pipeline(pipeline, dot)
            if truth(value):
                jump = self._block(body, value if branch.changes_dot else dot)
                break
        else:
            jump = self._block(branch.otherwise, dot)
        self._variables.release(mark)
        return jump

    def _range(self, statement: Range, dot: object) -> Jump | None:
        outside = self._variables.mark()
        value = self._value(statement.pipeline, dot)
        mark = self._variables.mark()
        self._set(statement.pipeline, (value, value))
        self._here = statement
        self._budget.handle(value)
        jump, is_empty = None, True
        for key, element in _entries(value, statement.pipeline):
            is_empty = False
            self._budget.step()
            self._variables.release(mark)
            self._set(statement.pipeline, (key, element))
            jump = self._block(statement.body, element)
            if jump is Jump.BREAK:
                break
        if is_empty:
            jump = self._block(statement.otherwise, dot)
        self._variables.release(outside)
        # Go's range also swallows a break in its else part, which the parser takes for one of the range around it.
        return jump if jump is Jump.CONTINUE and is_empty else None

    def _invoke(self, invocation: Invocation, dot: object) -> None:
        body = self._definitions.get(invocation.name)
        if body is None:
            near = suggestion(invocation.name, self._definitions)
            raise GoError(f"template {quote(invocation.name)} not defined{near}")
        data = self._pipeline(invocation.pipeline, dot) if invocation.pipeline else None
        outside, self._variables = self._variables, Variables(data)
        self._block(body, data)
        self._variables = outside

    # Values

    def _pipeline(self, pipeline: Pipeline, dot: object) -> object:
        value = self._value(pipeline, dot)
        self._set(pipeline, (value,))
        return value

    def _value(self, pipeline: Pipeline, dot: object) -> object:
        self._budget.enter()
        value: object = Absent.ABSENT
        for command in pipeline.commands:
            self._budget.step()
            value = self._command(command, dot, value)
        self._budget.leave()
        return value

    def _set(self, pipeline: Pipeline, values: tuple[object, ...]) -> None:
        """Give the values to the variables: the last one to a single variable."""
        given = values[-len(pipeline.variables) :]
        for variable, value in zip(pipeline.variables, given, strict=False):
            if pipeline.assigns:
                self._here = variable
                self._variables.assign(variable.name, value)
            else:
                self._variables.declare(variable.name, value)

    def _command(self, command: Command, dot: object, last: object) -> object:
        first, *arguments = command.operands
        if isinstance(first, Function):
            return self._call(first, command, arguments, dot, last)
        self._here = first
        if isinstance(first, Nil):
            raise GoError("nil is not a command")
        if arguments or last is not Absent.ABSENT:
            return self._call_method(first, command, arguments, dot, last)
        return self._operand(first, dot)

    def _operand(self, operand: Operand, dot: object) -> object:
        self._here = operand
        match operand:
            case Dot():
                return dot
            case Nil():
                return None
            case Literal():
                return operand.value
            case Field() | Variable():
                return self._field(self._receiver(operand, dot), operand.names)
            case Function():
                return self._call(operand, operand, (), dot, Absent.ABSENT)
            case Chain():
                value = self._receiver(operand, dot)
                self._here = operand
                return self._field(value, operand.names)
            case Pipeline():
                return self._pipeline(operand, dot)

    def _call(
        self,
        function: Function,
        whole: Operation,
        operands: Iterable[Operand],
        dot: object,
        last: object,
    ) -> object:
        self._here = function
        given = list(operands)
        self._budget.step(len(given))
        if function.name not in self._functions:
            return self._short_circuit(function, given, dot, last)
        call, takes = self._functions[function.name]
        return self._apply(function.name, call, takes, whole, given, dot, last)

    def _apply(
        self,
        name: str,
        call: Callable[..., object],
        takes: Arity,
        whole: Operation,
        operands: list[Operand],
        dot: object,
        last: object,
    ) -> object:
        """Call a function or a method with its arguments."""
        takes.check(name, len(operands) + (last is not Absent.ABSENT))
        arguments = [self._argument(each, takes.type_of(at), dot) for at, each in enumerate(operands)]
        self._here = whole
        if last is not Absent.ABSENT:
            arguments.append(fitting(last, takes.type_of(len(operands))))
        for each in arguments:
            self._budget.handle(each)
        try:
            value = self._calling(name, call.exact if isinstance(call, Typed) else call, arguments)
            kind(value)
        except GoError as error:
            raise GoError(f"error calling {name}: {error}") from error
        self._budget.keep(value)
        return value

    def _argument(self, operand: Operand, wanted: str, dot: object) -> object:
        """Give the value of an operand for a parameter of a type."""
        if isinstance(operand, Literal):
            self._here = operand
            return constant(operand, wanted)
        value = self._operand(operand, dot)
        self._here = operand
        # What a key has is an interface in Go, and a nil interface is no map; the nil that a pipeline gives is one.
        if value is None and isinstance(operand, Field | Variable | Chain) and operand.names and is_nilable(wanted):
            raise GoError(f"wrong type for value; expected {go_name(wanted)}; got interface {{}}")
        return fitting(value, wanted)

    def _receiver(self, operand: Field | Variable | Chain, dot: object) -> object:
        """Give what the names of an operand are looked up in."""
        if isinstance(operand, Field):
            return dot
        if isinstance(operand, Variable):
            return self._variables.value(operand.name)
        return self._operand(operand.operand, dot)

    def _field(self, value: object, names: Iterable[str]) -> object:
        """Follow names through maps, structs and methods without arguments. Raises GoError for what is not there."""
        self._budget.handle(names)
        for name in names:
            if isinstance(value, Thing):
                value = self._apply(name, *_method(value, name), self._here, [], None, Absent.ABSENT)
            else:
                value = _field(value, name)
        return value

    def _call_method(
        self, first: Operand, whole: Operation, operands: list[Operand], dot: object, last: object
    ) -> object:
        """Call the method that the last name of an operand is. Raises GoError if it is none."""
        if not isinstance(first, Field | Variable | Chain) or not first.names:
            raise GoError(f"can't give argument to non-function {first}")
        *before, name = first.names
        holder = self._field(self._receiver(first, dot), before)
        self._here = first
        if not isinstance(holder, Thing):
            _field(holder, name)
            raise GoError(f"{name} has arguments but cannot be invoked as function")
        return self._apply(name, *_method(holder, name), whole, operands, dot, last)

    def _short_circuit(self, function: Function, operands: list[Operand], dot: object, last: object) -> object:
        """Evaluate `and` or `or`: give the first operand that decides, else the last one."""
        if not operands and last is Absent.ABSENT:
            raise GoError(f"wrong number of args for {function.name}: want at least 1 got 0")
        value: object = None
        for operand in operands:
            value = self._operand(operand, dot)
            if truth(value) is (function.name == "or"):
                return value
        return value if last is Absent.ABSENT else last


def _method(thing: Thing, name: str) -> tuple[Callable[..., object], Arity]:
    """Give a method of a thing, and what it takes. Raises GoError if it has none of that name."""
    method = thing.methods.get(name)
    if method is None:
        raise GoError(f"can't evaluate field {name} in type {thing.type_name}{suggestion(name, thing.methods)}")
    return partial(method, thing), arity(method)


def _field(value: object, name: str) -> object:
    """Look up a key or a field. Raises GoError for one that is not there."""
    if value is None:
        raise GoError(f"nil data; no entry for key {quote(name)}")
    if isinstance(value, NilPointer):
        raise GoError(f"nil pointer evaluating {value.type_name}.{name}")
    if not isinstance(value, Mapping):
        raise GoError(f"can't evaluate field {name} in type {type_name(value)}")
    if name not in value:
        if isinstance(value, Struct):
            raise GoError(f"can't evaluate field {name} in type {type_name(value)}{suggestion(name, value)}")
        raise NoEntry(f"map has no entry for key {quote(name)}{suggestion(name, value)}", name, value)
    return value[name]


def _entries(value: object, pipeline: Pipeline) -> Iterable[tuple[object, object]]:
    """List what a range visits: indexes and elements, sorted keys and values, or the numbers below a number."""
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return enumerate(tuple(value))
    if isinstance(value, Mapping) and not isinstance(value, Struct):
        return sorted_items(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if len(pipeline.variables) > 1:
            raise GoError(f"can't use {value} to iterate over more than one variable")
        return ((None, type(value)(number)) for number in range(value))
    raise GoError(f"range can't iterate over a value of type {type_name(value)}")
