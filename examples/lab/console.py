"""A machine's serial console: kept in a file, followed while it comes, awaited line by line."""

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

# Firmware places text by cursor address instead of ending lines; a jump counts as the end of a line.
_LINE_END = re.compile(r"\r?\n|\x1b\[\d*(?:;\d*)?[Hf]|\x1b\[2J")
_CONTROL = re.compile(r"\x1b\[[0-9;?=]*[A-Za-z]|\x1b[()=>][A-Z0-9]?|[\x00-\x08\x0b-\x1f\x7f]")
_SHOWN = 25


class ConsoleTimeout(TimeoutError):
    """What was awaited did not appear; the text holds the last console lines."""


class Console:
    """Reads `stream` to its end in a thread of its own and keeps everything in the file `path` too, behind what was `shown`.

    Who waits when the stream is over calls `at_end` first, which may raise what it knows better than "the machine is off".
    """  # fmt: skip

    def __init__(
        self, stream: IO[bytes], path: Path, at_end: Callable[[], object] = lambda: None, shown: bytes = b""
    ) -> None:
        self._lines: list[str] = []
        self._unfinished = ""
        self._take(shown)
        self._ended = False
        self._changed = threading.Condition()  # of a lock that `tail` may take again
        self._stream = stream
        self._path = path
        self._at_end = at_end
        self._thread = threading.Thread(target=self._follow, name=f"console {path}", daemon=True)
        self._thread.start()

    @property
    def lines(self) -> list[str]:
        """The lines so far, without control sequences and without the empty ones; the last may be unfinished."""
        with self._changed:
            return [*self._lines, *_readable([self._unfinished])]

    def wait_for(self, text: str, timeout: float, during: Callable[[], object] | None = None) -> str:
        """Wait until a complete line holds `text`; returns that line.

        `during` is called about every second meanwhile, and may raise to give up.
        Raises ConsoleTimeout with the last lines after `timeout` seconds, or when the machine is off.
        """
        deadline = time.monotonic() + timeout
        seen = 0
        while True:
            with self._changed:
                for line in self._lines[seen:]:
                    if text in line:
                        return line
                seen = len(self._lines)
                left = deadline - time.monotonic()
                if self._ended or left <= 0:
                    break
                self._changed.wait(min(left, 1))
            if during is not None:
                during()
        if self._ended:
            self._at_end()
        why = "the machine is off" if self._ended else f"not seen within {timeout:.0f} s"
        raise ConsoleTimeout(f"{text!r}: {why}; the last lines on the console ({self._path}):\n{self.tail()}")

    def wait_for_text(self, text: str, timeout: float) -> None:
        """Wait until `text` stands anywhere, also in a line that is not complete, such as a prompt.

        Raises ConsoleTimeout as `wait_for` does.
        """
        deadline = time.monotonic() + timeout
        with self._changed:
            while not any(text in line for line in [*self._lines, self._unfinished]):
                left = deadline - time.monotonic()
                if self._ended:
                    self._at_end()
                if self._ended or left <= 0:
                    raise ConsoleTimeout(f"{text!r} did not appear on the console ({self._path}):\n{self.tail()}")
                self._changed.wait(left)

    def tail(self, lines: int = _SHOWN) -> str:
        """The last lines, indented, for an account of what went wrong."""
        return "\n".join(f"    {line}" for line in self.lines[-lines:]) or "    (nothing at all)"

    def close(self) -> None:
        """Wait for the last words of a machine that is off."""
        self._thread.join()
        self._stream.close()

    def _follow(self) -> None:
        with self._path.open("ab", buffering=0) as log:
            while chunk := self._stream.read1(65_536):  # type: ignore[attr-defined]
                log.write(chunk)
                with self._changed:
                    self._take(chunk)
                    self._changed.notify_all()
        with self._changed:
            self._lines += _readable([self._unfinished])
            self._unfinished = ""
            self._ended = True
            self._changed.notify_all()

    def _take(self, chunk: bytes) -> None:
        *lines, self._unfinished = _LINE_END.split(self._unfinished + chunk.decode("latin-1"))
        self._lines += _readable(lines)


def _readable(lines: list[str]) -> list[str]:
    plain = (_CONTROL.sub("", line).strip() for line in lines)
    return [line for line in plain if line]
