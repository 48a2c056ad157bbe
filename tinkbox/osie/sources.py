"""The package sources of this machine, with a component that it does not take itself.

Nothing below /etc/apt is changed: what is made here is a list of its own.  See sources.list(5).
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

APT: Final = Path("/etc/apt")
MAIN: Final = "main"
# Debian's own names of its releases, beside the one that the machine has.
_SUITES: Final = ("oldoldstable", "oldstable", "stable", "testing", "unstable", "sid")
_LINE: Final = re.compile(r"deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>\S.*)")
_OPTIONS: Final[Mapping[str, str]] = {
    "signed-by": "Signed-By",
    "trusted": "Trusted",
    "check-valid-until": "Check-Valid-Until",
}


def with_component(component: str, release: str, apt: Path = APT) -> str:
    """The sources of this machine's release, each with `component` instead of its own, in the format deb822.

    `release` is its code name, such as `bookworm`.  Sources of others are left out: they have no such component.
    Empty when there are none.
    """
    found = [_written(entry, component) for entry in _entries(apt) if _is_of(entry, release)]
    return "\n".join(dict.fromkeys(found))


def _entries(apt: Path) -> Iterator[Mapping[str, str]]:
    """Each source as its fields; of a value that is a key, the lines as they are."""
    folder = apt / "sources.list.d"
    for path in (apt / "sources.list", *sorted(folder.glob("*.list"))):
        yield from _of_lines(_read(path))
    for path in sorted(folder.glob("*.sources")):
        yield from _of_stanzas(_read(path))


def _of_lines(text: str) -> Iterator[Mapping[str, str]]:
    for line in text.splitlines():
        match = _LINE.fullmatch(line.partition("#")[0].strip())
        if match is None:
            continue
        options = (each.partition("=") for each in (match["options"] or "").split())
        yield {
            "types": "deb",
            "uris": match["uri"],
            "suites": match["suite"],
            "components": match["components"],
            **{_OPTIONS[name].lower(): value for name, _, value in options if name in _OPTIONS},
        }


def _of_stanzas(text: str) -> Iterator[Mapping[str, str]]:
    for stanza in re.split(r"\n\s*\n", text):
        fields: dict[str, str] = {}
        name = ""
        for line in stanza.splitlines():
            if line.startswith("#"):
                continue
            if line[:1].isspace():
                fields[name] = f"{fields.get(name, '')}\n{line}"
                continue
            name, _, value = line.partition(":")
            name = name.strip().lower()
            fields[name] = value.strip()
        if fields:
            yield fields


def _is_of(entry: Mapping[str, str], release: str) -> bool:
    suites = entry.get("suites", "").split()
    return (
        "deb" in entry.get("types", "").split()
        and entry.get("enabled", "yes").lower() not in ("no", "false", "0")
        and MAIN in entry.get("components", "").split()
        and any(re.split(r"[-/]", suite)[0] in (release, *_SUITES) for suite in suites)
    )


def _written(entry: Mapping[str, str], component: str) -> str:
    kept = {name: entry[name.lower()] for name in ("URIs", "Suites", *_OPTIONS.values()) if name.lower() in entry}
    fields = {"Types": "deb", **kept, "Components": component}
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
