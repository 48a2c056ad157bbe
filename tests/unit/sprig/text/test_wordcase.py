"""Words are found in identifiers of all styles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.sprig.text.wordcase import camelcase, kebabcase, snakecase


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("FirstName", "first_name"),
        ("HTTPServer", "http_server"),
        ("GO PATH", "go_path"),
        ("http2xx", "http_2xx"),
        ("HTTP20xOK", "http_20x_ok"),
        ("Bld4Floor3rd", "bld4_floor_3rd"),
        ("foo.barBaz", "foo.bar_baz"),
    ],
)
def test_words_are_connected(text: str, words: str) -> None:
    assert snakecase(text) == words
    assert kebabcase(text) == words.replace("_", "-")


def test_words_are_capitalised() -> None:
    assert [camelcase(each) for each in ("http_server", "GOLANG_IS_GREAT", "_complex__case_", "a")] == [
        "HttpServer",
        "GolangIsGreat",
        "_Complex_Case_",
        "A",
    ]


@given(st.text("aB1_ .中", max_size=15))
def test_nothing_is_lost_but_connectors(text: str) -> None:
    plain = text.lower().replace("_", "").replace(" ", "")
    assert snakecase(text).replace("_", "") == plain
    assert camelcase(text).lower().replace("_", "").replace(" ", "") == plain
