"""Use-cases of secrets: set, list, delete; what reads a value is in `giving` and `masks` alone."""

import asyncio
import hmac
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from tinkbox.engine.secrets.key import SecretKey
from tinkbox.engine.wakeups import CHANGES, Wakeups
from tinkbox.model.errors import Conflict, NotFound, Unavailable
from tinkbox.model.secret import MAX_SECRETS, Secret, SecretDocument, asked_in, check_secret_name, check_value
from tinkbox.model.text import quoted
from tinkbox.store.database import Store, Tables
from tinkbox.store.secrets import Sealed

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSecret:
    """A secret, the ids of the workflows that ask for it and are not over, and the names of templates that ask for it (`asked_in`)."""

    secret: Secret
    workflows: tuple[str, ...]
    templates: tuple[str, ...]


class Secrets:
    """What people do with secrets; no method returns a value."""

    def __init__(self, store: Store, wakeups: Wakeups, clock: Callable[[], datetime], key: SecretKey) -> None:
        self._store = store
        self._wakeups = wakeups
        self._clock = clock
        self._key = key

    async def set(self, name: str, value: bytes, who: str) -> bool:
        """Give a secret its value; returns whether it is new.

        Raises Invalid for what is no name or no value, Conflict for one too many, Unavailable where the key is missing, or
        is not the one by which other secrets are kept.
        """
        check_secret_name(name)
        check_value(value)

        new = await self._store.write(lambda tables: self.take_in(tables, name, value, who))
        self._wakeups.wake(CHANGES)
        return new

    def take_in(
        self, tables: Tables, name: str, value: bytes, who: str, document: SecretDocument | None = None
    ) -> bool:
        """The same of a name and a value that were checked, of this document, within a transaction."""
        new = bool(tables.secrets.missing([name]))
        self._check_key(tables, name)
        if new:
            self.refuse_beyond_room(tables, 1)
        secret = Secret(name=name, size=len(value), set_at=self._clock(), set_by=who, document=document)
        tables.secrets.put(secret, self._key.seal(name, value))
        tables.secrets.forget_unused()
        return new

    def make_ready(self, tables: Tables) -> None:
        """Have a key before the marks of workflows are made that ask for the first secret; raises Unavailable as `set`."""
        self._check_key(tables, "")

    def refuse_beyond_room(self, tables: Tables, more: int) -> None:
        """Raise Conflict where so many more secrets would be too many."""
        if more and tables.secrets.count() + more > MAX_SECRETS:
            raise Conflict(f"{MAX_SECRETS} secrets are the most that are kept: delete some (`tinkbox secret list`)")

    def compared(self, tables: Tables, values: Mapping[str, bytes]) -> dict[str, bool]:
        """Whether secrets have these values, by the names of those that there are; one that cannot be read has another."""
        return {each.name: self._is(each, values[each.name]) for each in tables.secrets.current(values)}

    def _is(self, sealed: Sealed, value: bytes) -> bool:
        try:
            return hmac.compare_digest(self._key.open(sealed.name, sealed.content), value)
        except Unavailable:
            return False

    async def delete(self, name: str) -> None:
        """Forget a secret: actions that ask for it fail from now on.  Raises NotFound."""

        def use_case(tables: Tables) -> None:
            if not tables.secrets.delete(name):
                raise no_secret(name)
            tables.secrets.forget_unused()

        await self._store.write(use_case)
        self._wakeups.wake(CHANGES)

    async def forget_unused(self) -> bool:
        """Forget replaced and deleted values whose last workflow is over by now; that no more is to be done.  Raises Unavailable."""
        await self._store.write(lambda tables: tables.secrets.forget_unused())
        return False

    async def all(self) -> list[ListedSecret]:
        """Every secret, by its name."""

        def question(tables: Tables) -> list[ListedSecret]:
            asking = tables.secrets.workflows()
            templates = [(name, asked_in(text)) for name, text in tables.secrets.templates()]
            return [
                ListedSecret(
                    secret=each,
                    workflows=tuple(asking.get(each.name, ())),
                    templates=tuple(name for name, asked in templates if each.name in asked),
                )
                for each in tables.secrets.all()
            ]

        return await self._store.read(question)

    async def examine(self) -> list[str]:
        """What is wrong at a start.  Raises Unavailable."""
        if not (why := await self.unreadable()):
            return []
        _log.error("%s", why, extra={"action": "secrets.unreadable"})
        return [why]

    async def unreadable(self) -> str:
        """Why secrets that are kept cannot be read, empty: they can, or there are none.  Raises Unavailable."""
        kept = await self._store.look(lambda tables: tables.secrets.any())
        return "" if kept is None else await asyncio.to_thread(self._key.problem, kept.name, kept.content)

    def _check_key(self, tables: Tables, name: str) -> None:
        """Make the key where nothing is kept by one yet; raise Unavailable where what is kept cannot be read by it."""
        kept = tables.secrets.any()
        if kept is None:
            self._key.make()
            return
        try:
            self._key.open(kept.name, kept.content)
        except Unavailable:
            others = [each for each in tables.secrets.all() if each.name != name]
            if others:
                raise Unavailable(
                    f"{self._key.place} is missing, or is not the key by which {len(others)} other "
                    f"secret{'s are' if len(others) > 1 else ' is'} kept: put that key back, or delete these first "
                    "(`tinkbox secret list`)"
                ) from None
            self._key.make()
            return
        # The key is in memory, from which no start has it again: what is kept by it would be lost then.
        if why := self._key.lost():
            raise Unavailable(
                f"nothing was kept: {self._key.place} {why}, and the next start could not read this. tinkbox still has the key in its memory "
                "by which the other secrets are kept. Put that key back there from a backup, or, where it is a credential of "
                "systemd now, delete that file if it is there and restart tinkbox; then type this again"
            )


def no_secret(name: str) -> NotFound:
    return NotFound(f"there is no secret {quoted(name)}: `tinkbox secret list` shows those that there are")
