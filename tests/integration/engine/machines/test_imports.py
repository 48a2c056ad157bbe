"""Machines that a list has: new ones are made, known ones compared, all or none of them stored."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, appliance, hardware, mac
from tinkbox.engine.machines import imports as module
from tinkbox.engine.machines.additions import MOST_ANSWERING, Additions
from tinkbox.engine.machines.addressing import Addressing
from tinkbox.engine.machines.imports import Imported, Imports
from tinkbox.engine.turns import Rehearsals
from tinkbox.model.documents.hardware import MAX_INTERFACES, hardware_from_document
from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.model.hardware import Hardware, called, primary
from tinkbox.model.leases import Subnet
from tinkbox.model.machine_lists import ImportOutcome, ListedMachine, listed_machine

NETWORK = Subnet(
    network=IPv4Network("172.30.0.0/24"),
    interface="eth1",
    gateway=IPv4Address("172.30.0.1"),
    name_servers=(IPv4Address("172.30.0.1"),),
)
ADDRESSING = Addressing(mode="reservation", subnets=[NETWORK], own=[IPv4Address("172.30.0.1")])
MADE, UPDATED, UNCHANGED = ImportOutcome.MADE, ImportOutcome.UPDATED, ImportOutcome.UNCHANGED
DIFFERENT, RETIRED, REFUSED = ImportOutcome.DIFFERENT, ImportOutcome.RETIRED, ImportOutcome.REFUSED


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Appliance]:
    async with appliance(tmp_path / "tinkbox.sqlite") as made:
        yield made


def imports(box: Appliance, *answering: str, asked: list[str] | None = None, mode: str = "reservation") -> Imports:
    async def answers(address: IPv4Address) -> bool:
        await asyncio.sleep(0)
        if asked is not None:
            asked.append(str(address))
        return str(address) in answering or "all" in answering

    addressing = Addressing(mode=mode, subnets=ADDRESSING.subnets, own=ADDRESSING.own)
    additions = Additions(box.store, box.machines, addressing, answers, box.clock)
    return Imports(box.store, box.machines, additions, Rehearsals(), box.clock)


def listed(number: int, address: str = "", **fields: object) -> ListedMachine:
    """Machine `number` as line `number` has it."""
    known = {
        "macs": (mac(number),),
        "name": f"node{number}",
        "address": IPv4Address(address) if address else None,
        "line": number,
    }
    return ListedMachine(**{**known, **fields})  # type: ignore[arg-type]


def outcomes(done: list[Imported]) -> list[ImportOutcome]:
    return [each.outcome for each in done]


async def test_a_list_is_imported_once_and_unchanged_the_second_time(box: Appliance) -> None:
    asked: list[str] = []
    made = imports(box, asked=asked)
    machines = [
        listed(1, "172.30.0.11", prefix=24, labels={"rack": "r1"}, notes=("loud",)),
        listed(2, gateway=None),
        listed(3, "172.30.0.2"),
    ]
    assert outcomes(await made.store(machines, "ann")) == [MADE] * 3
    first, second, third = (box.machines.known.find(f"node{number}").hardware for number in (1, 2, 3))
    assert (str(primary(first).address), first.labels) == ("172.30.0.11", {"rack": "r1"})
    assert str(primary(second).address) == "172.30.0.3", "the lowest that neither the network nor the list has"
    assert asked == ["172.30.0.3"], "an address that is named is not probed"
    assert {str(primary(each).gateway) for each in (first, second, third)} == {"172.30.0.1"}
    (note,) = await box.machine_changes.notes("node1")
    assert (note.number, note.who, note.text) == (1, "ann", "loud")
    updated_at = box.machines.known.find("node1").updated_at
    box.clock.forward(60)
    assert outcomes(await made.store(machines, "bob", update=True)) == [UNCHANGED] * 3
    assert box.machines.known.find("node1").updated_at == updated_at
    assert len(await box.machine_changes.notes("node1")) == 1


async def test_what_differs_is_told_and_left_alone_unless_it_is_to_be_updated(box: Appliance) -> None:
    made = imports(box)
    await made.store([listed(1, "172.30.0.11", labels={"rack": "r1", "gpu": "no"})], "ann")
    new = listed(
        1,
        "172.30.0.12",
        name="node9",
        macs=(mac(1), mac(9)),
        labels={"rack": "r2"},
        notes=("moved",),
    )
    (told,) = await made.store([new], "ann")
    assert told.outcome is DIFFERENT
    assert told.changes == (
        "name node1 -> node9",
        "ip 172.30.0.11 -> 172.30.0.12",
        f"mac +{mac(9)}",
        "label rack=r2 (was r1)",
        "note 'moved'",
    )
    before = box.machines.known.find("node1").hardware
    assert (str(primary(before).address), before.labels["rack"]) == ("172.30.0.11", "r1")
    (done,) = await made.store([new], "ann", update=True)
    assert (done.outcome, done.changes) == (UPDATED, told.changes)
    after = box.machines.known.find("node9").hardware
    assert (after.id, str(primary(after).address)) == (before.id, "172.30.0.12")
    assert after.labels == {"rack": "r2", "gpu": "no"}, "a label that the list does not have stays"
    assert [each.mac for each in after.interfaces] == [mac(1), mac(9)]
    assert outcomes(await made.store([new], "ann", update=True)) == [UNCHANGED]


async def test_what_an_update_would_refuse_is_told_before_it_is_asked_for(box: Appliance) -> None:
    made = imports(box)
    await made.store([listed(1, "172.30.0.11")], "ann")
    elsewhere = listed(1, "10.9.0.11")
    reason = (
        "no network known here has its address: give the prefix too, or name the network, such as --network 10.9.0.0/24"
    )
    for done in (await made.preview([elsewhere], update=False), await made.store([elsewhere], "ann")):
        assert [(each.outcome, each.why) for each in done] == [(DIFFERENT, f"an update would be refused: {reason}")]
    (refused,) = await made.preview([elsewhere], update=True)
    assert (refused.outcome, refused.why) == (REFUSED, reason)
    (moved,) = await made.preview([listed(1, "172.30.0.12")], update=False)
    assert (moved.outcome, moved.why) == (DIFFERENT, "")


async def test_what_an_update_would_refuse_because_of_other_machines_is_told_too(box: Appliance) -> None:
    await imports(box).store([listed(number, f"172.30.0.1{number}") for number in (1, 2, 3, 4)], "ann")
    workflow = await box.workflow(device_1=4)
    moved = [
        listed(1, "172.30.0.12"),
        listed(3, "172.30.0.13", name="node2"),
        listed(4, "172.30.0.44"),
        listed(5, "172.30.0.15"),
    ]
    before = [each.hardware for each in box.machines.known.all()]
    for done in (await imports(box).preview(moved, update=False), await imports(box).store(moved, "ann")):
        assert outcomes(done) == [DIFFERENT, DIFFERENT, DIFFERENT, MADE]
        assert [each.why.partition(" and needs")[0] for each in done] == [
            "an update would be refused: 172.30.0.12 belongs to node2 already",
            "an update would be refused: the name node2 belongs to node2 already",
            f"an update would be refused: workflow {workflow} is not over",
            "",
        ]
    assert [each.hardware for each in box.machines.known.all()][:4] == before
    swapped = [listed(1, "172.30.0.12", name="node2"), listed(2, "172.30.0.11", name="node1")]
    assert [each.why for each in await imports(box).preview(swapped, update=False)] == ["", ""]


async def test_of_the_routers_of_a_machine_the_one_on_its_network_is_its_gateway(box: Appliance) -> None:
    routers = tuple(map(IPv4Address, ("10.9.0.1", "172.30.0.254", "172.30.0.253")))
    elsewhere = listed(2, "10.9.0.7", prefix=24, routers=routers)
    machines = [listed(1, "172.30.0.11", routers=routers), elsewhere, listed(3, "172.30.0.13", routers=routers[:1])]
    assert outcomes(await imports(box).store(machines, "ann")) == [MADE] * 3
    found = [box.machines.known.find(f"node{number}").hardware for number in (1, 2, 3)]
    assert [str(primary(each).gateway) for each in found] == ["172.30.0.254", "10.9.0.1", "172.30.0.1"]
    assert outcomes(await imports(box).store(machines, "ann", update=True)) == [UNCHANGED] * 3
    (told,) = await imports(box).preview([listed(1, "172.30.0.11", routers=routers[2:])], update=False)
    assert told.changes == ("gateway 172.30.0.254 -> 172.30.0.253",)


async def test_machines_of_2020s_form_are_compared_and_updated_too(box: Appliance) -> None:
    await box.machine(1)
    new = listed(1, "172.30.0.55", name="machine-1", labels={"rack": "r1"})
    assert outcomes(await imports(box).store([listed(1, name="machine-1")], "ann")) == [UNCHANGED]
    assert outcomes(await imports(box).store([new], "ann", update=True)) == [UPDATED]
    status = await box.machines.get("machine-1")
    assert status.hardware.id == hardware(1)["id"]
    assert (str(primary(status.hardware).address), status.hardware.labels) == ("172.30.0.55", {"rack": "r1"})


async def test_nothing_is_stored_when_one_cannot_be_and_every_reason_is_told(box: Appliance) -> None:
    await imports(box).store([listed(1, "172.30.0.11")], "ann")
    wrong = [
        listed(2, "172.30.0.12"),
        listed(3, "172.30.0.11"),
        listed(4, name="node1"),
        listed(5, "172.30.0.12"),
        listed(6, "172.30.0.1"),
        listed(7, "10.0.0.7"),
        listed(8, name="node2"),
    ]
    with pytest.raises(Invalid, match=r"6 of 7 machines cannot be imported, so nothing was stored") as refused:
        await imports(box).store(wrong, "ann")
    told = {each.line: each.text.partition(": ")[2] for each in refused.value.problems}
    assert told[3] == "172.30.0.11 belongs to node1 already"
    assert told[4] == "the name node1 belongs to node1 already"
    assert told[5] == "172.30.0.12 belongs to line 2 of the list already"
    assert told[6].startswith("172.30.0.1 is the appliance's own address")
    assert told[7].startswith("no network known here has its address")
    assert told[8] == "the name node2 belongs to line 2 of the list already"
    assert len(box.machines.known.all()) == 1
    done = await imports(box).store(wrong, "ann", skip_invalid=True)
    assert outcomes(done) == [MADE, *[REFUSED] * 6]
    assert {each.hardware.name for each in box.machines.known.all()} == {"node1", "node2"}


async def test_addresses_of_a_network_that_is_not_known_are_refused_in_one_line_with_the_way_out(
    box: Appliance,
) -> None:
    await imports(box).store([listed(1, "172.30.0.11")], "ann")
    lost = [listed(number, f"10.60.0.{number}") for number in range(20, 40)]
    way_out = "no network known here has its address: give the prefix too, or name the network, such as --network 10.60.0.0/24"
    with pytest.raises(Invalid, match=r"20 of 21 machines cannot be imported") as refused:
        await imports(box).store([listed(1), *lost], "ann")
    some = ", ".join(mac(number) for number in range(20, 25))
    assert [str(each) for each in refused.value.problems] == [f"line 20: {some} and 15 more: {way_out}"]
    with pytest.raises(Invalid, match=r"20 of 20 machines cannot be imported") as refused:
        await imports(box).store(lost, "ann")
    assert [str(each) for each in refused.value.problems] == [f"all 20 machines: {way_out}"]


async def test_an_address_gets_prefix_and_gateway_that_the_list_gives_others_of_its_network(box: Appliance) -> None:
    """The first list of docs/machines.md, which is of a network that the appliance does not know."""
    router = IPv4Address("10.9.0.1")
    told = listed(1, "10.9.0.11", prefix=24, gateway=router)
    machines = [told, listed(2, "10.9.0.12"), listed(3, "10.9.0.1"), listed(4, "172.30.0.14")]
    assert outcomes(await imports(box).store(machines, "ann")) == [MADE] * 4
    found = [primary(box.machines.known.find(f"node{number}").hardware) for number in (1, 2, 3, 4)]
    assert [str(each.gateway or "") for each in found] == ["10.9.0.1", "10.9.0.1", "", "172.30.0.1"]
    assert {str(each.netmask) for each in found} == {"255.255.255.0"}
    assert outcomes(await imports(box).store(machines, "ann", update=True)) == [UNCHANGED] * 4
    await imports(box).store([told, listed(2, "10.9.0.22")], "ann", update=True)
    assert str(primary(box.machines.known.find("node2").hardware).gateway) == "10.9.0.1"


@pytest.mark.parametrize(("prefix", "gateway"), [(24, "10.9.0.2"), (16, "10.9.0.1")])
async def test_a_network_of_which_the_list_says_two_things_is_not_known(
    box: Appliance, prefix: int, gateway: str
) -> None:
    told = [
        listed(1, "10.9.0.11", prefix=24, gateway=IPv4Address("10.9.0.1")),
        listed(2, "10.9.0.12", prefix=prefix, gateway=IPv4Address(gateway)),
    ]
    done = await imports(box).store([*told, listed(3, "10.9.0.13")], "ann", skip_invalid=True)
    assert outcomes(done) == [MADE, MADE, REFUSED]
    assert done[2].why.startswith("no network known here has its address")


async def test_a_network_that_is_known_here_is_as_it_is_here_whatever_others_of_the_list_have(box: Appliance) -> None:
    told = listed(1, "172.30.0.11", prefix=16, gateway=IPv4Address("172.30.0.254"))
    await imports(box).store([told, listed(2, "172.30.0.12")], "ann")
    found = primary(box.machines.known.find("node2").hardware)
    assert (str(found.netmask), str(found.gateway)) == ("255.255.255.0", "172.30.0.1")


async def test_machines_can_swap_their_addresses_and_names(box: Appliance) -> None:
    await imports(box).store([listed(1, "172.30.0.11"), listed(2, "172.30.0.12")], "ann")
    swapped = [listed(1, "172.30.0.12", name="node2"), listed(2, "172.30.0.11", name="node1")]
    assert outcomes(await imports(box).store(swapped, "ann", update=True)) == [UPDATED] * 2
    assert box.machines.known.find("172.30.0.12").hardware.interfaces[0].mac == mac(1)
    assert box.machines.known.find("node1").hardware.interfaces[0].mac == mac(2)


async def test_an_update_that_is_refused_keeps_what_it_had_from_others(box: Appliance) -> None:
    await imports(box).store([listed(1, "172.30.0.11"), listed(2, "172.30.0.12"), listed(3, "172.30.0.13")], "ann")
    moving = [listed(4, "172.30.0.11", name="node4"), listed(1, "172.30.0.13")]
    done = await imports(box).store(moving, "ann", update=True, skip_invalid=True)
    assert outcomes(done) == [REFUSED, REFUSED], "what 1 has becomes free only if it can move"


async def test_two_lists_at_once_get_addresses_of_their_own(box: Appliance) -> None:
    async with asyncio.TaskGroup() as group:
        for first in (10, 20, 30):
            group.create_task(imports(box).store([listed(first + each) for each in range(4)], "ann"))
    addresses = [primary(each.hardware).address for each in box.machines.known.all()]
    assert sorted(map(str, addresses), key=lambda each: int(each.rpartition(".")[2])) == [
        f"172.30.0.{number}" for number in range(2, 14)
    ]


async def test_an_address_at_which_a_host_answers_is_given_to_none(box: Appliance) -> None:
    done = await imports(box, "172.30.0.2", "172.30.0.4").store([listed(7), listed(8)], "ann")
    assert [str(primary(each.hardware).address) for each in done if each.hardware] == ["172.30.0.3", "172.30.0.5"]
    with pytest.raises(Unavailable, match="hosts that tinkbox does not know answer"):
        await imports(box, "all").store([listed(each) for each in range(20, 20 + MOST_ANSWERING)], "ann")


async def test_where_others_give_addresses_none_is_reserved(box: Appliance) -> None:
    (done,) = await imports(box, mode="pool").store([listed(7)], "ann")
    assert done.hardware is not None
    assert primary(done.hardware).address is None


async def test_a_network_that_is_full_stores_nothing(box: Appliance) -> None:
    with pytest.raises(Unavailable, match="no free address"):
        await imports(box).store([listed(number) for number in range(1, 256)], "ann")
    assert not box.machines.known.all()


async def test_a_retired_machine_is_left_alone(box: Appliance) -> None:
    await imports(box).store([listed(1, "172.30.0.11")], "ann")
    await box.departures.retire("node1", "ann")
    (told,) = await imports(box).store([listed(1, "172.30.0.99")], "ann", update=True)
    assert (told.outcome, told.why) == (
        RETIRED,
        "it is retired: `tinkbox hardware return node1` takes it back into service",
    )
    (refused,) = await imports(box).store([listed(2, "172.30.0.11")], "ann", skip_invalid=True)
    assert refused.why == "172.30.0.11 belongs to node1 already", "its address stays its own"


async def test_a_machine_in_the_middle_of_a_workflow_is_not_given_another_address(box: Appliance) -> None:
    await imports(box).store([listed(1, "172.30.0.11")], "ann")
    workflow = await box.workflow()
    (told,) = await imports(box).store([listed(1, "172.30.0.12")], "ann", update=True, skip_invalid=True)
    assert told.outcome is REFUSED
    needs = f"workflow {workflow} is not over and needs it as it is, without another"
    assert told.why == f"{needs} ip"
    both = listed(1, "172.30.0.12", name="node9", macs=(mac(1), mac(9)), labels={"a": "b"}, notes=("loud",))
    (told,) = await imports(box).store([both], "ann", update=True, skip_invalid=True)
    assert told.why == f"{needs} ip, mac", "the rest may change"
    labelled = listed(1, "172.30.0.11", labels={"a": "b"})
    assert outcomes(await imports(box).store([labelled], "ann", update=True)) == [UPDATED]


async def test_cards_of_two_machines_are_no_machine(box: Appliance) -> None:
    await imports(box).store([listed(1), listed(2)], "ann")
    (told,) = await imports(box).store([listed(1, macs=(mac(1), mac(2)))], "ann", skip_invalid=True)
    assert told.why == "its MACs belong to several machines: node1 and node2"


async def test_a_preview_stores_nothing_and_probes_nothing(box: Appliance) -> None:
    asked: list[str] = []
    done = await imports(box, asked=asked).preview([listed(1), listed(2, "10.0.0.1")], update=False)
    assert outcomes(done) == [MADE, REFUSED]
    assert (asked, len(box.machines.known.all())) == ([], 0)


async def test_what_was_imported_is_there_after_a_restart(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        await imports(box).store([listed(1, "172.30.0.11", labels={"rack": "r1"}, notes=("loud",))], "ann")
    async with appliance(tmp_path / "db") as box:
        assert box.machines.known.find("node1").hardware.labels == {"rack": "r1"}
        assert [each.text for each in await box.machine_changes.notes("node1")] == ["loud"]
        assert outcomes(await imports(box).store([listed(1, "172.30.0.11")], "ann")) == [UNCHANGED]


async def test_an_address_that_is_taken_meanwhile_is_made_up_for_by_one_that_is_probed_too(box: Appliance) -> None:
    asked: list[str] = []
    other = imports(box)

    async def answers(address: IPv4Address) -> bool:
        if not asked:
            await other.store([listed(50, str(address))], "bob")
        asked.append(str(address))
        return False

    made = Imports(
        box.store,
        box.machines,
        Additions(box.store, box.machines, ADDRESSING, answers, box.clock),
        Rehearsals(),
        box.clock,
    )
    (done,) = await made.store([listed(7)], "ann")
    assert done.hardware is not None
    assert asked == ["172.30.0.2", str(primary(done.hardware).address)] == ["172.30.0.2", "172.30.0.3"]


async def test_machines_that_wait_for_each_other_s_addresses_are_compared_once(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def row(number: int, address: int) -> ListedMachine:
        return listed_machine(
            macs=[f"08:00:27:02:00:{number:02x}"], name=f"imported{number}", address=f"172.30.7.{address}/16", gateway="",
            labels={}, notes=[], line=number, key="",
        )  # fmt: skip

    many = 40
    await box.imports.store([row(number, number) for number in range(1, many + 2)], "ann")
    asked = 0
    claims = module._claims

    def counted(hardware: Hardware) -> Iterator[str]:
        nonlocal asked
        asked += 1
        return claims(hardware)

    monkeypatch.setattr(module, "_claims", counted)
    # The last of them would have the address of a machine that is not in the list.
    found = await box.imports.preview([row(number, number + 1) for number in range(1, many + 1)], update=True)
    assert {each.outcome for each in found} == {ImportOutcome.REFUSED}
    assert found[0].why == "172.30.7.2 belongs to imported2 already"
    assert asked < 4 * many


async def addressed_as(box: Appliance, agent: str, name: str = "kk") -> None:
    """A machine of this name that has neither MAC nor address, and this agent id."""
    document = {"apiVersion": "tinkerbell.org/v1alpha1", "kind": "Hardware", "metadata": {"name": name}}
    await box.machines.push(hardware_from_document({**document, "spec": {"agentID": agent}}))


@pytest.mark.parametrize(("agent", "claim"), [("172.30.0.13", "172.30.0.13"), (mac(3).replace(":", "-"), mac(3))])
async def test_a_line_with_what_is_the_agent_id_of_another_machine_is_refused_and_the_rest_is_stored(
    box: Appliance, agent: str, claim: str
) -> None:
    await addressed_as(box, agent)
    machines = [listed(2, "172.30.0.12"), listed(3, "172.30.0.13")]
    told = [(MADE, ""), (REFUSED, f"{claim} is the agent id of kk")]
    assert [(each.outcome, each.why) for each in await imports(box).preview(machines, update=False)] == told
    with pytest.raises(Invalid, match="1 of 2 machines cannot be imported") as refused:
        await imports(box).store(machines, "ann")
    assert [str(each) for each in refused.value.problems] == [f"line 3: {mac(3)}: {told[1][1]}"]
    done = await imports(box).store(machines, "ann", skip_invalid=True)
    assert [(each.outcome, each.why) for each in done] == told
    assert {called(each.hardware) for each in box.machines.known.all()} == {"kk", "node2"}


async def test_an_update_to_the_agent_id_of_another_machine_is_refused(box: Appliance) -> None:
    await addressed_as(box, "172.30.0.13")
    await imports(box).store([listed(1, "172.30.0.11"), listed(2, "172.30.0.12")], "ann")
    moved = [listed(1, "172.30.0.13"), listed(2, macs=(mac(2), mac(9)))]
    why = "172.30.0.13 is the agent id of kk"
    told = await imports(box).preview(moved, update=False)
    assert [each.why for each in told] == [f"an update would be refused: {why}", ""]
    done = await imports(box).store(moved, "ann", update=True, skip_invalid=True)
    assert [(each.outcome, each.why) for each in done] == [(REFUSED, why), (UPDATED, "")]


async def test_a_machine_gets_the_address_that_is_its_own_agent_id(box: Appliance) -> None:
    (one,) = await imports(box).store([listed(1, "172.30.0.11")], "ann")
    assert one.hardware is not None
    document = dict(one.hardware.document)
    await box.machines.push(
        hardware_from_document({**document, "spec": {**document["spec"], "agentID": "172.30.0.77"}})
    )
    assert outcomes(await imports(box).store([listed(1, "172.30.0.77")], "ann", update=True)) == [UPDATED]
    (refused,) = await imports(box).preview([listed(2, "172.30.0.77")], update=False)
    assert refused.why == "172.30.0.77 belongs to node1 already"


async def test_a_new_machine_whose_id_is_the_agent_id_of_another_is_refused(box: Appliance) -> None:
    """A name alone makes the id of a new machine."""
    (made,) = await imports(box).preview([listed(1)], update=False)
    assert made.hardware is not None
    await addressed_as(box, made.hardware.id)
    (refused,) = await imports(box).store([listed(1)], "ann", skip_invalid=True)
    assert (refused.outcome, refused.why) == (REFUSED, f"{made.hardware.id} is the agent id of kk")


async def test_a_list_gives_no_machine_the_id_of_another_as_its_name(box: Appliance) -> None:
    one, _ = await imports(box).store([listed(1), listed(2)], "ann")
    assert one.hardware is not None
    wanted = [listed(2, name=one.hardware.id), listed(3, name=one.hardware.id)]
    found = await imports(box).preview(wanted, update=True)
    assert [each.why for each in found] == [f"the name {one.hardware.id} is the id of machine node1"] * 2
    assert (await imports(box).store([listed(1, name=one.hardware.id)], "ann", update=True))[0].outcome is UPDATED


async def test_a_name_that_its_machine_has_again_is_told_as_its_own(box: Appliance) -> None:
    await imports(box).store([listed(1)], "ann")
    for name in ("node1x", "node1"):
        await imports(box).store([listed(1, name=name)], "ann", update=True)
    (refused,) = await imports(box).preview([listed(2, name="node1")], update=False)
    assert refused.why == "the name node1 belongs to node1 already"
    wanted = [listed(2, name="node1"), listed(1, "172.30.0.77")]
    refused, _ = await imports(box).preview(wanted, update=True)
    assert refused.why == "the name node1 stays with machine node1, also when that gets another: choose another name"


async def test_a_machine_of_an_earlier_release_with_very_many_cards_is_named_once(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards = [{"dhcp": {"mac": f"08:00:28:00:{each >> 8:02x}:{each & 255:02x}"}} for each in range(MAX_INTERFACES * 4)]
    stored = hardware_from_document({**hardware(1), "network": {"interfaces": cards}})
    await box.machines.push(stored)
    named = list[str]()

    def noted(machine: Hardware) -> str:
        named.append(machine.id)
        return called(machine)

    monkeypatch.setattr(module, "called", noted)
    (made,) = await imports(box).preview([listed(2)], update=False)
    assert (made.outcome, named) == (MADE, [stored.id])


async def test_a_gateway_that_does_not_stay_is_told_among_the_changes(box: Appliance) -> None:
    made = imports(box)
    await made.store([listed(1, "172.30.9.1", prefix=24, gateway=IPv4Address("172.30.9.254"))], "ann")
    for update, outcome in ((False, DIFFERENT), (True, UPDATED)):
        (told,) = await made.store([listed(1, "172.30.8.1", prefix=24)], "ann", update=update)
        assert (told.outcome, told.changes) == (
            outcome,
            ("ip 172.30.9.1 -> 172.30.8.1", "gateway 172.30.9.254 -> none"),
        )
