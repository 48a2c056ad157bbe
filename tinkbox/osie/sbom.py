"""What an OSIE is made of, as a bill of materials in CycloneDX: the packages of which a file is in it, and the worker."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tinkbox import __version__
from tinkbox.model.errors import Invalid
from tinkbox.osie import copyright as copyrights
from tinkbox.osie.debian import Package, control
from tinkbox.wire.cyclonedx import Component, package_url, read

NAME: Final = "osie.cdx.json"
# Beside a program, the bill of what it carries.
SUFFIX: Final = ".cdx.json"
KERNEL: Final = "linux-image-"
FIRMWARE: Final = "firmware-"
# Packages whose code was linked into this one, such as Go's libraries.
_BUILT_USING: Final = ("Built-Using", "Static-Built-Using")
_BUILT: Final = re.compile(r"(?P<name>[a-z0-9][a-z0-9+.-]+) \(= (?P<version>[^)]+)\)")
_SOURCE: Final = re.compile(r"(?P<name>[a-z0-9][a-z0-9+.-]+)(?: \((?P<version>[^)]+)\))?")
# More than one link from one package's documents to another's has no package.
_LINKS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """The parts of a program, and when its sources were as they are, in RFC 3339 or empty."""

    components: tuple[Component, ...]
    timestamp: str


def debian_package(
    fields: Mapping[str, str],
    copyright_text: str,
    distribution: str = "",
    *,
    sha256: str = "",
    files: Iterable[Component] = (),
) -> Component:
    """A package by the fields of its control file (Debian Policy 5.3) and its copyright file.

    `distribution` is such as `debian-12`; `sha256` is the digest of the package's file; `files` are those that are carried.
    """
    name, version = fields["Package"], fields["Version"]
    source = _SOURCE.fullmatch(fields.get("Source", name))
    upstream = f"{source['name']}@{source['version'] or version}" if source and fields.get("Source") else ""
    built = {
        (match["name"], match["version"]) for field in _BUILT_USING for match in _BUILT.finditer(fields.get(field, ""))
    }
    vendor = distribution.partition("-")[0] or "debian"
    linked = (
        Component(
            kind="library",
            name=each,
            version=of,
            purl=package_url("deb", each, of, vendor, arch="source", distro=distribution),
            licences=(f"as in the package {each}",),
        )
        for each, of in sorted(built)
    )
    return Component(
        kind="operating-system" if name.startswith(KERNEL) else "firmware" if name.startswith(FIRMWARE) else "library",
        name=name,
        version=version,
        purl=package_url(
            "deb", name, version, vendor, arch=fields.get("Architecture", ""), distro=distribution, upstream=upstream
        ),
        licences=copyrights.licences(copyright_text) or (f"as in /usr/share/doc/{name}/copyright",),
        sha256=sha256,
        publisher=fields.get("Maintainer", ""),
        parts=(*linked, *files),
    )


def used(packages: Sequence[Package], root: Path, files: Iterable[Path], distribution: str) -> list[Component]:
    """Those of the packages, unpacked in `root`, of which one of these files is.

    A package that does not list its files counts as used.  Raises Unavailable for a damaged one.
    """
    top = root.resolve()
    carried = {str(path.relative_to(top)) for each in files if (path := each.resolve()).is_relative_to(top)}
    carried = {name.removeprefix("usr/") for name in carried}
    found = []
    for package in packages:
        if package.archive is None:
            continue
        told = control(package.archive)
        if told.files and not told.files & carried:
            continue
        fields = {
            **told.fields,
            "Package": package.name,
            "Version": package.version,
            "Architecture": package.architecture,
        }
        digest = sha256(package.archive)
        found.append(debian_package(fields, copyright_text(root, package.name), distribution, sha256=digest))
    return found


def copyright_text(root: Path, package: str) -> str:
    """A package's copyright file below this root, by the links that lead from one package's documents to another's."""
    place = root / "usr/share/doc" / package
    for _ in range(_LINKS):
        if not place.is_symlink():
            break
        place = place.parent / place.readlink().name
    path = place / "copyright"
    return path.read_text(errors="replace") if path.is_file() and not path.is_symlink() else ""


def beside(program: Path) -> Path:
    """Where the bill of a program lies, or of a file tree that is one."""
    return program.with_name(f"{program.name}{SUFFIX}")


def read_bill(text: str, place: str, program: Path) -> Bill:
    """A program's bill; `place` is where it was found.  Raises Invalid, for one of another program as well."""
    try:
        components = read(text)
        about = json.loads(text).get("metadata", {})
        timestamp = about.get("timestamp", "")
        digests = [each["content"] for each in about.get("component", {}).get("hashes", ()) if each["alg"] == "SHA-256"]
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise Invalid(
            f"{place} is no bill of materials ({error}): make it again with `make binary`, or remove it"
        ) from None
    if digests and program.is_file() and sha256(program) not in digests:
        raise Invalid(f"{place} is of another program than {program}: make both again with `make binary`, or remove it")
    return Bill(components=components, timestamp=str(timestamp))


def sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def worker(program: Path, bill: Bill) -> Component:
    """The program tinkbox, as a part of an OSIE."""
    return Component(
        kind="application",
        name="tinkbox",
        version=__version__,
        purl=package_url("generic", "tinkbox", __version__),
        licences=("Apache-2.0",),
        sha256=sha256(program) if program.is_file() else "",
        parts=bill.components,
    )
