"""JSON is written with sorted keys and escaped HTML; numbers that are read are floats."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.text.jsontext import FUNCTIONS, from_json, must_from_json, must_to_json, must_to_pretty_json, to_json

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(DOCUMENTS)
def test_what_was_written_can_be_read_by_us_and_by_others(document: object) -> None:
    for name in ("toJson", "toPrettyJson", "toRawJson"):
        written = str(FUNCTIONS[name](document))
        assert from_json(written) == document
        assert json.loads(written, parse_int=float) == document


def test_keys_are_sorted_and_html_is_escaped() -> None:
    document = {"b": "<&>", "a": 1}
    assert must_to_json(document) == '{"a":1,"b":"\\u003c\\u0026\\u003e"}'
    assert FUNCTIONS["toRawJson"](document) == '{"a":1,"b":"<&>"}'
    assert must_to_pretty_json({"a": [1], "b": {}}) == '{\n  "a": [\n    1\n  ],\n  "b": {}\n}'


def test_what_json_has_no_words_for_is_empty_or_an_error() -> None:
    assert to_json([math.nan]) == ""
    for name in ("mustToJson", "toRawJson"):
        with pytest.raises(GoError, match="unsupported value"):
            FUNCTIONS[name]([math.nan])


@pytest.mark.parametrize("text", ["", "{", "NaN", "-Infinity", "01", "[1,]", "1 2", "'a'", "1e999", "\ufeff1"])
def test_what_is_no_json_is_nil_or_an_error(text: str) -> None:
    assert from_json(text) is None
    with pytest.raises(GoError):
        must_from_json(text)


def test_integers_are_read_as_floats() -> None:
    assert repr(from_json("[1, -0]")) == "[1.0, -0.0]"
