"""What a unit of systemd lets the appliance write to, and what it hides from it, by its settings (systemd.exec(5)).  Pure."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Final

Said = Mapping[str, Sequence[str]]
_TRUE: Final = frozenset({"1", "yes", "y", "true", "t", "on"})
_PROGRAMS: Final = ("/usr", "/boot", "/efi")
# The folders of ProtectSystem= that are read-only; what it says besides is a boolean.
_PROTECTED: Final = {"strict": ("/",), "full": (*_PROGRAMS, "/etc")}
_HOMES: Final = ("/home", "/root", "/run/user")
_TEMPORARY: Final = ("/tmp", "/var/tmp")  # noqa: S108  named, not used
_KERNELS: Final = ("/dev", "/proc", "/sys")
# What systemd makes for the unit and lets it write to.
_MADE: Final = {
    "StateDirectory": "/var/lib",
    "CacheDirectory": "/var/cache",
    "LogsDirectory": "/var/log",
    "RuntimeDirectory": "/run",
}
_SPECIFIERS: Final = {"%S": "/var/lib", "%C": "/var/cache", "%L": "/var/log", "%t": "/run", "%E": "/etc", "%%": "%"}
_SPECIFIER: Final = re.compile("%.")
_PREFIXES: Final = "-+"


class Access(Enum):
    """What a unit has of a folder."""

    WRITES = auto()
    READS = auto()
    HIDDEN = auto()


@dataclass(frozen=True, slots=True)
class UnitAccess:
    """What it has of each folder that its settings name: of what is below one it has the same.

    `made` are those that systemd makes and gives to its user when it starts it.
    """

    folders: Mapping[Path, Access] = field(default_factory=dict)
    made: frozenset[Path] = frozenset()

    def to(self, path: Path) -> Access:
        """What it has of a path, which may be missing; links are followed, as systemd does."""
        real = Path(os.path.realpath(path))
        named = {Path(os.path.realpath(each)): access for each, access in self.folders.items()}
        return next((named[each] for each in (real, *real.parents) if each in named), Access.WRITES)


def unit_access(said: Said) -> UnitAccess:
    """What the settings of the section Service say; of a path that is named twice the narrower counts, as for systemd."""
    emptied = [each.partition(":")[0] for each in _paths(said, "TemporaryFileSystem")]
    hidden = [*_hidden(said), *emptied]
    made = frozenset(map(Path, _made(said)))
    written = [*_KERNELS, *_made(said), *_paths(said, "ReadWritePaths")]
    folders = dict.fromkeys(map(Path, written), Access.WRITES)
    folders |= dict.fromkeys(map(Path, _read_only(said)), Access.READS)
    # What lies below a hidden folder stays hidden, unless it is mounted there from elsewhere.
    folders = {path: access for path, access in folders.items() if not any(map(path.is_relative_to, hidden))}
    folders |= dict.fromkeys(map(Path, hidden), Access.HIDDEN)
    # systemd mounts what it makes in an empty file system as well.
    folders |= {each: Access.WRITES for each in made if any(map(each.is_relative_to, emptied))}
    folders |= dict.fromkeys(map(Path, _bound(said, "BindPaths")), Access.WRITES)
    folders |= dict.fromkeys(map(Path, _bound(said, "BindReadOnlyPaths")), Access.READS)
    return UnitAccess(folders, made)


def written_as(path: Path) -> str:
    """A path as a list of paths in a unit has it, without anything that systemd would take for more than a name."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{text}"' if text != str(path) or " " in text else text


def _read_only(said: Said) -> Iterator[str]:
    system = _last(said, "ProtectSystem")
    yield from _PROTECTED.get(system, _PROGRAMS if system in _TRUE else ())
    yield from _HOMES if _last(said, "ProtectHome") == "read-only" else ()
    yield from _paths(said, "ReadOnlyPaths")


def _hidden(said: Said) -> Iterator[str]:
    yield from _HOMES if _last(said, "ProtectHome") in {*_TRUE, "tmpfs"} else ()
    yield from _TEMPORARY if _last(said, "PrivateTmp") in {*_TRUE, "disconnected"} else ()
    yield from _paths(said, "InaccessiblePaths")


def _made(said: Said) -> Iterator[str]:
    for key, place in _MADE.items():
        for each in _words(said, key):
            yield f"{place}/{each.partition(':')[0]}"


def _bound(said: Said, key: str) -> Iterator[str]:
    """Where something is mounted from elsewhere: SOURCE, or SOURCE:PLACE:OPTIONS."""
    for each in _paths(said, key):
        source, _, rest = each.partition(":")
        yield rest.partition(":")[0] or source


def _paths(said: Said, key: str) -> Iterator[str]:
    for each in _words(said, key):
        yield each.lstrip(_PREFIXES)


def _words(said: Said, key: str) -> Iterator[str]:
    for value in said.get(key, ()):
        try:
            words = shlex.split(value)
        except ValueError:  # which systemd passes over as well
            continue
        yield from map(_expanded, words)


def _expanded(word: str) -> str:
    return _SPECIFIER.sub(lambda found: _SPECIFIERS.get(found[0], found[0]), word)


def _last(said: Said, key: str) -> str:
    return said[key][-1].lower() if said.get(key) else ""
