"""The kinds of firmware that machines of the lab come with, each as real as Debian ships it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Firmware = Literal["bios", "bios-pxe", "uefi", "uefi-rom", "uefi-http", "secure", "arm64"]
FIRMWARES: Final[Sequence[Firmware]] = ("bios", "bios-pxe", "uefi", "uefi-http", "secure", "arm64")
OVMF = Path("/usr/share/OVMF")
AAVMF = Path("/usr/share/AAVMF")
_TIANOCORE = "name=opt/org.tianocore/{},string=no"


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """What the emulator is told of one kind: its program, the board, the flash with the firmware and its variables.

    With `rom` the network card brings a boot ROM (iPXE), else the firmware's own network stack drives it.  `off` names
    what the firmware is to leave out.  `typed` is what a person types at the boot ROM's prompts: each the prompt, and the keys.
    """

    emulator: str = "qemu-system-x86_64"
    machine: tuple[str, ...]
    code: Path | None = None
    variables: Path | None = None
    rom: bool = False
    off: tuple[str, ...] = ()
    accelerated: bool = True
    typed: tuple[tuple[str, str], ...] = ()


# Without graphics SeaBIOS and its boot ROM speak on the serial line too.
_PC = ("-machine", "pc,graphics=off")
_Q35 = ("-machine", "q35,graphics=off")
_SECURE = ("-machine", "q35,graphics=off,smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on")
# Without IPv6 the firmware comes to its next boot device half a minute earlier when the network stays silent.
_NO_IPV6 = "IPv6PXESupport"

# Software emulates these longest: hashes and checksums that choose them take a fifth more of an action's time.
# Told that copying byte by byte is fast (ERMS, FSRM), Linux clears and copies memory so, and each byte is emulated: a
# boot takes a seventh more.
_EMULATED_PROCESSOR = "max,avx=off,avx2=off,la57=off,erms=off,fsrm=off"

# AAVMF since 2024 has a network stack only where it finds random numbers early: it connects a `virtio-rng-pci` and then the
# boot devices, but starts what waits for random numbers after both.  So the processor has to have them.  Pointers that are
# signed by a real cipher, and vectors of any length (SVE, SME), cost an emulated processor most.
_EMULATED_ARM = "max,pauth-impdef=on,sve=off,sme=off"

_AS_PXE = (("for the iPXE command line", "\x02"), ("iPXE>", "set user-class PXE && autoboot\n"))

BOARDS: Final[dict[Firmware, Board]] = {
    "bios": Board(machine=_PC, rom=True),
    # Debian has no PXE ROM but iPXE.  Under another user class it is one: it loads what option 67 names, over UNDI.
    "bios-pxe": Board(machine=_PC, rom=True, typed=_AS_PXE),
    "uefi": Board(machine=_Q35, code=OVMF / "OVMF_CODE_4M.fd", variables=OVMF / "OVMF_VARS_4M.fd", off=(_NO_IPV6,)),
    # With the boot ROM that the card has by default: an iPXE without HTTPS, whose driver stays under what it loads.
    "uefi-rom": Board(
        machine=_Q35, code=OVMF / "OVMF_CODE_4M.fd", variables=OVMF / "OVMF_VARS_4M.fd", rom=True, off=(_NO_IPV6,)
    ),
    "uefi-http": Board(
        machine=_Q35,
        code=OVMF / "OVMF_CODE_4M.fd",
        variables=OVMF / "OVMF_VARS_4M.fd",
        off=("IPv4PXESupport", _NO_IPV6),
    ),
    # With Microsoft's keys enrolled, as machines come from the shop.
    "secure": Board(
        machine=_SECURE,
        code=OVMF / "OVMF_CODE_4M.secboot.fd",
        variables=OVMF / "OVMF_VARS_4M.ms.fd",
        off=(_NO_IPV6,),
    ),
    "arm64": Board(
        emulator="qemu-system-aarch64",
        machine=("-machine", "virt", "-cpu", _EMULATED_ARM),
        code=AAVMF / "AAVMF_CODE.fd",
        variables=AAVMF / "AAVMF_VARS.fd",
        off=(_NO_IPV6,),
        accelerated=False,
    ),
}


def accelerator() -> str:
    """KVM where it works, else software emulation on several threads.

    /dev/kvm alone proves nothing: where the processor shows neither vmx nor svm it opens, and a
    64-bit kernel hangs on it.
    """
    flags = Path("/proc/cpuinfo").read_text().split()
    usable = os.access("/dev/kvm", os.R_OK | os.W_OK) and ("vmx" in flags or "svm" in flags)
    return "kvm" if usable else "tcg,thread=multi"


def arguments(board: Board, variables: Path) -> list[str]:
    """The emulator's command line as far as the board goes; `variables` is the machine's own copy of those."""
    chosen = accelerator() if board.accelerated else "tcg,thread=multi"
    command = [board.emulator, "-nodefaults", "-display", "none", *board.machine, "-accel", chosen]
    if chosen != "kvm" and board.accelerated:
        command += ["-cpu", _EMULATED_PROCESSOR]
    if board.code is not None:
        flash = "if=pflash,format=raw,unit={},file={}"
        command += ["-drive", flash.format(0, board.code) + ",readonly=on", "-drive", flash.format(1, variables)]
    for part in board.off:
        command += ["-fw_cfg", _TIANOCORE.format(part)]
    return command
