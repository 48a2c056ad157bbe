"""Cases as somebody may know them who may not know all machines (`engine.machines.machines_within`).  Pure.

The rules speak of what they are given: so whatever is of other machines, of work outside, or of the appliance's own trouble is
taken out of the case before they look at it.  What the machine itself did, is, and is given stays.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from tinkbox.engine.doctor.case import Case, Work
from tinkbox.engine.machines.timeline_within import told_within
from tinkbox.model.boot import Stage
from tinkbox.model.sightings import Sighting
from tinkbox.model.telling import OUTSIDE

# How work went says nothing of how a machine boots.
_OF_WORK = frozenset({Stage.ACTION, Stage.CLOUD_INIT, Stage.PHONED_HOME})


def general_within(case: Case) -> Case:
    """The appliance's own case, without its trouble and without all other hosts."""
    return replace(
        case,
        rivals=None,
        limits=(),
        refused_handshakes=(),
        claimants=(),
        disk=None,
        vitals=None,
        deaf_at=None,
        mended=(),
        unnoted=None,
        question=None,
        faults=(),
        hosts={},
        tagged=(),
        arp_questions={},
        addressed=None,
        osie_fetched=None,
    )


def machine_within(case: Case, sightings: Sequence[Sighting], parked: str) -> Case:
    """A machine's case with what may be told of its timeline (`sightings_within`), and `parked` in the words for who asks."""
    return replace(
        case, sightings=tuple(sightings), said=(), hosts={}, limits=(), refused_handshakes=(), lent=None, near=(), parked=parked
    )  # fmt: skip


def sightings_within(seen: Sequence[Sighting], outside: Collection[str]) -> tuple[list[Sighting], bool]:
    """What is told whole of a timeline to whoever may not know the workflows `outside`, and whether it shows where the machine is.

    It does not where the newest that is no work is told without its words: what came before would be taken for the last.
    """
    told = [each for each, shown in zip(seen, _shown(seen, outside), strict=True) if shown is each]
    boots = [each for each in seen if each.stage not in _OF_WORK]
    return told, not boots or any(each is boots[-1] for each in told)


def _shown(seen: Sequence[Sighting], outside: Collection[str]) -> list[Sighting | None]:
    """Each as it is told; None where it is not."""
    shown = iter(told_within([each for each in seen if each.stage is not Stage.SYSLOG], outside))
    return [None if each.stage is Stage.SYSLOG else next(shown) for each in seen]


def names_of(work: Work) -> tuple[str, ...]:
    """The ids of all work that a workflow's words name, its own first."""
    return (work.id, *work.before, *work.waits_of, *work.overtaken_of)


def work_within(work: Work, outside: Collection[str], parked: str) -> tuple[Work | None, str]:
    """A workflow without words of work outside, `parked` as its machine is told to be; or None and why it is not examined.

    One that waits behind work outside is not: what it waits for could not be told.
    """
    hidden = set(outside)
    if work.id in hidden:
        return None, f"it is {OUTSIDE}"
    if hidden.intersection((*work.before, *work.waits_of)):
        return None, f"it waits for {OUTSIDE}"
    told = replace(work, parked=parked, waits=work.waits.replace(work.parked, parked) if work.parked else work.waits)
    return replace(told, overtaken=OUTSIDE) if hidden.intersection(work.overtaken_of) else told, ""


def alone(work: Work) -> Work:
    """A workflow without what the surroundings of its machine show: other machines, and the appliance's own interfaces."""
    return replace(work, silent_beside=(), link="", unkept=None)
