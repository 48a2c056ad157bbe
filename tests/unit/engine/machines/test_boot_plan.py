"""What a booting machine is told to boot."""

from dataclasses import replace
from typing import Any

import pytest

from tinkbox.engine.machines.boot_plan import (
    MAX_BOOTS,
    BootFacts,
    barred_reason,
    dhcp_plan,
    netboot_plan,
    parked_reason,
)
from tinkbox.model.boot import Boot, Stage, Supply
from tinkbox.model.hardware import Form, Hardware, Interface, MacAddress
from tinkbox.model.netboot import Netboot, OwnOsie

MAC = MacAddress("08:00:27:00:00:01")


SUPPLY = Supply(service="boot", url="http://w.lab/auto.ipxe", ready=True)


NOT_YET = replace(SUPPLY, ready=False, standing="service boot is starting")


SCRIPTED, FROM_URL = Netboot(script="shell\n"), Netboot(script_url="http://lab/x.ipxe")


OTHER_OSIE = Netboot(osie=OwnOsie(kernel="http://lab/k", initramfs="http://lab/i"))


PARAMETERS = Netboot(kernel_parameters=("quiet",))


def with_own(known: BootFacts, own: Netboot) -> BootFacts:
    return replace(known, interface=replace(known.interface, netboot=own))


def without_work(known: BootFacts) -> BootFacts:
    return replace(known, interface=replace(known.interface, allow_workflow=False))


def facts(*, allow_pxe: bool = True, **changes: object) -> BootFacts:
    known = {"ticket": False, "installed": False, "boots": 0, "furthest": None, "workflow": "w"}
    return BootFacts(hardware_id="1", interface=Interface(mac=MAC, allow_pxe=allow_pxe), **{**known, **changes})


def test_how_a_machine_loads_is_in_its_plan() -> None:
    for https in (True, False):
        plan = netboot_plan(facts(ticket=True, https=https))
        assert plan is not None
        assert (plan.boot, plan.https) == (Boot.OSIE, https)


@pytest.mark.parametrize(
    ("known", "url"),
    [
        (facts(ticket=True, supply=SUPPLY), "http://w.lab/auto.ipxe"),
        (with_own(facts(ticket=True), FROM_URL), "http://lab/x.ipxe"),
        (with_own(facts(), FROM_URL), "http://lab/x.ipxe"),
        (with_own(facts(ticket=True), OTHER_OSIE), "http://lab/k"),
        (with_own(facts(ticket=True), Netboot(script_url="tftp://lab/x")), "tftp://lab/x"),
        (
            with_own(facts(ticket=True), Netboot(osie=OwnOsie(kernel="https://lab/k", initramfs="http://lab/i"))),
            "http://lab/i",
        ),
    ],
)
def test_what_boots_by_https_alone_loads_nothing_by_another_way(known: BootFacts, url: str) -> None:
    plan = netboot_plan(replace(known, https=True))
    assert plan is not None
    assert plan.boot is Boot.PARKED
    assert plan.reason.endswith(f" names {url}")
    as_before = netboot_plan(known)
    assert as_before is not None
    assert as_before.boot is not Boot.PARKED


@pytest.mark.parametrize(
    ("known", "boot"),
    [
        (with_own(facts(ticket=True), Netboot(script_url="https://lab/x")), Boot.OWN_SCRIPT),
        (with_own(facts(ticket=True), SCRIPTED), Boot.OWN_SCRIPT),
        (
            with_own(facts(ticket=True), Netboot(osie=OwnOsie(kernel="https://lab/k", initramfs="HTTPS://lab/i"))),
            Boot.OWN_OSIE,
        ),
        (facts(ticket=True, supply=NOT_YET), Boot.WAITING),
        (facts(installed=True), Boot.LOCAL_DISK),
    ],
)
def test_what_names_https_or_nothing_boots_by_https_alone_as_well(known: BootFacts, boot: Boot) -> None:
    plan = netboot_plan(replace(known, https=True))
    assert plan is not None
    assert plan.boot is boot


@pytest.mark.parametrize(
    ("known", "boot"),
    [
        (facts(), None),
        (facts(installed=True), Boot.LOCAL_DISK),
        (facts(ticket=True), Boot.OSIE),
        (facts(ticket=True, installed=True), Boot.OSIE),
        (facts(ticket=True, boots=MAX_BOOTS - 1), Boot.OSIE),
        (facts(ticket=True, boots=MAX_BOOTS), Boot.PARKED),
        (facts(installed=True, boots=MAX_BOOTS), Boot.LOCAL_DISK),
        (facts(ticket=True, allow_pxe=False), None),
        (facts(ticket=True, left=True), Boot.LOCAL_DISK),
        (facts(left=True, allow_pxe=False), None),
        (without_work(facts(ticket=True)), None),
        (without_work(facts(ticket=True, installed=True)), Boot.LOCAL_DISK),
        (without_work(facts(ticket=True, supply=SUPPLY)), None),
        (without_work(with_own(facts(ticket=True), SCRIPTED)), Boot.OWN_SCRIPT),
        (facts(ticket=True, supply=SUPPLY), Boot.WORKFLOW),
        (facts(ticket=True, supply=NOT_YET), Boot.WAITING),
        (facts(ticket=True, supply=SUPPLY, boots=MAX_BOOTS - 1, installed=True), Boot.WORKFLOW),
        (facts(ticket=True, supply=SUPPLY, boots=MAX_BOOTS), Boot.PARKED),
        (facts(ticket=True, supply=NOT_YET, boots=MAX_BOOTS), Boot.PARKED),
        (facts(ticket=True, supply=SUPPLY, left=True), Boot.LOCAL_DISK),
        (facts(installed=True, supply=SUPPLY), Boot.LOCAL_DISK),
        (facts(supply=NOT_YET), None),
        (facts(ticket=True, supply=SUPPLY, allow_pxe=False), None),
        (with_own(facts(), SCRIPTED), Boot.OWN_SCRIPT),
        (with_own(facts(), FROM_URL), Boot.OWN_SCRIPT),
        (with_own(facts(boots=MAX_BOOTS), SCRIPTED), Boot.OWN_SCRIPT),
        (with_own(facts(allow_pxe=False), SCRIPTED), None),
        (with_own(facts(retired=True), SCRIPTED), None),
        (with_own(facts(installed=True), SCRIPTED), Boot.LOCAL_DISK),
        (with_own(facts(ticket=True), SCRIPTED), Boot.OWN_SCRIPT),
        (with_own(facts(ticket=True, installed=True), SCRIPTED), Boot.OWN_SCRIPT),
        (with_own(facts(ticket=True, left=True), SCRIPTED), Boot.LOCAL_DISK),
        (with_own(facts(ticket=True, boots=MAX_BOOTS), SCRIPTED), Boot.PARKED),
        (with_own(facts(ticket=True, supply=SUPPLY), SCRIPTED), Boot.WORKFLOW),
        (with_own(facts(ticket=True, supply=NOT_YET), SCRIPTED), Boot.WAITING),
        (with_own(facts(), OTHER_OSIE), None),
        (with_own(facts(installed=True), OTHER_OSIE), Boot.LOCAL_DISK),
        (with_own(facts(ticket=True), OTHER_OSIE), Boot.OWN_OSIE),
        (with_own(facts(ticket=True), PARAMETERS), Boot.OSIE),
    ],
)
def test_the_seeds_rule(known: BootFacts, boot: Boot | None) -> None:
    plan = dhcp_plan(known, netboots=True)
    assert (plan.boot if plan else None) is boot
    installed = dhcp_plan(known, netboots=False)
    if known.retired:
        assert installed is None
        return
    assert installed is not None
    assert installed.boot is Boot.NOTHING


@pytest.mark.parametrize("own", [Netboot(server_name="172.30.0.9"), Netboot(file="ztp.cfg")])
@pytest.mark.parametrize("known", [facts(), facts(ticket=True), facts(installed=True), facts(allow_pxe=False)])
def test_machine_that_boots_from_another_server_is_sent_there_and_finds_nothing_here(
    known: BootFacts, own: Netboot
) -> None:
    known = with_own(known, own)
    firmware, system = dhcp_plan(known, netboots=True), dhcp_plan(known, netboots=False)
    assert firmware is not None
    assert system is not None
    assert (firmware.boot, system.boot) == (Boot.ELSEWHERE, Boot.NOTHING)
    assert netboot_plan(known) is None
    assert dhcp_plan(replace(known, retired=True), netboots=True) is None


def test_plan_tells_whether_a_worker_is_to_work_on_the_machine() -> None:
    told = [dhcp_plan(with_own(facts(ticket=each), SCRIPTED), netboots=True) for each in (True, False)]
    assert [each.ticket for each in told if each] == [True, False]


@pytest.mark.parametrize("netboots", [True, False])
def test_an_interface_without_dhcp_is_not_answered(netboots: bool) -> None:
    silent = facts(ticket=True)
    silent = replace(silent, interface=replace(silent.interface, dhcp=False))
    assert dhcp_plan(silent, netboots=netboots) is None


def test_a_machine_is_told_where_its_script_is_only_once_it_is_there() -> None:
    ready, waiting, parked = (
        dhcp_plan(facts(ticket=True, **known), netboots=True)
        for known in ({"supply": SUPPLY}, {"supply": NOT_YET}, {"supply": SUPPLY, "boots": MAX_BOOTS})
    )
    assert ready is not None
    assert (ready.script, ready.reason) == ("http://w.lab/auto.ipxe", "")
    assert waiting is not None
    assert (waiting.script, waiting.reason) == ("", "service boot is starting")
    assert parked is not None
    assert parked.script == ""
    mute = dhcp_plan(facts(ticket=True, supply=replace(NOT_YET, standing="")), netboots=True)
    assert mute is not None
    assert mute.reason == "service boot is not ready"


def test_a_parked_machines_reason_says_how_far_it_came_and_what_to_do() -> None:
    reason = parked_reason(ticket=True, boots=3, furthest=Stage.RAMDISK)
    assert reason.startswith("3 boots without progress, the furthest fetched the OSIE")
    assert "create a new workflow" in reason
    assert parked_reason(ticket=False, boots=9, furthest=None) == ""
    assert "`" not in reason, "a console has no use for it"
    told = [parked_reason(ticket=True, boots=3, furthest=None, key=each) for each in ("node7", "my node", "no`de")]
    assert told[0].endswith(": `tinkbox export hardware/node7 | tinkbox hardware push` frees it")
    assert "`tinkbox export hardware/'my node' | tinkbox hardware push`" in told[1]
    assert told[2].endswith("to let it boot")


@pytest.mark.parametrize("netboots", [True, False])
def test_a_retired_machine_is_told_nothing_not_even_its_address(netboots: bool) -> None:
    assert dhcp_plan(facts(installed=True), netboots=netboots) is not None
    for known in (
        facts(retired=True),
        facts(ticket=True, installed=True, retired=True),
        facts(left=True, retired=True),
    ):
        assert dhcp_plan(known, netboots=netboots) is None
        assert netboot_plan(known) is None


@pytest.mark.parametrize(
    ("cards", "why"),
    [
        ([], ""),
        ([{}], ""),
        ([{"allow_pxe": False}], "allow_pxe: false"),
        (
            [{"allow_pxe": False, "pxe_told": False, "form": Form.V1ALPHA1}],
            "does not permit network boot: it has no netboot.allowPXE",
        ),
        ([{"allow_workflow": False}], "allow_workflow: false"),
        ([{"allow_pxe": False}, {"allow_workflow": False}], "allow_workflow: false"),
        ([{"allow_pxe": False}, {}], ""),
        ([{"netboot": Netboot(file="ztp.cfg")}], "names another boot server"),
        ([{"netboot": Netboot(server_name="10.0.0.9")}, {"allow_pxe": False}], "names another boot server"),
        ([{"netboot": Netboot(file="ztp.cfg")}, {}], ""),
    ],
)
def test_a_document_that_keeps_a_machine_from_its_workflow_is_a_reason(cards: list[dict[str, Any]], why: str) -> None:
    interfaces = tuple(
        Interface(mac=MacAddress(f"08:00:27:00:00:0{place}"), **each) for place, each in enumerate(cards)
    )
    machine = Hardware(id="1", interfaces=interfaces, document={})
    reason = barred_reason(machine, ticket=True)
    assert why in reason
    assert bool(reason) == bool(why)
    assert not barred_reason(machine, ticket=False)
