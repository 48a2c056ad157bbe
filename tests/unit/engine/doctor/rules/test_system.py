"""The doctor's rules about what comes after the boot loader."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.engine.boot_story import (
    BEGIN,
    KNOWN,
    MAC,
    OSIE,
    answered,
    appliance,
    asked,
    case,
    fetched,
    osie_boot,
    seen,
)
from tinkbox.engine.doctor.case import Duty, Finding, OsieSize, Work
from tinkbox.engine.doctor.doctor import diagnose
from tinkbox.engine.doctor.rules.system import (
    boot_loop,
    clock_is_wrong,
    disk_not_found,
    never_seen,
    no_osie,
    plain_osie,
    ramdisk_too_large,
    silent_osie,
    stalled_boot,
    wrong_architecture,
)
from tinkbox.engine.timeline.stalls import LOOK_AT, LOOK_AT_HTTPS, LOOK_AT_IPXE
from tinkbox.model.boot import Asker, Boot, Stage
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.hardware import Form
from tinkbox.model.inventory import Disk, Inventory
from tinkbox.model.netboot import Netboot, OwnOsie
from tinkbox.model.sightings import Line, Sighting
from tinkbox.model.workflow import State

MIB = 1 << 20
INVENTORY = Inventory(architecture="x86_64", processor="", processors=2, memory=512 * MIB, firmware="bios")
SENT = [asked(0), *answered(1), seen(7, Stage.SCRIPT), seen(8, Stage.KERNEL), seen(9, Stage.RAMDISK)]
GIVEN = [*SENT, seen(9.5, Stage.TICKET, "at 172.30.0.21")]


def to_disk(second: float) -> list[Sighting]:
    return [asked(second), *answered(second + 1), seen(second + 3, Stage.LOCAL_DISK, way="sanboot")]


def test_an_appliance_without_an_osie_boots_nobody() -> None:
    (found,) = no_osie(appliance(osie=()))
    assert found.gravity is Gravity.FAULT
    assert found.remedy.startswith(
        "Run `tinkbox osie build` on the appliance, which needs the internet, or copy the folder osie"
    )
    assert found.evidence == ("OSIEs that were built: none",)
    assert not list(no_osie(appliance()))


def test_an_osie_that_was_there_is_to_be_put_back_before_another_one_is_built() -> None:
    lacks = {"osie": (), "osie_folder": "/data/osie"}
    (found,) = no_osie(appliance(**lacks, osie_gone={"x86_64": "/data/osie/x86_64"}))
    assert (found.gravity, found.cause) == (
        Gravity.FAULT,
        "The OSIE is gone: machines that are to boot find no kernel.",
    )
    assert found.remedy.startswith("Put /data/osie/x86_64 back from where it was moved to")
    assert found.remedy.index("/data/osie/x86_64") < found.remedy.index("`tinkbox osie build`")
    assert found.evidence[0] == (
        "no OSIE is in /data/osie/x86_64; one was there after tinkbox started at 2026-11-21 02:00:00"
    )
    assert found.stops is not None
    both = {each: f"/data/osie/{each}" for each in ("aarch64", "x86_64")}
    (found,) = no_osie(appliance(**lacks, osie_gone=both))
    assert found.remedy.startswith(
        "Put /data/osie/aarch64 and /data/osie/x86_64 back from where they were moved to, or copy them"
    )
    whole = dict.fromkeys(both, "/data/osie")
    (found,) = no_osie(appliance(**lacks, osie_gone=whole))
    assert found.remedy.startswith("Put /data/osie back from where it was moved to")


def test_an_osie_that_a_machine_fetched_before_the_start_is_to_be_put_back_first() -> None:
    lacks = {"osie": (), "osie_folder": "/data/osie"}
    (found,) = no_osie(appliance(**lacks, osie_fetched=seen(-9000, Stage.KERNEL)))
    assert found.remedy.startswith("Put /data/osie back from where it was moved to")
    assert found.evidence[0] == f"2026-11-21 00:30:00 {MAC} fetched the kernel of an OSIE from here"
    (found,) = no_osie(case(*SENT, asked(700), **lacks))
    assert found.remedy.startswith("Put /data/osie back from where it was moved to")
    (found,) = no_osie(case(asked(0), **lacks))
    assert found.remedy.startswith("Run `tinkbox osie build --architecture x86_64`"), "it may never have been built"


def test_of_several_osies_that_of_the_machine_is_to_be_put_back_first() -> None:
    arm, folder = replace(KNOWN, architecture="aarch64"), {"osie_folder": "/data/osie"}
    (found,) = no_osie(case(interface=arm, osie_gone={"aarch64": "/data/osie/aarch64"}, **folder))
    assert found.remedy.startswith("Put /data/osie/aarch64 back from where it was moved to")
    assert "`tinkbox osie build --architecture aarch64`" in found.remedy
    before = [asked(-9000, architecture=11), seen(-8990, Stage.KERNEL), asked(0, architecture=11)]
    (found,) = no_osie(case(*before, interface=arm, **folder))
    assert found.remedy.startswith("Put /data/osie/aarch64 back from where it was moved to")
    (found,) = no_osie(case(*SENT, asked(700), interface=arm, **folder))
    assert found.remedy.startswith("Run `tinkbox osie build"), "what it fetched was that for another processor"


def test_an_osie_that_cannot_be_read_is_told_once() -> None:
    trouble = "the user tinkbox cannot read the OSIE"
    for looked_at in (appliance(osie=(), osie_trouble=trouble), case(osie=(), osie_trouble=trouble)):
        (found,) = no_osie(looked_at)
        assert (found.gravity, found.evidence) == (Gravity.FAULT, (trouble,))
    assert not list(no_osie(case(osie=(), osie_trouble=trouble, surveyed=True)))


def test_an_osie_that_cannot_be_used_is_told_with_the_reason_and_the_way_out() -> None:
    trouble = "/data/osie/x86_64/vmlinuz is no regular file: move it away, and build it again with `tinkbox osie build`"
    (found,) = no_osie(appliance(osie=(), osie_trouble=trouble))
    assert found.cause.endswith("get no kernel: /data/osie/x86_64/vmlinuz is no regular file.")
    assert found.remedy.startswith(
        "Move it away, and build it again with `tinkbox osie build`. Or copy the folder osie"
    )


def test_an_osie_whose_description_is_damaged_is_sent_all_the_same_and_is_no_fault_of_machines() -> None:
    trouble = "/data/osie/x86_64/osie.json does not describe an OSIE (Expecting value: line 1): build it again with `tinkbox osie build`"
    told = {"osie": (), "osie_trouble": trouble, "osie_served": True}
    (found,) = no_osie(appliance(**told))
    assert found.cause == (
        "/data/osie/x86_64/osie.json does not describe an OSIE (Expecting value: line 1). Machines that are to boot are sent its files all "
        "the same, and whether these are whole, and of which version, is not known."
    )
    assert (found.gravity, found.evidence, found.stops) == (Gravity.SUSPECT, (trouble,), None)
    assert found.remedy.startswith("Build it again with `tinkbox osie build`. Or copy the folder osie")
    assert not list(no_osie(case(**told)))


def test_an_osie_in_the_folder_of_another_architecture_is_a_fault_of_the_appliance() -> None:
    arm = replace(OSIE, architecture="aarch64")
    told = {"osie": (arm, replace(arm, instead_of="x86_64")), "osie_folder": "/data/osie"}
    (found,) = no_osie(appliance(**told))
    assert found.cause == (
        "The folder /data/osie/x86_64 has an OSIE for aarch64: machines of x86_64 are sent a kernel that they cannot start."
    )
    assert found.evidence == ("OSIEs that were built: aarch64, aarch64 (in the folder of x86_64)",)
    assert found.remedy.startswith("`tinkbox osie build --architecture x86_64`")
    assert found.stops is not None
    assert (found.stops.duties, found.stops.architecture) == ({Duty.OSIE}, "x86_64")
    (own,) = no_osie(case(**told))
    assert own.cause == found.cause
    assert not list(no_osie(case(**told, surveyed=True))), "as it is said of the appliance"
    assert not list(no_osie(case(interface=replace(KNOWN, architecture="aarch64"), **told)))
    moved = {**told, "osie": (replace(arm, instead_of="x86_64"),)}
    (none,) = no_osie(case(interface=replace(KNOWN, architecture="aarch64"), **moved))
    assert none.cause.startswith("There is no OSIE for aarch64")


def test_an_osie_is_needed_for_the_machines_architecture() -> None:
    arm = replace(KNOWN, architecture="aarch64")
    (found,) = no_osie(case(interface=arm))
    assert (found.gravity, "osie build --architecture aarch64" in found.remedy) == (Gravity.FAULT, True)
    assert found.evidence == ("its hardware document says arch: aarch64", "OSIEs that were built: x86_64")
    assert not list(no_osie(case()))
    assert not list(no_osie(case(interface=arm, ticket=False)))
    assert list(no_osie(case(interface=arm, surveyed=True)))
    told = case(interface=arm)
    work = Work(id="w1", name="w", state=State.RUNNING, created_at=BEGIN, contact=told.now)
    assert not list(no_osie(replace(told, work=work))), "its worker is in touch"
    assert not list(no_osie(replace(told, work=work, osie=(), osie_trouble="no kernel")))
    assert list(no_osie(replace(told, work=replace(work, contact=told.now - timedelta(minutes=1)))))
    for own in (
        Netboot(script_url="http://lab/x"),
        Netboot(osie=OwnOsie(kernel="http://lab/k", initramfs="http://lab/i")),
    ):
        assert not list(no_osie(case(interface=replace(arm, netboot=own))))


def test_both_ramdisks_must_fit_into_the_memory() -> None:
    first = [*SENT[:-1], seen(9, Stage.RAMDISK, name="initramfs", bytes=70 * MIB)]
    assert not list(ramdisk_too_large(case(*first, inventory=INVENTORY)))
    both = [*first, seen(10, Stage.FIRMWARE, name="firmware", bytes=7 * MIB)]
    (found,) = ramdisk_too_large(case(*both, inventory=INVENTORY))
    assert "its ramdisk has 77.0 MiB, and needs 539.0 MiB of memory to be unpacked" in found.evidence


def test_an_architecture_that_no_osie_can_have_is_corrected_in_the_document() -> None:
    (found,) = no_osie(case(asked(0), interface=replace(KNOWN, architecture="x86-64")))
    told = "Set arch to x86_64 or aarch64 in its hardware document (it asked as x86_64) and push it again."
    assert found.remedy == told
    (found,) = no_osie(case(asked(0, architecture=0), interface=replace(KNOWN, architecture="arm64")))
    assert "asked as" not in found.remedy


def test_that_there_is_no_osie_at_all_is_said_once_of_all_machines() -> None:
    assert list(no_osie(case(osie=())))
    assert not list(no_osie(case(osie=(), surveyed=True)))


def test_a_document_that_names_another_processor_is_found() -> None:
    (found,) = wrong_architecture(case(asked(0, architecture=11)))
    assert (found.gravity, "aarch64" in found.remedy) == (Gravity.FAULT, True)
    (found,) = wrong_architecture(case(asked(0), interface=replace(KNOWN, architecture="aarch64")))
    assert "x86_64" in found.remedy
    assert found.evidence[1] == "its hardware document says arch: aarch64"
    assert not list(wrong_architecture(case(asked(0), interface=replace(KNOWN, architecture="riscv64"))))
    assert not list(wrong_architecture(case(seen(0, Stage.WORKER))))
    for architecture in (0, 7, 41):
        assert not list(wrong_architecture(case(asked(0, architecture=architecture))))


def test_a_document_without_arch_is_not_said_to_name_one() -> None:
    network = {"interfaces": [{"dhcp": {"mac": str(KNOWN.mac), "hostname": "node1"}}]}
    document = {"id": "00000000-0000-0000-0000-000000000001", "network": network}
    (silent,) = parse_hardware(json.dumps(document).encode()).interfaces
    assert (silent.architecture, silent.architecture_told) == ("x86_64", False)
    (found,) = no_osie(case(interface=silent, osie=()))
    assert found.evidence[0] == "its hardware document says no arch, which means x86_64"
    assert "or set arch in its hardware document" in found.remedy
    (found,) = wrong_architecture(case(asked(0, architecture=11), interface=silent))
    assert found.evidence[1] == "its hardware document says no arch, which means x86_64"
    assert found.cause.startswith("The machine is no x86_64, as its hardware document without arch means, so ")
    interfaces = [{"dhcp": {"mac": str(KNOWN.mac), "arch": "aarch64"}}]
    (told,) = parse_hardware(json.dumps({**document, "network": {"interfaces": interfaces}}).encode()).interfaces
    assert (told.architecture, told.architecture_told) == ("aarch64", True)


def test_memory_that_is_too_small_for_the_ramdisk_is_measured() -> None:
    (found,) = ramdisk_too_large(case(*SENT, inventory=INVENTORY))
    assert (found.gravity, "512 MiB" in found.cause) == (Gravity.FAULT, True)
    assert found.evidence[1] == "its ramdisk has 81.0 MiB, and needs 567.0 MiB of memory to be unpacked"
    assert found.remedy.startswith("Give the machine 1024 MiB")
    away = case(*SENT, asked(60), *answered(61, boot=Boot.ELSEWHERE.value), inventory=INVENTORY)
    assert not list(ramdisk_too_large(replace(away, barred="its document"))), "it gets no OSIE any more"


def test_what_was_sent_counts_for_more_than_what_was_built() -> None:
    sent = [*SENT[:-1], seen(9, Stage.RAMDISK, bytes=2 * MIB)]
    assert not list(ramdisk_too_large(case(*sent, inventory=INVENTORY)))
    (found,) = ramdisk_too_large(case(*SENT[:-1], inventory=INVENTORY))  # iPXE had no room for it
    assert "81.0 MiB" in found.evidence[1]


def test_memory_may_be_known_from_the_boot_loader() -> None:
    told = [*SENT[:-3], seen(7, Stage.SCRIPT, memory=511), *SENT[-2:]]
    (found,) = ramdisk_too_large(case(*told))
    assert "boot loader said that it has 511 MiB" in found.evidence[0]
    (found,) = ramdisk_too_large(case(*told, inventory=replace(INVENTORY, memory=0)))
    assert "511 MiB" in found.cause


def test_memory_that_was_taken_out_since_its_worker_was_heard_of_is_a_fault() -> None:
    large = [replace(each, facts={"memory": 2047}) if each.stage is Stage.SCRIPT else each for each in osie_boot(0)]
    smaller = [
        asked(600), *answered(601), fetched(603), asked(605, Asker.IPXE), *answered(606),
        seen(607, Stage.SCRIPT, memory=511), seen(608, Stage.KERNEL), seen(609, Stage.RAMDISK),
    ]  # fmt: skip
    worked = Work(id="w", name="w", state=State.PENDING, created_at=BEGIN, contact=BEGIN + timedelta(seconds=40))
    told = case(*large, *smaller, work=worked, inventory=replace(INVENTORY, memory=2047 * MIB))
    (found,) = (each for each in diagnose(told) if each.rule == "RamdiskTooLarge")
    assert found.gravity is Gravity.FAULT


def test_memory_that_suffices_is_unknown_or_worked_is_no_fault() -> None:
    assert not list(ramdisk_too_large(case(*SENT)))
    assert not list(ramdisk_too_large(case(*SENT, inventory=replace(INVENTORY, memory=567 * MIB))))
    assert not list(ramdisk_too_large(case(*SENT, seen(40, Stage.WORKER), inventory=INVENTORY)))
    assert not list(ramdisk_too_large(case(*SENT[:5], inventory=INVENTORY)))
    assert not list(ramdisk_too_large(case(*SENT, inventory=INVENTORY, osie=())))
    assert not list(ramdisk_too_large(case(*SENT, inventory=INVENTORY, osie=(replace(OSIE, architecture="aarch64"),))))
    assert not list(ramdisk_too_large(case(*SENT, inventory=INVENTORY, osie=(replace(OSIE, ramdisk=70 * MIB),))))


def test_what_its_document_adds_stands_beside_an_osie_that_is_silent() -> None:
    def found(**more: Any) -> Finding:
        (told,) = silent_osie(case(*GIVEN, after=200, interface=replace(KNOWN, **more)))
        return told

    tagged = found(vlan_id=20)
    assert tagged.cause.endswith(": its document puts it into VLAN 20, of which nothing was heard.")
    assert "vlan_id: 20" in tagged.evidence[-1]
    assert tagged.remedy.startswith("If its switch port does not carry VLAN 20")
    kept = found(netboot=Netboot(kernel_parameters=("quiet", "module_blacklist=e1000")))
    assert kept.cause.endswith(": its document keeps the kernel from modules ('module_blacklist=e1000').")
    assert "command line: 'quiet module_blacklist=e1000'" in kept.evidence[-1]
    other = found(netboot=Netboot(kernel_parameters=("quiet",)))
    assert other.cause == "The machine fetched the OSIE, and its worker was never in touch."
    assert "'quiet'" in other.evidence[-1]
    (spoke,) = silent_osie(
        case(*GIVEN, seen(30, Stage.CLOCK, offset=0), after=300, interface=replace(KNOWN, vlan_id=20))
    )
    assert "VLAN" not in spoke.cause, "it has a network"


def test_an_osie_of_which_nothing_is_heard_is_a_fault() -> None:
    (found,) = silent_osie(case(*GIVEN, after=200))
    assert (found.gravity, "200 s later" in found.evidence[-1]) == (Gravity.FAULT, True)
    assert found.cause == "The machine fetched the OSIE, and its worker was never in touch."
    assert "console" in found.remedy
    assert not list(silent_osie(case(*GIVEN, after=60)))
    assert not list(silent_osie(case(*osie_boot(0), after=900)))


def test_what_was_fetched_after_the_osie_stands_in_the_evidence() -> None:
    fetched_all = [*SENT, seen(9.2, Stage.FIRMWARE, "firmware, 9 bytes"), GIVEN[-1]]
    (found,) = silent_osie(case(*fetched_all, after=200))
    assert found.evidence == (
        "2026-11-21 03:00:08 fetched the kernel",
        "2026-11-21 03:00:09 fetched the OSIE",
        "2026-11-21 03:00:09 fetched firmware for its cards: firmware, 9 bytes",
        "2026-11-21 03:00:09 was given its boot ticket: at 172.30.0.21",
        "2026-11-21 03:03:29 200 s later",
    )


def test_a_boot_loader_that_did_not_ask_for_the_credential_is_not_said_to_have_started_the_osie() -> None:
    for boot in (SENT, [*SENT, seen(9.2, Stage.FIRMWARE)]):
        (found,) = silent_osie(case(*boot, after=200, interface=replace(KNOWN, vlan_id=20)))
        assert (found.gravity, found.cause) == (
            Gravity.FAULT,
            "The machine fetched the OSIE, and did not ask for its credential: iPXE does that before it starts the OSIE.",
        )
        assert found.remedy.startswith("Look at its screen: iPXE stands still there, or the machine lost its power")
        assert not any("vlan_id" in each for each in (*found.evidence, found.remedy)), "no kernel ran"
    again = [*GIVEN, seen(20, Stage.KERNEL), seen(21, Stage.RAMDISK)]
    assert "never in touch" in next(silent_osie(case(*again, after=200))).cause, "it had its credential before"


@pytest.mark.parametrize(
    "script",
    [seen(7, Stage.SCRIPT, file="pxelinux.cfg/01-x"), seen(7, Stage.SUPPLIED), seen(7, Stage.OWN_BOOT)],
)
def test_an_osie_that_asks_for_its_credential_itself_and_did_not_may_lack_a_network(script: Sighting) -> None:
    story = [*SENT[:-3], script, *SENT[-2:]]
    (found,) = silent_osie(case(*story, after=200, interface=replace(KNOWN, vlan_id=20)))
    assert found.cause == (
        "The machine fetched the OSIE, and did not ask for its credential: its document puts it into VLAN 20, of which nothing "
        "was heard."
    )
    assert "a driver that is missing" in found.remedy


def test_a_worker_that_exchanged_its_ticket_is_not_said_to_have_never_been_in_touch() -> None:
    began = [*GIVEN, seen(30, Stage.CLOCK, "+2 s", offset=2), seen(140, Stage.SESSION, "from 172.30.0.21")]
    assert not list(silent_osie(case(*began, after=100))), "it counts from its last word"
    for boot in (began, [*GIVEN, began[-1]]):
        (found,) = silent_osie(case(*boot, after=200))
        assert found.cause == "The OSIE runs, and its worker exchanged its boot ticket, and asked for no work since."
        assert found.evidence[-2] == "2026-11-21 03:02:20 exchanged its boot ticket: from 172.30.0.21"
        assert "syslog" in found.remedy
    ended = seen(150, Stage.OSIE_TROUBLE, "the worker ended with status 1", part="worker")
    (found,) = silent_osie(case(*began, ended, after=1))
    assert found.cause == "The OSIE runs, and its worker does not go on: 'the worker ended with status 1'."


def test_an_osie_that_runs_and_whose_worker_never_speaks_is_one_that_its_syslog_explains() -> None:
    running = (*SENT, seen(30, Stage.CLOCK, "+2 s", offset=2))
    (found,) = silent_osie(case(*running, after=200))
    assert (found.gravity, found.cause) == (Gravity.FAULT, "The OSIE runs, and its worker was never in touch.")
    assert "+2 s" in found.evidence[-2]
    assert "200 s later" in found.evidence[-1]
    assert "syslog" in found.remedy
    assert not list(silent_osie(case(*running, after=60)))
    assert not list(silent_osie(case(*running, seen(40, Stage.WORKER), after=200)))
    # The clock of a boot before this one.
    assert "fetched" in next(silent_osie(case(seen(-9, Stage.CLOCK, offset=0), *SENT, after=200))).cause


def said(second: float, words: str, program: str = "osie", severity: int = 5) -> Line:
    return Line(mac=MAC, at=BEGIN + timedelta(seconds=second), severity=severity, program=program, text=words)


def test_an_osie_that_tells_its_trouble_is_quoted_at_once() -> None:
    words = "the Docker engine ended with status 1, with 12 MB of memory free, 0 MB for images; it said: no space left on device"
    told = seen(40, Stage.OSIE_TROUBLE, words, part="engine")
    (found,) = silent_osie(case(*SENT, told, after=1, said=(said(41, "Out of memory", "kernel", 3),)))
    assert (found.gravity, found.cause) == (Gravity.FAULT, f"The OSIE runs, and its worker cannot start: '{words}'.")
    assert "more memory" in found.remedy
    assert found.evidence[1:3] == (
        f"2026-11-21 03:00:40 its OSIE has trouble: {words}",
        "2026-11-21 03:00:41 kernel said: 'Out of memory'",
    )
    assert not list(silent_osie(case(*SENT, told, seen(50, Stage.WORKER), after=300)))
    # Of the boot before this one.
    assert not list(silent_osie(case(seen(-9, Stage.OSIE_TROUBLE, words), *SENT, after=1)))


ELSEWHERE = replace(
    KNOWN, form=Form.V1ALPHA1, netboot=Netboot(kernel_parameters=("quiet", "tinkbox.server=http://10.9.9.9"))
)


def test_a_document_that_sends_its_osie_to_another_server_is_told_as_the_reason() -> None:
    told = said(40, "[12.30] trouble: network: the appliance does not answer HTTP at http://10.9.9.9")
    (found,) = silent_osie(case(*SENT, said=(told,), after=121, interface=ELSEWHERE))
    assert found.cause.endswith("10.9.9.9': its document tells its OSIE another thing than the appliance does.")
    assert "'tinkbox.server=http://10.9.9.9' in netboot.osie.kernelParams" in found.evidence[-1]
    assert found.remedy == (
        "Take 'tinkbox.server' out of netboot.osie.kernelParams in its hardware document (`tinkbox hardware edit MACHINE`), and boot it again."
    )
    engine = seen(40, Stage.OSIE_TROUBLE, "the Docker engine ended", part="engine")
    (other,) = silent_osie(case(*SENT, engine, after=1, interface=ELSEWHERE))
    assert "kernelParams" not in other.remedy, "it lacks no appliance"
    (silent,) = silent_osie(case(*GIVEN, after=200, interface=ELSEWHERE))
    assert silent.cause.endswith(": its document tells its OSIE another thing than the appliance does.")
    assert silent.remedy.startswith("Take 'tinkbox.server' out of netboot.osie.kernelParams")
    assert silent.evidence[-1].endswith("command line: 'quiet'")


def test_a_worker_that_meets_another_than_its_appliance_is_told_at_once_with_both_ways_out() -> None:
    words = "the appliance at https://172.30.0.1 is not trusted: its certificate is not of the authority that this machine was given"
    (found,) = silent_osie(case(*SENT, seen(40, Stage.OSIE_TROUBLE, words, part="tls"), after=1))
    assert found.gravity is Gravity.FAULT
    assert words in found.cause
    assert "another host answers in its place" in found.remedy
    assert "boot the machine again" in found.remedy


def test_what_an_osie_says_by_syslog_alone_counts_as_well() -> None:
    told = said(40, "[12.30] trouble: network: no answer to DHCP on eth0: is the appliance running?")
    assert not list(silent_osie(case(*SENT, said=(told,), after=40))), "it may pass"
    (found,) = silent_osie(case(*SENT, said=(told,), after=121))
    assert found.cause == (
        "The OSIE runs, and its worker cannot start: 'no answer to DHCP on eth0: is the appliance running?'."
    )
    assert "switch port" in found.remedy
    # Any host can send it in the machine's name.
    full = said(40, "[12.30] trouble: disk: no space left on device")
    (found,) = silent_osie(case(*SENT, said=(full,), after=60))
    assert found.gravity is Gravity.SUSPECT
    (found,) = silent_osie(case(*SENT, said=(full,), after=121))
    assert found.gravity is Gravity.FAULT, "it is silent in any case"
    # Another program's word, an ordinary one of the OSIE, and one of before.
    for other in (replace(told, program="x"), replace(told, text="[1.0] loading drivers"), said(-5, told.text)):
        assert "cannot start" not in next(silent_osie(case(*SENT, said=(other,), after=121))).cause


def test_a_clock_of_years_ago_has_an_empty_battery() -> None:
    (found,) = clock_is_wrong(case(*SENT, seen(20, Stage.CLOCK, offset=-817_000_000)))
    assert (found.gravity, "25 years behind" in found.cause) == (Gravity.SUSPECT, True)
    assert "battery" in found.remedy
    assert found.evidence == ("2026-11-21 03:00:20 its own clock said -817000000 s against the appliance's",)


def test_a_clock_explains_nothing_where_the_worker_came_and_is_forgotten_with_the_next_workflow() -> None:
    clock = seen(20, Stage.CLOCK, offset=-817_000_000)
    (found,) = clock_is_wrong(case(*SENT, clock, seen(30, Stage.WORKER)))
    assert found.gravity is Gravity.HARMLESS
    failed = Work(id="w", name="w", state=State.FAILED, created_at=BEGIN)
    (found,) = clock_is_wrong(case(*SENT, clock, seen(30, Stage.WORKER), work=failed))
    assert found.gravity is Gravity.SUSPECT
    assert not list(clock_is_wrong(case(*SENT, clock, waited_since=BEGIN + timedelta(minutes=1))))
    told = [each.rule for each in diagnose(case(*SENT, clock, after=300))]
    assert told == ["SilentOsie", "ClockWrong"]


def test_memory_that_was_taken_out_since_its_inventory_counts() -> None:
    before = [asked(-3600), seen(-3590, Stage.SCRIPT, memory=2048), seen(-3500, Stage.WORKER)]
    now = [*SENT[:-3], seen(7, Stage.SCRIPT, memory=300), *SENT[-2:]]
    large = replace(INVENTORY, memory=2048 * MIB)
    (found,) = ramdisk_too_large(case(*before, *now, inventory=large))
    assert "memory of 300 MiB" in found.cause
    assert not list(ramdisk_too_large(case(*now, inventory=large))), "some firmware tells only of a part of it"


def test_a_clock_in_another_time_zone_is_set_in_the_firmware() -> None:
    (found,) = clock_is_wrong(case(*SENT, seen(20, Stage.CLOCK, offset=7200)))
    assert ("2 hours ahead" in found.cause, "battery" in found.remedy) == (True, False)
    assert not list(clock_is_wrong(case(*SENT, seen(20, Stage.CLOCK, offset=-100))))
    assert not list(clock_is_wrong(case(*SENT, seen(20, Stage.CLOCK))))


def test_an_action_that_finds_no_disk_is_told_which_there_are() -> None:
    told = seen(60, Stage.ACTION, "disk/write FAILED after 1.0 s, DiskNotFound: cannot open /dev/sda")
    disks = replace(INVENTORY, disks=(Disk(device="/dev/vda", size=10 << 30),))
    (found,) = disk_not_found(case(*osie_boot(0), told, inventory=disks))
    assert found.gravity is Gravity.FAULT
    assert found.evidence[1] == "its disks: '/dev/vda' (10240.0 MiB)"
    assert not list(disk_not_found(case(*osie_boot(0), seen(60, Stage.ACTION, "disk/write SUCCESS"), inventory=disks)))
    (found,) = disk_not_found(case(*osie_boot(0), told, inventory=INVENTORY))
    assert found.evidence[1] == "its disks: none"


def test_a_machine_without_a_disk_is_told_so() -> None:
    failed = Work(id="w", name="w", state=State.FAILED, created_at=BEGIN)
    (found,) = disk_not_found(case(*osie_boot(0), inventory=INVENTORY, work=failed))
    assert (found.gravity, found.evidence) == (Gravity.SUSPECT, ("its inventory lists no disk",))
    (needless,) = disk_not_found(case(*osie_boot(0), inventory=INVENTORY, work=replace(failed, state=State.RUNNING)))
    assert needless.gravity is Gravity.HARMLESS, "what goes on needs none"


def test_an_inventory_has_its_time_and_says_nothing_of_a_boot_after_it() -> None:
    at = BEGIN + timedelta(seconds=41)
    (found,) = disk_not_found(case(*osie_boot(0), inventory=INVENTORY, inventory_at=at))
    assert found.evidence == ("2026-11-21 03:00:41 its inventory lists no disk",)
    assert not list(disk_not_found(case(*osie_boot(0), *osie_boot(300), inventory=INVENTORY, inventory_at=at)))
    told = seen(60, Stage.ACTION, "disk/write FAILED after 1.0 s, DiskNotFound: cannot open /dev/sda")
    (found,) = disk_not_found(case(*osie_boot(0), told, inventory=INVENTORY, inventory_at=at))
    assert found.evidence[1] == "2026-11-21 03:00:41 its disks: none"


def test_a_machine_that_comes_back_from_its_disk_found_nothing_there() -> None:
    (found,) = disk_not_found(case(*to_disk(0), asked(20)))
    assert (found.gravity, "17 s later" in found.evidence[1]) == (Gravity.FAULT, True)
    assert not list(disk_not_found(case(*to_disk(0))))
    assert not list(disk_not_found(case(*to_disk(0), *osie_boot(20))))  # work came meanwhile
    assert not list(disk_not_found(case(*to_disk(0), seen(30, Stage.DISK_BOOTED), asked(90))))
    assert not list(disk_not_found(case(*osie_boot(0), *osie_boot(300))))
    assert not list(disk_not_found(case(*to_disk(0), *to_disk(3600))))  # it was switched off and on


def test_a_boot_to_the_osie_or_a_newer_workflow_ends_what_was_said_of_the_disk() -> None:
    back = [*to_disk(0), asked(40), *answered(41)]
    assert list(disk_not_found(case(*back, after=30, waited_since=BEGIN - timedelta(hours=1))))
    assert not list(disk_not_found(case(*back, after=30, waited_since=BEGIN + timedelta(seconds=20))))
    fetching = [*back, seen(44, Stage.SCRIPT), seen(45, Stage.KERNEL), seen(46, Stage.RAMDISK)]
    told = case(*fetching, after=130)
    assert not list(disk_not_found(told))
    assert [each.rule for each in diagnose(told)] == ["SilentOsie"]


def test_boots_that_begin_again_and_again_are_a_loop() -> None:
    vain = [
        each for begin in (0, 60, 120) for each in (asked(begin), *answered(begin + 1), seen(begin + 7, Stage.SCRIPT))
    ]
    (found,) = boot_loop(case(*vain, asked(180)))
    assert (found.gravity, len(found.evidence)) == (Gravity.FAULT, 3)
    assert (
        found.evidence[0] == "2026-11-21 03:00:00 a boot that ended with: 2026-11-21 03:00:07 fetched its boot script"
    )
    assert found.cause == (
        "The machine boots again and again without getting anywhere, and each time the last that was seen of it was: fetched its "
        "boot script."
    )
    assert found.remedy.startswith(LOOK_AT[Stage.SCRIPT]), (
        "what there is to look at, whether or not it stands still now"
    )
    assert not list(boot_loop(case(*vain[5:], asked(180))))
    assert not list(boot_loop(case(*vain, *osie_boot(180))))


def test_a_boot_that_ended_where_ipxe_had_its_address_is_told_at_the_next_one() -> None:
    first = [asked(0), *answered(1), fetched(3), asked(5, Asker.IPXE), *answered(6)]
    (found,) = stalled_boot(case(*first, asked(42), after=1))
    assert (found.gravity, found.remedy) == (Gravity.SUSPECT, LOOK_AT_IPXE)
    assert not list(stalled_boot(case(*first, asked(12), after=1)))
    further = [*first, seen(8, Stage.SCRIPT)]
    assert not list(stalled_boot(case(*further, asked(42), after=1)))


def test_who_was_not_told_to_boot_may_have_fetched_the_osie_for_another_reason() -> None:
    fetched_alone = seen(0, Stage.RAMDISK, name="initramfs")
    assert not list(silent_osie(case(fetched_alone, ticket=False, after=300)))
    assert list(silent_osie(case(fetched_alone, after=300)))


def test_a_boot_under_way_is_none_that_ended() -> None:
    twice = [each for begin in (0, 60) for each in (asked(begin), *answered(begin + 1), seen(begin + 7, Stage.SCRIPT))]
    third = [*twice, asked(120), *answered(121), seen(122, Stage.LOADER_REQUESTED)]
    assert not list(boot_loop(case(*third, after=3)))
    flows = [*third[:-1], seen(122, Stage.LOADER_REQUESTED, moved=60.0)]
    assert not list(boot_loop(case(*flows, after=90)))
    (found,) = boot_loop(case(*third, after=50))
    assert len(found.evidence) == 3
    four = [*twice, asked(120), *answered(121), seen(127, Stage.SCRIPT), asked(180), *answered(181)]
    (found,) = boot_loop(case(*four))
    assert [each[:19] for each in found.evidence] == [f"2026-11-21 03:0{minute}:00" for minute in (0, 1, 2)]
    (found,) = boot_loop(case(*four, parked="4 boots without progress"))
    assert found.evidence[-2].startswith("2026-11-21 03:03:00")


def test_a_loop_whose_boots_end_differently_names_no_one_end() -> None:
    vain = [
        each for begin in (0, 60, 120) for each in (asked(begin), *answered(begin + 1), seen(begin + 7, Stage.SCRIPT))
    ]
    (found,) = boot_loop(case(*vain, seen(128, Stage.KERNEL), after=100))
    assert found.cause == "The machine boots again and again without getting anywhere."
    assert found.remedy.startswith(LOOK_AT[Stage.KERNEL])


def test_a_parked_machine_that_boots_on_is_told_by_the_boots_before() -> None:
    vain = [
        each for begin in (0, 60, 120) for each in (asked(begin), *answered(begin + 1), seen(begin + 7, Stage.SCRIPT))
    ]
    parked = [each for begin in (180, 240, 300) for each in (asked(begin), seen(begin + 7, Stage.PARKED))]
    (found,) = boot_loop(case(*vain, *parked, parked="3 boots without progress"))
    assert found.cause.endswith("was: fetched its boot script.")
    assert [each.partition(" ended with: ")[2][20:] for each in found.evidence] == [
        *["fetched its boot script"] * 3,
        "",
    ]


def test_a_machine_that_is_parked_is_in_a_loop() -> None:
    told = case(asked(0), seen(5, Stage.PARKED), parked="3 boots without progress; look at its console")
    (found,) = boot_loop(told)
    assert found.evidence[-1] == "parked: 3 boots without progress"
    (named,) = (each for each in diagnose(told) if each.rule == "BootLoop")
    assert f"(`tinkbox export hardware/{MAC} | tinkbox hardware push`)" in named.remedy


def test_boots_far_apart_and_questions_without_an_answer_are_no_loop() -> None:
    apart = [each for begin in (0, 9000, 18_000) for each in to_disk(begin)]
    assert not list(boot_loop(case(*apart)))
    ignored = [each for begin in (0, 60, 120, 180) for each in (asked(begin), seen(begin + 0.1, Stage.IGNORED))]
    assert not list(boot_loop(case(*ignored)))


def loads(*seconds: float, name: str = "undionly.kpxe", blksize: int = 1432) -> list[Sighting]:
    """Fetches of a boot loader, each with its question, as they are seen where another server gives the addresses."""
    return [
        each
        for second in seconds
        for each in (seen(second, Stage.LOADER_REQUESTED, name, name=name), fetched(second + 1, name, blksize))
    ]


def test_ipxe_that_loads_itself_again_and_again_is_told_at_the_third_time() -> None:
    first = loads(0, blksize=1456)
    assert not list(boot_loop(case(*first, *loads(18), mode="off")))
    (found,) = boot_loop(case(*first, *loads(18, 36), mode="off"))
    assert (found.gravity, len(found.evidence)) == (Gravity.FAULT, 4)
    assert found.cause == (
        "The machine fetched undionly.kpxe 3 times, and asked for no boot script: most likely the DHCP server gives iPXE its own boot "
        "loader again."
    )
    assert found.evidence[3] == "2 of 3 were in blocks of 1432 bytes, for which iPXE asks"
    assert "`tinkbox doctor -o wide`" in found.remedy
    (under_way,) = boot_loop(case(*first, *loads(18, 36), seen(54, Stage.LOADER_REQUESTED), mode="off"))
    assert under_way.cause == found.cause
    assert [each.rule for each in diagnose(case(*first, *loads(18, 36), mode="off"))] == ["BootLoop"]
    assert not list(boot_loop(case(*first, *loads(18, 36))))


def test_firmware_may_not_start_what_it_fetches_again_and_again() -> None:
    (found,) = boot_loop(case(*loads(0, 18, 36, name="snponly.efi", blksize=1468), mode="off"))
    assert (found.gravity, len(found.evidence)) == (Gravity.SUSPECT, 3)
    assert "Secure Boot" in found.remedy


@pytest.mark.parametrize(
    "story",
    [
        [*loads(0, 18), seen(20, Stage.SCRIPT), *loads(36)],
        [*loads(0, 18, 36), seen(40, Stage.SCRIPT)],
        [*loads(0, 18, 36), seen(40, Stage.SCRIPT_REFUSED)],
        loads(0, 900, 1800),
        [*loads(0, 18, name="shimx64.efi"), *loads(20, 38, name="grubx64.efi")],
        loads(0, 18, 36, name="shimx64.efi"),
    ],
    ids=["script between", "script", "script refused", "far apart", "shim and GRUB", "shim"],
)
def test_loaders_that_run_or_are_fetched_seldom_are_no_loop(story: list[Sighting]) -> None:
    assert not list(boot_loop(case(*story, mode="off")))


def test_beside_another_server_in_mode_proxy_its_boot_file_is_to_go() -> None:
    story = [asked(0), *loads(2), asked(10, Asker.IPXE), *loads(12), asked(20, Asker.IPXE), *loads(22)]
    (found,) = boot_loop(case(*story, mode="proxy"))
    assert (found.gravity, "boot file" in found.remedy, "doctor -o wide" in found.remedy) == (
        Gravity.FAULT,
        True,
        False,
    )


def test_a_host_that_only_looks_for_our_files_is_no_machine_in_a_loop() -> None:
    unknown = {"mode": "off", "interface": None, "ticket": False}
    assert not list(boot_loop(case(*loads(0, 60, 120), discovers=True, **unknown)))
    (found,) = boot_loop(case(*loads(0, 18, 36), discovers=True, **unknown))
    assert found.gravity is Gravity.SUSPECT
    (found,) = boot_loop(case(*loads(0, 18, 36), **unknown))
    assert found.gravity is Gravity.HARMLESS


def test_a_loop_of_a_machine_that_has_nothing_to_boot_is_harmless() -> None:
    vain = [
        each for begin in (0, 60, 120) for each in (asked(begin), *answered(begin + 1), seen(begin + 7, Stage.SCRIPT))
    ]
    for story, more in (((*vain, asked(180)), {}), ([*loads(0, 18, 36)], {"mode": "off"})):
        (found,) = boot_loop(case(*story, ticket=False, **more))
        assert (found.gravity, "No workflow waits for the machine." in found.cause) == (Gravity.HARMLESS, True)
        assert found.remedy.startswith("Nothing to do while you have no workflow for it.")


def own_boots(*seconds: float) -> list[Sighting]:
    """Boots into a script of the machine's own document, of which nothing more is seen."""
    return [each for at in seconds for each in (asked(at), *answered(at + 1), seen(at + 7, Stage.OWN_BOOT))]


OWN = replace(KNOWN, netboot=Netboot(script="chain http://other/"))


def loops(*story: Sighting, **more: object) -> bool:
    return bool(list(boot_loop(case(*story, interface=OWN, ticket=False, **more))))


def test_boots_by_hand_into_an_own_script_are_no_loop() -> None:
    assert not loops(*own_boots(0, 25, 50), after=1), "the newest has not come back"
    assert not loops(*own_boots(0, 25, 50), after=600)


def test_a_loop_is_over_when_an_own_script_was_left_in_peace() -> None:
    four = own_boots(0, 25, 50, 75)
    assert loops(*four, after=60)
    assert not loops(*four, after=121)
    slow = own_boots(0, 200, 400, 600)
    assert loops(*slow, after=190), "the next boot of this loop is not due yet"
    assert not loops(*slow, after=201)
    assert loops(*four, asked(200), after=5), "it came back"
    assert not loops(*four, asked(300), after=5), "that is another boot, and no more of this loop"
    runs = [asked(90, Asker.SYSTEM), *answered(91)]
    assert not loops(*four, *runs, after=60), "the system that its script boots has its address"
    assert list(boot_loop(case(*four, interface=OWN, after=600))), "a workflow waits for its worker"


@pytest.mark.parametrize("what", ["pushed_at", "waited_since"])
def test_a_push_and_a_new_workflow_end_a_loop(what: str) -> None:
    four = own_boots(0, 25, 50, 75)
    assert not loops(*four, after=30, **{what: BEGIN + timedelta(seconds=90)})
    assert loops(*four, after=30, **{what: BEGIN})


def test_with_mode_off_an_address_of_another_server_is_no_standstill() -> None:
    taken = seen(2, Stage.OTHER_SERVER, server="172.30.0.9", address="172.30.0.77")
    assert not list(stalled_boot(case(asked(0), taken, mode="off", after=50)))
    (found,) = stalled_boot(case(asked(0), taken, mode="proxy", after=50))
    assert found.gravity is Gravity.SUSPECT


@pytest.mark.parametrize(("after", "found"), [(40, 0), (80, 1)])
def test_a_boot_that_stands_still_is_told_where(after: float, found: int) -> None:
    findings = list(stalled_boot(case(asked(0), *answered(1), after=after)))
    assert len(findings) == found
    if findings:
        assert (findings[0].gravity, findings[0].evidence[1]) == (Gravity.SUSPECT, "stalled here for 1 min 20 s")
        assert findings[0].remedy == LOOK_AT[Stage.LEASED]


def test_a_stalled_ipxe_has_its_loader_and_lacks_its_script() -> None:
    loaded = [asked(0), *answered(1), fetched(2), asked(5, Asker.IPXE), *answered(6)]
    (found,) = stalled_boot(case(*loaded, after=80))
    assert found.remedy == LOOK_AT_IPXE


def test_a_stalled_ipxe_that_was_told_to_come_by_https_may_not_believe_the_certificate() -> None:
    offered = seen(6, Stage.OFFERED, file="https://172.30.0.1/boot/08-00-27-00-00-01/script.ipxe")
    loaded = [asked(0), *answered(1), fetched(2), asked(5, Asker.IPXE), offered, seen(7, Stage.LEASED)]
    (found,) = stalled_boot(case(*loaded, after=80))
    assert found.remedy == LOOK_AT_HTTPS
    (found,) = stalled_boot(case(*loaded, asked(43), after=1))
    assert found.remedy == LOOK_AT_HTTPS
    by_firmware = seen(10, Stage.OFFERED, file="https://172.30.0.1/boot/loaders/snponly.efi")
    (found,) = stalled_boot(case(*loaded, asked(9, Asker.HTTP), by_firmware, seen(11, Stage.LEASED), after=80))
    assert found.remedy == LOOK_AT_HTTPS


def test_boot_for_which_bytes_still_flow_does_not_stand_still() -> None:
    flows = [asked(0), *answered(1), seen(2, Stage.KERNEL, moved=300.0)]
    assert not list(stalled_boot(case(*flows, after=380)))
    (found,) = stalled_boot(case(*flows, after=400))
    assert found.evidence[1] == "stalled here for 1 min 40 s"


def test_a_machine_that_was_never_seen_stands_nowhere() -> None:
    assert not list(stalled_boot(case()))


def test_a_machine_that_is_waited_for_in_vain_is_said_to_be_so() -> None:
    (found,) = never_seen(case())
    assert (found.gravity, found.cause) == (
        Gravity.SUSPECT,
        "A workflow waits for the machine, and nothing was seen of it since tinkbox started at 2026-11-21 02:00:00 UTC.",
    )
    assert (
        found.evidence[1] == "with dhcp.mode: reservation a machine is seen from its first question for an address on"
    )
    (found,) = never_seen(case(mode="off"))
    assert "from its boot loader on" in found.evidence[1]
    assert not list(never_seen(case(asked(0))))
    assert not list(never_seen(case(ticket=False)))
    assert not list(never_seen(case(heard_at=BEGIN)))
    assert not list(never_seen(appliance()))


@pytest.mark.parametrize(("after", "found"), [(59, 0), (60, 1)])
def test_a_machine_that_somebody_is_about_to_switch_on_is_not_suspected(after: float, found: int) -> None:
    assert len([*never_seen(case(waited_since=BEGIN, after=after))]) == found


@pytest.mark.parametrize(("heard", "found"), [(-1, 1), (0, 0), (60, 0)])
def test_what_was_seen_before_the_workflow_was_created_is_no_sign_that_the_machine_is_on(
    heard: float, found: int
) -> None:
    heard_at = BEGIN + timedelta(seconds=heard)
    findings = list(never_seen(case(asked(0), waited_since=BEGIN, heard_at=heard_at, after=60)))
    assert len(findings) == found
    assert all("since the workflow was created" in each.cause for each in findings)


@pytest.mark.parametrize("askers", [(Asker.PXE,), (Asker.PXE, Asker.HTTP, Asker.IPXE), (Asker.SYSTEM,)])
def test_no_forged_question_hides_what_a_boot_told(askers: tuple[Asker, ...]) -> None:
    trouble = seen(40, Stage.OSIE_TROUBLE, "no space left on device", part="engine")
    forged = [each for n in range(4) for each in (asked(50 + 5 * n, askers[n % len(askers)]), *answered(51 + 5 * n))]
    begun = [asked(0), *answered(1), asked(5, Asker.IPXE), *SENT[4:]]
    (found,) = silent_osie(case(*begun, trouble, *forged, after=2))
    assert (found.gravity, "no space left on device" in found.cause) == (Gravity.FAULT, True)
    assert found.evidence[-2].endswith(
        "it, or another host in its name, asked for an address again, and came no further"
    )
    assert "SilentOsie" in {each.rule for each in diagnose(case(*begun, trouble, *forged, after=2))}
    assert list(ramdisk_too_large(case(*begun, *forged, inventory=INVENTORY)))
    # One that comes further is another boot.
    assert not list(silent_osie(case(*begun, trouble, *forged, asked(90, Asker.HTTP), seen(91, Stage.SCRIPT), after=2)))


def test_boot_that_stood_still_before_something_asked_again_is_told() -> None:
    begun = [asked(0), *answered(1), asked(5, Asker.IPXE), seen(6, Stage.SCRIPT)]
    (found,) = stalled_boot(case(*begun, asked(80), asked(145), after=5))
    assert "the last that was seen of it was that it fetched its boot script" in found.cause
    assert not list(stalled_boot(case(*begun, asked(80), *answered(81), after=5))), "it may have been switched on again"
    assert not list(stalled_boot(case(*begun, asked(30), after=5)))


@pytest.mark.parametrize("again", [(), (asked(80), asked(145))])
def test_boot_that_stands_still_with_nothing_to_boot_for_is_harmless(again: tuple[Sighting, ...]) -> None:
    begun = [asked(0), *answered(1), asked(5, Asker.IPXE), seen(6, Stage.SCRIPT), *again]
    waiting = case(*begun, after=5 if again else 300)
    assert [each.gravity for each in stalled_boot(waiting)] == [Gravity.SUSPECT]
    canceled = replace(waiting, ticket=False)
    (found,) = stalled_boot(canceled)
    assert found.gravity is Gravity.HARMLESS
    assert found.cause.endswith("No workflow waits for the machine.")
    assert found.remedy.startswith("Nothing to do")
    assert not any(each.leads for each in diagnose(canceled) if each.rule == "Stalled")
    own = replace(KNOWN, netboot=Netboot(script="#!ipxe"))
    for awaited in (
        {"installed": True},
        {"waited_since": BEGIN},
        {"interface": own},
        {"interface": None, "discovers": True},
        {"work": Work(id="w1", name="n", state=State.FAILED, created_at=BEGIN)},
    ):
        assert [each.gravity for each in stalled_boot(replace(canceled, **awaited))] == [Gravity.SUSPECT], awaited


@pytest.mark.parametrize(("asks", "gravity"), [(60, Gravity.SUSPECT), (150, Gravity.FAULT)])
def test_silent_osie_is_only_suspect_where_its_machine_may_have_been_reset(asks: float, gravity: Gravity) -> None:
    begun = [asked(0), *answered(1), asked(5, Asker.IPXE), *SENT[4:]]
    (found,) = silent_osie(case(*begun, asked(asks), after=100))
    assert found.gravity is gravity
    assert any("asked for an address again" in each for each in found.evidence)


def test_an_osie_that_cannot_speak_https_is_told_of_the_appliance_and_not_of_each_machine() -> None:
    old, new = OsieSize(architecture="x86_64", ramdisk=1, plain=True), OsieSize(architecture="aarch64", ramdisk=1)
    (found,) = plain_osie(appliance(osie=(old, new)))
    assert (found.gravity, found.subject) == (Gravity.SUSPECT, "the OSIE for x86_64")
    assert "`tinkbox osie build`" in found.remedy
    assert not list(plain_osie(case(osie=(old,))))
