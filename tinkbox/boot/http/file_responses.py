"""One file of a boot over HTTP, cheap enough for a thousand machines that ask at once."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter

from tinkbox.door.file_answers import FileAnswer, entity_tag

# RFC 9110 §13 and §14: what makes the answer anything but the whole file.
_CONDITIONS: Final = (
    hdrs.RANGE,
    hdrs.IF_RANGE,
    hdrs.IF_MATCH,
    hdrs.IF_NONE_MATCH,
    hdrs.IF_MODIFIED_SINCE,
    hdrs.IF_UNMODIFIED_SINCE,
)

PIECE: Final = 2 << 20  # which a machine among a thousand at one gigabit has within 20 s


class Delivery(FileAnswer):
    """A file, or the part of it that was asked for; `delivered` hears of its end, when that was sent, `moves` of each piece before it."""

    def __init__(
        self,
        path: Path,
        content_type: str,
        delivered: Callable[[], None],
        moves: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(path, headers={hdrs.CONTENT_TYPE: content_type})
        self._file = path
        self._delivered = delivered
        self._moves = moves

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

    def _reached_the_end(self) -> bool:
        """The whole file, or its last part: what comes in parts, such as to UEFI firmware, is told once."""
        if self.status != web.HTTPPartialContent.status_code:
            return self.status == web.HTTPOk.status_code
        last, _, size = self.headers[hdrs.CONTENT_RANGE].rpartition("-")[2].partition("/")
        return int(last) + 1 == int(size)
