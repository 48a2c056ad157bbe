"""A workflow's output as one stream of text, and everything that happens as server-sent events."""

import json
from collections.abc import AsyncIterator
from typing import Protocol

from tinkbox.api.documents import event
from tinkbox.engine.workflows import Output
from tinkbox.model.errors import NotFound
from tinkbox.model.workflow import FINAL, Event, Workflow

LOOK_EVERY = 5.0
KEEP_ALIVE = b": still here\n\n"


class Source(Protocol):
    """Where output and events come from."""

    async def get(self, key: str) -> Workflow: ...
    async def output(self, key: str, offsets: dict[str, int]) -> list[Output]: ...
    async def events_after(self, sequence: int) -> list[tuple[int, Event]]: ...
    async def changed(self, timeout: float) -> None: ...


async def stream_output(source: Source, key: str, *, follow: bool) -> AsyncIterator[bytes]:
    """What the actions print, each attempt under a line that names it, until the workflow is over or deleted."""
    offsets: dict[str, int] = {}
    while True:
        # The state is read first: what ended before this look has all its output in it.
        try:
            workflow = await source.get(key)
            outputs = await source.output(workflow.id, offsets)
        except NotFound:
            return
        for output in outputs:
            for chunk in _attempt(output, offsets):
                yield chunk
        if not follow or workflow.state in FINAL:
            return
        await source.changed(LOOK_EVERY)


def _attempt(output: Output, offsets: dict[str, int]) -> list[bytes]:
    token, action = output.attempt.token, output.action
    chunks = []
    if token not in offsets:
        offsets[token] = 0
        chunks.append(f"==> {action.task} / {action.name} <==\n".encode())
    for piece in output.pieces:
        missing = piece.start - offsets[token]
        if missing > 0:
            chunks.append(f"\n[{missing} bytes were not kept]\n".encode())
        chunks.append(piece.chunk)
        offsets[token] = piece.start + len(piece.chunk)
    return chunks


async def stream_events(source: Source, after: int) -> AsyncIterator[bytes]:
    """Every event after the one of this number, then every new one, for ever.

    It begins with that number alone, so that who was cut off before the first event can resume too.
    """
    yield f"id: {after}\n\n".encode()
    while True:
        found = await source.events_after(after)
        for sequence, fact in found:
            after = sequence
            yield f"id: {sequence}\nevent: {fact.kind}\ndata: {json.dumps(event(fact))}\n\n".encode()
        if not found:
            yield KEEP_ALIVE
            await source.changed(LOOK_EVERY)
