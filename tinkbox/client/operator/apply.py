"""Documents of all kinds: applied, and written back."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from tinkbox.client.operator.connection import Connection, Document


class Documents:
    """What files declare."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def apply(self, files: Mapping[str, str], **how: Any) -> Document:
        """Apply texts by the names of their files.

        `how` may be `dry_run`, `diff` (what each was and is comes with the answer), `prune` (a selector), `agreed` (the ids
        that may be pruned) and `confirm_wipe`.
        """
        listed = [{"name": name, "text": text} for name, text in files.items()]
        return await self._connection.document("POST", "/v1/apply", {"files": listed, **how})

    async def export(self, what: Sequence[str], selector: str = "") -> Document:
        """The documents of `what`, such as `hardware` and `template/ubuntu`; nothing: all machines and templates."""
        asked = [("what", each) for each in what] + ([("label", selector)] if selector else [])
        return await self._connection.document("GET", f"/v1/export?{urlencode(asked)}")
