"""What actions and services print, as text or as server-sent events.

What prints does so in runs: an action in its attempts, a service in one for each time that its workflow was taken up.
The id of a piece of output is the reader's place in the whole: how far it is in each run, in the order in which they
began.  Runs are only ever added, so a place stays what it was.
"""

import base64
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated, Final

from aiohttp import web

from tinkbox.api import event_stream
from tinkbox.api.access import caller
from tinkbox.api.answers import Media
from tinkbox.api.event_stream import EVENT_STREAM, KEEP_ALIVE, sent, streamed
from tinkbox.api.following import Followers
from tinkbox.api.parameters import Parameter
from tinkbox.api.requests import is_number, says_yes
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.errors import NotFound
from tinkbox.model.workflow import FINAL
from tinkbox.store.output import Piece

NOWHERE = (0,)
# What is printed is answered as text, or as events.
Output = Annotated[web.StreamResponse, Media(("text/plain", EVENT_STREAM))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What is kept of a run's output; `heading` tells people whose it is, `about` tells programs."""

    token: str
    heading: str
    about: Mapping[str, object]
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Every run, in the order in which they began; when it is `over`, nothing will follow."""

    runs: Sequence[Run]
    over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Consecutive bytes that a run printed, from offset `start`.

    `missing` bytes right before them were not kept.  `place` is where the reader stands behind them.
    """

    run: Run
    start: int
    missing: int
    chunk: bytes
    place: str


FOLLOW: Final = Parameter("follow", bool)

# Given how far the reader is in each run; raises NotFound when what printed is deleted.
Source = Callable[[Mapping[str, int]], Awaitable[Look]]
# Waits until something may have changed, at most so many seconds.
Changed = Callable[[float], Awaitable[None]]


def output_of_actions(workflows: Workflows, workflow_id: str) -> Source:
    """What the actions of a workflow print, until it is over."""

    async def look(offsets: Mapping[str, int]) -> Look:
        # The state is read first: what ended before this look has all its output in it.
        workflow = await workflows.get(workflow_id)
        numbers: Counter[int] = Counter()
        runs = []
        for output in await workflows.output(workflow_id, offsets):
            action = output.action
            numbers[action.index] += 1
            number = numbers[action.index]
            again = f", attempt {number}" if number > 1 else ""
            about = {
                "attempt": output.attempt.token,
                "index": action.index,
                "task": action.task,
                "action": action.spec.name,
                "number": number,
            }
            heading = f"{action.task} / {action.spec.name}{again}"
            runs.append(Run(token=output.attempt.token, heading=heading, about=about, pieces=output.pieces))
        return Look(runs=runs, over=workflow.state in FINAL)

    return look


async def answer(request: web.Request, source: Source, changed: Changed, followers: Followers) -> web.StreamResponse:
    """Output as the request wants it: `Accept` says whether as text or as events, `?follow=1` whether to its end.

    Raises TooMany for who follows too much already.
    """
    follow = says_yes(request, FOLLOW.name)
    with followers.place(request, caller(request).name) if follow else nullcontext():
        return await _answered(request, source, changed, follow=follow)


async def _answered(request: web.Request, source: Source, changed: Changed, *, follow: bool) -> web.StreamResponse:
    if EVENT_STREAM not in request.headers.get("Accept", ""):
        return await streamed(request, stream_text(source, changed, follow=follow), "text/plain; charset=utf-8")
    place = request.headers.get("Last-Event-ID", "")
    return await streamed(request, stream_output(source, changed, place, follow=follow), EVENT_STREAM)


class Reading:
    """How far one reader is in each run; it begins behind `place`."""

    def __init__(self, place: str = "") -> None:
        parts = place.split(".")
        self._begin = tuple(int(part) for part in parts) if all(map(is_number, parts)) else NOWHERE
        self.offsets: dict[str, int] = {}

    @property
    def place(self) -> str:
        """The id of what was read last."""
        return ".".join(str(offset) for offset in self.offsets.values() or self._begin)

    def behind(self, runs: Sequence[Run]) -> list[Said]:
        """What of `runs`, which are all in their order, lies behind where the reader stands."""
        for ordinal, run in enumerate(runs):
            self.offsets.setdefault(run.token, self._begin[ordinal] if ordinal < len(self._begin) else 0)
        found = []
        for run in runs:
            for piece in run.pieces:
                here = self.offsets[run.token]
                chunk = piece.chunk[max(0, here - piece.start) :]
                if not chunk:
                    continue
                start = max(here, piece.start)
                self.offsets[run.token] = start + len(chunk)
                found.append(Said(run=run, start=start, missing=start - here, chunk=chunk, place=self.place))
        return found


async def read_output(source: Source, changed: Changed, reading: Reading, *, follow: bool) -> AsyncIterator[list[Said]]:
    """What is printed behind where the reader stands, look by look, until it is over or deleted."""
    while True:
        try:
            look = await source(reading.offsets)
        except NotFound:
            return
        yield reading.behind(look.runs)
        if look.over or not follow:
            return
        await changed(event_stream.LOOK_EVERY)


async def stream_text(source: Source, changed: Changed, *, follow: bool) -> AsyncIterator[bytes]:
    """Output as text for people: each run under a line that names it, with a notice where something is missing."""
    shown = ""
    async for look in read_output(source, changed, Reading(), follow=follow):
        for said in look:
            if said.run.token != shown:
                shown = said.run.token
                yield f"==> {said.run.heading} <==\n".encode()
            if said.missing:
                yield f"\n[{said.missing} bytes were not kept]\n".encode()
            yield said.chunk


async def stream_output(source: Source, changed: Changed, place: str, *, follow: bool) -> AsyncIterator[bytes]:
    """Output as server-sent events, to go on with after the id of the last; the one that ends it is called `end`.

    It begins behind `place`, which is the beginning when it is none.
    """
    reading = Reading(place)
    yield sent(reading.place)
    async for look in read_output(source, changed, reading, follow=follow):
        for said in look:
            output = base64.b64encode(said.chunk).decode()
            document = {**said.run.about, "start": said.start, "missing": said.missing, "output": output}
            yield sent(said.place, "output", document)
        if not look:
            yield KEEP_ALIVE
    yield b"event: end\ndata: {}\n\n"
