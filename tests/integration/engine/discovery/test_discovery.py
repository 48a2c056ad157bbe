"""Machines that nobody knows: who is let in, what they may do, and what becomes of them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

import pytest

from tests.integration.engine.appliance import HELLO, Appliance, mac
from tests.workers import opening
from tinkbox.engine.applying.exporting import Asked, Kind
from tinkbox.engine.discovery.discovery import Acceptance, Discovery
from tinkbox.engine.discovery.unknown_machines import UnknownMachines
from tinkbox.model.boot import Asker, Boot, Client, Plan, Stage
from tinkbox.model.card_firmware import Need
from tinkbox.model.discovery import Quotas, Rule, Standing
from tinkbox.model.errors import Conflict, Denied, Invalid, NotFound
from tinkbox.model.hardware import Interface
from tinkbox.model.inventory import Card, Device, Disk, Inventory
from tinkbox.model.workflow import State
from tinkbox.store.database import UseCase
from tinkbox.wire.messages.inventory import Told

ROUTER = IPv4Address("172.31.0.1")


def discovery(box: Appliance, quotas: Quotas | None = None, rules: Sequence[Rule] = ()) -> Discovery:
    strangers = UnknownMachines(
        box.store,
        box.machines.known.knows,
        box.clock,
        box.clock.steady,
        quotas or Quotas(),
        box.machines.sessions.forget,
    )
    box.machines.sessions._is_let_in = strangers.is_let_in
    acceptance = Acceptance(rules=rules, networks=[IPv4Network("172.30.0.0/24")])
    return Discovery(box.store, box.wakeups, box.machines, box.workflows, strangers, box.clock, acceptance, box.audit)


def pxe(number: int, architecture: int = 0, **facts: object) -> Client:
    return Client(mac=mac(number), asker=Asker.PXE, architecture=architecture, **facts)


def what(number: int, **facts: object) -> Inventory:
    plain = Inventory(
        architecture="x86_64",
        processor="QEMU Virtual CPU",
        processors=2,
        memory=2 * 2**30,
        firmware="bios",
        manufacturer="QEMU",
        product="Standard PC (i440FX + PIIX, 1996)",
        serial=f"S-{number}",
        disks=(Disk(device="/dev/vda", size=10 * 2**30, serial=f"disk-{number}"),),
        cards=(Card(name="eth0", mac=mac(number), link=True), Card(name="eth1", mac=mac(100 + number), link=False)),
    )
    return replace(plain, **facts)


async def wait_here(found: Discovery, number: int, **facts: object) -> str:
    """Have a machine boot and tell what it is; returns its session's secret."""
    assert found.plan(pxe(number), Interface(mac=mac(number)), "eth1")
    token = await begin(found, number)
    await found.told(whose(found, token), Told(boot_id="boot-1", inventory=what(number, **facts)))
    return token


async def begin(found: Discovery, number: int) -> str:
    """Have the worker of a machine that was let in exchange its boot ticket; returns its session's secret."""
    ticket = found.credential(mac(number), "http://a", "a", "127.0.0.1").token
    wanted = opening(ticket, instance="")
    await found._machines.sessions.exchange(ticket, wanted, "127.0.0.1")
    return wanted.secret


def whose(found: Discovery, token: str) -> str:
    """Whose session this is by now: a machine's, or that of one that nobody knows."""
    return found._machines.sessions.authenticate(token, "", "127.0.0.1")


def standing(found: Discovery) -> dict[str, Standing]:
    return {each.mac: each.standing for each in found.all()}


async def test_a_machine_that_nobody_knows_boots_to_tell_what_it_is(box: Appliance) -> None:
    found = discovery(box)
    given = Interface(mac=mac(7), address=IPv4Address("172.30.0.100"))
    plan = found.plan(pxe(7), given, "eth1")
    assert plan
    assert (plan.boot, plan.hardware_id, plan.interface) == (Boot.DISCOVERY, "", given)
    plan = found.script_plan(mac(7), given)
    assert plan
    assert plan.boot is Boot.DISCOVERY
    credential = found.credential(mac(7), "http://172.30.0.1", "172.30.0.1", "172.30.0.9")
    assert (credential.worker, credential.discovery) == (mac(7), True)


async def test_an_installed_system_that_nobody_knows_is_left_alone(box: Appliance) -> None:
    assert discovery(box).plan(Client(mac=mac(7)), Interface(mac=mac(7)), "eth1") is None


async def test_the_osie_of_one_that_was_let_in_gets_its_address(box: Appliance) -> None:
    found = discovery(box)
    assert found.plan(pxe(7), Interface(mac=mac(7)), "eth1")
    plan = found.plan(Client(mac=mac(7)), Interface(mac=mac(7)), "eth1")
    assert plan
    assert plan.boot is Boot.NOTHING


async def test_nobody_else_gets_a_script_or_a_credential(box: Appliance) -> None:
    found = discovery(box)
    assert found.script_plan(mac(7), Interface(mac=mac(7))) is None
    with pytest.raises(NotFound):
        found.credential(mac(7), "s", "r", "172.30.0.9")


async def test_a_discovery_credential_is_no_worker_s(box: Appliance) -> None:
    token = await wait_here(discovery(box), 7)
    with pytest.raises(Denied):
        box.machines.authenticate(token, "", "127.0.0.1")


async def test_an_invented_credential_tells_nothing_and_waits_for_nothing(box: Appliance) -> None:
    found = discovery(box)
    with pytest.raises(Denied):
        await found.told(mac(70), Told(boot_id="b", inventory=what(7)))
    with pytest.raises(Denied):
        await found.accepted(mac(70))


async def test_what_it_told_is_shown_and_noted(box: Appliance) -> None:
    found = discovery(box)
    await wait_here(found, 7)
    (waiting,) = found.all()
    assert (waiting.standing, waiting.inventory, waiting.port) == (Standing.WAITING, what(7), "eth1")
    newest = box.machines.timeline.newest(mac(7))
    assert newest
    assert newest.stage is Stage.INVENTORY
    assert "disk-7" in newest.detail


async def test_whether_its_cards_need_firmware_is_known_from_what_it_told(box: Appliance) -> None:
    found = discovery(box)
    card = Device(
        place="0000:02:00.0", id="14e4:163b", kind="network", driver="bnx2", module="bnx2", asks_firmware=True
    )
    stranger = Plan(boot=Boot.DISCOVERY, hardware_id="", interface=Interface(mac=mac(7)))
    assert found.firmware(stranger) is Need.UNKNOWN
    await wait_here(found, 7, devices=(card,))
    assert found.firmware(stranger) is Need.NEEDED
    enrolled = await found.accept(mac(7))
    machine = replace(stranger, hardware_id=enrolled.hardware.id)
    assert found.firmware(machine) is Need.NEEDED
    again = discovery(box)
    assert again.firmware(machine) is Need.UNKNOWN
    await again.load()
    assert again.firmware(machine) is Need.NEEDED
    await again.told(enrolled.hardware.id, Told(boot_id="c", inventory=what(7)))
    assert again.firmware(machine) is Need.UNNEEDED


async def test_accepted_it_goes_on_as_that_machine_with_all_its_cards(box: Appliance) -> None:
    found = discovery(box)
    token = await wait_here(found, 7)
    assert await found.accepted(whose(found, token)) is None
    enrolled = await found.accept(mac(7), name="node-7")
    accepted = await found.accepted(whose(found, token))
    assert accepted
    assert accepted.worker == enrolled.hardware.id == whose(found, token)
    machine = (await box.machines.get("node-7")).hardware
    assert [each.mac for each in machine.interfaces] == [mac(7), mac(107)]
    assert machine.interfaces[0].hostname == "node-7"
    assert all(each.allow_pxe and each.architecture == "x86_64" for each in machine.interfaces)
    assert machine.document["spec"]["disks"] == [{"device": "/dev/vda"}]
    assert found.all() == []
    told = await found.inventory(enrolled.hardware.id)
    assert told
    assert told[0] == what(7)


async def test_with_a_template_it_has_work_at_once(box: Appliance) -> None:
    found = discovery(box)
    token = await wait_here(found, 7)
    await box.templates.create("hello", HELLO)
    enrolled = await found.accept(mac(7), template="hello")
    accepted = await found.accepted(whose(found, token))
    assert accepted
    assert await box.finish(accepted.worker) == ["hello_world", "second"]
    assert (await box.workflows.get(enrolled.workflow_id)).state is State.SUCCESS


async def test_the_template_s_own_devices_can_be_named(box: Appliance) -> None:
    found = discovery(box)
    await wait_here(found, 7)
    await box.templates.create("other", HELLO.replace("device_1", "target"))
    enrolled = await found.accept(mac(7), template="other", devices={"target": mac(7)})
    assert (await box.workflows.get(enrolled.workflow_id)).devices == {"target": mac(7)}


async def test_its_workflow_is_exported_with_the_machine_that_it_became(box: Appliance) -> None:
    found = discovery(box)
    await wait_here(found, 7)
    await box.templates.create("hello", HELLO)
    enrolled = await found.accept(mac(7), name="node-7", template="hello")
    assert enrolled.hardware.name == "node-7"
    (exported,) = (await box.exporting.export([Asked(Kind.WORKFLOW)], None)).documents
    assert exported.manifest["spec"]["hardwareRef"] == "node-7"


@pytest.mark.parametrize("template", ["missing", "wrong"])
async def test_with_a_template_that_cannot_be_it_is_not_accepted_either(box: Appliance, template: str) -> None:
    found = discovery(box)
    token = await wait_here(found, 7)
    await box.templates.create("wrong", HELLO.replace("device_1", "another"))
    with pytest.raises((NotFound, Invalid)):
        await found.accept(mac(7), template=template)
    assert standing(found) == {mac(7): Standing.WAITING}
    assert await box.machines.all() == []
    assert await found.accepted(whose(found, token)) is None


async def test_accepted_twice_is_a_conflict_that_names_the_machine(box: Appliance) -> None:
    found = discovery(box)
    await wait_here(found, 7)
    enrolled = await found.accept(mac(7))
    with pytest.raises(Conflict, match=enrolled.hardware.id):
        await found.accept(mac(7))


async def test_of_two_who_accept_at_once_one_is_told_of_the_other(box: Appliance) -> None:
    found = discovery(box)
    await wait_here(found, 7)

    async def accepted(name: str) -> str:
        try:
            return (await found.accept(mac(7), name=name)).hardware.id
        except Conflict as conflict:
            return str(conflict)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(accepted(name)) for name in ("one", "two")]
    first, second = (each.result() for each in tasks)
    assert first in second or second in first
    assert len(await box.machines.all()) == 1


async def test_the_name_and_the_cards_of_another_machine_are_not_given_away(box: Appliance) -> None:
    found = discovery(box)
    await wait_here(found, 7)
    await wait_here(found, 8)
    await found.accept(mac(7), name="node")
    with pytest.raises(Conflict, match="called node already"):
        await found.accept(mac(8), name="node")
    other = await box.machine(109)
    await wait_here(found, 9)
    with pytest.raises(Conflict, match=f"{mac(109)} belongs to machine {other}"):
        await found.accept(mac(9))


async def test_an_address_is_reserved_with_the_prefix_of_its_network(box: Appliance) -> None:
    found = discovery(box)
    await wait_here(found, 7)
    enrolled = await found.accept(mac(7), address="172.30.0.77", gateway="172.30.0.254")
    first, second = enrolled.hardware.interfaces
    assert (str(first.address), str(first.netmask), str(first.gateway)) == (
        "172.30.0.77",
        "255.255.255.0",
        "172.30.0.254",
    )
    assert second.address is None


@pytest.mark.parametrize(
    ("address", "gateway"), [("10.9.8.7", ""), ("nonsense", ""), ("172.30.0.7", "x"), ("", "172.30.0.1")]
)
async def test_an_address_that_cannot_be_is_refused(box: Appliance, address: str, gateway: str) -> None:
    found = discovery(box)
    await wait_here(found, 7)
    with pytest.raises(Invalid):
        await found.accept(mac(7), address=address, gateway=gateway)


async def test_who_has_not_told_yet_cannot_be_accepted(box: Appliance) -> None:
    found = discovery(box)
    found.plan(pxe(7), Interface(mac=mac(7)), "eth1")
    with pytest.raises(Conflict, match="not told"):
        await found.accept(mac(7))
    with pytest.raises(NotFound, match="was not discovered"):
        await found.accept(mac(8))


async def test_a_machine_pushed_while_it_waits_has_to_boot_again(box: Appliance) -> None:
    found = discovery(box)
    token = await wait_here(found, 7)
    await box.machine(7)
    with pytest.raises(Denied):
        whose(found, token)
    assert found.all() == []


async def test_refused_it_is_answered_no_more_not_even_after_a_restart(box: Appliance) -> None:
    found = discovery(box)
    token = await wait_here(found, 7)
    await found.refuse(mac(7))
    for each in (found, discovery(box)):
        await each.load()
        assert each.plan(pxe(7), Interface(mac=mac(7)), "eth1") is None
        assert each.plan(Client(mac=mac(7)), Interface(mac=mac(7)), "eth1") is None
        assert each.script_plan(mac(7), Interface(mac=mac(7))) is None
        with pytest.raises(NotFound):
            each.credential(mac(7), "s", "r", "172.30.0.9")
        with pytest.raises(Denied):
            await each.told(whose(each, token), Told(boot_id="b", inventory=what(7)))
        assert await each.accepted(whose(each, token)) is None
        assert standing(each) == {mac(7): Standing.REFUSED}


async def test_a_refusal_can_be_thought_over(box: Appliance) -> None:
    found = discovery(box)
    await wait_here(found, 7)
    await found.refuse(mac(7))
    await found.accept(mac(7))
    await found.refuse(mac(8))
    with pytest.raises(Conflict, match="answered from now on"):
        await found.accept(mac(8))
    assert found.plan(pxe(8), Interface(mac=mac(8)), "eth1")


async def test_a_known_machine_cannot_be_refused(box: Appliance) -> None:
    known = await box.machine(1)
    with pytest.raises(Conflict, match=known):
        await discovery(box).refuse(mac(1))


async def test_an_acceptance_outlives_a_restart(box: Appliance) -> None:
    token = await wait_here(found := discovery(box), 7)
    enrolled = await found.accept(mac(7))
    await found.look()
    await box.machines.load()
    again = discovery(box)
    await again.load()
    accepted = await again.accepted(whose(again, token))
    assert accepted
    assert accepted.worker == enrolled.hardware.id
    assert again.all() == []


async def test_a_machine_that_boots_with_its_other_card_is_still_one_machine(box: Appliance) -> None:
    found = discovery(box)
    await wait_here(found, 7)
    await wait_here(found, 107, cards=what(7).cards)
    assert standing(found) == {mac(107): Standing.WAITING}


async def test_a_refused_machine_stays_refused_when_it_boots_with_its_other_card(box: Appliance) -> None:
    found = discovery(box, rules=[Rule(match={"serial": "S-107"})])
    await wait_here(found, 7)
    await found.refuse(mac(7))
    with pytest.raises(Denied, match="refused"):
        await wait_here(found, 107, cards=what(7).cards)
    for each in (found, discovery(box)):
        await each.load()
        assert standing(each) == {mac(7): Standing.REFUSED, mac(107): Standing.REFUSED}
        assert each.plan(pxe(7), Interface(mac=mac(7)), "eth1") is None
        assert each.plan(pxe(107), Interface(mac=mac(107)), "eth1") is None
    enrolled = await found.accept(mac(107))
    assert {each.mac for each in enrolled.hardware.interfaces} == {mac(7), mac(107)}
    assert found.all() == []


async def test_nobody_is_refused_for_claiming_the_card_of_one_that_was(box: Appliance) -> None:
    found = discovery(box)
    await wait_here(found, 7)
    await found.refuse(mac(7))
    await wait_here(found, 9, cards=(Card(name="eth0", mac=mac(9), link=True), Card(name="x", mac=mac(7), link=True)))
    assert standing(found) == {mac(7): Standing.REFUSED, mac(9): Standing.WAITING}


async def test_a_rule_does_not_accept_who_is_refused_while_it_is_looked_for(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person refuses the second one that waits while the rule accepts the first."""
    for number in (7, 8):
        await wait_here(discovery(box), number)
    found = discovery(box, rules=[Rule(match={"mac": "*"})])
    await found.load()
    refresh = box.machines.refresh

    async def refuse_then_refresh(ids: list[str]) -> None:
        monkeypatch.undo()
        await found.refuse(mac(8))
        await refresh(ids)

    monkeypatch.setattr(box.machines, "refresh", refuse_then_refresh)
    await found.look()
    assert standing(found) == {mac(8): Standing.REFUSED}
    assert [len(each.hardware.interfaces) for each in await box.machines.all()] == [2]


async def test_who_is_refused_while_its_workflow_is_made_is_not_accepted(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    await box.templates.create("hello", HELLO)
    found = discovery(box, rules=[Rule(match={"mac": "*"}, template="hello")])
    await wait_here(discovery(box), 7)
    await found.load()
    create = box.workflows.create

    async def refuse_then_create(*args: object, **named: object) -> str:
        await found.refuse(mac(7))
        return await create(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(box.workflows, "create", refuse_then_create)
    await found.look()
    assert standing(found) == {mac(7): Standing.REFUSED}
    assert (await box.machines.all(), await box.workflows.all()) == ([], [])


async def test_who_is_accepted_while_its_word_is_saved_is_nobody_s_guest_any_more(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = discovery(box, rules=[Rule(match={"mac": "*"})])
    token = await wait_here(discovery(box), 7)
    await found.load()
    save = box.store.write

    async def accept_then_save(use_case: UseCase[None]) -> None:
        monkeypatch.undo()
        await found.accept(mac(7), name="by-hand")
        await save(use_case)

    monkeypatch.setattr(box.store, "write", accept_then_save)
    await found.told(whose(found, token), Told(boot_id="boot-1", inventory=what(7)))
    await box.machines.delete((await box.machines.get("by-hand")).hardware.id)
    assert found.all() == []


async def test_nobody_removes_another_by_claiming_its_card(box: Appliance) -> None:
    found = discovery(box)
    await wait_here(found, 7)
    await wait_here(found, 9, cards=(Card(name="eth0", mac=mac(9), link=True), Card(name="x", mac=mac(7), link=True)))
    assert set(standing(found)) == {mac(7), mac(9)}


async def test_nobody_is_accepted_with_the_card_of_another_that_waits(box: Appliance) -> None:
    found = discovery(box, rules=[Rule(match={"serial": "S-9"})])
    token = await wait_here(found, 7)
    await wait_here(found, 9, cards=(Card(name="eth0", mac=mac(9), link=True), Card(name="x", mac=mac(7), link=True)))
    problem = next(each.problem for each in found.all() if each.mac == mac(9))
    assert f"it says that it has {mac(7)}, which waits as a machine of its own" in problem
    assert await found.accepted(whose(found, token)) is None
    await found.accept(mac(7))
    assert await found.accepted(whose(found, token))
    await wait_here(found, 10, cards=(Card(name="eth0", mac=mac(10), link=True), Card(name="x", mac=mac(9), link=True)))
    await found.refuse(mac(9))
    await found.accept(mac(10))


async def test_known_machines_tell_as_well_and_the_last_word_is_kept(box: Appliance) -> None:
    found = discovery(box)
    known = await box.machine(1)
    assert await found.inventory(known) is None
    await found.told(known, Told(boot_id="b", inventory=what(1)))
    await found.told(known, Told(boot_id="b", inventory=what(1, memory=2**33)))
    told = await found.inventory(known)
    assert told == (what(1, memory=2**33), box.clock.now)
    assert found.all() == []


async def test_a_rule_accepts_and_binds_its_template(box: Appliance) -> None:
    rule = Rule(match={"product": "Standard PC*"}, name="vm-{{serial}}", template="hello")
    found = discovery(box, rules=[rule])
    await box.templates.create("hello", HELLO)
    assert await found.load() == []
    token = await wait_here(found, 7)
    accepted = await found.accepted(whose(found, token))
    assert accepted
    assert await box.finish(accepted.worker) == ["hello_world", "second"]
    assert (await box.machines.get("vm-s-7")).hardware.id == accepted.worker


async def test_the_rule_s_devices_are_filled_with_what_the_machine_is(box: Appliance) -> None:
    rule = Rule(match={"mac": "*"}, template="other", devices={"target": "{{mac}}"})
    found = discovery(box, rules=[rule])
    await box.templates.create("other", HELLO.replace("device_1", "target"))
    await wait_here(found, 7)
    (flow,) = await box.workflows.all()
    assert flow.devices == {"target": mac(7)}


async def test_where_no_rule_holds_a_machine_waits_for_a_person(box: Appliance) -> None:
    found = discovery(box, rules=[Rule(match={"manufacturer": "Dell*"})])
    await wait_here(found, 7)
    assert standing(found) == {mac(7): Standing.WAITING}


async def test_a_rule_with_a_missing_template_is_said_at_start_and_at_the_match_and_tried_again(box: Appliance) -> None:
    found = discovery(box, rules=[Rule(match={"serial": "none"}), Rule(match={"mac": "*"}, template="hello")])
    (problem,) = await found.load()
    assert "rule 2" in problem
    assert "'hello' not found" in problem
    await wait_here(found, 7)
    (waiting,) = found.all()
    assert "rule 2" in waiting.problem
    assert "not found" in waiting.problem
    await box.templates.create("hello", HELLO)
    await found.look()
    assert found.all() == []
    assert len(await box.workflows.all()) == 1


async def test_a_rule_accepts_those_who_waited_before_it_was_written(box: Appliance) -> None:
    token = await wait_here(discovery(box), 7)
    found = discovery(box, rules=[Rule(match={"memory": ">=2G"})])
    await found.load()
    await found.look()
    assert await found.accepted(whose(found, token))


async def test_a_rule_accepts_nobody_who_was_refused(box: Appliance) -> None:
    await wait_here(found := discovery(box), 7)
    await found.refuse(mac(7))
    found = discovery(box, rules=[Rule(match={"mac": "*"})])
    await found.load()
    await found.look()
    assert await box.machines.all() == []
    assert standing(found) == {mac(7): Standing.REFUSED}


async def test_whoever_waits_hears_of_it_at_once(box: Appliance) -> None:
    found = discovery(box)
    token = await wait_here(found, 7)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(found.wait(60))
        await asyncio.sleep(0)
        await found.accept(mac(7))
    assert await found.accepted(whose(found, token))


async def test_a_machine_that_was_accepted_and_deleted_has_to_boot_again(box: Appliance) -> None:
    found = discovery(box)
    token = await wait_here(found, 7)
    enrolled = await found.accept(mac(7))
    await box.machines.delete(enrolled.hardware.id)
    assert found.all() == []
    with pytest.raises(Denied):
        await found.accepted(whose(found, token))
    assert found.plan(pxe(7), Interface(mac=mac(7)), "eth1")
