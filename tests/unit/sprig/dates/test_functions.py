"""Sprig's functions for dates have one moment for a whole rendering, and the zones that they are given."""

import pytest

from tests.unit.sprig.around import AROUND, MOMENT, ZONES
from tinkbox.gotemplate import GoError, TemplateError, parse
from tinkbox.sprig.all_functions import functions
from tinkbox.sprig.surroundings import Surroundings


def rendered(text: str, around: Surroundings = AROUND) -> str:
    return parse(text, functions=functions(around)).render(None)


def test_now_is_the_moment_that_is_given() -> None:
    assert rendered("{{ now }}") == "2026-07-30 15:10:10.123456 +0000 UTC"
    assert rendered('{{ date "15:04:05" "no date" }} {{ htmlDate nil }}') == "15:10:10 2026-07-30"


def test_ago_is_rounded_to_seconds() -> None:
    assert rendered('{{ ago 1785424150 }} {{ ago (dateModify "-90m1.6s" now) }} {{ ago (dateModify "2h" now) }}') == (
        "1m0s 1h30m2s -2h0m0s"
    )


def test_the_age_of_a_moment_is_rounded_to_its_largest_unit() -> None:
    assert rendered('{{ durationRound (dateModify "-49h" now) }} {{ durationRound "2400h" }}') == "2d 3mo"


@pytest.mark.parametrize("name", ["../Europe/Berlin", "/Europe/Berlin", "Nowhere", "", "x" * 200])
def test_a_zone_that_is_none_is_utc(name: str) -> None:
    assert rendered(f'{{{{ dateInZone "15:04 MST" now "{name}" }}}}') == "15:10 UTC"


def test_a_zone_is_read_once() -> None:
    asked: list[str] = []

    def zone(name: str) -> bytes | None:
        asked.append(name)
        return ZONES.get(name)

    around = Surroundings(MOMENT, bytes, zone)
    text = '{{ range until 3 }}{{ dateInZone "15:04 MST " now "Europe/Berlin" }}{{ end }}'
    assert rendered(text, around) == "17:10 CEST 17:10 CEST 17:10 CEST "
    assert asked == ["Europe/Berlin"]


def test_where_no_zone_is_known_a_zone_is_an_error() -> None:
    def nothing(_: str) -> bytes | None:
        raise GoError("no zones")

    around = Surroundings(MOMENT, bytes, nothing)
    assert rendered('{{ dateInZone "15:04" now "UTC" }}', around) == "15:10"
    with pytest.raises(TemplateError, match="no zones"):
        rendered('{{ dateInZone "15:04" now "Europe/Berlin" }}', around)
