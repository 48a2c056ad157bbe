"""Secrets: what can be said of them, and never what they are."""

from base64 import b64encode
from collections.abc import Mapping

from tinkbox.client.operator.connection import Connection, Document, Found, part


class Secrets:
    """By their names."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def found(self, asked: Mapping[str, str]) -> Found:
        """Those that there are: `limit`, `sort`."""
        return await self._connection.found("/v1/secrets", asked)

    async def set(self, name: str, value: bytes) -> Document:
        """Give a secret its value; `created` tells whether it is new."""
        return await self._connection.document(
            "PUT", f"/v1/secrets/{part(name)}", {"base64": b64encode(value).decode()}
        )

    async def delete(self, name: str) -> Document:
        return await self._connection.document("DELETE", f"/v1/secrets/{part(name)}")
