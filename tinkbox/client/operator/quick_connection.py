"""A connection for one question after the other, by calls that wait for their answers.

A command of a person asks one question mostly; an event loop and aiohttp take twice as long to load as all the rest of it.
"""

from collections.abc import Coroutine
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM, socket
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from tinkbox.client.operator.connection import MOST_ANSWERED, SECONDS, Connection, Reply
from tinkbox.wire.list_total import HEADER, total_of

T = TypeVar("T")
SCHEMES: Final = {"http": HTTPConnection, "https": HTTPSConnection}


def answer_of(question: Coroutine[Any, Any, T]) -> T:
    """Run what asks over a QuickConnection, without an event loop: it waits inside its calls and is never suspended."""
    try:
        question.send(None)
    except StopIteration as answered:
        answer: T = answered.value
        return answer
    question.close()
    raise RuntimeError("this waits for more than answers: ask it over a lasting connection")


class QuickConnection(Connection):
    """See Connection; it only asks questions."""

    async def open(self) -> None:
        self._base_path = ""
        self._connection: HTTPConnection | None = None

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def exchange(self, method: str, path: str, body: bytes | None) -> Reply:
        try:
            connection = self._connection = self._connection or self._connect()
            connection.request(method, self._base_path + path, body, self.headers)
        except (HTTPException, OSError, OverflowError) as error:
            await self.close()
            raise self.unreachable(error) from None
        try:
            response = connection.getresponse()
            answer = response.read(MOST_ANSWERED + 1)
        except (HTTPException, OSError) as error:
            await self.close()
            raise self.broken(method, path, error) from None
        if len(answer) > MOST_ANSWERED:
            await self.close()
            raise self.too_much(path)
        self.raise_refusal(response.status, response.reason, response.headers.get("Location", ""), answer)
        return Reply(answer, total_of(response.headers.get(HEADER)))

    def _connect(self) -> HTTPConnection:
        """Raises Unreachable for a URL that is none."""
        if self.socket is not None:
            return _UnixConnection(self.socket)
        try:
            url = urlsplit(self.url)
            port = url.port
        except ValueError as error:
            raise self.unreachable(error) from None
        if url.scheme not in SCHEMES or not url.hostname:
            raise self.unreachable(ValueError("write http:// or https:// and a host, or unix:// and a path"))
        self._base_path = url.path
        connection: type[HTTPConnection] = SCHEMES[url.scheme]
        return connection(url.hostname, port, timeout=SECONDS)


class _UnixConnection(HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("tinkbox", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket(AF_UNIX, SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))
