"""JSON is read as every reader of JSON would."""

import json
import re

import pytest

from tinkbox.model.documents.json_text import read_document, read_json, read_kept, read_large


def test_json_is_read_from_text_and_from_its_bytes() -> None:
    assert read_json('{"ü": [1, -2.5e3, null]}') == {"ü": [1, -2500.0, None]}
    assert read_json('{"ü": 1}'.encode()) == {"ü": 1}


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "latin-1"]
)
def test_bytes_in_another_encoding_are_refused(encoding: str) -> None:
    with pytest.raises(ValueError):
        read_json('{"ü": 1}'.encode(encoding))


@pytest.mark.parametrize("text", ["\ufeff{}", b"\xed\xa0\x80", "NaN", "[Infinity]", '{"a": -Infinity}', "", "{} {}"])
def test_what_is_no_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        read_json(text)


@pytest.mark.parametrize("text", ["1e999", "[-1e999]"])
def test_numbers_too_large_to_be_finite_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="1e999 is no number in JSON"):
        read_json(text)


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the document is empty"),
        (b" \n", "the document is empty"),
        ("no json", "line 1, column 1: expected a value"),
        ('{"a": 1\n"b": 2}', "line 2, column 1: expected a comma"),
        ("{} {}", "line 1, column 4: expected the end of the document"),
        (b"\xff", "it is not UTF-8 text"),
        ("NaN", "NaN is no number in JSON"),
        ('{"metadata": {"a": NaN}}', "metadata.a: NaN is no number in JSON"),
        ('{"a": [1, -Infinity, 1e999]}', "a[1]: -Infinity is no number in JSON; a[2]: 1e999 is no number in JSON"),
        ('{"a": ' + "9" * 5000 + "}", "a: a number of more than 1000 digits"),
        (nested(66), "more than 64 values within each other"),
        (nested(900), "more than 64 values within each other"),
        ("[" * 5000, "more than 64 values within each other"),
        ("[" * 66 + "x", "more than 64 values within each other"),
        ("[" * 64 + "x", "line 1, column 65: expected a value"),
        ('["' + "[" * 100 + '" x', "line 1, column 105: expected a comma"),
    ],
)
def test_what_is_wrong_with_a_persons_document_is_told_in_plain_words(text: str | bytes, told: str) -> None:
    with pytest.raises(ValueError) as refused:
        read_document(text)
    assert str(refused.value) == told


def test_of_what_is_around_a_wrong_value_only_the_beginning_is_told() -> None:
    with pytest.raises(ValueError, match=rf"^{'x' * 39}…\[2\]\.a\[0\]: NaN is no number in JSON$"):
        read_document('{"' + "x" * 5000 + '": [1, [], {"a": [NaN]}]}')


def test_only_the_first_of_many_wrong_values_are_told() -> None:
    with pytest.raises(ValueError) as refused:
        read_document(json.dumps({"a": [float("nan")] * 4, "b": {"c": float("inf"), "d": float("nan")}}))
    assert [told.split(":")[0] for told in str(refused.value).split("; ")] == ["a[0]", "a[1]", "a[2]", "a[3]", "b.c"]


@pytest.mark.parametrize("inner", ["1", "NaN", "[]", "{}", '{"a": 1}'])
def test_any_value_may_be_too_deep(inner: str) -> None:
    with pytest.raises(ValueError, match=r"^more than 64 values within each other$"):
        read_document("[" * 65 + inner + "]" * 65)
    assert read_document(f"{'[' * 64}1{']' * 64}") is not None


def test_a_persons_document_may_be_as_deep_as_one_in_yaml() -> None:
    assert read_document(nested(65)) == read_json(nested(65))
    assert read_document('{"ü": [1, -2.5e3, null]}'.encode()) == {"ü": [1, -2500.0, None]}


def test_a_kept_document_that_would_be_refused_today_can_still_be_written() -> None:
    assert read_kept('{"a": NaN, "b": [Infinity, 1.5]}') == {"a": None, "b": [None, 1.5]}
    assert read_kept('{"a": [1e999, -1e999, 1e9], "b": ' + "9" * 1001 + "}") == {"a": [None, None, 1e9], "b": None}
    assert read_kept("9" * 5000) is None
    assert read_kept("9" * 1000) == read_document("9" * 1000)
    kept = read_kept(nested(900))
    assert read_document(json.dumps(kept)) == kept
    assert read_kept(nested(65)) == read_json(nested(65))


def test_a_large_text_is_read_as_any_other() -> None:
    for text in ('{"a": [1, 2.5, null, true, "\\u00e4\\ud83d\\ude00", {}], "b": "ä"}', " [] ", '"a"', "7"):
        assert read_large(text.encode(), 100) == read_document(text)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "the document is empty"),
        (b"[1", "line 1, column 3: expected a comma"),
        (b"[] []", "line 1, column 4: expected the end of the document"),
        (b'["\\ud800"]', "half of a character"),
        (b"[NaN]", "NaN is no number in JSON"),
        (b"[1e999]", "1e999 is no number in JSON"),
        (b"[" + b"1" * 1001 + b"]", "more than 1000 digits"),
        (b"\xff", "it is not UTF-8 text"),
        (b"[" * 100_000, "more than 100 values"),
        (b"[" + b"[]," * 100 + b"[]]", "more than 100 values"),
        (b'{"a": {' + b", ".join(b'"%d": {}' % each for each in range(100)) + b"}}", "more than 100 values"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_what_is_wrong_with_a_large_text_is_told_and_the_rest_is_not_read(body: bytes, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        read_large(body, 100)
