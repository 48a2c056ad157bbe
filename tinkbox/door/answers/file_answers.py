"""Files that clients fetch whole or in part: kernels, ramdisks, boot loaders and the blobs of images."""

import asyncio
import errno
import io
import math
import os
import re
from http import HTTPStatus
from typing import IO, Any, Final

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter

from tinkbox.door.problems import PROBLEM, kind_of, problem_text

_ONE_RANGE: Final = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-0*([1-9]\d{0,17}|0))\Z", re.ASCII | re.IGNORECASE)
_NO_BYTES: Final = re.compile(r"bytes=-0+\Z", re.IGNORECASE)
# How the kernel ends a connection by itself: nothing was taken for too long, or no way leads there any more.
_VANISHED: Final = (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH)
# Of a file that is encrypted on its way: at most so much of it is in memory beside what the connection keeps.
_CHUNK: Final = 64 << 10
_BEHIND: Final = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
_REFUSAL: Final = problem_text(
    _BEHIND, kind_of(_BEHIND), "the Range begins behind the end; Content-Range tells the size"
).encode()


class FileAnswer(web.FileResponse):
    """A file, or the one range of it that is asked for.  A client that takes no more of it ends it as one that hangs up.

    A Range that is malformed, or asks for several, is ignored (RFC 9110 §14.2), and so is one of another file than If-Range
    has (§13.1.5).  One behind the end, or of the last 0 bytes (§14.1.2), is refused with a problem document (§15.5.17).
    """

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send it; raises ConnectionError for whatever way the client went."""
        try:
            return await self.send(request)
        except OSError as error:
            # These are no ConnectionError of Python's, and sendfile lets them through.
            if error.errno in _VANISHED:
                raise ConnectionResetError("the client takes nothing any more") from error
            raise

    async def send(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send it, as the library does."""
        return await super().prepare(request)

    async def _prepare_open_file(
        self, request: web.BaseRequest, fobj: io.BufferedReader, st: os.stat_result, file_encoding: str | None
    ) -> AbstractStreamWriter | None:
        # Of the file that is open: another one may have its name by now.
        headers = request.headers.copy()
        if not _wants_a_range(request, st):
            headers.popall(hdrs.RANGE, None)
        elif _NO_BYTES.match(headers[hdrs.RANGE]):
            headers[hdrs.RANGE] = f"bytes={st.st_size}-"  # the library takes it for the whole file
        headers.popall(hdrs.IF_RANGE, None)
        return await super()._prepare_open_file(request.clone(headers=headers), fobj, st, file_encoding)

    async def _sendfile(self, request: web.BaseRequest, fobj: IO[Any], offset: int, count: int) -> AbstractStreamWriter:
        if not is_encrypted(request):
            return await super()._sendfile(request, fobj, offset, count)
        writer = await web.StreamResponse.prepare(self, request)
        assert writer is not None
        if await send_encrypted(writer, fobj, offset, count) != count:
            raise ConnectionResetError("the file became shorter")
        return writer

    async def _prepare_headers(self) -> None:
        if self.status == _BEHIND:
            self.content_type = PROBLEM
            self.content_length = len(_REFUSAL)
        await super()._prepare_headers()

    async def write_eof(self, data: bytes = b"") -> None:
        """End it, with why its range is refused where it is."""
        await super().write_eof(_REFUSAL if self.status == _BEHIND else data)


def is_encrypted(request: web.BaseRequest) -> bool:
    """Whether the kernel cannot send it files: it would send them as they are."""
    return request.transport is not None and request.transport.get_extra_info("sslcontext") is not None


async def send_encrypted(writer: AbstractStreamWriter, file: IO[Any], offset: int, count: int) -> int:
    """Send so much of a file through our memory; returns how much there was.

    `loop.sendfile` can do that as well, but after a pause of its reader it resumes a protocol that never paused.
    """
    loop, sent = asyncio.get_running_loop(), 0
    while sent < count:
        size = min(_CHUNK, count - sent)
        chunk = _cached(file, size, offset + sent)
        if chunk is None:
            chunk = await loop.run_in_executor(None, os.pread, file.fileno(), size, offset + sent)
        if not chunk:
            break
        await writer.write(chunk)
        sent += len(chunk)
    await writer.drain()
    return sent


def _cached(file: IO[Any], size: int, offset: int) -> bytes | None:
    """What the kernel has in memory there; None where it would have to ask a disk, or may not say."""
    room = bytearray(size)
    try:
        read = os.preadv(file.fileno(), [room], offset, os.RWF_NOWAIT)
    except OSError:
        return None
    return bytes(room[:read]) if read else None


def entity_tag(file: os.stat_result) -> str:
    """A file's entity tag, without its quotes: the one that the library makes."""
    return f"{file.st_mtime_ns:x}-{file.st_size:x}"


def _wants_a_range(request: web.BaseRequest, file: os.stat_result) -> bool:
    found = _ONE_RANGE.match(request.headers.get(hdrs.RANGE, ""))
    if request.method != hdrs.METH_GET or found is None or (found[2] and int(found[1]) > int(found[2])):
        return False
    validator = request.headers.get(hdrs.IF_RANGE)
    if validator is None or validator == f'"{entity_tag(file)}"':
        return True
    return request.if_range is not None and request.if_range.timestamp() == math.ceil(file.st_mtime)
