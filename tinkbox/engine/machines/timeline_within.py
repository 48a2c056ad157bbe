"""A machine's timeline as somebody may know it who may not know all of its work (`machines_within`).  Pure.

What is told is what the machine did itself, by a list: a stage that is not in it is told without its words.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from tinkbox.model.boot import Stage
from tinkbox.model.sightings import OTHER_HOST, UNSEEN, Fact, Sighting
from tinkbox.model.telling import OUTSIDE

WORKFLOW: Final = "workflow"  # the fact that says whose work it was
# Of these the words are about the machine, and what it is given, alone, unless another host was seen in its name.
_OF_ITSELF: Final = frozenset(
    {
        Stage.DISCOVER, Stage.OFFERED, Stage.REQUESTED, Stage.LEASED, Stage.BOOT_SERVER, Stage.LOADER_REQUESTED, Stage.LOADER,
        Stage.SCRIPT, Stage.KERNEL, Stage.RAMDISK, Stage.FIRMWARE, Stage.TICKET, Stage.SESSION, Stage.WORKER, Stage.LOCAL_DISK,
        Stage.DISK_BOOTED, Stage.METADATA, Stage.PARKED, Stage.OWN_BOOT, Stage.DISCOVERY, Stage.INVENTORY, Stage.IGNORED,
        Stage.REFUSED, Stage.OTHER_SERVER, Stage.DECLINED, Stage.LOADER_FAILED, Stage.STEP_FAILED, Stage.REVOKED,
        Stage.CREDENTIAL, Stage.TPM_DECIDED, Stage.ENROLLED, Stage.NOT_ENROLLED, Stage.HTTPS_WANTED, Stage.HTTPS_DECIDED,
        Stage.CLOCK, Stage.OSIE_TROUBLE, Stage.DOWNLOAD_TROUBLE,
    }
)  # fmt: skip
_OF_WORK: Final = frozenset({Stage.ACTION, Stage.CLOUD_INIT, Stage.PHONED_HOME})
_HOW_OFTEN: Final = ("count", "lasted")


def works(timeline: Sequence[Sighting]) -> set[str]:
    """The ids of the workflows that a timeline names as those whose work it was."""
    return {str(each.facts[WORKFLOW]) for each in timeline if WORKFLOW in each.facts}


def told_within(timeline: Sequence[Sighting], outside: Collection[str]) -> list[Sighting]:
    """The same timeline for whoever may not know the workflows `outside`, in its order.

    Syslog is free text, in which a worker names what it does.  Of it is told what came while an attempt ran that may be known.
    """
    spans = _attempts(timeline, outside)
    return [
        _told(each, outside)
        for each in timeline
        if each.stage is not Stage.SYSLOG
        or (_is_within(each.at, spans) and not any(one in each.detail for one in outside))
    ]


def _told(seen: Sighting, outside: Collection[str]) -> Sighting:
    often = {name: seen.facts[name] for name in _HOW_OFTEN if name in seen.facts}
    if seen.stage is Stage.SYSLOG:
        return seen
    if OTHER_HOST in seen.facts:
        return _without_words(seen, "by another host", {OTHER_HOST: UNSEEN, **often})
    if seen.stage in _OF_WORK:
        return seen if _may_know(seen, outside) else _without_words(seen, OUTSIDE, often)
    return seen if seen.stage in _OF_ITSELF or _is_refused_itself(seen) else _without_words(seen, "", often)


def _is_refused_itself(seen: Sighting) -> bool:
    """Whether the refused ticket came from the machine's own card: of another host nothing is told."""
    return seen.stage is Stage.TICKET_REFUSED and seen.facts.get("neighbour") == str(seen.mac)


def _may_know(seen: Sighting, outside: Collection[str]) -> bool:
    """Whether the work that it names may be known."""
    return seen.facts.get(WORKFLOW, "") not in ("", *outside)


def _without_words(seen: Sighting, detail: str, facts: Mapping[str, Fact]) -> Sighting:
    return replace(seen, detail=detail, facts=facts)


def _attempts(timeline: Sequence[Sighting], outside: Collection[str]) -> list[tuple[datetime, datetime | None]]:
    """When the attempts that may be known began, and ended, if they did."""
    began = dict[Fact, datetime]()
    ended = dict[Fact, datetime]()
    for each in timeline:
        if each.stage is Stage.ACTION and _may_know(each, outside) and "attempt" in each.facts:
            (ended if "state" in each.facts else began)[each.facts["attempt"]] = each.at
    return [(at, ended.get(attempt)) for attempt, at in began.items()]


def _is_within(at: datetime, spans: Sequence[tuple[datetime, datetime | None]]) -> bool:
    return any(begin <= at and (end is None or at <= end) for begin, end in spans)
