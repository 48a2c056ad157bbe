"""Who did what: a line is committed before something is changed, and one that tells what became of it after that.

So a crash in between leaves an attempt of which it is not known how it ended, and never a change without a line.  What cannot be
recorded is not done, but for what frees room: of that the line is kept in memory, and written as soon as the disk takes it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NoReturn

from tinkbox.engine.audit.attempts import WINDOW, Attempts
from tinkbox.engine.audit.fruitless import MANY, WHY, Asked, Fruitless
from tinkbox.engine.audit.head import HeadFile
from tinkbox.engine.clock_trust import ClockTrust
from tinkbox.engine.wakeups import Wakeups
from tinkbox.model.audit import (
    EXAMINED,
    Act,
    Broken,
    Chain,
    Changed,
    Head,
    Kind,
    Line,
    Listing,
    Seals,
    Standing,
    Verdict,
    lost_key,
    missing_lines,
    no_such_line,
)
from tinkbox.model.errors import Unavailable
from tinkbox.model.token_mask import TokenMask
from tinkbox.store.audit import KeptOut
from tinkbox.store.database import Store, Tables

AUDIT: Final = "audit"  # the wakeup for new lines
_REFUSED: Final = "audit:refused"
APPLIANCE: Final = "tinkbox"
PROTECTED: Final = "audit protected again"
# Lines that wait in memory for a disk that takes none.
MOST_KEPT: Final = 1_000
# In seconds: how often it is tried to write them, and how often old lines are looked for.
TRY_EVERY: Final = 5.0
CUT_EVERY: Final = 3600.0
# Old lines go a day's worth at a time, so that there are few lines about it, and so many in a transaction.
CUT_AT_LEAST: Final = timedelta(days=1)
AT_ONCE: Final = 1_000
# Below every number that SQLite has room for: lines have numbers from 1 on, those that others put in any.
_FROM_THE_FIRST: Final = -(2**63)
PAUSE: Final = 0.05
_REFUSED_FROM: Final = 400
_log = logging.getLogger(__name__)


class Audit:
    """A part.  `head` is where the last line is kept beside the store, None: nowhere; lines older than `kept` are deleted, None: none are.

    None is deleted while `clock_trust` says no.
    """

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        head: HeadFile | None = None,
        kept: timedelta | None = None,
        clock_trust: ClockTrust | None = None,
        mask: TokenMask | None = None,
    ) -> None:
        """`mask` keeps tokens that people typed out of the lines."""
        self._mask = mask or TokenMask()
        self._store = store
        self._wakeups = wakeups
        self._clock = clock
        self._monotonic = monotonic
        self._head = head
        self._seals = Seals(head.seal_line) if head is not None else None
        self._kept = kept
        self._clock_trust = clock_trust
        # The last line that was committed, as far as is known: what is deleted by another program is not forgotten with it.
        self._known = Head()
        self.broken: Broken | None = None
        self._attempts = Attempts()
        self._fruitless = Fruitless()
        self._under_way = set[int]()
        self._unwritten: deque[tuple[Act, datetime]] = deque()
        self.lost = 0
        self._flushing = asyncio.Lock()
        # What is examined is not deleted meanwhile.
        self._cutting = asyncio.Lock()

    def now(self) -> datetime:
        """The time that lines have."""
        return self._clock()

    async def load(self) -> list[str]:
        """Examine the head against the lines; returns what is wrong, which is a line of its own from then on.  Raises Unavailable."""
        mended = await self._store.write(lambda tables: tables.audit.mend_triggers())
        await self._store.write(lambda tables: tables.audit.deliver_what_follows())
        told = list[str]()
        for why, is_news in (
            (await self._wrong_head(self._head) if self._head is not None else "", True),
            (await self._store.read(lambda tables: tables.audit.put_in_before(self._seals)), False),
        ):
            if why and await self._tell_broken(why, is_news=is_news):
                assert self.broken is not None
                told.append(_told(self.broken))
        if mended:
            why = f"triggers that keep its lines from being changed were missing or others: {', '.join(mended)}"
            await self._write([Act(kind=Kind.OWN, who=APPLIANCE, what=PROTECTED, object="audit", why=why)])
            _log.error("another program changed the audit: %s", why, extra={"action": "audit.damaged"})
            told.append(
                f"another program changed the audit: {why}. They are made again; `tinkbox audit verify` examines the lines"
            )
        if self.broken is None:
            self.broken = await self._store.read_long(lambda tables: tables.audit.found_broken())
        await self._keep_head()
        return told

    async def _tell_broken(self, why: str, *, is_news: bool) -> bool:
        """Add a line that tells that lines are not as they should be; whether it is added.  Raises Unavailable.

        What may have been found before is no news, and not told where a line tells it.
        """
        at = self._clock()

        def use_case(tables: Tables) -> tuple[int, Head]:
            is_told = not is_news and tables.audit.tells(why)
            number = 0 if is_told else self._add(tables, _examined(why), at)
            return number, tables.audit.head()

        number, head = await self._store.write(use_case)
        self._learn(head)
        if not number:
            return False
        self.broken = Broken(number=number, at=at, why=why)
        _log.error("%s", _told(self.broken), extra={"action": "audit.damaged"})
        self._wakeups.wake(AUDIT)
        return True

    async def begin(self, act: Act, *, frees_room: bool = False, reads: bool = False, alone: bool = False) -> Asked:
        """Record that something is about to be done, or read where it only `reads`; returns what `end` and `leave` are given.

        Where the same was read a while ago, or many requests of this person came to nothing, another line stands for it, unless it is
        to stand `alone`.  Raises Unavailable where nothing can be written, unless it `frees_room`: then the line waits.
        """
        now = self._monotonic()
        if reads and (number := self._fruitless.reading(act, now)):
            return Asked(number=number, reads=True, again=True)
        if alone or not self._fruitless.is_many(act, now):
            return Asked(number=await self._begin(act, frees_room=frees_room), reads=reads)
        joint = self._fruitless.joint(act, now)
        if joint is None:
            many = replace(act, what=MANY, object="", names=(), why=WHY)
            if not (number := await self._begin(many, frees_room=frees_room)):
                return Asked(number=0, reads=reads)
            joint = self._fruitless.join(many, number, now)
        joint.times += 1
        joint.under_way += 1
        return Asked(number=joint.number, joint=joint, reads=reads)

    async def _begin(self, act: Act, *, frees_room: bool) -> int:
        """The number of the line, 0: it waits."""
        asked = replace(act, kind=Kind.ASKED)
        try:
            number = await self._write([asked])
        except Unavailable as error:
            if not frees_room or isinstance(error, KeptOut):
                raise Unavailable(f"nothing was done, for the audit cannot record it: {error}") from None
            self._keep(asked)
            return 0
        self._under_way.add(number)
        return number

    async def end(self, act: Act, asked: Asked) -> None:
        """Record what became of it.  Where that cannot be written the line waits: what was done is done.

        What came to nothing is put together with what is the same, where no line of its own stands before it.
        """
        done, now = replace(act, kind=Kind.DONE, asked=asked.number), self._monotonic()
        is_nothing = act.status >= _REFUSED_FROM and not (act.did or act.changed)
        if asked.again or (is_nothing and asked.joint is not None):
            self._note(replace(done, kind=Kind.REFUSED if is_nothing else Kind.DONE, asked=0))
            return
        if is_nothing:
            self._fruitless.came_to_nothing(act, now)
        elif asked.reads:
            self._fruitless.read(act, asked.number, now)
        try:
            await self._write([done])
        except Unavailable:
            self._keep(done)

    def leave(self, asked: Asked) -> None:
        """It is under way no more, whatever became of it."""
        if asked.joint is not None:
            asked.joint.under_way -= 1
        elif not asked.again:
            self._under_way.discard(asked.number)

    def standing(self, line: Line) -> Standing:
        """What became of what a line of a list asked."""
        if line.ends:
            return Standing.TOLD
        return Standing.UNDER_WAY if line.number in self._under_way else Standing.UNKNOWN

    def refuse(self, act: Act) -> None:
        """Record an attempt that was refused, put together with those that are like it; within a minute, or at once when it is news."""
        self._note(replace(act, kind=Kind.REFUSED))

    def _note(self, act: Act) -> None:
        # Before names are shortened: half of a token is not known for one.
        if self._attempts.note(act.masked(self._mask)):
            self._wakeups.wake(_REFUSED)

    def own(
        self,
        tables: Tables,
        what: str,
        which: Sequence[str],
        why: str,
        changed: Sequence[Changed] = (),
        names: Sequence[str] = (),
    ) -> None:
        """Record what the appliance does by its configuration, or for a rollout, within the transaction that does it; `told` follows it."""
        for each in which:
            act = Act(kind=Kind.OWN, who=APPLIANCE, what=what, object=each, names=names, why=why, changed=changed)
            self._add(tables, act, self._clock())

    def told(self) -> None:
        """Have those who follow look."""
        self._wakeups.wake(AUDIT)

    async def run(self) -> NoReturn:
        """Write what waits, keep the head, and delete what is too old, for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write_what_waits())
            group.create_task(self._delete_old())
            await self._keep_heads()

    async def save(self) -> None:
        """Write everything that waits; raises Unavailable."""
        await self.flush(all_of_them=True)
        await self._keep_head()

    async def flush(self, *, all_of_them: bool = False) -> None:
        """Write what waits in memory, and the attempts that are due, or all of them; raises Unavailable."""
        async with self._flushing:
            await self._flush(all_of_them=all_of_them)

    async def _flush(self, *, all_of_them: bool) -> None:
        now = self._monotonic()
        over = self._fruitless.over(now, all_of_them=all_of_them)
        ended = [replace(each.act, kind=Kind.DONE, asked=each.number, times=each.times) for each in over]
        if due := [*self._attempts.due(now, all_of_them=all_of_them), *ended]:
            try:
                await self._write(due)
            except Unavailable:
                for each in due:
                    self._keep(each)
                raise
            finally:
                self._under_way.difference_update(each.number for each in over)
        while self._unwritten:
            waiting = list(self._unwritten)
            self._learn(await self._store.write(lambda tables: self._add_all(tables, waiting)[1]))  # noqa: B023  awaited here
            for _ in waiting:
                self._unwritten.popleft()
            self._wakeups.wake(AUDIT)
        if self.lost:
            lost, self.lost = self.lost, 0
            why = f"{lost} lines were not recorded, for the disk took no writes"
            await self._write([Act(kind=Kind.OWN, who=APPLIANCE, what="audit lost lines", object="audit", why=why)])

    async def listed(self, wanted: Listing) -> tuple[list[Line], int]:
        """The lines that are wanted, and how many there are without the limit."""
        return await self._store.read_long(lambda tables: tables.audit.listed(wanted))

    async def after(self, number: int, most: int) -> list[Line]:
        """The next lines behind one, in their order."""
        return await self._store.look(lambda tables: tables.audit.after(number, most))

    async def newest(self) -> int:
        """The number of the last line, 0: there is none."""
        return (await self._store.look(lambda tables: tables.audit.head())).number

    async def changed(self, timeout: float) -> None:
        """Wait for a new line, or so many seconds."""
        await self._wakeups.wait(AUDIT, timeout)

    def changing(self, timeout: float) -> AbstractAsyncContextManager[None]:
        """Do what is within, and then wait for a line that is newer than its beginning, or so many seconds."""
        return self._wakeups.listening(AUDIT, timeout)

    async def delivered(self, place: str) -> int | None:
        """How far a place has the lines, None: it had none yet."""
        return await self._store.read(lambda tables: tables.audit.delivered(place))

    async def delivered_from(self, place: str) -> int:
        """The number of the first line that it was to have, 0: not known."""
        return await self._store.read(lambda tables: tables.audit.delivered_from(place))

    async def deliver(self, place: str, number: int) -> None:
        """Remember how far it has them; raises Unavailable."""
        await self._store.write(lambda tables: tables.audit.deliver(place, number))

    async def verify(self, after: int = 0) -> Verdict:
        """Examine all lines behind one, and the head; what is wrong with lines is a line of its own from then on.  Raises Unavailable."""
        async with self._cutting:
            verdict, found = await self._examined(after)
        if found:
            with suppress(Unavailable):  # it is told who asks all the same
                await self._tell_broken(found, is_news=False)
        return verdict

    async def _examined(self, after: int) -> tuple[Verdict, str]:
        """What was found, and of that what is wrong with lines and told by none of them, empty: nothing."""
        chain, head, wrong = Chain(after, self._seals), None, ""
        if self._head is not None:
            head, wrong = await asyncio.to_thread(self._head.read)
        if head is not None:
            chain.watch_for(head.number)
        number = after or _FROM_THE_FIRST
        while lines := await self._store.read_long(lambda tables: tables.audit.after(number, AT_ONCE)):  # noqa: B023
            number = lines[-1].number
            await asyncio.to_thread(_examine_all, chain, lines)
        found = chain.untold()
        verdict = chain.verdict(head)
        if after and not verdict.lines and not verdict.problem:
            last = await self.newest()
            if last < after:
                verdict = replace(verdict, wrong=last + 1, problem=no_such_line(after, last))
        if verdict.problem or self._head is None or (head is not None and not wrong):
            return verdict, found
        missing = f"{self._head.path} is missing: whether lines at the end are missing is not known"
        return replace(verdict, problem=wrong or missing), found

    async def _write(self, acts: Sequence[Act]) -> int:
        """Returns the number of the first line."""
        at = self._clock()
        numbers, head = await self._store.write(lambda tables: self._add_all(tables, [(each, at) for each in acts]))
        self._learn(head)
        self._wakeups.wake(AUDIT)
        return numbers[0]

    def _add_all(self, tables: Tables, acts: Sequence[tuple[Act, datetime]]) -> tuple[list[int], Head]:
        return [self._add(tables, act, at) for act, at in acts], tables.audit.head()

    def _add(self, tables: Tables, act: Act, at: datetime) -> int:
        """Add it within a transaction, behind a line that tells it where the last line that is known is not there any more."""
        if act.what != EXAMINED:
            self._tell_missing(tables, at)
        return tables.audit.add(act.masked(self._mask), at, self._known, self._seals)

    def _tell_missing(self, tables: Tables, at: datetime) -> Head:
        """Add the line that tells that the last line that is known is not there any more, where it is so; returns the last line."""
        known = self._known
        if why := tables.audit.missing(tables.audit.head(), known):
            why = f"{why}: another program changed the database while tinkbox ran"
            number = tables.audit.add(_examined(why), at, known, self._seals)
            self.broken = Broken(number=number, at=at, why=why)
            _log.error("the audit is not as it was: %s", why, extra={"action": "audit.damaged"})
        return tables.audit.head()

    def _learn(self, head: Head) -> None:
        if head.number > self._known.number:
            self._known = head

    def _keep(self, act: Act) -> None:
        if len(self._unwritten) >= MOST_KEPT:
            self.lost += 1
            return
        self._unwritten.append((act, self._clock()))

    async def _write_what_waits(self) -> NoReturn:
        while True:
            await self._wakeups.wait(_REFUSED, TRY_EVERY if self._unwritten else WINDOW)
            try:
                await self.flush()
            except Unavailable as error:
                _log.warning("the audit is not written: %s", error, extra={"action": "audit.refused"})
                await asyncio.sleep(1)

    async def _keep_heads(self) -> NoReturn:
        try:
            while True:
                async with self._wakeups.listening(AUDIT, WINDOW):
                    await self._keep_head()
        finally:
            # When it is stopped, what was committed last is known as well.
            await self._keep_head()

    async def _keep_head(self) -> None:
        if self._head is None:
            return
        try:
            known = self._known
            head, missing = await self._store.look(
                lambda tables: (head := tables.audit.head(), tables.audit.missing(head, known))
            )
            if missing:
                head = await self._store.write(lambda tables: self._tell_missing(tables, self._clock()))
                self._wakeups.wake(AUDIT)
            self._learn(head)
            begin = self._seals.begin if self._seals is not None else 0
            await asyncio.to_thread(self._head.write, replace(head, sealed_from=begin))
        except (OSError, Unavailable) as error:
            _log.warning("the head of the audit is not written: %s", error, extra={"action": "audit.head"})

    async def _wrong_head(self, file: HeadFile) -> str:
        has_seals = not await asyncio.to_thread(file.has_key) and await self._store.read_long(
            lambda tables: tables.audit.has_seals()
        )
        has_lost_key = await asyncio.to_thread(file.lost_key, has_seals=has_seals)
        head, wrong = await asyncio.to_thread(file.read_unsealed if has_lost_key else file.read)
        last, digest = await self._store.read(
            lambda tables: (tables.audit.head(), tables.audit.digest(head.number) if head is not None else "")
        )
        if has_lost_key:
            self._seals = Seals(file.seal_line, last.number + 1)
            # Its number and digest are no proof, but where they do not fit it is not the key alone that is missing.
            more = wrong or (_difference(head, last, digest) if head is not None else f"{file.path} is missing")
            return "; ".join(each for each in (lost_key(last.number + 1), more) if each)
        # Lines that were there before the first head that tells this have no seal, or that of another key.
        self._seals = Seals(file.seal_line, (head.sealed_from if head is not None else 0) or last.number + 1)
        if wrong:
            return wrong
        if head is None:
            if last.number:
                return f"{file.path} is missing"
            had_one = await asyncio.to_thread(file.has_key) or await self._store.read(
                lambda tables: tables.audit.had_lines()
            )
            return f"{file.path} and all lines are missing, and there have been some" if had_one else ""
        # What follows does not take the numbers of lines that are missing.
        self._learn(head)
        return _difference(head, last, digest)

    async def _delete_old(self) -> NoReturn:
        while True:
            try:
                await self.delete_old()
            except Unavailable as error:
                _log.warning("old lines of the audit are not deleted yet: %s", error, extra={"action": "audit.refused"})
            await asyncio.sleep(CUT_EVERY)

    async def delete_old(self) -> int:
        """Delete the lines that are too old, once a line says so; returns how many.  Raises Unavailable."""
        async with self._cutting:
            deleted = await self._delete_old_lines()
        if deleted:
            self._wakeups.wake(AUDIT)
            _log.info("%d lines of the audit deleted for their age", deleted, extra={"action": "audit.cut"})
        return deleted

    async def _delete_old_lines(self) -> int:
        deleted = await self._cut()  # what an appliance left that ended in the middle of it
        if self._kept is not None and (self._clock_trust is None or await self._clock_trust.may_delete()):
            before = self._clock() - self._kept
            await self._store.write(lambda tables: self._announce_cut(tables, before, self._clock()))
            deleted += await self._cut()
        return deleted

    def _announce_cut(self, tables: Tables, before: datetime, now: datetime) -> None:
        """Add the line that says that all older ones go, where those of more than a day are to."""
        if tables.audit.old(before - CUT_AT_LEAST, self._seals) is None:
            return
        through = tables.audit.old(before, self._seals)
        assert through is not None
        why = f"older than retention.audit: before {before.isoformat(timespec='seconds')}"
        cut = Act(
            kind=Kind.CUT, who=APPLIANCE, what="audit cut", object="audit", why=why,
            through=through.number, through_digest=through.digest,
        )  # fmt: skip
        self._add(tables, cut, now)

    async def _cut(self) -> int:
        deleted = 0
        while piece := await self._store.write(lambda tables: tables.audit.cut(AT_ONCE, self._seals)):
            deleted += piece
            await asyncio.sleep(PAUSE)
        return deleted


def _difference(head: Head, last: Head, digest: str) -> str:
    """What is wrong with lines whose `last` is that, where the line of the head's number has this digest, empty: there is none."""
    if head.number > last.number:
        return missing_lines(last.number + 1, head.number)
    if head.number and digest and digest != head.digest:
        return f"line {head.number} is another one than the head names"
    return ""


def _told(broken: Broken) -> str:
    """What was found, for a person, with what to type."""
    if broken.is_of_key:
        return (
            f"{broken.why}. `tinkbox audit verify` fails at line {broken.number} from now on; `tinkbox audit verify --after {broken.number}` "
            "examines what follows"
        )
    return f"the audit is not as it was: {broken.why}. `tinkbox audit verify` says more"


def _examined(why: str) -> Act:
    return Act(kind=Kind.OWN, who=APPLIANCE, what=EXAMINED, object="audit", why=why)


def _examine_all(chain: Chain, lines: Sequence[Line]) -> None:
    for each in lines:
        chain.add(each)
