"""Whatever function a template calls, and however often, it pays for the size of what it gives it: no rendering takes for ever."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.unit.sprig.around import around
from tinkbox.engine.templates.go_dialect import Yaml, own_functions
from tinkbox.gotemplate import Limits, TemplateError, parse
from tinkbox.gotemplate.execution.functions import BUILTINS, Typed, arity
from tinkbox.gotemplate.execution.limits import CHARACTERS_PER_STEP, ELEMENTS_PER_STEP
from tinkbox.gotemplate.values import Strings
from tinkbox.sprig import FUNCTIONS
from tinkbox.sprig.all_functions import SLOW, functions

LIMITS = Limits(steps=25_000)
TEXT = "ā" * 100_000
ALPHABET = "ȁ" * 100_000 + "ā"
ITEMS = ["item"] * 50_000
ENTRIES = {str(number): "entry" for number in range(20_000)}
LARGE: dict[str, tuple[object, ...]] = {
    "string": (ALPHABET, TEXT),
    "any": (ITEMS, TEXT),
    "wide": (ITEMS, TEXT),
    "map": (ENTRIES,),
    "int": (50_000,),
    "int64": (50_000,),
    "uint32": (20,),
    "float64": (1e300,),
    "bool": (True,),
}
ALL = {**BUILTINS, **functions(around()), **own_functions(Yaml())}
# Those of SLOW pay for themselves (`Surroundings.pay`); others want what only functions give.
PLAIN = sorted(
    name
    for name, function in ALL.items()
    if name not in SLOW and {*arity(function).types, arity(function).rest} <= LARGE.keys()
)


def size(value: object) -> int:
    """The steps that a value costs."""
    if isinstance(value, str):
        return len(value) // CHARACTERS_PER_STEP
    return len(value) // ELEMENTS_PER_STEP if isinstance(value, list | dict) else 0


def large_arguments(name: str) -> list[object]:
    takes = arity(ALL[name])
    number = max(takes.least, 2) if takes.most is None else takes.most
    return [LARGE[takes.type_of(at)][at % len(LARGE[takes.type_of(at)])] for at in range(number)]


def counted(function: Callable[..., object], calls: list[int]) -> Callable[..., object]:
    exact: Any = function.exact if isinstance(function, Typed) else function

    def counting(*arguments: object) -> object:
        calls.append(1)
        return exact(*arguments)

    takes = arity(function)
    parameters = [takes.type_of(at) for at in range(takes.least if takes.most is None else takes.most)]
    return Typed(counting, *parameters, *([f"{takes.rest}..."] if takes.most is None else []))


@pytest.mark.parametrize("name", PLAIN)
def test_a_function_is_paid_for_by_the_size_of_its_arguments(name: str) -> None:
    arguments = large_arguments(name)
    calls: list[int] = []
    names = " ".join(f"$.a{at}" for at in range(len(arguments)))
    source = f"{{{{ range until 2000 }}}}{{{{ $_ := {name} {names} }}}}{{{{ end }}}}"
    template = parse(source, functions={**ALL, name: counted(ALL[name], calls)} if name != "until" else ALL)
    with suppress(TemplateError):  # that it takes too many steps, or what the function says of such arguments
        template.render({f"a{at}": each for at, each in enumerate(arguments)}, LIMITS)
    assert name == "until" or calls, "it was called"
    assert len(calls) * sum(map(size, arguments)) <= LIMITS.steps


def test_many_arguments_are_paid_for() -> None:
    many = " 1" * 1000
    for call in (f"addf{many}", f"and{many}", f"or{' 0' * 1000}"):
        with pytest.raises(TemplateError, match="more than 25000 steps"):
            parse(f"{{{{ range until 1000 }}}}{{{{ $_ := {call} }}}}{{{{ end }}}}", functions=ALL).render({}, LIMITS)


def test_many_names_are_paid_for() -> None:
    holder: dict[str, object] = {}
    holder["a"] = holder
    with pytest.raises(TemplateError, match="more than 100000 steps"):
        parse(f"{{{{ range until 1000 }}}}{{{{ $_ := ${'.a' * 2000} }}}}{{{{ end }}}}", functions=ALL).render(holder)


def test_what_is_sorted_is_bounded() -> None:
    texts = Strings(["x" * 1000] * 2000)
    with pytest.raises(TemplateError, match="longer than"):
        parse("{{ sortAlpha . }}", functions=ALL).render(texts)


def test_characters_are_trimmed_off_by_a_set_of_them() -> None:
    trim_all = FUNCTIONS["trimAll"]
    assert trim_all(ALPHABET, TEXT) == ""
    assert trim_all(ALPHABET, f"{TEXT}x y{TEXT}") == "x y"
    assert trim_all("", " x ") == " x "
    assert trim_all("a", "xax") == "xax"
