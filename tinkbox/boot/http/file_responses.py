"""One file of a boot over HTTP, cheap enough for a thousand machines that ask at once."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter

from tinkbox.boot.http.download_watch import DownloadWatch, Listeners
from tinkbox.door.answers.file_answers import FileAnswer, entity_tag, is_encrypted, send_encrypted

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
    """A file, or the part of it that was asked for.

    `delivered` hears of its end, when the machine acknowledged that, and `listeners` how it goes until then.
    """

    def __init__(
        self, path: Path, content_type: str, delivered: Callable[[], None], listeners: Listeners | None = None
    ) -> None:
        super().__init__(path, headers={hdrs.CONTENT_TYPE: content_type})
        self._file = path
        self._delivered = delivered
        self._listeners = listeners or Listeners()

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

    async def _send_whole(self, request: web.BaseRequest, file: IO[Any]) -> AbstractStreamWriter | None:
        """What nearly everybody asks for.

        The library opens and closes files in threads, which costs two thirds of what sending a kernel of 12 MB does.
        """
        found = os.fstat(file.fileno())
        self.content_length = found.st_size
        self.last_modified = found.st_mtime
        self.etag = entity_tag(found)
        self.headers[hdrs.ACCEPT_RANGES] = "bytes"
        writer = await self._sendfile(request, file, 0, found.st_size)
        self._delivered()
        return writer

    async def _sendfile(self, request: web.BaseRequest, fobj: IO[Any], offset: int, count: int) -> AbstractStreamWriter:
        """Send the head and so many bytes, and wait until they were taken; the library calls this for parts."""
        writer = await web.StreamResponse.prepare(self, request)
        assert writer is not None
        if request.transport is None:
            raise ConnectionResetError("the machine hung up")
        size = os.fstat(fobj.fileno()).st_size
        with DownloadWatch(request.transport, self._listeners, offset, count, size) as watch:
            try:
                await self._send_pieces(request, writer, watch, fobj, offset, count)
                await watch.until_taken()
            except OSError as error:
                watch.broke_off(error)
                raise
        await self.write_eof()
        return writer

    async def _send_pieces(
        self,
        request: web.BaseRequest,
        writer: AbstractStreamWriter,
        watch: DownloadWatch,
        file: IO[Any],
        offset: int,
        count: int,
    ) -> None:
        sent = 0
        while sent < count:
            if request.transport is None or request.transport.is_closing():
                raise ConnectionResetError("the machine hung up")
            piece = min(PIECE, count - sent)
            if is_encrypted(request):
                there = await send_encrypted(writer, file, offset + sent, piece)
            else:
                there = await _send_piece(request.transport, watch, file, offset + sent, piece)
            if there != piece:
                raise ConnectionResetError("the file became shorter")  # so that the machine waits for no more of it
            sent += piece
            if sent < count:
                self._listeners.moves()

    def _reached_the_end(self) -> bool:
        """The whole file, or its last part: what comes in parts, such as to UEFI firmware, is told once."""
        if self.status != web.HTTPPartialContent.status_code:
            return self.status == web.HTTPOk.status_code
        last, _, size = self.headers[hdrs.CONTENT_RANGE].rpartition("-")[2].partition("/")
        return int(last) + 1 == int(size)


async def _send_piece(
    transport: asyncio.WriteTransport, watch: DownloadWatch, file: IO[Any], offset: int, size: int
) -> int:
    """Send so much, and return how much there was.

    A connection that is lost before any of it was sent, the library takes for a file that the kernel cannot send.
    """
    loop = asyncio.get_running_loop()
    try:
        return await loop.sendfile(transport, file, offset, size, fallback=False)
    except asyncio.SendfileNotAvailableError:
        if (lost := watch.lost()) is not None:
            raise lost from None
        return await loop.sendfile(transport, file, offset, size)
