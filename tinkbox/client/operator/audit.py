"""Who did what."""

from collections.abc import AsyncIterator, Mapping

from tinkbox.client.operator.connection import Connection, Document, Found


class Audit:
    """Lines of the audit."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def found(self, asked: Mapping[str, str]) -> Found:
        """Those that are asked for: `who`, `object`, `what`, `since`, `every`, `limit`, `sort`."""
        return await self._connection.found("/v1/audit", asked)

    async def verify(self, after: int = 0) -> Document:
        """Whether every line behind one is as it was written."""
        return await self._connection.document("GET", f"/v1/audit/verify?after={after}", seconds=600.0)

    async def exported(self, after: int = 0) -> AsyncIterator[bytes]:
        """The bytes of all lines behind one, each line as JSON; raises CutOff when the connection ends before."""
        async for chunk in self._connection.stream(f"/v1/audit/export?after={after}", {}):
            yield chunk

    async def watched(self, after: int | None = None) -> AsyncIterator[tuple[int, Document | None]]:
        """Every line behind the one of this number, or every new one; with its number, to go on from.

        Before the first comes the number that they are counted from, without a line.
        """
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        async for fields in self._connection.sent_events("/v1/audit/watch", headers):
            if "id" in fields:
                data = fields.get("data")
                found = self._connection.object_of("/v1/audit/watch", data.encode()) if data else None
                yield int(fields["id"]), found
