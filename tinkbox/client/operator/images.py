"""Images that actions run from, and the in-memory operating system."""

from collections.abc import Mapping
from pathlib import Path

from tinkbox.client.operator.connection import Connection, Document, Found, part


class Images:
    """The appliance's own registry."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self) -> list[Document]:
        return await self._connection.documents("/v1/images")

    async def found(self, asked: Mapping[str, str]) -> Found:
        """Those that are asked for: `kind`, `limit`, `sort`."""
        return await self._connection.found("/v1/images", asked)

    async def system_image(self, reference: str) -> Document:
        """What is known of a system image by its name; its `reference` names these bytes for ever."""
        return await self._connection.document("GET", f"/v1/system-images/{part(reference)}")

    async def systems(self) -> list[Document]:
        """The system images, with what they say of themselves."""
        return await self._connection.documents("/v1/system-images")

    async def load(self, path: Path) -> list[str]:
        """Send an image archive; returns the names it held."""
        with path.open("rb") as archive:
            answer = await self._connection.upload("/v1/images", archive)
        return [str(name) for name in answer["loaded"]]

    async def delete(self, reference: str) -> None:
        await self._connection.send("DELETE", f"/v1/images?reference={part(reference)}")


class Osie:
    """What was built of the in-memory operating system."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self) -> list[Document]:
        return await self._connection.documents("/v1/osie")
