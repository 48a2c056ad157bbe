"""`tinkbox breakpoint shell`: a terminal in a held container, or one command there."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from io import UnsupportedOperation
from typing import BinaryIO

from tinkbox.cli.appliance import ask
from tinkbox.cli.breakpoint import HELD, ended, full_name, until
from tinkbox.cli.output import Document, clean
from tinkbox.cli.session import Session
from tinkbox.cli.terminal import PIECE, Terminal, Told, is_terminal, ready
from tinkbox.client.operator import Operator
from tinkbox.client.shell import ShellConnection
from tinkbox.model.errors import Invalid, Refusal, Unavailable
from tinkbox.model.shells import ShellEnd
from tinkbox.settings import terminal_kind
from tinkbox.wire.messages.shell import Channel, close, pieces, read_status

LOST = 255
WITH_ITS_CONTAINER = (128 + signal.SIGHUP, 128 + signal.SIGTERM, 128 + signal.SIGKILL)
TAIL = 8


def shell(chosen: argparse.Namespace) -> int:
    """Returns the command's exit status, LOST when it has none; 0 when a shell was ended or left in good order."""
    if chosen.command:
        return _command(chosen)
    if not is_terminal():
        raise Invalid(
            "there is no terminal here to open a shell in; for one command: "
            f"tinkbox breakpoint shell {chosen.key} -- COMMAND"
        )
    try:
        return ask(chosen, lambda operator: _interactive(operator, chosen))
    except Told as told:
        return 128 + told.number


async def _interactive(operator: Operator, chosen: argparse.Namespace) -> int:
    standing = await operator.breakpoints.get(chosen.key)
    workflow_id, terminal = standing["id"], Terminal()
    rows, columns = terminal.size
    asked = {"tty": True, "term": terminal_kind(), "rows": rows, "columns": columns, "mode": chosen.mode}
    opened = await operator.shells.open(workflow_id, {**_wish(chosen), **asked})
    _say(banner(standing))
    end, refusal = None, None
    async with terminal:
        try:
            end = await Session(operator, workflow_id, opened, chosen.mode, terminal).run()
        except Refusal as error:
            refusal = error
    with suppress(Unavailable):
        standing = await operator.breakpoints.get(workflow_id)
    _say(["", *farewell(standing, opened["id"], end)])  # whatever line the cursor was left in
    if refusal is not None:
        raise refusal
    return LOST if end is not None and end.exit_code is None else 0


def banner(standing: Document) -> Iterator[str]:
    """What is held and how it came there, for somebody who is about to look into it."""
    hold, workflow = standing["held"], standing["id"][:8]
    if hold is None:
        return
    outcome = hold["outcome"] or {"message": "", "hint": "", "tail": ()}
    yield f"{full_name(hold)} of {standing['name']} ({workflow}) is held {HELD[hold['kind']]}"
    yield f"  ended   {ended(hold['outcome'])}"
    yield from (f"          {line}" for text in (outcome["message"], outcome["hint"]) for line in text.splitlines())
    yield from (f"        | {line}" for line in outcome["tail"][-TAIL:])
    yield f"  until   {until(hold)}"
    if hold["verdicts"]:
        yield f"  decide  tinkbox breakpoint {'|'.join(hold['verdicts'])} {workflow}; or in the shell, see debug-info"
    yield "  keys    Enter ~. leaves the shell, which goes on; Enter ~? tells more"


def farewell(standing: Document, session: str, end: ShellEnd | None) -> Iterator[str]:
    """What has become of the shell, and what is left to do; `end` is None when it goes on."""
    hold, workflow = standing["held"], standing["id"][:8]
    if end is None:
        yield f"left: the shell goes on, and tinkbox breakpoint shell {workflow} comes back to it"
    elif hold is None and end.exit_code in WITH_ITS_CONTAINER:
        yield "the shell ended with its container: the action is not held any more"
    elif end.exit_code is None:
        yield f"the shell is over: {end.message or end.reason}"
    else:
        yield f"the shell ended with status {end.exit_code}"
    yield f"  recorded  tinkbox breakpoint replay {session[:8]}"
    if hold is None:
        yield f"  workflow  {standing['state']}, nothing of it is held any more"
    else:
        yield f"  held      {full_name(hold)} until {until(hold)}"
        if hold["verdicts"]:
            yield f"  decide    tinkbox breakpoint {'|'.join(hold['verdicts'])} {workflow}"


def _command(chosen: argparse.Namespace) -> int:
    if chosen.mode != "drive":
        raise Invalid("a command is run for whoever gives it: --view and --take are for shells")

    async def run(operator: Operator) -> ShellEnd:
        opened = await operator.shells.open(
            chosen.key, {**_wish(chosen), "tty": False, "command": list(chosen.command)}
        )
        async with operator.shells.attach(opened, tty=False) as connection:
            return await _carried(connection)

    try:
        end = ask(chosen, run)
    except Refusal as refusal:
        # Every other status may be the command's own.
        end = ShellEnd(None, message=str(refusal))
    if end.exit_code is None:
        _say([f"tinkbox: {end.message or end.reason}"])
    return LOST if end.exit_code is None else end.exit_code


async def _carried(connection: ShellConnection) -> ShellEnd:
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


def _wish(chosen: argparse.Namespace) -> Document:
    return {
        "user": chosen.user,
        "folder": chosen.folder,
        "environment": dict(chosen.environment),
        "record_input": chosen.record_input,
    }


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(clean(line), file=sys.stderr)
