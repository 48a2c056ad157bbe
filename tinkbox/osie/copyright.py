"""The licences that a Debian package's copyright file names, by SPDX's identifiers where there are such.

https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/ is the form that most of them have; of the others only those
texts are known that they point to below /usr/share/common-licenses.
"""

import re
from typing import Final

_FIELD: Final = re.compile(r"^License:[ \t]*(\S[^\n]*)$", re.MULTILINE | re.IGNORECASE)
_FORM: Final = re.compile(r"^Format(-Specification)?:", re.MULTILINE | re.IGNORECASE)
_COMMON: Final = re.compile(r"/usr/share/common-licenses/([A-Za-z]+(?:-\d+(?:\.\d+)?)?)")
_BETWEEN: Final = re.compile(r"\s+(?:and/or|and|or)\s+|\s*,\s*(?:and\s+|or\s+)?", re.IGNORECASE)
_GNU: Final = re.compile(r"(A?GPL|LGPL|GFDL)-?v?(\d+(?:\.\d+)?)(\+?)", re.IGNORECASE)
_SPDX: Final = {
    "apache-2": "Apache-2.0", "apache-2.0": "Apache-2.0", "artistic": "Artistic-1.0", "artistic-2": "Artistic-2.0",
    "bsd": "BSD-3-Clause", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause", "bsd-4-clause": "BSD-4-Clause",
    "bsd-2-clauses": "BSD-2-Clause", "bsd-3-clauses": "BSD-3-Clause", "cc0": "CC0-1.0", "cc0-1.0": "CC0-1.0",
    "expat": "MIT", "isc": "ISC", "mit": "MIT", "mpl-1.1": "MPL-1.1", "mpl-2.0": "MPL-2.0", "openssl": "OpenSSL",
    "psf-2": "PSF-2.0", "zlib": "Zlib",
}  # fmt: skip


def licences(text: str) -> tuple[str, ...]:
    """What it names, sorted; empty where it names none in a form that is known."""
    if _FORM.search(text):
        named = [name for line in _FIELD.findall(text) for name in _BETWEEN.split(line)]
    else:
        named = _COMMON.findall(text)
    return tuple(sorted({identifier(name) for each in named if (name := each.strip(" .;()"))}))


def identifier(name: str) -> str:
    """SPDX's identifier of what Debian calls a licence, or else that name: `GPL-2+` is GPL-2.0-or-later."""
    plain = name.partition(" with ")[0] if _GNU.match(name) else name
    if gnu := _GNU.fullmatch(plain):
        kind, version, later = gnu[1].upper(), gnu[2], gnu[3]
        version = version if "." in version else f"{version}.0"
        found = f"{kind}-{version}-{'or-later' if later else 'only'}"
        return found if plain == name else f"{found} WITH {name.partition(' with ')[2].strip()}"
    return _SPDX.get(name.lower(), name)
