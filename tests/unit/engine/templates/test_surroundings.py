"""What renderings are given of this host: zones are read by name, all of them before nothing can be opened any more."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.unit.sprig.around import ZONES as FILES
from tinkbox.engine.templates.surroundings import all_zones, shut_in, surroundings
from tinkbox.gotemplate import GoError

MOMENT = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


@pytest.fixture
def zones(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        for copy in ("", "posix", "right"):
            path = tmp_path / copy / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    (tmp_path / "zone.tab").write_text("no zone")
    return tmp_path


def test_a_moment_is_counted_in_nanoseconds() -> None:
    assert surroundings(MOMENT).moment == -1000
    assert surroundings(MOMENT + timedelta(days=1)).moment == 86_400 * 10**9 - 1000


def test_a_zone_is_read_by_its_name_in_either_way(zones: Path) -> None:
    for around in (surroundings(MOMENT, zones), shut_in(MOMENT, all_zones(zones))):
        assert around.zone("Europe/Berlin") == FILES["Europe/Berlin"]
        assert around.zone("Europe/Paris") is None
        assert around.zone("Europe") is None


def test_all_zones_are_read_once_each(zones: Path) -> None:
    assert all_zones(zones) == FILES


def test_a_host_without_zones_is_told_how_to_get_some(tmp_path: Path) -> None:
    for around in (surroundings(MOMENT, tmp_path / "none"), shut_in(MOMENT, all_zones(tmp_path / "none"))):
        with pytest.raises(GoError, match="install the package tzdata"):
            around.zone("Europe/Berlin")


def test_chance_is_the_systems() -> None:
    assert surroundings(MOMENT).chance is os.urandom
    assert shut_in(MOMENT, {}).chance is os.urandom
