"""Documents of all kinds: applied, and written back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from tinkbox.client.operator.connection import Connection, Document, Found, Work, part

MAY_BE_APPLIED: Final = "the files may be applied all the same: apply them again, which is safe and tells as unchanged what is there already"
NOTHING_APPLIED: Final = "nothing was applied, for this was a look only: type it again"


class Documents:
    """What files declare."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def apply(self, files: Mapping[str, str], waiting: Callable[[float], None], **how: Any) -> Document:
        """Apply texts by the names of their files; `waiting` hears every second how long that takes by now.

        `how` may be `dry_run`, `diff` (what each was and is comes with the answer), `prune` (a selector), `agreed` (the
        `created_at` of what may be pruned by its id; a list of ids to an earlier appliance), `confirm_wipe`,
        `require_images` and `strict`.
        """
        listed = [{"name": name, "text": text} for name, text in files.items()]
        looks = bool(how.get("dry_run"))
        then = NOTHING_APPLIED if looks else MAY_BE_APPLIED
        return await self._connection.work("/v1/apply", {"files": listed, **how}, Work(waiting, then, looks))

    async def export(self, what: Sequence[str], selector: str = "") -> Document:
        """The documents of `what`, such as `hardware` and `template/ubuntu`; nothing: all but workflows."""
        asked = [("what", each) for each in what] + ([("label", selector)] if selector else [])
        return await self._connection.document("GET", f"/v1/export?{urlencode(asked)}")

    async def found(self, asked: Mapping[str, str]) -> Found:
        """The documents that are kept as they were given, and are asked for: `label`, `limit`, `sort`."""
        return await self._connection.found("/v1/documents", asked)

    async def forget(self, kind: str, key: str, namespace: str = "") -> Document:
        """Forget one of them by its kind, and its name or id."""
        asked = f"?namespace={part(namespace)}" if namespace else ""
        return await self._connection.document("DELETE", f"/v1/documents/{part(kind)}/{part(key)}{asked}")
