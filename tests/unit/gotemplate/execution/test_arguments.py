"""A function gets its arguments as the types of its parameters; constants fit by their value."""

import pytest

from tinkbox.gotemplate.errors import GoError, TemplateError
from tinkbox.gotemplate.execution.functions import Typed, arity
from tinkbox.gotemplate.template import parse
from tinkbox.gotemplate.types.structs import NIL_SLICE, NilPointer, Struct
from tinkbox.gotemplate.types.typed_values import NIL_MAP, Int64, StringMap

TYPES = ("string", "int", "float64", "bool", "map", "any")
GIVEN: list[object] = []


def keep(value: object) -> str:
    GIVEN.append(value)
    return ""


FUNCTIONS = {f"take_{each}": Typed(keep, each) for each in TYPES}
DATA = {"i": 1, "i64": Int64(1), "f": 2.0, "s": "x", "m": {}, "sm": StringMap(), "nil": None}


def given(call: str) -> object:
    GIVEN.clear()
    parse(f"{{{{ {call} }}}}", functions=FUNCTIONS).render(DATA)
    return GIVEN[0]


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("take_int 2.0", 2),
        ("take_int 1e3", 1000),
        ("take_int 'a'", 97),
        ("take_int .i", 1),
        ("take_float64 2", 2.0),
        ("take_float64 'a'", 97.0),
        ("take_float64 .f", 2.0),
        ("take_any 2.0", 2.0),
        ("take_any .i64", 1),
        ('take_string "x"', "x"),
        ("take_bool true", True),
        ("take_map .m", {}),
        ("take_any nil", None),
    ],
)
def test_what_fits_is_given_as_the_type(call: str, value: object) -> None:
    got = given(call)
    assert got == value
    assert isinstance(got, type(value))


def test_nil_is_a_map_that_is_nil() -> None:
    assert given("take_map nil") is NIL_MAP
    assert given(".nil | take_map") is NIL_MAP


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("take_int 2.5", "expected int; found 2.5"),
        ("take_int 1e30", "expected int; found 1e30"),
        ('take_int "2"', 'expected int; found "2"'),
        ("take_int .f", "wrong type for value; expected int; got float64"),
        ("take_int .i64", "wrong type for value; expected int; got int64"),
        (".i64 | take_int", "wrong type for value; expected int; got int64"),
        ("take_float64 .i", "wrong type for value; expected float64; got int"),
        ("take_string 1", "expected string; found 1"),
        ("take_string nil", "invalid value; expected string"),
        ("take_bool 1", "expected bool; found 1"),
        ("take_map .sm", "wrong type for value; expected map[string]interface {}; got map[string]string"),
        ("take_map .nil", "wrong type for value; expected map[string]interface {}; got interface {}"),
        ("take_int", "wrong number of args for take_int: want 1 got 0"),
    ],
)
def test_what_does_not_fit_is_refused(call: str, problem: str) -> None:
    with pytest.raises(TemplateError) as refusal:
        given(call)
    assert str(refusal.value).endswith(problem)


def test_the_last_parameter_may_stand_for_many() -> None:
    takes = arity(Typed(keep, "string", "int..."))
    assert [takes.type_of(at) for at in range(4)] == ["string", "int", "int", "int"]
    takes.check("f", 1)
    with pytest.raises(GoError, match="want at least 1 got 0"):
        takes.check("f", 0)


STRUCT = Struct("*main.host", {"Name": "x", "Address": NilPointer("*main.address")}, {})


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("{{ .p }}", "<nil>"),
        ("{{ .s }}", "{x <nil>}"),
        ('{{ printf "%v %+v %d" .s .s .p }}', "&{x <nil>} &{Name:x Address:<nil>} 0"),
        ('{{ printf "%#v %T" .p .s }}', "(*main.address)(nil) *main.host"),
        ("{{ if .p }}x{{ else }}none{{ end }}{{ if .s }}struct{{ end }}", "nonestruct"),
        ("{{ .s.Name }}", "x"),
        ("{{ eq .p nil }} {{ eq .e nil }}", "true true"),
        ('{{ printf "%#v" .e }}', "[]interface {}(nil)"),
    ],
)
def test_structs_and_what_is_nil_are_as_in_go(source: str, output: str) -> None:
    assert parse(source).render({"p": NilPointer("*main.address"), "s": STRUCT, "e": NIL_SLICE}) == output


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("{{ .p.City }}", "nil pointer evaluating *main.address.City"),
        ("{{ .s.Nam }}", 'can\'t evaluate field Nam in type *main.host; did you mean "Name"?'),
        ("{{ range .s }}{{ end }}", "range can't iterate over a value of type *main.host"),
        ('{{ index .s "Name" }}', "error calling index: can't index item of type *main.host"),
        ("{{ len .s }}", "error calling len: len of type *main.host"),
    ],
)
def test_a_struct_is_no_map(source: str, problem: str) -> None:
    with pytest.raises(TemplateError) as refusal:
        parse(source).render({"p": NilPointer("*main.address"), "s": STRUCT})
    assert str(refusal.value).endswith(problem)
