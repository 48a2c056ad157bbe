import math
from collections import ChainMap

import pytest

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.types.kinds import (
    byte_length,
    from_bytes,
    joined,
    kind,
    printable,
    sorted_items,
    to_bytes,
    truth,
    type_name,
)
from tinkbox.gotemplate.types.structs import NIL_SLICE, NilPointer, Struct
from tinkbox.gotemplate.types.typed_values import (
    NIL_MAP,
    Byte,
    Int64,
    NilStrings,
    StringMap,
    Strings,
    Uint64,
)


@pytest.mark.parametrize(
    ("value", "name", "type_shown"),
    [
        (None, "nil", "<nil>"),
        (True, "bool", "bool"),
        (1, "int", "int"),
        (1.0, "float64", "float64"),
        ("", "string", "string"),
        ([], "slice", "[]interface {}"),
        ((), "slice", "[]interface {}"),
        ({}, "map", "map[string]interface {}"),
        (ChainMap(), "map", "map[string]interface {}"),
        (2**64 - 1, "uint64", "uint64"),
        (Int64(1), "int64", "int64"),
        (Uint64(1), "uint64", "uint64"),
        (Byte(1), "uint8", "uint8"),
        (Strings(), "slice", "[]string"),
        (NilStrings(), "slice", "[]string"),
        (NIL_SLICE, "slice", "[]interface {}"),
        (StringMap(), "map", "map[string]string"),
        (NIL_MAP, "map", "map[string]interface {}"),
        (Struct("v1alpha1.Disk", {}, {}), "struct", "v1alpha1.Disk"),
        (Struct("*v1alpha1.DHCP", {}, {}), "ptr", "*v1alpha1.DHCP"),
        (NilPointer("*v1alpha1.DHCP"), "ptr", "*v1alpha1.DHCP"),
        (-(2**63), "int", "int"),
    ],
)
def test_every_value_has_a_kind_and_a_type(value: object, name: str, type_shown: str) -> None:
    assert (kind(value), type_name(value)) == (name, type_shown)


@pytest.mark.parametrize("value", [b"", object(), len, {1}, 2**64, -(2**63) - 1, 1j])
def test_nothing_else_is_a_value(value: object) -> None:
    for ask in (kind, type_name, truth):
        with pytest.raises(GoError):
            ask(value)


def test_zero_and_empty_are_false() -> None:
    assert not any(truth(each) for each in (None, False, 0, 0.0, -0.0, "", [], (), {}))
    assert all(truth(each) for each in (True, -1, math.nan, "0", [None], {"": None}))


def test_the_entries_of_a_map_are_sorted_by_key() -> None:
    assert sorted_items({"b": 1, "a": None, "é": [], "B": {}}) == [("B", {}), ("a", None), ("b", 1), ("é", [])]
    with pytest.raises(GoError, match="keys of a map must be strings"):
        sorted_items({1: 2})  # type: ignore[dict-item]


def test_the_bytes_of_a_string_survive_being_no_text() -> None:
    assert to_bytes("é\udcff") == b"\xc3\xa9\xff"
    assert from_bytes(b"\xc3\xa9\xff") == "é\udcff"
    assert to_bytes("a\ud800b\udcff\udfff") == b"a\xef\xbf\xbdb\xff\xef\xbf\xbd"
    assert [byte_length(each) for each in ("", "ab", "é☺", "\udcff", "\ud800")] == [0, 2, 5, 1, 3]


def test_bytes_that_were_cut_apart_become_characters_again() -> None:
    assert joined("a\udcc3\udca9\udcc3") == "aé\udcc3"
    assert joined("ab") == "ab"
    assert printable("\udcc3\udca9\udcff\udcfe\ud800☺") == "é\ufffd\ufffd\ufffd☺"
