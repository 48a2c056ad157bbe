"""What a booting machine is told to boot."""

from dataclasses import replace

import pytest

from tinkbox.engine.machines.boot_plan import MAX_BOOTS, BootFacts, dhcp_plan, netboot_plan, parked_reason
from tinkbox.model.boot import Boot, Stage, Supply
from tinkbox.model.hardware import Interface, MacAddress

MAC = MacAddress("08:00:27:00:00:01")


SUPPLY = Supply(service="boot", url="http://w.lab/auto.ipxe", ready=True)


NOT_YET = replace(SUPPLY, ready=False, standing="service boot is starting")


def facts(*, allow_pxe: bool = True, **changes: object) -> BootFacts:
    known = {"ticket": False, "installed": False, "boots": 0, "furthest": None, "workflow": "w"}
    return BootFacts(hardware_id="1", interface=Interface(mac=MAC, allow_pxe=allow_pxe), **{**known, **changes})


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
        (facts(ticket=True, supply=SUPPLY), Boot.WORKFLOW),
        (facts(ticket=True, supply=NOT_YET), Boot.WAITING),
        (facts(ticket=True, supply=SUPPLY, boots=MAX_BOOTS - 1, installed=True), Boot.WORKFLOW),
        (facts(ticket=True, supply=SUPPLY, boots=MAX_BOOTS), Boot.PARKED),
        (facts(ticket=True, supply=NOT_YET, boots=MAX_BOOTS), Boot.PARKED),
        (facts(ticket=True, supply=SUPPLY, left=True), Boot.LOCAL_DISK),
        (facts(installed=True, supply=SUPPLY), Boot.LOCAL_DISK),
        (facts(supply=NOT_YET), None),
        (facts(ticket=True, supply=SUPPLY, allow_pxe=False), None),
    ],
)
def test_the_seeds_rule(known: BootFacts, boot: Boot | None) -> None:
    plan = dhcp_plan(known, netboots=True)
    assert (plan.boot if plan else None) is boot
    installed = dhcp_plan(known, netboots=False)
    assert installed is not None
    assert installed.boot is Boot.NOTHING


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
