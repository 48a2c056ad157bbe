"""The rule sets that people applied, kept as they were read, and what they say of each inventory.

They are read from their documents again whenever one of these changed.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final

from tinkbox.engine.wakeups import Wakeups
from tinkbox.model.documents.agent_attributes import agent_attributes
from tinkbox.model.documents.kept_documents import KeptDocument
from tinkbox.model.documents.rule_sets import RULE_SETS, RuleSet, best_rule_set, read_rule_sets
from tinkbox.model.inventory import Inventory
from tinkbox.store.database import Store, Tables

MOST_RULES: Final = 10_000  # of all sets: a kilobyte of memory for each, and some tenths of a second for each machine
MOST_INVENTORIES: Final = 20_000  # of which it is known which set holds
_log = logging.getLogger(__name__)


class KeptRuleSets:
    """Which rule set accepts a machine.

    `left_out` says why sets are not looked at, for there are too many rules; empty: all are.
    """

    def __init__(self, store: Store, wakeups: Wakeups) -> None:
        self._store = store
        self._wakeups = wakeups
        self._changes = -1
        self._state: object = None
        self._found: Sequence[RuleSet] = ()
        self._best: OrderedDict[Inventory, RuleSet | None] = OrderedDict()
        self.left_out = ""

    async def best(self, inventory: Inventory) -> RuleSet | None:
        """The rule set that accepts a machine that is made of this, as of now; None: there is none.  Raises Unavailable."""
        found = await self._current()
        if not found:
            return None
        if inventory not in self._best:
            # Beside the event loop: there may be many rules.
            best = await asyncio.to_thread(best_rule_set, found, agent_attributes(inventory))
            if found is not self._found:  # they changed meanwhile
                return best
            self._best[inventory] = best
            while len(self._best) > MOST_INVENTORIES:
                self._best.popitem(last=False)
        self._best.move_to_end(inventory)
        return self._best[inventory]

    async def _current(self) -> Sequence[RuleSet]:
        changes, known = self._wakeups.changes, self._state
        if changes == self._changes:
            return self._found

        def question(tables: Tables) -> tuple[object, Sequence[RuleSet] | None, int]:
            state = tables.kept_documents.state(RULE_SETS)
            return (state, None, 0) if state == known else (state, *_looked_at(tables.kept_documents.all(RULE_SETS)))

        state, found, left_out = await self._store.read(question)
        if found is not None:
            self._state, self._found = state, found
            self._best.clear()
            self._tell(left_out)
        self._changes = changes
        return self._found

    def _tell(self, left_out: int) -> None:
        self.left_out = ""
        if left_out:
            self.left_out = (
                f"{left_out} rule sets are not looked at, the last by their names, for all sets together have more than "
                f"{MOST_RULES} rules: delete some with `tinkbox document delete KIND/NAME`"
            )
            _log.warning("%s", self.left_out, extra={"action": "discovery.rule"})


def _looked_at(documents: Sequence[KeptDocument]) -> tuple[Sequence[RuleSet], int]:
    """The first sets that have MOST_RULES rules together, and how many others there are."""
    found: list[RuleSet] = []
    left, left_out = MOST_RULES, 0
    for each in _sets(documents):
        if len(each.patterns) > left or left_out:
            left_out += 1
            continue
        left -= len(each.patterns)
        found.append(each)
    return found, left_out


def _sets(documents: Sequence[KeptDocument]) -> Iterator[RuleSet]:
    for each in documents:
        yield from read_rule_sets(each).rule_sets
