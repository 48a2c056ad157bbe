"""What a text with stars stands for."""

import re
from fnmatch import translate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.wildcards import consists_of


@given(st.text("ab*", max_size=8), st.text("ab", max_size=10))
def test_a_star_stands_for_anything(pattern: str, text: str) -> None:
    assert consists_of(text, pattern.split("*")) is bool(re.fullmatch(translate(pattern), text))


@pytest.mark.parametrize("text", ["a", "aba"])
def test_the_ends_do_not_overlap(text: str) -> None:
    assert consists_of(text, ["a", "a"]) is (text == "aba")
    assert not consists_of(text, ["ab", "ba"])


def test_a_text_that_almost_fits_is_soon_refused() -> None:
    pieces = ["", *["a"] * 5_000, "b"]
    assert not consists_of("a" * 100_000, pieces)
    assert not consists_of("a" * 4_000 + "b", pieces)
