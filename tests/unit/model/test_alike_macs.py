"""MACs that are taken for one another."""

import pytest

from tinkbox.model.alike_macs import Likeness, alike, likeness
from tinkbox.model.hardware import MacAddress

MAC = MacAddress("08:00:27:5a:00:10")


@pytest.mark.parametrize(
    ("other", "how"),
    [
        ("08:00:27:5a:00:11", Likeness.PORT),
        ("08:00:27:5a:00:0e", Likeness.PORT),
        ("08:00:27:5a:00:13", Likeness.DIGIT),
        ("08:00:27:5b:00:10", Likeness.DIGIT),
        ("08:00:72:5a:00:10", Likeness.SWAPPED),
        ("08:00:25:7a:00:10", Likeness.SWAPPED),
        ("08:00:27:5a:00:10", None),
        ("08:00:27:5a:00:23", None),
        ("0a:00:27:5b:00:10", None),
    ],
)
def test_likeness_of_two_macs(other: str, how: Likeness | None) -> None:
    assert likeness(MAC, MacAddress(other)) is how
    assert likeness(MacAddress(other), MAC) is how


@pytest.mark.parametrize("mac", [MAC, MacAddress("ff:ff:ff:ff:ff:ff"), MacAddress("00:00:00:00:00:00")])
def test_all_that_are_alike_are_found_and_no_other(mac: MacAddress) -> None:
    found = [*alike(mac)]
    assert len(found) == len(set(found)) < 220
    assert all(likeness(mac, each) for each in found)
