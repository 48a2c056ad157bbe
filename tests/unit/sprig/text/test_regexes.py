"""Regular expressions are RE2's, found and replaced as Go does it."""

import pytest

from tinkbox.gotemplate.values import GoError, NilStrings
from tinkbox.sprig.text.regexes import (
    FUNCTIONS,
    MAX_CLASSES,
    bounded_work,
    find_all,
    match,
    quote_meta,
    replace_all,
    replace_all_literal,
    split,
)


def test_an_empty_match_right_after_a_match_does_not_count() -> None:
    assert find_all("a*", "baaac", -1) == ["", "aaa", ""]
    assert replace_all_literal("a*", "baaac", "x") == "xbxcx"


def test_anchors_hold_for_the_whole_text() -> None:
    assert find_all("^a", "aaa", -1) == ["a"]
    assert find_all(r"\bx", "xx x", -1) == ["x", "x"]


def test_empty_matches_step_over_whole_characters() -> None:
    assert replace_all_literal("", "é中", "-") == "-é-中-"


@pytest.mark.parametrize(
    ("replacement", "result"),
    [
        ("$1", "a"),
        ("${1}x", "ax"),
        ("$1x", ""),
        ("$n-$0", "a-ab"),
        ("$$1", "$1"),
        ("$9", ""),
        ("${", "${"),
        ("$01", ""),
    ],
)
def test_references_are_to_groups_by_number_or_name(replacement: str, result: str) -> None:
    assert replace_all("(?P<n>a)b", "ab", replacement) == result


def test_a_text_is_split_into_so_many_pieces() -> None:
    assert split(",", "a,b,c", -1) == ["a", "b", "c"]
    assert split(",", "a,b,c", 2) == ["a", "b,c"]
    assert split(",", "a,b,c", 0) == NilStrings()
    assert split("", "abc", -1) == ["a", "b", "c"]


@pytest.mark.parametrize("expression", ["(", "a**", r"(?=a)", r"(a)\1", "x{1001}", r"\C", "\udcff"])
def test_what_go_does_not_compile_is_refused(expression: str) -> None:
    assert match(expression, "a") is False
    for name in ("mustRegexMatch", "regexFind"):
        with pytest.raises(GoError, match="error parsing regexp"):
            FUNCTIONS[name](expression, "a")


def test_classes_of_unicode_are_bounded_for_they_cost_much_before_they_are_refused() -> None:
    assert match(r"\pL" * MAX_CLASSES, "a") is False
    for name in ("regexMatch", "regexFind"):
        with pytest.raises(GoError, match="more than 500 classes"):
            FUNCTIONS[name](r"[\pL\P{N}]" * MAX_CLASSES, "a")
    with bounded_work(), pytest.raises(GoError, match="steps"):
        any(match(r"\pL" * MAX_CLASSES + str(number), "a") for number in range(100))


def test_quoted_text_matches_itself() -> None:
    text = r"\.+*?()|[]{}^$ é-#"
    assert match(f"^{quote_meta(text)}$", text)
    assert quote_meta("a.b") == r"a\.b"


def test_nested_repetition_takes_no_exponential_time() -> None:
    assert match("^(a+)+$", "a" * 100_000 + "b") is False
