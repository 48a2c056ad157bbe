"""Types and kinds have Go's names."""

from tinkbox.sprig.reflection import FUNCTIONS, kind_is, kind_of, type_is

VALUES: list[object] = [None, True, 1, 1.5, "a", [], {}]


def test_kinds_are_named() -> None:
    assert list(map(kind_of, VALUES)) == ["invalid", "bool", "int", "float64", "string", "slice", "map"]
    assert [kind_is("int", each) for each in VALUES] == [False, False, True, False, False, False, False]


def test_types_are_named() -> None:
    names = ["<nil>", "bool", "int", "float64", "string", "[]interface {}", "map[string]interface {}"]
    assert [FUNCTIONS["typeOf"](each) for each in VALUES] == names
    assert all(type_is(name, each) for name, each in zip(names, VALUES, strict=True))
    assert not type_is("*string", "a")
