"""MAC addresses, as they are written in many ways."""

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import MacAddress


@pytest.mark.parametrize(
    "text", ["08-00-27-00-00-0A", "08:00:27:00:00:0A", " 08:00:27:00:00:0a\n", "0800.2700.000A", "08002700000A"]
)
def test_a_mac_is_normalised_when_made(text: str) -> None:
    assert MacAddress(text) == "08:00:27:00:00:0a"
    assert MacAddress(text).octets == bytes.fromhex("08002700000a")


@pytest.mark.parametrize(
    "text", ["", "08:00:27:00:00", "08:00:27:00:00:0g", "0800270000a", "0800.270000.0a", "08:00:27:00:00:0a:0b"]
)
def test_what_is_no_mac_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="invalid mac"):
        MacAddress(text)
