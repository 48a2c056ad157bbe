"""Jinja2 that changes no mark of a secret: every way in which it takes a text apart is asked about (`whole_marks`)."""

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, Final, cast

from jinja2 import nodes
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from tinkbox.engine.templates.whole_marks import WholeMarks

# Filters that no template can name.
_TAKEN_APART: Final = " taken apart"
_COMPARED: Final = " compared"
_WORDS: Final[Mapping[str, str]] = {
    _TAKEN_APART: "what takes a text apart",
    _COMPARED: "a comparison",
}
# What only hands on what it is called with, whatever that holds.
_HAND_ON: Final = (Macro, LoopContext)


class MarkKeepingEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox, in which nothing may be called that would change a mark."""

    intercepted_binops = frozenset(["%"])
    _whole = WholeMarks()

    def watch(self, whole: WholeMarks) -> None:
        """Ask about the marks of this rendering from now on, with the filters, tests and functions that are there."""
        self._whole = whole
        self.filters = {
            name: self._asked(name, cast("Callable[..., Any]", each)) for name, each in self.filters.items()
        }
        self.tests = {
            name: self._asked(name, cast("Callable[..., Any]", each), keeps=False) for name, each in self.tests.items()
        }
        for name, words in _WORDS.items():
            self.filters[name] = self._untouched(words)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 as in jinja2
        """What is called in a template; raises GoError where it would change a mark."""
        whole, given = __self._whole, [*args, *kwargs.values()]
        holder = getattr(__obj, "__self__", getattr(getattr(__obj, "__wrapped__", None), "__self__", None))
        held = whole.held([*given, holder] if isinstance(holder, str | Mapping | list | tuple) else given)
        if not held or isinstance(__obj, _HAND_ON) or __obj is Namespace or __obj is dict:
            return super().call(__context, __obj, *args, **kwargs)
        name = getattr(__obj, "__name__", "this")
        name = next((each for each, function in __self.globals.items() if function is __obj), name)
        asked = [holder, *given] if isinstance(holder, str | Mapping | list | tuple) else given
        if isinstance(holder, str) and name == "format":  # of Python, whose format may do anything
            name = "the method format"
        whole.refuse_beforehand(name, asked)
        result = super().call(__context, __obj, *args, **kwargs)
        whole.refuse_afterwards(name, held, result)
        return result

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """An operator; raises GoError where it would change a mark."""
        return self._whole.called(
            operator,
            lambda *both: super(MarkKeepingEnvironment, self).call_binop(context, operator, *both),
            [left, right],
        )

    def getitem(self, obj: Any, argument: Any) -> Any:
        """`obj[argument]`; raises GoError for a letter of a mark."""
        if isinstance(obj, str) and not isinstance(argument, str):
            self._whole.refuse_text(_WORDS[_TAKEN_APART], [obj])
        return super().getitem(obj, argument)

    def _asked(self, name: str, function: Callable[..., Any], *, keeps: bool = True) -> Callable[..., Any]:
        passed = 1 if hasattr(function, "jinja_pass_arg") else 0

        @wraps(function)
        def asked(*arguments: Any, **named: Any) -> Any:
            if not self._whole.any:
                return function(*arguments, **named)
            # What is made one by one is made now, where it can be looked at.
            arguments = tuple([*each] if isinstance(each, Iterator) else each for each in arguments)
            given = [*arguments[passed:], *named.values()]
            held = self._whole.held(given)
            if held:
                self._whole.refuse_beforehand(name, given)
            result = function(*arguments, **named)
            if held and keeps:
                self._whole.refuse_afterwards(name, held, result)
            return result

        return asked

    def _untouched(self, words: str) -> Callable[..., Any]:
        def untouched(value: Any) -> Any:
            self._whole.refuse_text(
                words, value if isinstance(value, list | tuple) and words == _WORDS[_COMPARED] else [value]
            )
            return value

        return untouched


class _Watching(NodeTransformer):
    """Has what Python itself would take apart, or compare, asked about."""

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802 as in jinja2
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            node.node = _through(_TAKEN_APART, node.node)
        return node

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 as in jinja2
        self.generic_visit(node)
        node.iter = _through(_TAKEN_APART, node.iter)
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802 as in jinja2
        self.generic_visit(node)
        node.expr = _through(_COMPARED, node.expr)
        for each in node.ops:
            each.expr = _through(_COMPARED, each.expr)
        return node


def watched(tree: nodes.Template) -> nodes.Template:
    """The same template, with everything in it that would take a text apart asked about."""
    _Watching().visit(tree)
    return tree


def _through(name: str, node: Any) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)
