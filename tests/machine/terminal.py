"""A person at a terminal: types, reads, and can be recorded as asciicast v2 (docs.asciinema.org, "asciicast v2")."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ROWS, COLUMNS = 28, 110
PATIENCE = 300.0
KEY_SECONDS = 0.04
_STEERING = re.compile(r"\x1b\[[0-9:;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>]")


class Terminal:
    """A context manager: `bash` without anybody's settings, in which commands are typed as a person would.

    `shell` is how bash is started, `prompt` its PS1.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        folder: Path,
        *,
        shell: Sequence[str] = ("bash", "--norc", "--noprofile", "-i"),
        prompt: str = "$ ",
    ) -> None:
        self._environment = {**environment, "TERM": "xterm-256color", "PS1": prompt, "LANG": "C.UTF-8"}
        self._folder = folder
        self._shell = shell
        self._ready = prompt[-2:]
        self._said = ""
        self._frames: list[tuple[float, str]] = []

    def __enter__(self) -> Self:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            self._shell,
            stdin=theirs, stdout=theirs, stderr=theirs, cwd=self._folder, env=self._environment, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(theirs)
        self._began = time.monotonic()
        self.wait_for(self._ready)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(f"the terminal:\n{self.text[-3000:]}")
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._ours)

    @property
    def text(self) -> str:
        """All that was shown, without what steers a terminal."""
        return _STEERING.sub("", "".join(said for _, said in self._frames)).replace("\r", "")

    def type(self, line: str, *, letter_by_letter: bool = False) -> None:
        """Type a line; a recording looks better `letter_by_letter`."""
        self._said = ""
        for piece in [*line, "\n"] if letter_by_letter else [line + "\n"]:
            os.write(self._ours, piece.encode())
            pause = time.monotonic() + (KEY_SECONDS if letter_by_letter else 0)
            while time.monotonic() < pause:
                self._read(pause - time.monotonic())

    def wait_for(self, *texts: str) -> str:
        """Wait until all of these were shown behind what was typed last; returns what was."""
        began = time.monotonic()
        while not all(text in self._shown for text in texts):
            left = began + PATIENCE - time.monotonic()
            missing = [text for text in texts if text not in self._shown]
            assert left > 0, f"waited {PATIENCE:.0f} s for {missing}; shown is:\n{self._shown}"
            self._read(min(left, 1.0))
        return self._shown

    def press(self, keys: str) -> None:
        """Press these keys, Enter as "\\n", in answer to what is shown."""
        os.write(self._ours, keys.encode())

    def look(self, seconds: float = 1.0) -> str:
        """All that was shown, also what comes now; waits for that."""
        self._read(seconds)
        return self.text

    def record(self, path: Path, title: str) -> None:
        """Write what was shown since the beginning."""
        header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": title, "env": {"TERM": "xterm-256color"}}
        events = [json.dumps([round(at, 3), "o", said], ensure_ascii=False) for at, said in self._frames]
        path.write_text("\n".join([json.dumps(header), *events]) + "\n")

    @property
    def _shown(self) -> str:
        return _STEERING.sub("", self._said).replace("\r", "")

    def _read(self, seconds: float) -> None:
        if select.select([self._ours], [], [], max(0.0, seconds))[0]:
            said = os.read(self._ours, 65_536).decode(errors="replace")
            self._said += said
            self._frames.append((time.monotonic() - self._began, said))
