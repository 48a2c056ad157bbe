"""Root file systems from Debian packages, without installing anything on this machine.

Apt resolves and downloads with this machine's sources, keys and proxies, but with state and cache folders
of its own and an empty list of installed packages; `dpkg-deb` unpacks.  No package's script is run.
"""

import fcntl
import hashlib
import json
import platform
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.osie.programs import run
from tinkbox.osie.sources import with_component

_CHOSEN: Final = re.compile(r"^Inst (?P<name>\S+) \((?P<version>\S+) .*\[(?P<architecture>\w+)\]\)", re.MULTILINE)
_FIELD: Final = re.compile(r"^(Package|Version|Architecture): (\S+)$", re.MULTILINE)
_CONTROL: Final = re.compile(r"^(?P<name>[A-Za-z-]+): (?P<value>[^\n]+)$", re.MULTILINE)
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_COMPLAINT: Final = re.compile(r"^[EW]: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package as apt chose it; `archive` is its file where it was unpacked from one."""

    name: str
    version: str
    architecture: str
    archive: Path | None = field(default=None, compare=False, repr=False)

    @property
    def file_name(self) -> str:
        """What `apt-get download` calls it."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"


def unpack(
    packages: Sequence[str],
    root: Path,
    *,
    cache: Path,
    exclude: Sequence[str] = (),
    architecture: str = "",
    component: str = "",
) -> tuple[Package, ...]:
    """Unpack these packages and what they depend on, but not the excluded, into the folder `root`.

    `exclude` are names, or patterns of names (`libperl5.*`) where releases differ.  Everything comes to lie below
    `root`/usr, with /bin, /lib and the others as links to it, whether packages still name those places (Debian 12) or not
    any more (Debian 13).
    `architecture` is Debian's name for one that is not this machine's.  `cache` keeps what was downloaded and what was
    resolved: the second time neither mirror nor network is needed, and the versions are the same.  Remove it to get
    newer ones.  With `component` they come from that component alone, such as `non-free-firmware`, whether this machine's
    sources name it or not; those that the release does not have are left out.  Returns what was unpacked, with its files.
    Raises Invalid for a package that the sources do not have, Unavailable when they cannot be reached.
    """
    wrong = [name for name in packages if not _NAME.fullmatch(name)]
    wrong += [pattern for pattern in exclude if not _NAME.fullmatch(pattern.replace("*", "+"))]
    if wrong:
        raise Invalid(f"no names of Debian packages: {', '.join(map(repr, wrong))}")
    folder = cache.absolute() / "-".join(filter(None, (_release(), architecture, component)))
    with _alone_in(folder):
        apt = Apt(folder, architecture, component)
        kept = folder / "resolved" / f"{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:16]}.json"
        chosen = _remembered(kept)
        if not chosen or apt.missing(_without(exclude, chosen)):
            chosen = _fetch(apt, packages, exclude)
            kept.parent.mkdir(exist_ok=True)
            kept.write_text(json.dumps([[one.name, one.version, one.architecture] for one in chosen], indent=0))
        wanted = _without(exclude, chosen)
        root.mkdir(parents=True, exist_ok=True)
        for package in wanted:
            _extract(apt.archives / package.file_name, root)
    for name in ("bin", "lib", "lib64", "sbin"):
        _merge(root / name, root / "usr" / name)
        (root / name).symlink_to(f"usr/{name}")
    return tuple(replace(package, archive=apt.archives / package.file_name) for package in wanted)


@dataclass(frozen=True, slots=True)
class Control:
    """What a package tells of itself: its fields, and the regular files that it has, without the `usr/` before them."""

    fields: Mapping[str, str]
    files: frozenset[str]


def control(archive: Path) -> Control:
    """Read it from a package's file; of one that lists no files there are none.  Raises Unavailable for a damaged one."""
    answer = run(["dpkg-deb", "--field", str(archive)])
    if answer.returncode:
        raise Unavailable(
            f"{archive.name} could not be read ({answer.stderr.strip()[-200:]}): remove the cache and try again"
        )
    sums = run(["dpkg-deb", "--info", str(archive), "md5sums"])
    lines = sums.stdout.splitlines() if sums.returncode == 0 else ()
    names = (line.partition("  ")[2] for line in lines)
    return Control(
        fields={match["name"]: match["value"] for match in _CONTROL.finditer(answer.stdout)},
        files=frozenset(name.removeprefix("./").removeprefix("usr/") for name in names if name),
    )


class Apt:
    """`apt-get` with everything it writes below `folder`, for this machine's architecture or another.

    With `component` it knows only what that has.
    """

    def __init__(self, folder: Path, architecture: str = "", component: str = "") -> None:
        self._foreign = (
            (f"APT::Architecture={architecture}", f"APT::Architectures={architecture}") if architecture else ()
        )
        self.archives = folder / "archives"
        self._state = folder / "apt"
        self._indexes = self._state / "lists"
        for path in (self.archives, self._indexes / "partial", self._state / "archives" / "partial"):
            path.mkdir(parents=True, exist_ok=True)
        (self._state / "status").touch()
        self._sources: tuple[str, ...] = ()
        if component:
            path = self._state / f"{component}.sources"
            path.write_text(with_component(component, _codename()))
            self._sources = (f"Dir::Etc::sourcelist={path}", "Dir::Etc::sourceparts=/dev/null")

    @property
    def updated(self) -> bool:
        """Whether there are package indexes to resolve with."""
        return any(self._indexes.glob("*_Packages*"))

    def update(self) -> str:
        """Fetch the indexes of all sources; returns what apt complained about, which may not matter here."""
        return _complaints(self._run("update").stderr)

    def resolve(self, packages: Sequence[str]) -> tuple[Package, ...]:
        """What would be installed on an empty machine, of a component just these.  Raises Invalid when that cannot be."""
        if self._sources:
            return self._of_component(packages)
        answer = self._run("install", "--simulate", "--no-install-recommends", *packages)
        chosen = tuple(
            Package(name=match["name"], version=match["version"], architecture=match["architecture"])
            for match in _CHOSEN.finditer(answer.stdout)
        )
        if answer.returncode or not chosen:
            raise Invalid(_complaints(answer.stderr) or answer.stdout.strip()[-300:])
        return chosen

    def _of_component(self, packages: Sequence[str]) -> tuple[Package, ...]:
        """Those of them that it has; what they depend on may be of another component, and is not needed to unpack them."""
        answer = self._run("show", "--no-all-versions", *packages, program="apt-cache")
        found = (dict(_FIELD.findall(stanza)) for stanza in answer.stdout.split("\n\n"))
        chosen = tuple(
            Package(name=each["Package"], version=each["Version"], architecture=each["Architecture"])
            for each in found
            if each.keys() >= {"Package", "Version", "Architecture"}
        )
        if not chosen:
            raise Invalid(_complaints(answer.stderr) or "they have no such packages")
        return chosen

    def missing(self, packages: Sequence[Package]) -> list[Package]:
        return [package for package in packages if not (self.archives / package.file_name).is_file()]

    def download(self, packages: Sequence[Package]) -> None:
        """Raises Unavailable; what apt verified by then is kept."""
        if not packages:
            return
        arriving = self._state / "arriving"
        arriving.mkdir(exist_ok=True)
        answer = self._run("download", *(f"{one.name}={one.version}" for one in packages), folder=arriving)
        if answer.returncode == 0:
            for path in arriving.glob("*.deb"):
                path.replace(self.archives / path.name)
        if left := self.missing(packages):
            reason = _complaints(answer.stderr) or "apt gave no reason"
            raise Unavailable(
                f"{len(left)} packages could not be downloaded ({left[0].name}, …): {reason}: "
                "is the package mirror reachable from here?"
            )

    def _run(
        self, *arguments: str, folder: Path | None = None, program: str = "apt-get"
    ) -> subprocess.CompletedProcess[str]:
        options = (
            f"Dir::State={self._state}",
            f"Dir::State::lists={self._indexes}",
            f"Dir::State::status={self._state / 'status'}",
            f"Dir::Cache={self._state}",
            "Acquire::Languages=none",
            "Acquire::Retries=3",
            "Acquire::http::Timeout=20",
            "Acquire::https::Timeout=20",
            "APT::Sandbox::User=root",  # the usual one cannot write below /root
            "APT::Get::AllowUnauthenticated=false",
            *self._foreign,
            *self._sources,
        )
        flags = ("-q", "-y") if program == "apt-get" else ("-q",)
        command = [program, *flags, *(word for option in options for word in ("-o", option)), *arguments]
        return run(command, folder=folder)


def _fetch(apt: Apt, packages: Sequence[str], exclude: Sequence[str]) -> tuple[Package, ...]:
    """Resolve and download; indexes that are there are tried first, as the mirror may have moved on."""
    if apt.updated:
        try:
            chosen = apt.resolve(packages)
            apt.download(apt.missing(_without(exclude, chosen)))
        except (Invalid, Unavailable):
            pass
        else:
            return chosen
    complaints = apt.update()
    try:
        chosen = apt.resolve(packages)
    except Invalid as error:
        if complaints:
            raise Unavailable(
                f"the package mirror of /etc/apt cannot be reached: {complaints}: check the network and the proxy"
            ) from None
        raise Invalid(f"the sources in /etc/apt do not give {' '.join(packages)}: {error}") from None
    apt.download(apt.missing(_without(exclude, chosen)))
    return chosen


def _without(exclude: Sequence[str], packages: Sequence[Package]) -> tuple[Package, ...]:
    return tuple(package for package in packages if not any(fnmatchcase(package.name, each) for each in exclude))


def _merge(source: Path, target: Path) -> None:
    """Move what is in one folder into another, which may have folders of the same names."""
    target.mkdir(parents=True, exist_ok=True)
    if not source.exists():
        return
    for path in source.iterdir():
        there = target / path.name
        if path.is_dir() and not path.is_symlink() and there.is_dir():
            _merge(path, there)
        else:
            path.replace(there)
    source.rmdir()


def _remembered(kept: Path) -> tuple[Package, ...]:
    try:
        entries = json.loads(kept.read_text())
        return tuple(Package(name=name, version=version, architecture=where) for name, version, where in entries)
    except (OSError, ValueError):
        return ()


def _extract(archive: Path, root: Path) -> None:
    answer = run(["dpkg-deb", "--extract", str(archive), str(root)])
    if answer.returncode:
        archive.unlink(missing_ok=True)
        why = answer.stderr.strip()[-200:]
        raise Unavailable(f"{archive.name} could not be unpacked ({why}): try again, it will be downloaded anew")


def _complaints(text: str) -> str:
    """Apt's errors, or else its warnings, the first few in one line."""
    seen = dict.fromkeys(match[1].strip() for match in _COMPLAINT.finditer(text))
    return "; ".join(list(seen)[:3])


def of_this_release() -> str:
    """The distribution that packages are taken from, as purls name it: `debian-12`."""
    told = platform.freedesktop_os_release()
    return "-".join(filter(None, (told.get("ID", "linux"), told.get("VERSION_ID", ""))))


def _release() -> str:
    """Packages of different releases are not to be mixed."""
    return f"{platform.freedesktop_os_release().get('ID', 'linux')}-{_codename()}"


def _codename() -> str:
    return platform.freedesktop_os_release().get("VERSION_CODENAME", "unknown")


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Two builds may share a cache: the second waits."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
