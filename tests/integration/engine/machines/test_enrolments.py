"""Machines whose firmware was given the authority: they boot by HTTPS alone until a person takes that back."""

import json
from pathlib import Path

import pytest

from tests.integration.engine.appliance import ADDRESS, AUTHORITY, Appliance, appliance, hardware, mac
from tests.integration.engine.machines.test_sessions import HERE, boot_ticket, boots, seen
from tests.workers import opening
from tinkbox.model.boot import Boot, Plan, Stage
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.enrolment import Enrolment
from tinkbox.model.errors import Conflict, NotFound
from tinkbox.model.hardware import Interface
from tinkbox.wire.efi_signature_lists import authority_fingerprint
from tinkbox.wire.messages.enrolment import Enrolled

OWN = authority_fingerprint(AUTHORITY)
WHO = "anna"


def by_https(box: Appliance, number: int = 1) -> bool | None:
    """Whether a machine that netboots is told to load by HTTPS alone; None: it is told nothing."""
    plan = box.dhcp_plan(number)
    return None if plan is None else plan.https


async def enrolled(box: Appliance, number: int = 1) -> str:
    """A machine that waits for its workflow, and is enrolled; returns its id."""
    worker = await box.machine(number)
    await box.workflow(device_1=number)
    await box.machines.enrolments.told(worker, Enrolled(authority=OWN))
    return worker


async def test_once_its_worker_says_so_a_machine_boots_by_https_alone(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow(device_1=1)
    assert by_https(box) is False
    await box.machines.enrolments.told(worker, Enrolled(authority=OWN))
    assert by_https(box) is True
    status = await box.machines.get(mac(1))
    assert status.enrolment == Enrolment(hardware_id=worker, authority=OWN, at=box.clock())
    (told,) = await seen(box, Stage.ENROLLED)
    assert told.facts["authority"] == OWN


async def test_what_is_told_again_is_no_news(box: Appliance) -> None:
    worker = await enrolled(box)
    before = box.clock()
    box.clock.forward(60)
    await box.machines.enrolments.told(worker, Enrolled(authority=OWN))
    assert len(await seen(box, Stage.ENROLLED)) == 1
    enrolment = box.machines.enrolments.of(worker)
    assert enrolment is not None
    assert enrolment.at == before


async def test_nothing_that_is_heard_of_the_machine_takes_it_back(box: Appliance) -> None:
    worker = await enrolled(box)
    await box.machines.enrolments.told(worker, Enrolled(why="this machine did not boot by UEFI"))
    assert by_https(box) is True
    (told,) = await seen(box, Stage.NOT_ENROLLED)
    assert told.detail == "this machine did not boot by UEFI, and it boots by HTTPS alone"
    await box.machines.push(parse_hardware(json.dumps(hardware(1))))
    assert by_https(box) is not False
    boots(box)
    assert by_https(box) is not False


async def test_a_firmware_that_cannot_be_enrolled_is_told_and_boots_on(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow(device_1=1)
    await box.machines.enrolments.told(worker, Enrolled(why="it has no UEFI"))
    assert by_https(box) is False
    (told,) = await seen(box, Stage.NOT_ENROLLED)
    assert told.detail == "it has no UEFI"


async def test_the_authority_of_another_appliance_is_refused(box: Appliance) -> None:
    worker = await box.machine(1)
    with pytest.raises(Conflict, match="another appliance"):
        await box.machines.enrolments.told(worker, Enrolled(authority="cd" * 32))
    assert not box.machines.enrolments.has(worker)


async def test_a_person_lets_it_boot_by_http_again(box: Appliance) -> None:
    worker = await enrolled(box)
    status = await box.machines.forget_https(mac(1), WHO)
    assert status.enrolment is None
    assert by_https(box) is False
    (told,) = await seen(box, Stage.HTTPS_DECIDED)
    assert (told.detail, told.facts["who"]) == ("plain, by anna", WHO)
    await box.machines.forget_https(mac(1), WHO)
    assert len(await seen(box, Stage.HTTPS_DECIDED)) == 1, "there was nothing to decide"
    await box.machines.enrolments.told(worker, Enrolled(authority=OWN))
    assert by_https(box) is True
    with pytest.raises(NotFound):
        await box.machines.forget_https("nowhere", WHO)


async def test_it_outlives_the_appliance_and_goes_with_the_machine(tmp_path: Path) -> None:
    path = tmp_path / "tinkbox.sqlite"
    async with appliance(path) as box:
        await enrolled(box)
    async with appliance(path) as box:
        (worker,) = [each.hardware.id for each in await box.machines.all()]
        assert box.machines.enrolments.has(worker)
        await box.workflows.cancel((await box.workflows.all())[0].id, force=True)
        await box.machines.delete(worker)
        assert not box.machines.enrolments.has(worker)
    async with appliance(path) as box:
        await box.machines.push(parse_hardware(json.dumps(hardware(1))))
        assert not box.machines.enrolments.has(worker), "a machine of the same id begins anew"


async def test_a_worker_that_boots_is_asked_to_enrol_and_one_by_hand_is_not(box: Appliance) -> None:
    await box.machine(1)
    holder = box.machines.known.holder(mac(1))
    plan = Plan(boot=Boot.OSIE, hardware_id=holder, interface=Interface(mac=mac(1)))
    assert box.credential(plan, f"http://{ADDRESS}", HERE).enroll
    assert not (await box.machines.credential(mac(1), f"http://{ADDRESS}", ADDRESS, WHO)).enroll
    ticket = boot_ticket(box)
    assert await box.machines.sessions.exchange(ticket, opening(ticket), HERE) == holder
