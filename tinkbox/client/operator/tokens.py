"""Tokens of people and programs."""

from collections.abc import Mapping
from typing import Any

from tinkbox.client.operator.connection import Connection, Document, Found, part


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

    async def revoke(self, name: str) -> Document:
        return await self._connection.document("DELETE", f"/v1/tokens/{part(name)}")
