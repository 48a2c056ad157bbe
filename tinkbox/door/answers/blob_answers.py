"""A blob on its way to a client, also when the disk does not give it though it counts as whole."""

import io
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, Protocol

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter

from tinkbox.door.answers.file_answers import FileAnswer
from tinkbox.model.errors import NotFound, Refusal

_log = logging.getLogger(__name__)


class Blobs(Protocol):
    """The blobs that are kept, as far as one that cannot be read is looked at again.

    A Protocol because a floor is to be kept: `registry`, which has them, lies above.
    """

    def doubt(self, digest: str) -> None: ...
    async def refuse_unreadable(self, digest: str) -> NoReturn: ...


def wants_anew(request: web.BaseRequest) -> bool:
    """Whether a client wants a blob hashed before it comes, whenever that was done last (RFC 9111 §5.2.1.4, `no-cache`)."""
    directives = ",".join(request.headers.getall(hdrs.CACHE_CONTROL, ()))
    return any(each.strip().lower() == "no-cache" for each in directives.split(","))


class _NotOpened(Exception):
    """The file cannot be opened.  The library answers an OSError by itself, without a word."""


class BlobAnswer(FileAnswer):
    """The file of a blob.  What cannot be read has `blobs` look at it again, and mark it where it is damaged.

    Of one that cannot be opened the client is told, in the door's form of a `refused` request; of one that cannot be read to
    its end the connection breaks.
    """

    def __init__(
        self,
        path: Path,
        blobs: Blobs,
        digest: str,
        refused: Callable[[Refusal], web.Response],
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(path, headers=headers)
        self._blobs = blobs
        self._digest = digest
        self._refused = refused
        self._refusal = b""

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send it; raises ConnectionError where the client went, or is not to get the rest."""
        try:
            return await super().prepare(request)
        except _NotOpened:
            return await self._refuse(request)
        except ConnectionError:
            raise
        except OSError as error:
            self._blobs.doubt(self._digest)
            told = f"{self._digest}: {error.strerror}"
            _log.warning("blob not sent to its end, for it cannot be read: %s", told, extra={"action": "registry.cut"})
            raise ConnectionResetError("the file cannot be read to its end") from error

    def _make_response(
        self, request: web.BaseRequest, accept_encoding: str
    ) -> tuple[Any, io.BufferedReader | None, os.stat_result, str | None]:
        try:
            return super()._make_response(request, accept_encoding)
        except OSError as error:
            raise _NotOpened from error

    async def _refuse(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Answer with why the blob cannot be had; a push that asks what it need not send hears that it is not here."""
        try:
            await self._blobs.refuse_unreadable(self._digest)
        except Refusal as refusal:
            asked = request.method == hdrs.METH_HEAD
            told = self._refused(NotFound(str(refusal)) if asked else refusal)
        self.set_status(told.status)
        self.headers.clear()
        self.headers.update(told.headers)
        told_text = (told.text or "").encode()
        self.content_length = len(told_text)
        self._refusal = b"" if asked else told_text
        return await web.StreamResponse.prepare(self, request)

    async def write_eof(self, data: bytes = b"") -> None:
        """End it, with why it is refused where it is."""
        await super().write_eof(self._refusal or data)
