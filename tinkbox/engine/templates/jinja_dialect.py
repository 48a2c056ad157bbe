"""Templates in Jinja2, in its sandbox: an undefined name is an error, and nothing but the given data is there.

With `jinja_marks` the only file that knows jinja2.  The sandbox bounds neither time nor memory: `confinement` does.
"""

import re
import traceback
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

import jinja2.debug  # imported here because jinja2 does it late, when no file can be opened any more
from jinja2 import StrictUndefined, Template, TemplateSyntaxError, UndefinedError, nodes
from jinja2.exceptions import SecurityError
from jinja2.meta import find_undeclared_variables
from jinja2.utils import missing

from tinkbox.engine.templates.dialects import JINJA_GLOBALS
from tinkbox.engine.templates.go_dialect import TOO_MUCH_MEMORY
from tinkbox.engine.templates.jinja_marks import MarkKeepingEnvironment, watched
from tinkbox.engine.templates.secret_marks import Marks
from tinkbox.engine.templates.whole_marks import WholeMarks
from tinkbox.gotemplate import GoError
from tinkbox.gotemplate.values import Thing
from tinkbox.model.errors import Problem
from tinkbox.model.spelling import meant
from tinkbox.sprig import REFUSED

_FILE = "<template>"
# Chance, and Python's own look at things, which shows addresses in memory.
_NOT_HERE = ("random", "pprint")
_READS_ANOTHER: Final[Mapping[type[nodes.Node], str]] = {
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "from",
    nodes.Extends: "extends",
}
_KINDS: Final[Mapping[type, str]] = {
    bool: "true or false", int: "a number", float: "a number", str: "a text", dict: "a map", list: "a list",
    tuple: "a list", type(None): "nothing",
}  # fmt: skip
# Where in our own program something is: `tinkbox.sprig.dates.times.Time`, `functions.<locals>.<lambda>()`.
_OWN_PLACE: Final = re.compile(r"\b(?:\w+\.)+<locals>\.|\b(?:tinkbox|jinja2)(?:\.\w+)*\.(?=[A-Z])")
_PYTHONS_OWN: Final = (ArithmeticError, TypeError, ValueError, LookupError, AttributeError, SecurityError)
# Those of Sprig's that know the marks of secrets.
_BASE64: Final[Mapping[str, Callable[..., Any]]] = {
    "b64enc": lambda text: b64encode(str(text).encode()).decode(),
    "b64dec": lambda text: b64decode(str(text)).decode(errors="replace"),
}
Functions = Mapping[str, Callable[..., Any]]


class _TooLong(Exception):
    pass


class _Refused(Exception):
    """The template has what no template may have."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


class _NoValue(UndefinedError):
    """The data lacks a name."""

    def __init__(self, name: str, message: str | None = None) -> None:
        super().__init__(message)
        self.name = name


def render_each(text: str, data: Sequence[Mapping[str, Any]], functions: Functions, most: int) -> list[str | Problem]:
    """Render a text with each of several data; where that fails, the problem, with the name that the data lacks as its `key`.

    With no data it is only read: the list has the one problem, or is empty.  `most` bounds each output, in bytes.
    """
    if not data:
        try:
            marks = Marks()
            _read(text, {}, {**functions, **marks.functions(_BASE64)}, marks.whole)
        except Exception as error:  # whatever Python's own compiler may say
            return [_problem(error)]
        return []
    return [_rendered(text, each, functions, most) for each in data]


def _rendered(text: str, data: Mapping[str, Any], functions: Functions, most: int) -> str | Problem:
    marks = Marks()
    data = marks.renewed(data)
    try:
        functions = {**functions, **marks.functions(_BASE64)}
        rendered = _bounded(_read(text, data, functions, marks.whole).generate(**data), most)
        return marks.whole.piece_in(rendered) or rendered
    except Exception as error:  # whatever the template's own operations may raise
        return _problem(error)


def _read(text: str, data: Mapping[str, Any], functions: Functions, whole: WholeMarks) -> Template:
    """The template; raises what jinja2 raises, and _Refused."""
    environment = _environment(data, functions, whole)
    tree = environment.parse(text)
    for node in tree.find_all(tuple(_READS_ANOTHER)):
        word = _READS_ANOTHER[type(node)]
        raise _Refused(
            node.lineno, f"{{% {word} %}} is not available: a template is one text, and there is no other one to read"
        )
    for filtered in tree.find_all(nodes.Filter):
        _refuse_called(filtered.name, filtered.lineno)
    free = find_undeclared_variables(tree) - set(data)
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in free:
            _refuse_called(call.node.name, call.lineno)
    return environment.from_string(watched(tree))


def _refuse_called(name: str, line: int) -> None:
    if name in REFUSED:
        raise _Refused(line, f"{name} is not available: it {REFUSED[name]}")


def _problem(error: Exception) -> Problem:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _FILE]
    line = lines[-1] if lines else None
    match error:
        case TemplateSyntaxError():
            return Problem(line=error.lineno, text=str(error.message))
        case _Refused():
            return Problem(line=error.line, text=str(error))
        case MemoryError():
            return Problem(line=line, text=TOO_MUCH_MEMORY)
        case RecursionError():
            return Problem(line=line, text="the template is nested too deeply")
        case _NoValue():
            return Problem(line=line, key=error.name, text=str(error))
        case UndefinedError() | GoError() | _TooLong():
            return Problem(line=line, text=str(error))
        case _ if isinstance(error, _PYTHONS_OWN):
            return Problem(line=line, text=_told(error))
        case _:
            return Problem(line=line, text=f"{type(error).__name__}: {_told(error)}")


def _told(error: Exception) -> str:
    """What Python says, without where in the program that is."""
    return _OWN_PLACE.sub("", str(error)).replace("<lambda>()", "this function")[:500]


def _bounded(pieces: Iterable[str], most: int) -> str:
    kept, size = [], 0
    for piece in pieces:
        size += len(piece.encode(errors="replace"))
        if size > most:
            raise _TooLong(f"the output is longer than {most} bytes")
        if piece:
            kept.append(piece)
    return "".join(kept)


def _environment(data: Mapping[str, Any], functions: Functions, whole: WholeMarks) -> MarkKeepingEnvironment:
    environment = MarkKeepingEnvironment(
        undefined=_naming_the_nearest(data),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_printable,
        cache_size=0,
    )
    environment.globals = {name: environment.globals[name] for name in JINJA_GLOBALS} | dict(functions)
    environment.filters |= functions
    for name in _NOT_HERE:
        del environment.filters[name]
    environment.watch(whole)
    return environment


def _naming_the_nearest(data: Mapping[str, Any]) -> type[StrictUndefined]:
    class Missing(StrictUndefined):
        def __init__(
            self,
            hint: str | None = None,
            obj: Any = missing,
            name: str | None = None,
            exc: type[jinja2.exceptions.TemplateRuntimeError] = UndefinedError,
        ) -> None:
            if hint is None and obj is missing:
                hint = f"{name} has no value; {meant(str(name), data)}"
                exc = cast("type[UndefinedError]", partial(_NoValue, str(name)))  # jinja2 calls it with the hint
            elif hint is None and isinstance(obj, Mapping):
                hint = f"there is no {name} in it; {meant(str(name), [str(key) for key in obj])}"
            elif hint is None:
                hint = _lacking(obj, name)
            super().__init__(hint, obj, name, exc)

    return Missing


def _lacking(value: Any, name: object) -> str:
    """What to say where a value has no such element or attribute."""
    if isinstance(value, Thing):
        return f"{value.type_name} has no {name} in Jinja2, where methods with arguments do not work: use a function, such as dateModify"
    kind = _KINDS.get(type(value), f"a {type(value).__name__}")
    return f"{kind} has no {'element' if isinstance(name, int) else 'attribute'} {name}"


def _printable(value: Any) -> Any:
    if isinstance(value, str | int | float | Thing | list | tuple | dict | StrictUndefined) or value is None:
        return value
    raise TypeError(f"a {type(value).__name__} cannot be printed")
