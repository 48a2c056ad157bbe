"""One file of a boot over HTTP, cheap enough for a thousand machines that ask at once."""

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter

from tinkbox.door.file_answers import FileAnswer, entity_tag
from tinkbox.door.tcp_info import TcpInfo, tcp_info

# RFC 9110 §13 and §14: what makes the answer anything but the whole file.
_CONDITIONS: Final = (
    hdrs.RANGE,
    hdrs.IF_RANGE,
    hdrs.IF_MATCH,
    hdrs.IF_NONE_MATCH,
    hdrs.IF_MODIFIED_SINCE,
    hdrs.IF_UNMODIFIED_SINCE,
)

# Seconds: among a thousand machines, and with a packet lost now and then, the first of a file is there by then.
STUCK_AFTER: Final = 20.0
_HEAD: Final = 1200  # bytes: more than the head of an answer, less than a whole packet
PIECE: Final = 2 << 20  # which a machine among a thousand at one gigabit has within 20 s


class Delivery(FileAnswer):
    """A file, or the part of it that was asked for; `delivered` hears of its end, when that was sent, `moves` that more of it is on its way.

    `stuck` hears that the machine acknowledged nothing but the head of the answer in its first `stuck_after` seconds.
    """

    def __init__(
        self,
        path: Path,
        content_type: str,
        delivered: Callable[[], None],
        moves: Callable[[], None] = lambda: None,
        stuck: Callable[[], None] = lambda: None,
        stuck_after: float = STUCK_AFTER,
    ) -> None:
        super().__init__(path, headers={hdrs.CONTENT_TYPE: content_type})
        self._file = path
        self._delivered = delivered
        self._moves = moves
        self._stuck = stuck
        self._stuck_after = stuck_after
        self._next_look: asyncio.TimerHandle | None = None

    async def send(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        if request.method == hdrs.METH_GET and not any(each in request.headers for each in _CONDITIONS):
            try:
                file = self._file.open("rb")
            except OSError:
                return await super().send(request)  # which says why
            with file:
                return await self._send_whole(request, file)
        writer = await super().send(request)  # which sends it
        if request.method == hdrs.METH_GET and self._reached_the_end():
            self._delivered()
        return writer

    async def _send_whole(self, request: web.BaseRequest, file: BinaryIO) -> AbstractStreamWriter | None:
        """What nearly everybody asks for.

        The library opens and closes files in threads, which costs two thirds of what sending a kernel of 12 MB does.
        """
        found = os.fstat(file.fileno())
        self.content_length = found.st_size
        self.last_modified = found.st_mtime
        self.etag = entity_tag(found)
        self.headers[hdrs.ACCEPT_RANGES] = "bytes"
        writer = await web.StreamResponse.prepare(self, request)
        sent = 0
        with self._watched(request.get_extra_info("socket")):
            while sent < found.st_size:
                if request.transport is None or request.transport.is_closing():
                    raise ConnectionResetError("the machine hung up")
                piece = min(PIECE, found.st_size - sent)
                if await asyncio.get_running_loop().sendfile(request.transport, file, sent, piece) != piece:
                    raise ConnectionResetError("the file became shorter")  # so that the machine waits for no more of it
                sent += piece
                if sent < found.st_size:
                    self._moves()
        await self.write_eof()
        self._delivered()
        return writer

    @contextmanager
    def _watched(self, connection: socket.socket | None) -> Iterator[None]:
        """Look again and again what the machine took: on a slow way one piece may last longer than a boot may stand still."""
        self._look_after(connection, tcp_info(connection), self._stuck)
        try:
            yield
        finally:
            if self._next_look is not None:
                self._next_look.cancel()

    def _look_after(self, connection: socket.socket | None, last: TcpInfo | None, stuck: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self._next_look = loop.call_later(self._stuck_after, self._look, connection, last, stuck)

    def _look(self, connection: socket.socket | None, last: TcpInfo | None, stuck: Callable[[], None]) -> None:
        now = tcp_info(connection)
        if now is None or last is None:
            return
        if now.taken - last.taken >= _HEAD:
            self._moves()
        else:
            stuck()
        self._look_after(connection, now, lambda: None)

    def _reached_the_end(self) -> bool:
        """The whole file, or its last part: what comes in parts, such as to UEFI firmware, is told once."""
        if self.status != web.HTTPPartialContent.status_code:
            return self.status == web.HTTPOk.status_code
        last, _, size = self.headers[hdrs.CONTENT_RANGE].rpartition("-")[2].partition("/")
        return int(last) + 1 == int(size)
