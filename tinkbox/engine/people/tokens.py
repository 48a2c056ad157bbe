"""Use-cases of tokens: they are made, listed and revoked while the appliance runs, and a request is asked whose it is.

All are in memory, by the hash of their text: whoever shows one costs a hash and a look, however many there are, and learns
nothing by the time that it takes.
"""

import asyncio
import hashlib
import hmac
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NoReturn

from tinkbox.model.access import OPERATOR, Caller, Means, Right, operator
from tinkbox.model.errors import Conflict, Full, NotFound, Unavailable
from tinkbox.model.labels import Relabelled, Selector
from tinkbox.model.text import quoted
from tinkbox.model.tokens import MAX_LOGINS, MAX_TOKENS, PREFIX, Token, parse_name, refuse_more, refuse_text
from tinkbox.store.database import Store, Tables

# How coarsely it is kept when a token was used last, and how often that is saved, in seconds.
USE_SECONDS: Final = 60.0
# So long an expired token is listed.
KEPT: Final = timedelta(days=7)
_WAS_REVOKED: Final = "was revoked"
_HAS_EXPIRED: Final = "has expired"
_WAS_REPLACED: Final = "was replaced by a newer one of its name"
REVOKED: Final = f"the token {_WAS_REVOKED}"
EXPIRED: Final = f"the token {_HAS_EXPIRED}"
LEFT_SCOPE: Final = "labels changed, and a machine left the scope of the token: ask again"
Ended = Callable[[str, str], None]
_log = logging.getLogger(__name__)


class Tokens:
    """`own` is the operator's own token, which is in a file and has all rights.

    `random` gives 48 hexadecimal digits that nobody guesses.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        random: Callable[[], str],
        own: str,
        may_delete: Callable[[], Awaitable[bool]] | None = None,
        another: Callable[[], str] | None = None,
    ) -> None:
        """`may_delete` tells whether the clock is to be believed where tokens are deleted for their age; None: it is.

        `another` puts another one in the place of the operator's own, and returns it; it blocks, and raises Unavailable.
        """
        self._another = another
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._random = random
        self._own = hash_of(own)
        self._may_delete = may_delete
        self._by_hash: dict[str, Token] = {}
        self._by_id: dict[str, Token] = {}
        self._used: dict[str, datetime] = {}
        self._unsaved: dict[str, datetime] = {}
        self._saved_at = clock()
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()
        self._told: list[Ended] = []

    async def load(self) -> None:
        """Take over what is stored."""
        found = await self._store.read(lambda tables: tables.tokens.all())
        self._by_hash = {each.hash: each for each in found}
        self._by_id = {each.id: each for each in found}
        self._used = {each.id: each.used_at for each in found if each.used_at is not None}

    def tell_ends(self, told: Ended) -> None:
        """Have `told` called with the id of each token that ends, and the reason, as soon as it ends."""
        self._told.append(told)

    def bearer(self, text: str) -> Caller | None:
        """Who shows this token; None where it is unknown here, revoked or expired."""
        shown = hash_of(text)
        if hmac.compare_digest(shown, self._own):
            return self._operator()
        found = self._by_hash.get(shown)
        if found is None or found.is_over(now := self._clock()):
            return None
        self._note_use(found.id, now)
        return found.bearer

    def knows(self, text: str) -> bool:
        """Whether this is the text of a token, the operator's or one that is listed, be it expired."""
        shown = hash_of(text)
        return hmac.compare_digest(shown, self._own) or shown in self._by_hash

    def with_id(self, token_id: str) -> Caller | None:
        """Who bears the token of this id, None where it counts no more; empty: who came over the unix socket."""
        if not token_id:
            return operator()
        if token_id == self._own_id:
            return self._operator()
        found = self._by_id.get(token_id)
        return found.bearer if found is not None and not found.is_over(self._clock()) else None

    def counts(self, token_id: str) -> bool:
        """Whether the token of this id is neither revoked nor expired."""
        return self.with_id(token_id) is not None

    def why_over(self, token_id: str) -> str:
        """What became of the token of this id, which counts no more."""
        token = self._by_id.get(token_id)
        return _why_over(token, self._newest()) if token is not None else _WAS_REVOKED

    def loses(self, token_id: str, changed: Sequence[Relabelled]) -> bool:
        """Whether one of these machines leaves the scope of a token by its labels."""
        bearer = self.with_id(token_id)
        scope = bearer.scope if bearer is not None else None
        return scope is not None and any(
            scope.matches(before) and (after is None or not scope.matches(after)) for before, after in changed
        )

    def known(self, name: str) -> bool:
        """Whether a token has this name, an expired one included."""
        return any(each.name == name for each in self._by_id.values())

    def all(self) -> list[Token]:
        """By name, those lately expired as well; with their last use."""
        tokens = (replace(each, used_at=self._used.get(each.id)) for each in self._by_hash.values())
        return sorted(tokens, key=lambda each: (each.name, each.created_at, each.id))

    async def issue(
        self,
        name: str,
        rights: frozenset[Right],
        *,
        scope: Selector | None = None,
        until: datetime | None,
        by: Caller,
        means: Means = Means.TOKEN,
    ) -> str:
        """Make a token, and return its text, which is nowhere else; raises as `make`."""
        text, _ = await self.make(name, rights, scope=scope, until=until, by=by, means=means)
        return text

    async def make(
        self,
        name: str,
        rights: frozenset[Right],
        *,
        scope: Selector | None = None,
        until: datetime | None,
        by: Caller,
        means: Means = Means.TOKEN,
    ) -> tuple[str, Token]:
        """Make a token; returns its text, which is nowhere else, and what is kept of it.

        `until` None: it never expires.  An expired one of this name makes room for it.  Names that differ in case only are one
        name.  Those that an ISSUER vouched for may have one name, so that a person may log in on several hosts.  Raises Invalid for a wrong name, Forbidden where `by`
        would give more than they have, Conflict where the name is taken, Full where there are too many.
        """
        parse_name(name)
        refuse_more(by, rights, scope)
        text = PREFIX + self._random()
        token = Token(
            id=self._new_id(), hash=hash_of(text), name=name, rights=rights, means=means, scope=scope, until=until,
            created_at=self._clock(), by=by.name,
        )  # fmt: skip
        await self._keep(token, str.casefold)
        return text, token

    def now(self) -> datetime:
        """The time by which tokens expire."""
        return self._clock()

    async def take_in(self, name: str, rights: frozenset[Right], text: str, by: str) -> bool:
        """Keep a token that was made elsewhere, without an end; whether it is one of ours from now on.

        It is not where another one has its name, or it is the operator's.
        """
        shown = hash_of(text)
        if shown in self._by_hash:
            return self._by_hash[shown].name == name
        if hmac.compare_digest(shown, self._own):
            return False
        token = Token(
            id=self._new_id(), hash=shown, name=name, rights=rights, means=Means.TOKEN, scope=None, until=None,
            created_at=self._clock(), by=by,
        )  # fmt: skip
        try:
            await self._keep(token, str)
        except Conflict:
            return False
        return True

    async def rotate(self, name: str, *, until: datetime | None, overlap: timedelta, by: Caller) -> tuple[str, Token]:
        """Give a token another text, with the same name, rights and scope; returns as `make`.

        The former text counts for the `overlap` at most.  Raises NotFound, Forbidden as `make`, Conflict for one that an issuer vouched for.
        """
        refuse_text(name)
        async with self._turn:
            now = self._clock()
            live = [each for each in self.all() if each.name == name and not each.is_over(now)]
            if not live:
                raise self.unknown(name)
            before = live[-1]
            if before.means is Means.ISSUER:
                raise Conflict(f"{name} logged in: `tinkbox login --oidc` gives another token")
            refuse_more(by, before.rights, before.scope)
            self._refuse_too_many(len(self._by_hash))
            text = PREFIX + self._random()
            after = replace(
                before, id=self._new_id(), hash=hash_of(text), until=until, created_at=now, by=by.name, used_at=None
            )
            last = now + overlap
            ends = {each.id: last if each.until is None else min(each.until, last) for each in live}

            def use_case(tables: Tables) -> None:
                for token_id, at in ends.items():
                    tables.tokens.end_at(token_id, at)
                tables.tokens.put(after)

            await self._store.write(use_case)
            for each in (*(replace(each, until=ends[each.id]) for each in live), after):
                self._by_hash[each.hash] = self._by_id[each.id] = each
            self._changed.set()
        self.tell_expired()
        return text, after

    async def replace_own(self) -> None:
        """Put another token in the place of the operator's own, which ends with what is under way with it.  Raises Unavailable."""
        if self._another is None:
            raise Unavailable("the operator's token is in no file here")
        async with self._turn:
            before = self._own_id
            self._own = hash_of(await asyncio.to_thread(self._another))
        self._tell(before, REVOKED)

    async def revoke(self, name: str) -> list[Token]:
        """End all tokens of this name, and what is under way with them; raises Invalid for the text of one."""
        of_text = self._by_hash.get(hash_of(name))
        refuse_text(name, of_text.name if of_text is not None else "", known=self.knows(name))
        async with self._turn:
            found = [each for each in self.all() if each.name == name]
            if found:
                await self._store.write(lambda tables: tables.tokens.delete(each.id for each in found))
                self._forget(found, REVOKED)
        return found

    async def run(self) -> NoReturn:
        """End what is under way with expired tokens when they expire, and save when which was used."""
        while True:
            self._changed.clear()
            try:
                async with asyncio.timeout(self._seconds_to_next()):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self.tell_expired()
            if self._clock() - self._saved_at >= timedelta(seconds=USE_SECONDS):
                try:
                    await self.save()
                    await self.forget_old()
                except Unavailable as error:
                    _log.warning("the use of tokens is not saved: %s", error, extra={"action": "saving.refused"})

    def tell_expired(self) -> None:
        """End what is under way with tokens that have expired."""
        now, newest = self._clock(), self._newest()
        for each in self._by_hash.values():
            if each.is_over(now):
                self._tell(each.id, f"the token {_why_over(each, newest)}")

    async def save(self) -> None:
        """Save when which token was used; raises Unavailable."""
        self._saved_at, saving = self._clock(), dict(self._unsaved)
        if not saving:
            return
        await self._store.write(lambda tables: tables.tokens.note_use(saving))
        for token_id, at in saving.items():
            if self._unsaved.get(token_id) == at:
                del self._unsaved[token_id]

    async def _keep(self, token: Token, told_apart: Callable[[str], str]) -> None:
        """Keep it, with a name that no other one has, as they are `told_apart`; an earlier release told them apart by case too."""
        async with self._turn:
            now = self._clock()
            namesakes = [each for each in self.all() if told_apart(each.name) == told_apart(token.name)]
            live = [each for each in namesakes if not each.is_over(now)]
            logins = all(each.means is Means.ISSUER and each.name == token.name for each in (token, *live))
            if live and not logins:
                raise Conflict(
                    f"there is a token {quoted(live[0].name)} already: `tinkbox token rotate {live[0].name}` gives it another text, "
                    f"`tinkbox token revoke {live[0].name}` ends it, or choose another name"
                )
            going = [each for each in namesakes if each.is_over(now)]
            if len(live) >= MAX_LOGINS:
                going.append(live[0])
            self._refuse_too_many(len(self._by_hash) - len(going))

            def use_case(tables: Tables) -> None:
                tables.tokens.delete(each.id for each in going)
                tables.tokens.put(token)

            await self._store.write(use_case)
            self._forget(going, REVOKED)
            self._by_hash[token.hash] = self._by_id[token.id] = token
            self._changed.set()

    async def forget_old(self) -> None:
        """Forget what expired more than KEPT ago, unless the clock may be wrong; raises Unavailable."""
        if self._may_delete is not None and not await self._may_delete():
            return
        async with self._turn:
            now = self._clock()
            old = [each for each in self._by_hash.values() if each.until is not None and each.until + KEPT <= now]
            if old:
                await self._store.write(lambda tables: tables.tokens.delete(each.id for each in old))
                self._forget(old, EXPIRED)

    @property
    def _own_id(self) -> str:
        """What the operator's own token is known by while it counts."""
        return f"{OPERATOR}-{self._own[:16]}"

    def _operator(self) -> Caller:
        return replace(operator(), token=self._own_id)

    def unknown(self, name: str) -> NotFound:
        """The refusal of a name that no token has."""
        if name == OPERATOR:
            return NotFound(
                f"{name} is the box's own token: `tinkbox token revoke {name}` puts another one in its place"
            )
        return NotFound(f"no token {quoted(name)} here: `tinkbox token list` shows them")

    def _newest(self) -> Mapping[str, datetime]:
        """Of each name when the newest token was made."""
        newest = dict[str, datetime]()
        for each in self._by_id.values():
            newest[each.name] = max(each.created_at, newest.get(each.name, each.created_at))
        return newest

    def _refuse_too_many(self, number: int) -> None:
        if number >= MAX_TOKENS:
            raise Full(
                f"there are {MAX_TOKENS} tokens: `tinkbox token list` shows them, `tinkbox token revoke` ends one"
            )

    def _forget(self, tokens: Sequence[Token], why: str) -> None:
        for each in tokens:
            del self._by_hash[each.hash], self._by_id[each.id]
            self._used.pop(each.id, None)
            self._unsaved.pop(each.id, None)
            self._tell(each.id, why)

    def _tell(self, token_id: str, why: str) -> None:
        for told in self._told:
            told(token_id, why)

    def _note_use(self, token_id: str, now: datetime) -> None:
        before = self._used.get(token_id)
        if before is None or abs((now - before).total_seconds()) >= USE_SECONDS:
            self._used[token_id] = self._unsaved[token_id] = now

    def _seconds_to_next(self) -> float:
        """Until the next one expires, at most USE_SECONDS: the clock may be set meanwhile."""
        now = self._clock()
        ahead = (
            (each.until - now).total_seconds()
            for each in self._by_hash.values()
            if each.until is not None and each.until > now
        )
        return min((*ahead, USE_SECONDS))


def _why_over(token: Token, newest: Mapping[str, datetime]) -> str:
    """What became of one whose time is over; `newest` says when the newest of each name was made."""
    return _WAS_REPLACED if newest[token.name] > token.created_at else _HAS_EXPIRED


def hash_of(text: str) -> str:
    """The SHA-256 of a token, in hexadecimal digits."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
