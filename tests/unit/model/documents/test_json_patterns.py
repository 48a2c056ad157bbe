"""Patterns of Tinkerbell's rules, as Quamina has them."""

import json
from typing import Any

import pytest

from tinkbox.model.documents.json_patterns import MAX_DEPTH, MAX_PATTERN, MAX_VALUES, parse_pattern
from tinkbox.model.errors import Invalid

MACHINE: dict[str, Any] = {
    "cpu": {"totalThreads": 8},
    "blockDevices": [
        {"name": "sda", "size": "1TB", "model": "A*B"},
        {"name": "sdb", "size": "239GB"},
    ],
    "product": {"vendor": "Dell Inc.", "name": "PowerEdge R650", "odd": None, "on": True},
    "tags": [["x", "y"], "z"],
    "empty": [],
}


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ({"product": {"vendor": ["HP", "Dell Inc."]}}, True),
        ({"product": {"vendor": ["dell inc."]}}, False),
        ({"Product": {"vendor": ["Dell Inc."]}}, False),
        ({"product": {"vendor": ["Dell Inc."], "name": ["other"]}}, False),
        ({"product": {"vendor": [{"prefix": "Dell"}]}}, True),
        ({"product": {"vendor": [{"prefix": "ell"}]}}, False),
        ({"product": {"vendor": [{"equals-ignore-case": "DELL INC."}]}}, True),
        ({"product": {"name": [{"wildcard": "*Edge*0"}]}}, True),
        ({"product": {"name": [{"shellstyle": "Power*"}]}}, True),
        ({"product": {"name": [{"wildcard": "*Edge"}]}}, False),
        ({"product": {"name": [{"wildcard": "PowerEdge R650*PowerEdge R650"}]}}, False),
        ({"product": {"name": [{"anything-but": ["x", "y"]}]}}, True),
        ({"product": {"name": [{"anything-but": ["PowerEdge R650"]}]}}, False),
        ({"product": {"sku": [{"anything-but": ["x"]}]}}, False),
        ({"product": {"odd": [None], "on": [True]}}, True),
        ({"product": {"on": [1]}}, False),
        ({"cpu": {"totalThreads": [8.0]}}, True),
        ({"cpu": {"totalThreads": ["8"]}}, False),
        ({"cpu": {"totalThreads": [True]}}, False),
        ({"cpu": {"totalThreads": [{"prefix": "8"}]}}, False),
        ({"blockDevices": {"model": [{"wildcard": "A\\*B"}]}}, True),
        ({"blockDevices": {"size": ["239GB"]}}, True),
        ({"blockDevices": {"name": ["sdb"], "size": ["239GB"]}}, True),
        ({"blockDevices": {"name": ["sda"], "size": ["239GB"]}}, False),
        ({"tags": ["y"]}, True),
        ({"tags": ["w", "z"]}, True),
        ({"product": {"name": [{"exists": True}]}}, True),
        ({"product": [{"exists": True}]}, False),
        ({"product": {"sku": [{"exists": False}]}}, True),
        ({"chassis": {"serial": [{"exists": False}]}}, True),
        ({"blockDevices": {"model": [{"exists": False}]}}, False),
        ({"blockDevices": {"name": ["sdb"], "wwn": [{"exists": False}]}}, True),
        ({"empty": [{"exists": True}]}, False),
        ({"empty": [{"exists": False}]}, True),
        ({"chassis": {"serial": ["x"]}}, False),
        ({"product": {"vendor": []}}, False),
        ({"product": {"vendor": []}, "cpu": {"totalThreads": [8]}}, True),
        ({}, False),
        ({"product": {}}, False),
    ],
)
def test_a_pattern_holds_as_in_quamina(pattern: dict[str, Any], matches: bool) -> None:
    assert parse_pattern(json.dumps(pattern)).matches(MACHINE) is matches


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "invalid json"),
        ("[]", "a pattern is an object"),
        ('{"product": {"vendor": "Dell"}}', 'product.vendor: the values stand in a list, such as ["Dell"]'),
        ('{"a": [[1]]}', "a: a list in the list of values"),
        ('{"a": [{"prefixx": "b"}]}', "a: unknown pattern 'prefixx'; did you mean prefix?"),
        ('{"a": [{"prefix": 1}]}', "a: prefix is followed by text"),
        ('{"a": [{"prefix": "x", "wildcard": "y"}]}', "a: a pattern has one word"),
        ('{"a": [{"exists": 1}]}', "a: exists is true or false"),
        ('{"a": [{"exists": true}, "b"]}', "a: exists stands alone"),
        ('{"a": ["b", {"anything-but": ["c"]}]}', "a: anything-but stands alone"),
        ('{"a": [{"anything-but": []}]}', "a: anything-but is followed by a list of texts"),
        ('{"a": [{"anything-but": [1]}]}', "a: anything-but is followed by a list of texts"),
        ('{"a": [{"wildcard": "a**b"}]}', "a: wildcard: two stars"),
        ('{"a": [{"wildcard": "a\\\\b"}]}', "a: wildcard: a backslash stands before"),
        ('{"a": [{"regexp": "a"}]}', "a: tinkbox has no regexp"),
        ('{"a":' * (MAX_DEPTH + 1) + '["x"]' + "}" * (MAX_DEPTH + 1), "fields within more than"),
        (json.dumps({"a": ["x"] * MAX_VALUES}), "more than 1000 values"),
        (f'{{"a": ["{"x" * MAX_PATTERN}"]}}', "more than 64 KiB"),
    ],
)
def test_what_is_no_pattern_says_where(text: str, told: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_pattern(text)
    assert told in str(refusal.value)
