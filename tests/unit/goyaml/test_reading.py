"""What is read as YAML, and how much of it."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.gotemplate.values import GoError
from tinkbox.goyaml import read


def test_whole_numbers_stay_so_for_those_who_ask() -> None:
    text = "a: 0644\nb: [1.0, 0x10, true]"
    assert repr(read(text)) == "{'a': 420.0, 'b': [1.0, 16.0, True]}"
    assert repr(read(text, floats=False)) == "{'a': 420, 'b': [1.0, 16, True]}"


def test_each_alias_is_a_value_of_its_own() -> None:
    value = read("a: &x {b: 1}\nc: *x\nd: *x")
    assert isinstance(value, dict)
    assert value["c"] == value["a"]
    assert value["c"] is not value["d"]


def test_an_anchor_that_is_given_again_is_another_one() -> None:
    assert read("- &x 1\n- &y [*x]\n- &x [*y]\n- *x") == [1, [1], [[1]], [[1]]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: [", "line 2: "),
        ("a:\n- *x", "line 2: unknown anchor 'x'"),
        ("a: 1\nb: !!int x", "line 2: cannot decode !!str `x` as a !!int"),
        ("a: 1\nb: !!binary '%'", "line 2: !!binary"),
        ("a: 1\n? [a]\n: b", "line 2: invalid map key"),
        ("a: 1\n<<: 2", "line 2: map merge requires"),
        ("a: &x\n  b: *x", "line 2: anchor 'x' value contains itself"),
        ("a\x07", "line 1: control characters are not allowed: U\\+0007"),
        ('a: "\\ud800"', "line 1: found invalid Unicode character escape code"),
        ('a: "\\UFFFFFFFF"', "invalid YAML"),
        ("a: .inf", "no numbers like"),
        ("null: 1", "unsupported map key: null"),
    ],
)
def test_what_is_no_yaml_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(GoError, match=f"^.*{said}"):
        read(text)


def test_there_is_a_bound_to_depth_aliases_and_values() -> None:
    deep = "[" * 102 + "]" * 102
    grown = "- &a0 [1, 1]\n" + "".join(f"- &a{n + 1} [*a{n}, *a{n}]\n" for n in range(40))
    merged = "- &a0 {x: 1}\n" + "".join(f"- &a{n + 1} {{<<: [*a{n}, *a{n}]}}\n" for n in range(40))
    empty = "- &a0 {}\n" + "".join(f"- &a{n + 1} {{<<: [*a{n}, *a{n}]}}\n" for n in range(40))
    for text, said in (
        (deep, "100 values within"),
        ("- &x 1\n" + "- *x\n" * 101, "100 aliases"),
        (grown, "100000 values"),
        (merged, "100000 values"),
        (empty, "100000 values"),
        ("[" + "1," * 100_001 + "]", "100000 values"),
    ):
        with pytest.raises(GoError, match=said):
            read(text)


@given(st.text(st.sampled_from("ab:-?[]{},&*!|>'\"%#\n \t~<0x.")))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(GoError):
        read(text)
