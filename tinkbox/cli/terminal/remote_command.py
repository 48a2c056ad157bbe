"""One command in a held container, whose standard streams are ours."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from io import UnsupportedOperation
from typing import BinaryIO

from tinkbox.cli.terminal.raw_terminal import PIECE, ready
from tinkbox.client.shell import ShellConnection
from tinkbox.model.errors import Refusal, Unavailable
from tinkbox.model.shells import ShellEnd
from tinkbox.wire.messages.shell import Channel, close, pieces, read_status


async def carry(connection: ShellConnection) -> ShellEnd:
    """Pass on what goes into a command and what comes out of it, until it ends."""
    async with asyncio.TaskGroup() as group:
        feeding = group.create_task(_feed(connection))
        end: ShellEnd | Exception
        try:
            end = await _printed(connection)
        except (Refusal, OSError) as error:
            end = error
        feeding.cancel()
    if isinstance(end, Exception):
        raise end
    return end


async def _printed(connection: ShellConnection) -> ShellEnd:
    streams = {Channel.STDOUT: sys.stdout, Channel.STDERR: sys.stderr}
    while (frame := await connection.receive_frame()) is not None:
        if frame.channel in streams:
            streams[frame.channel].buffer.write(frame.content)
            streams[frame.channel].buffer.flush()
        elif frame.channel is Channel.STATUS:
            return read_status(frame)
    raise Unavailable("the connection was lost, and with it how the command ended")


async def _feed(connection: ShellConnection) -> None:
    """Standard input, unless somebody types there; then its end."""
    with suppress(Unavailable, OSError):
        if sys.stdin is not None and not sys.stdin.isatty():
            async for content in _read(sys.stdin.buffer):
                for frame in pieces(Channel.STDIN, content):
                    await connection.send_frame(frame)
        await connection.send_frame(close(Channel.STDIN))


async def _read(stream: BinaryIO) -> AsyncIterator[bytes]:
    """What a stream holds, without waiting for it in a way that would keep us from anything else."""
    while True:
        try:
            await ready(stream.fileno())
            content = os.read(stream.fileno(), PIECE)
        except (PermissionError, UnsupportedOperation):  # a file, whose content is always there
            content = stream.read(PIECE)
        if not content:
            return
        yield content
