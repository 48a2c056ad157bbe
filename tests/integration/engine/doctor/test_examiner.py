"""What the doctor is given to look at."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, appliance, hardware, mac
from tests.unit.engine.presences import presence_where
from tinkbox.engine.doctor.case import OsieSize
from tinkbox.engine.doctor.examiner import Examiner, Premises
from tinkbox.engine.doctor.rounds import Rounds
from tinkbox.engine.machines.boot_history import Seen
from tinkbox.engine.timeline.syslog import BURST
from tinkbox.engine.timeline.timeline import Timeline
from tinkbox.engine.turns import AT_ONCE, Turns
from tinkbox.engine.workflows.journals import LostWork
from tinkbox.model.boot import Asker, Silence, Stage
from tinkbox.model.diagnosis import Gravity, Heard, Rival
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.errors import Conflict, Invalid, NotFound, Refusal, TooMany, Unavailable
from tinkbox.model.firmware_traits import FirmwareTraits
from tinkbox.model.hardware import MacAddress
from tinkbox.model.host_vitals import HostVitals
from tinkbox.model.inventory import Inventory
from tinkbox.model.journal import Entry
from tinkbox.model.journal import Seen as JournalSeen
from tinkbox.model.leases import Subnet
from tinkbox.model.limits import EXAMINATIONS, Ledger
from tinkbox.model.sightings import Sighting
from tinkbox.model.vitals import (
    PACKET_FILTER,
    QUESTIONS_BY_MAC,
    Attachment,
    HandshakeTrouble,
    RefusedHandshake,
    TaggedQuestion,
    Unheard,
    Vitals,
)
from tinkbox.wire.messages.journal import History
from tinkbox.wire.syslog import Message, Severity

OTHER = Rival(
    interface="eth1",
    server=IPv4Address("172.30.0.9"),
    mac=MacAddress("00:25:90:00:00:09"),
    offered=IPv4Address("172.30.0.77"),
)
STRANGER = MacAddress("08:00:27:00:00:63")


class World:
    """What is around an appliance; `refuses` is why nobody can be asked for other DHCP servers."""

    def __init__(self, box: Appliance) -> None:
        self.box = box
        self.rivals: tuple[Rival, ...] = ()
        self.refuses = ""
        self.osie = [OsieSize(architecture="x86_64", ramdisk=80 << 20)]
        self.osie_gone: dict[str, str] = {}
        self.osie_refused: Refusal | None = None
        self.firmware_traits = FirmwareTraits()
        self.inventories: dict[str, Inventory] = {}
        self.inventoried_at: datetime | None = None
        self.turns = Turns(Ledger(EXAMINATIONS, lambda: 0.0))
        self.asking = self.asked_at_once = 0
        self.busy, self.answered = asyncio.Event(), asyncio.Event()
        self.answered.set()
        self.looks_for_lost = 0
        self.unkept: tuple[datetime, str] | None = None
        self.measured = Vitals(at=box.clock())
        self.at: dict[str, MacAddress] = {}  # whose an address is
        self.neighbours: dict[IPv4Address, bool] = {}
        self.premises = Premises(address=IPv4Address("172.30.0.1"), since=box.clock(), mode="reservation")

    async def ask(self) -> Heard:
        if self.refuses:
            raise Unavailable(self.refuses)
        self.asking += 1
        self.asked_at_once = max(self.asked_at_once, self.asking)
        if self.asking == AT_ONCE:
            self.busy.set()
        await self.answered.wait()
        self.asking -= 1
        return Heard(rivals=self.rivals)

    def built(self) -> list[OsieSize]:
        if self.osie_refused is not None:
            raise self.osie_refused
        return self.osie

    async def lost(self) -> Mapping[str, LostWork]:
        self.looks_for_lost += 1
        return await self.box.lost_histories.by_machine()

    async def inventory(self, machine: str) -> Inventory | None:
        return self.inventories.get(machine)

    async def inventory_at(self, _: str) -> datetime | None:
        return self.inventoried_at

    async def vitals(self) -> Vitals:
        return self.measured

    async def answers_arp(self, _: IPv4Address, __: MacAddress) -> bool | None:
        return None

    async def anybody(self, address: IPv4Address) -> bool | None:
        return self.neighbours.get(address)

    @property
    def examiner(self) -> Examiner:
        box = self.box
        seen = Seen(box.store, box.machines, box.syslog, box.clock)
        return Examiner(
            box.machines,
            seen,
            self.premises,
            ask=self.ask,
            osie=self.built,
            osie_gone=lambda: self.osie_gone,
            inventory=self.inventory,
            inventory_at=self.inventory_at,
            firmware_traits=lambda _: self.firmware_traits,
            lost=self.lost,
            disk=box.disk.usage,
            clock=box.clock,
            turns=self.turns,
            limits=tuple,
            at=self.at.get,
            claimants=tuple,
            vitals=self.vitals,
            unkept=lambda: self.unkept,
            work=box.work_in_hand,
            presence=presence_where(
                ask=self.answers_arp, ask_anybody=self.anybody, ask_relay=self.anybody, clock=box.clock
            ),
            lease_at=lambda _: None,
        )

    async def rules(self, key: str = "") -> list[tuple[str, str]]:
        return [(each.machine, each.rule) for each in (await self.examiner.examine(key)).diagnoses]

    def asks(self, machine: MacAddress, second: float = 0) -> None:
        self.box.machines.progress.saw(machine, Stage.DISCOVER, "PXE", asker=Asker.PXE.value, architecture=7)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with appliance(tmp_path / "tinkbox.sqlite") as box:
        box.registry |= {"hello-world": "sha256:1", "tools/second:v1": "sha256:2"}
        yield World(box)


@pytest.mark.parametrize("seen", [True, False])
async def test_refused_handshakes_are_told_of_the_machine_that_refused(world: World, seen: bool) -> None:
    """Also where nothing was seen of it since the start: its document has its address."""
    for number in (1, 2):
        await world.box.machines.push(parse_hardware(json.dumps(hardware(number))))
    refused = RefusedHandshake(
        host="172.30.0.11",
        door="https://172.30.0.1",
        why=HandshakeTrouble.AUTHORITY,
        words="UNKNOWN_CA",
        at=world.box.clock(),
        times=1,
    )
    world.measured = replace(world.measured, refused_handshakes=(refused,))
    if seen:
        world.at["172.30.0.11"] = mac(1)
    assert (mac(1), "CertificateRefused") in await world.rules("machine-1")
    assert "CertificateRefused" not in [rule for _, rule in await world.rules("machine-2")]
    told = [each for each in (await world.examiner.examine()).diagnoses if each.rule == "CertificateRefused"]
    assert [each.cause.partition(" does")[0] for each in told] == ["172.30.0.11 of machine machine-1"], "once"


async def test_the_appliance_alone_is_looked_at_for_what_concerns_everybody(world: World) -> None:
    assert await world.rules() == []
    world.rivals, world.osie = (OTHER,), []
    assert await world.rules() == [("", "OtherServer"), ("", "NoOsie")]


async def test_a_machine_of_ours_in_whose_name_addresses_are_offered_is_named_and_suspect_while_it_is_in_touch(
    world: World,
) -> None:
    box = world.box
    worker = await box.machine(1)
    his = MacAddress(mac(1))
    world.rivals = (replace(OTHER, mac=his),)
    (told,) = (await world.examiner.examine()).diagnoses[:1]
    assert (told.rule, told.gravity) == ("OtherServer", Gravity.FAULT)
    assert f"{his} of machine {box.machines.known.name(worker) or worker}" in told.remedy
    box.machines.progress.heard(worker)
    told = next(each for each in (await world.examiner.examine()).diagnoses if each.rule == "OtherServer")
    assert told.gravity is Gravity.SUSPECT
    box.clock.forward(61)
    told = next(each for each in (await world.examiner.examine()).diagnoses if each.rule == "OtherServer")
    assert told.gravity is Gravity.FAULT
    world.asks(his)
    told = next(each for each in (await world.examiner.examine()).diagnoses if each.rule == "OtherServer")
    assert told.gravity is Gravity.FAULT, "any host can ask in its name"
    box.machines.progress.saw(his, Stage.KERNEL)
    told = next(each for each in (await world.examiner.examine()).diagnoses if each.rule == "OtherServer")
    assert told.gravity is Gravity.SUSPECT, "its OSIE boots"


async def test_a_machine_that_is_called_as_the_mac_of_another_is_hides_neither(world: World) -> None:
    box = world.box
    worker = await box.machine(1)
    document = json.dumps(hardware(2)).replace("machine-2", mac(1))
    await box.machines.push(parse_hardware(document))
    for number in (1, 2):
        world.asks(MacAddress(mac(number)))
        box.clock.forward(3600)
    both = await world.examiner.examine()
    assert both.machines == 2
    assert (await world.examiner.examine(worker)).machines == 1
    with pytest.raises(Conflict, match="ambiguous"):
        await world.examiner.examine(mac(1))


async def test_a_round_asks_for_no_other_server_and_tells_those_that_were_heard_last(world: World) -> None:
    world.rivals, examiner = (OTHER,), world.examiner
    world.answered.clear()
    assert await examiner.round() == ()
    world.osie.clear()
    assert [each.rule for each in await examiner.round()] == ["NoOsie"]
    assert (world.asking, examiner.has_asked) == (0, False)
    world.answered.set()
    await examiner.listen()
    assert examiner.has_asked
    assert [each.rule for each in await examiner.round()] == ["OtherServer", "NoOsie"]


@pytest.mark.parametrize(
    ("mode", "stage"), [("proxy", Stage.REQUESTED), ("proxy", Stage.OTHER_SERVER), ("off", Stage.SCRIPT)]
)
async def test_where_machines_get_addresses_of_a_server_that_does_not_answer_us_no_server_is_said_to_be_missing(
    world: World, mode: str, stage: Stage
) -> None:
    box, _ = world.box, await world.box.machine(1)
    world.premises = replace(world.premises, mode=mode)
    examiner = world.examiner

    async def told() -> list[Gravity]:
        found = (await examiner.examine()).diagnoses
        return [each.gravity for each in found if each.rule == "NobodyGivesAddresses"]

    async def boots() -> None:
        box.clock.forward(1000)
        box.machines.progress.saw(mac(1), stage)
        box.machines.progress.saw(mac(1), Stage.WORKER)
        box.clock.forward(7)

    assert await told() == [Gravity.FAULT]
    await boots()
    assert await told() == [Gravity.SUSPECT]
    assert "NobodyGivesAddresses" in [each.rule for each in await examiner.round()]
    box.clock.forward(86_401)
    assert await told() == [Gravity.FAULT], "that was long ago"
    await boots()
    world.rivals = (OTHER,)
    assert await told() == []
    world.rivals = ()
    box.clock.forward(1)
    assert await told() == [Gravity.FAULT], "it answered us before, and machines have what it gave them then"
    await boots()
    assert await told() == [Gravity.SUSPECT]


async def test_an_address_that_was_seen_before_the_start_may_have_been_ours(world: World) -> None:
    world.box.machines.progress.saw(mac(1), Stage.LOADER)
    world.box.clock.forward(5)
    world.premises = replace(world.premises, mode="proxy", since=world.box.clock())
    found = [each for each in (await world.examiner.examine()).diagnoses if each.rule == "NobodyGivesAddresses"]
    assert [each.gravity for each in found] == [Gravity.FAULT]


async def test_what_is_wrong_for_all_is_said_of_the_appliance_and_not_of_each_machine(world: World) -> None:
    await world.box.machine(1)
    await world.box.workflow()
    world.asks(mac(1))
    world.osie = []
    assert await world.rules() == [("", "NoOsie")]
    assert await world.rules(mac(1)) == [(mac(1), "NoOsie")]


async def test_an_osie_that_was_there_is_told_with_the_path_to_put_back(world: World) -> None:
    world.osie, world.osie_gone = [], {"x86_64": "/data/osie/x86_64"}
    (found,) = (await world.examiner.examine()).diagnoses
    assert found.remedy.startswith("Put /data/osie/x86_64 back")


async def test_an_osie_that_was_fetched_before_the_start_is_told_with_the_path_to_put_back(tmp_path: Path) -> None:
    async with appliance(tmp_path / "tinkbox.sqlite") as box:
        await box.machine(1)
        for stage in (Stage.KERNEL, Stage.LOCAL_DISK):
            box.machines.progress.saw(MacAddress(mac(1)), stage)
            box.clock.forward(3600)
        await box.machines.timeline.save()
    async with appliance(tmp_path / "tinkbox.sqlite", clock=box.clock) as box:
        world = World(box)
        world.premises = replace(world.premises, osie="/data/osie")
        assert await world.rules() == []
        world.osie = []
        (found,) = (await world.examiner.examine()).diagnoses
        assert found.remedy.startswith("Put /data/osie back")
        assert f"{mac(1)} fetched the kernel of an OSIE from here" in found.evidence[0]


async def test_machines_that_were_seen_today_are_looked_at(world: World) -> None:
    await world.box.machine(1)
    world.asks(mac(1))
    world.asks(STRANGER)
    found = await world.examiner.examine()
    assert found.machines == 2
    assert {(each.machine, each.rule) for each in found.diagnoses} == {(mac(1), "NotPermitted"), (STRANGER, "NotKnown")}
    world.box.clock.forward(86_401)
    assert (await world.examiner.examine()).machines == 0


async def test_machines_that_a_workflow_waits_for_are_looked_at_whenever_they_were_seen(world: World) -> None:
    for number in (1, 2, 3):
        await world.box.machine(number)
    world.asks(mac(1))
    world.box.clock.forward(86_401)
    flow = await world.box.workflow()
    never = await world.box.workflow(device_1=2)
    world.box.clock.forward(60)
    found = await world.examiner.examine()
    assert found.machines == 2
    told = {each.machine: (each.rule, "since the workflow" in each.cause) for each in found.diagnoses}
    assert told == {mac(1): ("NeverSeen", True), mac(2): ("NeverSeen", False)}
    assert await world.rules(mac(1)) == [(mac(1), "NeverSeen")]
    world.asks(mac(1))
    assert await world.rules() == [(mac(2), "NeverSeen")]
    for each in (flow, never):
        await world.box.workflows.cancel(each)
    assert (await world.examiner.examine()).machines == 1


async def test_one_machine_is_looked_at_by_any_key(world: World) -> None:
    worker = await world.box.machine(1)
    world.asks(mac(1))
    for key in (mac(1), worker, "172.30.0.11", "machine-1"):
        assert await world.rules(key) == [(mac(1), "NotPermitted")]
    world.asks(STRANGER)
    assert await world.rules(STRANGER) == [(STRANGER, "NotKnown")]
    with pytest.raises(NotFound):
        await world.rules("08:00:27:00:00:64")
    with pytest.raises(NotFound):
        await world.rules("nobody")


async def test_lines_of_syslog_that_were_dropped_are_named_as_not_examined(world: World) -> None:
    await world.box.machine(1)
    workflow = await world.box.workflow()
    machine = MacAddress(mac(1))
    world.asks(machine)
    line = Message(severity=Severity.WARNING, facility=0, program="x", text="harmless")
    for _ in range(int(BURST)):
        world.box.syslog.said(machine, line)
    for key in ("", machine):
        assert not [each for each, _ in (await world.examiner.examine(key)).unexamined if "syslog" in each]
    began = f"{world.box.clock():%H:%M:%S}"
    for _ in range(3):
        world.box.syslog.said(machine, line)
    told = [
        await world.examiner.examine(),
        await world.examiner.examine(machine),
        await world.examiner.examine_workflow(workflow),
    ]
    for each in told:
        (why,) = [why for what, why in each.unexamined if what == "3 lines of syslog of machine machine-1"]
        assert why.startswith("they came faster than 50 a second and were dropped, the first at ")
        assert began in why
    world.box.clock.forward(2 * 86_400)
    assert not [each for each, _ in (await world.examiner.examine(machine)).unexamined if "syslog" in each]


async def test_all_who_ask_at_once_share_a_survey(world: World) -> None:
    examiner = world.examiner
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(examiner.examine(who=who)) for who in ("anna", "bert", "cleo")]
    first, second, third = (each.result() for each in asked)
    assert second is third
    assert first is not second
    assert world.looks_for_lost == 2


async def test_of_machines_of_which_nothing_ever_came_nothing_is_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[MacAddress] = []
    of = type(world.box.machines.timeline).of

    async def noted(timeline: Timeline, *macs: MacAddress) -> list[Sighting]:
        read.extend(macs)
        return await of(timeline, *macs)

    monkeypatch.setattr(Timeline, "of", noted)
    for number in (1, 2):
        await world.box.machine(number)
        await world.box.workflow(device_1=number)
    world.box.clock.forward(60)
    world.asks(mac(1))
    assert await world.rules() == [(mac(2), "NeverSeen")]
    assert read == [mac(1)]


async def test_a_machine_that_was_never_seen_has_nothing(world: World) -> None:
    await world.box.machine(1)
    assert await world.rules(mac(1)) == []


async def test_what_is_harmless_is_said_of_a_machine_and_not_of_all(world: World) -> None:
    await world.box.machine(1)
    await world.box.workflow()
    world.asks(mac(1))
    world.box.machines.progress.saw(mac(1), Stage.LOADER_FAILED, why="probe", name="snponly.efi")
    world.box.machines.progress.saw(mac(1), Stage.LOADER, name="snponly.efi")
    found = (await world.examiner.examine(mac(1))).diagnoses
    assert [(each.rule, each.gravity) for each in found] == [
        ("SizeProbe", Gravity.HARMLESS),
        ("Waiting", Gravity.HARMLESS),
    ]
    assert await world.rules() == []


async def test_what_is_known_of_a_machine_is_taken_along(world: World) -> None:
    worker = await world.box.machine(1)
    await world.box.workflow()
    world.asks(mac(1))
    for stage in (Stage.SCRIPT, Stage.KERNEL, Stage.RAMDISK):
        world.box.machines.progress.saw(mac(1), stage)
    assert await world.rules(mac(1)) == [(mac(1), "Waiting")]
    world.inventories[worker] = Inventory(
        architecture="x86_64", processor="", processors=1, memory=512 << 20, firmware="bios"
    )
    assert await world.rules(mac(1)) == [(mac(1), "RamdiskTooLarge"), (mac(1), "DiskNotFound")]
    world.inventoried_at = world.box.clock() - timedelta(seconds=1)
    assert await world.rules(mac(1)) == [(mac(1), "RamdiskTooLarge")], "it began another boot since"


async def test_where_nobody_can_be_asked_that_is_said(world: World) -> None:
    world.refuses = "no right to ask"
    world.premises = replace(world.premises, mode="proxy")
    found = await world.examiner.examine()
    assert (found.unasked, found.diagnoses, found.mode) == ("no right to ask", (), "proxy")


async def test_a_lost_history_names_its_workflow_and_what_to_type_until_a_person_decides(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    flow = await box.workflow()
    own = await box.store.read(lambda tables: tables.journals.store)
    did = Entry(position=1, attempt="lost", workflow_id=flow, index=0, task="t", action="one")
    seen = JournalSeen(store=own, position=1, attempt="lost")
    await box.lost_histories.told(worker, History(boot_id="boot-1", seen=seen, entries=(did,)))
    (found,) = (await world.examiner.examine(mac(1))).diagnoses
    assert found.rule == "HistoryLost"
    assert f"workflow '{flow}'" in found.evidence
    assert f"`tinkbox workflow takeover {flow}` " in found.remedy
    await box.lost_histories.discard(worker, "ann")
    assert (mac(1), "HistoryLost") not in await world.rules(mac(1))


async def test_a_round_asks_once_for_lost_histories_however_many_machines_it_looks_at(world: World) -> None:
    for number in (1, 2, 3):
        world.asks(mac(number))
    assert (await world.examiner.examine()).machines == 3
    assert world.looks_for_lost == 1


async def test_a_fault_of_the_appliance_is_the_first_line_wherever_the_machine_is_told_of(world: World) -> None:
    box, _ = world.box, await world.box.machine(1)
    flow = await box.workflow()
    world.premises = replace(world.premises, subnets=(Subnet(network=IPv4Network("172.30.0.0/24"), interface="eth1"),))
    at = Attachment(interface="eth1", address=world.premises.address, present=True, up=True)
    up = replace(at, addresses=frozenset({world.premises.address}))
    world.measured = Vitals(at=box.clock(), attachments=(up,))
    world.asks(mac(1))
    box.clock.forward(100)
    examiner = world.examiner
    rounds = Rounds(examiner.round, examiner.listen, box.store, box.wakeups, box.clock)

    async def told() -> set[str]:
        await rounds.round()
        first, *_ = (await examiner.examine(mac(1))).diagnoses
        of_flow, *_ = (await examiner.examine_workflow(flow)).diagnoses
        state = await examiner.diagnosis_of(flow)
        assert state is not None
        return {first.cause, of_flow.cause, state.cause, rounds.of_machines()[mac(1)].cause, rounds.cause(flow, None)}

    still = {"Its boot stands still: the last that was seen of it is that it asked for an address."}
    assert await told() == still
    world.measured = Vitals(at=box.clock(), attachments=(replace(up, up=False),))
    assert await told() == still, "it stood still before"
    box.clock.forward(20)
    world.asks(mac(1))
    box.clock.forward(100)
    assert await told() == {"The appliance's interface eth1 is down: no machine on it can reach the appliance."}
    assert [each.rule for each in (await examiner.examine()).diagnoses] == ["InterfaceDown"], "of all it is told once"
    assert (await examiner.examine(mac(1))).appliance == (), "and not beside itself"


async def test_what_is_suspected_to_stop_the_appliances_duties_is_told_beside_a_machine(world: World) -> None:
    await world.box.machine(1)
    at = Attachment(interface="eth1", address=world.premises.address, present=True, up=True, carrier=False)
    addressed = replace(at, addresses=frozenset({world.premises.address}))
    world.measured = Vitals(at=world.box.clock(), attachments=(addressed,))
    examined = await world.examiner.examine(mac(1))
    assert [(each.rule, each.gravity) for each in examined.appliance] == [("NoCarrier", Gravity.SUSPECT)]


async def test_few_examinations_are_made_at_a_time_and_one_person_keeps_no_other_out(world: World) -> None:
    """Machines that boot have the processor: sixty at once were felt by each of them."""
    world.answered.clear()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for _ in range(EXAMINATIONS.each):
            group.create_task(world.examiner.examine(who="anna"))
        other = group.create_task(world.examiner.examine(who="bert"))
        await world.busy.wait()
        with pytest.raises(TooMany, match=r"4 for one person, 32 in all \(limits\.examinations in tinkbox\.yaml\)"):
            await world.examiner.examine(who="anna")
        assert not other.done()
        world.answered.set()
    assert world.asked_at_once == AT_ONCE
    assert (await world.examiner.examine(who="anna")).machines == 0


async def test_questions_that_our_own_interface_kept_from_us_are_not_blamed_on_the_switch(world: World) -> None:
    own = IPv4Address("172.30.0.1")
    world.box.clock.forward(3600)
    world.measured = replace(world.measured, attachments=(Attachment(interface="eth1", address=own, present=True),))
    examiner = world.examiner
    assert "InterfaceDown" in [each.rule for each in await examiner.round()]
    world.measured = Vitals(at=world.box.clock())
    world.box.clock.forward(10)
    progress = world.box.machines.progress
    progress.saw(mac(1), Stage.DISCOVER, "PXE", asker=Asker.PXE.value, architecture=7, secs=28)
    progress.saw(mac(1), Stage.LEASED, address="172.30.0.21")
    assert "SpanningTree" not in [each.rule for each in (await examiner.examine(mac(1))).diagnoses]
    assert "SpanningTree" in [each.rule for each in (await world.examiner.examine(mac(1))).diagnoses], (
        "who never was deaf"
    )


def goes_on_after(world: World, rule: str) -> None:
    """Machine 1 shows what the rule is about, and goes on."""
    saw = world.box.machines.progress.saw
    world.asks(mac(1))
    if rule == "UserDataByAddress":
        saw(mac(1), Stage.METADATA, "user-data", refused="yes")
        saw(mac(1), Stage.METADATA, "meta-data")
    elif rule == "ScriptRefused":
        saw(mac(1), Stage.SCRIPT_REFUSED, why=Silence.ELSEWHERE.value, address="172.30.0.77", own="172.30.0.21")
        saw(mac(1), Stage.METADATA, "user-data")
    else:
        saw(mac(1), Stage.STILL_THERE)
        saw(mac(1), Stage.OFFERED)
        saw(mac(1), Stage.WORKER)


@pytest.mark.parametrize("rule", ["UserDataByAddress", "ScriptRefused", "AskedInItsName"])
async def test_rounds_tell_what_an_examination_tells_whatever_the_machine_did_since(world: World, rule: str) -> None:
    await world.box.machine(1)
    examiner = world.examiner
    goes_on_after(world, rule)
    for _ in range(3):
        assert rule in [each.rule for each in await examiner.round()]
        assert (mac(1), rule) in await world.rules()
        world.box.clock.forward(5)


def keeps_from_booting(netboot: dict[str, object], **dhcp: object) -> str:
    """The document of machine 1, which says that of its only card."""
    document = hardware(1)
    card = document["network"]["interfaces"][0]  # type: ignore[index]  # as `hardware` makes it
    card["dhcp"] |= dhcp
    card["netboot"] |= netboot
    return json.dumps(document)


@pytest.mark.parametrize(
    ("netboot", "dhcp", "rule"),
    [
        ({"allow_pxe": False}, {}, "NotPermitted"),
        ({"allow_workflow": False}, {}, "NotPermitted"),
        ({}, {"tftp_server_name": "10.0.0.9", "boot_file_name": "ztp.cfg"}, "NotPermitted"),
        ({}, {"arch": "aarch64"}, "NoOsie"),
    ],
)
async def test_rounds_tell_at_once_that_a_document_keeps_a_machine_from_the_workflow_that_waits_for_it(
    world: World, netboot: dict[str, object], dhcp: dict[str, object], rule: str
) -> None:
    await world.box.machines.push(parse_hardware(keeps_from_booting(netboot, **dhcp)))
    examiner = world.examiner
    assert await examiner.round() == ()
    await world.box.workflow()
    (found,) = await examiner.round()
    assert (found.rule, found.machine) == (rule, mac(1))
    assert await world.rules(mac(1)) == [(mac(1), rule)]
    world.osie = []
    found, *others = await examiner.round()
    assert (found.rule, found.machine) == ("NoOsie", ""), "of all machines it is told once"
    assert [each.rule for each in others] == [rule] * (rule != "NoOsie")


@pytest.mark.parametrize(("refusal", "gravity"), [(Invalid, "suspect"), (Unavailable, "fault")])
async def test_an_osie_is_said_to_be_sent_all_the_same_where_only_its_description_is_wrong(
    world: World, refusal: type[Refusal], gravity: str
) -> None:
    world.osie_refused = refusal("it is wrong: build it again")
    (found,) = await world.examiner.round()
    assert (found.rule, found.gravity.value) == ("NoOsie", gravity)
    assert ("all the same" in found.cause) == (refusal is Invalid)


@pytest.mark.parametrize("rule", ["ManagementController", "AsksInVlan", "BootLoop", "PortUnheard"])
async def test_rounds_find_machines_that_are_waited_for_and_get_nowhere(world: World, rule: str) -> None:
    box, _ = world.box, await world.box.machine(1)
    await box.workflow()
    examiner, saw = world.examiner, box.machines.progress.saw
    assert await examiner.round() == ()
    if rule == "ManagementController":
        saw(mac(1), Stage.DISK_BOOTED, "172.30.0.21", vendor_class="iDRAC", hostname="")
    elif rule == "AsksInVlan":
        asked = TaggedQuestion(mac=mac(1), interface="eth1", vlan_id=20, at=box.clock())
        world.measured = replace(world.measured, tagged=(asked,))
    elif rule == "PortUnheard":
        world.measured = replace(world.measured, unheard=(unheard_of(mac(1), box.clock()),))
    else:
        for _ in range(6):
            world.asks(mac(1))
            box.clock.forward(3)
            saw(mac(1), Stage.LOADER, "ipxe.efi", name="ipxe.efi")
            box.clock.forward(12)
        world.asks(mac(1))
    assert (rule, mac(1)) in [(each.rule, each.machine) for each in await examiner.round()]


async def test_a_machine_that_boots_its_disk_while_a_workflow_waits_is_told_in_a_round(world: World) -> None:
    box, _ = world.box, await world.box.machine(1)
    box.machines.progress.saw(mac(1), Stage.DISK_BOOTED, "172.30.0.21")
    box.clock.forward(1)
    await box.workflow()
    assert await world.examiner.round() == (), "somebody may be on the way to switch it on"
    box.clock.forward(20)
    box.machines.progress.saw(mac(1), Stage.DISK_BOOTED, "172.30.0.21")
    assert [(each.rule, each.machine) for each in await world.examiner.round()] == [("RunsItsOwnSystem", mac(1))]


def unheard_of(machine: MacAddress, at: datetime) -> Unheard:
    return Unheard(interface="eth1", port=67, frames=3, since=at, until=at, macs={machine: at}, others_at=at)


async def test_an_unknown_machine_that_loads_ipxe_again_and_again_is_told_in_a_round(world: World) -> None:
    world.premises = replace(world.premises, mode="off", discovers=True)
    box, examiner = world.box, world.examiner
    for _ in range(3):
        assert await examiner.round() == ()
        for stage in (Stage.LOADER_REQUESTED, Stage.LOADER):
            box.machines.progress.saw(STRANGER, stage, "undionly.kpxe", name="undionly.kpxe")
        box.clock.forward(18)
    assert [(each.rule, each.machine) for each in await examiner.round()] == [("BootLoop", STRANGER)]
    box.machines.progress.saw(STRANGER, Stage.DISCOVERY)
    assert await examiner.round() == ()


async def test_boots_that_ended_while_our_own_interface_was_down_are_not_counted_when_it_is_up(world: World) -> None:
    box, _ = world.box, await world.box.machine(1)
    await box.workflow()
    world.premises = replace(world.premises, subnets=(Subnet(network=IPv4Network("172.30.0.0/24"), interface="eth1"),))
    examiner = world.examiner

    async def boots(times: int) -> list[str]:
        for _ in range(times):
            world.asks(mac(1))
            box.clock.forward(7)
            box.machines.progress.saw(mac(1), Stage.LOADER, "ipxe.efi", name="ipxe.efi")
            box.clock.forward(53)
        return [each.rule for each in (await examiner.examine(mac(1))).diagnoses]

    down = Attachment(interface="eth1", address=world.premises.address, present=True)
    world.measured = Vitals(at=box.clock(), attachments=(down,))
    assert "BootLoop" in await boots(4), "behind the fault that causes it"
    world.measured = Vitals(at=box.clock())
    assert "BootLoop" not in await boots(2)
    assert "BootLoop" in await boots(2)


async def test_a_machine_whose_packets_are_dropped_is_named_and_is_no_trouble_of_another_one(world: World) -> None:
    box = world.box
    for number in (1, 2):
        await box.machine(number)
        await box.workflow(device_1=number)
        box.machines.progress.saw(mac(number), Stage.RAMDISK)
    box.clock.forward(1000)
    world.asks(mac(2))
    world.measured = replace(world.measured, unheard=(unheard_of(mac(1), box.clock()),))
    box.clock.forward(60)
    told = {each.machine: each for each in await world.examiner.round() if each.leads}
    assert {machine: each.rule for machine, each in told.items()} == {
        "": "PortUnheard",
        mac(1): "PortUnheard",
        mac(2): "SilentOsie",
    }
    name = box.machines.known.name(box.machines.known.holder(mac(1)))
    assert f"drops what {mac(1)} of machine {name} sends on eth1 to UDP port 67" in told[""].cause
    box.machines.progress.saw(mac(1), Stage.DISCOVER, asker="PXE")
    assert "PortUnheard" not in await world.rules(mac(1)), "it was heard since"


async def test_what_is_told_for_a_day_outlasts_a_boot_and_a_restart_of_the_appliance(world: World) -> None:
    box, _ = world.box, await world.box.machine(1)
    examiner = world.examiner

    async def told() -> list[str]:
        return [each.rule for each in await examiner.round()]

    goes_on_after(world, "AskedInItsName")
    assert await told() == ["AskedInItsName"]
    box.clock.forward(3600)
    world.asks(mac(1))
    box.machines.progress.saw(mac(1), Stage.OFFERED)
    box.machines.progress.saw(mac(1), Stage.WORKER)
    assert await told() == ["AskedInItsName"]
    box.clock.forward(5)
    world.premises = replace(world.premises, since=box.clock())
    examiner = world.examiner
    assert await told() == ["AskedInItsName"]
    box.clock.forward(86_400)
    assert await told() == []


async def test_a_timeline_in_which_nothing_is_found_is_read_again_only_when_it_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[MacAddress] = []
    of = type(world.box.machines.timeline).of

    async def noted(timeline: Timeline, *macs: MacAddress) -> list[Sighting]:
        read.extend(macs)
        return await of(timeline, *macs)

    monkeypatch.setattr(Timeline, "of", noted)
    box, examiner = world.box, world.examiner
    for number in (1, 2):
        await box.machine(number)
        world.asks(mac(number))
        box.machines.progress.saw(mac(number), Stage.OFFERED)
    box.machines.progress.saw(mac(1), Stage.STEP_FAILED, step="another", why="another error")
    box.machines.progress.saw(mac(1), Stage.WORKER)
    box.machines.progress.saw(mac(2), Stage.WORKER)
    for _ in range(2):
        assert await examiner.round() == ()
    assert read == [mac(1)], "of the other nothing unusual was seen"
    box.machines.progress.saw(mac(1), Stage.INVENTORY)
    for _ in range(2):
        assert await examiner.round() == ()
    assert read == [mac(1), mac(1)]
    world.premises = replace(world.premises, since=box.clock() + timedelta(seconds=1))
    examiner = world.examiner
    for _ in range(2):
        assert await examiner.round() == ()
    assert sorted(read[2:]) == [mac(1), mac(2)], "what the appliance knew before its start, once"


async def test_of_very_many_machines_in_trouble_one_that_goes_on_is_told_of_when_it_was_read_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.engine.doctor.examiner.FULL_LOOKS", 1)
    for number in (1, 2):
        await world.box.machine(number)
        await world.box.workflow(device_1=number)
        world.asks(mac(number))
        world.box.machines.progress.saw(mac(number), Stage.SCRIPT)
    examiner = world.examiner
    world.box.clock.forward(90)
    for _ in range(2):
        found = await examiner.round()
    assert {each.machine for each in found} == {mac(1), mac(2)}
    for number in (1, 2):
        world.box.machines.progress.saw(mac(number), Stage.WORKER)
    assert await examiner.round() == ()


async def test_rounds_count_all_unknown_machines_as_an_examination_does_for_a_day(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.engine.doctor.examiner.FULL_LOOKS", 1)
    monkeypatch.setattr("tinkbox.engine.doctor.examiner.UNKNOWN_LOOKS", 2)
    await world.box.machine(1)
    strangers = [f"08:00:27:00:01:{number:02x}" for number in range(5)]
    for each in strangers:
        world.asks(MacAddress(each))
        world.box.machines.progress.saw(MacAddress(each), Stage.IGNORED, why=Silence.UNKNOWN.value)
    world.asks(mac(1))
    world.box.machines.progress.saw(mac(1), Stage.IGNORED, why=Silence.NOT_PERMITTED.value)
    examiner = world.examiner
    first, _, third = [[each.rule for each in await examiner.round()] for _ in range(3)]
    assert sorted(first) == ["NotKnown", "NotKnown", "NotPermitted"], "unknown machines take no turn from a known one"
    assert sorted(third) == [*["NotKnown"] * 5, "NotPermitted"]
    world.box.clock.forward(3600)
    anew = sorted((each.machine, each.rule) for each in await examiner.round())
    assert anew == sorted(await world.rules())
    assert len(anew) == 6


@pytest.mark.parametrize("what", [QUESTIONS_BY_MAC, PACKET_FILTER, "the tc filters on lab"])
async def test_what_may_drop_packets_here_and_was_not_looked_at_is_named_of_machines_and_workflows_too(
    world: World, what: str
) -> None:
    await world.box.machine(1)
    flow = await world.box.workflow()
    why = "tinkbox does not understand it"
    for unexamined in ({}, {what: why}):
        host = HostVitals(unexamined={each: why for each in unexamined if "tc" in each})
        world.measured = replace(world.measured, unexamined=unexamined, host=host)
        for each in (
            await world.examiner.examine(),
            await world.examiner.examine("machine-1"),
            await world.examiner.examine_workflow(flow),
        ):
            assert each.unexamined.count((what, why)) == len(unexamined)
