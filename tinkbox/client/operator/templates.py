"""Templates."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tinkbox.client.operator.connection import Connection, Document, Found, Work, part
from tinkbox.model.labels import NO_LABELS, LabelChange, Labels

NOTHING_STORED: Final = "nothing was stored, for this was a look only: type it again"


class Templates:
    """Stored templates; a key is an id, a name, or a unique beginning of an id."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self) -> list[Document]:
        return await self._connection.documents("/v1/templates")

    async def found(self, asked: Mapping[str, str]) -> Found:
        """Those that are asked for: `label`, `limit`, `sort`."""
        return await self._connection.found("/v1/templates", asked)

    async def label(self, key: str, change: LabelChange) -> Document:
        asked = {"set": dict(change.set), "remove": list(change.removed)}
        return await self._connection.document("PATCH", f"/v1/templates/{part(key)}/labels", asked)

    async def catalogue(self) -> list[Document]:
        """The templates of the program."""
        return await self._connection.documents("/v1/template-catalogue")

    async def create(self, name: str, data: str, labels: Labels = NO_LABELS, *, strict: bool = False) -> Document:
        """`strict` refuses what would be ignored."""
        asked = {"name": name, "data": data, **({"labels": dict(labels)} if labels else {}), **_strictly(yes=strict)}
        return await self._connection.document("POST", "/v1/templates", asked)

    async def validate(self, asked: Mapping[str, Any], waiting: Callable[[float], None]) -> Document:
        """Give `data` or the key of a stored `template`, and `hardware` when it is not for every machine.

        `waiting` hears every second how long that takes by now.
        """
        return await self._connection.work(
            "/v1/templates/validate", dict(asked), Work(waiting, NOTHING_STORED, looks=True)
        )

    async def get(self, key: str) -> Document:
        return await self._connection.document("GET", f"/v1/templates/{part(key)}")

    async def update(self, key: str, name: str | None, data: str | None, *, strict: bool = False) -> Document:
        asked = {"name": name, "data": data, **_strictly(yes=strict)}
        return await self._connection.document("PUT", f"/v1/templates/{part(key)}", asked)

    async def delete(self, key: str) -> Document:
        return await self._connection.document("DELETE", f"/v1/templates/{part(key)}")


def _strictly(*, yes: bool) -> Document:
    """That what would be ignored is refused, as the API takes it."""
    return {"strict": True} if yes else {}
