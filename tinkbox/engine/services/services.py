"""Use-cases of workflow services: what their hosts are told, what they say, and what people see of it.

Both sides say everything that is, not what changed (`wire.messages.hosting`): whoever lost a message sends or asks again, and what
is old or said twice does no harm.  A host is `APPLIANCE` or the id of a machine that its credential proved.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NoReturn

from tinkbox.engine.lookup import only
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.rules.service_readiness import not_ready
from tinkbox.engine.rules.service_runs import READY, noted, passed
from tinkbox.engine.secrets.giving import Giving, NotGiven
from tinkbox.engine.secrets.masks import Masked, WorkflowMasks
from tinkbox.engine.services.routing_table import Hosted, RoutingTable
from tinkbox.engine.wakeups import CHANGES, SERVICES, Wakeups, host_wakeup
from tinkbox.engine.workflows.endings import give_up, tell
from tinkbox.engine.workflows.ephemeral_data import Base, add_version, is_large, keep, served, unchanged
from tinkbox.engine.workflows.image_digests import DigestOf, believed, pin
from tinkbox.engine.workflows.workflows import SHOWN_FINISHED, find_workflow
from tinkbox.model import history
from tinkbox.model.errors import Conflict, NotFound
from tinkbox.model.images.references import pinned
from tinkbox.model.keys import meant
from tinkbox.model.masking import masked_standing
from tinkbox.model.secret import has_mark
from tinkbox.model.services import APPLIANCE, ENDED, Phase, PlannedService, ServiceStatus, Standing
from tinkbox.model.workflow import State, Workflow
from tinkbox.store.database import Store, Tables
from tinkbox.store.output import Piece
from tinkbox.store.services import ServiceRun, Written
from tinkbox.wire.ephemeral_data import decode
from tinkbox.wire.messages.hosting import Wanted, WantedService

LOOK_EVERY = 5.0
# Of a workflow that has as many, a service that comes and goes tells no more.
MAX_EVENTS = 5_000
CALM = 0.05  # what rings many times a second is looked at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A service with where its newest run stands, and the workflow that it belongs to."""

    workflow_id: str
    workflow: str
    state: State
    status: ServiceStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What is kept of one run's output from some offset on; `status.output_length` counts every byte received."""

    workflow_id: str
    run: str
    status: ServiceStatus
    pieces: Sequence[Piece]


class Services:
    """A part, and the host link of all hosts.  `address` is the node door's IPv4 address.

    Wherever a `key` is asked, it is that of a workflow, as `Workflows` takes it, or that of a service: WORKFLOW/SERVICE,
    or SERVICE for the newest workflow that has one so called.
    `host_id` names this appliance among those that may use the same Docker engine; it is there after `load`.
    """

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        machines: Machines,
        clock: Callable[[], datetime],
        directory: RoutingTable,
        address: str,
        digest_of: DigestOf,
        giving: Giving,
        masks: WorkflowMasks,
        appliance_only: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._machines = machines
        self._clock = clock
        self._directory = directory
        self._address = address
        self._digest_of = digest_of
        self._giving = giving
        self._masks = masks
        self._appliance_only = appliance_only
        self._merging = asyncio.Semaphore()  # of large data
        self._runs: dict[str, frozenset[str]] = {}  # what is wanted of each host, as far as wakeups go
        self.host_id = ""

    async def load(self) -> None:
        """Learn what is stored; once, before anything is served."""
        self.host_id = await self._store.read(lambda tables: tables.services.appliance_id())
        await self.refresh()

    async def run(self) -> NoReturn:
        """Keep the directory as it should be, for ever."""
        while True:
            async with self._wakeups.listening(SERVICES, LOOK_EVERY):
                await self.refresh()
                await asyncio.sleep(CALM)

    async def refresh(self) -> None:
        """Take over into the directory what was committed."""

        def question(tables: Tables) -> list[Hosted]:
            wanted = tables.queues.with_services()
            workflows = tables.workflows.some(list(wanted)) if wanted else []
            machines = {machine for each in workflows for machine in each.workers()}
            following = {machine: tables.queues.next_for(machine) for machine in machines}
            return [_hosted(each, following, wanted=wanted[each.id]) for each in workflows]

        # Reads are answered in their order, so that what is newer comes later.
        hosted = await self._store.read(question)
        self._directory.replace(hosted)
        before, self._runs = self._runs, _runs(hosted)
        for host in before.keys() | self._runs.keys():
            if before.get(host) != self._runs.get(host):
                self._wakeups.wake(host_wakeup(host))

    async def wanted(self, host: str, seen: str, *, private: bool = False) -> Wanted | None:
        """Everything that a host is to have; None when that has the mark `seen`.  Does not wait.

        From when a host is told of a run for the first time its `timeout` counts.  A run that asks for secrets fails where the
        answer is not `private`: others could read it on its way.  What the appliance has itself is on no way.
        """
        private = private or host == APPLIANCE
        runs = await self._store.read(lambda tables: _wanted_of(tables, host))
        if any(run.status.begun_at is None for run in runs):
            runs, workers = await self._store.write(lambda tables: self._begin(tables, host, private=private))
            if workers:
                await tell(self._machines, self._wakeups, workers)
            else:
                self._wakeups.wake(CHANGES)
            await self.refresh()
        wanted = Wanted(services=tuple(map(self._wanted, runs)))
        if wanted.mark == seen:
            return None
        if not any(_asks(run) for run in runs):
            return wanted
        given = await self._store.read(lambda tables: [self._given(tables, run, private=private) for run in runs])
        return Wanted(
            services=tuple(replace(each, given=its) for each, its in zip(wanted.services, given, strict=True))
        )

    async def wait(self, host: str, timeout: float) -> None:
        """Wait until something else is wanted of a host, at most `timeout` seconds; others' changes wake nobody."""
        await self._wakeups.wait(host_wakeup(host), timeout)

    async def observed(self, host: str, standings: tuple[Standing, ...]) -> None:
        """Take note of everything that a host has; what it does not host is ignored."""
        masked = await self._store.read(lambda tables: [self._masked(tables, host, each) for each in standings])
        said = {each.run: await self._reachable(host, each) for each in masked}
        if not _news(await self._store.read(lambda tables: tables.services.open_or_named(host, said)), said):
            return
        workers = await self._store.write(lambda tables: self._note(tables, host, said))
        if workers:
            await tell(self._machines, self._wakeups, workers)
        else:
            self._wakeups.wake(CHANGES)
        await self.refresh()

    async def output(self, host: str, run: str, offset: int, chunk: bytes) -> int:
        """Append output that begins at byte `offset`; returns the offset wanted next.

        What is there already is skipped; what would leave a gap is not taken.  Raises NotFound for a run that this host
        does not have.
        """

        def use_case(tables: Tables) -> tuple[int, Masked | None]:
            found = _hosted_run(tables, host, run)
            length, masks = found.status.output_length, self._masks.of(tables, found.workflow_id)
            if not masks or not offset <= length < offset + len(chunk):
                return tables.service_output.append(run, length, offset, chunk), None
            masked = self._masks.output(masks, run, length, offset, chunk)
            return tables.service_output.append(run, length, length, masked.piece), masked

        length, masked = await self._store.write(use_case)
        if masked is not None:
            self._masks.stands(run, masked)
        self._wakeups.wake(CHANGES)
        return length

    async def keep_data(self, host: str, run: str, archive: bytes) -> int:
        """Merge everything that a run has in its /workflow into its workflow's data; returns the version with it in it.

        The same again makes no new version; nothing ever written makes none, which is 0.  Raises NotFound for a run that
        this host does not have, Conflict for one that a retry has replaced, Invalid for what is no archive and TooLarge
        beyond the limit; then nothing changes.
        """

        def who(tables: Tables) -> tuple[ServiceRun, bool]:
            found = _hosted_run(tables, host, run)
            return found, is_large(tables, found.workflow_id, archive)

        found, large = await self._store.read(who)
        name = found.status.service.spec.name

        def write(tables: Tables, merged: tuple[bytes, Written] | None) -> int:
            if not _hosted_run(tables, host, run).newest:
                raise Conflict(f"service {name} was started anew by a retry: the data of its earlier run is not taken")
            if merged is None:
                return tables.data.newest_version(found.workflow_id)
            content, written = merged
            tables.services.set_written(written)
            there = unchanged(tables, found.workflow_id, content)
            return there or add_version(tables, found.workflow_id, f"service {name}", content, self._clock())

        async with self._merging if large else nullcontext():
            entries = await asyncio.to_thread(decode, archive)

            def merge(base: Base) -> tuple[bytes, Written] | None:
                return served(base, run, entries, self._clock())

            version = await keep(self._store, found.workflow_id, merge, write, whole=True)
        self._wakeups.wake(CHANGES)
        return version

    async def all(self, key: str = "") -> list[Listed]:
        """The services of one workflow, or of those that are not over and the newest of the others; oldest first.

        Raises NotFound, or Conflict when the key fits several.
        """
        runs = await self._store.read(
            lambda tables: tables.services.listed(SHOWN_FINISHED, find_workflow(tables, key).id if key else "")
        )
        return [
            Listed(workflow_id=run.workflow_id, workflow=run.workflow, state=run.state, status=run.status)
            for run in runs
        ]

    async def logs(self, key: str, offsets: Mapping[str, int]) -> list[Printed]:
        """What a service printed in each of its runs, in the order in which they were made; a retry hides none.

        `offsets` maps runs to where the reader already is.  Raises NotFound, or Conflict when the key fits several.
        """
        return await self._store.read(
            lambda tables: [
                Printed(
                    workflow_id=run.workflow_id,
                    run=run.token,
                    status=run.status,
                    pieces=tables.service_output.after(run.token, offsets.get(run.token, 0)),
                )
                for run in _find_service(tables, key)
            ]
        )

    def _begin(self, tables: Tables, host: str, *, private: bool) -> tuple[list[ServiceRun], list[str]]:
        """The runs that a host is to have, with the machines to be told."""
        now, failed = self._clock(), dict[str, None]()
        for run in _wanted_of(tables, host):
            if run.status.begun_at is None:
                if not run.status.digest:
                    image = run.status.service.spec.image
                    pin(tables, run.workflow_id, image, self._digest_of(image), now)
                standing = replace(run.status.standing, phase=Phase.STARTING)
                try:
                    self._give(tables, run, private=private)
                except NotGiven as refusal:
                    failed[run.workflow_id] = None
                    standing = replace(standing, phase=Phase.FAILED, reason=refusal.reason, message=str(refusal))
                tables.services.begin(run.token, standing, now)
                fact = history.service_told(run.status.service, standing.phase, standing)
                tables.events.add(run.workflow_id, now, *fact)
        woken = [each for one in failed for each in _judge(tables, tables.workflows.get(one), now)]
        return _wanted_of(tables, host), woken

    def _give(self, tables: Tables, run: ServiceRun, *, private: bool) -> Mapping[str, bytes]:
        spec = run.status.service.spec
        texts = (*spec.command, *spec.environment.values())
        return self._giving.give(tables, run.token, run.workflow_id, texts, spec.secrets, private=private)

    def _given(self, tables: Tables, run: ServiceRun, *, private: bool) -> Mapping[str, bytes]:
        """What a run was given when it began; nothing where that cannot be read any more, or by others as well: its host makes no container then."""
        try:
            return self._give(tables, run, private=private) if run.status.standing.phase not in ENDED else {}
        except NotGiven:
            return {}

    def _masked(self, tables: Tables, host: str, standing: Standing) -> Standing:
        run = tables.services.run(standing.run)
        if run is None or run.status.service.host != host:
            return standing
        return masked_standing(self._masks.of(tables, run.workflow_id), standing)

    def _note(self, tables: Tables, host: str, said: Mapping[str, Standing]) -> list[str]:
        """Note what is new, and what follows from it; returns the machines to be told."""
        now, concerned = self._clock(), dict[str, None]()
        for run, after in _news(tables.services.open_or_named(host, said), said):
            status = run.status
            first_ready = status.ready_at is None and after.phase in READY and not run.over
            tables.services.stand(after, now)
            if not status.digest and not run.over:
                image = status.service.spec.image
                digest, told_by = believed(image, after.digest, host, self._digest_of) if after.digest else ("", "")
                pin(tables, run.workflow_id, image, digest, now, told_by)
            if first_ready:
                tables.services.set_ready(run.token, now)
            for phase, stood in passed(status.standing, after, first_ready=first_ready):
                seconds = _since(status, now) if first_ready and phase is Phase.READY else None
                fact = history.service_told(status.service, phase, stood, seconds)
                if tables.events.count(run.workflow_id) < MAX_EVENTS:
                    tables.events.add(run.workflow_id, now, *fact)
            if first_ready or after.phase is Phase.FAILED:
                concerned[run.workflow_id] = None
        return [worker for each in concerned for worker in _judge(tables, tables.workflows.get(each), now)]

    async def _reachable(self, host: str, standing: Standing) -> Standing:
        """What a host said, without an address that is not its own: requests must not be led elsewhere."""
        if host == APPLIANCE or not standing.address:
            return standing
        interfaces = (await self._machines.get(host)).hardware.interfaces
        own = standing.address in {str(each.address) for each in interfaces}
        return standing if own else replace(standing, address="")

    def _wanted(self, run: ServiceRun) -> WantedService:
        return WantedService(
            run=run.token,
            workflow_id=run.workflow_id,
            service=_pinned(run.status),
            restarts=run.status.standing.restarts,
            phase=run.status.standing.phase,
            hosts={self._directory.name_of(run.workflow_id): self._address},
            appliance_only=self._appliance_only(run.status.service.spec.image),
        )


def _asks(run: ServiceRun) -> bool:
    """Whether a run asks for secrets."""
    spec = run.status.service.spec
    return bool(spec.secrets) or any(map(has_mark, (*spec.command, *spec.environment.values())))


def _hosted(workflow: Workflow, following: Mapping[str, str | None], *, wanted: bool) -> Hosted:
    machines = frozenset(workflow.workers())
    return Hosted(
        workflow_id=workflow.id,
        state=workflow.state,
        wanted=wanted,
        machines=machines,
        services=workflow.services,
        next_of=frozenset(machine for machine in machines if following[machine] == workflow.id),
    )


def _runs(hosted: Sequence[Hosted]) -> dict[str, frozenset[str]]:
    """The runs that are wanted, by their hosts."""
    wanted = [status for each in hosted if each.wanted for status in each.services]
    hosts = {status.service.host for status in wanted}
    return {host: frozenset(each.standing.run for each in wanted if each.service.host == host) for host in hosts}


def _news(runs: Sequence[ServiceRun], said: Mapping[str, Standing]) -> list[tuple[ServiceRun, Standing]]:
    """The runs of which something new was said, with where they stand now."""
    found = ((run, noted(run.status.standing, said.get(run.token), over=run.over)) for run in runs)
    return [(run, after) for run, after in found if after is not None]


def _since(status: ServiceStatus, now: datetime) -> float:
    """The seconds since its host was told of a run."""
    return (now - (status.begun_at or now)).total_seconds()


def _judge(tables: Tables, workflow: Workflow, now: datetime) -> list[str]:
    """What follows for a workflow from where its services stand now; returns the machines to be told."""
    current = workflow.current()
    if workflow.state is not State.PENDING or current is None:
        return []
    for status in workflow.services:
        why = not_ready(status, 0)
        if why is not None:
            return give_up(tables, workflow, status, why, now)
    return [] if workflow.awaited() else [current.action.worker]


def _pinned(status: ServiceStatus) -> PlannedService:
    service = status.service
    return replace(service, spec=replace(service.spec, image=pinned(service.spec.image, status.digest)))


def _wanted_of(tables: Tables, host: str) -> list[ServiceRun]:
    workflows = tables.queues.with_services()
    wanted = [workflow_id for workflow_id, each in workflows.items() if each]
    return tables.services.newest_of(host, wanted) if wanted else []


def _hosted_run(tables: Tables, host: str, token: str) -> ServiceRun:
    run = tables.services.run(token)
    if run is None or run.status.service.host != host:
        raise NotFound("there is no such run of a service on this host: its workflow was deleted, or it never was")
    return run


def _find_service(tables: Tables, key: str) -> list[ServiceRun]:
    """Every run of the one service that `key` means; raises NotFound or Conflict."""
    newest = tables.services.newest_workflow_with(key)
    if newest is not None:
        return tables.services.runs(newest, key)
    # Either name may have slashes of its own.
    for of, _, name in dict.fromkeys((key.partition("/"), key.rpartition("/"))):
        fitting = meant(tables.workflows, of)
        having = [each for each in fitting if any(service.service.spec.name == name for service in each.services)]
        if having:
            return tables.services.runs(only(having, "workflow", of).id, name)
    raise NotFound(f"there is no service {key[:80]!r}: tinkbox service list shows those that there are")
