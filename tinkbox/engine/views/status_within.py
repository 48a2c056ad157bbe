"""Lines of machines as somebody may know them who may not know all of their work (`engine.machines.machines_within`).  Pure.

What a machine does is told, and of work outside nothing else.  What the doctor's rounds found is not told at all: it speaks
of all machines.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from tinkbox.engine.workflows.journals import LostWork
from tinkbox.model.telling import OUTSIDE
from tinkbox.wire.messages.status import MachineLine, WorkLine


def line_within(line: MachineLine, outside: Collection[str]) -> MachineLine:
    """The same line without the words of the workflow and the rollout that are `outside`, and without what the rounds found."""
    is_waiting_outside = line.rollout in outside
    return replace(
        line,
        work=_work_within(line.work, outside) if line.work is not None else None,
        rollout="" if is_waiting_outside else line.rollout,
        rollout_paused=False if is_waiting_outside else line.rollout_paused,
        diagnosis="",
        is_fault=False,
    )


def lost_within(lost: Mapping[str, LostWork], outside: Collection[str]) -> Mapping[str, LostWork]:
    """The same lost histories, of which those that tell of work outside tell no more than that they are there."""
    return {machine: each.within(outside) for machine, each in lost.items()}


def _work_within(work: WorkLine, outside: Collection[str]) -> WorkLine:
    if work.id not in outside:
        return work
    return WorkLine(id="", name="", state=work.state, since=work.since, lost=work.lost, message=OUTSIDE)
