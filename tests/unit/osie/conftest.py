"""A package mirror of three lines, and the two programs that talk to it, on PATH."""

import stat
from dataclasses import dataclass
from pathlib import Path

import pytest

APT = """#!/bin/sh
echo "$@" >> "$FAKE/calls"
architecture=amd64
while [ $# -gt 0 ]; do
    case $1 in
    -o) case $2 in Dir::State::lists=*) lists=${2#*=} ;; APT::Architecture=*) architecture=${2#*=} ;; esac; shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
verb=$1
shift
if [ -e "$FAKE/broken" ]; then echo "W: Failed to fetch http://mirror/InRelease  no route" >&2; fi
case $verb in
update) [ -e "$FAKE/broken" ] || touch "$lists/mirror_main_Packages" ;;
install)
    if ! ls "$lists"/*_Packages >/dev/null 2>&1 || echo "$*" | grep -q nonsense; then
        echo "E: Unable to locate package ${3:-$2}" >&2
        exit 100
    fi
    grep -F "[$architecture]" "$FAKE/mirror"
    ;;
download)
    for one in "$@"; do
        [ -e "$FAKE/broken" ] && exit 100
        grep -q "Inst ${one%%=*} (${one#*=} " "$FAKE/mirror" || { echo "E: 404 ${one}" >&2; exit 100; }
        name=$(echo "$one" | sed 's/=/_/; s/:/%3a/')
        echo "${one%%=*}" > "${name}_$architecture.deb"
    done
    ;;
esac
"""
# Of a component, what the lines `Component NAME` of the mirror name.
APT_CACHE = """#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in -o) shift 2 ;; -*) shift ;; *) break ;; esac
done
shift
status=0
for name in "$@"; do
    grep -qx "Component $name" "$FAKE/mirror" || { echo "E: No packages found: $name" >&2; status=100; continue; }
    version=$(sed -n "s/^Inst $name (\\([^ ]*\\) .*/\\1/p" "$FAKE/mirror")
    printf 'Package: %s\\nVersion: %s\\nArchitecture: amd64\\nDescription: x\\n\\n' "$name" "$version"
done
exit $status
"""
DPKG_DEB = """#!/bin/sh
name=$(cat "$2")
[ "$name" = corrupt ] && { echo "not a Debian archive" >&2; exit 2; }
case $1 in
--field) printf 'Package: %s\nSource: source-of-%s (1:2)\nMaintainer: Somebody <s@example.org>\n' "$name" "$name"; exit ;;
--info) cd "$FAKE/content/$name" && find * -type f -printf '0123456789abcdef0123456789abcdef  %p\n'; exit ;;
esac
if [ -d "$FAKE/content/$name" ]; then cp -R "$FAKE/content/$name/." "$3"; else mkdir -p "$3/unpacked"; touch "$3/unpacked/$name"; fi
"""
MIRROR = """Inst zlib1g (1:1.2.13 Debian:12.11/stable [amd64])
Inst libc6 (2.36-9 Debian:12.11/stable, Debian-Security:12/stable-security [amd64])
Inst zstd (1.5.4 Debian:12.11/stable [amd64])
Conf zstd (1.5.4 Debian:12.11/stable [amd64])
"""


@dataclass
class Mirror:
    """What the fake programs serve; `content/<package>/` is what a package unpacks to."""

    folder: Path

    def serve(self, text: str) -> None:
        (self.folder / "mirror").write_text(text)

    def break_down(self) -> None:
        (self.folder / "broken").touch()

    def come_back(self) -> None:
        (self.folder / "broken").unlink()

    def calls(self) -> list[str]:
        """The verbs that apt-get was called with."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [next(word for word in line.split() if word in {"update", "install", "download"}) for line in lines]

    def options(self) -> str:
        return (self.folder / "calls").read_text()

    def content(self, package: str, path: str, data: str | bytes = "x", mode: int = 0o644) -> None:
        file = self.folder / "content" / package / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        file.chmod(mode)


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    folder = tmp_path / "mirror"
    programs = folder / "programs"
    programs.mkdir(parents=True)
    for name, text in {"apt-get": APT, "apt-cache": APT_CACHE, "dpkg-deb": DPKG_DEB}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("FAKE", str(folder))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    mirror = Mirror(folder)
    mirror.serve(MIRROR)
    return mirror
