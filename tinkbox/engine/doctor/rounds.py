"""The doctor's rounds: the appliance is examined all the time, and what is wrong is kept for as long as it lasts.

Rule 1: a condition is told when it begins and when it is over, once each, by the log and by an event; never again in between,
and not anew after a restart.
Rule 2: one that comes and goes is told ever more seldom: each time that it comes back it must stay away twice as long.
Rule 3: a round that fails ends nothing.  What was found before is kept, and that the round failed is a condition itself.
Rule 4: many alike push out no rare one.  The appliance's own are all kept, what many machines have in common only in part,
and how many are left out is a condition itself.  Of the events one condition and one rule have a share, whoever makes them come and go.
"""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, NoReturn

from tinkbox.engine.doctor.doctor import first_line, reading_order
from tinkbox.engine.wakeups import CHANGES, Wakeups
from tinkbox.model.condition_events import BEGAN, OVER, Identity, Lasting, began, came_and_went, over, recalled
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.errors import Refusal
from tinkbox.model.leases import GIVES_ADDRESSES
from tinkbox.model.text import one_line, shortened
from tinkbox.store.database import Store, Tables

_log = logging.getLogger(__name__)

EVERY: Final = 5.0  # seconds from the end of a round to the next one
LISTEN_AFTER: Final = 60.0  # seconds: what is set up beside the appliance is up by then
LISTEN_EVERY: Final = 300.0  # seconds: others hold an address back for a while for each question
GONE: Final = 2  # rounds without it after which a condition is over
AFTER_START: Final = 6  # rounds until what lasted before is over, once everything was examined
LONGEST_GONE: Final = 64  # of one that came back ever again: some five minutes
RELAPSE: Final = timedelta(hours=1)
MOST: Final = 2_000  # conditions that are kept
MOST_OVER: Final = 1_000
MOST_UNSAVED: Final = 200
KEPT_EVENTS: Final = 1_000  # of the appliance's
OF_ONE_RULE: Final = 100  # of these
OF_ONE_CONDITION: Final = 20
FOUND_AGAIN: Final = 64  # rounds after a start within which one of a machine or workflow is the same as before
FAILED: Final = "RoundFailed"
LEFT_OUT: Final = "NotAllKept"
NAMED: Final = 3  # rules of which there are more, in its sentence
LONGEST_SUBJECT: Final = 200  # letters
# A figure by itself, with its unit: not of a name, an address, a path.
_FIGURE: Final = re.compile(
    r"(?<![\w.:/-])(?:\d+[dhms])*\d+(?:[.,:]\d+){0,2}(?:[kKMGTP]i?B|B|ms|[smhdw])?(?![\w/-]|[.:]\w)"
)

_Event = tuple[datetime, str, Mapping[str, object]]


MODE: Final = "mode"  # of `Lasting.told`: the `dhcp.mode` in which it was found
# What they tell rests on asking the network, of which the first time comes later than that, and what to do on `dhcp.mode`.
_HEARD: Final = frozenset({"OtherServer", "OtherBootServer", "NobodyGivesAddresses", "NotDirectedHere"})


class PartlyExamined(Exception):
    """A round that could not examine everything, and `why`: what it `found` of the rest is true."""

    def __init__(self, found: Iterable[Diagnosis], why: Exception) -> None:
        super().__init__(str(why))
        self.found = tuple(found)
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A condition that was found `seen` for the last time, `missing` for so many rounds; it is over after `patience` of them.

    One that is `recalled` lasted when the appliance stopped, and was not found since.  `came_back` counts how often it did, whether or
    not that was told, since `first`.  `told` is as in `Lasting`.
    """

    found: Diagnosis
    since: datetime
    seen: datetime
    recalled: bool = False
    missing: int = 0
    patience: int = GONE
    came_back: int = 0
    first: datetime
    told: Mapping[str, object] = field(default_factory=dict)

    @property
    def before(self) -> str:
        """How often it came and went, as a sentence, or empty."""
        return came_and_went(self.came_back, self.first)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Over:
    """What is remembered of a condition that was over `at` a time, for when it comes back."""

    at: datetime
    patience: int
    came_back: int
    first: datetime


class Rounds:
    """Two parts.  `examine` tells what is wrong now, machines and workflows included; `listen` asks for other DHCP servers.

    Until it is `ready`, some of the appliance was not examined since it started: what lasted before lasts.  `asked` tells whether the
    network was asked for other DHCP servers since then, by whomever; `mode` is `dhcp.mode`.
    """

    def __init__(
        self,
        examine: Callable[[], Awaitable[Sequence[Diagnosis]]],
        listen: Callable[[], Awaitable[object]],
        store: Store,
        wakeups: Wakeups,
        clock: Callable[[], datetime],
        ready: Callable[[], bool] = lambda: True,
        asked: Callable[[], bool] = lambda: False,
        mode: str = "",
    ) -> None:
        self._examine = examine
        self._listen = listen
        self._store = store
        self._wakeups = wakeups
        self._clock = clock
        self._kept: dict[Identity, _Kept] = {}
        self._ready = ready
        self._asked = asked
        self._mode = mode
        self._is_recalled = False  # what lasted in the life before was read
        self._has_listened = False
        self._over: dict[Identity, _Over] = {}
        # Those of machines and workflows that lasted in the life before, and were not found yet.
        self._earlier: dict[Identity, Lasting] = {}
        self._stored: Mapping[Identity, Lasting] = {}
        self._unsaved: list[_Event] = []
        self._failed = ""
        self._examined = 0  # rounds that examined everything
        # Each of these is replaced as a whole: they are read from other threads.
        self._left_out: dict[Identity, Diagnosis] = {}  # found in the last round that did not fail, and not kept
        self._all: tuple[Diagnosis, ...] = ()
        self._numbers: Mapping[tuple[str, Gravity], int] = {}
        self._appliance: tuple[Diagnosis, ...] = ()
        self._of_machine: Mapping[str, Diagnosis] = {}
        self._of_workflow: Mapping[str, tuple[Diagnosis, datetime]] = {}  # with when the round began that found it last
        self._left_out_at = clock()
        self.made = 0  # rounds since the appliance began

    async def run(self) -> NoReturn:
        """Make a round every EVERY seconds, for ever."""
        while True:
            await self.round()
            await asyncio.sleep(EVERY)

    async def listen(self) -> NoReturn:
        """Ask for other DHCP servers every LISTEN_EVERY seconds, for ever."""
        await asyncio.sleep(LISTEN_AFTER)
        while True:
            try:
                await self._listen()
                self._has_listened = True
            except Exception:  # whatever it is, what is known without asking is still told
                _log.exception("asking for other DHCP servers failed", extra={"action": "doctor.listen"})
            await asyncio.sleep(LISTEN_EVERY)

    def all(self) -> tuple[Diagnosis, ...]:
        """What is kept of all that is wrong, each with its `since`.

        The gravest come first, then the appliance's own, then what has lasted longest.
        """
        return self._all

    @property
    def have_examined(self) -> bool:
        """Whether everything was examined once since the appliance began."""
        return self._examined > 0

    def numbers(self) -> Mapping[tuple[str, Gravity], int]:
        """How many are wrong by rule and gravity, those included that are not kept."""
        return self._numbers

    def appliance(self) -> tuple[Diagnosis, ...]:
        """Of these the appliance's own."""
        return self._appliance

    def unconfirmed(self) -> Mapping[Identity, Diagnosis]:
        """What lasted when the appliance stopped, and could not be examined again yet."""
        return {identity: kept.found for identity, kept in self._kept.items() if self._waits(kept)}

    def of_machines(self) -> Mapping[str, Diagnosis]:
        """What says first why each machine is where it is, by MAC; another mapping whenever one of them differs."""
        return self._of_machine

    def of_machine(self, macs: Iterable[str]) -> Diagnosis | None:
        """The same of a machine with these MACs."""
        return first_line(each for each in map(self._of_machine.get, macs) if each is not None)

    def of_workflow(self, workflow: str) -> Diagnosis | None:
        """The same of a workflow, by its id."""
        found, _ = self._of_workflow.get(workflow, (None, None))
        return found

    def cause(self, workflow: str, since: datetime | None) -> str:
        """Its cause, where a round found it that began after `since` (None: whenever); empty where there is none.

        What was found before an action began has not kept it from that, and need not be true any more.
        """
        if (told := self._of_workflow.get(workflow)) is None:
            return ""
        found, at = told
        return found.cause if since is None or at > since else ""

    async def round(self) -> None:
        """Examine once, and tell what began and what is over."""
        await self.recall()
        now = self._clock()
        try:
            found = await self._examine()
        except Exception as error:  # a full disk, a store that is away, a defect: the next round tells
            partly, why = (error.found, error.why) if isinstance(error, PartlyExamined) else ((), error)
            self._fail(why)
            self._take([*partly, self._failure(why, now)], now, failed=True)
        else:
            if self._failed:
                _log.info("the appliance examines itself again", extra={"action": "doctor.round"})
                self._failed = ""
            self._take(found, now)
        self.made += 1
        await self._save()

    def _fail(self, error: Exception) -> None:
        told = type(error).__name__ if not isinstance(error, Refusal) else str(error)
        if told == self._failed:
            return
        self._failed = told
        expected = isinstance(error, Refusal)
        _log.warning(
            "the appliance cannot examine itself: %s",
            one_line(str(error), 300),
            exc_info=None if expected else error,
            extra={"action": "doctor.round"},
        )

    def _failure(self, error: Exception, now: datetime) -> Diagnosis:
        return Diagnosis(
            rule=FAILED,
            gravity=Gravity.SUSPECT,
            cause="The appliance cannot examine everything: of the rest stands here what it found before.",
            evidence=(f"{now:%Y-%m-%d %H:%M:%S} {type(error).__name__}: {one_line(str(error), 300)}",),
            remedy="Do what the error says, which the appliance's log has. `tinkbox doctor` examines at once.",
        )

    def _take(self, found: Iterable[Diagnosis], now: datetime, *, failed: bool = False) -> None:
        """Keep what was found; what is missing is over after some rounds, unless this one `failed`."""
        grave = sorted(
            (each for each in found if each.gravity is not Gravity.HARMLESS), key=lambda each: each.gravity.rank
        )
        everything = identified(grave)
        seen = _kept_of(everything, self._kept)
        if not failed:
            self._left_out_at = now
            self._left_out = {each: found for each, found in everything.items() if each not in seen}
            if self._left_out:
                missed = _not_all_kept(everything, self._left_out.values(), now)
                seen |= identified([missed])
                # Neither missing nor over: it is still wrong, and counted.
                self._kept = {each: kept for each, kept in self._kept.items() if each not in self._left_out}
        for identity, diagnosis in seen.items():
            before = self._kept.get(identity)
            kept = self._found_again(before) if before else self._begun(identity, diagnosis, now)
            self._kept[identity] = replace(kept, found=replace(diagnosis, since=kept.since), seen=now)
        if not failed:
            self._examined += self._ready()
            if self._examined > FOUND_AGAIN:
                self._earlier = {}
            for identity in [each for each in self._kept if each not in seen]:
                self._miss(identity, now)
        self._show()

    def _begun(self, identity: Identity, found: Diagnosis, now: datetime) -> _Kept:
        relapsed = self._over.pop(identity, None)
        earlier = self._earlier.pop(identity, None)
        since = earlier.since if earlier else now
        kept = _Kept(found=found, since=since, seen=now, first=since)
        if relapsed and now - relapsed.at < RELAPSE:
            patience, times = min(LONGEST_GONE, relapsed.patience * 2), relapsed.came_back + 1
            kept = replace(kept, patience=patience, came_back=times, first=relapsed.first)
        if _is_own(found):
            kept = replace(kept, told={**began(found, identity[3]), MODE: self._mode})
            cause = " ".join(filter(None, (found.cause, kept.before)))
            _log.warning(
                "%s %s began: %s What to do: %s", found.gravity, found.rule, cause, found.remedy,
                extra={"action": f"doctor.{found.rule}"},
            )  # fmt: skip
            self._event(now, BEGAN, began(found, identity[3], kept.before))
        return kept

    def _found_again(self, before: _Kept) -> _Kept:
        """One that is kept, and may have been away for a while."""
        if before.recalled:
            return replace(before, missing=0, recalled=False, patience=GONE)
        return replace(before, missing=0, came_back=before.came_back + bool(before.missing))

    def _waits(self, kept: _Kept) -> bool:
        """Whether it cannot be known yet that it is over."""
        was_asked = kept.found.rule not in _HEARD or self._has_listened or self._asked()
        return kept.recalled and not (self._ready() and was_asked)

    def _miss(self, identity: Identity, now: datetime) -> None:
        if self._waits(self._kept[identity]):
            return
        kept = replace(self._kept[identity], missing=self._kept[identity].missing + 1)
        self._kept[identity] = kept
        if kept.missing < kept.patience:
            return
        del self._kept[identity]
        self._over[identity] = _Over(at=now, patience=kept.patience, came_back=kept.came_back, first=kept.first)
        while len(self._over) > MOST_OVER:
            del self._over[next(iter(self._over))]
        if _is_own(kept.found):
            self._end(identity, kept, now)

    def _end(self, identity: Identity, kept: _Kept, now: datetime) -> None:
        rule, _, _, subject = identity
        cause = kept.found.cause
        lasted = max(0, int((kept.seen - kept.since).total_seconds()))
        how_long = f" after {lasted} s" if lasted else "; one look saw it"
        _log.info("%s is over%s%s", rule, how_long, f": {cause}" if cause else "", extra={"action": f"doctor.{rule}"})
        self._event(now, OVER, over(rule, subject, kept.found.gravity, cause, lasted, kept.before))

    def _event(self, at: datetime, kind: str, data: Mapping[str, object]) -> None:
        self._unsaved.append((at, kind, data))
        if len(self._unsaved) > MOST_UNSAVED:
            # The oldest of the rule that has most: it pushes out none of another one.
            ((most, _),) = Counter(told["rule"] for _, _, told in self._unsaved).most_common(1)
            oldest = next(number for number, (_, _, told) in enumerate(self._unsaved) if told["rule"] == most)
            del self._unsaved[oldest]

    def _show(self) -> None:
        shown = sorted(
            (each.found for each in self._kept.values()),
            key=lambda each: (each.gravity.rank, not _is_own(each), each.since.timestamp() if each.since else 0.0),
        )
        of_machine: dict[str, Diagnosis] = {}
        of_workflow: dict[str, tuple[Diagnosis, datetime]] = {}
        # What may soon be over is listed, and says nothing of its machine any more; what is left out does.
        found = [(each.found, each.seen) for each in self._kept.values() if not each.missing]
        found += [(each, self._left_out_at) for each in self._left_out.values()]
        for each, at in sorted(found, key=lambda one: reading_order(one[0])):
            if not each.leads:
                continue
            if each.machine:
                of_machine.setdefault(each.machine, each)
            if each.workflow:
                of_workflow.setdefault(each.workflow, (each, at))
        self._all = tuple(shown)
        self._appliance = tuple(filter(_is_own, shown))
        self._numbers = Counter((each.rule, each.gravity) for each in (*shown, *self._left_out.values()))
        if of_machine != self._of_machine:
            self._of_machine = of_machine
        self._of_workflow = of_workflow

    async def recall(self) -> None:
        """Read which conditions lasted when the appliance stopped, once; a store that is away is asked again."""
        if self._is_recalled:
            return
        try:
            stored = await self._store.read(lambda tables: tables.conditions.all())
        except Refusal:
            return
        self._is_recalled, self._stored, now = True, stored, self._clock()
        earlier: dict[Identity, Lasting] = {}
        for identity, lasting in stored.items():
            if before := self._kept.get(identity):
                self._kept[identity] = replace(before, since=lasting.since, first=lasting.since)
            elif lasting.told and identity[0] in _HEARD and not self._is_of_mode(lasting):
                self._end(identity, _recalled(lasting, now), now)
            elif lasting.told:
                self._kept[identity] = _recalled(lasting, now)
            else:
                earlier[identity] = lasting
        self._earlier = earlier
        self._show()

    def _is_of_mode(self, lasting: Lasting) -> bool:
        """Whether a condition was found in the mode of today, or in one in which machines have their addresses of the same."""
        before = str(lasting.told.get(MODE, self._mode))
        return before == self._mode or {before, self._mode} <= {*GIVES_ADDRESSES}

    async def _save(self) -> None:
        """Keep what lasts, and the events; what the store does not take now, for the disk is full, it is given again."""
        waiting, before = [*self._unsaved], self._stored
        # Where it is not known yet what lasted in the life before, nothing may be written over that.
        lasting = self._lasting() if self._is_recalled else before
        anew = {each: what for each, what in lasting.items() if before.get(each) != what}
        gone = [each for each in before if each not in lasting]
        if not (waiting or anew or gone):
            return

        def use_case(tables: Tables) -> None:
            tables.conditions.save(anew, gone)
            for at, kind, data in waiting:
                tables.events.add("", at, kind, data)
            if waiting:
                shares = {("rule", "subject"): OF_ONE_CONDITION, ("rule",): OF_ONE_RULE}
                tables.events.keep_newest("", KEPT_EVENTS, alike=shares)

        try:
            await self._store.write(use_case)
        except Refusal:
            return
        self._stored = lasting
        self._unsaved = self._unsaved[len(waiting) :]
        if waiting:
            self._wakeups.wake(CHANGES)

    def _lasting(self) -> Mapping[Identity, Lasting]:
        """What the store is to have."""
        kept = {each: Lasting(since=kept.since, told=kept.told) for each, kept in self._kept.items()}
        return {**self._earlier, **kept}


def _recalled(lasting: Lasting, now: datetime) -> _Kept:
    """A condition of the appliance that lasted in the life before."""
    found = replace(recalled(lasting.told), since=lasting.since)
    if found.subject == _sentence(found):
        found = replace(found, subject="")
    return _Kept(
        found=found,
        since=lasting.since,
        seen=now,
        # The answer of a network that was asked tells it at once.
        patience=GONE if found.rule in _HEARD else AFTER_START,
        recalled=True,
        first=lasting.since,
        told=lasting.told,
    )


def identified(found: Iterable[Diagnosis]) -> dict[Identity, Diagnosis]:
    """Diagnoses by what tells each from the others, so that a condition is the same one when only figures changed.

    Where a rule names no subject, that is its sentence without figures; of several that are still equal the first, the
    second … of the round.
    """
    identities: dict[Identity, Diagnosis] = {}
    times: Counter[Identity] = Counter()
    for each in found:
        subject = shortened(each.subject, LONGEST_SUBJECT) or _sentence(each)
        identity = each.rule, each.machine, each.workflow, subject
        times[identity] += 1
        if times[identity] > 1:
            identity = *identity[:3], f"{subject} ({times[identity]})"
        identities[identity] = each
    return identities


def _sentence(found: Diagnosis) -> str:
    """What tells a diagnosis from others where its rule names no subject."""
    return shortened(_FIGURE.sub("#", found.cause), LONGEST_SUBJECT)


def _is_own(found: Diagnosis) -> bool:
    return not found.machine and not found.workflow


def _kept_of(found: Mapping[Identity, Diagnosis], before: Collection[Identity]) -> dict[Identity, Diagnosis]:
    """Of all that is found MOST at most: the appliance's own, and the same number of each rule and gravity that has so many.

    Of these those first that were kept `before`.
    """
    if len(found) <= MOST:
        return {**found}
    number: Counter[tuple[str, Gravity]] = Counter()
    ranked: list[tuple[bool, int, Identity]] = []
    for identity in sorted(found, key=lambda each: each not in before):
        kind = found[identity].rule, found[identity].gravity
        number[kind] += 1
        ranked.append((not _is_own(found[identity]), number[kind], identity))
    return {identity: found[identity] for *_, identity in sorted(ranked)[:MOST]}


def _not_all_kept(found: Mapping[Identity, Diagnosis], left_out: Iterable[Diagnosis], now: datetime) -> Diagnosis:
    numbers, missed = Counter(each.rule for each in found.values()), Counter(each.rule for each in left_out)
    rules = [rule for rule, _ in missed.most_common()]
    more = missed.total()
    named = " or ".join(rules) if len(rules) <= NAMED else f"{', '.join(rules[:NAMED])} or others"
    return Diagnosis(
        rule=LEFT_OUT,
        gravity=Gravity.SUSPECT,
        cause=f"{more:,} more machines or workflows have {named} than are listed.",
        evidence=tuple(
            f"{now:%Y-%m-%d %H:%M:%S} {rule}: {numbers[rule]:,} found, {numbers[rule] - missed[rule]:,} listed"
            for rule in rules
        ),
        remedy="Mend what they have in common. `tinkbox doctor` names all of them, `tinkbox doctor MACHINE` tells of one.",
        subject="list",
    )
