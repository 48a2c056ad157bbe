"""Versions as github.com/Masterminds/semver v3.3.0 reads and orders them: up to three numbers, `v` in front or not."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.arguments import Function, typed

NUMBER_LIMIT = 1 << 64
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
    if any(part.isdigit() and part != "0" and part.startswith("0") for part in prerelease.split(".")):
        raise GoError("Version segment starts with 0")
    return Version(
        major=numbers[0],
        minor=numbers[1],
        patch=numbers[2],
        prerelease=prerelease,
        metadata=match["metadata"] or "",
        original=text,
    )


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


def semver(text: str) -> dict[str, object]:
    """Read a version into a map with the names of the Go type's methods: Major, Minor, Patch, Prerelease and so on."""
    version = parse(text)
    return {
        "Major": version.major,
        "Minor": version.minor,
        "Patch": version.patch,
        "Prerelease": version.prerelease,
        "Metadata": version.metadata,
        "Original": version.original,
    }


FUNCTIONS: Mapping[str, Function] = {"semver": typed(semver, "string")}
