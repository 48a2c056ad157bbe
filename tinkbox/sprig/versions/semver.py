"""Versions as github.com/Masterminds/semver v3.3.0 reads and orders them: up to three numbers, `v` in front or not."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tinkbox.gotemplate.values import GoError, Thing, Typed, Uint64
from tinkbox.sprig.arguments import Function, typed

NUMBER_LIMIT = 1 << 64
ALLOWED = re.compile(r"[0-9A-Za-z-]*")
IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
VERSION = re.compile(
    r"v?(?P<major>[0-9]+)(?:\.(?P<minor>[0-9]+))?(?:\.(?P<patch>[0-9]+))?"
    rf"(?:-(?P<prerelease>{IDENTIFIERS}))?(?:\+(?P<metadata>{IDENTIFIERS}))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version; `prerelease` and `metadata` are empty if there is none, `original` is the text it was read from."""

    major: int
    minor: int
    patch: int
    prerelease: str
    metadata: str
    original: str

    def __str__(self) -> str:
        prerelease, metadata = self.prerelease and f"-{self.prerelease}", self.metadata and f"+{self.metadata}"
        return f"{self.major}.{self.minor}.{self.patch}{prerelease}{metadata}"

    @property
    def numbers(self) -> tuple[int, int, int]:
        return self.major, self.minor, self.patch


def parse(text: str) -> Version:
    """Read a version, numbers that lack being 0. Raises GoError for what is none."""
    match = VERSION.fullmatch(text)
    if match is None:
        raise GoError("Invalid Semantic Version")
    numbers = [_number(match[name] or "0") for name in ("major", "minor", "patch")]
    prerelease = match["prerelease"] or ""
    for part in prerelease.split("."):
        _check_zero(part)
    return Version(
        major=numbers[0],
        minor=numbers[1],
        patch=numbers[2],
        prerelease=prerelease,
        metadata=match["metadata"] or "",
        original=text,
    )


def _check_zero(part: str) -> None:
    if part.isdigit() and part != "0" and part.startswith("0"):
        raise GoError("Version segment starts with 0")


def _number(digits: str) -> int:
    significant = digits.lstrip("0") or "0"
    if len(significant) > len(str(NUMBER_LIMIT)) or int(significant) >= NUMBER_LIMIT:
        raise GoError(f"Error parsing version segment: {digits[:40]} is out of range")
    return int(significant)


def compare(left: Version, right: Version) -> int:
    """Give -1, 0 or 1 for older, equal or newer; a prerelease is older than its release, metadata does not count."""
    if left.numbers != right.numbers:
        return 1 if left.numbers > right.numbers else -1
    return compare_prereleases(left.prerelease, right.prerelease)


def compare_prereleases(left: str, right: str) -> int:
    """Give -1, 0 or 1 for an older, equal or newer prerelease; none is newer than any."""
    if left == right:
        return 0
    one, other = _rank(left), _rank(right)
    return (one > other) - (one < other)


def _rank(prerelease: str) -> tuple[bool, list[tuple[bool, int, str]]]:
    """Order by identifiers: numbers by their value and before words; fewer are less."""
    return not prerelease, [
        (False, int(part), "") if part.isdigit() and len(part) <= len(str(NUMBER_LIMIT)) else (True, 0, part)
        for part in prerelease.split(".")
    ]


def next_patch(version: Version) -> Version:
    """Give the release of a prerelease, else the next patch."""
    return _changed(version, patch=version.patch + (not version.prerelease), prerelease="", metadata="")


def next_minor(version: Version) -> Version:
    return _changed(version, minor=version.minor + 1, patch=0, prerelease="", metadata="")


def next_major(version: Version) -> Version:
    return _changed(version, major=version.major + 1, minor=0, patch=0, prerelease="", metadata="")


def with_prerelease(version: Version, prerelease: str) -> Version:
    """Put another prerelease, or none. Raises GoError for what cannot be one."""
    for part in prerelease.split("."):
        if not ALLOWED.fullmatch(part):
            raise GoError("Invalid Prerelease string")
        _check_zero(part)
    return _changed(version, prerelease=prerelease)


def with_metadata(version: Version, metadata: str) -> Version:
    """Put other metadata, or none. Raises GoError for what cannot be some."""
    if not all(map(ALLOWED.fullmatch, metadata.split("."))):
        raise GoError("Invalid Metadata string")
    return _changed(version, metadata=metadata)


def _changed(version: Version, **changes: Any) -> Version:
    kept: dict[str, Any] = {
        name: each % NUMBER_LIMIT if isinstance(each, int) else each for name, each in changes.items()
    }
    changed: Version = replace(version, **kept)
    prefix = "v" if version.original.startswith("v") else ""
    return replace(changed, original=f"{prefix}{changed}")


class VersionValue(Thing):
    """A version as a template sees it, with the methods that Go's type has for a value of it."""

    type_name = "semver.Version"
    __slots__ = ("version",)

    def __init__(self, version: Version) -> None:
        self.version = version

    def text(self) -> str:
        return str(self.version)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.version == self.version

    def __hash__(self) -> int:
        return hash(self.version)


class VersionPointer(VersionValue):
    """What `semver` gives, which can be compared as well."""

    type_name = "*semver.Version"
    __slots__ = ()


def _method(method: Callable[..., object], *parameters: str, gives: Callable[[Any], object] | None = None) -> Typed:
    """Make a function of versions a method; of its own parameters those that are not the version itself are named."""

    def call(held: VersionValue, *arguments: object) -> object:
        others = [each.version if isinstance(each, VersionValue) else each for each in arguments]
        result = method(held.version, *others)
        return gives(result) if gives else result

    return Typed(call, *parameters)


POINTER = VersionPointer.type_name
OF_VALUES = {
    "Major": _method(lambda version: version.major, gives=Uint64),
    "Minor": _method(lambda version: version.minor, gives=Uint64),
    "Patch": _method(lambda version: version.patch, gives=Uint64),
    "Prerelease": _method(lambda version: version.prerelease),
    "Metadata": _method(lambda version: version.metadata),
    "String": _method(str),
    "Value": _method(str),
    "IncPatch": _method(next_patch, gives=VersionValue),
    "IncMinor": _method(next_minor, gives=VersionValue),
    "IncMajor": _method(next_major, gives=VersionValue),
    "SetPrerelease": _method(with_prerelease, "string", gives=VersionValue),
    "SetMetadata": _method(with_metadata, "string", gives=VersionValue),
}
OF_POINTERS = {
    "Original": _method(lambda version: version.original),
    "Compare": _method(compare, POINTER),
    "Equal": _method(lambda one, other: compare(one, other) == 0, POINTER),
    "LessThan": _method(lambda one, other: compare(one, other) < 0, POINTER),
    "LessThanEqual": _method(lambda one, other: compare(one, other) <= 0, POINTER),
    "GreaterThan": _method(lambda one, other: compare(one, other) > 0, POINTER),
    "GreaterThanEqual": _method(lambda one, other: compare(one, other) >= 0, POINTER),
}
VersionValue.methods = OF_VALUES
VersionPointer.methods = OF_VALUES | OF_POINTERS


def semver(text: str) -> VersionPointer:
    """Read a version. Raises GoError for what is none."""
    return VersionPointer(parse(text))


FUNCTIONS: Mapping[str, Function] = {"semver": typed(semver, "string")}
