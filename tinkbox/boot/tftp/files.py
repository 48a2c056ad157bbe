"""What is served by TFTP: the loaders for everybody, and for each machine what was decided about it.

The machine is the one that has the address that asks; it gets nothing of another machine's.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from tinkbox.boot.http import boot_files as over_http
from tinkbox.boot.http.boot_files import FIRMWARE, OSIE_FILES, SCRIPT_STAGE, BootFolder, has_firmware
from tinkbox.boot.http.credential_ramdisk import credential_ramdisk, has_credential
from tinkbox.model.boot import Boot, Plan, Stage
from tinkbox.model.card_firmware import Need
from tinkbox.model.errors import Conflict
from tinkbox.model.hardware import MacAddress
from tinkbox.model.sightings import Fact
from tinkbox.wire.boot_scripts import grub, pxelinux, raspberrypi
from tinkbox.wire.boot_scripts.failed_steps import FailedStep, told_by_grub
from tinkbox.wire.boot_scripts.script_text import needs_ipxe
from tinkbox.wire.messages.worker import Credential

CREDENTIAL: Final = "machine/credential.cpio"
_OSIE = re.compile(r"osie/([a-z0-9_]{1,20})/(vmlinuz|initramfs|firmware)\Z")
_PXELINUX: Final = "pxelinux.cfg/01-"
# The Raspberry Pi's folder: its serial number, or its MAC.
_PI_FOLDER = re.compile(r"(?:[0-9a-f]{8}|[0-9a-f]{2}(?:-[0-9a-f]{2}){5})/")
_BEYOND_A_NAME: Final = " \t\r\n\ufffd"  # the last stands for what is not ASCII
_BOOTS_THE_OSIE: Final = frozenset({Boot.OSIE, Boot.DISCOVERY})
# What shim, iPXE of 2024 and later, GRUB, U-Boot and the Raspberry Pi look for and do without.
_DISPENSABLE = re.compile(
    r"autoexec\.ipxe|revocations_\w+\.efi|shim_certificate_\d+\.efi|mmx64\.efi|grub/\S*\.(?:lst|mo|cfg)|pxelinux\.cfg/\S+"
    r"|(?:\S+/)?(?:bootcode\.bin|recovery\.elf|pieeprom\.\w+|vl805\.\w+|dt-blob\.bin|bootcfg\.txt|autoboot\.txt|overlay_map\.dtb|\S+\.txt)"
    r"|boot\.scr\.uimg"
)


class Planner(over_http.Planner, Protocol):
    """One that also knows which machine is at an IPv4 address, and its architecture, None: nobody told."""

    def at(self, address: str) -> MacAddress | None: ...
    def architecture(self, mac: MacAddress) -> str | None: ...


_Maker = Callable[[Plan], bytes | Path | None]


class TftpFiles:
    """What one TFTP server has, and who wants to know of its transfers.

    `folder.url` is the node door's, at the address of this server.  `credential` gives the worker's identity for a plan,
    for a node door's URL, and for the address that asks.  `raspberrypi` is the operator's folder of that firmware's own files.
    """

    def __init__(
        self,
        loaders: Mapping[str, bytes],
        planner: Planner,
        credential: Callable[[Plan, str, str], Credential],
        folder: BootFolder,
        raspberrypi: Path,
    ) -> None:
        self._loaders = loaders
        self._loaders_asked_for = {each.lower(): each for each in loaders}
        self._planner = planner
        self._credential = credential
        self._folder = folder
        self._raspberrypi = raspberrypi

    def find(self, peer: str, name: str) -> bytes | Path | None:
        """The content of the file that the host at `peer` asks for; None when there is none for it."""
        if (loader := self._spelled(name)) in self._loaders:
            return self._loaders[loader]
        if name == grub.FIRST:
            return grub.first_script(self._folder.version).encode()
        if found := _OSIE.match(name):
            return _file(self._folder.osie / found[1] / found[2])
        mac = self._planner.at(peer)
        make = self._maker(mac, peer, name) if mac else None
        if mac is None or make is None:
            return None
        plan = self._planner.script_plan(mac, peer)
        return make(_over_tftp(plan)) if plan else None

    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None:
        """Pass on what was seen of a transfer: of a kernel as such, of a script as what it says."""
        name = self._spelled(str(facts.get("name", "")))
        facts["name"] = name
        base = name.rpartition("/")[2]
        if failed := told_by_grub(name):
            self._saw_failed_step(address, failed)
            return
        if stage is Stage.LOADER_FAILED and facts.get("why") == "not found" and _DISPENSABLE.fullmatch(name):
            return
        if name in self._loaders:
            self._planner.saw_address(address, stage, detail, **facts)
        elif base in OSIE_FILES:
            kept = OSIE_FILES[base] if stage is Stage.LOADER else stage
            self._planner.saw_address(address, kept, detail, **facts)
        elif stage is Stage.LOADER_FAILED:
            self._planner.saw_address(address, stage, detail, **facts)
        elif stage is Stage.LOADER and _is_script(name):
            self._saw_script(address, name)

    def moves(self, address: str) -> None:
        """Pass on that a transfer goes on."""
        self._planner.moves(address)

    def _spelled(self, name: str) -> str:
        """The name of the loader that is asked for, else the name that was asked for.

        Some firmware asks in capitals, or reads beyond the end of the name that it was told (option 67): an octet 255, or a blank.
        """
        return self._loaders_asked_for.get(name.rstrip(_BEYOND_A_NAME).lower(), name)

    def _saw_failed_step(self, address: str, failed: FailedStep) -> None:
        mac = self._planner.at(address)
        if mac is not None and not self._planner.other_host(mac, address):
            self._planner.saw(mac, Stage.STEP_FAILED, failed.detail, **failed.facts, over="tftp")

    def _saw_script(self, address: str, name: str) -> None:
        mac = self._planner.at(address)
        plan = self._planner.script_plan(mac, address) if mac else None
        if mac is None or plan is None:
            return
        plan = _over_tftp(plan)
        facts: dict[str, Fact] = {"file": name}
        if plan.boot is Boot.LOCAL_DISK and name == grub.TURN:
            facts["way"] = grub.way_taken(plan.local_boot).value
        self._planner.booted(mac)
        what, _ = needs_ipxe(plan)
        if what:
            # This machine says so on its screen, and asks again.
            self._planner.saw(mac, Stage.PARKED, f"{what}, which it cannot run")
        else:
            detail = plan.reason if plan.boot is Boot.WAITING or plan.https else ""
            self._planner.saw(mac, SCRIPT_STAGE[plan.boot], detail, **facts)

    def _maker(self, mac: MacAddress, peer: str, name: str) -> _Maker | None:
        """What makes the file of this name of a machine's plan; None: the machine has none of this name, whatever its plan.

        The planner is not asked then: it notes each plan that it refuses as a boot script that was refused.
        """
        if name == grub.TURN:
            return self._turn
        if name == CREDENTIAL:
            return partial(self._identity, peer)
        if name.lower() == f"{_PXELINUX}{mac.replace(':', '-')}":
            return partial(self._pxelinux, name)
        if self._planner.architecture(mac) not in (None, "aarch64"):
            return None
        make = self._of_raspberrypi(_PI_FOLDER.sub("", name, count=1))
        return partial(_where_the_osie_boots, make) if make else None

    def _of_raspberrypi(self, name: str) -> _Maker | None:
        operators = _below(self._raspberrypi, name)
        match name:
            case "config.txt":
                return lambda _: raspberrypi.config(operators.read_text(errors="replace") if operators else "").encode()
            case "cmdline.txt":
                return lambda plan: raspberrypi.command_line(self._folder.arguments(plan)).encode()
            case raspberrypi.KERNEL | raspberrypi.INITRAMFS:
                return lambda plan: _file(self._folder.osie / plan.interface.architecture / name)
        return (lambda _: operators) if operators else None

    def _turn(self, plan: Plan) -> bytes:
        kernel, initramfs = _osie(plan)
        files = grub.GrubFiles(
            kernel=f"/{kernel}",
            initramfs=f"/{initramfs}",
            credential=f"/{CREDENTIAL}",
            firmware=f"/{_osie_file(plan, FIRMWARE)}" if has_firmware(self._folder, plan) else "",
            unless_virtual=plan.firmware is Need.UNKNOWN,
            arguments=self._folder.arguments(plan),
        )
        return grub.turn_script(plan, files, self._folder.version).encode()

    def _pxelinux(self, name: str, plan: Plan) -> bytes:
        kernel, initramfs = _osie(plan)
        # U-Boot takes one ramdisk only; without its credential the OSIE asks for it by itself.
        several = plan.interface.architecture == "x86_64"
        firmware = [_osie_file(plan, FIRMWARE)] if has_firmware(self._folder, plan) else []
        files = pxelinux.PxelinuxFiles(
            configuration=name,
            kernel=kernel,
            initramfs=(initramfs, *firmware, CREDENTIAL) if several else (initramfs,),
            arguments=self._folder.arguments(plan),
        )
        return pxelinux.configuration(plan, files, self._folder.version).encode()

    def _identity(self, peer: str, plan: Plan) -> bytes | None:
        if plan.https or not has_credential(plan):
            return None
        try:
            made = self._credential(plan, self._folder.url, peer)
        except Conflict:
            return None
        return credential_ramdisk(self._folder.identity(made, https=self._folder.boots_https(plan)))


def _over_tftp(plan: Plan) -> Plan:
    """What a machine is told by TFTP: one that boots by HTTPS alone is told nothing but to boot its disk, or to wait."""
    if not plan.https or plan.boot in (Boot.LOCAL_DISK, Boot.PARKED):
        return plan
    return replace(plan, boot=Boot.PARKED, reason="it boots by HTTPS alone, and this boot loader has none")


def _where_the_osie_boots(make: _Maker, plan: Plan) -> bytes | Path | None:
    """For a Raspberry Pi; without its files the firmware goes on to its next boot device."""
    return make(plan) if plan.boot in _BOOTS_THE_OSIE else None


def _osie(plan: Plan) -> tuple[str, str]:
    """The names of the kernel and of the ramdisk."""
    return _osie_file(plan, "vmlinuz"), _osie_file(plan, "initramfs")


def _osie_file(plan: Plan, name: str) -> str:
    return f"osie/{plan.interface.architecture}/{name}"


def _is_script(name: str) -> bool:
    return name == grub.TURN or name.lower().startswith(_PXELINUX) or name.endswith("config.txt")


def _file(path: Path) -> Path | None:
    """The file, also one that cannot be read: who opens it says so."""
    try:
        return path if path.is_file() else None
    except PermissionError:
        return path


def _below(folder: Path, name: str) -> Path | None:
    """The file of that name in a folder, and nothing that lies elsewhere."""
    try:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
    except (OSError, ValueError):  # such as a name that is too long, or has a zero in it
        return None
