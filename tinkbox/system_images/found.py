"""What is found of a root file system, as the confined process that reads it tells it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from tinkbox.wire.disk.bootable_disk import Identities

MOST_WARNINGS: Final = 20
MAX_TOLD: Final = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the disk has to be for a system; `warnings` are sentences for the person who brought it."""

    file_system: UUID
    label: str
    identities: Identities
    warnings: Sequence[str]


def encode_found(found: Found) -> bytes:
    """As the process that reads a tar tells it."""
    ids = found.identities
    document = {
        "file_system": str(found.file_system),
        "disk": str(ids.disk),
        "root": str(ids.root),
        "bios_boot": str(ids.bios_boot),
        "esp": str(ids.esp),
        "esp_serial": ids.esp_serial,
        "label": found.label,
        "warnings": _told(found.warnings),
    }
    return json.dumps(document).encode()


def _told(warnings: Sequence[str]) -> list[str]:
    """As many as are believed; what is left out is counted."""
    if len(warnings) <= MOST_WARNINGS:
        return list(warnings)
    told = warnings[: MOST_WARNINGS - 1]
    return [
        *told,
        f"there are {len(warnings) - len(told)} more warnings: mend what these are about, and import it again",
    ]


def decode_found(content: bytes) -> Found:
    """The same, from a process that is not believed; raises ValueError."""
    try:
        document = json.loads(content)
        disk, root, bios_boot, esp, made = (
            UUID(document[name]) for name in ("disk", "root", "bios_boot", "esp", "file_system")
        )
        serial, label, warnings = document["esp_serial"], document["label"], document["warnings"]
        if type(serial) is not int or not 0 <= serial < 1 << 32:
            raise ValueError("no serial number")
        if not isinstance(label, str) or type(warnings) is not list or not all(type(each) is str for each in warnings):
            raise ValueError("no texts")
        if len(warnings) > MOST_WARNINGS:
            raise ValueError("too many warnings")
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    ids = Identities(disk=disk, root=root, bios_boot=bios_boot, esp=esp, esp_serial=serial)
    return Found(file_system=made, label=label, identities=ids, warnings=tuple(warnings))
