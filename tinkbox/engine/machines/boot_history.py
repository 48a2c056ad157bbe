"""Machines by what was seen of them: where each stands, and the story of its boots as people read it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.machines.timeline_within import WORKFLOW, told_within, works
from tinkbox.engine.timeline.sighting_rules import MAX_DETAIL
from tinkbox.engine.timeline.stalls import stalled
from tinkbox.engine.timeline.syslog import Lost, Syslog
from tinkbox.engine.turns import in_slices
from tinkbox.model.boot import Stage
from tinkbox.model.errors import Invalid, NotFound
from tinkbox.model.hardware import MacAddress
from tinkbox.model.labels import Selector
from tinkbox.model.sightings import Fact, Line, Sighting
from tinkbox.model.text import one_line, quoted
from tinkbox.model.workflow import Outcome
from tinkbox.store.database import Store
from tinkbox.store.sightings import Act

SHOWN_LINES = 20
TOLD_ACTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMachine:
    """The newest sighting of a MAC; `hardware_id` and `hostname` are empty where nobody knows the machine.

    `stalled` says for how long it got no further, or nothing.
    """

    newest: Sighting
    hardware_id: str = ""
    hostname: str = ""
    stalled: str = ""


class Seen:
    """What was seen of machines.  `key` is a machine's, as `Machines` takes it, or the MAC of one that nobody knows."""

    def __init__(self, store: Store, machines: Machines, syslog: Syslog, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._machines = machines
        self._syslog = syslog
        self._clock = clock

    async def all(self) -> list[SeenMachine]:
        """Every MAC that was seen, those seen last first."""
        return await in_slices(self._machine, self._machines.timeline.machines())

    async def which(self, key: str) -> tuple[str, tuple[MacAddress, ...]]:
        """The id of a machine, empty when nobody knows it, and its MACs; raises as `story`."""
        with suppress(Invalid):
            mac = MacAddress(key)
            if not self._machines.known.at(key) and not self._machines.known.named(key):
                if self._machines.timeline.newest(mac) is None:
                    raise NotFound(f"no hardware has {mac}, and {self._unseen()}")
                return "", (mac,)
        hardware = (await self._machines.get(key)).hardware
        return hardware.id, tuple(each.mac for each in hardware.interfaces)

    def _unseen(self) -> str:
        """Why nothing is known of a MAC."""
        unnoted = self._machines.timeline.unnoted()
        if unnoted is None:
            return "nothing was seen of it: unknown machines are noted when they boot from the network"
        return (
            f"nothing is known of it: since {unnoted.since:%H:%M:%S} UTC more unknown machines ask than are noted, so it may have "
            "asked all the same; `tinkbox doctor` says more"
        )

    async def get(self, key: str) -> SeenMachine:
        """Raises NotFound for a machine that was never seen."""
        _, macs = await self.which(key)
        newest = [each for each in map(self._machines.timeline.newest, macs) if each is not None]
        if not newest:
            raise NotFound(f"nothing was seen of machine {key} yet")
        return self._machine(max(newest, key=lambda each: each.at))

    async def story(self, key: str, lines: int = SHOWN_LINES, scope: Selector | None = None) -> list[Sighting]:
        """The timeline with the attempts at the machine's actions and the newest syslog lines, oldest first.

        Of work that who has a `scope` may not know nothing is told (`timeline_within`).  Raises NotFound for a machine that is not known and was not seen.
        """
        told = await self._story(*await self.which(key), lines)
        if scope is None:
            return told
        return told_within(told, await self._machines.work_outside(scope, works(told)))

    async def of(self, mac: MacAddress) -> list[Sighting]:
        """As `story`, of the machine with a MAC, whoever else is called like it; without syslog lines."""
        known = self._machines.known.having(mac)
        if known is None:
            return await self._story("", (mac,), 0)
        return await self._story(known.hardware.id, tuple(each.mac for each in known.hardware.interfaces), 0)

    async def complaints(self, mac: MacAddress) -> list[Line]:
        """The newest of what the machine with a MAC complained of by syslog (`Syslog.complaints`), oldest first."""
        known = self._machines.known.having(mac)
        macs = (mac,) if known is None else tuple(each.mac for each in known.hardware.interfaces)
        return await self._syslog.complaints(macs, SHOWN_LINES)

    def lost_lines(self, mac: MacAddress) -> Lost | None:
        """What a machine with a MAC said by syslog in vain (`Syslog.lost`)."""
        return self._syslog.lost(mac)

    async def _story(self, hardware_id: str, macs: Sequence[MacAddress], lines: int) -> list[Sighting]:
        sightings = await self._machines.timeline.of(*macs)
        if hardware_id and macs:
            acts = await self._store.read(lambda tables: tables.sightings.acts(hardware_id, TOLD_ACTS))
            sightings += [told for act in acts for told in _of_act(macs[0], act)]
        sightings += [_of_line(each) for each in await self._syslog.of(macs, lines)]
        return sorted(sightings, key=lambda each: each.at)

    def _machine(self, newest: Sighting) -> SeenMachine:
        hardware_id = self._machines.known.holder(newest.mac)
        record = self._machines.known.get(hardware_id)
        interface = record.hardware.interface(newest.mac) if record else None
        return SeenMachine(
            newest=newest,
            hardware_id=hardware_id,
            hostname=interface.hostname if interface else "",
            stalled=stalled(newest, self._clock()),
        )


def _of_act(mac: MacAddress, act: Act) -> list[Sighting]:
    """How an attempt at an action began, and how it ended."""
    name = f"{act.task}/{act.action}"
    facts: dict[str, Fact] = {
        WORKFLOW: act.workflow_id,
        "task": act.task,
        "action": act.action,
        "attempt": act.attempt,
    }
    began = Sighting(mac=mac, at=act.started_at, stage=Stage.ACTION, detail=f"{name} begun", facts=facts)
    if act.ended_at is None:
        return [began]
    outcome = act.outcome
    why = _why(outcome) if outcome else ""
    seconds = (act.ended_at - act.started_at).total_seconds()
    detail = f"{name} {act.state} after {seconds:.1f} s{f', {why}' if why else ''}"
    ended = Sighting(
        mac=mac,
        at=act.ended_at,
        stage=Stage.ACTION,
        detail=one_line(detail, MAX_DETAIL),
        facts={**facts, "state": act.state, "seconds": round(seconds, 3)},
    )
    return [began, ended]


def _why(outcome: Outcome) -> str:
    """The machine's word for it: what is no plain word is quoted."""
    reason = outcome.reason if outcome.reason.isalnum() or not outcome.reason else quoted(outcome.reason)
    return ": ".join(
        part for part in (reason, quoted(outcome.message, MAX_DETAIL // 2) if outcome.message else "") if part
    )


def _of_line(line: Line) -> Sighting:
    facts: dict[str, Fact] = {"severity": line.severity, "program": line.program}
    text = f"{line.program}: {line.text}" if line.program else line.text
    return Sighting(mac=line.mac, at=line.at, stage=Stage.SYSLOG, detail=text, facts=facts)
