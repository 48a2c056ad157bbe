"""Somebody who types keys into a program's terminal, one at a time, and waits for each to be shown."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from itertools import cycle
from statistics import median, quantiles
from types import TracebackType
from typing import Self

from examples.lab.processes import command_that_dies_with_us, stop
from tests.bench.lab import DEADLINE

KEYS = 300
PAUSE = 0.01
QUIET = 0.5
# In one line of it all the keys have room.
_ROWS, _COLUMNS = 24, 1000


class Typist:
    """A context manager: a program, started as `command`, in a terminal of its own; without more words a shell.

    It is `ready` for keys when it has shown that, and ends when it is told to `leave`.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        columns: int = _COLUMNS,
        ready: bytes = b"# ",
        leave: bytes = b"\x03exit\r",
    ) -> None:
        self._command = command_that_dies_with_us(command)
        self._environment = {**environment, "TERM": "xterm"}
        self._columns, self._ready, self._leave = columns, ready, leave

    def __enter__(self) -> Self:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, self._columns, 0, 0))
        self._process = subprocess.Popen(
            self._command, stdin=theirs, stdout=theirs, stderr=theirs, env=self._environment, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(theirs)
        self._wait_for(self._ready)
        while self._read(QUIET):
            pass
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            os.write(self._ours, self._leave)
            self._process.wait(DEADLINE)
        stop(self._process)
        os.close(self._ours)

    def echoes(self) -> tuple[float, float]:
        """Milliseconds from a key to its echo: the median of all keys, and their 99th percentile."""
        taken = []
        for key, _ in zip(cycle(b"abcdefghijklmnopqrstuvwxyz"), range(KEYS), strict=False):
            began = time.perf_counter()
            os.write(self._ours, bytes((key,)))
            self._wait_for(bytes((key,)))
            taken.append((time.perf_counter() - began) * 1e3)
            time.sleep(PAUSE)  # nobody types faster
        return median(taken), quantiles(taken, n=100)[-1]

    def pictures(self, keys: Sequence[bytes]) -> float:
        """Milliseconds from a key to the first that it changes on the screen: the median of these keys."""
        taken = []
        for key in keys:
            while self._read(PAUSE):
                pass
            began = time.perf_counter()
            os.write(self._ours, key)
            while not self._read(DEADLINE):
                pass
            taken.append((time.perf_counter() - began) * 1e3)
        return median(taken)

    def _wait_for(self, text: bytes) -> None:
        shown, deadline = b"", time.monotonic() + DEADLINE
        while text not in shown:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{text!r} is not shown, but {shown[-500:]!r}")
            shown += self._read(1.0)

    def _read(self, seconds: float) -> bytes:
        return os.read(self._ours, 65_536) if select.select([self._ours], [], [], seconds)[0] else b""
