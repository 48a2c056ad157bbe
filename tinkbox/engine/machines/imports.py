"""The use-case of many machines at once, as a list has them: new ones are made, and known ones compared.

Rule 1: a machine is known by its MACs.  What the list does not say of it is not compared.
Rule 2: all that is stored is stored in one transaction; what cannot be refuses all, unless it is to be skipped.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from tinkbox.engine.machines.additions import MOST_ANSWERING, Additions, too_many_answering
from tinkbox.engine.machines.editing import Edit, edited
from tinkbox.engine.machines.hardware_document import Added, Reservation, added_hardware
from tinkbox.engine.machines.machines import Machines, is_its_agent_id
from tinkbox.engine.machines.replacement import workflow_in_the_way
from tinkbox.engine.turns import Rehearsals, seldom_collected
from tinkbox.model.errors import Conflict, Invalid, Refusal
from tinkbox.model.hardware import Hardware, address_of, addressed_by, called, names_of, primary
from tinkbox.model.labels import LabelChange, LabelKind, show_labels
from tinkbox.model.machine_keys import typed
from tinkbox.model.machine_lists import ImportOutcome, ListedMachine, networks_of, placed, routed
from tinkbox.model.notes import MAX_NOTES
from tinkbox.model.text import counted, quoted
from tinkbox.model.told_once import problems_told_once
from tinkbox.store.database import Store, Tables
from tinkbox.store.hardware import MachineRecord

PIECE: Final = 200  # so many machines are taken over in a turn of the event loop
_PROBES: Final = 16
_CLAIMS: Final = ("ip", "mac")  # the changes of what a machine is recognised by (`replacement.claims`)
_STORED: Final = (ImportOutcome.MADE, ImportOutcome.UPDATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What becomes of one machine of a list.

    `hardware` is the machine as it is then, None for one that is refused; `changes` say what is or would be changed, `why`
    what is in the way.
    """

    listed: ListedMachine
    outcome: ImportOutcome
    hardware: Hardware | None = None
    changes: tuple[str, ...] = ()
    why: str = ""
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Known:
    """The machines as they are stored, and which of them has a MAC; `notes` and today's labels only of those that are `listed`.

    `networks` are those that the list gives some of its machines, each with their gateways there.
    """

    hardware: Mapping[str, Hardware]
    by_mac: Mapping[str, str]
    retired: Collection[str]
    notes: Mapping[str, Collection[str]]
    networks: Mapping[IPv4Network, Collection[IPv4Address]]

    @classmethod
    def of(cls, tables: Tables, picture: Mapping[str, MachineRecord], listed: Sequence[ListedMachine]) -> "_Known":
        """Of the `picture` in memory what is stored so is not read again: to parse documents takes most of an import."""
        versions = tables.hardware.versions()
        same = {each: picture[each].hardware for each, at in versions.items() if _is_of(picture.get(each), at)}
        others = tables.hardware.some([each for each in versions if each not in same])
        hardware = {**same, **{each.hardware.id: each.hardware for each in others}}
        by_mac = {str(card.mac): each.id for each in hardware.values() for card in each.interfaces}
        matched = {by_mac[mac] for each in listed for mac in each.macs if mac in by_mac}
        labels = tables.labels.of_many(LabelKind.MACHINE, matched)
        hardware |= {each: replace(hardware[each], labels=labels.get(each, {})) for each in matched}
        noted = {each: {note.text for note in notes} for each, notes in tables.notes.of_many(matched).items()}
        return cls(hardware, by_mac, tables.retirements.all(), noted, networks_of(listed))


@dataclass(frozen=True, slots=True)
class _Holder:
    """A machine that has what no other may have; `place` is what people are told of it."""

    hardware: Hardware
    place: str

    def has(self, claim: str) -> str:
        """That it has this, in words."""
        if is_its_agent_id(self.hardware, claim):
            return f"{claim} is the agent id of {self.place}"
        return f"{claim} belongs to {self.place} already"


def _is_of(record: MachineRecord | None, at: datetime) -> bool:
    return record is not None and record.updated_at == at


class Imports:
    """Imports machines; those without an address get one as `Additions` gives it."""

    def __init__(
        self,
        store: Store,
        machines: Machines,
        additions: Additions,
        rehearsals: Rehearsals,
        clock: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._machines = machines
        self._additions = additions
        self._rehearsals = rehearsals
        self._clock = clock

    def turn(self, who: str) -> AbstractAsyncContextManager[None]:
        """A person's turn, in which a list is read, and foretold where nothing is to be stored."""
        return self._rehearsals.turn(who)

    async def preview(self, listed: Sequence[ListedMachine], *, update: bool) -> list[Imported]:
        """What would become of each, in their order; no address is probed.  Raises Unavailable when none is free."""
        with seldom_collected:
            return await self._store.read_long(partial(self._plan, listed, update, (), self._picture()))

    async def store(
        self, listed: Sequence[ListedMachine], who: str, *, update: bool = False, skip_invalid: bool = False
    ) -> list[Imported]:
        """Import machines; returns what became of each, in their order.

        With `update` known ones that differ become as they are listed.  Raises Invalid, and stores nothing, where one
        cannot be and is not to be skipped; Unavailable when no address is free.
        """
        answering: set[IPv4Address] = set()
        silent: set[IPv4Address] = set()
        while len(answering) < MOST_ANSWERING:
            planned = await self._store.read(partial(self._plan, listed, update, answering, self._picture()))
            _refuse(planned, skip_invalid=skip_invalid)
            given = _given(planned)
            answering |= (found := await self._occupied([each for each in given if each not in silent]))
            silent |= set(given) - found
            if found:
                continue
            stored = await self._commit(listed, who, answering, given, update, skip_invalid)
            if stored is not None:
                # What an update would have done is not worked out again while the writer is held.
                return [
                    replace(each, why=then.why) if each.outcome is ImportOutcome.DIFFERENT is then.outcome else each
                    for each, then in zip(stored, planned, strict=True)
                ]
        raise too_many_answering(answering)

    async def _commit(
        self,
        listed: Sequence[ListedMachine],
        who: str,
        answering: Collection[IPv4Address],
        given: Sequence[IPv4Address],
        update: bool,
        skip_invalid: bool,
    ) -> list[Imported] | None:
        """Store them; None when others took one of the addresses that are to be given."""
        picture = self._picture()

        def use_case(tables: Tables) -> list[Imported] | None:
            planned = self._judged(listed, update, answering, _Known.of(tables, picture, listed), tables)
            _refuse(planned, skip_invalid=skip_invalid)
            if _given(planned) != given:
                return None
            changing = [(each, each.hardware) for each in planned if each.hardware and each.outcome in _STORED]
            self._machines.take_in(tables, [hardware for _, hardware in changing])
            for each, hardware in changing:
                tables.labels.replace(LabelKind.MACHINE, hardware.id, hardware.labels)
                for text in each.notes:
                    tables.notes.add(hardware.id, self._clock(), who, text)
            return planned

        stored = await self._store.write(use_case)
        changed = [each.hardware for each in stored or () if each.hardware and each.outcome in _STORED]
        for begin in range(0, len(changed), PIECE):
            piece = changed[begin : begin + PIECE]
            macs = [card.mac for hardware in piece for card in hardware.interfaces]
            await self._machines.taken_in([each.id for each in piece], macs)
        return stored

    def _picture(self) -> Mapping[str, MachineRecord]:
        """The machines as they are in memory now: for a thread of the store, under whose hands nothing may change."""
        return {record.hardware.id: record for record in self._machines.known.all()}

    async def _occupied(self, addresses: Sequence[IPv4Address]) -> set[IPv4Address]:
        """Those of the addresses at which a host answers."""
        turn = asyncio.Semaphore(_PROBES)

        async def answers(address: IPv4Address) -> bool:
            async with turn:
                return await self._additions.answers(address)

        async with asyncio.TaskGroup() as group:
            asked = [(each, group.create_task(answers(each))) for each in addresses]
        return {address for address, answered in asked if answered.result()}

    def _plan(
        self,
        listed: Sequence[ListedMachine],
        update: bool,
        answering: Collection[IPv4Address],
        picture: Mapping[str, MachineRecord],
        tables: Tables,
    ) -> list[Imported]:
        """What becomes of each; of what is left alone also why it would be refused if it were to be updated."""
        known = _Known.of(tables, picture, listed)
        planned = self._judged(listed, update, answering, known, tables)
        if all(each.outcome is not ImportOutcome.DIFFERENT for each in planned):
            return planned
        updated = self._judged(listed, True, answering, known, tables)
        return [
            replace(each, why=f"an update would be refused: {then.why}")
            if each.outcome is ImportOutcome.DIFFERENT and then.outcome is ImportOutcome.REFUSED
            else each
            for each, then in zip(planned, updated, strict=True)
        ]

    def _judged(
        self,
        listed: Sequence[ListedMachine],
        update: bool,
        answering: Collection[IPv4Address],
        known: _Known,
        tables: Tables,
    ) -> list[Imported]:
        network = self._additions.network()
        without = {each.address for each in listed if each.address is not None} | set(answering)
        free = self._additions.free(tables, network, without) if network else iter(())
        planned: list[Imported] = []
        for each in map(self._routed, listed):
            try:
                planned.append(self._planned(tables, each, known, free, update))
            except (Invalid, Conflict) as refusal:
                planned.append(_refused(each, _said(refusal)))
        return _without_rivals(planned, known)

    def _planned(
        self,
        tables: Tables,
        listed: ListedMachine,
        known: _Known,
        free: Iterator[Reservation],
        update: bool,
    ) -> Imported:
        """One of them, with the next of the free addresses where it needs one."""
        owners = list(dict.fromkeys(known.by_mac[mac] for mac in listed.macs if mac in known.by_mac))
        if len(owners) > 1:
            names = " and ".join(called(known.hardware[each]) for each in owners)
            raise Conflict(f"its MACs belong to several machines: {names}")
        for owner in owners:
            return self._compared(tables, listed, owner, known, update)
        if listed.address is not None:
            reserved: Reservation | None = self._reserved(listed, known)
        else:
            reserved = next(free, None)
        made = added_hardware(Added(macs=listed.macs, name=listed.name, labels=listed.labels), reserved)
        made = replace(made, labels=dict(listed.labels))
        return Imported(listed=listed, outcome=ImportOutcome.MADE, hardware=made, notes=listed.notes)

    def _compared(self, tables: Tables, listed: ListedMachine, owner: str, known: _Known, update: bool) -> Imported:
        hardware, noted = known.hardware[owner], known.notes.get(owner, ())
        if owner in known.retired:
            why = f"it is retired: `tinkbox hardware return {typed(tables.hardware, hardware)}` takes it back into service"
            return Imported(listed=listed, outcome=ImportOutcome.RETIRED, hardware=hardware, why=why)
        notes = tuple(each for each in listed.notes if each not in noted)
        changes = tuple(_differences(listed, hardware, notes))
        if not changes:
            return Imported(listed=listed, outcome=ImportOutcome.UNCHANGED, hardware=hardware)
        if not update:
            with suppress(Refusal):  # which an update is told
                changes += _rerouted(listed, hardware, edited(hardware, self._edit(listed, hardware, known)))
            return Imported(listed=listed, outcome=ImportOutcome.DIFFERENT, hardware=hardware, changes=changes)
        target = edited(hardware, self._edit(listed, hardware, known))
        changes += _rerouted(listed, hardware, target)
        if workflow := workflow_in_the_way(hardware, target, tables.workflows.needing):
            changed = ", ".join(dict.fromkeys(what for each in changes if (what := each.split(" ", 1)[0]) in _CLAIMS))
            raise Conflict(f"workflow {workflow} is not over and needs it as it is, without another {changed}")
        if len(noted) + len(notes) > MAX_NOTES:
            raise Conflict(f"it has {len(noted)} notes already: at most {MAX_NOTES} are kept")
        return Imported(listed=listed, outcome=ImportOutcome.UPDATED, hardware=target, changes=changes, notes=notes)

    def _routed(self, listed: ListedMachine) -> ListedMachine:
        """With a gateway, where the list leaves that to the network and its network is known."""
        network = self._additions.network_of(listed.reserved) if listed.routers else None
        return routed(listed, network) if network else listed

    def _reserved(self, listed: ListedMachine, known: _Known) -> Reservation:
        """The address of one that has one; raises as `Additions.reserved`, in the same words for all of an unknown network.

        A network that is not known here is the one that the list gives other machines.
        """
        if self._additions.network_of(listed.reserved) is None:
            listed = placed(listed, known.networks)
        if self._additions.network_of(listed.reserved) is None:
            such = IPv4Network(f"{listed.address}/24", strict=False)
            raise Invalid(
                f"no network known here has its address: give the prefix too, or name the network, such as --network {such}"
            )
        return self._additions.reserved(listed.reserved, str(listed.gateway or ""))

    def _edit(self, listed: ListedMachine, hardware: Hardware, known: _Known) -> Edit:
        has_moved = listed.address is not None and (
            listed.address != address_of(hardware) or (listed.prefix is not None and listed.prefix != _prefix(hardware))
        )
        is_rerouted = listed.gateway is not None and listed.gateway != _gateway(hardware)
        reserved = None
        if has_moved or is_rerouted:
            reserved = self._reserved(listed, known)
        return Edit(
            name=listed.name if listed.name != called(hardware) else "",
            reservation=reserved,
            added_macs=tuple(each for each in listed.macs if hardware.interface(each) is None),
            labels=LabelChange(set=tuple(listed.labels.items())),
        )


def _rerouted(listed: ListedMachine, hardware: Hardware, target: Hardware) -> tuple[str, ...]:
    """That the gateway does not stay, which is none of the network that the machine moves to."""
    before, after = _gateway(hardware), _gateway(target)
    told = listed.gateway is None and before != after
    return (f"gateway {before or 'none'} -> {after or 'none'}",) if told else ()


def _differences(listed: ListedMachine, hardware: Hardware, notes: Sequence[str]) -> Iterator[str]:
    """What the list says otherwise, in words."""
    address, gateway = address_of(hardware), _gateway(hardware)
    if listed.name and listed.name != called(hardware):
        yield f"name {called(hardware)} -> {listed.name}"
    if listed.address is not None and listed.address != address:
        yield f"ip {address or 'none'} -> {listed.address}"
    elif listed.prefix is not None and listed.prefix != _prefix(hardware):
        yield f"prefix {_prefix(hardware)} -> {listed.prefix}"
    if listed.gateway is not None and listed.gateway != gateway:
        yield f"gateway {gateway or 'none'} -> {listed.gateway}"
    for mac in listed.macs:
        if hardware.interface(mac) is None:
            yield f"mac +{mac}"
    for key, value in listed.labels.items():
        before = hardware.labels.get(key)
        if before != value:
            yield f"label {show_labels({key: value})}" + (f" (was {before})" if before is not None else "")
    for note in notes:
        yield f"note {quoted(note, 40)}"


def _prefix(hardware: Hardware) -> int | None:
    shown = primary(hardware)
    return None if shown is None or shown.netmask is None else int(shown.netmask).bit_count()


def _gateway(hardware: Hardware) -> IPv4Address | None:
    shown = primary(hardware)
    return shown.gateway if shown else None


def _without_rivals(planned: Sequence[Imported], known: _Known) -> list[Imported]:
    """The same, with those refused that claim what another machine has, or another one of the list.

    An update that is refused keeps what it had, which refuses those that were to have it.
    """
    found = list(planned)
    moved = {each.hardware.id for each in found if each.hardware and each.outcome is ImportOutcome.UPDATED}
    holders: dict[str, _Holder] = {}
    takers: dict[str, int] = {}  # which of the list have claims, as far as they were looked at
    for hardware in known.hardware.values():
        if hardware.id not in moved:
            holder = _Holder(hardware, called(hardware))
            for claim in _claims(hardware):
                holders.setdefault(claim, holder)
    for number, each in enumerate(found):
        if each.hardware is None or each.outcome not in _STORED:
            continue
        own = list(_claims(each.hardware))
        rival = next((claim for claim in own if claim in holders and not _is_same(claim, each.hardware, holders)), None)
        former = known.hardware.get(each.hardware.id) if each.outcome is ImportOutcome.MADE else None
        namesake = next(
            (name for name in names_of(each.hardware) if _is_id_of_another(name, each.hardware, known)), None
        )
        if namesake is not None:
            owner = known.hardware[namesake.lower()]
            found[number] = _refused(each.listed, f"the name {namesake} is the id of machine {called(owner)}")
        elif rival is not None:
            found[number] = _refused(each.listed, holders[rival].has(rival))
        elif former is not None:
            name = each.hardware.name
            has_it = former.name == name  # and is to change by this list, so that it is no rival yet
            why = (
                f"the name {name} stays with machine {name}, also when that gets another"
                if has_it
                else f"machine {called(former)} was called {name} before"
            )
            found[number] = _refused(each.listed, f"{why}: choose another name")
        else:
            place = f"line {each.listed.line} of the list" if each.listed.line else f"{each.listed.key} of the list"
            holders |= dict.fromkeys(own, _Holder(each.hardware, place))
            takers |= dict.fromkeys(own, number)
            continue
        _keep(each, known, found, holders, takers)
    return found


def _keep(
    refused: Imported, known: _Known, found: list[Imported], holders: dict[str, _Holder], takers: Mapping[str, int]
) -> None:
    """Let an update that is refused keep what it had; those that were to have it are refused too, and so on."""
    keeping = [refused]
    while keeping:
        each = keeping.pop()
        if each.hardware is None or each.outcome is not ImportOutcome.UPDATED:
            continue
        stored = known.hardware[each.hardware.id]
        holder = _Holder(stored, called(stored))
        for claim in _claims(stored):
            holders[claim] = holder
            taker = takers.get(claim)
            if taker is not None and found[taker].outcome in _STORED:
                keeping.append(found[taker])
                found[taker] = _refused(found[taker].listed, holder.has(claim))


def _claims(hardware: Hardware) -> Iterator[str]:
    """What no other machine may have: all that it is `addressed_by`, and its names."""
    yield from addressed_by(hardware)
    yield from (f"the name {each}" for each in names_of(hardware))


def _is_same(claim: str, hardware: Hardware, holders: Mapping[str, _Holder]) -> bool:
    """Whether this is the id of a machine and of its holder: a name alone makes an id, so that names tell more of it."""
    return claim == hardware.id == holders[claim].hardware.id


def _is_id_of_another(name: str, hardware: Hardware, known: _Known) -> bool:
    return name.lower() in known.hardware and name.lower() != hardware.id


def _refused(listed: ListedMachine, why: str) -> Imported:
    return Imported(listed=listed, outcome=ImportOutcome.REFUSED, why=why)


def _said(refusal: Refusal) -> str:
    problems = refusal.problems if isinstance(refusal, Invalid) else ()
    return "; ".join([str(refusal), *map(str, problems)])


def _given(planned: Sequence[Imported]) -> list[IPv4Address]:
    """The addresses that new machines are given which name none."""
    made = [each for each in planned if each.outcome is ImportOutcome.MADE and each.listed.address is None]
    addresses = [address_of(each.hardware) for each in made if each.hardware]
    return [each for each in addresses if each is not None]


def _refuse(planned: Sequence[Imported], *, skip_invalid: bool) -> None:
    refused = [
        (str(each.listed.macs[0]), each.listed.problem(each.why))
        for each in planned
        if each.outcome is ImportOutcome.REFUSED
    ]
    if refused and not skip_invalid:
        raise Invalid(
            f"{len(refused)} of {counted(len(planned), 'machine')} cannot be imported, so nothing was stored: correct them, or "
            "import the rest with --skip-invalid",
            problems_told_once(refused, len(planned) - len(refused)),
        )
