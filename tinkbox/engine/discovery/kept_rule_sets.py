"""The rule sets that people applied, read from their documents again whenever one of these changed."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tinkbox.model.documents.kept_documents import KeptKind
from tinkbox.model.documents.rule_sets import RuleSet, best_rule_set, read_rule_sets
from tinkbox.store.database import Store, Tables

_KINDS: Final = (KeptKind.RULE_SET, KeptKind.POLICY)


class KeptRuleSets:
    """Which rule set accepts a machine."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._state: object = None
        self._found: Sequence[RuleSet] = ()

    async def best(self, attributes: Mapping[str, Any]) -> RuleSet | None:
        """The rule set that accepts a machine with these attributes, as of now; None: there is none.

        Raises Unavailable.
        """
        found = await self._current()
        # Beside the event loop: there may be many, and it is only a few machines that ask.
        return await asyncio.to_thread(best_rule_set, found, attributes) if found else None

    async def _current(self) -> Sequence[RuleSet]:
        known = self._state

        def question(tables: Tables) -> tuple[object, Sequence[RuleSet] | None]:
            state = tables.kept_documents.state(_KINDS)
            if state == known:
                return state, None
            documents = tables.kept_documents.all(_KINDS)
            return state, [one for each in documents for one in read_rule_sets(each).rule_sets]

        state, found = await self._store.read(question)
        if found is not None:
            self._state, self._found = state, found
        return self._found
