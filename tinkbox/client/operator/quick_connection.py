"""A connection for one question after the other, by calls that wait for their answers.

A command of a person asks one question mostly; an event loop and aiohttp take twice as long to load as all the rest of it.
"""

from collections.abc import Coroutine
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM, socket
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from tinkbox.client.operator.connection import Connection
from tinkbox.client.refusals import raise_refusal
from tinkbox.model.errors import Unavailable

T = TypeVar("T")
SECONDS: Final = 60.0
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
    """See Connection; it only answers questions."""

    async def open(self) -> None:
        self._folder = ""
        self._connection: HTTPConnection | None = None

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    async def exchange(self, method: str, path: str, body: bytes | None) -> bytes:
        try:
            if self._connection is None:
                self._connection = self._connect()
            self._connection.request(method, self._folder + path, body, self.headers)
            response = self._connection.getresponse()
            answer = response.read()
        except (HTTPException, OSError, ValueError) as error:
            raise self.unreachable(error) from None
        if 300 <= response.status < 400:
            raise Unavailable(
                f"{self.where} sends us on to {response.headers['Location']}: name the appliance itself by TINKBOX_SERVER"
            )
        raise_refusal(response.status, response.reason, answer)
        return answer

    def _connect(self) -> HTTPConnection:
        """Raises ValueError for a URL that is none."""
        if self.socket is not None:
            return _UnixConnection(self.socket)
        url = urlsplit(self.url)
        if url.scheme not in SCHEMES or not url.hostname:
            raise ValueError("a URL begins with http:// or https:// and a host")
        self._folder = url.path
        connection: type[HTTPConnection] = SCHEMES[url.scheme]
        return connection(url.hostname, url.port, timeout=SECONDS)


class _UnixConnection(HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("tinkbox", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket(AF_UNIX, SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))
