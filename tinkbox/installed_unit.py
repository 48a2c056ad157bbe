"""What the unit of systemd that is installed on this host says of the appliance: its user, its folders, its credentials.

Its files are read and systemd is not asked, so it holds before `daemon-reload` and where systemd does not run.  Drop-ins count
without the unit as well: whoever restores an appliance has them before `tinkbox init` puts the unit there.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from pwd import getpwnam, getpwuid, struct_passwd
from typing import Final

from tinkbox.unit_access import Access, UnitAccess, unit_access, written_as

UNIT: Final = "tinkbox.service"
# The drop-in by which the unit may write to folders that tinkbox.yaml names.
FOLDERS: Final = Path(f"/etc/systemd/system/{UNIT}.d/folders.conf")
# In the order of systemd.unit(5): of files with the same name the first counts.
_FOLDERS: Final = ("etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system")
_STATE: Final = Path("/var/lib")
_CONTINUED: Final = re.compile(r"\\\n")
_PREFIXES: Final = "@-:+!"  # of a command in ExecStart= (systemd.service(5))
_NAMING: Final = ("LoadCredential", "LoadCredentialEncrypted", "SetCredential", "SetCredentialEncrypted")
_IMPORTING: Final = "ImportCredential"
_LOADING: Final = ("LoadCredential", "LoadCredentialEncrypted")
_STORES: Final = tuple(
    f"{place}/credstore{kind}" for place in ("etc", "run", "usr/local/lib", "usr/lib") for kind in ("", ".encrypted")
)
# Those that the host was given itself, which systemd takes first (systemd-creds(1)).
_GIVEN: Final = ("run/credentials/@system", "run/credentials/@encrypted")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledUnit:
    """`command` is what it starts, `state` the folder that systemd gives to its user, None: none, `credentials` the file that names each.

    `user` is None also where this host has none of the name `user_name`; `sealed` are the files in which it is told that credentials lie.
    `absent` are those of the credentials that are named without a path, and that lie nowhere where systemd looks for them.
    """

    user: struct_passwd | None
    user_name: str
    command: Sequence[str]
    state: Path | None
    credentials: dict[str, Path]
    sealed: dict[str, Path]
    absent: dict[str, Path]
    access: UnitAccess

    def closed(self, paths: Iterable[Path]) -> list[Path]:
        """Those of the paths that it may not write to, in their order, each once."""
        return [*dict.fromkeys(each for each in paths if self.access.to(each) is Access.READS)]

    def hidden(self, paths: Iterable[Path]) -> list[Path]:
        """Those of the paths that it does not see."""
        return [*dict.fromkeys(each for each in paths if self.access.to(each) is Access.HIDDEN)]

    def makes(self, folder: Path) -> bool:
        """Whether systemd makes the folder, or gives it to the user with all in it, when it starts this."""
        if folder not in self.access.made:
            return False
        try:
            return self.user is None or folder.stat().st_uid != self.user.pw_uid
        except FileNotFoundError:
            return True

    def option(self, name: str) -> Path | None:
        """The path that an option of the command has."""
        for at, word in enumerate(self.command):
            if word == name:
                return next(map(Path, self.command[at + 1 :]), None)
            if word.startswith(f"{name}="):
                return Path(word.partition("=")[2])
        return None


def installed_unit(root: Path = Path("/"), follows: str = "") -> InstalledUnit | None:
    """The unit with its drop-ins; None where there is neither.  Of one that `follows`, this is the text: it counts as installed."""
    lines = list(_lines(root, follows))
    if not lines:
        return None
    said: dict[str, list[tuple[str, Path]]] = {}
    for key, value, path in lines:
        if value:
            said.setdefault(key, []).append((value, path))
        else:
            said.pop(key, None)
    return InstalledUnit(
        user=_user(_last(said.get("User", ()))),
        user_name=_last(said.get("User", ())),
        command=_words(_last(said.get("ExecStart", ())).lstrip(_PREFIXES)),
        state=next((_STATE / each.partition(":")[0] for each in _first(said.get("StateDirectory", ()))), None),
        credentials=dict(_credentials(said, root)),
        sealed=dict(_sealed(said)),
        absent=dict(_absent(said, root)),
        access=unit_access({key: [value for value, _ in values] for key, values in said.items()}),
    )


def opening(folders: Iterable[Path]) -> Sequence[str]:
    """The lines of a drop-in by which the unit may write to folders; one that is missing stops no start."""
    return ["[Service]", *(f"ReadWritePaths=-{written_as(each)}" for each in folders)]


def to_open(folders: Iterable[Path]) -> Sequence[str]:
    """The commands by which root lets the unit write to folders, whatever the drop-in says already."""
    lines = " ".join(map(shlex.quote, opening(folders)))
    return [
        f"mkdir -p {FOLDERS.parent}",
        f"printf '%s\\n' {lines} >> {FOLDERS}",
        "systemctl daemon-reload && systemctl restart tinkbox",
    ]


def is_closed(folders: Sequence[Path]) -> str:
    """What to say of folders that the unit may not write to, with the way out."""
    named = " and ".join(map(str, folders))
    return (
        f"{UNIT} may not write to {named} (ProtectSystem=, ReadOnlyPaths=). `{' && '.join(to_open(folders))}` lets it"
    )


def is_hidden(folders: Sequence[Path]) -> str:
    """What to say of folders that the unit does not see."""
    named = " and ".join(map(str, folders))
    return f"{UNIT} does not see {named} (ProtectHome=, PrivateTmp=, InaccessiblePaths=, TemporaryFileSystem=): name a folder elsewhere, such as one below /srv"


def _lines(root: Path, follows: str) -> Iterator[tuple[str, str, Path]]:
    """Each assignment in the section Service, in the order in which they count."""
    place = root / _FOLDERS[0] / UNIT
    units = [place] if follows else [each / UNIT for each in _places(root) if (each / UNIT).is_file()][:1]
    for path in (*units, *_drop_ins(root)):
        with suppress(OSError, UnicodeDecodeError):
            text = follows if follows and path == place else path.read_text()
            section = ""
            for line in map(str.strip, _CONTINUED.sub(" ", text).splitlines()):
                key, equals, value = line.partition("=")
                if line.startswith("["):
                    section = line
                elif equals and section == "[Service]" and not line.startswith(("#", ";")):
                    yield key.strip(), value.strip(), path


def _places(root: Path) -> Sequence[Path]:
    return [root / each for each in _FOLDERS]


def _drop_ins(root: Path) -> Iterator[Path]:
    drop_ins: dict[str, Path] = {}
    for kind in (f"{UNIT}.d", "service.d"):  # a drop-in for all services yields to one of ours with its name
        for folder in _places(root):
            with suppress(OSError):
                for each in (folder / kind).iterdir():
                    if each.suffix == ".conf":
                        drop_ins.setdefault(each.name, each)
    yield from (drop_ins[name] for name in sorted(drop_ins))


def _credentials(said: dict[str, list[tuple[str, Path]]], root: Path) -> Iterator[tuple[str, Path]]:
    for key in _NAMING:
        for value, path in said.get(key, ()):
            yield value.partition(":")[0], path
    for value, path in said.get(_IMPORTING, ()):
        for name in _stored(root):
            if fnmatchcase(name, value.partition(":")[0]):
                yield name, path


def _sealed(said: dict[str, list[tuple[str, Path]]]) -> Iterator[tuple[str, Path]]:
    """The files that are named by their whole path: without one of them systemd starts nothing."""
    for key in _LOADING:
        for value, _ in said.get(key, ()):
            name, _, place = value.partition(":")
            if place.startswith("/"):
                yield name, Path(place)


def _absent(said: dict[str, list[tuple[str, Path]]], root: Path) -> Iterator[tuple[str, Path]]:
    """The file that names each; none of what the present user cannot see."""
    stores = [root / each for each in (*_GIVEN, *_STORES)]
    given = {value.partition(":")[0] for key in _NAMING if key not in _LOADING for value, _ in said.get(key, ())}
    for key in _LOADING:
        for value, path in said.get(key, ()):
            name, _, place = value.partition(":")
            lies_at = place or name
            if "/" not in lies_at and name not in given and all(is_missing(each / lies_at) for each in stores):
                yield name, path


def is_missing(path: Path) -> bool:
    """Whether there is no such file, as far as the present user can see that."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _stored(root: Path) -> Iterator[str]:
    """The names of the credentials that lie where systemd looks for them (systemd.exec(5))."""
    for store in _STORES:
        with suppress(OSError):
            yield from (each.name for each in (root / store).iterdir())


def _last(said: Sequence[tuple[str, Path]]) -> str:
    return said[-1][0] if said else ""


def _first(said: Sequence[tuple[str, Path]]) -> list[str]:
    return said[0][0].split() if said else []


def _words(command: str) -> Sequence[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return ()


def _user(name: str) -> struct_passwd | None:
    """The user by name or number; None where the host has none such, or none is named."""
    try:
        if name.isdecimal():
            return getpwuid(int(name))
        return getpwnam(name) if name else None
    except KeyError:
        return None
