"""The doctor's round: gathers what is known of the appliance and its machines, and has it diagnosed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from ipaddress import IPv4Address

from tinkbox.engine.doctor.case import Case, OsieSize, held_back
from tinkbox.engine.doctor.doctor import diagnose
from tinkbox.engine.machines.boot_history import Seen
from tinkbox.engine.machines.boot_progress import is_its_own
from tinkbox.engine.machines.machines import Machines, MachineStatus
from tinkbox.engine.turns import Turns
from tinkbox.engine.workflows.journals import LostWork
from tinkbox.model.access import OPERATOR
from tinkbox.model.boot import Stage
from tinkbox.model.diagnosis import Diagnosis, Gravity, Rival
from tinkbox.model.disk_usage import DiskUsage
from tinkbox.model.errors import Conflict, Refusal, Unavailable
from tinkbox.model.firmware_traits import FirmwareTraits
from tinkbox.model.hardware import MacAddress, primary
from tinkbox.model.inventory import Inventory
from tinkbox.model.leases import Claimant, Subnet
from tinkbox.model.limits import Standing
from tinkbox.model.sightings import Sighting
from tinkbox.model.text import shortened

# What was seen last before that is no trouble of today.
RECENT = timedelta(days=1)
KEPT_SIGHTINGS = 400
FAULTS_KEPT = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """Where the appliance stands: its address, since when it serves, its networks, how it gives addresses.

    `discovers` tells that machines that nobody knows boot to tell what they are.
    """

    address: IPv4Address
    since: datetime
    mode: str
    subnets: tuple[Subnet, ...] = ()
    discovers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What the doctor found `at` a time.  `unasked` is why nobody was asked for other DHCP servers, or empty."""

    at: datetime
    mode: str
    machines: int
    unasked: str
    diagnoses: tuple[Diagnosis, ...]


class Examiner:
    """`ask` finds other DHCP servers (seconds; raises Unavailable), `osie` the OSIEs that were built.

    `osie` raises Refusal where none can be used.  `inventory` gives what a machine, by its id or its MAC, told of itself; `firmware_traits` what was learned of one; `lost` are the
    lost histories, by the machine's id.  `disk` tells what takes room there, `turns` bounds how many are made, `limits` tells what is taken of each limit, and
    `at` whose an address is.
    """

    def __init__(
        self,
        machines: Machines,
        seen: Seen,
        premises: Premises,
        ask: Callable[[], Awaitable[tuple[Rival, ...]]],
        osie: Callable[[], Sequence[OsieSize]],
        inventory: Callable[[str], Awaitable[Inventory | None]],
        firmware_traits: Callable[[MacAddress], FirmwareTraits],
        lost: Callable[[], Awaitable[Mapping[str, LostWork]]],
        disk: Callable[[], Awaitable[DiskUsage]],
        clock: Callable[[], datetime],
        turns: Turns,
        limits: Callable[[], Sequence[Standing]] = tuple,
        at: Callable[[str], MacAddress | None] = lambda _: None,
        claimants: Callable[[], Sequence[Claimant]] = tuple,
    ) -> None:
        self._machines = machines
        self._seen = seen
        self._premises = premises
        self._ask = ask
        self._osie = osie
        self._inventory = inventory
        self._firmware_traits = firmware_traits
        self._lost = lost
        self._disk = disk
        self._clock = clock
        self._turns = turns
        self._limits = limits
        self._at = at
        self._claimants = claimants
        self._faults: tuple[datetime, tuple[str, ...]] | None = None

    async def examine(self, key: str = "", who: str = OPERATOR) -> Examination:
        """A machine, by its key or the MAC of one that nobody knows; without a key the appliance and the noteworthy ones.

        It comes in a person's turn.  Raises TooMany when enough of theirs wait, and NotFound for a machine that is not known
        and was not seen.
        """
        with self._turns.place(who) as turn:
            async with turn():
                return await self._examine(key)

    async def faults_of_appliance(self) -> tuple[str, ...]:
        """The rules by which the appliance itself has a fault, as far as that costs little: no server is asked for.

        They are looked at anew every FAULTS_KEPT at most.
        """
        now = self._clock()
        if self._faults is None or not timedelta() <= now - self._faults[0] < FAULTS_KEPT:
            case = replace(self._general(None, surveyed=True), disk=await self._disk())
            found = [each.rule for each in diagnose(case) if each.gravity is Gravity.FAULT]
            self._faults = now, tuple(dict.fromkeys(found))
        return self._faults[1]

    async def _examine(self, key: str) -> Examination:
        lost = await self._lost()
        waited_for = await self._machines.waited_for()
        macs = await self._macs(key) if key else await self._noteworthy(lost, waited_for)
        if key and not macs:
            raise Conflict(
                f"the document of machine {shortened(key, 80)} tells no MAC, so nothing of its boots can be known: `tinkbox hardware "
                "edit MACHINE --add-mac MAC` tells one, and `tinkbox hardware credential MACHINE` lets a worker work without"
            )
        rivals, unasked = await self._rivals()
        general = self._general(rivals, surveyed=not key)
        # What other servers there are, and who is held back, is said of the appliance, and not again of each machine.
        base = general if key else replace(general, rivals=None, limits=())
        found = [] if key else list(diagnose(replace(general, disk=await self._disk())))
        for mac in macs:
            found += diagnose(await self._machine(base, mac, lost, waited_for))
            await asyncio.sleep(0)  # machines that boot are answered between two of them
        if not key:
            found = [each for each in found if each.gravity is not Gravity.HARMLESS]
        return Examination(
            at=self._clock(),
            mode=self._premises.mode,
            machines=len(macs),
            unasked=unasked,
            diagnoses=tuple(sorted(found, key=lambda each: each.gravity.rank)),
        )

    async def _rivals(self) -> tuple[tuple[Rival, ...] | None, str]:
        try:
            return await self._ask(), ""
        except Unavailable as why:
            return None, str(why)

    async def _noteworthy(self, lost: Iterable[str], waited_for: Iterable[str]) -> list[MacAddress]:
        """The machines that were seen lately, those that wait for a person, and those that workflows wait for."""
        since = self._clock() - RECENT
        recent = [each.mac for each in self._machines.timeline.machines() if each.at > since]
        shown = [primary(self._machines.known.find(each).hardware) for each in lost]
        waiting = [each.mac for each in shown if each]
        silent = set(waited_for) - {self._machines.known.holder(each) for each in recent}
        wanted = [mac for each in sorted(silent) if self._machines.known.get(each) for mac in await self._macs(each)]
        return list(dict.fromkeys([*recent, *waiting, *wanted]))

    async def _macs(self, key: str) -> list[MacAddress]:
        """Of all interfaces of a machine those that were seen; else that it boots from."""
        _, macs = await self._seen.which(key)
        return [each for each in macs if self._machines.timeline.newest(each)] or list(macs[:1])

    def _general(self, rivals: tuple[Rival, ...] | None, *, surveyed: bool) -> Case:
        """The appliance's own case: what is the same for all machines."""
        premises, osie_trouble = self._premises, ""
        try:
            osie = tuple(self._osie())
        except Refusal as refusal:
            osie, osie_trouble = (), str(refusal)
        return Case(
            now=self._clock(),
            since=premises.since,
            address=premises.address,
            mode=premises.mode,
            subnets=premises.subnets,
            discovers=premises.discovers,
            rivals=rivals,
            osie=osie,
            osie_trouble=osie_trouble,
            surveyed=surveyed,
            limits=tuple(each for each in self._limits() if each.notable),
            claimants=tuple(self._claimants()),
        )

    async def _machine(
        self, general: Case, mac: MacAddress, lost: Mapping[str, LostWork], waited_for: Mapping[str, datetime]
    ) -> Case:
        hardware_id = self._machines.known.holder(mac)
        told = await self._seen.of(mac)
        own = [each for each in told if each.mac == mac and each.stage is not Stage.SYSLOG]
        case = replace(
            general,
            mac=mac,
            sightings=tuple(own[-KEPT_SIGHTINGS:]),
            inventory=await self._inventory(hardware_id or mac),
            firmware_traits=self._firmware_traits(mac),
            limits=tuple(held_back(general.limits, lambda holder: holder == mac or self._at(holder) == mac)),
        )
        if not hardware_id:
            return case
        known, lost_work = await self._machines.get(hardware_id), lost.get(hardware_id)
        if lost_work is not None and lost_work.history.restart is None:
            case = replace(case, lost_work=lost_work)
        interface = known.hardware.interface(mac)
        facts = self._machines.boot_facts.of(mac)
        return replace(
            case,
            interface=interface,
            ticket=known.ticket,
            waited_since=waited_for.get(hardware_id),
            heard_at=self._heard_at(known, own),
            left=facts is not None and facts.left,
            installed=known.installed,
            parked=known.parked,
            retired=known.retired,
        )

    def _heard_at(self, known: MachineStatus, seen: Sequence[Sighting]) -> datetime | None:
        """When a machine itself last did anything that came here, by any of its interfaces; `seen` is what is known of one."""
        newest = (self._machines.timeline.newest(each.mac) for each in known.hardware.interfaces)
        seen = [*seen, *(each for each in newest if each)]
        times = [each.at for each in seen if is_its_own(each.stage, each.facts)]
        return max([*times, *([known.last_contact] if known.last_contact else [])], default=None)
