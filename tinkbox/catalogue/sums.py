"""Files of checksums, as `sha256sum`, BSD's `sha256` and their like write them: which file has which digest.  Pure."""

import re
from collections.abc import Mapping
from typing import Final

from tinkbox.model.errors import Invalid

MAX_LINE: Final = 1024
_ALGORITHMS: Final[Mapping[int, str]] = {64: "sha256", 128: "sha512"}
_GNU: Final = re.compile(r"([0-9a-fA-F]{64}|[0-9a-fA-F]{128})(?:[ \t]+\*?(?:\./)?(\S+))?\Z")
_BSD: Final = re.compile(r"SHA(?:256|512) \((?:\./)?([^()]+)\) = ([0-9a-fA-F]{64}|[0-9a-fA-F]{128})\Z")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+~-]{0,254}\Z")
# In place of a name in a file that is nothing but the digest of the one it stands beside.
UNNAMED: Final = ""


def parse_sums(content: bytes) -> Mapping[str, str]:
    """Each file's digest, `sha512:…` rather than `sha256:…`; UNNAMED for a digest that stands alone.

    What is no such line is left alone, as is a name that is more than a name.  Raises Invalid for a file that has two digests of one kind.
    """
    found: dict[tuple[str, str], str] = {}
    for line in content.decode("utf-8", "replace").split("\n"):
        named = _line(line.strip()) if len(line) <= MAX_LINE else None
        if named is None:
            continue
        name, digits = named
        algorithm = _ALGORITHMS[len(digits)]
        if found.setdefault((name, algorithm), digits) != digits:
            raise Invalid(f"the checksums have two digests of {name or 'one file'}: ask its publisher which is right")
    strongest = sorted(found.items())  # sha512 comes behind sha256 and wins
    return {name: f"{algorithm}:{digits}" for (name, algorithm), digits in strongest}


def _line(text: str) -> tuple[str, str] | None:
    if bsd := _BSD.match(text):
        name, digits = bsd[1], bsd[2]
    elif gnu := _GNU.match(text):
        name, digits = gnu[2] or UNNAMED, gnu[1]
    else:
        return None
    return (name, digits.lower()) if name == UNNAMED or _NAME.match(name) else None


def newest(names: Mapping[str, re.Match[str]]) -> str:
    """The newest of names that a pattern matched: by their groups, where numbers count as numbers."""
    return max(names, key=lambda name: order(names[name]))


def order(match: re.Match[str]) -> tuple[tuple[int, int, str], ...]:
    """What matches are put in order by: 3.9 comes before 3.10."""
    return order_of_version("\0".join(group or "" for group in match.groups()) if match.groups() else match[0])


def order_of_version(text: str) -> tuple[tuple[int, int, str], ...]:
    """The same for a text."""
    parts = re.findall(r"[0-9]+|[^0-9]+", text)
    return tuple((1, int(part[:18]), "") if part[0].isdigit() else (0, 0, part) for part in parts)
