"""A terminal with somebody who types."""

import os
import pty
import re
import select
import subprocess
import time

from tests.integration.docker_engine import DockerEngine
from tests.integration.helper.container import ActionContainer
from tinkbox.worker.files.helper_files import ENTRYPOINT

DEADLINE = 60.0


class Terminal:
    """A shell of a session in a container, on a terminal; a context manager that hangs up at its end."""

    def __init__(self, engine: DockerEngine, action: ActionContainer, session: str) -> None:
        self._command = ["docker", "exec", "-it", action.name, ENTRYPOINT, "shell", session]
        self._environment = engine.environment

    def __enter__(self) -> "Terminal":
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            self._command, stdin=slave, stdout=slave, stderr=slave, env=self._environment, start_new_session=True
        )
        os.close(slave)
        self._seen = ""
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._master)
        self._process.kill()
        self._process.wait()

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\n".encode())

    def shows(self, pattern: str) -> str:
        """Wait until the screen shows it, behind what was waited for before; returns what it shows."""
        deadline = time.monotonic() + DEADLINE
        while (found := re.search(pattern, self._seen)) is None:
            assert time.monotonic() < deadline, f"waited for {pattern!r}, there is {self._seen!r}"
            if select.select([self._master], [], [], 0.1)[0]:
                self._read()
        shown, self._seen = self._seen[: found.end()], self._seen[found.end() :]
        return shown

    def _read(self) -> None:
        # However it comes in pieces.
        self._seen += os.read(self._master, 65_536).decode(errors="replace")
        # Busybox asks where the cursor is, and waits a moment for the answer.
        if "\x1b[6n" in self._seen:
            os.write(self._master, b"\x1b[1;1R")
        self._seen = self._seen.replace("\x1b[6n", "").replace("\x1b[J", "")
