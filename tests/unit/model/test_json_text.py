"""JSON is read as every reader of JSON would."""

import pytest

from tinkbox.model.json_text import read_json


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
