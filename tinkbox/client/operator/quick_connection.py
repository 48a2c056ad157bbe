"""A connection for one question after the other, by calls that wait for their answers.

A command of a person asks one question mostly; an event loop and aiohttp take twice as long to load as all the rest of it.
"""

from collections.abc import Coroutine
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead
from pathlib import Path
from select import POLLIN, poll
from socket import AF_UNIX, SOCK_STREAM, socket
from time import monotonic
from typing import Any, Final, TypeVar

from tinkbox.client.operator.box_certificates import trust_in
from tinkbox.client.operator.connection import LATE, MOST_ANSWERED, SECONDS, Connection, Document, Reply, Work, encoded
from tinkbox.wire.list_total import HEADER, total_of

T = TypeVar("T")
TICK: Final = 1.0
LOOK_EVERY: Final = 15.0  # seconds


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
        self._hang_up()

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def exchange(
        self, method: str, path: str, body: bytes | None, *, looks: bool = False, seconds: float | None = None
    ) -> Reply:
        return self._exchange(method, path, body, looks=looks, seconds=seconds)

    async def work(self, path: str, body: Document, work: Work) -> Document:
        answer = self.object_of(path, self._exchange("POST", path, encoded(body), work).content)
        if not work.looks:
            self.changed(path, answer)
        return answer

    def _exchange(
        self,
        method: str,
        path: str,
        body: bytes | None,
        work: Work | None = None,
        *,
        looks: bool = False,
        seconds: float | None = None,
    ) -> Reply:
        seconds = seconds or SECONDS
        try:
            connection = self._connection = self._connection or self._connect()
            connection.request(method, self._base_path + path, body, self.headers)
        except (HTTPException, OSError, OverflowError) as error:
            self._hang_up()
            raise self.unreachable(error) from None
        try:
            connection.sock.settimeout(seconds)
            if work is not None:
                self._wait(connection.sock, work)
            else:
                self._tell_late(connection.sock, seconds)
            response = connection.getresponse()
            answer = response.read(MOST_ANSWERED + 1)
        except (HTTPException, OSError) as error:
            self._hang_up()
            if isinstance(error, IncompleteRead) and (looks or method == "GET"):
                raise self.ended() from None
            then = [work.broken] if work else []
            raise self.broken(method, path, error, *then, looks=looks, seconds=seconds) from None
        if len(answer) > MOST_ANSWERED:
            self._hang_up()
            raise self.too_much(path)
        self.raise_refusal(response.status, response.reason, response.headers, answer)
        return Reply(answer, total_of(response.headers.get(HEADER)))

    def _tell_late(self, answering: socket, seconds: float) -> None:
        """Until an answer begins, or a person was told that it is late; raises TimeoutError when it has to be there by then."""
        if _is_answering(answering, min(LATE, seconds)):
            return
        if seconds <= LATE:
            raise TimeoutError
        self.tell_late(seconds)
        answering.settimeout(seconds - LATE)

    def _wait(self, answering: socket, work: Work) -> None:
        """Until an answer begins; raises OSError or HTTPException when the appliance answers nothing else either."""
        began = looked = monotonic()
        while not _is_answering(answering, TICK):
            now = monotonic()
            work.waiting(now - began)
            if now - looked >= LOOK_EVERY:
                self._see_it_answers()
                looked = monotonic()

    def _see_it_answers(self) -> None:
        with closing(self._connect()) as other:
            other.request("GET", f"{self._base_path}/healthz", None, self.headers)
            other.getresponse().read(MOST_ANSWERED)

    def _connect(self) -> HTTPConnection:
        """Raises as `encrypted_or_here`."""
        if self.socket is not None:
            return _UnixConnection(self.socket)
        url = self.encrypted_or_here()
        self._base_path = url.path
        if url.scheme == "https":
            return HTTPSConnection(url.hostname or "", url.port, timeout=SECONDS, context=trust_in(self.authority))
        return HTTPConnection(url.hostname or "", url.port, timeout=SECONDS)


class _UnixConnection(HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("tinkbox", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket(AF_UNIX, SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def _is_answering(answering: socket, seconds: float) -> bool:
    """Whether anything comes within so many seconds.  Not select(2): who has a thousand files open may ask as well."""
    ready = poll()
    ready.register(answering, POLLIN)
    return bool(ready.poll(seconds * 1000))
