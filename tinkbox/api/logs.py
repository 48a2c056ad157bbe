"""Output and events as streams.  Server-sent events resume after the `Last-Event-ID` that they gave, also after a restart.

The id of a piece of output is the reader's place in the whole: how far it is in each of the workflow's
attempts, in the order in which they began.  Attempts are only ever added, so a place stays what it was.
"""

import base64
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tinkbox.api.access import is_number
from tinkbox.api.documents import event
from tinkbox.engine.workflows import Output
from tinkbox.model.errors import NotFound
from tinkbox.model.workflow import FINAL, Event, Workflow

LOOK_EVERY = 5.0
KEEP_ALIVE = b": still here\n\n"
NOWHERE = (0,)


class Source(Protocol):
    """Where output and events come from."""

    async def get(self, key: str) -> Workflow: ...
    async def output(self, key: str, offsets: Mapping[str, int]) -> list[Output]: ...
    async def events_after(self, sequence: int) -> list[tuple[int, Event]]: ...
    async def changed(self, timeout: float) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Consecutive bytes that the `number`th attempt at an action printed, from offset `start`.

    `missing` bytes right before them were not kept.  `place` is where the reader stands behind them.
    """

    attempt: str
    index: int
    task: str
    action: str
    number: int
    start: int
    missing: int
    chunk: bytes
    place: tuple[int, ...]


def parse_place(text: str) -> tuple[int, ...]:
    """The place that an id names; what is no place is the beginning."""
    parts = text.split(".")
    return tuple(int(part) for part in parts) if all(map(is_number, parts)) else NOWHERE


async def read_output(source: Source, key: str, place: Sequence[int], *, follow: bool) -> AsyncIterator[list[Said]]:
    """What the actions print behind `place`, look by look, until the workflow is over or deleted."""
    reading = _Reading(place)
    while True:
        # The state is read first: what ended before this look has all its output in it.
        try:
            workflow = await source.get(key)
            yield reading.behind(await source.output(workflow.id, reading.offsets))
        except NotFound:
            return
        if not follow or workflow.state in FINAL:
            return
        await source.changed(LOOK_EVERY)


async def stream_text(source: Source, key: str, *, follow: bool) -> AsyncIterator[bytes]:
    """Output as text for people: each attempt under a line that names it, with a notice where something is missing."""
    shown = ""
    async for look in read_output(source, key, NOWHERE, follow=follow):
        for said in look:
            if said.attempt != shown:
                shown = said.attempt
                again = f", attempt {said.number}" if said.number > 1 else ""
                yield f"==> {said.task} / {said.action}{again} <==\n".encode()
            if said.missing:
                yield f"\n[{said.missing} bytes were not kept]\n".encode()
            yield said.chunk


async def stream_output(source: Source, key: str, place: Sequence[int], *, follow: bool) -> AsyncIterator[bytes]:
    """Output as server-sent events, to go on with after the id of the last; the one that ends it is called `end`."""
    yield _sent(_place(place))
    async for look in read_output(source, key, place, follow=follow):
        for said in look:
            document = {
                "attempt": said.attempt,
                "index": said.index,
                "task": said.task,
                "action": said.action,
                "number": said.number,
                "start": said.start,
                "missing": said.missing,
                "output": base64.b64encode(said.chunk).decode(),
            }
            yield _sent(_place(said.place), "output", document)
        if not look:
            yield KEEP_ALIVE
    yield b"event: end\ndata: {}\n\n"


async def stream_events(source: Source, after: int) -> AsyncIterator[bytes]:
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


class _Reading:
    """How far one reader is in each attempt."""

    def __init__(self, place: Sequence[int]) -> None:
        self._place = place
        self.offsets: dict[str, int] = {}

    def behind(self, outputs: Sequence[Output]) -> list[Said]:
        """What of `outputs`, one for each attempt in their order, lies behind where the reader stands."""
        for ordinal, output in enumerate(outputs):
            self.offsets.setdefault(output.attempt.token, self._place[ordinal] if ordinal < len(self._place) else 0)
        numbers: Counter[int] = Counter()
        found = []
        for output in outputs:
            token, action = output.attempt.token, output.action
            numbers[action.index] += 1
            for piece in output.pieces:
                here = self.offsets[token]
                chunk = piece.chunk[max(0, here - piece.start) :]
                if not chunk:
                    continue
                start = max(here, piece.start)
                self.offsets[token] = start + len(chunk)
                found.append(
                    Said(
                        attempt=token,
                        index=action.index,
                        task=action.task,
                        action=action.name,
                        number=numbers[action.index],
                        start=start,
                        missing=start - here,
                        chunk=chunk,
                        place=tuple(self.offsets.values()),
                    )
                )
        return found


def _place(offsets: Sequence[int]) -> str:
    return ".".join(str(offset) for offset in offsets)


def _sent(identity: str, kind: str = "", document: object = None) -> bytes:
    """One server-sent event; without a kind it only names the place to go on from."""
    what = f"event: {kind}\ndata: {json.dumps(document)}\n" if kind else ""
    return f"id: {identity}\n{what}\n".encode()
