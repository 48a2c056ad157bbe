"""The doctor's rules about cards that lack something in the OSIE: their driver, or their firmware."""

from collections.abc import Iterable, Iterator

from tinkbox.engine.doctor.case import Case, Finding, OsieSize
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.inventory import Device
from tinkbox.model.pci_vendors import named
from tinkbox.model.text import quoted

_NEWER = (
    "An OSIE of newer Debian packages may: remove the cache and run `tinkbox osie build` again, or build it on a newer "
    "release of Debian."
)


def missing_driver(case: Case) -> Iterator[Finding]:
    """A card that nothing drives."""
    for device in case.inventory.devices if case.inventory else ():
        if device.driver or not device.kind:
            continue
        if device.module:
            cause = f"Nothing drives {named(device)}: its module {device.module} does not take it."
            told = f"no driver, though module {device.module} is for it"
            remedy = "Look at `dmesg` on its console for what the module says: often it lacks firmware, or a setting of the board."
        else:
            cause = f"The OSIE has no module for {named(device)}."
            told = "no driver, and no module of the OSIE is for it"
            remedy = f"{_NEWER} If that has none either, use another card."
        yield Finding(gravity=Gravity.SUSPECT, cause=cause, evidence=(_evidence(device, told),), remedy=remedy)


def missing_firmware(case: Case) -> Iterator[Finding]:
    """A card whose driver asked for firmware that was not there."""
    for device in case.inventory.devices if case.inventory else ():
        if not device.missing:
            continue
        told = f"module {device.module or device.driver} asked for {_files(device.missing)}, and did not find it"
        yield Finding(
            gravity=Gravity.SUSPECT,
            cause=f"{named(device).replace('the ', 'The ', 1)} lacks firmware, without which it may not work.",
            evidence=(_evidence(device, told),),
            remedy=_remedy(device, _osie(case)),
        )


def _evidence(device: Device, told: str) -> str:
    return f"its inventory says of {' '.join(filter(None, (device.id, 'at', device.place)))}: {told}"


def _files(names: Iterable[str]) -> str:
    return ", ".join(quoted(name, 128) for name in names)


def _osie(case: Case) -> OsieSize | None:
    told = case.inventory.architecture if case.inventory else ""
    return next((each for each in case.osie if each.architecture == told), None)


def _remedy(device: Device, osie: OsieSize | None) -> str:
    if osie is None or osie.firmware is None:
        return (
            "Run `tinkbox osie build` on the appliance, not with --without-firmware, and boot the machine again: it is then "
            "sent what Debian's non-free-firmware has of it."
        )
    left = [name for name in device.missing if not osie.firmware & {name, f"{name}.xz", f"{name}.zst"}]
    if not left:
        return "The OSIE's second ramdisk has it: boot the machine again, and it is sent that."
    return f"No package that the OSIE takes firmware from has {_files(left)}. Many cards work without. {_NEWER}"
