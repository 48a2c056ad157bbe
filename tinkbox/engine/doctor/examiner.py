"""The doctor's round: gathers what is known of the appliance and its machines, and has it diagnosed."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from ipaddress import IPv4Address

from tinkbox.engine.doctor.case import Case, OsieSize, held_back
from tinkbox.engine.doctor.doctor import diagnose
from tinkbox.engine.machines.boot_history import Seen
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.workflows.journals import LostWork
from tinkbox.model.boot import Stage
from tinkbox.model.diagnosis import Diagnosis, Gravity, Rival
from tinkbox.model.disk_usage import DiskUsage
from tinkbox.model.errors import Unavailable
from tinkbox.model.firmware_traits import FirmwareTraits
from tinkbox.model.hardware import MacAddress, primary
from tinkbox.model.inventory import Inventory
from tinkbox.model.leases import Claimant, Subnet
from tinkbox.model.limits import Standing

# What was seen last before that is no trouble of today.
RECENT = timedelta(days=1)
KEPT_SIGHTINGS = 400


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

    `inventory` gives what a machine, by its id or its MAC, told of itself; `firmware_traits` what was learned of one; `lost` are the
    lost histories, by the machine's id.  `disk` tells what takes room there, `limits` what is taken of each limit, and `at` whose an address is.
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
        self._limits = limits
        self._at = at
        self._claimants = claimants

    async def examine(self, key: str = "") -> Examination:
        """A machine, by its key or the MAC of one that nobody knows; without a key the appliance and whom it saw today.

        Raises NotFound for a machine that is not known and was not seen.
        """
        macs = await self._macs(key) if key else await self._noteworthy()
        rivals, unasked = await self._rivals()
        general = self._general(rivals, surveyed=not key)
        # What other servers there are, and who is held back, is said of the appliance, and not again of each machine.
        base = general if key else replace(general, rivals=None, limits=())
        cases = [] if key else [replace(general, disk=await self._disk())]
        cases += [await self._machine(base, each) for each in macs]
        found = [each for case in cases for each in diagnose(case)]
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

    async def _noteworthy(self) -> list[MacAddress]:
        """The machines that were seen lately, and those that wait for a person."""
        since = self._clock() - RECENT
        recent = [each.mac for each in self._machines.timeline.machines() if each.at > since]
        lost = [primary(self._machines.known.find(each).hardware).mac for each in await self._lost()]
        return list(dict.fromkeys([*recent, *lost]))

    async def _macs(self, key: str) -> list[MacAddress]:
        """Of all interfaces of a machine those that were seen; else that it boots from."""
        _, macs = await self._seen.which(key)
        return [each for each in macs if self._machines.timeline.newest(each)] or [macs[0]]

    def _general(self, rivals: tuple[Rival, ...] | None, *, surveyed: bool) -> Case:
        """The appliance's own case: what is the same for all machines."""
        premises = self._premises
        return Case(
            now=self._clock(),
            since=premises.since,
            address=premises.address,
            mode=premises.mode,
            subnets=premises.subnets,
            discovers=premises.discovers,
            rivals=rivals,
            osie=tuple(self._osie()),
            surveyed=surveyed,
            limits=tuple(each for each in self._limits() if each.notable),
            claimants=tuple(self._claimants()),
        )

    async def _machine(self, general: Case, mac: MacAddress) -> Case:
        hardware_id = self._machines.known.holder(mac)
        told = await self._seen.story(mac, 0)
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
        known, lost = await self._machines.get(hardware_id), (await self._lost()).get(hardware_id)
        if lost is not None and lost.history.restart is None:
            case = replace(case, lost_work=lost)
        interface = known.hardware.interface(mac)
        return replace(case, interface=interface, ticket=known.ticket, installed=known.installed, parked=known.parked)
