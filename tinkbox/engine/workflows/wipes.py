"""Whether an attempt may wipe the disks that its action names, and what is remembered of them.

Both work on the writer's tables, within the use-case of the attempt.
"""

from collections.abc import Sequence
from datetime import datetime

from tinkbox.model.disks.disks import Disk, Refused, begun, ended, foreign, refusal
from tinkbox.model.errors import Conflict
from tinkbox.model.workflow import FINAL, State
from tinkbox.store.database import Tables
from tinkbox.store.workflows import Attempt


def judge(tables: Tables, attempt: Attempt, disks: Sequence[Disk], now: datetime) -> Refused | None:
    """Let an attempt wipe these disks, or say why not; the same again gets the same answer.

    Raises Conflict when the attempt is over, or when these are not the disks that its action wipes.
    """
    if attempt.state in FINAL:
        raise Conflict(f"attempt {attempt.token} is over: it wipes nothing any more")
    workflow = tables.workflows.get(attempt.workflow_id)
    wipes = workflow.actions[attempt.position].action.spec.wipes
    if [disk.path for disk in disks] != list(wipes):
        raise Conflict(f"attempt {attempt.token} wipes {', '.join(wipes) or 'nothing'}, by its template")
    known = {disk.name: tables.disks.get(attempt.worker, disk.name, workflow.id) for disk in disks}
    for disk in disks:
        not_ours = () if workflow.wipe_confirmed else foreign(disk.contents, known[disk.name])
        refused = refusal(disk, not_ours, workflow.id)
        if refused is not None:
            return refused
    for disk in disks:
        now_known = begun(disk.contents, known[disk.name])
        tables.disks.keep(attempt.worker, disk.name, now_known, workflow.id, attempt.token, now)
    return None


def remember(tables: Tables, attempt: Attempt, disks: Sequence[Disk], state: State, now: datetime) -> None:
    """Take note of how the disks look at the end of an attempt, as far as it was allowed to wipe them."""
    written = tables.disks.written_by(attempt.token) if disks else {}
    for disk in disks:
        if disk.name in written and not disk.problem:
            left = ended(disk.contents, written[disk.name], succeeded=state is State.SUCCESS)
            tables.disks.keep(attempt.worker, disk.name, left, attempt.workflow_id, attempt.token, now)
