"""Numbers of bytes as people write them: `512MiB`, `1.5GiB`, Docker's `512m`, or plain bytes."""

import re

from tinkbox.model.errors import Invalid
from tinkbox.model.text import counted

UNITS = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
_DOCKERS = {"k": "KiB", "m": "MiB", "g": "GiB"}
_WRITTEN = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,3}))? ?([KMGT]iB|[kmg]b?)?\Z", re.ASCII)


def parse_size(text: str) -> int:
    """The bytes that a text means; raises Invalid."""
    found = _WRITTEN.match(text.strip())
    if found is None or (found[2] and not found[3]):
        raise Invalid(f"{text[:40]!r} is no size: write 512MiB, 1.5GiB, or plain bytes")
    unit = found[3] or ""
    return int(float(f"{found[1]}.{found[2] or 0}") * UNITS.get(_DOCKERS.get(unit[:1], unit), 1))


def show_size(size: int) -> str:
    """A number of bytes in its largest unit, with at most one decimal: `1.5GiB`, `900 bytes`."""
    for unit, worth in UNITS.items():
        if size >= worth:
            return f"{size / worth:.1f}".removesuffix(".0") + unit
    return counted(size, "byte")
