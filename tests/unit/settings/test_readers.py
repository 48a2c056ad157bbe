"""Readers of plain values: what they take, what they make of it, and what they say about the rest."""

from datetime import timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.settings import readers
from tinkbox.settings.declaring import Reader

HERE = IPv4Address("10.0.0.1")


@pytest.mark.parametrize(
    ("reader", "value", "default", "read"),
    [
        (readers.text, "", "d", "d"),
        (readers.texts, "one", (), ("one",)),
        (readers.texts, "", ("d",), ("d",)),
        (readers.texts, ["a", "b"], (), ("a", "b")),
        (readers.name, "", "d", "d"),
        (readers.domain, "Lab.Example.", "", "lab.example"),
        (readers.domain, "", "", ""),
        (readers.path, "/a", Path("/d"), Path("/a")),
        (readers.folder, "", None, None),
        (readers.address, "10.0.0.1", None, HERE),
        (readers.address, "", HERE, HERE),
        (readers.addresses, "10.0.0.1", (), (HERE,)),
        (readers.addresses, ["10.0.0.1"], (), (HERE,)),
        (readers.count, 10_000, 1, 10_000),
        (readers.port(least=0), 0, 1, 0),
        (readers.seconds(10), "90m", 60, 5400),
        (readers.seconds(10), 10, 60, 10),
        (readers.duration(timedelta(minutes=1)), "2h", timedelta(days=1), timedelta(hours=2)),
        (readers.age(timedelta(minutes=1)), "1m30s", timedelta(days=1), timedelta(seconds=90)),
        (readers.choice("ask", "off"), False, "ask", "off"),
        (readers.switch, True, False, True),
        (readers.switch, "off", True, False),
    ],
)
def test_a_value_is_parsed_once(reader: Reader[Any], value: Any, default: Any, read: Any) -> None:
    assert reader.read(value, default) == read


@pytest.mark.parametrize(
    ("reader", "value", "says"),
    [
        (readers.text, 5, "expected text, not 5"),
        (readers.texts, [""], "expected text or a list of texts, not ['']"),
        (readers.name, "a b", "a name is up to 63 letters, digits and . _ - in between, not 'a b'"),
        (readers.folder, "/a\0", "expected an absolute path without .., not '/a\\x00'"),
        (readers.address, "nowhere", "invalid ip: 'nowhere'"),
        (readers.addresses, [], None),
        (readers.addresses, "", "expected addresses such as [172.30.0.53], not ''"),
        (readers.count, True, "expected a number between 1 and 10000, not True"),
        (readers.count, 10_001, "expected a number between 1 and 10000, not 10001"),
        (readers.port(), "80", "expected a port between 1 and 65535, not '80': write it without quotes"),
        (readers.port(), "http", "expected a port between 1 and 65535, not 'http'"),
        (readers.amount, "512", "expected a number between 1 and 1000000, not '512': write it without quotes"),
        (readers.count, "7", "expected a number between 1 and 10000, not '7': write it without quotes"),
        (readers.seconds(10), 2**32, "expected a time of at least 10s, such as 20s, 5m, 1h or 90d, not 4294967296"),
        (readers.choice("a", "b", "c"), "", "expected a or b or c, not ''"),
        (readers.switch, "yes", "expected on or off, not 'yes'"),
        (readers.engine, "nonsense", "expected a URL such as unix:///var/run/docker.sock, not 'nonsense'"),
        (
            readers.engine,
            "unix://",
            "expected a URL such as unix:///var/run/docker.sock, not 'unix://'",
        ),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_expected(reader: Reader[Any], value: Any, says: str | None) -> None:
    if says is None:
        assert reader.read(value, ()) == ()
        return
    with pytest.raises(Invalid) as refusal:
        reader.read(value, "")
    assert str(refusal.value) == says


@pytest.mark.parametrize("value", [90, "90", " 90 ", 1.5, True])
def test_an_age_without_its_unit_is_refused(value: object) -> None:
    with pytest.raises(Invalid) as refusal:
        readers.age(timedelta(minutes=1)).read(value, timedelta(days=90))
    assert str(refusal.value) == f"expected a duration with its unit, such as 90d, not {value!r}"


@pytest.mark.parametrize("value", ["1s", "never", None])
def test_an_age_that_is_none_is_refused_as_a_duration_is(value: object) -> None:
    with pytest.raises(Invalid, match="expected a time of at least 1m"):
        readers.age(timedelta(minutes=1)).read(value, timedelta(days=90))


def test_a_text_that_yaml_took_for_a_number_is_named_beside_other_problems() -> None:
    def check(name: str, text: str) -> None:
        if name == "bad":
            raise Invalid(f"{text} is bad")

    assert readers.written_by_name({"a": "b"}, check) == {"a": "b"}
    with pytest.raises(Invalid) as refusal:
        readers.written_by_name({"mac": 5, "bad": "x", "good": "y"}, check)
    assert [str(each) for each in refusal.value.problems] == [
        "mac: YAML reads it as the number 5: put it in quotes",
        "bad: x is bad",
    ]
