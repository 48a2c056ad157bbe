"""The network cards and storage controllers of this machine, and what each lacks: a module, or firmware.

What an OSIE's modules ask for stands in `modules.firmware`, beside their index; a system without that file is no OSIE, and
nothing is told of it.
"""

from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from tinkbox.model.inventory import Device
from tinkbox.wire.kernel_log import MissingFirmware

MODULES_FIRMWARE: Final = "modules.firmware"
MOST: Final = 128
# PCI's classes, two hexadecimal digits of the class and two of the kind within it.
_KINDS: Final[Mapping[str, str]] = {"01": "storage", "02": "network"}
_WIRELESS: Final = "0280"


def devices(root: Path, modules: Path, missing: Mapping[str, MissingFirmware]) -> tuple[Device, ...]:
    """Read them below another root in tests; `modules` is the folder of the kernel's, `missing` what its log said, by place."""
    asking = _read(modules / MODULES_FIRMWARE)
    if asking is None:
        return ()
    ask = {line.split()[0] for line in asking.splitlines() if line.split()}
    left, found = dict(missing), []
    aliases: list[tuple[str, str]] | None = None
    for place in _entries(root / "sys/bus/pci/devices"):
        kind = _kind(place)
        if not kind:
            continue
        driver, module = _link(place / "driver"), _link(place / "driver/module")
        if not driver:
            aliases = list(_aliases(modules)) if aliases is None else aliases
            # Several may fit, such as one for a card and one for its virtual functions.
            fit = sorted(_modules_for(_text(place / "modalias"), aliases), key=lambda each: not _asks(each, ask))
            module = fit[0] if fit else ""
        log = left.pop(place.name, None)
        found.append(
            Device(
                place=place.name,
                id=f"{_hexadecimal(place / 'vendor')}:{_hexadecimal(place / 'device')}",
                kind=kind,
                driver=driver,
                module=module,
                asks_firmware=_asks(module, ask),
                missing=log.files if log else (),
            )
        )
    others = (
        Device(place=place, driver=log.driver, module=log.driver, asks_firmware=True, missing=log.files)
        for place, log in left.items()
    )
    return (*found, *others)[:MOST]


def _kind(place: Path) -> str:
    found = _text(place / "class").removeprefix("0x")
    return "" if found.startswith(_WIRELESS) else _KINDS.get(found[:2], "")


def _hexadecimal(path: Path) -> str:
    return _text(path).removeprefix("0x")[:4]


def _aliases(modules: Path) -> Iterator[tuple[str, str]]:
    """What each module is for, of the PCI bus: patterns for modaliases."""
    for line in (_read(modules / "modules.alias") or "").splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == "alias" and words[1].startswith("pci:"):
            yield words[1], words[2]


def _modules_for(modalias: str, aliases: list[tuple[str, str]]) -> list[str]:
    return [module for pattern, module in aliases if modalias and fnmatchcase(modalias, pattern)]


def _asks(module: str, asking: Collection[str]) -> bool:
    return module.replace("-", "_") in asking


def _link(path: Path) -> str:
    return path.resolve().name if path.exists() else ""


def _text(path: Path) -> str:
    return " ".join((_read(path) or "").split())


def _read(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
