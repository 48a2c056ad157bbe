"""Rendering in a process of its own, which is killed when it takes too long.

A Jinja2 template can ask for more than any check foresees (`9 ** 9 ** 9` is one instruction), so it never runs in the
appliance.  A Go template is bounded by steps, but for seconds they would keep Python from booting machines.  The process
is this very program with `--render`; `confinement` is its side of it.
"""

import asyncio
import json
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime
from typing import Any

from tinkbox.confinement.giving_up import CONFINED, REFUSED
from tinkbox.confinement.programs import folder, program
from tinkbox.engine.templates.confinement import CPU_SECONDS, MEMORY_BYTES
from tinkbox.engine.templates.dialects import Dialect
from tinkbox.engine.templates.surroundings import now
from tinkbox.engine.turns import in_slices
from tinkbox.model.errors import Problem, Unavailable
from tinkbox.model.template import MAX_TEXT
from tinkbox.sprig.all_functions import SLOW
from tinkbox.thread_turns import Turn

WALL_SECONDS = 30.0
MAX_BATCH = 32
_MOST_SAID = MAX_BATCH * MAX_TEXT * 7  # JSON spells a control character in six bytes
_EXCEEDED = Problem(
    text=f"rendering takes more than {CPU_SECONDS} seconds or {MEMORY_BYTES // (1024 * 1024)} MiB of memory"
)


async def render_confined(
    text: str,
    several: Sequence[Mapping[str, Any]],
    turn: Turn = nullcontext,
    dialect: Dialect = Dialect.JINJA,
    moment: datetime | None = None,
) -> list[str | Problem]:
    """Render a text with each of several data; where that fails, the problem.

    With no data it is only read: the list has the problems, or is empty.  Each process awaits its `turn`.  `moment` is what the
    template takes for the time, that of the call if there is none.  Where it may call what is slow, each of the data has a process
    of its own.  Raises Unavailable where the process does not start, or is not confined.
    """
    moment = moment or now()
    if not several:
        async with turn():
            return await _ask(text, [], dialect, moment)
    size = 1 if any(each in text for each in SLOW) else MAX_BATCH
    rendered: list[str | Problem] = []
    for begin in range(0, len(several), size):
        async with turn():
            rendered += await _ask(text, several[begin : begin + size], dialect, moment)
    return rendered


async def _ask(
    text: str, several: Sequence[Mapping[str, Any]], dialect: Dialect, moment: datetime
) -> list[str | Problem]:
    begin = json.dumps({"dialect": dialect.name, "text": text, "moment": moment.isoformat()})
    data = await in_slices(json.dumps, several)
    request = f'{begin.removesuffix("}")}, "data": [{", ".join(data)}]}}'.encode()
    process = await asyncio.create_subprocess_exec(
        *_program(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=folder(),
        env={},  # the appliance's may hold secrets, and the kernel shows what a process began with
        process_group=0,  # no session: for each the kernel makes a group of its own, and `nice` counts within it only
    )
    assert process.stdin is not None
    try:
        async with asyncio.timeout(WALL_SECONDS):
            said = await _exchange(process, request)
    except TimeoutError:
        said = CONFINED
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # Not wait(): since Python 3.13 that waits for the end of the output as well, which nobody sees who has stopped reading.
        await asyncio.shield(process.communicate())
        # Python 3.11 complains at any later time about an end of the input that nobody asked for.
        with suppress(ConnectionError):
            await process.stdin.wait_closed()
    if said.startswith(REFUSED):
        why = said.removeprefix(REFUSED).decode(errors="replace")
        raise Unavailable(f"templates cannot be rendered: their process cannot be confined: {why}")
    if not said.startswith(CONFINED):
        raise Unavailable("templates cannot be rendered now: the process for it does not start")
    try:
        told = json.loads(said.removeprefix(CONFINED))
    except ValueError:
        return [_EXCEEDED] * max(len(several), 1)
    return [each if isinstance(each, str) else Problem(**each) for each in told]


async def _exchange(process: asyncio.subprocess.Process, request: bytes) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):
        process.stdin.write(request)
        await process.stdin.drain()
    process.stdin.close()
    said = bytearray()
    while chunk := await process.stdout.read(1 << 16):
        said += chunk
        if len(said) > _MOST_SAID:
            raise TimeoutError
    return bytes(said)


def _program() -> Sequence[str]:
    return program("--render")
