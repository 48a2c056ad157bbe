"""The doctor's rules about the appliance itself."""

from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address

import pytest

from tests.unit.engine.boot_story import BEGIN, appliance
from tinkbox.engine.doctor.case import Case, KnownHost
from tinkbox.engine.doctor.doctor import diagnose, faults
from tinkbox.engine.doctor.rules.appliance import audit_broken, audit_unguarded, audit_unsent, secrets_unreadable
from tinkbox.model.audit import Broken, Hindrance, Unguarded, WaitingLines, lost_key
from tinkbox.model.audit_places import Delivery
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.engine_trouble import EngineFault, EngineTrouble
from tinkbox.model.hardware import MacAddress
from tinkbox.model.vitals import (
    Attachment,
    ClockJump,
    ClockVitals,
    DamagedFile,
    Memory,
    OtherVersion,
    ShutPort,
    UncleanEnd,
    Unheard,
    Vitals,
)
from tinkbox.model.write_fault import RefusedWrite, Unwritten

GIB = 1 << 30
OURS = IPv4Address("172.30.0.1")
LAB = Attachment(interface="lab", address=OURS, present=True, up=True, carrier=True, addresses=frozenset({OURS}))
CLOCK = ClockVitals(newest=BEGIN - timedelta(days=1), offset=timedelta(seconds=-2), source="ntp.example")
SOUND = Vitals(at=BEGIN, attachments=(LAB,), memory=Memory(total=8 * GIB, available=GIB), clock=CLOCK)
REFUSED = RefusedWrite(since=BEGIN, what=Unwritten.DATABASE, text="the database: disk full")
SHUT = ShutPort(
    interface="lab",
    port=67,
    protocol="udp",
    asked="DHCP",
    why="iptables -A INPUT -p udp -m udp --dport 67 -j DROP",
    firewall="iptables",
    opens="iptables -I INPUT -i lab -p udp --dport 67 -j ACCEPT",
)


def case(vitals: Vitals) -> Case:
    return replace(appliance(vitals=vitals), now=BEGIN)


def found(vitals: Vitals) -> Diagnosis:
    """The only thing that is wrong."""
    (one,) = diagnose(case(vitals))
    return one


def test_nothing_is_wrong_with_an_appliance_that_is_sound_or_unknown() -> None:
    assert diagnose(case(SOUND)) == ()
    assert diagnose(case(Vitals(at=BEGIN))) == ()


@pytest.mark.parametrize(
    ("changed", "rule", "gravity", "cause", "remedy"),
    [
        (replace(LAB, present=False, up=False, addresses=frozenset()), "InterfaceGone", Gravity.FAULT, "lab is gone", "`ip link`"),
        (replace(LAB, index=7, bound=4), "InterfaceRecreated", Gravity.FAULT, "lab was created anew", "`systemctl restart tinkbox`"),
        (replace(LAB, up=False, carrier=None), "InterfaceDown", Gravity.FAULT, "lab is down", "`ip link set lab up`"),
        (replace(LAB, master="br9"), "InterfaceIsPort", Gravity.FAULT, "lab is a port of br9: what machines send reaches br9, not lab", "`ip link set lab nomaster`. If it is: `ip addr del 172.30.0.1/24 dev lab` and `ip addr add 172.30.0.1/24 dev br9`, then write `interface: br9`"),
        (replace(LAB, addresses=frozenset(), master="br9", master_has=frozenset({OURS})), "InterfaceIsPort", Gravity.FAULT, "lab is a port of br9", "`ip link set lab nomaster`, then `ip addr del 172.30.0.1/24 dev br9` and `ip addr add 172.30.0.1/24 dev lab`. If it is: write `interface: br9`"),
        (replace(LAB, addresses=frozenset()), "AddressMissing", Gravity.FAULT, "lost the address 172.30.0.1", "`ip addr add 172.30.0.1/24 dev lab`"),
        (replace(LAB, silent_arp="net.ipv4.conf.all.arp_ignore is 8"), "ArpSilent", Gravity.FAULT, "answers no ARP on lab", "`sysctl -w net.ipv4.conf.all.arp_ignore=0`"),
        (replace(LAB, silent_arp="`ip link` shows NOARP of lab"), "ArpSilent", Gravity.FAULT, "answers no ARP on lab", "`ip link set lab arp on`"),
        (replace(LAB, carrier=False), "NoCarrier", Gravity.SUSPECT, "has no link", "`ip link show master lab`"),
    ],
)  # fmt: skip
def test_an_interface_that_keeps_machines_away_is_told(
    changed: Attachment, rule: str, gravity: Gravity, cause: str, remedy: str
) -> None:
    other = replace(LAB, interface="lan")
    told = found(replace(SOUND, attachments=(other, changed)))
    assert (told.rule, told.gravity) == (rule, gravity)
    assert cause in told.cause
    assert remedy in told.remedy
    assert told.evidence


def test_a_shut_port_is_told_with_its_rule_and_the_command_that_opens_it() -> None:
    told = found(replace(SOUND, shut_ports=(SHUT,)))
    assert (told.rule, told.gravity) == ("PortShut", Gravity.FAULT)
    assert told.cause == "The appliance's own firewall drops what machines on lab send to UDP port 67 (DHCP)."
    assert SHUT.why in told.evidence[0]
    assert told.remedy.startswith(f"`{SHUT.opens}` lets them through. It lasts until the next restart")
    by_ufw = replace(SHUT, firewall="ufw", opens="ufw allow in on lab to any port 67 proto udp")
    assert found(replace(SOUND, shut_ports=(by_ufw,))).remedy == f"`{by_ufw.opens}`."


def test_packets_that_come_in_and_are_not_delivered_are_told_unless_a_rule_explains_it() -> None:
    macs = {MacAddress(f"02:00:00:00:00:0{each}"): BEGIN for each in (1, 2)}
    unheard = Unheard(interface="lab", port=67, frames=5, since=BEGIN - timedelta(hours=1), until=BEGIN, macs=macs)
    told = found(replace(SOUND, unheard=(unheard,)))
    assert (told.rule, told.gravity) == ("PortUnheard", Gravity.FAULT)
    assert told.cause.startswith(
        "The appliance's host drops what machines on lab send to UDP port 67 before tinkbox gets it"
    )
    assert told.evidence[0] == (
        "2026-11-21 02:00:00 to 2026-11-21 03:00:00 5 packets for port 67 came in on lab, from 02:00:00:00:00:01 and 02:00:00:00:00:02"
    )
    assert "`iptables -I INPUT -i lab -p udp --dport 67 -j ACCEPT`" in told.remedy
    opens = 'firewall-cmd --permanent --zone="$(firewall-cmd --get-zone-of-interface=lab)" --add-port=67/udp && firewall-cmd --reload'
    assert f"with firewalld `{opens}`" in told.remedy
    assert found(replace(SOUND, unheard=(unheard,), shut_ports=(SHUT,))).rule == "PortShut"
    behind = diagnose(case(replace(SOUND, unheard=(unheard,), shut_ports=(replace(SHUT, behind="p1"),))))
    assert {each.rule for each in behind} == {"PortShut", "PortUnheard"}, "that does not explain what others lack"
    mended = replace(SOUND, unheard=(unheard,), filters_changed_at=BEGIN)
    assert diagnose(case(mended)) == (), "it came before the filter was another one"
    assert found(replace(mended, filters_changed_at=BEGIN - timedelta(seconds=1))).rule == "PortUnheard"


def test_packets_of_one_machine_alone_that_are_not_delivered_are_told_with_its_mac() -> None:
    mac = MacAddress("02:00:00:00:00:01")
    unheard = Unheard(interface="lab", port=67, frames=5, since=BEGIN, until=BEGIN, macs={mac: BEGIN})
    hosts = {mac: KnownHost(name="node1", in_touch=False)}
    (told,) = diagnose(replace(case(replace(SOUND, unheard=(unheard,))), hosts=hosts))
    assert told.cause == (
        f"The appliance's host drops what {mac} of machine node1 sends on lab to UDP port 67 before tinkbox gets it: most likely its own "
        "firewall."
    )
    assert told.evidence[-1].startswith("no other machine asked there meanwhile")
    first, _, second = told.remedy.partition(" Else `iptables -I INPUT")
    assert first == (
        "`nft list ruleset`, `iptables-save`, `ebtables-save` and `tc filter show dev lab ingress` show the rules. Where one names "
        "02:00:00:00:00:01 (`ether saddr`, `--mac-source`), take that away: it drops what other rules let through."
    )
    assert second
    (port,) = diagnose(case(replace(SOUND, attachments=(replace(LAB, master="br9"),), unheard=(unheard,))))
    assert port.rule == "InterfaceIsPort"  # which takes it all
    beside = replace(unheard, others_at=BEGIN + timedelta(seconds=9))
    (other,) = diagnose(replace(case(replace(SOUND, unheard=(beside,))), hosts=hosts))
    assert other.cause == (
        f"The appliance's host drops what {mac} of machine node1 sends on lab to UDP port 67 before tinkbox gets it, and lets through what "
        "other machines send there: most likely by a rule of its own firewall."
    )
    assert other.evidence[-1] == "2026-11-21 03:00:09 what another machine sent there was delivered"
    assert f"Take the one away that names {mac} (`ether saddr`, `--mac-source`)" in other.remedy
    assert (told.rule, other.rule, told.subject) == ("PortUnheard", "PortUnheard", other.subject)


@pytest.mark.parametrize(
    ("total", "available", "gravity"),
    [
        (8 * GIB, 257 << 20, None),
        (8 * GIB, 200 << 20, Gravity.SUSPECT),
        (8 * GIB, 100 << 20, Gravity.FAULT),
        (GIB, 60 << 20, None),
        (GIB, 40 << 20, Gravity.SUSPECT),
    ],
)
def test_little_memory_is_told(total: int, available: int, gravity: Gravity | None) -> None:
    told = diagnose(case(replace(SOUND, memory=Memory(total=total, available=available))))
    assert [(each.rule, each.gravity) for each in told] == ([("MemoryLow", gravity)] if gravity else [])


@pytest.mark.parametrize(
    ("clock", "rule", "gravity", "cause"),
    [
        (ClockVitals(jump=ClockJump(at=BEGIN, by=timedelta(days=365, seconds=30))), "ClockJumped", Gravity.SUSPECT, "set forward by 365d30s:"),
        (ClockVitals(jump=ClockJump(at=BEGIN, by=timedelta(seconds=-90))), "ClockJumped", Gravity.SUSPECT, "set back by 1m30s:"),
        (ClockVitals(newest=BEGIN + timedelta(hours=2)), "ClockBehind", Gravity.FAULT, "is behind by 2h at least."),
        (ClockVitals(offset=timedelta(seconds=42), source="ntp.example"), "ClockOff", Gravity.SUSPECT, "42s ahead of its time server"),
        (ClockVitals(offset=timedelta(hours=-1), source="ntp.example"), "ClockOff", Gravity.FAULT, "1h behind its time server"),
    ],
)  # fmt: skip
def test_a_clock_that_is_wrong_is_told(clock: ClockVitals, rule: str, gravity: Gravity, cause: str) -> None:
    told = found(replace(SOUND, clock=clock))
    assert (told.rule, told.gravity) == (rule, gravity)
    assert cause in told.cause
    assert "`timedatectl set-ntp true`" in told.remedy


def test_a_clock_that_is_off_is_told_with_when_its_server_was_asked_and_not_with_the_time_of_now() -> None:
    clock = ClockVitals(offset=timedelta(seconds=42), source="ntp.example", asked_at=BEGIN - timedelta(seconds=50))
    told = found(replace(SOUND, clock=clock))
    assert told.evidence == ("2026-11-21 02:59:10 by the clock here, when ntp.example was asked",)
    agreeing = replace(clock, offset=timedelta(seconds=9))
    assert not diagnose(case(replace(SOUND, clock=agreeing)))


@pytest.mark.parametrize(
    ("host_booted", "cause", "remedy"),
    [(False, "something ended it while its host ran on", "`journalctl -k"), (True, "its host went down with it", "`journalctl -b -1")],
)  # fmt: skip
def test_an_end_that_was_not_asked_for_is_suspect_for_an_hour(host_booted: bool, cause: str, remedy: str) -> None:
    vitals = replace(SOUND, unclean_end=UncleanEnd(alive_at=BEGIN - timedelta(minutes=5), host_booted=host_booted))
    told = found(vitals)
    assert (told.rule, told.gravity) == ("UncleanEnd", Gravity.SUSPECT)
    assert f"before its last start: {cause}" in told.cause
    assert told.evidence[0].startswith("2026-11-21 02:55:00 it gave its last sign of life")
    assert remedy in told.remedy
    assert diagnose(replace(case(vitals), now=BEGIN + timedelta(hours=2))) == ()


def test_an_osie_without_its_description_is_suspect_for_machines_get_it_all_the_same() -> None:
    missing = DamagedFile(path="/data/osie/x86_64/osie.json", how="it is missing")
    told = found(replace(SOUND, damaged_osie=(missing,)))
    assert (told.rule, told.gravity, told.subject) == ("OsieDamaged", Gravity.SUSPECT, "/data/osie/x86_64")
    assert told.cause.startswith("The OSIE for x86_64 has no osie.json: ")
    assert told.evidence[0].endswith("/data/osie/x86_64/osie.json: it is missing")
    assert not faults(case(replace(SOUND, damaged_osie=(missing,))))
    both = replace(SOUND, damaged_osie=(missing, replace(missing, path="/data/osie/x86_64/vmlinuz")))
    assert found(both).gravity is Gravity.FAULT


def test_damaged_files_are_told_by_what_they_belong_to() -> None:
    files = tuple(
        DamagedFile(path=f"/data/osie/{each}", how="it is missing")
        for each in ("x86_64/vmlinuz", "x86_64/initramfs", "arm64/vmlinuz")
    )
    first, second = diagnose(case(replace(SOUND, damaged_osie=files)))
    assert first.cause.startswith("The OSIE for x86_64 is damaged (vmlinuz, initramfs)")
    assert len(first.evidence) == 2
    assert second.cause.startswith("The OSIE for arm64 is damaged (vmlinuz)")
    assert "`tinkbox osie build`" in first.remedy
    images = tuple(DamagedFile(path=f"shell:v{each}", how="damaged, 1 of its blobs is gone") for each in range(12))
    told = found(replace(SOUND, damaged_images=images))
    assert told.cause.startswith("The registry's files of shell:v0 and 11 other images are damaged")
    assert (len(told.evidence), told.evidence[-1]) == (9, "and 4 more: `tinkbox image list`")
    assert "`tinkbox image load FILE`" in told.remedy


def test_an_osie_whose_folder_was_moved_beside_itself_is_to_be_put_back_before_another_one_is_built() -> None:
    files = tuple(
        DamagedFile(path=f"/data/osie/x86_64/{each}", how="it is missing")
        for each in ("firmware", "initramfs", "vmlinuz")
    )
    told = found(replace(SOUND, damaged_osie=files))
    assert told.remedy.startswith("Put /data/osie/x86_64 back from where it was moved to, or copy it from a backup")
    assert "build it again: `tinkbox osie build`" in told.remedy
    short = (*files[:2], replace(files[2], how="it has 9 bytes, and 10 when it was built"))
    for some in (files[:2], short):
        assert found(replace(SOUND, damaged_osie=some)).remedy.startswith("Build it again: ")


def test_what_the_appliance_rests_on_is_told_when_it_fails() -> None:
    for vitals, rule, gravity in (
        (replace(SOUND, registry="the images of shell are gone"), "RegistryUnusable", Gravity.FAULT),
        (replace(SOUND, database="Tree 4 page 9: btreeInitPage() returns error code 11"), "DatabaseDamaged", Gravity.FAULT),
        (replace(SOUND, engine=EngineTrouble(fault=EngineFault.SILENT, why="no answer", url="unix:///x")), "EngineAway", Gravity.FAULT),
        (replace(SOUND, refused_writes=(REFUSED,)), "WriteRefused", Gravity.FAULT),
        (replace(SOUND, other_versions=(OtherVersion(what="the OSIE for x86_64", version="0.0.9"),)), "OtherVersion", Gravity.SUSPECT),
    ):  # fmt: skip
        told = found(vitals)
        assert (told.rule, told.gravity) == (rule, gravity)
        assert told.evidence[0].startswith(f"{BEGIN:%Y-%m-%d %H:%M:%S} ")
        assert "`" in told.remedy or rule == "RegistryUnusable"


def test_what_to_do_about_an_unusable_registry_stands_in_the_remedy_itself() -> None:
    why = "the registry cannot list its folder /r/blobs (Permission denied): give it back with `chmod u+rwx /r/blobs`"
    told = found(replace(SOUND, registry=why))
    assert told.remedy.startswith(f"Do what the registry says: {why}. Until then nothing is freed")


def test_an_operators_socket_that_stays_gone_is_told_with_why() -> None:
    told = found(replace(SOUND, operator_socket="cannot listen on /data/operator.sock: Is a directory: move it away"))
    assert (told.rule, told.gravity) == ("OperatorSocketGone", Gravity.SUSPECT)
    assert told.evidence[0].endswith("cannot listen on /data/operator.sock: Is a directory: move it away")
    assert "TINKBOX_SERVER" in told.remedy


def test_place_that_takes_no_lines_of_the_audit_is_told_after_a_minute_with_how_many_wait() -> None:
    since = appliance().now - timedelta(minutes=28)
    unsent = Delivery(place="tcp://log:514", waiting=17, problem="Connection refused", since=since)
    told = found(replace(SOUND, audit_unsent=(unsent,)))
    assert (told.rule, told.gravity, told.subject) == ("AuditUnsent", Gravity.FAULT, "tcp://log:514")
    assert told.cause == "The audit is not sent to tcp://log:514: 17 lines wait."
    assert "Connection refused" in told.evidence[0]
    fresh = replace(unsent, since=appliance().now - timedelta(seconds=30))
    assert not list(audit_unsent(appliance(vitals=replace(SOUND, audit_unsent=(fresh,)))))


def test_broken_audit_is_told_for_a_week() -> None:
    at = appliance().now - timedelta(days=6)
    told = Vitals(at=BEGIN, audit_broken=Broken(number=9, at=at, why="lines 7 to 8 are missing"))
    (found,) = audit_broken(appliance(vitals=told))
    assert found.gravity is Gravity.FAULT
    assert "line 9 of the audit: lines 7 to 8 are missing" in found.evidence[0]
    assert "`tinkbox audit verify --after 9`" in found.remedy
    older = replace(told, audit_broken=Broken(number=9, at=at - timedelta(days=2), why=""))
    assert not list(audit_broken(appliance(vitals=older)))
    assert not list(audit_broken(appliance()))


def test_audit_that_another_program_keeps_lines_out_of_is_told_with_how_many_wait() -> None:
    since = appliance().now - timedelta(minutes=3)
    told = replace(SOUND, audit_unguarded=Unguarded(parts=["trigger swallows"], since=since))
    diagnosis = found(told)
    assert (diagnosis.rule, diagnosis.gravity) == ("AuditUnguarded", Gravity.FAULT)
    assert diagnosis.evidence[0].endswith("missing, or not as tinkbox made them: 'trigger swallows'")
    assert "`sqlite3 tinkbox.sqlite .schema`" in diagnosis.remedy
    waiting = WaitingLines(number=2, since=since, hindrance=Hindrance.TRIGGER)
    (_, evidence) = found(replace(told, audit_unwritten=waiting)).evidence
    assert evidence.endswith("since then 2 lines could not be written")
    for_the_disk = replace(waiting, hindrance=Hindrance.DISK)
    assert not list(audit_unguarded(appliance(vitals=replace(SOUND, audit_unwritten=for_the_disk))))
    assert not list(audit_unguarded(appliance()))


def test_audit_whose_key_was_lost_blames_no_other_program() -> None:
    at = appliance().now
    told = Vitals(at=BEGIN, audit_broken=Broken(number=9, at=at, why=lost_key(9)))
    (found,) = audit_broken(appliance(vitals=told))
    assert found.cause == (
        "audit.key was missing, and another one was made: lines before line 9 cannot be examined by their seal any more."
    )
    assert "`tinkbox audit verify --after 9`" in found.remedy
    more = Broken(number=9, at=at, why=f"{lost_key(9)}; lines 7 to 8 are missing")
    (found,) = audit_broken(appliance(vitals=replace(told, audit_broken=more)))
    assert "another program" in found.cause


def test_secrets_that_cannot_be_read_are_told() -> None:
    (found,) = secrets_unreadable(appliance(vitals=Vitals(at=BEGIN, secrets="their key is missing")))
    assert found.gravity is Gravity.FAULT
    assert "their key is missing" in found.evidence[0]
    assert not list(secrets_unreadable(appliance(vitals=Vitals(at=BEGIN))))
