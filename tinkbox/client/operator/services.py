"""Services of workflows."""

from collections.abc import AsyncIterator, Mapping
from urllib.parse import urlencode

from tinkbox.client.operator.connection import Connection, Document, Found


class Services:
    """Where services stand, and what they print."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self, workflow: str = "") -> list[Document]:
        """Of one workflow, or of all."""
        asked = f"?{urlencode({'workflow': workflow})}" if workflow else ""
        return await self._connection.documents(f"/v1/services{asked}")

    async def found(self, asked: Mapping[str, str]) -> Found:
        """Those that are asked for: `workflow`, `state`, `machine`, `limit`, `sort`."""
        return await self._connection.found("/v1/services", asked)

    def output(self, key: str, place: str = "", *, follow: bool) -> AsyncIterator[tuple[str, Document | None]]:
        """What a service prints behind `place`: `key` is WORKFLOW/SERVICE, or SERVICE alone.

        `Connection.output` says how, and what is raised.
        """
        asked = urlencode({"service": key, "follow": int(follow)})
        return self._connection.output(f"/v1/services/logs?{asked}", place)
