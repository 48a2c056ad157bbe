"""Use-cases of rollouts, and of a workflow for one machine: what people ask of them.  `progression` has rollouts go on."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from tinkbox.engine.lookup import only, only_called
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.rollouts.planning import (
    Plan,
    Refused,
    Wanted,
    chosen_machines,
    engaged,
    planned,
    refused_in,
)
from tinkbox.engine.rollouts.rules import Happening, advance
from tinkbox.engine.rollouts.settling import explained, note
from tinkbox.engine.rollouts.todays_names import called_now
from tinkbox.engine.rules.arming import Change
from tinkbox.engine.templates.binding import Names
from tinkbox.engine.templates.parameters import needless
from tinkbox.engine.templates.references import referents_in
from tinkbox.engine.templates.templates import find_listed_template, find_template
from tinkbox.engine.turns import Rehearsals, Turns
from tinkbox.engine.wakeups import CHANGES, Wakeups
from tinkbox.engine.workflows.metadata_mentions import MetadataGap, gap_lines
from tinkbox.engine.workflows.missing_images import images_elsewhere, missing_images, refuse_missing
from tinkbox.engine.workflows.obstacles import boot_obstacles, started_by_hand
from tinkbox.engine.workflows.retries import overtaken_on, taken_meanwhile, with_parameters
from tinkbox.engine.workflows.workflows import Prepared, Workflows
from tinkbox.model.access import NOT_SHOWN, OPERATOR
from tinkbox.model.breakpoint import Breakpoints, Hold
from tinkbox.model.errors import Conflict, Invalid, Problem, Refusal
from tinkbox.model.images.standing import StandingOf
from tinkbox.model.key_kinds import ToChange
from tinkbox.model.keys import meant
from tinkbox.model.labels import LabelChange
from tinkbox.model.rollout import (
    DELETED,
    HOLDING,
    KEPT,
    KEPT_MACHINES,
    LABEL,
    MAX_UNFINISHED,
    OVER,
    REGISTERED_ANEW,
    RETIRED,
    UNDER_WAY,
    UNSUCCESSFUL,
    Counts,
    Member,
    Place,
    Rollout,
    RolloutState,
    gone_before_its_turn,
)
from tinkbox.model.telling import Telling
from tinkbox.model.text import counted
from tinkbox.model.told_once import reasons_told_once
from tinkbox.model.workflow import ListedWorkflow, State
from tinkbox.store.database import Store, Tables

SHOWN: Final = 100  # machines of each kind, where not all of them are asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A rollout with where its machines stand.

    Of those that did not succeed or were left out, are under way and wait, only the first are listed; `workflows` are those of the machines under
    way, by their ids, and `holds` those of these that wait for a person's verdict; `held` is how many there are in all.  `refused` are those that it has just gone on without.
    Machines have their names of today.
    """

    rollout: Rollout
    counts: Counts
    unsuccessful: Sequence[Member] = ()
    under_way: Sequence[Member] = ()
    waiting: Sequence[Member] = ()
    workflows: Sequence[ListedWorkflow] = ()
    refused: Sequence[Refused] = ()
    held: int = 0
    holds: Mapping[str, Hold] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Every machine of a rollout, in the order in which they begin; names, `workflows` and `holds` are as in `Standing`."""

    members: Sequence[Member]
    workflows: Sequence[ListedWorkflow]
    holds: Mapping[str, Hold]


class Rollouts:
    """Make, show, pause, resume, cancel, retry and delete rollouts.

    Wherever a `key` is asked, it is an id, a template's name, or a unique beginning of an id.  Where a rollout is shown, the name
    means the newest; what changes one raises Conflict where several have the name (`find_to_change`).
    """

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        machines: Machines,
        workflows: Workflows,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        names: Names,
        renderings: Turns,
        rehearsals: Rehearsals,
        standing_of: StandingOf,
        metadata_gap: MetadataGap,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._machines = machines
        self._workflows = workflows
        self._clock = clock
        self._new_id = new_id
        self._names = names
        self._renderings = renderings
        self._standing_of = standing_of
        self._metadata_gap = metadata_gap
        self._rehearsals = rehearsals

    async def rehearse(self, wanted: Wanted, who: str, *, looks: bool = True) -> Plan:
        """As `plan`, in a turn of this person's (`Rehearsals`); who may not look is not told which images are missing."""
        async with self._rehearsals.turn(who):
            plan = await self.plan(wanted, who)
        try:
            self._require_images(plan, wanted)
        except Invalid:
            if looks:
                raise
            raise Invalid(NOT_SHOWN) from None
        return plan

    def _require_images(self, plan: Plan, wanted: Wanted) -> None:
        if wanted.require_images:
            refuse_missing(plan.images, self._standing_of)

    async def plan(self, wanted: Wanted, who: str = OPERATOR) -> Plan:
        """What a rollout would do; nothing is stored.

        Raises NotFound for an unknown template, Invalid for what is wrong whatever the machine.
        """
        template = await self._store.read(lambda tables: find_template(tables, wanted.template))
        machines, unknown = await chosen_machines(self._machines.known, wanted)
        with self._renderings.place(who) as turn:
            plan = await planned(
                template,
                machines,
                wanted,
                self._names,
                self._machines.known,
                self._metadata_gap,
                turn,
                referents_in(self._store),
            )
        why = await self._store.read(lambda tables: engaged(tables, plan.names))
        busy = refused_in(plan.names, why)
        return replace(
            plan,
            machines=tuple(each for each in plan.machines if each.hardware.id not in why),
            refused=(*unknown, *plan.refused, *busy),
        )

    def warnings(self, plan: Plan, osie: Collection[str]) -> list[str]:
        """What would keep its machines from beginning, parameters that are given in vain, and what of the template is ignored.

        `osie` are the architectures of the OSIEs that there are.
        """
        machines = [each.hardware for each in plan.machines]
        in_vain = needless(plan.template.name, plan.template.data, list(plan.parameters))
        return [
            *(f"template {plan.template.name}: {each}" for each in plan.ignored),
            *in_vain,
            *boot_obstacles(machines, osie, self._machines.known.key),
            *started_by_hand(machines, self._machines.known.key),
            *missing_images(plan.images, self._standing_of),
            *images_elsewhere(plan.images, self._standing_of),
            *gap_lines(plan.gaps),
        ]

    async def create(
        self, wanted: Wanted, who: str = OPERATOR, *, skip_refused: bool = False, digest: str | None = None
    ) -> Standing:
        """Make a rollout, which begins at once.

        Raises as `plan`, and Invalid for images that are required, and with every machine that is refused; with `skip_refused` only where no other is left.  With
        the `digest` of the plan that a person said yes to, raises Conflict where this one is another by now.
        """
        plan = await self.plan(wanted, who)
        self._require_images(plan, wanted)
        if plan.refused and not (skip_refused and plan.machines):
            raise _refused(plan.refused, len(plan.machines))
        if digest is not None and digest != plan.digest:
            raise _changed_since()
        now, rollout_id = self._clock(), self._new_id()
        rollout = Rollout(
            id=rollout_id,
            template_id=plan.template.id,
            template_name=plan.template.name,
            device=plan.device,
            parameters=plan.parameters,
            max_parallel=wanted.max_parallel,
            on_failure=wanted.on_failure,
            who=who,
            created_at=now,
            updated_at=now,
            labels=wanted.labels,
            breakpoints=_kept(wanted.breakpoints),
            wipe_confirmed=wanted.confirm_wipe,
        )
        LabelChange(set=((LABEL, rollout.short),)).applied_to(wanted.labels)

        def use_case(tables: Tables) -> None:
            why = engaged(tables, plan.names)  # since they were looked at
            machines = [each for each in plan.machines if each.hardware.id not in why]
            if why and not (skip_refused and machines):
                raise _refused(refused_in(plan.names, why), len(machines))
            if why and digest is not None:
                raise _changed_since()
            if tables.rollouts.unfinished() >= MAX_UNFINISHED:
                raise Conflict(
                    f"{MAX_UNFINISHED} rollouts are not over, and there are no more at a time: `tinkbox rollout list` shows them"
                )
            members = [
                Member(position=position, machine=each.hardware.id, name=each.name, registered=each.registered)
                for position, each in enumerate(machines)
            ]
            tables.rollouts.insert(rollout, plan.template.data, members)
            tables.rollouts.forget_surplus(KEPT, KEPT_MACHINES)

        await self._store.write(use_case)
        self._wakeups.wake(CHANGES)
        return await self.get(rollout_id)

    async def create_one(self, wanted: Wanted, who: str = OPERATOR) -> Prepared:
        """Make a workflow for the one machine that is wanted, unless it is engaged; returns what it was made of.

        What refuses a machine of a rollout refuses this one, in the transaction that makes the workflow.  Raises as `create`.
        """
        plan = await self.plan(wanted, who)
        if plan.refused:
            raise _refused_alone(*plan.refused)
        (machine,) = plan.machines
        prepared = await self._workflows.prepare(
            plan.template,
            {plan.device: machine.worker, **plan.parameters},
            machine=machine.hardware,
            breakpoints=wanted.breakpoints,
            who=who,
            confirm_wipe=wanted.confirm_wipe,
            labels=wanted.labels,
            require_images=wanted.require_images,
            strict=wanted.strict,
            scope=wanted.scope,
        )

        def use_case(tables: Tables) -> list[str]:
            if why := engaged(tables, plan.names):  # since it was looked at
                raise _refused_alone(*refused_in(plan.names, why))
            return self._workflows.take_in(tables, prepared).workers()

        workers = await self._store.write(use_case)
        await self._workflows.taken_in(prepared.name, workers)
        return prepared

    async def all(self, template: str = "") -> list[Standing]:
        """Every rollout, oldest first, without its machines; of a `template` those of what this key means (`find_listed_template`)."""

        def question(tables: Tables) -> list[Standing]:
            found = tables.rollouts.all(find_listed_template(tables, template) if template else None)
            ids = [each.id for each in found]
            counts, held = tables.rollouts.counts(ids), tables.rollouts.held(ids)
            return [Standing(rollout=each, counts=counts[each.id], held=held.get(each.id, 0)) for each in found]

        return await self._store.read(question)

    async def get(self, key: str, to_change: ToChange = ToChange.NO) -> Standing:
        """The one that the key means `to_change` it so.

        Raises NotFound, or Conflict when the key fits several, and where it is to be deleted what `delete` does.
        """
        known = self._machines.known

        def question(tables: Tables) -> Standing:
            rollout = find_rollout(tables, key) if to_change is ToChange.NO else find_to_change(tables, key, to_change)
            if to_change is ToChange.DELETE:
                _refuse_deletion(rollout)
            under_way = tables.rollouts.members(rollout.id, UNDER_WAY, SHOWN)
            unsuccessful = explained(tables, tables.rollouts.members(rollout.id, UNSUCCESSFUL | {Place.LEFT}, SHOWN))
            workflows, holds = _reached(tables, under_way)
            return Standing(
                rollout=rollout,
                counts=tables.rollouts.counts([rollout.id])[rollout.id],
                unsuccessful=called_now(known, unsuccessful),
                under_way=called_now(known, under_way),
                waiting=called_now(known, tables.rollouts.members(rollout.id, {Place.WAITING}, SHOWN)),
                workflows=workflows,
                held=tables.rollouts.held([rollout.id]).get(rollout.id, 0),
                holds=holds,
            )

        return await self._store.read(question)

    async def members(self, key: str) -> Members:
        """Every machine of a rollout, and where it stands; raises as `get`."""

        def question(tables: Tables) -> Members:
            members = explained(tables, tables.rollouts.members(find_rollout(tables, key).id))
            workflows, holds = _reached(tables, [each for each in members if each.place in UNDER_WAY])
            return Members(members=called_now(self._machines.known, members), workflows=workflows, holds=holds)

        return await self._store.read(question)

    def key(self, machine: str) -> str:
        """What means the machine of exactly this id and no other: its name now, or the id where that would not do."""
        record = self._machines.known.get(machine)
        return self._machines.known.key(record.hardware) if record else machine

    async def pause(self, key: str) -> Standing:
        """Have no further machine begin; those under way go on.  Raises Conflict for one that is over or stops."""
        return await self._change(key, Happening.PAUSED)

    async def resume(self, key: str, *, skip_refused: bool = False) -> Standing:
        """Have the machines that wait begin, whatever stopped that; those that failed stay as they are.

        Those that were deleted, be they registered anew, are canceled.
        Raises Conflict for a rollout that goes on already, and where none waits, and Invalid as `create` for machines that
        others took meanwhile; with `skip_refused` these are canceled, where another is left.
        """

        def check(tables: Tables, rollout: Rollout) -> Sequence[Refused]:
            if not tables.rollouts.counts([rollout.id])[rollout.id].waiting and rollout.state in OVER:
                raise Conflict(
                    f"rollout {rollout.short} is {rollout.state} and no machine waits: `tinkbox rollout retry {rollout.short}` "
                    "tries those again that did not succeed"
                )
            _cancel_deleted(tables, rollout)
            return self._apart(tables, rollout, _unheld(tables, rollout), skip_refused=skip_refused)

        return await self._change(key, Happening.RESUMED, check)

    async def cancel(self, key: str) -> Standing:
        """Have no further machine begin, and cancel the workflows of those under way.  Raises Conflict when it is over."""
        return await self._change(key, Happening.STOPPED, stop_into=RolloutState.CANCELED)

    async def retry(self, key: str, *, skip_refused: bool = False) -> Standing:
        """Have every machine wait again that did not succeed, and go on.

        Its workflow is resumed then where it failed, or made anew if it was deleted.  Where it was canceled when all of its
        actions were done, the machine has succeeded.  Machines that are retired, or were deleted, be they registered anew
        since, are left out, and keep why they did not succeed.  Raises Conflict when there is none, and Invalid as
        `resume`; with `skip_refused` those that did not succeed stay as they are.
        """

        def check(tables: Tables, rollout: Rollout) -> Sequence[Refused]:
            note(tables, rollout)
            # There is nothing left to resume of what was stopped behind its last action.
            concerned = tables.rollouts.take_as_done(rollout.id) + _leave_out(tables, rollout)
            again = tables.rollouts.in_service(rollout.id, UNSUCCESSFUL | {Place.LEFT})
            if not again and not concerned:
                raise Conflict(_nothing_to_retry(tables, rollout))
            refused = self._apart(tables, rollout, [*again, *_unheld(tables, rollout)], skip_refused=skip_refused)
            apart = {each.machine for each in refused}
            tables.rollouts.put_back(rollout.id, [each.position for each in again if each.machine not in apart])
            return refused

        return await self._change(key, Happening.RETRIED, check, to_change=ToChange.ANY)

    async def delete(self, key: str) -> str:
        """Forget a rollout that is over; its workflows stay.  Returns the id.  Raises Conflict before it is over."""

        def use_case(tables: Tables) -> str:
            rollout = find_to_change(tables, key, ToChange.DELETE)
            _refuse_deletion(rollout)
            tables.rollouts.delete(rollout.id)
            return rollout.id

        rollout_id = await self._store.write(use_case)
        self._wakeups.wake(CHANGES)
        return rollout_id

    def _apart(
        self, tables: Tables, rollout: Rollout, members: Sequence[Member], *, skip_refused: bool
    ) -> list[Refused]:
        """Those of the machines that something else has by now, or had since: the rollout cannot go on with them.

        Raises Invalid with all of them, unless they are to be skipped and others are left; those that wait are canceled then.
        """
        names = {each.machine: each.name for each in called_now(self._machines.known, members)}
        others = {each.machine: _taken(tables, rollout, each, self.key(each.machine)) for each in members}
        busy = engaged(tables, names, rollout.id)
        refused = refused_in(names, {machine: Telling(text=why) for machine, why in others.items() if why} | busy)
        if refused and not (skip_refused and len(refused) < len(names)):
            raise _refused(refused, len(names) - len(refused))
        apart = {each.machine for each in refused}
        for each in members:
            if each.machine in apart and each.place is Place.WAITING:
                # It is kept, and read when the name may be another machine's.
                why = busy[each.machine].text if each.machine in busy else _taken(tables, rollout, each, each.machine)
                tables.rollouts.end_unbegun(rollout.id, each.position, Place.CANCELED, f"left out: {why}")
        return refused

    async def _change(
        self,
        key: str,
        happening: Happening,
        check: Callable[[Tables, Rollout], Sequence[Refused]] = lambda _, __: (),
        stop_into: RolloutState | None = None,
        to_change: ToChange = ToChange.UNFINISHED,
    ) -> Standing:
        """Let a person's word count, if the table has it and `check` does not raise, which returns what is left out."""
        now = self._clock()

        def use_case(tables: Tables) -> tuple[str, Sequence[Refused]]:
            rollout = find_to_change(tables, key, to_change)
            state = advance(rollout, happening)
            refused = check(tables, rollout)
            tables.rollouts.set_state(rollout.id, state, now, stop_into)
            return rollout.id, refused

        rollout_id, refused = await self._store.write(use_case)
        self._wakeups.wake(CHANGES)
        return replace(await self.get(rollout_id), refused=refused)


def find_rollout(tables: Tables, key: str) -> Rollout:
    """What `key` means where a rollout is shown: the one, or the newest of its template's name; raises NotFound or Conflict."""
    return only(meant(tables.rollouts, key), "rollout", key)


def find_to_change(tables: Tables, key: str, to_change: ToChange) -> Rollout:
    """What `key` means for what changes it so; raises NotFound, or Conflict also for a name that several have.

    As `find_rollout`; for `UNFINISHED` the only one of a name that is not over, and one that is where no other has the name.
    """
    rollout = find_rollout(tables, key)
    if key != rollout.template_name or key == rollout.id:
        return rollout
    over = OVER if to_change is ToChange.UNFINISHED else ()
    (found,) = tables.rollouts.having(only_called(tables.rollouts.called(key), "rollout", key, over=over))
    return found


def _reached(tables: Tables, under_way: Sequence[Member]) -> tuple[list[ListedWorkflow], dict[str, Hold]]:
    """The workflows of these machines, and by their ids the holds of those that wait for a person's verdict."""
    workflows = tables.workflows.listed([each.workflow_id for each in under_way])
    return workflows, tables.holds.awaiting([each.id for each in workflows if each.state is State.RUNNING])


def _leave_out(tables: Tables, rollout: Rollout) -> int:
    """Let those count no more that are out of service, and did not succeed or wait; returns how many there are.

    One that waits has no reason yet, and gets one.
    """
    departed = _departed(tables, rollout)
    for each, what in departed:
        tables.rollouts.end_unbegun(rollout.id, each.position, Place.LEFT, gone_before_its_turn(what))
    return len(departed) + tables.rollouts.leave_out(rollout.id)


def _cancel_deleted(tables: Tables, rollout: Rollout) -> None:
    """End the waiting of those that were deleted, be they registered anew: what has their ids now is free for others."""
    for each, what in _departed(tables, rollout):
        if what != RETIRED:
            tables.rollouts.end_unbegun(rollout.id, each.position, Place.CANCELED, gone_before_its_turn(what))


def _departed(tables: Tables, rollout: Rollout) -> list[tuple[Member, str]]:
    """The machines that wait and are not in service, each with what became of it, as for `gone_before_its_turn`."""
    stays = {each.position for each in tables.rollouts.in_service(rollout.id, {Place.WAITING})}
    waiting = [each for each in tables.rollouts.members(rollout.id, {Place.WAITING}) if each.position not in stays]
    is_deleted = tables.rollouts.out_of_service([each.machine for each in waiting])
    became = {True: DELETED, False: RETIRED, None: REGISTERED_ANEW}
    return [(each, became[is_deleted.get(each.machine)]) for each in waiting]


def _nothing_to_retry(tables: Tables, rollout: Rollout) -> str:
    """Why there is no machine to try again, and what there is to do instead."""
    is_so, key = f"rollout {rollout.short} is {rollout.state}", rollout.short
    counts = tables.rollouts.counts([rollout.id])[rollout.id]
    if rollout.state in OVER and counts.under_way:
        again = counted(counts.under_way, "machine")
        return (
            f"{is_so}, and {again} of it, retried already, did not end yet: `tinkbox rollout watch {key}` follows that"
        )
    if rollout.state in OVER and counts.waiting:
        return f"{is_so}: no machine of it has failed; `tinkbox rollout resume {key}` goes on with those that wait"
    return f"{is_so}: no machine of it has failed"


def _refuse_deletion(rollout: Rollout) -> None:
    if rollout.state not in OVER:
        raise Conflict(
            f"rollout {rollout.short} is {rollout.state}: it can be deleted when it is over; `tinkbox rollout cancel "
            f"{rollout.short}` ends it"
        )


def _unheld(tables: Tables, rollout: Rollout) -> list[Member]:
    """The machines that wait, where it is so that others could take them meanwhile."""
    return [] if rollout.state in HOLDING else tables.rollouts.in_service(rollout.id, {Place.WAITING})


def _taken(tables: Tables, rollout: Rollout, member: Member, key: str) -> str:
    """Which other workflow has a machine, or had it since it was the rollout's; `key` means it in the way out.  Empty: none."""
    again = with_parameters(rollout.template_name, rollout.parameters, key)
    if member.workflow_id and not member.workflow_deleted:
        return overtaken_on(tables, member.workflow_id, member.machine, again).text
    return taken_meanwhile(tables, member.machine, member.workflow_id, rollout.created_at, again)


def _refused(refused: Sequence[Refused], left: int) -> Invalid:
    """The refusal of machines before anything begins."""
    reasons = reasons_told_once([(each.name, each.why) for each in refused], left)
    listed = [Problem(text=why, key=name) for name, why in reasons[:SHOWN]]
    if len(reasons) > SHOWN:
        listed.append(Problem(text=f"and {len(reasons) - SHOWN} more"))
    way_out = "; --skip-refused goes on without them" if left else ""
    return Invalid(
        f"nothing was begun: {counted(len(refused), 'machine')} of {len(refused) + left} cannot begin{way_out}", listed
    )


def _refused_alone(machine: Refused) -> Refusal:
    """The refusal of the only machine that is wanted: a conflict where it has other work."""
    if machine.engaged:
        return Conflict(f"nothing was begun: machine {machine.name} has other work: {machine.why}", of=machine.of)
    return _refused([machine], 0)


def _changed_since() -> Conflict:
    return Conflict("nothing was begun, for what would be done has changed since it was shown: look at it again")


def _kept(change: Change | None) -> Breakpoints:
    """What a person wants armed in each workflow, as it is kept; `before` and `after` are as they were typed."""
    if change is None:
        return Breakpoints()
    kept = Breakpoints(on_failure=bool(change.on_failure), before=change.before, after=change.after)
    if change.timeout is not None:
        kept = replace(kept, timeout=change.timeout)
    return kept if change.on_expiry is None else replace(kept, on_expiry=change.on_expiry)
