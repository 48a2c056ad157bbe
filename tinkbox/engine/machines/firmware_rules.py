"""What is learned of a machine's firmware by watching it: whether it wants signed programs, and the way to its disk.

Pure: `learn` folds one sighting after the other into what is known.

Rule 1: firmware that fetched an unsigned EFI program whole, and asks again as firmware without that program having
asked for anything, refused it: Secure Boot.  The same of the signed one, or an unsigned one that runs, takes it back.
So does firmware that knows HTTP alone, where nothing signed can be told, when it goes on asking.
Rule 2: a machine that was told to boot its disk, and begins anew before its disk's system was seen, did not get there:
the next way is tried.  A way that worked once is only given up when it fails repeatedly.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from tinkbox.model.boot import INSTALLED, Asker, Boot, Loader, Plan, Stage
from tinkbox.model.firmware_traits import FirmwareTraits, LocalBoot
from tinkbox.model.sightings import Fact, Sighting

UNSIGNED: Final = frozenset({"snponly.efi", "ipxe.efi"})
SIGNED: Final = frozenset({"shimx64.efi", "grubx64.efi"})
# Between the end of the transfer and the next question of firmware that goes on by itself.
REFUSED_WITHIN: Final = timedelta(minutes=2)
# Until a machine that found nothing to boot is back: servers take minutes from one boot to the next.
BACK_WITHIN: Final = timedelta(minutes=10)
# For as long firmware that was offered no file may go on asking, before it comes to its disk, or to PXE.
NO_FILE_PATIENCE: Final = timedelta(minutes=2)
PROVEN_MAY_FAIL: Final = 3
_OF_IPXE: Final = frozenset({LocalBoot.EXIT, LocalBoot.SANBOOT})
_FIRMWARE: Final = frozenset({Asker.PXE, Asker.HTTP, Asker.IPXE})
# A script, of whichever kind, was fetched: the loader runs.
_RUNS: Final = frozenset(
    {
        Stage.SCRIPT,
        Stage.SCRIPT_REFUSED,
        Stage.HTTPS_WANTED,
        Stage.SUPPLIED,
        Stage.OWN_BOOT,
        Stage.SERVICES,
        Stage.PARKED,
        Stage.DISCOVERY,
        Stage.LOCAL_DISK,
    }
)


class Platform(Enum):
    """What a machine's firmware is, and the ways from it to the disk, the most likely first."""

    BIOS = (LocalBoot.SANBOOT, LocalBoot.EXIT, LocalBoot.NO_FILE)
    UEFI = (LocalBoot.EXIT, LocalBoot.GRUB, LocalBoot.NO_FILE)
    HTTP = (LocalBoot.EXIT, LocalBoot.NO_FILE)  # the signed GRUB knows TFTP only
    # GRUB cannot tell the firmware that it failed, so many go to their menu when it ends.
    SECURE = (LocalBoot.GRUB, LocalBoot.NO_FILE, LocalBoot.EXIT)

    def after(self, way: LocalBoot) -> LocalBoot:
        """The way to try next when this one failed; after the last the first again."""
        ways: tuple[LocalBoot, ...] = self.value
        return ways[(ways.index(way) + 1) % len(ways)] if way in ways else ways[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What is known of one machine's firmware.

    `began` is what asked first in this boot.  `http_since` is when it first asked in vain over HTTP, if nothing else has
    asked since.  `started` are the last EFI program that it fetched, and when, until
    something is heard of that program.  `told` are the way to its disk that it was told, and when, until it is
    seen again.
    """

    firmware_traits: FirmwareTraits = field(default_factory=FirmwareTraits)
    platform: Platform | None = None
    began: Asker | None = None
    http_since: datetime | None = None
    started: tuple[str, datetime] | None = None
    told: tuple[LocalBoot, datetime] | None = None
    failures: int = 0

    @property
    def way(self) -> LocalBoot | None:
        """The way to its disk to try; None when nothing is known of its firmware."""
        return self.firmware_traits.local_boot or (self._ways.value[0] if self._ways else None)

    @property
    def next_way(self) -> LocalBoot | None:
        """The one to try when that failed."""
        return self._ways.after(self.way) if self._ways and self.way else None

    @property
    def _ways(self) -> Platform | None:
        if self.firmware_traits.secure_boot:
            return Platform.SECURE
        return Platform.HTTP if self.began is Asker.HTTP else self.platform

    def applied(self, plan: Plan) -> Plan:
        """The plan with what this machine needs to be told in its way."""
        if plan.boot is Boot.LOCAL_DISK:
            # GRUB would look by TFTP for what it is to do.
            way = LocalBoot.EXIT if plan.https and self.way is LocalBoot.GRUB else self.way
            plan = replace(plan, local_boot=way)
        signed = self.firmware_traits.secure_boot or plan.local_boot is LocalBoot.GRUB
        return replace(plan, loader=Loader.GRUB) if signed else plan


NOTHING_YET: Final = Watched()


def teaches(stage: Stage, facts: Mapping[str, Fact]) -> bool:
    """Whether anything could be learned of a sighting; of most there is nothing, whatever is known."""
    match stage:
        case Stage.OFFERED:
            return facts.get("boot") == Boot.LOCAL_DISK and not facts.get("file")
        case Stage.REQUESTED | Stage.LEASED:
            return facts.get("boot") == Boot.NOTHING
        case Stage.DISCOVER | Stage.DISK_BOOTED | Stage.LOADER:
            return True
        case _:
            return stage in _RUNS or stage in INSTALLED


def settled(known: Watched) -> bool:
    """Whether nothing that is known depends on when something is seen next: what teaches nothing now never will."""
    return known.started is None and known.told is None and known.http_since is None


def shows_system(seen: Sighting) -> bool:
    """Whether it was the system on the machine's disk."""
    match seen.stage:
        case Stage.DISCOVER:
            return seen.facts.get("asker") == Asker.SYSTEM
        case Stage.REQUESTED | Stage.LEASED:  # one that asks for the address it had sends no DISCOVER
            return seen.facts.get("boot") == Boot.NOTHING
        case _:
            # With addresses of its own it may not ask for one.
            return seen.stage is Stage.DISK_BOOTED or seen.stage in INSTALLED


def learn(known: Watched, seen: Sighting) -> Watched:
    """What is known after this was seen."""
    if shows_system(seen):
        return _disk_booted(known if known.http_since is None else replace(known, http_since=None))
    match seen.stage:
        case Stage.DISCOVER:
            asker = seen.facts.get("asker")
            return _began(_recognised(known, seen), Asker(asker), seen.at) if asker in _FIRMWARE else known
        case Stage.OFFERED if seen.facts.get("boot") == Boot.LOCAL_DISK and not seen.facts.get("file"):
            if known.told or known.way is not LocalBoot.NO_FILE:
                return known
            return replace(known, told=(LocalBoot.NO_FILE, seen.at))
        case Stage.LOADER:
            name = str(seen.facts.get("name", ""))
            return replace(known, started=(name, seen.at)) if name in UNSIGNED | SIGNED else known
        case stage if stage in _RUNS:
            known = replace(_recognised(known, seen), started=None)
            return _told(known, seen) if stage is Stage.LOCAL_DISK else known
        case _:
            return known


def _recognised(known: Watched, seen: Sighting) -> Watched:
    """What the machine says of itself: option 93 (RFC 4578 §2.1), or iPXE's own word for its platform."""
    architecture, platform = seen.facts.get("architecture"), seen.facts.get("platform")
    if architecture is None and platform is None:
        return known
    bios = platform == "pcbios" if architecture is None else architecture == 0
    found = Platform.BIOS if bios else Platform.UEFI
    return known if known.platform is found else replace(known, platform=found)


def _disk_booted(known: Watched) -> Watched:
    if known.told is None:
        return known
    way, _ = known.told
    return replace(
        known,
        told=None,
        began=None,
        failures=0,
        firmware_traits=replace(known.firmware_traits, local_boot=way, proven=True),
    )


def _began(known: Watched, asker: Asker, at: datetime) -> Watched:
    """Firmware, or iPXE, asks: which may say something about what came before."""
    if asker is Asker.IPXE:
        if known.started is not None or known.firmware_traits.secure_boot:
            known = replace(known, started=None, firmware_traits=replace(known.firmware_traits, secure_boot=False))
        if known.began not in {None, Asker.IPXE}:
            return known  # the one that we gave
    elif known.started is not None:
        name, fetched = known.started
        known = replace(known, started=None)
        known = replace(known, firmware_traits=_refused(known, name, at - fetched))
    if asker is Asker.HTTP:
        known = _asked_over_http(known, at)
    elif known.http_since is not None:
        known = replace(known, http_since=None)
    if known.told is not None and asker in {known.began, None}:
        known = _came_back(known, at)
    elif known.told is not None and known.began is not None:
        return known  # after PXE, firmware tries HTTP on the same card before it comes to the disk
    return known if known.began is asker else replace(known, began=asker)


def _asked_over_http(known: Watched, at: datetime) -> Watched:
    """Firmware asks over HTTP: when it gets nothing there for being Secure Boot's, and asks nowhere else, it would never boot."""
    if not known.firmware_traits.secure_boot:
        return replace(known, http_since=None)
    since = known.http_since or at
    if at - since < NO_FILE_PATIENCE:
        return replace(known, http_since=since)
    return replace(known, http_since=None, firmware_traits=replace(known.firmware_traits, secure_boot=False))


def _refused(known: Watched, name: str, after: timedelta) -> FirmwareTraits:
    """What follows when nothing was heard of a program, and the firmware asks again so long `after` it fetched it.

    With nothing else to boot it waits for a person, for days maybe.
    """
    firmware_traits = known.firmware_traits
    if name in UNSIGNED:
        if firmware_traits.proven and firmware_traits.local_boot in _OF_IPXE and after > REFUSED_WITHIN:
            # Unsigned programs ran there: rather somebody switched it off at the wrong moment.  Twice is believed.
            return replace(firmware_traits, proven=False)
        return replace(firmware_traits, secure_boot=True)
    if not firmware_traits.secure_boot and known.way is LocalBoot.GRUB:
        return replace(firmware_traits, local_boot=known.next_way, proven=False)
    return replace(firmware_traits, secure_boot=False)


def _came_back(known: Watched, at: datetime) -> Watched:
    assert known.told is not None
    way, told = known.told
    if way is LocalBoot.NO_FILE and at - told < NO_FILE_PATIENCE:
        return known
    known = replace(known, told=None)
    if at - told > BACK_WITHIN:
        return known  # for all we know its disk's system ran, and asked for no address
    failures = known.failures + 1
    if known.firmware_traits.proven and failures < PROVEN_MAY_FAIL:
        return replace(known, failures=failures)
    firmware_traits = replace(known.firmware_traits, local_boot=known.next_way, proven=False)
    return replace(known, failures=0, firmware_traits=firmware_traits)


def _told(known: Watched, seen: Sighting) -> Watched:
    if known.began is None and known.told is not None:
        known = _came_back(known, seen.at)  # nothing is seen of its DHCP: another server does that
    way = seen.facts.get("way") or known.way
    return replace(known, told=(LocalBoot(str(way)), seen.at)) if way in set(LocalBoot) else known
