"""How far the actions are that run now, by what their workers tell.

It is kept in memory alone: an appliance that was started anew is told again.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tinkbox.engine.secrets.masks import WorkflowMasks
from tinkbox.engine.workflows.attempts import fence, owned, refuse_late
from tinkbox.model.actions.progress import Progress, Sample, Told, paced, with_sample
from tinkbox.model.workflow import ActionStatus, State
from tinkbox.store.database import Store, Tables
from tinkbox.wire.messages.progress import Telling

# What nobody told of for so long belongs to an attempt that is over: workers repeat it.
FORGOTTEN_AFTER = 3_600.0


@dataclass(slots=True, kw_only=True)
class _Kept:
    attempt: str
    told: Told
    samples: tuple[Sample, ...]
    at: float


class RunningProgress:
    """Of each machine what its newest attempt said, without secrets; `steady` is a clock in seconds."""

    def __init__(self, store: Store, steady: Callable[[], float], masks: WorkflowMasks) -> None:
        self._store = store
        self._steady = steady
        self._masks = masks
        self._kept: dict[str, _Kept] = {}

    async def tell(self, worker: str, token: str, telling: Telling) -> None:
        """Take note of what an attempt's action said.

        Raises NotFound for an attempt that is not this worker's, Conflict for one that is over, of another boot, or begun
        by another session of the machine's worker.
        """

        def question(tables: Tables) -> Told | None:
            attempt = owned(tables, worker, token)
            fence(attempt, telling.workflow_id, telling.boot_id)
            refuse_late(tables, attempt, "progress")
            if (told := telling.progress) is None or not told.unit:
                return told
            (unit,) = self._masks.of(tables, attempt.workflow_id).words([told.unit])
            return replace(told, unit=unit)

        told = await self._store.read(question)
        now = self._steady()
        self._forget(now)
        if told is None:
            self._kept.pop(worker, None)
            return
        kept = self._kept.get(worker)
        same = kept is not None and kept.attempt == token and _counts_the_same(kept.told, told)
        before = kept.samples if kept is not None and same else ()
        samples = with_sample(before, Sample(at=now, done=told.done))
        self._kept[worker] = _Kept(attempt=token, told=told, samples=samples, at=now)

    def of(self, status: ActionStatus | None) -> Progress | None:
        """How far an action is that runs now; None where it does not, or says nothing of it."""
        if status is None or status.state not in {State.RUNNING, State.LEAVING}:
            return None
        kept = self._kept.get(status.action.worker)
        if kept is None or kept.attempt != status.attempt:
            return None
        return paced(kept.told, kept.samples, self._steady())

    def _forget(self, now: float) -> None:
        for worker in [worker for worker, kept in self._kept.items() if now - kept.at > FORGOTTEN_AFTER]:
            del self._kept[worker]


def _counts_the_same(before: Told, now: Told) -> bool:
    return (before.total, before.unit) == (now.total, now.unit)
