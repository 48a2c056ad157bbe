"""What renderings are given of this host: its source of chance, and its time zones."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from tinkbox.gotemplate import GoError
from tinkbox.sprig.dates.zones import MAX_FILE
from tinkbox.sprig.surroundings import Surroundings

ZONES: Final = Path("/usr/share/zoneinfo")
NO_ZONES: Final = "this host has no time zones: install the package tzdata on the appliance, or use UTC"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_COPIES: Final = ("posix", "right")  # of all zones, once more


def now() -> datetime:
    return datetime.now(UTC)


def surroundings(moment: datetime, zones: Path = ZONES) -> Surroundings:
    """Those of a rendering here; each zone is read when it is asked for."""

    def zone(name: str) -> bytes | None:
        if not zones.is_dir():
            raise GoError(NO_ZONES)
        try:
            with (zones / name).open("rb") as file:
                return file.read(MAX_FILE)
        except (OSError, ValueError):
            return None

    return Surroundings((moment - _EPOCH) // _MICROSECOND * 1000, os.urandom, zone)


def shut_in(moment: datetime, zones: Mapping[str, bytes]) -> Surroundings:
    """Those of a rendering in a process that can open no file: the zones were read before (`all_zones`)."""

    def zone(name: str) -> bytes | None:
        if not zones:
            raise GoError(NO_ZONES)
        return zones.get(name)

    return Surroundings((moment - _EPOCH) // _MICROSECOND * 1000, os.urandom, zone)


def all_zones(zones: Path = ZONES) -> Mapping[str, bytes]:
    """The files of all zones by their names, half a megabyte; empty where the host has none."""
    found = {}
    for folder, below, names in os.walk(zones):
        below[:] = [each for each in below if each not in _COPIES]
        for name in names:
            path = Path(folder, name)
            try:
                with path.open("rb") as file:
                    content = file.read(MAX_FILE)
            except OSError:
                continue
            if content.startswith(b"TZif"):
                found[str(path.relative_to(zones))] = content
    return found
