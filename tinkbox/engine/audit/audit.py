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
    LOST,
    Act,
    Broken,
    Chain,
    Changed,
    Head,
    Hindrance,
    Kind,
    Line,
    Listing,
    Seals,
    Standing,
    Unguarded,
    Verdict,
    WaitingLines,
    lost_key,
    lost_lines,
    missing_lines,
    no_such_line,
    unguarded,
    unrecorded_lines,
    unwritten_lines,
    wrong_index,
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
        # What waits for the disk, or for a trigger to be taken out: `unwritten` counts more than these where there is no room for all.
        self._waiting: deque[tuple[Act, datetime]] = deque()
        self.unwritten: WaitingLines | None = None
        self.unguarded: Unguarded | None = None
        self._flushing = asyncio.Lock()
        # What is examined is not deleted meanwhile.
        self._cutting = asyncio.Lock()

    def now(self) -> datetime:
        """The time that lines have."""
        return self._clock()

    async def load(self) -> list[str]:
        """Examine the head against the lines; returns what is wrong, which is a line of its own from then on.  Raises Unavailable."""
        mended = await self._store.write(lambda tables: tables.audit.mend_parts())
        await self._store.write(lambda tables: tables.audit.deliver_what_follows())
        told = list[str]()
        wrong, left = await self._wrong_head(self._head) if self._head is not None else ("", None)
        for why, is_news in (
            (wrong, True),
            (await self._store.read(lambda tables: tables.audit.put_in_before(self._seals)), False),
        ):
            if why and await self._tell_broken(why, is_news=is_news):
                assert self.broken is not None
                told.append(_told(self.broken))
        if mended:
            why = f"parts of the database were missing, or not as tinkbox made them: {', '.join(mended)}"
            await self._write([Act(kind=Kind.OWN, who=APPLIANCE, what=PROTECTED, object="audit", why=why)])
            _log.error("another program changed the database: %s", why, extra={"action": "audit.damaged"})
            told.append(
                f"another program changed the database: {why}. They are taken out, or made again; `tinkbox audit verify` examines the lines"
            )
        if left is not None:
            told += await self._tell_lost(left)
        await self._keep_head()
        return told

    async def remember(self) -> None:
        """Look for the line that tells that lines were not as they should be, in all of them: no start waits for that, which takes as long as the disk.  Raises Unavailable."""
        found = await self._store.read_long(lambda tables: tables.audit.found_broken())
        if self.broken is None:  # what was found meanwhile is newer
            self.broken = found

    async def _tell_broken(self, why: str, *, is_news: bool) -> bool:
        """Add a line that tells that lines are not as they should be; whether it is added.  Raises Unavailable.

        What may have been found before is no news, and not told where a line tells it.
        """
        at = self._clock()

        def use_case(tables: Tables) -> tuple[int, Head]:
            is_told = not is_news and tables.audit.tells(EXAMINED, why, self._seals)
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

    async def _tell_lost(self, left: WaitingLines) -> list[str]:
        """Add the line that stands for those that were not written by the appliance that ran before, once; returns what to say.  Raises Unavailable."""
        why, at = lost_lines(left), self._clock()

        def use_case(tables: Tables) -> tuple[int, Head]:
            is_told = tables.audit.tells(LOST, why, self._seals)
            return 0 if is_told else self._add(tables, _lost(why), at), tables.audit.head()

        number, head = await self._store.write(use_case)
        self._learn(head)
        if not number:
            return []
        self._wakeups.wake(AUDIT)
        _log.error("lines of the audit are lost: %s", why, extra={"action": "audit.lost"})
        return [f"lines of the audit are lost: {why}. Line {number} stands for them"]

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
            self._keep(asked, error)
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
        except Unavailable as error:
            self._keep(done, error)

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
            group.create_task(self._remember())
            group.create_task(self._write_what_waits())
            group.create_task(self._delete_old())
            await self._keep_heads()

    async def save(self) -> None:
        """Write everything that waits, for this is the end; raises Unavailable.  How much cannot be written is in the head then."""
        try:
            await self.flush(all_of_them=True)
        finally:
            await self._keep_head()
            if self.unwritten is not None:
                _log.error("%s", lost_lines(self.unwritten), extra={"action": "audit.lost"})

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
            except Unavailable as error:
                for each in due:
                    self._keep(each, error)
                raise
            finally:
                self._under_way.difference_update(each.number for each in over)
        while self._waiting:
            waiting = list(self._waiting)
            await self._write_at(waiting)
            for _ in waiting:
                self._waiting.popleft()
            self._wrote(len(waiting))
        if self.unwritten is not None:
            lost = self.unwritten.number
            await self._write([_lost(unrecorded_lines(self.unwritten))])
            self._wrote(lost)

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
        return verdict if verdict.problem else replace(verdict, problem=await self._kept_out())

    async def _kept_out(self) -> str:
        """Which lines are not written yet, what may keep lines out, and whether an index has other rows than there are; empty: nothing."""
        parts, index = await self._store.read_long(
            lambda tables: (tables.audit.wrong_parts(), tables.audit.wrong_index())
        )
        waiting = unwritten_lines(self.unwritten) if self.unwritten is not None else ""
        if found := "; ".join(filter(None, [waiting, unguarded(parts) if parts else ""])):
            return f"{found}. `tinkbox doctor` says what to do"
        return wrong_index(index) if index else ""

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
        return await self._write_at([(each, at) for each in acts])

    async def _write_at(self, acts: Sequence[tuple[Act, datetime]]) -> int:
        """The same of acts of earlier moments."""
        try:
            numbers, head = await self._store.write(lambda tables: self._add_all(tables, acts))
        except KeptOut:
            if self.unwritten is not None:
                self.unwritten = replace(self.unwritten, hindrance=Hindrance.TRIGGER)
            # The schema is looked at with the head.
            self._wakeups.wake(AUDIT)
            raise
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

    def _keep(self, act: Act, error: Unavailable) -> None:
        """Have it wait where there is room, and count it in any case."""
        at = self._clock()
        if self.unwritten is None:
            self._wakeups.wake(_REFUSED)  # from now on it is tried often
        unwritten = self.unwritten or WaitingLines(number=0, since=at, hindrance=Hindrance.DISK)
        hindrance = Hindrance.TRIGGER if isinstance(error, KeptOut) else unwritten.hindrance
        self.unwritten = replace(unwritten, number=unwritten.number + 1, hindrance=hindrance)
        if len(self._waiting) < MOST_KEPT:
            self._waiting.append((act, at))
        # It is in the head as soon as may be: what waits is lost when the process is killed.
        self._wakeups.wake(AUDIT)

    def _wrote(self, number: int) -> None:
        assert self.unwritten is not None
        left = self.unwritten.number - number
        self.unwritten = replace(self.unwritten, number=left) if left else None

    async def _write_what_waits(self) -> NoReturn:
        while True:
            await self._wakeups.wait(_REFUSED, TRY_EVERY if self.unwritten is not None else WINDOW)
            try:
                await self.flush()
            except Unavailable as error:
                _log.warning("the audit is not written: %s", error, extra={"action": "audit.refused"})
                await asyncio.sleep(1)

    async def _remember(self) -> None:
        try:
            await self.remember()
        except Unavailable as error:
            _log.warning(
                "what was found in the audit earlier is not known: %s", error, extra={"action": "audit.refused"}
            )

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
            head, missing, parts = await self._store.look(
                lambda tables: (
                    head := tables.audit.head(),
                    tables.audit.missing(head, known),
                    tables.audit.wrong_parts(),
                )
            )
            self._note_parts(parts)
            if missing:
                head = await self._told_missing()
            self._learn(head)
            begin = self._seals.begin if self._seals is not None else 0
            told = replace(head, sealed_from=begin, unwritten=self.unwritten)
            await asyncio.to_thread(self._head.write, told)
        except (OSError, Unavailable) as error:
            _log.warning("the head of the audit is not written: %s", error, extra={"action": "audit.head"})

    async def _told_missing(self) -> Head:
        """The last line once one tells what is missing before it; where that is kept out, the one that was there."""
        try:
            head = await self._store.write(lambda tables: self._tell_missing(tables, self._clock()))
        except KeptOut:
            return self._known
        self._wakeups.wake(AUDIT)
        return head

    def _note_parts(self, found: Sequence[str]) -> None:
        before = self.unguarded
        if not found:
            self.unguarded = None
        elif before is None or before.parts != found:
            self.unguarded = Unguarded(parts=found, since=self._clock() if before is None else before.since)
            _log.error(
                "another program changed the database: %s. Changes, or lines of the audit, may be kept out; `tinkbox doctor` says what to do",
                unguarded(found),
                extra={"action": "audit.damaged"},
            )

    async def _wrong_head(self, file: HeadFile) -> tuple[str, WaitingLines | None]:
        """What is wrong with the head, empty: nothing, and which lines were not written when it was."""
        has_seals = not await asyncio.to_thread(file.has_key) and await self._store.read_long(
            lambda tables: tables.audit.has_seals()
        )
        has_lost_key = await asyncio.to_thread(file.lost_key, has_seals=has_seals)
        head, wrong = await asyncio.to_thread(file.read_unsealed if has_lost_key else file.read)
        last, digest = await self._store.read(
            lambda tables: (tables.audit.head(), tables.audit.digest(head.number) if head is not None else "")
        )
        left = head.unwritten if head is not None else None
        if has_lost_key:
            self._seals = Seals(file.seal_line, last.number + 1)
            # Its number and digest are no proof, but where they do not fit it is not the key alone that is missing.
            more = wrong or (_difference(head, last, digest) if head is not None else f"{file.path} is missing")
            return "; ".join(each for each in (lost_key(last.number + 1), more) if each), left
        # Lines that were there before the first head that tells this have no seal, or that of another key.
        self._seals = Seals(file.seal_line, (head.sealed_from if head is not None else 0) or last.number + 1)
        if wrong:
            return wrong, left
        if head is None:
            if last.number:
                return f"{file.path} is missing", left
            had_one = await asyncio.to_thread(file.has_key) or await self._store.read(
                lambda tables: tables.audit.had_lines()
            )
            return f"{file.path} and all lines are missing, and there have been some" if had_one else "", left
        # What follows does not take the numbers of lines that are missing.
        self._learn(head)
        return _difference(head, last, digest), left

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


def _lost(why: str) -> Act:
    return Act(kind=Kind.OWN, who=APPLIANCE, what=LOST, object="audit", why=why)


def _examine_all(chain: Chain, lines: Sequence[Line]) -> None:
    for each in lines:
        chain.add(each)
