"""Tokens of people and programs."""

from collections.abc import Mapping
from typing import Any

from tinkbox.client.operator.connection import Connection, Document, Found, part
from tinkbox.model.errors import NotFound


class Tokens:
    """They are named by their names."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def found(self, asked: Mapping[str, str]) -> Found:
        """Those that are asked for: `limit`, `sort`."""
        return await self._connection.found("/v1/tokens", asked)

    async def create(self, wanted: Mapping[str, Any]) -> Document:
        """Make one of a `name` with `rights`, `scope` and `expires`; the answer's `token` is told this once."""
        return await self._connection.document("POST", "/v1/tokens", dict(wanted))

    async def rotate(self, name: str, wanted: Mapping[str, Any]) -> Document:
        """Give one another text, which is the answer's `token`; of what is wanted there are `expires` and `overlap`."""
        return await self._connection.document("POST", f"/v1/tokens/{part(name)}/rotate", dict(wanted))

    async def machines(self, name: str) -> list[Document]:
        """What `revoke` with `rotate` voids, as its `credentials`; empty where an earlier appliance does not tell."""
        try:
            return await self._connection.documents(f"/v1/tokens/{part(name)}/machines")
        except NotFound:
            return []

    async def revoke(self, name: str, *, rotate: bool = False) -> Document:
        """End those of a name; with `rotate` the `credentials` of machines count no more that were read by this name."""
        query = "?rotate=yes" if rotate else ""
        return await self._connection.document("DELETE", f"/v1/tokens/{part(name)}{query}")
