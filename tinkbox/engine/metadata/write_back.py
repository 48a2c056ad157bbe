"""What installed systems tell of their first boot: phone-home and cloud-init's reports.

What decides something is committed before it is answered.  The same again gets the same answer, and changes nothing.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from tinkbox.engine.boot.booting import Booting
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.machines.timeline_within import WORKFLOW
from tinkbox.engine.metadata.installed_systems import Shown
from tinkbox.engine.rules.first_boot import concluded, is_up, module_name, with_failure
from tinkbox.engine.secrets.masks import WorkflowMasks
from tinkbox.engine.wakeups import Wakeups
from tinkbox.engine.workflows.endings import end_first_boot, tell
from tinkbox.engine.workflows.journals import waiting
from tinkbox.model import history
from tinkbox.model.boot import Stage
from tinkbox.model.errors import TooMany
from tinkbox.model.hardware import Hardware, called
from tinkbox.model.metadata import FirstBoot, ModuleFailure
from tinkbox.model.rates import Buckets, Rate
from tinkbox.model.workflow import PlannedAction, State
from tinkbox.store.database import Store, Tables
from tinkbox.store.workflows import UnderWay
from tinkbox.wire.metadata.write_back import BAD, PhoneHome, Report

# A first boot of cloud-init reports some two hundred events within a minute.
# Below the rate of reads, which counts them as well, so that the phone-home has room.
REPORTS: Final = Rate(burst=300, a_second=5)
REMEMBERED: Final = 8192
KEYS_LOST: Final = ModuleFailure(
    module="init-network/config-ssh",
    result="FAIL",
    message="its host keys are empty files, so you cannot log in. Did the power fail while it made them?",
    at=datetime.min.replace(tzinfo=UTC),
)
_log = logging.getLogger(__name__)


class WriteBack:
    """Takes in what installed systems tell; `monotonic` is a steady clock in seconds."""

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        machines: Machines,
        booting: Booting,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        masks: WorkflowMasks,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._machines = machines
        self._booting = booting
        self._clock = clock
        self._monotonic = monotonic
        self._masks = masks
        self._reports = Buckets(REPORTS, REMEMBERED)

    async def phoned_home(self, shown: Shown, told: PhoneHome, address: str) -> None:
        """The system is up; raises Unavailable when that cannot be stored."""
        now = self._clock()
        told = replace(told, hostname=await self._masked(shown, told.hostname))

        def change(before: FirstBoot) -> FirstBoot:
            keys = told.host_keys or before.host_keys
            hostname = told.hostname or before.hostname
            phoned_at = before.phoned_at or now
            after = replace(before, phoned_at=phoned_at, address=address, hostname=hostname, host_keys=keys)
            # cloud-init makes them once, and calls it a success ever after.
            return with_failure(after, replace(KEYS_LOST, at=now)) if told.keys_lost else after

        name = called(shown.hardware)
        before, after = await self._take(shown, change)
        if before.phoned_at is None or before.host_keys != after.host_keys:
            up = is_up(after, name)
            _log.info("%s", up, extra={"action": "metadata.phoned_home", "holder": shown.hardware.id})
            facts = {"address": address, WORKFLOW: shown.workflow_id}
            self._saw(shown.hardware, Stage.PHONED_HOME, up, **facts)

    async def reported(self, shown: Shown, report: Report, address: str) -> None:
        """An event of the system's cloud-init; raises TooMany when it reports too often, Unavailable as `phoned_home` does."""
        if not self._reports.take(shown.hardware.id, self._monotonic()):
            raise TooMany("this system reports too often", 5)
        now = self._clock()
        bad = report.ended and report.result in BAD
        if bad:
            report = replace(report, description=await self._masked(shown, report.description))

        def change(before: FirstBoot) -> FirstBoot:
            after = replace(before, reports=True)
            if bad:
                failure = ModuleFailure(module=report.name, result=report.result, message=report.description, at=now)
                after = with_failure(after, failure)
            if report.is_end and after.finished_at is None:
                after = replace(after, finished_at=now, address=after.address or address)
            return after

        before, after = await self._take(shown, change)
        if bad and before.failures != after.failures:
            _log.warning(
                "%s: cloud-init %s %s: %s", called(shown.hardware), report.name, report.result, report.description,
                extra={"action": "metadata.cloud_init", "holder": shown.hardware.id},
            )  # fmt: skip
        # Modules are many, and go as expected: a stage says as much.
        if bad or (report.is_stage and report.ended):
            told = f": {report.description}" if bad and report.description else ""
            result = {"SUCCESS": "done", "FAIL": "failed", "WARN": "warned"}.get(
                report.result, report.result.lower() or "ended"
            )
            detail = f"{module_name(report.name).removeprefix('stage ')} {result}{told}"
            facts = {"name": report.name, "result": report.result, WORKFLOW: shown.workflow_id}
            self._saw(shown.hardware, Stage.CLOUD_INIT, detail, **facts)

    async def _masked(self, shown: Shown, text: str) -> str:
        """Without the secrets that the workflow was given, and its tokens."""
        masks = await self._store.read(lambda tables: self._masks.of(tables, shown.workflow_id)) if text else None
        return masks.text(text) if masks else text

    def _saw(self, hardware: Hardware, stage: Stage, detail: str, **facts: str) -> None:
        self._booting.saw(self._machines.progress.seen_last(hardware), stage, detail, **facts)

    async def _take(self, shown: Shown, change: Callable[[FirstBoot], FirstBoot]) -> tuple[FirstBoot, FirstBoot]:
        """Have a first boot be as `change` makes it, with all that follows; returns how it was and is."""
        workflow_id, machine = shown.workflow_id, shown.hardware.id
        known = await self._store.look(lambda tables: tables.metadata.first_boot(workflow_id, machine))
        if change(known) == known:
            return known, known
        now = self._clock()

        def use_case(tables: Tables) -> tuple[FirstBoot, FirstBoot, list[str]]:
            before = tables.metadata.first_boot(workflow_id, machine)
            after = change(before)
            tables.metadata.tell(workflow_id, machine, after)
            waits = self._waiting(tables, shown)
            self._tell_history(tables, shown, before, after, waits.action if waits else None, now)
            return before, after, self._conclude(tables, waits, after, called(shown.hardware), now)

        before, after, workers = await self._store.write(use_case)
        if workers:
            await self._machines.sessions.over(machine)
        await tell(self._machines, self._wakeups, workers)
        return before, after

    def _waiting(self, tables: Tables, shown: Shown) -> UnderWay | None:
        """The workflow, where its action waits for this system now."""
        for each in tables.workflows.under_way(shown.workflow_id):
            if each.attempt is None or each.action is None or each.attempt.state is not State.LEAVING:
                continue
            if each.action.spec.until and each.action.worker == shown.hardware.id:
                return each
        return None

    def _conclude(
        self, tables: Tables, waits: UnderWay | None, first_boot: FirstBoot, name: str, now: datetime
    ) -> list[str]:
        """End the action that waits for the system, when that is decided; what is not yet, `deadlines` does later."""
        if waits is None or waits.attempt is None or waits.workflow_id in waiting(tables):
            return []
        if first_boot.phoned_at is not None:
            # It is up, so the boot before is over, whether anybody saw the machine boot or not.
            self._machines.sessions.end_boot(tables, waits.attempt.worker, waits.attempt.boot_id)
        outcome = concluded(first_boot, name, now)
        if outcome is None:
            return [waits.attempt.worker]
        return end_first_boot(tables, waits.attempt, outcome, now)

    def _tell_history(
        self,
        tables: Tables,
        shown: Shown,
        before: FirstBoot,
        after: FirstBoot,
        action: PlannedAction | None,
        now: datetime,
    ) -> None:
        machine = shown.hardware.id
        if before.phoned_at is None and after.phoned_at is not None:
            up = is_up(after, called(shown.hardware))
            tables.events.add(shown.workflow_id, now, *history.phoned_home(action, machine, up))
        for each in after.failures[len(before.failures) :]:
            tables.events.add(
                shown.workflow_id, now, *history.first_boot_failed(machine, each.module, each.result, each.message)
            )
