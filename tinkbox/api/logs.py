"""Output and events as streams.  Server-sent events resume after the `Last-Event-ID` that they gave, also after a restart.

The id of a piece of output is the reader's place in the whole.  For a workflow's actions that is how far it is in each
of the attempts, in the order in which they began.  Attempts are only ever added, so a place stays what it was.
"""

import base64
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from tinkbox.api.access import is_number
from tinkbox.api.documents import event
from tinkbox.engine.workflows import Output
from tinkbox.model.errors import NotFound
from tinkbox.model.workflow import FINAL, Event, Workflow
from tinkbox.store.output import Piece

LOOK_EVERY = 5.0
KEEP_ALIVE = b": still here\n\n"
EVENT_STREAM = "text/event-stream"
NOWHERE = (0,)

Changed = Callable[[float], Awaitable[None]]


class Events(Protocol):
    """Where events come from."""

    async def events_after(self, sequence: int) -> list[tuple[int, Event]]: ...
    async def changed(self, timeout: float) -> None: ...


class Attempts(Protocol):
    """Where the output of actions comes from."""

    async def get(self, key: str) -> Workflow: ...
    async def output(self, key: str, offsets: Mapping[str, int]) -> list[Output]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Consecutive bytes that one `run` of something printed, from offset `start`.

    `heading` tells people what that was, `about` programs.  `missing` bytes right before them were not kept.  `place` is
    where the reader stands behind them.
    """

    run: str
    heading: str
    about: Mapping[str, object]
    start: int
    missing: int
    chunk: bytes
    place: str


class Reader(Protocol):
    """One who reads output; `place` is where it stands."""

    @property
    def place(self) -> str: ...

    async def look(self) -> tuple[list[Said], bool]:
        """What was printed behind the last look, and whether that was the last of it; raises NotFound when it is gone."""


async def answer(request: web.Request, read_from: Callable[[str], Reader], changed: Changed) -> web.StreamResponse:
    """Output as the request wants it: `Accept` says whether as text or as events, `?follow=1` whether until its end.

    `read_from` makes a reader that stands at a place, the beginning where that is empty or no place.  `changed` waits
    until something may have changed, at most so many seconds.
    """
    follow = request.query.get("follow", "") not in ("", "0", "false")
    if EVENT_STREAM not in request.headers.get("Accept", ""):
        return await streamed(request, stream_text(read_from(""), changed, follow=follow), "text/plain")
    reader = read_from(request.headers.get("Last-Event-ID", ""))
    return await streamed(request, stream_output(reader, changed, follow=follow), EVENT_STREAM)


async def streamed(request: web.Request, chunks: AsyncIterator[bytes], content_type: str) -> web.StreamResponse:
    """Send each chunk as it comes."""
    response = web.StreamResponse(headers={"Content-Type": content_type, "Cache-Control": "no-store"})
    await response.prepare(request)
    async for chunk in chunks:
        await response.write(chunk)
    await response.write_eof()
    return response


async def read_output(reader: Reader, changed: Changed, *, follow: bool) -> AsyncIterator[list[Said]]:
    """What is printed behind where the reader stands, look by look, until that was all or what printed it is deleted."""
    while True:
        try:
            said, over = await reader.look()
        except NotFound:
            return
        yield said
        if over or not follow:
            return
        await changed(LOOK_EVERY)


async def stream_text(reader: Reader, changed: Changed, *, follow: bool) -> AsyncIterator[bytes]:
    """Output as text for people: each run under a line that names it, with a notice where something is missing."""
    shown = ""
    async for look in read_output(reader, changed, follow=follow):
        for said in look:
            if said.run != shown:
                shown = said.run
                yield f"==> {said.heading} <==\n".encode()
            if said.missing:
                yield f"\n[{said.missing} bytes were not kept]\n".encode()
            yield said.chunk


async def stream_output(reader: Reader, changed: Changed, *, follow: bool) -> AsyncIterator[bytes]:
    """Output as server-sent events, to go on with after the id of the last; the one that ends it is called `end`."""
    yield _sent(reader.place)
    async for look in read_output(reader, changed, follow=follow):
        for said in look:
            output = base64.b64encode(said.chunk).decode()
            document = {**said.about, "start": said.start, "missing": said.missing, "output": output}
            yield _sent(said.place, "output", document)
        if not look:
            yield KEEP_ALIVE
    yield b"event: end\ndata: {}\n\n"


async def stream_events(source: Events, after: int) -> AsyncIterator[bytes]:
    """Every event after the one of this number, then every new one, for ever.

    It begins with that number alone, so that who was cut off before the first event can resume too.
    """
    yield _sent(str(after))
    while True:
        found = await source.events_after(after)
        for sequence, fact in found:
            after = sequence
            yield _sent(str(sequence), fact.kind, event(fact))
        if not found:
            yield KEEP_ALIVE
            await source.changed(LOOK_EVERY)


class ActionOutput:
    """What the actions of one workflow print, read from a place on; it ends with the workflow."""

    def __init__(self, source: Attempts, workflow_id: str, place: str = "") -> None:
        self._source = source
        self._workflow_id = workflow_id
        self._begin = _parse_place(place)
        self._offsets: dict[str, int] = {}

    @property
    def place(self) -> str:
        """How far the reader is in each attempt."""
        return ".".join(str(offset) for offset in self._offsets.values() or self._begin)

    async def look(self) -> tuple[list[Said], bool]:
        """As `Reader` says."""
        # The state is read first: what ended before this look has all its output in it.
        workflow = await self._source.get(self._workflow_id)
        outputs = await self._source.output(self._workflow_id, self._offsets)
        return self._behind(outputs), workflow.state in FINAL

    def _behind(self, outputs: Sequence[Output]) -> list[Said]:
        """What of `outputs`, one for each attempt in their order, lies behind where the reader stands."""
        for ordinal, output in enumerate(outputs):
            self._offsets.setdefault(output.attempt.token, self._begin[ordinal] if ordinal < len(self._begin) else 0)
        numbers: Counter[int] = Counter()
        found = []
        for output in outputs:
            token, action = output.attempt.token, output.action
            numbers[action.index] += 1
            number = numbers[action.index]
            again = f", attempt {number}" if number > 1 else ""
            about = {
                "attempt": token,
                "index": action.index,
                "task": action.task,
                "action": action.name,
                "number": number,
            }
            for start, missing, chunk in unread(output.pieces, self._offsets[token]):
                self._offsets[token] = start + len(chunk)
                found.append(
                    Said(
                        run=token,
                        heading=f"{action.task} / {action.name}{again}",
                        about=about,
                        start=start,
                        missing=missing,
                        chunk=chunk,
                        place=self.place,
                    )
                )
        return found


def unread(pieces: Iterable[Piece], offset: int) -> Iterator[tuple[int, int, bytes]]:
    """What of `pieces` lies behind `offset`: each with its own offset, and how many bytes before it were not kept."""
    for piece in pieces:
        chunk = piece.chunk[max(0, offset - piece.start) :]
        if chunk:
            start = max(offset, piece.start)
            yield start, start - offset, chunk
            offset = start + len(chunk)


def _parse_place(text: str) -> tuple[int, ...]:
    """How far in each attempt; what is no place is the beginning."""
    parts = text.split(".")
    return tuple(int(part) for part in parts) if all(map(is_number, parts)) else NOWHERE


def _sent(identity: str, kind: str = "", document: object = None) -> bytes:
    """One server-sent event; without a kind it only names the place to go on from."""
    what = f"event: {kind}\ndata: {json.dumps(document)}\n" if kind else ""
    return f"id: {identity}\n{what}\n".encode()
