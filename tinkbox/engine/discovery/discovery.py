"""Use-cases of machines that nobody knows: boot, tell, wait; accept and refuse.  And what known machines are made of."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from ipaddress import IPv4Network
from typing import Final, NoReturn

from tinkbox.engine.applying.structured_flows import hardware_view, reference, task_key, tasks_called
from tinkbox.engine.audit.audit import Audit
from tinkbox.engine.discovery.kept_rule_sets import KeptRuleSets
from tinkbox.engine.discovery.unknown_machines import UnknownMachines
from tinkbox.engine.machines.boot_tickets import Kind
from tinkbox.engine.machines.hardware_document import hardware_of, reservation
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.templates.structured_tasks import Entry, composed
from tinkbox.engine.templates.templates import find_template
from tinkbox.engine.wakeups import CHANGES, Wakeups
from tinkbox.engine.workflows.audited import Told as ToldAudit
from tinkbox.engine.workflows.audited import workflow_digest
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.audit import Changed
from tinkbox.model.boot import Boot, Client, Plan, Silence, Stage
from tinkbox.model.card_firmware import Need, need
from tinkbox.model.declaration import Declaration
from tinkbox.model.devices import Devices
from tinkbox.model.discovery import Rule, Standing, Stranger, best_rule, filled, host_name
from tinkbox.model.documents.kubernetes import DEFAULT_NAMESPACE, GROUP, VERSION_2
from tinkbox.model.documents.rule_sets import LABEL, PREFIX, RuleSet
from tinkbox.model.errors import Conflict, Denied, Invalid, NotFound, Refusal, Unavailable
from tinkbox.model.hardware import Hardware, Interface, MacAddress, addressed_by, mac_of, names_of
from tinkbox.model.inventory import Inventory, summary
from tinkbox.model.labels import NO_LABELS, Labels
from tinkbox.model.text import shortened
from tinkbox.model.workflow import Workflow
from tinkbox.store.database import Store, Tables
from tinkbox.store.templates import Template
from tinkbox.wire.messages.inventory import Accepted, Told
from tinkbox.wire.messages.worker import Credential

ACCEPTED = "accepted"  # the wakeup for when a machine was
DEVICE = "device_1"
BY_RULE = "discovery rules"
LOOK_EVERY = 30.0
# What stands for the template of a machine that is accepted, and what its workflow is declared as.
TemplateFor = Callable[[Hardware, str], Awaitable[tuple[Template, Declaration]]]
_LONGEST_PROBLEM: Final = 300  # letters of one that is shown of a machine
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolled:
    """A machine that was accepted, and the id of the workflow it got; empty: none."""

    hardware: Hardware
    workflow_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """By what machines are accepted: `rules` do so without a person; `networks` are those whose prefixes nobody has to tell."""

    rules: Sequence[Rule] = ()
    networks: Sequence[IPv4Network] = ()


@dataclass(frozen=True, slots=True)
class ByRule:
    """Why the audit says that a machine was accepted, and the id of the document that has the rule; empty: the configuration has it."""

    why: str
    document: str = ""


class Discovery:
    """Machines that nobody knows, who are `strangers`, and what the known ones are made of."""

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        machines: Machines,
        workflows: Workflows,
        strangers: UnknownMachines,
        clock: Callable[[], datetime],
        acceptance: Acceptance,
        audit: Audit,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._machines = machines
        self._workflows = workflows
        self._clock = clock
        self._strangers = strangers
        self._audit = audit
        self._rules = acceptance.rules
        self._networks = acceptance.networks
        self._rule_sets = KeptRuleSets(store, wakeups)
        self._needs: dict[str, Need] = {}

    async def load(self) -> list[str]:
        """Take up what is stored, once; returns what is wrong with the rules."""
        await self._strangers.load()
        self._needs = await self._store.read(lambda tables: dict(map(_needing, tables.discovery.inventories())))
        return [problem for rule in self._rules if (problem := await self._problem(rule))]

    async def save(self) -> None:
        """Save what was noted up to now.  Raises Unavailable."""
        await self._strangers.save()

    # What booting machines ask.  Nothing here waits for a disk.

    def plan(self, client: Client, interface: Interface, port: str = "") -> Plan | None:
        """What to tell a machine that nobody knows and that asks by DHCP; None is silence.

        It may be asked before the machine has an address: `interface` is what it gets if it is let in.  `port` is the
        network interface that it asks on.
        """
        stranger = self._strangers.let_in(client, port)
        if stranger is None:
            return None
        return _plan(stranger, Boot.DISCOVERY if client.netboots else Boot.NOTHING, interface)

    def silence(self, client: Client, port: str) -> Silence:
        """Why there is no plan for a machine that asks by DHCP on this network interface."""
        return self._strangers.silence(client, port)

    def script_plan(self, mac: MacAddress, interface: Interface) -> Plan | None:
        """What to tell one that asks for its boot script; None: it was not let in."""
        stranger = self._strangers.get(mac)
        if stranger is None or stranger.standing is Standing.REFUSED:
            return None
        return _plan(self._strangers.seen(stranger), Boot.DISCOVERY, interface)

    def firmware(self, plan: Plan) -> Need:
        """Whether the cards need firmware of the machine that a plan is for, by what it told last."""
        if plan.hardware_id:
            return self._needs.get(plan.hardware_id, Need.UNKNOWN)
        stranger = self._strangers.get(plan.interface.mac)
        return need(stranger.inventory) if stranger else Need.UNKNOWN

    def credential(self, mac: MacAddress, server: str, registry: str, address: str) -> Credential:
        """What a worker can tell and wait with on a machine that nobody knows, and that has this address.

        Raises NotFound, and Conflict when its boot ticket was exchanged already.
        """
        stranger = self._strangers.get(mac)
        if stranger is None or stranger.standing is Standing.REFUSED:
            raise NotFound(f"{mac} was not let in")
        ticket = self._machines.sessions.ticket(Kind.DISCOVERY, mac, address)
        self._strangers.booting(stranger)
        return Credential(server=server, registry=registry, worker=mac, token=ticket, discovery=True)

    # What its worker asks.  `holder` is whose session it shows: a machine's id, or the MAC of one that nobody knows.

    async def told(self, holder: str, told: Told) -> None:
        """A machine told what it is: one that is known, or one that waits from now on.

        Raises Denied for one that is neither, and for one that was refused.
        """
        if self._machines.known.get(holder):
            inventory, now = told.inventory, self._clock()
            await self._store.write(lambda tables: tables.discovery.keep_inventory(holder, inventory, now))
            self._needs[holder] = need(inventory)
            return
        stranger = self._stranger(holder)
        if stranger.standing is Standing.REFUSED:
            raise Denied("this machine was refused")
        waiting = replace(
            self._strangers.seen(stranger),
            standing=Standing.WAITING,
            boot_id=told.boot_id,
            architecture=told.inventory.architecture or stranger.architecture,
            inventory=told.inventory,
            problem="",
        )
        self._strangers.keep(waiting)
        earlier = self._earlier_selves(waiting.mac, told.inventory)
        if any(each.standing is Standing.REFUSED for each in earlier):
            await self.refuse(waiting.mac)
            raise Denied("this machine was refused, as it booted with another of its cards")
        self._strangers.drop(each.mac for each in earlier)
        await self._strangers.save()
        self._machines.progress.saw(waiting.mac, Stage.INVENTORY, summary(told.inventory))
        await self._ask_rules(waiting.mac)

    async def accepted(self, holder: str) -> Accepted | None:
        """What the machine is now, None while it waits.  Raises Denied for one that is neither."""
        if self._machines.known.get(holder):
            return Accepted(worker=holder)
        self._strangers.seen(self._stranger(holder))
        return None

    async def wait(self, timeout: float) -> None:
        """Return when a machine may have been accepted, at most after `timeout` seconds."""
        await self._wakeups.wait(ACCEPTED, timeout)

    # What people ask.

    def all(self) -> list[Stranger]:
        """The machines that nobody knows, the one seen first first."""
        return self._strangers.all()

    def _told_by(self, stranger: Stranger) -> Inventory:
        """What it told that it is; raises Conflict where it has not."""
        if stranger.inventory is not None:
            return stranger.inventory
        if stranger.standing is Standing.REFUSED:
            self._strangers.drop([stranger.mac])
            raise Conflict(
                f"{stranger.mac} was refused before it told what it is: it is answered from now on, accept it then"
            )
        raise Conflict(f"{stranger.mac} has not told what it is yet ({stranger.standing}): wait until it has")

    async def inventory(self, hardware_id: str) -> tuple[Inventory, datetime] | None:
        """What a known machine told last, and when."""
        return await self._store.read(lambda tables: tables.discovery.inventory(hardware_id))

    async def accept(
        self,
        mac: MacAddress,
        *,
        name: str = "",
        address: str = "",
        gateway: str = "",
        template: str | TemplateFor = "",
        devices: Devices | None = None,
        who: str = "",
        confirm_wipe: bool = False,
        workflow_name: str = "",
        workflow_labels: Labels = NO_LABELS,
        namespace: str = "",
        rule: ByRule | None = None,
    ) -> Enrolled:
        """Make hardware of a machine that told what it is, and with a template a workflow: both, or neither.

        `address` is an IPv4 address to reserve, with its prefix when that is of no network known here; the person `who`
        asks.  Without `devices` the template's only one is `device_1`; `confirm_wipe` is as in `Workflows.create`.  With a
        `namespace` the workflow is declared there, as a document of `workflow_name` would.  The template may be made for the
        machine, with what it is declared as.  Where no person asks, but a `rule` does, the audit has lines of both.
        Raises NotFound for a machine never seen here and for an unknown template; Conflict for one that is known
        already, has not told yet, or would have the name, address or card of another; Invalid as `Workflows.create`.
        """
        self._refuse_known(mac)
        stranger = self._strangers.get(mac)
        if stranger is None:
            raise NotFound(f"{mac} was not discovered: `tinkbox hardware discovered` shows who waits")
        inventory = self._told_by(stranger)
        if gateway and not address:
            raise Invalid("a gateway is told together with an address: give both, or neither")
        reserved = reservation(address, gateway, self._networks) if address else None
        hardware = hardware_of(stranger, inventory, name, reserved)
        macs = [each.mac for each in hardware.interfaces]
        for claimed in macs:
            if claimed != mac and self._waiting(claimed):
                raise Conflict(
                    f"it says that it has {claimed}, which waits as a machine of its own: refuse one of them"
                )
        now = self._clock()

        def enrol(tables: Tables) -> None:
            newest = self._strangers.get(mac)
            if newest is not None and newest.standing is not stranger.standing:
                raise Conflict(f"{mac} is {newest.standing} by now: somebody else decided meanwhile")
            _refuse_another_boot(tables, stranger)
            if tables.hardware.some([hardware.id]):
                raise Conflict(f"machine {hardware.id} is called {hardware.name} already: choose another name")
            for claim, holder in tables.hardware.holders(hardware):
                raise Conflict(f"{claim} belongs to machine {holder} already")
            tables.hardware.upsert(hardware, now)
            tables.sessions.hand_over(mac, hardware.id)
            tables.discovery.keep_inventory(hardware.id, inventory, now)
            tables.discovery.forget(macs)
            self._tell_accepted(tables, hardware, rule)

        if template:
            workflow_id = self._workflows.new_id()
            made: str | Template
            if isinstance(template, str):
                made, bound = template, devices or {DEVICE: str(mac)}
                declared = Declaration(
                    template_ref=template,
                    hardware_ref=hardware.name,
                    namespace=namespace,
                    machines={(namespace, hardware.name): hardware.id},
                )
            else:
                (made, declared), bound = await template(hardware, workflow_id), {}
            workflow_id = await self._workflows.create(
                made,
                bound,
                machine=hardware,
                name=workflow_name,
                who=who,
                confirm_wipe=confirm_wipe,
                first=enrol,
                labels=workflow_labels,
                declared=declared if namespace else None,
                as_id=workflow_id,
                told=self._telling(hardware, rule),
            )
        else:
            workflow_id = ""
            await self._store.write(enrol)
        self._audit.told()
        await self._machines.refresh([hardware.id])
        await self._machines.sessions.refresh(hardware.id, *macs)
        self._strangers.drop(macs)
        self._needs[hardware.id] = need(inventory)
        self._changed()
        _log.info("%s is machine %s", mac, hardware.name, extra={"action": "discovery.accepted"})
        return Enrolled(hardware=hardware, workflow_id=workflow_id)

    def _tell_accepted(self, tables: Tables, hardware: Hardware, rule: ByRule | None) -> None:
        """Add a line to the audit where a rule accepts a machine; what a person does has one already."""
        if rule is not None:
            names = [*names_of(hardware), *addressed_by(hardware), rule.document]
            self._audit.own(tables, "hardware accepted", [hardware.id], rule.why, names=names)

    def _telling(self, hardware: Hardware, rule: ByRule | None) -> ToldAudit | None:
        """What adds one in the transaction that makes the workflow; None: a person makes it."""
        if rule is None:
            return None
        called = [*names_of(hardware), *addressed_by(hardware), rule.document]

        def told(tables: Tables, _: Workflow | None, made: Workflow) -> None:
            names = [made.id, made.name, made.template_id, made.template_name, *called]
            changed = [Changed("workflow", made.id, "", workflow_digest(made))]
            self._audit.own(tables, "workflow created", [made.id], rule.why, changed, names)

        return told

    async def refuse(self, mac: MacAddress) -> None:
        """Answer a machine no more, whether or not it was seen.  Raises Conflict for one that is known."""
        self._refuse_known(mac)
        self._strangers.refuse(mac)
        await self._strangers.save()
        self._changed()

    # Parts.

    async def run(self) -> NoReturn:
        """Save who was let in, in batches, for ever."""
        await self._strangers.run()

    async def watch(self) -> NoReturn:
        """Look after those who wait, for ever."""
        while True:
            with suppress(Unavailable):
                await self.look()
            await asyncio.sleep(LOOK_EVERY)

    async def look(self) -> None:
        """Forget who is gone, and have the rules tried again with those who wait."""
        self._strangers.forget_absent()
        waiting = [each for each in self._strangers.all() if each.standing is Standing.WAITING]
        self._strangers.keep(*waiting)
        for stranger in waiting:
            await self._ask_rules(stranger.mac)

    async def _ask_rules(self, mac: MacAddress) -> None:
        """Accept a machine that waits when a rule says so; what stands in the way is shown, and tried again later.

        Rules of the configuration come first, rule sets that were applied after them.
        """
        stranger = self._waiting(mac)
        inventory = stranger.inventory if stranger else None
        if inventory is None:
            return
        rule = best_rule(self._rules, mac, inventory)
        if rule is None:
            rule_set = await self._rule_sets.best(inventory)
            if rule_set is not None:
                await self._follow(rule_set, mac)
            else:
                self._show_problem(mac, self._rule_sets.left_out)
            return
        devices = {name: filled(value, mac, inventory) for name, value in rule.devices.items()}
        name = host_name(filled(rule.name, mac, inventory))
        try:
            by = ByRule(f"rule {self._number(rule)} of discovery.rules")
            await self.accept(mac, name=name, template=rule.template, devices=devices, who=BY_RULE, rule=by)
        except Refusal as refusal:
            self._show_problem(mac, f"rule {self._number(rule)} would accept it: {_with_first(refusal)}")

    async def _of_tasks(
        self, rule_set: RuleSet, name: str, hardware: Hardware, workflow_id: str
    ) -> tuple[Template, Declaration]:
        """The workflow of v1alpha2 that a rule set makes for a machine: what stands for its template, and its document.

        Raises Invalid for what it refers to, and what cannot be filled.
        """
        named = {"name": hardware.name, "namespace": DEFAULT_NAMESPACE}
        own = {"agentID": mac_of(hardware), "hardware": {"hardwareRef": named}}
        listed = [{**own, **each} for each in rule_set.tasks]
        head = {"apiVersion": f"{GROUP}/{VERSION_2}", "kind": "Workflow"}
        metadata = {"name": name, "namespace": rule_set.namespace}
        manifest = {**head, "metadata": metadata, "spec": {**rule_set.workflow, "tasks": listed}}
        keys = [task_key(each, rule_set.namespace) for each in listed]
        kept = await self._store.read(lambda tables: {each.key: each for each in tables.kept_documents.some(set(keys))})
        lacking = [f"task {key[2]} of namespace {key[1]}" for key in keys if key not in kept]
        if lacking:
            raise Invalid(f"{lacking[0]} is not there: `tinkbox apply` its document")
        view = hardware_view(hardware)
        entries = [Entry(task=kept[key].manifest, worker=mac_of(hardware), hardware=view) for key in keys]
        with self._workflows.rendering(BY_RULE) as turn:
            text = await composed(
                manifest,
                entries,
                turn,
                marks_key=self._workflows.marks_key(workflow_id),
                referents=self._workflows.referents,
            )
        now, reference_ = self._clock(), reference(manifest)
        template = Template(id=reference_, name=tasks_called(keys), data=text, created_at=now, updated_at=now)
        declared = Declaration(
            template_ref=reference_,
            hardware_ref=hardware.name,
            namespace=rule_set.namespace,
            document=manifest,
            machines={(named["namespace"], hardware.name): hardware.id},
        )
        return template, declared

    async def _follow(self, rule_set: RuleSet, mac: MacAddress) -> None:
        """Accept a machine as a rule set says."""
        if rule_set.is_disabled:
            self._show_problem(
                mac, f"{rule_set.title} holds, and is disabled. Accept it with `tinkbox hardware accept {mac}`"
            )
            return
        name = PREFIX + mac.replace(":", "-")
        try:
            await self.accept(
                mac,
                template=partial(self._of_tasks, rule_set, name) if rule_set.workflow else rule_set.template,
                devices=rule_set.devices(mac),
                who=BY_RULE,
                workflow_name=name,
                workflow_labels={LABEL: "true"},
                namespace=rule_set.namespace,
                rule=ByRule(f"{rule_set.title}, which {rule_set.who or 'somebody'} applied", rule_set.document),
            )
        except Refusal as refusal:
            self._show_problem(mac, f"{rule_set.title} would accept it: {_with_first(refusal)}")

    def _waiting(self, mac: MacAddress) -> Stranger | None:
        """A machine that waits, as it is by now: while others were decided about, people may have decided about it."""
        stranger = self._strangers.get(mac)
        return stranger if stranger and stranger.standing is Standing.WAITING else None

    def _show_problem(self, mac: MacAddress, problem: str) -> None:
        """Show why a machine is not accepted by rules; empty: they say nothing of it."""
        stranger = self._waiting(mac)
        if stranger is not None and stranger.problem != problem:
            if problem:
                _log.warning("%s: %s", mac, problem, extra={"action": "discovery.rule"})
            self._strangers.keep(replace(stranger, problem=problem))
            self._changed()

    async def _problem(self, rule: Rule) -> str:
        if not rule.template:
            return ""
        try:
            await self._store.read(lambda tables: find_template(tables, rule.template))
        except Refusal as refusal:
            return f"discovery.rules, rule {self._number(rule)}: {refusal}"
        return ""

    def _number(self, rule: Rule) -> int:
        return self._rules.index(rule) + 1

    def _stranger(self, holder: str) -> Stranger:
        stranger = self._strangers.get(MacAddress(holder))
        if stranger is None:
            raise Denied("this machine was not seen for too long, or is known by now: boot it again")
        return stranger

    def _earlier_selves(self, mac: MacAddress, inventory: Inventory) -> list[Stranger]:
        """The same machine when it booted with another of its cards: each says that it has the other's."""
        mine = {each.mac for each in inventory.cards}
        return [
            each
            for each in self._strangers.all()
            if each.mac != mac
            and each.mac in mine
            and each.inventory is not None
            and mac in {card.mac for card in each.inventory.cards}
        ]

    def _refuse_known(self, mac: MacAddress) -> None:
        hardware_id = self._machines.known.holder(mac)
        if hardware_id:
            raise Conflict(f"{mac} is machine {hardware_id} already")

    def _changed(self) -> None:
        self._wakeups.wake(ACCEPTED)
        self._wakeups.wake(CHANGES)


def _with_first(refusal: Refusal) -> str:
    """What refuses a machine, with the first of the problems that it lists."""
    listed = refusal.reasons if isinstance(refusal, Invalid) else ()
    return f"{refusal}: {shortened(str(listed[0]), _LONGEST_PROBLEM)}" if listed else str(refusal)


def _refuse_another_boot(tables: Tables, stranger: Stranger) -> None:
    """Raise Conflict where another host may have booted in its name since: a person has seen what the one before it told."""
    if any(each.boot_id != stranger.boot_id for each in tables.sessions.some([stranger.mac])):
        raise Conflict(
            f"{stranger.mac} booted again, and has not told yet what it is now: wait until it has, and look again"
        )


def _plan(stranger: Stranger, boot: Boot, interface: Interface) -> Plan:
    return Plan(boot=boot, hardware_id="", interface=replace(interface, architecture=stranger.architecture))


def _needing(told: tuple[str, Inventory]) -> tuple[str, Need]:
    return told[0], need(told[1])
