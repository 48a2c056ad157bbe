"""Use-cases of machines: what we were told about them, and what people ask of them."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from tinkbox.engine.machines.absences import Absences
from tinkbox.engine.machines.boot_facts import BootFactsCache
from tinkbox.engine.machines.boot_plan import barred_reason, parked_reason
from tinkbox.engine.machines.boot_progress import BootProgress
from tinkbox.engine.machines.boot_tickets import Seal
from tinkbox.engine.machines.enrolments import Enrolments
from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.engine.machines.machines_within import MachinesWithin
from tinkbox.engine.machines.replacement import (
    agent_in_the_way,
    claims,
    id_in_the_way,
    name_in_the_way,
    name_taken,
    namesakes,
    needed,
    new_names,
    workflow_in_the_way,
)
from tinkbox.engine.machines.sessions import Near, Sessions
from tinkbox.engine.timeline.sighting_rules import is_its_own
from tinkbox.engine.timeline.stalls import stalled
from tinkbox.engine.timeline.timeline import Timeline
from tinkbox.engine.turns import in_slices
from tinkbox.engine.wakeups import CHANGES, Wakeups, worker_wakeup
from tinkbox.model.boot import Stage, Supply
from tinkbox.model.conditions import explanation
from tinkbox.model.documents.hardware import declared_labels
from tinkbox.model.enrolment import Enrolment
from tinkbox.model.errors import Conflict, Denied, Invalid, NotFound
from tinkbox.model.hardware import Hardware, MacAddress, addressed_by, called, name_of, names_of
from tinkbox.model.labels import ALL, LabelChange, LabelKind, Relabelled, Selector
from tinkbox.model.machine_keys import KeptMachines, typed
from tinkbox.model.machine_state import Doing, MachineState, state_of
from tinkbox.model.notes import Retirement
from tinkbox.model.session import TpmRule
from tinkbox.model.telling import OUTSIDE
from tinkbox.model.text import one_line
from tinkbox.model.workflow import ListedWorkflow, State
from tinkbox.store.database import Store, Tables
from tinkbox.store.hardware import MachineRecord
from tinkbox.wire.messages.worker import Credential

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How the newest workflow of a machine failed, while none is under way; one that is outside has no id and no reason."""

    workflow_id: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineStatus:
    """A machine as an operator sees it; `parked` is the reason, or empty, `stalled` how long it got no further.

    `tpm` is the fingerprint of the TPM that it proved to have in its last session, `tpm_accepted` of the one that it has to
    show; empty: none.  With an `enrolment` it boots by HTTPS alone.  `key` means it and no other machine (`KnownMachines.key`).
    """

    hardware: Hardware
    key: str
    created_at: datetime
    updated_at: datetime
    ticket: bool
    installed: bool
    boots: int
    parked: str
    stage: Stage | None
    stage_at: datetime | None
    last_contact: datetime | None
    stalled: str = ""
    tpm: str = ""
    tpm_accepted: str = ""
    enrolment: Enrolment | None = None
    retired: Retirement | None = None
    failure: Failure | None = None
    doing: Doing | None = None

    @property
    def state(self) -> MachineState:
        return state_of(
            parked=self.parked,
            stalled=self.stalled,
            ticket=self.ticket,
            installed=self.installed,
            boots=self.boots,
            stage=self.stage,
            retired=self.retired is not None,
            failed=self.failure is not None,
            doing=self.doing,
            barred=bool(barred_reason(self.hardware, ticket=self.ticket)),
        )

    @property
    def kept_from_booting(self) -> str:
        """Why it boots no more until a person helps, or nothing: it is parked, or its hardware document forbids it."""
        barred = barred_reason(self.hardware, ticket=self.ticket)
        return self.parked or (barred if self.state is MachineState.PARKED else "")


class Machines:
    """What people ask of hardware: documents, permissions to boot and credentials; and the parts that machines ask.

    `known` is the one picture in memory, `boot_facts` what booting machines are answered from, `progress` what is noted
    of their boots, `absences` which of them went away by intention; `timeline` is what was seen of every machine, known or not,
    `sessions` who works on which. Wherever a `key` is asked, it is an id, a unique beginning of one, a MAC, an IPv4 address, an
    agent id, a hostname or a name. `supply` tells, from memory, what the workflow of a machine, by its id, supplies for its
    boot; `tpm_rule` is what the TPM of a machine counts for, `authority` the fingerprint of the one that firmware is given.  What is `reserved` means the appliance where templates name a worker.
    """

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        seal: Seal,
        near: Near,
        is_let_in: Callable[[MacAddress], bool],
        supply: Callable[[str], Supply | None] = lambda _: None,
        tpm_rule: TpmRule = TpmRule.FIRST,
        reserved: Collection[str] = (),
        authority: str = "",
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._clock = clock
        self.reserved = reserved
        self.known = KnownMachines()
        self.timeline = Timeline(store, clock, lambda: wakeups.wake(CHANGES), self.known.knows)
        self.boot_facts = BootFactsCache(self.known, supply, lambda each: self.enrolments.has(each))
        self.absences = Absences(monotonic, ask=lambda each: wakeups.wake(worker_wakeup(each)))
        self.progress = BootProgress(
            store, wakeups, clock, self.known, self.timeline, self.absences,
            boots=lambda holder: self.sessions.boots(holder), boot_of=lambda holder: self.sessions.boot_of(holder),
        )  # fmt: skip
        self.sessions = Sessions(
            store, clock, seal, self.known, near, self.progress.saw,
            boots_from=lambda each: self.progress.seen_last(self.known.find(each).hardware), is_let_in=is_let_in,
            tpm_rule=tpm_rule, began_to_boot=self.progress.began_to_boot,
        )  # fmt: skip
        self.enrolments = Enrolments(store, clock, self.known, self.progress.saw, self.progress.seen_last, authority)

        # Told of the labels that machines had and have, of all that were changed at once; None: the machine was deleted.
        self.labels_changed: Callable[[Sequence[Relabelled]], None] = lambda _: None

    async def load(self) -> None:
        """Fill the picture in memory; once, before anything is served."""
        self.known.take(await self._store.read(lambda tables: tables.hardware.all()))
        for name, worker in await self._store.read(lambda tables: tables.workflows.unfinished_workers()):
            self.boot_facts.name_workflow(name, [worker])
        await self.timeline.load()
        await self.sessions.load()
        await self.enrolments.load()

    async def push(self, *machines: Hardware) -> None:
        """Store machines, or replace those with their ids, all or none; they start their boots anew.

        Boot tickets that were not exchanged yet count for nothing then; a session ends when a MAC or an address changes.
        The labels that a document declares become the machine's; one that declares none leaves them as they are.
        A machine that waited to be accepted has to boot again: nobody but it says that it is the one that is pushed.
        Raises Conflict when another machine has one of their MACs, addresses, agent ids, or names in their namespaces, for a
        document with the id of another machine, and where MACs or addresses would change of one that an unfinished workflow needs.
        """
        macs = [each.mac for hardware in machines for each in hardware.interfaces]

        def use_case(tables: Tables) -> None:
            _refuse_others(tables, machines)
            _refuse_needed(tables, machines)
            self.take_in(tables, machines)

        await self._store.write(use_case)
        await self.taken_in([each.id for each in machines], macs)

    async def taken_in(self, ids: Sequence[str], macs: Iterable[MacAddress]) -> None:
        """Follow what `take_in` committed of these machines and cards: they start their boots anew."""
        await self.refresh(ids)
        await self.sessions.refresh(*ids, *macs)
        self.progress.begin_anew(ids)
        self._wakeups.wake(CHANGES)

    async def add(self, hardware: Hardware, if_so: Callable[[Tables], bool] = lambda _: True) -> bool:
        """Store a machine that is new; False, and nothing is stored, when it is not `if_so` in the same transaction.

        Raises Conflict as `refuse_known`.
        """

        def use_case(tables: Tables) -> bool:
            if not if_so(tables):
                return False
            _refuse_known(tables, hardware)
            self.take_in(tables, [hardware])
            return True

        if not await self._store.write(use_case):
            return False
        await self.refresh([hardware.id])
        await self.sessions.refresh(hardware.id, *(each.mac for each in hardware.interfaces))
        self._wakeups.wake(CHANGES)
        return True

    async def refuse_known(self, hardware: Hardware) -> None:
        """Raise Conflict, which names the machine, for one whose MAC, address or name another has already."""
        await self._store.read(lambda tables: _refuse_known(tables, hardware))

    def take_in(self, tables: Tables, machines: Sequence[Hardware]) -> None:
        """Store machines, or replace those with their ids; raises Conflict for a MAC, address, agent id or id of another.

        An agent id that reads as any of these, or is `reserved`, is one of these.

        They may exchange MACs, addresses and agent ids: what one of them had before is free for the others.
        """
        now, ids = self._clock(), {each.id for each in machines}
        before = {each.hardware.id: each.hardware for each in tables.hardware.some(ids)}
        tables.hardware.release(before)
        to_store = set(before)
        for hardware in machines:
            to_store.discard(hardware.id)
            if why := agent_in_the_way(hardware, self.reserved):
                raise Conflict(f"conflicting hardware {why}")
            for claim, holder in tables.hardware.holders(hardware):
                if holder in to_store:
                    continue
                (record,) = tables.hardware.some([holder])
                how = "as its agent id" if is_its_agent_id(record.hardware, claim) else "already"
                raise Conflict(
                    f"conflicting hardware {_claimed(hardware, claim, holder)}: machine {holder} has it {how}"
                )
            for name in ids.intersection(each.lower() for each in names_of(hardware)) - {hardware.id}:
                raise Conflict(f"conflicting hardware {_claimed(hardware, name, name)}: machine {name} has it already")
            tables.hardware.upsert(hardware, now)
            labels = declared_labels(hardware.document)
            if labels is not None:
                tables.labels.replace(LabelKind.MACHINE, hardware.id, labels)
            self.sessions.void(tables, hardware.id)
            if hardware.id in before and claims(before[hardware.id]) != claims(hardware):
                tables.sessions.end([hardware.id])
        tables.sessions.forget([each.mac for hardware in machines for each in hardware.interfaces])

    async def all(self) -> list[MachineStatus]:
        """Every machine, oldest first."""
        return await in_slices(self._status, list(self.known.all()))

    async def listed(self, selector: Selector = ALL, scope: Selector | None = None) -> list[MachineStatus]:
        """Every machine with such labels within a scope, oldest first, also with what becomes of its workflow."""
        within = self.within(scope)
        work = await self._work(within, None if scope is None else within.ids())

        def selected(record: MachineRecord) -> MachineStatus | None:
            if not (selector.matches(record.hardware.labels) and within.has(record.hardware.id)):
                return None
            return self._status(record, *work.get(record.hardware.id, ()), within=within)

        found = await in_slices(selected, list(self.known.all()))
        return [each for each in found if each is not None]

    def within(self, scope: Selector | None) -> MachinesWithin:
        """The machines within a scope, and what may be told of their work."""
        return MachinesWithin(self.known, scope)

    async def standing(self, key: str, scope: Selector | None = None) -> MachineStatus:
        """As `get`, also with what becomes of its workflow."""
        within = self.within(scope)
        return await self._standing(within.find(key), within)

    async def _standing(self, record: MachineRecord, within: MachinesWithin) -> MachineStatus:
        """The same of a machine that may have left the scope, by what was just changed."""
        work = await self._work(within, [record.hardware.id])
        return self._status(record, *work.get(record.hardware.id, ()), within=within)

    async def _work(
        self, within: MachinesWithin, ids: Sequence[str] | None
    ) -> dict[str, tuple[Failure | None, Doing | None]]:
        """How the work of machines failed, or what else it tells of where they stand; of all machines, or of some.

        Of what failed outside only that it did is told.
        """

        def question(tables: Tables) -> dict[str, tuple[Failure | None, Doing | None]]:
            notable = tables.machine_work.notable(ids)
            failed = {each for each, state in notable.values() if state in (State.FAILED, State.TIMEOUT)}
            failures = {each.id: _failure(each) for each in tables.workflows.listed(list(failed))}
            failures |= dict.fromkeys(within.outside(tables, failed), _FAILED_OUTSIDE)
            reached = tables.machine_work.reached({each for each, _ in notable.values()} - failed)
            return {
                machine: (failures.get(each), reached[each].tells(machine, state) if each in reached else None)
                for machine, (each, state) in notable.items()
            }

        return await self._store.read(question)

    async def label(self, key: str, change: LabelChange, scope: Selector | None = None) -> MachineStatus:
        """Change a machine's labels; raises as `get`, and Invalid for too many."""
        hardware_id = self.known.find(key).hardware.id

        def use_case(tables: Tables) -> None:
            refuse_deleted(tables, hardware_id)
            tables.labels.change(LabelKind.MACHINE, hardware_id, change)

        await self._store.write(use_case)
        await self.refresh([hardware_id])
        self._wakeups.wake(CHANGES)
        return await self._standing(self.known.find(hardware_id), self.within(scope))

    async def get(self, key: str, scope: Selector | None = None) -> MachineStatus:
        """As who has a `scope` may know it, None: everything.  Raises NotFound, or Conflict when the key fits several."""
        within = self.within(scope)
        return self._status(within.find(key), within=within)

    async def needed_by(self, key: str, scope: Selector | None = None) -> list[str]:
        """The ids of the workflows within a scope that are not over and need a machine; raises as `get`."""
        within = self.within(scope)
        hardware_id = within.find(key).hardware.id

        def question(tables: Tables) -> list[str]:
            needing = tables.workflows.needing(hardware_id)
            outside = within.outside(tables, needing)
            return [each for each in needing if each not in outside]

        return await self._store.read(question)

    async def work_outside(self, scope: Selector | None, ids: Collection[str]) -> frozenset[str]:
        """Which of these workflows and rollouts who has this scope may not know (`MachinesWithin.outside`)."""
        if scope is None or not ids:
            return frozenset()
        within = self.within(scope)
        return await self._store.read(lambda tables: within.outside(tables, ids))

    async def waited_for(self) -> dict[str, datetime]:
        """By id, the machines that unfinished workflows wait for, and since when."""
        return await self._store.read(lambda tables: tables.workflows.waited_for())

    async def delete(self, key: str, first: Callable[[Tables], None] | None = None) -> str:
        """Forget a machine; returns its id.  `first` is done in the same transaction.  Raises Conflict while a workflow still needs it."""
        hardware_id = self.known.find(key).hardware.id

        def use_case(tables: Tables) -> None:
            if first is not None:
                first(tables)
            self.leave_out(tables, hardware_id)

        await self._store.write(use_case)
        await self.left_out([hardware_id])
        return hardware_id

    def leave_out(self, tables: Tables, hardware_id: str) -> None:
        """Delete a machine; raises Conflict while a workflow still needs it."""
        needing = tables.workflows.needing(hardware_id)
        if needing:
            raise Conflict(
                f"workflow {needing[0]} is not over and needs machine {hardware_id}: `tinkbox workflow cancel {needing[0][:8]}` "
                "ends it, with --force also when the machine does not answer",
                of=needing[:1],
            )
        tables.hardware.delete(hardware_id)
        tables.sessions.forget([hardware_id])

    async def left_out(self, ids: Sequence[str]) -> None:
        """Follow what `leave_out` committed of these machines."""
        await self.refresh(ids)
        await self.sessions.refresh(*ids)
        self._wakeups.wake(CHANGES)

    async def credential(
        self, key: str, server: str, registry: str, who: str, scope: Selector | None = None
    ) -> Credential:
        """What a person starts a worker with by hand on this machine, for the node door at `server`: a boot ticket.

        Raises Conflict as long as the machine has work outside of the scope, which its bearer would be handed with its secrets.
        """
        hardware = _in_service(self.known.find(key), self.within(scope)).hardware
        hardware_id = hardware.id
        await self._refuse_beside_work_outside(hardware, self.within(scope))
        ticket = await self.sessions.give(hardware_id, who)
        self.progress.saw(self.progress.seen_last(hardware), Stage.CREDENTIAL, f"by {who}", who=who)
        return Credential(server=server, registry=registry, worker=hardware_id, token=ticket)

    async def rotate(self, key: str, server: str, registry: str, who: str, scope: Selector | None = None) -> Credential:
        """The same for a person, and let nothing count any more that was given or exchanged before."""
        hardware = _in_service(self.known.find(key), self.within(scope)).hardware
        hardware_id = hardware.id
        await self._refuse_beside_work_outside(hardware, self.within(scope))
        await self.sessions.revoke([hardware_id], who)
        ticket = await self.sessions.give(hardware_id, who)
        return Credential(server=server, registry=registry, worker=hardware_id, token=ticket)

    async def _refuse_beside_work_outside(self, hardware: Hardware, within: MachinesWithin) -> None:
        def question(tables: Tables) -> frozenset[str]:
            unfinished = [each for each, _ in tables.workflows.unfinished_of(hardware.id)]
            return within.outside(tables, [*unfinished, *tables.rollouts.waiting_in([hardware.id]).values()])

        if outside := await self._store.read(question):
            raise Conflict(f"machine {name_of(hardware)} is busy with {OUTSIDE}", of=outside)

    async def accept_tpm(self, key: str, fingerprint: str, who: str, scope: Selector | None = None) -> MachineStatus:
        """For a person, have a machine show the TPM of this fingerprint from its next boot on; empty: its next one is its first.

        Raises Invalid for what is no fingerprint, and Conflict as `credential`: another host with such a TPM would be the machine.
        """
        wanted = fingerprint.strip().lower()
        if wanted and not _FINGERPRINT.fullmatch(wanted):
            text = "the SHA-256 of its endorsement key, 64 letters of 0-9 and a-f"
            raise Invalid(f"{one_line(fingerprint, 80)} is no fingerprint of a TPM: that is {text}")
        record, within = self.known.find(key), self.within(scope)
        await self._refuse_beside_work_outside(record.hardware, within)
        await self.sessions.accept_tpm(record.hardware.id, wanted, who)
        self._wakeups.wake(CHANGES)
        return await self._standing(record, within)

    async def forget_https(self, key: str, who: str, scope: Selector | None = None) -> MachineStatus:
        """For a person, let a machine boot by plain HTTP again; raises as `get`, and Conflict as `credential`.

        Its boot scripts, with the tickets for its work, could be read on the wire then.
        """
        record, within = self.known.find(key), self.within(scope)
        await self._refuse_beside_work_outside(record.hardware, within)
        await self.enrolments.forget(record.hardware.id, who)
        self._wakeups.wake(CHANGES)
        return await self._standing(record, within)

    def authenticate(self, text: str, instance: str, address: str) -> str:
        """The id of the machine whose worker shows a secret; raises as `Sessions.authenticate` does."""
        holder = self.sessions.authenticate(text, instance, address)
        if self.known.get(holder) is None:
            raise Denied("this machine was not accepted yet")
        self.progress.heard(holder)
        return holder

    async def refresh(self, ids: Iterable[str]) -> None:
        """Take over what was just committed about these machines."""
        wanted = list(ids)
        stored = await self._store.look(lambda tables: tables.hardware.some(wanted))
        deleted = set(wanted) - {record.hardware.id for record in stored}
        before = self.known.macs_of(wanted)
        labelled = {each: record.hardware.labels for each in wanted if (record := self.known.get(each)) is not None}
        self.known.forget(deleted)
        self.enrolments.forget_deleted(deleted)
        self.known.take(stored)
        now = {record.hardware.id: record.hardware.labels for record in stored}
        if moved := [(labels, now.get(each)) for each, labels in labelled.items() if now.get(each) != labels]:
            self.labels_changed(moved)
        self.boot_facts.forget(before, deleted)
        self.timeline.forget(mac for mac in before if not self.known.knows(mac))

    def tickets_granted(self, ids: Iterable[str], workflow_name: str) -> None:
        """A workflow was created for these machines: their boots are counted anew."""
        self.boot_facts.name_workflow(workflow_name, ids)
        self.progress.begin_anew(ids)

    def _status(
        self,
        record: MachineRecord,
        failure: Failure | None = None,
        doing: Doing | None = None,
        *,
        within: MachinesWithin | None = None,
    ) -> MachineStatus:
        mac = self.progress.seen_last(record.hardware)
        newest = self.timeline.newest(mac) if mac else None
        # It may have been seen before anybody told of it; what others did about it is nowhere that it is.
        seen = newest if newest and is_its_own(newest.stage, newest.facts) else None
        session, key = self.sessions.of(record.hardware.id), (within or self.known).key(record.hardware)
        return MachineStatus(
            hardware=record.hardware,
            key=key,
            created_at=record.created_at,
            updated_at=record.updated_at,
            ticket=record.ticket,
            installed=record.installed,
            boots=record.boots,
            parked=parked_reason(ticket=record.ticket, boots=record.boots, furthest=record.furthest, key=key),
            stage=record.stage or (seen.stage if seen else None),
            stage_at=record.stage_at or (seen.at if seen else None),
            last_contact=self.progress.last_contact(record.hardware.id),
            stalled=stalled(newest, self._clock()) if newest else "",
            tpm=session.tpm if session else "",
            tpm_accepted=session.tpm_accepted if session else "",
            enrolment=self.enrolments.of(record.hardware.id),
            retired=record.retired,
            failure=failure,
            doing=doing,
        )


_FAILED_OUTSIDE: Final = Failure(workflow_id="", reason="", message=OUTSIDE)


def _failure(workflow: ListedWorkflow) -> Failure:
    reason, message = explanation(workflow)
    return Failure(workflow_id=workflow.id, reason=str(reason), message=message)


def _refuse_known(tables: Tables, hardware: Hardware) -> None:
    """Raise Conflict where another machine has the MAC, address or name of a new one."""
    for claim, holder in tables.hardware.holders(hardware):
        (record,) = tables.hardware.some([holder])
        raise Conflict(
            f"{claim} belongs to machine {called(record.hardware)} already: `tinkbox hardware get {claim}` shows it"
        )
    named, same = tables.hardware.named(hardware.name), tables.hardware.some([hardware.id])
    for stored in (record.hardware for record in same):
        for mac in (each.mac for each in stored.interfaces if hardware.interface(each.mac)):
            name = called(stored)
            raise Conflict(f"{mac} belongs to machine {name} already: `tinkbox hardware get {name}` shows it")
        if not named:
            _refuse_renamed(tables, stored, hardware)
    if named or same:
        raise Conflict(f"there is a machine called {hardware.name} already: choose another name with --name")


def is_its_agent_id(hardware: Hardware, claim: str) -> bool:
    """Whether a machine has what it is `addressed_by` as its agent id alone, which may also be its own MAC, address or id."""
    return claim == hardware.agent_id and claim not in addressed_by(replace(hardware, agent_id=""))


def refuse_deleted(tables: Tables, hardware_id: str) -> None:
    """Raise NotFound for a machine that is gone since it was found in memory."""
    if not tables.hardware.some([hardware_id]):
        raise NotFound(f"hardware {hardware_id} was deleted meanwhile")


def refuse_retired(tables: Tables, ids: Iterable[str], kept: KeptMachines | None = None) -> None:
    """Raise Conflict, which says what to do, where one of these machines is out of service; `kept` are those it is named among."""
    for record in tables.hardware.some([each for each in ids if tables.retirements.of(each)]):
        _in_service(record, kept or tables.hardware)


def _in_service(record: MachineRecord, kept: KeptMachines) -> MachineRecord:
    if record.retired is None:
        return record
    reason = f": {record.retired.reason}" if record.retired.reason else ""
    raise Conflict(
        f"machine {called(record.hardware)} is retired since {record.retired.at:%Y-%m-%d}{reason}: "
        f"`tinkbox hardware return {typed(kept, record.hardware)}` takes it back into service"
    )


def _refuse_needed(tables: Tables, machines: Sequence[Hardware]) -> None:
    """Raise Conflict, which says what to do, where a workflow is in the way of one of these documents."""
    wanted = {each.id: each for each in machines}
    for stored in (record.hardware for record in tables.hardware.some(wanted)):
        if workflow := workflow_in_the_way(stored, wanted[stored.id], tables.workflows.needing):
            raise Conflict(needed(stored, workflow, partial(typed, tables.hardware)))


def _refuse_others(tables: Tables, machines: Sequence[Hardware]) -> None:
    """Raise Conflict, which says what to do, for a document of another machine than the one of its id, or with the name of another."""
    stored = {record.hardware.id: record.hardware for record in tables.hardware.some(each.id for each in machines)}
    for wanted in (each for each in machines if each.id in stored):
        _refuse_renamed(tables, stored[wanted.id], wanted)
        if why := id_in_the_way(stored[wanted.id], wanted):
            raise Conflict(why)
    names = new_names(machines, stored)
    beside = set(tables.hardware.so_called(names)) - {each.id for each in machines} if names else ()
    others = [record.hardware for record in tables.hardware.some(beside)]
    for _, holder in namesakes(machines, stored, others):
        raise Conflict(name_taken(holder))


def _refuse_renamed(tables: Tables, stored: Hardware, hardware: Hardware) -> None:
    """Raise Conflict, which says what to do, for a document that is not of the machine which has its id."""
    if why := name_in_the_way(stored, hardware, partial(typed, tables.hardware), tables.hardware.named):
        raise Conflict(why)


def _claimed(hardware: Hardware, claim: str, holder: str) -> str:
    if claim == hardware.agent_id:
        return f"agent id {claim}"
    if claim == hardware.id:
        return f"id {claim}"
    if claim == holder:
        return f"name {claim}, which is an id"
    return f"{'MAC address' if ':' in claim else 'IP address'} {claim}"
