"""Who is told what in its first minutes, known or not, and at which address: the one that the boot floor asks.

Everything is answered from memory.

Rule 1: a boot script and a credential are given only to the address that is the machine's: reserved, or lent to it.
Rule 2: where somebody else gives the addresses, to the host that the kernel reached at that address by this very MAC;
behind a router, where that cannot be seen, only for ten minutes after the machine's DHCP came by.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import AddressValueError, IPv4Address
from typing import Protocol

from tinkbox.engine.boot.leases import Leases
from tinkbox.engine.machines.addressing import OTHERS_ADDRESSES
from tinkbox.engine.machines.boot_plan import BootFacts, dhcp_plan, netboot_plan
from tinkbox.engine.machines.boot_progress import BOOTS
from tinkbox.engine.machines.firmware_knowledge import FirmwareKnowledge
from tinkbox.engine.machines.firmware_rules import NOTHING_YET, Watched
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.timeline.sighting_rules import Round
from tinkbox.model.boot import FETCHED, Boot, Client, Plan, Silence, Stage
from tinkbox.model.card_firmware import Need
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.leases import Lease, Subnet
from tinkbox.model.sightings import OTHER_HOST, Fact, Note

BEHIND_ROUTER_SECONDS = 600.0
MAX_KEPT = 20_000


class Strangers(Protocol):
    """What machines without a hardware document are told: `engine.discovery`, which stands above this room."""

    def plan(self, client: Client, interface: Interface, port: str = "") -> Plan | None: ...
    def script_plan(self, mac: MacAddress, interface: Interface) -> Plan | None: ...
    def silence(self, client: Client, port: str) -> Silence: ...


@dataclass(slots=True)
class _Kept:
    """What was decided of a known machine, and what that rests on; `lent` is the same with an address of `subnet`."""

    facts: BootFacts
    watched: Watched
    plan: Plan | None
    subnet: Subnet | None = None
    lent: Plan | None = None


class Booting:
    """One planner for DHCP, TFTP and the boot files.

    `mode` is the setting `dhcp.mode`; `strangers` is None where unknown machines are ignored.  `neighbours` gives the
    hardware address that the kernel has for an IPv4 address of a network on one of our interfaces, of which `attached` tells
    that it is one.  `firmware_knowledge` is what was learned of machines' firmware; None: nothing is.  `own` are our
    addresses, which no document gives away.  `firmware` is whether the cards need some of the machine that a plan is for.
    """

    def __init__(
        self,
        machines: Machines,
        leases: Leases,
        strangers: Strangers | None,
        subnets: Sequence[Subnet],
        mode: str,
        neighbours: Callable[[str], MacAddress | None],
        attached: Callable[[str], bool],
        monotonic: Callable[[], float],
        firmware_knowledge: FirmwareKnowledge | None = None,
        own: Collection[IPv4Address] = (),
        firmware: Callable[[Plan], Need] = lambda _: Need.UNKNOWN,
    ) -> None:
        self._machines = machines
        self._leases = leases
        self._strangers = strangers
        self._subnets = subnets
        self._networks = [
            (each, int(each.network.network_address), int(each.network.broadcast_address)) for each in subnets
        ]
        self._mode = mode
        self._neighbours = neighbours
        self._attached = attached
        self._monotonic = monotonic
        self._firmware_knowledge = firmware_knowledge
        # On a link between two hosts both ends are hosts' (RFC 3021).
        wide = [each.network for each in subnets if each.network.num_addresses > 2]
        self._unfit = {*own, *(end for each in wide for end in (each.network_address, each.broadcast_address))}
        self._firmware = firmware
        self._behind_router: OrderedDict[MacAddress, float] = OrderedDict()
        self._kept: dict[tuple[MacAddress, bool], _Kept] = {}

    def subnet_of(self, client: Client, interface: str) -> Subnet | None:
        """The network that a machine is on, which asks on an interface, or through a relay.

        One that renews its lease asks without its relay, on whichever interface leads to us.
        """
        relay, held = int(client.relay), int(client.held)
        if relay:
            return self._network_of(relay)
        if held and (own := self._network_of(held)):
            return own
        return next((each for each in self._subnets if each.interface == interface), None)

    def _network_of(self, address: int) -> Subnet | None:
        for each, first, last in self._networks:
            if first <= address <= last:
                return each
        return None

    def knows(self, mac: MacAddress) -> bool:
        """Whether a hardware document names it."""
        return self._machines.known.knows(mac)

    def known(self) -> Collection[MacAddress]:
        """Every MAC that a hardware document names."""
        return self._machines.known.macs()

    def plan_for(self, client: Client, interface: str) -> Plan | None:
        """What to tell a machine that asks by DHCP; None is silence, and `silence` says why.

        Of a known machine it is the same object for as long as nothing else is to be told, so that an answer that was
        made of it can be kept; its lease is then as it was when this was first decided, but for the address.
        """
        kept = self._known(client)
        plan = kept.plan if kept else self._of_stranger(client, interface)
        if plan is not None and plan.interface.address is None and self._mode == "pool":
            plan = self._with_lease(plan, kept, client, interface)
        elif plan is not None and not self._may_be_told(plan, client.mac):
            plan = None
        if plan is not None and int(client.relay):
            self._came_by(client.mac)
        return plan

    def silence(self, client: Client, interface: str) -> Silence:
        """Why a machine for which there is no plan gets none."""
        kept = self._known(client)
        decided = kept.plan if kept else self._of_stranger(client, interface)
        if decided is not None:
            gives = self._mode not in OTHERS_ADDRESSES
            return Silence.UNFIT_ADDRESS if gives and decided.interface.address in self._unfit else Silence.NO_ADDRESS
        if self.knows(client.mac):
            return self._without_permission(client.mac)
        return self._strangers.silence(client, interface) if self._strangers else Silence.UNKNOWN

    def _without_permission(self, mac: MacAddress) -> Silence:
        facts = self._machines.boot_facts.of(mac)
        return Silence.RETIRED if facts and facts.retired else Silence.NOT_PERMITTED

    def script_plan(self, mac: MacAddress, peer: str) -> Plan | None:
        """What to tell a machine that asks for its boot script from the IPv4 address `peer`.

        None when it is unknown, not permitted, or asks from another address than its own: that is noted of it.
        """
        try:
            address = IPv4Address(peer)
        except AddressValueError:
            return None
        facts = self._machines.boot_facts.of(mac)
        plan = netboot_plan(facts) if facts else self._script_of_stranger(mac)
        plan = self._on_its_network(plan) if plan else None
        if plan is not None and self._is_at(plan.interface, address):
            silent = facts is not None and facts.boots > 0 and facts.furthest is Stage.RAMDISK
            firmware = Need.NEEDED if silent else self._firmware(plan)
            return replace(self._as_learned(plan), firmware=firmware)
        self._refused(mac, plan, address)
        return None

    def architecture(self, mac: MacAddress) -> str | None:
        """The processor of a machine: of its hardware document, or as its firmware or worker told; None: nobody told."""
        if facts := self._machines.boot_facts.of(mac):
            return facts.interface.architecture
        plan = self._script_of_stranger(mac)
        return plan.interface.architecture if plan else None

    def _script_of_stranger(self, mac: MacAddress) -> Plan | None:
        return self._strangers.script_plan(mac, Interface(mac=mac)) if self._strangers else None

    def at(self, address: str) -> MacAddress | None:
        """The MAC of the machine that has an IPv4 address, None: nobody that is known of."""
        try:
            asked = IPv4Address(address)
        except AddressValueError:
            return None
        ours = self._machines.known.mac_at(address) or self._leases.holder(asked)
        if ours is not None and self._mode not in OTHERS_ADDRESSES:
            return ours
        return self._neighbours(address) or ours

    def machine_at(self, address: str) -> str:
        """The id of the known machine that has an IPv4 address, empty when none has."""
        mac = self.at(address)
        return self._machines.known.holder(mac) if mac else ""

    def asking_from(self, address: str) -> str:
        """The id of the known machine that a request from an IPv4 address is of; empty also where another host is seen there.

        The kernel saw who asks when the connection began.  If it forgot that since, nobody is doubted.
        """
        mac, seen = self.at(address), self._neighbours(address)
        if mac is None or (seen is not None and seen not in (mac, *self._machines.known.cards(mac))):
            return ""
        return self._machines.known.holder(mac)

    def other_host(self, mac: MacAddress, address: str) -> str:
        """Who asks in a machine's name from its address, and is not seen to be that machine; empty: nobody.

        It is answered, for a network card that nobody told us of is none the worse for it, but counts for no boot.
        """
        neighbour = self._neighbours(address)
        if neighbour is None:
            return f"the host at {address}, which does not answer ARP" if self._attached(address) else ""
        return "" if neighbour in (mac, *self._machines.known.cards(mac)) else neighbour

    def _host_in_its_place(self, mac: MacAddress) -> str:
        """The same at the address that we gave a machine; empty where others give it, for it is known by its MAC there."""
        if self._mode in OTHERS_ADDRESSES:
            return ""
        address = self._machines.known.address_of(mac) or self._leases.address_of(mac)
        return self.other_host(mac, str(address)) if address else ""

    def is_at(self, mac: MacAddress, address: str) -> bool:
        """Whether a machine, known or not, has an IPv4 address, for all that is known."""
        try:
            asked = IPv4Address(address)
        except AddressValueError:
            return False
        return self.at(address) == mac or self._is_its_host(mac, asked)

    def saw(self, mac: MacAddress | None, stage: Stage, detail: str = "", **facts: Fact) -> None:
        """Note that a machine, known or not, was seen at a stage of its boot; without a MAC as `BootProgress.saw`.

        A boot that begins is compared with the host at the machine's address, where nobody said whose it is: by TFTP an
        address is all that is known.
        """
        if mac is None:
            return
        if stage in BOOTS and OTHER_HOST not in facts and (other := self._host_in_its_place(mac)):
            facts, detail = {**facts, OTHER_HOST: other}, f"by another host, {other}"
        self.note(mac, [Note(stage=stage, detail=detail, facts=facts)])

    def note(self, mac: MacAddress, notes: Sequence[Note]) -> Callable[[], bool] | None:
        """The same of several at once; returns a way to note the very same again, where it would only repeat itself.

        That returns False, and notes nothing, when something has changed since.
        """
        turn = self._machines.progress.note(mac, notes)
        if self._firmware_knowledge is None:
            return partial(self._machines.progress.again, turn) if turn else None
        for each in notes:
            way = self._firmware_knowledge.saw(mac, each.stage, each.facts)
            if way is not None:
                self.saw(mac, Stage.LOCAL_DISK, way, way=way.value)
        nothing_new = self._firmware_knowledge.nothing_new(mac, notes) if turn else None
        return partial(self._again, nothing_new, turn) if turn and nothing_new else None

    def _again(self, nothing_new: Callable[[], bool], turn: Round) -> bool:
        return nothing_new() and self._machines.progress.again(turn)

    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None:
        """The same for a machine that is known by its IPv4 address only."""
        mac = self.at(address)
        if mac is None:
            return
        # Of one that was not seen nothing is held against it: it has what it fetched.
        if stage in FETCHED and self._neighbours(address) and (other := self.other_host(mac, address)):
            facts, detail = {**facts, OTHER_HOST: other}, f"{detail}, by another host, {other}"
        self.saw(mac, stage, detail, **facts)

    def osie_has_trouble(self, address: str, part: str, why: str) -> None:
        """Note what keeps the OSIE at an address from starting its worker, as it tells itself; `part` of it is concerned.

        Of a machine whose worker is in touch nothing is noted: where it stands is told by that.
        """
        mac = self.at(address)
        if mac is None:
            return
        record = self._machines.known.having(mac)
        if record is None or record.stage not in (Stage.WORKER, Stage.SERVICES):
            self.saw(mac, Stage.OSIE_TROUBLE, why, part=part)

    def moves(self, address: str) -> None:
        """Note that what a machine, known by its IPv4 address, asked for last still flows to it."""
        mac = self.at(address)
        if mac is not None:
            self._machines.timeline.moves(mac)

    def booted(self, mac: MacAddress) -> None:
        """Note that a machine is in its first minutes: one that went away by intention is back."""
        self._machines.progress.booted(mac)

    def _refused(self, mac: MacAddress, plan: Plan | None, address: IPv4Address) -> None:
        """Note that a script was asked for in vain, when it is this machine that asked: others may ask in its name.

        The words do not change with the address: a machine that has one after the other takes one line of its timeline.
        """
        if not self._is_its_host(mac, address):
            return
        own, why = None, self._without_permission(mac) if self.knows(mac) else Silence.UNKNOWN
        if plan is not None:
            own, why = plan.interface.address, Silence.ELSEWHERE
        facts = {"why": why.value, "address": str(address), "own": str(own or "")}
        self.saw(mac, Stage.SCRIPT_REFUSED, f"{why}, {own}" if own else why, **facts)

    def _came_by(self, mac: MacAddress) -> None:
        """A machine behind a router asked; those that did so too long ago are forgotten."""
        now = self._monotonic()
        self._behind_router[mac] = now
        self._behind_router.move_to_end(mac)
        while now - self._behind_router[oldest := next(iter(self._behind_router))] > BEHIND_ROUTER_SECONDS:
            del self._behind_router[oldest]

    def _as_learned(self, plan: Plan) -> Plan:
        return self._firmware_knowledge.applied(plan) if self._firmware_knowledge else plan

    def _known(self, client: Client) -> _Kept | None:
        """What is decided of a known machine, yet without an address of a pool."""
        facts = self._machines.boot_facts.of(client.mac)
        if facts is None:
            return None
        key = client.mac, client.netboots
        watched = self._firmware_knowledge.watched(client.mac) if self._firmware_knowledge else NOTHING_YET
        kept = self._kept.get(key)
        if kept is None or kept.facts is not facts or kept.watched is not watched:
            plan = dhcp_plan(facts, netboots=client.netboots)
            kept = _Kept(facts, watched, self._beside_others(watched.applied(plan)) if plan else None)
            if len(self._kept) >= MAX_KEPT:  # of machines that are no more, mostly
                self._kept.clear()
            self._kept[key] = kept
        return kept

    def _of_stranger(self, client: Client, interface: str) -> Plan | None:
        plan = self._strangers.plan(client, Interface(mac=client.mac), interface) if self._strangers else None
        return self._beside_others(self._as_learned(plan)) if plan else None

    def _beside_others(self, plan: Plan) -> Plan:
        """The plan, without an address where other servers give them."""
        if self._mode not in OTHERS_ADDRESSES or plan.interface.address is None:
            return self._on_its_network(plan)
        return replace(plan, interface=replace(plan.interface, address=None))

    def _on_its_network(self, plan: Plan) -> Plan:
        """The plan, with the netmask of the served network of its address where the document has none.

        Without such a network it is without an address.
        """
        interface = plan.interface
        if interface.address is None or interface.netmask is not None or self._mode in OTHERS_ADDRESSES:
            return plan
        subnet = self._network_of(int(interface.address))
        if subnet is None:
            return replace(plan, interface=replace(interface, address=None))
        return replace(plan, interface=replace(interface, netmask=subnet.network.netmask))

    def _may_be_told(self, plan: Plan, mac: MacAddress) -> bool:
        """Whether a plan with a reserved address, or with none, can be told to a machine now."""
        if self._mode in OTHERS_ADDRESSES:
            return plan.boot is not Boot.NOTHING
        reserved = plan.interface.address
        if reserved is None or reserved in self._unfit:
            return False
        # One that the pool lent before it was reserved becomes free when its holder asks for more time.
        return self._leases.holder(reserved) in (None, mac)

    def _with_lease(self, plan: Plan, kept: _Kept | None, client: Client, interface: str) -> Plan | None:
        """The plan with an address of the pool; None: there is none."""
        subnet = self.subnet_of(client, interface)
        lease = self._leases.offer(client, subnet) if subnet is not None else None
        if subnet is None or lease is None:
            return None
        if kept and kept.lent and kept.subnet is subnet and _same_address(kept.lent.lease, lease):
            return kept.lent
        term = self._leases.term(client, subnet)
        lent = replace(plan, lease=lease, interface=_lent(plan.interface, lease.address, subnet, term))
        if kept:
            kept.subnet, kept.lent = subnet, lent
        return lent

    def _is_at(self, interface: Interface, address: IPv4Address) -> bool:
        mac = interface.mac
        if self._mode != "proxy" and interface.address is not None:
            return interface.address == address
        if self._mode == "pool":
            return self._leases.holder(address) == mac
        return self._is_its_host(mac, address)

    def _is_its_host(self, mac: MacAddress, address: IPv4Address) -> bool:
        """Whether the host with this address is the machine, by rule 2."""
        if self._neighbours(str(address)) == mac:
            return True
        if any(address in each.network for each in self._subnets if each.interface):
            return False
        asked = self._behind_router.get(mac)
        return asked is not None and self._monotonic() - asked <= BEHIND_ROUTER_SECONDS


def _same_address(before: Lease | None, lease: Lease) -> bool:
    if before is None or before.proven != lease.proven:
        return False
    return before.address is lease.address or before.address == lease.address


def _lent(interface: Interface, address: IPv4Address, subnet: Subnet, term: int) -> Interface:
    """What a machine is told with an address of a pool: what its hardware says, else what the subnet does."""
    # Those of IPv6 alone are none that DHCP could tell.
    told = any(isinstance(each, IPv4Address) for each in interface.name_servers)
    return replace(
        interface,
        address=address,
        netmask=subnet.network.netmask,
        gateway=interface.gateway or subnet.gateway,
        name_servers=interface.name_servers if told else (*interface.name_servers, *subnet.name_servers),
        domain_name=interface.domain_name or subnet.domain_name,
        lease_seconds=min(interface.lease_seconds, term),
    )
