"""A parsed template, and how to come by it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tinkbox.gotemplate.errors import GoError, NoEntry, error_at
from tinkbox.gotemplate.execution.execution import Calling, Execution, plainly
from tinkbox.gotemplate.execution.functions import BUILTINS, Arity, arity
from tinkbox.gotemplate.execution.limits import Budget, Limits, unhindered
from tinkbox.gotemplate.parsing.nodes import Block
from tinkbox.gotemplate.parsing.parser import read
from tinkbox.gotemplate.types.kinds import printable

DEFAULT_LIMITS = Limits()
SHORT_CIRCUITS = ("and", "or")


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A template that can be rendered again and again; made by parse().

    `calls` has the functions that it calls, and in which line each is called first.
    """

    name: str
    source: str
    definitions: Mapping[str, Block]
    functions: Mapping[str, tuple[Callable[..., object], Arity]]
    calls: Mapping[str, int]

    def render(
        self,
        data: object,
        limits: Limits = DEFAULT_LIMITS,
        go_on: Callable[[], None] = unhindered,
        calling: Calling = plainly,
    ) -> str:
        """Execute with data as dot and `$`; values.py says what data may be, Budget when `go_on` is called, Execution what `calling` is.

        Raises TemplateError: a missing key, a function that fails, a limit that is exceeded.
        """
        execution = Execution(self.definitions, self.functions, Budget(limits, go_on), calling)
        try:
            return printable(execution.run(self.name, data))
        except GoError as error:
            problem = str(error)
            missing = error.key if isinstance(error, NoEntry) and error.holder is data else ""
        except RecursionError:  # of a function with deep data, or of a caller who is deep already
            problem, missing = "nested too deeply", ""
        at, shown = execution.place()
        raise error_at(f"at <{shown}>: {problem}", self.source, at, self.name, missing)


def parse(
    text: str,
    name: str = "template",
    functions: Mapping[str, Callable[..., object]] | None = None,
) -> Template:
    """Read a template that may call Go's builtin functions and those given, which come first.

    A function gets values (see values.py) by position, returns one, and raises GoError to fail; another exception is a bug
    and passes through. How many arguments it takes is read off its signature. Raises TemplateError for bad syntax, unknown functions and undefined variables.
    """
    known = {**BUILTINS, **(functions or {})}
    source = read(text, name, {*known, *SHORT_CIRCUITS})
    used = {each: (known[each], arity(known[each])) for each in source.functions if each in known}
    calls = {each: text.count("\n", 0, at) + 1 for each, at in source.functions.items()}
    return Template(name=name, source=text, definitions=source.definitions, functions=used, calls=calls)
