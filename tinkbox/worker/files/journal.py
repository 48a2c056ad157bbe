"""What the worker was given to do in this boot, and what became of it: a witness that no store on the appliance can put back.

It is written before an attempt begins.  What cannot be written is kept in memory alone.
"""

import json
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.journal import Entry, Seen
from tinkbox.model.workflow import Outcome
from tinkbox.wire.messages.journal import MAX_ENTRIES, History, decode_history
from tinkbox.wire.messages.worker import Offer

# Of an outcome, so that the whole fits into one message.
_LONGEST_WHY: Final = 1_000
_log = logging.getLogger(__name__)


class Journal:
    """The attempts of one store, oldest first; `seen` is None before the first, and with appliances that name no store."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.seen: Seen | None = None
        self._entries: list[Entry] = []
        self._read()

    def takes(self, offer: Offer) -> bool:
        """Whether the offer follows what was seen: it is new, or an attempt of which the end is not acknowledged yet."""
        known = next((each for each in self._entries if each.attempt == offer.attempt), None)
        if self.seen is None:
            return True
        if offer.store != self.seen.store:
            return False
        return not known.over if known else offer.position > self.seen.position

    def begin(self, offer: Offer) -> None:
        """Note that this attempt begins; the same again changes nothing."""
        if not offer.store or any(each.attempt == offer.attempt for each in self._entries):
            return
        entry = Entry(
            position=offer.position,
            attempt=offer.attempt,
            workflow_id=offer.workflow_id,
            index=offer.action.index,
            task=offer.action.task,
            action=offer.action.spec.name,
        )
        self._keep(
            Seen(store=offer.store, position=offer.position, attempt=offer.attempt),
            [*self._entries[-MAX_ENTRIES + 1 :], entry],
        )

    def end(self, attempt: str, outcome: Outcome) -> None:
        """Note how an attempt ended, before the appliance is told."""
        short = replace(outcome, message=outcome.message[:_LONGEST_WHY], hint="", tail=())
        self._change(attempt, lambda each: replace(each, outcome=short))

    def close(self, attempt: str) -> None:
        """Note that the appliance knows how an attempt ended, or does not want to."""
        self._change(attempt, lambda each: replace(each, over=True))

    def restart(self, seen: Seen) -> None:
        """Forget what was done: a person decided that it counts for nothing."""
        self._keep(seen, [])

    def told(self, boot_id: str) -> History | None:
        """All of it, as the appliance is told; None when nothing was seen."""
        if self.seen is None:
            return None
        return History(boot_id=boot_id, seen=self.seen, entries=tuple(self._entries))

    def _change(self, attempt: str, change: Callable[[Entry], Entry]) -> None:
        changed = [change(each) if each.attempt == attempt else each for each in self._entries]
        if self.seen is not None and changed != self._entries:
            over = self.seen.over or (changed[-1].attempt == self.seen.attempt and changed[-1].over)
            self._keep(replace(self.seen, over=over), changed)

    def _keep(self, seen: Seen, entries: Sequence[Entry]) -> None:
        self.seen, self._entries = seen, list(entries)
        fresh = self._path.with_suffix(".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with fresh.open("w") as file:
                json.dump(asdict(History(boot_id="", seen=seen, entries=tuple(entries))), file)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)
        except OSError as error:
            _log.warning("the journal is not written: %s", error, extra={"action": "journal.lost"})

    def _read(self) -> None:
        try:
            told = decode_history(self._path.read_bytes())
        except FileNotFoundError:
            return
        except (OSError, Invalid) as error:
            _log.warning("the journal cannot be read: %s", error, extra={"action": "journal.lost"})
            return
        self.seen, self._entries = told.seen, list(told.entries)
