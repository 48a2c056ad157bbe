"""Versions are read leniently and ordered by the rules of semver.org."""

import itertools

import pytest

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.semver import compare, parse, semver

ORDERED = [
    "1.0.0-1",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0",
    "1.0.1",
]


def test_versions_have_an_order() -> None:
    for (earlier, one), (later, other) in itertools.product(enumerate(ORDERED), repeat=2):
        assert compare(parse(one), parse(other)) == (earlier > later) - (earlier < later)


def test_metadata_does_not_count() -> None:
    assert compare(parse("v1.2+a"), parse("1.2.0+b")) == 0


def test_the_parts_have_the_names_of_gos_methods() -> None:
    assert semver("v1.2-rc.1+m") == {
        "Major": 1,
        "Minor": 2,
        "Patch": 0,
        "Prerelease": "rc.1",
        "Metadata": "m",
        "Original": "v1.2-rc.1+m",
    }


@pytest.mark.parametrize("text", ["", "v", "1.2.3.4", "1.2.3\n", "1.x", "1.2.3-01", f"{1 << 64}.0", "1.2.3-a..b"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(GoError):
        parse(text)
