"""Where the machines of a rollout stand, and what that means for it: within the use-cases that ask or say so."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from tinkbox.engine.rollouts.rules import Happening, advance, follows
from tinkbox.model.conditions import explanation
from tinkbox.model.rollout import FAILURES, OVER, UNSUCCESSFUL, Counts, Member, Rollout, RolloutState
from tinkbox.model.text import shortened
from tinkbox.store.database import Tables

TOLD: Final = 500  # letters of a message
_log = logging.getLogger(__name__)


def is_unsettled(tables: Tables, rollout: Rollout, counts: Counts) -> bool:
    """Whether `settle` has anything to note or to change: a look at a rollout in which nothing happens needs no writer."""
    failed = tables.rollouts.has_failed(rollout.id)
    return tables.rollouts.has_ended(rollout.id) or follows(rollout, counts, failed=failed) is not None


def settle(tables: Tables, rollout_id: str, now: datetime) -> tuple[Rollout | None, Counts]:
    """Take note of the machines that ended, and of what that means for their rollout.

    When it is over, what waits for its retry stands where its workflow does.
    """
    rollout = tables.rollouts.get(rollout_id)
    if rollout is None:
        return None, Counts()
    failed = note(tables, rollout)
    counts = tables.rollouts.counts([rollout_id])[rollout_id]
    while (happening := follows(rollout, counts, failed=failed)) is not None:
        stop_into = RolloutState.FAILED if happening is Happening.STOPPED else None
        rollout = replace(rollout, state=advance(rollout, happening), stop_into=stop_into)
        tables.rollouts.set_state(rollout_id, rollout.state, now, stop_into)
        if rollout.state in OVER:
            tables.rollouts.fall_back(rollout_id)
            note(tables, rollout)  # that one of them failed is no news
            counts = tables.rollouts.counts([rollout_id])[rollout_id]
        _log.info("rollout %s is %s", rollout_id, rollout.state, extra={"action": "rollouts.state"})
    return rollout, counts


def begin(tables: Tables, rollout: Rollout, now: datetime) -> None:
    """It is the turn of a machine: of a rollout that waits it is the first."""
    if rollout.state is RolloutState.WAITING:
        tables.rollouts.set_state(rollout.id, advance(rollout, Happening.BEGUN), now)


def note(tables: Tables, rollout: Rollout) -> bool:
    """Keep why machines ended, for their workflows may be deleted; returns whether one of them failed."""
    ended = tables.rollouts.ended(rollout.id)
    if not ended:
        return False
    gone = {
        each.position for each in ended if each.workflow_deleted and each.place in UNSUCCESSFUL and not each.message
    }
    told_so = dict.fromkeys(gone, ("", "its workflow was deleted"))
    why = explained(tables, [each for each in ended if each.position not in gone])
    tables.rollouts.note(rollout.id, told_so | {each.position: (each.reason, each.message) for each in why})
    return any(each.place in FAILURES for each in ended)


def explained(tables: Tables, members: Sequence[Member]) -> list[Member]:
    """The machines, also those of which it is not noted yet, with why they did not succeed."""
    asked = [each.workflow_id for each in members if each.place in UNSUCCESSFUL and not each.message]
    why = {each.id: explanation(each) for each in tables.workflows.listed(asked)} if asked else {}
    return [
        replace(each, reason=str(why[each.workflow_id][0]), message=shortened(why[each.workflow_id][1], TOLD))
        if each.workflow_id in why
        else each
        for each in members
    ]
