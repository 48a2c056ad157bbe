"""Another process in a running container of the Docker engine, over a connection that is its streams.

The engine keeps such a process as it keeps containers, but never attaches to it again: who lets go of the connection
has lost its input and output, and the process runs on.
"""

import asyncio
from typing import Any

import aiodocker

from tinkbox.model.reasons import Reason
from tinkbox.runtime import ExecSpec
from tinkbox.runtime.docker_faults import faults
from tinkbox.runtime.engine_messages import meaning

START_SECONDS = 60.0
MAX_SAID = 4_096
_PAUSE = 0.01
_ENDED = (404, 500)  # how the engine answers a size for what has ended
_END_OF_FILE = b"\x04"  # Ctrl-D, which is how a terminal's input ends


class DockerExec:
    """Implements `tinkbox.runtime.Exec`; made by `started`."""

    def __init__(self, url: str, process: aiodocker.execs.Exec, stream: aiodocker.stream.Stream, *, tty: bool) -> None:
        self._url = url
        self._process = process
        self._stream = stream
        self._tty = tty
        self._no_more_input = False

    async def read(self) -> tuple[int, bytes] | None:
        with faults(self._url, Reason.EXEC_FAILED):
            message = await self._stream.read_out()
        return None if message is None else (message.stream, message.data)

    async def write(self, content: bytes) -> None:
        # What its end, or the engine's, leaves unread is nobody's loss.
        if not self._no_more_input and self._transport() is not None:
            with faults(self._url, Reason.EXEC_FAILED):
                await self._stream.write_in(content)

    async def close_input(self) -> None:
        # Of a terminal's connection the engine ends the output as well when the input does.
        if self._tty:
            await self.write(_END_OF_FILE)
        elif not self._no_more_input and (transport := self._transport()) is not None:
            self._no_more_input = True
            with faults(self._url, Reason.EXEC_FAILED):
                transport.write_eof()

    async def resize(self, rows: int, columns: int) -> None:
        with faults(self._url, Reason.EXEC_FAILED, ignored=_ENDED):
            await self._process.resize(h=rows, w=columns)

    async def exit_code(self) -> int | None:
        with faults(self._url, Reason.EXEC_FAILED):
            state = await self._process.inspect()
        code: int | None = None if state["Running"] else state["ExitCode"]
        return code

    async def close(self) -> None:
        with faults(self._url, Reason.EXEC_FAILED):
            await self._stream.close()

    def _transport(self) -> Any:
        response = self._stream._resp  # noqa: SLF001  aiodocker can close a stream, but not one half of it
        connection = None if response is None else response.connection
        return None if connection is None else connection.transport


async def started(docker: aiodocker.Docker, url: str, container_id: str, spec: ExecSpec) -> DockerExec:
    """Start a process in a container; raises EngineAway, or ContainerFailed: ExecFailed."""
    with faults(url, Reason.EXEC_FAILED):
        process = await docker.containers.container(container_id).exec(
            list(spec.command),
            stdin=True,
            tty=spec.tty,
            user=spec.user,
            environment=spec.environment,
            workdir=spec.folder,
        )
        stream = process.start()
        begun = DockerExec(url, process, stream, tty=spec.tty)
        try:
            await stream.__aenter__()
            if not await _began(process):
                # The connection stands before the engine tries, hence it says here what went wrong.
                raise meaning(Reason.EXEC_FAILED, 0, await _said(stream))
            if spec.tty:
                await begun.resize(spec.rows, spec.columns)
        except BaseException:
            await stream.close()
            raise
    return begun


async def _began(process: aiodocker.execs.Exec) -> bool:
    """Wait until it runs, or ran, or cannot."""
    async with asyncio.timeout(START_SECONDS):
        while True:
            state = await process.inspect()
            # Neither output nor exit code tells: a process has a number, and one that never was has none.
            if state["Pid"] or state["ExitCode"] is not None:
                return bool(state["Pid"])
            await asyncio.sleep(_PAUSE)  # nothing announces it: the engine's own event comes before it tries


async def _said(stream: aiodocker.stream.Stream) -> str:
    said = b""
    async with asyncio.timeout(START_SECONDS):
        while len(said) < MAX_SAID and (message := await stream.read_out()) is not None:
            said += message.data
    return said.decode(errors="replace")
