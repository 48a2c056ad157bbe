"""The parts of a parsed template. `at` is the offset in the source; `str()` gives the source form that messages show."""

from dataclasses import dataclass
from typing import TypeAlias

SPACES = " \t\n\v\f\r\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"


@dataclass(frozen=True, slots=True)
class Dot:
    at: int

    def __str__(self) -> str:
        return "."


@dataclass(frozen=True, slots=True)
class Nil:
    at: int

    def __str__(self) -> str:
        return "nil"


@dataclass(frozen=True, slots=True)
class Literal:
    """A bool, number, character or string with its source."""

    at: int
    source: str
    value: bool | int | float | str

    def __str__(self) -> str:
        return self.source


@dataclass(frozen=True, slots=True)
class Field:
    """`.a.b`: fields of dot."""

    at: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        return "".join(f".{name}" for name in self.names)


@dataclass(frozen=True, slots=True)
class Variable:
    """`$x.a`: a variable, and fields of it; `name` begins with the dollar."""

    at: int
    name: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ".".join((self.name, *self.names))


@dataclass(frozen=True, slots=True)
class Function:
    at: int
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Chain:
    """`(pipeline).a.b` or `function.a`: fields of something computed."""

    at: int
    operand: "Operand"
    names: tuple[str, ...]

    def __str__(self) -> str:
        operand = f"({self.operand})" if isinstance(self.operand, Pipeline) else str(self.operand)
        return ".".join((operand, *self.names))


@dataclass(frozen=True, slots=True)
class Command:
    """The operands between two pipes: a function with its arguments, or a single value."""

    at: int
    operands: "tuple[Operand, ...]"

    def __str__(self) -> str:
        return " ".join(f"({each})" if isinstance(each, Pipeline) else str(each) for each in self.operands)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands, and the variables that get the result: declared by `:=`, or set by `=` (`assigns`)."""

    at: int
    variables: tuple[Variable, ...]
    assigns: bool
    commands: tuple[Command, ...]

    def __str__(self) -> str:
        names = ", ".join(str(each) for each in self.variables)
        sign = (" = " if self.assigns else " := ") if names else ""
        return names + sign + " | ".join(str(each) for each in self.commands)


Operand: TypeAlias = Dot | Nil | Literal | Field | Variable | Function | Chain | Pipeline


@dataclass(frozen=True, slots=True)
class Text:
    at: int
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Action:
    """`{{pipeline}}`: prints the value unless it goes to variables."""

    at: int
    pipeline: Pipeline

    def __str__(self) -> str:
        return str(self.pipeline)


@dataclass(frozen=True, slots=True)
class Branch:
    """`if` or `with` (`changes_dot`), its `else if` or `else with` arms in order, and what else there is."""

    at: int
    changes_dot: bool
    arms: "tuple[tuple[Pipeline, Block], ...]"
    otherwise: "Block"

    def __str__(self) -> str:
        return f"{'with' if self.changes_dot else 'if'} {self.arms[0][0]}"


@dataclass(frozen=True, slots=True)
class Range:
    at: int
    pipeline: Pipeline
    body: "Block"
    otherwise: "Block"

    def __str__(self) -> str:
        return f"range {self.pipeline}"


@dataclass(frozen=True, slots=True)
class Break:
    at: int

    def __str__(self) -> str:
        return "break"


@dataclass(frozen=True, slots=True)
class Continue:
    at: int

    def __str__(self) -> str:
        return "continue"


@dataclass(frozen=True, slots=True)
class Invocation:
    """`{{template "name" pipeline}}`, also the one that a `block` contains."""

    at: int
    source: str
    name: str
    pipeline: Pipeline | None

    def __str__(self) -> str:
        return f"{{{{template {self.source}{f' {self.pipeline}' if self.pipeline else ''}}}}}"


Statement: TypeAlias = Text | Action | Branch | Range | Break | Continue | Invocation
Block: TypeAlias = tuple[Statement, ...]
Operation: TypeAlias = Operand | Command | Statement


def is_empty(block: Block) -> bool:
    """Tell whether a template holds nothing but space, and so gives way to another of its name."""
    return all(isinstance(each, Text) and not each.text.strip(SPACES) for each in block)
