"""Images that actions run from, and the in-memory operating system."""

from collections.abc import AsyncIterator, Mapping, Sequence
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

    async def load(self, archive: Path | AsyncIterator[bytes], name: str = "") -> list[str]:
        """Send an image archive, a file or what comes of it; returns the names it held.

        With a `name` it has one image, which gets this one.
        """
        path = f"/v1/images?name={part(name)}" if name else "/v1/images"
        if isinstance(archive, Path):
            with archive.open("rb") as file:
                answer = await self._connection.upload(path, file)
        else:
            answer = await self._connection.upload(path, archive)
        return [str(name) for name in answer["loaded"]]

    async def described(self, reference: str) -> Document:
        """The manifest that a name means: `digest`, `media_type`, `size`, and the whole name, `reference`."""
        return await self._connection.document("GET", f"/v1/images/descriptor?reference={part(reference)}")

    def blob(self, digest: str, start: int = 0) -> AsyncIterator[bytes]:
        """A blob from some byte on, as it comes."""
        headers = {"Range": f"bytes={start}-"} if start else {}
        return self._connection.stream(f"/v1/images/blobs/{part(digest)}", headers)

    async def absent(self, digests: Sequence[str]) -> set[str]:
        """Those blobs that it has not got; the others it keeps for an hour, and need not be sent."""
        body = {"digests": list(digests)}
        answer = await self._connection.document("POST", "/v1/images/absent", body, looks=True)
        return {str(each) for each in answer["absent"]}

    async def delete(self, reference: str) -> Document:
        """Delete one; `notes` in the answer tell what stays of it."""
        return await self._connection.document("DELETE", f"/v1/images?reference={part(reference)}")

    async def room(self) -> Document:
        """What all of them take of the disk, and what may still come."""
        return await self._connection.document("GET", "/v1/images/room")

    async def collect(self, *, dry_run: bool) -> Document:
        """Free what no image needs, or tell what that would free."""
        return await self._connection.document("POST", "/v1/images/gc", {"dry_run": dry_run})


class Osie:
    """What was built of the in-memory operating system."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self) -> list[Document]:
        return await self._connection.documents("/v1/osie")
