"""A person at a terminal, in which one command runs."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from tests.integration.cli.serving import PROGRAM, ROOT, clean_environment

PATIENCE = 60.0


class Person:
    """A context manager; at its end the command is killed if it still runs."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str] | None = None,
        program: Sequence[str] = PROGRAM,
    ) -> None:
        self._arguments = [*program, *arguments]
        self._environment = {**clean_environment(), "TERM": "xterm-256color", **(environment or {})}
        self.seen = b""

    def __enter__(self) -> Self:
        self._ours, self._theirs = pty.openpty()
        self.resize(24, 80)
        self.before = self.settings()
        self.process = subprocess.Popen(
            ["setsid", "-c", *self._arguments],
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            cwd=ROOT,
            env=self._environment,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(f"the terminal: {self.seen!r}")
        self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    def settings(self) -> list[Any]:
        """How the terminal treats what is typed and shown."""
        return termios.tcgetattr(self._theirs)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text: str | bytes) -> None:
        """Type it, and forget what was shown before."""
        self.seen = b""
        os.write(self._ours, text.encode() if isinstance(text, str) else text)

    def types_until(self, text: str | bytes, shown: str) -> None:
        """Type it again and again until this is shown: for a program that loses what is typed while it draws anew."""
        deadline = time.monotonic() + PATIENCE
        self.seen = b""
        while shown.encode() not in self.seen:
            assert time.monotonic() < deadline, f"not shown: {shown}"
            self.type(text)
            self._read(1.0)

    def hang_up(self) -> None:
        """The terminal is gone."""
        os.close(self._ours)
        self._ours = os.open(os.devnull, os.O_RDWR)

    def sees(self, *texts: str | bytes) -> bytes:
        """Wait until all of these were shown since something was typed last; returns everything that was."""
        wanted = [text.encode() if isinstance(text, str) else text for text in texts]
        deadline = time.monotonic() + PATIENCE
        while not all(text in self.seen for text in wanted):
            assert time.monotonic() < deadline, f"not shown: {[text for text in wanted if text not in self.seen]}"
            self._read(0.1)
        return self.seen

    def ends(self) -> int:
        """Wait for the command's end; returns its status."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it goes on"
            self._read(0.05)
        while self._read(0):
            pass
        return self.process.returncode

    def _read(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        self.seen += os.read(self._ours, 65_536)
        return True
