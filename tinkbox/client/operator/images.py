"""Images that actions run from, and the in-memory operating system."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

from tinkbox.client.operator.connection import Connection, Document, Found, part
from tinkbox.client.refusals import Unanswered, Unreachable


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

    async def load(
        self,
        archive: Path | AsyncIterator[bytes],
        name: str = "",
        tell: Callable[[Document], None] = lambda _: None,
    ) -> list[str]:
        """Send an image archive, a file or what comes of it; returns the names it held.

        With a `name` it has one image, which gets this one.  `tell` hears the answer, whose `notes` are for people.
        Raises Unreachable also where the connection ends before the answer: whether it is loaded or not, to load the same again
        is the way out.
        """
        path = f"/v1/images?name={part(name)}" if name else "/v1/images"
        try:
            if isinstance(archive, Path):
                with archive.open("rb") as file:
                    answer = await self._connection.upload(path, file)
            else:
                answer = await self._connection.upload(path, archive)
        except Unanswered as error:
            raise Unreachable(f"{error.what}: when the appliance runs again, type the same again") from None
        tell(answer)
        return [str(name) for name in answer["loaded"]]

    async def described(self, reference: str) -> Document:
        """The manifest that a name means: `digest`, `media_type`, `size`, and the whole name, `reference`."""
        return await self._connection.document("GET", f"/v1/images/descriptor?reference={part(reference)}")

    async def referring(self, reference: str) -> list[Document]:
        """What refers to an image, each as in `described`; raises NotFound where an earlier appliance does not tell."""
        answer = await self._connection.document("GET", f"/v1/images/referrers?reference={part(reference)}")
        return list(answer["referrers"])

    def blob(self, digest: str, start: int = 0) -> AsyncIterator[bytes]:
        """A blob from some byte on, as it comes."""
        headers = {"Range": f"bytes={start}-"} if start else {}
        return self._connection.stream(f"/v1/images/blobs/{part(digest)}", headers)

    async def examine(self, digest: str) -> None:
        """Have a blob hashed anew, whenever that was done last; raises what the appliance says of one that is damaged."""
        path = f"/v1/images/blobs/{part(digest)}"
        async with aclosing(self._connection.stream(path, {"Cache-Control": "no-cache"})) as pieces:
            async for _ in pieces:
                return

    async def absent(self, digests: Sequence[str]) -> set[str]:
        """Those blobs that it has not got; the others it keeps for an hour, and need not be sent."""
        body = {"digests": list(digests)}
        answer = await self._connection.document("POST", "/v1/images/absent", body, looks=True)
        return {str(each) for each in answer["absent"]}

    async def delete(self, reference: str, digest: str = "") -> Document:
        """Delete one; `name` in the answer is that of lists, and `notes` tell what stays of it.

        With a `digest` only while the name means that: raises NotFound where it means another.
        """
        meant = f"&digest={part(digest)}" if digest else ""
        return await self._connection.document("DELETE", f"/v1/images?reference={part(reference)}{meant}")

    async def room(self) -> Document:
        """What all of them take of the disk, and what may still come."""
        return await self._connection.document("GET", "/v1/images/room")

    async def collect(self, *, dry_run: bool, now: bool = False, untagged: bool = False) -> Document:
        """Free what no image needs, or tell what that would free.

        With `untagged` also the images without a tag, with `now` also what a push in progress may need.
        """
        more = {key: True for key, chosen in (("now", now), ("untagged", untagged)) if chosen}
        return await self._connection.document("POST", "/v1/images/gc", {"dry_run": dry_run, **more})


class Osie:
    """What was built of the in-memory operating system."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self) -> list[Document]:
        return await self._connection.documents("/v1/osie")
