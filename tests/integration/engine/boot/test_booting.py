"""Who is told what in its first minutes, at which address, and who may have a boot script."""

from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network

import pytest

from tests.integration.engine.appliance import Appliance, address, hardware, mac
from tests.integration.engine.lending import SUBNET, Lender, at
from tinkbox.engine.boot.booting import BEHIND_ROUTER_SECONDS, Booting
from tinkbox.model.boot import Asker, Boot, Client, Plan, Silence, Stage
from tinkbox.model.card_firmware import Need
from tinkbox.model.documents.hardware import hardware_from_document
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.leases import LeaseState, Subnet

ETH1 = replace(
    SUBNET,
    interface="eth1",
    gateway=IPv4Address("172.30.0.254"),
    name_servers=(IPv4Address("172.30.0.53"),),
    domain_name="lab.example",
)
BEHIND = Subnet(network=IPv4Network("172.31.0.0/24"), pool=(IPv4Address("172.31.0.5"), IPv4Address("172.31.0.6")))
RELAY = IPv4Address("172.31.0.1")
RESERVED, BARE, STRANGER, REFUSED = 1, 2, 50, 51


@dataclass
class Strangers:
    """Lets one machine in that nobody knows."""

    asked: list[tuple[MacAddress, str]] = field(default_factory=list)

    def plan(self, client: Client, interface: Interface, port: str = "") -> Plan | None:
        self.asked.append((client.mac, port))
        boot = Boot.DISCOVERY if client.netboots else Boot.NOTHING
        return Plan(boot=boot, hardware_id="", interface=interface) if client.mac == mac(STRANGER) else None

    def script_plan(self, mac_: MacAddress, interface: Interface) -> Plan | None:
        return self.plan(Client(mac=mac_, asker=Asker.IPXE), interface)

    def silence(self, client: Client, port: str) -> Silence:
        return Silence.PORT_FULL


class Lab:
    """Two machines with tickets: one has a reservation, the other none; `neighbours` is what the kernel knows."""

    def __init__(self, box: Appliance, lender: Lender, mode: str, strangers: Strangers | None = None) -> None:
        self.box, self.lender = box, lender
        self.neighbours: dict[str, MacAddress] = {}
        self.attached: set[str] = set()
        self.booting = Booting(
            box.machines,
            lender.leases,
            strangers,
            (ETH1, BEHIND),
            mode,
            self.neighbours.get,
            self.attached.__contains__,
            lambda: lender.seconds,
            own={IPv4Address("172.30.0.1")},
            firmware=lambda _: Need.UNNEEDED,
        )

    def plan(self, machine: int, asker: Asker = Asker.PXE, relay: str = "0.0.0.0") -> Plan | None:
        return self.booting.plan_for(Client(mac=mac(machine), asker=asker, relay=IPv4Address(relay)), "eth1")

    def given(self, machine: int, asker: Asker = Asker.PXE, relay: str = "0.0.0.0") -> IPv4Address | None:
        plan = self.plan(machine, asker, relay)
        assert plan is not None
        return plan.interface.address

    def silence(self, machine: int, asker: Asker = Asker.PXE) -> Silence:
        client = Client(mac=mac(machine), asker=asker)
        assert self.booting.plan_for(client, "eth1") is None
        return self.booting.silence(client, "eth1")

    def has_script(self, machine: int, peer: str) -> bool:
        return self.booting.script_plan(mac(machine), peer) is not None


@pytest.fixture
async def machines(box: Appliance) -> Appliance:
    await box.machine(RESERVED)
    bare = hardware(BARE)
    del bare["network"]["interfaces"][0]["dhcp"]["ip"]  # type: ignore[index]
    bare["network"]["interfaces"][0]["dhcp"]["lease_time"] = 300  # type: ignore[index]
    await box.machines.push(hardware_from_document(bare))
    await box.workflow(device_1=RESERVED)
    await box.workflow(device_1=BARE)
    return box


async def test_a_machine_that_was_sent_the_osie_and_was_silent_is_sent_firmware_the_next_time(
    machines: Appliance, lab: Lender
) -> None:
    booting = Lab(machines, lab, "reservation").booting

    def need() -> Need | None:
        plan = booting.script_plan(mac(RESERVED), address(RESERVED))
        return plan and plan.firmware

    assert need() is Need.UNNEEDED
    for stage, wanted in (
        (Stage.SCRIPT, Need.UNNEEDED),
        (Stage.KERNEL, Need.UNNEEDED),
        (Stage.RAMDISK, Need.NEEDED),
        (Stage.SCRIPT, Need.NEEDED),
    ):
        machines.machines.progress.saw(mac(RESERVED), stage)
        assert need() is wanted


async def test_a_reservation_holds_in_every_mode_in_which_addresses_are_given(machines: Appliance, lab: Lender) -> None:
    for mode in ("reservation", "pool"):
        plan = Lab(machines, lab, mode).plan(RESERVED)
        assert plan is not None
        assert (plan.boot, plan.lease, str(plan.interface.address)) == (Boot.OSIE, None, address(RESERVED))
    assert lab.leases.all() == []


@pytest.mark.parametrize("unfit", ["172.30.0.1", "172.30.0.0", "172.30.0.255"])
async def test_no_machine_is_given_our_own_address_or_one_that_is_no_hosts(
    box: Appliance, lab: Lender, unfit: str
) -> None:
    document = hardware(RESERVED)
    document["network"]["interfaces"][0]["dhcp"]["ip"]["address"] = unfit  # type: ignore[index]
    await box.machines.push(hardware_from_document(document))
    await box.workflow(device_1=RESERVED)
    for mode in ("reservation", "pool"):
        assert Lab(box, lab, mode).silence(RESERVED) is Silence.UNFIT_ADDRESS
        assert Lab(box, lab, mode).silence(RESERVED, Asker.SYSTEM) is Silence.UNFIT_ADDRESS
    beside = Lab(box, lab, "proxy")
    assert beside.plan(RESERVED) is not None
    assert beside.silence(RESERVED, Asker.SYSTEM) is Silence.NO_ADDRESS


async def test_only_the_pool_has_an_address_for_a_machine_without_a_reservation(
    machines: Appliance, lab: Lender
) -> None:
    assert Lab(machines, lab, "reservation").silence(BARE) is Silence.NO_ADDRESS
    plan = Lab(machines, lab, "pool").plan(BARE)
    assert plan is not None
    assert plan.lease is not None
    assert (plan.lease.state, plan.lease.mac, plan.lease.address) == (LeaseState.OFFERED, mac(BARE), at(0))
    assert plan.interface == Interface(
        mac=mac(BARE),
        hostname=f"machine-{BARE}",
        address=at(0),
        netmask=IPv4Address("255.255.255.0"),
        gateway=IPv4Address("172.30.0.254"),
        name_servers=(IPv4Address("172.30.0.53"),),
        domain_name="lab.example",
        lease_seconds=300,
    )


async def test_a_reserved_address_comes_with_what_its_document_says_alone(machines: Appliance, lab: Lender) -> None:
    plan = Lab(machines, lab, "pool").plan(RESERVED)
    assert plan is not None
    assert plan.interface.gateway == IPv4Address("172.30.0.1") != ETH1.gateway
    assert (plan.interface.name_servers, plan.interface.domain_name) == ((), "")


async def test_no_lease_is_told_to_last_longer_than_the_pools(machines: Appliance, lab: Lender) -> None:
    booting = Lab(machines, lab, "pool", Strangers())
    plan = booting.plan(STRANGER)
    assert plan is not None
    assert plan.interface.lease_seconds == ETH1.lease_seconds


async def test_an_installed_system_gets_an_address_as_well(machines: Appliance, lab: Lender) -> None:
    booting = Lab(machines, lab, "pool")
    assert booting.given(BARE, Asker.SYSTEM) == at(0)
    plan = booting.plan(RESERVED, Asker.SYSTEM)
    assert plan is not None
    assert plan.boot is Boot.NOTHING


async def test_beside_another_server_no_addresses_are_given_and_only_who_netboots_is_answered(
    machines: Appliance, lab: Lender
) -> None:
    for mode in ("proxy", "off"):
        booting = Lab(machines, lab, mode, Strangers())
        for machine in (RESERVED, BARE, STRANGER):
            assert booting.given(machine) is None
            assert booting.plan(machine, Asker.SYSTEM) is None
    assert lab.leases.all() == []


async def test_a_machine_that_nobody_knows_is_told_nothing_unless_it_is_let_in(
    machines: Appliance, lab: Lender
) -> None:
    assert Lab(machines, lab, "pool").silence(STRANGER) is Silence.UNKNOWN
    strangers = Strangers()
    booting = Lab(machines, lab, "pool", strangers)
    assert booting.silence(REFUSED) is Silence.PORT_FULL
    plan = booting.plan(STRANGER)
    assert plan is not None
    assert (plan.boot, plan.interface.address) == (Boot.DISCOVERY, at(0))
    assert strangers.asked[-1] == (mac(STRANGER), "eth1")
    assert [each.mac for each in lab.leases.all()] == [mac(STRANGER)]
    assert Lab(machines, lab, "reservation", strangers).silence(STRANGER) is Silence.NO_ADDRESS


async def test_a_known_machine_is_nothing_that_strangers_are_asked_of(machines: Appliance, lab: Lender) -> None:
    strangers = Strangers()
    await machines.machine(STRANGER)
    assert Lab(machines, lab, "pool", strangers).silence(STRANGER) is Silence.NOT_PERMITTED
    assert strangers.asked == []


async def test_a_machine_behind_a_relay_gets_an_address_of_its_own_network(machines: Appliance, lab: Lender) -> None:
    booting = Lab(machines, lab, "pool")
    assert booting.booting.subnet_of(Client(mac=mac(1), relay=RELAY), "eth1") == BEHIND
    assert booting.booting.subnet_of(Client(mac=mac(1)), "eth1") == ETH1
    assert booting.booting.subnet_of(Client(mac=mac(1)), "eth2") is None
    assert booting.booting.subnet_of(Client(mac=mac(1), relay=IPv4Address("10.0.0.1")), "eth1") is None
    renewing = Client(mac=mac(1), held=IPv4Address("172.31.0.5"))  # its relay passes on only what is broadcast
    assert booting.booting.subnet_of(renewing, "eth1") == BEHIND
    assert booting.booting.subnet_of(replace(renewing, held=IPv4Address("10.0.0.9")), "eth1") == ETH1
    renewing = Client(mac=mac(1), held=IPv4Address("172.31.0.5"))
    assert booting.booting.subnet_of(renewing, "eth1") == BEHIND
    assert booting.booting.subnet_of(replace(renewing, held=IPv4Address("192.168.1.5")), "eth1") == ETH1
    plan = booting.plan(BARE, relay=str(RELAY))
    assert plan is not None
    assert plan.interface.netmask == IPv4Address("255.255.255.0")
    assert plan.interface.address in BEHIND.network
    assert booting.plan(BARE, relay="10.0.0.1") is None


async def test_an_address_that_is_lent_is_given_to_nobody_else_though_reserved_meanwhile(
    machines: Appliance, lab: Lender
) -> None:
    booting = Lab(machines, lab, "pool")
    lent = await lab.bound(BARE)
    late = int(lent) - int(IPv4Address(address(0)))  # the machine whose reservation is this address
    await machines.machine(late)
    await machines.workflow(device_1=late)
    lab.reserved.add(lent)
    assert booting.silence(late) is Silence.NO_ADDRESS
    assert booting.given(BARE) == lent + 1
    assert booting.given(late) == lent


async def test_a_script_is_for_the_address_that_is_reserved(machines: Appliance, lab: Lender) -> None:
    for mode in ("reservation", "pool", "off"):
        booting = Lab(machines, lab, mode)
        booting.neighbours["172.30.0.99"] = mac(RESERVED)
        assert booting.has_script(RESERVED, address(RESERVED))
        assert not booting.has_script(RESERVED, "172.30.0.99")
        assert not booting.has_script(RESERVED, "nowhere")


async def test_a_script_that_is_refused_is_noted_with_the_reason(machines: Appliance, lab: Lender) -> None:
    booting, timeline = Lab(machines, lab, "off"), machines.machines.timeline
    assert not booting.has_script(RESERVED, "172.30.0.97")  # of another host, in its name
    for address_ in ("172.30.0.98", "172.30.0.99"):
        booting.neighbours[address_] = mac(RESERVED)
        assert not booting.has_script(RESERVED, address_)
    (seen,) = [each for each in await timeline.of(mac(RESERVED)) if each.stage is Stage.SCRIPT_REFUSED]
    assert seen.detail == f"it asks from another address than its own, {address(RESERVED)}"
    assert (seen.facts["address"], seen.facts["count"]) == ("172.30.0.98", 2)


async def test_a_machines_architecture_is_known_whether_it_may_boot_or_not(machines: Appliance, lab: Lender) -> None:
    document = hardware(3)
    document["network"]["interfaces"][0]["dhcp"]["arch"] = "aarch64"  # type: ignore[index]
    await machines.machines.push(hardware_from_document(document))
    booting = Lab(machines, lab, "pool", Strangers()).booting
    assert booting.script_plan(mac(3), address(3)) is None
    assert [booting.architecture(mac(each)) for each in (3, RESERVED, STRANGER, REFUSED)] == [
        "aarch64",
        "x86_64",
        "x86_64",
        None,
    ]
    assert Lab(machines, lab, "pool").booting.architecture(mac(STRANGER)) is None


async def test_who_asks_in_the_name_of_a_machine_that_nobody_knows_leaves_no_trace(
    machines: Appliance, lab: Lender
) -> None:
    booting, timeline = Lab(machines, lab, "off"), machines.machines.timeline
    assert not booting.has_script(STRANGER, "172.30.0.99")
    assert timeline.newest(mac(STRANGER)) is None
    booting.neighbours["172.30.0.99"] = mac(STRANGER)
    assert not booting.has_script(STRANGER, "172.30.0.99")
    seen = timeline.newest(mac(STRANGER))
    assert seen is not None
    assert (seen.stage, seen.facts["why"]) == (Stage.SCRIPT_REFUSED, Silence.UNKNOWN)


async def test_a_script_is_for_the_address_that_is_lent_as_long_as_it_is(machines: Appliance, lab: Lender) -> None:
    booting = Lab(machines, lab, "pool", Strangers())
    for machine in (BARE, STRANGER):
        lent = booting.given(machine)
        assert lent is not None
        booting.neighbours[str(lent)] = mac(machine)
        assert not booting.has_script(machine, str(lent))
        await lab.acknowledged(machine, lent)
        assert booting.has_script(machine, str(lent))
        assert not booting.has_script(RESERVED, str(lent))
        assert not booting.has_script(machine, str(lent + 1))
    assert not booting.has_script(STRANGER, str(at(0)))
    lab.wait(ETH1.lease_seconds)
    assert not booting.has_script(BARE, str(at(0)))


async def test_where_another_server_gives_addresses_a_script_is_for_the_host_that_has_the_mac(
    machines: Appliance, lab: Lender
) -> None:
    booting = Lab(machines, lab, "proxy", Strangers())
    booting.neighbours |= {"172.30.0.7": mac(RESERVED), "172.30.0.8": mac(BARE), "172.30.0.9": mac(STRANGER)}
    assert booting.has_script(RESERVED, "172.30.0.7")
    assert booting.has_script(BARE, "172.30.0.8")
    assert booting.has_script(STRANGER, "172.30.0.9")
    assert not booting.has_script(BARE, "172.30.0.7")
    assert not booting.has_script(RESERVED, address(RESERVED))
    assert not booting.has_script(REFUSED, "172.30.0.9")


@pytest.mark.parametrize("machine", [RESERVED, BARE])
async def test_a_script_that_another_host_has_at_the_address_of_a_machine_counts_for_no_boot(
    machines: Appliance, lab: Lender, machine: int
) -> None:
    booting = Lab(machines, lab, "pool")
    at_ = address(RESERVED) if machine == RESERVED else str(await lab.bound(BARE))
    booting.attached.add(at_)
    booting.booting.saw(mac(machine), Stage.SCRIPT)
    booting.neighbours[at_] = mac(99)
    booting.booting.saw(mac(machine), Stage.SCRIPT)
    silent, other = [each.detail for each in await machines.machines.timeline.of(mac(machine))]
    assert silent == f"by another host, the host at {at_}, which does not answer ARP"
    assert other == f"by another host, {mac(99)}"
    assert (await machines.machines.get(mac(machine))).boots == 0
    booting.neighbours[at_] = mac(machine)
    booting.booting.saw(mac(machine), Stage.SCRIPT)
    assert (await machines.machines.get(mac(machine))).boots == 1


async def test_behind_a_router_a_script_is_given_for_ten_minutes_after_the_machine_asked_by_dhcp(
    machines: Appliance, lab: Lender
) -> None:
    booting = Lab(machines, lab, "proxy")
    assert not booting.has_script(BARE, "172.31.0.7")
    booting.plan(BARE)
    assert not booting.has_script(BARE, "172.31.0.7")
    booting.plan(BARE, relay=str(RELAY))
    assert booting.has_script(BARE, "172.31.0.7")
    assert not booting.has_script(BARE, "172.30.0.7")
    assert not booting.has_script(RESERVED, "172.31.0.7")
    lab.wait(BEHIND_ROUTER_SECONDS)
    assert booting.has_script(BARE, "172.31.0.7")
    lab.wait(1)
    assert not booting.has_script(BARE, "172.31.0.7")
    booting.plan(RESERVED, relay=str(RELAY))
    assert booting.has_script(RESERVED, "172.31.0.7")
    assert not booting.has_script(BARE, "172.31.0.7")
    assert list(booting.booting._behind_router) == [mac(RESERVED)]


async def test_a_machine_without_a_ticket_has_no_script_anywhere(box: Appliance, lab: Lender) -> None:
    await box.machine(RESERVED)
    assert not Lab(box, lab, "reservation").has_script(RESERVED, address(RESERVED))


async def test_who_is_at_an_address_is_known_by_reservation_lease_or_the_kernel(
    machines: Appliance, lab: Lender
) -> None:
    booting = Lab(machines, lab, "pool")
    lent = await lab.bound(BARE)
    booting.neighbours |= {address(RESERVED): mac(9), str(lent): mac(9), "172.30.0.9": mac(9)}
    hosts = (address(RESERVED), str(lent), "172.30.0.9", "172.30.0.8", "nowhere")
    assert [booting.booting.at(each) for each in hosts] == [mac(RESERVED), mac(BARE), mac(9), None, None]
    ids = [booting.booting.machine_at(each) for each in hosts]
    assert ids == [machines.machines.known.holder(mac(RESERVED)), machines.machines.known.holder(mac(BARE)), "", "", ""]
    assert [booting.booting.asking_from(each) for each in hosts] == [""] * 5
    booting.neighbours |= {address(RESERVED): mac(RESERVED), str(lent): mac(BARE)}
    assert [booting.booting.asking_from(each) for each in hosts] == ids
    booting.attached.add(address(RESERVED))
    del booting.neighbours[address(RESERVED)]
    assert [booting.booting.asking_from(each) for each in hosts] == ids
    beside = Lab(machines, lab, "proxy")
    beside.neighbours[address(RESERVED)] = mac(9)
    assert beside.booting.at(address(RESERVED)) == mac(9)


async def test_the_trouble_of_an_osie_is_noted_until_its_worker_is_in_touch(machines: Appliance, lab: Lender) -> None:
    booting, at = Lab(machines, lab, "pool").booting, str(await lab.bound(BARE))
    for _ in range(2):
        booting.osie_has_trouble(at, "engine", "no space left on device")
    booting.osie_has_trouble("172.30.0.8", "engine", "of a stranger")
    newest = machines.machines.timeline.newest(mac(BARE))
    assert newest is not None
    assert (newest.stage, newest.detail) == (Stage.OSIE_TROUBLE, "no space left on device")
    assert (newest.facts["part"], newest.facts["count"]) == ("engine", 2)
    machines.machines.progress.saw(mac(BARE), Stage.WORKER)
    booting.osie_has_trouble(at, "engine", "it ended")
    newest = machines.machines.timeline.newest(mac(BARE))
    assert newest is not None
    assert newest.stage is Stage.WORKER


@pytest.mark.parametrize("stage", [Stage.KERNEL, Stage.RAMDISK, Stage.CLOCK, Stage.DOWNLOAD_TROUBLE])
async def test_what_another_host_fetches_at_the_address_of_a_machine_is_noted_as_that(
    machines: Appliance, lab: Lender, stage: Stage
) -> None:
    booting, at_ = Lab(machines, lab, "pool"), address(RESERVED)
    booting.attached.add(at_)
    for neighbour in ("", mac(RESERVED), mac(99)):
        booting.neighbours |= {at_: neighbour} if neighbour else {}
        booting.booting.saw_address(at_, stage, neighbour or "unseen")
    told = await machines.machines.timeline.of(mac(RESERVED))
    assert [each.detail for each in told] == ["unseen", mac(RESERVED), f"{mac(99)}, by another host, {mac(99)}"]
    assert [each.facts.get("other_host") for each in told] == [None, None, mac(99)]


async def test_what_is_seen_at_an_address_is_noted_of_the_machine_there(machines: Appliance, lab: Lender) -> None:
    booting = Lab(machines, lab, "pool").booting
    booting.saw_address(str(await lab.bound(BARE)), Stage.LOADER, "ipxe.efi", bytes=1)
    booting.saw_address("172.30.0.8", Stage.LOADER)
    newest = machines.machines.timeline.newest(mac(BARE))
    assert newest is not None
    assert (newest.stage, newest.detail, newest.facts["bytes"]) == (Stage.LOADER, "ipxe.efi", 1)
    booting.moves(str(await lab.bound(BARE)))
    booting.moves("172.30.0.8")
    newest = machines.machines.timeline.newest(mac(BARE))
    assert newest is not None
    assert "moved" in newest.facts
    assert machines.machines.timeline.newest(mac(RESERVED)) is None


async def test_an_address_without_a_netmask_has_that_of_the_served_network_and_else_is_given_to_nobody(
    box: Appliance, lab: Lender
) -> None:
    for number, told in ((RESERVED, address(RESERVED)), (BARE, "172.99.0.5")):
        document = hardware(number)
        document["network"]["interfaces"][0]["dhcp"]["ip"] = {"address": told}  # type: ignore[index]
        await box.machines.push(hardware_from_document(document))
        await box.workflow(device_1=number)
    booting = Lab(box, lab, "reservation")
    plan = booting.plan(RESERVED)
    assert plan is not None
    assert (str(plan.interface.address), plan.interface.netmask) == (address(RESERVED), ETH1.network.netmask)
    assert booting.plan(RESERVED) is plan
    assert booting.silence(BARE) is Silence.NO_ADDRESS
    lent = Lab(box, lab, "pool").given(BARE)
    assert lent is not None
    assert lent in ETH1.network
    assert await lab.acknowledged(BARE, lent)
    assert Lab(box, lab, "pool").has_script(BARE, str(lent))
    assert not Lab(box, lab, "pool").has_script(BARE, "172.99.0.5")
    assert Lab(box, lab, "reservation").has_script(RESERVED, address(RESERVED))
    assert Lab(box, lab, "proxy").given(RESERVED) is None


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ([], ["172.30.0.53"]),
        (["2001:db8::53"], ["2001:db8::53", "172.30.0.53"]),
        (["2001:db8::53", "1.1.1.1"], ["2001:db8::53", "1.1.1.1"]),
    ],
)
async def test_with_a_lent_address_a_machine_is_told_of_a_name_server_that_dhcp_can_tell(
    machines: Appliance, lab: Lender, own: list[str], told: list[str]
) -> None:
    document = hardware(BARE)
    document["network"]["interfaces"][0]["dhcp"] |= {"ip": None, "name_servers": own}  # type: ignore[index]
    await machines.machines.push(hardware_from_document(document))
    plan = Lab(machines, lab, "pool").plan(BARE)
    assert plan is not None
    assert [str(each) for each in plan.interface.name_servers] == told


async def test_a_machine_without_a_mac_is_unknown_to_whoever_asks(machines: Appliance, lab: Lender) -> None:
    document = {"kind": "Hardware", "metadata": {"name": "a"}, "spec": {"interfaces": [{"dhcp": {"hostname": "a"}}]}}
    await machines.machines.push(hardware_from_document(document))
    assert Lab(machines, lab, "reservation").silence(STRANGER) is Silence.UNKNOWN


async def test_script_of_a_document_boots_without_a_ticket_and_is_counted_with_one(box: Appliance, lab: Lender) -> None:
    document = hardware(RESERVED)
    document["network"]["interfaces"][0]["netboot"]["ipxe"] = {"contents": "#!ipxe\nshell\n"}  # type: ignore[index]
    await box.machines.push(hardware_from_document(document))
    own = Lab(box, lab, "reservation")
    for _ in range(5):
        plan = own.booting.script_plan(mac(RESERVED), str(address(RESERVED)))
        assert plan is not None
        assert (plan.boot, plan.ticket, plan.interface.netboot.script) == (Boot.OWN_SCRIPT, False, "shell\n")
        own.booting.saw(mac(RESERVED), Stage.OWN_BOOT)
    await box.workflow(device_1=RESERVED)
    for boot in (Boot.OWN_SCRIPT, Boot.OWN_SCRIPT, Boot.OWN_SCRIPT, Boot.PARKED):
        plan = own.booting.script_plan(mac(RESERVED), str(address(RESERVED)))
        assert plan is not None
        assert (plan.boot, plan.ticket) == (boot, True)
        own.booting.saw(mac(RESERVED), Stage.OWN_BOOT)
    assert "the furthest boots what its hardware document names" in plan.reason


async def test_machine_that_boots_from_another_server_has_its_address_and_no_script(
    box: Appliance, lab: Lender
) -> None:
    document = hardware(RESERVED)
    document["network"]["interfaces"][0]["dhcp"]["boot_file_name"] = "ztp.cfg"  # type: ignore[index]
    await box.machines.push(hardware_from_document(document))
    await box.workflow(device_1=RESERVED)
    own = Lab(box, lab, "reservation")
    for asker, boot in ((Asker.PXE, Boot.ELSEWHERE), (Asker.IPXE, Boot.ELSEWHERE), (Asker.SYSTEM, Boot.NOTHING)):
        plan = own.plan(RESERVED, asker)
        assert plan is not None
        assert (plan.boot, plan.interface.address) == (boot, IPv4Address(address(RESERVED)))
    assert not own.has_script(RESERVED, str(address(RESERVED)))
    beside = Lab(box, lab, "proxy")
    told = beside.plan(RESERVED)
    assert told is not None
    assert told.boot is Boot.ELSEWHERE
