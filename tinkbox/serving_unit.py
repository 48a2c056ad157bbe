"""The unit of systemd that serves a data folder, where this host has one: whose rights it has, and which keys it alone can read."""

import os
import shlex
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from pwd import getpwuid, struct_passwd
from typing import Final

from tinkbox.engine.secrets.key import CREDENTIAL
from tinkbox.host_users import user_name
from tinkbox.installed_unit import UNIT, InstalledUnit, installed_unit, is_missing
from tinkbox.model.errors import Denied, Refusal, Unavailable
from tinkbox.private_files import is_empty, is_systems
from tinkbox.settings import CONFIG, load
from tinkbox.settings.environment import AUTHORITY_KEY, credentials_folder

# What each is, by the name of its credential.
KEYS: Mapping[str, str] = {AUTHORITY_KEY: "the key of the box's authority", CREDENTIAL: "the key of secrets"}

OWN_USER: Final = "tinkbox"  # of systemd/sysusers.conf
_MAKING: Final = f"""echo 'u {OWN_USER} - "tinkbox appliance" /var/lib/tinkbox' | systemd-sysusers - && """


def serving_unit(data: Path, becomes: Path | None = None, follows: str = "") -> InstalledUnit | None:
    """The unit that serves this folder, as far as root or its own user asks.

    Of a draft `becomes` says which file it becomes; `follows` is the text of a unit that is installed after this.
    """
    unit = installed_unit(follows=follows)
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


def lost_credentials(unit: InstalledUnit | None) -> list[str]:
    """A warning of each credential of the unit whose file is missing, as far as this process can see that."""
    if unit is None:
        return []
    sealed = [
        f"{UNIT} does not start: the file {path} of its credential {name} is not there. Seal or copy it there, or take it out of "
        "the unit (`systemctl cat tinkbox`)"
        for name, path in unit.sealed.items()
        if is_missing(path)
    ]
    absent = [
        f"{UNIT} starts without its credential {name} ({path}): it is in no folder in which systemd looks for it. Seal it to "
        f"/etc/credstore.encrypted/{name}, or take it out of that file"
        for name, path in unit.absent.items()
        if name in KEYS
    ]
    return [*sealed, *absent]


def no_user(unit: InstalledUnit) -> str:
    """What to say of a unit whose user this host does not have."""
    name = unit.user_name
    return (
        f"{UNIT} does not start: it runs as the user {name} (User=), and this host has no such user. Correct that "
        f"(`systemctl cat tinkbox`), or make the user: `systemd-sysusers` makes {OWN_USER}, `useradd --system {name}` any"
    )


def refuse_root(data: Path) -> None:
    """Raise Denied where root would serve what the unit serves as its user, whose files are not to become root's."""
    unit = serving_unit(data) if os.geteuid() == 0 else None
    if unit is not None and unit.user is not None and unit.user.pw_uid != 0 and _is_of(data, unit.user):
        raise Denied(
            f"{data} belongs to the user {unit.user.pw_name}, as which {UNIT} serves it: `systemctl start tinkbox` starts that, "
            "`tinkbox serve --check` and `journalctl -u tinkbox` say why it does not start"
        )


def new_owner(data: Path, unit: InstalledUnit | None) -> struct_passwd | None:
    """Whom systemd gives the folder to, with all in it, when it starts the unit; None: it stays whose it is."""
    is_given = unit is not None and unit.state == data and os.geteuid() == 0
    return unit.user if unit is not None and is_given and data.is_dir() and not _is_of(data, unit.user) else None


def given_by_init(data: Path, unit: InstalledUnit | None) -> bool:
    """Whether `tinkbox init` gives the folder to the user of the unit that it installs: it is missing, or root's with nothing in it."""
    if unit is None or unit.state == data or not unit.user_name or is_systems(Path(os.path.realpath(data))):
        return False
    try:
        return not os.path.lexists(data) or (data.stat().st_uid == 0 and is_empty(data))
    except OSError:
        return False


def refuse_unreachable(data: Path, unit: InstalledUnit | None) -> None:
    """Raise Unavailable for a folder that the user of a unit that `tinkbox init` installs could not use, whether or not that user is there yet."""
    if unit is None or not unit.user_name or (unit.user is not None and unit.user.pw_uid == 0):
        return
    name = unit.user_name
    if given_by_init(data, unit):
        for each in sorted({*data.absolute().parents, *Path(os.path.realpath(data)).parents}):
            if not each.is_dir():
                continue
            _refuse_others(each, data, unit)
            if not each.stat().st_mode & stat.S_IXOTH:
                raise Unavailable(
                    f"cannot use the data directory {data}: {UNIT} runs as the user {name}, who may not pass through {each}: `chmod o+x {each}` "
                    "lets everybody pass through that folder"
                )
    elif unit.state != data and data.is_dir() and not _is_of(data, unit.user):
        making = "" if unit.user else _MAKING
        way = (
            "it is the system's: name a folder of its own with --data"
            if is_systems(Path(os.path.realpath(data)))
            else f"where all in it is tinkbox's, `{making}chown -R {name}: {shlex.quote(str(data))}` gives it to {name}; else name another with --data"
        )
        raise Unavailable(
            f"{data} belongs to user {user_name(data.stat().st_uid)}, and {UNIT} runs as the user {name}: {way}"
        )


def _refuse_others(folder: Path, data: Path, unit: InstalledUnit) -> None:
    """Raise Unavailable where somebody else may put another folder in the place of this one, which the data folder is below."""
    seen = folder.stat()
    if seen.st_uid not in (0, unit.user.pw_uid if unit.user else 0):
        raise Unavailable(
            f"cannot use the data directory {data}: {folder} belongs to user {user_name(seen.st_uid)}, who may put another one in its place: "
            "name one elsewhere with --data, such as one below /srv"
        )
    if seen.st_mode & stat.S_IWOTH and not seen.st_mode & stat.S_ISVTX:
        raise Unavailable(
            f"cannot use the data directory {data}: everybody may write to {folder}, and put another one in its place: `chmod o-w {folder}` ends "
            "that; else name one elsewhere with --data"
        )


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
