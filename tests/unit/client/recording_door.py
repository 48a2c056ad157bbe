"""Doors on a socket; one of them records what it is asked."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from aiohttp import web


class AnyDoor(Protocol):
    """What answers requests."""

    async def handle(self, request: web.Request) -> web.StreamResponse: ...


@dataclass
class RecordingDoor:
    """Answers everything with `answer`; `broken` makes it hang up instead, in the middle of a stream too."""

    answer: bytes = b"{}"
    status: int = 200
    broken: bool = False
    sent_on_to: str = ""
    asked: list[tuple[str, str, bytes]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.method, request.raw_path, await request.read()))
        self.headers = dict(request.headers)
        response = web.StreamResponse(status=self.status)
        if self.sent_on_to:
            response.headers["Location"] = self.sent_on_to
        await response.prepare(request)
        await response.write(self.answer)
        if self.broken:
            assert request.transport is not None
            request.transport.close()
        return response


@asynccontextmanager
async def served(door: AnyDoor, folder: Path) -> AsyncIterator[Path]:
    """The door's unix socket in this folder."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", door.handle)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.UnixSite(runner, str(folder / "s")).start()
        yield folder / "s"
    finally:
        await runner.cleanup()
        (folder / "s").unlink(missing_ok=True)
