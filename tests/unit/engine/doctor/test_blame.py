"""The appliance's own faults in the place of the symptoms that they cause."""

from dataclasses import replace
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Network

import pytest

from tests.unit.engine.boot_story import (
    BEGIN,
    KNOWN,
    MAC,
    MINE,
    answered,
    appliance,
    asked,
    case,
    failed,
    fetched,
    osie_boot,
    seen,
)
from tests.unit.engine.doctor.rules.test_silence import WORK
from tests.unit.engine.presences import presence_where
from tinkbox.engine.doctor.case import ON_APPLIANCE, AwaitedService, Case, Work
from tinkbox.engine.doctor.doctor import diagnose, faults, first_line, work_rules
from tinkbox.model.boot import Asker, Silence, Stage, Step, StepError
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.engine_trouble import EngineFault, EngineTrouble
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.host_vitals import (
    HeldAddress,
    HostVitals,
    JoinedInterfaces,
    LinkSettings,
    RefusedReplies,
    StrayRoute,
    TakenAddress,
    UnroutedNetwork,
)
from tinkbox.model.images.mirrors import MirrorFault, MirrorTrouble
from tinkbox.model.leases import Subnet
from tinkbox.model.netboot import Netboot, OwnOsie
from tinkbox.model.reasons import Reason
from tinkbox.model.sightings import Sighting
from tinkbox.model.vitals import Attachment, DamagedFile, ShutPort, Unheard, Vitals
from tinkbox.model.workflow import State
from tinkbox.model.write_fault import RefusedWrite, Unwritten

NEAR, FAR = (Subnet(network=IPv4Network(f"172.30.{number}.0/24"), interface=f"eth{number + 1}") for number in (0, 1))
UP = Attachment(
    interface="eth1",
    address=IPv4Address("172.30.0.1"),
    present=True,
    up=True,
    addresses=frozenset({IPv4Address("172.30.0.1")}),
)
DOWN = replace(UP, up=False)
AWAY = replace(UP, interface="eth2", present=False)
LOADED = [asked(0), *answered(1), fetched(3)]
SCRIPTED = [*LOADED, asked(5, Asker.IPXE), *answered(6), seen(7, Stage.SCRIPT)]
SENT = [*SCRIPTED, seen(8, Stage.KERNEL), seen(9, Stage.RAMDISK)]
STORIES: dict[str, list[Sighting]] = {"never": [], "loaded": LOADED, "scripted": SCRIPTED}
KERNEL = DamagedFile(path="/data/osie/x86_64/vmlinuz", how="it is missing")
REFUSED = RefusedWrite(since=BEGIN, what=Unwritten.DATABASE, text="no space left")
REFUSED_TO_ANOTHER = RefusedReplies(
    interface="eth1", what="DHCP", times=3, since=BEGIN, error="refused", to="172.30.0.60"
)
ANOTHER = MacAddress("08:00:27:00:00:99")
UNHEARD = Unheard(interface="eth1", port=67, frames=3, since=BEGIN, until=BEGIN, macs={MAC: BEGIN})
ANOTHER_UNHEARD = replace(UNHEARD, macs={ANOTHER: BEGIN})


def vitals(**measured: object) -> Vitals:
    return Vitals(at=BEGIN, **measured)  # type: ignore[arg-type]  # any field


def shut(protocol: str, port: int, asked_there: str) -> Vitals:
    return vitals(
        shut_ports=(ShutPort(interface="eth1", port=port, protocol=protocol, why="policy drop", asked=asked_there),)
    )


def beside(measured: Vitals, *sightings: Sighting, after: float = 300, **more: object) -> tuple[Diagnosis, ...]:
    """What is found of a machine beside an appliance that measures that of itself."""
    own = faults(appliance(vitals=measured))
    return diagnose(replace(case(*sightings, after=after), faults=own, **more))  # type: ignore[arg-type]  # any field


def rules(found: tuple[Diagnosis, ...]) -> list[str]:
    return [each.rule for each in found]


@pytest.mark.parametrize(
    ("symptom", "sightings"),
    [
        ("NeverSeen", []),
        ("Stalled", [asked(0), seen(1, Stage.OFFERED)]),
        ("SilentLoader", LOADED),
        ("SilentOsie", SENT),
        ("TransferStopped", [asked(0), *answered(1), failed(30, "silence", 3)]),
    ],
)
def test_a_fault_of_the_appliance_is_told_in_the_place_of_the_symptom(symptom: str, sightings: list[Sighting]) -> None:
    assert rules(beside(vitals(attachments=(UP,)), *sightings)) == [symptom]
    (found,) = beside(vitals(attachments=(DOWN,)), *sightings)
    assert (found.rule, found.gravity, found.machine) == ("InterfaceDown", Gravity.FAULT, MAC)
    assert found.cause == "The appliance's interface eth1 is down: no machine on it can reach the appliance."
    assert found.remedy.startswith("`ip link set eth1 up`")
    assert "eth1 is there, and is not up" in found.evidence[0]
    assert len(found.evidence) > 1, "what was seen of the machine stands below"


def test_a_machine_without_a_symptom_is_told_nothing_of_the_appliances_faults() -> None:
    assert beside(vitals(attachments=(DOWN,)), ticket=False) == ()
    assert beside(vitals(attachments=(DOWN,)), *SENT, seen(40, Stage.WORKER)) == ()


def test_a_loop_is_told_behind_the_fault_that_causes_it_with_how_it_goes_on() -> None:
    vain = [
        each for begin in (0, 60, 120) for each in (asked(begin), *answered(begin + 1), seen(begin + 7, Stage.SCRIPT))
    ] + [asked(180)]
    (alone,) = beside(vitals(), *vain, after=0)
    assert alone.rule == "BootLoop"
    found = beside(vitals(damaged_osie=(KERNEL,)), *vain, after=0)
    assert rules(found) == ["OsieDamaged", "BootLoop"]
    assert first_line(found) is found[0]


def test_boots_that_ended_by_a_fault_of_the_appliance_that_is_over_are_none_of_a_loop() -> None:
    vain = [
        each for begin in (0, 60, 120) for each in (asked(begin), *answered(begin + 1), seen(begin + 7, Stage.SCRIPT))
    ] + [asked(180)]
    (fault,) = faults(appliance(vitals=vitals(damaged_osie=(KERNEL,))))
    told = {after: ((fault, BEGIN + timedelta(seconds=after)),) for after in (-1, 90)}
    assert rules(beside(vitals(), *vain, after=0, mended=told[90])) == []
    assert rules(beside(vitals(), *vain, after=0, mended=told[-1])) == ["BootLoop"]
    elsewhere = replace(fault, stops=replace(fault.stops, architecture="aarch64"))
    assert rules(beside(vitals(), *vain, after=0, mended=((elsewhere, told[90][0][1]),))) == ["BootLoop"]


def test_what_another_host_did_at_the_address_of_a_machine_that_was_never_seen_is_nothing_of_it() -> None:
    by_another = seen(
        0,
        Stage.DOWNLOAD_TROUBLE,
        "initramfs",
        step="RAMDISK",
        name="initramfs",
        what="HUNG_UP",
        other_host="0a:be:ef:00:00:77",
    )
    (found,) = beside(vitals(), by_another)
    assert found.rule == "NeverSeen"
    assert rules(beside(vitals(attachments=(DOWN,)), by_another)) == ["InterfaceDown"]


def test_an_address_that_this_host_has_itself_is_told_before_a_loop_of_its_machine() -> None:
    own = [each for at in (0, 25, 50, 75) for each in (asked(at), *answered(at + 1), seen(at + 7, Stage.OWN_BOOT))]
    script = replace(KNOWN, netboot=Netboot(script="chain http://other/"))
    held = HostVitals(held=(HeldAddress(interface="lo", address=IPv4Address(MINE), prefix=32),))
    found = beside(vitals(host=held), *own, after=30, interface=script, ticket=False)
    assert rules(found) == ["ReservedHere", "BootLoop"]
    assert first_line(found) is found[0]
    others = replace(held, held=(replace(held.held[0], address=IPv4Address("172.30.0.99")),))
    assert rules(beside(vitals(host=others), *own, after=30, interface=script, ticket=False)) == ["BootLoop"]


def test_a_loop_is_read_after_what_says_why_it_goes_on() -> None:
    vain = [
        each
        for begin in (0, 60, 120)
        for each in (asked(begin), *answered(begin + 1), seen(begin + 8, Stage.KERNEL), seen(begin + 9, Stage.RAMDISK))
    ]
    found = diagnose(case(*vain, after=300))
    assert rules(found) == ["SilentOsie", "BootLoop"]


@pytest.mark.parametrize(
    ("measured", "sightings", "told"),
    [
        (shut("udp", 67, "DHCP"), [], "PortShut"),
        (shut("udp", 69, "TFTP"), [], "NeverSeen"),
        (shut("udp", 69, "TFTP"), [asked(0), *answered(1)], "PortShut"),
        (shut("tcp", 80, "HTTP"), [asked(0), *answered(1)], "Stalled"),
        (shut("tcp", 80, "HTTP"), LOADED, "PortShut"),
        (shut("tcp", 80, "HTTP"), [*LOADED, asked(5, Asker.IPXE), *answered(6)], "PortShut"),
        (shut("tcp", 443, "HTTPS"), LOADED, "SilentLoader"),
        (shut("tcp", 443, "HTTPS"), SENT, "PortShut"),
        (shut("udp", 514, "syslog"), SENT, "SilentOsie"),
        (vitals(unheard=(UNHEARD,)), [], "PortUnheard"),
        (vitals(unheard=(ANOTHER_UNHEARD,)), [], "NeverSeen"),
        (vitals(attachments=(replace(UP, index=8, bound=7),)), LOADED, "InterfaceRecreated"),
        (vitals(attachments=(replace(UP, carrier=False),)), LOADED, "NoCarrier"),
        (vitals(refused_writes=(REFUSED,)), SENT, "WriteRefused"),
        (vitals(refused_writes=(REFUSED,)), LOADED, "SilentLoader"),
        (vitals(refused_writes=(replace(REFUSED, what=Unwritten.HANDED_IN),)), SENT, "WriteRefused"),
        (vitals(refused_writes=(replace(REFUSED, what=Unwritten.REGISTRY),)), SENT, "SilentOsie"),
        (vitals(refused_writes=(replace(REFUSED, what=Unwritten.IMAGES),)), SENT, "SilentOsie"),
        (vitals(damaged_osie=(KERNEL,)), SENT, "OsieDamaged"),
        (vitals(damaged_osie=(KERNEL,)), LOADED, "SilentLoader"),
        (vitals(damaged_osie=(replace(KERNEL, path="/data/osie/aarch64/vmlinuz"),)), SENT, "SilentOsie"),
    ],
)
def test_a_fault_is_blamed_for_what_the_machine_needs_next_and_for_nothing_else(
    measured: Vitals, sightings: list[Sighting], told: str
) -> None:
    found = first_line(beside(measured, *sightings))
    assert found is not None
    assert found.rule == told


@pytest.mark.parametrize(
    ("measured", "told"),
    [
        (vitals(attachments=(DOWN,)), ["InterfaceDown"]),
        (shut("udp", 67, "DHCP"), ["PortShut"]),
        (shut("tcp", 80, "HTTP"), []),
        (vitals(attachments=(AWAY,)), []),
        (vitals(host=HostVitals(refused_replies=(REFUSED_TO_ANOTHER,))), []),
        (vitals(unheard=(ANOTHER_UNHEARD,)), []),
    ],
)
def test_a_new_workflow_waits_a_minute_for_its_machine_unless_a_fault_stops_that_very_machine(
    measured: Vitals, told: list[str]
) -> None:
    waits = {"waited_since": BEGIN, "subnets": (NEAR, FAR)}
    assert rules(beside(measured, after=5, **waits)) == told
    assert rules(beside(measured, *osie_boot(-600), after=565, heard_at=BEGIN - timedelta(minutes=9), **waits)) == told
    assert rules(beside(measured, after=60, **waits)) == (told or ["NeverSeen"])


@pytest.mark.parametrize(
    ("began", "told"),
    [(None, "PortShut"), (-60, "PortShut"), (40, "PortShut"), (49, "SilentLoader"), (272, "SilentLoader")],
)
def test_a_fault_that_began_when_the_machine_stood_still_already_is_not_blamed(began: int | None, told: str) -> None:
    """The loader, which arrived after 3 s, has 45 s to ask for its script."""
    since = BEGIN + timedelta(seconds=began) if began is not None else None
    own = faults(appliance(vitals=shut("tcp", 80, "HTTP")))
    dated = tuple(replace(each, stops=replace(each.stops, since=since)) for each in own)
    assert rules(diagnose(case(*LOADED, after=300, faults=dated))) == [told]
    later = BEGIN + timedelta(seconds=200)
    (unseen,) = diagnose(
        case(
            *LOADED,
            after=1500,
            faults=faults(appliance(vitals=vitals(attachments=(DOWN,)))),
            waited_since=later,
            heard_at=BEGIN,
        )
    )
    assert unseen.rule == "InterfaceDown"


@pytest.mark.parametrize(
    ("interface", "told"),
    [
        (KNOWN, "Stalled"),
        (replace(KNOWN, address=IPv4Address("172.30.1.21")), "InterfaceGone"),
        (replace(KNOWN, address=None), "Stalled"),
    ],
)
def test_a_fault_of_another_interface_than_the_machines_is_not_blamed(interface: Interface, told: str) -> None:
    found = beside(
        vitals(attachments=(UP, AWAY)), asked(0), seen(1, Stage.OFFERED), subnets=(NEAR, FAR), interface=interface
    )
    assert rules(found) == [told]


def test_replies_and_addresses_that_others_take_are_blamed_on_their_interface() -> None:
    refused = RefusedReplies(interface="eth1", what="DHCP", times=3, since=BEGIN, error="refused", to="172.30.0.21")
    taken = TakenAddress(interface="eth1", address=IPv4Address("172.30.0.1"), mac=MAC)
    for host, told in (
        (HostVitals(refused_replies=(refused,)), "RepliesRefused"),
        (HostVitals(taken=(taken,)), "AddressTaken"),
    ):
        assert rules(beside(vitals(host=host), asked(0), seen(1, Stage.OFFERED))) == [told]
    other = HostVitals(refused_replies=(replace(refused, to="172.30.0.60"),))
    assert rules(beside(vitals(host=other), asked(0), seen(1, Stage.OFFERED))) == ["Stalled"], (
        "refused to another machine"
    )
    behind = HostVitals(refused_replies=(replace(refused, to="172.30.0.2"),))
    assert rules(beside(vitals(host=behind), asked(0, relay="172.30.0.2"), seen(1, Stage.OFFERED))) == [
        "RepliesRefused"
    ]
    link = LinkSettings(interface="eth1", networks=frozenset({NEAR.network}), mtu=1500)
    stray = StrayRoute(
        interface="eth1",
        ours=UP.address,
        network=NEAR.network,
        address=IPv4Address("172.30.0.21"),
        among=frozenset({IPv4Network("172.30.0.20/30")}),
        through="tun0",
    )
    elsewhere = vitals(attachments=(UP,), host=HostVitals(links=(link,), stray_routes=(stray,)))
    assert rules(beside(elsewhere, asked(0), *answered(1))) == ["LeadsElsewhere"]
    assert rules(beside(elsewhere, asked(0), seen(1, Stage.OFFERED))) == ["Stalled"], "DHCP goes out on its interface"
    assert rules(beside(elsewhere, asked(0), after=1)) == ["LeadsElsewhere"], "it will be stopped there"
    for another in (replace(KNOWN, address=IPv4Address("172.30.0.27")), replace(KNOWN, address=None)):
        assert rules(beside(elsewhere, asked(0), *answered(1, "172.30.0.27"), interface=another)) == ["Stalled"]
        assert rules(beside(elsewhere, *SENT, interface=replace(another, address=IPv4Address("172.30.0.24")))) == [
            "SilentOsie"
        ]
    mine = replace(KNOWN, address=None)
    assert rules(beside(elsewhere, asked(0), *answered(1, "172.30.0.22"), interface=mine)) == ["LeadsElsewhere"]
    far = replace(KNOWN, address=IPv4Address("172.31.0.21"))
    behind_relay = [asked(0, relay="172.30.0.21"), *answered(1, "172.31.0.21")]
    subnets = (NEAR, Subnet(network=IPv4Network("172.31.0.0/24")))
    found = beside(elsewhere, *behind_relay, interface=far, subnets=subnets)
    assert rules(found) == ["Stalled"], "only DHCP goes to the relay"
    tftp = HostVitals(refused_replies=(replace(refused, what="TFTP"),))
    assert rules(beside(vitals(host=tftp), asked(0), seen(1, Stage.OFFERED))) == ["Stalled"]


def test_two_interfaces_on_one_network_are_blamed_on_both_and_on_no_third() -> None:
    joined = JoinedInterfaces(interfaces=("eth2", "eth1"), own_at=BEGIN)
    measured = vitals(attachments=(UP,), host=HostVitals(joined=(joined,)))
    offered = (asked(0), seen(1, Stage.OFFERED))
    assert rules(beside(measured, *offered, subnets=(NEAR, FAR))) == ["SameNetwork"]
    third = replace(measured, host=HostVitals(joined=(replace(joined, interfaces=("eth2", "eth3")),)))
    assert rules(beside(third, *offered, subnets=(NEAR, FAR))) == ["Stalled"]
    wrong = answered(1, server="172.30.1.1")
    assert rules(beside(vitals(), asked(0), *wrong, subnets=(NEAR, FAR))) == ["AddressOutside"]
    assert rules(beside(measured, asked(0), *wrong, subnets=(NEAR, FAR))) == ["SameNetwork"]


@pytest.mark.parametrize("others_at", [None, BEGIN + timedelta(seconds=1001)])
@pytest.mark.parametrize(
    "earlier",
    [
        [],
        LOADED,
        SENT,
        [*SENT, seen(10, Stage.SESSION)],
        [asked(0), *answered(1), failed(30, "silence", 3)],
        osie_boot(0),
    ],
)
def test_a_machine_that_asks_and_is_not_heard_is_told_so_first_whatever_its_boots_before_told(
    earlier: list[Sighting], others_at: datetime | None
) -> None:
    last, since = BEGIN + timedelta(seconds=1000), BEGIN + timedelta(seconds=990)
    unheard = replace(UNHEARD, since=since, until=last, macs={MAC: last, ANOTHER: last}, others_at=others_at)
    found = beside(vitals(unheard=(unheard,)), *earlier, after=1000, subnets=(NEAR, FAR))
    first = first_line(found)
    assert first is not None
    assert (first.rule, first.machine, first.gravity) == ("PortUnheard", MAC, Gravity.FAULT)
    assert not {"SilentOsie", "SilentLoader", "Stalled", "NeverSeen"} & {*rules(found)}
    working = case(*earlier, after=1000, faults=faults(appliance(vitals=vitals(unheard=(unheard,)))))
    beside_worker = diagnose(replace(working, work=replace(WORK, contact=working.now)))
    assert first_line(beside_worker) is None
    assert Gravity.FAULT not in {each.gravity for each in beside_worker}, "another host may have asked in its name"


def test_a_machine_that_was_heard_when_others_were_not_has_another_trouble() -> None:
    for mac, at in ((ANOTHER, 30), (MAC, 0), (MAC, -5)):
        unheard = replace(UNHEARD, until=BEGIN + timedelta(seconds=30), macs={mac: BEGIN + timedelta(seconds=at)})
        for sightings, told in (
            ([asked(0), seen(1, Stage.OFFERED)], ["Stalled"]),
            ([asked(0), *answered(1), failed(30, "silence", 3)], ["TransferStopped"]),
            (SENT, ["SilentOsie"]),
        ):
            assert rules(beside(vitals(unheard=(unheard,)), *sightings)) == told


@pytest.mark.parametrize(
    ("symptom", "sightings"),
    [
        ("TransferStopped", [asked(0), *answered(1), failed(30, "silence", 0)]),
        (
            "BootStepFailed",
            [*SCRIPTED, seen(200, Stage.STEP_FAILED, step=Step.KERNEL.name, error=StepError.TIMED_OUT.name)],
        ),
    ],
)
def test_a_rule_that_keeps_long_packets_in_is_told_in_the_place_of_what_stopped(
    symptom: str, sightings: list[Sighting]
) -> None:
    long = [
        ShutPort(interface="eth1", port=port, protocol=protocol, why="length > 500 drop", asked=what, above=500)
        for port, protocol, what in ((80, "tcp", "HTTP"), (69, "udp", "TFTP"))
    ]
    assert rules(beside(vitals(attachments=(UP,)), *sightings)) == [symptom]
    (found,) = beside(vitals(attachments=(UP,), shut_replies=(*long,)), *sightings)
    assert (found.rule, found.gravity) == ("RepliesRefused", Gravity.FAULT)
    assert "packets of more than 500 bytes" in found.cause
    at_a_port = vitals(attachments=(UP,), shut_replies=tuple(replace(each, behind="p2") for each in long))
    assert rules(beside(at_a_port, *sightings)) == [symptom], "the machine may be behind another one"
    assert rules(beside(at_a_port, *sightings, behind="p1")) == [symptom]
    heard = presence_where(learned_port=lambda mac: "p2" if mac == MAC else "", clock=lambda: BEGIN)
    machine = replace(case(*sightings, after=300), faults=faults(appliance(vitals=at_a_port)))
    assert rules(diagnose(heard.with_bridge(machine))) == ["RepliesRefused"]


def test_what_concerns_one_address_or_one_network_is_blamed_there_alone() -> None:
    held = HeldAddress(interface="lo", address=IPv4Address("172.30.0.21"), prefix=32)
    stopped = (asked(0), *answered(1), failed(30, "silence", 3))
    here = vitals(attachments=(UP,), host=HostVitals(held=(held,)))
    assert rules(beside(here, *stopped)) == ["ReservedHere"]
    other = HostVitals(held=(replace(held, address=IPv4Address("172.30.0.22")),))
    assert rules(beside(vitals(attachments=(UP,), host=other), *stopped)) == ["TransferStopped"]
    relayed = Subnet(network=IPv4Network("172.31.0.0/24"))
    lacking = UnroutedNetwork(network=relayed.network, addresses=(IPv4Address("172.31.0.21"),), why="unreachable")
    measured = vitals(attachments=(UP,), host=HostVitals(unrouted=(lacking,)))
    assert rules(beside(measured, *stopped, subnets=(NEAR, relayed))) == ["TransferStopped"]
    far = replace(KNOWN, address=IPv4Address("172.31.0.30"))
    assert rules(beside(measured, *stopped, subnets=(NEAR, relayed), interface=far)) == ["NoRoute"]


def test_a_boot_file_or_a_step_that_lacks_a_file_of_the_osie_is_the_damaged_osie() -> None:
    damaged = vitals(damaged_osie=(KERNEL,))
    missing = failed(9, "not found", 0, name="osie/x86_64/vmlinuz")
    assert rules(beside(damaged, asked(0), *answered(1), missing, after=1)) == ["OsieDamaged"]
    other = failed(9, "not found", 0, name="gpxe.0")
    assert rules(beside(damaged, asked(0), *answered(1), other, after=1)) == ["MissingLoader"]
    facts = {"step": Step.KERNEL.name, "error": StepError.NOT_FOUND.name}
    assert rules(beside(damaged, *SCRIPTED, seen(8, Stage.STEP_FAILED, **facts), after=1)) == ["OsieDamaged"]
    script = {**facts, "step": Step.SCRIPT.name}
    assert rules(beside(damaged, *SCRIPTED, seen(8, Stage.STEP_FAILED, **script), after=1)) == ["BootStepFailed"]
    own = replace(KNOWN, netboot=Netboot(osie=OwnOsie(kernel="http://k/vmlinuz", initramfs="http://k/initrd")))
    found = beside(damaged, *SCRIPTED, seen(8, Stage.STEP_FAILED, **facts), after=1, interface=own)
    assert rules(found) == ["BootStepFailed"]


def test_without_any_osie_the_machine_is_told_the_same_as_the_appliance() -> None:
    own = faults(appliance(osie=()))
    (found,) = diagnose(replace(case(*SCRIPTED, after=300, osie=(), surveyed=True), faults=own))
    assert (found.rule, found.cause) == ("NoOsie", "No OSIE was built: machines that are to boot find no kernel.")


def test_a_worker_in_touch_and_what_is_known_better_are_not_explained_by_the_appliance() -> None:
    down = vitals(attachments=(DOWN,))
    idle = [asked(0), seen(1, Stage.IGNORED, why=Silence.NOT_PERMITTED.value)]
    assert "InterfaceDown" not in rules(beside(down, *idle, ticket=False))
    told = case(*LOADED, after=300)
    working = replace(told, work=replace(WORK, contact=told.now), faults=faults(appliance(vitals=down)))
    assert rules(diagnose(working)) == ["SilentLoader"]


def test_the_networks_silence_is_that_of_an_interface_without_a_link() -> None:
    told = appliance(mode="proxy", vitals=vitals(attachments=(replace(UP, carrier=False),)))
    assert rules(diagnose(told)) == ["NobodyGivesAddresses", "NoCarrier"]
    assert rules(diagnose(replace(told, faults=faults(told)))) == ["NoCarrier"]


def test_images_and_services_of_a_workflow_lack_what_the_appliance_lacks() -> None:
    engine = EngineTrouble(fault=EngineFault.SILENT, why="no answer", url="unix:///x")
    own = faults(appliance(vitals=vitals(registry="the folder of repositories is gone", engine=engine)))
    waits = replace(WORK, action_state=State.PENDING)
    gone = AwaitedService(name="db", host=ON_APPLIANCE, phase="READY", reason=Reason.ENGINE_GONE)
    for work, told in (
        (replace(waits, images=("image shell:v1 is not in the registry",)), "RegistryUnusable"),
        (replace(waits, gone=(gone,)), "EngineAway"),
        (replace(waits, gone=(gone, replace(gone, host="node8"))), "ServiceGone"),
    ):
        found = diagnose(Case(now=BEGIN, since=BEGIN, address=UP.address, work=work, faults=own), work_rules())
        assert {(each.rule, each.workflow) for each in found} == {(told, work.id)}


@pytest.mark.parametrize(
    ("host", "message", "told"),
    [
        (
            ON_APPLIANCE,
            "service db was not ready within 60 seconds, but pending: no Docker engine answers at unix:///x",
            True,
        ),
        (ON_APPLIANCE, "service db was not ready within 60 seconds, but starting", False),
        (
            "node8",
            "service db was not ready within 60 seconds, but pending: no Docker engine answers at unix:///x",
            False,
        ),
    ],
)
def test_workflow_that_failed_for_want_of_the_appliances_engine_is_told_behind_that_while_it_is_away(
    host: str, message: str, *, told: bool
) -> None:
    engine = EngineTrouble(fault=EngineFault.SILENT, why="no answer", url="unix:///x")
    ended = replace(
        WORK, state=State.FAILED, action_state=State.PENDING, reason=Reason.SERVICE_NOT_READY.value, hint=Reason.SERVICE_NOT_READY.hint,
        message=message, service="db", service_host=host, ended_at=BEGIN,
    )  # fmt: skip
    away, well = (
        diagnose(Case(now=BEGIN, since=BEGIN, address=UP.address, work=ended, faults=found), work_rules())
        for found in (faults(appliance(vitals=vitals(engine=engine))), ())
    )
    assert rules(away) == (["EngineAway", "WorkflowFailed"] if told else ["WorkflowFailed"])
    assert rules(well) == ["WorkflowFailed"]


def test_what_was_seen_of_the_boot_before_a_running_action_leads_nowhere_while_its_worker_is_in_touch() -> None:
    looping = case(asked(0, architecture=6), seen(1, Stage.IGNORED, why=Silence.NO_PROGRAM.value), after=5)
    touched = replace(looping, work=replace(WORK, contact=looping.now))
    assert [each.leads for each in diagnose(touched)] == [False]
    assert first_line(diagnose(touched)) is None
    long_ago = looping.now - timedelta(minutes=5)
    silent = replace(looping, work=replace(WORK, contact=long_ago, since=long_ago))
    led = first_line(diagnose(silent))
    assert led is not None
    assert led.rule == "NoProgram"


MIRROR = MirrorTrouble(
    host="quay.io",
    url="http://mirror.lab.example:5000",
    fault=MirrorFault.REFUSED,
    why="mirror.lab.example:5000 cannot be asked for /v2/: Connection refused",
    since=BEGIN,
    at=BEGIN + timedelta(seconds=30),
    looked=True,
)
NOT_FETCHED = replace(
    WORK,
    state=State.FAILED,
    action_state=State.FAILED,
    reason=Reason.IMAGE_PULL_FAILED.value,
    hint=Reason.IMAGE_PULL_FAILED.hint,
    image="quay.io/tools/wipe:v1",
    ended_at=BEGIN + timedelta(seconds=10),
)


def after_a_pull(work: Work, *troubles: MirrorTrouble) -> tuple[Diagnosis, ...]:
    own = faults(appliance(vitals=vitals(mirrors=troubles)))
    return diagnose(replace(case(after=60), mac=MAC, work=work, faults=own), work_rules())


@pytest.mark.parametrize("pulled", [BEGIN, None])
def test_a_workflow_that_failed_for_want_of_an_image_is_told_behind_the_mirror_that_is_away(
    pulled: datetime | None,
) -> None:
    found = after_a_pull(NOT_FETCHED, replace(MIRROR, pulled_at=pulled))
    assert [(each.rule, each.gravity) for each in found] == [
        ("MirrorAway", Gravity.FAULT),
        ("WorkflowFailed", Gravity.FAULT),
    ]
    assert first_line(found) is found[0]
    assert found[0].workflow == WORK.id
    assert found[0].cause.startswith("The mirror of quay.io, mirror.lab.example:5000, refuses connections: ")
    assert rules(after_a_pull(NOT_FETCHED)) == ["WorkflowFailed"]


def test_what_was_seen_of_the_boot_before_does_not_acquit_the_mirror() -> None:
    own = faults(appliance(vitals=vitals(mirrors=(replace(MIRROR, since=BEGIN + timedelta(seconds=400)),))))
    work = replace(NOT_FETCHED, ended_at=BEGIN + timedelta(seconds=450))
    found = diagnose(replace(case(*SENT, after=500), work=work, faults=own), work_rules())
    assert rules(found) == ["MirrorAway", "WorkflowFailed"]


@pytest.mark.parametrize(
    ("image", "host"),
    [
        ("alpine", "docker.io"),
        ("index.docker.io/tools/wipe", "docker.io"),
        ("lab.example:5000/wipe@sha256:" + "a" * 64, "lab.example_5000"),
    ],
)
def test_the_mirror_of_an_image_is_the_one_that_the_appliance_asks(image: str, host: str) -> None:
    failed_work = replace(NOT_FETCHED, image=image)
    assert rules(after_a_pull(failed_work, MIRROR)) == ["WorkflowFailed"]
    assert rules(after_a_pull(failed_work, MIRROR, replace(MIRROR, host=host))) == ["MirrorAway", "WorkflowFailed"]


@pytest.mark.parametrize(
    "work",
    [
        replace(NOT_FETCHED, image="ghcr.io/tools/wipe:v1"),
        replace(NOT_FETCHED, image="tools/wipe:v1"),
        replace(NOT_FETCHED, image="No Image"),
        replace(NOT_FETCHED, image=""),
        replace(NOT_FETCHED, ended_at=BEGIN - timedelta(seconds=1)),
        replace(NOT_FETCHED, reason=Reason.IMAGE_NOT_FOUND.value, hint=Reason.IMAGE_NOT_FOUND.hint),
        replace(NOT_FETCHED, hint="an action's own"),
        replace(NOT_FETCHED, reason="NonZeroExit", hint=Reason.NON_ZERO_EXIT.hint),
    ],
)
def test_a_mirror_is_not_blamed_for_what_it_has_not_or_for_what_failed_before(work: Work) -> None:
    assert rules(after_a_pull(work, MIRROR)) == ["WorkflowFailed"]


def test_a_mirror_is_not_blamed_for_an_image_that_is_not_here() -> None:
    missing = replace(WORK, state=State.PENDING, images=("image quay.io/tools/wipe:v1 is not in the registry",))
    assert rules(after_a_pull(missing, MIRROR)) == ["ImageMissing"]


def test_folders_that_cannot_be_used_now_are_not_blamed_for_a_failure_of_then() -> None:
    own = faults(appliance(vitals=vitals(registry="the folder is gone")))
    found = diagnose(replace(case(after=60), mac=MAC, work=NOT_FETCHED, faults=own), work_rules())
    assert rules(found) == ["WorkflowFailed"]


@pytest.mark.parametrize(
    ("began", "waited", "told"),
    [
        (None, 1200, "AddressTaken"),
        (1230, 1200, "AddressTaken"),
        (1186, 1200, "AddressTaken"),
        (14, 1200, "NeverSeen"),
        (14, 360, "NeverSeen"),
    ],
)
@pytest.mark.parametrize("heard", [False, True])
def test_a_machine_that_is_waited_for_in_vain_for_longer_than_a_fault_lasts_is_told_so(
    began: int | None, waited: int, told: str, heard: bool
) -> None:
    """`began` and `waited` are seconds before now."""
    now = BEGIN + timedelta(hours=1)
    host = HostVitals(
        taken=(TakenAddress(interface="eth1", address=IPv4Address("172.30.0.1"), mac="00:25:90:00:00:09"),)
    )
    own = faults(appliance(vitals=vitals(host=host)))
    since = now - timedelta(seconds=began) if began is not None else None
    dated = tuple(replace(each, stops=replace(each.stops, since=since)) for each in own)
    waiting = case(*(LOADED if heard else []), faults=dated, waited_since=now - timedelta(seconds=waited))
    waiting = replace(waiting, now=now, heard_at=BEGIN if heard else None)
    found = first_line(diagnose(waiting))
    assert found is not None
    assert found.rule == told


def test_an_osie_that_is_gone_does_not_hide_that_a_machine_stands_still_where_it_needs_none_yet() -> None:
    for lacks in ({"osie": ()}, {"osie": (), "osie_trouble": "it is damaged"}):
        own = faults(appliance(**lacks))
        told = {name: rules(diagnose(case(*story, after=300, faults=own, **lacks))) for name, story in STORIES.items()}
        assert told == {"never": ["NoOsie", "NeverSeen"], "loaded": ["NoOsie", "SilentLoader"], "scripted": ["NoOsie"]}


def test_an_osie_that_was_there_when_the_machine_stopped_is_not_why_it_did() -> None:
    lacks = {"osie": (), "surveyed": True}
    for began, told in ((None, "NoOsie"), (30, "NoOsie"), (100, "Stalled")):
        since = BEGIN + timedelta(seconds=began) if began is not None else None
        own = faults(appliance(**lacks))
        dated = tuple(replace(each, stops=replace(each.stops, since=since)) for each in own)
        assert rules(diagnose(case(*SCRIPTED, after=300, faults=dated, **lacks))) == [told]


def test_a_machine_that_stood_still_before_the_appliance_began_is_not_said_to_lack_what_is_found_then() -> None:
    later = replace(REFUSED, since=BEGIN + timedelta(seconds=900))
    own = faults(appliance(vitals=vitals(refused_writes=(later,))))
    standing = case(*SENT, after=900)
    assert first_rule(replace(standing, faults=own)) == "SilentOsie", "the write was refused later"
    undated = tuple(
        replace(each, stops=replace(each.stops, since=None))
        for each in faults(appliance(vitals=vitals(attachments=(DOWN,))))
    )
    assert first_rule(replace(standing, faults=undated)) == "InterfaceDown"
    restarted = replace(standing, faults=undated, since=standing.now - timedelta(seconds=60))
    assert first_rule(restarted) == "SilentOsie"


def first_rule(patient: Case) -> str:
    return diagnose(patient)[0].rule


def test_an_osie_that_is_gone_does_not_hide_the_silence_of_one_that_was_sent() -> None:
    told = [each.rule for each in diagnose(case(*SENT, osie=(), after=900))]
    assert set(told) == {"NoOsie", "SilentOsie"}
