"""The `-r` map: which values it takes, and how they are shown and declared."""

from typing import Any

import pytest

from tinkbox.model.devices import ANNOTATION, addresses, annotated, as_text, device_value, without_texts
from tinkbox.model.errors import Invalid


@pytest.mark.parametrize(
    ("given", "kept"),
    [("a", "a"), (["a", "b"], "a\nb"), ([], ""), (3, 3), (1.5, 1.5), (True, True), (None, None), ({"a": [1]}, {"a": [1]}), (["a", 1], ["a", 1])],
)  # fmt: skip
def test_a_list_of_texts_is_lines_and_all_else_stays_what_it_is(given: Any, kept: Any) -> None:
    assert device_value(given) == kept
    assert type(device_value(given)) is type(kept)


@pytest.mark.parametrize("value", [10**400, -(10**400), [10**400], {"a": {"b": 10**400}}])
def test_a_number_that_no_float64_is_is_refused(value: Any) -> None:
    with pytest.raises(Invalid, match="too large: quote it"):
        device_value(value)


def test_only_texts_mean_machines_and_stand_in_a_hardware_map() -> None:
    devices = {"device_1": "08:00:27:00:00:01", "n": 3, "b": False, "null": None}
    assert list(addresses(devices)) == ["08:00:27:00:00:01"]
    assert without_texts(devices) == {"n": 3, "b": False, "null": None}
    assert [as_text(each) for each in devices.values()] == ["08:00:27:00:00:01", "3", "false", "null"]


def test_an_annotation_is_an_object_in_json() -> None:
    assert annotated(None) == {}
    assert annotated('{"n": 3, "lines": ["a", "b"]}') == {"n": 3, "lines": "a\nb"}


@pytest.mark.parametrize("text", ["", "[]", "3", 3, '{"a": 1, "a": 2}', '{"a": 1e999}', "{" * 200])
def test_an_annotation_that_is_none_is_refused(text: object) -> None:
    with pytest.raises(Invalid, match=ANNOTATION):
        annotated(text)
