"""The HTTP connection to an operator door: requests, JSON documents, server-sent events."""

import errno
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import aiohttp

from tinkbox.client.refusals import raise_refusal
from tinkbox.model.errors import Unavailable

if TYPE_CHECKING:
    from tinkbox.client.shell import ShellConnection

Document = dict[str, Any]
QUICK = aiohttp.ClientTimeout(total=60)
STREAM = aiohttp.ClientTimeout(total=None, connect=10)
CONNECT_SECONDS = 10.0
NO_APPLIANCE = "is that an appliance of this version?"


class Unreachable(Unavailable):
    """Nobody answers where the appliance should be."""


class Connection:
    """To the unix socket of an appliance on this host, or to the URL of another, with a token.

    Whatever is asked raises the refusal that the appliance answers with, and Unreachable when none answers.
    """

    def __init__(self, socket: Path | None, url: str, token: str) -> None:
        self._socket = socket
        self._url = url or "http://tinkbox"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._where = str(socket) if socket else url

    async def open(self) -> None:
        connector = aiohttp.UnixConnector(str(self._socket)) if self._socket else None
        self._session = aiohttp.ClientSession(connector=connector, headers=self._headers)

    async def close(self) -> None:
        await self._session.close()

    async def documents(self, path: str) -> list[Document]:
        """GET a JSON list."""
        answer = _decoded(await self.send("GET", path))
        if not isinstance(answer, list):
            raise Unavailable(f"{self._where}{path} did not answer with a list: {NO_APPLIANCE}")
        return answer

    async def document(
        self, method: str, path: str, body: object = None, limit: aiohttp.ClientTimeout = QUICK
    ) -> Document:
        """A JSON object; `body` is as for `send`."""
        answer = _decoded(await self.send(method, path, body, limit))
        if not isinstance(answer, dict):
            raise Unavailable(f"{self._where}{path} did not answer with an object: {NO_APPLIANCE}")
        return answer

    async def send(self, method: str, path: str, body: object = None, limit: aiohttp.ClientTimeout = QUICK) -> bytes:
        """The answer's bytes; a `body` that is a dict is sent as JSON, bytes and files as they are."""
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        try:
            async with self._session.request(method, self._url + path, data=data, timeout=limit) as response:
                await raise_refusal(response)
                return await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from None

    async def upload(self, path: str, content: object) -> Document:
        """POST bytes or a file of any length, for as long as that takes; the answer is a JSON object."""
        return await self.document("POST", path, content, STREAM)

    async def stream(self, path: str, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        """GET an answer without an end, as it comes."""
        try:
            async with self._session.get(self._url + path, headers=headers, timeout=STREAM) as response:
                await raise_refusal(response)
                async for chunk in response.content.iter_any():
                    yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from None

    async def sent_events(self, path: str, headers: Mapping[str, str]) -> AsyncIterator[Mapping[str, str]]:
        """The fields of each server-sent event; one that was cut off is not among them."""
        buffer = bytearray()
        async for chunk in self.stream(path, headers):
            begin = max(0, len(buffer) - 1)  # the event's end may lie across two chunks
            buffer += chunk
            while (end := buffer.find(b"\n\n", begin)) >= 0:
                lines = buffer[:end].decode().split("\n")
                del buffer[: end + 2]
                begin = 0
                yield dict(line.split(": ", 1) for line in lines if ": " in line[1:])

    async def output(self, path: str, place: str) -> AsyncIterator[tuple[str, Document | None]]:
        """What is printed behind `place`, the beginning if empty; each piece with the place to go on from.

        Before the first comes a place without a piece.  Raises Unreachable when the connection ends before the output
        does.
        """
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": place} if place else {})}
        async for fields in self.sent_events(path, headers):
            if fields.get("event") == "end":
                return
            if "id" in fields:
                yield fields["id"], json.loads(fields["data"]) if "data" in fields else None
        raise self._unreachable(ConnectionError("the connection was cut off"))

    def shell(self, path: str, *, tty: bool) -> AbstractAsyncContextManager["ShellConnection"]:
        """A WebSocket for a shell; `client.shell` says what is raised."""
        from tinkbox.client.shell import shell_connection

        return shell_connection(self._session, self._url + path, CONNECT_SECONDS, tty=tty)

    def _unreachable(self, error: Exception) -> Unreachable:
        # aiohttp's own words name the place again, and what it thinks of TLS there.
        why = (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
        if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
            return Unreachable(
                f"no right to use {self._where}: run as the user of the appliance (root), or name its operator door by "
                "TINKBOX_SERVER and TINKBOX_TOKEN"
            )
        return Unreachable(
            f"no appliance answers at {self._where} ({why}): is `tinkbox serve` running? "
            "Another one is named by --data, or TINKBOX_SERVER and TINKBOX_TOKEN"
        )


def part(key: str) -> str:
    """A key as one part of a path, whatever letters it has."""
    return quote(key, safe="")


def _decoded(answer: bytes) -> object:
    try:
        return json.loads(answer)
    except ValueError:
        return None
