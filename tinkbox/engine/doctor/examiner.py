"""The doctor's round: gathers what is known of the appliance and its machines, and has it diagnosed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from ipaddress import IPv4Address
from itertools import islice

from tinkbox.engine.doctor.case import (
    FETCHED_BY_HTTP,
    MOST_NAMED,
    Case,
    Duty,
    Fault,
    KnownHost,
    Lent,
    NetworkQuestion,
    OsieSize,
    Work,
    held_back,
    moment,
    of,
    some,
    text,
)
from tinkbox.engine.doctor.case_within import (
    alone,
    general_within,
    machine_within,
    names_of,
    sightings_within,
    work_within,
)
from tinkbox.engine.doctor.doctor import diagnose, faults, first_line, reading_order, work_rules
from tinkbox.engine.doctor.pairing import Pairing, heard_of
from tinkbox.engine.doctor.presence import Presence
from tinkbox.engine.doctor.rounds import PartlyExamined
from tinkbox.engine.doctor.rules.boot_step import DISK_BOOTS_WITHIN
from tinkbox.engine.doctor.rules.pairing import is_called_controller
from tinkbox.engine.doctor.rules.silence import silent_since
from tinkbox.engine.doctor.surveys import Surveys
from tinkbox.engine.doctor.waiting import IN_TOUCH
from tinkbox.engine.doctor.work_in_hand import WorkInHand
from tinkbox.engine.machines.boot_history import Seen
from tinkbox.engine.machines.boot_plan import barred_reason
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.machines.timeline_within import works as works_of
from tinkbox.engine.timeline.sighting_rules import ended_at
from tinkbox.engine.timeline.stalls import stalled
from tinkbox.engine.timeline.syslog import LINES_PER_SECOND
from tinkbox.engine.turns import Turns
from tinkbox.engine.workflows.journals import LostWork
from tinkbox.engine.workflows.obstacles import boot_obstacles
from tinkbox.model import machine_keys
from tinkbox.model.access import OPERATOR
from tinkbox.model.boot import FORGEABLE, OWN_SYSTEM, Stage
from tinkbox.model.diagnosis import Diagnosis, Gravity, Heard, Rival
from tinkbox.model.disk_usage import DiskUsage
from tinkbox.model.errors import Conflict, Invalid, NotFound, Refusal, Unavailable
from tinkbox.model.firmware_traits import FirmwareTraits
from tinkbox.model.hardware import Interface, MacAddress, called, is_mac, primary
from tinkbox.model.inventory import Inventory
from tinkbox.model.labels import Selector
from tinkbox.model.leases import GIVES_ADDRESSES, Claimant, Lease, Subnet
from tinkbox.model.limits import Standing
from tinkbox.model.sightings import Sighting
from tinkbox.model.telling import Telling
from tinkbox.model.text import counted, machines_named, natural, one_line, quoted, shortened
from tinkbox.model.vitals import PACKET_FILTER, QUESTIONS_BY_MAC, Vitals
from tinkbox.model.workflow import BEGUN, FINAL, State

_log = logging.getLogger(__name__)

# What was seen last before that is no trouble of today.
RECENT = timedelta(days=1)
KEPT_SIGHTINGS = 400
# What is wrong when the appliance starts is found by then.
MEASURED_WITHIN = timedelta(minutes=1)
# So many timelines are read in one round; the others keep what was found of them until it is their turn.
FULL_LOOKS = 100
UNKNOWN_LOOKS = 20  # of unknown machines beside these: invented MACs take no turn from a known machine
EARLIER_LOOKS = 20  # the same of machines of which memory has the newest boot alone, once after the start
# A machine that a workflow waits for may be switched on later than the workflow is made.
WAITS_LONG = timedelta(minutes=10)
BOOTS_WITHIN = timedelta(minutes=1)  # from its first question to its boot script, emulated ones too
_TROUBLE = frozenset(
    {
        Stage.IGNORED,
        Stage.REFUSED,
        Stage.OTHER_SERVER,
        Stage.DECLINED,
        Stage.ADDRESS_KEPT,
        Stage.LOADER_FAILED,
        Stage.OSIE_TROUBLE,
        Stage.DOWNLOAD_TROUBLE,
        Stage.STEP_FAILED,
        Stage.SCRIPT_REFUSED,
        Stage.TICKET_REFUSED,
        Stage.METADATA_REFUSED,
        Stage.METADATA_STOLEN,
        Stage.STILL_THERE,
        Stage.PARKED,
    }
)
_LOADING = (Stage.LOADER_REQUESTED, Stage.LOADER)
_BEFORE_SCRIPT = (Stage.DISCOVER, Stage.OFFERED, Stage.REQUESTED, Stage.LEASED, *_LOADING)
_ADDRESSED = frozenset(
    {
        Stage.REQUESTED,
        Stage.OTHER_SERVER,
        Stage.BOOT_SERVER,
        Stage.LOADER_REQUESTED,
        Stage.LOADER,
        *FETCHED_BY_HTTP,
    }
)
# What a doctor's rule may tell of although the boot went on, and is so seldom that each such timeline is read.
_STAYS = frozenset(
    {
        Stage.DECLINED,
        Stage.ADDRESS_KEPT,
        Stage.OSIE_TROUBLE,
        Stage.DOWNLOAD_TROUBLE,
        Stage.STEP_FAILED,
        Stage.SCRIPT_REFUSED,
        Stage.TICKET_REFUSED,
        Stage.METADATA_REFUSED,
        Stage.METADATA_STOLEN,
        Stage.STILL_THERE,
    }
)
_UNTOLD = (State.SUCCESS, State.CANCELED)
_OF_WORK = frozenset(each.name for each in work_rules())


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """Where the appliance stands: its address, since when it serves, its networks, how it gives addresses.

    `discovers` tells that machines that nobody knows boot to tell what they are, `osie` is the folder of OSIEs.  `own` are the addresses on
    all networks, `address` that on the first one.
    """

    address: IPv4Address
    since: datetime
    mode: str
    subnets: tuple[Subnet, ...] = ()
    discovers: bool = False
    osie: str = "osie"
    own: frozenset[IPv4Address] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What the doctor found `at` a time.  `unasked` is why nobody was asked for other DHCP servers, or empty.

    `machines` and `workflows` count those that were looked at.  `workflow` is the id of the one that was asked for, empty otherwise.
    `examined` names what was looked at, `unexamined` what was not, each with why.  `appliance` is what is wrong with the appliance itself
    where a machine or a workflow was asked for.
    """

    at: datetime
    mode: str
    machines: int
    unasked: str
    diagnoses: tuple[Diagnosis, ...]
    workflows: int = 0
    workflow: str = ""
    examined: tuple[str, ...] = ()
    unexamined: tuple[tuple[str, str], ...] = ()
    appliance: tuple[Diagnosis, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What was `found` of a machine in a round, when `newest` was what was seen of it last, and its workflow stood at `stood`.

    One that `is_due` is not true any more: the machine has gone on since.
    """

    found: tuple[Diagnosis, ...]
    newest: Sighting | None
    stood: tuple[str, str, State] | None
    is_due: bool = False

    @property
    def lasts(self) -> bool:
        """Whether anything may be wrong with the machine itself; its workflow is looked at in memory."""
        return self.is_due or any(
            each.gravity is not Gravity.HARMLESS and each.rule not in _OF_WORK for each in self.found
        )


class Examiner:
    """`ask` finds other DHCP servers (seconds; raises Unavailable), `osie` the OSIEs that were built.

    `osie` raises Refusal where none can be used; `osie_gone` are those that were there since the start (`Case.osie_gone`), as of then.  `inventory` gives what a machine, by its id or its MAC, told of itself, and `inventory_at` when; `firmware_traits` what was learned of one; `lost` are the
    lost histories, by the machine's id.  `disk` tells what takes room there, `turns` bounds how many are made, `limits` tells what is taken of each limit, and
    `at` whose an address is.  `vitals` is what the appliance measures of itself, `unkept` since when and
    why it cannot keep what machines hand in.  `work` knows the workflows, `presence` what is seen of machines that fell silent, `lease_at` to whom an address of a pool is lent.
    """

    def __init__(
        self,
        machines: Machines,
        seen: Seen,
        premises: Premises,
        *,
        ask: Callable[[], Awaitable[Heard]],
        osie: Callable[[], Sequence[OsieSize]],
        inventory: Callable[[str], Awaitable[Inventory | None]],
        firmware_traits: Callable[[MacAddress], FirmwareTraits],
        lost: Callable[[], Awaitable[Mapping[str, LostWork]]],
        disk: Callable[[], Awaitable[DiskUsage]],
        clock: Callable[[], datetime],
        turns: Turns,
        limits: Callable[[], Sequence[Standing]],
        at: Callable[[str], MacAddress | None],
        claimants: Callable[[], Sequence[Claimant]],
        vitals: Callable[[], Awaitable[Vitals]],
        unkept: Callable[[], tuple[datetime, str] | None],
        work: WorkInHand,
        presence: Presence,
        lease_at: Callable[[IPv4Address], Lease | None],
        inventory_at: Callable[[str], Awaitable[datetime | None]] | None = None,
        osie_gone: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self._machines = machines
        self._seen = seen
        self._premises = premises
        self._ask = ask
        self._osie = osie
        self._osie_gone = osie_gone
        self._inventory = inventory
        self._inventory_at = inventory_at
        self._firmware_traits = firmware_traits
        self._lost = lost
        self._disk = disk
        self._clock = clock
        self._turns = turns
        self._limits = limits
        self._at = at
        self._claimants = claimants
        self._vitals = vitals
        self._unkept = unkept
        self._work = work
        self._presence = presence
        self._lease_at = lease_at
        self._pairing = Pairing(machines, inventory, clock)
        self._looked: dict[MacAddress, _Look] = {}  # what rounds found of machines in trouble, the oldest look first
        self._clear: dict[MacAddress, Sighting] = {}  # what was seen last of those of which nothing is to be read
        self._heard: tuple[Rival, ...] | None = None  # when the network was asked last
        self._question: NetworkQuestion | None = None
        self._unoffered: datetime | None = premises.since  # since when no server offered us an address; None: one did
        self._deaf_at: datetime | None = None  # when a fault that kept DHCP from machines was found last
        self._faults: dict[
            tuple[str, str], tuple[Fault, datetime]
        ] = {}  # of late, by their place, each with when it was found last
        # Since when each fault of the appliance is found, by rule and subject; None: perhaps since before the start.
        self._found_since: dict[tuple[str, str], datetime | None] = {}
        self._surveys = Surveys(lambda listens: self._survey(listens=listens))

    async def examine(self, key: str = "", who: str = OPERATOR, *, listens: bool = True) -> Examination:
        """A machine, by its key or the MAC of one that nobody knows; without a key everything there is.

        Unless it `listens` now, the other DHCP servers are those that were heard last.  It comes in a person's turn, and one
        of everything answers all who asked before it began.  Raises TooMany when enough of theirs wait, and NotFound for a machine that is not known
        and was not seen.
        """
        with self._turns.place(who) as turn:
            if not key:
                return await self._surveys.get(who, turn, listens=listens)
            async with turn():
                return await self._examine(key, listens=listens)

    async def examine_workflow(self, key: str, who: str = OPERATOR, *, listens: bool = True) -> Examination:
        """A workflow by its key (`Workflows`), with the machines that it needs now; raises as `examine`, and Conflict."""
        with self._turns.place(who) as turn:
            async with turn():
                return await self._examine_workflow(key, listens=listens)

    async def examine_either(self, key: str, who: str = OPERATOR, *, listens: bool = True) -> Examination:
        """A machine or a workflow, whichever a key means; a whole name or id beats the beginning of an id.

        Raises Conflict for a key that means both, and as `examine`.
        """
        machines, workflows = await self._meant(key)
        if machines and workflows:
            (workflow, *_) = workflows
            (machine, *_) = machines
            raise Conflict(
                f"{quoted(key)} means machine {self._machines.known.name(machine) or machine} and workflow {workflow[:8]}: type "
                f"`tinkbox doctor {machine}` for the machine, `tinkbox doctor {workflow[:8]}` for the workflow"
            )
        if workflows:
            return await self.examine_workflow(key, who, listens=listens)
        if not machines and not is_mac(key):
            raise NotFound(
                f"{quoted(key)} is no machine and no workflow: `tinkbox hardware list`, `tinkbox hardware discovered` and "
                "`tinkbox workflow list` show what there is"
            )
        return await self.examine(key, who, listens=listens)

    async def diagnosis_of(self, workflow_id: str) -> Diagnosis | None:
        """What is likeliest wrong with a workflow or the machine that it needs now; None: nothing, or it waits as it should.

        No server is asked for, and nobody waits for a turn.
        """
        try:
            vitals = await self._vitals()
            general = replace(self._general(None, vitals, surveyed=False), limits=(), refused_handshakes=())
            _, found, work = await self._of_workflow(workflow_id, general, vitals)
        except Refusal:
            raise
        except Exception:  # where a workflow stands is told whatever is wrong with its examination
            _log.exception("workflow %s cannot be examined", workflow_id, extra={"action": "doctor.workflow"})
            return None
        if work.state in _UNTOLD:
            return None
        # Once an action runs, what is told of another card of its machine, or of another machine, does not hold it up.
        return first_line(each for each in found if each.workflow == work.id or work.action_state not in BEGUN)

    def name_of(self, mac: str) -> str:
        """What people call a machine, by a MAC of it; empty for an unknown one."""
        known = self._machines.known
        return known.name(known.holder(MacAddress(mac))) if mac else ""

    async def waits(self, workflow_id: str) -> Telling:
        """What a workflow waits for, as what stands behind "waiting for"; empty: nothing."""
        return await self._work.waits(workflow_id)

    async def round(self) -> tuple[Diagnosis, ...]:
        """What is wrong now, as far as that costs little: what was heard of other servers is what `listen` heard last.

        Machines that do as they should are looked at in memory alone; the timelines of so many of the others are read as
        FULL_LOOKS and UNKNOWN_LOOKS say, and what was found before stands for the rest.  Raises PartlyExamined where the store does
        not tell of disk, machines or workflows.
        """
        vitals = await self._vitals()
        general = self._general(self._heard, vitals, surveyed=True)
        disk, untold = await self._room()
        found = list(diagnose(replace(general, disk=disk, vitals=vitals)))
        try:
            found += await self._of_machines_and_workflows(general, vitals)
        except Exception as why:  # whatever is wrong with the store, what the appliance measured of itself is told
            raise PartlyExamined(found, why) from why
        if untold is not None:
            raise PartlyExamined(found, untold) from untold
        return tuple(each for each in found if each.gravity is not Gravity.HARMLESS)

    async def _room(self) -> tuple[DiskUsage | None, Refusal | None]:
        """What takes room on the disk, or why the store does not tell."""
        try:
            return await self._disk(), None
        except Refusal as why:
            return None, why

    async def _of_machines_and_workflows(self, general: Case, vitals: Vitals) -> list[Diagnosis]:
        base = replace(general, rivals=None, limits=(), refused_handshakes=())
        works = await self._work.under_way()
        by_mac = {each.machine: each for each in works if each.machine is not None and not each.before}
        asked_in_vain = {each.mac for each in vitals.tagged} | {mac for each in vitals.unheard for mac in each.macs}
        troubled = self._troubled(by_mac, asked_in_vain, {each.architecture for each in base.osie})
        found = await self._looked_at(troubled, base, by_mac, vitals)
        covered = {by_mac[mac].id for mac, look in self._looked.items() if mac in by_mac and not look.is_due}
        rules = work_rules()
        for number, work in enumerate(works):
            if work.id not in covered:
                seen = self._machines.timeline.newest(work.machine) if work.machine else None
                found += diagnose(
                    replace(base, mac=work.machine, work=work, heard_at=ended_at(seen) if seen else None), rules
                )
            if number % 50 == 49:
                await asyncio.sleep(0)
        return found

    @property
    def has_asked(self) -> bool:
        """Whether the network was asked for other DHCP servers since the start, on all interfaces or with an answer, whoever wanted that."""
        return self._question is not None

    async def listen(self) -> None:
        """Ask for other DHCP servers, which takes seconds, and keep who answered for the rounds."""
        await self._rivals()

    def _troubled(
        self, works: Mapping[MacAddress, Work], asked_in_vain: Collection[MacAddress], osie: Collection[str]
    ) -> list[MacAddress]:
        """The machines of which more is to be read: what was seen of their boot or found of them, their document, or the silence of their workers, says so.

        `osie` are the architectures of the OSIEs that there are.
        """
        now = self._clock()
        found: list[MacAddress] = []
        clear: dict[MacAddress, Sighting] = {}
        earlier = 0
        for each in self._machines.timeline.machines():
            if now - each.at > RECENT:
                continue
            silent_at_disk = each.stage is Stage.LOCAL_DISK and now - each.at > DISK_BOOTS_WITHIN
            # Whatever came afterwards: what was found stands until it is not found any more.
            was_found = each.mac in self._looked and self._looked[each.mac].lasts
            # Where another server gives addresses, an unknown machine may fetch its boot loader again and again, and never stand still.
            loads = each.stage in _LOADING and not self._machines.known.knows(each.mac) and self._is_led_here
            if each.stage in _TROUBLE or silent_at_disk or was_found or loads or stalled(each, now):
                found.append(each.mac)
                continue
            before = self._clear.get(each.mac)
            is_earlier = before is None and each.at < self._premises.since
            earlier += is_earlier
            if is_earlier:
                if earlier <= EARLIER_LOOKS:
                    found.append(each.mac)
            elif before is not each and self._machines.timeline.last(each.mac, _stays) is not None:
                found.append(each.mac)
            else:
                clear[each.mac] = each
        self._clear = clear
        for mac, work in works.items():
            silent = silent_since(work, self._premises.since, now) is not None
            seen = self._seen_since(work)
            unseen = bool(work.waits) and now - work.created_at > WAITS_LONG and not seen
            strays = bool(work.waits) and (
                mac in asked_in_vain or is_called_controller(self._machines.timeline.newest(mac))
            )
            # Boots that begin again and again never stand still.
            lingers = bool(work.waits) and seen and now - work.created_at > BOOTS_WITHIN and self._is_before_script(mac)
            at_disk = bool(work.waits) and self._runs_its_own_system(mac, work.created_at)
            if (
                silent
                or unseen
                or strays
                or lingers
                or at_disk
                or self._work.warned(work)
                or self._cannot_boot(work, osie)
            ):
                found.append(mac)
        return list(dict.fromkeys(found))

    def _cannot_boot(self, work: Work, osie: Collection[str]) -> bool:
        """Whether the document of a workflow's machine alone says that it cannot boot for that, as `workflow create` tells."""
        record = self._machines.known.get(work.hardware_id)
        if record is None or not work.waits:
            return False
        # That there is no OSIE at all is said of the appliance.
        built = osie or {each.architecture for each in record.hardware.interfaces}
        return any(boot_obstacles([record.hardware], built, self._machines.known.key))

    @property
    def _is_led_here(self) -> bool:
        """Whether another server gives machines their addresses, and we the rest."""
        return self._premises.mode not in GIVES_ADDRESSES

    def _is_before_script(self, mac: MacAddress) -> bool:
        """Whether a machine boots, and has not come to its boot script."""
        newest = self._machines.timeline.newest(mac)
        return newest is not None and newest.stage in _BEFORE_SCRIPT

    def _runs_its_own_system(self, mac: MacAddress, since: datetime) -> bool:
        """Whether the newest of a machine, and later than that, is what its disk's system did."""
        newest = self._machines.timeline.newest(mac)
        return newest is not None and newest.stage in OWN_SYSTEM and ended_at(newest) >= since

    def _seen_since(self, work: Work) -> bool:
        """Whether anything came of the machine since the workflow was made."""
        newest = self._machines.timeline.newest(work.machine) if work.machine else None
        times = [each for each in (work.contact, newest.at if newest else None) if each is not None]
        return bool(times) and max(times) >= work.created_at

    async def _looked_at(
        self, troubled: Sequence[MacAddress], base: Case, works: Mapping[MacAddress, Work], vitals: Vitals
    ) -> list[Diagnosis]:
        """What is found of these machines, some of which were looked at in an earlier round."""
        wanted = set(troubled)
        # Where there are very many, nothing is told of one that has gone on before it was looked at again.
        self._looked = {
            mac: replace(look, found=(), is_due=True) if self._has_gone_on(mac, look, works.get(mac)) else look
            for mac, look in self._looked.items()
            if mac in wanted
        }
        if troubled:
            lost, waited_for = await self._lost(), await self._machines.waited_for()
            for mac in self._turn(troubled):
                newest = self._machines.timeline.newest(mac)
                work = works.get(mac)
                case = await self._machine(base, mac, lost, waited_for, work, vitals)
                self._looked.pop(mac, None)
                self._looked[mac] = look = _Look(found=diagnose(case), newest=newest, stood=_standing(work))
                if newest is not None and not look.lasts:
                    self._clear[mac] = newest
                await asyncio.sleep(0)
        return [each for look in self._looked.values() for each in look.found]

    def _turn(self, troubled: Sequence[MacAddress]) -> list[MacAddress]:
        """Whose timelines are read in this round: first those of which nothing is known, then those that were looked at longest ago."""
        ours, unknown = list[MacAddress](), list[MacAddress]()
        first = [mac for mac in troubled if (look := self._looked.get(mac)) is None or look.is_due]
        for mac in dict.fromkeys((*first, *self._looked)):
            (ours if self._machines.known.knows(mac) else unknown).append(mac)
        return ours[:FULL_LOOKS] + unknown[:UNKNOWN_LOOKS]

    def _has_gone_on(self, mac: MacAddress, look: _Look, work: Work | None) -> bool:
        """Whether a machine came further since it was looked at, as no other host can do in its name, or its workflow did."""
        newest = self._machines.timeline.newest(mac)
        further = newest is not None and newest is not look.newest and newest.stage not in _TROUBLE | FORGEABLE
        return look.is_due or further or look.stood != _standing(work)

    async def _survey(self, *, listens: bool) -> Examination:
        """The appliance, the network, the machines that were seen lately or are needed, and the workflows."""
        rivals, unasked = await self._others(listens=listens)
        vitals = await self._vitals()
        general = self._general(rivals, vitals, surveyed=True)
        disk, untold = await self._room()
        found = list(diagnose(replace(general, disk=disk, vitals=vitals)))
        unexamined = {"disk": str(untold)} if untold is not None else {}
        macs: Sequence[MacAddress] | None = None
        workflows = 0
        try:
            macs, workflows, others = await self._survey_of_machines(general, vitals)
            told = {(each.rule, each.cause) for each in found}
            found += [each for each in others if (each.rule, each.cause) not in told]  # once, of the appliance
        except Exception as why:  # whatever is wrong with the store, what the appliance measured of itself is told
            if not isinstance(why, Refusal):
                _log.exception("machines and workflows cannot be examined", extra={"action": "doctor.survey"})
            unexamined["machines and workflows"] = one_line(str(why), 300) or type(why).__name__
        unexamined |= vitals.unexamined
        return Examination(
            at=self._clock(),
            mode=self._premises.mode,
            machines=len(macs or ()),
            unasked=unasked,
            diagnoses=_sorted(each for each in found if each.gravity is not Gravity.HARMLESS),
            workflows=workflows,
            examined=_examined(unexamined, unasked, None if macs is None else len(macs), workflows),
            unexamined=self._unexamined(unexamined, unasked, macs),
        )

    async def examine_within(
        self, scope: Selector, who: str = OPERATOR, *, machine: str = "", workflow: str = ""
    ) -> Examination:
        """A machine or a workflow of a scope, by its id; without both all machines of the scope.

        Nothing is told of what is outside, nor of the appliance itself: no other DHCP server is asked for.  Raises as `examine`.
        """
        with self._turns.place(who) as turn:
            async with turn():
                return await self._examine_within(scope, machine, workflow)

    async def _examine_within(self, scope: Selector, machine: str, workflow: str) -> Examination:
        vitals = await self._vitals()
        base = general_within(self._general(None, vitals, surveyed=False))
        lost, is_one = await self._lost(), bool(machine or workflow)
        patient = await self._work.patient(workflow) if workflow else None
        if patient is not None:
            ids = [each for each in patient.machines if patient.work.state not in FINAL]
        else:
            ids = [machine] if machine else await self._noteworthy_within(scope, lost)
        works = await self._work.of_machines(ids)
        if patient is not None:
            works[patient.work.hardware_id] = patient.work
        named = {one for each in works.values() for one in names_of(each)}
        named |= {one for each in ids if each in lost for one in lost[each].of}
        outside = await self._machines.work_outside(scope, named)
        found, looked, unexamined = list[Diagnosis](), 0, list[tuple[str, str]]()
        told: dict[str, Work] = {}
        for each, work in works.items():
            known = self._machines.within(scope).get(each)
            name = called(known.hardware) if known is not None else ""
            parked = (await self._machines.get(each, scope)).parked if known is not None else ""
            kept, why = work_within(work, outside, parked)
            if kept is not None:
                told[each] = kept
            elif work.state not in _UNTOLD:
                unexamined.append((f"the work of machine {name}", why))
        for each in ids:
            if not self._machines.within(scope).has(each):
                continue  # its labels were changed meanwhile
            macs = await self._macs(each)
            if is_one and not macs:
                raise _without_mac(each)
            is_examined = True
            for mac in macs:
                own, is_whole = await self._of_machine_within(
                    scope, base, mac, each, lost, told.get(each), outside, vitals
                )
                found += own
                if not is_whole:
                    is_examined = False
                    unexamined.append((f"how machine {self.name_of(mac) or mac} boots", _HIDDEN))
                await asyncio.sleep(0)
            looked += is_examined
        for work in told.values():
            about = {(each.rule, each.subject) for each in found if each.workflow == work.id}
            of_work = await self._of_work(work, base) if work.state not in _UNTOLD or patient is not None else ()
            found += [alike for alike in of_work if (alike.rule, alike.subject) not in about]
        # What is of neither is said of the appliance.
        found = [each for each in found if each.machine or each.workflow]
        grave = [each for each in found if each.gravity is not Gravity.HARMLESS]
        return Examination(
            at=self._clock(),
            mode=self._premises.mode,
            machines=looked,
            unasked="",
            diagnoses=_sorted(found if is_one and not grave else grave),
            workflows=len(told),
            workflow=workflow,
            examined=(_looked_at(looked), f"{counted(len(told), 'workflow')} of these"),
            unexamined=(*unexamined, _OUTSIDE),
        )

    async def _of_machine_within(
        self,
        scope: Selector,
        base: Case,
        mac: MacAddress,
        hardware_id: str,
        lost: Mapping[str, LostWork],
        work: Work | None,
        outside: Collection[str],
        vitals: Vitals,
    ) -> tuple[Sequence[Diagnosis], bool]:
        """What is found of a machine, and whether that is of how it boots as well."""
        if work is not None and (work.machine != mac or work.state in _UNTOLD):
            work = None
        waited_for = {hardware_id: work.created_at} if work is not None and work.state not in FINAL else {}
        own_lost = {hardware_id: lost[hardware_id].within(outside)} if hardware_id in lost else {}
        case = await self._booted(base, mac, own_lost, waited_for)
        hidden = await self._machines.work_outside(scope, works_of(case.sightings))
        sightings, is_whole = sightings_within(case.sightings, hidden)
        parked = (await self._machines.get(hardware_id, scope)).parked
        case = machine_within(case, sightings, parked)
        if not is_whole:
            return (), False
        case = await self._presence.with_relay(await self._presence.with_conflict(case))
        if work is not None:
            if work.printed is None:
                work = await self._work.with_output(work)
            case = await self._presence.examined(replace(case, work=await self._with_surroundings(work)), vitals)
            case = replace(case, work=alone(case.work) if case.work is not None else None)
        return diagnose(case), True

    async def _noteworthy_within(self, scope: Selector, lost: Collection[str]) -> list[str]:
        """The ids of the machines of a scope that were seen lately, that wait for a person, or that workflows wait for."""
        since = self._clock() - RECENT
        seen = {self._machines.known.holder(each.mac) for each in self._machines.timeline.machines() if each.at > since}
        wanted = {*seen, *lost, *await self._machines.waited_for(), *await self._work.failed_since(since)}
        retired = {each.hardware.id for each in self._machines.known.all() if each.retired is not None}
        return [each for each in self._machines.within(scope).ids() if each in wanted - retired]

    async def _survey_of_machines(self, general: Case, vitals: Vitals) -> tuple[list[MacAddress], int, list[Diagnosis]]:
        """Which machines were looked at, how many workflows, and what was found of both."""
        lost, waited_for = await self._lost(), await self._machines.waited_for()
        # What other servers there are, and who is held back, is said of the appliance, and not again of each machine.
        base = replace(general, rivals=None, limits=(), refused_handshakes=())
        under_way = await self._work.under_way()
        failed = await self._work.failed_since(general.now - RECENT)
        macs = await self._noteworthy(lost, [*waited_for, *failed])
        found = await self._of_machines(macs, base, lost, waited_for, vitals)
        told = {each.workflow for each in found}
        apart = [each for each in under_way if each.id not in told]
        without_mac = [each for each in failed if not self._machines.known.find(each).hardware.interfaces]
        apart += [*(await self._work.of_machines(without_mac)).values()]
        for work in apart:
            found += await self._of_work(work, base)
        return macs, len(under_way), found

    async def _examine(self, key: str, *, listens: bool) -> Examination:
        """One machine."""
        macs = await self._macs(key)
        if not macs:
            raise _without_mac(key)
        rivals, unasked = await self._others(listens=listens)
        vitals = await self._vitals()
        general = self._general(rivals, vitals, surveyed=False)
        lost, waited_for = await self._lost(), await self._machines.waited_for()
        found = await self._of_machines(macs, general, lost, waited_for, vitals)
        return Examination(
            at=self._clock(),
            mode=self._premises.mode,
            machines=len(macs),
            unasked=unasked,
            diagnoses=_sorted(found),
            workflows=len({each.workflow for each in found} - {""}),
            examined=(
                "how it boots",
                "its newest workflow",
                _APPLIANCE,
                *(["other DHCP servers"] if not unasked else []),
            ),
            unexamined=(*_unasked(unasked), *_uncompared(vitals), *self._unheard(macs), _REST),
            appliance=await self._of_appliance(rivals, vitals, found),
        )

    async def _examine_workflow(self, key: str, *, listens: bool) -> Examination:
        rivals, unasked = await self._others(listens=listens)
        vitals = await self._vitals()
        general = self._general(rivals, vitals, surveyed=False)
        machines, found, work = await self._of_workflow(key, general, vitals)
        others = await self._work.others_called(key, work.id) if key not in (work.id, "") and key == work.name else []
        return Examination(
            at=self._clock(),
            mode=self._premises.mode,
            machines=machines,
            unasked=unasked,
            diagnoses=_sorted(found),
            workflows=1,
            workflow=work.id,
            examined=(
                "where it stands",
                "its images",
                "its services",
                *(["how its machine boots"] if machines else []),
                _APPLIANCE,
                *(["other DHCP servers"] if not unasked else []),
            ),
            unexamined=(
                *_unasked(unasked),
                *(_uncompared(vitals) if machines else ()),
                *self._unheard(self._machines.known.macs_of([work.hardware_id])),
                *_namesakes(key, others),
                _REST,
            ),
            appliance=await self._of_appliance(rivals, vitals, found),
        )

    async def _of_appliance(
        self, rivals: tuple[Rival, ...] | None, vitals: Vitals, found: Sequence[Diagnosis]
    ) -> tuple[Diagnosis, ...]:
        """The faults of the appliance itself beside what was `found` of one machine or workflow, which it may explain.

        Also what is suspected to stop its duties.
        """
        disk, _ = await self._room()
        general = self._general(rivals, vitals, surveyed=True)
        own = diagnose(replace(general, disk=disk, vitals=vitals))
        told, stopping = {(each.rule, each.cause) for each in found}, {each.rule for each in general.faults}
        grave = (each for each in own if each.gravity is Gravity.FAULT or each.rule in stopping)
        return tuple(each for each in grave if (each.rule, each.cause) not in told)

    async def _of_workflow(self, key: str, general: Case, vitals: Vitals) -> tuple[int, list[Diagnosis], Work]:
        """How many machines were looked at, what was found, the gravest first, and where the workflow stands."""
        patient = await self._work.patient(key)
        work = replace(patient.work, unkept=self._unkept())
        lost, waited_for = await self._lost(), await self._machines.waited_for()
        macs = (
            [mac for each in patient.machines if self._machines.known.has(each) for mac in await self._macs(each)]
            if work.state not in FINAL
            else []
        )
        found = await self._of_machines(macs, general, lost, waited_for, vitals, work)
        # What the machine's own examination said of the workflow is not said again.
        told = {(each.rule, each.subject) for each in found if each.workflow == work.id}
        grave = any(each.gravity is not Gravity.HARMLESS for each in found)
        found += [
            each
            for each in await self._of_work(work, general)
            if (each.rule, each.subject) not in told and not (grave and each.gravity is Gravity.HARMLESS)
        ]
        return len(macs), [*_sorted(found)], work

    async def _of_machines(
        self,
        macs: Sequence[MacAddress],
        base: Case,
        lost: Mapping[str, LostWork],
        waited_for: Mapping[str, datetime],
        vitals: Vitals,
        patient: Work | None = None,
    ) -> list[Diagnosis]:
        """What is found of machines; the workflow that is the `patient` is told of its own machine instead of another one."""
        ids = {each: self._machines.known.holder(each) for each in macs}
        works = await self._work.of_machines({*ids.values()} - {""})
        found: list[Diagnosis] = []
        for mac in macs:
            work = works.get(ids[mac])
            if patient is not None and patient.machine == mac and not patient.before:
                work = patient
            if work is not None and (work.machine != mac or work.state in _UNTOLD):
                work = None
            if work is not None and work.printed is None and not base.surveyed:
                work = await self._work.with_output(work)
            found += diagnose(await self._machine(base, mac, lost, waited_for, work, vitals))
            await asyncio.sleep(0)  # machines that boot are answered between two of them
        return found

    async def _of_work(self, work: Work, base: Case) -> tuple[Diagnosis, ...]:
        """What is found of a workflow alone."""
        told = await self._with_surroundings(work)
        inventory = await self._inventory(told.hardware_id) if told.kernel else None
        return diagnose(replace(base, mac=told.machine, work=told, inventory=inventory), work_rules())

    async def _with_surroundings(self, work: Work) -> Work:
        """The same with what its machine's kernel said, and what is known of its machine's way to others."""
        record = self._machines.known.get(work.hardware_id)
        interface = record.hardware.interface(work.machine) if record is not None and work.machine else None
        return await self._presence.with_way(await self._work.with_kernel(work), interface)

    async def _meant(self, key: str) -> tuple[Sequence[str], Sequence[str]]:
        """The ids of the machines and workflows that a key means: by their whole ids or names, else by a beginning."""
        known = self._machines.known
        machines: Sequence[str] = machine_keys.exactly(known, key)
        workflows: Sequence[str] = await self._work.named(key)
        if machines or workflows or is_mac(key):
            return machines, workflows
        return machine_keys.beginning(known, key), await self._work.beginning(key)

    def _unexamined(
        self, unmeasured: Mapping[str, str], unasked: str, macs: Sequence[MacAddress] | None
    ) -> tuple[tuple[str, str], ...]:
        """What a survey does not look at, each with why; `macs` are the machines that it did, None: they could not be."""
        known = self._machines.known
        looked_at = {known.holder(each) for each in macs or ()}
        left = sum(each.retired is None and each.hardware.id not in looked_at for each in known.all())
        found = [*_unasked(unasked), *unmeasured.items(), *self._unheard(macs or ())]
        if left and macs is not None:
            them = "it" if left == 1 else "them"
            found.append((counted(left, "other machine"), f"never seen or not for a day, and no workflow needs {them}"))
        return tuple(found)

    def _unheard(self, macs: Iterable[MacAddress]) -> Iterator[tuple[str, str]]:
        """What machines with these MACs said by syslog and nobody read, as it was dropped, with why."""
        lost = {mac: told for mac in macs if (told := self._seen.lost_lines(mac)) is not None}
        if lost:
            lines = sum(each.lines for each in lost.values())
            names = sorted({self.name_of(mac) or mac for mac in lost}, key=natural)
            since, newest = min(each.since for each in lost.values()), max(each.newest for each in lost.values())
            yield (
                f"{counted(lines, 'line')} of syslog of {machines_named(names)}",
                f"they came faster than {LINES_PER_SECOND:.0f} a second and were dropped, the first at {moment(since)}, the last at {moment(newest)}",
            )

    async def _others(self, *, listens: bool) -> tuple[tuple[Rival, ...] | None, str]:
        """The other DHCP servers, and why they are not known."""
        if listens:
            return await self._rivals()
        return self._heard, "" if self._heard is not None else "the appliance has not asked for them yet"

    async def _rivals(self) -> tuple[tuple[Rival, ...] | None, str]:
        begun = self._clock()
        try:
            heard = await self._ask()
        except Unavailable as why:
            self._heard = None
            return None, str(why)
        # Where it was asked on some interfaces alone, that there is no other server cannot be said.
        self._heard = heard.rivals if heard.rivals or not heard.unasked else None
        offered = any(each.offered is not None for each in heard.rivals)
        if offered or not heard.unasked:
            booting = tuple(each for each in heard.rivals if each.names_boot)
            self._question = NetworkQuestion(at=begun, answered=bool(heard.rivals), offered=offered, booting=booting)
            self._unoffered = None if offered else self._unoffered or begun
        return self._heard, heard.unasked

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

    def _general(self, rivals: tuple[Rival, ...] | None, vitals: Vitals, *, surveyed: bool) -> Case:
        """The appliance's own case: what is the same for all machines, with the faults that `vitals` show."""
        premises, osie_trouble, is_served = self._premises, "", False
        try:
            osie = tuple(self._osie())
        except Refusal as refusal:
            # What machines are sent is not looked for in a description.
            osie, osie_trouble, is_served = (), str(refusal), isinstance(refusal, Invalid)
        limits, claimants = tuple(each for each in self._limits() if each.notable), tuple(self._claimants())
        addressed = self._addressed()
        general = Case(
            now=self._clock(),
            since=premises.since,
            address=premises.address,
            own=premises.own,
            own_macs=_own_macs(vitals),
            mode=premises.mode,
            subnets=premises.subnets,
            discovers=premises.discovers,
            rivals=rivals,
            osie=osie,
            osie_trouble=osie_trouble,
            osie_served=is_served,
            osie_folder=premises.osie,
            osie_gone=self._osie_gone(),
            osie_fetched=self._machines.timeline.kernel_fetched if not osie else None,
            surveyed=surveyed,
            limits=limits,
            refused_handshakes=vitals.refused_handshakes,
            claimants=claimants,
            tagged=vitals.tagged,
            arp_questions=vitals.arp_questions,
            unnoted=self._machines.timeline.unnoted(),
            question=self._question,
            addressed=addressed,
            hosts=self._hosts(
                (
                    *_shown(rivals or (), vitals),
                    *(each.mac for each in claimants),
                    *_holders(limits),
                    *(addressed or ())[:1],
                ),
            ),
        )
        found = self._dated(faults(replace(general, vitals=vitals)))
        if any(Duty.DHCP in each.stops.duties for each in found):
            self._deaf_at = general.now
        return replace(general, faults=found, deaf_at=self._deaf_at, mended=self._mended(found, general.now))

    def _mended(self, found: Sequence[Fault], now: datetime) -> tuple[tuple[Fault, datetime], ...]:
        """The faults that were found of late, and are not `found` now."""
        recent = {place: each for place, each in self._faults.items() if each[1] > now - RECENT}
        self._faults = recent | {each.place: (each, now) for each in found}
        lasting = {each.place for each in found}
        return tuple(each for place, each in self._faults.items() if place not in lasting)

    def _addressed(self) -> tuple[MacAddress, datetime] | None:
        """The machine that was seen last with an address of another server, of late and while no server offered us one, and when."""
        now = self._clock()
        if self._premises.mode in GIVES_ADDRESSES or self._unoffered is None:
            return None
        timeline, since = self._machines.timeline, max(self._unoffered, now - RECENT)
        for each in timeline.machines():
            at = timeline.last(each.mac, _has_address) if ended_at(each) >= since else None
            if at is not None and at >= since:
                return each.mac, at
        return None

    def _dated(self, found: Sequence[Fault]) -> tuple[Fault, ...]:
        """The appliance's faults, each with since when it is found where it does not tell since when it lasts."""
        now, before = self._clock(), self._found_since
        first = now if now - self._premises.since > MEASURED_WITHIN else None
        self._found_since = {each.place: before.get(each.place, first) for each in found}
        return tuple(
            replace(each, stops=replace(each.stops, since=each.stops.since or self._found_since[each.place]))
            for each in found
        )

    async def _machine(
        self,
        general: Case,
        mac: MacAddress,
        lost: Mapping[str, LostWork],
        waited_for: Mapping[str, datetime],
        work: Work | None,
        vitals: Vitals,
    ) -> Case:
        """A machine's case; `work` is what it works on, `vitals` are the appliance's, for what may keep its worker silent."""
        booted = await self._booted(general, mac, lost, waited_for)
        case = self._presence.with_bridge(await self._presence.with_relay(await self._presence.with_conflict(booted)))
        if work is None:
            return case
        case = replace(case, work=await self._with_surroundings(work))
        return await self._presence.examined(case, vitals)

    async def _booted(
        self, general: Case, mac: MacAddress, lost: Mapping[str, LostWork], waited_for: Mapping[str, datetime]
    ) -> Case:
        hardware_id = self._machines.known.holder(mac)
        # Of thousands that only wait nothing ever came, so that nothing is to be read.
        came = self._came(mac, hardware_id)
        told = await self._seen.of(mac) if came else []
        own = [each for each in told if each.mac == mac and each.stage is not Stage.SYSLOG]
        inventory = await self._inventory(hardware_id or mac)
        case = replace(
            general,
            mac=mac,
            sightings=tuple(own[-KEPT_SIGHTINGS:]),
            hosts={**general.hosts, **self._hosts(_others_shown(own))},
            said=tuple(await self._seen.complaints(mac)) if came else (),
            inventory=inventory,
            inventory_at=await self._inventory_at(hardware_id or mac) if inventory and self._inventory_at else None,
            firmware_traits=self._firmware_traits(mac),
            limits=tuple(held_back(general.limits, lambda holder: holder == mac or self._is_at(mac, holder))),
            refused_handshakes=tuple(each for each in general.refused_handshakes if self._is_at(mac, each.host)),
        )
        if not hardware_id:
            return replace(case, near=await self._pairing.waited_for(case, waited_for))
        known, lost_work = await self._machines.get(hardware_id), lost.get(hardware_id)
        if lost_work is not None and lost_work.history.restart is None:
            case = replace(case, lost_work=lost_work)
        interface = known.hardware.interface(mac)
        facts = self._machines.boot_facts.of(mac)
        heard_at = heard_of(self._machines, known.hardware, own)
        return replace(
            case,
            interface=interface,
            ticket=known.ticket,
            waited_since=waited_for.get(hardware_id),
            pushed_at=known.updated_at,
            heard_at=heard_at,
            barred=barred_reason(known.hardware, ticket=known.ticket),
            lent=self._lent(interface, mac),
            near=self._pairing.unknown(case, known, heard_at, waited_for.get(hardware_id)),
            left=facts is not None and facts.left,
            installed=known.installed,
            parked=known.parked,
            retired=known.retired,
        )

    def _is_at(self, mac: MacAddress, address: str) -> bool:
        """Whether a card has this address, by what was seen or by its machine's document: a worker by hand may have another MAC."""
        return mac in (self._at(address), self._machines.known.mac_at(address))

    def _hosts(self, shown: Iterable[str]) -> dict[str, KnownHost]:
        """Of MACs and addresses from the network those that machines of ours have."""
        known, found = self._machines.known, dict[str, KnownHost]()
        for each in dict.fromkeys(shown):
            mac = self._at(each)
            hardware_id = known.at(each) or (known.holder(mac) if mac else "")
            if hardware_id:
                found[each] = KnownHost(
                    name=known.name(hardware_id) or hardware_id, in_touch=self._in_touch(hardware_id)
                )
        return found

    def _in_touch(self, hardware_id: str) -> bool:
        """Whether a machine's worker was heard lately, or it boots to where that will be: what no other host can do in its name."""
        contact = self._machines.progress.last_contact(hardware_id)
        seen = map(self._machines.timeline.newest, self._machines.known.macs_of([hardware_id]))
        times = [contact, *(each.at for each in seen if each is not None and each.stage not in FORGEABLE)]
        return any(each is not None and self._clock() - each <= IN_TOUCH for each in times)

    def _came(self, mac: MacAddress, hardware_id: str) -> bool:
        """Whether anything ever came of a machine."""
        record = self._machines.known.get(hardware_id)
        macs = [mac] if record is None else [each.mac for each in record.hardware.interfaces]
        return any(map(self._machines.timeline.newest, macs)) or bool(self._machines.progress.last_contact(hardware_id))

    def _lent(self, interface: Interface | None, mac: MacAddress) -> Lent | None:
        """Who has the address that is reserved for a machine, when another one has."""
        address = interface.address if interface is not None else None
        lease = self._lease_at(address) if address is not None else None
        if lease is None or lease.mac == mac:
            return None
        name = self._machines.known.name(self._machines.known.holder(lease.mac))
        return Lent(address=lease.address, mac=lease.mac, until=lease.until, name=name)


def _without_mac(key: str) -> Conflict:
    return Conflict(
        f"the document of machine {shortened(key, 80)} tells no MAC, so nothing of its boots can be known: `tinkbox hardware "
        "edit MACHINE --add-mac MAC` tells one, and `tinkbox hardware credential MACHINE` lets a worker work without"
    )


def _standing(work: Work | None) -> tuple[str, str, State] | None:
    return (work.id, work.action, work.action_state) if work is not None else None


def _has_address(seen: Sighting) -> bool:
    """Whether a machine must have an address to be seen so."""
    return seen.stage in _ADDRESSED


def _stays(seen: Sighting) -> bool:
    """Whether a doctor's rule may tell of it although the boot went on."""
    return seen.stage in _STAYS or (seen.stage is Stage.METADATA and bool(text(seen, "refused")))


# Beside a machine or a workflow.
_REST = ("everything else", "`tinkbox doctor` without a key examines it")
_APPLIANCE = "the appliance itself"
_HIDDEN = "what was seen of it last may be of another host, which a token with a scope is not told: ask a person whose token has none"
_OUTSIDE = (
    "what is outside of the scope of your token",
    "the appliance itself, other DHCP servers and other machines: ask somebody whose token has none",
)


def _others_shown(seen: Sequence[Sighting]) -> Iterator[str]:
    """The addresses and MACs of other hosts that a machine's timeline names."""
    yield from (text(each, "server") for each in of(seen, Stage.OTHER_SERVER))
    yield from filter(None, (text(each, "neighbour") for each in of(seen, Stage.TICKET_REFUSED)))


def _sorted(found: Iterable[Diagnosis]) -> tuple[Diagnosis, ...]:
    return tuple(sorted(found, key=reading_order))


def _shown(rivals: Iterable[Rival], vitals: Vitals) -> Iterator[str]:
    """The MACs and addresses by which other servers, other appliances, holders of our addresses and those whom we do not hear show themselves."""
    for each in rivals:
        yield from (each.mac, str(each.server))
    if vitals.host is not None:
        yield from (each.mac for each in vitals.host.taken)
        yield from (each.mac for each in vitals.host.appliances)
        yield from (str(each.address) for each in vitals.host.held)
    yield from (each.host for each in vitals.refused_handshakes)
    for unheard in vitals.unheard:
        yield from islice(unheard.macs, MOST_NAMED)


def _own_macs(vitals: Vitals) -> Mapping[str, str]:
    links = vitals.host.links if vitals.host is not None else ()
    return {each.mac: each.interface for each in links if each.mac is not None}


def _holders(limits: Iterable[Standing]) -> Iterator[str]:
    """Who is held back."""
    for each in limits:
        yield from (one.holder for one in each.held_back)


def _namesakes(name: str, others: Sequence[tuple[str, State]]) -> tuple[tuple[str, str], ...]:
    """The other workflows that have the name by which one was asked for, the newest first."""
    if not others:
        return ()
    named = some([f"{identity[:8]}, {state}" for identity, state in others])
    return ((f"{counted(len(others), 'other workflow')} called {quoted(name)}", f"only the newest is; {named}"),)


def _uncompared(vitals: Vitals) -> tuple[tuple[str, str], ...]:
    """Of what may drop a machine's questions, or our answers, on this host that which was not looked at, each with why."""
    of_host = vitals.host.unexamined if vitals.host is not None else {}
    told = {each: vitals.unexamined.get(each, "") for each in (QUESTIONS_BY_MAC, PACKET_FILTER)} | {**of_host}
    return tuple((what, why) for what, why in told.items() if why)


def _unasked(why: str) -> tuple[tuple[str, str], ...]:
    return (("other DHCP servers", why),) if why else ()


def _examined(unmeasured: Iterable[str], unasked: str, machines: int | None, workflows: int) -> tuple[str, ...]:
    """What a survey looked at, so many machines among it; None: neither machines nor workflows."""
    left_out = " ".join(unmeasured).lower()
    parts = [each for each in ("disk", "OSIE", "limits", *_MEASURED) if each.lower() not in left_out]
    return (
        f"the appliance ({', '.join(parts)})",
        *(["other DHCP servers"] if not unasked else []),
        *(
            [_looked_at(machines), f"{counted(workflows, 'workflow')} under way or waiting"]
            if machines is not None
            else []
        ),
    )


def _looked_at(machines: int) -> str:
    return f"{counted(machines, 'machine')} by what was seen of {'it' if machines == 1 else 'them'}"


_MEASURED = ("memory", "interfaces", "firewall", "clock", "database", "images", "engine")
