"""Zones tell name and offset at any moment, and no file breaks their reader."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.sprig.around import ZONES
from tinkbox.sprig.dates.calendar import DAYS_OF_ERA
from tinkbox.sprig.dates.zones import MAX_FILE, read_zone

BERLIN = ZONES["Europe/Berlin"]


def test_a_zone_has_summer_and_winter_in_any_year() -> None:
    zone = read_zone(BERLIN)
    assert zone is not None
    july, january = (int(datetime(2026, month, 1, tzinfo=UTC).timestamp()) for month in (7, 1))
    for eras in (0, 1, 19, 20, 1000):  # Python's datetime ends in the twentieth
        later = eras * DAYS_OF_ERA * 86_400
        assert (zone.at(july + later), zone.at(january + later)) == (("CEST", 7200), ("CET", 3600))
    assert zone.at(-(10**15))[1] in (0, 3600)


@pytest.mark.parametrize(
    "content", [b"", b"TZif", b"text", BERLIN[:60], BERLIN.rstrip(b"\n"), BERLIN[:-30], BERLIN + b" " * MAX_FILE]
)
def test_what_is_no_zone_is_none(content: bytes) -> None:
    assert read_zone(content) is None


@given(st.data())
def test_no_damage_breaks_the_reader(data: st.DataObject) -> None:
    damaged = bytearray(BERLIN)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    zone = read_zone(bytes(damaged))
    assert zone is None or zone.at(0)
