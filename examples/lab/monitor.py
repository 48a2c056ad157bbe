"""A machine's monitor: what the emulator is told beside the console (QEMU's interop/qmp-spec, "QEMU Machine Protocol")."""

import json
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_SECONDS = 120.0
_LOOK_EVERY = 0.05


class MonitorRefused(RuntimeError):
    """The emulator did not do what it was told; the text is what it said."""


class Monitor:
    """A context manager: one connection to the monitor's socket, for which it waits, as the emulator may have just started."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        deadline = time.monotonic() + _SECONDS
        while True:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.settimeout(_SECONDS)
            try:
                self._socket.connect(str(self._path))
                break
            except (FileNotFoundError, ConnectionRefusedError):
                self._socket.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(_LOOK_EVERY)  # nothing announces the socket
        self._talk = self._socket.makefile("rw")
        try:
            self._read()  # the greeting
            self.tell("qmp_capabilities")
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def tell(self, command: str, **arguments: Any) -> Any:
        """Have the emulator do this; returns what it answers.  Raises MonitorRefused."""
        self._talk.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._talk.flush()
        while True:
            answer = self._read()
            if "error" in answer:
                raise MonitorRefused(f"{command}: {answer['error'].get('desc', answer['error'])}")
            if "return" in answer:
                return answer["return"]
            self._events.append(answer)

    def migrated(self) -> None:
        """Wait until the machine's state has left, or arrived.  Raises MonitorRefused when that failed."""
        while True:
            event = self._events.pop(0) if self._events else self._read()
            status = event.get("data", {}).get("status") if event.get("event") == "MIGRATION" else ""
            if status == "completed":
                return
            if status == "failed":
                raise MonitorRefused("the machine's state could not be moved")

    def _read(self) -> dict[str, Any]:
        line = self._talk.readline()
        if not line:
            raise MonitorRefused("the emulator ended")
        return dict(json.loads(line))

    def _close(self) -> None:
        self._talk.close()
        self._socket.close()
