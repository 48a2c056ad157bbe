"""The doctor's rules about addresses."""

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
    OURS,
    answered,
    appliance,
    asked,
    case,
    failed,
    fetched,
    osie_boot,
    rival,
    seen,
)
from tests.unit.engine.doctor.rules.test_silence import WORK
from tests.unit.engine.presences import presence_where
from tinkbox.engine.doctor.case import Case, Fault, Finding, KnownHost, NetworkQuestion, Stops
from tinkbox.engine.doctor.case import held_back as held_back_alone
from tinkbox.engine.doctor.doctor import diagnose
from tinkbox.engine.doctor.rules.network import (
    address_in_use,
    address_outside,
    answers_for_many,
    asks_in_vlan,
    heard,
    held_back,
    nobody_gives_addresses,
    not_directed_here,
    other_boot_server,
    other_server,
    proxy_ignored,
    relay_unreached,
    remembered_address,
    seconds_asked,
    sent_elsewhere,
    spanning_tree,
    too_many_unknown,
    unheard_relay,
)
from tinkbox.engine.timeline.sighting_rules import Unnoted
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.hardware import MacAddress
from tinkbox.model.host_vitals import HostVitals, OtherAppliance
from tinkbox.model.leases import Claimant, Subnet
from tinkbox.model.limits import NODE_CONNECTIONS, RENDERINGS, HeldBack, Standing
from tinkbox.model.sightings import Sighting
from tinkbox.model.vitals import StaticPort, TaggedQuestion, Vitals
from tinkbox.model.workflow import State

NODE = KnownHost(name="node1", in_touch=True)
SILENT = KnownHost(name="node1", in_touch=False)
HIS = "00:25:90:00:00:09"

OTHER_ADDRESS = IPv4Address("172.30.0.77")
STRAY = seen(3, Stage.OTHER_SERVER, server="172.30.0.9", address="172.30.0.77")


def test_a_machine_that_took_another_servers_address_is_told_whose() -> None:
    (found,) = other_server(case(asked(0), *answered(1)[:1], STRAY))
    assert found.gravity is Gravity.FAULT
    assert "172.30.0.9" in found.cause
    assert found.evidence == ("2026-11-21 03:00:03 accepted 172.30.0.77 of the DHCP server 172.30.0.9",)
    assert "set `dhcp: {mode: proxy}` in tinkbox.yaml and restart tinkbox (`systemctl restart tinkbox`)" in found.remedy


def test_another_server_that_answers_now_is_named_with_its_hardware_address() -> None:
    (found,) = other_server(appliance(rivals=(rival(boot_file="x.efi", next_server=IPv4Address("10.0.0.1")),)))
    assert found.gravity is Gravity.FAULT
    (told,) = found.evidence
    assert told.startswith("asked on eth1, the DHCP server 172.30.0.9 (MAC 00:25:90:00:00:09) offered 172.30.0.77")
    assert told.endswith(", and to boot 'x.efi' from 10.0.0.1")
    assert "00:25:90:00:00:09 (eth1)" in found.remedy


def test_an_accepted_address_of_another_server_is_told_with_its_time_and_is_over_when_asking_finds_none_and_nothing_waits() -> (
    None
):
    story = asked(0), *answered(1)[:1], STRAY
    (found,) = other_server(case(*story, after=1000))
    assert (
        found.cause
        == "The machine accepted an address of another DHCP server, 172.30.0.9, at 03:00:03 UTC: the faster one wins."
    )
    for second, answers, told in ((2, False, 1), (60, True, 1), (60, False, 0)):
        question = NetworkQuestion(at=BEGIN + timedelta(seconds=second), answered=True, offered=answers)
        assert len(list(other_server(case(*story, after=1000, question=question, ticket=False)))) == told


def test_an_address_accepted_of_a_server_that_does_not_answer_us_is_told_until_the_machine_boots_from_here() -> None:
    story = asked(0), *answered(1)[:1], STRAY
    asked_since = NetworkQuestion(at=BEGIN + timedelta(seconds=60), answered=False, offered=False)
    waits = replace(WORK, state=State.PENDING, action_state=State.PENDING, since=None, contact=None, waits="node1")
    found, *others = diagnose(case(*story, after=100, question=asked_since, work=waits))
    assert (found.rule, found.gravity, others) == ("OtherServer", Gravity.SUSPECT, [])
    assert found.cause == (
        "The machine accepted an address of another DHCP server, 172.30.0.9, at 03:00:03 UTC, and did not boot from here: that server "
        "answers this machine and not us, or it is gone."
    )
    assert found.evidence[-1] == (
        "2026-11-21 03:01:00 the network was asked for other DHCP servers: no such server answered"
    )
    for since in (answered(20), [seen(20, Stage.SCRIPT)]):
        assert not list(other_server(case(*story, *since, after=100, question=asked_since)))
        assert not list(other_server(case(*story, *since, after=100))), "and it was asked before then as well"
    in_touch = replace(waits, contact=BEGIN + timedelta(seconds=95))
    assert not list(other_server(case(*story, after=100, question=asked_since, work=in_touch)))
    other = replace(asked_since, answered=True, offered=True)
    (found,) = other_server(case(*story, after=100, question=other))
    assert found.gravity is Gravity.FAULT, "a server offers addresses"


def test_a_proxy_that_a_machine_chose_gives_no_addresses() -> None:
    chosen = seen(3, Stage.OTHER_SERVER, "no address of 172.30.0.9", server="172.30.0.9", address="")
    told = case(asked(0), *answered(1)[:1], chosen, rivals=(rival(offered=None, pxe=True),))
    assert not list(other_server(told))
    found, *_ = other_boot_server(told)
    assert (found.gravity, "172.30.0.9, that names no address" in found.cause) == (Gravity.FAULT, True)
    assert "leave `dhcp.mode` as it is" in found.remedy
    for answers in (True, False):
        question = NetworkQuestion(at=BEGIN + timedelta(seconds=60), answered=answers, offered=False)
        (chose,) = other_boot_server(replace(told, rivals=None, question=question))
        assert chose.gravity is (Gravity.FAULT if answers else Gravity.SUSPECT), "it may answer this machine alone"
        idle = list(other_boot_server(replace(told, rivals=None, question=question, ticket=False)))
        assert bool(idle) is answers


def test_a_virtual_machine_that_answers_is_known_as_one() -> None:
    other = rival(mac=MacAddress("52:54:00:00:00:09"), next_server=IPv4Address("10.0.0.1"))
    assert heard(other) == (
        "asked on eth1, the DHCP server 172.30.0.9 (MAC 52:54:00:00:00:09, a virtual machine of QEMU) offered 172.30.0.77"
    )
    assert heard(rival(boot_file="x.efi")).endswith("offered 172.30.0.77, and to boot 'x.efi'")


def test_a_machine_that_had_our_address_was_lucky_beside_another_server() -> None:
    (found,) = other_server(case(*osie_boot(0), rivals=(rival(),)))
    assert found.gravity is Gravity.SUSPECT


@pytest.mark.parametrize("mode", ["proxy", "off"])
def test_where_others_give_the_addresses_another_server_is_as_it_should_be(mode: str) -> None:
    assert not list(other_server(case(asked(0), STRAY, mode=mode, rivals=(rival(),))))


def test_what_was_as_it_should_be_in_another_mode_is_no_fault_of_this_one() -> None:
    beside = seen(1, Stage.OFFERED, "boot file only", file="snponly.efi", mode="proxy", address="")
    assert not list(other_server(case(asked(0), beside, STRAY)))
    assert not list(proxy_ignored(case(asked(0), *answered(1, file="snponly.efi"), mode="proxy", after=60)))


def test_an_earlier_boots_other_server_is_no_news() -> None:
    assert not list(other_server(case(asked(0), STRAY, *osie_boot(60))))


def test_a_proxy_beside_us_that_says_what_to_boot_is_found() -> None:
    other = rival(offered=None, boot_file="pxelinux.0", next_server=IPv4Address("172.30.0.9"))
    (found,) = other_boot_server(appliance(rivals=(other,)))
    assert (found.gravity, "172.30.0.9" in found.cause) == (Gravity.SUSPECT, True)
    assert "offered no address, and to boot 'pxelinux.0'" in found.evidence[0]
    assert not list(other_boot_server(appliance(rivals=(rival(),))))
    assert not list(other_boot_server(appliance(rivals=(other,), mode="off")))
    assert not list(other_boot_server(appliance(rivals=(replace(other, boot_file=""),))))
    assert not list(
        other_boot_server(appliance(rivals=(replace(other, offered=OTHER_ADDRESS),)))
    )  # OtherServer has that


def test_in_proxy_mode_the_other_server_must_leave_the_boot_file_to_us() -> None:
    named = rival(boot_file="pxelinux.0", next_server=IPv4Address("172.30.0.9"))
    (found,) = other_boot_server(appliance(rivals=(named,), mode="proxy"))
    assert found.gravity is Gravity.FAULT
    ours = rival(boot_file="snponly.efi", next_server=OURS)
    assert not list(other_boot_server(appliance(rivals=(ours,), mode="proxy")))


@pytest.mark.parametrize("mode", ["proxy", "off"])
def test_somebody_has_to_give_addresses(mode: str) -> None:
    (found,) = nobody_gives_addresses(appliance(mode=mode))
    assert (found.gravity, mode in found.cause) == (Gravity.FAULT, True)
    boot_only = rival(offered=None, boot_file="x")
    assert len(list(nobody_gives_addresses(appliance(mode=mode, rivals=(boot_only,))))) == 1
    assert not list(nobody_gives_addresses(appliance(mode=mode, rivals=(rival(),))))
    assert not list(nobody_gives_addresses(appliance(mode=mode, rivals=None)))
    assert not list(nobody_gives_addresses(appliance(mode="pool")))
    assert not list(nobody_gives_addresses(case(mode=mode)))


@pytest.mark.parametrize("mode", ["proxy", "off"])
def test_server_that_answers_machines_and_not_us_is_suspect_at_most(mode: str) -> None:
    (silent,) = nobody_gives_addresses(appliance(mode=mode))
    seen_at = MacAddress(HIS), BEGIN - timedelta(seconds=7)
    (found,) = nobody_gives_addresses(appliance(mode=mode, addressed=seen_at, hosts={HIS: NODE}))
    assert (found.gravity, found.subject) == (Gravity.SUSPECT, silent.subject)
    assert "it may answer only machines that it knows" in found.cause
    assert (
        found.evidence[-1]
        == f"2026-11-21 02:59:53 {HIS} of machine node1 was seen with an address, and the appliance gives none"
    )
    assert "mode: reservation" not in found.remedy
    assert not list(nobody_gives_addresses(appliance(mode=mode, addressed=seen_at, rivals=(rival(),))))


@pytest.mark.parametrize("mode", ["proxy", "off"])
def test_another_tinkbox_may_give_addresses_to_the_machines_that_it_knows(mode: str) -> None:
    other = OtherAppliance(interface="eth1", address=OTHER_ADDRESS, mac=MacAddress(HIS), at=BEGIN)

    def told(heard_of: OtherAppliance) -> Finding:
        vitals = Vitals(at=BEGIN, host=HostVitals(appliances=(heard_of,)))
        (found,) = nobody_gives_addresses(appliance(mode=mode, vitals=vitals))
        return found

    found = told(other)
    assert (found.gravity, "it may answer only machines that it knows" in found.cause) == (Gravity.SUSPECT, True)
    assert found.evidence[-1].startswith(f"2026-11-21 03:00:00 another tinkbox, {HIS} at {OTHER_ADDRESS}, was heard")
    assert told(replace(other, unanswered=BEGIN)).gravity is Gravity.FAULT, "it is probably gone"


def test_with_dhcp_off_the_other_server_has_to_send_machines_here() -> None:
    (found,) = not_directed_here(appliance(mode="off", rivals=(rival(),)))
    assert (found.gravity, "172.30.0.9" in found.cause) == (Gravity.FAULT, True)
    elsewhere = rival(boot_file="x.efi", next_server=IPv4Address("172.30.0.9"))
    assert len(list(not_directed_here(appliance(mode="off", rivals=(elsewhere,))))) == 1
    here = rival(boot_file="snponly.efi", next_server=OURS)
    url = rival(boot_file="http://172.30.0.1/boot/x/script.ipxe", next_server=IPv4Address("172.30.0.9"))
    for good in (here, url):
        assert not list(not_directed_here(appliance(mode="off", rivals=(good,))))
    assert not list(not_directed_here(appliance(mode="proxy", rivals=(rival(),))))


def test_a_server_that_tells_ipxe_the_same_as_firmware_is_told_before_a_machine_boots() -> None:
    same = rival(boot_file="snponly.efi", next_server=OURS, ipxe_file="snponly.efi")
    (found,) = not_directed_here(appliance(mode="off", rivals=(same,)))
    assert (found.gravity, found.evidence[-1]) == (
        Gravity.FAULT,
        "asked on eth1 as iPXE, it named 'snponly.efi' again",
    )
    assert found.cause == (
        "The DHCP server 172.30.0.9 gives iPXE its own boot loader, 'snponly.efi', again: machines load it again and again, and never ask "
        "for their boot script."
    )
    assert "dnsmasq: `dhcp-boot=` without a tag" in found.remedy
    script = replace(same, ipxe_file="http://172.30.0.1/boot/x/script.ipxe")
    signed = replace(same, boot_file="shimx64.efi", ipxe_file="shimx64.efi")
    for good in (script, signed, replace(same, ipxe_file=None), replace(same, looped=True)):
        assert not list(not_directed_here(appliance(mode="off", rivals=(good,))))
    assert not list(not_directed_here(appliance(mode="proxy", rivals=(same,))))


def test_an_address_of_no_network_of_ours_is_a_fault() -> None:
    stray = seen(3, Stage.OTHER_SERVER, server="192.168.1.1", address="192.168.1.50")
    (found,) = address_outside(case(asked(0), stray, mode="proxy"))
    assert (found.gravity, "192.168.1.50" in found.cause) == (Gravity.FAULT, True)
    assert "172.30.0.0/24" in found.cause
    assert not list(address_outside(case(asked(0), STRAY, mode="proxy")))
    assert not list(address_outside(case(asked(0), stray, mode="proxy", subnets=())))


def test_a_reserved_address_of_no_network_of_ours_is_a_fault() -> None:
    wrong = replace(KNOWN, address=IPv4Address("10.1.1.1"))
    (found,) = address_outside(case(asked(0), interface=wrong))
    assert "10.1.1.1" in found.evidence[0]
    assert not list(address_outside(case(asked(0), interface=wrong, mode="proxy")))
    assert len(list(address_outside(case(asked(0), *answered(1, "10.1.1.1"), interface=wrong)))) == 1
    assert not list(address_outside(case(asked(0), *answered(1))))
    assert not list(address_outside(case(asked(0), seen(1, Stage.LEASED, address=""))))
    assert not list(
        address_outside(case(asked(0), seen(1, Stage.OTHER_SERVER, server="172.30.0.9", address="0.0.0.0")))
    )


def test_an_address_at_which_a_machine_fetched_what_it_boots_works_wherever_it_lies() -> None:
    routed = replace(KNOWN, address=IPv4Address("10.9.0.21"))
    given = asked(0, relay="10.9.0.1"), *answered(1, "10.9.0.21")
    assert len(list(address_outside(case(*given, after=60, interface=routed)))) > 0
    asked_once_more = asked(900, relay="10.9.0.1")
    for worked in ((*given, fetched(5)), (*given, seen(5, Stage.SCRIPT)), (*given, fetched(5), asked_once_more)):
        assert not list(address_outside(case(*worked, after=60, interface=routed)))
        assert not list(address_outside(case(*worked, after=60, interface=None)))
    # What it fetched at another address, or before it was given this one, shows nothing of this one.
    elsewhere = asked(0), *answered(1), fetched(5)
    assert len(list(address_outside(case(*elsewhere, after=60, interface=routed)))) == 1
    assert len(list(address_outside(case(*elsewhere, *answered(9, "10.9.0.21"), after=60, interface=routed)))) > 0
    strange = asked(0, relay="10.9.0.1"), *answered(1)
    again = asked(900, relay="10.9.0.1"), *answered(901)
    assert len(list(address_outside(case(*strange, *again, after=60)))) == 1
    assert not list(address_outside(case(*strange, fetched(5), *again, after=60)))


def test_a_netmask_that_leaves_the_appliance_out_is_a_fault_until_the_machine_comes_all_the_same() -> None:
    narrow = replace(KNOWN, address=IPv4Address("172.30.0.20"), netmask=IPv4Address("255.255.255.248"))
    (found,) = address_outside(case(asked(0), *answered(1), interface=narrow))
    assert found.cause.startswith("The appliance 172.30.0.1 is not within 172.30.0.16/29")
    assert "Set netmask to 255.255.255.0" in found.remedy
    (found,) = address_outside(case(asked(0), *answered(1), interface=narrow, waited_since=BEGIN))
    assert found.remedy.endswith("`tinkbox hardware edit MACHINE --force`.")
    for fits in (
        replace(narrow, netmask=IPv4Address("255.255.255.0")),
        replace(narrow, gateway=IPv4Address("172.30.0.17")),
    ):
        assert not list(address_outside(case(asked(0), *answered(1), interface=fits)))
    assert not list(address_outside(case(*osie_boot(0), interface=narrow)))


def test_relay_of_no_network_of_ours_is_named_where_a_reserved_address_leads_nowhere() -> None:
    story = asked(0, relay="10.9.0.1"), *answered(1)
    found, *others = diagnose(case(*story, after=60))
    assert (found.rule, found.gravity, others) == ("AddressOutside", Gravity.SUSPECT, [])
    assert found.cause.startswith("The machine asks by the relay 10.9.0.1, which lies in none of our networks, and its")
    assert f"its reserved address {MINE} is of 172.30.0.0/24" in found.cause
    assert found.remedy.startswith("Name the network of 10.9.0.1 under dhcp.subnets in tinkbox.yaml")
    assert f"`tinkbox hardware edit {MAC} --address IP`" in found.remedy
    assert not list(address_outside(case(*story, after=5))), "it may take it yet"
    assert not list(address_outside(case(*story, fetched(3), after=60))), "it comes all the same"
    assert not list(address_outside(case(asked(0, relay="172.30.0.2"), *answered(1), after=60)))


def test_a_machine_that_was_refused_an_old_address_and_took_its_own_is_well() -> None:
    refused = seen(1, Stage.REFUSED, "192.168.1.50, PXE", wanted="192.168.1.50")
    (found,) = remembered_address(case(asked(0), refused, *answered(2)))
    assert (found.gravity, "192.168.1.50" in found.cause) == (Gravity.HARMLESS, True)
    assert len(list(remembered_address(case(refused, asked(2), *answered(3))))) == 1
    assert not list(remembered_address(case(refused, asked(300), *answered(301))))
    assert not list(remembered_address(case(asked(0), refused)))
    assert not list(remembered_address(case(asked(0), *answered(0.1), refused)))


DECLINED = (asked(0), *answered(1), seen(2, Stage.DECLINED, MINE, address=MINE))


def test_an_address_in_use_is_named() -> None:
    (found,) = address_in_use(case(*DECLINED, conflict=True))
    assert (found.gravity, MINE in found.cause) == (Gravity.FAULT, True)
    assert found.remedy == (
        f"Find the other host (`arping -c 2 -I eth1 {MINE}`, or `ping -c 1 {MINE}; ip neigh show {MINE}` shows its MAC) and give it another "
        "address, or give the machine another one: `tinkbox hardware edit MACHINE --address IP`."
    )
    assert found.evidence[-1] == f"2026-11-21 03:00:02 another host answers ARP at {MINE}"
    assert not list(address_in_use(case(*osie_boot(0))))


def test_an_address_in_use_behind_a_relay_is_looked_for_at_its_router() -> None:
    behind = Subnet(network=IPv4Network("172.30.0.0/24"))
    (found,) = address_in_use(case(*DECLINED, subnets=(behind,), waited_since=BEGIN, interface=KNOWN))
    assert found.remedy.startswith(
        f"Find the other host (the router of {MINE} has its MAC) and give it another address, or"
    )
    assert "--address IP --force`" in found.remedy
    (found,) = address_in_use(case(*DECLINED, interface=None, discovers=True))
    assert "hardware edit" not in found.remedy


def test_an_address_in_use_is_named_while_the_machine_asks_anew() -> None:
    again = (*DECLINED, asked(22), *answered(23))
    assert len(list(address_in_use(case(*again, conflict=True)))) == 1
    assert not list(address_in_use(case(*again, conflict=False)))
    assert not list(address_in_use(case(*again, seen(25, Stage.LOADER_REQUESTED), conflict=True)))
    other = seen(23, Stage.OFFERED, "172.30.0.33", address="172.30.0.33")
    assert not list(address_in_use(case(*DECLINED, asked(22), other, conflict=True))), "it was given another one since"


def test_a_machine_whose_document_has_another_address_by_now_is_to_be_booted_again() -> None:
    changed = replace(KNOWN, address=IPv4Address("172.30.0.33"))
    (found,) = address_in_use(replace(case(*DECLINED, conflict=True), interface=changed))
    assert (found.gravity, found.remedy) == (Gravity.SUSPECT, "Boot the machine again.")
    assert "its hardware document has 172.30.0.33 by now" in found.cause


@pytest.mark.parametrize("conflict", [False, None])
def test_an_address_that_was_given_back_while_no_other_host_is_known_there_is_suspect(conflict: bool | None) -> None:
    (found,) = address_in_use(case(*DECLINED, conflict=conflict))
    assert found.gravity is Gravity.SUSPECT
    assert found.cause == (
        f"The machine gave {MINE} back as in use by another host, or another host said so in its name."
    )
    assert found.evidence[-1] == "any host on the network can send that in the machine's name"


@pytest.mark.parametrize(
    ("anybody", "itself", "conflict"),
    [(True, False, True), (True, True, None), (True, None, None), (False, False, False), (None, None, None)],
)
async def test_whether_another_host_has_the_address_that_was_given_back_is_asked(
    anybody: bool | None, itself: bool | None, conflict: bool | None
) -> None:
    async def ask_anybody(address: IPv4Address) -> bool | None:
        return anybody if address == IPv4Address(MINE) else None

    async def ask(address: IPv4Address, mac: MacAddress) -> bool | None:
        return itself if (address, mac) == (IPv4Address(MINE), MAC) else None

    presence = presence_where(ask=ask, ask_anybody=ask_anybody, clock=lambda: BEGIN)
    assert (await presence.with_conflict(case(*DECLINED))).conflict is conflict
    assert (await presence.with_conflict(case(*osie_boot(0)))).conflict is None


OFFERED = seen(1, Stage.OFFERED, "boot file only", file="snponly.efi", mode="proxy", address="")


def test_firmware_that_takes_the_address_and_not_the_boot_file_ignores_proxy_offers() -> None:
    (found,) = proxy_ignored(case(asked(0), OFFERED, STRAY, mode="proxy", after=20))
    assert (found.gravity, "ignores proxy offers" in found.cause) == (Gravity.FAULT, True)
    assert len(found.evidence) == 3


@pytest.mark.parametrize("alone", [True, False], ids=["one machine", "all machines"])
@pytest.mark.parametrize("says", [{"boot_file": "other.efi"}, {"pxe": True}], ids=["boot file", "port 4011"])
def test_firmware_that_boots_from_another_server_ignores_no_proxy_offers(
    says: dict[str, object], *, alone: bool
) -> None:
    other = rival(offered=None, server=IPv4Address("172.30.0.8"), **says)
    asked_at = NetworkQuestion(at=BEGIN, answered=True, offered=True, booting=(other,))
    heard_of = {"rivals": (other,)} if alone else {"rivals": None, "question": asked_at}
    story = case(asked(0), OFFERED, STRAY, mode="proxy", after=20, **heard_of)
    (found,) = diagnose(story)
    assert (found.rule, found.gravity) == ("OtherBootServer", Gravity.FAULT)
    assert "did not ask for the boot file that we offered: another server, 172.30.0.8, tells it" in found.cause
    assert any("accepted 172.30.0.77" in each for each in found.evidence)
    assert found.remedy.startswith("Take the boot file")
    # Without an address it came nowhere, whichever server it prefers; a server that sends machines here is none of those.
    (found,) = diagnose(replace(story, sightings=(asked(0), OFFERED)))
    assert (found.rule, found.gravity) == ("OtherBootServer", Gravity.SUSPECT)
    ours = replace(other, next_server=OURS)
    here = {"rivals": (ours,)} if alone else {"question": replace(asked_at, booting=(ours,))}
    (found,) = diagnose(replace(story, **here))
    assert found.rule == "ProxyIgnored"


def test_only_the_newest_question_counts_and_stands_with_its_own_times() -> None:
    old = [asked(0), OFFERED, replace(STRAY, facts={**STRAY.facts, "lasted": 2.0})]
    assert not list(proxy_ignored(case(*old, asked(240), mode="proxy", after=20)))
    # Of what repeats, only the newest time counts: this accepted an address before it was asked for once more.
    again = [replace(each, facts={**each.facts, "lasted": 60.0}) for each in old[:2]]
    (found,) = proxy_ignored(case(*again, old[2], mode="proxy", after=80))
    assert (found.gravity, any("accepted" in each for each in found.evidence)) == (Gravity.SUSPECT, False)
    whole = [*again, replace(STRAY, facts={**STRAY.facts, "lasted": 60.0})]
    (found,) = proxy_ignored(case(*whole, mode="proxy", after=80))
    assert [each[11:19] for each in found.evidence] == ["03:01:01", "03:01:03", "03:01:23"]


def test_a_proxy_that_only_heard_of_an_address_says_no_more_than_that() -> None:
    requested = seen(2, Stage.REQUESTED, "boot file only", address="", server=str(OURS), mode="proxy")
    (found,) = proxy_ignored(case(asked(0), OFFERED, requested, mode="proxy", after=20))
    assert found.gravity is Gravity.FAULT
    assert found.evidence[1] == "2026-11-21 03:00:02 accepted an address: boot file only"


def test_firmware_that_takes_neither_may_have_been_offered_no_address() -> None:
    (found,) = proxy_ignored(case(asked(0), OFFERED, mode="proxy", after=20))
    assert (found.gravity, "nobody offered it an address" in found.cause) == (Gravity.SUSPECT, True)


def test_firmware_that_asks_for_the_boot_file_took_the_proxys_offer() -> None:
    for step in (seen(4, Stage.BOOT_SERVER, file="snponly.efi"), seen(4, Stage.LOADER_REQUESTED), fetched(4)):
        assert not list(proxy_ignored(case(asked(0), OFFERED, STRAY, step, mode="proxy", after=20)))
    assert not list(proxy_ignored(case(asked(0), OFFERED, STRAY, mode="proxy", after=2)))
    assert not list(proxy_ignored(case(asked(0, Asker.IPXE), OFFERED, STRAY, mode="proxy", after=20)))
    assert not list(proxy_ignored(case(asked(0), OFFERED, STRAY, mode="reservation", after=20)))


def test_a_first_question_that_was_asked_long_before_was_held_up_by_the_switch() -> None:
    (found,) = spanning_tree(case(asked(0, secs=28), *answered(1)))
    assert found.gravity is Gravity.SUSPECT
    assert found.evidence == (
        "2026-11-21 03:00:00 the first question that arrived said that it had been asking for 28 s",
    )
    (found,) = spanning_tree(case(asked(0, secs=28), seen(1, Stage.IGNORED), ticket=False))
    assert found.gravity is Gravity.FAULT


def test_a_loader_that_takes_over_late_was_held_up_too() -> None:
    (found,) = spanning_tree(case(asked(0, secs=0), *answered(1), fetched(2), asked(40, Asker.IPXE, secs=30)))
    assert "30 s" in found.evidence[0]


def test_what_is_no_delay_of_the_switch() -> None:
    assert not list(spanning_tree(case(asked(0, secs=4), *answered(1))))
    assert not list(spanning_tree(case(asked(0), *answered(1))))
    assert not list(spanning_tree(case(asked(0, secs=0), asked(8, secs=8), asked(24, secs=24))))  # we did not answer
    assert not list(spanning_tree(case(asked(0, secs=65_535))))
    assert not list(spanning_tree(case(asked(0, secs=28), since=BEGIN)))  # we were not there yet
    assert not list(spanning_tree(case(asked(0, secs=28), deaf_at=BEGIN - timedelta(seconds=20))))  # our own firewall
    assert list(spanning_tree(case(asked(0, secs=28), deaf_at=BEGIN - timedelta(seconds=60))))
    assert not list(spanning_tree(case(asked(0, secs=28), *answered(1), *osie_boot(300))))


@pytest.mark.parametrize(("told", "meant"), [(12, 12), (3072, 12), (256, 1), (300, 300)])
def test_seconds_in_the_wrong_order_of_bytes_are_understood(told: int, meant: int) -> None:
    assert seconds_asked(asked(0, secs=told)) == meant


def test_a_host_that_answers_for_many_addresses_of_a_pool_is_named() -> None:
    network = IPv4Network("172.30.0.0/24")
    liar = Claimant(mac="02:00:00:00:00:66", network=network, size=100, addresses=37, believed=8, seconds_ago=90)
    (found,) = answers_for_many(appliance(claimants=(liar,)))
    assert found.gravity is Gravity.FAULT
    assert found.cause == (
        "One host answered for 37 of the 100 addresses of the pool of 172.30.0.0/24 in the last 10 minutes: 02:00:00:00:00:66."
    )
    assert found.evidence[0].startswith("2026-11-21 02:58:30 02:00:00:00:00:66 answered last")
    assert not list(answers_for_many(case(asked(0), claimants=(liar,)))), "it is said of the appliance"
    (found,) = answers_for_many(appliance(claimants=(replace(liar, mac=""),)))
    assert found.cause.startswith("Hosts answered for 37 of the 100 addresses")
    known = {liar.mac: replace(NODE, in_touch=False)}
    (found,) = answers_for_many(appliance(claimants=(liar,), hosts=known))
    assert (found.gravity, found.cause.endswith("02:00:00:00:00:66 of machine node1.")) == (Gravity.FAULT, True)
    assert "is that of machine node1" in found.evidence[-1]
    (found,) = answers_for_many(appliance(claimants=(replace(liar, mac=HIS),), hosts={HIS: NODE}))
    assert found.gravity is Gravity.SUSPECT, "any host can send with its MAC"
    assert found.cause.startswith(f"Packets with the MAC of node1, {HIS}, answered for 37 of the 100 addresses")
    assert "moves between two ports" in found.remedy


CROWDED = Standing(
    limit=NODE_CONNECTIONS,
    used=7000,
    refused=1500,
    held_back=(HeldBack(holder="172.30.0.12", held=128, refused=412, seconds_ago=7.0),),
)


def test_who_is_held_back_is_named_with_what_it_takes() -> None:
    refused, scarce = held_back(appliance(limits=(CROWDED,)))
    assert (refused.gravity, scarce.gravity) == (Gravity.FAULT, Gravity.SUSPECT)
    assert refused.cause.startswith("172.30.0.12 is held back: it has 128 of 128 connections")
    assert "refused 412 times, the last time 7s ago" in refused.evidence[0]
    assert "limits.node_connections.each" in refused.remedy
    assert "7000 of 8192 connections" in scarce.cause
    assert "limits.node_connections.all" in scarce.remedy
    of_his = replace(CROWDED, used=200, held_back=(replace(CROWDED.held_back[0], holder=HIS),))
    (found,) = held_back(appliance(limits=(of_his,), hosts={HIS: NODE}))
    assert found.gravity is Gravity.SUSPECT, "any host can send with its MAC"
    assert found.cause.startswith(f"{HIS} of machine node1 is held back")
    (found,) = held_back(appliance(limits=(of_his,), hosts={HIS: SILENT}))
    assert found.gravity is Gravity.FAULT


def test_a_machine_in_the_network_of_another_interface_is_told_so() -> None:
    other = Subnet(network=IPv4Network("172.30.30.0/24"), interface="eth1.30")
    given = answered(1, server="172.30.30.1")
    (found,) = address_outside(case(asked(0), *given, subnets=(NETWORK, other), after=30))
    assert found.gravity is Gravity.FAULT
    assert found.cause == (
        "The machine asks on eth1.30 (172.30.30.0/24), and its reserved address 172.30.0.21 is of the network of eth1 (172.30.0.0/24): "
        "with that it reaches nobody where it is plugged in."
    )
    assert "its switch port carry that one's VLAN" in found.remedy
    for healthy in (
        case(asked(0), *answered(1), subnets=(NETWORK, other), after=30),
        case(asked(0), *given, subnets=(NETWORK, other), after=10),
        case(asked(0), *given, fetched(3), subnets=(NETWORK, other), after=30),
        case(asked(0, relay="172.30.30.9"), *given, subnets=(NETWORK, other), after=30),
        case(asked(0), *given, subnets=(NETWORK, replace(other, interface="")), after=30),
    ):
        assert not list(address_outside(healthy))


def test_a_machine_that_was_carried_behind_a_relay_with_its_old_address_is_told_so() -> None:
    room = Subnet(network=IPv4Network("172.31.0.0/24"))
    moved = case(asked(0, relay="172.31.0.1"), *answered(1), subnets=(NETWORK, room), after=30)
    (found,) = address_outside(moved)
    assert (found.gravity, found.subject) == (Gravity.SUSPECT, "172.31.0.1")
    assert (
        "asks by the relay 172.31.0.1 of 172.31.0.0/24, and its reserved address 172.30.0.21 is of 172.30.0.0/24"
        in found.cause
    )
    loads = case(asked(0, relay="172.31.0.1"), *answered(1), fetched(3), subnets=(NETWORK, room), after=30)
    assert not list(address_outside(loads))


@pytest.mark.parametrize(
    ("held", "used", "cause", "gravity", "size"),
    [
        (128, 200, "is held back: it has 128 of 128 connections", Gravity.FAULT, "each"),
        (0, 4096, "is held back: all whom nobody knows may have 4096 connections together", Gravity.FAULT, "all"),
        (0, 8192, "is held back: all may have 8192 connections together", Gravity.FAULT, "all"),
        (0, 10, "was held back: it has 0 connections now", Gravity.SUSPECT, "each"),
    ],
)
def test_who_was_refused_is_told_by_what(held: int, used: int, cause: str, gravity: Gravity, size: str) -> None:
    one = HeldBack(holder="172.30.0.12", held=held, refused=9, seconds_ago=0.0)
    found, *_ = held_back(appliance(limits=(replace(CROWDED, used=used, held_back=(one,)),)))
    assert cause in found.cause
    assert found.gravity is gravity
    assert f"raise limits.node_connections.{size}" in found.remedy


def test_of_a_limit_without_a_reserve_all_together_are_meant() -> None:
    one = HeldBack(holder="anna", held=0, refused=9, seconds_ago=0.0)
    (found,) = held_back(case(asked(0), limits=(Standing(limit=RENDERINGS, used=64, refused=9, held_back=(one,)),)))
    assert found.cause == "anna is held back: all may have 64 renderings together."


def test_of_a_machine_only_its_own_limits_are_told() -> None:
    other = HeldBack(holder="172.30.0.13", held=120, refused=1, seconds_ago=0.0)
    both = replace(CROWDED, held_back=(*CROWDED.held_back, other))
    (own,) = held_back_alone((both,), lambda holder: holder == "172.30.0.13")
    (found,) = held_back(case(asked(0), limits=(own,)))
    assert found.cause.startswith("172.30.0.13 is held back")
    assert list(held_back_alone((CROWDED,), lambda _: False)) == []


def test_another_host_that_uses_our_address_is_told_by_its_mac() -> None:
    forging = rival(server=OURS)
    for mode in ("reservation", "pool", "proxy", "off"):
        found = [each for each in other_server(appliance(mode=mode, rivals=(forging,))) if "own address" in each.cause]
        assert [each.gravity for each in found] == [Gravity.FAULT], mode
    (told,) = other_server(appliance(rivals=(forging,)))
    assert f"the appliance's own address, {OURS}" in told.cause
    assert str(forging.mac) in told.cause
    assert "Stop that server" not in told.remedy
    assert not list(other_boot_server(appliance(rivals=(replace(forging, boot_file="x"),))))
    assert len(list(other_server(appliance(rivals=(forging, rival()))))) == 2


def test_the_appliances_address_on_another_network_is_no_other_servers() -> None:
    second = IPv4Address("172.29.0.1")
    own = frozenset({OURS, second})
    (told,) = other_server(appliance(own=own, rivals=(rival(server=second),)))
    assert f"the appliance's own address, {second}" in told.cause
    directed = rival(boot_file="snponly.efi", next_server=second)
    assert not list(not_directed_here(appliance(mode="off", own=own, rivals=(directed,))))
    assert not list(other_boot_server(appliance(mode="proxy", own=own, rivals=(directed,))))


def test_offers_in_the_name_of_a_machine_that_is_in_touch_are_suspect_and_name_it() -> None:
    (found,) = other_server(appliance(rivals=(rival(),), hosts={HIS: NODE}))
    assert found.gravity is Gravity.SUSPECT
    assert found.cause == "Packets in the name of node1 offer addresses to the machines that boot here."
    assert found.evidence[1] == (
        f"{HIS} is that of machine node1, whose worker is in touch; any host on the network can send in its name"
    )
    assert "Else another host sends in that name." in found.remedy


def test_a_server_that_calls_itself_as_a_machine_in_touch_is_found_by_its_own_mac() -> None:
    (found,) = other_server(appliance(rivals=(rival(),), hosts={"172.30.0.9": NODE}))
    assert found.gravity is Gravity.FAULT
    assert found.cause.startswith(f"Another DHCP server, {HIS}, which calls itself 172.30.0.9, gives addresses")
    assert "node1, whose worker is in touch" in found.evidence[1]


def test_a_server_beside_a_machine_in_touch_is_a_fault_all_the_same() -> None:
    real = rival(server=IPv4Address("172.30.0.8"), mac=MacAddress("00:25:90:00:00:08"))
    suspect, fault = other_server(appliance(rivals=(rival(), real), hosts={HIS: NODE}))
    assert (suspect.gravity, fault.gravity) == (Gravity.SUSPECT, Gravity.FAULT)
    assert suspect.subject != fault.subject
    assert HIS not in fault.remedy
    assert [each for each in fault.evidence if HIS in each] == []


def test_a_server_on_a_machine_of_ours_that_is_not_in_touch_is_a_fault_with_its_name() -> None:
    (found,) = other_server(appliance(rivals=(rival(),), hosts={HIS: SILENT}))
    assert found.gravity is Gravity.FAULT
    assert f"its packets come from {HIS} of machine node1 (eth1)" in found.remedy
    assert found.evidence[1] == f"{HIS} is that of machine node1; any host on the network can send in its name"


def test_an_address_that_is_said_to_be_of_a_machine_in_touch_or_of_no_host_is_suspect() -> None:
    story = asked(0), *answered(1)[:1]
    (found,) = other_server(case(*story, STRAY, hosts={"172.30.0.9": NODE}))
    assert found.gravity is Gravity.SUSPECT
    assert "another DHCP server, 172.30.0.9 of machine node1, at" in found.cause
    for server in ("127.0.0.1", "224.0.0.1", "0.0.0.7"):
        nowhere = seen(3, Stage.OTHER_SERVER, server=server, address="172.30.0.77")
        (found,) = other_server(case(*story, nowhere))
        assert found.gravity is Gravity.SUSPECT, server


@pytest.mark.parametrize("server", ["127.0.0.1", "0.0.0.0", "224.0.0.1", "240.0.0.1", "255.255.255.255"])
def test_a_server_that_calls_itself_what_no_host_can_be_is_told_as_forged(server: str) -> None:
    other = rival(server=IPv4Address(server), boot_file="x")
    (found,) = other_server(appliance(rivals=(other,)))
    assert found.gravity is Gravity.SUSPECT
    assert f"it calls itself {server}, which no host can have" in found.cause
    assert "Stop that server" not in found.remedy
    assert not list(other_boot_server(appliance(mode="proxy", rivals=(other,))))


@pytest.mark.parametrize("server", [OURS, IPv4Address("172.30.0.9"), IPv4Address("127.0.0.1")])
def test_our_own_mac_is_never_to_be_taken_off_the_network(server: IPv4Address) -> None:
    (found,) = other_server(appliance(rivals=(rival(server=server, looped=True),)))
    assert found.gravity is Gravity.SUSPECT
    assert f"the appliance's own MAC, {HIS}: the network loops packets back, or a host forges them" in found.cause
    assert "take" not in found.remedy
    assert "two ports of a switch" in found.remedy
    assert "a second DHCP server on this host" in found.remedy


def test_who_uses_our_address_with_the_mac_of_a_machine_in_touch_is_suspect() -> None:
    forging = rival(server=OURS)
    (found,) = other_server(appliance(rivals=(forging,), hosts={HIS: NODE}))
    assert found.gravity is Gravity.SUSPECT
    assert f"the host with MAC {HIS} of machine node1." in found.cause
    assert "take that host off" not in found.remedy
    (found,) = other_server(appliance(rivals=(forging,), hosts={HIS: SILENT}))
    assert found.gravity is Gravity.FAULT
    unknown = replace(forging, mac=MacAddress("00:25:90:00:00:08"))
    (found,) = other_server(appliance(rivals=(forging, unknown), hosts={HIS: NODE}))
    assert found.gravity is Gravity.FAULT


def test_a_boot_server_in_the_name_of_a_machine_in_touch_is_suspect() -> None:
    named = rival(boot_file="pxelinux.0", next_server=IPv4Address("172.30.0.9"))
    (found,) = other_boot_server(appliance(rivals=(named,), mode="proxy", hosts={HIS: NODE}))
    assert found.gravity is Gravity.SUSPECT
    assert "any host on the network can send in its name" in found.evidence[1]


def test_of_many_servers_a_few_are_named_in_the_order_of_their_numbers() -> None:
    many = [
        rival(server=IPv4Address(f"172.30.0.{each}"), mac=MacAddress(f"02:00:00:00:00:{each:02x}"))
        for each in range(2, 34)
    ]
    (found,) = other_server(appliance(rivals=tuple(reversed(many))))
    assert "172.30.0.2, 172.30.0.3, 172.30.0.4, 172.30.0.5 and 28 more, gives" in found.cause
    assert "its packets come from 02:00:00:00:00:02, 02:00:00:00:00:03" in found.remedy
    assert "02:00:00:00:00:05 and 28 more (eth1)" in found.remedy
    assert len(found.evidence) == 5
    assert found.evidence[4] == "28 more answers; one host can answer in the name of many"
    (found,) = other_server(appliance(rivals=tuple(replace(each, server=OURS) for each in many)))
    assert (
        "the host with MAC 02:00:00:00:00:02, 02:00:00:00:00:03, 02:00:00:00:00:04, 02:00:00:00:00:05 and 28 more"
        in found.cause
    )
    (other,) = other_server(appliance(rivals=(replace(many[7], server=OURS),)))
    assert found.subject == other.subject


def test_more_unknown_machines_than_are_noted_are_told_of_the_appliance() -> None:
    told = Unnoted(since=BEGIN, newest=BEGIN + timedelta(seconds=9), times=3_000, mac=MAC, relay="172.31.0.1")
    (found,) = too_many_unknown(appliance(unnoted=told))
    assert found.gravity is Gravity.SUSPECT
    assert "3000 times one was forgotten or went unnoted since 2026-11-21 03:00:00 UTC" in found.cause
    assert found.evidence == (f"2026-11-21 03:00:09 the newest of them, {MAC}, came by the relay 172.31.0.1",)
    (near,) = too_many_unknown(appliance(unnoted=replace(told, relay="")))
    assert near.evidence[0].endswith("a network of the appliance itself")
    assert not list(too_many_unknown(appliance()))
    assert not list(too_many_unknown(case(unnoted=told)))


RELAYED = (asked(0, relay="172.31.0.1"), seen(0, Stage.OFFERED), asked(8, relay="172.31.0.1"), seen(8, Stage.OFFERED))


def test_a_relay_that_no_offer_comes_to_is_told_with_the_way_back() -> None:
    (found,) = relay_unreached(case(*RELAYED, after=8, relay_answers=False))
    assert "the DHCP relay 172.31.0.1 does not seem to arrive" in found.cause
    assert "ip route get 172.31.0.1" in found.remedy
    assert [each.rule for each in diagnose(case(*RELAYED, after=60, relay_answers=False))] == ["RelayUnreached"]


def test_a_relay_to_which_there_is_no_route_is_told_as_that_alone() -> None:
    no_route = Finding(gravity=Gravity.FAULT, cause="x", evidence=("z",), remedy="y")
    fault = Fault(rule="NoRoute", found=no_route, stops=Stops(duties=frozenset()))
    assert not list(relay_unreached(case(*RELAYED, after=8, relay_answers=False, faults=(fault,))))


@pytest.mark.parametrize("answers", [None, True])
def test_a_relay_that_answers_or_was_not_asked_is_not_told_of(answers: bool | None) -> None:
    assert not list(relay_unreached(case(*RELAYED, after=8, relay_answers=answers)))


def test_a_relay_is_asked_only_when_offers_are_not_taken_for_a_while() -> None:
    assert unheard_relay(case(*RELAYED, after=8)) == IPv4Address("172.31.0.1")
    assert unheard_relay(case(*RELAYED[:2], after=5)) is None, "it is early"
    assert unheard_relay(case(seen(0, Stage.LEASED), *RELAYED, after=8)) == IPv4Address("172.31.0.1")
    assert unheard_relay(case(*RELAYED, seen(9, Stage.LEASED, address="172.31.0.7"), after=30)) is None
    assert unheard_relay(case(asked(0), seen(0, Stage.OFFERED), after=60)) is None, "there is none"
    assert unheard_relay(case(*RELAYED[:1], after=60)) is None, "nothing was offered"


def test_a_machine_that_asks_in_another_vlan_is_told_which_one() -> None:
    asked_there = TaggedQuestion(mac=MAC, interface="eth1", vlan_id=20, at=BEGIN)
    (found,) = (each for each in diagnose(case(tagged=(asked_there,), after=60)) if each.gravity is Gravity.SUSPECT)
    assert found.rule == "AsksInVlan", "it says more than that nothing was ever seen"
    assert found.cause == (
        "The machine's questions come in on eth1 tagged for VLAN 20, and the appliance takes only what comes untagged there."
    )
    assert "`ip link add link eth1 name eth1.20 type vlan id 20`" in found.remedy


@pytest.mark.parametrize(
    "healthy",
    [
        case(asked(0), tagged=(TaggedQuestion(mac=MAC, interface="eth1", vlan_id=20, at=BEGIN),), after=5),
        case(tagged=(TaggedQuestion(mac=MAC, interface="eth1", vlan_id=20, at=BEGIN),), after=601),
        case(tagged=(TaggedQuestion(mac=MAC, interface="eth1", vlan_id=20, at=BEGIN),), ticket=False),
        case(tagged=(TaggedQuestion(mac=MacAddress(HIS), interface="eth1", vlan_id=20, at=BEGIN),)),
    ],
    ids=["its VLAN has an interface here", "long ago", "nobody waits for it", "another machine"],
)
def test_what_others_ask_in_vlans_is_not_told_of_a_machine(healthy: Case) -> None:
    assert not list(asks_in_vlan(healthy))


def in_vlan(second: float, *, by_system: bool = False) -> tuple[TaggedQuestion, ...]:
    at = BEGIN + timedelta(seconds=second)
    return (TaggedQuestion(mac=MAC, interface="eth1", vlan_id=20, at=at, by_system=by_system),)


@pytest.mark.parametrize("waited_since", [0, 100], ids=["the same workflow", "a new workflow"])
def test_a_machine_that_asks_in_a_vlan_after_it_was_heard_without_is_told_at_once(waited_since: int) -> None:
    moved = case(
        *osie_boot(0)[:-1], tagged=in_vlan(120), after=101, waited_since=BEGIN + timedelta(seconds=waited_since),
        heard_at=BEGIN + timedelta(seconds=9),
    )  # fmt: skip
    assert [each.rule for each in diagnose(moved) if each.gravity is not Gravity.HARMLESS] == ["AsksInVlan"]
    assert not list(asks_in_vlan(replace(moved, sightings=(*moved.sightings, asked(125))))), "it came back"
    assert not list(asks_in_vlan(replace(moved, mode="off"))), "no question of it is noted"


def test_a_system_that_asks_in_a_vlan_is_told_only_long_after_it_was_heard_without() -> None:
    assert not list(asks_in_vlan(case(*osie_boot(0), tagged=in_vlan(120, by_system=True), after=101)))
    assert list(asks_in_vlan(case(*osie_boot(0), tagged=in_vlan(700, by_system=True), after=700)))


def test_firmware_that_asks_in_a_vlan_is_told_before_its_system_that_was_heard_without() -> None:
    own = seen(0, Stage.DISK_BOOTED)
    found = [each.rule for each in diagnose(case(own, tagged=in_vlan(90), after=91))]
    assert (found[0], "RunsItsOwnSystem" in found) == ("AsksInVlan", False)
    assert "RunsItsOwnSystem" in [
        each.rule for each in diagnose(case(own, tagged=in_vlan(90, by_system=True), after=91))
    ]


TAP3 = StaticPort(bridge="lab", port="tap3")


def test_a_static_entry_of_a_bridge_is_told_of_a_machine_that_stands_still() -> None:
    stands = case(asked(0), *answered(1), after=60)
    asked_for: list[str] = []

    def static_port(mac: str) -> StaticPort:
        asked_for.append(mac)
        return TAP3

    presence = presence_where(static_port=static_port, clock=lambda: BEGIN)
    assert not list(sent_elsewhere(presence.with_bridge(case(asked(0), *answered(1), after=30)))), "it is on its way"
    assert not list(sent_elsewhere(presence.with_bridge(case(*osie_boot(0), after=600))))
    assert asked_for == []
    still, found = (each for each in diagnose(presence.with_bridge(stands)) if each.gravity is Gravity.SUSPECT)
    assert (still.rule, found.rule) == ("Stalled", "SentElsewhere"), "most such entries are right"
    assert f"`bridge fdb del {MAC} dev tap3 master static`" in found.remedy
    assert "wherever" not in found.cause


def test_a_static_entry_for_a_port_where_no_machine_is_comes_first() -> None:
    unused = replace(TAP3, unused="nothing ever came in on tap3")
    presence = presence_where(static_port=lambda _: unused, clock=lambda: BEGIN)
    stands, still = case(asked(0), *answered(1)), "Stalled"

    def told(after: float, newest: float) -> list[Diagnosis]:
        asks = seen(0, Stage.DISCOVER, lasted=newest), *answered(1, lasted=newest)
        return [*diagnose(presence.with_bridge(replace(stands, sightings=asks, now=BEGIN + timedelta(seconds=after))))]

    assert [each.rule for each in told(60, 55)[:2]] == [still, "SentElsewhere"], "the port may be there since then"
    assert [each.rule for each in told(65, 55)[:2]] == [still, "SentElsewhere"]
    first, second = told(80, 75)[:2]
    assert (first.rule, first.gravity, second.rule) == ("SentElsewhere", Gravity.FAULT, still)
    assert [each.rule for each in told(200, 195)[:2]] == [still, "SentElsewhere"], "it was not looked at for long"
    assert first.cause.endswith("to the port tap3, and the machine is not there: nothing ever came in on tap3.")
    assert first.remedy.startswith(f"`bridge fdb del {MAC} dev tap3 master static`")


ALONE = {"sent_alone": 1}


@pytest.mark.parametrize(
    ("sightings", "told"),
    [
        ([asked(0), *answered(1)], True),
        ([asked(0), *answered(1, **ALONE)], False),
        ([asked(0), seen(1, Stage.OFFERED, **ALONE)], True),
        ([asked(0), seen(1, Stage.OFFERED)], False),
        ([asked(0), *answered(1), seen(9, Stage.OFFERED, **ALONE)], True),
        ([asked(0), seen(1, Stage.OFFERED, lasted=30), seen(9, Stage.OFFERED, **ALONE)], False),
        ([asked(0), *answered(1), seen(2, Stage.BOOT_SERVER)], False),
        ([asked(0), *answered(1), fetched(2), asked(3, Asker.IPXE), *answered(4)], False),
        ([asked(0), *answered(1), seen(2, Stage.LOADER_REQUESTED)], True),
        ([asked(0), *answered(1), seen(2, Stage.LOADER_REQUESTED, moved=3.5)], False),
        ([asked(0), *answered(1), failed(20, "silence", 0, heard=0)], True),
        ([asked(0), *answered(1), failed(20, "silence", 12, heard=1)], False),
    ],
    ids=[
        "all that it heard went to all", "it took an offer that was sent to it alone", "an offer to it alone that it does not take",
        "an offer to all that it does not take", "an offer to it alone after one to all", "an offer to all after one to it alone", "it asked on port 4011, so it had our MAC", "it fetched its loader",
        "no block of its loader was acknowledged", "blocks of its loader were", "no answer by TFTP was acknowledged", "one was",
    ],
)  # fmt: skip
def test_a_static_entry_is_told_of_only_where_nothing_that_was_sent_to_the_machine_alone_arrived(
    sightings: list[Sighting], told: bool
) -> None:
    presence = presence_where(static_port=lambda _: TAP3, clock=lambda: BEGIN)
    assert bool(list(sent_elsewhere(presence.with_bridge(case(*sightings, after=60))))) is told


WRONG = MacAddress("08:00:27:99:99:99")
FETCHED_BEFORE = [asked(0), *answered(1), fetched(2), failed(40, "silence", 0, heard=0)]
UNHEARD = [asked(0), *answered(1), failed(20, "silence", 0, heard=0)]


@pytest.mark.parametrize(
    ("sightings", "after", "entry", "told"),
    [
        (UNHEARD, 1, WRONG, ["WrongNeighbour"]),
        ([asked(0), *answered(1)], 60, WRONG, ["WrongNeighbour"]),
        ([asked(0), *answered(1)], 5, WRONG, []),
        (UNHEARD, 1, MAC, ["TransferStopped"]),
        (UNHEARD, 1, None, ["TransferStopped"]),
        ([asked(0), *answered(1), failed(20, "silence", 12, heard=1)], 1, WRONG, ["TransferStopped"]),
        ([asked(0), *answered(1, sent_alone=1), failed(20, "silence", 0, heard=0)], 1, WRONG, ["WrongNeighbour"]),
        (FETCHED_BEFORE, 1, WRONG, ["WrongNeighbour"]),
        ([*FETCHED_BEFORE, fetched(50)], 1, WRONG, []),
    ],
    ids=[
        "no answer arrived",
        "it stands still",
        "it is on its way",
        "the entry is right",
        "there is none",
        "some arrived",
        "it took its address before",
        "it fetched a file before",
        "it fetched one since",
    ],
)
def test_a_permanent_entry_that_sends_what_is_for_the_machine_to_another_one_is_told_in_place_of_a_firewall(
    sightings: list[Sighting], after: float, entry: MacAddress | None, told: list[str]
) -> None:
    presence = presence_where(static_neighbour=lambda _: None if entry is None else ("lab", entry), clock=lambda: BEGIN)
    found = [
        each
        for each in diagnose(presence.with_bridge(case(*sightings, after=after)))
        if each.gravity is not Gravity.HARMLESS
    ]
    assert [each.rule for each in found] == told
    if told[:1] == ["WrongNeighbour"]:
        assert found[0].cause == (
            f"This host's ARP table has {WRONG} for the machine's address 172.30.0.21, permanently: what is sent to {MAC} there does not reach it."
        )
        assert "`ip neigh del 172.30.0.21 dev lab`" in found[0].remedy
