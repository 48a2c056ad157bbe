"""A machine whose action is held: the worker's own code, and instead of containers the processes of this host."""

import asyncio
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.integration.cli.serving import Configuration, clean_environment, run_here
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.workers import door_of
from tinkbox.model.breakpoint import Kind
from tinkbox.model.errors import Unavailable
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import Container, ExecSpec
from tinkbox.wire.messages.breakpoints import Held
from tinkbox.wire.messages.worker import Hello, decode_credential
from tinkbox.worker.files.helper_files import ENTRYPOINT
from tinkbox.worker.files.notes import Notes
from tinkbox.worker.shells.shells import ShellHost

OUTCOME = Outcome(
    state=State.FAILED, exit_code=7, reason="DiskTooSmall", message="it has 8 GB\x1b[2J", tail=("looking", "too small")
)


class LocalExec:
    """A process of this host, on a terminal of its own or with pipes."""

    def __init__(self, spec: ExecSpec) -> None:
        self._tty = spec.tty
        _, verb, session, *rest = spec.command
        self._session = session
        environment = {**clean_environment(), "PS1": "$ ", "TINKBOX_SHELL": session, **spec.environment}
        command = rest[1:] or ["/bin/sh"]
        if verb == "reap":
            reap(session)
            command = ["true"]
        where = {"cwd": spec.folder or "/", "env": environment}
        if spec.tty:
            self._master, slave = pty.openpty()
            self._size(spec.rows, spec.columns)
            self._process = subprocess.Popen(
                ["setsid", "-c", *command], stdin=slave, stdout=slave, stderr=slave, **where
            )
            os.close(slave)
            os.set_blocking(self._master, False)
            self._open = {self._master: 1}
        else:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, **where)
            out, err = self._process.stdout, self._process.stderr
            assert out is not None
            assert err is not None
            self._open = {out.fileno(): 1, err.fileno(): 2}

    async def read(self) -> tuple[int, bytes] | None:
        while self._open:
            file = await self._readable()
            try:
                content = os.read(file, 65_536)
            except OSError:
                content = b""
            if content:
                return self._open[file], content
            del self._open[file]
        return None

    async def write(self, content: bytes) -> None:
        if self._tty:
            os.write(self._master, content)
        elif self._process.stdin is not None:
            stream = self._process.stdin
            with suppress(BrokenPipeError):
                await asyncio.to_thread(lambda: (stream.write(content), stream.flush()))

    async def close_input(self) -> None:
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()

    async def resize(self, rows: int, columns: int) -> None:
        self._size(rows, columns)

    async def exit_code(self) -> int | None:
        code = self._process.poll()
        return code if code is None or code >= 0 else 128 - code

    async def close(self) -> None:
        reap(self._session)  # also of a machine that stops
        self._process.kill()
        self._process.wait()
        if self._tty:
            os.close(self._master)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    def _size(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    async def _readable(self) -> int:
        loop, found = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
        for file in self._open:
            loop.add_reader(file, lambda file=file: found.done() or found.set_result(file))
        try:
            return int(await found)
        finally:
            for file in self._open:
                loop.remove_reader(file)


class LocalRuntime:
    """As much of `runtime.Runtime` as shells need."""

    async def exec(self, _: str, spec: ExecSpec) -> LocalExec:
        assert spec.command[0] == ENTRYPOINT
        return LocalExec(spec)


def processes_of(session: str) -> list[int]:
    """The processes that were started in a session."""
    mark, found = f"TINKBOX_SHELL={session}".encode(), []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def reap(session: str) -> None:
    for number in processes_of(session):
        with suppress(ProcessLookupError), os.fdopen(os.pidfd_open(number)) as process:
            if number in processes_of(session):  # it is the same: a number may be given away again
                signal.pidfd_send_signal(process.fileno(), signal.SIGKILL)


class HeldMachine:
    """Works in a thread of its own; `workflow` is the id of what it holds."""

    def __init__(self, configuration: Configuration, folder: Path) -> None:
        local = ("--data", str(configuration.data))
        assert run_here(*local, "hardware", "push", stdin=json.dumps(hardware(1)).encode()).status == 0
        assert run_here(*local, "template", "create", "-n", "hello", stdin=HELLO.encode()).status == 0
        devices = json.dumps({"device_1": mac(1)})
        assert run_here(*local, "workflow", "create", "-t", "hello", "-r", devices).status == 0
        self._credential = decode_credential(run_here(*local, "hardware", "credential", mac(1)).out)
        self._folder = folder
        self._held = threading.Event()
        self.workflow = ""

    @contextmanager
    def working(self) -> Iterator[None]:
        loop = asyncio.new_event_loop()
        task = loop.create_task(self._work())

        def run() -> None:
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(task)
            loop.run_until_complete(asyncio.sleep(0.1))  # connections that were closed end a little later
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            assert self._held.wait(60)
            yield
        finally:
            loop.call_soon_threadsafe(task.cancel)
            thread.join()

    async def _work(self) -> None:
        async with door_of(self._credential) as door:
            offer = await door.next(Hello(boot_id="boot-1"))
            assert offer is not None
            held = Held(workflow_id=offer.workflow_id, boot_id="boot-1", sequence=1, kind=Kind.FAILURE, outcome=OUTCOME)
            await door.held(offer.attempt, held)
            self.workflow = offer.workflow_id
            self._held.set()
            notes = Notes(self._folder)
            notes.begin(offer.attempt)
            async with ShellHost(LocalRuntime(), door, offer.attempt, notes) as shells:  # type: ignore[arg-type]
                shells.enter(Container(id="c", started=True))
                seen = ""
                while True:
                    try:
                        orders = await door.orders(offer.attempt, seen)
                    except Unavailable:
                        await asyncio.sleep(0.1)
                        continue
                    if orders is not None:
                        seen = orders.mark
                        shells.wanted(orders.shells)
