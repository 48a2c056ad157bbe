"""The doctor's rules about who may boot."""

from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network

import pytest

from tests.unit.engine.boot_story import (
    BEGIN,
    KNOWN,
    MAC,
    MINE,
    NETWORK,
    answered,
    asked,
    case,
    fetched,
    osie_boot,
    seen,
)
from tests.unit.engine.doctor.rules.test_silence import HEARD, OTHER, WORK, elsewhere
from tinkbox.engine.doctor.case import Case, Finding, Lent
from tinkbox.engine.doctor.doctor import diagnose
from tinkbox.engine.doctor.rules.permission import (
    asked_in_its_name,
    left_out,
    no_address,
    no_program,
    not_known,
    not_permitted,
    script_refused,
    ticket_refused,
)
from tinkbox.model.boot import DECISIONS, Asker, Boot, Silence, Stage
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.firmware_traits import FirmwareTraits
from tinkbox.model.hardware import Form, MacAddress
from tinkbox.model.leases import Claimant
from tinkbox.model.netboot import Netboot
from tinkbox.model.notes import Retirement
from tinkbox.model.session import TicketRefusal
from tinkbox.model.sightings import Sighting
from tinkbox.model.workflow import State

UNKNOWN = seen(0.1, Stage.IGNORED, why=Silence.UNKNOWN.value)
WAITING = replace(WORK, state=State.PENDING, action_state=State.PENDING, since=None, contact=None, waits="node1")


def test_a_machine_that_nobody_knows_is_told_how_to_be_known() -> None:
    (found,) = not_known(case(asked(0), UNKNOWN, interface=None, ticket=False))
    assert (found.gravity, MAC in found.remedy) == (Gravity.SUSPECT, True)
    assert found.evidence[-1] == "2026-11-21 03:00:00 was not answered: no hardware document names it"


def test_a_wrong_mac_is_corrected_by_adding_the_machine_again() -> None:
    (found,) = not_known(case(asked(0), UNKNOWN, interface=None, ticket=False))
    ways = ("workflow cancel", "workflow delete", "hardware delete NAME`, and add it again")
    places = [found.remedy.index(f"tinkbox {each}") for each in ways]
    assert places == sorted(places)


@pytest.mark.parametrize(("mode", "more"), [("reservation", True), ("pool", False), ("proxy", False), ("off", True)])
def test_the_way_to_discovery_is_one_that_starts(mode: str, more: bool) -> None:
    (found,) = not_known(case(asked(0), UNKNOWN, interface=None, ticket=False, mode=mode))
    assert "`unknown_machines: discover` in tinkbox.yaml" in found.remedy
    assert ("dhcp.mode: pool" in found.remedy) is more


def test_who_is_known_discovered_or_does_not_netboot_is_no_stranger() -> None:
    assert not list(not_known(case(asked(0), UNKNOWN)))
    assert not list(not_known(case(asked(0), UNKNOWN, interface=None, discovers=True)))
    assert not list(not_known(case(asked(0, Asker.SYSTEM), UNKNOWN, interface=None)))
    assert not list(not_known(case(interface=None)))


@pytest.mark.parametrize(
    ("why", "key"), [(Silence.DISCOVERY_FULL, "discovery.quota"), (Silence.PORT_FULL, "discovery.port_quota")]
)
def test_a_machine_that_a_quota_left_out_is_told_which(why: Silence, key: str) -> None:
    ignored = seen(0.1, Stage.IGNORED, why=why.value)
    (found,) = left_out(case(asked(0), ignored, interface=None, discovers=True))
    assert f" {key} allows" in found.cause
    assert f"raise {key} in tinkbox.yaml" in found.remedy
    assert not list(left_out(case(asked(0), ignored, interface=None))), "discovery is switched off since"
    since = BEGIN + timedelta(seconds=30)
    assert not list(left_out(case(asked(0), ignored, interface=None, discovers=True, since=since))), "the quota of then"
    still = replace(ignored, facts={**ignored.facts, "count": 9, "lasted": 40.0})
    assert list(left_out(case(asked(0), still, interface=None, discovers=True, since=since))), "it asks on"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"interface": replace(KNOWN, dhcp=False)}, "disableDhcp: true"),
        ({"interface": replace(KNOWN, allow_pxe=False)}, "allow_pxe: false"),
        ({"interface": replace(KNOWN, netboot=Netboot(file="ztp.cfg"))}, "names another boot server"),
        ({"ticket": False}, "no workflow waits for it"),
    ],
)
def test_a_known_machine_that_may_not_boot_is_told_why(changes: dict[str, object], word: str) -> None:
    ignored = seen(0.1, Stage.IGNORED, why=Silence.NOT_PERMITTED.value)
    (found,) = not_permitted(case(asked(0), ignored, **changes))
    assert (found.gravity, word in found.cause) == (Gravity.SUSPECT, True)


def test_a_machine_that_may_not_boot_is_told_the_key_that_its_own_document_has() -> None:
    silent = replace(KNOWN, allow_pxe=False, form=Form.V1ALPHA1, pxe_told=False)
    (found,) = not_permitted(case(asked(0), interface=silent))
    assert "it has no netboot.allowPXE" in found.evidence[-1]
    assert found.remedy.startswith("Set netboot.allowPXE to true")


def test_who_may_boot_or_was_answered_is_permitted() -> None:
    assert not list(not_permitted(case(asked(0))))
    assert not list(not_permitted(case(asked(0), ticket=False, installed=True)))
    assert not list(not_permitted(case(asked(0), *answered(1), ticket=False)))
    assert not list(not_permitted(case(ticket=False)))
    scripted = replace(KNOWN, netboot=Netboot(script="shell\n"))
    assert not list(not_permitted(case(asked(0), interface=scripted, ticket=False)))
    assert not list(not_permitted(case(asked(0), interface=None, ticket=False)))


def test_without_an_address_to_give_nobody_is_answered() -> None:
    ignored = seen(0.1, Stage.IGNORED, why=Silence.NO_ADDRESS.value)
    pool = (IPv4Address("172.30.0.100"), IPv4Address("172.30.0.101"))
    subnets = (replace(NETWORK, pool=pool), replace(NETWORK, network=IPv4Network("172.31.0.0/24")))
    free = replace(KNOWN, address=None)
    (found,) = no_address(case(asked(0), ignored, mode="pool", subnets=subnets, interface=free))
    assert (found.gravity, "none of the pool is free" in found.cause) == (Gravity.FAULT, True)
    assert found.evidence[1:] == (
        "172.30.0.0/24 lends 172.30.0.100-172.30.0.101",
        "172.31.0.0/24 lends nothing: it has no pool",
    )
    there = replace(ignored, facts={**ignored.facts, "network": "172.31.0.0/24"})
    (found,) = no_address(case(asked(0), there, mode="pool", subnets=subnets, interface=free))
    assert "none of the pool of 172.31.0.0/24 is free" in found.cause
    assert found.evidence[1:] == ("172.31.0.0/24 lends nothing: it has no pool",)
    assert "Give it an address of 172.31.0.0/24: `tinkbox hardware edit MACHINE --address IP`." in found.remedy
    assert "give the pool of 172.31.0.0/24 under dhcp.subnets more room" in found.remedy
    (found,) = no_address(case(asked(0), ignored, mode="pool", subnets=subnets, interface=None, discovers=True))
    assert "unknown machines hold as much of the pool as they may" in found.cause
    (found,) = no_address(case(asked(0), ignored, interface=free))
    assert "none is reserved for it" in found.cause
    assert found.remedy.startswith("Give it an address: `tinkbox hardware edit MACHINE --address IP`.")
    (found,) = no_address(case(asked(0), ignored, interface=None, discovers=True))
    assert found.remedy.startswith("Give it an address: `tinkbox hardware add MACHINE`.")
    assert not list(no_address(case(asked(0), ignored, *answered(4))))
    assert not list(no_address(case(asked(0), UNKNOWN)))


@pytest.mark.parametrize(
    ("card", "command"),
    [
        ({}, f"`tinkbox hardware edit {MAC} --address IP --force`"),
        ({"form": Form.V1ALPHA1}, f"`tinkbox hardware edit {MAC} --address IP --force`"),
        ({"form": Form.V1ALPHA2}, f"`tinkbox hardware edit {MAC} --force` ("),
        ({"place": 1}, f"`tinkbox hardware edit {MAC} --force` (ip.address)"),
    ],
)
def test_an_address_is_given_by_a_command_that_no_waiting_workflow_refuses(
    card: dict[str, object], command: str
) -> None:
    ignored = seen(0.1, Stage.IGNORED, why=Silence.NO_ADDRESS.value)
    free = replace(KNOWN, address=None, **card)  # type: ignore[arg-type]
    found = diagnose(case(asked(0), ignored, interface=free, waited_since=BEGIN))
    (told,) = (each for each in found if each.rule == "NoAddress")
    assert told.remedy.startswith(f"Give it an address: {command}")


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({"mode": "off", "interface": None}, False),
        ({"mode": "off", "interface": replace(KNOWN, address=None)}, False),
        ({"mode": "proxy", "interface": replace(KNOWN, address=None)}, False),
        ({"mode": "pool", "interface": None}, False),
        ({"mode": "pool", "interface": replace(KNOWN, address=None)}, False),
        ({"mode": "reservation", "interface": replace(KNOWN, address=None)}, True),
    ],
)
def test_an_address_that_lacked_before_the_start_lacks_only_where_it_still_does(
    now: dict[str, object], *, told: bool
) -> None:
    ignored = seen(0.1, Stage.IGNORED, why=Silence.NO_ADDRESS.value)
    found = list(no_address(case(asked(0), ignored, since=BEGIN + timedelta(seconds=30), **now)))
    assert bool(found) is told


def test_a_reserved_address_that_is_lent_to_another_machine_names_holder_and_end() -> None:
    ignored = seen(0.1, Stage.IGNORED, why=Silence.NO_ADDRESS.value)
    until = BEGIN + timedelta(minutes=7)
    lent = Lent(address=IPv4Address(MINE), mac=MacAddress("08:00:27:00:00:77"), until=until, name="node9")
    (found,) = no_address(case(asked(0), ignored, mode="pool", lent=lent))
    assert found.cause == f"The address that is reserved for the machine, {MINE}, is lent to node9 (08:00:27:00:00:77)."
    assert found.evidence[-1] == f"the pool lent {MINE} to 08:00:27:00:00:77 until 2026-11-21 03:07:00"
    (found,) = no_address(case(asked(0), ignored, mode="pool", lent=replace(lent, name="")))
    assert "an unknown machine (08:00:27:00:00:77)" in found.cause
    (found,) = no_address(case(asked(0), ignored, mode="pool"))
    assert f"{MINE}, which is reserved for it, was lent to another machine when it asked" in found.cause
    outside = replace(KNOWN, address=IPv4Address("10.0.0.9"))
    assert [each.rule for each in diagnose(case(asked(0), ignored, interface=outside))] == ["AddressOutside"]


def test_a_card_that_may_boot_for_no_workflow_is_told_so() -> None:
    told = case(asked(0), UNKNOWN, interface=replace(KNOWN, allow_workflow=False))
    (found,) = not_permitted(told)
    assert "allow_workflow: false" in found.cause
    (told_of_it,) = (each for each in diagnose(told) if each.rule == "NotPermitted")
    assert f"`tinkbox hardware edit {MAC}`" in told_of_it.remedy
    assert not list(not_permitted(replace(told, installed=True)))


def test_a_network_behind_a_relay_that_nobody_configured_is_named_and_no_other_reason() -> None:
    ignored = seen(0.1, Stage.IGNORED, why=Silence.NO_ADDRESS.value)
    (found,) = no_address(case(asked(0, relay="172.31.0.1"), ignored, mode="pool"))
    assert found.cause == "There is no address for the machine: it asks from a network that is not configured."
    assert found.evidence[1:] == ("its relay is at 172.31.0.1", "a network that is configured: 172.30.0.0/24")
    (found,) = no_address(case(asked(0, relay="172.30.0.2"), ignored, mode="pool"))
    assert "not configured" not in found.cause


def test_a_pool_for_whose_addresses_others_answer_is_not_said_to_be_full() -> None:
    ignored = seen(0.1, Stage.IGNORED, why=Silence.NO_ADDRESS.value)
    liar = Claimant(mac="02:00:00:00:00:66", network=NETWORK.network, size=100, addresses=53, believed=8)
    (found,) = no_address(case(asked(0), ignored, mode="pool", interface=None, discovers=True, claimants=(liar,)))
    assert found.cause.endswith("other hosts answer for those of the pool that are free.")
    assert "02:00:00:00:00:66 answered for 53 of the 100 addresses" in found.evidence[1]


def test_firmware_without_a_loader_is_named() -> None:
    ignored = seen(0.1, Stage.IGNORED, why=Silence.NO_PROGRAM.value)
    (found,) = no_program(case(asked(0, architecture=10), ignored))
    assert (found.gravity, "32-bit ARM" in found.cause) == (Gravity.FAULT, True)
    assert found.evidence[-1] == "it asks as architecture 10"
    assert ("BIOS" in found.remedy, "64-bit processors" in found.remedy) == (False, True)
    (found,) = no_program(case(asked(0, architecture=77), ignored))
    assert "nobody has registered" in found.cause
    assert not list(no_program(case(*osie_boot(0))))


def test_firmware_that_asks_for_an_address_alone_is_told_what_it_does_not_say() -> None:
    silent = asked(0, Asker.SYSTEM, 7)
    (found,) = diagnose(case(seen(-900, Stage.DISK_BOOTED), silent, after=60))
    assert (found.rule, found.gravity) == ("NoProgram", Gravity.SUSPECT)
    assert "option 60" in found.cause
    assert not list(no_program(case(silent, ticket=False)))
    assert not list(no_program(case(silent, asked(5))))


def test_an_address_that_no_machine_can_have_is_told_from_one_that_is_missing() -> None:
    ignored = seen(0.1, Stage.IGNORED, why=Silence.UNFIT_ADDRESS.value)
    (found,) = no_address(case(asked(0), ignored))
    assert found.gravity is Gravity.FAULT
    assert "none that a machine can have" in found.cause
    assert found.remedy == "Give it another one: `tinkbox hardware edit MACHINE --address IP`. Then boot the machine."
    assert not list(no_address(case(asked(0), ignored, *answered(4))))


def test_firmware_that_wants_signed_loaders_and_tries_http_as_well_is_no_fault() -> None:
    ignored = seen(9.1, Stage.IGNORED, why=Silence.NO_PROGRAM.value)
    http = asked(9, Asker.HTTP, architecture=16)
    (found,) = no_program(case(asked(0), http, ignored, firmware_traits=FirmwareTraits(secure_boot=True)))
    assert (found.gravity, "it boots by PXE" in found.cause) == (Gravity.HARMLESS, True)
    assert len(found.evidence) == 2
    (found,) = no_program(case(http, ignored, firmware_traits=FirmwareTraits(secure_boot=True)))
    assert found.gravity is Gravity.SUSPECT


def script_denied(why: Silence, own: str = "") -> Sighting:
    return seen(4, Stage.SCRIPT_REFUSED, why.value, why=why.value, address="172.30.0.205", own=own)


def test_a_machine_at_another_address_than_its_own_is_told_both() -> None:
    elsewhere = script_denied(Silence.ELSEWHERE, MINE)
    (found,) = script_refused(case(fetched(1), elsewhere, mode="off"))
    assert found.cause == f"The machine has the address 172.30.0.205, and its boot script is only for {MINE}."
    assert f"Have the DHCP server give it {MINE}, or take ip out" in found.remedy
    (found,) = script_refused(case(fetched(1), elsewhere, mode="off", waited_since=BEGIN))
    assert "(`tinkbox hardware edit MACHINE --force`)" in found.remedy
    assert found.evidence[-1] == f"its hardware document says ip.address {MINE}"
    (found,) = script_refused(case(*answered(0), elsewhere))
    assert "who else gives addresses" in found.remedy
    (found,) = script_refused(case(fetched(1), script_denied(Silence.ELSEWHERE), mode="pool"))
    assert "172.30.0.205, which the pool did not lend it" in found.cause
    assert "who else gives addresses" in found.remedy
    assert not list(script_refused(case(fetched(1), elsewhere, seen(9, Stage.SCRIPT), mode="off")))
    assert diagnosed(case(fetched(1), elsewhere, mode="off", after=100)) == ["ScriptRefused"]


def ticket_denied(at: float, why: TicketRefusal) -> Sighting:
    return seen(at, Stage.TICKET_REFUSED, why.value, why=why.value, address="172.30.0.66")


def test_a_boot_ticket_that_was_used_twice_is_told_with_both_who_used_it() -> None:
    exchanged = seen(9, Stage.SESSION, "from 172.30.0.66 (02:00:00:00:00:66)")
    (found,) = ticket_refused(case(seen(8, Stage.TICKET), exchanged, ticket_denied(10, TicketRefusal.USED)))
    assert (found.gravity, "used twice" in found.cause) == (Gravity.FAULT, True)
    assert "02:00:00:00:00:66" in found.evidence[1]
    assert "credential --rotate" in found.remedy


def test_second_host_at_the_machines_address_is_told_as_that_and_not_as_a_theft() -> None:
    refused = elsewhere(99, count=2, lasted=6.0)
    (found,) = ticket_refused(case(*osie_boot(0), seen(30, Stage.SESSION), refused, work=WORK, after=60))
    assert (found.gravity, found.cause) == (
        Gravity.FAULT,
        f"Two hosts have the address {MINE}: {OTHER} answered for it beside this machine.",
    )
    assert found.evidence[-1] == (
        f"2026-11-21 03:01:45 a request with this machine's credential came from {MINE}, and by ARP {OTHER} had that address"
    )
    assert found.remedy.startswith(
        f"Find the host with the MAC {OTHER} (your switch knows its port) and take {MINE} off it"
    )
    assert "on purpose looks the same" in found.remedy
    # What another address showed is a credential that another host has, beside it as well.
    both = list(ticket_refused(case(elsewhere(90, "172.30.0.66"), refused)))
    assert [each.cause.startswith("Another host used") for each in both] == [True, False]
    assert [each.gravity for each in both] == [Gravity.FAULT, Gravity.FAULT]
    # With however many MACs that host answers.
    flood = [elsewhere(90 + each, neighbour=f"02:00:00:00:00:{each:02x}") for each in range(20)]
    assert len(list(ticket_refused(case(*flood)))) == 1


def test_second_host_is_suspect_once_the_worker_was_in_touch_again() -> None:
    refused = elsewhere(90, count=3, lasted=5.0)
    begun = (*osie_boot(0), seen(50, Stage.SESSION), refused)

    def gravity(*more: Sighting, **changes: object) -> Gravity:
        (found,) = ticket_refused(case(*begun, *more, **{"after": 5, **changes}))
        return found.gravity

    heard = replace(WORK, contact=HEARD)
    assert gravity(work=heard, after=12) is Gravity.SUSPECT
    assert gravity(work=replace(WORK, contact=BEGIN + timedelta(seconds=94))) is Gravity.FAULT
    assert gravity(work=heard, after=3_600) is Gravity.FAULT  # not in touch now
    assert gravity(seen(96, Stage.SESSION)) is Gravity.SUSPECT
    assert gravity(seen(96, Stage.ACTION, state=State.SUCCESS.value), after=3_600) is Gravity.SUSPECT
    # How it failed is the appliance's own word, and it was refused again after it had been in touch.
    assert gravity(seen(96, Stage.ACTION, state=State.TIMEOUT.value)) is Gravity.FAULT
    assert gravity(seen(94, Stage.ACTION)) is Gravity.FAULT
    # Another boot has another worker.
    assert gravity(asked(120), after=3_600) is Gravity.SUSPECT
    assert gravity(asked(120, Asker.SYSTEM), after=3_600) is Gravity.FAULT
    # A theft is a theft, whoever is in touch.
    (found,) = ticket_refused(case(elsewhere(90, "172.30.0.66"), seen(96, Stage.SESSION), work=heard))
    assert found.gravity is Gravity.FAULT


def refused_at(address: str, why: TicketRefusal, at: float = 90) -> Sighting:
    return seen(at, Stage.TICKET_REFUSED, why.value, why=why.value, address=address, exchanged_from=MINE)


def test_refused_ticket_is_suspect_while_the_machines_worker_is_in_touch_unless_it_may_be_a_theft() -> None:
    def told(why: TicketRefusal, address: str, after: float) -> tuple[Gravity, bool]:
        heard = replace(WORK, contact=HEARD)
        told = case(*osie_boot(0), seen(50, Stage.SESSION), refused_at(address, why), work=heard, after=after)
        (found,) = ticket_refused(told)
        return found.gravity, "2026-11-21 03:01:40 its worker was in touch all the same" in found.evidence

    for why in (TicketRefusal.VOID, TicketRefusal.UNREADABLE, TicketRefusal.OTHER_BOOT):
        assert told(why, "172.30.0.66", 12) == (Gravity.SUSPECT, True)
        assert told(why, "172.30.0.66", 3_600) == (Gravity.FAULT, False)
    # Two workers on the machine itself; from elsewhere another host may work in its name.
    assert told(TicketRefusal.USED, MINE, 12) == (Gravity.SUSPECT, True)
    assert told(TicketRefusal.USED, "172.30.0.66", 12) == (Gravity.FAULT, False)


def test_ticket_of_a_machine_whose_worker_is_in_touch_is_no_sign_of_an_earlier_release() -> None:
    def told(address: str, contact: float, after: float, *more: Sighting) -> Finding:
        heard = replace(WORK, contact=BEGIN + timedelta(seconds=contact))
        refused = refused_at(address, TicketRefusal.OLD_WORKER)
        story = case(*osie_boot(0), seen(50, Stage.SESSION), refused, *more, work=heard, after=after)
        (found,) = ticket_refused(story)
        return found

    def is_doubted(found: Finding) -> bool:
        doubt = (
            "its worker was in touch all the same: another host may have sent this in its name" in found.evidence[-1]
        )
        return doubt and found.gravity is Gravity.SUSPECT and "boot the machine again" not in found.remedy

    strange = told("172.30.0.66", 88, 5)
    assert is_doubted(strange)
    assert "shown from 172.30.0.66, which is not the machine's address" in strange.cause
    assert strange.remedy.startswith("The appliance refused it")
    assert "Find the host at 172.30.0.66" in strange.remedy
    own = told(MINE, 88, 5)
    assert is_doubted(own)
    assert "not the machine's" not in own.cause
    assert "second worker" in own.remedy
    # It worked on afterwards, and is not in touch now; or another boot has a worker of this release.
    assert is_doubted(told("172.30.0.66", 100, 3_600))
    assert told(MINE, 60, 3_600, seen(200, Stage.SESSION)).past
    # A worker that was not heard of since may be the one that was refused.
    silent = told(MINE, 60, 3_600)
    assert (silent.gravity, "osie build" in silent.remedy) == (Gravity.FAULT, True)


def test_ticket_that_cannot_be_read_is_told_in_place_of_what_only_waits_or_was_never_seen() -> None:
    waits = replace(WORK, action_state=State.PENDING, state=State.PENDING, contact=None, waits="its machine")
    late = case(refused_at(MINE, TicketRefusal.UNREADABLE, 5), work=waits, waited_since=BEGIN, after=600)
    (found,) = diagnose(late)
    assert (found.rule, found.gravity) == ("TicketRefused", Gravity.FAULT)
    assert found.cause.startswith(
        "A worker at this machine's address showed a boot ticket that this appliance cannot read"
    )
    assert f"at {MINE}" in found.evidence[0]
    assert f"`tinkbox hardware credential {MAC}`" in found.remedy


def test_worker_that_was_started_by_hand_on_another_host_is_told_until_somebody_decides() -> None:
    by_hand = seen(5, Stage.SESSION, elsewhere=OTHER)
    (found,) = diagnose(case(by_hand, after=60))
    assert (found.rule, found.gravity) == ("WorkerElsewhere", Gravity.SUSPECT)
    assert OTHER in found.cause
    assert f"`tinkbox hardware credential {MAC} --rotate`" in found.remedy
    for later in (seen(9, Stage.SESSION), seen(9, Stage.REVOKED)):
        assert "WorkerElsewhere" not in [each.rule for each in diagnose(case(by_hand, later, after=60))]


def test_second_host_of_an_earlier_boot_hides_nothing_of_the_next_one() -> None:
    again = [asked(600), *answered(601)]
    told = diagnose(case(*osie_boot(0), seen(50, Stage.SESSION), elsewhere(90), *again, after=660))
    assert [(each.rule, each.leads) for each in told if each.gravity is Gravity.SUSPECT] == [
        ("Stalled", True),
        ("TicketRefused", False),
    ]
    assert (
        told[1].cause
        == f"Two hosts had the address {MINE} at 03:01:30 UTC: {OTHER} answered for it beside this machine."
    )


@pytest.mark.parametrize("why", [TicketRefusal.USED, TicketRefusal.ELSEWHERE, TicketRefusal.VOID])
def test_what_a_new_credential_does_to_a_running_action_is_said(why: TicketRefusal) -> None:
    told = case(seen(1, Stage.SESSION), ticket_denied(10, why))
    (idle,) = ticket_refused(told)
    (busy,) = ticket_refused(replace(told, work=WORK))
    (over,) = ticket_refused(replace(told, work=replace(WORK, action_state=State.SUCCESS)))
    assert "WorkerLost" not in idle.remedy + over.remedy
    assert "os/write runs on the machine now" in busy.remedy
    assert "end it as WorkerLost, and `tinkbox workflow retry w1`" in busy.remedy


@pytest.mark.parametrize("decision", sorted(DECISIONS))
def test_a_refused_ticket_is_told_no_more_once_a_person_acted_on_it(decision: Stage) -> None:
    refused = ticket_denied(8, TicketRefusal.USED)
    assert not list(ticket_refused(case(refused, seen(9, decision))))
    assert list(ticket_refused(case(seen(7, decision), refused)))


@pytest.mark.parametrize("why", [TicketRefusal.OTHER_TPM, TicketRefusal.NEW_TPM])
def test_the_way_to_accept_a_tpm_is_told_as_a_command_to_type(why: TicketRefusal) -> None:
    denied = seen(8, Stage.TICKET_REFUSED, why.value, why=why.value, tpm="a" * 64)
    (found,) = ticket_refused(case(denied))
    assert f"`tinkbox hardware tpm {MAC} --accept {'a' * 64}`" in found.remedy


def test_of_several_tpms_none_is_offered_to_be_accepted() -> None:
    why = TicketRefusal.OTHER_TPM
    denied = [
        seen(at, Stage.TICKET_REFUSED, why.value, why=why.value, tpm=letter * 64) for at, letter in ((8, "a"), (9, "b"))
    ]
    (found,) = ticket_refused(case(*denied))
    assert found.cause.startswith("Several TPMs")
    assert "a" * 64 not in found.remedy + found.cause
    assert {f"shown: {letter * 64}" for letter in "ab"} <= set(found.evidence)
    # The one that came before a person decided is no news.
    (found,) = ticket_refused(case(denied[0], seen(8.5, Stage.TPM_DECIDED), denied[1]))
    assert f"--accept {'b' * 64}" in found.remedy


@pytest.mark.parametrize("why", TicketRefusal)
def test_every_refused_ticket_is_told_unless_the_worker_got_another_by_itself(why: TicketRefusal) -> None:
    refused = ticket_denied(8, why)
    (found,) = ticket_refused(case(refused))
    assert found.remedy
    mended = list(ticket_refused(case(refused, seen(9, Stage.SESSION))))
    lasting = {
        TicketRefusal.USED,
        TicketRefusal.ELSEWHERE,
        TicketRefusal.BOOT_OVER,
        TicketRefusal.OLD_WORKER,
        TicketRefusal.NO_TPM,
        TicketRefusal.OTHER_TPM,
        TicketRefusal.NEW_TPM,
        TicketRefusal.UNPROVEN_TPM,
    }
    assert bool(mended) is (why in lasting)


def test_a_stolen_ticket_is_told_for_a_day_with_what_came_before_it_whatever_was_seen_since() -> None:
    sightings = [
        seen(8, Stage.TICKET),
        seen(9, Stage.SESSION, "from 172.30.0.66"),
        ticket_denied(10, TicketRefusal.USED),
        asked(20),
        seen(30, Stage.SESSION, "from 172.30.0.21"),
    ]
    (found,) = ticket_refused(case(*sightings))
    assert "from 172.30.0.66" in found.evidence[1]
    assert not any("172.30.0.21" in each for each in found.evidence)
    assert not list(ticket_refused(case(*sightings, after=2 * 86_400)))


def test_with_dhcp_off_who_is_unknown_or_not_permitted_shows_when_it_asks_for_its_script() -> None:
    stranger = case(fetched(1), script_denied(Silence.UNKNOWN), interface=None, ticket=False, mode="off", after=100)
    assert diagnosed(stranger) == ["NotKnown"]
    idle = case(fetched(1), script_denied(Silence.NOT_PERMITTED), ticket=False, mode="off", after=100)
    assert diagnosed(idle) == ["NotPermitted"]


def diagnosed(found: Case) -> list[str]:
    return [each.rule for each in diagnose(found)]


def test_a_boot_in_a_machines_name_is_told_for_a_day() -> None:
    asked_for = seen(9, Stage.STILL_THERE)
    (found,) = asked_in_its_name(case(asked_for, seen(20, Stage.WORKER)))
    assert Stage.STILL_THERE in found.evidence[0]
    assert not list(asked_in_its_name(case(asked_for, after=2 * 86_400)))


def test_an_address_that_was_given_back_in_a_machines_name_is_told() -> None:
    (found,) = asked_in_its_name(case(seen(9, Stage.ADDRESS_KEPT), seen(20, Stage.WORKER)))
    assert "gave this machine's address back" in found.cause


def test_a_ticket_that_a_person_revoked_is_told_as_that_and_not_as_a_theft() -> None:
    revoked, void = seen(9, Stage.REVOKED, "by ann", who="ann"), ticket_denied(10, TicketRefusal.VOID)
    (found,) = ticket_refused(case(seen(1, Stage.SESSION), revoked, void))
    assert (found.gravity, "--rotate {mac}" in found.remedy) == (Gravity.SUSPECT, False)
    assert "by ann" in found.evidence[0]
    (found,) = ticket_refused(case(seen(1, Stage.SESSION), void))
    assert found.gravity is Gravity.FAULT


def test_a_retired_machine_is_told_so_whatever_else_holds() -> None:
    retired = Retirement(at=seen(0, Stage.DISCOVER).at, who="ann", reason="board broken")
    silent = seen(0.1, Stage.IGNORED, why=Silence.RETIRED.value)
    (found,) = not_permitted(case(asked(0), silent, ticket=True, retired=retired))
    assert found.cause == (
        "The machine is known, and may not boot now: it was retired at 2026-11-21 03:00:00 by 'ann': 'board broken'."
    )
    assert found.remedy == f"To take it back into service type `tinkbox hardware return {MAC}`, then boot it again."


def test_who_asks_about_a_retired_machine_is_told_so_whatever_it_did_before() -> None:
    retired = Retirement(at=seen(0, Stage.DISCOVER).at, who="ann", reason="")
    for before in ((), (asked(0), seen(0.1, Stage.OFFERED), seen(0.2, Stage.LEASED))):
        (found,) = not_permitted(case(*before, retired=retired, surveyed=False))
        assert "it was retired at 2026-11-21 03:00:00 by 'ann'" in found.cause
        assert list(not_permitted(case(*before, retired=retired, surveyed=True))) == []


@pytest.mark.parametrize("forbidden", [{"allow_pxe": False}, {"allow_workflow": False}])
def test_a_machine_whose_document_alone_keeps_it_from_booting_is_told_so_before_it_asks(
    forbidden: dict[str, bool],
) -> None:
    waiting = case(interface=replace(KNOWN, **forbidden), barred="its document")
    (found,) = not_permitted(waiting)
    assert f"{next(iter(forbidden))}: false" in found.cause
    assert [each.rule for each in diagnose(waiting) if each.gravity is not Gravity.HARMLESS] == ["NotPermitted"]
    assert not list(not_permitted(replace(waiting, barred=""))), "another of its cards may, or no workflow waits"
    working = replace(WORK, contact=waiting.now)
    assert not list(not_permitted(replace(waiting, work=working))), "its worker is there already"


def test_a_document_that_names_another_boot_server_is_told_of_a_machine_that_was_sent_there() -> None:
    away = replace(KNOWN, netboot=Netboot(server_name="10.0.0.9", file="ztp.cfg"))
    for before in ((), (asked(0), *answered(1, boot=Boot.ELSEWHERE.value))):
        waiting = case(*before, after=60, interface=away, barred="its document", work=WAITING)
        (found,) = diagnose(waiting)
        assert (found.rule, found.gravity) == ("NotPermitted", Gravity.SUSPECT)
        assert "names another boot server, so it cannot boot from here" in found.cause
        assert (
            f"take tftp_server_name and boot_file_name out of its hardware document: `tinkbox hardware edit {MAC}`"
            in found.remedy
        )
        assert not list(not_permitted(replace(waiting, barred=""))), "another of its cards boots from here"


def test_a_card_whose_dhcp_is_disabled_is_told_so_where_that_is_ours_to_answer() -> None:
    ignored = seen(0.1, Stage.IGNORED, why=Silence.NOT_PERMITTED.value)
    silent = case(asked(0), ignored, interface=replace(KNOWN, dhcp=False))
    (found,) = not_permitted(silent)
    assert "disableDhcp: true for this interface" in found.cause
    assert "Set disableDhcp to false" in found.remedy
    assert not list(not_permitted(replace(silent, mode="off"))), "another server gives it its address"
