"""What machines said by syslog in their first minutes: little of each, so that one that floods hurts nobody else."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NoReturn

from tinkbox.engine.batch_saving import keep_saving
from tinkbox.engine.timeline.kernel_words import kind_of
from tinkbox.model.hardware import MacAddress
from tinkbox.model.masking import Masks
from tinkbox.model.sightings import Line
from tinkbox.store.database import Store, Tables
from tinkbox.store.syslog import KEPT_LINES
from tinkbox.wire.syslog import MAX_TEXT, Message, Severity

# A machine that comes up tells all at once what its kernel said before there was a network; then it says little.
BURST = 2_000.0
LINES_PER_SECOND = 50.0
LOST_FOR = timedelta(days=1)
OWN_NAME = "tinkbox"
KERNEL = "kernel"
# Of the newest lines of a machine so many are read for what its kernel said, and of these so many are told.
LINES_READ = 300
KERNEL_LINES = 100
# Of each kind of trouble that a kernel tells of, the first and newest lines that no flood drives out; any name of a disk can be sent.
FIRST_TOLD = 3
NEWEST_TOLD = 3
DISKS_TOLD = 8
CUT = MAX_TEXT * 3 // 4  # letters of a line that may have been cut within a secret
NO_MASKS = Masks()
# How the OSIE's scripts call themselves, and what they say what they have to complain of with (osie/files/words).
OSIE = "osie"
OSIE_TROUBLE = "] trouble: "


@dataclass(slots=True)
class _Share:
    """How many lines a machine may say now, and how many were dropped since it said too much; `lost` are all of them."""

    left: float
    at: datetime
    dropped: int = 0
    lost: "Lost | None" = None


@dataclass(frozen=True, slots=True)
class Lost:
    """So many lines that a machine said too quickly, and that were dropped, from `since` to `newest`."""

    lines: int
    since: datetime
    newest: datetime


@dataclass(slots=True)
class _Few:
    """Of one kind of lines the first and the newest, by their numbers."""

    first: dict[int, Line] = field(default_factory=dict)
    newest: dict[int, Line] = field(default_factory=dict)

    def add(self, number: int, line: Line) -> None:
        if len(self.first) < FIRST_TOLD:
            self.first[number] = line
            return
        self.newest[number] = line
        if len(self.newest) > NEWEST_TOLD:
            del self.newest[next(iter(self.newest))]

    def since(self, moment: datetime) -> "_Few":
        """Those that came since then."""
        few = _Few()
        for number, line in {**self.first, **self.newest}.items():
            if line.at >= moment:
                few.add(number, line)
        return few


class Syslog:
    """Lines by MAC: unsaved ones in memory, the newest five hundred of each machine in the store.

    A few of each kind of trouble that a kernel told of are in memory too, as long as the appliance runs.

    `follows` tells whether a machine has a timeline: what others say is dropped.  `masks_of` gives what is masked of a machine
    before a line of it is stored or shown.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        follows: Callable[[MacAddress], bool],
        masks_of: Callable[[Tables, MacAddress], Masks] = lambda _, __: NO_MASKS,
    ) -> None:
        self._store = store
        self._clock = clock
        self._follows = follows
        self._masks_of = masks_of
        self._shares: dict[MacAddress, _Share] = {}
        self._warned: dict[MacAddress, datetime] = {}
        self._troubles: dict[MacAddress, dict[tuple[str, str], _Few]] = {}
        self._next = 1
        self._unsaved: dict[MacAddress, dict[int, Line]] = {}
        self._noted = asyncio.Event()

    async def load(self) -> None:
        """Go on where the numbers ended; once, before anything is served."""
        self._next = await self._store.read(lambda tables: tables.syslog.last_number() + 1)

    def admits(self, mac: MacAddress) -> bool:
        """Whether a machine may say something now; what it says in vain is counted."""
        if not self._follows(mac):
            return False
        share, now = self._share(mac), self._clock()
        passed = max(0.0, (now - share.at).total_seconds())
        share.left, share.at = min(BURST, share.left + passed * LINES_PER_SECOND), now
        if share.left < 1:
            share.dropped += 1
            share.lost = _one_more(share.lost, now)
        return share.left >= 1

    def said(self, mac: MacAddress, message: Message | None) -> None:
        """Note what a machine said, as far as it is admitted; None was not worth keeping, and counts as well."""
        if not self.admits(mac):
            return
        share = self._share(mac)
        share.left -= 1
        if message is None:
            return
        if share.dropped:
            text = f"it said too much: what came {share.dropped} times before this was dropped"
            self._keep(mac, Severity.WARNING, OWN_NAME, text)
            share.dropped = 0
        self._keep(mac, message.severity, message.program, message.text)

    def warned(self, mac: MacAddress) -> datetime | None:
        """When the kernel of a machine last said something that it means as a warning or graver; None: not since the appliance began."""
        return self._warned.get(mac)

    def lost(self, mac: MacAddress) -> Lost | None:
        """The lines of a machine that were dropped since the appliance began, of the last day; None: there were none."""
        share = self._shares.get(mac)
        lost = share.lost if share is not None else None
        return lost if lost is not None and self._clock() - lost.newest <= LOST_FOR else None

    async def of(self, macs: Sequence[MacAddress], most: int) -> list[Line]:
        """The newest lines of a machine with these MACs, oldest first."""
        newest = sorted((await self._newest_of(macs, most)).items())[-most:] if most else []
        return await self._shown(dict(newest))

    async def of_kernel(self, macs: Sequence[MacAddress], since: datetime, until: datetime | None) -> list[Line]:
        """What the kernel of a machine with these MACs said from then to then, oldest first: the newest lines, and a few of each trouble.

        Of trouble before `since` none is kept any more, which makes room for what is told next.
        """
        newest = await self._newest_of(macs, LINES_READ)
        troubles = {mac: self._troubles.pop(mac) for mac in macs if mac in self._troubles}
        for mac, of_one in troubles.items():
            few = {kind: each.since(since) for kind, each in of_one.items()}
            self._troubles[mac] = {kind: each for kind, each in few.items() if each.first}
        told = {
            number: line
            for number, line in newest.items()
            if line.program == KERNEL and since <= line.at and (until is None or line.at <= until)
        }
        kept = {
            number: line
            for mac in troubles
            for few in self._troubles[mac].values()
            for number, line in {**few.first, **few.newest}.items()
            if until is None or line.at <= until
        }
        return await self._shown({**kept, **dict(sorted(told.items())[-KERNEL_LINES:])})

    async def _shown(self, lines: Mapping[int, Line]) -> list[Line]:
        """In their order, masked: what is not saved yet is in memory as it came."""
        masked = await self._store.read(lambda tables: self._masked(tables, lines)) if lines else {}
        return [line for _, line in sorted(masked.items())]

    def _masked(self, tables: Tables, lines: Mapping[int, Line]) -> dict[int, Line]:
        """The same without the secrets that their machines may tell, also where one goes on in the next line."""
        masked = dict(lines)
        for mac in {each.mac for each in lines.values()}:
            if masks := self._masks_of(tables, mac):
                numbers = [number for number in sorted(lines) if lines[number].mac == mac]
                texts = [masks.text(text) if len(text := lines[each].text) > CUT else text for each in numbers]
                programs = [masks.text(lines[each].program) for each in numbers]
                for number, program, text in zip(numbers, *_without(masks, programs, texts), strict=True):
                    masked[number] = replace(lines[number], program=program, text=text)
        return masked

    async def _newest_of(self, macs: Sequence[MacAddress], most: int) -> dict[int, Line]:
        """The newest lines by their numbers, at least so many."""
        unsaved = {number: line for mac in macs for number, line in self._unsaved.get(mac, {}).items()}
        stored = await self._store.read(lambda tables: tables.syslog.of(macs, most))
        return {**stored, **unsaved}

    async def complaints(self, macs: Sequence[MacAddress], most: int) -> list[Line]:
        """Of the newest lines those that a machine means as warnings or graver, and what its OSIE says of its own trouble."""
        return [each for each in await self.of(macs, KEPT_LINES) if _complains(each)][-most:]

    async def run(self) -> NoReturn:
        """Save what was said, in batches, for ever."""
        await keep_saving(self._noted, self.save, "what machines say by syslog")

    async def save(self) -> None:
        """Save what was said up to now; what a full disk refuses waits, the newest of it."""
        self._unsaved = {mac: of_one for mac, of_one in self._unsaved.items() if self._follows(mac)}
        lines = {number: line for of_one in self._unsaved.values() for number, line in of_one.items()}
        try:
            masked = await self._store.read(lambda tables: self._masked(tables, lines))
            await self._store.write(lambda tables: tables.syslog.save(masked))
        except BaseException:
            self._unsaved = {mac: _newest(of_one) for mac, of_one in self._unsaved.items()}
            raise
        for mac in {each.mac for each in lines.values()}:
            rest = {number: line for number, line in self._unsaved.pop(mac, {}).items() if number not in lines}
            if rest:
                self._unsaved[mac] = rest

    def _share(self, mac: MacAddress) -> _Share:
        share = self._shares.get(mac)
        if share is None:
            # Those that have no timeline any more have no share either.
            self._shares = {each: kept for each, kept in self._shares.items() if self._follows(each)}
            self._warned = {each: at for each, at in self._warned.items() if self._follows(each)}
            self._troubles = {each: few for each, few in self._troubles.items() if self._follows(each)}
            share = self._shares[mac] = _Share(left=BURST, at=self._clock())
        return share

    def _keep(self, mac: MacAddress, severity: int, program: str, text: str) -> None:
        line = Line(mac=mac, at=self._clock(), severity=severity, program=program, text=text)
        if program == KERNEL and severity <= Severity.WARNING:
            self._warned[mac] = line.at
        if program == KERNEL and (kind := kind_of(text)):
            self._tell(mac, kind, line)
        of_one = self._unsaved.setdefault(mac, {})
        of_one[self._next] = line
        self._next += 1
        if len(of_one) > 2 * KEPT_LINES:
            self._unsaved[mac] = _newest(of_one)
        self._noted.set()

    def _tell(self, mac: MacAddress, kind: tuple[str, str], line: Line) -> None:
        """Keep a line of trouble, if it is of the first and newest of its kind."""
        of_one = self._troubles.setdefault(mac, {})
        if kind not in of_one and sum(each == kind[0] for each, _ in of_one) >= DISKS_TOLD:
            return
        of_one.setdefault(kind, _Few()).add(self._next, line)


def _without(masks: Masks, programs: Sequence[str], texts: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Programs and texts of lines, masked, also where a secret such as USER:PASSWORD was read as the name of a program."""
    programs, texts = masks.words(programs), masks.words(texts)
    for behind in (":", ""):  # RFC 3164 and RFC 5424
        words = masks.words(
            [word for pair in zip(programs, texts, strict=True) for word in (pair[0] + behind, pair[1])]
        )
        programs, texts = [each[: len(each) - len(behind)] for each in words[::2]], words[1::2]
    return programs, texts


def _one_more(lost: Lost | None, at: datetime) -> Lost:
    """With one line more; it begins anew where the newest is long ago."""
    if lost is None or at - lost.newest > LOST_FOR:
        return Lost(1, since=at, newest=at)
    return Lost(lost.lines + 1, since=lost.since, newest=at)


def _complains(line: Line) -> bool:
    return line.severity <= Severity.WARNING or (line.program == OSIE and OSIE_TROUBLE in line.text)


def _newest(lines: Mapping[int, Line]) -> dict[int, Line]:
    return {number: lines[number] for number in sorted(lines)[-KEPT_LINES:]}
