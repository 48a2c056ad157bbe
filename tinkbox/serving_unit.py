"""The unit of systemd that serves a data folder, where this host has one: whose rights it has, and which keys it alone can read."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from pwd import getpwuid, struct_passwd

from tinkbox.engine.secrets.key import CREDENTIAL
from tinkbox.installed_unit import InstalledUnit, installed_unit
from tinkbox.model.errors import Refusal
from tinkbox.settings import CONFIG, load
from tinkbox.settings.environment import AUTHORITY_KEY, credentials_folder

# What each is, by the name of its credential.
KEYS: Mapping[str, str] = {AUTHORITY_KEY: "the key of the box's authority", CREDENTIAL: "the key of secrets"}


def serving_unit(data: Path, becomes: Path | None = None) -> InstalledUnit | None:
    """The unit that serves this folder, as far as root or its own user asks; of a draft `becomes` says which file it becomes."""
    unit = installed_unit()
    if unit is None or os.geteuid() not in (0, unit.user.pw_uid if unit.user else 0):
        return None
    return unit if _data_of(unit, data, becomes) == data else None


def _data_of(unit: InstalledUnit, data: Path, becomes: Path | None) -> Path | None:
    if named := unit.option("--data"):
        return named
    config = unit.option("--config")
    if becomes == (config or CONFIG):
        return data
    with suppress(Refusal):
        return load(config).data
    return None


def only_the_unit_reads(unit: InstalledUnit | None) -> dict[str, Path]:
    """The keys that are credentials of the unit and that this process is not given: the file that says so, by the name of each."""
    given = credentials_folder()
    named = {} if unit is None else unit.credentials
    return {
        name: path for name, path in named.items() if name in KEYS and not (given and (Path(given) / name).exists())
    }


def new_owner(data: Path, unit: InstalledUnit | None) -> struct_passwd | None:
    """Whom systemd gives the folder to, with all in it, when it starts the unit; None: it stays whose it is."""
    is_given = unit is not None and unit.state == data and os.geteuid() == 0
    return unit.user if unit is not None and is_given and data.is_dir() and not _is_of(data, unit.user) else None


def reader(data: Path, unit: InstalledUnit | None) -> struct_passwd | None:
    """As whom root looks at the folder; None: as its owner."""
    if unit is None or unit.user is None or _is_of(data, unit.user):
        return None
    if unit.state == data:
        return getpwuid(0) if data.is_dir() else None
    return unit.user


def _is_of(data: Path, user: struct_passwd | None) -> bool:
    try:
        return user is not None and data.stat().st_uid == user.pw_uid
    except OSError:
        return False
