"""Bills of materials in CycloneDX 1.5, as JSON: what a file is made of, for programs that look for known holes.

The rules are those of https://cyclonedx.org/docs/1.5/json/; the same components give the same bytes.
"""

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote, urlencode

FORMAT: Final = "CycloneDX"
VERSION: Final = "1.5"
KINDS: Final = frozenset({
    "application", "container", "data", "device", "device-driver", "file", "firmware", "framework", "library",
    "machine-learning-model", "operating-system", "platform",
})  # fmt: skip
# SPDX's identifiers that our parts have; CycloneDX takes another licence by its name only.
IDENTIFIERS: Final = frozenset({
    "0BSD", "AGPL-3.0-or-later", "Apache-2.0", "Artistic-1.0", "Artistic-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSD-4-Clause",
    "BSL-1.0", "CC0-1.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "curl", "FSFAP", "FSFUL", "FSFULLR",
    "GFDL-1.2-or-later", "GFDL-1.3-only", "GFDL-1.3-or-later", "GPL-1.0-only", "GPL-1.0-or-later", "GPL-2.0-only",
    "GPL-2.0-or-later", "GPL-3.0-only", "GPL-3.0-or-later", "ISC", "LGPL-2.0-only", "LGPL-2.0-or-later", "LGPL-2.1-only",
    "LGPL-2.1-or-later", "LGPL-3.0-only", "LGPL-3.0-or-later", "MIT", "MIT-0", "MPL-1.1", "MPL-2.0", "NCSA", "OpenSSL",
    "PSF-2.0", "Python-2.0", "Unicode-DFS-2016", "Unlicense", "W3C", "WTFPL", "X11", "Zlib",
})  # fmt: skip
_EXPRESSION: Final = re.compile(r"\(*[\w.+-]+\)*(?: (?:AND|OR|WITH) \(*[\w.+-]+\)*)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One part.

    `kind` is one of CycloneDX's: `application`, `library`, `firmware`, `operating-system`, `file`.  `licences` are SPDX's
    identifiers or expressions, or names that only people know.  `sha256` is the digest of the part as one file, where it is one;
    `parts` are what it is made of itself, and `properties` what has no other place, by names of ours.
    """

    kind: str
    name: str
    version: str = ""
    purl: str = ""
    licences: Sequence[str] = ()
    sha256: str = ""
    publisher: str = ""
    parts: Sequence["Component"] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


def package_url(kind: str, name: str, version: str, namespace: str = "", **qualifiers: str) -> str:
    """A purl (https://github.com/package-url/purl-spec), such as `pkg:deb/debian/zstd@1.5.4?arch=amd64`."""
    words = [quote(word, safe="") for word in (kind, *filter(None, [namespace]), name)]
    behind = urlencode(
        {key: value for key, value in sorted(qualifiers.items()) if value}, quote_via=quote, safe="/:~.-"
    )
    return f"pkg:{'/'.join(words)}@{quote(version, safe='~:')}" + (f"?{behind}" if behind else "")


def written(subject: Component, components: Sequence[Component], timestamp: str = "") -> str:
    """The document of the file `subject`, made of these; `timestamp`, in RFC 3339, is when its sources were as they are.

    The serial number is made of the content, so that two documents that differ have two.
    """
    named = sorted(components, key=lambda each: (each.kind, each.name, each.version, each.purl))
    references: dict[str, int] = {}
    whole = _component(subject, references)
    parts = [_component(each, references) for each in named]
    document: dict[str, Any] = {
        "bomFormat": FORMAT,
        "specVersion": VERSION,
        "version": 1,
        "metadata": {**({"timestamp": timestamp} if timestamp else {}), "component": whole},
        "components": parts,
        "dependencies": [
            {"ref": whole["bom-ref"], "dependsOn": [each["bom-ref"] for each in parts]},
            *({"ref": each["bom-ref"]} for each in parts),
        ],
    }
    digest = sha256(json.dumps(document, sort_keys=True).encode()).digest()
    document["serialNumber"] = f"urn:uuid:{uuid.UUID(bytes=digest[:16], version=5)}"
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def read(text: str) -> tuple[Component, ...]:
    """The components of such a document, of ours or another's; a kind of another version counts as a library.

    Raises ValueError where it is none.
    """
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("bomFormat") != FORMAT:
        raise ValueError(f"no bill of materials in the format {FORMAT}")
    try:
        return tuple(_read(each) for each in document.get("components", ()))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"a component is not as {FORMAT} has it: {error}") from None


def _component(one: Component, references: dict[str, int]) -> dict[str, Any]:
    name = one.purl or f"{one.kind}:{one.name}@{one.version}"
    references[name] = references.get(name, 0) + 1
    reference = name if references[name] == 1 else f"{name}#{references[name]}"
    entry: dict[str, Any] = {"type": one.kind, "bom-ref": reference, "name": one.name}
    if one.version:
        entry["version"] = one.version
    if one.purl:
        entry["purl"] = one.purl
    if one.publisher:
        entry["publisher"] = one.publisher
    if one.licences:
        entry["licenses"] = _licences(one.licences)
    if one.sha256:
        entry["hashes"] = [{"alg": "SHA-256", "content": one.sha256}]
    if one.parts:
        parts = sorted(one.parts, key=lambda each: (each.kind, each.name, each.version, each.purl))
        entry["components"] = [_component(each, references) for each in parts]
    if one.properties:
        entry["properties"] = [{"name": name, "value": value} for name, value in sorted(one.properties.items())]
    return entry


def _licences(names: Sequence[str]) -> list[dict[str, Any]]:
    """An expression stands alone, as the schema wants it."""
    unique = list(dict.fromkeys(names))
    if len(unique) == 1 and _EXPRESSION.fullmatch(unique[0]):
        return [{"expression": unique[0]}]
    return [{"license": {"id" if name in IDENTIFIERS else "name": name}} for name in unique]


def _read(entry: Mapping[str, Any]) -> Component:
    licences = []
    for each in entry.get("licenses", ()):
        licence = each.get("license", {})
        licences.append(str(each.get("expression") or licence.get("id") or licence.get("name")))
    hashes = {each["alg"]: str(each["content"]) for each in entry.get("hashes", ())}
    return Component(
        kind=entry["type"] if entry["type"] in KINDS else "library",
        name=str(entry["name"]),
        version=str(entry.get("version", "")),
        purl=str(entry.get("purl", "")),
        licences=tuple(licences),
        sha256=hashes.get("SHA-256", ""),
        publisher=str(entry.get("publisher", "")),
        parts=tuple(_read(each) for each in entry.get("components", ())),
        properties={str(each["name"]): str(each.get("value", "")) for each in entry.get("properties", ())},
    )
