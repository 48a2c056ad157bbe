"""The doctor's rules about the boot loader: whether it is the right one, arrives, and is allowed to run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from tinkbox.engine.doctor.case import MOST_NAMED, Case, Finding, line, moment, number, of, some, text
from tinkbox.engine.machines.firmware_rules import REFUSED_WITHIN, SIGNED, UNSIGNED
from tinkbox.engine.timeline.sighting_rules import ended_at
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.sightings import Sighting
from tinkbox.model.text import counted, quoted, spelled
from tinkbox.wire.tftp import End

# RFC 4578 §2.1 and the registry that followed it.
FIRMWARE = {
    0: "BIOS",
    6: "UEFI for 32-bit x86",
    7: "UEFI for x86-64",
    9: "UEFI for x86-64",
    10: "UEFI for 32-bit ARM",
    11: "UEFI for arm64",
    15: "UEFI for 32-bit x86 over HTTP",
    16: "UEFI for x86-64 over HTTP",
    19: "UEFI for arm64 over HTTP",
    41: "a Raspberry Pi",
}
IPXE = frozenset({"undionly.kpxe", "ipxe.efi", "snponly.efi", "ipxe-arm64.efi"})  # as what we serve is called
BIOS, X86, X86_32, ARM = frozenset({0}), frozenset({7, 9, 16}), frozenset({6, 15}), frozenset({11, 19})
_HEADERS = 32  # IPv4, UDP and TFTP before each block
_PLAIN = 512
_APART = (
    10  # of a file's blocks: transfers that stop at places which differ by more than such a part stop at different ones
)
_RECOVERED = 3  # times that a transfer went on after blocks were sent again: one or two may be chance
_STARTS_WITHIN = 45.0  # iPXE waits 15 s for a router of IPv6, and emulated machines are slow
# What follows only on a boot script.
SCRIPTED = (
    Stage.SCRIPT,
    Stage.SUPPLIED,
    Stage.OWN_BOOT,
    Stage.SERVICES,
    Stage.PARKED,
    Stage.DISCOVERY,
    Stage.LOCAL_DISK,
    Stage.KERNEL,
    Stage.RAMDISK,
    Stage.FIRMWARE,
    Stage.DOWNLOAD_TROUBLE,
    Stage.WORKER,
)
# Where firmware asks from which file to boot, or hears it.
_TOLD_A_FILE = (Stage.DISCOVER, Stage.OFFERED, Stage.REQUESTED, Stage.LEASED, Stage.OTHER_SERVER, Stage.BOOT_SERVER)
_LOADING = (*_TOLD_A_FILE, Stage.LOADER_REQUESTED)
_LOADED = (Stage.LOADER, Stage.LOADER_FAILED)
_BROKEN_OFF_WITHIN = timedelta(minutes=2)  # after the appliance's start: a transfer gives up before
# What only a loader that runs does.
_RUNS = (*SCRIPTED, Stage.SCRIPT_REFUSED)


def wrong_loader(case: Case) -> Iterator[Finding]:
    """A program for another kind of firmware."""
    for boot in case.boots[-2:]:
        asked = architecture(boot)
        if asked is None or of(boot, *_RUNS):
            continue
        given = [each for each in of(boot, Stage.LOADER, Stage.LOADER_FAILED) if text(each, "why") != "not found"]
        for seen in given[-1:]:
            name = text(seen, "name")
            runs_on = made_for(name)
            if not runs_on or asked in runs_on or asked not in BIOS | X86 | X86_32 | ARM:
                continue
            if asked in X86_32:
                yield from _for_64_bits(case, boot, seen, asked)
                return
            firmware = FIRMWARE[asked]
            yield Finding(
                gravity=Gravity.FAULT,
                cause=f"{name} is no program for this machine's firmware, which is {firmware}.",
                evidence=(
                    f"{moment(boot[0].at)} it asked as architecture {asked}: {firmware}",
                    line(seen),
                    f"{name} runs on {' and '.join(sorted({FIRMWARE[each] for each in runs_on}))}",
                ),
                remedy=f"Have the DHCP server that named {name} choose by architecture (option 93), as the lines for "
                f"its kind of server do (docs/doctor.md), or switch the firmware to {'legacy (BIOS)' if 0 in runs_on else 'UEFI'} boot.",
            )
            return


def _for_64_bits(case: Case, boot: Sequence[Sighting], seen: Sighting, asked: int) -> Iterator[Finding]:
    """A loader for 64 bits, offered because some 64-bit firmware calls itself 32-bit: where that runs, no harm is done."""
    waited = (case.now - seen.at).total_seconds()
    if boot == case.last and waited <= _STARTS_WITHIN:
        return
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"The machine's firmware is {FIRMWARE[asked]}, for which there is no boot loader here: {text(seen, 'name')} is one for 64 bits.",
        evidence=(
            f"{moment(boot[0].at)} it asked as architecture {asked}: {FIRMWARE[asked]}",
            line(seen),
            *([f"{moment(case.now)} silence for {waited:.0f} s"] if boot == case.last else []),
        ),
        remedy="Switch its firmware to legacy (BIOS) boot, or to 64-bit UEFI where it has that.",
    )


def missing_loader(case: Case) -> Iterator[Finding]:
    """A file that is not served here."""
    missing = [each for each in of(case.last, Stage.LOADER_FAILED) if text(each, "why") == "not found"]
    if missing and not of(case.last, Stage.LOADER, *_RUNS):
        name = text(missing[-1], "name")
        if any(text(each, "asker") == Asker.RASPBERRY_PI for each in of(case.last, Stage.DISCOVER)):
            yield _of_a_raspberry_pi(missing)
            return
        if not _may_boot_here(case):
            yield _of_no_machine(_newest_of(missing))
            return
        yield Finding(
            gravity=_believed(case),
            cause=f"A question for {spelled(name)}, which is not served here, came from the machine's address: probably another DHCP "
            "server names that file.",
            evidence=_newest_of(missing),
            remedy="`tinkbox doctor` without a key asks for other DHCP servers. If there is one, correct the boot file's name (option 67, `filename`) in the other server's configuration: the lines "
            "for its kind of server (docs/doctor.md) have the names that are served.",
        )


def _of_a_raspberry_pi(missing: Sequence[Sighting]) -> Finding:
    """Its boot ROM asks for files of its own firmware, of which it needs few."""
    needed = [each for each in missing if text(each, "name").rpartition("/")[2].startswith("start")]
    return Finding(
        gravity=Gravity.FAULT,
        cause=f"The machine is a Raspberry Pi, and its firmware's own files are not there: it asks for "
        f"{quoted(text((needed or missing)[-1], 'name'))} in vain.",
        evidence=_newest_of(missing),
        remedy="Put the files of its maker's firmware (`start4.elf`, `fixup4.dat`, `*.dtb`, `overlays/`) into the folder `raspberrypi` of the data "
        "folder (docs/booting.md, Raspberry Pi), and set arch to aarch64 in its hardware document.",
    )


def _newest_of(missing: Sequence[Sighting]) -> tuple[str, ...]:
    """The newest as evidence, and how many there were before."""
    more = len(missing) - MOST_NAMED
    before = (f"{counted(more, 'question')} for other files before that",) if more > 0 else ()
    return (*before, *map(line, missing[-MOST_NAMED:]))


def transfer_stopped(case: Case) -> Iterator[Finding]:
    """TFTP that ends before the file does."""
    stopped = _since_it_came(case)
    newest = [each for each in of(case.last, Stage.LOADER_FAILED) if _stopped(case, case.last, each)]
    if not newest or any(each.at >= _began(case.last, newest[-1]) for each in of(case.last, Stage.LOADER, *_RUNS)):
        return  # it went on, perhaps by HTTP while this transfer waited for its end
    if not _may_boot_here(case):
        yield _of_no_machine(tuple(map(line, stopped[-MOST_NAMED:])))
        return
    places = {number(each, "block") for each in stopped}
    told = tuple(map(line, stopped[-4:]))
    if not text(newest[-1], "refused") and (lost := _loses_packets(stopped)):
        sure = any((number(each, "recovered") or 0) >= _RECOVERED for each in stopped)
        found = _lost_on_the_way(newest[-1], (*told, *lost), sure=sure)
    else:
        found = _what_stopped(newest[-1], told, always=len(stopped) > 1 and len(places) == 1)
    yield found if found.gravity is Gravity.SUSPECT else replace(found, gravity=_believed(case))


def _since_it_came(case: Case) -> list[Sighting]:
    """The transfers that stopped since the last one that came whole."""
    found: list[Sighting] = []
    for boot in case.boots:
        for each in of(boot, Stage.LOADER, Stage.LOADER_FAILED):
            if each.stage is Stage.LOADER:
                found.clear()
            elif _stopped(case, boot, each):
                found.append(each)
    return found


def _loses_packets(stopped: Sequence[Sighting]) -> tuple[str, ...]:
    """As evidence, what shows that packets were lost here and there, of transfers that stopped; empty where nothing does."""
    again = [each for each in stopped if (number(each, "recovered") or 0) >= _RECOVERED]
    if again:
        return tuple(
            f"{moment(each.at)} {counted(number(each, 'retransmissions') or 0, 'block')} had been sent again, and the transfer went on "
            f"{number(each, 'recovered')} times after that"
            for each in again[-MOST_NAMED:]
        )
    places = sorted({number(each, "block") or 0 for each in stopped})
    # What ends a transfer after some bytes or seconds does so at nearly the same block.
    apart = max(number(each, "blocks") or 0 for each in stopped) / _APART
    if places[-1] - places[0] > apart and all(text(each, "why") == End.SILENCE for each in stopped):
        return (f"it stopped at another block each time: after block {some([*map(str, places)])}",)
    return ()


def _lost_on_the_way(seen: Sighting, told: tuple[str, ...], *, sure: bool) -> Finding:
    """`sure`: transfers went on after blocks were lost; else the machine may have been reset in the middle."""
    return Finding(
        gravity=Gravity.FAULT if sure else Gravity.SUSPECT,
        cause="Packets get lost on the way between the machine and the appliance, at random: the transfer of its boot loader stopped after "
        f"block {number(seen, 'block') or 0} of {number(seen, 'blocks') or 0}.",
        evidence=told,
        remedy=("" if sure else "If nobody reset it in the middle of these: ")
        + "Change the cable of the machine, and try another port of the switch. Look at the error counters of the switch's ports and of the "
        "appliance's interface (`ip -s link`), and at their speed and duplex: half duplex, or 10 Mbit/s, is a wrong one. The machine's "
        "network card or a switch that is overloaded loses packets as well.",
    )


def _began(boot: Sequence[Sighting], failed: Sighting) -> datetime:
    """When the machine asked for a file whose transfer failed, for the last time; of one that is not known when it failed."""
    asked = [
        ended_at(each)
        for each in of(boot, Stage.LOADER_REQUESTED)
        if text(each, "name") == text(failed, "name") and ended_at(each) <= failed.at
    ]
    return asked[-1] if asked else failed.at


def _may_boot_here(case: Case) -> bool:
    """Whether a host that asks by TFTP alone may be a machine that boots: one is known, or asked for an address, where that comes here."""
    return case.mode == "off" or case.interface is not None or asked_for_a_file(case.sightings)


def _of_no_machine(told: tuple[str, ...]) -> Finding:
    return Finding(
        gravity=Gravity.HARMLESS,
        cause="A host that is no machine of yours asked by TFTP, and never asked here for an address, as machines that boot do first: "
        "probably monitoring.",
        evidence=told,
        remedy="Nothing to do, where it is not to boot from here. If it is a machine that is to: `tinkbox hardware add` registers it.",
    )


def _believed(case: Case) -> Gravity:
    """How far a question by TFTP alone is believed: who is to boot from here asks by DHCP first, where that comes here at all."""
    return Gravity.FAULT if case.mode == "off" or asked_for_a_file(case.last) else Gravity.SUSPECT


def _what_stopped(seen: Sighting, told: tuple[str, ...], *, always: bool) -> Finding:
    """`told` is the evidence; `always`: each time after the same block."""
    block, blocks, size = number(seen, "block") or 0, number(seen, "blocks") or 0, number(seen, "blksize") or _PLAIN
    packet = size + _HEADERS
    if refused := text(seen, "refused"):
        return Finding(
            gravity=Gravity.FAULT,
            cause="This host itself refused to send the machine its boot loader: most likely its own firewall kept it in.",
            evidence=(*told, f"the kernel refused what was sent to it after block {block} of {blocks} ({refused})"),
            remedy="`nft list ruleset` and `iptables -S OUTPUT` show the rules for what goes out: take the one away that drops what is for the "
            "machine. If it is gone, boot the machine again.",
        )
    if block == 0 and seen.facts.get("heard") == 0:
        return Finding(
            gravity=Gravity.FAULT,
            cause="Its question for its boot loader arrives, and no answer of ours was acknowledged: probably none of them reaches the "
            "machine.",
            evidence=told,
            remedy="Probably a firewall or address translation between here and the machine lets its question to UDP port 69 through, "
            "and not the answers, which go from another port to a high one of the machine: allow UDP both ways, or set "
            "`node.tftp_single_port: on` where the filter knows nothing of TFTP. If the machine boots all the same, another host sent the "
            "question in its name.",
        )
    if block == 0:
        return Finding(
            gravity=Gravity.FAULT,
            cause="Short packets reach the machine, and the first whole block of its boot loader does not: a block of "
            f"{size} bytes makes packets of {packet}.",
            evidence=(*told, f"it had agreed to blocks of {size} bytes, and acknowledged none of {blocks}"),
            remedy=f"Something on the way carries less than {packet} bytes in a packet (a tunnel, a VLAN, a wrong MTU): find "
            f"it with `ping -M do -s {packet - 28} ADDRESS` and `ip link`, and set its MTU to 1500 or more; a firewall that "
            "drops what is large looks the same.",
        )
    if always:
        return Finding(
            gravity=Gravity.FAULT,
            cause=f"Each time the transfer of its boot loader stops after block {block} of {blocks}.",
            evidence=told,
            remedy="The same block every time is a rule, and not chance: a firewall on the way that ends a connection after "
            "some packets or seconds. Look for what inspects or limits UDP between here and the machine.",
        )
    return Finding(
        gravity=Gravity.FAULT,
        cause=f"The transfer of its boot loader stopped after block {block} of {blocks}.",
        evidence=told,
        remedy="The link broke off, a firewall on the way stepped in, or the machine was switched off meanwhile: look at the "
        "port's error counters and its cable, and whether it stops at the same block again.",
    )


def size_probe(case: Case) -> Iterator[Finding]:
    """Firmware that asks how large the file is, and breaks that off."""
    recent = [each for boot in case.boots[-2:] for each in boot]
    probes = [each for each in of(recent, Stage.LOADER_FAILED) if text(each, "why") == "probe"]
    after = [each for each in of(recent, Stage.LOADER) if probes and each.at >= probes[-1].at]
    if after:
        yield Finding(
            gravity=Gravity.HARMLESS,
            cause="Its firmware first asked only for the size of the boot loader, and broke that transfer off.",
            evidence=(line(probes[-1]), line(after[0])),
            remedy="Nothing to do: most firmware does so.",
        )


def secure_boot(case: Case) -> Iterator[Finding]:
    """A program that arrives whole and never runs, on firmware that could refuse it."""
    refused = [
        (seen, back) for seen, back in _never_ran(case) if text(seen, "name") in UNSIGNED | SIGNED and _is_uefi(case)
    ]
    if not refused:
        return
    seen, back = refused[-1]
    name = text(seen, "name")
    evidence = (line(seen), f"{moment(back.at)} it began anew, {(back.at - seen.at).total_seconds():.0f} s later")
    ran_since = [each for each in of(case.sightings, *_RUNS) if each.at >= back.at]
    if name in SIGNED:
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"Its firmware refuses also {name}, which Microsoft has signed for Linux.",
            evidence=evidence,
            remedy="In the firmware's set-up under Secure Boot, allow the Microsoft 3rd Party UEFI CA (many a new machine is "
            "sold without it), reset its keys to the factory's, or switch Secure Boot off.",
        )
    elif ran_since:
        yield Finding(
            gravity=Gravity.HARMLESS,
            cause="Its firmware wants Secure Boot: it refused iPXE once, and boots through the signed GRUB since.",
            evidence=(*evidence, line(ran_since[-1])),
            remedy="Nothing to do: it is remembered of this machine.",
        )
    else:
        yield Finding(
            gravity=Gravity.SUSPECT if case.firmware_traits.secure_boot else Gravity.FAULT,
            cause=f"Its firmware refuses {name}, which is not signed: Secure Boot is on.",
            evidence=evidence,
            remedy="It is offered shim and GRUB, which are signed, from its next question on: boot it once more if it has "
            "stopped. Where it must boot iPXE, switch Secure Boot off in the firmware's set-up.",
        )


def silent_loader(case: Case) -> Iterator[Finding]:
    """A boot loader that arrived, and of which nothing was heard."""
    fetched = of(case.furthest, Stage.LOADER)
    if not fetched or case.furthest[-1] is not fetched[-1] or not asked_for_a_file(case.furthest):
        return
    waited = (case.now - fetched[-1].at).total_seconds()
    if waited > _STARTS_WITHIN:
        again = case.asked_again
        name = text(fetched[-1], "name") or "its boot loader"
        yield Finding(
            gravity=Gravity.FAULT if case.ticket or (case.discovers and case.interface is None) else Gravity.SUSPECT,
            cause=f"The machine has {name}, and nothing was heard of it since."
            if not again
            else f"The machine has {name}, and did not go on with it: only its question for an address came again.",
            evidence=(
                line(fetched[-1]),
                *again,
                f"{moment(case.now)} {'silence for' if not again else 'no word of the loader for'} {waited:.0f} s",
            ),
            remedy="Look at its screen. A message about security or signatures: switch Secure Boot off, or boot it once more. "
            "A loader that hangs at its network card: update the card's firmware, or boot the other way (BIOS or UEFI).",
        )


def asked_for_a_file(boot: Sequence[Sighting]) -> bool:
    """Whether firmware asked by DHCP from which file to boot: any host may fetch one without that, as monitoring does."""
    return bool(of(boot, *_TOLD_A_FILE))


def made_for(name: str) -> frozenset[int]:
    """The architectures (option 93) that can run a program of this name; empty where its name does not say."""
    bare = name.rpartition("/")[2].lower()
    if bare.endswith((".kpxe", ".pxe", ".kkpxe", ".0")):
        return BIOS
    if not bare.endswith((".efi", ".efi.signed")):
        return frozenset()
    return ARM if "arm64" in bare or "aa64" in bare else X86


def architecture(boot: Sequence[Sighting]) -> int | None:
    """What its firmware said that it is (option 93); None when nothing was seen of that."""
    return next(
        (found for each in of(boot, Stage.DISCOVER) if (found := number(each, "architecture")) is not None), None
    )


def _is_uefi(case: Case) -> bool:
    return architecture([each for boot in case.boots for each in boot]) not in BIOS | X86_32


def _stopped(case: Case, boot: Sequence[Sighting], seen: Sighting) -> bool:
    return text(seen, "why") in ("silence", "gave up") and not _fell_into_start(case, boot, seen)


def _fell_into_start(case: Case, boot: Sequence[Sighting], failed: Sighting) -> bool:
    """Whether the appliance's own start broke that transfer off: the machine had begun to load before, and did not ask anew since."""
    if not case.since <= failed.at <= case.since + _BROKEN_OFF_WITHIN or ended_at(failed) > failed.at:
        return False  # or it failed once more, which the start does not explain
    before = [each for each in boot[: boot.index(failed)] if each.at < case.since]
    # The question for the file itself may have been lost with the life before.
    loading = of(before, *_LOADING, *_LOADED)
    anew = [each for each in of(boot, Stage.DISCOVER, *_LOADED) if each is not failed and ended_at(each) >= case.since]
    return bool(loading) and loading[-1].stage not in _LOADED and not anew


def _never_ran(case: Case) -> Iterator[tuple[Sighting, Sighting]]:
    """Loaders that arrived whole at the end of a boot, each with what began the next one soon after."""
    for boot, following in zip(case.boots, case.boots[1:], strict=False):
        fetched = of(boot, Stage.LOADER)
        ran = of(boot, *_RUNS) or not fetched or boot[-1] is not fetched[-1]
        if not ran and following[0].at - fetched[-1].at <= REFUSED_WITHIN:
            yield fetched[-1], following[0]
